"""What looks for errors: `check_gradient`, `test.compute_gradient`, `debugging` and what `numpy_function` refuses."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt

# ---- compute_gradient ------------------------------------------------------------------------------------------------


def test_compute_gradient_has_a_row_for_every_element_of_the_value(mode: str) -> None:
    w = np.random.default_rng(0).standard_normal((2, 3))
    x = np.random.default_rng(1).standard_normal((3, 2))
    theoretical, numerical = jt.test.compute_gradient(lambda a, b: jt.tanh(a @ b), [jt.constant(w), x])
    assert [j.shape for j in theoretical] == [(4, 6), (4, 6)]
    for a, b in zip(theoretical, numerical, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
        assert np.abs(a).max() > 0.1


def test_compute_gradient_of_complex_values() -> None:
    """The two parts of an element count apart; the convention is that of TensorFlow."""
    for f in (lambda z: z * z, lambda z: jt.math.conj(z) * (1 + 2j), lambda z: jt.abs(z), jt.math.real):
        theoretical, numerical = jt.test.compute_gradient(f, [np.array([1.0 + 2.0j, -0.5j])])
        np.testing.assert_allclose(theoretical[0], numerical[0], atol=1e-5)


def test_compute_gradient_step_and_errors() -> None:
    x = np.array([2.0])
    by_step = [jt.test.compute_gradient(lambda x: x**3, [x], delta)[1][0][0, 0] for delta in (0.5, 0.1)]
    np.testing.assert_allclose(by_step, [12.25, 12.01])
    with pytest.raises(ValueError, match="`x` must be a list or tuple of tensors"):
        jt.test.compute_gradient(jt.sin, x)
    with pytest.raises(TypeError, match=r"x\[1\] is int64"):
        jt.test.compute_gradient(jt.add, [x, np.array([1])])
    theoretical, _ = jt.test.compute_gradient(jt.floor, [np.array([0.5])])
    assert theoretical[0].tolist() == [[0.0]]
    assert list(inspect.signature(jt.test.compute_gradient).parameters) == ["f", "x", "delta"]


# ---- check_gradient --------------------------------------------------------------------------------------------------


def test_check_gradient_is_content_with_what_is_right(mode: str) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3))
    jt.check_gradient(lambda x: jt.exp(jt.sin(x)), x, order=3)
    jt.check_gradient(
        lambda p, n: {"y": p["a"] @ p["b"] * n, "z": jt.reduce_sum(p["a"])}, {"a": x, "b": x.T}, 3
    )
    jt.check_gradient(
        lambda x, y: jt.tanh(x) * y, x.astype(np.float32), jt.Variable(x, dtype=jt.float32), order=2
    )
    jt.check_gradient(lambda z: jt.abs(z * z) * z, np.array([1 + 2j, 3j]), order=2)


def wrong(factor: Any) -> Any:
    @jt.custom_gradient
    def cube(x: Any) -> Any:
        return x**3, lambda upstream: upstream * 3.0 * x**2 * factor

    return cube


def test_check_gradient_raises_with_the_worst_entry(mode: str) -> None:
    x = np.array([[1.0, 2.0, 3.0]])
    factor = np.array([[1.0, 1.5, 1.1]])
    match = (
        r"the gradient of result 1\[0, 1\] in argument 0\[0, 1\] is 18, by differences 12: off by 6, where 1.3e-06 is "
        r"allowed; 2 of 18 entries are off$"
    )
    with pytest.raises(AssertionError, match=match):
        jt.check_gradient(lambda x: (x * x, wrong(factor)(x)), x)
    jt.check_gradient(wrong(np.ones(3)), x)
    with pytest.raises(AssertionError, match=r"in argument 1\[2\]"):
        jt.check_gradient(lambda a, b: a + wrong(np.array([1.0, 1.0, 0.0]))(b), x, x[0])


def test_check_gradient_of_order_two_finds_what_order_one_does_not() -> None:
    @jt.custom_gradient
    def cube(x: Any) -> Any:
        return x**3, lambda upstream: upstream * 3.0 * x * jt.stop_gradient(x)

    x = np.array([1.0, 2.0])
    jt.check_gradient(cube, x)
    with pytest.raises(AssertionError, match="element 1 of derivative 1 in argument 0.1. is"):
        jt.check_gradient(cube, x, order=2)


def test_check_gradient_says_why_there_is_none() -> None:
    with pytest.raises(
        AssertionError, match=r"is 0, by differences .*\(the gradient is None: .*NumPy computed it"
    ):
        jt.check_gradient(lambda x: jt.numpy_function(np.sin, [x], jt.float64), np.array([1.0]))


def test_messages_about_gradients_that_may_be_wrong_name_check_gradient() -> None:
    @jt.custom_gradient
    def wrong(x: Any) -> Any:
        return x * x, jt.reduce_sum

    x = jt.Variable([1.0, 2.0])
    with jt.GradientTape(persistent=True) as tape:
        y = x * x.numpy()
        z = wrong(x)
    text = tape.explain(y, x)
    assert text.endswith("; jt.check_gradient(f, x) compares a gradient with differences")
    assert "taken out with numpy()" in text
    with pytest.raises(
        ValueError, match=r"shape \(\) for argument 0 of shape \(2,\)\. jt\.check_gradient\(f, x\)"
    ):
        tape.gradient(z, x)


def test_check_gradient_tolerances_and_steps_are_the_callers() -> None:
    x = np.array([1.0])
    slightly = wrong(np.array([1.0 + 1e-4]))
    with pytest.raises(AssertionError, match="off by 0.0003"):
        jt.check_gradient(slightly, x)
    jt.check_gradient(slightly, x, rtol=1e-3)
    jt.check_gradient(slightly, x, atol=1e-3)
    with pytest.raises(AssertionError):
        jt.check_gradient(jt.exp, x, delta=1.0)
    with pytest.raises(AssertionError, match="is nan"):
        jt.check_gradient(wrong(np.array([np.nan])), x)
    with pytest.raises(TypeError, match="must contain an argument of a floating or complex dtype"):
        jt.check_gradient(jt.add, 1, 2)


# ---- check_numerics --------------------------------------------------------------------------------------------------


@pytest.fixture
def checking() -> Iterator[None]:
    jt.debugging.enable_check_numerics()
    yield
    jt.debugging.disable_check_numerics()


def line_of(text: str) -> int:
    """The line of this file that ends with the comment `text`."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()  # type: ignore[arg-type]
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return number


