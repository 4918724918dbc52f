"""Factorizations and decompositions with SciPy's conventions, over `jt.linalg`."""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import active_recorder
from jittape.primitives.elementwise.complex_numbers import cast, real
from jittape.primitives.linalg import cholesky as cholesky_functions
from jittape.primitives.linalg import qr as qr_functions
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import adjoint, band_part, diag
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.spectra import eig as eig_functions
from jittape.primitives.spectra import eigh as eigh_functions
from jittape.primitives.spectra import svd as svd_functions
from jittape.recording.trace import Trace
from jittape.scipy.linalg.matrix_arguments import matrix_argument, require_rows, square_argument, square_pair
from jittape.scipy.linalg.scipy_options import with_scipy_options

__all__ = [
    "cho_factor", "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "polar", "qr", "svd", "svdvals",
]  # fmt: skip


def _with_lower(a: Any, lower: bool) -> Any:
    """Return a Hermitian matrix whose lower triangle has the values of the triangle to be read."""
    return a if lower else adjoint(a)


# ---- factorizations --------------------------------------------------------------------------------------------------


@with_scipy_options
def cholesky(a: Any, lower: bool = False) -> Any:
    """Factorize a Hermitian, positive definite matrix: ``U^H U``, or ``L L^H`` with `lower`.

    Parameters
    ----------
    a : tensor-like of shape (..., m, m)
        Only the triangle that `lower` names is read; the gradient is symmetric.
    lower : bool
        Return the lower factor. The upper one is SciPy's default.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions, or is not square in its last two dimensions.
    LinAlgError
        If the matrix is not positive definite.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
    array([[2., 1.],
           [0., 2.]])
    """
    factor = cholesky_functions.cholesky(_with_lower(square_argument("cholesky", "a", a), lower))
    return factor if lower else adjoint(factor)


@with_scipy_options
def cho_factor(a: Any, lower: bool = False) -> tuple[Any, bool]:
    """Return the factor of `cholesky` and `lower`, for `cho_solve`. The other triangle is zero.

    Parameters
    ----------
    a : array_like of shape (n, n)
        A symmetric or Hermitian positive definite matrix.
    lower : bool
        Return the lower factor.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions, or is not square in its last two dimensions.
    LinAlgError
        If the matrix is not positive definite.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.cho_solve(linalg.cho_factor([[4.0, 2.0], [2.0, 5.0]]), [6.0, 7.0]).numpy()
    array([1., 1.])
    """
    return cholesky(square_argument("cho_factor", "a", a), lower), bool(lower)


@with_scipy_options
def qr(a: Any, *, mode: str = "full", pivoting: bool = False) -> Any:
    """Factorize a matrix as ``Q @ R``.

    Parameters
    ----------
    a : tensor-like of shape (..., m, n)
        Matrix.
    mode : {"full", "r", "economic"}
        Square Q, only R (as a tuple of one), or at most n columns of Q. The gradient of a square Q of a tall matrix
        raises a `NoGradientError`.
    pivoting : bool
        Must be False.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.
    ValueError
        For ``mode="raw"`` and for `pivoting`.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> q, r = linalg.qr([[3.0], [4.0]], mode="economic")
    >>> abs(r.numpy())
    array([[5.]])
    """
    if mode not in ("full", "r", "economic") or pivoting:
        raise ValueError(
            f"[qr] mode must be 'full', 'r' or 'economic', without pivoting; got mode={mode!r}, pivoting={pivoting}"
        )
    a = matrix_argument(a)
    require_rows("qr", a)
    if mode == "r":
        rows, columns = a.shape[-2:]
        return (qr_functions.qr(a, full_matrices=rows > columns)[1],)
    q, r = qr_functions.qr(a, full_matrices=mode == "full")
    return q, r


# ---- singular values and eigenvalues ---------------------------------------------------------------------------------


