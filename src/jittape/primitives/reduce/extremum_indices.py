"""Indices of extrema: `argmax` and `argmin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.dtypes import int64, uint8
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import ShapeError
from jittape.primitives.batched_params import along_axis
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast_back,
    cast_to,
    iota,
    without_axes,
)
from jittape.primitives.elementwise.comparison import equal, logical_or, not_equal, where
from jittape.primitives.record_parts import integer_dtype, require_kinds
from jittape.primitives.reduce.reductions import (
    max_op,
    min_op,
)
from jittape.primitives.shape.reshaping import one_axis
from jittape.typing import Tensor, TensorLike

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["argmax", "argmax_op", "argmin", "argmin_op"]


PLACE = "the index of an extremum is an integer"


def _place_abstract_eval(x: Aval, *, axis: int, dtype: np.dtype[Any]) -> Aval:
    require_kinds("argmax", "biuf", x)
    if x.shape[axis] == 0:
        raise ShapeError(f"[argmax] axis {axis} of shape {x.shape} has no elements")
    return Aval(without_axes(x.shape, (axis,)), dtype)


def _first_place(x: Any, extreme: Primitive, axis: int, dtype: np.dtype[Any]) -> Any:
    """Return the first coordinate along `axis` whose element equals the extremum, or is nan if the extremum is."""
    x = cast_to(x, uint8) if x.dtype.kind == "b" else x
    top = broadcast_back(extreme.bind(x, axes=(axis,)), x.shape, (axis,))
    found = equal(x, top)
    if x.dtype.kind == "f":
        found = logical_or(found, not_equal(x, x))
    places = where(found, iota(x.shape, axis, int64), x.shape[axis])
    return cast_to(min_op.bind(places, axes=(axis,)), dtype)


argmax_op = Primitive(
    "argmax",
    abstract_eval=_place_abstract_eval,
    impl=lambda x, *, axis, dtype: np.argmax(x, axis).astype(dtype),
    lowering=Decomposition(lambda x, *, axis, dtype: _first_place(x, max_op, axis, dtype)),
    gradient_stops=PLACE,
    batch=along_axis(),
)

argmin_op = Primitive(
    "argmin",
    abstract_eval=_place_abstract_eval,
    impl=lambda x, *, axis, dtype: np.argmin(x, axis).astype(dtype),
    lowering=Decomposition(lambda x, *, axis, dtype: _first_place(x, min_op, axis, dtype)),
    gradient_stops=PLACE,
    batch=along_axis(),
)


def _argmax_body(x: Any, axis: int, dtype: np.dtype[Any]) -> Any:
    x = as_symbol(x)
    a = one_axis("argmax", axis, len(x.shape))
    return argmax_op.bind(x, axis=a, dtype=dtype)


def argmax(
    input: TensorLike, axis: int | None = None, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Return the index of the greatest element along `axis`; of equal elements, that of the first.

    Parameters
    ----------
    input : tensor
        A tensor of a real or bool dtype.
    axis : int, optional
        The dimension to reduce; as in TensorFlow, the first by default.
    output_type : dtype
        An integer dtype.

    Raises
    ------
    DTypeError
        If `input` is complex, or `output_type` is no integer dtype.
    AxisError
        If `axis` is out of range.
    ShapeError
        If the dimension has no elements.

    Examples
    --------
    >>> jt.argmax([[1.0, 5.0], [7.0, 2.0]], axis=1).numpy()
    array([1, 0])
    """
    return apply(
        _argmax_body,
        (input,),
        (0 if axis is None else axis_key(axis), integer_dtype("output_type", output_type)),
    )


def _argmin_body(x: Any, axis: int, dtype: np.dtype[Any]) -> Any:
    x = as_symbol(x)
    a = one_axis("argmin", axis, len(x.shape))
    return argmin_op.bind(x, axis=a, dtype=dtype)


def argmin(
    input: TensorLike, axis: int | None = None, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Return the index of the least element along `axis`; of equal elements, that of the first.

    Parameters
    ----------
    input : tensor
        A tensor of a real or bool dtype.
    axis : int, optional
        The dimension to reduce; as in TensorFlow, the first by default.
    output_type : dtype
        An integer dtype.

    Raises
    ------
    DTypeError
        If `input` is complex, or `output_type` is no integer dtype.
    AxisError
        If `axis` is out of range.
    ShapeError
        If the dimension has no elements.

    Examples
    --------
    >>> jt.argmin([[1.0, 5.0], [7.0, 2.0]], axis=1).numpy()
    array([0, 1])
    """
    return apply(
        _argmin_body,
        (input,),
        (0 if axis is None else axis_key(axis), integer_dtype("output_type", output_type)),
    )
