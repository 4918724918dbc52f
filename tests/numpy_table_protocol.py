"""NumPy's own functions on tensors: each must give what it gives for arrays. See `numpy_rows`."""

from __future__ import annotations

import numpy as np

from jittape.numpy_api.numpy_protocol import UFUNCS
from numpy_protocol_samples import (
    AXES,
    BOOLS,
    COMPLEX,
    CUBE,
    INTS,
    NO_ARGUMENT,
    SEVERAL,
    SQUARE,
    E,
    S,
    V,
    X,
    along,
    per,
    row,
)
from numpy_rows import BEFORE_NUMPY_2_5, BOOL_AXIS, Deviation, Row
from numpy_samples import PAIRED, binary, each, edges, given, numbers, reductions, together, unary

INTEGER_ZERO = Deviation(
    "NumPy leaves the reciprocal of the integer 0 undefined", takes=lambda x: x.dtype.kind in "iu"
)
BOOL_SUM = Deviation("a running truth value is no sum", r"dtype must be numeric")
NO_ZERO_SUM = Deviation(
    "the sum of the weights is not known when it is recorded: nan", takes=lambda a, **kw: True
)
MANY_AXES = Deviation("the number of axes must not be negative", "axes=-1 is too many")


NEXT_OF_EQUALS = Deviation(
    "of equal numbers the second, as in C; NumPy before 2.5 gives the first in float16",
    takes=lambda a, b: np.result_type(a, b) == np.float16,
)
ELEMENTWISE: dict[str, tuple[Deviation, ...]] = {
    "reciprocal": (INTEGER_ZERO,),
    "nextafter": (NEXT_OF_EQUALS,) if BEFORE_NUMPY_2_5 else (),
}
"""Deviations of ufuncs; most have none."""

MATRICES = (
    X,
    X.T.copy(),
    SQUARE,
    V,
    V[:3],
    S,
    E,
    CUBE,
    np.ones((2, 4, 3)),
    INTS.T.copy(),
    BOOLS,
    COMPLEX.T.copy(),
    np.zeros((3, 0)),
    X.T.astype("float32"),
)
PRODUCTS = given(
    *[(p, q) for p in MATRICES for q in MATRICES],
    (numbers("float32", (3,)), [1.5, 2, 3]),
    (numbers("float32"), 2.5),
)
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, 0, 3, 0.5, -3, np.inf, -np.inf, "abc")
NORMS = together(
    given(*[(a, o, ax) for a in (X, COMPLEX) for o in ORDERS for ax in (None, 0, (0, 1), (1, 0), (-1,))]),
    given(
        *[(X, o, ax) for o in (None, 1, 2, np.inf) for ax in (2, (0, 2), (0, 0), (0, 1, 2), (), [0, 1], "a")]
    ),
    given(
        *[
            (CUBE, o, ax, k)
            for o in (None, 1, -np.inf, 2, "nuc")
            for ax in (1, (0, 1), (2, 0), None)
            for k in (False, True)
        ]
    ),
    given(
        *[
            (a, o, ax)
            for a in (V, S, E, INTS, BOOLS, X.astype("float32"), edges("float64"))
            for o in (None, 1, 2, np.inf, -np.inf, "nuc", 0)
            for ax in (None, 0, 1, (0, 1))
        ]
    ),
)
LIMITS = (None, -1, 0, 2, 1.5, np.nan, np.array([0.0, 1, 2]), np.float32(1), np.ones((4, 2, 3)), "a")
REDUCING = {n: reductions() for n in ("sum", "prod", "mean", "max", "min", "all", "any", "var", "std", "ptp")}
SPREADS = each(
    "bifc",
    {"ddof": 1},
    {"ddof": 6},
    {"ddof": 7},
    {"axis": 0, "ddof": 1.5},
    {"dtype": "float32"},
    {"dtype": "int32"},
    {"axis": (0, -1), "ddof": 1},
    {"correction": 1},
    {"correction": 1, "ddof": 1},
    {"axis": [0]},
)
TOTALS = each("biufc", *[{"dtype": d} for d in ("int32", "float32", "bool", "complex128", "float16")])
ALONG = together(unary(), along(*SEVERAL))
PLACED = reductions("biufc", (None, 0, 1, -1, 2, -3, True, 1.0, (0, 1), ()))
WEIGHTED = given(
    (X, {"weights": np.ones((2, 3))}),
    (X, {"axis": 1, "weights": np.ones(3)}),
    (X, {"axis": 0, "weights": abs(X) + 1}),
    (INTS, {"weights": np.ones((2, 3), int)}),
    (X, {"weights": np.zeros((2, 3))}),
    (X, {"weights": [[1, 2, 3], [4, 5, 6]]}),
)


