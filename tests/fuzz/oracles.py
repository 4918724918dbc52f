"""What must agree for every random program: NumPy, the interpreter, compiled code, derivatives and differences."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy_namespace
from program_nodes import PLAIN, Source, Style

import jittape as jt

Array = np.ndarray[Any, Any]

STEP = 2e-3
"""Step of the differences, of fourth order; half of it tells how good they are."""


class Failed(AssertionError):
    """A program whose answers differ, with its source."""


def failed(source: Source, what: str, found: Any, expected: Any, style: Style = PLAIN) -> Failed:
    return Failed(
        f"{what}\nfound    {found!r}\nexpected {expected!r}\nseed {source.seed}, smooth={source.smooth}\n"
        f"inputs = {source.inputs!r}\nconstants = {source.constants!r}\n{source.text(style)}"
    )


# ---- values ----------------------------------------------------------------------------------------------------------


def tolerance(source: Source) -> float:
    if "float16" in source.text():
        return 2e-2
    return 1e-10 if source.inputs[0].dtype == np.float64 and "jt.float32" not in source.text() else 5e-4


def agree(
    source: Source, what: str, found: Sequence[Any], expected: Sequence[Any], style: Style = PLAIN
) -> None:
    """Compare all outputs, in shape, dtype and value."""
    limit = tolerance(source)
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise failed(source, f"{what}: output {i}", (a.shape, a.dtype), (b.shape, b.dtype), style)
        scale = 1 + np.max(np.abs(b), initial=0)
        if not np.all(np.abs(a - b) <= limit * scale):
            raise failed(source, f"{what}: output {i}", a, b, style)


def by_numpy(source: Source) -> list[Array]:
    state = [numpy_namespace.Variable(source.inputs[0] * 0.5) for _ in source.state]
    with np.errstate(all="ignore"):
        found = source.function(numpy_namespace)(*map(np.asarray, source.inputs), *state)
    return [np.asarray(y) for y in (*found, *[v.value for v in state])]


def values(
    source: Source, style: Style = PLAIN, wrap: Callable[..., Any] = lambda f: f
) -> Callable[[], list[Array]]:
    """A run of the program by jittape, each time from the same start; the Variables' last values come last."""
    function = wrap(source.function(jt, style))
    state = [jt.Variable(source.inputs[0] * 0.5) for _ in source.state]

    def run() -> list[Array]:
        for v in state:
            v.assign(source.inputs[0] * 0.5)
        found = function(*[jt.constant(x) for x in source.inputs], *state)
        return [y.numpy() for y in (*found, *state)]

    return run


# ---- derivatives -----------------------------------------------------------------------------------------------------


def weights(outputs: Sequence[Any]) -> list[Array]:
    return [np.cos(np.arange(np.size(y)) + i).reshape(np.shape(y)) for i, y in enumerate(outputs)]


def loss_of(source: Source, style: Style = PLAIN) -> Callable[..., Any]:
    function = source.function(jt, style)

    def loss(*inputs: Any) -> Any:
        outputs = function(*inputs)
        return jt.add_n([jt.reduce_sum(y * w) for y, w in zip(outputs, weights(outputs), strict=True)])

    return loss


def loss_by_numpy(source: Source, inputs: Sequence[Array]) -> float:
    with np.errstate(all="ignore"):
        outputs = source.function(numpy_namespace)(*inputs)
    return float(sum(np.sum(y * w) for y, w in zip(outputs, weights(outputs), strict=True)))


def gradients(loss: Callable[..., Any], inputs: Sequence[Array], persistent: bool = False) -> list[Array]:
    tensors = [jt.constant(x) for x in inputs]
    with jt.GradientTape(persistent=persistent) as tape:
        tape.watch(tensors)
        y = loss(*tensors)
    found = tape.gradient(y, tensors, unconnected_gradients="zero")
    if persistent:
        found = tape.gradient(y, tensors, unconnected_gradients="zero")
    return [g.numpy() for g in found]


