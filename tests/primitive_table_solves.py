"""The rows of factorizations and systems of equations, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.linalg import cholesky as ch
from jittape.primitives.linalg import determinants as de
from jittape.primitives.linalg import lu
from jittape.primitives.linalg import matrices as ma
from jittape.primitives.linalg import solve as so
from jittape.primitives.linalg import triangular as tr
from jittape.primitives.linalg.lu_factors import lu_factor_op
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape import joining as st
from jittape.primitives.shape.creation import eye
from primitive_table import NAN, Array, Row, normal

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


def cofactors_of(a: Any) -> Any:
    return de.cofactors_op.bind(a, lu_factor_op.bind(a))


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

SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])
SQUARE_EMPTY = ((np.zeros((0, 0)),), (np.zeros((0, 3, 3)),), (np.zeros((2, 0, 0)),))


def cofactors(a: Array) -> Array:
    """Return the cofactors by their definition."""
    n = a.shape[-1]
    result = np.empty_like(a)
    for index in np.ndindex(a.shape):
        *lead, i, j = index
        minor = np.delete(np.delete(a[tuple(lead)], i, 0), j, 1)
        result[index] = (-1) ** (i + j) * np.linalg.det(minor) if n > 1 else 1.0
    return result


def factors(a: Array) -> Array:
    result = np.empty_like(a)
    for index in np.ndindex(a.shape[:-2]):
        result[index] = scipy.linalg.lu_factor(a[index])[0]
    return result


def permutation(a: Array) -> Array:
    return np.array([scipy.linalg.lu(x, p_indices=True)[0].argsort() for x in a]).astype(np.int32)


DETERMINANTS = (
    Row(
        "det",
        de.det,
        regular((2, 3, 3)),
        np.linalg.det,
        dtypes=FLOATS,
        edges=(*SQUARE_EMPTY, (np.zeros((2, 2)),), (np.ones((6, 2, 2)),), (np.array([[NAN]]),)),
        rtol=1e-13,
    ),
    *(
        Row(f"det {n}", de.det, regular((2, n, n)), np.linalg.det, dtypes=FLOATS, rtol=1e-13)
        for n in (1, 2, 4)
    ),
    Row("cofactors", cofactors_of, regular((3, 3)), cofactors, dtypes=FLOATS, rtol=1e-13),
    *(
        Row(
            f"cofactors of {n} rows",
            formula,
            normal((2, n, n)),
            cofactors,
            dtypes=FLOATS,
            edges=((np.zeros((n, n)),), (np.ones((0, n, n)),)),
            rtol=1e-13,
        )
        for n, formula in de.SMALL_COFACTORS.items()
    ),
    Row(
        "cofactors of singular matrices",
        cofactors_of,
        normal((3, 3)),
        cofactors,
        dtypes=FLOATS,
        edges=(
            (SINGULAR,),
            (np.stack([SINGULAR, np.diag([0.0, 2.0, 3.0]), np.ones((3, 3))]),),
            (np.diag([1.0, 0.0, 2.0, 3.0]),),
            (np.zeros((5, 4, 4)),),
            (np.zeros((1, 1)),),
        ),
        wrt=(),
        rtol=1e-12,
    ),
    *(
        Row(
            f"slogdet {i}",
            lambda x, i=i: de.slogdet(x)[i],
            regular((5, 3, 3)),
            lambda x, i=i: np.linalg.slogdet(x)[i],
            dtypes=FLOATS,
            rtol=1e-13,
        )
        for i in (0, 1)
    ),
    Row(
        "slogdet of singular matrices",
        lambda x: st.stack(de.slogdet(x)),
        normal((2, 2)),
        lambda x: np.stack(np.linalg.slogdet(x)),
        dtypes=FLOATS,
        edges=(*SQUARE_EMPTY, (np.zeros((2, 2)),), (np.ones((6, 2, 2)),)),
        wrt=(),
        rtol=1e-12,
    ),
    Row(
        "logdet",
        lambda x: de.logdet(gram(x)),
        normal((2, 3, 3)),
        lambda x: np.linalg.slogdet(gram_of(x))[1],
        dtypes=FLOATS,
        edges=SQUARE_EMPTY,
        rtol=1e-13,
    ),
)

LU = (
    Row(
        "lu",
        lambda x: lu.lu(x).lu,
        regular((4, 3, 3)),
        factors,
        dtypes=FLOATS,
        edges=SQUARE_EMPTY,
        rtol=1e-13,
    ),
    Row("lu permutation", lambda x: lu.lu(x).p, normal((4, 3, 3)), permutation, dtypes=FLOATS, wrt=()),
    Row(
        "lu_solve",
        lambda a, b: lu.lu_solve(*lu.lu(a), b),
        regular((3, 3), (3, 2)),
        np.linalg.solve,
        dtypes=FLOATS,
        edges=EMPTY,
        rtol=1e-13,
    ),
    Row(
        "lu_matrix_inverse",
        lambda a: lu.lu_matrix_inverse(*lu.lu(a)),
        regular((2, 3, 3)),
        np.linalg.inv,
        dtypes=FLOATS,
        edges=SQUARE_EMPTY,
        rtol=1e-13,
    ),
    Row(
        "lu_reconstruct",
        lambda a: lu.lu_reconstruct(*lu.lu(a)),
        regular((2, 3, 3)),
        lambda a: a,
        dtypes=FLOATS,
        edges=SQUARE_EMPTY,
        rtol=1e-13,
    ),
    Row("inv", so.inv, regular((5, 3, 3)), np.linalg.inv, dtypes=FLOATS, edges=SQUARE_EMPTY, rtol=1e-13),
    Row(
        "inv adjoint",
        lambda a: so.inv(a, adjoint=True),
        regular((3, 3)),
        lambda a: np.linalg.inv(a).T,
        dtypes=FLOATS,
        rtol=1e-13,
    ),
    Row(
        "cholesky_solve",
        lambda x, b: ch.cholesky_solve(ch.cholesky(gram(x)), b),
        normal((2, 3, 3), (2, 3, 2)),
        lambda x, b: np.linalg.solve(gram_of(x), b),
        dtypes=FLOATS,
        edges=EMPTY,
        rtol=1e-12,
    ),
)


ROWS: tuple[Row, ...] = (*CHOLESKY, *SOLVES, *DETERMINANTS, *LU)
