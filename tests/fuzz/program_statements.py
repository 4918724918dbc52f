"""Statements of random programs without blocks: operations, indexing, odd dtypes, writes, and all primitives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy_namespace
from program_nodes import ROWS, Assign
from program_writer import LARGEST, Array, Kinds, Writer, tame

SMOOTH_ROWS = [row for row in ROWS if row.wrt != () and row.order == 2]


def _path(name: str) -> str:
    """Where jittape has a function."""
    folder = {"relu": "nn.", "softplus": "math.", "erf": "math.", "log": "math.", "log1p": "math."}
    return f"jt.{folder.get(name, '')}{name}"


# ---- elementwise, reductions, shapes -------------------------------------------------------------------------------


def unary(w: Writer) -> None:
    x = w.pick()
    name = w.rng.choice(
        ["sin", "cos", "tanh", "sigmoid", "softplus", "erf", "square", "atan", "asinh", "negative"]
    )
    if x is not None:
        w.append(f"{_path(name)}({x})")


def positive(w: Writer) -> None:
    """Functions of positive numbers."""
    x = w.pick()
    if x is not None:
        name = w.rng.choice(["log", "sqrt", "log1p"])
        w.append(f"{_path(name)}(jt.square({x}) + 0.5)")


def bounded(w: Writer) -> None:
    x = w.pick()
    if x is not None:
        w.append(f"{w.rng.choice(['jt.exp', 'jt.math.expm1'])}(jt.tanh({x}))")


def binary(w: Writer) -> None:
    x = w.pick()
    if x is None:
        return
    y = w.pick(lambda v: _broadcast(v, w.values[x]))
    if y is None:
        return
    op = w.rng.choice(["+", "-", "*", "*", "/", "**"])
    if op == "/":
        w.append(f"{x} / (1.5 + jt.square({y}))")
    elif op == "**":
        w.append(
            f"(1.2 + jt.sigmoid({x})) ** {y}" if w.rng.random() < 0.5 else f"{x} ** {w.rng.choice([2, 3])}"
        )
    else:
        w.append(f"{x} {op} {y}")


def scalar(w: Writer) -> None:
    x = w.pick()
    if x is not None:
        w.append(w.rng.choice([f"{x} * 0.5", f"1.25 - {x}", f"{x} + 1", f"2 * {x}", f"-{x}", f"{x} / 4"]))


def kinked(w: Writer) -> None:
    x = w.pick()
    if x is None:
        return
    y = w.pick(lambda v: v.shape == w.values[x].shape)
    kind = w.rng.choice(["abs", "relu", "maximum", "minimum", "where", "sign"])
    if kind in ("abs", "relu", "sign"):
        if w.clear_of_zero(x, continuous=kind != "sign"):
            w.append(f"{_path(kind)}({x})")
    elif y is not None and y != x and w.clear_of_zero(f"{x} - {y}", continuous=kind != "where"):
        w.append(
            f"jt.where({x} < {y}, {x} * {y}, jt.sin({x}))" if kind == "where" else f"jt.{kind}({x}, {y})"
        )


def reduction(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0)
    if x is None:
        return
    value = w.values[x]
    axis = w.rng.choice([None, *range(value.ndim), -1])
    kind = w.rng.choice(["sum", "mean", "sum", "prod", "logsumexp", "max", "min"])
    if value.size == 0 and kind not in ("sum", "prod"):
        return
    if kind in ("max", "min") and not w.distinct(x):
        return
    w.append(f"jt.reduce_{kind}({x}, axis={axis}, keepdims={w.rng.random() < 0.3})")


def shaping(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0)
    if x is None:
        return
    value = w.values[x]
    axis = w.rng.randrange(value.ndim)
    perm = tuple(w.rng.sample(range(value.ndim), value.ndim))
    ones = (1,) * (value.ndim - 1)
    choices = [
        f"jt.transpose({x}, {perm})",
        f"jt.reshape({x}, (-1,))" if value.size else f"jt.reshape({x}, (0,))",
        f"jt.reverse({x}, [{axis}])",
        f"jt.roll({x}, {w.rng.choice([-2, -1, 1, 5])}, {axis})",
        f"jt.expand_dims({x}, {axis})",
        f"jt.tile({x}, {(2, *ones)})",
        f"jt.pad({x}, {tuple((w.rng.randint(0, 2), w.rng.randint(0, 1)) for _ in perm)})",
        f"jt.cumsum({x}, {axis})",
        f"jt.nn.softmax({x})" if value.shape[-1] else None,
        f"jt.sort({x}, {axis})" if w.distinct(x) else None,
        f"jt.broadcast_to({x}, {(2, *value.shape)})",
    ]
    w.append(w.rng.choice(choices))


def joining(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0)
    if x is None:
        return
    y = w.pick(lambda v: v.shape == w.values[x].shape)
    axis = w.rng.randrange(w.values[x].ndim)
    w.append(f"jt.{w.rng.choice(['concat', 'stack'])}([{x}, {y}, {x}], {axis})")


def product(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim == 2)
    if x is None:
        return
    y = w.pick(lambda v: v.ndim == 2 and v.shape[0] == w.values[x].shape[1])
    w.append(f"jt.matmul({x}, {y})" if y is not None else f"jt.matmul({x}, jt.transpose({x}))")


def indexing(w: Writer) -> None:
    x = w.pick(lambda v: v.ndim > 0 and v.shape[0] > 0)
    if x is None:
        return
    n = w.values[x].shape[0]
    start = w.rng.randrange(n)
    index = [w.rng.randrange(n) for _ in range(w.rng.randint(1, 4))]
    choices: list[Callable[[], str]] = [
        lambda: f"{x}[{start}]",
        lambda: f"{x}[{start}:]",
        lambda: f"{x}[::-1]",
        lambda: f"{x}[::2]",
        lambda: f"{x}[{start}:{start + 1}]",
        lambda: f"{x}[..., None]",
        lambda: f"jt.gather({x}, {w.constant(np.array(index))})",
        lambda: f"{x}[{w.constant(np.array(index))}]",
        lambda: f"jt.gather({x}, jt.argmax({x}, 0))" if w.values[x].ndim == 1 and w.distinct(x) else "0.5",
        lambda: (
            f"jt.tensor_scatter_nd_add({x}, {w.constant(np.array(index)[:, None])}, "
            f"jt.gather({x}, {w.constant(np.array(index[::-1]))}))"
        ),
    ]
    text = w.rng.choice(choices)()
    if text != "0.5":
        w.append(text)


def detour(w: Writer) -> None:
    """Other dtypes on the way: complex numbers, and dtypes that round, where only values are compared."""
    x = w.pick()
    if x is None:
        return
    own = f"jt.{np.dtype(w.dtype).name}"
    kinds = ["complex"] if w.smooth else ["complex", "float16", "int8", "int32", "bool", "other"]
    kind = w.rng.choice(kinds)
    if kind == "complex":
        y = w.pick(lambda v: v.shape == w.values[x].shape)
        z = f"jt.complex({x}, {y})"
        w.append(
            w.rng.choice(
                [
                    f"jt.real({z} * {z})",
                    f"jt.imag(jt.exp(jt.complex(jt.tanh({x}), {y})))",
                    f"jt.real({z} * jt.conj({z}))",
                ]
            )
        )
    elif kind == "float16":
        w.append(f"jt.cast(jt.cast({x}, jt.float16) * 2, {own})")
    elif kind == "other":
        other = "jt.float32" if w.dtype == np.float64 else "jt.float64"
        w.append(f"jt.cast(jt.cast({x}, {other}), {own})")
    elif kind == "bool":
        if w.clear_of_zero(x):
            w.append(f"jt.cast({x} > 0, {own}) + {x}")
    elif w.clear_of_zero(f"{x} - np.round({x})"):
        w.append(f"jt.cast(jt.cast({x}, jt.{kind}) // 2, {own}) * 0.5")


def written(w: Writer) -> None:
    """A tensor with a part that is written to."""
    x = w.pick(lambda v: v.ndim > 0 and v.shape[0] > 0)
    if x is None:
        return
    value = w.values[x]
    name = w.fresh("t")
    copied = np.array(value)
    row = w.rng.randrange(value.shape[0])
    where = w.rng.choice([f"{row}", f"{row}:", "::2", "..."])
    text = w.rng.choice([f"{x}[{where}] * 0.5 + 1.0", "0.25", f"jt.reduce_sum({x}) * 0.1"])
    new = np.asarray(w.evaluated(text))
    exec(f"copied[{where}] = new", {"copied": copied, "new": new})
    if not tame(copied):
        return
    w.nodes += [Assign(name, f"jt.identity({x})"), Assign(None, f"{name}[{where}] = {text}")]
    w.values[name] = copied


def assigned(w: Writer) -> None:
    """A Variable of the program's, updated and read."""
    states = [n for n, v in w.values.items() if isinstance(v, numpy_namespace.Variable)]
    if not states or w.depth:
        return
    v = w.rng.choice(states)
    x = w.pick(lambda a: a.shape == w.values[v].value.shape)
    if x is None:
        w.append(f"jt.identity({v})")
        return
    text = f"{v}.{w.rng.choice(['assign', 'assign_add'])}(0.25 * {x})"
    w.evaluated(text)
    if tame(w.values[v].value):
        w.nodes.append(Assign(None, text))
        w.append(f"jt.identity({v})")


