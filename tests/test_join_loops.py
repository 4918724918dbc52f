"""Loops that read each other's stacks run as one loop, and others do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.kernels.control.control_driver import ControlDriver
from jittape.compile.schedule.steps import KernelStep
from jittape.runtime.counters import counters

X = np.linspace(0.2, 0.9, 7)
V = np.linspace(1.0, -0.5, 7)
ROWS = np.linspace(0.1, 1.2, 35).reshape(5, 7)


def loops() -> list[KernelStep]:
    return [
        step
        for step in counters.last.compiled.steps
        if isinstance(step, KernelStep) and isinstance(step.kernel, ControlDriver)
    ]


def fori(x: Any) -> Any:
    return jt.fori_loop(0, 6, lambda i, s: jt.sin(s) * x + jt.exp(-s), x)


def counted(x: Any) -> Any:
    """The number of iterations is known at run time only."""
    return jt.fori_loop(0, jt.cast(3.4 + x[0] * 10.0, "int64"), lambda i, s: jt.sin(s) * x + jt.exp(-s), x)


def scanned(x: Any) -> Any:
    return jt.scan(lambda s, row: jt.tanh(s * row) + 0.5 * x, jt.constant(ROWS), initializer=x)


def while_(x: Any) -> Any:
    """The trip count depends on the values."""
    return jt.while_loop(
        lambda s, n: jt.reduce_sum(s) < 20.0, lambda s, n: (s * (1.0 + x) + jt.sin(s), n + 1), (x, 0)
    )[0]


def backwards(x: Any) -> Any:
    return jt.scan(lambda s, row: jt.tanh(s * row) + 0.5 * x, jt.constant(ROWS), initializer=x, reverse=True)


def two_carries(x: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        a, b = state
        return jt.sqrt(a * b + 1.0), b + jt.sin(a) * x[i]

    return jt.fori_loop(0, 6, step, (x, 2.0 * x))


def nested(x: Any) -> Any:
    inner = lambda s: jt.fori_loop(0, 3, lambda j, t: jt.sin(t) + 0.3 * x, s)  # noqa: E731
    return jt.fori_loop(0, 4, lambda i, s: inner(s) * s, x)


FUNCTIONS = [fori, counted, scanned, while_, backwards, two_carries, nested]


@pytest.fixture(autouse=True)
def compiled_at_once() -> Any:
    before = jt.config.interpret, jt.config.compile_after
    jt.config.compile_after = 0
    yield
    jt.config.interpret, jt.config.compile_after = before


def difference(f: Any, h: float = 1e-6) -> list[np.ndarray[Any, Any]]:
    above, below = (jt.nest.flatten(f(jt.constant(X + s * h * V))) for s in (1.0, -1.0))
    return [(np.asarray(a) - np.asarray(b)) / (2.0 * h) for a, b in zip(above, below, strict=True)]


def kinds(loop: KernelStep) -> set[str]:
    return {dict(op.params)["result_index"][0] for op in loop.ops}


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_loop_and_its_tangent_are_one_loop(f: Any) -> None:
    """Only what the program returns is stacked."""

    def tangent() -> list[np.ndarray[Any, Any]]:
        results = jt.nest.flatten(jt.jvp(f, [jt.constant(X)], [jt.constant(V)]))
        return [t.numpy() for t in results]

    found = tangent()
    (loop,) = loops()
    assert kinds(loop) == ({"stack"} if f in (scanned, backwards) else {"carry"})
    jt.config.interpret = True
    for a, b in zip(found, tangent(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for a, b in zip(found[len(found) // 2 :], difference(f), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_products_with_the_hessian_and_forward_jacobians(f: Any) -> None:
    def loss(x: Any) -> Any:
        return sum([jt.reduce_sum(jt.sin(y)) for y in jt.nest.flatten(f(x))])

    product = jt.hvp(loss)(X, V)
    jacobian = jt.jacobian(lambda x: jt.nest.flatten(f(x)), mode="forward")(X)
    jt.config.interpret = True
    np.testing.assert_allclose(product, jt.hvp(loss)(X, V), rtol=1e-11)
    for a, b in zip(jacobian, jt.jacobian(lambda x: jt.nest.flatten(f(x)), mode="reverse")(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_results_of_both_loops_remain() -> None:
    """The second loop reads a stack with an operand of its own, and the first has other results."""
    x = jt.constant(X)
    states = jt.scan(lambda s, row: (jt.tanh(s[0] * row), s[0] + row), jt.constant(ROWS), initializer=(x, x))
    other = jt.scan(
        lambda s, rows: s + jt.sin(rows[0]) * rows[1], (states[0], jt.constant(2.0 * ROWS)), initializer=x
    )
    states = states[1]  # a tensor that is alive is a result
    first, second = states.numpy(), other.numpy()
    (loop,) = loops()
    assert len(loop.ops) == 2
    s = X
    for row, a in zip(ROWS, first, strict=True):
        np.testing.assert_allclose(a, s + row, rtol=1e-13)
        s = np.tanh(s * row)
    t, s = X, X
    for row, b in zip(ROWS, second, strict=True):
        s = np.tanh(s * row)
        t = t + np.sin(s) * (2.0 * row)
        np.testing.assert_allclose(b, t, rtol=1e-13)


def two_loops(change: Any, **options: Any) -> Any:
    """A loop over the rows of another loop, which `change` may make dependent on all of them."""
    x = jt.constant(X)
    first = jt.scan(lambda s, row: jt.tanh(s + row), jt.constant(ROWS), initializer=x)
    rows, begin = change(first, x)
    return jt.scan(lambda s, row: 0.5 * s + row * row, rows, initializer=begin, **options)


DEPENDENT = {
    "begin": lambda first, x: (first, first[-1]),
    "fixed": lambda first, x: (first * jt.reduce_sum(first), x),
    "other rows": lambda first, x: (first[::-1], x),
    "fewer rows": lambda first, x: (first[1:], x),
    "opposite": lambda first, x: (first, x),
}


@pytest.mark.parametrize("case", DEPENDENT)
def test_loops_that_need_all_of_another_are_not_joined(case: str) -> None:
    found = two_loops(DEPENDENT[case], reverse=case == "opposite").numpy()
    assert len(loops()) == 2
    jt.config.interpret = True
    expected = two_loops(DEPENDENT[case], reverse=case == "opposite").numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_stack_that_is_a_result_too_is_stored_once() -> None:
    x = jt.constant(X)
    first = jt.scan(lambda s, row: jt.tanh(s + row), jt.constant(ROWS), initializer=x)
    second = jt.scan(lambda s, row: 0.5 * s + row, first, initializer=x)
    a, b = first.numpy(), second.numpy()
    s, t = X, X
    for row, u, v in zip(ROWS, a, b, strict=True):
        s = np.tanh(s + row)
        t = 0.5 * t + s
        np.testing.assert_allclose(u, s, rtol=1e-13)
        np.testing.assert_allclose(v, t, rtol=1e-13)


def test_three_loops_in_a_row() -> None:
    x = jt.constant(X)
    rows = jt.constant(ROWS)
    for _ in range(3):
        rows = jt.scan(lambda s, row: jt.tanh(s + row), rows, initializer=x)
    found = rows.numpy()
    (loop,) = loops()
    assert len(loop.ops) == 1
    expected = ROWS
    for _ in range(3):
        s, made = X, []
        for row in expected:
            s = np.tanh(s + row)
            made.append(s)
        expected = np.array(made)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_an_error_in_either_loop() -> None:
    """An index out of bounds in the second loop ends the joined one."""
    x = jt.constant(X)
    first = jt.scan(lambda s, row: jt.tanh(s + row), jt.constant(ROWS), initializer=x)
    places = jt.constant(np.array([0, 1, 2, 9, 4]))
    second = jt.scan(lambda s, rows: s + rows[0] * x[rows[1]], (first, places), initializer=x)
    with pytest.raises(IndexError, match="9"):
        second.numpy()


def test_lengths_that_vary() -> None:
    """A function that is traced for arrays of any length joins the loops for each of them."""

    @jt.function
    def tangent(x: Any, v: Any) -> Any:
        return jt.jvp(lambda x: jt.scan(lambda s, a: jt.sin(s) * a, x, initializer=1.0), [x], [v])[1]

    for n in (5, 6, 7, 9, 12, 5):
        x, v = np.linspace(0.5, 1.5, n), np.linspace(1.0, 2.0, n)
        s, d = 1.0, 0.0
        expected = []
        for a, b in zip(x, v, strict=True):
            s, d = np.sin(s) * a, np.cos(s) * d * a + np.sin(s) * b
            expected.append(d)
        np.testing.assert_allclose(tangent(jt.constant(x), jt.constant(v)).numpy(), expected, rtol=1e-12)


def test_what_both_loops_read_is_computed_once() -> None:
    """The tangent needs the sine and its argument, which the loop computes, too."""
    x = jt.constant(X)
    _, tangent = jt.jvp(
        lambda x: jt.fori_loop(0, 6, lambda i, s: jt.exp(s * -2.0) * x, x), [x], [jt.constant(V)]
    )
    tangent.numpy()
    (loop,) = loops()
    (body,) = loop.bodies
    assert sum([step.kernel.text.count("= exp ") for step in body.steps]) == 1


def test_an_operand_that_is_read_twice() -> None:
    x = jt.constant(X)
    first = jt.scan(lambda s, row: jt.tanh(s + row), jt.constant(ROWS), initializer=x)
    second = jt.scan(
        lambda s, rows: s * rows[0] - rows[1] + rows[2] * x, (first, first, first), initializer=x
    )
    del first
    found = second.numpy()
    assert len(loops()) == 1
    s, t = X, X
    for row, v in zip(ROWS, found, strict=True):
        s = np.tanh(s + row)
        t = t * s - s + s * X
        np.testing.assert_allclose(v, t, rtol=1e-13)


def test_the_tangents_of_several_arguments_are_in_one_loop() -> None:
    def f(a: Any, b: Any, x: Any) -> Any:
        return jt.reduce_sum(jt.fori_loop(0, 6, lambda i, s: jt.exp(s * -a) * x + jt.sin(b * s), x))

    arguments = [jt.constant(0.7, "float64"), jt.constant(1.2, "float64"), jt.constant(X)]
    found = [t.numpy() for t in jt.jacobian(f, argnums=(0, 1), mode="forward")(*arguments)]
    (loop,) = loops()
    assert kinds(loop) == {"carry"}
    jt.config.interpret = True
    for a, b in zip(found, jt.grad(f, argnums=(0, 1))(*arguments), strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-11)
