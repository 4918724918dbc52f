"""Events, dense output and the implicit method of `jittape.scipy.integrate.solve_ivp`, and gradients in the times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import jittape as jt
from jittape.scipy import integrate

TIGHT = {"rtol": 1e-8, "atol": 1e-10}


def oscillator(t: Any, y: Any) -> Any:
    return [y[1], (1 - y[0] ** 2) * y[1] - y[0] + 0.1 * t]


def event(index: int, level: float, direction: float = 0, terminal: Any = False) -> Any:
    def crossing(t: Any, y: Any) -> Any:
        return y[index] - level

    crossing.direction, crossing.terminal = direction, terminal  # type: ignore[attr-defined]
    return crossing


@pytest.mark.parametrize(
    ("method", "span", "events"),
    [
        ("RK45", (0.0, 12.0), [event(0, 0.0), event(1, 0.5, -1), event(0, 9.0)]),
        ("DOP853", (0.0, 12.0), [event(0, 0.0, 1, 2), event(1, 0.5)]),
        ("RK45", (12.0, 0.0), event(0, 0.5, 1, True)),
        ("RK23", (0.0, 4.0), [event(0, 2.0, 0, 1), event(1, -1.0)]),  # an event at the start
    ],
)
def test_events_and_dense_output_are_scipys(method: str, span: tuple[float, float], events: Any) -> None:
    start = [2.0, 0.0] if span[0] == 0 else [0.5, 0.1]
    times = np.linspace(*span, 9)
    for t_eval in (None, times):
        options = {"events": events, "dense_output": True, "rtol": 1e-5, "atol": 1e-7, "t_eval": t_eval}
        wanted = scipy.integrate.solve_ivp(oscillator, span, start, method, **options)
        found = integrate.solve_ivp(oscillator, span, start, method, **options)
        assert (found.status, found.success, found.message) == (wanted.status, True, wanted.message)
        assert found.y.shape == wanted.y.shape
        # Rounding changes the sizes of steps a little: where the error estimate cancels, by 1e-7.
        np.testing.assert_allclose(found.t.numpy(), wanted.t, rtol=1e-5, atol=1e-12)
        np.testing.assert_allclose(found.y.numpy(), wanted.sol(found.t.numpy()), rtol=1e-6, atol=1e-7)
        for ours, reference in zip(found.t_events, wanted.t_events, strict=True):
            np.testing.assert_allclose(ours.numpy(), reference, rtol=1e-9, atol=1e-12)
        for ours, reference in zip(found.y_events, wanted.y_events, strict=True):
            np.testing.assert_allclose(ours.numpy().reshape(reference.shape), reference, atol=1e-8)
        ends = sorted([span[0], float(wanted.t[-1])])
        for t in (np.linspace(ends[0] - 0.1, ends[1] + 0.1, 7), ends[0], wanted.sol.ts[1]):
            np.testing.assert_allclose(found.sol(t).numpy(), wanted.sol(t), atol=1e-5)
        assert float(found.sol.t_max) == pytest.approx(wanted.sol.t_max)


def test_numbers_in_lists_are_float64() -> None:
    """A right-hand side, a start and an event may return Python numbers."""
    found = integrate.solve_ivp(
        lambda t, y: [y[1], -9.81], (0, 9), [10.1, 0], events=event(0, 0.1, 0, True), **TIGHT
    )
    assert float(found.t_events[0][0]) == pytest.approx(np.sqrt(20 / 9.81), rel=1e-12)
    assert float(integrate.solve_ivp(lambda t, y: [0.1], (0, 1), [0.1]).y[0, -1]) == pytest.approx(
        0.2, rel=1e-14
    )


def test_gradient_through_event_times() -> None:
    """A ball bounces twice; the second flight starts at the time and with the speed of the first impact."""

    def ground(t: Any, y: Any, pull: Any) -> Any:
        return y[0]

    ground.terminal, ground.direction = True, -1  # type: ignore[attr-defined]

    def second_impact(height: Any, pull: Any) -> Any:
        begin, state = 0.0, jt.stack([height, 0.0 * height])
        for _ in range(2):
            flight = integrate.solve_ivp(
                lambda t, y, pull: [y[1], -pull],
                (begin, 9.0),
                state,
                events=ground,
                args=(pull,),
                **TIGHT,
            )
            begin, speed = flight.t_events[0][0], flight.y_events[0][0, 1]
            state = jt.stack([0.0 * speed, -0.5 * speed])
        return begin

    height, pull = np.float64(3.0), np.float64(9.81)
    exact = 2 * np.sqrt(2 * height / pull)
    assert float(second_impact(height, pull)) == pytest.approx(exact, rel=1e-12)
    found = jt.grad(second_impact, argnums=(0, 1))(height, pull)
    np.testing.assert_allclose(found, [exact / (2 * height), -exact / (2 * pull)], rtol=1e-9)
    curved = jt.grad(jt.grad(lambda h: second_impact(h, pull)))(height)
    assert float(curved) == pytest.approx(-exact / (4 * height**2), rel=1e-8)


@pytest.mark.parametrize(
    ("method", "adjoint"),
    [("RK45", False), ("RK45", True), ("Radau", False), ("Radau", True), ("BDF", False)],
)
def test_gradients_in_the_limits_and_in_what_the_function_reads(method: str, adjoint: bool) -> None:
    """The solution of ``y' = -k t y`` is ``y0 exp(k (t0**2 - t**2) / 2)``; `k` is a Variable."""
    rate = jt.Variable(np.float64(1.5))

    def end(t0: Any, t1: Any, y0: Any, times: bool) -> Any:
        at = jt.stack([t0, 0.5 * (t0 + t1), t1]) if times else None
        solution = integrate.solve_ivp(
            lambda t, y: -rate * t * y, (t0, t1), [y0], method, at, adjoint=adjoint, **TIGHT
        )
        return solution.y[0, -1]

    t0, t1, y0 = (np.float64(x) for x in (0.3, 1.2, 0.7))
    value = y0 * np.exp(1.5 * (t0**2 - t1**2) / 2)
    wanted = value * np.array([1.5 * t0, -1.5 * t1, 1 / y0, (t0**2 - t1**2) / 2])
    for times in (False, True):
        with jt.GradientTape() as tape:
            sources = [jt.constant(t0), jt.constant(t1), jt.constant(y0)]
            tape.watch(sources)
            y = end(*sources, times)
        assert float(y) == pytest.approx(value, rel=1e-7 if method != "BDF" else 5e-7)
        found = [float(g) for g in tape.gradient(y, [*sources, rate])]
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if method != "BDF" else 5e-6)


