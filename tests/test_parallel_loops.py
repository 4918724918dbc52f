"""Loops whose iterations are independent: threads share them, and every number of threads gives the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.runtime import threads
from processes import run_python

BLOCKS, ROWS = 12, 6_000
Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def threads_restored() -> Iterator[None]:
    before = jt.config.threads
    yield
    jt.config.threads = before


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return jt.constant(rng.normal(size=(BLOCKS, ROWS))), jt.constant(rng.normal(size=3))


def loss(w: Any, x: Any) -> Any:
    return jt.reduce_mean(jt.tanh(w[0] * jt.sin(x) + w[1] * x) * w[2])


def gradient_by_blocks(x: Any, w: Any) -> Any:
    """Return sums over blocks, one of numbers and one of arrays."""

    def add_block(i: Any, state: Any) -> Any:
        value, gradient = jt.value_and_grad(lambda w: loss(w, x[i]))(w)
        return state[0] + value, gradient + state[1]

    return jt.fori_loop(0, BLOCKS, add_block, (0.0 * w[0], 0.5 * w))


def with_inner_loop(x: Any, w: Any) -> Any:
    def add_block(i: Any, total: Any) -> Any:
        last = jt.fori_loop(0, 4, lambda k, y: jt.sin(y) * w[0] + x[i], x[i])
        return total + jt.reduce_sum(last)

    return jt.fori_loop(0, BLOCKS, add_block, 0.0 * w[0])


def rows_written(x: Any, w: Any) -> Any:
    return jt.map_fn(lambda row: jt.exp(jt.sin(row * w[0])) + jt.cos(row), x)


PARALLEL = [gradient_by_blocks, with_inner_loop, rows_written]


def recurrence(x: Any, w: Any) -> Any:
    return jt.fori_loop(0, BLOCKS, lambda i, y: jt.sin(y) + jt.exp(x[i]), x[0])


def total_read(x: Any, w: Any) -> Any:
    """Return a sum that the iterations read."""

    def step(i: Any, total: Any) -> Any:
        return total + jt.reduce_sum(jt.exp(jt.sin(x[i] * total)))

    return jt.fori_loop(0, BLOCKS, step, 0.0 * w[0])


def long_terms(x: Any, w: Any) -> Any:
    """Return a sum of arrays of 200 KB, of which as many as there are blocks would be stored."""
    wide = jt.tile(x[0], [5])
    return jt.fori_loop(0, 5 * BLOCKS, lambda i, total: total + jt.exp(jt.sin(wide + w[0])), wide)


def short_iterations(x: Any, w: Any) -> Any:
    return jt.fori_loop(0, BLOCKS, lambda i, total: total + jt.reduce_sum(x[i, :50]), w[0])


def endless_inside(x: Any, w: Any) -> Any:
    def step(i: Any, total: Any) -> Any:
        y = jt.while_loop(lambda y: y[0] < 1.0, lambda y: (jt.exp(jt.sin(y)) + 1.0,), [x[i]])[0]
        return total + jt.reduce_sum(jt.exp(jt.sin(y)))

    return jt.fori_loop(0, BLOCKS, step, w[0])


SERIAL = [recurrence, total_read, long_terms, short_iterations, endless_inside]


def bits(results: Any) -> list[bytes]:
    return [jt.convert_to_tensor(r).numpy().tobytes() for r in jt.nest.flatten(results)]


def run_with(count: int, function: Make, *args: Any) -> list[bytes]:
    jt.config.threads = count
    threads._pool["skip"] = threads._pool["penalty"] = 0
    return bits(function(*args))


def parallel_tasks(make: Make) -> list[int]:
    """Return the numbers of tasks of the loops of a compiled step."""
    for _ in range(3):
        bits(make(*data()))
    return [step.tasks for step in jt.explain().steps if step.title == "loop"]


@pytest.mark.parametrize("make", PARALLEL)
def test_iterations_are_tasks(make: Make) -> None:
    assert parallel_tasks(make)[0] == BLOCKS


@pytest.mark.parametrize("make", SERIAL)
def test_other_loops_run_one_iteration_after_another(make: Make) -> None:
    assert set(parallel_tasks(make)) == {1}


@pytest.mark.parametrize("make", [*PARALLEL, *SERIAL])
def test_every_number_of_threads_gives_the_same_bits(make: Make) -> None:
    function = jt.function(make)
    x, w = data()
    run_with(1, function, x, w)
    expected = run_with(1, function, x, w)
    for count in (2, 3, 2, 1):
        for _ in range(5):
            assert run_with(count, function, x, w) == expected
    for found, slow in zip(expected, bits(make(x, w)), strict=True):
        np.testing.assert_allclose(np.frombuffer(found), np.frombuffer(slow), rtol=1e-12)


def test_sums_have_the_bits_of_the_loop(override_tuning: Any) -> None:
    """The terms are added up in the order of the iterations, as the loop adds them."""
    function = jt.function(gradient_by_blocks)
    x, w = data()
    run_with(1, function, x, w)
    found = run_with(2, function, x, w)
    override_tuning(parallel_loop_elements=1 << 40)
    serial = jt.function(lambda x, w: gradient_by_blocks(x, w))
    run_with(1, serial, x, w)
    assert run_with(2, serial, x, w) == found


def test_an_error_in_an_iteration_reaches_the_caller() -> None:
    table = jt.constant(np.arange(5.0))

    def total(places: Any, x: Any) -> Any:
        def add(i: Any, total: Any) -> Any:
            return total + jt.reduce_sum(jt.exp(jt.sin(x[i]))) * table[places[i]]

        return jt.fori_loop(0, BLOCKS, add, jt.constant(0.0, "float64"))

    function = jt.function(total)
    x = data()[0]
    good, bad = np.arange(BLOCKS) % 5, np.arange(BLOCKS) % 6
    jt.config.threads = 2
    for _ in range(3):
        expected = float(function(jt.constant(good), x))
        with pytest.raises(jt.errors.InvalidArgumentError, match="index"):
            float(function(jt.constant(bad), x))
        assert float(function(jt.constant(good), x)) == expected


def test_ctrl_c_ends_a_parallel_loop() -> None:
    out = run_python(
        "-c",
        """
import _thread, signal, threading
import numpy as np, jittape as jt

signal.signal(signal.SIGINT, signal.default_int_handler)
jt.config.threads = 2

@jt.function
def total(x):
    def add(i, total):
        y = jt.fori_loop(0, 20, lambda k, y: jt.sin(y) + 1.0, x + jt.cast(i, "float64"))
        return total + jt.reduce_sum(y)
    return jt.fori_loop(0, 200_000, add, jt.constant(0.0, "float64"))

threading.Timer(1.5, _thread.interrupt_main).start()
try:
    print(float(total(jt.constant(np.ones(5_000)))))
except KeyboardInterrupt:
    print("ended")
""",
    )
    assert "ended" in out.stdout
