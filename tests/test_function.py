"""`jt.function`: every row of what the user may rely on, and the traps of tracing compilers."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import optree
import pytest

import jittape as jt
from jittape.core.primitive import active_recorder
from jittape.native.object_layout import object_layout
from jittape.recording.trie import trie

pytestmark = pytest.mark.usefixtures("mode")

X = np.arange(6.0)


def thrice(function: Any, *args: Any) -> list[Any]:
    """Three calls: traced, quick, quick."""
    return [function(*args) for _ in range(3)]


def assert_same(function: Any, *args: Any) -> None:
    """The compiled function and the recorded one agree."""
    expected = function(*args)
    for found in thrice(jt.function(function), *args):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == expected.dtype


# ---- calls -------------------------------------------------------------------------------------------


def test_the_python_function_runs_once_for_a_signature():
    calls = []

    @jt.function
    def f(x, y):
        calls.append(1)
        return jt.reduce_sum(x * y), x + y

    for i in range(4):
        total, both = f(X + i, X)
        assert float(total) == ((X + i) * X).sum()
        np.testing.assert_array_equal(both, X + i + X)
    assert len(calls) == f.trace_count == 1


def test_with_and_without_parentheses():
    @jt.function()
    def f(x):
        """Twice x."""
        return x + x

    assert f.__name__ == "f"
    assert f.__doc__ == "Twice x."
    assert float(f(2.0)) == 4.0
    assert float(jt.function(lambda x: x * 3.0)(jt.constant(2.0))) == 6.0


def test_results_are_fresh():
    double = jt.function(lambda x: x * 2.0)
    first = double(X)
    seen = first.numpy()
    second = double(X + 1)
    third = double(X + 2)
    np.testing.assert_array_equal(seen, 2 * X)
    np.testing.assert_array_equal(first, 2 * X)
    np.testing.assert_array_equal(second, 2 * (X + 1))
    np.testing.assert_array_equal(third, 2 * (X + 2))


def test_an_argument_that_is_a_result_is_not_the_callers_array():
    f = jt.function(lambda x: (x, x * 1.0))
    x = X.copy()
    for _ in range(3):
        kept, _ = f(x)
        x += 1.0
        np.testing.assert_array_equal(kept, x - 1.0)


@pytest.mark.parametrize(
    "order", ["F", "strided", "reversed", "unaligned", "big-endian", "readonly", "subclass"]
)
def test_arrays_that_are_not_plain(order):
    plain = np.arange(12.0).reshape(3, 4)
    if order == "unaligned":
        odd = np.zeros(97, np.uint8)[1:].view(np.float64).reshape(3, 4)
        odd[...] = plain
    else:
        odd = {
            "F": np.asfortranarray(plain),
            "strided": np.repeat(plain, 2, axis=1)[:, ::2],
            "reversed": plain[::-1, ::-1].copy()[::-1, ::-1],
            "big-endian": plain.astype(">f8"),
            "readonly": np.frombuffer(plain.tobytes()).reshape(3, 4),
            "subclass": plain.view(np.matrix) if False else plain.view(np.recarray),
        }[order]
    f = jt.function(lambda x: x * 2.0 + x.T[0, 0])
    for array in (plain, odd, plain, odd, odd):
        np.testing.assert_array_equal(f(array), plain * 2.0)
    assert f.trace_count == 1


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "complex64"]
)
def test_dtypes(dtype):
    x = np.array([0, 1, 3]).astype(dtype)
    assert_same(lambda a, b: a * b + a, jt.constant(x), jt.constant(x))
    assert_same(lambda a: a * 2, jt.constant(x))
    assert_same(lambda a: a + 1.5, jt.constant(x))


@pytest.mark.parametrize("x", [np.array(3.0), np.float32(1.5), np.zeros((0, 3)), np.int64(3), np.bool_(True)])
def test_zero_dimensional_and_empty(x):
    assert_same(lambda a: jt.constant(1.0) * a, x)
    assert_same(lambda a: jt.reduce_sum(jt.cast(a, "float64")), x)


def test_nested_structures_in_and_out():
    traced = []

    @jt.function
    def f(batch, mode="a"):
        traced.append(mode)
        return {"sum": batch["x"][0] + batch["x"][1], "rest": [mode, None, (batch["k"] + 1,)]}

    for k in (1, 2):
        result = f({"x": [X, X], "k": k})
        np.testing.assert_array_equal(result["sum"], 2 * X)
        assert result["rest"] == ["a", None, (k + 1,)]
    assert traced == ["a"]
    assert f({"x": [X, X], "k": 1}, mode="b")["rest"][0] == "b"
    assert f({"x": [X, X], "k": 1}, "b")["rest"][0] == "b"
    assert traced == ["a", "b"]


def test_equal_leaves_in_other_structures_are_not_mixed_up():
    f = jt.function(lambda *xs: xs[0]["b"] * 2.0 if len(xs) == 1 else xs[0] * 10.0)
    for _ in range(4):
        assert float(f({"a": X, "b": X + 1})[1]) == 4.0
        assert float(f(X, X + 1)[1]) == 10.0


def test_an_argument_that_is_not_used_is_left_alone():
    f = jt.function(lambda x, unused: x * 10.0)
    unused = X + 1
    for _ in range(4):
        np.testing.assert_array_equal(f(X, unused), X * 10)
    np.testing.assert_array_equal(unused, X + 1)
    assert float(f(X, unused[:2])[1]) == 10.0
    assert f.trace_count == 2


def test_wrong_arguments_are_python_errors():
    f = jt.function(lambda x: x)
    with pytest.raises(TypeError, match="positional argument"):
        f(1.0, 2.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        f(1.0, y=2.0)
    with pytest.raises(TypeError, match="not supported"):
        jt.function(lambda x: x)(np.array(["a"]))


def test_a_result_that_is_no_tensor():
    v = jt.Variable(1.0)
    f = jt.function(lambda x, n: ("text", 3, None, v, n + 1, x > 0))
    for n in (1, 5):
        text, three, nothing, variable, more, positive = f(X, n)
        assert (text, three, nothing, float(variable), more) == ("text", 3, None, 1.0, n + 1)
        np.testing.assert_array_equal(positive, X > 0)


# ---- T2: numbers -------------------------------------------------------------------------------------


def test_floats_are_dynamic_and_weak():
    f = jt.function(lambda x, rate: x * rate + rate / 2 - 3 * rate**2)
    x = np.float32([1.0, 2.0])
    for rate in (0.5, 0.25, 1e-3, 7.0):
        found = f(x, rate)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, jt.constant(x) * rate + rate / 2 - 3 * rate**2)
    assert f.trace_count == 1


def test_a_float_too_large_for_its_dtype_is_inf():
    f = jt.function(lambda x, rate: (x * rate, x * (rate * 1.0)))
    with np.errstate(over="ignore"):
        for rate in (1.0, 1e300, -1e300):
            for found in f(np.float32([1.0]), rate):
                assert float(found[0]) == np.float32(rate)


@pytest.mark.parametrize("values", [[1, 2, 3], [True, False, True], [1j, 2j], [np.float64(1), np.float64(2)]])
def test_other_numbers_are_dynamic(values):
    f = jt.function(lambda x, n: x * n)
    x = jt.constant(np.float32([1.5, 2.5]))
    for value in values * 2:
        found, expected = f(x, value), x * value
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert f.trace_count == 1


def test_an_int_that_is_used_as_a_python_value_is_static():
    @jt.function
    def power(x, n, scale):
        for _ in range(n):
            x = x * 2.0
        return x * scale

    for n in (1, 2, 2, 1, 3, 1):
        np.testing.assert_array_equal(power(X, n, n), X * 2.0**n * n)
    assert power.trace_count == 3
    assert power.signatures()[1].holds_for == (("n", 2),)


def test_a_flag_is_static_and_an_unused_one_is_not():
    @jt.function
    def f(x, flag, unused):
        return x + 1.0 if flag else x - 1.0

    for flag, unused in ((True, True), (False, False), (True, False), (False, True)):
        assert float(f(X, flag, unused)[0]) == (1.0 if flag else -1.0)
    assert f.trace_count == 2


def test_a_comparison_of_ints_holds_for_its_outcome():
    f = jt.function(lambda x, n: x * 2.0 if n > 3 else x)
    for n in (1, 2, 7, 8, 3, 9):
        assert float(f(X, n)[1]) == (2.0 if n > 3 else 1.0)
    assert f.trace_count == 2


def test_ints_of_python_and_floats_are_not_mixed_up():
    f = jt.function(lambda x, n: x * n)
    x = jt.constant(np.int32([1, 2]))
    for value in (1, 1.0, True, 1, 1.0, np.int64(1), np.int8(1)):
        assert f(x, value).dtype == (x * value).dtype


def test_an_int_that_does_not_fit_is_an_error():
    f = jt.function(lambda x, n: x * n)
    x = np.uint8([1, 2])
    assert f(x, 200).dtype == np.uint8
    with pytest.raises(OverflowError):
        f(x, 300)
    np.testing.assert_array_equal(f(x, 2), [2, 4])


def test_python_errors_of_numbers_stay():
    f = jt.function(lambda x, a, b: x * (a / b))
    assert float(f(X, 1.0, 2.0)[1]) == 0.5
    with pytest.raises(ZeroDivisionError):
        f(X, 1.0, 0.0)
    assert float(f(X, 1.0, 4.0)[1]) == 0.25


def test_int_power_may_become_a_float():
    f = jt.function(lambda x, n: x * 2**n)
    x = jt.constant(np.int32([1, 3]))
    for n in (1, 3, -1, 2, -2):
        found, expected = f(x, n), x * 2**n
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_minibatches_are_one_trace():
    data = np.arange(100.0).reshape(50, 2)

    @jt.function
    def batch(d, i, size):
        return d[i * size : (i + 1) * size]

    for i in (0, 1, 5, 2):
        np.testing.assert_array_equal(batch(data, i, 8), data[i * 8 : i * 8 + 8])
    assert batch.trace_count == 1
    np.testing.assert_array_equal(batch(data, 6, 8), data[48:])
    assert batch(data, 7, 8).shape == (0, 2)
    np.testing.assert_array_equal(batch(data, 3, 8), data[24:32])
    assert batch.trace_count == 3


def test_indices_are_dynamic():
    data = np.arange(24.0).reshape(4, 6)
    f = jt.function(lambda d, i, j: (d[i], d[i, j], d[:, j], d[i, 1:3], d[i, None, j:], d[[0, 1], i]))

    def expected(i, j):
        return data[i], data[i, j], data[:, j], data[i, 1:3], data[i, None, j:], data[[0, 1], i]

    for i, j in ((0, 2), (3, 2), (-1, 2), (1, 2)):
        for found, wanted in zip(f(data, i, j), expected(i, j), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert f.trace_count == 1
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        f(data, 4, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        f(data, 0, -7)


def test_numpy_functions_of_numbers():
    f = jt.function(lambda x, a: x * np.sqrt(a) + np.float32(1) * a + np.ones(2) * a)
    x = jt.constant(np.float32([1, 2]))
    for a in (4.0, 9.0):
        found, expected = f(x, a), x * np.sqrt(a) + np.float32(1) * a + np.ones(2) * a
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_numbers_become_tensors():
    f = jt.function(
        lambda a, n: (jt.constant(a), jt.convert_to_tensor([a, 1.0]), jt.fill([2], a), jt.zeros([n]))
    )
    for a in (1.5, 2.5):
        scalar, pair, filled, zeros = f(a, 3)
        assert (float(scalar), pair.tolist(), filled.tolist(), zeros.shape) == (a, [a, 1.0], [a, a], (3,))
        assert scalar.dtype == pair.dtype == np.float32


# ---- Variables ---------------------------------------------------------------------------------------


def test_variables_are_read_and_assigned_at_each_call():
    v = jt.Variable(1.0)

    @jt.function
    def step(a):
        v.assign_add(a)
        return v * 2.0

    assert [float(step(1.0)) for _ in range(3)] == [4.0, 6.0, 8.0]
    v.assign(10.0)
    assert float(step(0.5)) == 21.0
    assert float(v) == 10.5
    v.assign_add(1.0)  # pending
    assert float(step(0.5)) == 24.0


def test_a_constant_is_assigned_at_each_call():
    v = jt.Variable(1.0)
    reset = jt.function(lambda: v.assign(0.0) and None)

    @jt.function
    def zero():
        v.assign(0.0)

    assert reset is not None
    for _ in range(3):
        zero()
        assert float(v) == 0.0
        v.assign(5.0)


def test_tracing_leaves_no_trace():
    v, w = jt.Variable(1.0), jt.Variable(2.0)
    c = jt.constant([1.0, 2.0])
    pending = c * 3.0

    @jt.function
    def f(x):
        v.assign(w * x)
        raise KeyError("no")

    for _ in range(2):
        with jt.GradientTape() as tape:
            y = v * w * c
            with pytest.raises(KeyError):
                f(2.0)
            z = y + v
        assert [float(g) for g in tape.gradient(z, [v, w])] == [8.0, 3.0]
    assert (float(v), float(w)) == (1.0, 2.0)
    assert pending.tolist() == [3.0, 6.0]
    assert f.signatures() == ()
    assert active_recorder().traced_in is None


def test_tracing_gives_back_what_it_used():
    v, c = jt.Variable(1.0), jt.constant([1.0, 2.0])

    @jt.function
    def f(x):
        for _ in range(50):
            x = jt.tanh(x * v + c)
        v.assign(jt.reduce_sum(x))
        return x

    before = trie.n_nodes
    f(2.0)
    assert trie.n_nodes == before
    assert v._trace is c._trace is None


def test_an_unused_number_counts_by_its_type():
    f = jt.function(lambda x, unused: x * 2.0)
    for unused in (1, 2, 2.0, 3, 2.5, True):
        f(X, unused)
    assert f.trace_count == 3


def test_variables_made_on_the_first_call():
    class Lazy(jt.Module):
        w = None

        @jt.function
        def __call__(self, x):
            if self.w is None:
                self.w = jt.Variable(jt.random.normal([2, 1]) * jt.reduce_mean(x))
            return x @ self.w

    x = np.float32([[1.0, 2.0], [3.0, 4.0]])
    one, two = Lazy(), Lazy()
    for _ in range(3):
        for lazy in (one, two):
            np.testing.assert_allclose(lazy(x), x @ lazy.w.numpy(), rtol=1e-6)
    assert one.w.numpy().tolist() != two.w.numpy().tolist()


def test_a_variable_made_at_each_call_is_an_error():
    @jt.function
    def f(x):
        return jt.Variable(1.0) * x

    for _ in range(2):
        with pytest.raises(
            ValueError, match="only supports singleton tf.Variables created on the first call"
        ):
            f(X)


def test_looking_at_a_variable_is_not_baked_in():
    v = jt.Variable(1.0)
    f = jt.function(lambda x: x * float(v))
    with pytest.warns(jt.FunctionWarning, match="a Variable is needed by float"):
        assert float(f(2.0)) == 2.0
    v.assign(3.0)
    assert float(f(2.0)) == 6.0


def test_a_layer_and_an_optimizer_are_one_executable():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)).astype("f4"), rng.normal(size=(20, 1)).astype("f4")
    models = []
    for compiled in (False, True):
        jt.random.set_seed(1)
        model = jt.nn.Sequential([jt.nn.Dense(8, "tanh"), jt.nn.Dense(1)])
        optimizer = jt.optimizers.Adam(0.01)

        def step(x, y, model=model, optimizer=optimizer):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(model(x) - y))
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return loss

        run = jt.function(lambda x, y, step=step: step(x, y)) if compiled else step
        losses = []
        for i in range(6):
            optimizer.learning_rate = 0.01 * (i + 1)
            jt.reset_stats()
            losses.append(float(run(x, y)))
        if compiled:
            assert jt.stats().flushes == 0
            assert run.trace_count == 2  # the first made the Variables
        models.append((losses, [v.numpy() for v in model.variables], int(optimizer.iterations)))
    (recorded, values, steps), (found, other, count) = models
    assert count == steps == 6
    np.testing.assert_allclose(found, recorded, rtol=1e-5)
    for a, b in zip(other, values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


# ---- T11: tapes --------------------------------------------------------------------------------------


def test_tapes_around_a_call():
    w = jt.Variable([1.0, 2.0])
    f = jt.function(lambda x: jt.reduce_sum(jt.square(w * x)))
    x = jt.constant([3.0, 4.0])
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = 2.0 * f(x)
        np.testing.assert_allclose(tape.gradient(y, w), 4 * w.numpy() * x.numpy() ** 2)
        np.testing.assert_allclose(tape.gradient(y, x), 4 * w.numpy() ** 2 * x.numpy())
        assert tape.watched_variables() == (w,)
    assert f.trace_count == 1


def test_second_derivatives_around_a_call():
    f = jt.function(lambda x: x**3 * 2.0)
    x = jt.constant(3.0)
    for _ in range(3):
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        assert float(outer.gradient(first, x)) == 36.0


def test_a_tape_around_a_call_that_assigns_and_reads():
    v = jt.Variable(2.0)

    def step(x):
        v.assign(v * x)
        return v * v * x

    compiled = jt.function(step)
    for f in (step, compiled, compiled, compiled):
        v.assign(2.0)
        x = jt.constant(3.0)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert [float(g) for g in tape.gradient(y, [v, x])] == [36.0, 36.0]
        assert float(v) == 6.0


def test_a_tape_around_a_call_with_numbers_and_draws():
    w = jt.Variable([1.0, 2.0])
    c = jt.constant([5.0, 6.0])
    f = jt.function(lambda x, a, n: (jt.reduce_sum(w * x * a * c) + jt.random.normal([]), a * n, x))
    for a, n in ((2.0, 3), (4.0, 5), (0.5, 7)):
        with jt.GradientTape() as tape:
            y, product, same = f(np.float32([3.0, 4.0]), a, n)
        np.testing.assert_allclose(tape.gradient(y, w), np.float32([15.0, 24.0]) * a)
        assert product == a * n
        assert same.tolist() == [3.0, 4.0]
    assert f.trace_count == 1


def test_a_training_step_inside_a_tape():
    v, w = jt.Variable(2.0), jt.Variable(3.0)

    @jt.function
    def step(x):
        with jt.GradientTape() as tape:
            y = v * v * x
        v.assign_sub(0.25 * tape.gradient(y, v))
        return y

    for _ in range(3):
        v.assign(2.0)
        with jt.GradientTape() as tape:
            y = step(w)
        assert float(tape.gradient(y, w)) == 4.0
        assert float(v) == -1.0


def test_custom_gradients_inside_and_a_tape_around():
    @jt.custom_gradient
    def twice_the_gradient(x):
        return x * x, lambda g: g * 4.0 * x

    f = jt.function(lambda x: twice_the_gradient(x) + 1.0)
    x = jt.constant(3.0)
    for _ in range(3):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(tape.gradient(y, x)) == 12.0


def test_an_outer_tape_used_inside():
    x = jt.constant(3.0)

    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * x

    f = jt.function(lambda a: a * tape.gradient(z, x))
    with pytest.warns(jt.FunctionWarning):
        assert float(f(2.0)) == 12.0
    assert float(f(3.0)) == 18.0


def test_functions_call_functions():
    inner = jt.function(lambda x, n: x * n)
    outer = jt.function(lambda x, n: inner(x, n) + inner(x, 1.0))
    for n in (2, 3):
        np.testing.assert_array_equal(outer(X, n), X * n + X)
    assert (inner.trace_count, outer.trace_count) == (2, 1)


# ---- T3, T4: traced again ----------------------------------------------------------------------------


def test_explain_says_what_differed():
    f = jt.function(lambda x, y, mode: x + y)
    f(X, X, "a")
    f(X[:3], X[:3], "a")
    f(X, np.float32(X), "a")
    f(X, X, "b")
    whys = [signature.why for signature in f.signatures()]
    assert whys == [
        "it is the first call",
        "x changed from float64[6] to float64[3], y changed from float64[6] to float64[3]",
        "y changed from float64[6] to float32[6]",
        "mode changed from 'a' to 'b'",
    ]
    assert all(why in f.explain() for why in whys)


def test_many_signatures_warn_once():
    f = jt.function(lambda x: x + 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(1, 9):
            f(np.zeros((1,) * n))
    (warning,) = caught
    assert (
        "traced for 6 signatures, this time because x changed from float64[1,1,1,1,1] to float64[1,1,1,1,1,1]"
        in str(warning.message)
    )
    assert warning.filename == __file__


def warnings_of(function: Any, calls: Any) -> list[str]:
    """What is said while `function` is called with each of `calls`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for args in calls:
            function(*args)
    assert all(warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("python", "calls", "remedy"),
    [
        (lambda x, n: sum(x * i for i in range(n)), [(1.0, n) for n in range(1, 8)], "jt.fori_loop"),
        (
            lambda x, s: x + len(s),
            [(1.0, str(n)) for n in range(8)],
            "pass varying values as arrays or floats",
        ),
        (lambda x, o: x + 1.0, [(1.0, object()) for n in range(8)], "must be the same or equal at each call"),
        (lambda x: x[0], [([1.0] * n,) for n in range(1, 8)], "lists of one length"),
        (lambda x: x * 2, [(np.zeros((1,) * n),) for n in range(7)], "padded"),
    ],
)
def test_the_warning_names_what_changes_and_the_remedy(python, calls, remedy):
    (text,) = warnings_of(jt.function(python), calls)
    assert remedy in text
    assert "this time because" in text


