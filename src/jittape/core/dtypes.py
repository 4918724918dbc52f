"""Dtypes: TensorFlow's names for NumPy's dtypes, and the promotion rule of the package.

Promotion is NumPy's (NEP 50) with weak Python scalars: ``float32 * 2.0`` stays float32. A Python scalar on its own gets
the default dtype of its kind, as in TensorFlow: float32 (or `jt.config.default_float`), int32, bool, complex128.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.user_calls import argument_of_user, named
from jittape.errors import DTypeError

float16 = half = np.dtype("float16")
float32 = np.dtype("float32")
float64 = double = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
bool_ = np.dtype("bool")

SUPPORTED: frozenset[np.dtype[Any]] = frozenset(
    (
        float16,
        float32,
        float64,
        complex64,
        complex128,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
        bool_,
    )
)
WEAK_EXAMPLES: dict[type, Any] = {bool: False, int: 0, float: 0.0, complex: 0j}
"""Python scalar types that promote weakly, each with the example that `numpy.result_type` is shown."""


def as_dtype(value: Any) -> np.dtype[Any]:
    """The NumPy dtype that `value` names.

    Parameters
    ----------
    value : dtype, str or type
        Anything that `numpy.dtype` takes.

    Raises
    ------
    DTypeError
        If jittape has no arithmetic for it (strings, objects, dates, records).

    Examples
    --------
    >>> as_dtype("float32")
    dtype('float32')
    """
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError):
        raise named(
            DTypeError(
                f"{argument_of_user(value)}Cannot convert {value!r} to a dtype; give one such as 'float32'"
            )
        ) from None
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if dtype not in SUPPORTED:
        names = ", ".join(sorted(d.name for d in SUPPORTED))
        raise named(
            DTypeError(f"{argument_of_user(value)}dtype {dtype} is not supported; use one of {names}")
        )
    return dtype


def default_dtype(kind: type) -> np.dtype[Any]:
    """The dtype of a Python scalar of type `kind` that meets no array."""
    if kind is float:
        return np.dtype(config.default_float)
    return {bool: bool_, int: int32, complex: complex128}[kind]


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is a real floating-point dtype."""
    return dtype.kind == "f"


def is_differentiable(dtype: np.dtype[Any]) -> bool:
    """Whether a cotangent can flow through a value of `dtype`: floats and complex numbers."""
    return dtype.kind in "fc"


def float_result(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that NumPy's `sin` and its kin give for an argument of `dtype`."""
    if is_differentiable(dtype):
        return dtype
    if dtype.itemsize == 1:
        return float16
    if dtype.itemsize == 2:
        return float32
    return float64
