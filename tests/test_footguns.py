"""The known traps of systems that trace or defer, as passing tests; the silent ones first.

Each says what goes wrong elsewhere. What cannot be helped says what the way out is.
"""

from __future__ import annotations

import copy
import gc
import pickle
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.recording.trace import current_trace

pytestmark = pytest.mark.usefixtures("mode", "small_heap")

UNCONNECTED = jt.UnconnectedGradientWarning


# ---- silent elsewhere: Python runs once, and its values are baked in -------------------------------


def test_python_side_effects_happen_every_time():
    calls = []
    v = jt.Variable(1.0)

    def loss() -> Any:
        calls.append(len(calls))
        return v * v

    for _ in range(5):
        with jt.GradientTape() as tape:
            y = loss()
        tape.gradient(y, v).numpy()
    assert calls == [0, 1, 2, 3, 4]


def test_a_python_float_of_a_closure_is_read_every_time():
    scale = 1.0

    def f(x: Any) -> Any:
        return x * scale + scale**2

    x = jt.constant(3.0)
    values = []
    for scale in (1.0, 2.0, 3.0, 0.5):  # noqa: B007 - f reads it
        values.append(float(f(x)))
    assert values == [4.0, 10.0, 18.0, 1.75]


@pytest.mark.parametrize(
    "values", [[1, 2, 3, 2], [True, False, True], [1, 1.0, True, 1j], [0.5, np.float32(0.5), 2]]
)
def test_a_python_number_of_another_type_is_not_the_old_one(values: list[Any]):
    x = np.array([1.5, 2.5], np.float32)
    for _ in range(2):
        for value in values:
            result = (jt.constant(x) * value).numpy()
            expected = x * value
            np.testing.assert_array_equal(result, expected)
            assert result.dtype == expected.dtype


def test_random_numbers_are_drawn_anew():
    draws = [tuple(jt.random.normal((3,)).numpy()) for _ in range(4)]
    assert len(set(draws)) == 4
    rng = np.random.default_rng(0)
    own = [float(jt.reduce_sum(jt.constant(rng.normal(size=3)) * 2.0)) for _ in range(4)]
    assert len(set(own)) == 4


def test_a_global_list_of_layers_that_grows():
    layers = [jt.Variable(2.0)]
    x = jt.constant(1.0)
    for depth in range(1, 6):
        with jt.GradientTape() as tape:
            y = x
            for w in layers:
                y = y * w
        gradients = tape.gradient(y, layers)
        assert [g.numpy() for g in gradients] == [2.0 ** (depth - 1)] * depth
        layers.append(jt.Variable(2.0))


def test_a_branch_that_depends_on_data_is_taken_anew_each_time():
    w = jt.Variable(1.0)
    for x in (1.0, -1.0, 2.0, -3.0, 4.0, 5.0, -6.0):
        with jt.GradientTape() as tape:
            h = w * x
            y = h * h if h > 0 else -3.0 * h
        assert tape.gradient(y, w).numpy() == (2 * x * x if x > 0 else -3 * x)


def test_a_loop_whose_length_depends_on_data():
    for start, count in ((1.0, 7), (50.0, 1), (10.0, 4), (1.0, 7)):
        x = jt.Variable(start)
        with jt.GradientTape() as tape:
            y, n = x * 1.0, 0
            while y < 100.0:
                y = y * 2.0
                n += 1
        assert n == count
        assert tape.gradient(y, x).numpy() == 2.0**count


# ---- silent elsewhere: memory that is shared -------------------------------------------------------


def test_an_array_written_to_after_use_changes_nothing():
    for _ in range(3):
        a = np.array([1.0, 2.0, 3.0])
        x = jt.constant(a)
        y = x * 2.0
        z = jt.exp(a * jt.constant(0.0)) + a
        a[:] = 100.0
        np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(y, [2.0, 4.0, 6.0])
        np.testing.assert_array_equal(z, [2.0, 3.0, 4.0])


