"""Loops and branches: interpreted, compiled and by Python; derivatives of three orders against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from control_programs import CASES, Case

Array = np.ndarray[Any, Any]

WEIGHTS = np.random.default_rng(5).normal(size=100)


@pytest.fixture(params=["interpreted", "compiled", "function"])
def way(request):
    """How programs run."""
    before = jt.config.interpret, jt.config.compile_after
    jt.config.interpret, jt.config.compile_after = request.param == "interpreted", 0
    yield request.param
    jt.config.interpret, jt.config.compile_after = before


def run(way: str, function: Any, *args: Any) -> Any:
    return jt.function(function)(*args) if way == "function" else function(*[jt.constant(a) for a in args])


def total(value: Any, like: Any) -> Any:
    """A number that all elements count in."""
    flat = jt.reshape(value, (-1,))
    return jt.reduce_sum(flat * jt.constant(WEIGHTS[: flat.shape[0]]))


def derivatives(function: Any, x: Any, direction: Array, order: int) -> list[Any]:
    """The function's total, and derivatives in a direction: each is the gradient of the one before."""
    if order == 0:
        return [total(function(x), x)]
    with jt.GradientTape() as tape:
        tape.watch(x)
        found = derivatives(function, x, direction, order - 1)
    gradient = tape.gradient(found[-1], x, unconnected_gradients="zero")
    return [*found, jt.reduce_sum(gradient * jt.constant(direction))]


def expected(case: Case, direction: Array) -> list[float]:
    """The same by central differences of the reference."""

    def along(t: float) -> float:
        value = np.asarray(case.reference(case.x + t * direction))
        return float((value.reshape(-1) * WEIGHTS[: value.size]).sum())

    h = 2e-3
    f = {k: along(k * h) for k in range(-3, 4)}
    first = (-f[-3] + 9 * f[-2] - 45 * f[-1] + 45 * f[1] - 9 * f[2] + f[3]) / (60 * h)
    second = (2 * (f[-3] + f[3]) - 27 * (f[-2] + f[2]) + 270 * (f[-1] + f[1]) - 490 * f[0]) / (180 * h * h)
    third = (f[-3] - 8 * f[-2] + 13 * f[-1] - 13 * f[1] + 8 * f[2] - f[3]) / (8 * h**3)
    return [f[0], first, second, third]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_derivatives(way, case):
    direction = np.random.default_rng(6).normal(size=case.x.shape)
    found = run(way, lambda x: derivatives(case.function, x, direction, case.smooth), case.x)
    wanted = expected(case, direction)
    scale = max(1.0, *map(abs, wanted))
    for value, reference, tolerance in zip(found, wanted, (1e-12, 1e-8, 1e-6, 1e-4), strict=False):
        assert float(value) == pytest.approx(reference, rel=tolerance, abs=tolerance * scale)


@pytest.mark.parametrize("wrap", [lambda f: f, jt.function])
def test_branches_of_different_floats_give_the_wider_one(wrap):
    x = jt.Variable(np.float32([1.0, 2.0]))

    @wrap
    def step(number):
        with jt.GradientTape() as tape:
            wide = jt.cond(number < 2, lambda: x * x, lambda: jt.cast(x, "float64") * 3.0)
            total = jt.reduce_sum(wide)
        return wide, tape.gradient(total, x)

    for number, values, gradient in ((1, [1.0, 4.0], [2.0, 4.0]), (2, [3.0, 6.0], [3.0, 3.0])):
        found, slope = step(jt.constant(number))
        assert (found.dtype, found.tolist(), slope.tolist()) == (jt.float64, values, gradient)
