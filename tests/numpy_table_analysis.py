"""NumPy's differences, quantiles, polynomials, statistics, choices and paddings: see `numpy_rows`."""

from __future__ import annotations

import numpy as np

from numpy_protocol_samples import row
from numpy_rows import BEFORE_NUMPY_2_5, Deviation, Row
from numpy_samples import given
from numpy_table_functions import ARRAYS, CUBE, INTS, SMALL, WITHOUT_COMPLEX, C, S, V, X, options

D = np.array([1.0, np.nan, np.inf, -np.inf])
WITHOUT_NAN = tuple([a for a in ARRAYS if not np.isnan(a).any()])
ROWS_WITH_NAN = np.array([[3.0, np.nan, 1, 4, np.nan], [2, 7, 1, 8, 2], [np.nan] * 5])
POINTS, HEIGHTS = np.array([0.0, 1, 2.5, 4]), np.array([1.0, -1, 3, 2])
MATRIX = CUBE[0]

IN_PLACE = Deviation("a tensor is not changed", "in place")
NO_SINC = Deviation("sinc is 0 at integers and infinity", takes=lambda x: x.dtype.kind in "biuf")
EMPTY_MEAN = Deviation("NumPy casts nan to an integer", takes=lambda a, *rest, **kw: a.dtype.kind in "iu")
SMALL_Q = Deviation("q is computed in float64", takes=lambda a, q, **kw: isinstance(q, np.float32))
PLANAR = Deviation(
    "NumPy before 2.5 takes vectors of two numbers, too",
    takes=lambda a, b, **kw: 2 in (a.shape[-1], b.shape[-1]),
)

METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)
BY_METHOD = [
    o
    for m in METHODS
    for o in (
        (0.3, {"method": m}),
        ([0, 0.25, 0.5, 1.0], {"method": m, "axis": -1}),
        (np.array([[0.1, 0.9]]), {"method": m, "axis": 0, "keepdims": True}),
    )
]
MEDIANS = ({}, {"axis": 0}, {"axis": 1}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}, {"keepdims": True})
QUANTILES: list[Row] = [
    *[
        row(f"np.{n}", options(*BY_METHOD, arrays=(V, INTS, CUBE, ROWS_WITH_NAN, *SMALL[:2])), rtol=64)
        for n in ("quantile", "nanquantile")
    ],
    *[
        row(f"np.{n}", options((30,), ([0, 25, 50.0, 100], {"axis": 1}), (101,), (-1,)), rtol=64)
        for n in ("percentile",)
    ],
    row("np.nanpercentile", options((30,), ([0, 25, 50.0, 100], {"axis": 1}), (101,), (-1,)), rtol=64),
    row(
        "np.quantile",
        options(
            (0.3, {"method": "zz"}), (2,), (0.5, {"axis": (0, 1)}), (0.5, {"axis": 5}), (np.float32(0.3),)
        ),
        SMALL_Q,
        remark=" (options)",
        rtol=64,
    ),
    *[
        row(f"np.{n}", options(*MEDIANS, arrays=(*ARRAYS, ROWS_WITH_NAN)), rtol=64)
        for n in ("median", "nanmedian")
    ],
]

DIFFERENCES: list[Row] = [
    row(
        "np.diff",
        options(
            {"prepend": 0},
            {"append": [[1.0], [2]], "axis": -1},
            {"prepend": 1, "append": 2, "axis": 0},
            {"n": 2, "prepend": 3},
            {"prepend": np.ones(3), "axis": 0},
        ),
        remark=" (edges)",
    ),
    row("np.ediff1d", options({}, {"to_begin": 1}, {"to_end": [1, 2]}, {"to_begin": 0.5, "to_end": 9})),
    row(
        "np.gradient",
        options(
            {},
            (2.0,),
            {"axis": 0},
            {"axis": -1, "edge_order": 2},
            (1.0, 2.0),
            {"axis": (0, 1)},
            (np.array([1.0, 2, 4, 5, 9]),),
            (np.array([0.0, 1.5, 2]), {"axis": 1}),
            {"edge_order": 3},
        ),
        rtol=64,
        signed_zeros=False,
    ),
    row(
        "np.trapezoid",
        options({}, {"dx": 0.5}, {"axis": 0}, (POINTS[:3],), (POINTS[:2], {"axis": 0}), (CUBE**2,)),
        rtol=64,
    ),
    row(
        "np.unwrap",
        options({}, {"axis": 0}, {"period": 4}, {"discont": 5.0}, {"period": 3, "axis": -1}),
        rtol=64,
        signed_zeros=False,
    ),
    *[
        row(
            f"np.cumulative_{n}",
            options(
                {},
                {"axis": 0},
                {"axis": 1, "include_initial": True},
                {"axis": 0, "dtype": "float32"},
                {"axis": 7},
            ),
            rtol=64,
        )
        for n in ("sum", "prod")
    ],
    row(
        "np.interp",
        given(
            *[(a, POINTS, HEIGHTS) for a in WITHOUT_COMPLEX],
            *[(a, POINTS, HEIGHTS, {"left": -9, "right": 9.0}) for a in ARRAYS[:4]],
            *[(a, POINTS, HEIGHTS, {"period": 3.0}) for a in WITHOUT_COMPLEX],
            (V, POINTS, HEIGHTS + 1j),
            (V, POINTS[:1], HEIGHTS[:1]),
            (V, POINTS, HEIGHTS[:2]),
            (2.5, POINTS, HEIGHTS),
            (V, np.zeros(0), np.zeros(0)),
            (V, POINTS, HEIGHTS, {"period": 0}),
        ),
        rtol=64,
    ),
    *[
        row(
            f"np.{n}",
            given(
                *[
                    (a, b, m)
                    for a in (V, INTS[0], SMALL[0], SMALL[3][0], C[0], V[:1], V[:0], X, S)
                    for b in (V[:2], INTS[1], HEIGHTS, C[0], SMALL[3][1])
                    for m in ("full", "same", "valid", "zz")
                ]
            ),
            rtol=200,
            signed_zeros=False,
        )
        for n in ("convolve", "correlate")
    ],
]

