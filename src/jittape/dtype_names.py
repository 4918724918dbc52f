"""``jt.dtypes``: the dtypes and casts, under TensorFlow's names."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from jittape.lazy_names import missing_name as _missing_name
from jittape.numpy_api.dtype_objects import DType as DType
from jittape.numpy_api.dtype_objects import as_dtype as as_dtype
from jittape.primitives.elementwise.complex_numbers import cast as cast
from jittape.primitives.elementwise.complex_numbers import complex as complex
from jittape.primitives.elementwise.truncation import saturate_cast as saturate_cast

if _TYPE_CHECKING:
    bfloat16: DType

__all__ = [
    "DType", "as_dtype", "bfloat16", "bool", "cast", "complex", "complex64", "complex128", "double", "float16",
    "float32", "float64", "half", "int8", "int16", "int32", "int64", "saturate_cast", "uint8", "uint16",
    "uint32", "uint64",
]  # fmt: skip

bool = as_dtype("bool")
complex64 = as_dtype("complex64")
complex128 = as_dtype("complex128")
float16 = half = as_dtype("float16")
float32 = as_dtype("float32")
float64 = double = as_dtype("float64")
int8 = as_dtype("int8")
int16 = as_dtype("int16")
int32 = as_dtype("int32")
int64 = as_dtype("int64")
uint8 = as_dtype("uint8")
uint16 = as_dtype("uint16")
uint32 = as_dtype("uint32")
uint64 = as_dtype("uint64")


def __getattr__(name: str) -> _Any:
    if name != "bfloat16":  # its package is imported at first use
        raise _missing_name("jittape.dtypes", name)
    return as_dtype(name)


def __dir__() -> list[str]:
    return __all__
