"""Evaluation of the principal square root and logarithm of matrices, with SciPy's Schur decomposition.

``a = z @ t @ z^H`` with a triangular `t`, so that ``f(a) = z @ f(t) @ z^H``. The derivative in the direction `e` is a
block of a function of a triangular matrix of twice the size: ``f([[t, e], [0, t]]) = [[f(t), derivative], [0, f(t)]]``
(N. Higham, "Functions of Matrices", SIAM 2008, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["logarithm", "square_root"]

SMALL = 4
"""Number of rows up to which a square root is computed element by element."""
PADE_RADIUS = 0.264
"""Norm of ``t - 1`` up to which the Padé approximant of degree 7 of the logarithm is accurate to double precision."""
MOST_ROOTS = 100
"""Maximum number of square roots that a logarithm takes."""


def of_stack(function: Callable[[Any], Any], a: Any, da: Any = None) -> Any:
    """Return a function of each matrix of a stack; with `da`, its derivatives in the directions `da` instead.

    Parameters
    ----------
    function : callable
        Maps a triangular matrix of complex128 to one, with nan if there is no result.
    a, da : ndarray of shape (..., n, n)
        Finite matrices. If they are real, so is the result.
    """
    out = np.empty_like(a)
    for index in np.ndindex(a.shape[:-2]):
        out[index] = _of_matrix(function, a[index], None if da is None else da[index])
    return out


def _of_matrix(function: Callable[[Any], Any], a: Any, da: Any) -> Any:
    from scipy.linalg import schur  # imported on first use, not with the package

    n = len(a)
    if n == 0:
        return a
    t, z = schur(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64), output="complex")
    if a.dtype.kind != "c" and _has_negative(t):
        return np.nan
    if da is None:
        value = function(t)
    else:
        blocks = np.zeros((2 * n, 2 * n), np.complex128)
        blocks[:n, :n] = blocks[n:, n:] = t
        blocks[:n, n:] = z.conj().T @ da @ z
        value = function(blocks)[:n, n:]
    result = z @ value @ z.conj().T
    return result if a.dtype.kind == "c" else result.real


def _has_negative(t: Any) -> bool:
    """Return whether an eigenvalue is a negative real number, not only by rounding."""
    diagonal = np.diagonal(t)
    return bool(np.any((diagonal.imag == 0) & (diagonal.real < -_rounding(t))))


def _rounding(t: Any) -> float:
    return float(len(t) * np.finfo(np.float64).eps * np.abs(t).max())


# ---- square root -----------------------------------------------------------------------------------------------------


def square_root(t: Any) -> Any:
    """Return the principal square root of a triangular matrix (Å. Björck and S. Hammarling, 1983)."""
    diagonal = np.diagonal(t).copy()
    zero = diagonal.imag == 0
    diagonal.imag[zero] = 0  # the root of a negative number is on the positive imaginary axis
    diagonal[zero & (np.abs(diagonal.real) <= _rounding(t)) & (diagonal.real < 0)] = 0
    roots = np.sqrt(diagonal)
    if len(t) <= SMALL or np.count_nonzero(roots == 0) > 1:
        return _root_by_elements(t, roots)
    from scipy.linalg.lapack import get_lapack_funcs  # imported on first use, not with the package

    half = len(t) // 2
    result = np.zeros_like(t)
    first, last = square_root(t[:half, :half]), square_root(t[half:, half:])
    (trsyl,) = get_lapack_funcs(("trsyl",), (t,))
    corner, scale, _ = trsyl(first, last, t[:half, half:])
    result[:half, :half], result[half:, half:], result[:half, half:] = first, last, corner / scale
    return result


def _root_by_elements(t: Any, roots: Any) -> Any:
    result = np.diag(roots)
    for column in range(len(t)):
        for row in range(column - 1, -1, -1):
            rest = t[row, column] - result[row, row + 1 : column] @ result[row + 1 : column, column]
            divisor = roots[row] + roots[column]
            if divisor != 0:
                result[row, column] = rest / divisor
            elif abs(rest) > _rounding(t):
                return np.full_like(t, np.nan)
    return result


# ---- logarithm -------------------------------------------------------------------------------------------------------


@cache
def _nodes_and_weights() -> tuple[Any, Any]:
    """Return the nodes and weights of Gauss's rule for the interval from 0 to 1, which take 74 µs to compute."""
    nodes, weights = np.polynomial.legendre.leggauss(7)
    return (nodes[:, None, None] + 1) / 2, weights[:, None, None] / 2


def logarithm(t: Any) -> Any:
    """Return the principal logarithm of a triangular matrix.

    Inverse scaling and squaring with a Padé approximant in partial fractions: N. Higham, "Functions of Matrices",
    algorithm 11.9. The diagonal is the logarithm of the diagonal.
    """
    diagonal = np.diagonal(t).copy()
    if np.any(diagonal == 0):
        return np.full_like(t, np.nan)
    diagonal.imag[diagonal.imag == 0] = 0
    logarithms = np.log(diagonal)
    root, halvings = t, 0
    while halvings < MOST_ROOTS:
        difference = root - np.eye(len(t))
        if np.abs(difference).sum(0).max() <= PADE_RADIUS:
            break
        root, halvings = square_root(root), halvings + 1
    nodes, weights = _nodes_and_weights()
    parts = np.linalg.solve(np.eye(len(t)) + nodes * difference, weights * difference)
    result = parts.sum(0) * 2.0**halvings
    np.fill_diagonal(result, logarithms)
    return result