@pytest.fixture
def few_signatures():
    before = jt.config.max_signatures
    jt.config.max_signatures = 8
    yield
    jt.config.max_signatures = before


class Thing:
    """An object that is another argument each time."""


def test_signatures_are_bounded(few_signatures):
    f = jt.function(lambda x, thing: x + 1.0)
    things = [Thing() for _ in range(30)]
    texts = warnings_of(f, [(X, thing) for thing in things])
    assert len(texts) == 2
    assert "more than 8 signatures (jt.config.max_signatures)" in texts[1]
    assert "thing changed from <" in texts[1]
    assert len(f.signatures()) == 8
    assert "8 signatures, traced 30 times; 22 more have been dropped" in f.explain()
    f(X, things[-1])
    assert f.trace_count == 30
    f(X, things[0])
    assert f.trace_count == 31
    kept = [weakref.ref(thing) for thing in things]
    del things
    gc.collect()
    assert sum(one() is not None for one in kept) <= 9  # with what ran last


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
def test_signatures_that_are_used_are_not_dropped(few_signatures, mode):
    def branchy(x, mode):
        return x * 2.0 if mode != "look" or x[0] > 0 else x

    f = jt.function(branchy)
    taped = jt.Variable(X)
    for i in range(20):
        thrice(f, X, "often")
        f(X, "look")
        with jt.GradientTape() as tape:
            y = f(taped, "taped")
        np.testing.assert_array_equal(tape.gradient(y, taped), np.full(6, 2.0))
        f(X, str(i))
    assert f.trace_count == 23
    assert len(f.signatures()) == 8


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
def test_a_dropped_signature_is_not_found_again(few_signatures):
    f = jt.function(lambda x, n: sum([x] * n))
    for n in range(1, 30):
        np.testing.assert_array_equal(f(X, n), X * n)
        np.testing.assert_array_equal(f(X, 1 + n // 2), X * (1 + n // 2))
    concrete = f.get_concrete_function(X, 3)
    for n in range(1, 30):
        f(X, n)
    np.testing.assert_array_equal(concrete(X, 3), X * 3)  # it keeps its trace
    assert len(f.signatures()) == 8


def test_a_new_shape_compiles_no_machine_code(mode):
    f = jt.function(lambda x: jt.reduce_sum(jt.exp(x) * 2.0))
    f(np.zeros(100))
    f(np.zeros(101))
    jt.reset_stats()
    f(np.zeros(102))
    assert jt.stats().kernels == 0
    assert jt.stats().programs == (1 if mode == "compiled" else 0)


def test_another_default_float_is_another_trace():
    f = jt.function(lambda: jt.constant(1.0) * jt.ones([2]))
    assert f().dtype == np.float32
    f()
    before = jt.config.default_float
    try:
        jt.config.default_float = "float64"
        assert f().dtype == np.float64
    finally:
        jt.config.default_float = before
    assert f().dtype == np.float32


# ---- T8: what is drawn, and what is baked in ---------------------------------------------------------


def test_random_numbers_are_drawn_at_each_call():
    @jt.function
    def f(x, scale):
        return (
            x + jt.random.normal([6], stddev=scale),
            jt.random.uniform([6], 1, 7, jt.int32),
            jt.random.shuffle(x),
            jt.random.truncated_normal([6], mean=x),
            jt.random.uniform([6], x, x + 1.0, jt.float64),
        )

    results = [f(X, scale) for scale in (1.0, 2.0, 0.5)]
    assert f.trace_count == 1
    for i in (0, 1, 3, 4):
        assert len({tuple(r[i].tolist()) for r in results}) == 3
    assert all(sorted(r[2].tolist()) == X.tolist() for r in results)
    assert all(np.all((r[4].numpy() >= X) & (r[4].numpy() < X + 1)) for r in results)


def test_a_seed_makes_a_compiled_function_repeatable():
    f = jt.function(lambda: jt.random.normal([3]))
    f()
    draws = []
    for _ in range(2):
        jt.random.set_seed(3)
        draws.append([f().tolist(), f().tolist()])
    jt.random.set_seed(3)
    assert draws[0] == draws[1] == [jt.random.normal([3]).tolist(), jt.random.normal([3]).tolist()]


def test_numpy_random_and_closures_are_baked_in():
    scale = 2.0
    f = jt.function(lambda x: x * scale)
    values = []
    for scale in (2.0, 3.0):  # noqa: B007 - f read it when it was traced
        values.append(float(f(1.0)))
    assert values == [2.0, 2.0]


def test_a_captured_tensor_keeps_its_value():
    c = jt.constant([1.0, 2.0]) * 2.0
    f = jt.function(lambda x: x + c)
    for _ in range(3):
        assert f(1.0).tolist() == [3.0, 5.0]


def test_gradients_flow_to_captured_tensors():
    """As without the decorator, also where the same function is called under a later tape, and compiled."""
    x = jt.constant([1.0, 2.0, 3.0])
    held = {}

    def product(a):
        return jt.reduce_sum(a * held["y"])

    compiled = jt.function(product)
    held["y"] = x
    for _ in range(3):
        found = []
        for function in (product, compiled):
            with jt.GradientTape() as tape:
                tape.watch(x)
                result = function(x * x)  # depends on x by the argument and by the captured tensor
            found.append((float(result), tape.gradient(result, x).tolist()))
        assert found[0] == found[1] == (36.0, [3.0, 12.0, 27.0])
        assert float(compiled(x * x)) == 36.0
    assert compiled.trace_count == 1


def test_gradients_flow_through_captured_results():
    x = jt.constant([1.0, 2.0])
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        scaled = jt.function(lambda a: jt.reduce_sum(a * y))
        result = scaled(jt.constant([3.0, 4.0]))
        with jt.GradientTape() as inner:
            inner.watch(y)
            again = scaled(jt.constant([3.0, 4.0]))
        slope = inner.gradient(again, y)
    assert tape.gradient(result, x).tolist() == [6.0, 16.0]
    assert tape.gradient(result, y).tolist() == slope.tolist() == [3.0, 4.0]


def test_a_captured_tensor_that_is_written_to_is_a_constant():
    x = jt.constant([1.0, 2.0])
    f = jt.function(lambda a: jt.reduce_sum(a * x))
    with jt.GradientTape() as tape:
        tape.watch(x)
        f(jt.constant([1.0, 1.0]))
    x[0] = 5.0
    a = jt.constant([1.0, 1.0])
    with jt.GradientTape(persistent=True) as tape:
        tape.watch([a, x])
        result = f(a)
    assert float(result) == 3.0
    assert tape.gradient(result, a).tolist() == [1.0, 2.0]
    with pytest.warns(jt.UnconnectedGradientWarning):
        assert tape.gradient(result, x) is None


# ---- T9: leaks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "use", [lambda t: t.numpy(), lambda t: t + 1.0, lambda t: float(t[0]), lambda t: jt.Variable(X).assign(t)]
)
def test_a_leaked_tensor_names_the_function_and_the_line(use):
    kept = []

    @jt.function
    def f(x):
        kept.append(x * 2.0)
        return x

    f(X)
    with pytest.raises(
        jt.LeakedTensorError, match=r"'.*f', made at .*test_function.py:\d+,.* return it"
    ) as info:
        use(kept[0])
    assert "traced in" in str(kept[0])
    line = f._python.__code__.co_firstlineno + 2
    assert f"test_function.py:{line}," in str(info.value)


def test_a_leaked_number_is_an_error_too():
    kept = []
    f = jt.function(lambda x, n: kept.append(n) or x * n)
    f(X, 2)
    with pytest.raises(jt.LeakedTensorError):
        range(kept[0])
    with pytest.raises(jt.LeakedTensorError):
        jt.constant(1.0) * kept[0]


# ---- T10: Python branches on tensors -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "look"),
    [
        ("bool", lambda x: x if jt.reduce_sum(x) > 0 else -x),
        ("float", lambda x: x * float(jt.reduce_sum(x))),
        ("numpy", lambda x: x * x.numpy()),
        ("array", lambda x: x * np.asarray(x)),
        ("int", lambda x: x * int(x[1])),
        ("item", lambda x: x * x[1].item()),
        ("tolist", lambda x: x * x.tolist()),
    ],
)
def test_a_look_falls_back_to_recording_with_one_warning(action, look):
    f = jt.function(look)
    with pytest.warns(jt.FunctionWarning) as caught:
        results = [f(x) for x in (X, -X, X)]
    (warning,) = caught
    for found, x in zip(results, (X, -X, X), strict=True):
        np.testing.assert_array_equal(found, look(jt.constant(x)))
    text = str(warning.message)
    assert f"is needed by {action}() at {__file__}:{look.__code__.co_firstlineno}." in text
    assert "jt.where, jt.cond, jt.while_loop or jt.scan" in text
    assert warning.filename == __file__
    assert "recorded at each call" in f.explain()