LADDER = [V, V * 2, INTS[0, 0]]
PLACES = np.array([0, 4, 2, 1, -1])
BETWEEN = (
    {},
    {"num": 4},
    {"num": 0},
    {"endpoint": False, "num": 3},
    {"dtype": "float32"},
    {"num": 3, "axis": -1},
)
CHOICES: list[Row] = [
    row(
        "np.select",
        given(
            ([X > 0, X < -1], [X, INTS], 5),
            ([X > 0, X < -1], [X, 1]),
            ([INTS > 0], [INTS]),
            ([INTS > 0], [2.5], {"default": 7}),
            ([X > 0], [X, X]),
            ([INTS], [INTS]),
            ([], []),
            ([X[0] > 0, X > 1], [V[:3], X]),
        ),
    ),
    row(
        "np.choose",
        given(
            (np.array([0, 1, 2, 1, 0]), LADDER),
            (PLACES, LADDER, {"mode": "wrap"}),
            (PLACES, LADDER, {"mode": "clip"}),
            (PLACES, LADDER),
            (INTS > 0, (X, INTS)),
            (INTS > 0, CUBE[:, :2, :3]),
            (V, LADDER),
        ),
    ),
    row(
        "np.piecewise",
        given(
            (X, [X > 0, X < 0], [1.0, -1.0]),
            (X, [X > 0], [lambda x: x * 2, lambda x: -x]),
            (X, X > 0, [1, 2, 3]),
            (INTS, [INTS > 1], [2.75, 0.5]),
            (S, [S > 1, S <= 1], [lambda x: x * 3, 0]),
            (V, [V > 1, V > 2], [lambda v, k: v * k, 1, 2], 3),
        ),
    ),
    row(
        "np.nan_to_num",
        options(
            {},
            {"nan": 7, "posinf": 1, "neginf": -1},
            {"copy": False},
            arrays=(*ARRAYS, D, D.astype("float32"), D.astype("complex128"), D.astype("float16")),
        ),
        IN_PLACE,
    ),
    *[
        row(f"np.emath.{n}", options({}, arrays=(*ARRAYS, V - 0.5, np.abs(V) / 3)))
        for n in ("arccos", "arcsin", "arctanh", "log", "log10", "log2", "sqrt")
    ],
    row("np.emath.logn", given((2.0, V), (V, 3), (-2, V))),
    row("np.emath.power", given((V, 0.5), (V, 2), (2, -V), (INTS, -1))),
    row("np.real_if_close", options({}, arrays=(*ARRAYS, V + 1e-15j, V + 1e-3j))),
    row(
        "np.isclose",
        given(
            *[(a, a[:1] if a.ndim else a) for a in ARRAYS],
            (D, D),
            (D, D, {"equal_nan": True}),
            (V, V + 1e-6),
            (V, V + 1e-6, {"rtol": 0, "atol": 1e-5}),
            (INTS, SMALL[1]),
        ),
        remark=" (options)",
    ),
    *[
        row(f"np.{n}", options({}, arrays=(*ARRAYS, D)))
        for n in ("iscomplex", "isreal", "isposinf", "isneginf", "fix", "i0", "iscomplexobj", "isrealobj")
    ],
    row("np.sinc", options({}, arrays=(*ARRAYS, D, V / 7)), NO_SINC),
    row("np.astype", options(("float32",), (bool,))),
    # The integer that NumPy makes of nan depends on the processor.
    row("np.astype", options((np.int32,), arrays=WITHOUT_NAN), remark=" (integers)"),
    row(
        "np.apply_along_axis",
        given(
            (np.sum, 0, X),
            (np.sort, 1, CUBE),
            (lambda r: np.outer(r, r), 1, CUBE),
            (np.cumsum, 5, CUBE),
            (np.sum, 0, V),
        ),
    ),
    row("np.apply_over_axes", given((np.sum, CUBE, 0), (np.sum, CUBE, (0, 2)), (np.max, CUBE, [-1]))),
    row("np.packbits", given((SMALL[3], {"axis": 1}), (SMALL[3],), (V,))),
    row("np.unpackbits", given((SMALL[1],), (V,))),
    row("np.unravel_index", given((INTS[0], (3, 4)), (INTS[0], (1, 2)))),
    row("np.ravel_multi_index", given(((INTS[0], INTS[0]), (7, 6)), ((INTS[0], INTS[0]), (2, 2)))),
    row("np.ix_", given((INTS[0], SMALL[3][1]), (X,))),
    *[row(f"np.{n}", given(*[(a, INTS[0]) for a in ARRAYS])) for n in ("gcd", "lcm")],
    row("np.can_cast", given((V, "float32"), (V, "complex128"), (INTS, "int8", "same_kind"))),
    row("np.common_type", given((V, INTS), (SMALL[0],), (C, V), (SMALL[3],))),
    row("np.min_scalar_type", given((V,), (S,), (INTS,))),
    row(
        "np.logspace",
        given(*[(V, V + 1, o) for o in (*BETWEEN, {"base": 2.0})], *[(1, S, o) for o in BETWEEN]),
        rtol=64,
    ),
    row(
        "np.geomspace",
        given(
            *[(V, V * 7, o) for o in BETWEEN],
            *[(1, S * 1000, o) for o in BETWEEN],
            *[(-V, -V * 7, o) for o in BETWEEN],
            (0, V),
        ),
        rtol=64,
    ),
    row(
        "np.cross",
        given(
            *[(a, b) for a in (V[:3], X, INTS, C, CUBE, V) for b in (V[2:], INTS[1], X.T)],
            (X.T, INTS.T, {"axisa": 0, "axisb": 0, "axisc": 0}),
            (X.T, INTS.T, {"axis": 0}),
        ),
        *(() if BEFORE_NUMPY_2_5 else (PLANAR,)),
        signed_zeros=False,
    ),
    row(
        "np.einsum",
        given(
            (MATRIX, [0, 1], MATRIX, [0, 1]),
            (MATRIX, [0, 1], MATRIX.T, [1, 2], [0, 2]),
            (CUBE, [Ellipsis, 1], [1, Ellipsis]),
            (MATRIX, [0, -1]),
            (MATRIX, 3),
        ),
        remark=" (lists)",
        rtol=64,
    ),
]

