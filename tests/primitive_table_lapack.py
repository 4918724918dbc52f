"""The rows of diagonals and of the gradient of a Cholesky factorization, for the table in `primitive_table.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.primitives.linalg import cholesky_rules as rules
from jittape.primitives.linalg import matrices as ma
from jittape.primitives.linalg.main_diagonals import diagonal_matrix_op, diagonal_op
from jittape.primitives.linalg.triangular import triangular_term_op
from primitive_table import Array, Row, normal

FLOATS = ("float64", "float32")


def factors(*shapes: tuple[int, ...]) -> Any:
    """Return normal operands; the first has a large diagonal."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        first, *others = (rng.standard_normal(shape) for shape in shapes)
        return (first + 3 * np.eye(first.shape[-1]), *others)

    return sample


def transposed(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def lower(x: Any) -> Any:
    """Return the lower triangle; the ops need not define a gradient for the other one."""
    return ma.band_part(x, -1, 0)


def pullback(x: Array, g: Array) -> Array:
    factor = np.tril(x)
    product = np.tril(transposed(factor) @ g)
    product[..., range(x.shape[-1]), range(x.shape[-1])] /= 2
    inverse = np.linalg.inv(factor)
    return transposed(inverse) @ (product + transposed(product)) @ inverse / 2


def term(x: Array, u: Array, v: Array) -> Array:
    products = u @ transposed(v)
    return -np.tril((products + transposed(products)) @ np.tril(x))


ROWS = (
    Row(
        "diag_part of square matrices",
        diagonal_op.bind,
        normal((2, 3, 3)),
        lambda x: np.diagonal(x, axis1=-2, axis2=-1),
        edges=((np.zeros((0, 0)),), (np.zeros((0, 2, 2)),)),
    ),
    Row(
        "diagonal_matrix",
        diagonal_matrix_op.bind,
        normal((2, 3)),
        lambda d: d[..., None] * np.eye(d.shape[-1], dtype=d.dtype),
        edges=((np.zeros(0),), (np.zeros((0, 2)),)),
    ),
    Row(
        "cholesky_pullback",
        lambda x, g: rules.cholesky_pullback_op.bind(lower(x), g),
        factors((2, 3, 3), (2, 3, 3)),
        pullback,
        dtypes=FLOATS,
        rtol=1e-12,
    ),
    Row(
        "cholesky_solve",
        rules.cholesky_solve_op.bind,
        factors((2, 3, 3), (2, 3, 2)),
        lambda x, b: np.linalg.solve(np.tril(x) @ transposed(np.tril(x)), b),
        dtypes=FLOATS,
        rtol=1e-12,
    ),
    Row(
        "triangular_term",
        triangular_term_op.bind,
        normal((2, 3, 2), (2, 3, 2)),
        lambda u, x: -np.tril(u @ transposed(x)),
        dtypes=FLOATS,
    ),
    Row(
        "cholesky_term",
        rules.cholesky_term_op.bind,
        normal((2, 3, 3), (2, 3, 2), (2, 3, 2)),
        term,
        dtypes=FLOATS,
        rtol=1e-12,
    ),
)
