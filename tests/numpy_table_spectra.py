"""Eigenvalues, singular values, norms and functions of matrices under jittape's names: see `numpy_rows`."""

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

HERMITIAN = numbers("complex64", (2, 3, 3))
MATRICES = (X, SQUARE, CUBE, V, S, E, INTS, BOOLS, COMPLEX, HERMITIAN, INTS[:, :2], np.zeros((2, 0, 0)))
MATRICES_AND_HALF = (*MATRICES, np.ones((2, 2), np.float16))


def supported(x: Any) -> Any:
    """`x`, if LAPACK supports its dtype."""
    return checked(x.dtype != np.float16 and x.dtype.kind in "fc", x)


def of_supported(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices of the dtypes of LAPACK."""
    return lambda x, *args, **kwargs: function(supported(x), *args, **kwargs)


def svd(x: Any, full_matrices: Any = False, compute_uv: Any = True) -> Any:
    """NumPy's, in TensorFlow's order."""
    if not compute_uv:
        return np.linalg.svd(supported(x), compute_uv=False)
    u, s, vh = np.linalg.svd(supported(x), full_matrices)
    return s, u, np.conj(np.matrix_transpose(vh))


SPECTRA = [
    Row(
        "jt.linalg.eigh",
        jt.linalg.eigh,
        of_supported(lambda x: tuple(np.linalg.eigh(x))),
        given(*[(a,) for a in MATRICES_AND_HALF]),
    ),
    Row(
        "jt.linalg.eigvalsh",
        jt.linalg.eigvalsh,
        of_supported(lambda x: np.linalg.eigh(x)[0]),
        given(*[(a,) for a in MATRICES_AND_HALF]),
    ),
    Row(
        "jt.linalg.svd",
        jt.linalg.svd,
        svd,
        given(
            *[(a,) for a in MATRICES_AND_HALF],
            (SQUARE, True),
            (SQUARE, True, False),
            (X, False, False),
        ),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.linalg.svdvals",
        jt.linalg.svdvals,
        of_supported(np.linalg.svdvals),
        given(*[(a,) for a in MATRICES_AND_HALF]),
        rtol=64,
    ),
]


def rank(a: Any, tol: Any = None) -> Any:
    """NumPy's, as int32; vectors are refused."""
    checked(a.ndim > 1, a)
    return np.asarray(np.linalg.matrix_rank(supported(a), tol)).astype(np.int32)


def vecdot(x1: Any, x2: Any, axis: Any = -1) -> Any:
    """NumPy's, for an axis of both operands."""
    axis = int(checked(axis % x1.ndim - x1.ndim == axis % x2.ndim - x2.ndim, axis))
    checked(x1.shape[axis] == x2.shape[axis], x1)
    return np.linalg.vecdot(x1, x2, axis=axis)


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    """NumPy's, in the dtype of the operand."""
    return np.vander(x, N, increasing).astype(x.dtype)


def square(x: Any) -> Any:
    return checked(x.ndim > 1 and x.shape[-1] == x.shape[-2], x)


def on_diagonal(x: Any) -> Any:
    """A tensor with `x` on its diagonal."""
    return (
        np.where(np.eye(checked(x.ndim, x).size, dtype=bool), x.ravel(), 0)
        .astype(x.dtype)
        .reshape(x.shape * 2)
    )


def diagonal(x: Any) -> Any:
    """The diagonal of a tensor."""
    half = x.ndim // 2
    checked(half and x.shape[:half] == x.shape[half:], x)
    size = int(np.prod(x.shape[:half]))
    return np.diagonal(x.reshape(size, size)).reshape(x.shape[:half])


FOURFOLD = numbers("int32", (2, 3, 2, 3))
ALL = (X, SQUARE, CUBE, V, S, E, INTS, BOOLS, COMPLEX)
PAIRS = [(p, q) for p in ALL for q in ALL]
RANKED = np.stack([SQUARE, np.ones((3, 3)), np.zeros((3, 3))])
ORDERS = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)

