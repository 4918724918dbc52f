"""Products of SciPy's sparse matrices, which are constants, and tensors.

SciPy is not imported: its matrices are recognized by their method ``tocsr``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.errors import ShapeError
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.unsorted_segments import unsorted_segment_sum
from jittape.primitives.shape.reshaping import transpose
from jittape.typing import Tensor

__all__ = ["is_sparse_matrix", "sparse_matmul"]


def is_sparse_matrix(value: Any) -> bool:
    """Return whether `value` is a sparse matrix or array of SciPy."""
    return hasattr(type(value), "tocsr") and hasattr(value, "nnz")


def sparse_matmul(a: Any, b: Any) -> Tensor:
    """Multiply a sparse matrix of SciPy with a tensor, or a tensor with a sparse matrix.

    ``a @ b`` does the same. The matrix is a constant: its elements are copied, and gradients flow to the tensor.

    Parameters
    ----------
    a, b : sparse matrix of shape (m, n), or tensor_like of 1 or 2 dimensions
        One of them is sparse.

    Returns
    -------
    Tensor
        The dense product, in the common dtype of both.

    Raises
    ------
    TypeError
        If not exactly one of `a` and `b` is sparse.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> import jittape as jt
    >>> import numpy as np
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]]))
    >>> jt.sparse_matmul(matrix, np.array([1.0, 10.0])).numpy()
    array([20.,  1., 30.])
    >>> jt.grad(lambda x: jt.reduce_sum((matrix @ x) ** 2))(np.array([1.0, 10.0]))
    array([  2., 260.])
    """
    if is_sparse_matrix(a) == is_sparse_matrix(b):
        raise TypeError(
            "[sparse_matmul] exactly one operand must be a sparse matrix of SciPy, got "
            f"{type(a).__name__} and {type(b).__name__}: use jt.matmul for tensors, and a @ b for sparse matrices"
        )
    if is_sparse_matrix(a):
        return _product(a, b, a, b)
    result = _product(b.T, a if np.ndim(a) < 2 else transpose(a), a, b)
    return result if len(result.shape) < 2 else transpose(result)


def _product(matrix: Any, x: Any, a: Any, b: Any) -> Any:
    """Return the product of a sparse matrix and a tensor; `a` and `b` are the operands, for errors."""
    csr = matrix.tocsr()
    ndim = np.ndim(x)
    if len(csr.shape) != 2 or ndim not in (1, 2) or np.shape(x)[0] != csr.shape[1]:
        raise ShapeError(
            f"[sparse_matmul] shapes {tuple(np.shape(a))} and {tuple(np.shape(b))} do not fit: the operands must have "
            "one or two dimensions, and the last of the first must equal the first of the second"
        )
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    elements = csr.data if ndim == 1 else csr.data[:, None]
    return unsorted_segment_sum(multiply(gather(x, csr.indices), elements), rows, csr.shape[0])
