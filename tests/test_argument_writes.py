"""Functions that write to their arguments: derivatives are with respect to the values that came in."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.errors import ControlFlowError
from writing_programs import SIZE, WritingProgram, ways_to_gradients

C = np.array([1.0, 10.0, 100.0])
X = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def interpreted() -> Iterator[None]:
    jt.config.interpret = True
    yield
    jt.config.interpret = False


def compare(seed: int) -> None:
    """Compare a program with writes to the same program without them."""
    program = WritingProgram(seed)
    rng = np.random.default_rng(seed)
    given = rng.normal(size=SIZE), rng.normal(size=SIZE)
    for name, way in ways_to_gradients(given).items():
        found, expected = way(program), way(program.without_writes)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11, err_msg=f"seed {seed}, {name}")
    np.testing.assert_array_equal(given[0], np.random.default_rng(seed).normal(size=SIZE))
    jt.check_gradient(program, given[0], {"y": given[1]}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_writes_are_differentiated_like_new_tensors(seed: int, interpreted: None) -> None:
    compare(seed)


@pytest.mark.parametrize("seed", [3])
def test_writes_are_differentiated_like_new_tensors_when_compiled(seed: int) -> None:
    compare(seed)


# ---- tapes -----------------------------------------------------------------------------------------------------------


def test_a_watched_tensor_that_is_written_to_keeps_its_earlier_paths(mode: str) -> None:
    for _ in range(3):
        x = jt.constant(X)
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            before = jt.reduce_sum(x * x)
            x[0] = 2 * x[1]
            after = copy.copy(x)
            y = jt.reduce_sum(after * after * C)
        np.testing.assert_array_equal(tape.gradient(before, x), 2 * X)
        np.testing.assert_array_equal(tape.gradient(y, x), [0.0, 56.0, 600.0])
        np.testing.assert_array_equal(tape.gradient(y, after), [8.0, 40.0, 600.0])
        np.testing.assert_array_equal(tape.gradient([before, y], x), [2.0, 60.0, 606.0])
        np.testing.assert_array_equal(
            tape.jacobian(after, x), [[0.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        )
        assert x.tolist() == [4.0, 2.0, 3.0]


def test_the_latest_watched_value_is_the_source() -> None:
    x = jt.constant(X)
    with jt.GradientTape(persistent=True) as first:
        first.watch(x)
        x[0] = 2 * x[1]
        with jt.GradientTape() as second:
            second.watch(x)
            x[2] = x[0] * x[1]
            y = jt.reduce_sum(x * C)
        np.testing.assert_array_equal(second.gradient(y, x), [1.0 + 200.0, 10.0 + 400.0, 0.0])
    np.testing.assert_array_equal(first.gradient(y, x), [0.0, 2.0 + 10.0 + 800.0, 0.0])


@pytest.mark.parametrize("where", ["after the block", "in a later tape", "before the tape is entered again"])
def test_writes_between_a_tape_and_its_gradient(where: str, mode: str) -> None:
    for _ in range(3):
        x = jt.constant(X)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(x * x * C)
        if where == "after the block":
            x[1] = -5.0
            found = tape.gradient(y, x)
        elif where == "in a later tape":
            with jt.GradientTape():
                x[1] = -5.0
                found = tape.gradient(y, x)
        else:
            assert float(y) == 941.0
            jt.config.threads = jt.config.threads  # ends the trace
            x[1] = -5.0
            with tape:
                y = y + jt.reduce_sum(x)
            found = tape.gradient(y, x)
        np.testing.assert_array_equal(found, 2 * X * C)
        assert x.tolist() == [1.0, -5.0, 3.0]


def test_a_write_in_one_tape_of_what_an_earlier_one_watches() -> None:
    x = jt.constant(X)
    with jt.GradientTape() as earlier:
        earlier.watch(x)
        x[0] = x[1] * x[1]
        y = jt.reduce_sum(x * C)
    with jt.GradientTape() as later:
        later.watch(x)
        slope = jt.reduce_sum(earlier.gradient(y, x) * jt.constant(X))
    np.testing.assert_array_equal(slope, (4.0 + 10.0) * 2.0 + 300.0)


def test_the_accumulator_follows_what_came_in() -> None:
    x = jt.constant(X)
    with jt.autodiff.ForwardAccumulator(x, np.array([1.0, 1.0, 0.0])) as accumulator:
        x[0] = 2 * x[1]
        y = x * C
    np.testing.assert_array_equal(accumulator.jvp(y), [2.0, 10.0, 0.0])
    np.testing.assert_array_equal(accumulator.jvp(x), [2.0, 1.0, 0.0])


# ---- functions that call others --------------------------------------------------------------------------------------


def doubled(x: Any) -> Any:
    x[0] = 2 * x[1]
    return jt.reduce_sum(x * x * C)


def test_gradients_that_the_user_writes() -> None:
    @jt.custom_gradient
    def sine(x: Any) -> Any:
        return jt.sin(x), lambda g: g * jt.cos(x)

    @jt.custom_gradient
    def first_twice(x: Any) -> Any:
        before = copy.copy(x)
        x[0] = 2 * x[1]
        return x * x, lambda g: g * before

    x = jt.constant(X)
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = sine(x), first_twice(x)
        assert x.tolist() == [1.0, 2.0, 3.0]
        x[0] = 5.0
    np.testing.assert_allclose(tape.gradient(y, x), np.cos(X))
    np.testing.assert_array_equal(z, [16.0, 4.0, 9.0])
    np.testing.assert_array_equal(tape.gradient(z, x), X)


def test_recompute_grad_computes_again_from_what_came_in() -> None:
    w, x = jt.constant(X), jt.constant(X)
    block, product = jt.recompute_grad(doubled), jt.recompute_grad(lambda x: jt.sin(x * w))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y, z = block(x), product(x)
        w[0], x[0] = 100.0, 50.0
    np.testing.assert_array_equal(tape.gradient(y, x), [0.0, 56.0, 600.0])
    np.testing.assert_allclose(tape.gradient(z, x), np.cos(X * X) * X)
    np.testing.assert_allclose(tape.gradient(z, w), np.cos(X * X) * X)
    assert w.tolist() == [100.0, 2.0, 3.0]


def test_a_value_that_the_caller_writes_to_has_its_pullback() -> None:
    with jt.GradientTape():
        value, pullback = jt.vjp(lambda x: x * x, jt.constant(X))
        value[0] = 7.0
        np.testing.assert_array_equal(pullback(np.ones(3))[0], 2 * X)


def test_check_gradient_of_a_function_that_writes_to_ints() -> None:
    def f(x: Any, order: Any) -> Any:
        order[0] += 1
        return x * jt.cast(order, jt.float64)

    jt.check_gradient(f, X, np.array([1, 2, 3]))


def test_a_jt_function_writes_to_handles_of_its_own(mode: str) -> None:
    inner = jt.function(doubled)
    outer = jt.function(lambda x: (inner(x), x * 1.0))

    def plain(x: Any) -> Any:
        return inner(x), x * 1.0

    @jt.function
    def looks(x: Any) -> Any:
        return doubled(x) if x[0] > 0 else x

    for call in (outer, plain):
        for _ in range(3):
            value, same = call(jt.constant(X))
            assert float(value) == 956.0
            np.testing.assert_array_equal(same, X)
    x, a = jt.constant(X), X.copy()
    with pytest.warns(jt.FunctionWarning):
        assert float(looks(x)) == 956.0
    jt.config.run_functions_eagerly(True)
    try:
        assert [float(inner(x)), float(inner(a))] == [956.0, 956.0]
    finally:
        jt.config.run_functions_eagerly(False)
    assert x.tolist() == a.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", ["function", "cond", "fori_loop", "vectorized_map"])
def test_writes_to_tensors_from_outside_are_refused(kind: str) -> None:
    w = jt.constant(X)

    def writes(x: Any) -> Any:
        w[0] = x[1]
        return w * 1.0

    runs = {
        "function": lambda: jt.function(writes)(X),
        "cond": lambda: jt.cond(w[0] > 0, lambda: writes(w), lambda: w),
        "fori_loop": lambda: jt.fori_loop(0, 3, lambda i, x: writes(x), jt.constant(X)),
        "vectorized_map": lambda: jt.vectorized_map(writes, jt.constant([X, X])),
    }
    with pytest.raises(
        ValueError if kind == "function" else ControlFlowError, match="writes to a tensor from outside"
    ):
        runs[kind]()
    assert w.tolist() == [1.0, 2.0, 3.0]


def test_a_traced_function_may_write_to_its_own_constants(mode: str) -> None:
    def f(x: Any) -> Any:
        t, u, v = jt.constant(np.zeros(3)), copy.copy(fixed), jt.zeros([3], jt.float64)
        t[1], u[0], v[2] = x[0], x[1], x[2]
        return t + u + v

    fixed = jt.constant(X)
    runs = (jt.function(f), lambda x: jt.cond(x[0] > 0, lambda: f(x), lambda: x))
    for run in runs:
        for _ in range(3):
            np.testing.assert_array_equal(run(jt.constant(X)), [2.0, 3.0, 6.0])
    assert fixed.tolist() == [1.0, 2.0, 3.0]


def test_handles_to_one_value_are_one_operand_of_a_body() -> None:
    def slope(x: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(x * copy.copy(x))
        return tape.gradient(y, x)

    def slope_of_branch(x: Any) -> Any:
        c = copy.copy(x)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.cond(c[0] > 0, lambda: jt.reduce_sum(x * c * copy.copy(c)), lambda: x[0])
        return tape.gradient(y, x)

    def chosen(f: Any, x: Any) -> Any:
        return jt.cond(x[0] > 0, lambda: f(x), lambda: x)

    for x in (jt.constant(X), jt.constant(X) * 1.0):
        np.testing.assert_array_equal(chosen(slope, x), 2 * X)
        np.testing.assert_array_equal(chosen(slope_of_branch, x), 3 * X * X)