STATISTICS: list[Row] = [
    row(
        "np.cov",
        options(
            {},
            {"rowvar": False},
            {"bias": True},
            {"ddof": 0},
            {"ddof": 3},
            (V[:3],),
            {"dtype": "float32"},
            arrays=(X, V, INTS, C, S, MATRIX, SMALL[0]),
        ),
        rtol=64,
    ),
    row(
        "np.cov",
        given(
            (INTS, {"fweights": [1, 2, 3]}),
            (INTS, {"aweights": [0.5, 1, 2]}),
            (INTS, {"fweights": [1, 2, 3], "aweights": [0.5, 1, 2]}),
            (INTS, {"aweights": [0.5, -1, 2]}),
            (C, V[:3]),
            (MATRIX, CUBE[1], {"rowvar": False}),
        ),
        remark=" (weights)",
        rtol=64,
    ),
    row("np.corrcoef", options({}, {"rowvar": False}, (V[:3],), arrays=(X, V, INTS, C, MATRIX)), rtol=64),
    row(
        "np.bincount",
        given(
            *[
                (a, o)
                for a in (INTS[0], SMALL[3][0], V, np.array([], int), INTS)
                for o in ({}, {"minlength": 8})
            ],
            (INTS[0], V[:3]),
            (INTS[0], V),
        ),
        remark=" (options)",
    ),
    row(
        "np.histogram",
        options(
            {},
            (4,),
            ([0, 1, 2, 3.0],),
            (3, (0, 4)),
            {"density": True},
            {"weights": V},
            {"weights": V, "density": True},
            ("auto",),
            {"weights": V[:3]},
            arrays=(V, INTS, SMALL[0], CUBE, SMALL[3]),
        ),
        remark=" (options)",
    ),
    row("np.histogram2d", given((V, V * 2, 3), (V, V[:2]))),
    row("np.histogramdd", given((MATRIX[:, :2], 2))),
    row("np.histogram_bin_edges", options((3,), ("fd",), arrays=(V, INTS))),
]