def test_check_numerics_lets_pass_what_is_finite(mode: str) -> None:
    for _ in range(3):
        x = jt.Variable([1.0, 2.0])
        with jt.GradientTape() as tape:
            y = jt.debugging.check_numerics(x * x, "fine")
        assert y.tolist() == [1.0, 4.0]
        assert tape.gradient(y, x).tolist() == [2.0, 4.0]


def test_check_numerics_names_the_op_and_its_line(mode: str) -> None:
    for _ in range(3):
        x = jt.constant([[1.0, 0.0], [2.0, -1.0]])
        y = jt.math.log(x)  # the log
        with pytest.raises(jt.NumericsError) as caught:
            jt.debugging.check_numerics(y, "the loss")
        assert str(caught.value).startswith(
            "the loss : Tensor had Inf and NaN values (2 of 4, the first at (0, 1)): result of op log, recorded at "
        )
        assert f"test_gradient_checks.py:{line_of('the log')} " in str(caught.value)
    assert issubclass(jt.NumericsError, FloatingPointError)


def test_check_numerics_checks_the_gradient(mode: str) -> None:
    for _ in range(3):
        x = jt.constant([4.0, 0.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.sqrt(jt.debugging.check_numerics(x, "the root's operand"))
        with pytest.raises(jt.NumericsError, match="in the gradient of: the root's operand : Tensor had Inf"):
            tape.gradient(y, x).numpy()


def test_check_numerics_in_a_function_is_checked_at_each_call() -> None:
    @jt.function
    def f(x: Any) -> Any:
        return jt.debugging.check_numerics(1.0 / x, "reciprocal") * 2.0

    for _ in range(3):
        assert f(np.array([1.0, 2.0])).numpy().tolist() == [2.0, 1.0]
        with pytest.raises(
            jt.NumericsError, match="reciprocal : Tensor had Inf values .1 of 2, the first at 1."
        ):
            f(np.array([1.0, 0.0]))
    assert f.trace_count == 1


def test_integers_are_not_checked() -> None:
    with pytest.raises(TypeError, match="check_numerics.*is not defined for int32"):
        jt.debugging.check_numerics(jt.constant([1]), "")


def test_enabled_every_op_is_checked(mode: str, checking: None) -> None:
    for _ in range(3):
        x = jt.constant([1.0, 0.0])
        fine = x + 1.0
        y = jt.exp(1.0 / x * 0.0)  # the division
        with pytest.raises(
            jt.NumericsError,
            match=r"Tensor had Inf values .*of op divide, recorded at .*test_gradient_checks.py:",
        ):
            y.numpy()
        assert fine.tolist() == [2.0, 1.0]
        with pytest.raises(jt.NumericsError):
            y.numpy()


def test_enabled_a_gradient_is_blamed_on_the_line_of_its_op(checking: None) -> None:
    x = jt.constant([4.0, 0.0])
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.reduce_sum(jt.sqrt(x))  # the root
    with pytest.raises(jt.NumericsError, match=f"test_gradient_checks.py:{line_of('the root')} "):
        tape.gradient(y, x).numpy()


def test_enabled_functions_are_checked_too_and_disabled_all_is_as_before() -> None:
    f = jt.function(lambda x: jt.math.log(x))
    x = np.array([0.0])
    for _ in range(3):
        assert f(x).numpy()[0] == -np.inf
    jt.debugging.enable_check_numerics()
    try:
        assert not jt.config.interpret
        with pytest.raises(jt.NumericsError, match="of op log"):
            f(x)
    finally:
        jt.debugging.disable_check_numerics()
    assert f(x).numpy()[0] == -np.inf
    assert jt.math.log(jt.constant(0.0)).numpy() == -np.inf


# ---- numpy_function --------------------------------------------------------------------------------------------------


def test_numpy_function_computes_by_numpy(mode: str) -> None:
    for _ in range(3):
        x = jt.constant([3.0, 1.0, 2.0])
        y = jt.numpy_function(lambda a: np.sort(a) * 2, [x + 1.0], jt.float32)
        assert y.tolist() == [4.0, 6.0, 8.0]
        first, second = jt.numpy_function(np.unique_counts, [x], (jt.float32, jt.int64))
        assert (first.tolist(), second.tolist()) == ([1.0, 2.0, 3.0], [1, 1, 1])
        assert (y + x).dtype == jt.float32
        assert jt.numpy_function(lambda: 3, [], jt.int32).dtype == np.int32


def test_numpy_function_gives_no_gradient_and_says_why(mode: str) -> None:
    for _ in range(3):
        v = jt.Variable([3.0, 1.0])
        with jt.GradientTape(persistent=True) as tape:
            y = jt.stop_gradient(jt.numpy_function(np.sort, [v * 2.0], jt.float32)) * v  # the sorting
        assert tape.gradient(y, v).tolist() == [2.0, 6.0]
        with jt.GradientTape() as tape:
            y = jt.numpy_function(np.sort, [v * 2.0], jt.float32)
        with pytest.warns(jt.UnconnectedGradientWarning) as caught:
            assert tape.gradient(y, v) is None
        text = str(caught[0].message)
        assert "`numpy_function` at line" in text
        assert "NumPy computed it; write it with jittape operations, or give it a gradient" in text


def test_numpy_function_in_a_function_with_shapes_is_compiled() -> None:
    calls = []

    def by_numpy(a: Any, b: Any) -> Any:
        calls.append(1)
        return a @ b, np.argsort(b), a.sum() > 0

    @jt.function
    def f(a: Any, b: Any) -> Any:
        specs = [jt.TensorSpec([2], jt.float64), jt.TensorSpec([3], jt.int64), jt.TensorSpec([], jt.bool)]
        product, order, positive = jt.numpy_function(by_numpy, [a * 2.0, b], specs)
        return product + 1.0, order, positive

    a, b = np.arange(6.0).reshape(2, 3), np.array([3.0, 1.0, 2.0])
    for i in range(3):
        product, order, positive = f(a, b)
        np.testing.assert_array_equal(product, a * 2 @ b + 1)
        assert (order.tolist(), bool(positive)) == ([1, 2, 0], True)
        assert len(calls) == i + 1
    assert f.trace_count == 1
    assert "compiled" in f.explain()


def test_numpy_function_in_a_function_without_shapes_is_recorded_with_the_remedy() -> None:
    f = jt.function(lambda x: jt.numpy_function(np.sort, [x], jt.float64) + 1.0)
    with pytest.warns(
        jt.FunctionWarning, match=r"needed by numpy_function.*pass shapes too: Tout=jt.TensorSpec"
    ):
        assert f(np.array([2.0, 1.0])).numpy().tolist() == [2.0, 3.0]
    assert f(np.array([5.0, 1.0])).numpy().tolist() == [2.0, 6.0]


@pytest.mark.parametrize(
    ("function", "wanted", "error", "match"),
    [
        (lambda x: (x, x), jt.float32, ValueError, "<lambda> returned 2 results, Tout names 1"),
        (lambda x: x, [jt.float32, jt.float32], ValueError, "returned 1 results, Tout names 2"),
        (
            lambda x: x,
            jt.int32,
            TypeError,
            "a result is float32, which does not cast to Tout int32",
        ),
        (
            lambda x: x,
            jt.TensorSpec([3], jt.float32),
            ValueError,
            r"has shape \(2,\), but Tout is TensorSpec",
        ),
    ],
)
def test_numpy_function_refuses_what_was_not_announced(
    function: Any, wanted: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        jt.numpy_function(function, [jt.constant([1.0, 2.0])], wanted)


def test_numpy_function_in_a_function_refuses_another_shape() -> None:
    f = jt.function(lambda x: jt.numpy_function(lambda a: a[:1], [x], jt.TensorSpec([2], jt.float64)))
    for _ in range(3):
        with pytest.raises(ValueError, match=r"returned float64\[1\], Tout says float64\[2\]"):
            f(np.ones(2)).numpy()


def test_numpy_function_may_not_write_to_its_arguments() -> None:
    def writes(a: Any) -> Any:
        a[0] = 7.0
        return a

    with pytest.raises(ValueError, match="read-only"):
        jt.numpy_function(writes, [jt.constant([1.0])], jt.float32)
    f = jt.function(lambda x: jt.numpy_function(writes, [x], jt.TensorSpec([2], jt.float64)))
    with pytest.raises(ValueError, match="read-only"):
        f(np.ones(2))
