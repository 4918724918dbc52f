"""Factorizations and systems of equations under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, SQUARE, E, S, V, X
from numpy_rows import Row
from numpy_samples import given, numbers
from numpy_table import checked
from primitive_table_systems import banded, from_compact

HALF = np.ones((2, 2), np.float16)
REGULAR = 3 * np.eye(3) + 0.5 * numbers("float64", (4, 3, 3)) / 7
GAUSSIAN = (4 * np.eye(3) + numbers("complex64", (2, 3, 3)) / 7).astype(np.complex64)
SINGULAR = np.stack([np.eye(2), np.ones((2, 2))]).astype(np.float32)
BAD = (X, V, S, E, INTS, INTS[:, :2], BOOLS, HALF, COMPLEX, CUBE)
SQUARES = (
    REGULAR,
    REGULAR[0],
    REGULAR.astype(np.float32),
    GAUSSIAN,
    np.zeros((2, 0, 0)),
    np.zeros((0, 3, 3)),
)
RIGHT = (
    numbers("float64", (3, 2)),
    numbers("float32", (4, 3, 1)),
    numbers("complex64", (3, 2)),
    np.ones((0, 1)),
    np.ones((2, 0)),
    V,
    INTS,
    SQUARE,
)
WAVES = np.sin(np.arange(1.0, 7.0).reshape(3, 2))
SOLVED = (WAVES, WAVES.astype(np.complex64), V, INTS)
PAIRS = [(a, b) for a in (*SQUARES, *BAD) for b in RIGHT]


def supported(x: Any) -> Any:
    """`x`, if LAPACK supports its dtype."""
    return checked(x.dtype != np.float16 and x.dtype.kind in "fc", x)


def square(x: Any) -> Any:
    return checked(x.ndim > 1 and x.shape[-1] == x.shape[-2], supported(x))


def columns(b: Any) -> Any:
    return checked(b.ndim > 1, supported(b))


def adjoint(x: Any) -> Any:
    return np.conj(np.matrix_transpose(x))


def gram(x: Any) -> Any:
    """Positive definite matrices."""
    return x @ adjoint(x) + np.eye(x.shape[-1], dtype=x.dtype)


def triangle(x: Any, lower: bool) -> Any:
    return np.tril(x) if lower else np.triu(x)


def solve(a: Any, b: Any, conjugate: bool = False) -> Any:
    return np.linalg.solve(adjoint(square(a)) if conjugate else square(a), columns(b))


def logdet(x: Any) -> Any:
    return 2 * np.linalg.slogdet(np.linalg.cholesky(square(x)))[1]


def cholesky_solve(factor: Any, b: Any) -> Any:
    factor = np.tril(square(factor)).astype(np.result_type(factor, columns(b)))
    return solve(factor @ adjoint(factor), b)


def inverse(a: Any, conjugate: bool = False) -> Any:
    return np.linalg.inv(adjoint(square(a)) if conjugate else square(a))


def lu(a: Any, dtype: Any = np.int32) -> Any:
    """SciPy's factors of each matrix, and its interchanges as a permutation."""
    checked(np.dtype(dtype).kind == "i", square(a))
    factors, order = np.empty_like(a), np.empty(a.shape[:-1], dtype)
    for index in np.ndindex(a.shape[:-2]):
        if len(a[index]):
            factors[index], interchanges = scipy.linalg.lu_factor(a[index])
            rows = np.arange(len(interchanges))
            for i, j in enumerate(interchanges):
                rows[[i, j]] = rows[[j, i]]
            order[index] = rows
    return factors, order


def product_of(factors: Any, order: Any) -> Any:
    """The matrices with given factors."""
    checked(order.dtype.kind in "iu" and order.shape == square(factors).shape[:-1], order)
    lower = np.tril(factors, -1) + np.eye(factors.shape[-1], dtype=factors.dtype)
    return np.take_along_axis(lower @ np.triu(factors), np.argsort(order, -1)[..., None], -2)


def qr(x: Any, full: Any = False) -> Any:
    return tuple(np.linalg.qr(supported(checked(x.ndim > 1, x)), "complete" if full else "reduced"))


def least_squares(a: Any, b: Any, shift: float = 0.0, fast: bool = True) -> Any:
    """The least-squares solutions of least norm."""
    checked(a.ndim > 1, supported(a))
    if shift and fast:
        return np.linalg.solve(
            adjoint(a) @ a + shift * np.eye(a.shape[-1], dtype=a.dtype), adjoint(a) @ columns(b)
        )
    return np.linalg.pinv(a) @ columns(b)


def of_systems(matrix: Callable[..., Any]) -> Callable[..., Any]:
    """Solutions of systems whose matrices `matrix` returns for compact diagonals or bands."""

    def reference(x: Any, b: Any, *options: Any) -> Any:
        checked(b.ndim in (x.ndim, x.ndim - 1) and x.ndim > 1, supported(b))
        full = matrix(supported(x), *options).astype(x.dtype)
        return np.linalg.solve(full, b[..., None])[..., 0] if b.ndim < x.ndim else np.linalg.solve(full, b)

    return reference


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    return np.linalg.tensorsolve(supported(a), supported(b), (axes,) if isinstance(axes, int) else axes)


