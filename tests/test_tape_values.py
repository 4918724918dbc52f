"""`GradientTape` point by point, continued: reasons, dtypes, pauses, Jacobians, nesting, threads, memory.

The names have the rows of the table on the page "Coming from TensorFlow".
"""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.recording.trie import trie
from jittape.runtime.counters import counters

UNCONNECTED = jt.UnconnectedGradientWarning


def watched(*values: Any, **options: Any) -> tuple[Any, ...]:
    """A tape that has been entered by hand, and constants that it watches."""
    tape = jt.GradientTape(**options)
    tape.__enter__()
    tensors = tuple(jt.constant(v) for v in values)
    tape.watch(tensors)
    return tape, *tensors


def line_of(function: Any, text: str) -> int:
    """The line number in this file of the line of `function` that holds `text`."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


# ---- None, and why ---------------------------------------------------------------------------------


def unwatched(tape: Any, v: Any) -> Any:
    x = jt.constant(2.0)
    return x * v, x


def unconnected(tape: Any, v: Any) -> Any:
    x = jt.Variable(2.0)
    x * v
    return v * v, x


def integers(tape: Any, v: Any) -> Any:
    return jt.cast(jt.cast(v, jt.int32), jt.float32) * 2.0, v


def numpy_detour(tape: Any, v: Any) -> Any:
    return jt.constant(np.asarray(v.numpy())) * 2.0, v


def assigned(tape: Any, v: Any) -> Any:
    w = jt.Variable(0.0)
    w.assign(v * v)
    return w * 1.0, v


def stopped(tape: Any, v: Any) -> Any:
    return jt.stop_gradient(v * v) * 2.0, v


def floored(tape: Any, v: Any) -> Any:
    return jt.floor(v) * 2.0, v


def rounded(tape: Any, v: Any) -> Any:
    return jt.round(v) * 2.0, v


def position(tape: Any, v: Any) -> Any:
    return jt.cast(jt.argmax(jt.stack([v, 2.0 * v])), jt.float32), v


def paused(tape: Any, v: Any) -> Any:
    with tape.stop_recording():
        y = v * v
    return y * 1.0, v


def elsewhere(tape: Any, v: Any) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(v * v))
    thread.start()
    thread.join()
    return results[0], v


@pytest.mark.parametrize(
    ("program", "reason", "text"),
    [
        (unwatched, "was not watched: it is a constant; call tape.watch(x)", "return x * v"),
        (unconnected, "the target does not depend on variable 'Variable:0'", None),
        (integers, "gives int32, which has no gradient", "jt.cast(v, jt.int32)"),
        (numpy_detour, "taken out with numpy()", None),
        (assigned, "no gradient flows through an assignment", "return w * 1.0"),
        (stopped, "`stop_gradient`", "jt.stop_gradient"),
        (floored, "`floor`", "jt.floor"),
        (rounded, "`round`", "jt.round"),
        (position, "`argmax`", "jt.argmax"),
        (paused, "ran while the tape was not recording", "y = v * v"),
        (elsewhere, "in another thread", None),
    ],
)
def test_g26_none_says_why(program: Any, reason: str, text: str | None):
    trie.clear()  # it keeps the line that recorded a path first, which may be another test's
    v = jt.Variable(3.0)
    with jt.GradientTape(persistent=True) as tape:
        target, source = program(tape, v)
    for _ in range(2):
        with pytest.warns(UNCONNECTED) as caught:
            assert tape.gradient(target, source) is None
        message = str(caught[0].message)
        assert len(caught) == 1
        assert reason in message
        assert caught[0].filename == __file__
    if text is not None:
        assert f"line {line_of(program, text)} of {__file__}" in message
    assert tape.explain(target, source) in message


def test_g26_outside_the_block():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        x * x
    z = x * x
    with pytest.warns(UNCONNECTED, match="`multiply` at line .* ran while the tape was not recording"):
        assert tape.gradient(z, x) is None


def test_g26_the_name_is_that_of_the_variable_asked_for():
    """Two programs on one path of the trie, with Variables of different names."""
    for name in ("first", "second", "first"):
        a, b = jt.Variable(1.0), jt.Variable(2.0, name=name)
        with jt.GradientTape() as tape:
            y = a * a
        with pytest.warns(UNCONNECTED, match=name):
            assert tape.gradient(y, [a, b])[1] is None


@pytest.mark.parametrize("target", [[], (), {}, [[]]])
def test_g26_nothing_to_differentiate(target: Any):
    x = jt.Variable(1.0)
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            y = jt.constant(2.0) * 3.0
        with pytest.warns(
            jt.UnconnectedGradientWarning, match="the target is an empty structure, so there is nothing"
        ):
            assert tape.gradient(target, x) is None
        with pytest.warns(jt.UnconnectedGradientWarning, match="does not depend|was not used"):
            assert tape.gradient(y, x) is None
        assert float(tape.gradient(target, x, unconnected_gradients="zero")) == 0.0


def test_g26_explain_where_there_is_a_gradient():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = jt.exp(x * x)
    assert tape.explain(y, x) == (
        "the target depends on variable 'Variable:0' through 2 recorded ops; jt.check_gradient(f, x) compares a "
        "gradient with differences"
    )
    assert tape.gradient(y, x) is not None


# ---- dtypes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_g27_differentiable_dtypes(dtype: str):
    tape, x = watched(np.array([1.0, 2.0], dtype))
    y = x * x
    tape.__exit__(None, None, None)
    gradient = tape.gradient(y, x)
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient, np.array([2.0, 4.0], dtype))


def test_g28_only_the_path_through_integers_is_lost():
    tape, x = watched(2.5)
    y = x * x + jt.cast(jt.cast(x, jt.int32), jt.float32) * 100.0
    tape.__exit__(None, None, None)
    assert tape.gradient(y, x).numpy() == 5.0


def test_g29_complex_gradients_are_conjugate():
    tape, x = watched(np.complex64(3 + 2j))
    y = x * x
    tape.__exit__(None, None, None)
    assert tape.gradient(y, x).numpy() == np.complex64(6 - 4j)


def test_g30_dtypes_promote_as_in_numpy_and_python_scalars_are_weak():
    x, w = jt.constant(np.float32([1.0, 2.0])), jt.Variable(np.float64(3.0))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * w
        z = 2.0 * x
    assert y.dtype == np.float64
    assert z.dtype == np.float32
    dx, dw = tape.gradient(y, [x, w])
    assert (dx.dtype, dw.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(dx, [3.0, 3.0])
    assert dw.numpy() == 3.0


def test_g31_the_gradient_of_gather_is_dense():
    tape, x = watched([1.0, 2.0, 3.0])
    y = jt.gather(x, [0, 2, 2]) * jt.constant([1.0, 10.0, 100.0])
    tape.__exit__(None, None, None)
    gradient = tape.gradient(y, x)
    assert isinstance(gradient, jt.Tensor)
    np.testing.assert_array_equal(gradient, [1.0, 0.0, 110.0])


# ---- pausing and resetting -------------------------------------------------------------------------


def test_g35_results_made_while_paused_are_constants():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            z = x * x
        w = y * z
    assert tape.gradient(w, x).numpy() == 6.0 * 9.0


def test_g35_stop_recording_out_of_place():
    tape = jt.GradientTape(persistent=True)
    with (
        pytest.raises(RuntimeError, match="Trying to stop recording a tape which is not recording."),
        tape.stop_recording(),
    ):
        pass
    with tape:
        pass
    with pytest.raises(ValueError, match="Tape is not recording."), tape.stop_recording():
        pass


def test_g35_an_exception_while_paused_resumes():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        with pytest.raises(ZeroDivisionError), tape.stop_recording():
            raise ZeroDivisionError
        y = x * x
    assert tape.gradient(y, x).numpy() == 6.0


def test_g35_another_tape_while_paused():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            with jt.GradientTape() as inner:
                z = x**3
            slope = inner.gradient(z, x)
            assert float(slope) == 27.0
        w = y * slope
    assert tape.gradient(w, x).numpy() == 6.0 * 27.0


def test_g36_reset():
    x, v = jt.constant(3.0), jt.Variable(2.0)
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * v
        tape.reset()
        z = x * v
        w = y * v
    assert tape.gradient([z, w], v).numpy() == 3.0 + 6.0
    with pytest.warns(UNCONNECTED, match="was not watched"):
        assert tape.gradient(z, x) is None
    with pytest.raises(ValueError, match="Tape is not recording."):
        tape.reset()
    with pytest.raises(ValueError, match="Tape is not recording."):
        jt.GradientTape().reset()


# ---- Jacobians -------------------------------------------------------------------------------------


def test_g37_jacobian():
    parameters = list(inspect.signature(jt.GradientTape.jacobian).parameters)[3:]
    assert parameters == ["unconnected_gradients", "parallel_iterations", "experimental_use_pfor"]
    x, w = jt.constant([1.0, 2.0]), jt.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.reduce_sum(w * x, axis=1)
    jacobians = tape.jacobian(y, {"x": x, "w": [w]}, parallel_iterations=2, experimental_use_pfor=False)
    np.testing.assert_array_equal(jacobians["x"], w.numpy())
    assert jacobians["w"][0].shape == (3, 3, 2)
    np.testing.assert_array_equal(jacobians["w"][0], np.eye(3)[:, :, None] * np.array([1.0, 2.0]))


@pytest.mark.parametrize(("rows", "columns"), [(9, 2), (2, 9)])
def test_g37_and_g40_take_forward_or_reverse_mode_by_shape(rows, columns):
    """One pass on a stack: the products are as many as the smaller side has elements; no persistent tape is needed."""
    w = np.random.default_rng(0).standard_normal((rows, columns))
    batch = np.random.default_rng(1).standard_normal((4, columns))
    for _ in range(3):
        x = jt.constant(batch[0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.tanh(jt.linalg.matvec(w, x))
        jacobian = tape.jacobian(y, x).numpy()
    slope = (1 - np.tanh(batch @ w.T) ** 2)[:, :, None] * w
    np.testing.assert_allclose(jacobian, slope[0], rtol=1e-12, atol=1e-13)
    page = jt.explain()
    if page.compiled:
        products = [
            page.program.avals[op.out].size for op in page.program.ops if op.primitive.name == "matmul"
        ]
        assert sorted(products) == [rows, 18]
    for _ in range(3):
        x = jt.constant(batch)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.tanh(x @ w.T)
        np.testing.assert_allclose(tape.batch_jacobian(y, x), slope, rtol=1e-12, atol=1e-13)


def test_g37_jacobian_of_scalars_empty_targets_and_strangers():
    x, other = jt.constant([1.0, 2.0]), jt.constant([[1.0]])
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        total, nothing = jt.reduce_sum(x * x), x[:0] * 2.0
    np.testing.assert_array_equal(tape.jacobian(total, x), [2.0, 4.0])
    assert tape.jacobian(nothing, x).shape == (0, 2)
    with pytest.warns(UNCONNECTED) as caught:
        assert tape.jacobian(x * x, other) is None
    assert len(caught) == 1
    zeros = tape.jacobian(total, [x, other], unconnected_gradients="zero")[1]
    np.testing.assert_array_equal(zeros, [[0.0]])
    with pytest.raises(TypeError, match="target must be"):
        tape.jacobian([total, total], x)


def test_g40_batch_jacobian():
    x = jt.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2, x[:, 1]], axis=1)
    expected = [[[b, a], [2 * a, 0.0], [0.0, 1.0]] for a, b in x.numpy()]
    np.testing.assert_array_equal(tape.batch_jacobian(y, x), expected)


def test_g40_batch_jacobian_of_what_does_not_fit():
    x, vector = jt.constant(np.ones((3, 2), np.float32)), jt.constant([1.0, 2.0])
    with jt.GradientTape(persistent=True) as tape:
        tape.watch([x, vector])
        y, z = x * x, jt.concat([x, x], axis=0)
    with pytest.raises(
        ValueError,
        match=r"Need first dimension of target shape \(\(6, 2\)\) and source shape \(\(3, 2\)\) to match",
    ):
        tape.batch_jacobian(z, x)
    with pytest.raises(ValueError, match=r"Shape \(2,\) must have rank at least 2"):
        tape.batch_jacobian(y, vector)
    other = jt.constant(np.ones((3, 4), np.float32))
    np.testing.assert_array_equal(tape.batch_jacobian(y, other), np.zeros((3, 2, 4)))


# ---- nesting, values, threads, memory --------------------------------------------------------------


def test_g42_second_derivatives_need_the_inner_gradient_inside():
    x = jt.Variable(3.0)
    with jt.GradientTape() as outer:
        with jt.GradientTape() as inner:
            y = x**3
        dy = inner.gradient(y, x)
    assert outer.gradient(dy, x).numpy() == 18.0


def test_g42_the_inner_gradient_outside_is_none_with_the_reason():
    x = jt.Variable(3.0)
    with jt.GradientTape() as outer, jt.GradientTape() as inner:
        y = x**3
    dy = inner.gradient(y, x)
    with pytest.warns(UNCONNECTED, match="ran while the tape was not recording"):
        assert outer.gradient(dy, x) is None
    assert dy.numpy() == 27.0


def test_g42_gradient_of_a_gradient_of_several_variables():
    a, b = jt.Variable([1.0, 2.0]), jt.Variable([3.0, 4.0])
    with jt.GradientTape() as outer:
        with jt.GradientTape() as inner:
            y = jt.reduce_sum(a * a * b)
        da, db = inner.gradient(y, [a, b])
        size = jt.reduce_sum(da * da) + jt.reduce_sum(db * db)
    ga, gb = outer.gradient(size, [a, b])
    np.testing.assert_array_equal(ga, 8 * a.numpy() * b.numpy() ** 2 + 4 * a.numpy() ** 3)
    np.testing.assert_array_equal(gb, 8 * a.numpy() ** 2 * b.numpy())


def test_g43_backward_uses_the_values_of_record_time():
    v = jt.Variable(3.0)
    data = np.array([1.0, 2.0], np.float32)
    with jt.GradientTape() as tape:
        y = v * v * jt.reduce_sum(data * v)
    v.assign(100.0)
    data[:] = 7.0
    assert tape.gradient(y, v).numpy() == 3.0 * 9.0 * 3.0
    assert v.numpy() == 100.0


def test_g44_gradient_with_respect_to_the_value_read_after_an_assignment():
    v, w = jt.Variable(3.0), jt.Variable(5.0)
    with jt.GradientTape(persistent=True) as tape:
        v.assign(w * 2.0)
        y = v * v
    assert tape.gradient(y, v).numpy() == 20.0
    with pytest.warns(UNCONNECTED, match="assign"):
        assert tape.gradient(y, w) is None


def test_g44_reads_before_and_after_an_assignment_add_up():
    v = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        before = v * v
        v.assign_add(1.0)
        after = v * v
    assert tape.gradient([before, after], v).numpy() == 6.0 + 8.0
    assert v.numpy() == 4.0


def test_g45_a_tape_belongs_to_its_thread():
    x = jt.Variable(3.0)
    found: list[Any] = []

    def work() -> None:
        other = x * x
        with jt.GradientTape() as tape:
            y = x**3
        found.extend([other, tape.gradient(y, x).numpy()])

    with jt.GradientTape(persistent=True) as tape:
        y = x * x
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found[1] == 27.0
    assert tape.gradient(y, x).numpy() == 6.0
    with pytest.warns(UNCONNECTED, match="another thread"):
        assert tape.gradient(found[0], x) is None


def test_g45_a_tape_that_has_recorded_is_not_entered_in_another_thread():
    tape, x = watched(3.0)
    y = x * x
    tape.__exit__(None, None, None)
    errors: list[Any] = []

    def work() -> None:
        try:
            tape.__enter__()
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "belongs to its thread" in errors[0]
    assert tape.gradient(y, x).numpy() == 6.0


def test_g47_a_tape_holds_inputs_and_what_is_alive():
    x = jt.constant(np.ones(1000))
    tape = jt.GradientTape(persistent=True)
    assert tape.nbytes == 0
    with tape:
        tape.watch(x)
        y = x
        for _ in range(50):
            y = jt.sin(y)
        loss = jt.reduce_sum(y)
    float(loss)
    assert 16_000 <= tape.nbytes < 16_100
    del y
    assert 8_000 <= tape.nbytes < 8_100
    assert tape.gradient(loss, x).shape == (1000,)


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 4), ()), ((2, 1, 4), (3, 1)), ((1,), (5,)), ((0, 3), (1, 3))],
)
def test_g48_broadcasting_is_undone(left: tuple[int, ...], right: tuple[int, ...]):
    rng = np.random.default_rng(0)
    tape, a, b = watched(rng.normal(size=left), rng.normal(size=right))
    y = a * b
    tape.__exit__(None, None, None)
    da, db = tape.gradient(y, [a, b])
    assert (da.shape, db.shape) == (left, right)
    np.testing.assert_allclose(da, summed_to(np.broadcast_to(b.numpy(), y.shape), left))
    np.testing.assert_allclose(db, summed_to(np.broadcast_to(a.numpy(), y.shape), right))


def summed_to(array: Any, shape: tuple[int, ...]) -> Any:
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    return array.sum(
        axis=tuple(i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1), keepdims=True
    )


def ops_of_flushes(read: Any) -> list[int]:
    """Return the number of ops that each flush runs, in a tape around 12 steps that end with `read(value)`."""
    found = []
    x = jt.Variable(np.ones(3))
    with jt.GradientTape() as tape:
        y = x * 1.0
        for _ in range(12):
            y = jt.sin(y) + x
            read(y)
            found.append(len(counters.last.program.ops))
    derivative = np.ones(3)
    value = np.ones(3)
    for _ in range(12):
        value, derivative = np.sin(value) + 1.0, np.cos(value) * derivative + 1.0
    np.testing.assert_allclose(y.numpy(), value)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), derivative)
    return found


@pytest.mark.parametrize(
    "read", [lambda y: float(y[0]), lambda y: float(jt.reduce_sum(y)), lambda y: y.numpy()]
)
def test_g47_steps_between_values_that_are_read_run_once(read):
    for _ in range(3):
        assert max(ops_of_flushes(read)) < 8


def test_g47_a_tape_releases_what_was_computed_at_the_next_flush():
    x = jt.constant(np.ones(1000))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        for _ in range(5):
            y = jt.sin(y)
            y.numpy()
        assert tape.nbytes < 3 * 8_100  # `x`, `y` and the result before
