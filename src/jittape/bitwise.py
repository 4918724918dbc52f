"""Bitwise operations under TensorFlow's names (``jt.bitwise``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.bits import bitwise_and as bitwise_and
from jittape.primitives.elementwise.bits import bitwise_or as bitwise_or
from jittape.primitives.elementwise.bits import bitwise_xor as bitwise_xor
from jittape.primitives.elementwise.bits import invert as invert
from jittape.primitives.elementwise.bits import left_shift as left_shift
from jittape.primitives.elementwise.bits import right_shift as right_shift

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
