"""What fails leaves Variables, optimizers, tapes and caches as they were, and random numbers are drawn once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt

GOOD, BAD = np.array([1, 2]), np.array([1, 9])


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"])
def interpreted(request: Any) -> Any:
    before = jt.config.interpret
    jt.config.interpret = request.param
    yield request.param
    jt.config.interpret = before


def next_number() -> float:
    return float(jt.random.normal([], dtype="float64"))


def number_after(draws: int) -> float:
    """The random number that comes after so many draws of four from the seed."""
    jt.random.set_seed(4)
    for _ in range(draws):
        jt.random.normal([4])
    return next_number()


# ---- calls of a function ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
def test_a_call_of_a_function_draws_once_whether_it_fails_or_not() -> None:
    v = jt.Variable(np.arange(5.0))

    @jt.function
    def step(x: Any, i: Any) -> Any:
        noise = jt.random.normal([4])
        v.assign_add(jt.reduce_sum(jt.gather(v, i)) * x[0] * jt.ones([5], "float64"))
        return jt.reduce_sum(noise)

    def number_after_call(*arguments: Any) -> float:
        jt.random.set_seed(4)
        before = v.numpy()
        if arguments[1] is BAD:
            with pytest.raises(
                IndexError, match=r"\[gather\] index 9 is out of bounds for axis 0 with size 5"
            ):
                step(*arguments)
            np.testing.assert_array_equal(v.numpy(), before)
        else:
            step(*arguments)
        return next_number()

    wanted = number_after(1)
    for _ in range(4):
        assert number_after_call(np.ones(3), GOOD) == wanted
        assert number_after_call(np.ones(3), BAD) == wanted
        # For another signature the one before is tried first.
        assert number_after_call(np.ones(2), GOOD) == wanted


@pytest.mark.usefixtures("interpreted")
def test_a_call_reads_a_learning_rate_once_whatever_signatures_there_are() -> None:
    v, calls = jt.Variable(np.ones(5)), []

    def rate() -> float:
        calls.append(None)
        return 0.5

    optimizer = jt.optimizers.SGD(rate)

    @jt.function
    def step(x: Any, count: int, i: Any) -> None:
        with jt.GradientTape() as tape:
            loss = sum([jt.reduce_sum(jt.gather(v, i) * jt.reduce_sum(x)) for _ in range(count)])
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    def calls_by(*arguments: Any) -> int:
        before = len(calls)
        step(*arguments)
        return len(calls) - before

    signatures = [(np.ones(3), 1, GOOD), (np.ones(3), 2, GOOD), (np.ones(2), 1, GOOD)]
    for arguments in signatures:
        step(*arguments)
    for _ in range(4):
        assert [calls_by(*arguments) for arguments in signatures] == [1, 1, 1]
        before = len(calls)
        with pytest.raises(IndexError, match="index 9"):
            step(np.ones(3), 1, BAD)
        assert len(calls) == before + 1


def test_a_call_says_that_an_assignment_before_it_has_failed() -> None:
    v = jt.Variable(np.arange(5.0))
    double = jt.function(lambda: v * 2.0)
    for _ in range(3):
        double()
    v.assign_add(jt.gather(v, jt.constant([0, 1, 2, 3, 8]) + 1))
    with pytest.raises(IndexError, match="gather"):
        double()
    np.testing.assert_array_equal(double().numpy(), np.arange(5.0) * 2.0)
