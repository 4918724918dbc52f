"""The rows of sorting, of matrices and of networks, for the table in `primitive_table.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.elementwise import division as dv
from jittape.primitives.elementwise import special as sp
from jittape.primitives.indexing import binary_search as bs
from jittape.primitives.indexing import row_order as ro
from jittape.primitives.indexing import sorting as so
from jittape.primitives.linalg import matrices as ma
from jittape.primitives.nn import layer_functions as ne
from jittape.primitives.reduce import statistics as st
from jittape.primitives.spectra import norms as no
from primitive_table import INF, NAN, Array, Row, distinct, normal, signed

# ---- order -----------------------------------------------------------------------------------------------------------

TIED = np.array([[2.0, INF, NAN, 2.0], [-INF, 0.0, -0.0, 1.0]])


def sorted_descending(x: Array) -> Array:
    return np.flip(np.sort(x, axis=0), 0)


def stable_descending(x: Array) -> Array:
    """Return the order with the greatest first; nan is greatest, and equal elements keep their order."""
    result = np.empty(x.shape, np.int32)
    for place in np.ndindex(x.shape[:-1]):
        row = x[place].tolist()
        result[place] = sorted(range(len(row)), key=lambda i: -INF if np.isnan(row[i]) else -row[i])
        nans = np.isnan(x[place][result[place]])
        result[place] = np.concatenate([result[place][nans], result[place][~nans]])
    return result


def targets(shape: tuple[int, ...]) -> Any:
    """Return a sampler of a target at or after each element of rows."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        n = shape[-1]
        return (np.minimum(np.arange(n) + rng.integers(0, n, shape), n - 1),)

    return sample


def exchanged(rows: Array, backwards: bool) -> Array:
    """Return the product of matrices that each exchange two elements, applied to 0, 1, ..."""
    result = np.empty_like(rows)
    for place in np.ndindex(rows.shape[:-1]):
        total = identity = np.eye(rows.shape[-1], dtype=np.int64)
        for k, other in enumerate(rows[place]):
            swap = identity.copy()
            swap[[k, other]] = swap[[other, k]]
            total = total @ swap if backwards else swap @ total
        result[place] = total @ np.arange(rows.shape[-1])
    return result


EXCHANGES = tuple(
    [
        Row(
            f"exchanged {'backwards' if backwards else ''} {shape}",
            lambda x, backwards=backwards: ro.exchanged(x, backwards),
            targets(shape),
            lambda x, backwards=backwards: exchanged(x, backwards),
            ("float64",),
            edges=((np.zeros((0,), np.int64),), (np.zeros((2, 0), np.int64),), (np.zeros((3, 1), np.int64),)),
            wrt=(),
        )
        for backwards in (False, True)
        for shape in ((7,), (2, 5), (3, 4, 3))
    ]
)


def searched(side: str) -> Any:
    """Return NumPy's search in one row after another."""

    def reference(edges: Array, values: Array) -> Array:
        found = np.empty(values.shape, np.int32)
        for place in np.ndindex(values.shape[:-1]):
            found[place] = np.searchsorted(edges[place], values[place], side)
        return found

    return reference


def sought(edges: tuple[int, ...], values: tuple[int, ...]) -> Any:
    """Return a sampler of sorted rows with equal elements, and of values next to them and beyond."""
    return lambda rng: (
        np.sort(rng.integers(0, 9, edges).astype(float)),
        rng.integers(-1, 10, values).astype(float),
    )


ENDS = np.array([-INF, -INF, -1.0, -0.0, 0.0, 2.0, 2.0, INF, NAN, NAN])
SEARCHES = tuple(
    [
        Row(
            f"searchsorted {side} {edges}",
            lambda a, b, side=side: bs.searchsorted(a, b, side),
            sought(edges, (*edges[:-1], 9)),
            searched(side),
            edges=tuple(
                [
                    tuple([np.broadcast_to(x, (*edges[:-1], len(x))) for x in (sequence, values)])
                    for sequence, values in (
                        (ENDS, ENDS),
                        (np.zeros(0), ENDS),
                        (np.ones(1), ENDS),
                        (ENDS, np.zeros(0)),
                        (np.array([False, True]), np.array([True, False, True])),
                        (np.array([-128, 0, 127], np.int8), np.array([-128, 1, 127], np.int8)),
                    )
                ]
            ),
            wrt=(),
        )
        for side in ("left", "right")
        for edges in ((7,), (8,), (2, 40), (2, 1, 3))
    ]
)

ORDER = (
    Row("sort", so.sort, normal((3, 5)), lambda x: np.sort(x), edges=((TIED,), (np.zeros((2, 0)),))),
    Row("sort many elements", so.sort, distinct((2, 40)), lambda x: np.sort(x)),
    Row("sort descending", lambda x: so.sort(x, 0, "DESCENDING"), normal((5, 3)), sorted_descending),
    Row(
        "argsort",
        so.argsort,
        normal((3, 5)),
        lambda x: np.argsort(x, stable=True).astype(np.int32),
        edges=((TIED,), (np.array([NAN, 1.0, NAN, -INF, NAN]),), (np.array([False, True, False]),)),
        wrt=(),
    ),
    Row(
        "argsort descending",
        lambda x: so.argsort(x, -1, "DESCENDING"),
        normal((3, 5)),
        stable_descending,
        edges=((np.array([[1.0, 2.0, 2.0, 1.0]]),), (TIED,), (np.array([NAN, 1.0, NAN, INF, 0.0, -0.0]),)),
        wrt=(),
    ),
    Row("top_k", lambda x: so.top_k(x, 2).values, normal((3, 5)), lambda x: -np.sort(-x)[:, :2]),
    *SEARCHES,
)