def test_radau_has_order_five_and_exact_gradients(override_tuning: Callable[..., None]) -> None:
    """With steps of equal size and solved equations; the same inside a function."""
    override_tuning(newton_tolerance=1e-8, newton_iterations_limit=20)

    def end(rate: Any, size: float, adjoint: bool = False) -> Any:
        steps = {"first_step": size, "max_step": size, "rtol": 1e-3, "atol": 1e-3}
        fun = lambda t, y: [-rate * (y[0] ** 3 - jt.cos(t)) + y[1], -y[0]]  # noqa: E731
        return integrate.solve_ivp(
            fun, (0.0, 1.0), [0.2, 0.1], "Radau", (0.0, 1.0), adjoint=adjoint, **steps
        ).y[0, -1]

    exact = float(
        integrate.solve_ivp(
            lambda t, y: [-3.0 * (y[0] ** 3 - jt.cos(t)) + y[1], -y[0]], (0, 1), [0.2, 0.1], "DOP853", (0, 1),
            rtol=1e-13, atol=1e-13,
        ).y[0, -1]
    )  # fmt: skip
    errors = [abs(float(end(np.float64(3.0), size)) - exact) for size in (0.125, 0.0625)]
    assert 20 < errors[0] / errors[1] < 50  # 2**5
    at, step = np.float64(3.0), 1e-4
    slope = (float(end(at + step, 0.125)) - float(end(at - step, 0.125))) / (2 * step)
    gradient = jt.grad(lambda r: end(r, 0.125))
    assert float(gradient(at)) == pytest.approx(slope, rel=1e-5)
    assert float(jt.function(gradient)(at)) == pytest.approx(float(gradient(at)), rel=1e-12)
    assert jt.jvp(lambda r: end(r, 0.125), [at], [np.float64(1.0)])[1] == pytest.approx(
        float(gradient(at)), rel=1e-12
    )
    with pytest.raises(
        jt.NoGradientError, match=r"\[solve_ivp\] 'Radau' gives first derivatives; use 'Rodas4'"
    ):
        jt.grad(gradient)(at)


