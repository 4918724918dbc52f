"""Ops that create tensors, change shapes and move elements."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import submodules as _submodules

if _TYPE_CHECKING:
    from jittape.primitives.shape import joining as joining

__getattr__ = _submodules(__name__, "joining")
