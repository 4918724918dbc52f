"""Triangular systems of linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Call, Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.arithmetic import negative
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.matrices import band_part
from jittape.primitives.linalg.matrix_operands import (
    common_matrices,
    each_matrix,
    same_stack,
    solve_batch,
    solve_broadcast,
    times_adjoint,
)
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.typing import Tensor, TensorLike

__all__ = ["substituted", "triangle", "triangular_solve", "triangular_solve_op", "triangular_term_op"]


def triangle(x: Any, lower: bool) -> Any:
    """Return the lower or upper triangle of matrices, with zeros elsewhere."""
    return band_part(x, -1, 0) if lower else band_part(x, 0, -1)


def _abstract_eval(a: Aval, b: Aval, *, lower: bool, adjoint: bool) -> Aval:
    return same_stack("triangular_solve", a, b)


def _impl(a: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    n, columns = b.shape[-2:]
    if b.size == 0:
        return np.empty_like(b)
    if b.size // (n * columns) > n:
        return substituted(np.conj(np.swapaxes(a, -1, -2)) if adjoint else a, b, lower != adjoint)
    from scipy.linalg.blas import get_blas_funcs  # imported on first use, not with the package

    (trsm,) = get_blas_funcs(("trsm",), (a, b))

    # BLAS reads columns. The transposed arrays are in this order, and their system is x' a' = b'.
    def solve(matrix: Any, rhs: Any) -> Any:
        if adjoint:
            return trsm(1.0, matrix.T, rhs.conj().T, side=1, lower=not lower, trans_a=1).T.conj()
        return trsm(1.0, matrix.T, rhs.T, side=1, lower=not lower).T

    return each_matrix(solve, b.shape, a, b)


def substituted(a: Any, b: Any, lower: bool, unit: bool = False) -> Any:
    """Return the solutions for a large stack of small matrices, by substitution in all systems at once.

    If `unit`, the diagonal is not read and taken as ones.
    """
    n = a.shape[-1]
    x = np.array(b)
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        x[..., i, :] -= (a[..., i, None, known] @ x[..., known, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]
    return x


def _a_vjp(g: Any, out: Any, a: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    g_b = _b_vjp(g, out, a, b, lower=lower, adjoint=adjoint)
    if lower and a.dtype.kind != "c":
        return triangular_term_op.bind(out, g_b) if adjoint else triangular_term_op.bind(g_b, out)
    product = times_adjoint(out, g_b) if adjoint else times_adjoint(g_b, out)
    return triangle(negative(product), lower)


def _b_vjp(g: Any, out: Any, a: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    return triangular_solve_op.bind(a, g, lower=lower, adjoint=not adjoint)


triangular_solve_op: Primitive = Primitive(
    "triangular_solve",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_a_vjp, _b_vjp),
    lowering=Call("trsm"),
    batch=solve_batch(lambda: triangular_solve_op),
    cholesky_role="triangular solve",
)
"""``a x = b``, or ``a^H x = b`` if `adjoint`, for stacks with equal leading dimensions.

The op reads only the lower or upper triangle of `a`. A zero on the diagonal gives infinities and nans, as a division by
zero does."""


def _term(u: Any, x: Any) -> Any:
    return triangle(negative(times_adjoint(u, x)), lower=True)


triangular_term_op = Primitive(
    "triangular_term",
    abstract_eval=lambda u, x: Aval((*u.shape[:-1], u.shape[-2]), u.dtype),
    impl=lambda u, x: np.negative(np.tril(u @ np.swapaxes(x, -1, -2))),
    vjp=(
        lambda g, out, u, x: matmul_op.bind(triangle(negative(g), lower=True), x),
        lambda g, out, u, x: matmul_op.bind(matrix_transpose(triangle(negative(g), lower=True)), u),
    ),
    lowering=Decomposition(_term),
    batch=alike(),
    cholesky_role="triangular",
)
"""The lower triangle of ``-u x^T``, of real matrices: the cotangent of a lower triangular matrix from a solution."""


def _triangular_solve(matrix: Any, rhs: Any, lower: bool, adjoint: bool) -> Any:
    a, b = common_matrices("triangular_solve", ("matrix", "rhs"), matrix, rhs)

    def solve(a: Any, b: Any) -> Any:
        return triangular_solve_op.bind(a, b, lower=lower, adjoint=adjoint)

    return solve_broadcast(solve, a, b)


def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve systems of linear equations with triangular matrices by substitution.

    A zero on the diagonal divides by zero: the solution contains infinities or nans, as in TensorFlow.

    Parameters
    ----------
    matrix : tensor_like of shape (..., m, m)
        Only the lower triangle is read, or only the upper one.
    rhs : tensor_like of shape (..., m, n)
        Right-hand sides in columns. The leading dimensions of both broadcast.
    lower : bool
        Read the lower triangle of `matrix`, otherwise the upper one.
    adjoint : bool
        Solve with the conjugate transpose of the triangular matrix.
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
    >>> jt.linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [[2.0], [9.0]]).numpy()
    array([[1.],
           [2.]], dtype=float32)
    """
    return apply(_triangular_solve, (matrix, rhs), (as_flag("lower", lower), as_flag("adjoint", adjoint)))