PRODUCTS = [
    Row(
        "jt.linalg.pinv",
        jt.linalg.pinv,
        lambda a, rcond=1e-5: np.linalg.pinv(supported(a), rcond),
        given(
            *[(a, 1e-5) for a in MATRICES_AND_HALF],
            (RANKED[1:], 0.1),
            (RANKED[:2], np.array([1e-3, 1e-4])),
            (RANKED, np.ones(2)),
        ),
        rtol=1024,
        signed_zeros=False,
    ),
    Row(
        "jt.linalg.matrix_rank",
        jt.linalg.matrix_rank,
        rank,
        given(
            *[(a,) for a in MATRICES_AND_HALF],
            (RANKED,),
            (RANKED, 2.5),
            (RANKED, np.ones(3)),
            (RANKED, np.ones(2)),
        ),
    ),
    Row(
        "jt.linalg.matrix_norm",
        jt.linalg.matrix_norm,
        np.linalg.matrix_norm,
        given(
            *[
                (a, {"ord": o, "keepdims": k})
                for a in MATRICES[1:-1]
                for o in (*ORDERS, 3, "x")
                for k in (True, False)
            ]
        ),
        rtol=64,
    ),
    Row(
        "jt.linalg.vector_norm",
        jt.linalg.vector_norm,
        np.linalg.vector_norm,
        given(
            *[
                (a, {"ord": o, "axis": ax, "keepdims": k})
                for a in (X, V, S, INTS, COMPLEX, CUBE)
                for o in (0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)
                for ax in (None, 0, -1, (0, 1), 3)
                for k in (True, False)
            ],
            (E,),
            (E, {"ord": np.inf, "axis": 1}),
            (E, {"ord": -np.inf}),
        ),
        rtol=64,
    ),
    Row(
        "jt.linalg.matrix_power",
        jt.linalg.matrix_power,
        lambda a, n: np.linalg.matrix_power(square(a) if n >= 0 else supported(square(a)), n),
        given(
            *[
                (a, n)
                for a in (X, SQUARE, CUBE[:, :, :3], V, INTS[:, :2], COMPLEX[:, :2], BOOLS[:, :2])
                for n in (0, 1, 2, 7)
            ],
            (np.eye(3) * 2, -3),
            (np.zeros((2, 2)), -1),
            (np.eye(2, dtype=np.int64), -1),
            (SQUARE, 1.5),
            (np.zeros((0, 0)), 3),
        ),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.linalg.multi_dot",
        jt.linalg.multi_dot,
        np.linalg.multi_dot,
        given(
            ([X, SQUARE],),
            ([X, SQUARE, X.T.copy(), X],),
            ([X[0], SQUARE, SQUARE, X[1]],),
            ([X[0], X[1]],),
            ([INTS, SQUARE, COMPLEX.T.copy()],),
            ([X],),
            ([X, X],),
            ([CUBE, X],),
            ([X, X[0], X.T.copy()],),
            ([E, SQUARE, X.T.copy()],),
        ),
        rtol=64,
        signed_zeros=False,
    ),
    Row("jt.linalg.inner", jt.linalg.inner, np.inner, given(*PAIRS), rtol=64, signed_zeros=False),
    Row("jt.linalg.outer", jt.linalg.outer, np.outer, given(*PAIRS), signed_zeros=False),
    Row("jt.linalg.kron", jt.linalg.kron, np.kron, given(*PAIRS)),
    Row(
        "jt.linalg.vecdot",
        jt.linalg.vecdot,
        vecdot,
        given(*PAIRS, (X, INTS, 0), (X, COMPLEX), (COMPLEX, X), (X, X, 2), (X, CUBE[:, :, :3], -1)),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.linalg.vander",
        jt.linalg.vander,
        vander,
        given(
            *[
                (a, n, up)
                for a in (V, V[:0], INTS[0], COMPLEX[0], X, S)
                for n in (None, 0, 1, 3, -1)
                for up in (True, False)
            ],
            (V, 1.5),
        ),
    ),
    Row("jt.linalg.tensor_diag", jt.linalg.tensor_diag, on_diagonal, given(*[(a,) for a in ALL])),
    Row(
        "jt.linalg.tensor_diag_part",
        jt.linalg.tensor_diag_part,
        diagonal,
        given(*[(a,) for a in (*ALL, FOURFOLD)]),
    ),
]


def eig(x: Any) -> Any:
    """NumPy's, complex."""
    values, vectors = np.linalg.eig(supported(x))
    dtype = np.result_type(x, np.complex64)
    return values.astype(dtype), vectors.astype(dtype)


