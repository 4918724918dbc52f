"""Differential equations and integrals of `jittape.scipy.integrate`: SciPy's values, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import jittape as jt
from jittape.scipy import integrate

START = np.array([2.0, 0.0])
TIMES = np.linspace(0.0, 3.0, 7)


def oscillator(t: Any, y: Any, mu: Any) -> Any:
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0] + 0.1 * t]


def on_floats(t: Any, y: Any) -> Any:
    return [y[1], 2.0 * (1 - y[0] ** 2) * y[1] - y[0] + 0.1 * t]


def slope_of(f: Any, at: Any, step: float) -> Any:
    at = np.asarray(at, np.float64)
    units = np.eye(at.size).reshape(at.size, *at.shape)
    return np.array(
        [(float(f(at + step * e)) - float(f(at - step * e))) / (2 * step) for e in units]
    ).reshape(at.shape)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("backward", [False, True])
def test_explicit_methods_take_scipys_steps(method: str, backward: bool) -> None:
    """The values agree to rounding, so steps and interpolation are SciPy's; the same inside a function."""
    span, times = ((3.0, 0.0), TIMES[::-1].copy()) if backward else ((0.0, 3.0), TIMES)
    start = np.array([0.5, 0.1]) if backward else START
    tolerances = {"rtol": 1e-5, "atol": np.array([1e-7, 1e-6])}
    wanted = scipy.integrate.solve_ivp(on_floats, span, start, method, times, **tolerances)

    def solved(start: Any) -> Any:
        return integrate.solve_ivp(oscillator, span, start, method, times, args=(2.0,), **tolerances)

    found = solved(start)
    assert bool(found.success)
    assert found.y.shape == (2, 7)
    np.testing.assert_allclose(found.y.numpy(), wanted.y, rtol=1e-10, atol=1e-12)
    assert (int(found.nfev), found.njev, found.nlu) == (wanted.nfev, wanted.njev, wanted.nlu)
    if method == "RK45":
        compiled = jt.function(lambda y: solved(y).y)
        for _ in range(2):
            np.testing.assert_allclose(compiled(start).numpy(), wanted.y, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "BDF"])
@pytest.mark.parametrize("options", [{}, {"t_eval": []}, {"dense_output": True}, {"events": True}])
def test_the_calls_of_the_function_are_counted(method: str, options: dict[str, Any]) -> None:
    def event(t: Any, y: Any, *args: Any) -> Any:
        return y[0] - 1.0

    event.terminal = True  # type: ignore[attr-defined]
    given = {**options, "events": event} if "events" in options else options
    wanted = scipy.integrate.solve_ivp(on_floats, (0.0, 3.0), START, method, rtol=1e-6, **given)
    found = integrate.solve_ivp(oscillator, (0.0, 3.0), START, method, args=(2.0,), rtol=1e-6, **given)
    if method == "BDF":  # it has another error constant than SciPy's, and a Jacobian in each attempt
        assert 0.5 * wanted.nfev < int(found.nfev) < 2 * wanted.nfev
        assert int(found.njev) == int(found.nlu) == int(found.steps)
    else:
        assert found.y.shape == np.shape(wanted.y)
        assert (int(found.nfev), int(found.njev), int(found.nlu)) == (wanted.nfev, 0, 0)


