"""The rows of banded matrices, QR decompositions and least squares, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.linalg import banded as ba
from jittape.primitives.linalg import general_bands as gb
from jittape.primitives.linalg import matmul as mm
from jittape.primitives.linalg import qr
from jittape.primitives.linalg import tensor_equations as te
from jittape.primitives.linalg import tridiagonal as td
from jittape.primitives.spectra import lstsq as ls
from primitive_table import Array, Row, normal
from primitive_table_solves import FLOATS, regular, triangular


def least_squares(a: Array, b: Array, shift: float) -> Array:
    """Return the solutions of least norm, or those of the regularized normal equations."""
    transposed = np.swapaxes(a, -1, -2)
    if shift:
        return np.linalg.solve(transposed @ a + shift * np.eye(a.shape[-1]), transposed @ b)
    return np.linalg.pinv(a) @ b


def from_compact(x: Array) -> Array:
    """Return the full matrices of compact diagonals."""
    above, diagonal, below = (x[..., i, :, None] * np.eye(x.shape[-1]) for i in range(3))
    n = x.shape[-1]
    return (
        diagonal
        + np.triu(np.roll(above, 1, axis=-1), 1)[..., :n, :]
        + np.tril(np.roll(below, -1, axis=-1), -1)
    )


def dominant(lead: tuple[int, ...], n: int, columns: int) -> Callable[..., Any]:
    """Return compact diagonals that need no interchanges, and right-hand sides."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        diagonals = rng.standard_normal((*lead, 3, n))
        diagonals[..., 1, :] += 4
        return diagonals, rng.standard_normal((*lead, n, columns))

    return sample


