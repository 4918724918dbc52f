"""Functions composed of reductions: variance, moments, logsumexp, counts, and tests of the order of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.dtypes import as_dtype, bool_, default_dtype, int64
from jittape.core.primitive import apply
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast_back,
    cast_to,
    normalized_axes,
    real_op,
    to_shape,
    with_ones,
)
from jittape.primitives.elementwise.arithmetic import add, squared_difference, subtract
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import equal, less, less_equal, where
from jittape.primitives.elementwise.exponential import exp, log, sqrt
from jittape.primitives.identity import stop_gradient
from jittape.primitives.record_parts import floating, require_kinds
from jittape.primitives.reduce.euclidean import std_op
from jittape.primitives.reduce.reductions import (
    Axis,
    averaging,
    reduce_all,
    reduce_max,
    reduce_mean,
    reduce_sum,
)
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "count_nonzero",
    "is_non_decreasing",
    "is_strictly_increasing",
    "moments",
    "reduce_logsumexp",
    "reduce_std",
    "reduce_variance",
    "zero_fraction",
]


# ---- variance --------------------------------------------------------------------------------------------------------


def _variance_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x, dtype = averaging(x)
    deviation = squared_difference(x, reduce_mean(x, axis, keepdims=True))
    if x.dtype.kind == "c":
        return reduce_mean(real_op.bind(deviation), axis, keepdims)
    return cast_to(reduce_mean(deviation, axis, keepdims), dtype)


def reduce_variance(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the variance of the elements along `axis`: the mean squared distance from the mean.

    Parameters
    ----------
    input_tensor : tensor
        Integers give floats; complex numbers give a real variance.
    axis : int or sequence of int, optional
        The dimensions to reduce; all of them by default.
    keepdims : bool
        Keep the reduced dimensions with length 1.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.math.reduce_variance([[1.0, 3.0], [2.0, 2.0]], axis=1).numpy()
    array([1., 0.], dtype=float32)
    """
    return apply(_variance_body, (input_tensor,), (axis_key(axis), keepdims))


def _std_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x, dtype = averaging(x)
    if x.dtype.kind == "c":
        return sqrt(_variance_body(x, axis, keepdims))
    axes = normalized_axes("reduce_std", axis, len(x.shape))
    out = cast_to(std_op.bind(x, axes=axes), dtype)
    return to_shape(out, with_ones(x.shape, axes)) if keepdims else out


def reduce_std(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the standard deviation of the elements along `axis`. The gradient is nan where the deviation is 0.

    Parameters
    ----------
    input_tensor : tensor_like
        Any shape. Integers give floats.
    axis : int or sequence of int, optional
        The dimensions to reduce; all of them by default.
    keepdims : bool
        Keep the reduced dimensions with length 1.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.math.reduce_std([[1.0, 5.0], [2.0, 4.0]], axis=1).numpy()
    array([2., 1.], dtype=float32)
    """
    return apply(_std_body, (input_tensor,), (axis_key(axis), keepdims))


def _moments_body(x: Any, axes: Any, keepdims: bool) -> Any:
    return reduce_mean(x, axes, keepdims), _variance_body(x, axes, keepdims)


def moments(
    x: TensorLike, axes: Axis, shift: None = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Compute mean and variance of the elements along `axes`. `shift` is ignored, as in TensorFlow.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    axes : int or sequence of int
        The dimensions to reduce.
    shift : None
        Ignored.
    keepdims : bool
        Keep the reduced dimensions with length 1.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axes` is out of range.
    ShapeError
        If `axes` names a dimension twice.

    Examples
    --------
    >>> mean, variance = jt.nn.moments([1.0, 3.0], axes=[0])
    >>> print(mean, variance)
    jt.Tensor(2.0, shape=(), dtype=float32) jt.Tensor(1.0, shape=(), dtype=float32)
    """
    return apply(_moments_body, (x,), (axis_key(axes), keepdims))


# ---- logsumexp -------------------------------------------------------------------------------------------------------


def _logsumexp_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = floating(x)
    require_kinds("reduce_logsumexp", "f", x.aval)
    axes = normalized_axes("reduce_logsumexp", axis, len(x.shape))
    top = stop_gradient(reduce_max(x, axes))
    top = where(is_finite(top), top, 0)
    total = log(reduce_sum(exp(subtract(x, broadcast_back(top, x.shape, axes))), axes))
    out = add(total, top)
    return to_shape(out, with_ones(x.shape, axes)) if keepdims else out


def reduce_logsumexp(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return ``log(reduce_sum(exp(x)))`` along `axis`, without overflow.

    Parameters
    ----------
    input_tensor : tensor
        Integers give floats.
    axis : int or sequence of int, optional
        The dimensions to reduce; all of them by default.
    keepdims : bool
        Keep the reduced dimensions with length 1.

    Raises
    ------
    DTypeError
        If `input_tensor` is complex.
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.reduce_logsumexp([[0.0, 0.0], [200.0, 200.0]], axis=1).numpy().round(3)
    array([  0.693, 200.693], dtype=float32)
    """
    return apply(_logsumexp_body, (input_tensor,), (axis_key(axis), keepdims))


# ---- counts ----------------------------------------------------------------------------------------------------------


def _count_nonzero_body(x: Any, axis: Any, keepdims: bool, dtype: np.dtype[Any]) -> Any:
    return reduce_sum(cast_to(cast_to(x, bool_), dtype), axis, keepdims)


def count_nonzero(
    input: TensorLike,
    axis: Axis = None,
    keepdims: bool = False,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Count the nonzero elements along `axis`.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    axis : int or sequence of int, optional
        The dimensions to reduce; all of them by default.
    keepdims : bool
        Keep the reduced dimensions with length 1.
    dtype : dtype
        Integer dtype of the result.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.math.count_nonzero([[0.0, 1.0], [2.0, 3.0]], axis=1).numpy()
    array([1, 2])
    """
    return apply(_count_nonzero_body, (input,), (axis_key(axis), keepdims, as_dtype(dtype)))


def _zero_fraction_body(x: Any) -> Any:
    return reduce_mean(cast_to(equal(x, 0), default_dtype(float)))


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are 0, in the default float.

    Parameters
    ----------
    value : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.zero_fraction([0.0, 1.0, 0.0, 3.0]).numpy()
    array(0.5, dtype=float32)
    """
    return apply(_zero_fraction_body, (value,))


# ---- order -----------------------------------------------------------------------------------------------------------


def _neighbors(op: str, x: Any) -> tuple[Any, Any]:
    """Return the elements of `x` before the last, and those after the first."""
    x = as_symbol(x)
    require_kinds(op, "biuf", x)
    count = x.aval.size
    flat = to_shape(x, (count,))
    return sliced(flat, 0, 0, max(count - 1, 0)), sliced(flat, 0, min(count, 1), max(count - 1, 0))


def _rises(x: Any, strictly: bool) -> Any:
    before, after = _neighbors("is_strictly_increasing" if strictly else "is_non_decreasing", x)
    return reduce_all(less(before, after) if strictly else less_equal(before, after))


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether no element is less than the one before it, in C order.

    Parameters
    ----------
    x : tensor_like
        Real numbers, of any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.is_non_decreasing([1, 1, 2]).numpy()
    array(True)
    """
    return apply(_rises, (x,), (False,))


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is greater than the one before it, in C order.

    Parameters
    ----------
    x : tensor_like
        Real numbers, of any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.is_strictly_increasing([1, 1, 2]).numpy()
    array(False)
    """
    return apply(_rises, (x,), (True,))