def test_a_caught_look_is_a_look():
    @jt.function
    def f(x):
        try:
            positive = bool(x[1] > 0)
        except BaseException:
            positive = False
        return x if positive else -x

    with pytest.warns(jt.FunctionWarning):
        assert float(f(X)[1]) == 1.0
    assert float(f(-X)[1]) == 1.0


def test_a_float_as_a_python_value_falls_back():
    f = jt.function(lambda x, rate: x if rate > 0.5 else -x)
    with pytest.warns(jt.FunctionWarning, match="the bool .rate > 0.5., which may be another at each call"):
        assert float(f(X, 1.0)[1]) == 1.0
    assert float(f(X, 0.0)[1]) == -1.0
    assert f.trace_count == 1


def test_only_the_signature_that_looks_is_recorded():
    f = jt.function(lambda x: x if x.ndim else (x if x > 0 else -x))
    f(X)
    with pytest.warns(jt.FunctionWarning):
        f(np.array(-1.0))
    assert [bool(s.recorded) for s in f.signatures()] == [False, True]


def test_a_gradient_around_a_recorded_function():
    f = jt.function(lambda x: x * x if x > 0 else x)
    x = jt.constant(3.0)
    with pytest.warns(jt.FunctionWarning):
        f(x)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 6.0


# ---- T1, T13: interface ------------------------------------------------------------------------------


