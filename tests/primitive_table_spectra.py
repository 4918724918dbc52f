"""The rows of decompositions into eigenvalues and singular values, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from jittape.primitives.elementwise import exponential as el
from jittape.primitives.elementwise import trigonometric as tr
from jittape.primitives.linalg import eigh as eh
from jittape.primitives.linalg import svd as sv
from jittape.primitives.linalg.einsum import einsum
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.joining import split
from primitive_table import INF, NAN, Array, Row, Sampler

DTYPES = ("float64", "float32")


def spread(*shape: int) -> Sampler:
    """Return matrices whose eigenvalues and singular values are far apart."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        rows, columns = shape[-2:]
        return (0.4 * rng.standard_normal(shape) + np.eye(rows, columns) * np.arange(1, columns + 1),)

    return sample


def symmetric(x: Array) -> Array:
    """Return the matrices whose lower triangles are those of `x`."""
    return np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)


def each(function: Callable[[Array], Array], x: Array) -> Array:
    """Apply a function of one matrix to a stack."""
    return np.stack([function(matrix) for matrix in x])


def cosine_by_eigenvectors(x: Any) -> Any:
    """Return the cosine of a matrix, which does not depend on the signs of the vectors."""
    values, vectors = eh.eigh(x)
    return einsum("...ij,...j,...kj->...ik", vectors, tr.cos(values), vectors)


def exponential_by_singular_vectors(x: Any) -> Any:
    """Return the sum of ``exp(s[i])`` times the outer product of the singular vectors."""
    s, u, v = sv.svd(x)
    return einsum("...ij,...j,...kj->...ik", u, el.exp(s), v)


def exponential_by_root(x: Array) -> Array:
    """Return the same function without singular vectors."""
    root = scipy.linalg.sqrtm(x.T @ x)
    return x @ np.linalg.inv(root) @ scipy.linalg.expm(root)


def projector_on_complement(x: Any) -> Any:
    """Return the projector on the singular vectors that only full matrices have."""
    _, u, _ = sv.svd(x, full_matrices=True)
    complement = split(u, [x.shape[-1], x.shape[-2] - x.shape[-1]], -1)[1]
    return matmul(complement, complement, transpose_b=True)


BROKEN = np.array([[[2.0, 1.0], [1.0, 3.0]], [[NAN, 1.0], [1.0, 1.0]], [[1.0, 0.0], [INF, 1.0]]])


def eigenvalues(x: Array) -> Array:
    """NumPy's, and nan for matrices that contain nan or inf."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    return np.where(finite[..., 0], np.linalg.eigvalsh(np.where(finite, x, 0)), NAN)


def singular_values(x: Array) -> Array:
    """NumPy's, and nan for matrices that contain nan or inf."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    return np.where(finite[..., 0], np.linalg.svd(np.where(finite, x, 0), compute_uv=False), NAN)


EDGES = ((BROKEN,), (np.zeros((0, 2, 2)),), (np.zeros((2, 0, 0)),), (np.eye(3),), (np.zeros((3, 3)),))

ROWS: tuple[Row, ...] = (
    Row("eigvalsh", eh.eigvalsh, spread(2, 4, 4), eigenvalues, DTYPES, EDGES, rtol=1e-13),
    Row(
        "eigh",
        cosine_by_eigenvectors,
        spread(2, 4, 4),
        lambda x: each(scipy.linalg.cosm, symmetric(x)),
        DTYPES,
        rtol=1e-12,
    ),
    Row("svdvals", sv.svdvals, spread(2, 4, 3), singular_values, DTYPES, EDGES, rtol=1e-13),
    Row(
        "svd",
        exponential_by_singular_vectors,
        spread(2, 4, 3),
        lambda x: each(exponential_by_root, x),
        DTYPES,
        rtol=1e-12,
    ),
    Row(
        "svd full_matrices",
        projector_on_complement,
        spread(2, 5, 3),
        lambda x: np.eye(5) - x @ np.linalg.pinv(x),
        DTYPES,
        rtol=1e-12,
    ),
)
