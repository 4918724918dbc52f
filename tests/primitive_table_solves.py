"""The rows of factorizations and systems of equations, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.linalg import cholesky as ch
from jittape.primitives.linalg import matrices as ma
from jittape.primitives.linalg import solve as so
from jittape.primitives.linalg import triangular as tr
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.creation import eye
from primitive_table import Array, Row, normal

FLOATS = ("float64", "float32")


def regular(*shapes: tuple[int, ...]) -> Callable[..., Any]:
    """Return normal operands; the first, square matrices, are regular and need row interchanges."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        first, *others = (rng.standard_normal(shape) for shape in shapes)
        n = first.shape[-1]
        return (0.5 * first + 3 * np.roll(np.eye(n), 1, axis=0), *others)

    return sample


def gram(x: Any) -> Any:
    """Return positive definite matrices; asymmetric perturbations of `x` perturb both triangles."""
    return ar.add(matmul(x, x, transpose_b=True), eye(x.shape[-1], dtype=x.dtype))


def gram_of(x: Array) -> Array:
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-1])


def triangular(a: Array, b: Array, lower: bool, adjoint: bool) -> Array:
    a = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if adjoint else a, b)


EMPTY = ((np.zeros((0, 0)), np.zeros((0, 2))), (np.zeros((0, 3, 3)), np.zeros((0, 3, 1))))

CHOLESKY = (
    Row(
        "cholesky",
        lambda x: ch.cholesky(gram(x)),
        normal((3, 3)),
        lambda x: np.linalg.cholesky(gram_of(x)),
        dtypes=FLOATS,
        edges=((np.zeros((0, 0)),), (np.zeros((0, 2, 2)),), (np.ones((7, 2, 2)),)),
        rtol=1e-13,
    ),
    Row(
        "cholesky reads the lower triangle",
        lambda x: ch.cholesky(ma.band_part(gram(x), -1, 0)),
        normal((2, 3, 3)),
        lambda x: np.linalg.cholesky(gram_of(x)),
        dtypes=FLOATS,
        wrt=(),
        rtol=1e-13,
    ),
)

SOLVES = (
    *(
        Row(
            f"triangular_solve {'lower' if lower else 'upper'}{' adjoint' if adjoint else ''}",
            lambda a, b, lower=lower, adjoint=adjoint: tr.triangular_solve(a, b, lower, adjoint),
            lambda rng: (rng.standard_normal((2, 3, 3)) + 3 * np.eye(3), rng.standard_normal((2, 3, 2))),
            lambda a, b, lower=lower, adjoint=adjoint: triangular(a, b, lower, adjoint),
            dtypes=FLOATS,
            edges=(*EMPTY, (np.eye(2) + np.ones((8, 2, 2)), np.ones((8, 2, 3)))),
            rtol=1e-13,
        )
        for lower in (True, False)
        for adjoint in (False, True)
    ),
    Row("solve", so.solve, regular((3, 3), (3, 2)), np.linalg.solve, dtypes=FLOATS, edges=EMPTY, rtol=1e-13),
    Row(
        "solve adjoint",
        lambda a, b: so.solve(a, b, adjoint=True),
        regular((2, 3, 3), (2, 3, 2)),
        lambda a, b: np.linalg.solve(np.swapaxes(a, -1, -2), b),
        dtypes=FLOATS,
        rtol=1e-13,
    ),
    Row("solve a stack", so.solve, regular((5, 3, 3), (5, 3, 2)), np.linalg.solve, dtypes=FLOATS, rtol=1e-13),
    Row(
        "solve with one matrix",
        so.solve,
        regular((3, 3), (4, 3, 1)),
        np.linalg.solve,
        dtypes=FLOATS,
        rtol=1e-13,
    ),
)

ROWS: tuple[Row, ...] = (*CHOLESKY, *SOLVES)