def test_bdf_has_gradients_through_changes_of_order_and_size(override_tuning: Callable[..., None]) -> None:
    """Differences of the numerical solution agree as long as the choices do not change; the same inside a function."""
    override_tuning(newton_tolerance=1e-9, newton_iterations_limit=20)

    def end(rate: Any, adjoint: bool = False) -> Any:
        fun = lambda t, y: [-rate * (y[0] ** 3 - jt.cos(t)) + y[1], -y[0]]  # noqa: E731
        return integrate.solve_ivp(
            fun, (0.0, 2.0), [0.2, 0.1], "BDF", (0.0, 1.3), adjoint=adjoint, rtol=1e-7, atol=1e-8
        ).y[0, -1]

    at, step = np.float64(3.0), 1e-4
    exact = [
        scipy.integrate.solve_ivp(
            lambda t, y, r: [-r * (y[0] ** 3 - np.cos(t)) + y[1], -y[0]], (0, 1.3), [0.2, 0.1], "DOP853",
            args=(r,), rtol=1e-13, atol=1e-13,
        ).y[0, -1]
        for r in (at, at - step, at + step)
    ]  # fmt: skip
    slope = (exact[2] - exact[1]) / (2 * step)
    gradient = jt.grad(end)
    assert float(end(at)) == pytest.approx(exact[0], rel=1e-5)
    assert float(gradient(at)) == pytest.approx(slope, rel=1e-4)
    assert float(jt.grad(lambda r: end(r, True))(at)) == pytest.approx(slope, abs=1e-5)
    assert float(jt.function(gradient)(at)) == pytest.approx(float(gradient(at)), rel=1e-12)
    assert jt.jvp(end, [at], [np.float64(1.0)])[1] == pytest.approx(float(gradient(at)), rel=1e-12)
    with pytest.raises(
        jt.NoGradientError, match=r"\[solve_ivp\] 'BDF' gives first derivatives; use 'Rodas4'"
    ):
        jt.grad(gradient)(at)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_implicit_methods_take_scipys_steps_on_a_stiff_system(method: str) -> None:
    """Robertson's reaction, whose rates differ by nine orders of magnitude."""

    def reaction(t: Any, y: Any) -> Any:
        fast, slow = 1e4 * y[1] * y[2], 0.04 * y[0]
        return [fast - slow, slow - fast - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2]

    options = {"t_eval": [0.0, 1e2, 1e4], "rtol": 1e-6, "atol": 1e-10}
    found = integrate.solve_ivp(reaction, (0.0, 1e4), [1.0, 0.0, 0.0], method, **options)
    wanted = scipy.integrate.solve_ivp(reaction, (0.0, 1e4), [1.0, 0.0, 0.0], method, **options)
    np.testing.assert_allclose(found.y.numpy(), wanted.y, rtol=1e-6 if method == "Radau" else 1e-5)
    count = len(
        scipy.integrate.solve_ivp(reaction, (0.0, 1e4), [1.0, 0.0, 0.0], method, rtol=1e-6, atol=1e-10).t
    )
    assert 0.9 * count < int(found.steps) < 1.2 * count


def test_a_failure_ends_the_steps() -> None:
    """The solution of y' = y**2 is infinite at 1."""
    found = integrate.solve_ivp(lambda t, y: y * y, (0.0, 2.0), [1.0], dense_output=True, rtol=1e-6)
    assert (found.status, found.success) == (-1, False)
    assert "step size" in found.message
    assert 0.99 < float(found.t[-1]) < 1.01
    assert float(found.sol(0.5)[0]) == pytest.approx(2.0, rel=1e-4)


def test_refusals_of_events_and_times() -> None:
    decay = lambda t, y: -y  # noqa: E731
    for options in ({}, {"t_eval": [0.5], "events": event(0, 0.5)}, {"t_eval": [0.5], "dense_output": True}):
        with pytest.raises(jt.ControlFlowError, match="inside a jt.function or a loop, pass t_eval"):
            jt.function(lambda y, o=options: integrate.solve_ivp(decay, (0.0, 1.0), y, **o).y)(np.ones(1))
    cases: list[tuple[Any, str, dict[str, Any]]] = [
        (ValueError, "leave out jac", {"jac": np.eye(1)}),
        (ValueError, "not within t_span", {"t_eval": [0.5, 1.5]}),
        (ValueError, "not properly sorted", {"t_eval": [0.5, 0.2]}),
        (jt.ShapeError, "t_eval must have one dimension", {"t_eval": 0.5}),
        (ValueError, "`terminal` attribute", {"events": event(0, 0.5, terminal=-1)}),
        (jt.ShapeError, "an event must return a number", {"events": lambda t, y: jt.stack([y, y])}),
        (ValueError, "adjoint=True has no events", {"events": event(0, 0.5), "adjoint": True}),
        (jt.DTypeError, "complex numbers", {"events": lambda t, y: 1j * (y[0] - 0.5)}),
    ]
    for error, match, options in cases:
        with pytest.raises(error, match=rf"\[solve_ivp\].*{match}"):
            integrate.solve_ivp(decay, (0.0, 1.0), [1.0], **options)
    with pytest.raises(jt.DTypeError, match=r"\[solve_ivp\] complex numbers, but y0 is real"):
        integrate.solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), [1.0])
    with pytest.raises(jt.ShapeError, match=r"\[solve_ivp\] the solution needs a time or a vector of times"):
        integrate.solve_ivp(decay, (0.0, 1.0), [1.0], dense_output=True).sol([[0.5]])
