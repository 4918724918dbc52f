"""Evaluation of the principal square root and logarithm of stacks of matrices, with LAPACK's Schur decomposition.

``a = z @ t @ z^H`` with a triangular `t`, so that ``f(a) = z @ f(t) @ z^H``. The derivative in the direction `e` is a
block of a function of a triangular matrix of twice the size: ``f([[t, e], [0, t]]) = [[f(t), derivative], [0, f(t)]]``
(N. Higham, "Functions of Matrices", SIAM 2008, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jittape.vectormath.matrix_pade import LOGARITHM_RADIUS, MOST_ROOTS, logarithm_nodes_and_weights

__all__ = ["logarithm", "of_stack", "square_root"]

SMALL, SMALL_IN_STACK = 2, 12
"""Numbers of rows up to which square roots are computed element by element, of a few matrices and of many.

1,000 gradients of order 3 take 11 ms instead of 35.
"""
MANY = 8
"""Number of matrices above which a stack has many."""


def of_stack(function: Callable[[Any], Any], a: Any, da: Any = None) -> Any:
    """Return a function of each matrix of a stack; with `da`, its derivatives in the directions `da` instead.

    Parameters
    ----------
    function : callable
        Maps a stack of triangular matrices to one, with nan if there is no result.
    a, da : ndarray of shape (..., n, n)
        Finite matrices. If they are real, so is the result.
    """
    n = a.shape[-1]
    if not a.size:
        return np.empty_like(a)
    is_real = a.dtype.kind != "c"
    matrices = a.reshape(-1, n, n).astype(np.float64 if is_real else np.complex128)
    directions = None if da is None else da.reshape(-1, n, n)
    out = np.full(matrices.shape, np.nan, a.dtype)
    for places, t, z in _schur_factors(matrices):
        value = _of_factors(function, t, z, None if directions is None else directions[places])
        out[places] = value.real if is_real else value
    return out.reshape(a.shape)


def _unsorted(*_: Any) -> bool:
    return False


def _schur_factors(matrices: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield indices of matrices, and triangular and unitary factors: real ones if matrix and eigenvalues are.

    Real matrices with an eigenvalue that is a negative number, not only by rounding, have none.
    """
    from scipy.linalg import lapack  # imported on first use, not with the package

    size = 40 * matrices.shape[-1]
    if matrices.dtype.kind == "c":
        found = [lapack.zgees(_unsorted, matrix, lwork=size) for matrix in matrices]
        _require_convergence([parts[-1] for parts in found])
        t, z = (np.stack([parts[i] for parts in found]) for i in (0, 3))
        yield np.arange(len(matrices)), t, z
        return
    found = [lapack.dgees(_unsorted, matrix, lwork=size) for matrix in matrices]
    _require_convergence([parts[-1] for parts in found])
    t, real, imag, z = (np.stack([parts[i] for parts in found]) for i in (0, 2, 3, 4))
    # The real decomposition decides: the complex one gives real eigenvalues imaginary parts by rounding.
    has_root = ~np.any((imag == 0) & (real < -_rounding(t)[:, None]), axis=-1)
    is_turning = np.any(imag, axis=-1)
    places = np.flatnonzero(has_root & ~is_turning)
    if places.size:
        yield places, t[places], z[places]
    places = np.flatnonzero(has_root & is_turning)
    if places.size:
        for _, t, z in _schur_factors(matrices[places].astype(np.complex128)):
            yield places, t, z


def _require_convergence(info: list[int]) -> None:
    if any(info):
        raise np.linalg.LinAlgError("the Schur decomposition did not converge")


def _of_factors(function: Callable[[Any], Any], t: Any, z: Any, directions: Any) -> Any:
    """Return the function of ``z @ t @ z^H``, or its derivatives in the directions."""
    n, adjoint = t.shape[-1], z.conj().swapaxes(-1, -2)
    if directions is None:
        return z @ function(t) @ adjoint
    blocks = np.zeros((len(t), 2 * n, 2 * n), np.result_type(t, directions))
    blocks[:, :n, :n] = blocks[:, n:, n:] = t
    blocks[:, :n, n:] = adjoint @ directions @ z
    return z @ function(blocks)[:, :n, n:] @ adjoint


def _diagonal(t: Any) -> Any:
    """Return the diagonals, complex; imaginary parts that are zero are positive zeros."""
    diagonal = np.diagonal(t, axis1=-2, axis2=-1).astype(np.complex128)
    diagonal.imag[diagonal.imag == 0] = 0
    return diagonal