def of_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of square matrices by SciPy, applied to stacks."""

    def reference(x: Any) -> Any:
        square(supported(x))
        out = np.empty_like(x)
        for index in np.ndindex(x.shape[:-2]):
            out[index] = function(x[index]) if len(x[index]) else x[index]
        return out

    return reference


def tridiagonal(
    alpha: Any, beta: Any, eigvals_only: Any = True, select: Any = "a", select_range: Any = None
) -> Any:
    """Eigenvalues of dense matrices."""
    alpha, beta = supported(alpha), supported(beta)
    checked(select in ("a", "i") and beta.shape == (*alpha.shape[:-1], alpha.shape[-1] - 1), alpha)
    n = alpha.shape[-1]
    i = np.arange(n)
    x = np.zeros((*alpha.shape, n), np.result_type(alpha, beta))
    x[..., i, i] = alpha
    x[..., i[1:], i[:-1]] = np.conj(beta)
    first, last = (0, n - 1) if select == "a" else select_range
    checked(0 <= first <= last < n, n)
    values, vectors = np.linalg.eigh(x)
    if eigvals_only:
        return values[..., first : last + 1]
    return values[..., first : last + 1], vectors[..., first : last + 1]


REGULAR = (np.array([[4.0, 1.0], [2.0, 3.0]]), np.array([[[1.0, 2j], [0.5, 3.0]]], np.complex64))
TRIANGULAR = np.triu(np.arange(1.0, 10.0).reshape(3, 3))
GENERAL = [
    Row(
        "jt.linalg.eigh_tridiagonal",
        jt.linalg.eigh_tridiagonal,
        tridiagonal,
        given(
            *[
                (a, b)
                for a in (V, X, COMPLEX[0].real + 0j, S, V[:1], INTS)
                for b in (V[:4], X[:, :2], COMPLEX[0, :2], V[:0])
            ],
            (V, V[:4], False),
            (V, V[:4], True, "i", (1, 2)),
            (V, V[:4], False, "i", [0, 0]),
            (V, V[:4], True, "i", (2, 5)),
            (V, V[:4], True, "i", (2, 1)),
            (V, V[:4], True, "i"),
            (V, V[:4], True, "v", (0.0, 1.0)),
        ),
        rtol=64,
    ),
    Row("jt.linalg.eig", jt.linalg.eig, eig, given(*[(a,) for a in MATRICES_AND_HALF])),
    Row(
        "jt.linalg.eigvals", jt.linalg.eigvals, lambda x: eig(x)[0], given(*[(a,) for a in MATRICES_AND_HALF])
    ),
    Row(
        "jt.linalg.cond",
        jt.linalg.cond,
        lambda x, p=None: np.asarray(
            np.linalg.cond(supported(x) if p in (None, 2, -2) else square(supported(x)), p)
        ),
        given(
            *[(a, p) for a in (*REGULAR, *MATRICES_AND_HALF) for p in (None, *ORDERS, 3, "x")],
            *[(RANKED, p) for p in (None, 2, -2, "fro", 1, -1, np.inf)],
        ),
        rtol=256,
    ),
    *(
        Row(
            f"jt.linalg.{name}",
            getattr(jt.linalg, name),
            of_each(getattr(scipy.linalg, name)),
            given(*[(a,) for a in (*REGULAR, TRIANGULAR, X, V, S, INTS, np.ones((2, 2), np.float16))]),
            rtol=256,
            signed_zeros=False,
        )
        for name in ("expm", "sqrtm", "logm")
    ),
]


# ---- several diagonals -----------------------------------------------------------------------------------------------


def row_slices(rows: int, columns: int, k: Any, align: str) -> list[tuple[int, slice]]:
    """The diagonals of a band, the highest first, and where in its row each of them is."""
    lower, upper = k
    checked(lower <= upper and all(d == 0 or -rows < d < columns for d in k), k)
    lengths = [len(np.diagonal(np.empty((rows, columns)), d)) for d in range(upper, lower - 1, -1)]
    width = min(rows + min(upper, 0), columns - max(lower, 0))
    above, below = (side == "RIGHT" for side in align.split("_"))
    found = []
    for d, length in zip(range(upper, lower - 1, -1), lengths, strict=True):
        right = (above and d >= 0) or (below and d <= 0)
        found.append((d, slice(width - length, width) if right else slice(0, length)))
    return found


def band_of(x: Any, k: Any, padding_value: Any = 0, align: Any = "RIGHT_LEFT") -> Any:
    """The rows of a band, one diagonal after the other."""
    *lead, rows, columns = x.shape
    places = row_slices(rows, columns, k, align)
    width = min(rows + min(k[1], 0), columns - max(k[0], 0))
    out = np.full((*lead, len(places), width), padding_value).astype(x.dtype)
    for row, (d, place) in enumerate(places):
        out[..., row, place] = np.diagonal(x, d, -2, -1)
    return out[..., 0, :] if k[0] == k[1] else out


def with_band(x: Any, band: Any, k: Any, align: Any = "RIGHT_LEFT") -> Any:
    """`x` with its diagonals replaced."""
    rows, columns = x.shape[-2:]
    out = x.astype(np.result_type(x, band))
    checked(band_of(x, k, 0, align).shape == band.shape, x)
    band = band[..., None, :] if k[0] == k[1] else band
    for row, (d, place) in enumerate(row_slices(rows, columns, k, align)):
        values = band[..., row, place]
        i = np.arange(values.shape[-1])
        out[..., i + max(-d, 0), i + max(d, 0)] = values
    return out


def of_band(
    band: Any,
    k: Any,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: Any = "RIGHT_LEFT",
) -> Any:
    """Matrices with the diagonals of `band`."""
    checked(isinstance(k, int) or k[0] <= k[1], k)
    k = (k, k) if isinstance(k, int) else k
    width = band.shape[-1]
    least = width - min(k[1], 0), width + max(k[0], 0)
    rows, columns = (max(least),) * 2 if num_rows == num_cols == -1 else (num_rows, num_cols)
    rows, columns = least[0] if rows == -1 else rows, least[1] if columns == -1 else columns
    lead = band.shape[:-1] if k[0] == k[1] else band.shape[:-2]
    return with_band(np.full((*lead, rows, columns), padding_value).astype(band.dtype), band, k, align)


ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
RANGES = ((-1, 1), (0, 2), (-1, 0), (-1, -1), (1, 2), (2, 1), (-2, 0), (0, 3), (0, 4))
WIDE, TALL = numbers("int32", (3, 4)), numbers("float32", (2, 4, 3))
BANDS = [
    Row(
        "jt.linalg.diag_part of a band",
        lambda x, k, **options: jt.linalg.diag_part(x, k=k, **options),
        band_of,
        given(
            *[
                (x, k, {"align": a, "padding_value": 7})
                for x in (WIDE, TALL, SQUARE)
                for k in RANGES
                for a in ALIGNMENTS
            ],
            (np.zeros((0, 3)), (0, 0)),
        ),
    ),
    Row(
        "jt.linalg.set_diag of a band",
        lambda x, band, k, align: jt.linalg.set_diag(x, band, k=k, align=align),
        with_band,
        given(
            *[
                (x, 10 * band_of(x, k, 0, a), k, a)
                for x in (WIDE, TALL, SQUARE)
                for k in RANGES[:5]
                for a in ALIGNMENTS
                if -x.shape[-2] < k[0] and k[1] < x.shape[-1]
            ],
            (WIDE, WIDE, (-1, 1), "LEFT_LEFT"),
            (WIDE, np.zeros((2, 3)), (0, 5), "LEFT_LEFT"),
        ),
    ),
    Row(
        "jt.linalg.diag of a band",
        lambda band, k, **options: jt.linalg.diag(band, k=k, **options),
        of_band,
        given(
            *[
                (
                    band_of(x, k, 0, a),
                    k,
                    {"num_rows": rows, "num_cols": columns, "align": a, "padding_value": 7},
                )
                for x in (WIDE, TALL, SQUARE)
                for k in RANGES[:5]
                for a in ALIGNMENTS
                for rows, columns in ((-1, -1), x.shape[-2:], (x.shape[-2], -1), (-1, 6), (6, 7), (-2, -1))
                if -x.shape[-2] < k[0] and k[1] < x.shape[-1]
            ],
            *[
                (V, 1, {"num_rows": rows, "num_cols": columns})
                for rows in (-1, 5, 6, 4)
                for columns in (-1, 6, 9)
            ],
            (WIDE, (0, 1)),
            (WIDE, (1, -1)),
        ),
    ),
    Row(
        "jt.linalg.band_part of integer tensors",
        lambda x, lower, upper: jt.linalg.band_part(x, jt.constant(lower), jt.constant(upper)),
        lambda x, lower, upper: np.where(
            ((lower < 0) | (-lower <= (d := np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None])))
            & ((upper < 0) | (d <= upper)),
            x,
            0,
        ),
        given(*[(x, low, high) for x in (WIDE, TALL) for low in (-1, 0, 1, 9) for high in (-1, 0, 2)]),
        signed_zeros=False,
    ),
]

ROWS: list[Row] = [*SPECTRA, *PRODUCTS, *GENERAL, *BANDS]