def test_input_signature():
    @jt.function(input_signature=[jt.TensorSpec([None, 2], jt.float64), jt.TensorSpec([], jt.int32)])
    def f(x, n):
        return jt.reduce_sum(x, 0) * jt.cast(n, jt.float64)

    assert f(np.ones((3, 2)), 2).tolist() == [6.0, 6.0]
    assert f([[1, 2]], 3).tolist() == [3.0, 6.0]
    with pytest.raises(
        TypeError, match=r"an argument is float64\[3\], but the input_signature requires TensorSpec"
    ):
        f(np.ones(3), 2)
    with pytest.raises(TypeError, match="float32"):
        f(jt.ones((3, 2)), 2)
    with pytest.raises(TypeError, match="do not match the input_signature"):
        f(np.ones((3, 2)))
    f(np.ones((3, 2)), 7)
    assert f.trace_count == 1  # one trace for all lengths


@pytest.mark.parametrize(
    "value", [np.full(2, 3.0), np.full(2, 3), np.full(2, 3.0, np.float16), [3, 3], (3.0, 3.0)]
)
def test_input_signatures_cast_arrays_but_no_tensors(value):
    f = jt.function(lambda x: x / 2, input_signature=[jt.TensorSpec([None])])
    for _ in range(3):  # the later calls are on the fast path
        halves = f(value)
        assert halves.dtype == jt.float32
        assert halves.tolist() == [1.5, 1.5]
    assert f(np.full(2, 3.0, np.float32)).tolist() == [1.5, 1.5]
    assert f.trace_count == 1
    with pytest.raises(TypeError, match="requires TensorSpec"):
        f(jt.constant(value, jt.float64))