@with_scipy_options
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return U, the singular values, and the adjoint of V; or the values only.

    Parameters
    ----------
    a : tensor-like of shape (..., m, n)
        Matrix.
    full_matrices : bool
        Square U and V. Their gradient exists for square matrices only; else pass False.
    compute_uv : bool
        Compute the vectors.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.svd([[3.0, 0.0], [0.0, 2.0]], compute_uv=False).numpy()
    array([3., 2.])
    """
    a = matrix_argument(a)
    if not compute_uv:
        return svd_functions.svdvals(a)
    s, u, v = svd_functions.svd(a, full_matrices=full_matrices)
    return u, s, adjoint(v)


@with_scipy_options
def svdvals(a: Any) -> Any:
    """Return the singular values, greatest first.

    Parameters
    ----------
    a : array_like of shape (m, n)

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).numpy()
    array([4., 3.])
    """
    a = matrix_argument(a)
    require_rows("svdvals", a)
    return svd_functions.svdvals(a)


@with_scipy_options
def polar(a: Any, side: str = "right") -> tuple[Any, Any]:
    """Return a unitary U and a positive semidefinite P with ``a = U @ P``, or ``P @ U`` for the left side.

    Parameters
    ----------
    a : array_like of shape (m, n)
    side : {"right", "left"}
        Position of the semidefinite factor.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> u, p = linalg.polar([[0.0, -2.0], [2.0, 0.0]])
    >>> abs(p.numpy().round(6))
    array([[2., 0.],
           [0., 2.]])
    """
    if side not in ("left", "right"):
        raise ValueError(f"[polar] side must be 'left' or 'right', got {side!r}")
    u, s, vh = svd(a, full_matrices=False)
    middle = cast(diag(s), u.aval.dtype)
    basis = adjoint(vh) if side == "right" else u
    return matmul(u, vh), matmul(matmul(basis, middle), adjoint(basis))


@with_scipy_options
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    type: int = 1,
    subset_by_index: Any = None,
) -> Any:
    """Return eigenvalues in ascending order, and eigenvectors, of ``a v = w v`` or ``a v = w b v``.

    The signs of the vectors are those of SciPy's ``driver="evd"``, which its default driver may choose otherwise.

    Parameters
    ----------
    a : tensor-like of shape (..., m, m)
        Hermitian; only the triangle that `lower` names is read.
    b : tensor-like of shape (..., m, m), optional
        Hermitian and positive definite; the same triangle is read.
    lower, eigvals_only
        As in SciPy.
    type : int
        Must be 1.
    subset_by_index : pair of int, optional
        First and last of the eigenvalues to return.

    Raises
    ------
    ShapeError
        If `a` or `b` is not square in its last two dimensions, or they differ in their number of rows.
    ValueError
        For another type.
    LinAlgError
        If `b` is not positive definite.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.eigh([[2.0, 0.0], [0.0, 6.0]], [[1.0, 0.0], [0.0, 2.0]], eigvals_only=True).numpy()
    array([2., 3.])
    """
    if type != 1:
        raise ValueError(f"[eigh] type must be 1, got {type!r}; multiply by b or its inverse first")
    a, b = square_pair("eigh", a, b)
    low, high = (0, a.shape[-1] - 1) if subset_by_index is None else subset_by_index
    kept = slice(int(low), int(high) + 1)
    factor = None
    if b is not None:
        factor = cholesky_functions.cholesky(_with_lower(b, lower))
        a = _with_lower(a, lower)
        whole = band_part(a, -1, 0) + adjoint(band_part(a, -1, 0) - band_part(a, 0, 0))
        half = triangular_solve(factor, whole)
        a = adjoint(triangular_solve(factor, adjoint(half)))
    if eigvals_only:
        return eigh_functions.eigvalsh_of_triangle(a, bool(lower))[..., kept]
    w, v = eigh_functions.eigh_of_triangle(a, bool(lower))
    v = v if factor is None else triangular_solve(factor, v, adjoint=True)
    return w[..., kept], v[..., kept]


@with_scipy_options
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, type: int = 1, subset_by_index: Any = None) -> Any:
    """Return the eigenvalues of `eigh`.

    Parameters
    ----------
    a : array_like of shape (n, n)
        A symmetric or Hermitian matrix.
    b : array_like, optional
        A positive definite matrix.
    lower, type, subset_by_index : those of `eigh`

    Raises
    ------
    ShapeError
        If `a` or `b` is not square in its last two dimensions, or they differ in their number of rows.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy()
    array([1., 2.])
    """
    a, b = square_pair("eigvalsh", a, b)
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index)


@with_scipy_options
def eig(a: Any) -> tuple[Any, Any]:
    """Return the eigenvalues of a square matrix, which are complex, and its right eigenvectors.

    The eigenvectors are real if the matrix and all eigenvalues are, which are therefore read. Inside a `jt.function` or
    a loop, where eigenvalues are unknown, eigenvectors are complex.

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
    >>> linalg.eig([[0.0, 1.0], [-1.0, 0.0]])[0].numpy().imag
    array([ 1., -1.])
    """
    a = matrix_argument(a)
    w, v = eig_functions.eig(a)
    known = a.dtype.kind != "c" and type(active_recorder()) is Trace
    return w, real(v) if known and not w.numpy().imag.any() else v


@with_scipy_options
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of a square matrix, which are complex.

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
    >>> linalg.eigvals([[2.0, 1.0], [0.0, 2.0]]).numpy().real
    array([2., 2.])
    """
    return eig_functions.eigvals(matrix_argument(a))
