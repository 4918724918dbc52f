"""Tensors created from a shape (zeros, ones, fill, eye, range, linspace).

They are broadcast literals and coordinates (`iota`), so kernels compute their elements and never read them from memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import (
    as_dtype,
    common_dtype,
    default_dtype,
    float64,
    int32,
    int64,
    is_differentiable,
    is_floating,
    kind_of,
)
from jittape.core.primitive import any_dtype, apply
from jittape.core.symbolic.extents import Extent
from jittape.core.user_calls import argument_of_user, as_flag, as_int, named
from jittape.errors import InvalidArgumentError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    broadcast_operands,
    cast_to,
    iota,
    one_axis_key,
    promote,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.shape.reshaping import as_shape, one_axis, shape_of
from jittape.primitives.shape.shape_extents import known_extents
from jittape.typing import Tensor, TensorLike

__all__ = [
    "evenly_spaced",
    "eye",
    "fill",
    "linspace",
    "ones",
    "ones_like",
    "range",
    "zeros",
    "zeros_like",
]


def _static_dtype(dtype: Any) -> np.dtype[Any]:
    return default_dtype(float) if dtype is None else as_dtype(dtype)


# ---- constant values -------------------------------------------------------------------------------------------------


@any_dtype
def _full(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> Any:
    return broadcast(as_symbol(value) if dtype is None else cast_to(value, dtype), shape)


@any_dtype
def _constant(value: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return broadcast(literal(value, dtype), shape)


def _checked(op: str, shape: Any) -> tuple[int, ...]:
    dims = as_shape(op, shape)
    if any(n < 0 for n in dims):
        raise ShapeError(f"[{op}] dimensions must not be negative, got {dims}")
    return dims


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor of zeros; the default of `dtype` is the default float.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    dtype : dtype, optional
        The default float.

    Raises
    ------
    ShapeError
        If a dimension is negative.

    Examples
    --------
    >>> jt.zeros([2, 3]).numpy()
    array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return apply(_constant, (), (0, _checked("zeros", shape), _static_dtype(dtype)))


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor of ones; the default of `dtype` is the default float.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result.
    dtype : dtype, optional
        The default float.

    Raises
    ------
    ShapeError
        If a dimension is negative.

    Examples
    --------
    >>> jt.ones([2, 3]).numpy()
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    return apply(_constant, (), (1, _checked("ones", shape), _static_dtype(dtype)))


@any_dtype
def _filled(value: Any, shape: tuple[int, ...]) -> Any:
    value = as_symbol(value)
    if value.shape:
        raise ShapeError(f"[fill] value must be a scalar, got shape {value.shape}; use broadcast_to")
    return broadcast(value, shape)


def fill(dims: Any, value: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of shape `dims` with all elements equal to the scalar `value`; differentiable in `value`.

    Parameters
    ----------
    dims : sequence of int
        Shape of the result.
    value : tensor_like
        A scalar.

    Raises
    ------
    ShapeError
        If a dimension is negative, or `value` is not a scalar.

    Examples
    --------
    >>> jt.fill([2, 2], 7.0).numpy()
    array([[7., 7.],
           [7., 7.]], dtype=float32)
    """
    return apply(_filled, (value,), (_checked("fill", dims),))


def _filled_like(x: Any, number: int, dtype: np.dtype[Any] | None) -> Any:
    x = as_symbol(x)
    return _constant(number, x.shape, x.dtype if dtype is None else dtype)


def _like(number: int, input: Any, dtype: Any) -> Any:
    wanted = None if dtype is None else as_dtype(dtype)
    if not isinstance(input, np.ndarray):
        return apply(_filled_like, (input,), (number, wanted))
    return apply(_constant, (), (number, input.shape, input.dtype if wanted is None else wanted))