# ---- matrices --------------------------------------------------------------------------------------------------------


def diagonal(x: Array, k: int) -> Array:
    return np.stack([np.diag(row, k) for row in x])


def with_diagonal(x: Array, new: Array, k: int) -> Array:
    result = x.copy()
    for matrix, row in zip(result, new, strict=True):
        rows = np.arange(len(row)) + max(-k, 0)
        matrix[rows, rows + k] = row
    return result


MATRICES = (
    *(
        Row(f"diag {k}", lambda x, k=k: ma.diag(x, k=k), normal((2, 3)), lambda x, k=k: diagonal(x, k))
        for k in (0, 2, -1)
    ),
    Row(
        "diag with padding",
        lambda x, p: ma.diag(x, padding_value=p),
        normal((3,), ()),
        lambda x, p: np.where(np.eye(3, dtype=bool), np.diag(x), p),
    ),
    *(
        Row(
            f"set_diag {k}",
            lambda x, d, k=k: ma.set_diag(x, d, k=k),
            normal((2, 4, 3), (2, count)),
            lambda x, d, k=k: with_diagonal(x, d, k),
        )
        for k, count in ((0, 3), (1, 2), (-2, 2))
    ),
    Row("band_part", lambda x: ma.band_part(x, 1, 0), normal((4, 4)), lambda x: np.triu(np.tril(x), -1)),
    Row("band_part upper", lambda x: ma.band_part(x, 0, -1), normal((2, 3, 4)), np.triu),
    Row("cross", ma.cross, normal((2, 3), (3,)), np.cross),
    Row(
        "normalize",
        lambda x: no.normalize(x, axis=1)[0],
        signed(0.3, 3.0, (2, 3)),
        lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
        rtol=1e-13,
    ),
)


# ---- networks and others ---------------------------------------------------------------------------------------------


def normalized(x: Array, mean: Array, variance: Array, offset: Array, scale: Array) -> Array:
    return (x - mean) / np.sqrt(variance + x.dtype.type(0.25)) * scale + offset


def full_poisson(targets: Array, x: Array) -> Array:
    stirling = targets * np.log(targets) - targets + 0.5 * np.log(2 * np.pi * targets)
    return np.asarray(np.exp(x) - x * targets + np.where(targets > 1, stirling, 0), x.dtype)


NETWORKS = (
    Row("bias_add", ne.bias_add, normal((2, 3, 4), (4,)), np.add),
    Row(
        "bias_add first",
        lambda x, b: ne.bias_add(x, b, "NCHW"),
        normal((2, 3, 4), (3,)),
        lambda x, b: x + b[:, None],
    ),
    Row(
        "batch_normalization",
        lambda x, m, v, o, s: ne.batch_normalization(x, m, v, o, s, 0.25),
        lambda rng: (*normal((4, 3), (3,))(rng), rng.uniform(0.3, 3.0, 3), *normal((3,), (3,))(rng)),
        normalized,
        rtol=1e-13,
    ),
    Row("crelu", ne.crelu, signed(0.3, 3.0, (2, 3)), lambda x: np.maximum(np.concatenate([x, -x], -1), 0)),
    Row(
        "log_poisson_loss",
        lambda t, x: ne.log_poisson_loss(t, x, True),
        lambda rng: (np.array([0.3, 0.7, 2.2, 5.1]), rng.standard_normal(4)),
        full_poisson,
        rtol=1e-13,
    ),
    Row(
        "xdivy",
        sp.xdivy,
        signed(0.3, 3.0, (3,), (3,)),
        np.true_divide,
        edges=(),
    ),
    Row("reciprocal_no_nan", dv.reciprocal_no_nan, signed(0.3, 3.0, (3,)), lambda x: 1 / x),
    Row(
        "polyval",
        lambda a, b, x: ar.polyval([a, b, 2.0], x),
        normal((), (), (3,)),
        lambda a, b, x: (a * x + b) * x + x.dtype.type(2),
        rtol=1e-13,
    ),
    Row(
        "count_nonzero",
        lambda x: st.count_nonzero(x, 0),
        normal((3, 2)),
        lambda x: np.count_nonzero(x, 0),
        wrt=(),
    ),
    Row(
        "zero_fraction",
        st.zero_fraction,
        normal((3, 2)),
        lambda x: np.mean(x == 0, dtype=np.float32),
        edges=((np.array([0.0, -0.0, NAN, 1.0]),),),
        dtypes=("float32",),
        wrt=(),
    ),
)

ROWS: tuple[Row, ...] = (*ORDER, *EXCHANGES, *MATRICES, *NETWORKS)
