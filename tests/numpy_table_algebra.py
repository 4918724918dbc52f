"""Linear algebra under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, SQUARE, E, S, V, X, per
from numpy_rows import Row
from numpy_samples import edges, given, numbers, together, unary
from numpy_table import checked, floats

MATRICES = (
    X,
    X.T.copy(),
    SQUARE,
    V,
    S,
    E,
    CUBE,
    INTS.T.copy(),
    BOOLS,
    COMPLEX.T.copy(),
    X.T.astype("float32"),
)
PAIRS = [(p, q) for p in MATRICES for q in MATRICES]
FLAGS = [{"transpose_a": a, "adjoint_b": b} for a in (False, True) for b in (False, True)]


def matmul(a: Any, b: Any, transpose_a: Any = False, adjoint_b: Any = False) -> Any:
    """NumPy's, with the last dimensions exchanged first."""
    a = np.matrix_transpose(a) if transpose_a else a
    return np.matmul(a, np.conj(np.matrix_transpose(b)) if adjoint_b else b)


def matvec(a: Any, b: Any) -> Any:
    """Matrices times vectors."""
    checked(a.ndim >= 2 and b.ndim >= 1, a)
    return np.matmul(a, b[..., None])[..., 0]


def diagonal(x: Any, k: Any = 0) -> Any:
    """Of the last two dimensions."""
    return np.diagonal(x, k, -2, -1)


def laid(d: Any, k: Any = 0, padding_value: Any = 0) -> Any:
    """Matrices with a diagonal."""
    checked(d.ndim, d)
    side = d.shape[-1] + abs(k)
    result = np.full((*d.shape[:-1], side, side), np.asarray(padding_value).astype(d.dtype), d.dtype)
    rows = np.arange(d.shape[-1])
    result[..., rows + max(-k, 0), rows + max(k, 0)] = d
    return result


def replaced(x: Any, d: Any, k: Any = 0) -> Any:
    """Matrices with another diagonal."""
    dtype = np.result_type(x, d)
    checked(np.diagonal(x, k, -2, -1).shape == d.shape, x)
    rows = np.arange(d.shape[-1])
    result = x.astype(dtype)
    result[..., rows + max(-k, 0), rows + max(k, 0)] = d
    return result


def band(x: Any, lower: Any, upper: Any) -> Any:
    """What is near the diagonal; a negative number is all."""
    rows, columns = checked(isinstance(lower, int), x.shape[-2:])
    low = np.tri(rows, columns, upper if upper >= 0 else columns, dtype=bool)
    high = ~np.tri(rows, columns, -lower - 1 if lower >= 0 else -rows - columns, dtype=bool)
    return np.where(low & high, x, np.zeros((), x.dtype))


def norm(x: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = False) -> Any:
    """NumPy's under TensorFlow's names: without an axis all is one vector."""
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    axis = tuple(axis) if isinstance(axis, list) else axis
    checked(not isinstance(axis, bool), x)
    matrix = isinstance(axis, tuple) and len(axis) == 2
    checked(
        ord in ("euclidean", "fro", 1, 2, np.inf) or (not matrix and not isinstance(ord, str) and ord > 0), x
    )
    order = None if ord in ("euclidean", "fro") else ord
    if axis is None:
        found = np.linalg.norm(x.ravel(), order)
        return np.reshape(found, (1,) * x.ndim) if keepdims else found
    return np.linalg.norm(x, order, axis, keepdims)


def global_norm(xs: Any) -> Any:
    """Of all numbers together."""
    xs = [x if x.dtype.kind in "fc" else floats(x) for x in xs]
    total = sum(np.sum(abs(x.astype(np.result_type(x, np.float64))) ** 2) for x in xs)
    return np.sqrt(checked(xs, total)).astype(np.result_type(*[x.real for x in xs]))


def clipped(x: Any, limit: Any, axes: Any = None) -> Any:
    """Scaled down to a norm."""
    x = floats(x)
    length = np.sqrt(np.sum((x * np.conj(x)).real, axis=axes, keepdims=True))
    return checked(
        np.broadcast_shapes(np.shape(limit), x.shape) == x.shape,
        (x * (limit / np.maximum(length, limit))).astype(x.dtype),
    )


ORDERS = ("euclidean", "fro", 1, 2, np.inf, 3, 0.5, -1, 0, "nuc", -np.inf)
NORMS = together(
    given(
        *[(a, o, ax) for a in (X, COMPLEX, INTS) for o in ORDERS for ax in (None, 0, -1, [0, 1], (1, 0), 2)]
    ),
    given(
        *[
            (a, o, ax, k)
            for a in (CUBE, E)
            for o in (1, 2, np.inf, "euclidean")
            for ax in (1, [0, 1], (2, 0))
            for k in (False, True)
        ]
    ),
    given((V,), (S,), (edges("float64"),), (X, "euclidean", (0, 0)), (X, 1, True)),
)

