"""Conversion of Python and NumPy values to tensors: `constant` and `convert_to_tensor`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.buffers import copied
from jittape.core.config import config
from jittape.core.dtypes import KINDS, WEAK_EXAMPLES, as_dtype, default_dtype, int32, int64, kind_of
from jittape.core.primitive import active, active_recorder
from jittape.core.program import Aval
from jittape.core.symbolic.extent_functions import is_extent_of
from jittape.core.symbolic.extents import Extent, hint_of, plain_of
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import argument_of_user, named, refuse_deferred, refuse_masked, way_to_numbers
from jittape.errors import DTypeError, ShapeError
from jittape.primitives import elementwise
from jittape.primitives import shape as shapes
from jittape.primitives.broadcast import cast_op
from jittape.primitives.identity import identity
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor, holds_tensors, leaves_of, stacked, tensor_of

__all__ = [
    "cast_to_dtype", "constant", "convert_to_tensor", "converted_array", "held_tensor", "is_tensor",
    "plain_kind", "value_for_dtype",
]  # fmt: skip


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor with the given value.

    Parameters
    ----------
    value : scalar, sequence or ndarray
        Value to copy; a read-only ndarray of 64 KiB or more is not copied. Python floats become float32
        (`jt.config.default_float`), and Python ints become int32, or int64 if one does not fit int32. Arrays and NumPy
        scalars keep their dtype. A tensor, or a sequence that contains tensors, is converted as by `convert_to_tensor`;
        gradients flow through.
    dtype : dtype, optional
    shape : tuple of int, optional
        Shape that the value is reshaped to, or that a single number fills.
    name : str, optional
        Accepted for compatibility with TensorFlow.

    Raises
    ------
    TypeError
        For values that are not numbers, and for floats if `dtype` is an integer dtype.
    ValueError
        For ragged sequences, a tensor whose dtype is not `dtype`, and a shape that does not fit.
    OverflowError
        For Python ints that do not fit the dtype.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.constant([1.0, 2.0])
    <jt.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
    """
    if dtype is None and shape is None and (tensor := _tensor_of_plain(value)) is not None:
        return tensor
    value = held_tensor(value)
    if isinstance(value, (Operators, TracedScalar)) or holds_tensors(value):
        tensor = identity(convert_to_tensor(value, dtype))
        return tensor if shape is None else _filling(tensor, _wanted_shape(tensor.aval, shape))
    array = _array_of(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        wanted = _wanted_shape(Aval(array.shape, array.dtype), shape)
        array = (
            np.full(wanted, array.item(), array.dtype) if array.size == 1 else array.reshape(wanted).copy()
        )
    return tensor_of(array)


def _tensor_of_plain(value: Any) -> Any:
    """Return an ndarray, a float, an int or a sequence of such numbers as a tensor; None if it needs another way.

    The recorder copies arrays: ``jt.constant(array)`` takes 0.35 µs instead of 2.6.
    """
    recorder: Any = active.recorder
    if recorder.traced_in is not None or not hasattr(recorder, "tensor_of_array"):
        return None
    array = value if value.__class__ is np.ndarray else _array_of_plain_numbers(value)
    return None if array is None else recorder.tensor_of_array(array)


def _array_of_plain_numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a new array of a float, an int, or a sequence of these alone; None for anything else.

    The errors of other values, and their warnings, are those of `_array_of`.
    """
    kind = plain_kind(value)
    return None if kind is None else np.array(value, config.default_float if kind is float else int32)


def plain_kind(value: Any) -> type | None:
    """Return `float` or `int` for such a number, a sequence of these, or one of such sequences of equal lengths.

    None stands for anything else, and for numbers that overflow the default dtype or int32.
    ``jt.constant([[1.0, 2.0], [3.0, 4.0]])`` takes 2.0 µs instead of 7.5.
    """
    kind = type(value)
    if kind in _SEQUENCES:
        kinds = {*map(type, value)}
        if kinds and kinds <= _SEQUENCES and len({*map(len, value)}) == 1:
            value = [x for row in value for x in row]
            kinds = {*map(type, value)}
        kind = kinds.pop() if len(kinds) == 1 else float if kinds == _REAL else kind
        least, greatest = (min(value), max(value)) if kind is float or kind is int else (0, 0)
    else:
        least = greatest = value
    if kind is float and least > -_MOST_FLOAT and greatest < _MOST_FLOAT:
        return float
    return int if kind is int and least >= -(2**31) and greatest < 2**31 else None


_REAL = {int, float}
_SEQUENCES = frozenset((list, tuple))


_MOST_FLOAT = 3e38
"""Bound of the floats that every default dtype represents without overflow, beyond which NumPy warns."""


def held_tensor(value: Any) -> Any:
    """Return the tensor that `value` holds if it is a DataArray of xarray, or one like it; else `value`."""
    # The class is asked, not the value: an extent would become a plain number.
    if isinstance(value, _WITHOUT_TENSOR) or not hasattr(type(value), "dims"):
        return value
    data = getattr(value, "data", None)
    return data if isinstance(data, Operators) else value


_WITHOUT_TENSOR = (float, int, np.ndarray, Operators, list, tuple, np.generic)


def _wanted_shape(found: Aval, shape: Any) -> tuple[int, ...]:
    """Return `shape` as a tuple; raise if a value of shape `found` cannot fill it."""
    wanted = shapes.reshaping.as_shape("constant", shape)
    if found.size not in (1, math.prod(wanted)):
        raise ShapeError(
            f"[constant] {found.size} elements of shape {found.shape} do not fill shape {wanted}"
        )
    return wanted


def _filling(tensor: Tensor, wanted: tuple[int, ...]) -> Tensor:
    reshaping = shapes.reshaping
    one = tensor.size == 1
    return (
        reshaping.broadcast_to(reshaping.reshape(tensor, ()), wanted)
        if one
        else reshaping.reshape(tensor, wanted)
    )


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """Return `value` as a tensor: a tensor itself, or the current value of a Variable.

    Parameters
    ----------
    value : Tensor, Variable, scalar, ndarray or sequence
        Value to convert. Tensors in a sequence are stacked; gradients flow through.
    dtype : dtype, optional
        Dtype of the result. The dtype of a tensor must equal it.
    dtype_hint : dtype, optional
        Dtype for values that are not tensors or arrays, if they can be converted to it.
    name : str, optional
        Accepted for compatibility with TensorFlow.

    Raises
    ------
    TypeError
        For values that are not numbers.
    ValueError
        For a tensor whose dtype is not `dtype`.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant(1.0)
    >>> jt.convert_to_tensor([x, 2.0 * x]).numpy()
    array([1., 2.], dtype=float32)
    """
    if dtype is None and (value.flags.writeable if value.__class__ is np.ndarray else dtype_hint is None):
        tensor = _tensor_of_plain(value)
        if tensor is not None:
            return tensor
    wanted = None if dtype is None else as_dtype(dtype)
    value = held_tensor(value)
    if isinstance(value, TracedScalar):
        return _from_traced(value, wanted, dtype_hint)
    if value.__class__ is Extent:
        return _from_extent(value, wanted, dtype_hint)
    if isinstance(value, Operators):
        if wanted is not None and value.aval.dtype != wanted:
            raise named(
                ValueError(
                    f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}: "
                    f"use jt.cast(x, {wanted.name!r})"
                )
            )
        return value if isinstance(value, Tensor) else value.value()  # type: ignore[attr-defined]
    if holds_tensors(value):
        tensor = stacked(value)
        return tensor if wanted is None else cast_to_dtype(tensor, wanted)
    if wanted is None and dtype_hint is not None and not isinstance(value, (np.ndarray, np.generic)):
        try:
            return tensor_of(_array_of(value, as_dtype(dtype_hint)))
        except TypeError:
            pass
    return tensor_of(_array_of(value, wanted))


def converted_array(array: np.ndarray[Any, Any]) -> Tensor:
    """Return an ndarray as a tensor, without the recorder's own conversion."""
    return tensor_of(_array_of(array, None))


def _from_traced(number: TracedScalar, dtype: np.dtype[Any] | None, hint: Any) -> Tensor:
    """Return a number of a traced function as a tensor, of the dtype that a plain number would get."""
    if dtype is None and number.kind is int and not -(2**31) <= number.now < 2**31:
        return convert_to_tensor(
            number.concretize(), dtype, hint
        )  # the dtype of a large int depends on its value
    if dtype is None and hint is not None and isinstance(number.kind, type):
        hinted = as_dtype(hint)
        dtype = hinted if KINDS[kind_of(number.default_dtype)].rank <= KINDS[kind_of(hinted)].rank else None
    operand: Any = number
    if dtype is None:
        return identity(operand)
    if KINDS[kind_of(number.default_dtype)].rank > KINDS[kind_of(dtype)].rank:
        raise DTypeError(
            f"Cannot convert the {number.described} to a tensor of dtype {dtype.name}; use jt.cast"
        )
    return elementwise.complex_numbers.cast(operand, dtype)


def _from_extent(number: Any, dtype: np.dtype[Any] | None, hint: Any) -> Tensor:
    """Return an extent of a traced function as a tensor, of the dtype that a plain int would get."""
    now = hint_of(number)
    recorded = is_extent_of(number, getattr(active_recorder(), "extents", None))
    if not recorded or type(now) is not int or not -(2**31) <= number < 2**31:
        return convert_to_tensor(plain_of(number), dtype, hint)
    return elementwise.complex_numbers.cast(number, convert_to_tensor(now, dtype, hint).dtype)


def is_tensor(x: Any) -> bool:
    """Return whether `x` is a tensor or a Variable.

    Parameters
    ----------
    x : object
        The object to check.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.is_tensor(jt.constant(1.0)), jt.is_tensor(1.0)
    (True, False)
    """
    return isinstance(x, Operators)


def cast_to_dtype(tensor: Any, dtype: np.dtype[Any]) -> Any:
    """Cast `tensor` to `dtype`, recorded; return it unchanged if it has that dtype."""
    return tensor if tensor.aval.dtype == dtype else cast_op.bind(tensor, dtype=dtype)


def _array_of(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """Return `value` as an ndarray that no other code writes to. Errors name the called function and the argument."""
    try:
        return _converted(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        error.args = (f"{argument_of_user(value)}{error}",)
        named(error)
        raise


def _converted(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    kind = type(value)
    if kind in WEAK_EXAMPLES:
        return _from_python(value, kind, dtype)
    if isinstance(value, np.ndarray):
        return _from_array(value, dtype)
    first = next(leaves_of(value), None) if isinstance(value, (list, tuple)) else value
    refuse_deferred(first)
    refuse_masked(first)
    if isinstance(value, (str, bytes)) or value is None:
        raise DTypeError(
            f"Cannot convert {_short(value)} to a tensor: give a number, an array or nested lists of numbers"
        )
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"Cannot convert {_short(value)} of type {kind.__name__!r} to a tensor: its parts have different shapes; "
            "pad them to the same one"
        ) from None
    if kind_of(array.dtype) not in KINDS:
        reason = "it is no number; give a number, an array or nested lists of numbers"
        if kind.__module__.startswith("scipy.sparse"):
            reason = "it is a sparse matrix; write matrix @ x for a product, or give matrix.toarray()"
        raise DTypeError(f"Cannot convert {_short(value)} of type {kind.__name__!r} to a tensor: {reason}")
    if isinstance(value, (list, tuple, range)) and not any(isinstance(v, _NUMPY) for v in leaves_of(value)):
        return _from_sequence(array, value, dtype)
    return _from_array(array, dtype)


def _from_python(value: Any, kind: type, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    if dtype is None:
        dtype = default_dtype(kind)
        if dtype == int32 and not -(2**31) <= value < 2**31:
            dtype = int64
    _refuse_lossy(np.asarray(kind()), dtype, value)
    if dtype.kind in "iu":
        _refuse_overflow(value, value, dtype)
    with np.errstate(over="ignore"):
        return np.array(value, dtype)


def _from_sequence(
    array: np.ndarray[Any, Any], value: Any, dtype: np.dtype[Any] | None
) -> np.ndarray[Any, Any]:
    """Return the array of a sequence of Python numbers in the dtype that jittape gives such numbers."""
    if array.dtype == np.float64 and array.size and array.max() >= 2.0**63:
        array = _exact_integers(array, value, dtype or int64)
    if dtype is None:
        dtype = default_dtype(KINDS[kind_of(array.dtype)].python)
        if dtype == int32 and array.size and not -(2**31) <= array.min() <= array.max() < 2**31:
            dtype = int64
    if array.size:
        _refuse_lossy(array, dtype, value)
        if dtype.kind in "iu":
            _refuse_overflow(int(array.min()), int(array.max()), dtype)
    return _cast(array, dtype)


def _exact_integers(array: np.ndarray[Any, Any], value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the integers of `value` in uint64 if NumPy rounded them to float64, the join of int64 and uint64."""
    leaves = list(leaves_of(value))
    if dtype.kind not in "iu" or not all(isinstance(v, int) for v in leaves):
        return array
    _refuse_overflow(min(leaves), max(leaves), dtype)
    return np.array(value, np.uint64)


def _refuse_overflow(least: int, greatest: int, dtype: np.dtype[Any]) -> None:
    limits = np.iinfo(dtype)
    for value in (least, greatest):
        if not limits.min <= value <= limits.max:
            raise OverflowError(f"the number {value} does not fit {dtype.name}; give a wider dtype")


_NUMPY = (np.ndarray, np.generic)


def _refuse_lossy(array: np.ndarray[Any, Any], dtype: np.dtype[Any], value: Any) -> None:
    """Raise an error for an implicit conversion of floats to ints or of complex to real numbers."""
    if KINDS[kind_of(array.dtype)].rank > KINDS[kind_of(dtype)].rank:
        raise DTypeError(f"Cannot convert {_short(value)} to a tensor of dtype {dtype.name}; use jt.cast")


def _from_array(value: np.ndarray[Any, Any], dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    if kind_of(value.dtype) not in KINDS:
        raise DTypeError(
            f"Cannot convert an array of dtype {value.dtype} to a tensor; {way_to_numbers(value.dtype)}"
        )
    refuse_masked(value)
    wanted = as_dtype(value.dtype) if dtype is None else dtype
    if value.dtype == wanted:
        if value.flags.c_contiguous and type(value) is np.ndarray and _is_frozen(value):
            return value
        return copied(value, wanted)
    if value.size:
        _refuse_lossy(value, wanted, value)
    return _cast(value, wanted)


def _cast(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a copy in `dtype`; numbers out of range become inf without a warning, as in any op."""
    with np.errstate(over="ignore"):
        return copied(array, dtype)


def _is_frozen(array: np.ndarray[Any, Any]) -> bool:
    """Return whether the memory is read-only, including that of the arrays that `array` is a view of."""
    at: Any = array
    while isinstance(at, np.ndarray):
        if at.flags.writeable:
            return False
        at = at.base
    return at is None or isinstance(at, bytes)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def value_for_dtype(value: Any, dtype: Any) -> Any:
    """Return `value` as a tensor or array, of `dtype` if that loses no part of a number; tensors stay as they are."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (np.ndarray, np.generic)):
        return convert_to_tensor(value, dtype_hint=dtype)
    native, wanted = value.dtype.newbyteorder("="), np.dtype(dtype)
    is_safe = native.kind in "iu" or (native.kind not in "bOSU" and wanted.kind not in "iu")
    is_safe &= wanted.kind != "b" and (native.kind != "c" or wanted.kind == "c")
    if isinstance(value, np.ma.MaskedArray) or native == wanted or not is_safe:
        return np.asanyarray(value)
    return convert_to_tensor(value, dtype)