def test_an_input_signature_loses_no_part_of_a_number():
    f = jt.function(lambda x: x, input_signature=[jt.TensorSpec([], jt.int32)])
    assert f(np.int64(3)).dtype == jt.int32
    for wrong in (np.float64(2.5), np.array(2.5), np.array(True), np.array(2j), 2.5):
        with pytest.raises(TypeError, match="an argument is .*, but the input_signature requires TensorSpec"):
            f(wrong)
    for bad in (np.array("a"), np.array(None), np.ma.array(1, mask=True)):
        with pytest.raises(TypeError, match="<lambda>: an argument is"):
            f(bad)
    real = jt.function(lambda x: x, input_signature=[jt.TensorSpec([])])
    with pytest.raises(TypeError, match="an argument is complex128"):
        real(np.array(2j))


def test_concrete_functions():
    f = jt.function(lambda x, n: x * n)
    concrete = f.get_concrete_function(jt.TensorSpec([3], jt.float64), 2)
    assert f.trace_count == 1
    assert concrete(np.ones(3), 5).tolist() == [5.0] * 3
    assert "multiply" in str(concrete.program)
    with pytest.raises(
        TypeError, match=r"is for \(x: float64\[3\], n: int\), got \(x: float64\[2\], n: int\)"
    ):
        concrete(np.ones(2), 5)
    f(np.ones(3), 1)
    assert f.trace_count == 1
    of_any_rank = f.get_concrete_function(jt.TensorSpec(None, jt.float64), 2)
    for x in (3.0, np.ones(2), np.ones((2, 3))):
        np.testing.assert_array_equal(
            of_any_rank(jt.constant(x, jt.float64), 2), f(jt.constant(x, jt.float64), 2)
        )