def test_a_read_only_view_of_a_writable_array_is_copied():
    a = np.array([1.0, 2.0])
    view = a.view()
    view.flags.writeable = False
    x = jt.constant(view)
    a[:] = 7.0
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_what_numpy_gives_is_read_only_and_stays_as_it_was():
    v = jt.Variable([1.0, 2.0])
    seen = []
    for _ in range(6):
        seen.append(v.numpy())
        v.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(seen, [[1.0 + i, 2.0 + i] for i in range(6)])
    with pytest.raises(ValueError, match="read-only"):
        seen[0][0] = 5.0


def test_tensors_of_earlier_steps_keep_their_values():
    """Buffers are used again: but only those that nobody holds."""
    v = jt.Variable([1.0, 2.0])
    kept = []
    for _ in range(12):
        with jt.GradientTape() as tape:
            y = v * v
        g = tape.gradient(y, v)
        v.assign_add([1.0, 1.0])
        kept.append((y, g, v.value()))
    for i, (y, g, after) in enumerate(kept):
        base = np.array([1.0 + i, 2.0 + i])
        np.testing.assert_array_equal(y, base**2)
        np.testing.assert_array_equal(g, 2 * base)
        np.testing.assert_array_equal(after, base + 1)


def test_views_of_results_keep_their_values():
    x = jt.Variable(np.arange(4.0))
    views = []
    for i in range(8):
        y = x * float(i)
        views.append((y.numpy()[1:3], jt.reshape(y, (2, 2)).numpy().T))
        del y
    gc.collect()
    for i, (part, transposed) in enumerate(views):
        np.testing.assert_array_equal(part, [1.0 * i, 2.0 * i])
        np.testing.assert_array_equal(transposed, [[0.0, 2.0 * i], [1.0 * i, 3.0 * i]])