def test_rodas4_has_order_four_and_takes_large_steps_on_stiff_systems() -> None:
    exact = scipy.integrate.solve_ivp(on_floats, (0, 1), START, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    errors = []
    for step in (0.02, 0.01):
        options = {"first_step": step, "max_step": step, "rtol": 1.0, "atol": 1.0}
        found = integrate.solve_ivp(oscillator, (0.0, 1.0), START, "Rodas4", args=(2.0,), **options)
        errors.append(np.abs(found.y.numpy()[:, -1] - exact).max())
    assert 12 < errors[0] / errors[1] < 22  # 2**4

    def stiff(t: Any, y: Any) -> Any:
        return [-1e4 * (y[0] - jt.cos(t)), y[0] - y[1]]

    found = integrate.solve_ivp(stiff, (0.0, 10.0), [0.0, 0.0], "Rodas4", rtol=1e-6, atol=1e-8)
    wanted = scipy.integrate.solve_ivp(
        lambda t, y: [-1e4 * (y[0] - np.cos(t)), y[0] - y[1]],
        (0, 10),
        [0.0, 0.0],
        "Radau",
        rtol=1e-10,
        atol=1e-12,
    )
    np.testing.assert_allclose(found.y.numpy()[:, -1], wanted.y[:, -1], atol=1e-5)
    assert int(found.steps) < 500  # an explicit method needs 10**5 / 3.3


@pytest.mark.parametrize(("method", "adjoint"), [("RK45", False), ("RK45", True), ("DOP853", False)])
def test_gradients_by_both_ways(method: str, adjoint: bool) -> None:
    """In the start, in a parameter, and in a Variable that the right-hand side reads from outside."""
    pull = jt.Variable(np.float64(1.0))
    weights = np.cos(np.arange(14.0)).reshape(2, 7)
    options = {"rtol": 1e-9, "atol": 1e-10, "adjoint": adjoint}

    def loss(start: Any, mu: Any) -> Any:
        fun = lambda t, y, mu: jt.stack(oscillator(t, y, mu)) * pull  # noqa: E731
        return jt.reduce_sum(
            weights * integrate.solve_ivp(fun, (0.0, 3.0), start, method, TIMES, args=(mu,), **options).y
        )

    with jt.GradientTape() as tape:
        start, mu = jt.constant(START), jt.constant(np.float64(2.0))
        tape.watch([start, mu])
        y = loss(start, mu)
    found = [g.numpy() for g in tape.gradient(y, [start, mu, pull])]
    reference = lambda s, m, p: (  # noqa: E731
        weights
        * scipy.integrate.solve_ivp(
            lambda t, y: p * np.array([y[1], m * (1 - y[0] ** 2) * y[1] - y[0] + 0.1 * t]), (0, 3), s, "DOP853", TIMES,
            rtol=1e-12, atol=1e-12,
        ).y
    ).sum()  # fmt: skip
    wanted = [
        slope_of(lambda s: reference(s, 2.0, 1.0), START, 1e-5),
        slope_of(lambda m: reference(START, m, 1.0), 2.0, 1e-5),
        slope_of(lambda p: reference(START, 2.0, p), 1.0, 1e-5),
    ]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5)


@pytest.mark.parametrize("adjoint", [False, True])
def test_gradients_of_rodas4(adjoint: bool) -> None:
    def end(rate: Any) -> Any:
        fun = lambda t, y: -rate * (y - jt.cos(t))  # noqa: E731
        options = {"rtol": 1e-8, "atol": 1e-10, "adjoint": adjoint}
        return integrate.solve_ivp(fun, (0.0, 1.0), [0.0], "Rodas4", **options).y[0, -1]

    exact = lambda r: r * (r * np.cos(1.0) + np.sin(1.0) - r * np.exp(-r)) / (1 + r * r)  # noqa: E731
    assert float(end(3.0)) == pytest.approx(exact(3.0), rel=1e-6)
    assert float(jt.grad(end)(np.float64(3.0))) == pytest.approx(float(slope_of(exact, 3.0, 1e-5)), rel=1e-5)


@pytest.mark.parametrize("adjoint", [False, True])
def test_gradients_inside_a_function(adjoint: bool) -> None:
    def loss(rate: Any) -> Any:
        fun = lambda t, y, rate: -rate * y  # noqa: E731
        values = integrate.odeint(fun, [1.0, 2.0], [0.0, 0.5, 1.0], (rate,), tfirst=True, adjoint=adjoint)
        return jt.reduce_sum(values)

    rate = np.array([1.0, 0.3])
    times = np.array([[0.0], [0.5], [1.0]])
    exact = -(times * np.array([1.0, 2.0]) * np.exp(-rate * times)).sum(0)
    np.testing.assert_allclose(jt.grad(loss)(rate), exact, rtol=1e-6)
    compiled = jt.function(jt.grad(loss))
    for _ in range(2):
        np.testing.assert_allclose(compiled(rate).numpy(), exact, rtol=1e-6)