def _rounding(t: Any) -> Any:
    return t.shape[-1] * np.finfo(np.float64).eps * np.abs(t).max((-2, -1))


# ---- square root -----------------------------------------------------------------------------------------------------


def square_root(t: Any) -> Any:
    """Return the principal square roots of triangular matrices (Å. Björck and S. Hammarling, 1983).

    Those of real matrices with a negative eigenvalue are nan.
    """
    diagonal = _diagonal(t)  # the root of a negative number is on the positive imaginary axis
    is_zero = (diagonal.imag == 0) & (diagonal.real < 0) & (diagonal.real >= -_rounding(t)[:, None])
    diagonal[is_zero] = 0
    roots = np.sqrt(diagonal)
    if t.dtype.kind != "c":
        roots = np.where(roots.imag == 0, roots.real, np.nan)
    limit = _rounding(t)
    if np.any(np.count_nonzero(roots == 0, axis=-1) > 1):
        return _root_by_elements(t, roots, limit)
    return _root_by_halves(t, roots, limit)


def _root_by_halves(t: Any, roots: Any, limit: Any) -> Any:
    """Return the square roots by those of two diagonal blocks and a Sylvester equation for the third block."""
    if t.shape[-1] <= (SMALL_IN_STACK if len(t) > MANY else SMALL):
        return _root_by_elements(t, roots, limit)
    from scipy.linalg import lapack  # imported on first use, not with the package

    trsyl = lapack.ztrsyl if t.dtype.kind == "c" else lapack.dtrsyl
    half = t.shape[-1] // 2
    result = np.zeros_like(t)
    first = _root_by_halves(t[:, :half, :half], roots[:, :half], limit)
    last = _root_by_halves(t[:, half:, half:], roots[:, half:], limit)
    result[:, :half, :half], result[:, half:, half:] = first, last
    for matrix, upper, lower, corner in zip(result, first, last, t[:, :half, half:], strict=True):
        solution, scale, _ = trsyl(upper, lower, corner)
        matrix[:half, half:] = solution / scale
    return result


def _root_by_elements(t: Any, roots: Any, limit: Any) -> Any:
    """Return matrices with the diagonals `roots`; nan where the numerator exceeds `limit` and the divisor is 0."""
    n = t.shape[-1]
    result = np.zeros_like(t)
    result[:, range(n), range(n)] = roots
    undefined = np.zeros(len(t), bool)
    for column in range(n):
        for row in range(column - 1, -1, -1):
            rest = t[:, row, column]
            if column - row > 1:
                between = slice(row + 1, column)
                rest = rest - (result[:, row, between] * result[:, between, column]).sum(-1)
            divisor = roots[:, row] + roots[:, column]
            is_zero = divisor == 0
            if is_zero.any():
                undefined |= is_zero & (np.abs(rest) > limit)
                rest, divisor = np.where(is_zero, 0, rest), np.where(is_zero, 1, divisor)
            result[:, row, column] = rest / divisor
    result[undefined] = np.nan
    return result


# ---- logarithm -------------------------------------------------------------------------------------------------------


def logarithm(t: Any) -> Any:
    """Return the principal logarithms of triangular matrices.

    Inverse scaling and squaring with a Padé approximant in partial fractions: N. Higham, "Functions of Matrices",
    algorithm 11.9. The diagonal is the logarithm of the diagonal. Singular matrices give nan, and real ones with a
    negative eigenvalue.
    """
    n, diagonal = t.shape[-1], _diagonal(t)
    identity = np.eye(n)
    root, halvings = t.copy(), np.zeros(len(t), np.int64)
    active = np.all(diagonal != 0, axis=-1)
    root[~active] = np.nan
    for _ in range(MOST_ROOTS):
        active &= np.abs(root - identity).sum(-2).max(-1) > LOGARITHM_RADIUS
        if not np.any(active):
            break
        root[active] = square_root(root[active])
        halvings += active
    nodes, weights = np.array(logarithm_nodes_and_weights()).T[..., None, None, None]
    difference = root - identity
    parts = np.linalg.solve(identity + nodes * difference, weights * difference)
    result = parts.sum(0) * 2.0 ** halvings[:, None, None]
    logarithms = np.log(diagonal)
    if t.dtype.kind != "c":
        logarithms = np.where(diagonal.real > 0, logarithms.real, np.nan)
    result[:, range(n), range(n)] = np.where(np.isnan(root).any((-2, -1))[:, None], np.nan, logarithms)
    return result
