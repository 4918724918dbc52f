"""Derivatives of NumPy's linear algebra in generated code; Numba calls LAPACK for both.

LAPACK reads the lower triangle of the matrix only, for Cholesky factors and eigenvalues of symmetric matrices. The
derivatives do the same: they are zero above the diagonal. Vectors of exactly equal eigenvalues or singular values do
not turn into each other. (Giles, An extended collection of matrix derivative results, 2008; Murray, Differentiation of
the Cholesky decomposition, arXiv:1602.07527; Golub and Pereyra, The differentiation of pseudo-inverses, 1973; Walter
and Lehmann, Algorithmic differentiation of linear algebra functions, arXiv:1001.1654.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "cholesky_jvp", "cholesky_vjp", "det_jvp", "det_vjp", "eigenvectors_jvp", "eigenvectors_vjp", "eigvals_jvp",
    "eigvals_vjp", "eigvalsh_jvp", "eigvalsh_vjp", "general_eigenvectors_jvp", "general_eigenvectors_vjp", "inv_jvp",
    "inv_vjp", "left_vectors_jvp", "left_vectors_vjp", "logdet_jvp", "logdet_vjp", "lstsq_jvp", "lstsq_matrix_vjp",
    "lstsq_vector_vjp", "orthogonal_factor_jvp", "orthogonal_factor_vjp", "pinv_jvp", "pinv_vjp", "right_vectors_jvp",
    "right_vectors_vjp", "singular_values_jvp", "singular_values_vjp", "solve_jvp", "solve_matrix_vjp",
    "solve_vector_vjp", "triangular_factor_jvp", "triangular_factor_vjp",
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
def eigvals_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.eigvals(a)`` for real eigenvalues."""
    vectors = np.ascontiguousarray(np.linalg.eig(a)[1])
    return _turned(np.dot(vectors * g, np.linalg.inv(vectors)))


@jit
def eigvals_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.eigvals(a)`` for real eigenvalues."""
    vectors = np.ascontiguousarray(np.linalg.eig(a)[1])
    return np.diag(np.dot(np.linalg.inv(vectors), np.dot(a_tangent, vectors)))


@jit
def general_eigenvectors_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.eig(a)[1]`` for real eigenvalues and vectors of length 1."""
    turned = _turned(out)
    inner = np.dot(turned, g)
    inner = inner - np.dot(turned, out) * np.diag(inner)
    inner = inner * _reciprocal_gaps(np.linalg.eig(a)[0])
    return np.dot(np.dot(_turned(np.linalg.inv(out)), inner), turned)


@jit
def general_eigenvectors_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.eig(a)[1]`` for real eigenvalues and vectors of length 1."""
    inner = np.dot(np.linalg.inv(out), np.dot(a_tangent, out)) * _reciprocal_gaps(np.linalg.eig(a)[0])
    moved = np.dot(out, inner)
    return moved - out * np.sum(out * moved, axis=0)


@jit
def eigenvectors_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.eigh(a)[1]``."""
    turned = _turned(out)
    inner = np.dot(turned, g) * _reciprocal_gaps(np.linalg.eigvalsh(a))
    return _of_lower_triangle(np.dot(np.dot(out, inner), turned))


@jit
def eigenvectors_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.eigh(a)[1]``."""
    inner = np.dot(np.dot(_turned(out), _symmetric(a_tangent)), out)
    return np.dot(out, inner * _reciprocal_gaps(np.linalg.eigvalsh(a)))


@jit
def singular_values_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.svd(a)[1]``."""
    u, _, v = _factors(a)
    return np.dot(u * g, v)


@jit
def singular_values_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.svd(a)[1]``."""
    u, _, v = _factors(a)
    return np.diag(np.dot(np.dot(_turned(u), a_tangent), _turned(v)))


@jit
def left_vectors_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.svd(a, False)[0]``."""
    s, v = _other_factors(out, a)
    inner = np.dot(_turned(out), g)
    turning = (inner - inner.T) * _reciprocal_gaps(s * s) * s
    outside = (g - np.dot(out, inner)) / s
    return np.dot(np.dot(out, turning) + outside, v)


@jit
def left_vectors_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.svd(a, False)[0]``."""
    s, v = _other_factors(out, a)
    moved = np.dot(a_tangent, _turned(v))
    inner = np.dot(_turned(out), moved)
    scaled = inner * s
    turning = (scaled + scaled.T) * _reciprocal_gaps(s * s)
    return np.dot(out, turning) + (moved - np.dot(out, inner)) / s


@jit
def right_vectors_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.svd(a, False)[2]``."""
    return _turned(left_vectors_vjp(_turned(g), _turned(out), _turned(a)))


