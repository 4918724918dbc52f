"""``jt.dtypes``: the dtypes and casts, under TensorFlow's names."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.core.dtypes import as_dtype as as_dtype
from jittape.core.dtypes import bool_ as bool
from jittape.core.dtypes import complex64 as complex64
from jittape.core.dtypes import complex128 as complex128
from jittape.core.dtypes import double as double
from jittape.core.dtypes import float16 as float16
from jittape.core.dtypes import float32 as float32
from jittape.core.dtypes import float64 as float64
from jittape.core.dtypes import half as half
from jittape.core.dtypes import int8 as int8
from jittape.core.dtypes import int16 as int16
from jittape.core.dtypes import int32 as int32
from jittape.core.dtypes import int64 as int64
from jittape.core.dtypes import uint8 as uint8
from jittape.core.dtypes import uint16 as uint16
from jittape.core.dtypes import uint32 as uint32
from jittape.core.dtypes import uint64 as uint64
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.complex_numbers import cast as cast
from jittape.primitives.elementwise.complex_numbers import complex as complex
from jittape.primitives.elementwise.truncation import saturate_cast as saturate_cast

if _TYPE_CHECKING:
    from jittape.core.dtypes import bfloat16 as bfloat16

__all__ = [
    "as_dtype", "bfloat16", "bool", "cast", "complex", "complex64", "complex128", "double", "float16",
    "float32", "float64", "half", "int8", "int16", "int32", "int64", "saturate_cast", "uint8", "uint16",
    "uint32", "uint64",
]  # fmt: skip

__getattr__ = _lazily(__name__, {"jittape.core.dtypes": ("bfloat16",)})


def __dir__() -> list[str]:
    return __all__