def zeros_like(input: TensorLike, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return zeros with the shape of `input`, and with its dtype unless `dtype` is given.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    dtype : dtype, optional
        The dtype of `input`.

    Examples
    --------
    >>> jt.zeros_like(np.array([1, 2])).numpy()
    array([0, 0])
    """
    return _like(0, input, dtype)


def ones_like(input: TensorLike, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return ones with the shape of `input`, and with its dtype unless `dtype` is given.

    Parameters
    ----------
    input : tensor_like
        Any shape.
    dtype : dtype, optional
        The dtype of `input`.

    Examples
    --------
    >>> jt.ones_like(np.array([1, 2])).numpy()
    array([1, 1])
    """
    return _like(1, input, dtype)


# ---- coordinates -----------------------------------------------------------------------------------------------------


def _eye(rows: int, columns: int, lead: tuple[int, ...], offset: int, dtype: np.dtype[Any]) -> Any:
    shape = (rows, columns)
    row = add(iota(shape, 0, int64), offset) if offset else iota(shape, 0, int64)
    return broadcast(cast_to(equal(row, iota(shape, 1, int64)), dtype), (*lead, rows, columns))


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return an identity matrix, or identical ones in a stack of shape `batch_shape`.

    Parameters
    ----------
    num_rows : int
        Number of rows.
    num_columns : int, optional
        Number of columns; that of the rows by default.
    batch_shape : sequence of int, optional
        Leading dimensions.
    dtype : dtype, optional
        The default float.

    Raises
    ------
    ShapeError
        If a dimension is negative.

    Examples
    --------
    >>> jt.eye(2).numpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = as_int("num_rows", num_rows)
    columns = rows if num_columns is None else as_int("num_columns", num_columns)
    lead = () if batch_shape is None else _checked("eye", batch_shape)
    _checked("eye", (rows, columns))
    return apply(_eye, (), (rows, columns, lead, 0, _static_dtype(dtype)))


def _range(start: Any, delta: Any, count: int, dtype: np.dtype[Any]) -> Any:
    work = float64 if dtype.kind == "f" else int64
    steps = multiply(iota((count,), 0, work), cast_to(delta, work))
    return cast_to(add(steps, cast_to(start, work)), dtype)


def range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: Any = None,
    name: str | None = "range",
) -> Tensor:
    """Return numbers from `start` to before `limit` in steps of `delta`; with one argument, from 0 to before it.

    Integers give int32, as in TensorFlow. A Python float among the arguments gives the default float.

    Parameters
    ----------
    start : number
        First number; with one argument, the limit.
    limit : number, optional
        End, which is not included.
    delta : number
        Distance of neighbors; may be negative.
    dtype : dtype, optional
        That of the arguments.

    Raises
    ------
    InvalidArgumentError
        If `delta` is 0, if `limit` is on the wrong side of `start`, or if a number is not finite.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.range(5, 0, -2).numpy()
    array([5, 3, 1], dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    numbers = [_number(n) for n in (start, limit, delta)]
    first, last, step = numbers
    if step == 0:
        raise InvalidArgumentError("[range] delta must not be 0")
    if not all(n.__class__ is Extent or math.isfinite(n) for n in numbers):
        raise InvalidArgumentError(
            f"[range] start, limit and delta must be finite, got {first}, {last} and {step}"
        )
    if (last - first) * step < 0:
        side = "at most" if step > 0 else "at least"
        raise InvalidArgumentError(
            f"[range] start must be {side} limit if delta is {step}, got start {first} and limit {last}; "
            f"a delta of {-step} counts the other way"
        )
    if dtype is None:
        known = [n.dtype for n in (start, limit, delta) if not isinstance(n, (int, float, Extent))]
        found = common_dtype(*known) if known else int32
        floating = any(isinstance(n, float) for n in numbers)
        found = default_dtype(float) if floating and not is_floating(found) else found
    else:
        found = as_dtype(dtype)
    if any(n.__class__ is Extent for n in numbers) and not any(type(n) is float for n in numbers):
        count = -(-(last - first) // step)
    else:
        count = math.ceil((last - first) / step)
    return apply(_range, (first, step), (count, found))


def _number(value: Any) -> Any:
    if isinstance(value, (int, float, Extent)):
        return value
    known = known_extents(value, "iuf")
    if known is not None and not value.ndim:
        return known
    array = np.asarray(value, None if shape_of(value) == () else object)
    if array.size != 1 or kind_of(array.dtype) not in "biuf":
        raise named(TypeError(f"{argument_of_user(value)}must be one real number, got {value!r}"))
    return array.item()


def _linspace(start: Any, stop: Any, num: int, axis: int, endpoint: bool, broadcasts: bool) -> Any:
    start, stop = promote(start, stop)
    if not is_differentiable(start.dtype):
        start, stop = cast_to(start, float64), cast_to(stop, float64)
    if broadcasts:
        start, stop = broadcast_operands(start, stop, op="linspace")
    if start.shape != stop.shape:
        raise ShapeError(f"[linspace] start and stop must have one shape, got {start.shape} and {stop.shape}")
    a = one_axis("linspace", axis, len(start.shape) + 1)
    ends = [to_shape(x, (*x.shape[:a], 1, *x.shape[a:])) for x in (start, stop)]
    shape = (*start.shape[:a], num, *start.shape[a:])
    parts = max(num - 1 if endpoint else num, 1)
    step = divide(subtract(ends[1], ends[0]), parts)
    position = iota(shape, a, start.dtype)
    result = add(multiply(position, step), ends[0])
    if endpoint and num > 1:
        # The last element is exactly `stop`, independent of rounding.
        result = where(equal(iota(shape, a, int64), num - 1), ends[1], result)
    return result


def linspace(start: TensorLike, stop: TensorLike, num: int, name: str | None = None, axis: int = 0) -> Tensor:
    """Return `num` evenly spaced numbers from `start` to `stop`, both included; differentiable in both.

    Parameters
    ----------
    start, stop : tensor_like
        First and last number; they may have any shape.
    num : int
        Number of values.
    axis : int
        The new dimension of the result.

    Raises
    ------
    ShapeError
        If the shapes differ, or `num` is negative.

    Examples
    --------
    >>> jt.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    return evenly_spaced(start, stop, num, axis, True, broadcasts=False)


def evenly_spaced(
    start: TensorLike, stop: TensorLike, num: int, axis: int, endpoint: bool, broadcasts: bool
) -> Tensor:
    """Return evenly spaced numbers with or without the end point; `start` and `stop` may broadcast."""
    count = as_int("num", num)
    if count < 0:
        raise ShapeError(f"[linspace] num must not be negative, got {count}")
    return apply(
        _linspace, (start, stop), (count, one_axis_key(axis), as_flag("endpoint", endpoint), broadcasts)
    )