def tridiagonal(x: Any) -> Any:
    return from_compact(checked(x.shape[-2] == 3, x))


DIAGONALS = numbers("float64", (2, 3, 4)) / 9 + np.array([0, 5, 0])[:, None]
BANDS = numbers("float32", (2, 3, 4)) / 9 + np.array([5, 0, 0], np.float32)[:, None]
FOUR = (
    numbers("float64", (2, 4, 2)),
    numbers("float32", (2, 4)),
    numbers("complex64", (4,)),
    numbers("float32", (4, 1)),
)
GENERAL = numbers("float64", (2, 3, 6)) + 3 * np.eye(6).reshape(2, 3, 6)
FACTORS = [lu(a) for a in (REGULAR, GAUSSIAN)]


def row(name: str, reference: Callable[..., Any], *cases: Any) -> Row:
    return Row(
        f"jt.linalg.{name}", getattr(jt.linalg, name), reference, given(*cases), rtol=4096, signed_zeros=False
    )


def single(*options: Any) -> list[Any]:
    """Each matrix, with further arguments."""
    return [(a, *options) for a in (*SQUARES, SINGULAR, *BAD)]


ROWS: list[Row] = [
    row("cholesky", lambda x: np.linalg.cholesky(square(x)), *[(gram(a),) for a in SQUARES], *single()),
    row("logdet", logdet, *[(gram(a),) for a in SQUARES], *single()),
    row("cholesky_solve", cholesky_solve, *PAIRS),
    row(
        "triangular_solve",
        lambda a, b, lower=True, conjugate=False: solve(triangle(square(a), lower), b, conjugate),
        *PAIRS,
        *[(REGULAR, b, lower, flag) for b in RIGHT for lower in (True, False) for flag in (True, False)],
    ),
    row(
        "solve", solve, *PAIRS, *[(GAUSSIAN, b, True) for b in RIGHT], (SINGULAR, np.ones((2, 1), np.float32))
    ),
    row("inv", inverse, *single(), *single(True)),
    row("det", lambda x: np.linalg.det(square(x)), *single()),
    row("slogdet", lambda x: tuple(np.linalg.slogdet(square(x))), *single()),
    row("lu", lu, *single(), (REGULAR, np.int64), (REGULAR, np.float32)),
    row(
        "lu_solve",
        lambda factors, order, b: solve(
            product_of(factors.astype(np.result_type(factors, columns(b))), order), b
        ),
        *[(*f, b) for f in FACTORS for b in RIGHT],
        (FACTORS[0][0], FACTORS[0][0], RIGHT[0]),
        (FACTORS[0][0], FACTORS[0][1][0], RIGHT[0]),
    ),
    row("lu_matrix_inverse", lambda *f: np.linalg.inv(product_of(*f)), *FACTORS, (X, INTS)),
    row("lu_reconstruct", product_of, *FACTORS, (X, INTS)),
    row("qr", qr, *[(a, full) for a in (*SQUARES[:-2], *BAD) for full in (False, True)]),
    row(
        "lstsq",
        least_squares,
        *[(a, b) for a in (SQUARE, REGULAR, X.T.copy(), X, V, INTS, HALF) for b in SOLVED],
        *[(a, WAVES, 0.5) for a in (REGULAR, X.T.copy())],
        *[
            (a, np.ones((a.shape[-2], 1)), 0.0, False)
            for a in (REGULAR, X, np.ones((3, 2)), np.zeros((0, 2)))
        ],
    ),
    row(
        "tridiagonal_solve",
        of_systems(tridiagonal),
        *[(x, b) for x in (DIAGONALS, DIAGONALS[0], *BAD) for b in FOUR],
    ),
    row(
        "tridiagonal_matmul",
        lambda x, b: tridiagonal(supported(checked(x.ndim > 1, x))).astype(x.dtype) @ columns(b),
        *[(x, b) for x in (DIAGONALS, DIAGONALS[0], *BAD) for b in FOUR],
    ),
    row(
        "banded_triangular_solve",
        of_systems(lambda x, lower=True: banded(checked(x.shape[-2] > 0, x), lower)),
        *[(x, b) for x in (BANDS, BANDS[0], BANDS[:, :1], *BAD) for b in FOUR],
        *[(BANDS[:, ::-1], b, False) for b in FOUR],
    ),
    row(
        "tensorsolve",
        tensorsolve,
        (GENERAL, X[:, :3]),
        (GENERAL.transpose(2, 0, 1), X[:, :3], 0),
        (GENERAL, V),
        (X, V),
        (GENERAL, X[:, :3], 7),
    ),
    row(
        "tensorinv",
        lambda a, ind=2: np.linalg.tensorinv(supported(a), ind),
        (GENERAL,),
        (GENERAL, 1),
        (GENERAL, 0),
        (SQUARE, 1),
    ),
]
