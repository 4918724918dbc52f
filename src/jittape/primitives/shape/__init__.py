"""Ops that create tensors, change shapes and move elements."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import submodules as _submodules

if _TYPE_CHECKING:
    from jittape.primitives.shape import flat_elements as flat_elements
    from jittape.primitives.shape import joining as joining
    from jittape.primitives.shape import reshaping as reshaping

__getattr__ = _submodules(__name__, "flat_elements", "joining", "reshaping")
