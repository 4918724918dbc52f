"""Shapes under jittape's names: see `numpy_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

import jittape as jt
from numpy_protocol_samples import AXES, BOOLS, COMPLEX, CUBE, INTS, NO_INDEX, SEVERAL, E, S, V, X, along, per
from numpy_rows import BELOW, BOOL_AXIS, WHOLE, Row
from numpy_samples import given, together, unary
from numpy_table import checked


def ensured(x: Any, shape: Any) -> Any:
    """`x`, if it has the shape."""
    return checked(
        x.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, x.shape, strict=True)), x
    )


def squeezed(x: Any, axis: Any = None) -> Any:
    """NumPy's, but an empty list is the default, and a scalar has no axis."""
    checked(not isinstance(axis, int) or x.ndim, x)
    return np.squeeze(x, None if axis in ([], ()) else tuple(axis) if isinstance(axis, list) else axis)


def sliced(x: Any, begin: Any, size: Any) -> Any:
    """The part from `begin` on."""
    checked(x.ndim == len(begin) == len(size), x)
    ends = [n if s == -1 else b + s for n, b, s in zip(x.shape, begin, size, strict=True)]
    checked(all(0 <= b <= e <= n for b, e, n in zip(begin, ends, x.shape, strict=True)), x)
    return x[tuple(slice(b, e) for b, e in zip(begin, ends, strict=True))]


def split(x: Any, sizes: Any, axis: int = 0) -> Any:
    """By a number of parts or by their sizes, one of which may be what is left."""
    if isinstance(sizes, int):
        return np.split(x, sizes, axis)
    rest = x.shape[axis] - sum(s for s in sizes if s != -1)
    sizes = [rest if s == -1 else s for s in sizes]
    checked(sum(sizes) == x.shape[axis] and min(sizes, default=0) >= 0, x)
    return np.split(x, np.cumsum(sizes)[:-1], axis) if sizes else []


def unstacked(x: Any, num: Any = None, axis: int = 0) -> Any:
    """The parts along an axis."""
    return checked(num in (None, x.shape[axis]), [np.take(x, i, axis) for i in range(x.shape[axis])])


def rolled(x: Any, shift: Any, axis: Any) -> Any:
    """NumPy's, with as many shifts as axes."""
    counts = [len(v) if isinstance(v, (list, tuple)) else 0 for v in (shift, axis)]
    checked(counts[0] == counts[1] or not counts[0], x)
    return np.roll(x, shift, axis)


def tiled(x: Any, multiples: Any) -> Any:
    """NumPy's, with a number for each dimension."""
    return checked(np.size(multiples) == x.ndim, np.tile(x, multiples))


def repeated(x: Any, repeats: Any, axis: Any) -> Any:
    """NumPy's, but a scalar has no axis."""
    return checked(x.ndim or axis is None, np.repeat(x, repeats, axis))


def padded(x: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0) -> Any:
    """NumPy's, with a pair for each dimension."""
    checked(np.shape(paddings) == (x.ndim, 2) and mode in ("CONSTANT", "REFLECT", "SYMMETRIC"), x)
    limit = {"REFLECT": 1, "SYMMETRIC": 0}.get(mode)
    checked(limit is None or all(max(p) <= n - limit for p, n in zip(paddings, x.shape, strict=True)), x)
    options = {"constant_values": constant_values} if mode == "CONSTANT" else {}
    return np.pad(x, paddings, mode.lower(), **options)


def transposed(x: Any, perm: Any = None, conjugate: Any = False) -> Any:
    """NumPy's, also with the conjugate."""
    result = np.transpose(x, perm)
    return np.conj(result) if conjugate and x.dtype.kind == "c" else result


def concat(values: Any, axis: Any) -> Any:
    """NumPy's, along one axis."""
    return checked(axis is not None, np.concatenate(values, axis))


ONES = np.ones((1, 3, 1))
LISTS = ([X, X], [X, INTS], [BOOLS, INTS], [X, V], [V, V], [S, S], [E, X], [CUBE], [], [COMPLEX, X])
JOINED = given(*[(values, a) for values in LISTS for a in (0, 1, -1, 2, -3, True, 1.0, None)])
PARTS = (1, 2, 3, 0, -1, [1, -1], [2, 1], [1, 1, 1], [3, -1], [], [1], 1.5, "a")
PADDINGS = (
    [[0, 0], [0, 0]],
    [[1, 2], [0, 1]],
    [[1, 1]],
    [[-1, 0], [0, 0]],
    [[1, 1], [2, 2]],
    [[5, 0], [0, 0]],
    1,
    [[1.5, 1], [1, 1]],
)
SHAPES = ((3, 2), -1, [-1, 2], [7], [-2, 3], [0], [0, -1], [], [2, 3.0], "a", [-1, -1])

