"""Custom gradients in functions that `vmap` batches, at any depth, against a Python loop over the elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt

ROWS = np.random.default_rng(3).uniform(0.3, 1.2, (4, 3))
SHARED = np.array([0.7, -0.4, 1.1])


@jt.custom_gradient
def product(x: Any, y: Any) -> Any:
    """A product whose gradients, on purpose, are not those of a product."""
    return x * y, lambda upstream: (upstream * y * 2.0, upstream * jt.sin(x) * 3.0)


@jt.custom_gradient
def two(x: Any, y: Any) -> Any:
    """Two results, and an operand without a gradient."""
    return (x * y, jt.reduce_sum(x)), lambda first, second: (first * 5.0 + second * y, None)


def in_a_branch(row: Any, shared: Any) -> Any:
    return jt.cond(row[0] > 0.7, lambda: product(row, shared), lambda: product(shared, row) * 0.5)


def in_a_branch_that_all_take(row: Any, shared: Any) -> Any:
    return jt.cond(shared[0] > 0.0, lambda: product(row, shared), lambda: row)


def in_one_of_three(row: Any, shared: Any) -> Any:
    cases = [lambda: product(row, shared), lambda: row * 1.0, lambda: product(row, row)]
    return jt.switch_case(jt.cast(row[1] * 2.4, jt.int32), cases)


def in_a_counted_loop(row: Any, shared: Any) -> Any:
    return jt.fori_loop(0, 3, lambda i, z: product(z, shared) + 0.2, row)


def in_a_loop_that_ends_apart(row: Any, shared: Any) -> Any:
    return jt.while_loop(
        lambda z: jt.reduce_sum(z) < 4.0, lambda z: [jt.square(product(z, shared)) + z + 0.3], [row]
    )[0]


def in_a_scan(row: Any, shared: Any) -> Any:
    return jt.scan(lambda z, element: product(z, shared + element) + 0.1, row, shared)[-1]


def in_a_batch(row: Any, shared: Any) -> Any:
    return jt.vmap(product)(row, shared) + jt.vmap(product, in_axes=(0, None))(row, shared[1])


def in_a_branch_of_a_loop_of_a_batch(row: Any, shared: Any) -> Any:
    def inner(x: Any, y: Any) -> Any:
        return jt.fori_loop(
            0, 2, lambda i, z: jt.cond(z > 0.5, lambda: product(z, y), lambda: product(x, z)), x
        )

    return jt.vmap(inner)(row, shared)


def of_two_results(row: Any, shared: Any) -> Any:
    def step(i: Any, z: Any) -> Any:
        first, second = two(z, shared)
        return first + 0.1 * second

    return jt.fori_loop(0, 2, step, row)


def of_a_result_that_the_elements_share(row: Any, shared: Any) -> Any:
    @jt.custom_gradient
    def constant(x: Any) -> Any:
        return jt.reduce_sum(shared), lambda upstream: upstream * x

    return jt.cond(row[0] > 0.0, lambda: constant(row) * row, lambda: row)


def that_reads_captured_values(row: Any, shared: Any) -> Any:
    @jt.custom_gradient
    def own(x: Any) -> Any:
        return x * x, lambda upstream: upstream * row * shared

    return jt.fori_loop(0, 2, lambda i, z: own(z) + row, row)


def straight_through(row: Any, shared: Any) -> Any:
    rounded = jt.grad_pass_through(lambda x: jt.round(x * 4.0) / 4.0)
    return jt.fori_loop(0, 2, lambda i, z: rounded(z) * shared + row, row)


FUNCTIONS = [
    product, in_a_branch, in_a_branch_that_all_take, in_one_of_three, in_a_counted_loop, in_a_loop_that_ends_apart,
    in_a_scan, in_a_batch, in_a_branch_of_a_loop_of_a_batch, of_two_results, of_a_result_that_the_elements_share,
    that_reads_captured_values, straight_through,
]  # fmt: skip
WEIGHTS = np.cos(np.arange(12.0)).reshape(4, 3)


def batched(f: Callable[..., Any], rows: Any, shared: Any) -> Any:
    return jt.reduce_sum(jt.vmap(f, in_axes=(0, None))(rows, shared) * WEIGHTS)


def one_by_one(f: Callable[..., Any], rows: Any, shared: Any) -> Any:
    return jt.add_n([jt.reduce_sum(f(rows[i], shared) * WEIGHTS[i]) for i in range(4)])


@pytest.fixture(params=["compiled", "function", "interpreted"])
def wrap(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    jt.config.interpret = request.param == "interpreted"
    try:
        yield jt.function if request.param == "function" else lambda f: f
    finally:
        jt.config.interpret = False


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: getattr(f, "__name__", "product"))
def test_gradients_of_a_batch_are_those_of_its_elements(f: Any, wrap: Callable[..., Any]) -> None:
    @wrap
    def gradients(rows: Any, shared: Any) -> Any:
        return jt.grad(lambda *args: batched(f, *args), argnums=(0, 1), unconnected_gradients="zero")(
            rows, shared
        )

    for scale in (1.0, 0.9, 1.0):
        rows, shared = jt.constant(ROWS * scale), jt.constant(SHARED)
        expected = jt.grad(lambda *args: one_by_one(f, *args), argnums=(0, 1), unconnected_gradients="zero")(
            rows, shared
        )
        for found, wanted in zip(gradients(rows, shared), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f", [in_a_branch, in_a_counted_loop, in_a_batch], ids=lambda f: f.__name__)
def test_other_derivatives_of_a_batch(f: Any) -> None:
    def slope(each: Callable[..., Any], rows: Any, shared: Any) -> Any:
        return jt.reduce_sum(jt.grad(lambda s: each(f, rows, s))(shared) * SHARED)

    for _ in range(2):
        second, wanted = [jt.grad(lambda r, e=e: slope(e, r, SHARED))(ROWS) for e in (batched, one_by_one)]
        np.testing.assert_allclose(second, wanted, rtol=1e-10)
        forward, expected = [
            jt.jvp(lambda *args, e=e: e(f, *args), [ROWS, SHARED], [WEIGHTS, SHARED])[1]
            for e in (batched, one_by_one)
        ]
        np.testing.assert_allclose(forward, expected, rtol=1e-10)


def test_a_variable_that_all_elements_read() -> None:
    v = jt.Variable(SHARED)

    @jt.custom_gradient
    def scaled(x: Any) -> Any:
        return x * v, lambda upstream, variables=None: (upstream * v * 2.0, [upstream * x * 7.0])

    for _ in range(3):
        with jt.GradientTape() as tape:
            y = jt.vmap(lambda row: jt.fori_loop(0, 1, lambda i, z: scaled(z), row))(jt.constant(ROWS))
        np.testing.assert_allclose(tape.gradient(y, v), 7.0 * ROWS.sum(0), rtol=1e-12)