def test_second_derivatives_go_through_the_steps_only() -> None:
    def end(rate: Any, adjoint: bool) -> Any:
        options = {"rtol": 1e-9, "atol": 1e-10, "adjoint": adjoint}
        return integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0], **options).y[0, -1]

    second = jt.grad(jt.grad(lambda r: end(r, adjoint=False)))(np.float64(2.0))
    assert float(second) == pytest.approx(np.exp(-2.0), rel=1e-6)
    with pytest.raises(jt.NoGradientError, match=r"\[solve_ivp\] adjoint=True gives first derivatives"):
        jt.grad(jt.grad(lambda r: end(r, adjoint=True)))(np.float64(2.0))


def test_gradient_in_the_times_is_the_right_hand_side() -> None:
    def ends(times: Any) -> Any:
        return integrate.solve_ivp(
            lambda t, y: -2.0 * y, (0.0, 2.0), [1.0], "DOP853", times, rtol=1e-10, atol=1e-12
        ).y[0]

    times = np.array([0.0, 0.7, 1.3, 2.0])
    jacobian = jt.jacobian(ends)(times)
    np.testing.assert_allclose(jacobian[1:, 1:], np.diag(-2 * np.exp(-2 * times[1:])), rtol=1e-5)


def test_odeint_has_scipys_layout() -> None:
    found = integrate.odeint(lambda y, t: jt.stack(oscillator(t, y, 2.0)), START, TIMES)
    wanted = scipy.integrate.odeint(lambda y, t: on_floats(t, y), START, TIMES)
    assert found.shape == (7, 2)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-6)


def test_a_solution_that_ends_early_fails() -> None:
    """The solution of y' = y**2 is infinite at 1."""
    found = integrate.solve_ivp(lambda t, y: y * y, (0.0, 2.0), [1.0], t_eval=[0.5, 1.5], rtol=1e-6)
    assert not bool(found.success)
    assert float(found.y[0, 0]) == pytest.approx(2.0, rel=1e-4)
    assert np.isnan(found.y.numpy()[0, 1])


@pytest.mark.parametrize("pole", [0.0185, 0.7, 3.3])
def test_the_smallest_step_ends_the_integration_where_times_are_rounded(pole: float) -> None:
    """Rounding of the time may make a step larger than the smallest one, which was then tried forever."""
    found = integrate.solve_ivp(lambda t, y: y * y, (pole - 1.0, pole + 1.0), [1.0], t_eval=[pole + 0.5])
    assert not bool(found.success)
    assert int(found.steps) < 1000


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"\[solve_ivp\] method must be one of RK23.*'LSODA'; use 'BDF'"):
        integrate.solve_ivp(lambda t, y: y, (0.0, 1.0), [1.0], "LSODA")
    with pytest.raises(jt.ShapeError, match=r"\[solve_ivp\] the function must return the shape of y, \(2,\)"):
        integrate.solve_ivp(lambda t, y: y[0], (0.0, 1.0), [1.0, 2.0])
    with pytest.raises(jt.ShapeError, match=r"\[odeint\] y0 must have one dimension"):
        integrate.odeint(lambda y, t: y, np.ones((2, 2)), [0.0, 1.0])
    with pytest.raises(ValueError, match=r"\[quad\] panels must be at least 1"):
        integrate.quad(jt.sin, 0.0, 1.0, panels=0)
    with pytest.raises(ValueError, match=r"\[fixed_quad\].*finite limits"):
        integrate.fixed_quad(jt.sin, 0.0, np.inf)
    with pytest.raises(ValueError, match=r"\[trapezoid\] x must have 3 numbers"):
        integrate.trapezoid([1.0, 2.0, 3.0], [0.0, 1.0])


def test_t_eval_may_be_a_list_with_tensors() -> None:
    def end(t):
        return integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=[0.0, t], rtol=1e-9).y[0, 1]

    for f in (end, jt.function(end)):
        assert float(jt.grad(f)(jt.constant(0.5, np.float64))) == pytest.approx(-np.exp(-0.5), rel=1e-5)


