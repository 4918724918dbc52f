"""Numbers that move out of products of cotangents: fewer products of arrays, and zeros that dominate as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.rewrite.cotangent_factors import cotangent_factors
from jittape.core.interpret import interpret
from jittape.core.program import Program, check
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import broadcast, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, zero_dominant_multiply
from programs import program_of

Make = Callable[..., Any]
Y = np.array([1.5, 0.0, -2.0, 3.0, 0.25])
X = np.array([2.0, -1.0, 4.0, 0.5, -3.0])
INF, NAN = np.inf, np.nan


def wide(number: Any) -> Any:
    return broadcast(number, Y.shape)


def total(x: Any) -> Any:
    return sum_op.bind(x, axes=(0,))


def products(program: Program) -> int:
    return sum("multiply" in op.primitive.name and program.avals[op.out].ndim > 0 for op in program.ops)


def chain(y: Any, x: Any, a: Any, b: Any) -> Any:
    """Return a product of a cotangent with two numbers and an array, element by element and as a sum."""
    scaled = zero_dominant_multiply(zero_dominant_multiply(y, wide(a)), wide(b))
    full = zero_dominant_multiply(scaled, x)
    return negative(scaled), total(full)


def number_first(y: Any, x: Any, a: Any, b: Any) -> Any:
    return total(zero_dominant_multiply(zero_dominant_multiply(y, wide(a)), multiply(wide(b), x)))


def negated(y: Any, x: Any, a: Any, b: Any) -> Any:
    first = negative(zero_dominant_multiply(y, wide(a)))
    return zero_dominant_multiply(zero_dominant_multiply(first, wide(b)), x)


MAKES = [chain, number_first, negated]


def both(make: Make, *operands: Any) -> tuple[Program, Program]:
    program = simplify(program_of(make, *operands))
    return program, check(cotangent_factors(program), program)


@pytest.mark.parametrize("make", MAKES)
def test_fewer_products_of_arrays_with_the_same_results(make: Make) -> None:
    operands = (Y, X, np.float64(0.75), np.float64(-1.25))
    program, rewritten = both(make, *operands)
    assert products(rewritten) < products(program)
    for found, expected in zip(interpret(rewritten, operands), interpret(program, operands), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("a", [0.0, 2.0, INF])
@pytest.mark.parametrize("b", [0.0, -2.0])
@pytest.mark.parametrize("x", [INF, NAN, 0.0])
def test_zeros_dominate_as_before(make: Make, a: float, b: float, x: float) -> None:
    """Where the program gives a finite number, so does the rewritten one, and the same."""
    operands = (Y, np.array([x, x, 1.0, x, -x]), np.float64(a), np.float64(b))
    program, rewritten = both(make, *operands)
    with np.errstate(all="ignore"):
        pairs = zip(interpret(rewritten, operands), interpret(program, operands), strict=True)
        for found, expected in pairs:
            finite = np.isfinite(expected)
            np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda y, x, a, b: zero_dominant_multiply(y, x),
        lambda y, x, a, b: multiply(multiply(y, wide(a)), wide(b)),
        lambda y, x, a, b: add(zero_dominant_multiply(y, wide(a)), x),
    ],
)
def test_other_programs_stay_as_they_are(make: Make) -> None:
    program, rewritten = both(make, Y, X, np.float64(2.0), np.float64(3.0))
    assert rewritten is program


def test_single_precision_stays_as_it_is() -> None:
    """Its range is small: a product with a tiny number may come just in time."""
    operands = [np.float32(x) for x in (Y, X, 2.0, 3.0)]
    program, rewritten = both(chain, *operands)
    assert rewritten is program


def test_gradient_of_a_loop() -> None:
    """The backward pass of a step multiplies arrays only where their elements differ."""

    def path(p: Any, z: Any) -> Any:
        drift, scale = jt.unstack(p)
        begin = jt.ones([z.shape[-1]], z.dtype)
        step = lambda i, x: x + 0.25 * drift * x + scale * 0.5 * jt.sqrt(x * x + 1.0) * z[i]  # noqa: E731
        return jt.reduce_mean(jt.fori_loop(0, 6, step, begin))

    p, z = np.array([0.1, 0.3]), np.random.default_rng(0).normal(size=(6, 40))
    for _ in range(2):
        gradient = jt.grad(path)(jt.constant(p), jt.constant(z)).numpy()
    names = [stage.name for stage in jt.explain(passes=True).passes]
    assert "lower to steps" in names
    for i, h in enumerate(np.eye(2) * 1e-6):
        slope = (
            float(path(jt.constant(p + h), jt.constant(z))) - float(path(jt.constant(p - h), jt.constant(z)))
        ) / 2e-6
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-7)