@jit
def right_vectors_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.svd(a, False)[2]``."""
    return _turned(left_vectors_jvp(_turned(out), _turned(a), _turned(a_tangent)))


@jit
def orthogonal_factor_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.qr(a)[0]``."""
    inner = -np.dot(_turned(g), out)
    return _of_factors(g, out, inner, a)


@jit
def triangular_factor_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.qr(a)[1]``."""
    q = np.ascontiguousarray(np.linalg.qr(a)[0])
    return _of_factors(np.zeros_like(q), q, np.dot(out, _turned(np.triu(g))), a)


@jit
def orthogonal_factor_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.qr(a)[0]``."""
    inverse = _inverse_triangle(a)
    inner = np.dot(np.dot(_turned(out), a_tangent), inverse)
    turning = np.tril(inner, -1) - _turned(np.tril(inner, -1))
    return np.dot(out, turning) + np.dot(a_tangent, inverse) - np.dot(out, inner)


@jit
def triangular_factor_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.qr(a)[1]``."""
    q = np.ascontiguousarray(np.linalg.qr(a)[0])
    inner = np.dot(np.dot(_turned(q), a_tangent), _inverse_triangle(a))
    return np.dot(inner - np.tril(inner, -1) + _turned(np.tril(inner, -1)), out)


@jit
def pinv_vjp(g: Any, out: Any, a: Any) -> Any:
    """Return the cotangent of ``np.linalg.pinv(a)`` for a rank that does not change."""
    turned, turned_g = _turned(out), _turned(g)
    one, other = np.dot(turned_g, np.dot(out, turned)), np.dot(np.dot(turned, out), turned_g)
    return (
        -np.dot(np.dot(turned, g), turned)
        + one - np.dot(a, np.dot(out, one))
        + other - np.dot(np.dot(other, out), a)
    )  # fmt: skip


@jit
def pinv_jvp(out: Any, a: Any, a_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.pinv(a)`` for a rank that does not change."""
    turned, moved = _turned(out), _turned(a_tangent)
    one, other = np.dot(np.dot(out, turned), moved), np.dot(np.dot(moved, turned), out)
    return (
        -np.dot(np.dot(out, a_tangent), out)
        + one - np.dot(np.dot(one, a), out)
        + other - np.dot(out, np.dot(a, other))
    )  # fmt: skip


@jit
def lstsq_vector_vjp(g: Any, out: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of ``np.linalg.lstsq(a, b)[0]`` for a vector `b`."""
    inverse = np.linalg.pinv(a)
    return pinv_vjp(np.outer(g, b), inverse, a), np.dot(_turned(inverse), g)


@jit
def lstsq_matrix_vjp(g: Any, out: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of ``np.linalg.lstsq(a, b)[0]`` for a matrix `b`."""
    inverse = np.linalg.pinv(a)
    return pinv_vjp(np.dot(g, _turned(b)), inverse, a), np.dot(_turned(inverse), g)


@jit
def lstsq_jvp(out: Any, a: Any, b: Any, a_tangent: Any, b_tangent: Any) -> Any:
    """Return the tangent of ``np.linalg.lstsq(a, b)[0]``."""
    inverse = np.linalg.pinv(a)
    return np.dot(pinv_jvp(inverse, a, a_tangent), b) + np.dot(inverse, b_tangent)


@jit
def _turned(a: Any) -> Any:
    return np.ascontiguousarray(a.T)


@jit
def _reciprocal_gaps(values: Any) -> Any:
    """Return the matrix of ``1 / (values[j] - values[i])``; zero where two values are equal."""
    result = np.zeros((values.size, values.size), dtype=values.dtype)
    for i in range(values.size):
        for j in range(values.size):
            if values[i] != values[j]:
                result[i, j] = 1.0 / (values[j] - values[i])
    return result


@jit
def _factors(a: Any) -> Any:
    u, s, v = np.linalg.svd(a, False)
    return np.ascontiguousarray(u), s, np.ascontiguousarray(v)


@jit
def _other_factors(u: Any, a: Any) -> Any:
    """Return singular values and right vectors whose signs fit the left vectors `u`."""
    s = np.linalg.svd(a, False)[1]
    return s, _turned(np.dot(_turned(a), u) / s)


@jit
def _inverse_triangle(a: Any) -> Any:
    return np.linalg.inv(np.ascontiguousarray(np.linalg.qr(a)[1]))


@jit
def _of_factors(g: Any, q: Any, inner: Any, a: Any) -> Any:
    symmetric = np.tril(inner) + _turned(np.tril(inner, -1))
    return np.dot(g + np.dot(q, symmetric), _turned(_inverse_triangle(a)))


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
