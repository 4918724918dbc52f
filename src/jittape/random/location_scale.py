"""Laws with a location and a scale: exponential, Laplace, Gumbel, and normal laws in an interval or of vectors.

See `continuous`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.config import config
from jittape.core.dtypes import as_dtype, float64, is_floating, uint64
from jittape.core.primitive import any_dtype, apply
from jittape.core.user_calls import shown
from jittape.errors import ShapeError
from jittape.primitives.broadcast import broadcast, cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.bits import right_shift
from jittape.primitives.elementwise.comparison import equal, greater, less, logical_and, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.error_functions import ndtr, ndtri
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.elementwise.random_numbers import (
    exponential_op,
    normal_op,
    philox_op,
    von_mises_op,
)
from jittape.primitives.linalg.cholesky import cholesky
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.reshaping import expand_dims, reshape, squeeze
from jittape.random.arguments import extents_of, float_dtype, is_symbolic, operand_shape, parameter
from jittape.random.continuous import Take
from jittape.random.coordinates import bits, coordinates, not_negative, scaled, unit_of_bits
from jittape.recording.tensor import Tensor

__all__ = [
    "draw_exponential",
    "draw_gumbel",
    "draw_laplace",
    "draw_multivariate_normal",
    "draw_normal_between",
    "draw_von_mises",
]

SCALE = (lambda x: (x >= 0) | (x != x), "not be negative")


def _exponential(state: Any, scale: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    draw = exponential_op.bind(*coordinates(state, shape), dtype=dtype)
    return multiply(broadcast(not_negative(scale, dtype), shape), draw)


def _laplace(state: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Give an exponential number a random sign, from the half of its block that it leaves."""
    at = coordinates(state, shape)
    size = exponential_op.bind(*at, dtype=dtype)
    sign = right_shift(philox_op.bind(*at, half=1), broadcast(literal(63, uint64), shape))
    draw = where(equal(sign, broadcast(literal(0, uint64), shape)), size, negative(size))
    return scaled(loc, not_negative(scale, dtype), draw)


