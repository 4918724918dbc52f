"""`trace_nans`: the operation that makes the first nan; `compare_precision`: the one that loses digits of float32."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.debugging import compare_precision, trace_nans

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


@pytest.fixture(autouse=True, params=["compiled", "interpreted"])
def mode(request: pytest.FixtureRequest, new_step: None) -> Iterator[None]:
    before = jt.config.interpret
    jt.config.interpret = request.param == "interpreted"
    yield
    jt.config.interpret = before


def line_with(text: str) -> int:
    return next(i for i, line in enumerate(LINES, 1) if text in line)


def test_the_first_nan_of_a_training_loop_is_found() -> None:
    w = jt.Variable([1.0, 0.5, 0.25])

    def step() -> None:
        with jt.GradientTape() as tape:
            logs = jt.math.log(w)  # makes the nan
            masked = jt.where(w > 0.3, jt.math.sqrt(w - 0.3), 0.0)
            loss = jt.reduce_sum(logs) + jt.reduce_sum(masked)
        w.assign_sub(0.05 * jt.clip_by_value(tape.gradient(loss, w), -2.0, 2.0))
        losses.append(loss)

    losses: list[Any] = []
    with pytest.raises(jt.NumericsError) as error, trace_nans() as trace:
        for _ in range(50):
            step()
        w.numpy()
    origin = trace.origin
    assert origin is not None
    assert origin.operation == "log"
    assert origin.line is not None
    assert origin.line.line == line_with("# makes" + " the nan")
    assert not origin.backward
    assert "float32[3] from -" in origin.operands[0]
    message = str(error.value)
    assert message.startswith("the step computed a nan: `log` made it at ")
    assert origin.operands[0] in message
    assert "1 nan" in origin.result
    step()  # outside of the block nothing is checked


def test_a_nan_of_the_backward_pass_names_the_line_of_the_forward_pass() -> None:
    x = jt.Variable([4.0, 0.0])

    def gradient() -> Any:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(jt.sqrt(x))  # forward
        return tape.gradient(y, x)

    with trace_nans(infinities=True) as trace, pytest.raises(jt.NumericsError, match="in the gradient of"):
        for _ in range(3):
            gradient().numpy()
    assert trace.origin is not None
    assert trace.origin.backward
    assert trace.origin.line is not None
    assert trace.origin.line.line == line_with("# for" + "ward")


def test_masked_values_are_not_blamed_and_good_programs_run() -> None:
    x = jt.constant([4.0, -1.0, 9.0])
    f = jt.function(lambda x: jt.where(x > 0.0, jt.sqrt(x), 0.0))
    w = jt.Variable(np.ones(20_000))
    with trace_nans(infinities=True):
        for _ in range(4):
            np.testing.assert_array_equal(f(x), [2.0, 0.0, 3.0])
            w.assign_add(jt.ones_like(w))
    np.testing.assert_array_equal(w, np.full(20_000, 5.0))
    np.testing.assert_array_equal(f(x), [2.0, 0.0, 3.0])


def test_functions_loops_inputs_and_subnormal_numbers() -> None:
    x = jt.constant([1.0, 2.0])

    def body(i: Any, carry: Any) -> Any:
        return jt.math.log(carry)  # in the loop

    looped = jt.function(lambda x: jt.fori_loop(0, 5, body, x))
    with trace_nans() as trace, pytest.raises(jt.NumericsError, match="in iteration 4 of a loop"):
        looped(x * 3.0).numpy()
    assert trace.origin is not None
    assert trace.origin.operation == "log"
    assert trace.origin.line is not None
    assert trace.origin.line.line == line_with("# in the" + " loop")

    nan = jt.constant([1.0, float("nan")])
    with (
        trace_nans() as trace,
        pytest.raises(jt.NumericsError, match="an input of the step, first read at .*1 nan"),
    ):
        (nan * 2.0).numpy()

    with trace_nans():
        (x / 0.0).numpy()
    with trace_nans(infinities=True) as trace, pytest.raises(jt.NumericsError, match="a nan or infinity"):
        (x / 0.0).numpy()
    assert trace.origin is not None
    assert trace.origin.operation == "divide"

    with trace_nans(denormals=True) as trace, pytest.raises(jt.NumericsError, match="2 subnormal of 2"):
        (x * 1e-30 * 1e-10).numpy()
    with trace_nans(), pytest.raises(RuntimeError, match="cannot be nested"), trace_nans():
        pass


def test_lost_digits_are_named_with_their_line() -> None:
    def variance(x: Any) -> Any:
        mean = jt.reduce_mean(x)
        return jt.reduce_mean(x * x) - mean * mean  # cancels

    data = np.linspace(1000.0, 1000.1, 50)
    report = compare_precision(variance, data)
    assert report.losses[0].operation == "subtract"
    assert report.losses[0].line is not None
    assert report.losses[0].line.line == line_with("# can" + "cels")
    assert report.lost > 5
    assert "`subtract` at" in str(report)
    good = compare_precision(
        lambda x: jt.reduce_mean(jt.square(x - jt.reduce_mean(x))), np.linspace(0.0, 1.0, 50)
    )
    assert good.losses == ()
    assert good.lost < 2
    assert "none loses more than 3 digits" in str(good)
    slope = compare_precision(
        jt.grad(lambda x: jt.reduce_sum((x + 1e6) - 1e6) ** 2), jt.constant([0.123, 0.3])
    )
    assert any(loss.operation == "subtract" for loss in slope.losses)

    with pytest.raises(ValueError, match="can be traced"):
        compare_precision(lambda x: x * float(x[0]), data)


@pytest.mark.parametrize("result", [lambda x: jt.cast(x, jt.int32), lambda x: None])
def test_results_without_digits_are_refused(result: Any) -> None:
    with pytest.raises(TypeError, match=r"\[compare_precision\] f must return tensors of floats"):
        compare_precision(result, np.ones(3))
