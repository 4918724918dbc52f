"""NumPy's functions that sort, search, select, transform and ignore nan: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_protocol_samples import per, row
from numpy_rows import Deviation, Row
from numpy_samples import given

X = np.array([[1.5, -2.0, 0.25], [np.nan, 3.0, -7.0]])
V, INTS = np.array([3.0, 1, 2, 5, 4]), np.array([[3, 1, 2], [-4, 0, 9]])
C, CUBE, S, E = X[:1] + 1j * V[:3], np.arange(24.0).reshape(2, 3, 4), np.array(2.5), np.zeros((0, 3))
SMALL = (V.astype("float32"), INTS.astype("uint8"), INTS.astype("int8"), INTS > 0)
ARRAYS = (X, V, INTS, C, CUBE, S, E, *SMALL)
WITHOUT_COMPLEX = (X, V, INTS, CUBE, S, E, *SMALL)
PLACES = ({}, (0,), (1,), (-1,), (2,), {"axis": None})
POWERS = np.array([0.5, -0.0, 8.0, -27.0, 1e300, 1e-310, np.inf, -np.inf, np.nan, 3.7])

KEEPS_ORDER = Deviation("NumPy leaves the order of the values open", takes=lambda *a, **kw: True)
SORTED = Deviation("a sorted array is partitioned everywhere", takes=lambda *a, **kw: True)


def options(*some: Any, arrays: tuple[Any, ...] = ARRAYS) -> Any:
    """Each of the `arrays` with each of the options: see `numpy_protocol_samples.per`."""
    return per(*some, arrays=arrays)


def pairs(*more: Any) -> Any:
    """Each of the arrays and a vector, in both orders."""
    return given(*[(a, V) for a in ARRAYS], *[(V, a) for a in ARRAYS], *more)


FIRST_AXES = ({"axis": 0, "keepdims": True}, {"axis": (0, 1)}, {"axis": ()})
NAN: list[Row] = [
    *[
        row(f"np.{n}", options(*PLACES, *FIRST_AXES), rtol=64)
        for n in ("nansum", "nanprod", "nanmean", "nanstd", "nanvar")
    ],
    *[row(f"np.{n}", options(*PLACES, *FIRST_AXES)) for n in ("nanmin", "nanmax")],
    *[row(f"np.{n}", options(*PLACES)) for n in ("nanargmin", "nanargmax")],
    *[row(f"np.{n}", options(*PLACES, arrays=ARRAYS[:-1]), rtol=64) for n in ("nancumsum", "nancumprod")],
]

MASKED = (
    {"where": X > 0},
    {"where": X > 0, "axis": 0},
    {"where": X[:1] > 0},
    {"where": np.ones(2, bool)},
    {"where": 1},
    {"where": X},
)
STARTED = ({"where": X > 0, "initial": 2}, {"initial": 3, "axis": 1}, {"initial": 5})
MASKABLE = (X, INTS, CUBE[0, :2, :3])
REDUCTIONS: list[Row] = [
    *[
        row(f"np.{n}", options(*MASKED, *STARTED, arrays=MASKABLE), remark=" (where)")
        for n in ("sum", "prod", "max", "min")
    ],
    *[
        row(f"np.{n}", options(*MASKED, arrays=MASKABLE), remark=" (where)", rtol=64)
        for n in ("mean", "std", "var", "any", "all")
    ],
    *[
        row(
            f"np.{n}",
            options(
                {"mean": np.ones((2, 1)), "axis": 1},
                {"mean": np.ones((2, 1)), "axis": 1, "ddof": 1},
                {"mean": np.array([[1 + 2j], [0.5j]]), "axis": 1},
                {"mean": np.array([[1 + 2j], [0.5j]]), "axis": 1, "where": X > 0},
                arrays=(X, INTS, np.float32(X), X * 1j),
            ),
            remark=" (mean)",
            rtol=64,
        )
        for n in ("std", "var")
    ],
    row(
        "np.average",
        given(
            (X, {"axis": 1, "weights": V[:3]}),
            (X, {"axis": 1, "weights": V[:3], "returned": True}),
            (X, {"returned": True}),
            (X, {"weights": V[:3]}),
            (X, {"axis": 0, "weights": V[:3]}),
            (CUBE, {"axis": (0, 2), "weights": np.ones((2, 4)), "returned": True}),
        ),
        remark=" (weights)",
        rtol=64,
    ),
]

LENGTHS = (
    {},
    {"n": 3},
    {"n": 8},
    {"axis": 0},
    {"axis": 5},
    {"norm": "ortho"},
    {"norm": "forward", "n": 5},
    {"n": 0},
)
SHAPES = (
    {},
    {"s": (3,)},
    {"s": (4, 5)},
    {"s": (4, 5), "axes": (1, 0)},
    {"axes": (0,)},
    {"norm": "ortho"},
    {"axes": (0, 0)},
    {"s": (-1, 3), "axes": (0, 1)},
    {"axes": (7,)},
    {"norm": "x"},
)
TRANSFORMED = (X, V, INTS, C, np.random.default_rng(0).normal(size=(2, 3, 4)), *SMALL)
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL_AXES = ("fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")


def transform(name: str, some: Any) -> Row:
    """The row of a transform, whose rounding errors are those of its greatest values."""
    return row(f"np.fft.{name}", options(*some, arrays=TRANSFORMED), rtol=2000, signed_zeros=False)


FOURIER: list[Row] = [
    *[transform(n, LENGTHS) for n in ONE_AXIS],
    *[transform(n, SHAPES) for n in SEVERAL_AXES],
    *[
        row(f"np.fft.{n}", options({}, {"axes": 0}, {"axes": (0, 1)}, arrays=TRANSFORMED))
        for n in ("fftshift", "ifftshift")
    ],
]

MOVED: list[Row] = [
    row(
        "np.lib.stride_tricks.sliding_window_view",
        given(
            (X, 2, 0), (X, (2, 2)), (X, (1, 2), (-1, 0)), (X, (2, 2), (1, 1)), (X, 9, 0), (X, -1, 0), (X, 2)
        ),
    ),
    row("np.rot90", options({}, {"k": 2}, {"k": 3}, {"k": 4}, {"k": -1}, {"axes": (1, 0)}, {"axes": (0, 0)})),
    row("np.rollaxis", options((0,), (1,), (-1,), (1, 2), (2, 1), (5,), (0, -1))),
    *[row(f"np.{n}", options((2,), (3,), ([1],), ([1, 2],), (0,))) for n in ("hsplit", "vsplit", "dsplit")],
    row("np.unstack", options({}, {"axis": -1}, {"axis": 3})),
    row(
        "np.block",
        given(
            ([X, X],), ([V, V],), ([V, S],), (X,), ([CUBE, []],), ([INTS, X],), ((X, X),), ([C[0], 2.0, V],)
        ),
    ),
    row("np.append", options((3,), (np.ones(2),), (np.ones((1, 3)), 0), (np.ones(3), 0))),
    row(
        "np.insert",
        options(
            (1, 5),
            (0, [1, 2, 3], 1),
            ([0, 1], 7),
            (slice(0, 2), 9, 0),
            (99, 1),
            ([0, 0, 1], [1, 2, 3]),
            (1, 2.75, -1),
        ),
    ),
    row("np.delete", options((1,), (0, 1), ([0, 1],), (slice(None, None, 2), 0), (99,), ([True, False], 0))),
    row(
        "np.compress",
        given(
            *[(q, a, *o) for a in ARRAYS for q, *o in (([1, 0, 1],), ([0, 1], 0), ([1, 0], -1), ([1] * 30,))]
        ),
    ),
    row("np.extract", given(*[(a > 0, a) for a in ARRAYS])),
    row("np.resize", options(((3, 2),), (0,), (7,), ((2, 2, 2),), (-1,))),
    row(
        "np.trim_zeros",
        options(
            {},
            {"trim": "f"},
            {"trim": "b"},
            {"axis": 0},
            {"trim": "x"},
            arrays=(V, np.array([0, 0, 1, 2, 0, 3, 0]), np.zeros(3), np.eye(3)[[0, 0]][:, [1, 0, 1]], S, X),
        ),
    ),
    row("np.triu_indices_from", options({}, (1,))),
    row("np.tril_indices_from", options({}, (-1,))),
    row("np.diag_indices_from", options({}, arrays=(*ARRAYS, CUBE[:, :2, :2], X[:, :2]))),
    row("np.diagflat", options({}, (1,), (-2,))),
    row(
        "np.take",
        options(
            ([1, 0],), ([0, 1], 0), ([9, -9], {"mode": "wrap"}), ([9, -9], 1, {"mode": "clip"}), (0,), ([9],)
        ),
        remark=" (mode)",
    ),
]

ORDERED: list[Row] = [
    row(
        "np.sort",
        options(
            {},
            (0,),
            (None,),
            (5,),
            {"kind": "stable"},
            {"kind": "x"},
            {"stable": True},
            {"order": "a"},
            {"kind": "stable", "stable": True},
        ),
    ),
    row("np.argsort", options({}, (0,), (None,), (5,))),
    *[
        row(f"np.{n}", options((1,), (0, 0), (99,), (0, 5), ("a",)), SORTED)
        for n in ("partition", "argpartition")
    ],
    row("np.sort_complex", options({})),
    row(
        "np.lexsort",
        given(
            ((V, V[::-1]),),
            ([INTS[0], INTS[1]],),
            (INTS,),
            ((X, INTS),),
            ((X, V),),
            ((CUBE, -CUBE), {"axis": 0}),
            ((CUBE, CUBE), {"axis": 4}),
        ),
    ),
    row(
        "np.searchsorted",
        given(
            *[(np.sort(V), v) for v in ARRAYS],
            *[(np.sort(V), v, "right") for v in ARRAYS],
            *[(V, v, {"sorter": np.argsort(V)}) for v in ARRAYS],
            (X, V),
            (V, V, "a"),
        ),
        remark=" (options)",
    ),
    row(
        "np.digitize",
        options(
            ([0, 1, 2],),
            ([0, 1, 2], True),
            ([2, 1, 0],),
            ([2, 1, 0], True),
            ([0, 2, 1],),
            ([],),
            (V[[1, 3]],),
        ),
    ),
    row(
        "np.count_nonzero",
        options({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}, {"axis": 9}),
    ),
    row(
        "np.unique",
        options(
            {},
            {"return_index": True},
            {"return_inverse": True},
            {"return_counts": True, "axis": 0},
            {"equal_nan": False},
            {"axis": 9},
        ),
    ),
    *[row(f"np.unique_{n}", options({}), KEEPS_ORDER) for n in ("values",)],
    *[row(f"np.unique_{n}", options({})) for n in ("all", "counts", "inverse")],
    *[row(f"np.{n}", pairs()) for n in ("union1d", "setdiff1d", "setxor1d")],
    row("np.intersect1d", pairs((V, INTS, {"return_indices": True}), (V, V[:2], {"assume_unique": True}))),
    row(
        "np.isin",
        pairs((INTS, [1, 2], {"invert": True}), (INTS, [], {"invert": True}), (INTS, [1], {"kind": "x"})),
    ),
]

METHODS = (
    np.subtract,
    np.divide,
    np.maximum,
    np.logaddexp,
    np.hypot,
    np.logical_and,
    np.logical_xor,
    np.bitwise_or,
    np.fmax,
    np.exp,
    np.add,
    np.multiply,
)
BY_METHOD = (X, V, INTS, CUBE[0], E, S, *SMALL)
REDUCED = ({}, {"axis": 1}, {"axis": None}, {"axis": -1, "keepdims": True}, {"initial": 2}, {"axis": (0, 1)})
UFUNC_METHODS: list[Row] = [
    row_of_method
    for ufunc in METHODS
    for row_of_method in (
        Row(
            f"np.{ufunc.__name__}.reduce (options)",
            ufunc.reduce,
            ufunc.reduce,
            per(*REDUCED, arrays=BY_METHOD),
            (),
            64,
        ),
        Row(
            f"np.{ufunc.__name__}.accumulate",
            ufunc.accumulate,
            ufunc.accumulate,
            per({}, {"axis": 1}, {"axis": 5}, arrays=BY_METHOD),
            (),
            64,
        ),
        Row(
            f"np.{ufunc.__name__}.outer",
            ufunc.outer,
            ufunc.outer,
            given(*[(a, b) for a in BY_METHOD for b in (V, 2)], *[(V, a) for a in BY_METHOD]),
        ),
        Row(
            f"np.{ufunc.__name__}.reduceat",
            ufunc.reduceat,
            ufunc.reduceat,
            given((V, [0, 2, 1]), (INTS, [0, 2, 1], {"axis": 1}), (INTS, [0, 7, 1], {"axis": 1}), (V, 1)),
            (),
            64,
        ),
    )
]

MATRIX_UFUNCS: list[Row] = [
    row("np.matvec", given((CUBE, CUBE[:, 0]), (INTS, V[:3]), (INTS, V), (C.T, C[0, :1]), (V, V)), rtol=64),
    row("np.vecmat", given((CUBE[:, :, 0], CUBE), (C[0], C.T * C), (V, INTS)), rtol=64),
    row(
        "np.vecdot", given((CUBE, CUBE), (C, C), (V, V[:2]), (CUBE, CUBE, {"axis": 0}), (INTS, INTS)), rtol=64
    ),
]

ROWS = [*NAN, *REDUCTIONS, *FOURIER, *MOVED, *ORDERED, *UFUNC_METHODS, *MATRIX_UFUNCS]
