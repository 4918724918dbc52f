"""Indexing, order and creation under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, NO_INDEX, SEVERAL, SQUARE, E, S, V, X, per
from numpy_rows import NO_ORDER, WHOLE, Deviation, Row
from numpy_samples import PAIRED, edges, given, numbers, together, unary
from numpy_table import checked, unlike

# ---- picking and putting ---------------------------------------------------------------------------------------------


def to_bytecode(x: Any, indices: Any, axis: Any = None) -> Any:
    """NumPy's `take` along one axis."""
    return np.take(x, indices, 0 if axis is None else axis)


def coordinates(indices: Any) -> Any:
    """An index for each axis."""
    return tuple(np.moveaxis(indices, -1, 0))


def masked(x: Any, mask: Any, axis: Any = None) -> Any:
    """NumPy's indexing by a mask."""
    checked(mask.dtype == bool and mask.ndim, x)
    return x[(slice(None),) * (axis or 0) + (mask,)]


def scattered(how: Callable[..., Any] | None) -> Callable[..., Any]:
    """What is put into `x` at coordinates, one after the other."""

    def reference(x: Any, indices: Any, updates: Any) -> Any:
        checked(np.can_cast(updates.dtype, x.dtype, "same_kind"), x)
        result, where = x.copy(), coordinates(indices)
        checked(result[where].shape == updates.shape, x)
        if how is None:
            result[where] = updates
        else:
            how.at(result, where, updates)  # type: ignore[attr-defined]
        return result

    return reference


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    """What is added to zeros."""
    return scattered(np.add)(np.zeros(shape, updates.dtype), indices, updates)


