"""The rows of shapes, indexing, creation and contractions, for the table in `primitive_table.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jittape.primitives.indexing import gather as ga
from jittape.primitives.indexing import getitem as ix
from jittape.primitives.indexing import masks
from jittape.primitives.indexing import repetition as ti
from jittape.primitives.indexing import scatter as sc
from jittape.primitives.indexing import strided as sd
from jittape.primitives.indexing.gather_ops import last_write_op
from jittape.primitives.linalg import einsum as es
from jittape.primitives.linalg import matmul as ct
from jittape.primitives.nn.layer_functions import embedding_lookup
from jittape.primitives.shape import creation as cr
from jittape.primitives.shape import indicators, reordering
from jittape.primitives.shape import joining as jo
from jittape.primitives.shape import reshaping as sh
from jittape.primitives.shape.views import recompute_after
from primitive_table import INF, NAN, Array, Row, Sampler, normal

CUBE = (2, 3, 4)
ROUNDING = 1e-13
"""Relative tolerance of sums of products, which may be added up in another order."""


def moved(name: str, function: Callable[..., Any], reference: Callable[..., Any], *edges: Array) -> Row:
    """Return a row for a function that moves the elements of a 2×3×4 array."""
    special = np.array([INF, -INF, NAN, -0.0] * 6).reshape(CUBE)
    return Row(name, function, normal(CUBE), reference, edges=((special,), *[(e,) for e in edges]))


EMPTY = np.zeros((0, 3, 4))

SHAPES = (
    moved("reshape", lambda x: sh.reshape(x, [4, -1]), lambda x: x.reshape(4, 6)),
    moved("reshape to nothing", lambda x: sh.reshape(x, -1), np.ravel, EMPTY, np.array(1.5)),
    moved(
        "expand_dims", lambda x: sh.expand_dims(x, -2), lambda x: np.expand_dims(x, -2), np.array([1.0, 2.0])
    ),
    moved(
        "expand_dims twice", lambda x: sh.expand_dims(x, [0, 2]), lambda x: np.expand_dims(x, (0, 2)), EMPTY
    ),
    moved("squeeze", lambda x: sh.squeeze(sh.expand_dims(x, 1)), np.squeeze, EMPTY, np.ones((1, 1))),
    moved(
        "broadcast_to", lambda x: sh.broadcast_to(x, (5, 2, 3, 4)), lambda x: np.broadcast_to(x, (5, *CUBE))
    ),
    Row(
        "broadcast_to ones",
        lambda x: sh.broadcast_to(x, CUBE),
        normal((3, 1)),
        lambda x: np.broadcast_to(x, CUBE),
        edges=((np.array(3.0),), (np.ones((1, 1, 1)),)),
    ),
    moved("transpose", sh.transpose, np.transpose, EMPTY, np.array(1.0)),
    moved(
        "transpose perm", lambda x: sh.transpose(x, [1, -1, 0]), lambda x: np.transpose(x, (1, 2, 0)), EMPTY
    ),
    moved("matrix_transpose", sh.matrix_transpose, lambda x: np.swapaxes(x, -1, -2), EMPTY),
    moved(
        "moveaxis",
        lambda x: reordering.moveaxis(x, [0, 1], [-1, 0]),
        lambda x: np.moveaxis(x, [0, 1], [-1, 0]),
    ),
    moved("reverse", lambda x: reordering.reverse(x, [0, -1]), lambda x: np.flip(x, (0, -1)), EMPTY),
    moved("reverse all", lambda x: reordering.reverse(x, None), np.flip, np.array(1.0)),
    moved(
        "roll", lambda x: reordering.roll(x, [1, -3], [0, 2]), lambda x: np.roll(x, (1, -3), (0, 2)), EMPTY
    ),
    moved("roll all", lambda x: reordering.roll(x, 5, None), lambda x: np.roll(x, 5), EMPTY),
    Row(
        "recompute",
        recompute_after,
        normal((3, 4), (3,)),
        lambda x, after: x,
        wrt=(0,),
        edges=((np.ones(3), np.zeros(0)),),
    ),
    moved("concat", lambda x: jo.concat([x, x, x], 1), lambda x: np.concatenate([x, x, x], 1), EMPTY),
    Row(
        "concat of several",
        lambda *operands: jo.concat(operands, 1),
        normal((3, 2), (3, 4), (3, 1)),
        lambda *operands: np.concatenate(operands, 1),
    ),
    moved("stack", lambda x: jo.stack([x, x], -1), lambda x: np.stack([x, x], -1), EMPTY, np.array(1.0)),
    moved("split", lambda x: jo.split(x, 2, -1)[1], lambda x: np.split(x, 2, -1)[1], EMPTY),
    moved("split sizes", lambda x: jo.split(x, [1, -1], 1)[1], lambda x: x[:, 1:], EMPTY),
    moved("unstack", lambda x: jo.unstack(x, axis=1)[2], lambda x: x[:, 2], EMPTY),
    moved(
        "meshgrid",
        lambda x: jo.meshgrid(x, x, indexing="ij")[1],
        lambda x: np.meshgrid(x, x, indexing="ij")[1],
    ),
    moved("tile", lambda x: ti.tile(x, [2, 1, 3]), lambda x: np.tile(x, (2, 1, 3)), EMPTY),
    moved("tile last", lambda x: ti.tile(x, [1, 1, 2]), lambda x: np.tile(x, 2), EMPTY),
    moved("repeat", lambda x: ti.repeat(x, 2, 1), lambda x: np.repeat(x, 2, 1), EMPTY),
    moved("repeat all", lambda x: ti.repeat(x, 3), lambda x: np.repeat(x, 3), EMPTY, np.array(1.0)),
    moved(
        "pad",
        lambda x: ti.pad(x, [[1, 2], [0, 0], [3, 0]]),
        lambda x: np.pad(x, [[1, 2], [0, 0], [3, 0]]),
        EMPTY,
    ),
    Row(
        "pad constant",
        lambda x, c: ti.pad(x, [[1, 2], [0, 0], [3, 0]], constant_values=c),
        normal(CUBE, ()),
        lambda x, c: np.pad(x, [[1, 2], [0, 0], [3, 0]], constant_values=c),
    ),
    moved(
        "pad reflect",
        lambda x: ti.pad(x, [[1, 1], [0, 2], [3, 0]], "REFLECT"),
        lambda x: np.pad(x, [[1, 1], [0, 2], [3, 0]], "reflect"),
    ),
    moved(
        "pad symmetric",
        lambda x: ti.pad(x, [[1, 2], [0, 2], [3, 4]], "symmetric"),
        lambda x: np.pad(x, [[1, 2], [0, 2], [3, 4]], "symmetric"),
    ),
)


# ---- indexing --------------------------------------------------------------------------------------------------------


def rows(*counts: int) -> Sampler:
    """Return a matrix of 5 rows and indices of the shape `counts` into them, with negative and repeated ones."""
    return lambda rng: (rng.standard_normal((5, 3)), rng.integers(-5, 5, counts))


def put(x: Array, key: Any, value: Any) -> Array:
    result = x.copy()
    result[key] = value
    return result


def added(x: Array, key: Any, value: Any) -> Array:
    result = x.copy()
    np.add.at(result, key, value)
    return result


def combined(x: Array, key: Array | tuple[Array, ...], value: Array, how: str) -> Array:
    result = x.copy()
    combine = {"mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}[how]
    combine.at(result, key, value)
    return result


def keyed() -> Iterator[Row]:
    """Return rows of getitem and setitem for keys whose parts are known."""
    keys: tuple[tuple[str, Any], ...] = (
        ("int", 1),
        ("negative int", -1),
        ("slice", slice(0, 1)),
        ("steps", (slice(None, None, -1), slice(2, None, -2))),
        ("ints and slices", (1, slice(1, 3), -1)),
        ("newaxis and ellipsis", (None, 0, Ellipsis, None)),
        ("empty slice", (slice(None), slice(2, 1))),
        ("all", Ellipsis),
    )
    for name, key in keys:
        yield moved(
            f"getitem {name}", lambda x, key=key: ix.getitem(x, key), lambda x, key=key: np.array(x[key])
        )
        yield Row(
            f"setitem {name}",
            lambda x, v, key=key: ix.setitem(x, key, v),
            lambda rng, key=key: (rng.standard_normal(CUBE), rng.standard_normal(np.zeros(CUBE)[key].shape)),
            lambda x, v, key=key: put(x, key, v),
        )
        yield Row(
            f"setitem {name}, a scalar",
            lambda x, v, key=key: ix.setitem(x, key, v),
            normal(CUBE, ()),
            lambda x, v, key=key: put(x, key, v),
        )


MASK = np.array([[True, False, True, True], [False, False, True, True]])


def scattered(values: Array, mask: Array) -> Array:
    """Return zeros with `values` where the mask is true."""
    result = np.zeros(mask.shape, values.dtype)
    result[mask] = values
    return result


def flat(indices: Array) -> tuple[Array, ...]:
    """Return an index of coordinates in the last dimension, in NumPy's form."""
    return tuple(np.moveaxis(indices, -1, 0))


