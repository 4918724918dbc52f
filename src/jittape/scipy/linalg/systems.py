"""Linear systems and matrix functions with SciPy's conventions, over `jt.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.errors import ShapeError
from jittape.primitives.elementwise.complex_numbers import conj
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.linalg import determinants
from jittape.primitives.linalg import solve as solve_functions
from jittape.primitives.linalg.cholesky import cholesky_solve
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import adjoint, band_part, set_diag
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import ones, zeros
from jittape.primitives.shape.reshaping import expand_dims, matrix_transpose, reshape, squeeze
from jittape.primitives.spectra import lstsq as lstsq_functions
from jittape.primitives.spectra import matrix_functions, pseudoinverse
from jittape.primitives.spectra.svd import svdvals
from jittape.scipy.linalg.matrix_arguments import matrix_argument, require_rows
from jittape.scipy.linalg.scipy_factors import cholesky
from jittape.scipy.linalg.scipy_options import with_scipy_options

__all__ = [
    "cho_solve", "columns_of", "det", "expm", "hermitian_of", "inv", "lstsq", "pinv", "solve", "solve_triangular",
]  # fmt: skip

STRUCTURES = ("gen", "general", "sym", "symmetric", "her", "hermitian", "pos", "positive definite", "diagonal",
              "tridiagonal", "banded", "upper triangular", "lower triangular")  # fmt: skip


def columns_of(function: str, a: Any, b: Any) -> tuple[Any, bool]:
    """Return right-hand sides in columns, and whether `b` is one vector."""
    require_rows(function, a)
    b = matrix_argument(b)
    vector = len(b.shape) == 1
    if not len(b.shape) or b.shape[-1 if vector else -2] != a.shape[-2]:
        raise ShapeError(
            f"[{function}] b must have {a.shape[-2]} rows, as a of shape {tuple(a.shape)}, got shape {tuple(b.shape)}"
        )
    return (expand_dims(b, -1) if vector else b), vector


# ---- systems ---------------------------------------------------------------------------------------------------------


@with_scipy_options
def solve(a: Any, b: Any, lower: bool = False, assume_a: str | None = None, transposed: bool = False) -> Any:
    """Solve ``a @ x = b``.

    Parameters
    ----------
    a : tensor-like of shape (..., m, m)
        Matrix.
    b : tensor-like of shape (m,) or (..., m, n)
        One right-hand side, or several in columns.
    lower : bool
        For symmetric, Hermitian and positive definite matrices: read the lower triangle.
    assume_a : str, optional
        One of SciPy's names. ``"pos"`` uses the Cholesky factor, triangular ones substitution, all others LU.
    transposed : bool
        Solve with the transposed matrix; not for complex numbers, as in SciPy.

    Raises
    ------
    LinAlgError
        If the matrix is singular, or not positive definite for ``"pos"``.
    ShapeError
        If the rows of `b` do not fit the matrix.
    ValueError
        For an unknown structure.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0], assume_a="pos").numpy()
    array([1., 1.])
    """
    if assume_a is not None and assume_a not in STRUCTURES:
        raise ValueError(f"[solve] assume_a must be one of {', '.join(STRUCTURES)}, got {assume_a!r}")
    a = matrix_argument(a)
    rhs, vector = columns_of("solve", a, b)
    if transposed and a.aval.dtype.kind == "c":
        raise NotImplementedError(
            "[solve] transposed=True is not defined for complex matrices; transpose a first"
        )
    if assume_a in ("pos", "positive definite"):
        factor = cholesky(a, lower)
        x = cholesky_solve(factor if lower else adjoint(factor), rhs)
    elif assume_a in ("upper triangular", "lower triangular"):
        x = solve_triangular(a, rhs, trans=int(transposed), lower=assume_a.startswith("lower"))
    else:
        if assume_a in ("sym", "symmetric", "her", "hermitian"):
            a = _from_triangle(a, lower, hermitian=assume_a.startswith("h"))
        x = solve_functions.solve(matrix_transpose(a) if transposed else a, rhs)
    return squeeze(x, -1) if vector else x


def hermitian_of(a: Any, lower: bool) -> Any:
    """Return the Hermitian matrix that one triangle determines."""
    return _from_triangle(a, lower, hermitian=True)


def _from_triangle(a: Any, lower: bool, hermitian: bool) -> Any:
    """Return the matrix that one triangle and its symmetry determine."""
    half = band_part(a, -1, 0) if lower else band_part(a, 0, -1)
    strict = half - band_part(a, 0, 0)
    return half + (adjoint(strict) if hermitian else matrix_transpose(strict))


@with_scipy_options
def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Any:
    """Solve a triangular system by substitution; the upper triangle is SciPy's default.

    Parameters
    ----------
    a : tensor-like of shape (..., m, m)
        Only one triangle is read.
    b : tensor-like of shape (m,) or (..., m, n)
        Right-hand sides.
    trans : {0, 1, 2, "N", "T", "C"}
        Solve with the matrix, its transpose, or its adjoint.
    lower : bool
        Read the lower triangle.
    unit_diagonal : bool
        Take ones for the diagonal.

    Raises
    ------
    ShapeError
        If the rows of `b` do not fit the matrix, or `a` is not square in its last two dimensions.

    Notes
    -----
    A zero on the diagonal gives infinities or nans, where SciPy raises an error.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [3.0, 4.0]).numpy()
    array([1., 1.])
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"[solve_triangular] trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    a = matrix_argument(a)
    rhs, vector = columns_of("solve_triangular", a, b)
    if unit_diagonal:
        a = set_diag(a, ones(a.shape[:-1], dtype=a.aval.dtype))
    if trans in (1, "T"):
        a = conj(a)
    x = triangular_solve(a, rhs, lower=lower, adjoint=trans not in (0, "N"))
    return squeeze(x, -1) if vector else x


