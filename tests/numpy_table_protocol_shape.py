"""NumPy's own functions that change shapes and move elements, on tensors: see `numpy_table_protocol`."""

from __future__ import annotations

import numpy as np

from numpy_protocol_samples import (
    AXES,
    BOOLS,
    COMPLEX,
    CUBE,
    INTS,
    NO_ARGUMENT,
    NO_INDEX,
    SEVERAL,
    E,
    S,
    V,
    X,
    along,
    per,
    row,
)
from numpy_rows import BELOW, BOOL_AXIS, WHOLE, Deviation, Row
from numpy_samples import PAIRED, each, edges, given, numbers, together, unary

JOINED = given(
    ([X, X],), ((X, X),), ([X, INTS],), ([BOOLS, INTS],), ([X, V],), ([V, V],), ([S, S],), ([CUBE, CUBE],), ([E, X],),
    ([X],), ([],), ([X, S],), (X,), (CUBE,), (S,), ([X, np.ones((2, 2))],), ([COMPLEX, X],),
    ([X.astype("float16"), INTS],), ([numbers("float32"), [[1.5, 2.0, 3.0], [0, 1, 2]]],),
)  # fmt: skip
JOINED_ALONG = given(
    *[
        ([p, q], {"axis": a})
        for p, q in ((X, X), (CUBE, CUBE), (V, V), (S, S), (X, np.ones((2, 1))), (E, X))
        for a in AXES
    ],
    *[([X, X], {"dtype": d}) for d in ("int32", "float32", "complex64")],
    ([INTS, INTS], {"dtype": "int32"}),
    ([X, X], {"axis": 0, "dtype": "int32", "casting": "unsafe"}),
)
SECTIONS = (1, 2, 3, 0, -1, [1], [1, 2], [2, 1], [0], [-1], [7], [], "a")
TO_INT = Deviation(
    "a float that no integer can hold is cast alike on every machine; NumPy's depends on it",
    takes=lambda a, *_: a.dtype.kind in "iu",
)
PLACES = (
    0,
    1,
    -1,
    5,
    -7,
    np.array([0, 1]),
    np.array([[0, -1]]),
    [0, 1],
    [],
    [1.5],
    np.array([7]),
    np.array([-2], "int8"),
    "a",
)
ENDS = (
    (V, V + 3),
    (S, 5),
    (np.array(-3), 4),
    (np.array(-2.5), 2.5),
    (np.array(1j), 2),
    (X, V),
    (X, S),
    (np.array(0, "float32"), 0.1),
    (np.array(0, "float16"), 1),
    (np.array(True), 2),
    (S, 0.1),
    (V, [1.0] * 5),
)