def last_writes(*indices: Array) -> Array:
    """Return whether no later update writes to the same element of a 3×2 array."""
    places = np.ravel_multi_index(indices, (3, 2), mode="wrap").reshape(-1).tolist()
    return np.array([p not in places[n + 1 :] for n, p in enumerate(places)], bool).reshape(indices[0].shape)


NESTED: Sampler = lambda rng: (rng.standard_normal((5, 3)), rng.integers(-3, 3, (2, 4, 2)))  # noqa: E731
SCATTERED: Sampler = lambda rng: (  # noqa: E731
    rng.standard_normal((5, 3)),
    rng.integers(-3, 3, (2, 4, 2)),
    rng.standard_normal((2, 4)),
)

INDEXING = (
    *keyed(),
    Row(
        "getitem array",
        ix.getitem,
        rows(2, 4),
        lambda x, i: x[i],
        edges=((np.ones((5, 3)), np.zeros(0, int)),),
    ),
    Row("getitem 0-d array", ix.getitem, rows(), lambda x, i: np.array(x[i])),
    Row(
        "getitem array last",
        lambda x, i: ix.getitem(x, (Ellipsis, i)),
        lambda r: (r.standard_normal((2, 5)), np.array([4, -5])),
        lambda x, i: x[..., i],
    ),
    Row(
        "getitem arrays apart",
        lambda x, i, j: ix.getitem(x, (slice(1, None), i, None, j)),
        lambda rng: (rng.standard_normal((3, 4, 5)), rng.integers(-4, 4, (2, 1)), rng.integers(-5, 5, 3)),
        lambda x, i, j: x[1:, i, None, j],
    ),
    Row(
        "setitem array",
        ix.setitem,
        lambda rng: (rng.standard_normal((5, 3)), np.array([1, -1, 1, 0]), rng.standard_normal((4, 3))),
        put,
    ),
    Row(
        "setitem arrays apart",
        lambda x, i, v: ix.setitem(x, (i, slice(None, None, 2), i), v),
        lambda rng: (rng.standard_normal((4, 3, 4)), np.array([1, -1, 1]), rng.standard_normal((3, 2))),
        lambda x, i, v: put(x, (i, slice(None, None, 2), i), v),
    ),
    Row(
        "setitem mask, a scalar",
        ix.setitem,
        lambda rng: (
            rng.standard_normal((5, 3)),
            rng.integers(0, 2, 5).astype(bool),
            rng.standard_normal(()),
        ),
        put,
    ),
    Row(
        "masked",
        lambda x, mask: masks.masked_op.bind(x, mask, axis=0, count=5),
        lambda rng: (rng.standard_normal((2, 4, 3)), MASK),
        lambda x, mask: x[mask],
    ),
    Row(
        "unmasked",
        lambda v, mask: masks.unmasked_op.bind(v, mask, axis=1),
        lambda rng: (rng.standard_normal((3, 5)), MASK),
        lambda v, mask: np.stack([scattered(one, mask) for one in v]),
    ),
    Row(
        "coordinates",
        lambda mask: masks.coordinates_op.bind(mask, count=5),
        lambda rng: (MASK,),
        np.argwhere,
        wrt=(),
    ),
    Row("gather", ga.gather, rows(2, 4), lambda x, i: x[i]),
    Row(
        "embedding_lookup",
        embedding_lookup,
        lambda rng: (rng.standard_normal((5, 3)), rng.integers(0, 5, (2, 4))),
        lambda x, i: x[i],
    ),
    Row("gather axis", lambda x, i: ga.gather(x, i, axis=-2), rows(3), lambda x, i: x[i]),
    Row(
        "gather batch",
        lambda x, i: ga.gather(x, i, axis=2, batch_dims=1),
        lambda rng: (rng.standard_normal((2, 3, 4)), rng.integers(-4, 4, (2, 5))),
        lambda x, i: np.stack([x[b][:, i[b]] for b in range(2)]),
    ),
    Row("gather_nd", ga.gather_nd, NESTED, lambda x, i: x[flat(i)]),
    Row("gather_nd rows", lambda x, i: ga.gather_nd(x, i), rows(4, 1), lambda x, i: x[i[:, 0]]),
    Row(
        "gather_nd, bad indices ignored",
        lambda x, i: ga.gather_nd(x, i, bad_indices_policy="IGNORE"),
        lambda rng: (rng.standard_normal((5, 3)), rng.integers(-2, 8, (6, 1))),
        lambda x, i: np.where((i >= 0) & (i < 5), x[np.clip(i[:, 0], 0, 4)], 0),
    ),
    Row(
        "scatter_nd, bad indices ignored",
        lambda i, v: sc.scatter_nd(i, v, (5, 3), "IGNORE"),
        lambda rng: (rng.integers(-2, 8, (6, 1)), rng.standard_normal((6, 3))),
        lambda i, v: added(np.zeros((5, 3)), (np.clip(i[:, 0], 0, 4),), np.where((i >= 0) & (i < 5), v, 0)),
    ),
    Row(
        "tensor_scatter_nd_sub, bad indices ignored",
        lambda x, i, v: sc.tensor_scatter_nd_sub(x, i, v, "IGNORE"),
        lambda rng: (rng.standard_normal((5, 3)), rng.integers(-2, 8, (6, 1)), rng.standard_normal((6, 3))),
        lambda x, i, v: added(x, (np.clip(i[:, 0], 0, 4),), np.where((i >= 0) & (i < 5), -v, 0)),
    ),
    Row(
        "take_along_axis",
        lambda x, i: ga.take_along_axis(x, i, 1),
        lambda rng: (rng.standard_normal((5, 3)), rng.integers(-3, 3, (5, 4))),
        lambda x, i: np.take_along_axis(x, i, 1),
    ),
    Row(
        "scatter_nd",
        lambda i, v: sc.scatter_nd(i, v, (5, 3)),
        lambda rng: SCATTERED(rng)[1:],
        lambda i, v: added(np.zeros((5, 3)), flat(i), v),
    ),
    Row("tensor_scatter_nd_add", sc.tensor_scatter_nd_add, SCATTERED, lambda x, i, v: added(x, flat(i), v)),
    Row("tensor_scatter_nd_sub", sc.tensor_scatter_nd_sub, SCATTERED, lambda x, i, v: added(x, flat(i), -v)),
    Row(
        "tensor_scatter_nd_update", sc.tensor_scatter_nd_update, SCATTERED, lambda x, i, v: put(x, flat(i), v)
    ),
    Row(
        "scatter_add rows",
        sc.scatter_add,
        lambda rng: (*rows(4)(rng), rng.standard_normal((4, 3))),
        added,
    ),
    Row(
        "scatter_update rows",
        sc.scatter_update,
        lambda rng: (*rows(4)(rng), rng.standard_normal((4, 3))),
        put,
    ),
    Row(
        "scatter_sub rows",
        sc.scatter_sub,
        lambda rng: (*rows(4)(rng), rng.standard_normal((4, 3))),
        lambda x, i, v: added(x, i, -v),
    ),
    *(
        Row(
            f"scatter_{how} rows",
            lambda x, i, v, how=how: sc.scatter_combine(x, i, v, how),
            lambda rng: (*rows(4)(rng), rng.uniform(1.0, 2.0, (4, 3))),
            lambda x, i, v, how=how: combined(x, i, v, how),
            wrt=(),
        )
        for how in ("mul", "div")
    ),
    *(
        Row(
            f"scatter_{how} rows",
            lambda x, i, v, how=how: sc.scatter_extremum(x, i, v, how),
            lambda rng: (*rows(4)(rng), rng.standard_normal((4, 3))),
            lambda x, i, v, how=how: combined(x, i, v, how),
        )
        for how in ("max", "min")
    ),
    Row(
        "tensor_scatter_nd_max",
        sc.tensor_scatter_nd_max,
        SCATTERED,
        lambda x, i, v: combined(x, flat(i), v, "max"),
    ),
    Row(
        "tensor_scatter_nd_min",
        sc.tensor_scatter_nd_min,
        SCATTERED,
        lambda x, i, v: combined(x, flat(i), v, "min"),
    ),
    Row(
        "batch_scatter_update",
        sc.batch_scatter_update,
        lambda rng: (
            rng.standard_normal((2, 4, 3)),
            np.array([[0, -1, 0], [2, 1, 3]]),
            rng.standard_normal((2, 3, 3)),
        ),
        lambda x, i, v: put(x, (np.arange(2)[:, None], i), v),
    ),
    Row(
        "repeat each",
        lambda x, i: ga.gather(x, i),
        lambda rng: (rng.standard_normal(3), np.array([0, 2, 2])),
        lambda x, i: x[i],
    ),
    Row(
        "last_write",
        lambda i, j: last_write_op(i, j, sizes=(3, 2)),
        lambda rng: (np.array([0, 2, -3, 1]), np.array([1, 0, 1, 1])),
        last_writes,
        wrt=(),
        edges=((np.zeros(0, int), np.zeros(0, int)), (np.array(1), np.array(1))),
    ),
    Row(
        "one_hot",
        lambda i, on, off: indicators.one_hot(i, 4, on, off, axis=1),
        lambda rng: (rng.integers(-1, 5, (2, 3)), rng.standard_normal(()), rng.standard_normal(())),
        lambda i, on, off: np.where(i[:, None] == np.arange(4)[:, None], on, off),
    ),
)


