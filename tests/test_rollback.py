"""What fails leaves Variables, optimizers, tapes and caches as they were, and random numbers are drawn once."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.buffers import LARGE, Buffer
from jittape.recording.flushing import Flushing
from jittape.recording.trace import Trace, current_trace
from jittape.recording.trie import trie
from jittape.runtime.path_executable import PathExecutable

pytestmark = pytest.mark.usefixtures("small_heap")

GOOD, BAD = np.array([1, 2]), np.array([1, 9])


@pytest.fixture(params=[False, True], ids=["compiled", "interpreted"])
def interpreted(request: Any) -> Any:
    before = jt.config.interpret
    jt.config.interpret = request.param
    yield request.param
    jt.config.interpret = before


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    """The tapes of failed steps live on in the tracebacks of their errors, and would in the next test's trace."""
    yield
    gc.collect()
    with jt.GradientTape():
        pass


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


# ---- steps that are recorded -----------------------------------------------------------------------------------------


def kept_executables() -> int:
    """How many programs are remembered in the trie."""
    return sum(len(node.executables) for node in trie._walk())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("size", [5, 20_000])
@pytest.mark.parametrize("look", ["loss", "bias", "iterations", "the next tape"])
def test_a_step_that_fails_changes_nothing(look: str, size: int) -> None:
    table, bias = jt.Variable(np.arange(float(size))), jt.Variable(1.0, dtype="float64")
    optimizer = jt.optimizers.Adam(0.1, weight_decay=0.1, use_ema=True)

    def step(i: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.gather(table, i) ** 2) + bias * bias
        optimizer.apply_gradients(zip(tape.gradient(loss, [table, bias]), [table, bias], strict=True))
        return loss

    def fail() -> None:
        loss = step(jt.constant([1, size]) + 0)
        if look == "the next tape":
            with jt.GradientTape():
                pass
        float({"loss": loss, "bias": bias, "iterations": optimizer.iterations}[look])

    def succeed() -> None:  # one line of the source is one path
        float(step(jt.constant([1, 2]) + 0))

    for _ in range(4):
        succeed()
    variables = [table, bias, *optimizer.variables]
    for _ in range(3):
        before, remembered = [v.numpy().copy() for v in variables], kept_executables()
        with pytest.raises(IndexError, match=f"index {size} is out of bounds"):
            fail()
        for variable, value in zip(variables, before, strict=True):
            np.testing.assert_array_equal(variable.numpy(), value, err_msg=variable.name)
        assert kept_executables() <= remembered + 1  # the program that has failed
        succeed()
        assert int(optimizer.iterations) == before[2] + 1
        assert kept_executables() <= remembered + 1


@pytest.mark.usefixtures("interpreted")
def test_what_was_assigned_before_the_failure_stays() -> None:
    v, w = jt.Variable([1.0, 2.0]), jt.Variable(0.0)
    for repeat in range(1, 4):
        with pytest.raises(IndexError, match="index 2 is out of bounds"), jt.GradientTape():
            v.assign_add([1.0, 1.0])
            v.assign_add([1.0, 1.0])
            bad = jt.gather(v, jt.constant([2]) + 0)
            v.assign_add([5.0, 5.0])
            w.assign_add(1.0)
            bad.numpy()
        assert v.tolist() == [1.0 + 2.0 * repeat, 2.0 + 2.0 * repeat]
        assert float(w) == 0.0


def test_an_error_that_no_op_has_made_loses_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    v = jt.Variable([1.0, 2.0])

    def no_memory(*arguments: Any) -> Any:
        raise MemoryError

    v.assign_add([1.0, 1.0])
    v.numpy()
    v.assign_add([1.0, 1.0])
    y = v * 2.0
    with monkeypatch.context() as patched:
        patched.setattr(PathExecutable, "run", no_memory)
        with pytest.raises(MemoryError):
            v.numpy()
    assert v.tolist() == [2.0, 3.0]
    assert y.tolist() == [6.0, 8.0]


def test_an_interrupt_while_it_is_found_out_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    v = jt.Variable([1.0, 2.0])

    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    v.assign_add([1.0, 1.0])
    bad = jt.gather(v, jt.constant([2]) + 0)
    with monkeypatch.context() as patched:
        patched.setattr(PathExecutable, "salvage", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bad.numpy()
    with pytest.raises(IndexError):
        bad.numpy()
    assert v.tolist() == [2.0, 3.0]


def test_an_interrupt_while_values_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    v, w = jt.Variable([1.0, 2.0]), jt.Variable(0.0)
    x = jt.fori_loop(0, 3, lambda i, x: x + 1.0, v * 1.0)
    v.assign(x)
    w.assign(x[0])

    def halfway(trace: Any, alive: Any, assigned: Any, buffers: Any) -> None:
        v._adopt(buffers[len(alive)])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Flushing, "_distribute", halfway)
        with pytest.raises(KeyboardInterrupt):
            x.numpy()
    assert v.tolist() == [4.0, 5.0]
    assert float(w) == 4.0
    assert x.tolist() == [4.0, 5.0]


