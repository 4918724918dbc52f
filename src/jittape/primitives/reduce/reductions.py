"""Reductions: sum, mean, product, extrema, any and all. Functions composed of them are in `statistics`.

A primitive has a sorted tuple of non-negative `axes`, which are removed from the shape. User-level functions normalize
`axis` and keep dimensions if requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import bool_, info_of, int64, is_differentiable
from jittape.core.forms import Reduce
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives import elementwise
from jittape.primitives.batched_params import along_axes
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast_back,
    cast_to,
    count_along,
    normalized_axes,
    sum_over,
    to_shape,
    with_ones,
    without_axes,
)
from jittape.primitives.elementwise.arithmetic import multiply, zero_dominant_multiply
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.record_parts import floating, highest, lowest, require_kinds
from jittape.typing import Tensor, TensorLike

__all__ = [
    "Axis", "any_op", "averaging", "kept", "max_op", "min_op", "reduce_all", "reduce_any", "reduce_max", "reduce_mean",
    "reduce_min", "reduce_prod", "reduce_sum",
]  # fmt: skip

Axis = int | Sequence[int] | None


def kept(out: Any, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return the result of a reduction of `x`, with dimensions of length 1 if `keepdims` is true."""
    return to_shape(out, with_ones(x.shape, axes)) if keepdims else out


# ---- sum and mean ----------------------------------------------------------------------------------------------------


def _sum_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = as_symbol(x)
    if x.dtype.kind == "b":
        x = cast_to(x, int64)
    axes = normalized_axes("reduce_sum", axis, len(x.shape))
    return kept(sum_over(x, axes), x, axes, keepdims)