def test_run_functions_eagerly():
    calls = []
    f = jt.function(lambda x: calls.append(1) or x * 2.0)
    f(X)
    jt.config.run_functions_eagerly(True)
    try:
        assert jt.config.functions_run_eagerly()
        thrice(f, jt.constant(X))
    finally:
        jt.config.run_functions_eagerly(False)
    assert len(calls) == 4
    f(X)
    assert len(calls) == 4


def test_print_and_ensure_shape(tmp_path):
    out = io.StringIO()

    @jt.function
    def f(x, n):
        x = jt.ensure_shape(x, [None, 2])
        jt.print("x", x, n, output_stream=out, sep="|")
        return x + 1.0

    for n in (1, 2):
        f(np.ones((1, 2)) * n, n)
    assert out.getvalue() == "x|[[1. 1.]]|1\nx|[[2. 2.]]|2\n"
    jt.print(jt.constant(1.5), output_stream=out)
    assert out.getvalue().endswith("1.5\n")
    jt.print(jt.constant(1.5), output_stream=f"file://{tmp_path}/log")
    jt.function(lambda x: jt.print(x, output_stream=f"file://{tmp_path}/log"))(2.5)
    assert (tmp_path / "log").read_text() == "1.5\n2.5\n"
    with pytest.raises(ValueError, match=r"\[print\] output_stream must be a stream, .* got 'stderr'"):
        jt.print(1, output_stream="stderr")
    with pytest.raises(ValueError, match=r"\(3,\) is not compatible with \(None, 2\)"):
        f(np.ones(3), 1)


