"""Conversion of arguments as NumPy does it, and of NumPy's results to tensors.

`as_tensor` is the conversion of ``jittape.numpy.asarray``. It differs from `jt.constant` in the dtypes: Python floats
become float64, ints become int64, and the dtypes of all parts of a list count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jittape.core.buffers import LARGE
from jittape.core.dtypes import as_dtype
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import as_array, named, shown
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.joining import stack, stack_nested
from jittape.recording.convert import constant, convert_to_tensor, held_tensor
from jittape.recording.operators import Operators
from jittape.recording.static_info import DEVICE
from jittape.recording.tensor import Tensor, holds_tensors, leaves_of, tensor_of

__all__ = [
    "SEQUENCES",
    "as_operand",
    "as_result",
    "as_tensor",
    "check_device",
    "dtype_found",
    "fresh",
    "joined_tensors",
    "operands_of",
    "tensor_over",
]

SEQUENCES = frozenset((list, tuple))
_EXACT = 2**53
_SCALARS = (int, float, complex)
_RECORDED = (Operators, TracedScalar)


def check_device(device: Any) -> None:
    """Raise `ValueError` for a device other than the processor."""
    if device not in (None, "cpu", DEVICE):
        raise named(
            ValueError(f"device must be 'cpu' or None, got {shown(device)}: jittape has no other devices")
        )


def dtype_found(value: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy gives to `value`, a scalar, array, tensor or traced number."""
    if isinstance(value, Operators):
        return value.aval.dtype
    if isinstance(value, TracedScalar):
        return np.dtype(value.kind)
    return as_array("value", value).dtype


def as_tensor(value: Any, dtype: Any = None, argument: str = "a") -> Tensor:
    """Return `value` as a tensor of `dtype`, by default of the dtype that NumPy's ``asarray`` gives.

    Tensors in nested sequences are stacked, and gradients flow to them.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, _RECORDED):
        return _value_of(value, dtype_found(value) if wanted is None else wanted)
    if holds_tensors(value):
        leaves = [dtype_found(leaf) for leaf in leaves_of(value)]
        return _stacked(value, np.result_type(*leaves) if wanted is None else wanted)
    array = as_array(argument, value)
    if wanted is not None and array.dtype != wanted:
        return fresh(_converted(value, array, wanted))
    return convert_to_tensor(array)


def joined_tensors(values: Any) -> Any:
    """Return a sequence of tensors and numbers, nested or not, as one tensor; None without tensors, or for others."""
    parts: list[Any] = []
    lead = _lengths(values, parts)
    tensors = [x for x in parts if hasattr(x, "_aval")]
    if lead is None or not tensors:
        return None
    return stack(parts) if len(lead) == 1 and len(tensors) == len(parts) else stack_nested(parts, lead)


def _lengths(values: Any, parts: list[Any]) -> tuple[int, ...] | None:
    """Add the items of nested sequences to `parts`; return the lengths, None if they differ or an item is no number."""
    rows = [x for x in values if x.__class__ in SEQUENCES]
    if not rows:
        parts += values
        is_number = [
            hasattr(x, "_aval") or x.__class__ is float or (x.__class__ is int and -_EXACT <= x <= _EXACT)
            for x in values
        ]
        return (len(values),) if all(is_number) else None
    found = {_lengths(x, parts) for x in rows}
    inner = found.pop()
    return (len(rows), *inner) if inner and not found and len(rows) == len(values) else None


def fresh(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor over an array that no other code writes to."""
    return tensor_over(np.asarray(array, as_dtype(array.dtype), order="C"))


def tensor_over(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor over a new array in C order. `constant` copies a small one in 0.35 µs; `tensor_of` takes 1.5."""
    return constant(array) if array.nbytes < LARGE else tensor_of(array)


def _value_of(value: Any, dtype: np.dtype[Any]) -> Tensor:
    """Return a tensor, a Variable or a traced number as a tensor of `dtype`; a tensor of this dtype itself."""
    if isinstance(value, Operators) and value.aval.dtype == dtype:
        return value if isinstance(value, Tensor) else value.value()  # type: ignore[attr-defined]
    return cast(value, dtype)


def _stacked(value: Any, dtype: np.dtype[Any]) -> Tensor:
    if isinstance(value, _RECORDED):
        return _value_of(value, dtype)
    if holds_tensors(value):
        return stack([_stacked(v, dtype) for v in value])
    return tensor_of(np.array(value, dtype))


def _converted(value: Any, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return `array` in another dtype. Python numbers are converted one by one, so 300 is no uint8."""
    if isinstance(value, (*_SCALARS, list, tuple)) and dtype.isbuiltin == 1:
        return np.array(value, dtype)
    return array.astype(dtype)


def as_operand(value: Any, argument: str = "x", weak: bool = True) -> Any:
    """Return an argument of a function: sequences become arrays or tensors.

    A `weak` argument may be a Python number or None. Otherwise numbers become arrays, and None raises an error.
    """
    if isinstance(value, _RECORDED) or value is np._NoValue or (value is None and weak):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        return value
    if isinstance(value, _SCALARS) and weak:
        return value
    if holds_tensors(value):
        return as_tensor(value)
    held = held_tensor(value)
    return as_array(argument, value) if held is value else held


def operands_of(values: tuple[Any, ...], arguments: tuple[str, ...]) -> list[Any]:
    """Return the operands of a ufunc. Python numbers are weak next to an array, and arrays themselves otherwise."""
    operands = [as_operand(v, name) for v, name in zip(values, arguments, strict=False)]
    if all(isinstance(x, _SCALARS) for x in operands):
        return [np.asarray(x) for x in operands]
    if not any(isinstance(x, (Operators, np.ndarray, np.generic)) for x in operands):
        return [as_tensor(x, None, name) for x, name in zip(operands, arguments, strict=False)]
    return operands


def as_result(value: Any) -> Any:
    """Return a result with each array as a tensor: in tuples, named tuples, lists and iterators too."""
    if value.__class__ is Tensor:
        return value
    if isinstance(value, Operators):
        return value.value()  # type: ignore[attr-defined]
    if isinstance(value, (np.ndarray, np.generic)):
        return convert_to_tensor(np.asarray(value)) if value.dtype.kind in "biufc" else value
    if isinstance(value, (list, tuple)):
        parts = [as_result(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, Iterator):
        return map(as_result, value)
    return value