def test_an_interrupt_repeats_no_update_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of a large Variable is updated in place; a second run would add the update once more."""
    v = jt.Variable(np.zeros(LARGE // 8))
    distribute = Flushing._distribute
    for step in range(1, 6):
        v.assign_add(jt.ones_like(v))
        calls = itertools.count(1)

        def first_interrupted(*args: Any, calls: Any = calls) -> None:
            if next(calls) == 1:
                raise KeyboardInterrupt
            distribute(*args)

        with monkeypatch.context() as patched:
            patched.setattr(Flushing, "_distribute", first_interrupted)
            with pytest.raises(KeyboardInterrupt):
                v[0].numpy()
        assert float(v[0]) == step


def interrupting(method: Any, at: int) -> Any:
    """`method`, but Ctrl-C comes at the end of its call number `at`."""
    calls = itertools.count(1)

    def interrupted(self: Any, *arguments: Any) -> Any:
        result = method(self, *arguments)
        if next(calls) == at:
            raise KeyboardInterrupt
        return result

    return interrupted


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupt_while_an_op_is_recorded(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, v = jt.constant([1.0, 2.0]), jt.constant([3.0, 4.0]), jt.Variable([5.0, 6.0])
    kept = jt.exp(a) * 0.0
    with monkeypatch.context() as patched:
        patched.setattr(Trace, "_import", interrupting(Trace._import, at))
        with pytest.raises(KeyboardInterrupt):
            # What machine code does not record: more than one new value, and a NumPy scalar.
            jt.stack([b, v, a, jt.constant([0.0, 0.0])])
            (b + np.float32(1.0)) * v
    total, product = b - a, v * b
    v.assign_add(a)
    assert total.tolist() == [2.0, 2.0]
    assert product.tolist() == [15.0, 24.0]
    assert kept.tolist() == [0.0, 0.0]
    assert v.tolist() == [6.0, 8.0]


def test_an_interrupt_while_a_tape_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    v = jt.Variable(1.0)
    with monkeypatch.context() as patched:
        patched.setattr(jt.config, "native", False)  # machine code leaves a tape without an interrupt
        patched.setattr(Trace, "leave", interrupting(Trace.leave, 1))
        with pytest.raises(KeyboardInterrupt), jt.GradientTape() as tape:
            y = v * v
    trace = current_trace()
    assert tape.gradient(y, v).numpy() == 2.0
    del tape
    gc.collect()
    trace.release_lost()
    assert trace.intervals == []
    assert trace.holders == 0


def test_a_tape_that_was_never_left_is_no_outer_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Trace, "release_lost", lambda trace: trace.lost.clear())
        tape = jt.GradientTape()
        tape.__enter__()
        y = jt.exp(jt.constant(0.0))
        del tape
        gc.collect()
    with jt.GradientTape():
        assert len(current_trace().intervals) == 1
        assert y._buffer is not None  # a step has begun
    current_trace().lost.held.clear()  # of the tape that this test has lost


def test_a_buffer_that_was_not_made() -> None:
    buffer = Buffer.__new__(Buffer)
    del buffer


# ---- updates that end halfway ----------------------------------------------------------------------------------------


class Halfway(jt.optimizers.SGD):
    """Fails after its first Variable."""

    error: type[BaseException] | None = None
    looks = False

    def update_step(self, gradient: Any, variable: jt.Variable, learning_rate: Any) -> None:
        super().update_step(gradient, variable, learning_rate)
        if self.looks:
            variable.numpy()
        if self.error is not None:
            raise self.error


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("pending", [False, True])
def test_an_update_that_ends_halfway_changes_nothing(
    error: type[BaseException], looks: bool, pending: bool
) -> None:
    v, w = jt.Variable([1.0, 2.0]), jt.Variable([3.0])
    optimizer = Halfway(0.5, momentum=0.5)
    pairs = [(jt.constant([1.0, 1.0]), v), (jt.constant([1.0]), w)]
    for _ in range(3):
        optimizer.apply_gradients(pairs)
    variables = [v, w, *optimizer.variables]
    before = [value.numpy().copy() for value in variables]
    if pending:
        w.assign_add([1.0])  # not run yet
        before[1] = before[1] + 1.0
    optimizer.error, optimizer.looks = error, looks
    with pytest.raises(error):
        optimizer.apply_gradients(pairs)
    for variable, value in zip(variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value, err_msg=variable.name)
    optimizer.error = None
    optimizer.apply_gradients(pairs)
    assert int(optimizer.iterations) == 4


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    "constraint", [lambda v: jt.ones([7]), lambda v: jt.constant([9.0]) if v[0] > 9 else 1 / 0]
)
def test_a_constraint_that_fails_undoes_the_update(constraint: Any) -> None:
    v = jt.Variable([1.0, 2.0], constraint=lambda v: jt.constant([5.0, 5.0]))
    w = jt.Variable([3.0], constraint=constraint)
    optimizer = jt.optimizers.Adam(0.5)
    for _ in range(3):
        with pytest.raises((ValueError, ZeroDivisionError)):
            optimizer.apply_gradients([(jt.constant([1.0, 1.0]), v), (jt.constant([1.0]), w)])
        assert v.tolist() == [1.0, 2.0]
        assert w.tolist() == [3.0]
        assert int(optimizer.iterations) == 0


@pytest.mark.usefixtures("interpreted")
def test_a_value_that_could_not_be_computed_is_no_argument() -> None:
    bad = jt.gather(jt.constant([1.0, 2.0]), jt.constant([7]) + 0)
    double = jt.function(lambda x: x * 2.0)
    for _ in range(4):
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            double(bad)
    assert double(jt.constant([1.0])).tolist() == [2.0]
