"""Euclidean lengths: the square root of a sum of squares, and of a sum of squared distances from the mean.

They are primitives because of their gradients, which are nan where the length is 0. Compositions of a square and a root
would give nan only in reverse mode: in forward mode the tangent of the sum is 0 there, and stays 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Decomposition
from jittape.core.primitive import Batch, Primitive
from jittape.core.program import Aval
from jittape.primitives.batched_params import along_axes
from jittape.primitives.broadcast import broadcast_back, count_along, sum_over, without_axes
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import sqrt

__all__ = ["euclidean_norm_op", "std_op"]


# ---- root of a sum of squares ----------------------------------------------------------------------------------------


def _euclidean_norm_impl(*operands: Any, axes: tuple[tuple[int, ...], ...]) -> Any:
    return np.sqrt(sum(np.sum(x * x, axis=a, dtype=x.dtype) for x, a in zip(operands, axes, strict=True)))


def _euclidean_norm_vjp(i: int, g: Any, out: Any, *operands: Any, axes: tuple[tuple[int, ...], ...]) -> Any:
    x = operands[i]
    return zero_dominant_multiply(
        broadcast_back(g, x.shape, axes[i]), multiply(x, broadcast_back(reciprocal(out), x.shape, axes[i]))
    )


def _euclidean_norm_decomposition(*operands: Any, axes: tuple[tuple[int, ...], ...]) -> Any:
    first, *others = [sum_over(square(x), a) for x, a in zip(operands, axes, strict=True)]
    for x in others:
        first = add(first, x)
    return sqrt(first)


euclidean_norm_op = Primitive(
    "euclidean_norm",
    abstract_eval=lambda x, *others, axes: Aval(without_axes(x.shape, axes[0]), x.dtype),
    impl=_euclidean_norm_impl,
    vjp=_euclidean_norm_vjp,
    lowering=Decomposition(_euclidean_norm_decomposition),
    batch=Batch(lambda n, params: {"axes": tuple([tuple([a + 1 for a in axes]) for axes in params["axes"]])}),
)
"""Square root of the sum of squares of all operands, each over its own `axes`; the remaining shapes are equal."""


# ---- standard deviation ----------------------------------------------------------------------------------------------


def _deviation(x: Any, axes: tuple[int, ...]) -> Any:
    return subtract(x, broadcast_back(divide(sum_over(x, axes), count_along(x.shape, axes)), x.shape, axes))


def _std_impl(x: Any, *, axes: tuple[int, ...]) -> Any:
    count = x.dtype.type(count_along(x.shape, axes))
    mean = np.sum(x, axis=axes, keepdims=True, dtype=x.dtype) / count
    return np.sqrt(np.sum(np.square(x - mean), axis=axes, dtype=x.dtype) / count)


def _std_vjp(g: Any, out: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    scale = reciprocal(multiply(out, count_along(x.shape, axes)))
    return zero_dominant_multiply(
        broadcast_back(g, x.shape, axes), multiply(_deviation(x, axes), broadcast_back(scale, x.shape, axes))
    )


def _std_decomposition(x: Any, *, axes: tuple[int, ...]) -> Any:
    return sqrt(divide(sum_over(square(_deviation(x, axes)), axes), count_along(x.shape, axes)))


std_op = Primitive(
    "std",
    abstract_eval=lambda x, *, axes: Aval(without_axes(x.shape, axes), x.dtype),
    impl=_std_impl,
    vjp=(_std_vjp,),
    lowering=Decomposition(_std_decomposition),
    batch=along_axes(),
)
"""Square root of the mean squared distance from the mean, over `axes`."""
