"""Solutions of systems of linear equations with square matrices."""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import as_flag
from jittape.primitives.broadcast import broadcast
from jittape.primitives.linalg.lu_factors import lu_factor_op, lu_solve_op
from jittape.primitives.linalg.matrix_operands import (
    common_matrices,
    matrix_operand,
    require_square,
    solve_broadcast,
)
from jittape.primitives.shape.creation import eye
from jittape.typing import Tensor, TensorLike

__all__ = ["inv", "solve"]


def _solve(matrix: Any, rhs: Any, adjoint: bool) -> Any:
    a, b = common_matrices("solve", ("matrix", "rhs"), matrix, rhs)

    def solution(a: Any, packed: Any, b: Any) -> Any:
        return lu_solve_op.bind(a, packed, b, adjoint=adjoint)

    return solve_broadcast(solution, a, lu_factor_op.bind(a), b)


def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Solve systems of linear equations by an LU factorization with partial pivoting.

    The gradient uses the factors of the forward pass.

    Parameters
    ----------
    matrix : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    rhs : tensor_like of shape (..., m, n)
        Right-hand sides in columns. The leading dimensions of both broadcast.
    adjoint : bool
        Solve with the conjugate transpose of `matrix`.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., m, n)

    Raises
    ------
    LinAlgError
        If a matrix is singular; the message has its index in the batch. The error is also a `ValueError` and a
        `numpy.linalg.LinAlgError`.
    ShapeError
        If the matrices are not square or the shapes do not fit.
    DTypeError
        If an operand has another dtype.

    Examples
    --------
    >>> jt.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [[3.0], [5.0]]).numpy()
    array([[0.8],
           [1.4]], dtype=float32)
    """
    return apply(_solve, (matrix, rhs), (as_flag("adjoint", adjoint),))


def _inv(x: Any, adjoint: bool) -> Any:
    a = matrix_operand("inv", "input", x)
    require_square("inv", "input", a)
    identity = broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape)
    return lu_solve_op.bind(a, lu_factor_op.bind(a), identity, adjoint=adjoint)


def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Invert square matrices. `solve` is faster and more accurate for a product with an inverse.

    Parameters
    ----------
    input : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    adjoint : bool
        Return the inverse of the conjugate transpose.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., m, m)

    Raises
    ------
    LinAlgError
        If a matrix is singular; the message has its index in the batch.
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.inv([[0.0, 2.0], [4.0, 0.0]]).numpy()
    array([[0.  , 0.25],
           [0.5 , 0.  ]], dtype=float32)
    """
    return apply(_inv, (input,), (as_flag("adjoint", adjoint),))
