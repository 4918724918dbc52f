"""The rows of decompositions into eigenvalues and singular values, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from jittape.primitives.elementwise import complex_numbers as cx
from jittape.primitives.elementwise import exponential as el
from jittape.primitives.elementwise import trigonometric as tr
from jittape.primitives.indexing import sorting as so
from jittape.primitives.linalg import matrices as ma
from jittape.primitives.linalg import matrix_products as mp
from jittape.primitives.linalg.einsum import diag_part, einsum
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.joining import split, stack
from jittape.primitives.spectra import eig as eg
from jittape.primitives.spectra import eigh as eh
from jittape.primitives.spectra import matrix_functions as mf
from jittape.primitives.spectra import norms as no
from jittape.primitives.spectra import pseudoinverse as ps
from jittape.primitives.spectra import svd as sv
from primitive_table import INF, NAN, Array, Row, Sampler, normal

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

SPECTRA = (
    Row("eigvalsh", eh.eigvalsh, spread(2, 4, 4), eigenvalues, DTYPES, EDGES, rtol=1e-13),
    Row(
        "eigh",
        cosine_by_eigenvectors,
        spread(2, 4, 4),
        lambda x: each(scipy.linalg.cosm, symmetric(x)),
        DTYPES,
        rtol=1e-12,
    ),
    Row(
        "eigh_tridiagonal",
        eh.eigh_tridiagonal,
        lambda rng: (np.arange(4.0) + 0.2 * rng.standard_normal((2, 4)), rng.standard_normal((2, 3))),
        lambda a, b: np.stack([scipy.linalg.eigvalsh_tridiagonal(x, y) for x, y in zip(a, b, strict=True)]),
        DTYPES,
        rtol=1e-13,
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


def pseudoinverse(x: Array) -> Array:
    """NumPy's, and nan for matrices that contain nan or inf."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    return np.where(finite, np.linalg.pinv(np.where(finite, x, 0), rcond=1e-5), NAN)


PRODUCTS = (
    *(
        Row(
            f"pinv {shape}",
            lambda x: ps.pinv(x, 1e-5),
            spread(*shape),
            pseudoinverse,
            DTYPES,
            ((BROKEN,), (np.ones((2, 3)),), (np.zeros((2, 0, 3)),), (np.zeros((3, 2)),)),
            rtol=1e-12,
        )
        for shape in ((2, 4, 3), (3, 4), (3, 3))
    ),
    *(
        Row(
            f"matrix_power {n}",
            lambda x, n=n: mp.matrix_power(x, n),
            spread(2, 3, 3),
            lambda x, n=n: np.linalg.matrix_power(x, n),
            DTYPES,
            rtol=1e-12,
        )
        for n in (0, 1, 5, -2)
    ),
    Row(
        "multi_dot",
        lambda *arrays: mp.multi_dot(arrays),
        normal((4, 2), (2, 5), (5, 3), (3,)),
        lambda *arrays: np.linalg.multi_dot(arrays),
        DTYPES,
        rtol=1e-13,
    ),
    Row("inner", mp.inner, normal((2, 3), (4, 2, 3)), np.inner, DTYPES, rtol=1e-13),
    Row("vecdot", mp.vecdot, normal((2, 3), (4, 1, 3)), np.linalg.vecdot, DTYPES, rtol=1e-13),
    Row("kron", mp.kron, normal((2, 3), (4, 1, 2)), np.kron, DTYPES),
    Row(
        "vander",
        lambda x: mp.vander(x, 4),
        lambda rng: (np.array([0.0, -1.5, 0.7]),),
        lambda x: np.vander(x, 4),
        DTYPES,
        ((np.array([INF, NAN, -0.0]),), (np.zeros(0),)),
    ),
    Row(
        "tensor_diag",
        ma.tensor_diag,
        normal((2, 3)),
        lambda x: np.diag(x.ravel()).reshape(2, 3, 2, 3),
        edges=(),
    ),
    Row(
        "tensor_diag_part",
        ma.tensor_diag_part,
        normal((2, 3, 2, 3)),
        lambda x: np.diag(x.reshape(6, 6)).reshape(2, 3),
    ),
    *(
        Row(
            f"vector_norm {order}",
            lambda x, order=order: no.vector_norm(x, axis=(0, 2), ord=order),
            normal((3, 2, 2)),
            lambda x, order=order: np.linalg.vector_norm(x, axis=(0, 2), ord=order),
            DTYPES,
            rtol=1e-13,
        )
        for order in (0, 1, 2, 3.5, -1, INF, -INF)
    ),
    *(
        Row(
            f"matrix_norm {order}",
            lambda x, order=order: no.matrix_norm(x, ord=order, keepdims=True),
            spread(2, 3, 4),
            lambda x, order=order: np.linalg.matrix_norm(x, ord=order, keepdims=True),
            DTYPES,
            rtol=1e-13,
        )
        for order in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
    ),
)


