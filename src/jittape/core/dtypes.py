"""Supported dtypes: TensorFlow's names for NumPy's dtypes, and one table with all facts about each of them.

To add a dtype, add a row to the table, export its name from the package, and write its mathematics. bfloat16 is the
dtype of the package ml_dtypes, and gets its row at its first use.

Promotion is NumPy's (NEP 50) with weak Python scalars: ``float32 * 2.0`` stays float32. A Python scalar that is not
combined with an array gets the default dtype of its kind, as in TensorFlow: float32 (or `jt.config.default_float`),
int32, bool, complex128.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.config import config
from jittape.core.user_calls import argument_of_user, named
from jittape.errors import DTypeError
from jittape.value_classes import NamedTuple, value_class

__all__ = [
    "BLAS", "DOUBLES", "EXTENSIONS", "KINDS", "NATIVE", "NATIVE_FLOATS", "NATIVE_NUMBERS", "SUPPORTED",
    "WEAK_EXAMPLES", "WIDENED", "WIDE_INTS", "DTypeInfo", "Kind", "as_dtype", "bool_", "c_type", "common_dtype",
    "complex64", "complex128", "complex_of", "default_dtype", "double", "float16", "float32", "float64",
    "float_limits", "float_result", "half", "info_of", "int8", "int16", "int32", "int64", "is_differentiable",
    "is_floating", "kind_of", "narrowed", "uint8", "uint16", "uint32", "uint64", "widened",
]  # fmt: skip

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

if TYPE_CHECKING:
    bfloat16: np.dtype[Any]


class Kind(NamedTuple):
    """Facts about a kind of dtypes, known by `kind_of`."""

    name: str
    """Name in error messages."""
    rank: int
    """Position in the order of kinds; a conversion to a lower rank loses information and must be explicit."""
    python: type
    """Type of Python's numbers of this kind."""


KINDS = {
    "b": Kind("bool", 0, bool),
    "i": Kind("integer", 1, int),
    "u": Kind("unsigned integer", 1, int),
    "f": Kind("floating", 2, float),
    "c": Kind("complex", 3, complex),
}


@value_class
class DTypeInfo:
    """Facts about a supported dtype.

    Attributes
    ----------
    dtype : dtype
    llvm : str or None
        LLVM type of a number in a register; a complex number is a vector of two. None: compiled loops do not support
        the dtype, NumPy computes its ops.
    arithmetic : dtype
        Dtype in which compiled loops compute with a number; after each op the result is rounded to the dtype itself.
    blas : str or None
        First letter of the names of BLAS routines. None: the BLAS does not support the dtype.
    scalar_format : str or None
        `struct` format of a number in a cell of 8 bytes. None: a scalar is passed as a 0-d array.
    safetensors : str or None
        Name in ``.safetensors`` files.
    floating : dtype
        Dtype of NumPy's `sin` of an argument of this dtype.
    work : dtype
        Dtype in which means and other sums of many elements are computed.
    saturates : dtype
        Integer dtype to which a float saturates before its bits are truncated to this integer dtype. Dtypes that are
        not integers have the dtype itself.
    real : dtype
        Dtype of the real part.
    complex : dtype or None
        Dtype of complex numbers whose parts are of this dtype.
    """

    dtype: np.dtype[Any]
    llvm: str | None
    arithmetic: np.dtype[Any]
    blas: str | None
    scalar_format: str | None
    safetensors: str | None
    floating: np.dtype[Any]
    work: np.dtype[Any]
    saturates: np.dtype[Any]
    real: np.dtype[Any]
    complex: np.dtype[Any] | None


