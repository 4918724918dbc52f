"""Random programs of loops and branches: Python's own control flow and differences are the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from control_blocks import Block, evaluate, text
from random_control import crowded_block, random_block, random_inputs

Array = np.ndarray[Any, Any]

WEIGHTS = np.random.default_rng(3).normal(size=50)
WAYS = ("interpreted", "compiled", "function")


@pytest.fixture(autouse=True)
def compiled_at_once() -> Iterator[None]:
    before = jt.config.interpret, jt.config.compile_after
    jt.config.compile_after = 0
    yield
    jt.config.interpret, jt.config.compile_after = before


def total(outputs: list[Any]) -> Any:
    """A number that all elements count in."""
    return jt.add_n([jt.reduce_sum(jt.reshape(y, (-1,)) * WEIGHTS[: int(np.prod(y.shape))]) for y in outputs])


def value_and_gradient(block: Block, *xs: Any) -> tuple[Any, ...]:
    tensors = [jt.convert_to_tensor(x) for x in xs]
    with jt.GradientTape() as tape:
        tape.watch(tensors)
        y = total(evaluate(block, [], tensors))
    return (y, *tape.gradient(y, tensors, unconnected_gradients="zero"))


def second_derivative(block: Block, directions: list[Array], *xs: Any) -> tuple[Any, ...]:
    """The derivative in a direction, and its gradient."""
    tensors = [jt.convert_to_tensor(x) for x in xs]
    with jt.GradientTape() as tape:
        tape.watch(tensors)
        gradients = value_and_gradient(block, *tensors)[1:]
        along = jt.add_n([jt.reduce_sum(g * d) for g, d in zip(gradients, directions, strict=True)])
    return (along, *tape.gradient(along, tensors, unconnected_gradients="zero"))


def run(
    way: str, function: Callable[..., Any], inputs: list[Array], directions: list[Array]
) -> tuple[float, float]:
    """The first result of `function`, and what follows in a direction."""
    jt.config.interpret = way == "interpreted"
    found = (
        jt.function(function)(*inputs) if way == "function" else function(*[jt.constant(x) for x in inputs])
    )
    value, *gradients = [np.asarray(one) for one in found]
    return float(value), sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))


def reference(block: Block, inputs: list[Array], directions: list[Array], h: float) -> list[float]:
    """Values of the program by Python's control flow, at nine points along a direction."""
    jt.config.interpret = True
    points = [
        [jt.constant(x + k * h * d) for x, d in zip(inputs, directions, strict=True)] for k in range(-4, 5)
    ]
    return [float(total(evaluate(block, [], xs, by_python=True))) for xs in points]


def slopes(f: list[float], h: float) -> list[float]:
    """The derivative in the middle, from near points and from far ones: at a kink they differ."""
    return [(8 * (f[4 + n] - f[4 - n]) - (f[4 + 2 * n] - f[4 - 2 * n])) / (12 * n * h) for n in (1, 2)]


def curvatures(f: list[float], h: float) -> list[float]:
    """The second derivative likewise."""
    return [
        (16 * (f[4 - n] + f[4 + n]) - 30 * f[4] - f[4 - 2 * n] - f[4 + 2 * n]) / (12 * (n * h) ** 2)
        for n in (1, 2)
    ]


def assert_right(block: Block, seed: int, order: int) -> None:
    inputs, h = random_inputs(seed), 1e-3 * order
    rng = np.random.default_rng([seed, 9])
    directions = [rng.normal(size=x.shape) for x in inputs]
    f = reference(block, inputs, directions, h)
    first, far = slopes(f, h)
    second, far_second = curvatures(f, h)
    scale = max(1.0, abs(f[4]), abs(first), abs(second) * (order - 1))
    function = value_and_gradient if order == 1 else second_derivative
    bound = (block,) if order == 1 else (block, directions)
    is_smooth = abs(first - far) < 1e-7 * scale and (order == 1 or abs(second - far_second) < 1e-6 * scale)
    for way in WAYS:
        value, slope = run(way, lambda *xs: function(*bound, *xs), inputs, directions)
        wanted, wanted_slope = (f[4], first) if order == 1 else (first, second)
        where = f"seed {seed}, {way}\n{text(block)}"
        assert order == 2 or value == pytest.approx(wanted, rel=1e-9, abs=1e-9), where
        if is_smooth:
            assert value == pytest.approx(wanted, abs=1e-6 * scale), where
            assert slope == pytest.approx(wanted_slope, abs=2e-5 * scale if order == 2 else 1e-6 * scale), (
                where
            )


@pytest.mark.parametrize("seed", range(40))
def test_bodies_with_equal_outputs(seed: int) -> None:
    assert_right(crowded_block(seed), seed, 1)


ONCE_WRONG = (43, 73, 271, 301, 390, 409, 412, 427, 472, 483, 490, 629, 713, 714, 778)


@pytest.mark.parametrize("seed", [*range(16), *ONCE_WRONG])
def test_values_and_gradients(seed: int) -> None:
    assert_right(random_block(seed), seed, 1)


@pytest.mark.parametrize("seed", range(100, 116))
def test_second_derivatives(seed: int) -> None:
    assert_right(random_block(seed, depth=2, most=6), seed, 2)


def test_equal_outputs_of_many_operations_on_numbers() -> None:
    """So many that they become instructions of a table."""

    def many(x: Any) -> Any:
        for k in range(300):
            x = jt.sin(x) * 1.02 + 0.001 * k
        return x

    def program(x: Any, y: Any, p: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            z = many(state[0])
            return z, z, z, state[0]

        looped = jt.fori_loop(0, 2, body, (x, y, x, y))
        chosen = jt.cond(p > 0.0, lambda: (many(x),) * 3, lambda: (y, y, x))
        return jt.add_n([w * part for w, part in zip((1.0, 2.0, 3.0, 4.0), looped, strict=True)]) + jt.add_n(
            chosen
        )

    def gradients(x: Any, y: Any, p: Any) -> list[Any]:
        with jt.GradientTape() as tape:
            tape.watch([x, y])
            value = program(x, y, p)
        return [value, *tape.gradient(value, [x, y], unconnected_gradients="zero")]

    for p in (1.0, -1.0):
        found = {}
        for way in WAYS:
            jt.config.interpret = way == "interpreted"
            run_it = jt.function(gradients) if way == "function" else gradients
            found[way] = [float(one) for one in run_it(*[jt.constant(v, jt.float64) for v in (0.5, 0.7, p)])]
        for way in WAYS[1:]:
            assert found[way] == pytest.approx(found["interpreted"], rel=1e-11), way