def traced_gradients(loss: Callable[..., Any]) -> Callable[[Sequence[Array]], list[Array]]:
    @jt.function
    def compiled(*tensors: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(tensors)
            y = loss(*tensors)
        return tape.gradient(y, tensors, unconnected_gradients="zero")

    return lambda inputs: [g.numpy() for g in compiled(*[jt.constant(x) for x in inputs])]


def directions(source: Source) -> list[Array]:
    rng = np.random.default_rng(source.seed + 1)
    return [rng.uniform(-1, 1, x.shape) for x in source.inputs]


def dot(ones: Sequence[Array], others: Sequence[Array]) -> float:
    return float(sum(np.sum(a * b) for a, b in zip(ones, others, strict=True)))


def difference(along: Callable[[float], float]) -> tuple[float, float]:
    """The derivative of `along` at 0, and how far it may be trusted."""

    def central(h: float) -> float:
        return (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)

    fine, coarse = central(STEP / 2), central(STEP)
    return fine, 1e-7 * (1 + abs(fine)) + 4 * abs(fine - coarse)


def moved(source: Source, t: float) -> list[Array]:
    return [x + t * d for x, d in zip(source.inputs, directions(source), strict=True)]


def assert_slope(
    source: Source, what: str, found: float, slope: tuple[float, float], style: Style = PLAIN
) -> None:
    expected, trust = slope
    if trust < 1e-3 * (1 + abs(expected)) and not abs(found - expected) <= trust:
        raise failed(source, what, found, f"{expected} within {trust}", style)


# ---- the checks ------------------------------------------------------------------------------------------------------

STYLES = (Style(unrolled=True), Style(inverted=True), Style(wrapped=True), Style(True, True, True))


def check(source: Source) -> str:
    """Compare all cheap answers on a program, and one of the compiled ones; the name of that one."""
    expected = by_numpy(source)
    run = values(source)
    agree(source, "first visit", run(), expected)
    rng = random.Random(source.seed)
    if not source.smooth:
        name = rng.choice(["later visits", "function", "rewritten", "under tape"])
        _check_values(name, source, run, expected, rng)
        return name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jt.UnconnectedGradientWarning)
        name = rng.choice(
            ["later visits", "function", "rewritten", "gradient", "gradient", "traced", "second", "forward"]
        )
        if name in ("later visits", "function", "rewritten"):
            _check_values(name, source, run, expected, rng)
        _check_derivatives(name, source, rng)
    return name


def _check_values(
    name: str, source: Source, run: Callable[[], list[Array]], expected: list[Array], rng: random.Random
) -> None:
    style = PLAIN
    if name == "function":
        run = values(source, wrap=jt.function)
    elif name == "rewritten":
        style = rng.choice(STYLES)
        run = values(source, style)
    elif name == "under tape":
        inner = run

        def run() -> list[Array]:
            with jt.GradientTape():
                return inner()

    for visit in range(3):
        agree(source, f"{name}, visit {visit}", run(), expected, style)


def _check_derivatives(name: str, source: Source, rng: random.Random) -> None:
    style = rng.choice(STYLES) if name == "rewritten" else PLAIN
    loss, along = loss_of(source, style), directions(source)
    slope = difference(lambda t: loss_by_numpy(source, moved(source, t)))
    if not any(x.size for x in source.inputs):
        return
    first = gradients(loss, source.inputs)
    assert_slope(source, "gradient, first visit", dot(first, along), slope, style)
    if name == "gradient":
        persistent = rng.random() < 0.5
        for visit in range(2):
            found = gradients(loss, source.inputs, persistent)
            agree(source, f"gradient, persistent={persistent}, visit {visit}", found, first)
    elif name == "traced":
        compiled = traced_gradients(loss)
        for visit in range(2):
            agree(source, f"gradient in a jt.function, call {visit}", compiled(source.inputs), first)
    elif name == "forward":
        for visit in range(2):
            _, tangent = jt.jvp(loss, source.inputs, along)
            assert_slope(source, f"jvp, visit {visit}", 0.0 if tangent is None else float(tangent), slope)
    elif name == "second":
        _check_second(source, loss, along)


def _check_second(source: Source, loss: Callable[..., Any], along: list[Array]) -> None:
    """Nested tapes against differences of the first gradient, at the first and at a compiled visit."""
    slope = difference(lambda t: dot(gradients(loss, moved(source, t)), along))

    def directional(*inputs: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(inputs)
            y = loss(*inputs)
        found = tape.gradient(y, inputs, unconnected_gradients="zero")
        return jt.add_n([jt.reduce_sum(g * d) for g, d in zip(found, along, strict=True)])

    for visit in range(2):
        second = gradients(directional, source.inputs)
        assert_slope(source, f"second derivative, visit {visit}", dot(second, along), slope)