def test_pythons_print_shows_stand_ins(capsys):
    f = jt.function(lambda x, v: print(x, repr(v)) or x * v)
    f(jt.constant(1.0), jt.Variable(2.0))
    assert capsys.readouterr().out == (
        "jt.Tensor(<traced in test_pythons_print_shows_stand_ins.<locals>.<lambda>>, shape=(), dtype=float32) "
        "<jt.Variable 'Variable:0' shape=() dtype=float32>\n"
    )


# ---- methods, copies, life ---------------------------------------------------------------------------


class Counter:
    def __init__(self, start: float) -> None:
        self.value = jt.Variable(start)

    @jt.function
    def add(self, x):
        """Add x."""
        self.value.assign_add(x)
        return self.value * 1.0


def test_methods_are_bound_to_their_instances():
    one, two = Counter(1.0), Counter(10.0)
    assert [float(one.add(1.0)), float(two.add(1.0)), float(one.add(1.0))] == [2.0, 11.0, 3.0]
    assert one.add.trace_count == two.add.trace_count == 1
    assert Counter.add.trace_count == 0
    assert "first call" in one.add.explain()
    assert one.add.get_concrete_function(1.0)(2.0) is not None


def test_a_method_does_not_keep_its_instance_alive():
    one = Counter(1.0)
    thrice(one.add, 1.0)
    alive, value = weakref.ref(one), weakref.ref(one.value)
    del one
    module_level(1.0)  # what ran last is held for jt.explain()
    gc.collect()
    assert alive() is None
    assert value() is None


def test_instances_with_a_function_are_copied_and_pickled():
    one = Counter(1.0)
    one.add(1.0)
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert float(other.add(1.0)) == 3.0
        assert float(one.value) == 2.0


@jt.function
def module_level(x):
    return x * 2.0


def test_a_function_pickles_by_its_name():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.deepcopy(module_level) is module_level


def test_a_module_as_argument_is_static():
    f = jt.function(lambda model, x: model(x))
    one, two = jt.nn.Dense(2, input_dim=3), jt.nn.Dense(2, input_dim=3)
    x = np.ones((1, 3), np.float32)
    for _ in range(2):
        for model in (one, two):
            np.testing.assert_allclose(f(model, x), model(x), rtol=1e-6)
    assert f.trace_count == 2


