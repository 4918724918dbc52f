"""The Cholesky factorization of symmetric or Hermitian, positive definite matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Call
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.linalg.cholesky_rules import (
    cholesky_pullback,
    cholesky_pullback_op,
    cholesky_solve_op,
)
from jittape.primitives.linalg.matrix_operands import (
    common_matrices,
    matrix_operand,
    raise_for_first,
    require_matrix_dtype,
    require_square,
    solve_broadcast,
)
from jittape.primitives.linalg.triangular import triangular_solve_op
from jittape.typing import Tensor, TensorLike

__all__ = ["cholesky", "cholesky_op", "cholesky_record", "cholesky_solve"]


def _abstract_eval(x: Aval) -> Aval:
    require_matrix_dtype("cholesky", "input", x)
    require_square("cholesky", "input", x)
    return x


def _factors(x: Any, sentence: str, problem: str, remedy: str) -> Any:
    """Return the lower factors with NumPy; raise `LinAlgError` with these words."""
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise_for_first(_not_positive_definite(x), sentence, problem, remedy)
        raise


def _not_positive_definite(x: Any) -> Any:
    """Return for which matrices NumPy's factorization fails; other copies of LAPACK round otherwise."""
    lead = x.shape[:-2]
    return np.array([_fails(x[index]) for index in np.ndindex(lead)]).reshape(lead)


def _fails(matrix: Any) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return True
    return False


def _vjp(g: Any, out: Any, x: Any) -> Any:
    # Only real factors have cotangents in the forms of `cholesky_rules`.
    return cholesky_pullback(out, g) if x.dtype.kind == "c" else cholesky_pullback_op.bind(out, g)


def cholesky_record(name: str, failure: str, sentence: str, problem: str, remedy: str) -> Primitive:
    """Return a record of the factorization.

    Parameters
    ----------
    name : str
        Name of the op.
    failure : str
        Message of compiled code for a matrix that is not positive definite.
    sentence, problem, remedy : str
        Parts of the message with the index of the matrix, as in `raise_for_first`.
    """
    return Primitive(
        name,
        abstract_eval=_abstract_eval,
        impl=lambda x: _factors(x, sentence, problem, remedy),
        vjp=(_vjp,),
        lowering=Call("potrf", failure=failure),
        batch=alike(),
    )


cholesky_op = cholesky_record(
    "cholesky",
    "[cholesky] a matrix is not positive definite",
    "[cholesky] Cholesky decomposition was not successful. The input might not be valid:",
    "is not positive definite",
    "a matrix that is so only up to rounding needs a small multiple of the identity added",
)
"""The lower factor of Hermitian matrices; the strict upper triangle of the operand is not read.

The cotangent of the operand is Hermitian: an element and its mirror image share the gradient equally."""


def _cholesky(x: Any) -> Any:
    x = matrix_operand("cholesky", "input", x)
    return cholesky_op.bind(x)


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Factorize symmetric or Hermitian, positive definite matrices as ``L @ L^H`` with a lower triangular L.

    Only the lower triangle of `input` is read. The gradient is symmetric (Hermitian), as if both triangles were
    perturbed together; this is TensorFlow's convention. A nan in the input gives nans.

    Parameters
    ----------
    input : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., m, m)
        The factor, with zeros above the diagonal.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite; the message has its index in the batch. The error is also a `ValueError`
        and a `numpy.linalg.LinAlgError`.
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
    array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return apply(_cholesky, (input,))


def _cholesky_solve(factor: Any, rhs: Any) -> Any:
    factor, rhs = common_matrices("cholesky_solve", ("chol", "rhs"), factor, rhs)

    def solve(factor: Any, b: Any) -> Any:
        if b.dtype.kind != "c":
            return cholesky_solve_op.bind(factor, b)
        forward = triangular_solve_op.bind(factor, b, lower=True, adjoint=False)
        return triangular_solve_op.bind(factor, forward, lower=True, adjoint=True)

    return solve_broadcast(solve, factor, rhs)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve systems of linear equations ``A @ x = rhs`` from the lower Cholesky factors of the matrices A.

    Parameters
    ----------
    chol : tensor_like of shape (..., m, m)
        Only the lower triangle is read.
    rhs : tensor_like of shape (..., m, n)
        Right-hand sides in columns. The leading dimensions of both broadcast.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., m, n)

    Raises
    ------
    ShapeError
        If the matrices are not square or the shapes do not fit.
    DTypeError
        If an operand is not float32, float64, complex64 or complex128.

    Examples
    --------
    >>> factor = jt.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    >>> jt.linalg.cholesky_solve(factor, [[8.0], [12.0]]).numpy()
    array([[1.],
           [2.]], dtype=float32)
    """
    return apply(_cholesky_solve, (chol, rhs))
