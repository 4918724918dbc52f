"""From Python and NumPy values to tensors: `constant` and `convert_to_tensor`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.dtypes import WEAK_EXAMPLES, as_dtype, default_dtype
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import cast_op
from jittape.primitives.shape import stack
from jittape.recording.tensor import Operators, Tensor, tensor_of

__all__ = ["constant", "convert_to_tensor"]


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor with the given value.

    Parameters
    ----------
    value : scalar, sequence or ndarray
        Copied, unless it is a read-only ndarray. Python floats become float32 (`jt.config.default_float`), Python ints
        int32; arrays and NumPy scalars keep their dtype.
    dtype : dtype, optional
    shape : tuple of int, optional
        The value is reshaped to it; a single number fills it.
    name : str, optional
        Accepted for TensorFlow's sake.

    Raises
    ------
    TypeError
        For values that are not numbers, and for floats where an integer dtype is asked for.
    ValueError
        For ragged sequences, and a shape that does not fit.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.constant([1.0, 2.0])
    <jt.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>
    """
    if isinstance(value, Operators):
        value = value.numpy()
    array = _array_of(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        wanted = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
        if array.size != 1 and array.size != int(np.prod(wanted)):
            raise ShapeError(f"[constant] {array.size} elements of shape {array.shape} do not fill shape {wanted}")
        array = np.full(wanted, array.item(), array.dtype) if array.size == 1 else array.reshape(wanted).copy()
    return tensor_of(array)


def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """`value` as a tensor; a tensor as it is, a Variable as it is read now.

    Parameters
    ----------
    value : Tensor, Variable, scalar, ndarray or sequence
        A sequence may hold tensors: they are stacked, and gradients flow through.
    dtype : dtype, optional
        For a tensor it must be the tensor's own.
    dtype_hint : dtype, optional
        Used for plain values where they can be of this dtype.
    name : str, optional
        Accepted for TensorFlow's sake.

    Raises
    ------
    TypeError
        For values that are not numbers.
    ValueError
        For a tensor of another dtype than asked for.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.constant(1.0)
    >>> jt.convert_to_tensor([x, 2.0 * x]).numpy()
    array([1., 2.], dtype=float32)
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Operators):
        if wanted is not None and value.dtype != wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}: "
                f"use jt.cast(x, {wanted.name!r})"
            )
        return value if isinstance(value, Tensor) else value.value()  # type: ignore[attr-defined, no-any-return]
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        stacked: Tensor = stack([convert_to_tensor(v) if isinstance(v, (list, tuple)) else v for v in value])
        return stacked if wanted is None else cast_to_dtype(stacked, wanted)
    if wanted is None and dtype_hint is not None and not isinstance(value, (np.ndarray, np.generic)):
        try:
            return tensor_of(_array_of(value, as_dtype(dtype_hint)))
        except TypeError:
            pass
    return tensor_of(_array_of(value, wanted))


def cast_to_dtype(tensor: Any, dtype: np.dtype[Any]) -> Any:
    """`tensor` in `dtype`, recorded; as it is where it has that dtype."""
    return tensor if tensor.dtype == dtype else cast_op.bind(tensor, dtype=dtype)


def _holds_tensors(value: Any) -> bool:
    return any(
        isinstance(v, Operators) or (isinstance(v, (list, tuple)) and _holds_tensors(v)) for v in value
    )


def _array_of(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    """An ndarray that nobody else will write to."""
    kind = type(value)
    if kind in WEAK_EXAMPLES:
        return _from_python(value, kind, dtype)
    if isinstance(value, np.ndarray):
        return _from_array(value, dtype)
    if isinstance(value, (str, bytes)) or value is None:
        raise DTypeError(f"Cannot convert {value!r} to a tensor: numbers, arrays and nested lists of them can be")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"Cannot convert {kind.__name__} to a tensor: {error}") from None
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"Cannot convert {_short(value)} of type {kind.__name__!r} to a tensor: it is no number")
    if dtype is None and isinstance(value, (list, tuple)) and not _holds_numpy(value):
        dtype = default_dtype({"b": bool, "i": int, "u": int, "f": float, "c": complex}[array.dtype.kind])
    if dtype is not None and array.size:
        _refuse_lossy(array, dtype, value)
    return np.array(array, as_dtype(array.dtype if dtype is None else dtype), order="C")


def _from_python(value: Any, kind: type, dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    if dtype is None:
        dtype = default_dtype(kind)
    _refuse_lossy(np.asarray(value), dtype, value)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= int(value) <= limits.max:
            raise OverflowError(f"Python int {value} does not fit {dtype.name}; give a wider dtype")
    return np.array(value, dtype)


def _refuse_lossy(array: np.ndarray[Any, Any], dtype: np.dtype[Any], value: Any) -> None:
    """Floats do not become ints unasked, nor complex numbers real ones."""
    order = "biufc"
    rank = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
    if array.dtype.kind in order and rank[array.dtype.kind] > max(rank[dtype.kind], 0) and dtype.kind != "b":
        raise DTypeError(f"Cannot convert {_short(value)} to a tensor of dtype {dtype.name}; use jt.cast")


def _from_array(value: np.ndarray[Any, Any], dtype: np.dtype[Any] | None) -> np.ndarray[Any, Any]:
    if value.dtype.kind not in "biufc":
        raise DTypeError(f"Cannot convert an array of dtype {value.dtype} to a tensor; use a numeric dtype")
    wanted = as_dtype(value.dtype) if dtype is None else dtype
    if value.dtype == wanted and value.flags.c_contiguous and type(value) is np.ndarray and _is_frozen(value):
        return value
    return np.array(value, wanted, order="C", subok=False)


def _is_frozen(array: np.ndarray[Any, Any]) -> bool:
    """Whether nobody can write to the memory: it is read-only, and so is all that it is a view of."""
    at: Any = array
    while isinstance(at, np.ndarray):
        if at.flags.writeable:
            return False
        at = at.base
    return at is None or isinstance(at, bytes)


def _holds_numpy(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_numpy(v) for v in value)
    return isinstance(value, (np.ndarray, np.generic))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