# ---- creation and contraction ----------------------------------------------------------------------------------------

CREATION = (
    Row("slice", lambda x: sd.slice_(x, [1, 0], [2, -1]), normal((4, 3)), lambda x: x[1:3]),
    Row(
        "slice at tensors",
        lambda x, i: sd.slice_(x, [i, 1], [2, 2]),
        lambda rng: (rng.standard_normal((4, 3)), rng.integers(0, 3)),
        lambda x, i: x[int(i) : int(i) + 2, 1:],
    ),
    Row(
        "sequence_mask",
        lambda n: indicators.sequence_mask(n, 4, np.dtype("float32")),
        lambda rng: (rng.integers(-1, 6, (2, 3)),),
        lambda n: (np.arange(4) < n[..., None]).astype(np.float32),
        wrt=(),
    ),
    Row("fill", lambda x: cr.fill([2, 3], x), normal(()), lambda x: np.full((2, 3), x)),
    Row("zeros_like", cr.zeros_like, normal(CUBE), np.zeros_like, wrt=()),
    Row("ones_like", cr.ones_like, normal(CUBE), np.ones_like, wrt=()),
    Row(
        "linspace",
        lambda a, b: cr.linspace(a, b, 4, axis=1),
        normal((3,), (3,)),
        lambda a, b: np.linspace(a, b, 4, axis=1),
        edges=((np.array([1.0]), np.array([1.0])),),
    ),
)