def test_errors_of_odeint_name_it_and_its_argument() -> None:
    with pytest.raises(jt.DTypeError, match=r"^\[odeint\] complex numbers"):
        integrate.odeint(lambda y, t: y, [1.0], [0.0, 1j])
    with pytest.raises(jt.DTypeError, match=r"^\[odeint\] complex numbers"):
        integrate.odeint(lambda y, t: 1j * y, [1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"\[odeint\] method must be one of"):
        integrate.odeint(lambda y, t: y, [1.0], [0.0, 1.0], method="LSODA")


# ---- integrals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits", [(0.0, 2.0), (2.0, -1.0), (0.5, np.inf), (-np.inf, 0.5), (-np.inf, np.inf), (np.inf, 0.5)]
)
def test_quad(limits: tuple[float, float]) -> None:
    value, error = integrate.quad(lambda x, s: jt.exp(-s * x * x) * jt.cos(x), *limits, args=(1.3,))
    wanted = scipy.integrate.quad(lambda x: np.exp(-1.3 * x * x) * np.cos(x), *limits, epsabs=1e-13)[0]
    assert float(value) == pytest.approx(wanted, rel=1e-11)
    assert float(error) < 1e-8
    slope = jt.grad(lambda s: integrate.quad(lambda x: jt.exp(-s * x * x), *limits)[0])(np.float64(1.3))
    wanted = scipy.integrate.quad(lambda x: -x * x * np.exp(-1.3 * x * x), *limits, epsabs=1e-13)[0]
    assert float(slope) == pytest.approx(wanted, rel=1e-9)


def test_gradients_in_the_limits() -> None:
    slopes = jt.grad(lambda a, b: integrate.quad(jt.sin, a, b)[0], argnums=(0, 1))(
        np.float64(0.3), np.float64(2.0)
    )
    np.testing.assert_allclose(slopes, [-np.sin(0.3), np.sin(2.0)], rtol=1e-12)
    slopes = jt.grad(lambda a, b: integrate.fixed_quad(jt.sin, a, b, n=12)[0], argnums=(0, 1))(0.3, 2.0)
    np.testing.assert_allclose(slopes, [-np.sin(0.3), np.sin(2.0)], rtol=1e-5)
    found, wanted = integrate.fixed_quad(jt.sin, 0.0, 1.0)[0], scipy.integrate.fixed_quad(np.sin, 0.0, 1.0)[0]
    assert float(found) == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("axis", [-1, 0])
def test_rules_for_samples(n: int, axis: int) -> None:
    rng = np.random.default_rng(n)
    y, x = rng.normal(size=(n, n)), np.cumsum(rng.uniform(0.5, 1.5, n))
    for name in ("trapezoid", "simpson", "cumulative_trapezoid"):
        function, reference = getattr(integrate, name), getattr(scipy.integrate, name)
        for points in ({"x": x}, {"dx": 0.3}):
            if (n, name) == (1, "simpson") and "x" in points:
                continue  # from SciPy 1.18 on its result has no element
            found = function(y, axis=axis, **points)
            np.testing.assert_allclose(
                found.numpy(), reference(y, axis=axis, **points), rtol=1e-12, atol=1e-14
            )
        if n in (4, 7):
            jt.check_gradient(lambda y, x, f=function: jt.reduce_sum(f(y, x, axis=axis)), y, x)
    found = integrate.cumulative_trapezoid(y, x, axis=axis, initial=0)
    np.testing.assert_allclose(
        found.numpy(), scipy.integrate.cumulative_trapezoid(y, x, axis=axis, initial=0)
    )


@pytest.mark.parametrize("n", [2, 3, 9])
def test_romb(n: int) -> None:
    y = np.random.default_rng(n).normal(size=(n, n, 2))
    for axis in (0, 1):
        found, wanted = integrate.romb(y, 0.3, axis), scipy.integrate.romb(y, 0.3, axis)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-14)
    jt.check_gradient(lambda y, h: jt.reduce_sum(integrate.romb(y, h, 0) ** 2), y, np.float64(0.3))
    with pytest.raises(
        ValueError, match=r"\[romb\] the number of samples must be a power of two plus one, got 4"
    ):
        integrate.romb(np.ones(4))


