"""``numpy.linalg`` on tensors: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

from numpy_protocol_samples import BOOLS, COMPLEX, CUBE, INTS, E, S, V, X, row
from numpy_rows import Deviation, Row
from numpy_samples import given, numbers

REGULAR = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]])
"""A symmetric, positive definite matrix."""
STACK = np.stack([REGULAR, REGULAR + 1, 2 * REGULAR])
HERMITIAN = np.array([[3.0, 1 - 1j], [1 + 1j, 2.0]])
SQUARES = (
    REGULAR,
    REGULAR + np.triu(REGULAR, 1),
    STACK,
    STACK.astype("float32"),
    HERMITIAN,
    np.array([[2, 1], [1, 3]]),
    np.array([[2, 1], [1, 3]], "int8"),
    np.eye(2, dtype=bool),
    np.zeros((0, 3, 3)),
)
OTHERS = (V, S, E, X, CUBE, np.ones((2, 2), np.float16))
RECTANGLES = (X, CUBE, INTS, COMPLEX, BOOLS, REGULAR, X.T.copy(), X.astype("float32"), np.zeros((2, 0, 3)))
SINGULAR = np.ones((2, 2))
ROTATIONS = np.array([[[0.0, 1.0], [-1.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]]])
"""A matrix with complex eigenvalues, and one with real ones."""

NO_RAW_QR = Deviation("not a tensor of factors", "mode must be")
INTEGER_LIMIT = Deviation(
    "NumPy asks integers for a resolution", takes=lambda a, rtol=0: a.dtype.kind in "bi"
)


def each(arrays: Any, *options: Any) -> Any:
    """Each of the `arrays` with each of the `options`, dicts or tuples of arguments."""
    return given(
        *[(a, *(o if isinstance(o, tuple) else (o,))) for a in arrays for o in (options or ((),))],
    )


def right_sides(a: Any) -> list[Any]:
    """Right-hand sides of systems with the matrices `a`."""
    rng = np.random.default_rng(3)
    n = a.shape[-1]
    return [rng.normal(size=n), rng.normal(size=(*a.shape[:-2], n, 2)), rng.normal(size=(n, 1))]


ROWS: list[Row] = [
    row("np.linalg.cholesky", each((*SQUARES, *OTHERS, -REGULAR), {}, {"upper": True}), rtol=64),
    *[
        row(f"np.linalg.{name}", each((*SQUARES, *OTHERS)), rtol=256, signed_zeros=False)
        for name in ("inv", "det", "slogdet")
    ],
    row("np.linalg.inv", given((SINGULAR,)), remark=" (singular)"),
    row(
        "np.linalg.solve",
        given(
            *[(a, b) for a in SQUARES[:-3] for b in right_sides(a)],
            (SINGULAR, V[:2]),
            (X, V[:2]),
            (REGULAR, V),
        ),
        rtol=256,
    ),
    row("np.linalg.eigh", each((*SQUARES, *OTHERS), {}, {"UPLO": "U"}, {"UPLO": "x"}), rtol=64),
    row("np.linalg.eigvalsh", each((*SQUARES, *OTHERS), {}, {"UPLO": "U"}, {"UPLO": "x"}), rtol=64),
    *[row(f"np.linalg.{name}", each((*SQUARES, ROTATIONS, *OTHERS)), rtol=64) for name in ("eig", "eigvals")],
    row(
        "np.linalg.svd",
        each((REGULAR, HERMITIAN, STACK), (), (False,), (True, False), {"compute_uv": False}),
        rtol=1024,
    ),
    row(
        "np.linalg.svd",
        each((*RECTANGLES, V, S, OTHERS[-1]), (False,)),
        remark=" (reduced)",
        rtol=1024,
    ),
    row(
        "np.linalg.svd",
        each(
            (HERMITIAN, np.diag([1.0, -3.0, 2.0]) + 0.1),
            {"hermitian": True},
            {"hermitian": True, "compute_uv": False},
        ),
        remark=" (hermitian)",
        rtol=1024,
    ),
    row("np.linalg.svdvals", each((*RECTANGLES, V, S)), rtol=1024),
    row("np.linalg.qr", each((*RECTANGLES, V, S), (), ("r",), ("complete",)), rtol=1024, signed_zeros=False),
    row("np.linalg.qr", given((X, "raw"), (X, "x")), NO_RAW_QR, remark=" (modes)"),
    row(
        "np.linalg.pinv",
        each(
            (*RECTANGLES, *SQUARES[:5], V, S),
            {},
            (0.5,),
            {"rtol": 0.1},
            {"rtol": None},
            {"rcond": 0.1, "rtol": 0.1},
        ),
        INTEGER_LIMIT,
        rtol=4096,
        signed_zeros=False,
    ),
    row(
        "np.linalg.matrix_rank",
        each((*RECTANGLES, *SQUARES, V, S, np.zeros(3)), (), (0.5,), {"tol": 2.0}),
    ),
    row(
        "np.linalg.pinv",
        given(
            *[(a, {"hermitian": True}) for a in SQUARES[:5]],
            (REGULAR + 1j * STACK[0, 0], {"hermitian": True}),
        ),
        remark=" (hermitian)",
        rtol=4096,
        signed_zeros=False,
    ),
    row(
        "np.linalg.matrix_rank",
        given(*[(a, {"hermitian": True}) for a in SQUARES]),
        remark=" (hermitian)",
    ),
    row(
        "np.linalg.matrix_power",
        given(*[(a, n) for a in (*SQUARES, *OTHERS[:-1]) for n in (-2, -1, 0, 1, 2, 5)], (REGULAR, 1.5)),
        rtol=1024,
        signed_zeros=False,
    ),
    row(
        "np.linalg.multi_dot",
        given(([X, REGULAR, X.T.copy()],), ([X[0], REGULAR],), ([INTS, REGULAR],), ([X],), ([X, X],)),
        rtol=64,
        signed_zeros=False,
    ),
    row(
        "np.linalg.cond",
        each(
            (REGULAR, STACK, HERMITIAN, V, E), *[{"p": p} for p in (None, 2, -2, "fro", 1, -1, np.inf, "x")]
        ),
        rtol=256,
    ),
    row(
        "np.linalg.matrix_norm",
        each(
            (X, CUBE, INTS, COMPLEX, V),
            *[{"ord": o, "keepdims": k} for o in ("fro", "nuc", 1, -2) for k in (0, 1)],
        ),
        rtol=64,
    ),
    row(
        "np.linalg.vector_norm",
        each(
            (X, CUBE, INTS, COMPLEX, V),
            *[{"ord": o, "axis": a} for o in (0, 1, 2, 3, -np.inf) for a in (None, 0, (0, 1))],
        ),
        rtol=64,
    ),
    row(
        "np.linalg.cross",
        given((X, X[::-1].copy()), (X, X[0]), (X.T.copy(), X.T[::-1].copy(), {"axis": 0}), (V, V)),
        signed_zeros=False,
    ),
    row(
        "np.linalg.vecdot",
        given((X, X), (X, X[0]), (COMPLEX, X), (X, X, {"axis": 0}), (X, V)),
        rtol=64,
        signed_zeros=False,
    ),
    row(
        "np.linalg.tensorinv",
        given((np.eye(6).reshape(2, 3, 6),), (np.eye(6).reshape(6, 2, 3), {"ind": 1}), (X,)),
        signed_zeros=False,
    ),
    row(
        "np.linalg.tensorsolve",
        given((np.eye(6).reshape(2, 3, 6) * 2, X), (np.eye(6).reshape(2, 3, 6) * 2, INTS), (X, V)),
        signed_zeros=False,
    ),
    row("np.kron", given(*[(p, q) for p in (X, V, S, INTS, BOOLS, COMPLEX) for q in (X, V, CUBE, BOOLS)])),
    row(
        "np.vander",
        each(
            (V, numbers("int8", (3,)), BOOLS[0], COMPLEX[0], X, numbers("float32", (3,))),
            (),
            (2,),
            (3, True),
            (0,),
        ),
    ),
]