# ---- general matrices ------------------------------------------------------------------------------------------------


def rotating(rng: np.random.Generator) -> tuple[Array, ...]:
    """Return real matrices with complex eigenvalues."""
    return (rng.standard_normal((2, 3, 3)) + np.array([[0.0, 4.0, 0.0], [-4.0, 0.0, 0.0], [0.0, 0.0, 3.0]]),)


def parts(x: Any) -> Any:
    """Return real and imaginary parts."""
    return stack([cx.real(x), cx.imag(x)])


def both_parts(x: Array) -> Array:
    return np.stack([x.real, x.imag])


GENERAL = (
    Row(
        "eigvals",
        lambda x: so.sort(cx.real(eg.eigvals(x))),
        spread(2, 4, 4),
        lambda x: np.sort(np.linalg.eigvals(x).real),
        DTYPES,
        ((BROKEN[:1],), (np.zeros((0, 2, 2)),), (np.zeros((2, 0, 0)),)),
        rtol=1e-13,
    ),
    Row(
        "eig",
        lambda x: (lambda v: parts(einsum("...ij,...kj->...ikj", v, v)))(eg.eig(x)[1]),
        rotating,
        lambda x: both_parts(np.einsum("...ij,...kj->...ikj", *[np.linalg.eig(x)[1]] * 2)),
        DTYPES,
        rtol=1e-12,
    ),
    *(
        Row(
            f"cond {order}",
            lambda x, order=order: ps.cond(x, order),
            spread(2, 3, 3),
            lambda x, order=order: np.linalg.cond(x, order),
            DTYPES,
            ((np.stack([np.ones((3, 3)), np.zeros((3, 3)), np.eye(3)]),),) if order in (1, "fro") else (),
            rtol=1e-12,
        )
        for order in (None, -2, "fro", "nuc", 1, INF)
    ),
)


# ---- functions of matrices -------------------------------------------------------------------------------------------


def positive(*shape: int) -> Sampler:
    """Return matrices whose eigenvalues have positive real parts."""
    return lambda rng: (0.5 * rng.standard_normal(shape) + 2 * np.eye(shape[-1]),)


def with_direction(sample: Sampler) -> Sampler:
    """Return the same operands and matrices of their shape."""
    return lambda rng: (*sample(rng), rng.standard_normal(sample(rng)[0].shape))