def test_times_without_order_end() -> None:
    """A time behind the end, which no step reaches, neither loops forever nor gives a number."""
    for t in ([0.0, 2.0, 1.0], [0.0, 1.0, 0.5, 2.0]):
        with pytest.raises(ValueError, match=r"\[odeint\] the values in t must ascend or descend"):
            integrate.odeint(lambda y, t: -y, [1.0], t)
        found = jt.function(lambda t: integrate.odeint(lambda y, t: -y, [1.0], t))(np.array(t)).numpy()
        assert np.isnan(found).any()
        kept = np.isfinite(found[:, 0])
        np.testing.assert_allclose(found[kept, 0], np.exp(-np.array(t)[kept]), rtol=1e-6)
    late = jt.function(lambda t: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], t_eval=t).y)
    np.testing.assert_array_equal(np.isnan(late(np.array([-0.5, 0.5, 3.0])).numpy()), [[True, False, True]])
    repeated = integrate.odeint(lambda y, t: -y, [1.0], [0.0, 1.0, 1.0, 2.0]).numpy()[:, 0]
    np.testing.assert_allclose(repeated, np.exp([0.0, -1.0, -1.0, -2.0]), rtol=1e-7)


def test_odeint_takes_a_number_as_start() -> None:
    np.testing.assert_allclose(
        integrate.odeint(lambda y, t: -y, 1.0, [0.0, 1.0]), [[1.0], [np.exp(-1.0)]], rtol=1e-7
    )
    with pytest.raises(jt.ShapeError, match=r"\[odeint\] t must be a vector of at least one time"):
        integrate.odeint(lambda y, t: -y, [1.0], [])


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "Rodas4"])
def test_a_start_that_is_not_finite_ends(method: str) -> None:
    """The size of the first step is nan, which no comparison stops."""
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"\[solve_ivp\] all components of y0 must be finite"):
            integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [value], method, t_eval=[1.0])
        solve = jt.function(
            lambda y: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y, method, t_eval=[1.0]).y
        )
        assert np.isnan(solve(np.array([value])).numpy()).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_step": -1.0}, "max_step must be positive"),
        ({"max_step": np.nan}, "max_step must be positive"),
        ({"first_step": -1.0}, "first_step must be positive"),
        ({"first_step": 5.0}, "first_step=5.0 is longer than the interval"),
        ({"atol": -1.0}, "atol must not be negative"),
        ({"atol": [1e-6] * 3}, r"atol must be a number or 2 numbers, got shape \(3,\)"),
    ],
)
def test_steps_and_tolerances_that_solve_nothing(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0, 2.0], **options)


@pytest.mark.parametrize(
    "x",
    [[0.0, 1, 1, 2], [0.0, 0, 1, 2, 2], [0.0, 1, 2, 2], [0.0, 0, 0, 1], [0.0, 1, 2, 2, 2, 3], [1.0, 1, 1, 1]],
)
def test_simpsons_rule_with_repeated_points(x: list[float]) -> None:
    y = np.array([1.0, 2.0, -1.0, 4.0, 5.0, 0.5])[: len(x)]
    wanted = scipy.integrate.simpson(y, x=np.array(x))
    np.testing.assert_allclose(integrate.simpson(y, x=np.array(x)), wanted, rtol=1e-14)
    assert np.isfinite(jt.grad(lambda y: integrate.simpson(y, x=np.array(x)))(y)).all()


def test_intervals_of_length_zero_and_numbers_as_values() -> None:
    """As in SciPy: an interval of length 0 has two ends, and one equation may return a number."""
    found = integrate.solve_ivp(lambda t, y: -y, (1.0, 1.0), [1.0, 2.0])
    np.testing.assert_array_equal(found.t.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(found.y.numpy(), [[1.0, 1.0], [2.0, 2.0]])
    found = integrate.solve_ivp(lambda t, y: -y[0], (0.0, 1.0), [1.0], t_eval=[1.0], rtol=1e-8, atol=1e-10)
    assert float(found.y[0, 0]) == pytest.approx(np.exp(-1), rel=1e-7)
