"""Random programs as a user writes them, for hypothesis: a recipe is a list of steps that can be followed repeatedly.

Start at `recipes`. While a recipe is drawn it is followed with concrete numbers, so that these stay tame: a step whose
result is huge, not finite or too large is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import jittape as jt
from jittape.builder import Builder, Symbol
from jittape.interpret import run_op
from jittape.primitive import recording_with
from jittape.primitives.index import getitem
from jittape.program import Aval, Op, Program

Array = np.ndarray[Any, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (4,),
    (3, 4),
    (4, 1),
    (1, 4),
    (2, 3, 4),
    (2, 1, 3),
    (3, 0),
    (33,),
    (1300,),
)
LARGEST = 6000
"""Elements of a value at most."""
TAME = 30.0
"""Numbers are at most so large: sin(1e20) would compare nothing but rounding."""


@dataclass(frozen=True)
class Step:
    """One call: `function` of the values numbered `operands`."""

    text: str
    function: Callable[..., Any]
    operands: tuple[int, ...]
    exact: bool

    def __repr__(self) -> str:
        return f"{self.text}({', '.join(f'v{i}' for i in self.operands)})"


@dataclass(frozen=True)
class Recipe:
    """Inputs, steps, and which values are looked at."""

    inputs: tuple[Array, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def followed(self, inputs: Sequence[Any]) -> list[Any]:
        """All values, from handles or tensors for the inputs."""
        values = list(inputs)
        for step in self.steps:
            values.append(step.function(*[values[i] for i in step.operands]))
        return values

    def __repr__(self) -> str:
        lines = [f"v{i} = {x.dtype}{list(x.shape)}" for i, x in enumerate(self.inputs)]
        lines += [f"v{i} = {step!r}" for i, step in enumerate(self.steps, len(self.inputs))]
        return "\n".join(["", *lines, "return " + ", ".join(f"v{i}" for i in self.outputs)])


# ---- steps -----------------------------------------------------------------------------------------------------------
#
# A maker draws the details of a step for some values and returns (text, function, operands), or None where it does not
# apply. It gets `draw`, the values so far as symbols, and the number of the first operand.

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


# ---- drawing ---------------------------------------------------------------------------------------------------------


class _Kitchen:
    """Follows a recipe while it is drawn, with symbols and with numbers."""

    def __init__(self, inputs: Sequence[Array]) -> None:
        self.builder = Builder(0)
        self.values = [self.builder.new_slot(Aval(x.shape, x.dtype)) for x in inputs]
        self.exact = [True] * len(inputs)
        self.arrays: dict[int, Array] = dict(zip([v.slot for v in self.values], inputs, strict=True))

    def tried(self, step: Step) -> bool:
        """Take `step` if its result is tame."""
        done = len(self.builder.ops)
        try:
            with recording_with(self.builder):
                out = step.function(*[self.values[i] for i in step.operands])
        except (ValueError, TypeError):  # such as the maximum of nothing
            del self.builder.ops[done:]
            return False
        made = self.builder.ops[done:]
        if any(self.builder.avals[op.out].size > LARGEST for op in made) or not self._evaluated(made):
            del self.builder.ops[done:]
            return False
        self.values.append(out)
        self.exact.append(step.exact)
        return True

    def _evaluated(self, ops: Sequence[Op]) -> bool:
        program = Program((), (), (), self.builder.avals)
        for op in ops:
            array = self.arrays[op.out] = run_op(program, op, [self.arrays[slot] for slot in op.args])
            if array.dtype.kind == "f" and not (np.isfinite(array).all() and (np.abs(array) < TAME).all()):
                return False
        return True


@st.composite
def recipes(
    draw: Draw,
    dtypes: tuple[str, ...] = ("float64",),
    makers: tuple[tuple[bool, Maker], ...] = SMOOTH,
    max_steps: int = 10,
) -> Recipe:
    """Recipes of up to `max_steps` steps; what has a kink or a jump is applied to exact values only."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    kinds = [
        (draw(st.sampled_from(SHAPES)), draw(st.sampled_from(dtypes))) for _ in range(draw(st.integers(1, 3)))
    ]
    inputs = tuple(np.asarray(_numbers(rng, shape, dtype)) for shape, dtype in kinds)
    kitchen = _Kitchen(inputs)
    steps: list[Step] = []
    wanted = draw(st.sampled_from((1, 3, *range(4, max_steps + 1))))
    for _ in range(4 * wanted):
        if len(steps) == wanted:
            break
        keeps_exact, maker = draw(st.sampled_from(makers))
        i = draw(st.integers(max(0, len(kitchen.values) - 4), len(kitchen.values) - 1))
        made = maker(draw, kitchen.values, i)
        if made is None:
            continue
        text, function, operands = made
        from_exact = all(kitchen.exact[k] for k in operands)
        if not from_exact and any(maker is m for _, m in KINKED + OTHER_DTYPES):
            continue
        step = Step(text, function, operands, keeps_exact and from_exact)
        if kitchen.tried(step):
            steps.append(step)
    last = len(kitchen.values) - 1
    others = draw(st.lists(st.integers(0, last), max_size=2))
    return Recipe(inputs, tuple(steps), (last, *others))


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    kind = np.dtype(dtype).kind
    if kind == "f":
        return rng.uniform(-1.5, 1.5, shape).astype(dtype)
    return rng.integers(0, 2 if kind == "b" else 5, shape).astype(dtype)