def test_tensors_do_not_alias():
    for _ in range(3):
        a = jt.constant([1.0, 2.0, 3.0])
        b, part, transpose_layouts = jt.identity(a), a[:2], jt.reshape(a, (3, 1))
        a[0] = 50.0
        np.testing.assert_array_equal(a, [50.0, 2.0, 3.0])
        np.testing.assert_array_equal(b, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(part, [1.0, 2.0])
        np.testing.assert_array_equal(transpose_layouts, [[1.0], [2.0], [3.0]])


def test_a_tensor_written_to_in_a_later_step_is_not_the_old_one_to_an_earlier_tape():
    x = jt.constant([1.0, 2.0])
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
    with jt.GradientTape():
        z = x * 1.0
        x[0] = 5.0
        w = x * 1.0
    with tape:
        again = x * 3.0
    np.testing.assert_array_equal(y, [2.0, 4.0])
    np.testing.assert_array_equal(z, [1.0, 2.0])
    np.testing.assert_array_equal(w, [5.0, 2.0])
    np.testing.assert_array_equal(again, [15.0, 6.0])


def test_two_variables_of_one_value_do_not_alias():
    start = jt.constant([1.0, 2.0])
    a, b = jt.Variable(start), jt.Variable(start)
    c = jt.Variable(a)
    d = copy.deepcopy(a)
    for _ in range(4):
        a.assign_add([1.0, 1.0])
        c.assign(a)
        a.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(a, [9.0, 10.0])
    np.testing.assert_array_equal(c, [8.0, 9.0])
    for other in (b, d, start):
        np.testing.assert_array_equal(other, [1.0, 2.0])


def test_two_variables_swap():
    a, b = jt.Variable(1.0), jt.Variable(2.0)
    for i in range(5):
        held = a.value()
        a.assign(b)
        b.assign(held)
        if i % 2:
            assert (float(a), float(b)) == (1.0, 2.0)
    assert (float(a), float(b)) == (2.0, 1.0)


# ---- silent elsewhere: values from another time ----------------------------------------------------


def test_a_variable_read_before_and_after_an_assignment_in_the_tape():
    for _ in range(3):
        v = jt.Variable(2.0)
        with jt.GradientTape() as tape:
            before = v * v
            v.assign(10.0)
            after = v * v
            assert float(v) == 10.0
        assert tape.gradient([before, after], v).numpy() == 4.0 + 20.0
        assert (float(before), float(after)) == (4.0, 100.0)


def test_a_value_read_earlier_does_not_follow_the_variable():
    v = jt.Variable([1.0, 2.0])
    early, lazy = v.value(), v + 0.0
    v.assign([5.0, 6.0])
    np.testing.assert_array_equal(early, [1.0, 2.0])
    np.testing.assert_array_equal(lazy, [1.0, 2.0])


def test_assignments_that_nobody_looks_at_are_in_order():
    v, w = jt.Variable(1.0), jt.Variable(0.0)
    for _ in range(4):
        v.assign(v * 2.0)
        w.assign(w + v)
        v.assign_add(1.0)
    assert (float(v), float(w)) == (31.0, 2 + 6 + 14 + 30)


def test_a_later_assignment_wins_over_one_that_is_pending():
    v, w = jt.Variable(1.0), jt.Variable(1.0)
    for _ in range(3):
        v.assign(w * 2.0)
        v.assign(5.0)
        w.assign_add(1.0)
        float(w)
        assert float(v) == 5.0


def test_tensors_leak_from_tape_to_tape_as_constants():
    v = jt.Variable(3.0)
    with jt.GradientTape() as first:
        y = v * v
    with jt.GradientTape() as second:
        z = y * v
    assert second.gradient(z, v).numpy() == 9.0
    assert first.gradient(y, v).numpy() == 6.0


def test_a_running_total_of_losses_does_not_reach_into_old_steps():
    """Adding losses up keeps no graphs alive: the total is a number, and its old parts are constants."""
    v = jt.Variable(2.0)
    total = jt.constant(0.0)
    for i in range(8):
        with jt.GradientTape() as tape:
            loss = v * v
            total = total + loss
        assert tape.gradient(total, v).numpy() == 4.0
        assert current_trace().node.n_ops < 40
        assert float(total) == 4.0 * (i + 1)


def test_the_state_of_a_recurrence_is_truncated_at_the_step():
    w, state = jt.Variable(0.5), jt.constant(1.0)
    for _ in range(6):
        previous = float(state)
        with jt.GradientTape() as tape:
            state = w * state
        assert tape.gradient(state, w).numpy() == previous


def test_an_old_persistent_tape_answers_later():
    v = jt.Variable(1.0)
    tapes = []
    for _ in range(5):
        with jt.GradientTape(persistent=True) as tape:
            y = v * v * v
        v.assign_add(tape.gradient(y, v) / tape.gradient(y, v))
        tapes.append((tape, y))
    assert float(v) == 6.0
    for i, (tape, y) in enumerate(tapes):
        assert tape.gradient(y, v).numpy() == 3.0 * (i + 1) ** 2
        assert tape.jacobian(y, v).numpy() == 3.0 * (i + 1) ** 2


def test_the_gradient_of_an_unused_old_tape_comes_later():
    v = jt.Variable(2.0)
    with jt.GradientTape() as old:
        y = v * v
    for _ in range(3):
        with jt.GradientTape() as tape:
            z = v * v * v
        v.assign_sub(0.0 * tape.gradient(z, v))
    v.assign(100.0)
    assert old.gradient(y, v).numpy() == 4.0


# ---- looking in the middle -------------------------------------------------------------------------


def test_a_look_in_the_middle_of_a_tape_changes_nothing():
    for _ in range(3):
        v = jt.Variable([1.0, 2.0])
        with jt.GradientTape() as tape:
            y = jt.exp(v) * v
            print_like = str(y)
            z = y * y + float(jt.reduce_sum(y)) * 0.0
        g = tape.gradient(z, v)
        e = np.exp(v.numpy())
        np.testing.assert_allclose(g, 2 * e * v.numpy() * (e * v.numpy() + e), rtol=1e-6)
        assert print_like.startswith("jt.Tensor([")


def test_intermediate_tensors_may_be_deleted():
    for _ in range(3):
        v = jt.Variable(0.5)
        with jt.GradientTape() as tape:
            a = jt.sin(v)
            b = jt.exp(a)
            float(b)
            del a
            gc.collect()
            c = b * b
            del b
        assert tape.gradient(c, v).numpy() == pytest.approx(
            2 * np.exp(2 * np.sin(0.5)) * np.cos(0.5), rel=1e-6
        )


def test_gradient_of_a_gradient_after_looks_everywhere():
    for _ in range(3):
        v = jt.Variable(2.0)
        with jt.GradientTape() as third:
            with jt.GradientTape() as second:
                with jt.GradientTape() as first:
                    y = v**4
                    assert float(y) == 16.0
                d1 = first.gradient(y, v)
                assert float(d1) == 32.0
            d2 = second.gradient(d1, v)
            assert float(d2) == 48.0
        d3 = third.gradient(d2, v)
        assert float(d3) == 48.0


def test_a_gradient_looked_at_between_two_of_a_persistent_tape():
    v = jt.Variable(3.0)
    with jt.GradientTape(persistent=True) as tape:
        y = v * v
        z = y * v
    assert float(tape.gradient(y, v)) == 6.0
    assert float(tape.gradient(z, v)) == 27.0
    assert float(tape.gradient(z, y)) == 3.0
    v.assign(0.0)
    assert float(tape.gradient(z, v)) == 27.0


def test_an_update_in_the_middle_of_a_persistent_tape():
    v = jt.Variable(3.0)
    with jt.GradientTape(persistent=True) as tape:
        y = v * v
        v.assign_sub(tape.gradient(y, v) * 0.5)
        assert float(v) == 0.0
        z = v + 5.0
    assert tape.gradient(z, v).numpy() == 1.0
    assert tape.gradient(y, v).numpy() == 6.0


def test_setitem_after_a_look_is_differentiated():
    for _ in range(3):
        x = jt.constant([1.0, 2.0, 3.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            float(y[0])
            y[1] = 10.0 * x[0]
            z = jt.reduce_sum(y * y)
        np.testing.assert_array_equal(tape.gradient(z, x), [4.0 + 200.0, 0.0, 108.0])


# ---- tapes in odd places ---------------------------------------------------------------------------


def test_a_generator_that_is_suspended_inside_its_tape():
    v = jt.Variable(2.0)

    def steps() -> Iterator[Any]:
        for _ in range(3):
            with jt.GradientTape() as tape:
                y = v * v
                yield y
                z = y * v
            yield tape.gradient(z, v)

    values = []
    for item in steps():
        with jt.GradientTape() as own:
            w = v * 5.0
        assert own.gradient(w, v).numpy() == 5.0
        values.append(float(item))
    assert values == [4.0, 12.0] * 3
    assert current_trace().intervals == []


def test_a_generator_that_is_dropped_inside_its_tape():
    v = jt.Variable(2.0)

    def steps() -> Iterator[Any]:
        with jt.GradientTape():
            yield v * v

    generator = steps()
    assert float(next(generator)) == 4.0
    del generator
    gc.collect()
    assert current_trace().intervals == []


def test_tapes_left_in_another_order_than_entered():
    v = jt.Variable(3.0)
    first, second = jt.GradientTape(), jt.GradientTape()
    first.__enter__()
    y = v * v
    second.__enter__()
    z = v * y
    first.__exit__(None, None, None)
    w = v * z
    second.__exit__(None, None, None)
    with pytest.warns(UNCONNECTED, match="not recording"):
        assert first.gradient(w, v) is None
    assert second.gradient(w, v).numpy() == 27.0 + 3.0 * 9.0


def test_an_exception_in_an_inner_tape_does_not_touch_the_outer_one():
    v = jt.Variable(3.0)
    for _ in range(3):
        with jt.GradientTape() as outer:
            y = v * v
            with pytest.raises(ValueError, match="do not broadcast"), jt.GradientTape() as inner:
                z = v * y
                jt.constant([1.0, 2.0]) + jt.constant([1.0, 2.0, 3.0])
            dz = inner.gradient(z, v)
            w = y * dz
        assert float(dz) == 9.0
        assert outer.gradient(w, v).numpy() == 6.0 * 9.0 + 9.0 * 6.0


def test_a_tape_inside_a_custom_gradient():
    """The function of a custom gradient is recorded by no tape but may use one of its own."""

    @jt.custom_gradient
    def cube_with_slope_by_tape(x: Any) -> Any:
        with jt.GradientTape() as own:
            own.watch(x)
            y = x**3
        slope = own.gradient(y, x)
        return y, lambda upstream: upstream * slope * 10.0

    for _ in range(3):
        v = jt.Variable(2.0)
        with jt.GradientTape() as tape:
            y = cube_with_slope_by_tape(v * 1.0) * 2.0
        assert float(y) == 16.0
        assert tape.gradient(y, v).numpy() == 240.0


def test_a_function_that_opens_a_tape_called_inside_a_tape():
    def slope(x: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    x = jt.constant(2.0)
    for _ in range(3):
        assert slope(x).numpy() == 12.0
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = slope(x) + slope(x * 1.0)
        assert tape.gradient(y, x).numpy() == 24.0


def test_threads_with_tapes_over_one_variable():
    v = jt.Variable(3.0)
    results: dict[int, list[float]] = {}

    def work(number: int) -> None:
        results[number] = []
        for i in range(40):
            x = jt.constant(float(number + i))
            with jt.GradientTape() as tape:
                y = v * v * x
            results[number].append(float(tape.gradient(y, v)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [6.0 * (n + i) for i in range(40)] for n in range(4)}


# ---- loud ones -------------------------------------------------------------------------------------


def test_a_numpy_detour_is_none_with_a_reason():
    """Way out: NumPy's functions on the tensor itself are recorded."""
    v = jt.Variable([1.0, 2.0])
    with jt.GradientTape(persistent=True) as tape:
        lost = jt.reduce_sum(jt.constant(np.square(v.numpy())))
        kept = np.sum(np.square(v))
    with pytest.warns(UNCONNECTED, match=r"taken out with numpy\(\)"):
        assert tape.gradient(lost, v) is None
    np.testing.assert_array_equal(tape.gradient(kept, v), [2.0, 4.0])


def test_a_float_detour_is_a_constant():
    v = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = v * float(v)
    assert tape.gradient(y, v).numpy() == 3.0


def test_tensors_do_not_hash_and_references_do():
    x, v = jt.constant(1.0), jt.Variable(1.0)
    for value in (x, v):
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
        assert {value.ref(): "found"}[value.ref()] == "found"
        assert value.ref().deref() is value
    assert x in jt.constant([1.0, 2.0])
    assert x not in jt.constant([2.0, 3.0])


def test_a_tape_cannot_be_pickled_and_its_values_can():
    v = jt.Variable([1.0, 2.0], name="v")
    with jt.GradientTape() as tape:
        y = v * 2.0
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(tape)
    again, value = pickle.loads(pickle.dumps((v, y)))
    again.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(again, [2.0, 3.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])
    np.testing.assert_array_equal(value, [2.0, 4.0])
    np.testing.assert_array_equal(tape.gradient(y, v), [2.0, 2.0])


def test_source_lines_are_those_that_run():
    """Two programs of the same ops: each message names its own line."""
    v = jt.Variable(3.0)
    messages = []
    for program in (
        lambda: jt.floor(v),
        lambda: jt.floor(v),
    ):
        with jt.GradientTape() as tape:
            y = program()
        messages.append(tape.explain(y, v))
        with pytest.warns(UNCONNECTED, match="floor"):
            tape.gradient(y, v)
    first, second = (int(re.search(r"at line (\d+) of", message)[1]) for message in messages)
    assert second == first + 1
