"""Matrix products, factorizations and systems of equations."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import submodules as _submodules

if _TYPE_CHECKING:
    from jittape.primitives.linalg import matmul as matmul
    from jittape.primitives.linalg import sparse_products as sparse_products

__getattr__ = _submodules(__name__, "matmul", "sparse_products")