ROWS: list[Row] = [
    *[
        row(f"np.{u.__name__}", unary() if u.nin == 1 else binary(), *ELEMENTWISE.get(u.__name__, ()))
        for u in UFUNCS
        if u.signature is None
    ],
    row(
        "np.add",
        given(
            *[
                (X, p, {"dtype": d})
                for p in (1, 1.5, INTS, [1.5, 2, 3])
                for d in ("float32", "int32", "complex64", "float16")
            ],
            (numbers("float32"), [1.5, 2, 3]),
            (X, 1, {"casting": "no", "dtype": "float32"}),
            (X, 1, {"where": BOOLS}),
        ),
        NO_ARGUMENT,
        remark=" (dtype)",
    ),
    *[row(f"np.{n}", cases) for n, cases in REDUCING.items()],
    *[row(f"np.{n}", reductions("bf"), rtol=4) for n in ("amax", "amin")],
    *[
        row(f"np.{n}.reduce", reductions("bifc"))
        for n in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or")
    ],
    *[row(f"np.{n}", TOTALS, remark=" (dtype)", rtol=16) for n in ("sum", "prod", "mean")],
    *[row(f"np.{n}", SPREADS, remark=" (options)") for n in ("var", "std")],
    *[row(f"np.{n}", PLACED) for n in ("argmax", "argmin")],
    *[row(f"np.{n}", together(ALONG, TOTALS), BOOL_SUM, rtol=16) for n in ("cumsum", "cumprod")],
    row("np.average", together(along(X, INTS, BOOLS, CUBE), WEIGHTED), BOOL_AXIS, NO_ZERO_SUM),
    row("np.linalg.norm", NORMS, rtol=64),
    *[
        row(f"np.{n}", PRODUCTS, signed_zeros=False, rtol=64)
        for n in (
            "dot",
            "inner",
            "outer",
            "vdot",
            "matmul",
            "linalg.matmul",
            "linalg.outer",
            "tensordot",
            "linalg.tensordot",
        )
    ],
    row(
        "np.tensordot",
        given(
            *[
                (p, q, ax)
                for p in (X, SQUARE, CUBE, V)
                for q in (X, np.ones((3, 4, 2)))
                for ax in (
                    0,
                    1,
                    3,
                    -1,
                    ([0], [0]),
                    ([1, 0], [0, 1]),
                    ([0], [0, 1]),
                    (0, 1),
                    ([5], [0]),
                    (1,),
                    1.5,
                    ([0, 0], [0, 0]),
                )
            ]
        ),
        MANY_AXES,
        remark=" (axes)",
        signed_zeros=False,
    ),
    row(
        "np.einsum",
        given(
            ("ij,jk->ik", X, SQUARE),
            ("ij->ji", X),
            ("ii", SQUARE),
            ("ii->i", SQUARE),
            ("ij->", X),
            ("ij,ij", X, X),
            ("ij,kj", X, X),
            ("...j,jk", CUBE[..., :3], SQUARE),
            ("ij,jk", X, X),
            ("ij", V),
            ("ij->ijk", X),
            ("ij->ii", X),
            ("i i", SQUARE),
            ("IJ->JI", X),
            ("", S),
            (",", S, S),
            ("ij,jk,kl", X, SQUARE, SQUARE),
            ("...ij->...ji", CUBE),
            ("i,i", BOOLS[0], BOOLS[0]),
            ("ij->j", INTS),
            ("1j", X),
            ("ij->i.j", X),
            (X, [0, 1], [1, 0]),
            ("ij->ij", COMPLEX),
            ("i,i", numbers("float32", (3,)), [1, 2, 3]),
        ),
        signed_zeros=False,
        rtol=64,
    ),
    row(
        "np.where",
        together(
            given(
                *[
                    (q, p, z)
                    for q in (BOOLS, X, INTS)
                    for p in (X, 2, COMPLEX, V)
                    for z in (X, 0, 1.5, E, BOOLS, [1, 2, 3])
                ],
                (BOOLS,),
                (X,),
                (BOOLS, X),
            ),
            lambda: (((BOOLS, numbers(p), numbers(q)), {}) for p in PAIRED for q in PAIRED),
        ),
    ),
    row(
        "np.clip",
        together(
            given(
                *[
                    (edges(d), low, high)
                    for d in ("bool", "int8", "uint8", "int64", "float16", "float64")
                    for low, high in (
                        (None, None),
                        (-1, 1),
                        (0, None),
                        (None, 1),
                        (2, 1),
                        (1.5, 0),
                        (0, 300),
                        (0, np.nan),
                    )
                ],
                *[(X, low, high) for low in LIMITS for high in LIMITS],
            ),
            given(
                (X, {"min": 0}),
                (X, {"max": 0}),
                (X, {"a_min": 0, "a_max": 1}),
                (X, {"min": 1, "max": 0}),
                (COMPLEX, 0, 1),
            ),
        ),
        signed_zeros=False,
    ),
    *[
        row(
            f"np.{n}",
            together(
                unary(),
                each("biufc", *[(d,) for d in (0, 1, 2, -1, -2, True, 1.5, None, 400, 20)]),
                given(
                    (np.array([15, 25, -15, 127], "int8"), -1),
                    (np.array([0.285, 1.005, 2.675]), 2),
                    (edges("float64"), -1),
                ),
            ),
        )
        for n in ("round", "around")
    ],
    *[row(f"np.{n}", unary()) for n in ("copy", "real", "imag")],
    row("np.angle", together(unary(), each("fc", (True,)))),
    *[row(f"np.{n}", given(*SEVERAL)) for n in ("shape", "ndim")],
    row("np.size", per({}, *AXES), BOOL_AXIS),
    row("np.result_type", given((X, INTS), (INTS, "float32"), (X, 2j), (BOOLS, 1))),
    *[
        row(f"np.{n}", given(*SEVERAL))
        for n in ("argsort", "argwhere", "bincount", "count_nonzero", "flatnonzero", "nonzero", "histogram")
    ],
    *[
        row(f"np.{n}", given((X, X), (X, INTS), (X, V), (V, V + 1e-9)))
        for n in ("allclose", "array_equal", "array_equiv", "isclose")
    ],
    row("np.searchsorted", given((np.sort(V), X), (np.sort(V), 0.5), (X, 1))),
]