def ordered(function: Callable[..., Any], dtype: Any = None) -> Callable[..., Any]:
    """A stable order, ascending or descending, with nan as the greatest."""

    def reference(x: Any, axis: Any = -1, direction: str = "ASCENDING") -> Any:
        checked(x.ndim and direction in ("ASCENDING", "DESCENDING") and axis is not None, x)
        falling = direction == "DESCENDING"
        order = np.argsort(np.flip(x, axis) if falling else x, axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(order, axis) if falling else order
        return order.astype(np.int32) if function is np.argsort else np.take_along_axis(x, order, axis)

    return reference


def top_k(x: Any, k: Any = 1) -> Any:
    """The first of the descending order."""
    order = ordered(np.argsort)(x, -1, "DESCENDING")[
        ..., : checked(isinstance(k, int) and 0 <= k <= x.shape[-1], k)
    ]
    return np.take_along_axis(x, order, -1), order


def searched(edges_: Any, values: Any, side: str = "left") -> Any:
    """NumPy's, row by row."""
    checked(edges_.ndim and values.ndim and edges_.shape[:-1] == values.shape[:-1], values)
    found = np.empty(values.shape, np.int32)
    for place in np.ndindex(values.shape[:-1]):
        found[place] = np.searchsorted(edges_[place], values[place], side)
    return found


AT = np.array([[0, 1], [1, 2], [0, 1]])
PUT = given(
    *[(numbers(d), AT, numbers(d, (3,), 1)) for d in ("int8", "uint8", "int64", "float16", "float32", "float64")],
    (X, AT[:, :1], numbers("float64", (3, 3), 1)),
    (edges("float64")[:, None], np.array([[0], [3], [3]]), np.array([[np.nan], [np.inf], [-np.inf]])),
    (X, AT, numbers("float32", (3,))),
    (X, AT, V),
    (X, np.array([[0, 5]]), np.ones(1)),
    (X, np.zeros((0, 2), int), np.zeros(0)),
    (X, AT.astype(float), V[:3]),
)  # fmt: skip
KEYS = (
    0,
    2,
    -1,
    5,
    np.array([0, 1]),
    np.array([[0, -1]]),
    [0, 1],
    [],
    [1.5],
    np.array([7]),
    np.array([-2], "int8"),
    np.array(1.0),
    True,
)
SORTED = together(
    unary(),
    given(
        *[
            (x, a, d)
            for x in (X, BOOLS, CUBE, numbers("float64", (4, 5)))
            for a in (0, -1, 2, -3, True, 1.0)
            for d in ("ASCENDING", "DESCENDING", "UP")
        ]
    ),
)
CHOICES = lambda: (((BOOLS, numbers(p), numbers(q)), {}) for p in PAIRED for q in PAIRED)  # noqa: E731

PICKED: list[Row] = [
    Row(
        "jt.where",
        jt.where,
        np.where,
        together(
            given(*[(q, p, z) for q in (BOOLS, X, INTS) for p in (X, 2, COMPLEX, V) for z in (X, E, BOOLS)]),
            CHOICES,
        ),
    ),
    Row(
        "jt.gather",
        jt.gather,
        to_bytecode,
        given(*[(q, k, {"axis": a}) for q in (X, V, CUBE, E) for k in KEYS for a in (None, 0, -1, 2)]),
        (NO_INDEX, WHOLE),
    ),
    Row(
        "jt.gather_nd",
        jt.gather_nd,
        lambda x, i: x[coordinates(i)],
        given(
            (X, AT),
            (X, AT[:, :1]),
            (CUBE, AT),
            (X, np.array([[0, 5]])),
            (X, np.array([[-1, -1]])),
            (X, np.zeros((2, 3), int)),
            (X, AT.astype(float)),
        ),
    ),
    Row(
        "jt.boolean_mask",
        jt.boolean_mask,
        masked,
        given(
            (X, BOOLS),
            (X, X > 0),
            (X, BOOLS[:, 0]),
            (X, BOOLS[0], 1),
            (X, BOOLS[0]),
            (X, X),
            (CUBE, BOOLS),
            (X, np.array(True)),
        ),
    ),
    Row(
        "jt.scatter_nd",
        jt.scatter_nd,
        scatter_nd,
        given(
            (AT, V[:3], [2, 3]),
            (AT, INTS[0], [2, 3]),
            (AT[:, :1], SQUARE, [2, 3]),
            (AT, V, [2, 3]),
            (AT, V[:3], [2, 2]),
            (AT, V[:3], [-1, 3]),
        ),
    ),
    Row("jt.tensor_scatter_nd_update", jt.tensor_scatter_nd_update, scattered(None), PUT),
    Row("jt.tensor_scatter_nd_add", jt.tensor_scatter_nd_add, scattered(np.add), PUT, signed_zeros=False),
    Row(
        "jt.tensor_scatter_nd_sub", jt.tensor_scatter_nd_sub, scattered(np.subtract), PUT, signed_zeros=False
    ),
    Row("jt.tensor_scatter_nd_max", jt.tensor_scatter_nd_max, scattered(np.maximum), PUT),
    Row("jt.tensor_scatter_nd_min", jt.tensor_scatter_nd_min, scattered(np.minimum), PUT),
    Row("jt.argsort", jt.argsort, ordered(np.argsort), SORTED, (NO_ORDER,)),
    Row("jt.sort", jt.sort, ordered(np.sort), SORTED, (NO_ORDER,)),
    Row(
        "jt.math.top_k",
        jt.math.top_k,
        top_k,
        together(unary("biuf"), per(0, 1, 2, 3, 4, -1, 1.5)),
        (NO_ORDER,),
    ),
    Row(
        "jt.searchsorted",
        jt.searchsorted,
        searched,
        given(
            (np.sort(V), V + 0.5),
            (np.sort(V), V, "right"),
            (np.sort(X), X),
            (np.sort(V), X),
            (V, S),
            (np.sort(V), V, "up"),
            (np.sort(INTS), X),
        ),
    ),
]


# ---- creation --------------------------------------------------------------------------------------------------------


def created(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's, with TensorFlow's default dtype."""
    return lambda shape, dtype="float32": function(shape, np.dtype(dtype))


def counted(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> Any:
    """NumPy's `arange`; Python numbers have TensorFlow's default dtypes."""
    start, limit = (0, start) if limit is None else (start, limit)
    values = [np.asarray(v) for v in (start, limit, delta)]
    plain = all(isinstance(v, (int, float)) for v in (start, limit, delta))
    found = (
        np.result_type(*[v for v in (start, limit, delta) if not isinstance(v, (int, float))])
        if not plain
        else None
    )
    default = np.float32 if any(v.dtype.kind == "f" for v in values) else np.int32
    return np.arange(*[v.item() for v in values]).astype(dtype or found or default)


def hot(indices: Any, depth: Any, on: Any = 1.0, off: Any = 0.0, axis: Any = -1) -> Any:
    """Rows with one place that is `on`."""
    checked(indices.dtype.kind in "iu" and isinstance(depth, int), depth)
    rows = np.where(indices[..., None] == np.arange(depth), np.float32(on), np.float32(off))
    return np.moveaxis(rows, -1, axis)


def mask(lengths: Any, maxlen: Any = None, dtype: Any = bool) -> Any:
    """True for the first places."""
    checked(lengths.dtype.kind in "iu" and isinstance(maxlen, (int, type(None))), lengths)
    return (np.arange(lengths.max(initial=0) if maxlen is None else maxlen) < lengths[..., None]).astype(
        dtype
    )


def spaced(start: Any, stop: Any, num: Any, axis: int = 0) -> Any:
    """NumPy's, with ends of one shape."""
    return checked(np.shape(start) == np.shape(stop), np.linspace(start, stop, num, axis=axis))


FILLED = given(
    (3,),
    ([2, 3],),
    ((),),
    ([0, 2],),
    ([-1],),
    ([2.5],),
    ("a",),
    ([2], "int8"),
    ([2], "complex64"),
)
RANGES = given(
    (5,),
    (0,),
    (-3,),
    (1, 5),
    (5, 1, -2),
    (0, 1, 0.25),
    (1.5,),
    (3, 1),
    (np.int64(2), 7),
    (np.float64(0.5), 3),
    (1, 5, 0),
    (5, {"dtype": "float64"}),
    (np.array([1, 2]),),
    ("a",),
    (True, 3),
)

CREATED: list[Row] = [
    Row("jt.zeros", jt.zeros, created(np.zeros), FILLED),
    Row("jt.ones", jt.ones, created(np.ones), FILLED),
    Row(
        "jt.fill",
        jt.fill,
        np.full,
        given(([2, 3], S), ([], np.array(1, "int8")), ([-1], S), (2, np.array(2j)), ([2], V)),
    ),
    Row(
        "jt.eye",
        jt.eye,
        lambda n, m=None, dtype="float32": np.eye(n, m, dtype=dtype),
        given((3,), (2, 3), (0,), (3, 0), (-1,), (1.5,), (2, None, {"dtype": "int8"})),
    ),
    Row(
        "jt.range",
        jt.range,
        unlike("TensorFlow: int32 and float32 of Python numbers", counted),
        RANGES,
        (Deviation("TensorFlow: a limit on the wrong side is refused", "counts the other way"),),
    ),
    Row(
        "jt.linspace",
        jt.linspace,
        spaced,
        given(
            *[
                (p, q, n)
                for p, q in (
                    (V, V + 3),
                    (S, np.array(5.0)),
                    (np.array(1j), np.array(2j)),
                    (np.array(1), np.array(4)),
                    (X, V),
                )
                for n in (2, 5, 1, -1, 2.5)
            ],
            (X, X + 1, 3, {"axis": 1}),
            (X, X + 1, 3, {"axis": 3}),
        ),
    ),
    Row(
        "jt.one_hot",
        jt.one_hot,
        hot,
        given(
            (np.array([0, 2, -1, 5]), 3),
            (np.array([[0], [1]], "uint8"), 2),
            (np.array(1), 3),
            (np.array([1]), 0),
            (V, 3),
            (np.array([0, 1]), 2.5),
            (np.array([0, 1]), 2, 5.0, -1.0),
            (np.array([0, 1]), 3, {"axis": 0}),
            (np.array([0, 1]), 3, {"axis": 4}),
        ),
    ),
    Row(
        "jt.sequence_mask",
        jt.sequence_mask,
        mask,
        given(
            (np.array([1, 3, 0]),),
            (np.array([[2]], "uint8"), 4),
            (np.array([1, 2]), 0),
            (np.zeros(0, int),),
            (V,),
            (np.array([1, 3]), 2, "float32"),
            (np.array([1, 3]), 2.5),
        ),
    ),
    Row("jt.shape", jt.shape, lambda x: np.array(x.shape, np.int32), given(*SEVERAL)),
    Row("jt.size", jt.size, lambda x: np.array(x.size, np.int32), given(*SEVERAL)),
    Row("jt.rank", jt.rank, lambda x: np.array(x.ndim, np.int32), given(*SEVERAL)),
]

ROWS: list[Row] = [*PICKED, *CREATED]
