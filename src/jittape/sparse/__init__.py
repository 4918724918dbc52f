"""Sparse Jacobians and Hessians."""

from jittape.sparse.sparse_derivatives import SparseDerivative as SparseDerivative
from jittape.sparse.sparse_derivatives import sparse_hessian as sparse_hessian
from jittape.sparse.sparse_derivatives import sparse_hvp as sparse_hvp
from jittape.sparse.sparse_derivatives import sparse_jacobian as sparse_jacobian
from jittape.sparse.sparsity_pattern import SparsityPattern as SparsityPattern

__all__ = ["SparseDerivative", "SparsityPattern", "sparse_hessian", "sparse_hvp", "sparse_jacobian"]
