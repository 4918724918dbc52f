"""Indexing, gather and scatter, and sorting."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import submodules as _submodules

if _TYPE_CHECKING:
    from jittape.primitives.indexing import gather as gather
    from jittape.primitives.indexing import getitem as getitem
    from jittape.primitives.indexing import scatter as scatter

__getattr__ = _submodules(__name__, "gather", "getitem", "scatter")