def test_a_variable_as_argument_is_the_variable():
    f = jt.function(lambda v, x: v.assign_add(x) and None)
    one, two = jt.Variable(0.0), jt.Variable(0.0)

    @jt.function
    def add(v, x):
        v.assign_add(x)

    for _ in range(3):
        add(one, 1.0)
        add(two, 2.0)
    assert (float(one), float(two), add.trace_count) == (3.0, 6.0, 1)
    assert f is not None


def test_an_unhashable_object_is_static_by_identity():
    class Settings:
        __hash__ = None

        def __init__(self, n):
            self.n = n

    f = jt.function(lambda x, s: x * s.n)
    two, three = Settings(2.0), Settings(3.0)
    assert [float(f(1.0, s)) for s in (two, three, two)] == [2.0, 3.0, 2.0]
    assert f.trace_count == 2


class Pair:
    """A container of the user's own."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def tree_flatten(self) -> Any:
        return (self.first, self.second), None, ("first", "second")

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Any) -> Any:
        return cls(*children)


optree.register_pytree_node_class(Pair, namespace="jittape")


def test_containers_of_the_users_own():
    f = jt.function(lambda pair: Pair(pair.first * 2.0, {"sum": pair.first + pair.second}))
    for a in (1.0, 2.0, 3.0):
        found = f(Pair(X, a))
        np.testing.assert_array_equal(found.first, X * 2)
        np.testing.assert_array_equal(found.second["sum"], X + a)
    assert f.trace_count == 1
    x = jt.Variable(X)
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(f(Pair(x, 1.0)).first)
    found = tape.gradient(y, Pair(x, [x]))
    np.testing.assert_array_equal(found.first, np.full(6, 2.0))
    last = jt.scan(lambda c, a: Pair(c.first + a, c.second * a), X[1:], Pair(0.0, 1.0))
    np.testing.assert_allclose(last.second[-1], 120.0)


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [object, "U3", [("a", "f8")]])
def test_an_array_that_no_tensor_can_be_is_named(dtype):
    f = jt.function(lambda x, batch: x)
    with pytest.raises(jt.DTypeError, match=r"^<lambda>: the argument batch\['y'\]\[1\]: dtype "):
        f(X, {"y": [1.0, np.zeros(2, dtype)]})


def test_wrong_arguments_name_the_function():
    def scaled(x, *, scale=1.0):
        return x * scale

    with pytest.raises(TypeError, match=r"scaled\(\) got an unexpected keyword argument 'scales'"):
        jt.function(scaled)(X, scales=2.0)


def test_generators_and_coroutines_are_refused():
    def numbers(x):
        yield x

    async def later(x):
        return x

    async def stream(x):
        yield x

    for wrong in (numbers, later, stream):
        with pytest.raises(
            TypeError, match=f"{wrong.__name__}: a jt.function returns its results when it is called"
        ):
            jt.function(wrong)
    for wrong in (3.0, dict):
        with pytest.raises(TypeError, match="requires a function or method"):
            jt.function()(wrong)


@pytest.mark.parametrize("signature", [[3.0], jt.TensorSpec([2]), [{"a": np.float32}], "f4"])
def test_an_input_signature_is_checked_at_once(signature):
    with pytest.raises(TypeError, match="input_signature must be a list with a jt.TensorSpec"):
        jt.function(lambda x: x, input_signature=signature)


# ---- where to look -----------------------------------------------------------------------------------


def test_the_page_of_the_last_step(mode):
    f = jt.function(lambda x: jt.reduce_sum(x * 2.0))
    thrice(f, X)
    page = jt.explain()
    assert page.compiled == (mode == "compiled")
    assert page.visits == 3
    assert "multiply" in str(page)


def test_without_the_marshaller_python_checks_arguments(monkeypatch, mode):
    monkeypatch.setattr("jittape.functions.fast_path.marshaller", lambda: None)
    f = jt.function(lambda x, a: (x * a, jt.reduce_sum(x)))
    for a in (1.0, 2.0, 3.0):
        product, total = f(X, a)
        np.testing.assert_array_equal(product, X * a)
        assert float(total) == 15.0
    assert f._recent is None
    assert f.trace_count == 1


def test_the_object_layout_of_python_and_numpy():
    assert object_layout() is not None


# ---- threads -----------------------------------------------------------------------------------------


def test_calls_from_several_threads():
    w = jt.Variable([1.0, 2.0])
    f = jt.function(lambda x, a: (jt.reduce_sum(w * x) * a, x + a))
    wrong = []

    def work(number: int) -> None:
        x = np.float32([number, number + 1])
        for i in range(200):
            total, shifted = f(x, float(i))
            expected = np.float32(x @ np.float32([1, 2])) * np.float32(i)
            if not np.isclose(float(total), expected) or not np.array_equal(
                shifted.numpy(), x + np.float32(i)
            ):
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert f.trace_count == 1


def test_a_thread_that_reads_a_variable_while_another_traces():
    v = jt.Variable(1.0)
    tracing, seen = threading.Event(), []

    @jt.function
    def slow(x):
        v.assign(v + x)
        tracing.set()
        reader.join(0.2)
        return v * 1.0

    def read() -> None:
        tracing.wait()
        seen.append(float(v * 10.0))

    reader = threading.Thread(target=read)
    reader.start()
    assert float(slow(1.0)) == 2.0
    reader.join()
    assert seen[0] in (10.0, 20.0)
    assert float(slow(1.0)) == 3.0