def products() -> Iterator[Row]:
    """Return rows of ``matmul`` for operands of all ranks."""

    for a, b in (
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 1)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((1, 2, 3), (6, 3, 4)),
        ((2, 3), (1, 1, 3, 4)),
        ((0, 3), (3, 4)),
        ((2, 0), (0, 4)),
        ((2, 3), (0, 3, 4)),
    ):
        yield Row(f"matmul {a} {b}", ct.matmul, normal(a, b), np.matmul, rtol=ROUNDING, analytic=True)


def flagged() -> Iterator[Row]:
    for a in (False, True):
        for b in (False, True):
            yield Row(
                f"matmul flags {a} {b}",
                lambda x, y, a=a, b=b: ct.matmul(x, y, transpose_a=a, adjoint_b=b),
                normal((5, 3, 2) if a else (5, 2, 3), (5, 4, 3) if b else (5, 3, 4)),
                lambda x, y, a=a, b=b: (x.swapaxes(1, 2) if a else x) @ (y.swapaxes(1, 2) if b else y),
                rtol=ROUNDING,
            )


def summations() -> Iterator[Row]:
    for equation, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk", (2, 3), (3, 4)),
        ("bij,bjk->kbi", (5, 2, 3), (5, 3, 4)),
        ("ij->", (2, 3)),
        ("ba", (2, 3)),
        ("ii->i", (3, 3)),
        ("ii", (3, 3)),
        ("iij->j", (3, 3, 2)),
        ("iii->i", (3, 3, 3)),
        ("i,i->", (3,), (3,)),
        ("i,j->ji", (3,), (4,)),
        (",ij->ij", (), (2, 3)),
        ("...ij,...jk->...ik", (6, 1, 2, 3), (5, 3, 4)),
        ("i...->...", (3, 2)),
        ("i...j,j->...i", (2, 5, 3), (3,)),
        ("...,...", (2, 3), (3,)),
        ("...ii->...i", (5, 3, 3)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
        ("i,ij,j->", (3,), (3, 4), (4,)),
        ("ab,ab,ab->a", (2, 3), (2, 3), (2, 3)),
        ("ij,k->i", (2, 3), (4,)),
        # numpy.einsum_path contracts these three at once.
        ("bda,cba,cbd->dac", (2, 2, 10), (3, 2, 10), (3, 2, 2)),
        ("ij,jk->ik", (2, 1), (3, 4)),
        ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("ij,jk->ik", (2, 0), (0, 4)),
    ):
        yield Row(
            f"einsum {equation} {shapes}",
            lambda *operands, equation=equation: es.einsum(equation, *operands),
            normal(*shapes),
            lambda *operands, equation=equation: np.array(np.einsum(equation, *operands)),
            rtol=ROUNDING,
        )


CONTRACTIONS = (
    *products(),
    *flagged(),
    *summations(),
    Row(
        "matvec",
        ct.matvec,
        normal((4, 3), (7, 3)),
        lambda a, x: np.einsum("ij,bj->bi", a, x),
        rtol=ROUNDING,
    ),
    Row("outer", ct.outer, normal((2, 3), (4,)), np.outer),
    Row("tensordot", ct.tensordot, normal((2, 3, 4), (3, 4, 5)), np.tensordot, rtol=ROUNDING),
    Row(
        "tensordot axes",
        lambda a, b: ct.tensordot(a, b, [[1, 2], [1, 0]]),
        normal((2, 3, 4), (4, 3)),
        lambda a, b: np.tensordot(a, b, ([1, 2], [1, 0])),
        rtol=ROUNDING,
    ),
    Row(
        "diag_part", lambda x: es.diag_part(x, 1, 0, 2), normal((3, 2, 4)), lambda x: np.diagonal(x, 1, 0, 2)
    ),
    Row("trace", es.trace, normal((2, 3, 4)), lambda x: np.trace(x, 0, -2, -1), rtol=ROUNDING),
)

ROWS: tuple[Row, ...] = (*SHAPES, *INDEXING, *CREATION, *CONTRACTIONS)