def wide_bands(below: int, above: int, n: int) -> Callable[..., Any]:
    """Return a sampler of regular bands of a matrix of `n` rows, and of right-hand sides."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        bands = rng.standard_normal((below + above + 1, n))
        bands[above] += 6
        return bands, rng.standard_normal((n, 2))

    return sample


def solved_bands(ab: Array, b: Array, below: int, above: int, adjoint: bool) -> Array:
    n = ab.shape[1]
    full = sum(np.eye(n, k=above - r) * ab[r] for r in range(below + above + 1))
    return np.linalg.solve(full.T if adjoint else full, b)


def banded(x: Array, lower: bool) -> Array:
    """Return the full triangular matrices of bands."""
    *lead, count, n = x.shape
    full = np.zeros((*lead, n, n))
    for k in range(count):
        for i in range(n):
            row, j = (k, i - k) if lower else (count - 1 - k, i + k)
            if 0 <= j < n:
                full[..., i, j] = x[..., row, i]
    return full


def bands(lead: tuple[int, ...], count: int, n: int, lower: bool) -> Callable[..., Any]:
    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        x = rng.standard_normal((*lead, count, n))
        x[..., 0 if lower else -1, :] += 4
        return x, rng.standard_normal((*lead, n, 2))

    return sample


EMPTY_DIAGONALS = ((np.zeros((3, 0)), np.zeros((0, 2))), (np.zeros((0, 3, 2)), np.zeros((0, 2, 1))))
ONE_BY_ONE = (np.full((4, 3, 1), 2.0), np.ones((4, 1, 2)))

BANDED = (
    *(
        Row(
            f"tridiagonal_solve {'with' if pivoting else 'without'} pivoting, {lead}",
            lambda x, b, pivoting=pivoting: td.tridiagonal_solve(x, b, partial_pivoting=pivoting),
            dominant(lead, 5, 2),
            lambda x, b: np.linalg.solve(from_compact(x), b),
            dtypes=FLOATS,
            edges=(*EMPTY_DIAGONALS, ONE_BY_ONE),
            rtol=1e-13,
        )
        for pivoting in (True, False)
        for lead in ((), (2,))
    ),
    Row(
        "tridiagonal_ratio",
        lambda *x: td.tridiagonal_ratio_op.bind(*x, axis=0),
        lambda rng: (
            rng.standard_normal((4, 2)),
            4 + rng.standard_normal((4, 2)),
            rng.standard_normal((4, 2)),
        ),
        None,
        dtypes=FLOATS,
        edges=((np.ones(3), np.full(3, 4.0), np.ones(3)),),
        wrt=(),
    ),
    Row(
        "tridiagonal_matmul",
        td.tridiagonal_matmul,
        dominant((2,), 4, 2),
        lambda x, b: from_compact(x) @ b,
        dtypes=("float64", "float32"),
        edges=(*EMPTY_DIAGONALS, ONE_BY_ONE),
    ),
    *(
        Row(
            f"banded_triangular_solve {'lower' if lower else 'upper'}{' adjoint' if adjoint else ''} {count}",
            lambda x, b, lower=lower, adjoint=adjoint: ba.banded_triangular_solve(x, b, lower, adjoint),
            bands((2,), count, 4, lower),
            lambda x, b, lower=lower, adjoint=adjoint: triangular(banded(x, lower), b, lower, adjoint),
            dtypes=FLOATS,
            edges=((np.ones((2, 0)), np.ones((0, 1))), (np.ones((5, 2)), np.ones((2, 2)))),
            rtol=1e-13,
        )
        for lower in (True, False)
        for adjoint in (False, True)
        for count in (1, 2, 3)
    ),
)


LEAST_SQUARES = (
    *(
        Row(
            f"{part} of qr {shape}{' full' if full else ''}",
            lambda x, i=i, full=full: qr.qr(x, full)[i],
            normal(shape),
            lambda x, i=i, full=full: np.linalg.qr(x, "complete" if full else "reduced")[i],
            dtypes=FLOATS,
            edges=((np.zeros((0, 0)),), (np.zeros((0, 2)),), (np.zeros((2, 0)),)) if not full else (),
            rtol=1e-13,
        )
        for shape, full in (((3, 3), False), ((3, 3), True), ((2, 4, 3), False), ((3, 5), False), ((3, 5), True))
        for i, part in enumerate("qr")
    ),
    *(
        Row(
            f"lstsq {shape} {kind}",
            lambda a, b, options=options: ls.lstsq(a, b, **options),
            (regular if shape[-1] == shape[-2] else normal)(shape, (*shape[:-1], 2)),
            lambda a, b, shift=shift: least_squares(a, b, shift),
            dtypes=FLOATS,
            rtol=1e-12,
        )
        for shape in ((4, 2), (2, 4), (2, 3, 3))
        for kind, options, shift in (
            ("fast", {}, 0.0),
            ("by singular values", {"fast": False}, 0.0),
            ("regularized", {"l2_regularizer": 0.5}, 0.5),
        )
    ),
    *(
        Row(
            f"banded_solve {below} {above} {adjoint}",
            lambda ab, b, params=(below, above, adjoint): gb.banded_solve_op.bind(
                ab, b, below=params[0], above=params[1], adjoint=params[2]
            ),
            wide_bands(below, above, 7),
            lambda ab, b, params=(below, above, adjoint): solved_bands(ab, b, *params),
            dtypes=FLOATS,
            rtol=1e-12,
        )
        for below, above, adjoint in ((2, 1, False), (1, 3, True))
    ),
    Row(
        "lstsq_gram_factor",
        lambda a: ls.gram_factor_op.bind(mm.matmul(a, a, transpose_b=True)),
        regular((2, 3, 3)),
        lambda a: np.linalg.cholesky(a @ np.swapaxes(a, -1, -2)),
        dtypes=FLOATS,
        rtol=1e-12,
    ),
    Row(
        "lstsq of rank one",
        lambda x, y, b: ls.lstsq(ar.multiply(x, y), b, fast=False),
        normal((4, 1), (1, 3), (4, 2)),
        lambda x, y, b: least_squares(x * y, b, 0.0),
        dtypes=("float64",),
        rtol=1e-12,
    ),
    Row(
        "tensorsolve",
        lambda a, b: te.tensorsolve(a, b, axes=(1,)),
        lambda rng: (rng.standard_normal((2, 6, 3)) + 2 * np.eye(6).reshape(2, 3, 6).swapaxes(1, 2),
                     rng.standard_normal((2, 3))),
        lambda a, b: np.linalg.tensorsolve(a, b, axes=(1,)),
        dtypes=FLOATS,
        rtol=1e-12,
    ),
    Row(
        "tensorinv",
        te.tensorinv,
        lambda rng: (rng.standard_normal((2, 3, 6)) + 2 * np.eye(6).reshape(2, 3, 6),),
        np.linalg.tensorinv,
        dtypes=FLOATS,
        rtol=1e-12,
    ),
)  # fmt: skip

ROWS: tuple[Row, ...] = (*BANDED, *LEAST_SQUARES)