POLYNOMIALS_GIVEN = (
    V,
    INTS[0],
    np.array([0.0, 0, 1, 2]),
    SMALL[0],
    C[0],
    np.zeros(1),
    np.array([1.0, -3, 2, 0, 0]),
)
PAIRS = [(p, q) for p in POLYNOMIALS_GIVEN for q in (INTS[1], np.array([2.0, 1]))]
GRID = np.linspace(-1, 2, 9)
WAVES = (np.sin(GRID), np.stack([np.sin(GRID), np.cos(GRID)], 1))
TALL = (MATRIX**1.5 + np.eye(3, 4)).T
POLYNOMIALS: list[Row] = [
    *[row(f"np.poly{n}", given(*PAIRS), rtol=64, signed_zeros=False) for n in ("add", "sub", "mul", "div")],
    row("np.polyval", given(*[(p, x) for p in POLYNOMIALS_GIVEN for x in (V, 2, INTS, 1.5)]), rtol=64),
    row("np.polyder", given(*[(p, m) for p in (*POLYNOMIALS_GIVEN, S) for m in (0, 1, 2, 7, -1)])),
    row(
        "np.polyint",
        given(
            *[(p, m) for p in POLYNOMIALS_GIVEN for m in (0, 1, 2, 7, -1)],
            *[(p, 2, k) for p in POLYNOMIALS_GIVEN for k in ([1, 2], 3, [1, 2, 3])],
            (S, 1),
        ),
        rtol=64,
    ),
    row("np.poly", given(*[(p,) for p in POLYNOMIALS_GIVEN], (MATRIX[:2, :2],), (CUBE,)), rtol=2000),
    row(
        "np.roots",
        given(
            (V[:3],),
            (INTS[1],),
            (np.array([1.0, -3, 2, 0, 0]),),
            (np.zeros(2),),
            (np.array([0, 0, 2, 1.0]),),
            (X,),
        ),
        rtol=200,
        signed_zeros=False,
    ),
    row(
        "np.polyfit",
        given(
            *[
                (GRID, y, 2, o)
                for y in WAVES
                for o in ({}, {"cov": True}, {"cov": "unscaled"}, {"w": np.arange(1, 10)}, {"rcond": 1e-3})
            ],
            (GRID, WAVES[0], -1),
            (GRID, WAVES[0][:3], 1),
            (X, WAVES[0], 1),
        ),
        rtol=20000,
    ),
    row(
        "np.linalg.lstsq",
        given(
            *[
                (a, b, o)
                for a, b in ((TALL, V[:4]), (TALL.T, V[:3]), (TALL, MATRIX.T), (INTS, V[:2]), (X, V))
                for o in ({}, {"rcond": 0.25})
            ]
        ),
        rtol=20000,
    ),
]

PADDED = (V, INTS, CUBE, SMALL[0], SMALL[2], np.array([7.0]), INTS / 2)
MODES = (
    "edge",
    "wrap",
    "reflect",
    "symmetric",
    "maximum",
    "minimum",
    "mean",
    "median",
    "linear_ramp",
    "constant",
    "zz",
)
WIDTHS = (1, ((1, 2),), 3, 0)
PADDINGS: list[Row] = [
    row(
        "np.pad", options(*[(w, m) for m in MODES for w in WIDTHS], arrays=PADDED), remark=" (modes)", rtol=64
    ),
    row(
        "np.pad",
        options(
            *[
                (w, m, {"reflect_type": t})
                for t in ("odd", "even")
                for m in ("reflect", "symmetric")
                for w in (1, 5, ((2, 9),))
            ],
            arrays=PADDED,
        ),
        remark=" (reflect_type)",
        rtol=64,
    ),
    row(
        "np.pad",
        options(
            *[
                (2, m, {"stat_length": n})
                for m in ("maximum", "mean", "median", "minimum")
                for n in (2, ((1, 2),), 0)
            ],
            arrays=PADDED,
        ),
        EMPTY_MEAN,
        remark=" (stat_length)",
        rtol=64,
    ),
    row(
        "np.pad",
        options(
            (2, "linear_ramp", {"end_values": (3, -4)}),
            (3, "constant", {"constant_values": (1, 2)}),
            (2, "constant", {"constant_values": ((1, 2),)}),
            (2, {"constant_values": 1.5}),
            (2, {"foo": 1}),
            (-1,),
            (1.5,),
            ({0: 1}, "constant"),
            ({0: (1, 2)}, "edge"),
            arrays=(*PADDED, X, S),
        ),
        remark=" (values)",
        rtol=64,
    ),
]

ROWS = [*QUANTILES, *DIFFERENCES, *CHOICES, *STATISTICS, *POLYNOMIALS, *PADDINGS]