_ROWS = (
    # dtype, llvm, arithmetic, blas, scalar_format, safetensors, floating, work, saturates, real, complex
    (bool_, "i1", bool_, None, "?7x", "BOOL", float16, float64, bool_, bool_, None),
    (int8, "i8", int8, None, "b7x", "I8", float16, float64, int32, int8, None),
    (int16, "i16", int16, None, "h6x", "I16", float32, float64, int32, int16, None),
    (int32, "i32", int32, None, "i4x", "I32", float64, float64, int32, int32, None),
    (int64, "i64", int64, None, "q", "I64", float64, float64, int64, int64, None),
    (uint8, "i8", uint8, None, "B7x", "U8", float16, float64, int32, uint8, None),
    (uint16, "i16", uint16, None, "H6x", "U16", float32, float64, int32, uint16, None),
    (uint32, "i32", uint32, None, "I4x", "U32", float64, float64, int64, uint32, None),
    (uint64, "i64", uint64, None, "Q", "U64", float64, float64, int64, uint64, None),
    (float16, "i16", float32, None, "e6x", "F16", float16, float32, float16, float16, None),
    (float32, "float", float32, "s", "f4x", "F32", float32, float32, float32, float32, complex64),
    (float64, "double", float64, "d", "d", "F64", float64, float64, float64, float64, complex128),
    (complex64, "<2 x float>", complex64, "c", None, "C64", complex64, complex64, complex64, float32, None),
    (
        complex128,
        "<2 x double>",
        complex128,
        "z",
        None,
        None,
        complex128,
        complex128,
        complex128,
        float64,
        None,
    ),
)
_INFO = {row[0]: DTypeInfo(*row) for row in _ROWS}

EXTENSIONS = {
    # name: llvm, safetensors
    "bfloat16": ("i16", "BF16"),
}
"""Floating-point dtypes of the package ml_dtypes, whose ops are computed in float32 between casts."""

SUPPORTED = set(_INFO)
"""All dtypes of tensors; bfloat16 after its first use."""
DOUBLES = frozenset((np.dtype("float64"), np.dtype("complex128")))
WIDE_INTS = frozenset([d for d in SUPPORTED if d.kind in "iu" and np.result_type(d, np.float32) in DOUBLES])
"""Dtypes of integers that make a double with a float32."""
NATIVE = {dtype for dtype, info in _INFO.items() if info.llvm}
"""Dtypes that compiled loops support."""
WIDENED: set[np.dtype[Any]] = set()
"""Dtypes of which ops are computed in `DTypeInfo.arithmetic` between casts: bfloat16 after its first use."""
BLAS = frozenset(dtype for dtype, info in _INFO.items() if info.blas)
"""Dtypes that the BLAS supports."""
NATIVE_NUMBERS = frozenset(
    dtype for dtype in NATIVE if _INFO[dtype].arithmetic == dtype and dtype.kind != "c"
)
"""Real dtypes that compiled loops compute with directly."""
NATIVE_FLOATS = NATIVE_NUMBERS & BLAS
"""Real floating-point dtypes that compiled loops compute with directly."""

WEAK_EXAMPLES: dict[type, Any] = {bool: False, int: 0, float: 0.0, complex: 0j}
"""Types of weakly promoted Python scalars, each with the example that is passed to `numpy.result_type`."""


def __getattr__(name: str) -> Any:
    if name not in EXTENSIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _extension(name)


@cache
def _extension(name: str) -> np.dtype[Any]:
    """Return a dtype of ml_dtypes and add its row; the package is imported at first use, which takes 5 ms."""
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    llvm, safetensors = EXTENSIONS[name]
    _INFO[dtype] = DTypeInfo(
        dtype, llvm, float32, None, None, safetensors, dtype, float32, dtype, dtype, None
    )
    for dtypes in (SUPPORTED, WIDENED, *([NATIVE] if llvm else [])):
        dtypes.add(dtype)
    return dtype


