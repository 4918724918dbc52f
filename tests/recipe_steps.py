"""The steps of random programs: which user-level functions there are, and how their details are drawn.

A maker draws a step for some values and returns (text, function, operands), or None where it does not apply. It gets
`draw`, the values so far as symbols, and the number of the first operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import jittape as jt
from jittape.core.builder import Symbol
from jittape.primitives.indexing.getitem import getitem

Draw = Callable[[st.SearchStrategy[Any]], Any]
Made = tuple[str, Callable[..., Any], tuple[int, ...]]
Maker = Callable[[Draw, list[Symbol], int], Made | None]


def unary(functions: dict[str, Callable[..., Any]], kinds: str = "f") -> Maker:
    def make(draw: Draw, values: list[Symbol], i: int) -> Made | None:
        name = draw(st.sampled_from(sorted(functions)))
        return (name, functions[name], (i,)) if values[i].dtype.kind in kinds else None

    return make


def binary(functions: dict[str, Callable[..., Any]], kinds: str = "f") -> Maker:
    def make(draw: Draw, values: list[Symbol], i: int) -> Made | None:
        partners = [
            k for k, v in enumerate(values) if v.dtype.kind in kinds and joins(v.shape, values[i].shape)
        ]
        if i not in partners:
            return None
        name = draw(st.sampled_from(sorted(functions)))
        pair = (i, draw(st.sampled_from(partners)))
        return name, functions[name], pair if draw(st.booleans()) else pair[::-1]

    return make


def joins(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def reduction(functions: dict[str, Callable[..., Any]], kinds: str = "f") -> Maker:
    def make(draw: Draw, values: list[Symbol], i: int) -> Made | None:
        if values[i].dtype.kind not in kinds:
            return None
        name = draw(st.sampled_from(sorted(functions)))
        axes = (
            draw(st.lists(st.sampled_from(range(len(values[i].shape))), unique=True))
            if values[i].shape
            else []
        )
        axis = tuple(axes) or None
        keepdims = draw(st.booleans())
        function = functions[name]
        text = f"{name}[axis={axis}, keepdims={keepdims}]"
        return text, lambda x: function(x, axis=axis, keepdims=keepdims), (i,)

    return make


def with_scalar(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    number = draw(st.sampled_from([2, -1.5, 0.25, 3, 1, 0, -0.0]))
    name, function = draw(
        st.sampled_from(
            [
                ("x +", lambda x: jt.add(x, number)),
                ("- x +", lambda x: jt.subtract(number, x)),
                ("x *", lambda x: jt.multiply(x, number)),
                ("x /", lambda x: jt.divide(x, number)),
            ]
        )
    )
    return (f"{name} {number}", function, (i,)) if values[i].dtype.kind == "f" else None


def power(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    exponent = draw(st.sampled_from([2, 3]))
    return (f"x**{exponent}", lambda x: jt.pow(x, exponent), (i,)) if values[i].dtype.kind == "f" else None


def transpose(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    perm = tuple(draw(st.permutations(range(len(values[i].shape)))))
    return f"transpose[{perm}]", lambda x: jt.transpose(x, perm), (i,)


def reshape(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    shape = values[i].shape
    n = values[i].aval.size
    ways: list[tuple[int, ...]] = [(n,), (1, n), (n, 1), (*shape, 1), shape[::-1]]
    way = draw(st.sampled_from([*ways, (2, n // 2)] if n % 2 == 0 else ways))
    return f"reshape[{way}]", lambda x: jt.reshape(x, way), (i,)


def expand(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    axis = draw(st.integers(-1, len(values[i].shape)))
    return f"expand_dims[{axis}]", lambda x: jt.expand_dims(x, axis), (i,)


def broadcast(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    shape = (draw(st.integers(1, 3)), *[3 if n == 1 else n for n in values[i].shape])
    return f"broadcast_to[{shape}]", lambda x: jt.broadcast_to(x, shape), (i,)


def sliced(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    key = tuple(draw(st.sampled_from([n]).flatmap(part)) for n in values[i].shape)
    return f"getitem[{key}]", lambda x: getitem(x, key), (i,)


def part(n: int) -> st.SearchStrategy[Any]:
    """A slice of `n` elements, or the number of one."""
    ends = st.none() | st.integers(-n - 1, n + 1)
    slices = st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, -1, -2]))
    return slices | st.integers(-n, n - 1) if n else slices


def joined(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    x = values[i]
    if not x.shape:
        return None
    axis = draw(st.integers(0, len(x.shape) - 1))

    def other(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:axis], *shape[axis + 1 :])

    partners = [
        k
        for k, v in enumerate(values)
        if v.dtype == x.dtype and len(v.shape) == len(x.shape) and other(v.shape) == other(x.shape)
    ]
    operands = (i, *draw(st.lists(st.sampled_from(partners), min_size=1, max_size=2)))
    return f"concat[{axis}]", lambda *parts: jt.concat(list(parts), axis), operands


def stacked(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    axis = draw(st.integers(0, len(values[i].shape)))
    partners = [k for k, v in enumerate(values) if v.aval == values[i].aval]
    operands = (i, draw(st.sampled_from(partners)))
    return f"stack[{axis}]", lambda *parts: jt.stack(list(parts), axis), operands


def halves(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    shape = values[i].shape
    if not shape or shape[0] % 2:
        return None
    number = draw(st.integers(0, 1))
    return f"split[{number}]", lambda x: jt.split(x, 2)[number], (i,)


def moved(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    ndim = len(values[i].shape)
    if not ndim:
        return None
    axis, n = draw(st.integers(0, ndim - 1)), draw(st.integers(-2, 2))
    size = values[i].shape[axis]
    widths = [[abs(n), 1] if a == axis else [0, 0] for a in range(ndim)]
    tiles = [2 if a == axis else 1 for a in range(ndim)]
    ways: list[tuple[str, Callable[..., Any]]] = [
        ("roll", lambda x: jt.roll(x, n, axis)),
        ("reverse", lambda x: jt.reverse(x, [axis])),
        ("pad", lambda x: jt.pad(x, widths)),
        ("tile", lambda x: jt.tile(x, tiles)),
        ("repeat", lambda x: jt.repeat(x, abs(n), axis)),
    ]
    if size:
        ways.append(("gather", lambda x: jt.gather(x, jt.mod(jt.multiply(jt.range(5), 2), size), axis=axis)))
    name, function = draw(st.sampled_from(ways))
    return f"{name}[{axis}, {n}]", function, (i,)


def cumulative(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    if not values[i].shape or values[i].dtype.kind != "f":
        return None
    axis = draw(st.integers(0, len(values[i].shape) - 1))
    exclusive, backwards = draw(st.booleans()), draw(st.booleans())
    name, function = draw(st.sampled_from([("cumsum", jt.cumsum), ("cumprod", jt.math.cumprod)]))
    text = f"{name}[{axis}, {exclusive=}, {backwards=}]"
    return text, lambda x: function(x, axis=axis, exclusive=exclusive, reverse=backwards), (i,)


def matmul(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    if len(values[i].shape) < 2 or values[i].dtype.kind != "f":
        return None
    last = values[i].shape[-1]
    ways: list[tuple[str, Callable[..., Any], int]] = [
        ("a @ a.T", lambda a, b: jt.matmul(a, b, transpose_b=True), i),
        ("a.T @ a", lambda a, b: jt.matmul(a, b, transpose_a=True), i),
    ]
    for k, v in enumerate(values):
        if v.dtype.kind != "f":
            continue
        if v.shape == (last,):
            ways.append(("matvec", jt.linalg.matvec, k))
        if len(v.shape) == 2 and v.shape[0] == last:
            ways.append(("a @ b", jt.matmul, k))
            ways.append(("tensordot", lambda a, b: jt.tensordot(a, b, 1), k))
            ways.append(("einsum", lambda a, b: jt.einsum("...ij,jk->k...i", a, b), k))
    name, function, k = draw(st.sampled_from(ways))
    return name, function, (i, k)


def along_axis(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    if not values[i].shape or values[i].dtype.kind != "f":
        return None
    axis = draw(st.integers(-1, len(values[i].shape) - 1))
    functions = {"softmax": jt.nn.softmax, "log_softmax": jt.nn.log_softmax}
    name = draw(st.sampled_from(sorted(functions)))
    return f"{name}[{axis}]", lambda x: functions[name](x, axis=axis), (i,)


def cast(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    dtype = draw(st.sampled_from(["float32", "float64"]))
    return f"cast[{dtype}]", lambda x: jt.cast(x, dtype), (i,)


def picked(draw: Draw, values: list[Symbol], i: int) -> Made | None:
    """One or the other, by a comparison of an input: numbers that rounding cannot change."""
    if values[i].dtype.kind != "f":
        return None
    partners = [k for k, v in enumerate(values) if v.dtype.kind == "f" and joins(v.shape, values[i].shape)]
    other = draw(st.sampled_from(partners))
    joint = np.broadcast_shapes(values[i].shape, values[other].shape)
    tests = [k for k, v in enumerate(values[:1]) if joins(v.shape, joint)]
    if not tests:
        return None
    return "where_positive", lambda c, x, y: jt.where(jt.greater(c, 0), x, y), (tests[0], i, other)


SMOOTH: tuple[tuple[bool, Maker], ...] = (
    (
        False,
        unary(
            {
                "sin": jt.sin,
                "cos": jt.cos,
                "tanh": jt.tanh,
                "sigmoid": jt.sigmoid,
                "softplus": jt.nn.softplus,
                "gelu": jt.nn.gelu,
                "erf": jt.math.erf,
                "atan": jt.atan,
                "square": jt.square,
                "exp": jt.exp,
                "root": lambda x: jt.sqrt(jt.add(jt.square(x), 1)),
                "log": lambda x: jt.math.log1p(jt.square(x)),
                "bell": lambda x: jt.exp(jt.negative(jt.square(x))),
                "rational": lambda x: jt.math.reciprocal(jt.add(jt.square(x), 2)),
            }
        ),
    ),
    (
        False,
        binary(
            {
                "add": jt.add,
                "subtract": jt.subtract,
                "multiply": jt.multiply,
                "ratio": lambda x, y: jt.divide(x, jt.add(jt.cos(y), 2)),
                "squared_difference": jt.math.squared_difference,
                "pow": lambda x, y: jt.pow(jt.add(jt.sin(x), 2), y),
            }
        ),
    ),
    (False, with_scalar),
    (False, power),
    (
        False,
        reduction(
            {
                "reduce_sum": jt.reduce_sum,
                "reduce_mean": jt.reduce_mean,
                "reduce_prod": jt.reduce_prod,
                "reduce_logsumexp": jt.reduce_logsumexp,
                "reduce_variance": jt.math.reduce_variance,
            }
        ),
    ),
    (False, matmul),
    (False, along_axis),
    (False, cumulative),
    (True, transpose),
    (True, reshape),
    (True, expand),
    (True, broadcast),
    (True, sliced),
    (True, joined),
    (True, stacked),
    (True, halves),
    (True, moved),
    (False, picked),
)
"""Makers, and whether their results are exact where their operands are."""

KINKED: tuple[tuple[bool, Maker], ...] = (
    (
        True,
        unary(
            {"abs": jt.abs, "relu": jt.nn.relu, "sign": jt.sign, "negative": jt.negative, "floor": jt.floor}
        ),
    ),
    (True, binary({"maximum": jt.maximum, "minimum": jt.minimum})),
    (True, reduction({"reduce_max": jt.reduce_max, "reduce_min": jt.reduce_min})),
)
OTHER_DTYPES: tuple[tuple[bool, Maker], ...] = (
    (True, binary({"less": jt.less, "equal": jt.equal, "greater_equal": jt.greater_equal}, "fiub")),
    (True, binary({"and": jt.logical_and, "xor": jt.logical_xor}, "b")),
    (True, binary({"add": jt.add, "multiply": jt.multiply, "maximum": jt.maximum}, "iu")),
    (True, reduction({"any": jt.reduce_any, "all": jt.reduce_all}, "b")),
    (True, reduction({"reduce_sum": jt.reduce_sum, "reduce_max": jt.reduce_max}, "iu")),
    (True, unary({"isnan": jt.math.is_nan, "argmax": lambda x: jt.argmax(x, axis=0)})),
)
CASTS: tuple[tuple[bool, Maker], ...] = ((False, cast),)
