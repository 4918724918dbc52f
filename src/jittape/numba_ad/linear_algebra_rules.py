"""Derivatives of NumPy's linear algebra in generated code; Numba calls LAPACK for both.

LAPACK reads the lower triangle of the matrix only, for Cholesky factors and eigenvalues of symmetric matrices. The
derivatives do the same: they are zero above the diagonal. (Giles, An extended collection of matrix derivative results,
2008; Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "cholesky_jvp", "cholesky_vjp", "det_jvp", "det_vjp", "eigvalsh_jvp", "eigvalsh_vjp", "inv_jvp", "inv_vjp",
    "logdet_jvp", "logdet_vjp", "solve_jvp", "solve_matrix_vjp", "solve_vector_vjp",
]  # fmt: skip

jit = njit(nogil=True)


@jit
def solve_vector_vjp(g: Any, out: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of ``np.linalg.solve(a, b)`` for a vector `b`."""
    right = np.linalg.solve(np.ascontiguousarray(a.T), g)
    return -np.outer(right, out), right


@jit
def solve_matrix_vjp(g: Any, out: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of ``np.linalg.solve(a, b)`` for a matrix `b`."""
    right = np.linalg.solve(np.ascontiguousarray(a.T), g)
    return -np.dot(right, np.ascontiguousarray(out.T)), right


@jit
def solve_jvp(out: Any, a: Any, b: Any, a_tangent: Any, b_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.solve(a, b)``."""
    return np.linalg.solve(a, b_tangent - np.dot(a_tangent, out))


@jit
def inv_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.inv(a)``."""
    turned = np.ascontiguousarray(out.T)
    return -np.dot(np.dot(turned, g), turned)


@jit
def inv_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.inv(a)``."""
    return -np.dot(np.dot(out, a_tangent), out)


@jit
def det_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.det(a)``."""
    return g * out * np.ascontiguousarray(np.linalg.inv(a).T)


@jit
def det_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.det(a)``."""
    return out * np.trace(np.linalg.solve(a, a_tangent))


@jit
def logdet_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.slogdet(a)[1]``."""
    return g * np.ascontiguousarray(np.linalg.inv(a).T)


@jit
def logdet_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.slogdet(a)[1]``."""
    return np.trace(np.linalg.solve(a, a_tangent))


@jit
def cholesky_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.cholesky(a)``."""
    n = out.shape[0]
    middle = np.dot(np.ascontiguousarray(out.T), np.tril(g))
    for i in range(n):
        middle[i, i] *= 0.5
        for j in range(i + 1, n):
            middle[i, j] = 0.0
    inverse = np.linalg.inv(out)
    full = np.dot(np.dot(np.ascontiguousarray(inverse.T), middle), inverse)
    return _of_lower_triangle(full)


@jit
def cholesky_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.cholesky(a)``."""
    inverse = np.linalg.inv(out)
    middle = np.dot(np.dot(inverse, _symmetric(a_tangent)), np.ascontiguousarray(inverse.T))
    for i in range(out.shape[0]):
        middle[i, i] *= 0.5
        for j in range(i + 1, out.shape[0]):
            middle[i, j] = 0.0
    return np.dot(out, middle)


@jit
def eigvalsh_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.eigvalsh(a)``."""
    vectors = _eigenvectors(a)
    return _of_lower_triangle(np.dot(vectors * g, np.ascontiguousarray(vectors.T)))


@jit
def eigvalsh_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.eigvalsh(a)``."""
    vectors = _eigenvectors(a)
    return np.diag(np.dot(np.dot(np.ascontiguousarray(vectors.T), _symmetric(a_tangent)), vectors))


@jit
def _eigenvectors(a: Any) -> Any:
    return np.ascontiguousarray(np.linalg.eigh(a)[1])


@jit
def _symmetric(lower: Any) -> Any:
    """Return the symmetric matrix with this lower triangle."""
    result = np.empty(lower.shape, dtype=lower.dtype)
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            result[i, j] = result[j, i] = lower[i, j]
    return result


@jit
def _of_lower_triangle(full: Any) -> Any:
    """Return the cotangent of the lower triangle from that of the symmetric matrix."""
    result = np.zeros(full.shape, dtype=full.dtype)
    for i in range(full.shape[0]):
        result[i, i] = full[i, i]
        for j in range(i):
            result[i, j] = full[i, j] + full[j, i]
    return result
