"""Gamma numbers, and beta and Dirichlet numbers made of them. Gradients flow to the parameters. See `continuous`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast, cast_to
from jittape.primitives.elementwise.arithmetic import subtract
from jittape.primitives.elementwise.comparison import less_equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.hyperbolic import sigmoid
from jittape.primitives.elementwise.random_numbers import gamma_op, log_gamma_op
from jittape.primitives.nn.activation import softmax
from jittape.random.arguments import extents_of, float_dtype, operand_shape, parameter, shape_with
from jittape.random.continuous import Take
from jittape.random.coordinates import coordinates
from jittape.recording.tensor import Tensor

__all__ = ["draw_beta", "draw_dirichlet", "draw_gamma"]

POSITIVE = (lambda x: (x > 0) | (x != x), "be positive")


def _gamma(state: Any, alpha: Any, rate: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    alpha, rate = [broadcast(cast_to(x, dtype), shape) for x in (alpha, rate)]
    draw = gamma_op.bind(*coordinates(state, shape), alpha, dtype=dtype)
    return divide(draw, where(less_equal(rate, 0), math.nan, rate))


def draw_gamma(
    op: str, take: Take, shape: Any, alpha: Any, beta: Any, dtype: Any, outer: bool = False
) -> Tensor:
    """Draw gamma numbers of shape `alpha` and rate `beta`; if `outer`, `shape` numbers for each pair of parameters."""
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    limit = None if outer else extents
    alpha = parameter(op, "alpha", alpha, limit, *POSITIVE)
    rate = parameter(op, "beta", 1.0 if beta is None else beta, limit, *POSITIVE)
    whole = shape_with(op, extents, alpha=alpha, beta=rate) if outer else extents
    return apply(_gamma, (take(math.prod(whole)), alpha, rate), (whole, wanted))


def _log_gamma(state: Any, alpha: Any, shape: tuple[int, ...], dtype: np.dtype[Any], first: int = 0) -> Any:
    alpha = broadcast(cast_to(alpha, dtype), shape)
    return log_gamma_op.bind(*coordinates(state, shape, first), alpha, dtype=dtype)


def _beta(state: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return ``x / (x + y)`` of two gamma numbers, by their logarithms: both may underflow."""
    x = _log_gamma(state, a, shape, dtype)
    return sigmoid(subtract(x, _log_gamma(state, b, shape, dtype, math.prod(shape))))


def draw_beta(op: str, take: Take, shape: Any, a: Any, b: Any, dtype: Any) -> Tensor:
    """Draw beta numbers."""
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    a, b = [parameter(op, name, x, extents, *POSITIVE) for name, x in (("a", a), ("b", b))]
    return apply(_beta, (take(2 * math.prod(extents)), a, b), (extents, wanted))


def _dirichlet(state: Any, alpha: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return softmax(_log_gamma(state, alpha, shape, dtype))


def draw_dirichlet(op: str, take: Take, shape: Any, alpha: Any, dtype: Any) -> Tensor:
    """Draw vectors of positive numbers that add up to 1."""
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    alpha = parameter(op, "alpha", alpha, None, *POSITIVE)
    inner = operand_shape(alpha)
    if not inner or not inner[-1]:
        raise ShapeError(f"[random.{op}] alpha must have a last dimension of at least 1, got shape {inner}")
    whole = (*extents, *inner)
    return apply(_dirichlet, (take(math.prod(whole)), alpha), (whole, wanted))