@with_scipy_options
def cho_solve(c_and_lower: Any, b: Any) -> Any:
    """Solve a system from the result of `cho_factor`, with one right-hand side or several in columns.

    Parameters
    ----------
    c_and_lower : tuple
        Result of `cho_factor`.
    b : array_like of shape (n,) or (n, k)
        Right-hand sides.

    Raises
    ------
    ShapeError
        If the rows of `b` do not fit the matrix.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.cho_solve(linalg.cho_factor(np.diag([2.0, 4.0])), [1.0, 1.0]).numpy().round(4)
    array([0.5 , 0.25])
    """
    c, lower = c_and_lower
    c = matrix_argument(c)
    rhs, vector = columns_of("cho_solve", c, b)
    x = cholesky_solve(c if lower else adjoint(c), rhs)
    return squeeze(x, -1) if vector else x


@with_scipy_options
def lstsq(a: Any, b: Any, cond: float | None = None) -> tuple[Any, Any, Any, Any]:
    """Solve a least-squares problem: return the solution, sums of squared residuals, the rank and singular values.

    Parameters
    ----------
    a : tensor-like of shape (m, n)
        Matrix; the solution has the least norm if the rank is less than n.
    b : tensor-like of shape (m,) or (m, k)
        Right-hand sides.
    cond : None
        Must be left out: the rank is that of rounding errors.

    Raises
    ------
    ShapeError
        If the rows of `b` do not fit the matrix.

    Notes
    -----
    The sums of squares are empty unless m > n. SciPy also leaves them out if the rank is less than n.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.lstsq([[1.0], [1.0]], [1.0, 3.0])[0].numpy().round(6)
    array([2.])
    """
    if cond is not None:
        raise ValueError("[lstsq] cond= is not recorded; use pinv(a, rtol=cond) @ b")
    a = matrix_argument(a)
    rhs, vector = columns_of("lstsq", a, b)
    x = lstsq_functions.lstsq(a, rhs, fast=False)
    squares = reduce_sum(absolute(rhs - matmul(a, x)) ** 2, -2)
    squares = squares if a.shape[-2] > a.shape[-1] else zeros((0,), dtype=float64)
    if vector:
        x, squares = squeeze(x, -1), (reshape(squares, ()) if squares.shape != (0,) else squares)
    return x, squares, pseudoinverse.matrix_rank(a), svdvals(a)


# ---- functions of matrices -------------------------------------------------------------------------------------------


@with_scipy_options
def det(a: Any) -> Any:
    """Return the determinant.

    Parameters
    ----------
    a : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> round(float(linalg.det([[1.0, 2.0], [3.0, 4.0]])), 6)
    -2.0
    """
    return determinants.det(matrix_argument(a))


@with_scipy_options
def inv(a: Any) -> Any:
    """Return the inverse; a singular matrix raises a `LinAlgError`.

    Parameters
    ----------
    a : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions, or is not square in its last two dimensions.
    LinAlgError
        If the matrix is singular.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return solve_functions.inv(matrix_argument(a))


@with_scipy_options
def pinv(a: Any, *, rtol: float | None = None) -> Any:
    """Return the pseudoinverse; singular values of at most `rtol` times the greatest count as 0.

    Parameters
    ----------
    a : tensor-like of shape (..., m, n)
        Matrix.
    rtol : float, optional
        ``max(m, n) * eps`` by default.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.pinv([[2.0], [0.0]]).numpy()
    array([[0.5, 0. ]])
    """
    a = matrix_argument(a)
    require_rows("pinv", a)
    limit = max(a.shape[-2:]) * float(np.finfo(a.aval.dtype).eps) if rtol is None else rtol
    return pseudoinverse.pinv(a, rcond=limit)


@with_scipy_options
def expm(A: Any) -> Any:
    """Return the exponential of a square matrix.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
    array([[1., 1.],
           [0., 1.]])
    """
    return matrix_functions.expm(matrix_argument(A))
