"""Custom gradients inside the gradient function of another one: derivatives of Jacobians, against a loop over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

X = np.array([0.7, 1.3, 0.4])
WEIGHTS = np.random.default_rng(0).normal(size=(3, 3))


@jt.custom_gradient
def product(u: Any, w: Any) -> Any:
    """A product whose gradients, on purpose, are not those of a product."""
    return u * w, lambda upstream: (upstream * 3.0 * w, upstream * 5.0 * u)


@jt.custom_gradient
def several(u: Any, w: Any) -> Any:
    """Three results, of which one does not depend on the first operand."""
    return (u * w, jt.reduce_sum(w), u * 2.0), lambda a, b, c: (a * 3.0 * w + c * u, a * 5.0 * u + b * w)


@jt.custom_gradient
def product_of_products(u: Any, w: Any) -> Any:
    return u * w, lambda upstream: (product(upstream, w), product(upstream * u, w))


def square(rule: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return the square, whose gradient is ``rule(upstream, x)``."""
    return jt.custom_gradient(lambda x: (x * x, lambda upstream: rule(upstream, x)))


def with_several(upstream: Any, x: Any) -> Any:
    a, b, c = several(upstream, x)
    return a * b + c


def with_a_tape(upstream: Any, x: Any) -> Any:
    with jt.GradientTape() as tape:
        tape.watch([upstream, x])
        y = jt.reduce_sum(product(upstream, x))
    first, second = tape.gradient(y, [upstream, x])
    return first * upstream + second


RULES: dict[str, Callable[[Any, Any], Any]] = {
    "product": product,
    "several": with_several,
    "third level": lambda upstream, x: product_of_products(upstream, jt.sin(x)),
    "shared operand": lambda upstream, x: product(upstream * x, x) + product(x, upstream),
    "tape": with_a_tape,
    "function": jt.function(product),
    "loop": lambda upstream, x: jt.fori_loop(0, 2, lambda i, z: product(z, x), upstream),
}


def by_rows(f: Callable[[Any], Any], x: Any) -> Any:
    rows = []
    for unit in np.eye(3):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        rows.append(tape.gradient(y, x, output_gradients=jt.constant(unit)))
    return jt.stack(rows)


def of_tape(f: Callable[[Any], Any], x: Any) -> Any:
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x)


def of_batch(f: Callable[[Any], Any], x: Any) -> Any:
    row = x[None]
    with jt.GradientTape() as tape:
        tape.watch(row)
        y = f(row[0])[None]
    return tape.batch_jacobian(y, row)[0]


def in_vmap(f: Callable[[Any], Any], x: Any) -> Any:
    return jt.vmap(lambda one: of_tape(f, one))(jt.stack([x, 2.0 * x]))[0]


JACOBIANS = {
    "jacobian": of_tape,
    "transform": lambda f, x: jt.jacobian(f, mode="reverse")(x),
    "batch_jacobian": of_batch,
    "vmap": in_vmap,
    "function": lambda f, x: jt.function(lambda one: of_tape(f, one))(x),
}


def derivatives(jacobian: Callable[..., Any], f: Callable[[Any], Any]) -> list[np.ndarray]:
    """Return the Jacobian, its gradient, the gradient's gradient and Jacobian, and a product with a tangent."""
    x = jt.constant(X)
    with jt.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with jt.GradientTape() as inner:
            inner.watch(x)
            found = jacobian(f, x)
            y = jt.reduce_sum(found * WEIGHTS)
        first = inner.gradient(y, x)
        z = jt.reduce_sum(jt.sin(first))
    zero = {"unconnected_gradients": "zero"}
    second = [outer.gradient(z, x, **zero), outer.jacobian(first, x, **zero)]
    with jt.autodiff.ForwardAccumulator(x, jt.constant([1.0, 0.5, -2.0], jt.float64)) as accumulator:
        pushed = jacobian(f, x)
    return [np.asarray(value) for value in (found, first, *second, accumulator.jvp(pushed))]


@pytest.mark.parametrize("rule", RULES)
def test_derivatives_of_jacobians_use_the_inner_rule(rule):
    f = square(RULES[rule])
    expected = derivatives(by_rows, f)
    for name, jacobian in JACOBIANS.items():
        for call in range(2):
            for i, (found, value) in enumerate(zip(derivatives(jacobian, f), expected, strict=True)):
                np.testing.assert_allclose(found, value, rtol=1e-12, err_msg=f"{name}, call {call}, {i}")


def test_inner_rules_with_variables():
    v = jt.Variable([0.5, 1.5, -1.0], dtype=jt.float64)

    @jt.custom_gradient
    def scaled(u: Any) -> Any:
        return u * v, lambda upstream, variables: (upstream * v, [upstream * u * 3.0])

    f = square(lambda upstream, x: scaled(upstream) * x)

    def gradients(jacobian: Callable[..., Any]) -> list[Any]:
        x = jt.constant(X)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jacobian(f, x) * WEIGHTS)
        return tape.gradient(y, [x, v])

    for found, expected in zip(gradients(of_tape), gradients(by_rows), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_each_call_traces_the_inner_rule_again():
    factor = [3.0]

    @jt.custom_gradient
    def inner(u: Any, w: Any) -> Any:
        return u * w, lambda upstream: (upstream * w, upstream * u * factor[0])

    f = square(inner)
    for factor[0] in (3.0, 4.0, 3.0):
        x = jt.constant(X)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(of_tape(f, x))
        np.testing.assert_allclose(tape.gradient(y, x), np.full(3, factor[0]))


def test_an_inner_rule_that_takes_a_value():
    @jt.custom_gradient
    def inner(u: Any, w: Any) -> Any:
        return u * w, lambda upstream: (upstream * w, upstream * float(jt.reduce_sum(u)))

    f = square(inner)
    np.testing.assert_allclose(jt.jacobian(f, mode="reverse")(X), np.diag(X))  # nothing asks for the gradient
    with pytest.raises(jt.errors.ControlFlowError, match="custom_gradient"):
        jt.grad(lambda x: jt.reduce_sum(jt.jacobian(f, mode="reverse")(x)))(X)


def test_an_inner_rule_that_uses_a_later_value():
    later = []

    @jt.custom_gradient
    def inner(u: Any, w: Any) -> Any:
        return u * w, lambda upstream: (upstream * w, upstream * later[-1])

    def rule(upstream: Any, x: Any) -> Any:
        made = inner(upstream, x)
        later.append(jt.sin(upstream))
        return made

    with pytest.raises(jt.NoGradientError, match=r"computed after the call.*as an argument"):
        jt.grad(lambda x: jt.reduce_sum(jt.jacobian(square(rule), mode="reverse")(x)))(X)