ROWS: list[Row] = [
    Row(
        "jt.matmul",
        jt.matmul,
        matmul,
        given(*PAIRS, *[(a, b, f) for a in (SQUARE, COMPLEX) for b in (SQUARE, COMPLEX) for f in FLAGS]),
        rtol=64,
        signed_zeros=False,
    ),
    Row("jt.linalg.matvec", jt.linalg.matvec, matvec, given(*PAIRS), rtol=64, signed_zeros=False),
    Row(
        "jt.tensordot",
        jt.tensordot,
        np.tensordot,
        given(
            *[
                (p, q, ax)
                for p in (X, SQUARE, CUBE, V)
                for q in (X, np.ones((3, 4, 2)))
                for ax in (
                    0,
                    1,
                    3,
                    ([0], [0]),
                    ([1, 0], [0, 1]),
                    ([0], [0, 1]),
                    (0, 1),
                    ([5], [0]),
                    (1,),
                    1.5,
                )
            ]
        ),
        signed_zeros=False,
    ),
    Row(
        "jt.einsum",
        jt.einsum,
        np.einsum,
        given(
            ("ij,jk->ik", X, SQUARE),
            ("ij->ji", X),
            ("ii", SQUARE),
            ("ij,ij", X, X),
            ("...j,jk", CUBE[..., :3], SQUARE),
            ("ij,jk", X, X),
            ("ij", V),
            ("ij->ii", X),
            ("", S),
            ("1j", X),
            ("ij->ij", COMPLEX),
        ),
        rtol=64,
        signed_zeros=False,
    ),
    Row(
        "jt.linalg.diag_part",
        jt.linalg.diag_part,
        diagonal,
        per({}, *[{"k": k} for k in (1, -1, 5, -5, 1.5, "a")]),
    ),
    Row(
        "jt.linalg.trace",
        jt.linalg.trace,
        lambda x: np.sum(diagonal(x), -1, dtype=None if x.dtype.kind != "b" else bool),
        given(X, CUBE, V, S, E, INTS, COMPLEX),
    ),
    Row(
        "jt.linalg.diag",
        jt.linalg.diag,
        laid,
        together(unary(), per({"k": 1}, {"k": -2}, {"padding_value": 3}, {"k": 1.5})),
    ),
    Row(
        "jt.linalg.set_diag",
        jt.linalg.set_diag,
        replaced,
        given(
            (X, V[:2]),
            (SQUARE, V[:3]),
            (SQUARE, V[:2], {"k": 1}),
            (X, V),
            (INTS, V[:2]),
            (CUBE, X),
            (V, V),
            (X, np.ones(3), {"k": -1}),
        ),
    ),
    Row(
        "jt.linalg.band_part",
        jt.linalg.band_part,
        band,
        given(
            *[
                (a, low, high)
                for a in (X, CUBE, BOOLS, E, V, COMPLEX)
                for low in (-1, 0, 1, 9)
                for high in (-1, 0, 1)
            ],
            (X, 1.5, 0),
        ),
    ),
    Row(
        "jt.linalg.cross",
        jt.linalg.cross,
        lambda a, b: checked(a.shape[-1] == b.shape[-1] == 3, np.cross(a, b)),
        given((X, X[0]), (X, SQUARE[:2]), (INTS, X), (V, V), (COMPLEX, X), (X, np.ones((4, 3)))),
        signed_zeros=False,
    ),
    Row("jt.norm", jt.norm, norm, NORMS, rtol=64),
    Row(
        "jt.linalg.normalize",
        jt.linalg.normalize,
        lambda x, o="euclidean", axis=None: (floats(x) / norm(x, o, axis, True), norm(x, o, axis, True)),
        given((X,), (X, 1, 0), (X, np.inf, [0, 1]), (COMPLEX,), (X, "nuc"), (X, 2, 5)),
        rtol=16,
    ),
    Row(
        "jt.linalg.global_norm",
        jt.linalg.global_norm,
        global_norm,
        given(([X, V],), ([numbers("float32")],), ([COMPLEX, V],), ([],)),
        rtol=16,
    ),
    Row(
        "jt.clip_by_norm",
        jt.clip_by_norm,
        clipped,
        given(
            (X, 1.0),
            (X, 100.0),
            (X, 1.0, 1),
            (COMPLEX, 2.0),
            (X, np.ones((2, 1)), 1),
            (X, np.ones((4, 2, 3))),
            (S, np.ones(2)),
            (numbers("float32"), 0.5),
            (X, 1.0, 3),
        ),
        rtol=16,
    ),
    Row(
        "jt.clip_by_global_norm",
        jt.clip_by_global_norm,
        lambda xs, n: (*[x * (n / max(global_norm(xs), n)) for x in xs], global_norm(xs)),
        given(),
        rtol=16,
    ),
]