def derivative_by_blocks(function: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    """Return the derivative of a function of a matrix as a block of the function of a matrix of twice the size."""

    def derivative(x: Array, direction: Array) -> Array:
        n = x.shape[-1]
        blocks = [function(np.block([[a, e], [0 * a, a]])) for a, e in zip(x, direction, strict=True)]
        return np.stack(blocks)[:, :n, n:]

    return derivative


SPECIAL = (np.zeros((2, 0, 0)),), (np.eye(3),), (np.array([[NAN, 1.0], [0.0, 1.0]]),)

FUNCTIONS = (
    *(
        Row(name, op, sample, lambda x, f=f: each(f, x), DTYPES, rtol=1e-12)
        for name, op, f, sample in (
            ("expm", mf.expm, scipy.linalg.expm, normal((2, 3, 3))),
            ("sqrtm", mf.sqrtm, scipy.linalg.sqrtm, positive(2, 4, 4)),
            ("sqrtm of blocks", mf.sqrtm, scipy.linalg.sqrtm, positive(1, 7, 7)),
            ("logm", mf.logm, scipy.linalg.logm, positive(2, 3, 3)),
        )
    ),
    *(
        Row(f"{name} edges", op, positive(3, 3), f, DTYPES, SPECIAL, rtol=1e-13)
        for name, op, f in (
            ("expm", mf.expm, lambda x: np.full_like(x, NAN) if np.isnan(x).any() else scipy.linalg.expm(x)),
            (
                "sqrtm",
                mf.sqrtm,
                lambda x: np.full_like(x, NAN) if np.isnan(x).any() else scipy.linalg.sqrtm(x),
            ),
        )
    ),
    Row(
        "expm_pairs",
        lambda x: mf.expm_pairs_op.bind(x),
        normal((2, 3, 6)),
        lambda x: derivative_by_blocks(scipy.linalg.expm)(x[..., :3], x[..., 3:]),
        DTYPES,
        ((np.zeros((1, 3, 6)),),),
        wrt=(),
        rtol=1e-11,
    ),
    *(
        Row(
            f"{op.name}",
            op.bind,
            with_direction(sample),
            derivative_by_blocks(f),
            DTYPES,
            rtol=1e-11,
        )
        for op, f, sample in (
            (mf.expm_derivative_op, scipy.linalg.expm, normal((2, 3, 3))),
            (mf.sqrtm_derivative_op, scipy.linalg.sqrtm, positive(2, 3, 3)),
            (mf.logm_derivative_op, scipy.linalg.logm, positive(2, 3, 3)),
        )
    ),
)


# ---- bands -----------------------------------------------------------------------------------------------------------


def band(x: Array) -> Array:
    """Return diagonals 1, 0 and -1 of matrices with 3 rows and 4 columns, aligned at the left, and 9 as padding."""
    rows = [np.diagonal(x, k, -2, -1) for k in (1, 0, -1)]
    widths = [(0, 0)] * (x.ndim - 2)
    padded = [np.pad(row, [*widths, (0, 3 - row.shape[-1])], constant_values=9) for row in rows]
    return np.stack(padded, -2)


def from_band(x: Array) -> Array:
    """Return matrices with 3 rows and 4 columns whose diagonals are the rows of `x`, aligned at the left."""
    out = np.zeros((*x.shape[:-2], 3, 4))
    for row, k in enumerate((1, 0, -1)):
        for i in range(3 if k >= 0 else 2):
            out[..., i + max(-k, 0), i + max(k, 0)] = x[..., row, i]
    return out


LEFT: dict[str, Any] = {"k": (-1, 1), "align": "LEFT_LEFT"}
BANDS = (
    Row("diag_part band", lambda x: diag_part(x, padding_value=9, **LEFT), normal((2, 3, 4)), band),
    Row(
        "diag band",
        lambda x: ma.diag(x, num_rows=3, num_cols=4, **LEFT),
        normal((2, 3, 3)),
        from_band,
    ),
    Row(
        "set_diag band",
        lambda x, y: ma.set_diag(x, y, **LEFT),
        normal((2, 3, 4), (2, 3, 3)),
        lambda x, y: np.where(from_band(np.ones_like(y)) == 1, from_band(y), x),
    ),
    Row(
        "band_part of integers",
        ma.band_part,
        lambda rng: (rng.standard_normal((2, 3, 4)), np.int32(1), np.int32(-1)),
        lambda x, lower, upper: np.triu(x, -1),
    ),
)

ROWS: tuple[Row, ...] = (*SPECTRA, *PRODUCTS, *GENERAL, *FUNCTIONS, *BANDS)
