"""Operands as SciPy takes them: Python numbers and lists are float64, small integers and float16 as its loops say."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import complex64, complex128, float32, float64
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import named
from jittape.errors import DTypeError
from jittape.primitives.broadcast import broadcast_operands, cast_to
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.joining import stack
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor

__all__ = [
    "array_valued",
    "as_operand",
    "complex_operands",
    "float64_tensor",
    "floating_operand",
    "known_values",
    "real_operands",
    "wide_tensor",
]


def as_operand(x: Any) -> Any:
    """Return an argument with NumPy's dtype: a list becomes an array of float64, a list with tensors is stacked."""
    if x.__class__ in (list, tuple):
        if _has_tensor(x):
            return stack([floating_operand(e) for e in x])
        return np.asarray(x)
    return x


def _has_tensor(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(_has_tensor(e) for e in x)
    return hasattr(x, "aval")


def floating_operand(x: Any) -> Any:
    """Return an argument as a float or complex array or tensor; numbers and integers become float64."""
    x = as_operand(x)
    if isinstance(x, (bool, int, float)):
        return np.asarray(x, np.float64)
    dtype = np.dtype(getattr(x, "aval", x).dtype) if hasattr(x, "dtype") else None
    if dtype is not None and dtype.kind in "biu":
        return cast(x, float64)
    return x


def float64_tensor(function: str, x: Any) -> Any:
    """Return an argument of `function` as a float64 tensor.

    Raises
    ------
    DTypeError
        For complex numbers, whose imaginary parts would be lost.
    """
    x = convert_to_tensor(floating_operand(x))
    if x.dtype.kind == "c":
        raise DTypeError(
            f"[{function}] complex numbers are not supported, got {x.dtype.name}: use the real and the imaginary parts"
        )
    return cast(x, float64)


def wide_tensor(x: Any) -> Any:
    """Return an argument as a tensor of float64 or complex128."""
    x = convert_to_tensor(floating_operand(x))
    return cast(x, complex128 if x.dtype.kind == "c" else float64)


def known_values(x: Any) -> Any:
    """Return the values of an argument as an array; None if they are unknown or need a run."""
    if isinstance(x, Tensor):
        return x.numpy() if x._buffer is not None else None
    return None if _has_tensor(x) or type(x) is TracedScalar else np.asarray(x)


def array_valued(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a user's function whose value may be a list of numbers and tensors as one that returns a tensor."""

    @functools.wraps(function)
    def called(*args: Any) -> Any:
        return convert_to_tensor(floating_operand(function(*args)))

    return called


@functools.cache
def _first_loop(function: str) -> str:
    """Return the dtypes of the first loop of a ufunc of SciPy, such as ``"d->d"``; nothing if it is no ufunc.

    NumPy takes the first loop to whose dtypes all operands convert, unless the dtypes of another one are the operands'.
    In SciPy before 1.18 it is that of float64 for half of the ufuncs.
    """
    if "." in function:  # a function of a distribution, such as norm.cdf
        return ""
    import scipy.special

    types: list[str] = getattr(getattr(scipy.special, function, None), "types", [""])
    return types[0]


def _rank(dtype: np.dtype[Any]) -> int:
    """Return the place of a dtype's kind in NumPy's order; bfloat16 is a float."""
    return {"b": 0, "u": 1, "i": 1}.get(dtype.kind, 2)


def _is_wide(function: str, operands: tuple[Any, ...]) -> bool:
    """Return whether SciPy computes in float64 although float32 could hold all operands."""
    kinds = [np.dtype(x.kind) if isinstance(x, WeakScalar) else np.dtype(x.dtype) for x in operands]
    first = _first_loop(function)[:1]
    if first == "D":  # it has loops of complex numbers only
        return True
    if first == "d":
        return any(isinstance(x, WeakScalar) or x.dtype != float32 for x in operands)
    if first == "l" and kinds[0].kind in "biu":
        return True
    strong = [k for k, x in zip(kinds, operands, strict=True) if not isinstance(x, WeakScalar)]
    # A Python number of a higher kind than all arrays, such as 0.5 beside int8, counts as an array of float64 or int64.
    return max(map(_rank, kinds)) > max(map(_rank, strong))


def _dtype_of(function: str, operands: tuple[Any, ...]) -> np.dtype[Any]:
    """Return the dtype of the loop that SciPy chooses for handles."""
    dtypes = [x.dtype for x in operands if not isinstance(x, WeakScalar)]
    found = np.result_type(float32, *dtypes) if dtypes else float64
    if found == float32 and _is_wide(function, operands):
        return float64
    if found.kind == "c" or any(isinstance(x, WeakScalar) and x.kind is complex for x in operands):
        raise named(
            DTypeError(
                f"[{function}] is recorded for real numbers only, got a complex argument; "
                "take jt.math.real(x) or leave the tape with x.numpy()"
            )
        )
    return np.dtype(found)


def complex_operands(function: str, operands: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return handles in one complex dtype and shape; None if none of them is complex."""
    dtypes = [np.dtype(x.kind) if isinstance(x, WeakScalar) else x.dtype for x in operands]
    if not any(dtype.kind == "c" for dtype in dtypes):
        return None
    strong = [d for d, x in zip(dtypes, operands, strict=True) if not isinstance(x, WeakScalar)]
    dtype = np.result_type(complex64, *strong) if strong else complex128
    return broadcast_operands(*[cast_to(x, dtype) for x in operands], op=function)


def real_operands(function: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return handles in one dtype and shape: float32 if SciPy computes in it, else float64."""
    dtype = _dtype_of(function, operands)
    return broadcast_operands(*[cast_to(x, dtype) for x in operands], op=function)