def as_dtype(value: Any) -> np.dtype[Any]:
    """Return the NumPy dtype that `value` names.

    Parameters
    ----------
    value : dtype, str or type
        Anything that `numpy.dtype` accepts.

    Raises
    ------
    DTypeError
        If jittape does not support the dtype (strings, objects, dates, records).

    Examples
    --------
    >>> as_dtype("float32")
    dtype('float32')
    """
    kind: Any = value.__class__
    if kind is np.dtype:  # a `DType`: NumPy's own objects are of subclasses
        own: np.dtype[Any] = value.dtype  # 0.1 µs; `np.dtype(value)` takes 0.4 µs
        return own
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError):
        if isinstance(value, str) and value in EXTENSIONS:  # NumPy knows the name once ml_dtypes is imported
            return _extension(value)
        raise named(
            DTypeError(
                f"{argument_of_user(value)}Cannot convert {value!r} to a dtype; give one such as 'float32'"
            )
        ) from None
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    if dtype not in SUPPORTED and dtype.name in EXTENSIONS:
        return _extension(dtype.name)
    if dtype not in SUPPORTED:
        names = ", ".join(sorted({*EXTENSIONS, *[d.name for d in SUPPORTED]}))
        raise named(
            DTypeError(f"{argument_of_user(value)}dtype {dtype} is not supported; use one of {names}")
        )
    return dtype


def info_of(dtype: np.dtype[Any]) -> DTypeInfo:
    """Return the facts about a supported dtype."""
    return _INFO[dtype]


def complex_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of complex numbers whose parts are of `dtype`, which must have one."""
    found = _INFO[dtype].complex
    assert found is not None, dtype
    return found


def default_dtype(kind: type) -> np.dtype[Any]:
    """Return the dtype of a Python scalar of type `kind` that is not combined with an array."""
    if kind is float:
        return np.dtype(config.default_float)
    return {bool: bool_, int: int32, complex: complex128}[kind]


def kind_of(dtype: np.dtype[Any]) -> str:
    """Return `numpy.dtype.kind`, and ``"f"`` for bfloat16, whose kind is ``"V"`` for NumPy."""
    kind = dtype.kind
    return "f" if kind == "V" and dtype.name in EXTENSIONS else kind


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether `dtype` is a real floating-point dtype."""
    return dtype.kind == "f" or kind_of(dtype) == "f"  # 40 ns less than `kind_of` alone


def is_differentiable(dtype: np.dtype[Any]) -> bool:
    """Return whether `dtype` is floating-point or complex, so that its values have cotangents."""
    return dtype.kind in "fc" or kind_of(dtype) == "f"


def float_limits(dtype: np.dtype[Any]) -> Any:
    """Return `numpy.finfo` of a floating dtype, or that of ml_dtypes for bfloat16."""
    if dtype not in WIDENED:
        return np.finfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def common_dtype(*operands: Any) -> np.dtype[Any]:
    """Return `numpy.result_type` of dtypes and Python scalars, which defines the promotion of bfloat16 too.

    bfloat16 promotes as float32. If the result is float32 and no other operand is floating, it is bfloat16.

    Examples
    --------
    >>> from jittape.core.dtypes import bfloat16
    >>> [common_dtype(bfloat16, x).name for x in (1.0, int8, float16, int64)]
    ['bfloat16', 'bfloat16', 'float32', 'float64']
    """
    if WIDENED.isdisjoint([x for x in operands if isinstance(x, np.dtype)]):
        return np.result_type(*operands)
    found = np.result_type(*[widened(x) if isinstance(x, np.dtype) else x for x in operands])
    return narrowed(found, operands)


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which ops on `dtype` are computed: float32 for bfloat16, else the dtype itself."""
    return _INFO[dtype].arithmetic if dtype in WIDENED else dtype


def narrowed(found: np.dtype[Any], operands: Iterable[Any]) -> np.dtype[Any]:
    """Return the dtype to which a result of dtype `found` is rounded if an op on `operands` was computed `widened`."""
    dtypes = {x for x in operands if isinstance(x, np.dtype)}
    narrow, others = dtypes & WIDENED, dtypes - WIDENED
    if found != float32 or len(narrow) > 1 or any(map(is_differentiable, others)):
        return found
    return narrow.pop()


def float_result(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of NumPy's `sin` of an argument of `dtype`."""
    return _INFO[dtype].floating


def c_type(dtype: np.dtype[Any]) -> str | None:
    """Return the name of `dtype` in C, or None if C has none."""
    if dtype.kind in "iu":
        return f"{dtype.name}_t"
    return {"f8": "double", "f4": "float", "b1": "bool"}.get(dtype.str[1:])