def reduce_sum(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Sum the elements along `axis`.

    Parameters
    ----------
    input_tensor : tensor
        The result has its dtype; bools are counted in int64.
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
    >>> jt.reduce_sum([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([4., 6.], dtype=float32)
    """
    return apply(_sum_body, (input_tensor,), (axis if axis is None else axis_key(axis), keepdims))


def averaging(x: Any) -> tuple[Any, np.dtype[Any]]:
    """Return `x` in the dtype in which its mean is computed, and the dtype of the mean, both as in NumPy.

    A sum of float16 would overflow at 65,504; integers and bools give float64.
    """
    x = floating(x) if isinstance(x, WeakScalar) else x
    work = info_of(x.dtype).work
    return cast_to(x, work), x.dtype if is_differentiable(x.dtype) else work


def _mean_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x, dtype = averaging(x)
    axes = normalized_axes("reduce_mean", axis, len(x.shape))
    return cast_to(kept(divide(sum_over(x, axes), count_along(x.shape, axes)), x, axes, keepdims), dtype)


def reduce_mean(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the mean of the elements along `axis`; integers give floats, as in NumPy.

    Parameters
    ----------
    input_tensor : tensor
        The elements. The mean of no elements is nan.
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
    >>> jt.reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=1).numpy()
    array([1.5, 3.5], dtype=float32)
    """
    return apply(_mean_body, (input_tensor,), (axis if axis is None else axis_key(axis), keepdims))


# ---- extrema ---------------------------------------------------------------------------------------------------------


def _cotangent_of_extremum(top: Any, g: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """Return the cotangent of `x` for that of its extremum, which is `top`; equal elements share it equally."""
    chosen = cast_to(elementwise.comparison.equal(x, broadcast_back(top, x.shape, axes)), x.dtype)
    share = broadcast_back(reciprocal(sum_over(chosen, axes)), x.shape, axes)
    return zero_dominant_multiply(broadcast_back(g, x.shape, axes), multiply(chosen, share))


def _ordered_abstract_eval(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    return Aval(without_axes(x.shape, axes), require_kinds("reduce_max", "biuf", x).dtype)


max_op: Primitive = Primitive(
    "max",
    abstract_eval=_ordered_abstract_eval,
    impl=lambda x, *, axes: np.max(x, axis=axes, initial=lowest(x.dtype)),
    # Not by `out`: if an earlier run has computed it, this one may round `x` in another way, and no element equals it.
    vjp=(lambda g, out, x, *, axes: _cotangent_of_extremum(max_op.bind(x, axes=axes), g, x, axes),),
    lowering=Reduce(combine=lambda m, a, b: m.maximum(a, b), identity=lowest),
    batch=along_axes(),
)

min_op: Primitive = Primitive(
    "min",
    abstract_eval=_ordered_abstract_eval,
    impl=lambda x, *, axes: np.min(x, axis=axes, initial=highest(x.dtype)),
    vjp=(lambda g, out, x, *, axes: _cotangent_of_extremum(min_op.bind(x, axes=axes), g, x, axes),),
    lowering=Reduce(combine=lambda m, a, b: m.minimum(a, b), identity=highest),
    batch=along_axes(),
)


def _max_over(x: Any, axes: tuple[int, ...]) -> Any:
    return max_op.bind(x, axes=axes) if axes else x


def _max_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = as_symbol(x)
    axes = normalized_axes("reduce_max", axis, len(x.shape))
    return kept(_max_over(x, axes), x, axes, keepdims)


def reduce_max(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the maximum of the elements along `axis`; of no elements, the least value of the dtype.

    Equal maxima share the gradient equally. If an element is nan, the result is nan.

    Parameters
    ----------
    input_tensor : tensor
        A tensor of a real or bool dtype.
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
    >>> jt.reduce_max([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([3., 4.], dtype=float32)
    """
    return apply(_max_body, (input_tensor,), (axis_key(axis), keepdims))


def _min_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = as_symbol(x)
    axes = normalized_axes("reduce_min", axis, len(x.shape))
    return kept(min_op.bind(x, axes=axes) if axes else x, x, axes, keepdims)


def reduce_min(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the minimum of the elements along `axis`; of no elements, the greatest value of the dtype.

    Equal minima share the gradient equally. If an element is nan, the result is nan.

    Parameters
    ----------
    input_tensor : tensor
        A tensor of a real or bool dtype.
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
    >>> jt.reduce_min([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
    array([1., 2.], dtype=float32)
    """
    return apply(_min_body, (input_tensor,), (axis_key(axis), keepdims))


# ---- product ---------------------------------------------------------------------------------------------------------


def _prod_vjp(g: Any, out: Any, x: Any, *, axis: int) -> Any:
    from jittape.primitives.reduce.cumulative import products_of_others  # only products need the module

    return zero_dominant_multiply(broadcast_back(g, x.shape, (axis,)), products_of_others(x, axis))


prod_op = Primitive(
    "prod",
    abstract_eval=lambda x, *, axes: Aval(without_axes(x.shape, axes), x.dtype),
    impl=lambda x, *, axes: np.prod(x, axis=axes, dtype=info_of(x.dtype).arithmetic).astype(
        x.dtype, copy=False
    ),
    vjp=(lambda g, out, x, *, axes: _prod_vjp(g, out, x, axis=axes[0]),),
    lowering=Reduce(combine=lambda m, a, b: m.multiply(a, b), identity=lambda dtype: 1),
    batch=along_axes(),
)


def _prod_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = as_symbol(x)
    if x.dtype.kind == "b":
        x = cast_to(x, int64)
    axes = normalized_axes("reduce_prod", axis, len(x.shape))
    # One axis at a time, because the gradient rule scans along it.
    out = x
    if len(axes) == len(x.shape) > 1:
        out = prod_op.bind(to_shape(x, (x.aval.size,)), axes=(0,))
    else:
        for a in reversed(axes):
            out = prod_op.bind(out, axes=(a,))
    return kept(out, x, axes, keepdims)


def reduce_prod(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Multiply the elements along `axis`. The gradient is correct for elements that are 0, to any order.

    Parameters
    ----------
    input_tensor : tensor
        The result has its dtype; bools are multiplied in int64.
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
    >>> x = jt.Variable([0.0, 2.0, 3.0])
    >>> with jt.GradientTape() as tape:
    ...     y = jt.reduce_prod(x)
    >>> tape.gradient(y, x).numpy()
    array([6., 0., 0.], dtype=float32)
    """
    return apply(_prod_body, (input_tensor,), (axis_key(axis), keepdims))


# ---- truth -----------------------------------------------------------------------------------------------------------

any_op = Primitive(
    "any",
    abstract_eval=lambda x, *, axes: Aval(
        without_axes(x.shape, axes), require_kinds("reduce_any", "b", x).dtype
    ),
    impl=lambda x, *, axes: np.any(x, axis=axes),
    lowering=Reduce(combine=lambda m, a, b: m.logical_or(a, b), identity=lambda dtype: False),
    gradient_stops="a truth value is constant between its jumps",
    batch=along_axes(),
)

all_op = Primitive(
    "all",
    abstract_eval=lambda x, *, axes: Aval(
        without_axes(x.shape, axes), require_kinds("reduce_all", "b", x).dtype
    ),
    impl=lambda x, *, axes: np.all(x, axis=axes),
    lowering=Reduce(combine=lambda m, a, b: m.logical_and(a, b), identity=lambda dtype: True),
    gradient_stops="a truth value is constant between its jumps",
    batch=along_axes(),
)


def _any_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = cast_to(x, bool_)
    axes = normalized_axes("reduce_any", axis, len(x.shape))
    return kept(any_op.bind(x, axes=axes) if axes else x, x, axes, keepdims)


def reduce_any(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether any element along `axis` is true; nonzero numbers are true.

    Parameters
    ----------
    input_tensor : tensor_like of bool
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
    >>> jt.reduce_any([[True, False], [False, False]], axis=1).numpy()
    array([ True, False])
    """
    return apply(_any_body, (input_tensor,), (axis_key(axis), keepdims))


def _all_body(x: Any, axis: Any, keepdims: bool) -> Any:
    x = cast_to(x, bool_)
    axes = normalized_axes("reduce_all", axis, len(x.shape))
    return kept(all_op.bind(x, axes=axes) if axes else x, x, axes, keepdims)


def reduce_all(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether all elements along `axis` are true; nonzero numbers are true.

    Parameters
    ----------
    input_tensor : tensor_like of bool
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
    >>> jt.reduce_all([[True, False], [True, True]], axis=1).numpy()
    array([False,  True])
    """
    return apply(_all_body, (input_tensor,), (axis_key(axis), keepdims))
