"""Norms, subspaces and trigonometric functions of matrices, over `jt.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import complex_of
from jittape.core.user_calls import called_name
from jittape.errors import ShapeError
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast, conj, imag, real
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.elementwise.trigonometric import acos, asin
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import require_matrix_dtype
from jittape.primitives.linalg.solve import solve
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.spectra.matrix_functions import expm
from jittape.primitives.spectra.svd import svdvals
from jittape.scipy.linalg.matrix_arguments import matrix_argument, square_argument
from jittape.scipy.linalg.scipy_factors import svd
from jittape.scipy.linalg.scipy_options import with_scipy_options
from jittape.scipy.linalg.systems import hermitian_of, pinv

__all__ = [
    "coshm", "cosm", "expm_frechet", "norm", "null_space", "orth", "pinvh", "sinhm", "sinm", "subspace_angles", "tanhm",
    "tanm",
]  # fmt: skip


@with_scipy_options
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the norm of a vector or matrix; see `scipy.linalg.norm`.

    Parameters
    ----------
    a : array_like
        A vector or a matrix.
    ord : float or str, optional
        The norm.
    axis : int or pair of int, optional
        The dimensions of a vector or matrix.
    keepdims : bool
        Keep the dimensions with length 1.

    Raises
    ------
    ValueError
        If `ord` is not the order of a norm.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> float(linalg.norm([[3.0, 4.0]]))
    5.0
    """
    return np.linalg.norm(matrix_argument(a), ord, axis, keepdims)


# ---- subspaces -------------------------------------------------------------------------------------------------------


def _rank(s: Any, shape: Any, rcond: float | None) -> int:
    """Return the number of singular values that count, which depends on the values."""
    values = s.numpy()
    bound = np.finfo(values.dtype).eps * max(shape) if rcond is None else rcond
    return int(np.sum(values > np.amax(values, initial=0.0) * bound))


@with_scipy_options
def orth(A: Any, rcond: float | None = None) -> Any:
    """Return an orthonormal basis of the range, in columns.

    The rank is read from the values. The gradient needs distinct singular values, as that of `svd`.

    Parameters
    ----------
    A : tensor-like of shape (m, n)
        Matrix.
    rcond : float, optional
        Singular values below ``rcond`` times the largest one count as 0.

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> abs(linalg.orth([[2.0, 2.0], [0.0, 0.0]]).numpy())
    array([[1.],
           [0.]])
    """
    a = matrix_argument(A)
    u, s, _ = svd(a, full_matrices=False)
    return u[:, : _rank(s, a.shape, rcond)]


@with_scipy_options
def null_space(A: Any, rcond: float | None = None) -> Any:
    """Return an orthonormal basis of the vectors that `A` maps to 0, in columns.

    The rank is read from the values.

    Parameters
    ----------
    A : tensor-like of shape (m, n)
        Matrix.
    rcond : float, optional
        Singular values below ``rcond`` times the largest one count as 0.

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> abs(linalg.null_space([[1.0, 0.0]]).numpy())
    array([[0.],
           [1.]])
    """
    a = matrix_argument(A)
    _, s, vh = svd(a, full_matrices=True)
    return adjoint(vh[_rank(s, a.shape, rcond) :])


def subspace_angles(A: Any, B: Any) -> Any:
    """Return the angles between the ranges of two matrices, the greatest first.

    Parameters
    ----------
    A : tensor-like of shape (m, n)
        Matrix.
    B : tensor-like of shape (m, k)
        Matrix.

    Raises
    ------
    ShapeError
        If `A` or `B` has fewer than two dimensions, or their numbers of rows differ.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.subspace_angles([[1.0], [0.0]], [[1.0], [1.0]]).numpy().round(4)
    array([0.7854])
    """
    a, b = orth(A), orth(B)
    common = adjoint(a) @ b
    sigma = svdvals(common)
    rest = b - a @ common if a.shape[1] >= b.shape[1] else a - b @ adjoint(common)
    near = sigma**2 >= 0.5
    sine, cosine = clip_by_value(svdvals(rest), -1.0, 1.0), clip_by_value(reverse(sigma, [0]), -1.0, 1.0)
    return where(near, asin(where(near, sine, 0.0)), acos(where(near, 0.0, cosine)))


