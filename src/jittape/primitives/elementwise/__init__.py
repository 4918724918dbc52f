"""Ops that work element by element."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import submodules as _submodules

if _TYPE_CHECKING:
    from jittape.primitives.elementwise import bits as bits
    from jittape.primitives.elementwise import comparison as comparison
    from jittape.primitives.elementwise import complex_numbers as complex_numbers
    from jittape.primitives.elementwise import piecewise as piecewise
    from jittape.primitives.elementwise import powers as powers

__getattr__ = _submodules(__name__, "bits", "comparison", "complex_numbers", "piecewise", "powers")