def tabled(w: Writer) -> None:
    """An op from the table of all primitives, near operands of its own that lie in its domain."""
    x = w.pick(lambda v: v.size > 0)
    rows = SMOOTH_ROWS if w.smooth else ROWS
    row = rows[w.turn % len(rows)]
    w.turn += w.rng.randrange(len(rows))
    dtype = np.dtype(w.dtype).name
    drawn = [np.asarray(a) for a in row.sample(np.random.default_rng(w.rng.randrange(10**6)))]
    operands = [a.astype(dtype) if a.dtype.kind == "f" else a for a in drawn]
    if x is None or w.depth or (dtype not in row.dtypes and any(a.dtype.kind == "f" for a in drawn)):
        return
    linked = next((i for i in row.wrt or range(len(operands)) if operands[i].dtype.kind == "f"), None)
    names = [w.constant(a) for a in operands]
    if linked is not None and operands[linked].size:
        names[linked] = f"{names[linked]} + 0.01 * jt.tanh(jt.reduce_mean({x}))"
    text = f"row({row.name!r}, {', '.join(names)})"
    found = np.asarray(w.evaluated(text))
    if found.dtype.kind == "c":
        text = f"jt.real({text})"
    largest = float(np.max(np.abs(found), initial=0))
    scale = "" if largest <= LARGEST or not np.isfinite(largest) else f" * {1 / largest}"
    w.append(f"jt.cast({text}, jt.{dtype}){scale}")


def _broadcast(a: Array, b: Array) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


SIMPLE: Kinds = [
    (unary, 5),
    (positive, 1.5),
    (bounded, 1.5),
    (binary, 6),
    (scalar, 3),
    (kinked, 2),
    (reduction, 4),
    (shaping, 4),
    (joining, 1.5),
    (product, 1.5),
    (indexing, 4),
    (detour, 1.5),
    (written, 1.5),
    (tabled, 1.0),
]