def _gumbel(state: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    draw = negative(log(exponential_op.bind(*coordinates(state, shape), dtype=dtype)))
    return scaled(loc, not_negative(scale, dtype), draw)


def draw_exponential(op: str, take: Take, shape: Any, scale: Any, dtype: Any) -> Tensor:
    """Draw exponential numbers with mean `scale`."""
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    scale = parameter(op, "scale", scale, extents, *SCALE)
    return apply(_exponential, (take(math.prod(extents)), scale), (extents, wanted))


def _draw(
    body: Callable[..., Any], op: str, take: Take, shape: Any, loc: Any, scale: Any, dtype: Any
) -> Tensor:
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    loc = parameter(op, "loc", loc, extents)
    scale = parameter(op, "scale", scale, extents, *SCALE)
    return apply(body, (take(math.prod(extents)), loc, scale), (extents, wanted))


def draw_laplace(op: str, take: Take, shape: Any, loc: Any, scale: Any, dtype: Any) -> Tensor:
    """Draw numbers of the Laplace law."""
    return _draw(_laplace, op, take, shape, loc, scale, dtype)


def draw_gumbel(op: str, take: Take, shape: Any, loc: Any, scale: Any, dtype: Any) -> Tensor:
    """Draw numbers of the Gumbel law of greatest values."""
    return _draw(_gumbel, op, take, shape, loc, scale, dtype)


def _von_mises(state: Any, kappa: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return von_mises_op.bind(*coordinates(state, shape), broadcast(cast_to(kappa, dtype), shape), dtype=dtype)


def draw_von_mises(op: str, take: Take, shape: Any, kappa: Any, dtype: Any) -> Tensor:
    """Draw angles of mean direction 0 and concentration `kappa`."""
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    kappa = parameter(op, "kappa", kappa, extents, *SCALE)
    return apply(_von_mises, (take(math.prod(extents)), kappa), (extents, wanted))


# ---- normal numbers in an interval -----------------------------------------------------------------------------------


@any_dtype
def _normal_between(
    state: Any, mean: Any, scale: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Any:
    """Invert the distribution function, in float64 and below the mean, where small probabilities keep their digits."""
    mean, scale, low, high = [broadcast(cast_to(x, float64), shape) for x in (mean, scale, low, high)]
    first, last = [divide(subtract(x, mean), scale) for x in (low, high)]
    above = greater(first, 0)
    first, last = where(above, negative(last), first), where(above, negative(first), last)
    below, inside = ndtr(first), subtract(ndtr(last), ndtr(first))
    unit = add(unit_of_bits(bits(state, shape), np.dtype(float64)), 2.0**-54)
    draw = ndtri(add(below, multiply(unit, inside)))
    draw = add(mean, multiply(scale, where(above, negative(draw), draw)))
    draw = minimum(maximum(draw, low), high)  # rounding may exceed the bounds
    defined = logical_and(greater(inside, 0), logical_and(greater(scale, 0), less(scale, math.inf)))
    return cast_to(where(defined, draw, math.nan), dtype)


def draw_normal_between(
    op: str, take: Take, shape: Any, means: Any, stddevs: Any, minvals: Any, maxvals: Any
) -> Tensor:
    """Draw normal numbers between two bounds."""
    extents = extents_of(op, shape)
    positive = (lambda x: (x > 0) | (x != x), "be positive")
    mean, scale = (
        parameter(op, "means", means, extents),
        parameter(op, "stddevs", stddevs, extents, *positive),
    )
    low, high = parameter(op, "minvals", minvals, extents), parameter(op, "maxvals", maxvals, extents)
    operands = (mean, scale, low, high)
    if not (is_symbolic(low) or is_symbolic(high)) and np.any(np.asarray(low) >= np.asarray(high)):
        raise ValueError(
            f"[random.{op}] minvals must be less than maxvals, got {shown(minvals)} and {shown(maxvals)}"
        )
    dtypes = [as_dtype(x.dtype) for x in (means, stddevs, minvals, maxvals) if hasattr(x, "dtype")]
    wanted = np.result_type(*dtypes) if dtypes else config.default_float
    wanted = float_dtype(op, wanted if is_floating(as_dtype(wanted)) else None)
    return apply(_normal_between, (take(math.prod(extents)), *operands), (extents, wanted))


# ---- multivariate normal ---------------------------------------------------------------------------------------------


def _multivariate_normal(
    state: Any, mean: Any, matrix: Any, shape: tuple[int, ...], dtype: np.dtype[Any], factorize: bool
) -> Any:
    mean, matrix = cast_to(mean, dtype), cast_to(matrix, dtype)
    factor = cholesky(matrix) if factorize else matrix
    draw = normal_op.bind(*coordinates(state, shape), dtype=dtype)
    if len(factor.shape) == 2:
        rows = reshape(draw, (math.prod(shape[:-1]), shape[-1]))
        return add(mean, reshape(matmul(rows, factor, transpose_b=True), shape))
    return add(mean, squeeze(matmul(factor, expand_dims(draw, -1)), -1))


def draw_multivariate_normal(
    op: str, take: Take, shape: Any, mean: Any, cov: Any, scale_tril: Any, dtype: Any
) -> Tensor:
    """Draw normally distributed vectors."""
    wanted, extents = float_dtype(op, dtype), extents_of(op, shape)
    if (cov is None) == (scale_tril is None):
        raise ValueError(f"[random.{op}] give either cov or scale_tril")
    name, given = ("scale_tril", scale_tril) if cov is None else ("cov", cov)
    center, matrix = parameter(op, "mean", mean, None), parameter(op, name, given, None)
    vector, square = operand_shape(center), operand_shape(matrix)
    if not vector or square[-2:] != (vector[-1], vector[-1]):
        raise ShapeError(
            f"[random.{op}] mean must have shape (..., n) and {name} shape (..., n, n), got {vector} and {square}"
        )
    try:
        batch = np.broadcast_shapes(vector[:-1], square[:-2])
    except ValueError:
        raise ShapeError(
            f"[random.{op}] shapes {vector} of mean and {square} of {name} do not broadcast"
        ) from None
    whole = (*extents, *batch, vector[-1])
    state = take(math.prod(whole))
    return apply(_multivariate_normal, (state, center, matrix), (whole, wanted, cov is not None))