ROWS: list[Row] = [
    row(
        "np.reshape",
        per(
            (3, 2),
            -1,
            ((-1, 2),),
            (7,),
            ((-2, 3),),
            ((0,),),
            ((0, -1),),
            ((),),
            ((2, 3.0),),
            "a",
            {"shape": (6, 1)},
            ((-1,), {"order": "F"}),
        ),
        BELOW,
    ),
    row("np.ravel", unary()),
    row("np.swapaxes", per((0, 1), (0, -1), (-1, -2), (0, 2), (-3, 0), (True, 0), (0.0, 1)), BOOL_AXIS),
    row(
        "np.moveaxis",
        per(
            (0, 1),
            (0, -1),
            (-1, 0),
            (2, 0),
            ([0, 1], [1, 0]),
            ([0, 1], [0, 0]),
            ([0, 1], 0),
            (True, 0),
            (0.0, 1),
        ),
        BOOL_AXIS,
    ),
    row(
        "np.transpose",
        per(
            {},
            None,
            ((1, 0),),
            ((1, 1),),
            ((-1, 0),),
            ((0,),),
            ((2, 0, 1),),
            ((2, 0),),
            ((True, False),),
            ((),),
            0,
        ),
    ),
    *[
        row(n, together(unary(), given(CUBE, V)))
        for n in ("np.matrix_transpose", "np.linalg.matrix_transpose")
    ],
    row("np.squeeze", along(np.ones((1, 3, 1)), np.ones(()), np.ones(1), X, axes=(*AXES, (0, 2), [0], []))),
    row(
        "np.expand_dims",
        per(0, 1, -1, -2, 3, -4, ((0, 1),), ((0, 0),), ((),), True, 1.0, None, [0]),
        BOOL_AXIS,
    ),
    row(
        "np.broadcast_to",
        per(((2, 3),), ((2, 2, 3),), 3, ((2, 6),), ((),), ((0, 3),), ((-1, 3),), 2.0, ((1, 5),), 5),
    ),
    row(
        "np.broadcast_arrays",
        given((X, V[:3]), (X, V), (X, S), (S, S), (X,), (E, X[:1]), (X, 2.0), (X, [1, 2, 3])),
    ),
    *[row(f"np.atleast_{n}d", given(X, CUBE, V, S, E, (X, V), (S, S, S), (X, 2.0))) for n in (1, 2, 3)],
    *[row(f"np.{n}", JOINED) for n in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack")],
    row("np.concatenate", JOINED_ALONG, NO_ARGUMENT, remark=" (axis)"),
    row("np.stack", JOINED_ALONG, NO_ARGUMENT, BOOL_AXIS, remark=" (axis)"),
    row(
        "np.split",
        given(
            *[(q, k, {"axis": a}) for q in (X, V, S, E, CUBE) for k in SECTIONS for a in (0, 1, -1, 2)],
            (CUBE, 3, {"axis": True}),
        ),
        BOOL_AXIS,
    ),
    row(
        "np.array_split",
        given(
            *[(q, k, {"axis": a}) for q in (X, V, S, E, CUBE) for k in (*SECTIONS, 5) for a in (0, 1, -1, 2)]
        ),
    ),
    row("np.flip", together(unary("bif"), along(X, CUBE, S, E)), BOOL_AXIS),
    *[row(f"np.{n}", given(*SEVERAL)) for n in ("fliplr", "flipud")],
    row(
        "np.roll",
        per(
            1,
            -1,
            7,
            (1, 0),
            (1, 2),
            (1, None),
            ((1, 2), (0, 1)),
            ((1, 2), 0),
            (1, (0, 1)),
            ((1, 2), (0, 0)),
            ((1, 2, 3), (0, 1)),
            True,
            (True, 0),
            (1, True),
            (2**40, 0),
            "a",
            ((1, 2),),
        ),
        BOOL_AXIS,
    ),
    row("np.tile", per(2, ((2, 3),), ((2, 1, 2),), 0, ((),), ((0, 2),), -1, True, 1.5, ([2],))),
    row(
        "np.repeat",
        per(
            2,
            0,
            -1,
            (2, 0),
            (2, 1),
            (2, 2),
            ([1, 2], 0),
            ([1, 2, 3], 1),
            ([1, 2], 1),
            ([1, -1], 0),
            (1.5, 0),
            (2, -3),
            ([2], 0),
            (2, True),
            ("a", 0),
        ),
        WHOLE,
        NO_INDEX,
    ),
    row(
        "np.pad",
        per(
            0,
            1,
            (1, "reflect"),
            (2, "symmetric"),
            (((1, 2), (0, 1)),),
            ((1, 2),),
            ([[1], [2]],),
            -1,
            1.5,
            (1, "edge"),
            (1, "abc"),
            (5, "reflect"),
            (1, {"constant_values": 3}),
            (1, {"constant_values": 2.5}),
            (1, {"constant_values": (1, 2)}),
            (((1, 1),) * 3,),
        ),
    ),
    row(
        "np.diff",
        together(
            unary(),
            per(
                1,
                2,
                4,
                0,
                -1,
                (1, 0),
                (1, -1),
                (1, 2),
                (1, -3),
                (1, True),
                1.5,
                True,
                (1, None),
                (1, 1.0),
                "a",
            ),
        ),
        BOOL_AXIS,
    ),
    row("np.diag", together(unary(), per(0, 1, -1, 5, -5, True, 1.5, "a"))),
    row(
        "np.diagonal",
        per(0, 1, -1, 5, -5, (0, 1, 0), (0, 0, 0), (0, 0, 2), (0, -1, -2), (0, -3, 0), 1.5, "a"),
    ),
    row("np.linalg.diagonal", per({}, {"offset": 1}, {"offset": -9}, {"offset": 1.5})),
    *[
        row(f"np.{n}", together(unary(), per(0, 1, -1, 5, -5, True, 1.5, "a")), WHOLE)
        for n in ("tril", "triu")
    ],
    row(
        "np.trace",
        together(
            each("biufc", (), (1,)),
            per(
                0,
                1,
                -1,
                5,
                (0, 1, 0),
                (0, 0, 0),
                (0, 0, 2),
                (0, -1, -2),
                {"dtype": "float32"},
                {"dtype": "int32"},
                1.5,
            ),
        ),
    ),
    row("np.linalg.trace", per({}, {"offset": 1}, {"offset": -9}, {"dtype": "float32"})),
    row(
        "np.meshgrid",
        given(
            (V, V),
            (V,),
            (S, V),
            (X, V),
            (V, INTS[0], X[0]),
            (V, V, {"indexing": "ij"}),
            (V, V, {"indexing": "zz"}),
            (V, V, {"sparse": True}),
            (np.zeros(0), V),
        ),
    ),
    row(
        "np.take",
        together(
            given(
                *[(q, k, {"axis": a}) for q in (X, V, CUBE, E) for k in PLACES for a in (None, 0, -1, 2)],
                *[(X, 7, {"mode": m}) for m in ("clip", "zz")],
            ),
            given(*[(edges(d), [0, 1]) for d in PAIRED]),
        ),
        WHOLE,
    ),
    row(
        "np.take_along_axis",
        given(
            *[
                (q, k, a)
                for q in (X, V, CUBE)
                for k in (
                    np.zeros((2, 3), int),
                    np.zeros((2, 1), int),
                    np.zeros(2, int),
                    np.full((2, 3), -1),
                    np.full((2, 3), 9),
                    np.zeros((2, 3)),
                    np.zeros((4, 3), int),
                )
                for a in (0, 1, -1, None, 2, True)
            ]
        ),
        BOOL_AXIS,
    ),
    *[
        row(
            f"np.{n}",
            together(
                unary(),
                per(
                    {"dtype": "int8"},
                    {"shape": (2,)},
                    {"shape": 3},
                    {"shape": (-1,)},
                    {"shape": ()},
                    {"dtype": "float32", "shape": (0,)},
                ),
            ),
        )
        for n in ("zeros_like", "ones_like")
    ],
    row(
        "np.full_like",
        together(
            each("biufc", (3,), (2.5,), (-1,), (300,), (2j,), (True,), (np.nan,)),
            per(
                (1, {"dtype": "int8"}),
                (300, {"dtype": "int8"}),
                np.ones(3),
                (np.ones((4, 4)),),
                (1, {"shape": (2,)}),
            ),
        ),
        TO_INT,
    ),
    row(
        "np.linspace",
        together(
            given(
                *[
                    (p, q, n, {"dtype": d})
                    for p, q in ENDS
                    for n in (0, 1, 2, 5)
                    for d in (None, int, "float32", "complex64")
                ],
                (S, 1, -1),
                (S, 1, 2.5),
                (S, 1, 5, False),
                (S, 1, 5, True, True),
                (X, X + 1, 3, {"axis": 1}),
                (X, X + 1, 3, {"axis": -1}),
                (X, X + 1, 3, {"axis": 3}),
                (np.array(np.inf), 1.0, 3),
                (np.array(1e308), -1e308, 3),
            )
        ),
    ),
]