ROWS: list[Row] = [
    Row("jt.reshape", jt.reshape, np.reshape, per(*[(s,) for s in SHAPES]), (BELOW,)),
    Row("jt.ensure_shape", jt.ensure_shape, ensured, per(((2, 3),), ([None, 3],), ((2,),), ([3, 2],), ([],))),
    Row(
        "jt.squeeze",
        jt.squeeze,
        squeezed,
        along(ONES, np.ones(()), np.ones(1), X, axes=(*AXES, (0, 2), [0], [])),
    ),
    Row(
        "jt.expand_dims",
        jt.expand_dims,
        np.expand_dims,
        per(0, 1, -1, -2, 3, -4, ([0, 1],), True, 1.0, None),
        (BOOL_AXIS,),
    ),
    Row(
        "jt.broadcast_to",
        jt.broadcast_to,
        np.broadcast_to,
        per(((2, 3),), ([2, 2, 3],), 3, ((2, 6),), ([],), ([0, 3],), ([-1, 3],), 2.0),
    ),
    Row(
        "jt.transpose",
        jt.transpose,
        transposed,
        per(
            {},
            None,
            ([1, 0],),
            ([1, 1],),
            ([-1, 0],),
            ([0],),
            ([2, 0, 1],),
            ([True, False],),
            {"conjugate": True},
        ),
    ),
    Row(
        "jt.linalg.matrix_transpose",
        jt.linalg.matrix_transpose,
        np.matrix_transpose,
        together(unary(), given(*SEVERAL)),
    ),
    Row(
        "jt.linalg.adjoint",
        jt.linalg.adjoint,
        lambda x: np.matrix_transpose(np.conj(x) if x.dtype.kind == "c" else x),
        together(unary(), given(*SEVERAL)),
    ),
    Row(
        "jt.reverse",
        jt.reverse,
        np.flip,
        per(0, 1, -1, 2, -3, ((0, 1),), ((0, 0),), True, 1.0, None),
        (BOOL_AXIS,),
    ),
    Row(
        "jt.roll",
        jt.roll,
        rolled,
        per(
            (1, 0),
            (-7, 1),
            (1, 2),
            (1, None),
            ([1, 2], [0, 1]),
            ([1, 2], 0),
            (True, 0),
            (1, True),
            (1.5, 0),
            ("a", 0),
            (2**40, 0),
        ),
        (BOOL_AXIS, WHOLE),
    ),
    Row(
        "jt.tile",
        jt.tile,
        tiled,
        per(2, ([2, 3],), ([2, 1, 2],), ([0, 2],), ([-1, 2],), ([1.5, 1],), ([],)),
        (NO_INDEX,),
    ),
    Row(
        "jt.repeat",
        jt.repeat,
        repeated,
        per(
            (2, 0),
            (0, 1),
            (-1, 0),
            (2, None),
            (2, 2),
            ([1, 2], 0),
            ([1, 2, 3], 1),
            ([1, 2], 1),
            ([1, -1], 0),
            (1.5, 0),
            (2, True),
        ),
        (WHOLE, NO_INDEX),
    ),
    Row(
        "jt.pad",
        jt.pad,
        padded,
        per(
            *PADDINGS,
            *[(p, m) for p in PADDINGS[:6] for m in ("REFLECT", "SYMMETRIC", "EDGE")],
            ([[1, 1], [1, 1]], "CONSTANT", 3),
            ([[1, 1], [1, 1]], "CONSTANT", 2.5),
        ),
    ),
    Row("jt.concat", jt.concat, concat, JOINED),
    Row(
        "jt.stack",
        jt.stack,
        lambda v, axis: checked(axis is not None, np.stack(v, axis)),
        JOINED,
        (BOOL_AXIS,),
    ),
    Row(
        "jt.unstack",
        jt.unstack,
        unstacked,
        per({}, (None, 1), (2,), (3,), (None, -1), (None, 2), (None, 1.0)),
    ),
    Row("jt.split", jt.split, split, per(*[(k, {"axis": a}) for k in PARTS for a in (0, 1, -1, 2)])),
    Row(
        "jt.slice",
        jt.slice,
        sliced,
        per(
            ([0, 1], [1, 2]),
            ([0, 1], [-1, -1]),
            ([0], [1]),
            ([1, 0], [2, 1]),
            ([-1, 0], [1, 1]),
            ([2, 3], [0, 0]),
            ([0.5, 0], [1, 1]),
            ([], []),
        ),
    ),
    Row(
        "jt.meshgrid",
        jt.meshgrid,
        np.meshgrid,
        given(
            (V, V),
            (V,),
            (S, V),
            (X, V),
            (V, INTS[0], X[0]),
            (V, V, {"indexing": "ij"}),
            (V, V, {"indexing": "zz"}),
            (np.zeros(0), V),
        ),
    ),
    Row("jt.identity_n", jt.identity_n, list, given(([X, INTS],), ([S],))),
]