@with_scipy_options
def pinvh(a: Any, *, rtol: float | None = None, lower: bool = True) -> Any:
    """Return the pseudoinverse of a Hermitian matrix, of which one triangle is read.

    Parameters
    ----------
    a : tensor-like of shape (..., m, m)
        Matrix.
    rtol : float, optional
        Singular values below ``rtol`` times the largest one count as 0.
    lower : bool
        Read the lower triangle; it is the default, as in SciPy.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions, or is not square.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.pinvh([[2.0, 9.0], [0.0, 0.0]]).numpy()
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    return pinv(hermitian_of(square_argument("pinvh", "a", a), lower), rtol=rtol)


# ---- functions of matrices -------------------------------------------------------------------------------------------


def _turned(A: Any) -> tuple[Any, Any, bool]:
    """Return ``expm(1j a)`` and ``expm(-1j a)``, and whether `a` is real."""
    a = matrix_argument(A)
    require_matrix_dtype(called_name(), "A", a.aval)
    is_real = np.dtype(a.dtype).kind != "c"
    turned = cast(a, complex_of(np.dtype(a.dtype))) * 1j if is_real else a * 1j
    forth = expm(turned)
    return forth, conj(forth) if is_real else expm(-turned), is_real


def cosm(A: Any) -> Any:
    """Return the cosine of a matrix.

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
    >>> linalg.cosm([[0.0, 1.0], [0.0, 0.0]]).numpy()
    array([[1., 0.],
           [0., 1.]])
    """
    forth, back, is_real = _turned(A)
    return real(forth) if is_real else 0.5 * (forth + back)


def sinm(A: Any) -> Any:
    """Return the sine of a matrix.

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
    >>> linalg.sinm([[0.0, 1.0], [0.0, 0.0]]).numpy()
    array([[0., 1.],
           [0., 0.]])
    """
    forth, back, is_real = _turned(A)
    return imag(forth) if is_real else -0.5j * (forth - back)


def tanm(A: Any) -> Any:
    """Return the tangent of a matrix.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> jt.scipy.linalg.tanm(np.diag([0.0, 1.0])).numpy().round(4)
    array([[0.    , 0.    ],
           [0.    , 1.5574]])
    """
    return solve(cosm(A), sinm(A))


def coshm(A: Any) -> Any:
    """Return the hyperbolic cosine of a matrix.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> jt.scipy.linalg.coshm(np.diag([0.0, 1.0])).numpy().round(4)
    array([[1.    , 0.    ],
           [0.    , 1.5431]])
    """
    a = matrix_argument(A)
    return 0.5 * (expm(a) + expm(-a))


def sinhm(A: Any) -> Any:
    """Return the hyperbolic sine of a matrix.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> jt.scipy.linalg.sinhm(np.diag([0.0, 1.0])).numpy().round(4)
    array([[0.    , 0.    ],
           [0.    , 1.1752]])
    """
    a = matrix_argument(A)
    return 0.5 * (expm(a) - expm(-a))


def tanhm(A: Any) -> Any:
    """Return the hyperbolic tangent of a matrix.

    Parameters
    ----------
    A : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If `A` has fewer than two dimensions, or is not square in its last two dimensions.
    LinAlgError
        If the matrix is singular.

    Examples
    --------
    >>> jt.scipy.linalg.tanhm(np.diag([0.0, 1.0])).numpy().round(4)
    array([[0.    , 0.    ],
           [0.    , 0.7616]])
    """
    return solve(coshm(A), sinhm(A))


@with_scipy_options
def expm_frechet(A: Any, E: Any, method: str | None = None, compute_expm: bool = True) -> Any:
    """Return the exponential of a matrix and its derivative in the direction `E`.

    Parameters
    ----------
    A, E : tensor-like of shape (m, m)
        Matrix and direction.
    method : str, optional
        One of SciPy's names; it has no effect.
    compute_expm : bool
        If False, return the derivative alone.

    Raises
    ------
    ShapeError
        If `A` is not square, or `E` has another shape.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.expm_frechet([[0.0]], [[2.0]])[1].numpy()
    array([[2.]])
    """
    a, e = square_argument("expm_frechet", "A", A), matrix_argument(E)
    if e.shape != a.shape:
        raise ShapeError(
            f"[expm_frechet] E must have the shape of A, {tuple(a.shape)}, got {tuple(e.shape)}; "
            "give a direction for each element"
        )
    n = a.shape[-1]
    both = expm(concat([concat([a, e], -1), concat([a * 0.0, a], -1)], -2))
    value, derivative = both[..., :n, :n], both[..., :n, n:]
    return (value, derivative) if compute_expm else derivative
