"""Gradients with an op of unknown derivative: right, None with the reason, or an error; never a part of the truth."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import jittape as jt
from jittape.core.primitive import Primitive, apply

mystery_op = Primitive(
    "mystery", abstract_eval=lambda x: x, impl=lambda x: np.sin(x), gradient_stops="a test", opaque=True
)
"""Its derivative is cos, but jittape does not know that. Unlike `numpy_function` it runs in bodies of loops."""
SHAPE = jt.TensorSpec([2], jt.float64)
POINT = np.array([0.7, -1.3])


def mystery(x: Any) -> Any:
    return apply(mystery_op, (x,))


def by_numpy(x: Any) -> Any:
    return jt.numpy_function(np.sin, [x], jt.TensorSpec(x.shape, jt.float64))


# ---- random expressions ----------------------------------------------------------------------------------------------


class Dual(NamedTuple):
    """A number with its first two derivatives, and whether known ops and the opaque one lead to it."""

    value: float
    first: float
    second: float
    known: bool
    unknown: bool


def chained(x: Dual, value: float, first: float, second: float) -> Dual:
    return Dual(value, first * x.first, second * x.first**2 + first * x.second, x.known, x.unknown)


def constant(value: float) -> Dual:
    return Dual(value, 0.0, 0.0, False, False)


UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Dual], Dual]]] = {
    "sin": (jt.sin, lambda x: chained(x, np.sin(x.value), np.cos(x.value), -np.sin(x.value))),
    "square": (jt.square, lambda x: chained(x, x.value**2, 2 * x.value, 2.0)),
    "scale": (lambda x: 0.5 * x, lambda x: chained(x, 0.5 * x.value, 0.5, 0.0)),
    "stop": (jt.stop_gradient, lambda x: constant(x.value)),
    "floor": (lambda x: jt.floor(x) + 0.25, lambda x: constant(np.floor(x.value) + 0.25)),
    "step": (
        lambda x: jt.where(x > 0, jt.ones_like(x), 2 * jt.ones_like(x)),
        lambda x: constant(1.0 if x.value > 0 else 2.0),
    ),
    "to int": (
        lambda x: jt.cast(jt.cast(3 * x, "int32"), "float64"),
        lambda x: constant(np.trunc(3 * x.value)),
    ),
}


def added(x: Dual, y: Dual) -> Dual:
    return Dual(
        x.value + y.value, x.first + y.first, x.second + y.second, x.known or y.known, x.unknown or y.unknown
    )


def multiplied(x: Dual, y: Dual) -> Dual:
    second = x.second * y.value + 2 * x.first * y.first + x.value * y.second
    flags = x.known or y.known, x.unknown or y.unknown
    return Dual(x.value * y.value, x.first * y.value + x.value * y.first, second, *flags)


class Expression:
    """A random expression of one variable with one opaque op in it."""

    def __init__(self, rng: random.Random) -> None:
        self.steps: list[tuple[str, int, int]] = []
        count = rng.randint(2, 6)
        opaque = rng.randrange(count)
        for i in range(count):
            kind = "opaque" if i == opaque else rng.choice(["add", "multiply", "add", *UNARY])
            self.steps.append((kind, rng.randint(max(0, i - 2), i), rng.randint(0, i)))

    def __call__(self, x: Any, opaque: Callable[[Any], Any] = mystery) -> Any:
        values = [x]
        for kind, i, j in self.steps:
            if kind in UNARY:
                values.append(UNARY[kind][0](values[i]))
            elif kind == "opaque":
                values.append(opaque(values[i]))
            else:
                values.append(values[i] + values[j] if kind == "add" else values[i] * values[j])
        return values[-1]

    def truth(self, x: Dual) -> Dual:
        values = [x]
        for kind, i, j in self.steps:
            if kind in UNARY:
                values.append(UNARY[kind][1](values[i]))
            elif kind == "opaque":
                v = values[i]
                made = chained(v, np.sin(v.value), np.cos(v.value), -np.sin(v.value))
                values.append(made._replace(known=False, unknown=v.known or v.unknown))
            else:
                values.append((added if kind == "add" else multiplied)(values[i], values[j]))
        return values[-1]


def tape_gradient(f: Callable[[Any], Any], x: Any) -> Any:
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def tangent(f: Callable[[Any], Any], x: Any) -> Any:
    with jt.autodiff.ForwardAccumulator(x, jt.ones_like(x)) as accumulator:
        y = f(x)
    return accumulator.jvp(y)


def of_jacobian(mode: str) -> Callable[..., Any]:
    def derivative(f: Callable[[Any], Any], x: Any) -> Any:
        found = jt.jacobian(f, mode=mode)(x.numpy())
        return None if found is None else np.diag(found)

    return derivative


def in_cond(e: Expression) -> Callable[[Any], Any]:
    return lambda x: jt.cond(jt.reduce_sum(x) < 10.0, lambda: e(x), lambda: jt.stop_gradient(x))


def in_loop(e: Expression) -> Callable[[Any], Any]:
    return lambda x: jt.fori_loop(0, 2, lambda i, v: e(v), x)


def in_scan(e: Expression) -> Callable[[Any], Any]:
    return lambda x: jt.map_fn(e, x)


PLACES: dict[str, tuple[Callable[..., Any], Callable[[Expression], Callable[[Any], Any]], int]] = {
    "tape": (tape_gradient, lambda e: e, 1),
    "numpy_function": (tape_gradient, lambda e: lambda x: e(x, by_numpy), 1),
    "function": (tape_gradient, lambda e: jt.function(lambda x: e(x, by_numpy)), 1),
    "grad in a function": (
        lambda f, x: jt.function(lambda v: jt.vjp(f, v)[1](jt.ones_like(v))[0])(x),
        lambda e: e,
        1,
    ),
    "forward": (tangent, lambda e: e, 1),
    "jacobian, reverse": (of_jacobian("reverse"), lambda e: e, 1),
    "jacobian, forward": (of_jacobian("forward"), lambda e: e, 1),
    "cond": (tape_gradient, in_cond, 1),
    "loop": (tape_gradient, in_loop, 2),
    "map_fn": (tape_gradient, in_scan, 1),
    "tangent of a loop": (tangent, in_loop, 2),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_gradient_is_right_or_none_or_an_error(place: str) -> None:
    derivative, placed, times = PLACES[place]
    rng = random.Random(place)
    seen = set()
    for _ in range(25):
        e = Expression(rng)
        truth = [Dual(v, 1.0, 0.0, True, False) for v in POINT]
        for _ in range(times):
            truth = [e.truth(t) for t in truth]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jt.UnconnectedGradientWarning)
            try:
                found = derivative(placed(e), jt.constant(POINT))
            except jt.NoGradientError:
                assert truth[0].known, e.steps
                assert truth[0].unknown, e.steps
                seen.add("error")
                continue
        if found is None:
            assert not truth[0].known, e.steps
            seen.add("unknown" if truth[0].unknown else "none")
        else:
            assert not truth[0].unknown, e.steps
            np.testing.assert_allclose(
                found, [t.first for t in truth], rtol=1e-9, atol=1e-9, err_msg=str(e.steps)
            )
            seen.add("right")
    assert seen >= {"error", "unknown", "right"}


def by_hessian(f: Callable[[Any], Any]) -> Any:
    found = jt.hessian(lambda x: jt.reduce_sum(f(x)))(POINT)
    return None if found is None else np.diag(found)


def by_hvp(f: Callable[[Any], Any]) -> Any:
    return jt.hvp(lambda x: jt.reduce_sum(f(x)))(POINT, np.ones(2))


def test_a_second_derivative_is_right_or_none_or_an_error() -> None:
    rng = random.Random(1)
    counts = {"right": 0, "error": 0}
    for _ in range(60):
        e = Expression(rng)
        truth = [e.truth(Dual(v, 1.0, 0.0, True, False)) for v in POINT]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jt.UnconnectedGradientWarning)
            for second in (by_hessian, by_hvp):
                try:
                    found = second(e)
                except jt.NoGradientError:
                    assert truth[0].unknown, e.steps
                    counts["error"] += 1
                    continue
                if found is not None:
                    expected = [t.second for t in truth]
                    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8, err_msg=str(e.steps))
                    counts["right"] += 1
    assert min(counts.values()) > 5, counts


# ---- what each rule is about -----------------------------------------------------------------------------------------


def test_the_error_names_the_line_and_the_ways_out(mode: str) -> None:
    for _ in range(3):
        x = jt.Variable(POINT)
        with jt.GradientTape(persistent=True) as tape:
            y = x + jt.numpy_function(np.sin, [x], jt.float64)  # this line
        with pytest.raises(
            jt.NoGradientError,
            match=r"numpy_function, recorded at .*test_opaque.py:\d+ .*one of several paths",
        ) as caught:
            tape.gradient(y, x)
        assert "jt.custom_gradient" in str(caught.value)
        assert "jt.stop_gradient" in str(caught.value)
        with jt.GradientTape() as tape:
            y = x + jt.stop_gradient(jt.numpy_function(np.sin, [x], jt.float64))
        assert tape.gradient(y, x).tolist() == [1.0, 1.0]


def test_each_source_stands_for_itself() -> None:
    x, z = jt.Variable(POINT), jt.Variable(POINT)
    with jt.GradientTape() as tape:
        y = x * x + mystery(z)
    with pytest.warns(jt.UnconnectedGradientWarning, match="variable 'Variable:0'.*`mystery` at line"):
        first, second = tape.gradient(y, [x, z])
    assert first.tolist() == (2 * POINT).tolist()
    assert second is None


def test_several_targets_are_one_sum_but_each_tangent_stands_for_itself() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape() as tape:
        targets = [2.0 * x, mystery(x)]
    with pytest.raises(jt.NoGradientError, match="mystery"):
        tape.gradient(targets, x)
    with jt.autodiff.ForwardAccumulator(x, np.ones(2)) as accumulator:
        targets = [2.0 * x, mystery(x)]
    with pytest.warns(jt.UnconnectedGradientWarning, match="tangent of target 1"):
        first, second = accumulator.jvp(targets)
    assert (first.tolist(), second) == ([2.0, 2.0], None)


def test_forward_mode_varies_all_primals_together() -> None:
    with pytest.raises(jt.NoGradientError, match="several paths"):
        jt.jvp(lambda x, z: x + mystery(z), [POINT, POINT], [np.ones(2), np.ones(2)])


def test_zeros_do_not_stand_for_an_unknown_derivative() -> None:
    x = jt.Variable(POINT)
    with jt.GradientTape(persistent=True) as tape:
        y = mystery(x) + jt.floor(x)
    with pytest.raises(jt.NoGradientError, match="unknown, not zero"):
        tape.gradient(y, x, unconnected_gradients="zero")
    with pytest.raises(jt.NoGradientError, match="unknown, not zero"):
        tape.jacobian(y, x, "zero")
    with jt.GradientTape() as tape:
        y = jt.floor(x)
    assert tape.gradient(y, x, unconnected_gradients="zero").tolist() == [0.0, 0.0]


def test_what_a_tape_does_not_record_is_not_missing() -> None:
    x, later = jt.Variable(POINT), jt.constant(POINT)
    with jt.GradientTape() as tape:
        with tape.stop_recording():
            apart = mystery(x)
        before = mystery(later)
        tape.watch(later)
        y = x * x + apart + before * later
    gradients = tape.gradient(y, [x, later])
    np.testing.assert_allclose(gradients[0], 2 * POINT)
    np.testing.assert_allclose(gradients[1], np.sin(POINT))


def test_integers_out_of_an_opaque_op_have_no_gradient_by_definition() -> None:
    x = jt.Variable(POINT)
    f = jt.function(
        lambda x: (
            x[jt.numpy_function(np.argsort, [x], jt.TensorSpec([2], jt.int64))] * 2.0
            + jt.cast(jt.numpy_function(np.argsort, [x], jt.TensorSpec([2], jt.int64)), "float64")
        )
    )
    for g in (f, lambda x: f._python(x)):
        with jt.GradientTape() as tape:
            y = g(x)
        assert tape.gradient(y, x).tolist() == [2.0, 2.0]


# ---- a gradient of one's own around it -------------------------------------------------------------------------------


@jt.custom_gradient
def written(x: Any) -> Any:
    """The sine, with a derivative that can be differentiated again."""
    return mystery(x), lambda upstream: upstream * jt.cos(x)


@jt.custom_gradient
def closed(x: Any) -> Any:
    """The sine, with a derivative that cannot."""
    return by_numpy(x), lambda upstream: upstream * jt.numpy_function(np.cos, [x], jt.float64)


@jt.custom_gradient
def opaque_in_cotangent(x: Any) -> Any:
    """The sine, with a rule that hands its cotangent to NumPy."""
    return by_numpy(x), lambda upstream: jt.numpy_function(
        lambda u, a: u * np.cos(a), [upstream, x], jt.float64
    )


def test_a_custom_gradient_stands_for_an_opaque_op() -> None:
    for f in (written, closed, opaque_in_cotangent):
        gradient = jt.grad(lambda x, f=f: jt.reduce_sum(x * f(x)))(POINT)
        np.testing.assert_allclose(gradient, np.sin(POINT) + POINT * np.cos(POINT))


def test_a_rule_that_cannot_be_differentiated_again_raises_at_second_order() -> None:
    expected = np.diag(2 * np.cos(POINT) - POINT * np.sin(POINT))
    np.testing.assert_allclose(jt.hessian(lambda x: jt.reduce_sum(x * written(x)))(POINT), expected)
    for f in (closed, opaque_in_cotangent):
        for loss in (lambda x, f=f: jt.reduce_sum(x * f(x)), lambda x, f=f: jt.reduce_sum(f(x))):
            with pytest.raises(jt.NoGradientError, match="numpy_function"):
                jt.hessian(loss)(POINT)
            with pytest.raises(jt.NoGradientError, match="numpy_function"):
                jt.hvp(loss)(POINT, np.ones(2))


def test_a_rule_is_not_run_for_a_cotangent_that_has_no_value() -> None:
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(jt.jacobian(closed, mode=mode)(POINT), np.diag(np.cos(POINT)))
        with pytest.raises(jt.NoGradientError, match="numpy_function"):
            jt.jacobian(opaque_in_cotangent, mode=mode)(POINT)

    @jt.custom_gradient
    def looks(x: Any) -> Any:
        return jt.sin(x), lambda upstream: jt.constant(upstream.numpy() * np.cos(x.numpy()))

    np.testing.assert_allclose(jt.grad(lambda x: jt.reduce_sum(looks(x)))(POINT), np.cos(POINT))
    for mode in ("forward", "reverse"):
        with pytest.raises(
            jt.NoGradientError, match=r"cotangent with numpy\(\) at line \d+ of .*test_opaque"
        ):
            jt.jacobian(looks, mode=mode)(POINT)
    with pytest.raises(jt.NoGradientError, match="cotangent"):
        jt.jvp(looks, [POINT], [np.ones(2)])


def test_a_python_function_in_a_function_is_differentiable_once() -> None:
    f = jt.function(lambda x: jt.py_function(lambda v: jt.sin(v), [x], SHAPE))
    np.testing.assert_allclose(jt.grad(lambda x: jt.reduce_sum(f(x)))(POINT), np.cos(POINT))
    g = jt.function(lambda x: jt.hvp(lambda v: jt.reduce_sum(v * f(v)))(x, jt.ones_like(x)))
    with pytest.raises(jt.NoGradientError, match="numpy_function"):
        g(POINT)
