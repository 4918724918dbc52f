"""`custom_gradient` and `stop_gradient`."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


@jt.custom_gradient
def log1pexp(x):
    """The example of TensorFlow's documentation."""
    e = jt.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return jt.math.log(1 + e), grad


def gradient_of(function, *operands, persistent=False):
    """The gradients of `function` with respect to all operands."""
    operands = [jt.constant(x) if not isinstance(x, jt.Variable) else x for x in operands]
    with jt.GradientTape(persistent=persistent) as tape:
        tape.watch(operands)
        y = function(*operands)
    return tape.gradient(y, operands)


# ---- custom_gradient -------------------------------------------------------------------------------------------------


def test_the_textbook_example():
    for x in (100.0, 0.5, 0.5):
        assert float(gradient_of(log1pexp, x)[0]) == pytest.approx(1 - 1 / (1 + np.exp(x)), rel=1e-6)
    assert float(log1pexp(jt.constant(0.0))) == pytest.approx(np.log(2))


def test_the_name_and_docstring_stay():
    assert log1pexp.__name__ == "log1pexp"
    assert "documentation" in log1pexp.__doc__


def test_it_is_called_for_every_gradient_and_sees_the_upstream():
    calls = []

    @jt.custom_gradient
    def f(x):
        def grad(upstream):
            calls.append(upstream.tolist())
            return upstream * 100.0

        return x * x, grad

    for step in range(3):
        x = jt.constant([1.0, 2.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(f(x) * [3.0, step + 1.0])
        assert tape.gradient(y, x).tolist() == [300.0, 100.0 * (step + 1)]
    assert calls == [[3.0, 1.0], [3.0, 2.0], [3.0, 3.0]]


def test_second_order_differentiates_the_gradient_as_written():
    for _ in range(3):
        x = jt.constant(0.5, jt.float64)
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = log1pexp(x)
            first = inner.gradient(y, x)
        sigmoid = 1 / (1 + np.exp(-0.5))
        assert float(outer.gradient(first, x)) == pytest.approx(sigmoid * (1 - sigmoid), rel=1e-12)


def test_second_order_by_a_nested_custom_gradient():
    """As TensorFlow's documentation recommends: the gradient is a custom function of its own."""

    @jt.custom_gradient
    def cube(x):
        @jt.custom_gradient
        def first(z):
            return 3.0 * z * z, lambda upstream: upstream * 600.0  # on purpose not 6 z

        return x**3, lambda upstream: upstream * first(x)

    for _ in range(3):
        x = jt.constant(2.0)
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = cube(x)
            dy = inner.gradient(y, x)
        assert float(dy) == 12.0
        assert float(outer.gradient(dy, x)) == 600.0


def test_several_arguments_and_results():
    @jt.custom_gradient
    def f(a, b):
        def grad(d_sum, d_product):
            return 10.0 * d_sum + d_product, -d_product

        return (a + b, a * b), grad

    for _ in range(3):
        a, b = jt.constant(2.0), jt.constant(3.0)
        with jt.GradientTape(persistent=True) as tape:
            tape.watch([a, b])
            total, product = f(a, b)
            y = total + 2.0 * product
        assert (float(total), float(product)) == (5.0, 6.0)
        assert [float(g) for g in tape.gradient(y, [a, b])] == [12.0, -2.0]
        # The other result has the gradient zero.
        assert [float(g) for g in tape.gradient(total, [a, b])] == [10.0, 0.0]


def test_nested_arguments_are_flattened():
    @jt.custom_gradient
    def f(pair, options):
        a, b = pair
        return a * b + options["c"], lambda upstream: (upstream * 1.0, upstream * 2.0, upstream * 3.0)

    a, b, c = jt.constant(1.0), jt.constant(2.0), jt.constant(3.0)
    with jt.GradientTape() as tape:
        tape.watch([a, b, c])
        y = f((a, b), {"c": c})
    assert [float(g) for g in tape.gradient(y, [a, b, c])] == [1.0, 2.0, 3.0]


def test_the_function_gets_its_arguments_as_they_are():
    seen = []

    @jt.custom_gradient
    def f(x, n, a, scale=1.0):
        seen.append((type(n), type(a), scale))
        return x**n * a * scale, lambda upstream: (upstream * 7.0, None, None)

    (g,) = gradient_of(lambda x: f(x, 2, np.float32(3), scale=2.0), 5.0)
    assert float(g) == 7.0
    assert seen == [(int, np.float32, 2.0)]


def test_methods():
    class Layer:
        def __init__(self, slope):
            self.slope = slope

        @jt.custom_gradient
        def __call__(self, x):
            return x * self.slope, lambda upstream: upstream * self.slope * 10.0

        @jt.custom_gradient
        def scaled(self, x, by=1.0):
            return x * self.slope * by, lambda upstream: upstream * -1.0

    layer = Layer(3.0)
    assert float(gradient_of(layer, 2.0)[0]) == 30.0
    assert float(gradient_of(functools.partial(layer.scaled, by=2.0), 2.0)[0]) == -1.0
    assert float(layer.scaled(jt.constant(2.0), by=2.0)) == 12.0


def test_none_is_no_gradient():
    @jt.custom_gradient
    def f(a, b):
        return a * b, lambda upstream: (upstream * b, None)

    with pytest.warns(jt.UnconnectedGradientWarning):
        da, db = gradient_of(f, 2.0, 3.0)
    assert float(da) == 3.0
    assert db is None


def test_integers_have_no_gradient():
    @jt.custom_gradient
    def f(x, rows):
        return jt.gather(x, rows), lambda upstream: (jt.ones_like(x) * 2.0, 0.0)

    (g,) = gradient_of(lambda x: f(x, jt.constant([0, 2])), [1.0, 2.0, 3.0])
    assert g.tolist() == [2.0, 2.0, 2.0]


def test_a_gradient_may_be_an_array_or_a_number():
    @jt.custom_gradient
    def f(a, b):
        return a * b, lambda upstream: (np.float64([1, 2]), 3.0)

    da, db = gradient_of(f, [1.0, 1.0], 1.0)
    assert (da.tolist(), db.tolist()) == ([1.0, 2.0], 3.0)
    assert da.dtype == jt.float32


def test_an_argument_returned_as_it_is():
    @jt.custom_gradient
    def reversed_gradient(x):
        return x, lambda upstream: -upstream

    x = jt.constant(3.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * reversed_gradient(x)
    assert float(tape.gradient(y, x)) == 0.0


def test_one_function_many_times():
    x = jt.constant(0.5, jt.float64)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(5):
            y = log1pexp(y)
    z, wanted = 0.5, 1.0
    for _ in range(5):
        wanted *= 1 / (1 + np.exp(-z))
        z = np.log1p(np.exp(z))
    assert float(tape.gradient(y, x)) == pytest.approx(wanted, rel=1e-12)


def test_a_look_inside():
    @jt.custom_gradient
    def f(x):
        if jt.reduce_sum(x) > 0:
            return x * 2.0, lambda upstream: upstream * 5.0
        return -x, lambda upstream: upstream * 7.0

    for value, wanted in ((1.0, 5.0), (-1.0, 7.0), (2.0, 5.0)):
        assert float(gradient_of(f, value)[0]) == wanted
        assert float(f(jt.constant(value))) == abs(value) * (2.0 if value > 0 else 1.0)


@pytest.mark.parametrize("where", ["forward", "backward"])
def test_a_tape_inside(where):
    @jt.custom_gradient
    def f(x):
        def slope():
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = x**3
            return tape.gradient(y, x)

        known = slope() if where == "forward" else None
        return x**3, lambda upstream: upstream * (slope() if known is None else known)

    for _ in range(3):
        x = jt.constant(2.0)
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = f(x) * x
            first = inner.gradient(y, x)
        assert float(first) == 4 * 8.0
        assert float(outer.gradient(first, x)) == 12 * 4.0


def test_the_tape_after_that_begins_a_step():
    for _ in range(2):
        x = jt.constant(1.0)
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = log1pexp(x)
        pending = tape.gradient(y, x) + 2.0 - jt.math.sigmoid(1.0)
        before = jt.stats().flushes
        with jt.GradientTape():
            assert jt.stats().flushes == before + 1
        assert float(pending) == pytest.approx(2.0)


# ---- Variables -------------------------------------------------------------------------------------------------------


def test_variables_inside():
    w, frozen = jt.Variable(3.0), jt.Variable(2.0, trainable=False)

    @jt.custom_gradient
    def f(x):
        def grad(upstream, variables=None):
            assert variables is not None
            assert [v is w for v in variables] == [True]
            return upstream * 100.0, [upstream * 200.0]

        return w * x * frozen, grad

    for _ in range(3):
        x = jt.constant(5.0)
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(y) == 30.0
        assert [float(g) for g in tape.gradient(y, [x, w])] == [100.0, 200.0]


def test_a_variable_as_an_argument():
    w = jt.Variable(3.0)

    @jt.custom_gradient
    def f(x, v):
        return x * v, lambda upstream: (upstream * 10.0, upstream * 20.0)

    with jt.GradientTape() as tape:
        y = f(2.0, w)
    assert float(tape.gradient(y, w)) == 20.0


def test_variables_need_the_keyword():
    w = jt.Variable(3.0, name="w")

    @jt.custom_gradient
    def f(x):
        return w * x, lambda upstream: upstream

    with pytest.raises(
        TypeError,
        match=r"grad_fn must accept keyword argument 'variables', since function uses variables: w:0",
    ):
        f(jt.constant(1.0))


def test_variables_gradients_are_counted():
    w = jt.Variable(3.0)

    def made(returned):
        @jt.custom_gradient
        def f(x):
            return w * x, lambda upstream, variables: returned

        return f

    with pytest.raises(ValueError, match="Must return gradient for each variable"):
        gradient_of(made((1.0, [])), 1.0)
    with pytest.raises(TypeError, match="gradients of the variables"):
        gradient_of(made(1.0), 1.0)


# ---- mistakes --------------------------------------------------------------------------------------------------------


def test_the_wrong_number_of_gradients():
    @jt.custom_gradient
    def f(a, b):
        return a * b, lambda upstream: upstream

    with pytest.raises(
        ValueError, match=r"custom_gradient function expected to return 2 gradients, but returned 1 instead\."
    ):
        gradient_of(f, 1.0, 2.0)


def test_the_wrong_shape():
    @jt.custom_gradient
    def f(x):
        return jt.reduce_sum(x), lambda upstream: upstream

    with pytest.raises(ValueError, match=r"gradient of shape \(\) for argument 0 of shape \(2,\)"):
        gradient_of(f, [1.0, 2.0])


@pytest.mark.parametrize("returned", [1.0, (1.0, 2.0), None, (1.0,), lambda upstream: upstream])
def test_no_grad_fn(returned):
    @jt.custom_gradient
    def f(x):
        return returned

    with pytest.raises(TypeError, match=r"returns \(y, grad_fn\), but f returned"):
        f(jt.constant(1.0))


def test_an_exception_inside_leaves_everything_usable():
    v = jt.Variable(2.0)

    @jt.custom_gradient
    def f(x):
        def grad(upstream):
            raise RuntimeError("backward")

        if float(x) < 0:
            raise RuntimeError("forward")
        return x * x, grad

    for _ in range(2):
        with pytest.raises(RuntimeError, match="forward"), jt.GradientTape() as tape:
            f(v * -1.0)
        with jt.GradientTape(persistent=True) as tape:
            y = f(v)
            z = v * v
        with pytest.raises(RuntimeError, match="backward"):
            tape.gradient(y, v)
        assert float(tape.gradient(z, v)) == 4.0
        assert float(y) == 4.0


def test_a_function_of_a_module_can_be_pickled():
    assert pickle.loads(pickle.dumps(log1pexp)) is log1pexp


# ---- stop_gradient ---------------------------------------------------------------------------------------------------


def test_stop_gradient():
    for _ in range(3):
        x = jt.Variable([2.0, 3.0])
        with jt.GradientTape() as tape:
            stopped = jt.stop_gradient(x * x)
            y = jt.reduce_sum(x * stopped)
        assert stopped.tolist() == [4.0, 9.0]
        assert tape.gradient(y, x).tolist() == [4.0, 9.0]


def test_nothing_flows_through_stop_gradient():
    x = jt.Variable(2.0)
    with jt.GradientTape() as tape:
        y = jt.stop_gradient(x) * 3.0
    with pytest.warns(jt.UnconnectedGradientWarning, match="stop_gradient"):
        assert tape.gradient(y, x) is None


def test_tensors_given_by_keyword_have_gradients(mode):
    @jt.custom_gradient
    def product(x, y, scale=1.0):
        return x * y * scale, lambda g: (g * y * scale, g * x * scale)

    a, b = jt.Variable(2.0), jt.Variable(3.0)
    for _ in range(3):
        with jt.GradientTape() as tape:
            z = product(a, y=b, scale=10.0)
        assert [float(g) for g in tape.gradient(z, [a, b])] == [30.0, 20.0]


@pytest.mark.parametrize("setting", ["max_pending_ops", "max_pending_bytes"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 8, 100])
def test_limits_of_what_is_pending_may_be_reached_in_a_call(setting: str, limit: int, mode: str) -> None:
    """Outside of tapes, the op that exceeds a limit ends the trace, also inside the call of such a function."""
    w = jt.Variable([1.0, 2.0])

    @jt.custom_gradient
    def sine(x, y):
        return (jt.sin(x), jt.sin(x) * y), lambda a, b: (a + b, a - b)

    @jt.custom_gradient
    def scaled(x):
        return x * w, lambda upstream, variables: (upstream * 3.0, [upstream])

    again = jt.recompute_grad(lambda x, y: jt.sin(x) * y + w)
    host = lambda x, y: jt.py_function(lambda a, b: a * b, [x, y], jt.float32)  # noqa: E731

    def call(function, *fresh):
        x, y = (jt.constant(a) for a in fresh)
        a, b = sine(x, function(x, y))
        return scaled(a) + again(b, y) * host(a, y), scaled(y)

    before = getattr(jt.config, setting)
    setattr(jt.config, setting, limit)
    try:
        for length in range(8):
            for function in (sine, again, host):
                taken = (lambda x, y: sine(x, y)[1]) if function is sine else function
                x, y = np.float32([0.1 * length, 0.7]), np.float32([0.3, 1.1])
                extra = jt.constant(y)
                for _ in range(length):
                    extra = extra * 1.0
                values = call(taken, x, extra)
                with jt.GradientTape():
                    expected = call(taken, x, y)
                for one, other in zip(values, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-6)
    finally:
        setattr(jt.config, setting, before)
