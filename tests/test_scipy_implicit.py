"""Solvers of `jittape.scipy.optimize`: SciPy's solutions, and their derivatives in parameters."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import jittape as jt
from jittape.scipy import optimize

A = np.array([[3.0, 1.0, 0.2], [1.0, 2.5, 0.3], [0.2, 0.3, 4.0]])


def energy(x: Any, b: Any) -> Any:
    """A convex function whose minimum depends on `b` in a nonlinear way."""
    quadratic = jt.reduce_sum(x * jt.linalg.matvec(A, x)) / 2
    return quadratic + jt.reduce_sum(x**4) / 4 - jt.reduce_sum(x * b)


def differences(f: Any, at: Any, step: float = 1e-4) -> Any:
    columns = [(f(at + step * e) - f(at - step * e)) / (2 * step) for e in np.eye(len(at))]
    return np.stack(columns, -1)


B = np.array([1.0, -2.0, 0.5])
TIGHT = {"BFGS": {"gtol": 1e-10}, "L-BFGS-B": {"gtol": 1e-10, "ftol": 1e-15}, "Newton-CG": {"xtol": 1e-12}}


@pytest.mark.parametrize("method", [None, "L-BFGS-B", "SLSQP", "Newton-CG", "trust-exact"])
def test_minimize_and_its_jacobian(method: str | None) -> None:
    options = TIGHT.get(method or "BFGS", {})

    def solution(b: Any) -> Any:
        return optimize.minimize(energy, np.zeros(3), args=(b,), method=method, options=options).x

    wanted = scipy.optimize.minimize(lambda x: float(energy(x, B)), np.zeros(3), options={"gtol": 1e-9}).x
    np.testing.assert_allclose(solution(B).numpy(), wanted, atol=1e-4)
    hessian = A + 3 * np.diag(wanted**2)
    np.testing.assert_allclose(jt.jacobian(solution)(B), np.linalg.inv(hessian), atol=1e-3)


def test_minimize_second_derivatives_and_closures() -> None:
    """Derivatives of order 2, with a parameter that is a Variable outside of `args`."""
    scale = jt.Variable(np.float64(1.3))

    def loss(b: Any) -> Any:
        found = optimize.minimize(lambda x: energy(x, b * scale), np.zeros(3), options={"gtol": 1e-11})
        return jt.reduce_sum(found.x**2) + found.fun

    exact = jt.hessian(loss)(B)
    np.testing.assert_allclose(exact, differences(jt.grad(loss), B), rtol=1e-3, atol=1e-6)
    with jt.GradientTape() as tape:
        y = loss(jt.constant(B))
    slope = tape.gradient(y, scale)
    values = []
    for s in (1.3 + 1e-4, 1.3 - 1e-4):
        scale.assign(s)
        values.append(float(loss(jt.constant(B))))
    np.testing.assert_allclose(slope, (values[0] - values[1]) / 2e-4, rtol=1e-5)


def test_minimize_with_bounds() -> None:
    def solution(b: Any) -> Any:
        options = {"gtol": 1e-10, "ftol": 1e-15}
        bounds = [(None, 0.1), (None, None), (-1.0, 1.0)]
        return optimize.minimize(energy, np.zeros(3), args=(b,), bounds=bounds, options=options).x

    np.testing.assert_allclose(
        jt.jacobian(solution)(B), differences(lambda b: solution(b).numpy(), B), atol=1e-5
    )
    assert float(solution(B)[0]) == 0.1


def test_minimize_with_constraints_has_no_gradient() -> None:
    line = scipy.optimize.LinearConstraint(np.ones((1, 3)), 1.0, 1.0)
    with jt.GradientTape() as tape:
        b = jt.constant(B)
        tape.watch(b)
        x = optimize.minimize(energy, np.zeros(3), args=(b,), method="SLSQP", constraints=[line]).x
    assert float(jt.reduce_sum(x)) == pytest.approx(1.0)
    with pytest.raises(jt.NoGradientError, match=r"\[minimize\] a solution with constraints"):
        tape.gradient(x, b)


def test_result_has_scipys_entries() -> None:
    found = optimize.minimize(energy, [0.0, 0.0, 0.0], args=(B,))
    assert found.success
    assert isinstance(found.message, str)
    assert found.x.dtype == "float64"
    assert float(found.fun) == pytest.approx(float(energy(found.x, B)))
    derivative_free = optimize.minimize(
        energy, np.zeros(3), args=(B,), method="Nelder-Mead", options={"fatol": 1e-12}
    )
    np.testing.assert_allclose(derivative_free.x.numpy(), found.x.numpy(), atol=1e-4)


def equations(x: Any, a: Any) -> Any:
    return jt.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - a[0], 0.5 * (x[1] - x[0]) ** 3 + x[1] * a[1]])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method: str) -> None:
    a = np.array([1.0, 1.5])

    def solution(a: Any) -> Any:
        return optimize.root(equations, np.zeros(2), args=(a,), method=method, tol=1e-12).x

    wanted = scipy.optimize.root(lambda x: equations(x, a).numpy(), np.zeros(2)).x
    np.testing.assert_allclose(solution(a).numpy(), wanted, rtol=1e-7)
    np.testing.assert_allclose(
        jt.jacobian(solution)(a), differences(lambda a: solution(a).numpy(), a), rtol=1e-5
    )


@pytest.mark.parametrize(
    "options",
    [
        {"bracket": [0.0, 5.0]}, {"x0": 1.0}, {"x0": 1.0, "method": "halley"}, {"x0": 1.0, "x1": 2.0},
    ],
)  # fmt: skip
def test_root_scalar(options: dict[str, Any]) -> None:
    def solution(a: Any) -> Any:
        return optimize.root_scalar(lambda x, a: x**3 + x - a, args=(a,), **options).root

    x = float(solution(4.0))
    assert x == pytest.approx(scipy.optimize.brentq(lambda x: x**3 + x - 4, 0, 5), rel=1e-7)
    assert float(jt.grad(solution)(np.float64(4.0))) == pytest.approx(1 / (3 * x**2 + 1), rel=1e-7)


def test_fixed_point() -> None:
    def solution(a: Any) -> Any:
        return optimize.fixed_point(lambda x, a: jt.cos(a * x), [1.0, 1.0], args=(a,), xtol=1e-12)

    a = np.array([1.0, 0.7])
    np.testing.assert_allclose(solution(a).numpy(), np.cos(a * solution(a).numpy()))
    np.testing.assert_allclose(
        jt.jacobian(solution)(a), differences(lambda a: solution(a).numpy(), a), atol=1e-7
    )
    with pytest.raises(RuntimeError, match="Failed to converge"):
        optimize.fixed_point(lambda x: x + 1.0, [0.0], maxiter=5)


T = np.linspace(0, 2, 30)
Y = 2.0 * np.exp(-1.5 * T) + 0.3 + 0.05 * np.cos(40 * T)


def decay(t: Any, a: Any, b: Any, c: Any) -> Any:
    return a * jt.exp(-b * t) + c


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy"])
def test_least_squares(loss: str) -> None:
    tight = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}

    def solution(y: Any) -> Any:
        fun = lambda p, y: decay(T, p[0], p[1], p[2]) - y  # noqa: E731
        return optimize.least_squares(fun, [1.0, 1.0, 0.0], loss=loss, f_scale=0.1, args=(y,), **tight).x

    def residual(p: Any) -> Any:
        return p[0] * np.exp(-p[1] * T) + p[2] - Y

    wanted = scipy.optimize.least_squares(residual, [1.0, 1.0, 0.0], loss=loss, f_scale=0.1, **tight).x
    np.testing.assert_allclose(solution(Y).numpy(), wanted, rtol=1e-6)
    direction = np.cos(3 * T)
    slope = jt.grad(lambda s: jt.reduce_sum(solution(Y + s * direction)))(np.float64(0.0))
    found = [solution(Y + s * direction).numpy().sum() for s in (1e-4, -1e-4)]
    assert float(slope) == pytest.approx((found[0] - found[1]) / 2e-4, rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": ([2.0, 0.1, -1.0], [3.0, 2.0, 1.0])},
        {"bounds": (-np.inf, [3.0, 2.0, 0.4])},
        {"bounds": scipy.optimize.Bounds([2.0, 0.1, -1.0], [3.0, 2.0, 1.0])},
        {"sigma": 0.1, "absolute_sigma": True},
        {"maxfev": 900, "ftol": 1e-9},
        {"method": "trf", "loss": "soft_l1", "f_scale": 0.1},
        {"method": "trf", "loss": "cauchy", "f_scale": 0.2, "sigma": 0.1 + T / 4},
        {"jac": lambda t, a, b, c: np.stack([np.exp(-b * t), -a * t * np.exp(-b * t), np.ones_like(t)], 1)},
    ],
    ids=["bounds", "upper bounds", "Bounds", "one sigma", "options", "soft_l1", "cauchy", "jac"],
)
def test_curve_fit_has_scipys_start_and_options(options: dict[str, Any]) -> None:
    def model(t: Any, a: Any, b: Any, c: Any) -> Any:
        return a * np.exp(-b * t) + c

    wanted = scipy.optimize.curve_fit(model, T, Y, **options)
    for one, other in zip(optimize.curve_fit(decay, T, Y, **options), wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-3, atol=1e-6)


def test_curve_fit_refuses_a_sigma_of_another_length() -> None:
    with pytest.raises(ValueError, match=r"sigma must be a number or of shape \(30,\) or \(30, 30\)"):
        optimize.curve_fit(decay, T, Y, sigma=np.ones(29))


@pytest.mark.parametrize(("sigma", "absolute"), [(None, False), ("vector", True), ("matrix", False)])
def test_curve_fit(sigma: Any, absolute: bool) -> None:
    sigma = {"vector": 0.1 + T / 4, "matrix": np.diag(0.1 + T / 4) + 0.05}.get(sigma)
    found = optimize.curve_fit(decay, T, Y, sigma=sigma, absolute_sigma=absolute)
    wanted = scipy.optimize.curve_fit(
        lambda t, a, b, c: a * np.exp(-b * t) + c, T, Y, sigma=sigma, absolute_sigma=absolute
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-4, atol=1e-7)
    slope = jt.grad(lambda y: optimize.curve_fit(decay, T, y, sigma=sigma)[0][1])(Y)
    step = 1e-4 * np.eye(30)[3]
    moved = [optimize.curve_fit(decay, T, Y + s * step, sigma=sigma)[0][1] for s in (1, -1)]
    assert slope[3] == pytest.approx(float(moved[0] - moved[1]) / 2e-4, rel=1e-3)


# ---- inside a function -----------------------------------------------------------------------------------------------


def test_solvers_inside_a_function() -> None:
    """The compiled function calls the solver with its own values, and differentiates its result."""

    @jt.function
    def loss(b: Any) -> Any:
        found = optimize.minimize(energy, np.zeros(3), args=(b,), options={"gtol": 1e-10})
        return jt.reduce_sum(found.x**2)

    plain = lambda b: jt.reduce_sum(  # noqa: E731
        optimize.minimize(energy, np.zeros(3), args=(b,), options={"gtol": 1e-10}).x ** 2
    )
    for b in (B, 2 * B, 3 * B):
        np.testing.assert_allclose(jt.grad(loss)(b), jt.grad(plain)(b), rtol=1e-6)
        np.testing.assert_allclose(loss(b).numpy(), plain(b).numpy(), rtol=1e-7)
    assert len(loss.signatures()) == 1
    assert loss.trace_count == 1 + 3  # each gradient function traces it once
    whole = jt.function(
        lambda a: jt.jacobian(lambda a: optimize.root(equations, np.zeros(2), args=(a,)).x)(a)
    )
    a = np.array([1.0, 1.5])
    wanted = jt.jacobian(lambda a: optimize.root(equations, np.zeros(2), args=(a,)).x)(a)
    np.testing.assert_allclose(whole(a).numpy(), wanted, rtol=1e-9)


def test_a_tensor_from_outside_is_refused_inside_a_function() -> None:
    @jt.function
    def loss(b: Any) -> Any:
        return jt.reduce_sum(optimize.minimize(lambda x: energy(x, b), np.zeros(3)).x)

    with pytest.raises(jt.ControlFlowError, match=r"\[minimize\] inside a jt.function .* pass a tensor"):
        loss(B)


def test_a_function_that_leaves_the_tape_is_refused() -> None:
    with (
        pytest.warns(jt.UnconnectedGradientWarning),
        pytest.raises(
            TypeError, match=r"\[minimize\] the function must compute with x by jittape's operations"
        ),
    ):
        optimize.minimize(lambda x: jt.reduce_sum(jt.ones(3)), np.zeros(3))


def test_derivatives_of_scipys_programs_are_accepted() -> None:
    start, exact = np.array([0.8, 1.2]), np.ones(2)

    def rosenbrock(x: Any, a: Any = 1.0) -> Any:
        return 100.0 * (x[1] - x[0] ** 2) ** 2 + (a - x[0]) ** 2

    def with_slope(x: Any, a: Any) -> Any:
        return rosenbrock(x, a), None

    for options in (
        {"jac": scipy.optimize.rosen_der},
        {"jac": "3-point"},
        {"jac": False},
        {"jac": scipy.optimize.rosen_der, "hess": scipy.optimize.rosen_hess, "method": "trust-exact"},
        {"jac": scipy.optimize.rosen_der, "hess": scipy.optimize.BFGS(), "method": "trust-constr"},
    ):
        np.testing.assert_allclose(optimize.minimize(rosenbrock, start, **options).x, exact, atol=1e-3)
    slope = jt.grad(lambda a: optimize.minimize(with_slope, start, args=(a,), jac=True, tol=1e-9).x[1])
    assert slope(1.0) == pytest.approx(2.0, rel=1e-5)
    for jac, fun in ((True, lambda x, a: (x**2 - a, None)), (lambda x, a: 2 * x, lambda x, a: x**2 - a)):
        slope = jt.grad(lambda a, jac=jac, fun=fun: optimize.root(fun, [1.0], args=(a,), jac=jac).x[0])
        assert slope(4.0) == pytest.approx(0.25)
    for fprime, f in ((True, lambda x: (x**3 - 8.0, 0.0)), (lambda x: 3 * x**2, lambda x: x**3 - 8.0)):
        assert float(optimize.root_scalar(f, x0=1.0, fprime=fprime).root) == pytest.approx(2.0)
    found = optimize.least_squares(
        lambda x, *, a: x - a, [0.0], jac="cs", kwargs={"a": 3.0}, tr_solver="exact"
    )
    assert float(found.x[0]) == pytest.approx(3.0)
    points = optimize.fixed_point(jt.cos, [[0.5, 1.0], [0.7, 0.8]])
    np.testing.assert_allclose(points, np.full((2, 2), 0.7390851332), rtol=1e-8)


def test_refusals() -> None:
    with pytest.raises(
        jt.ShapeError, match=r"\[root\] the function must return the shape of x, \(2,\), got \(\)"
    ):
        optimize.root(lambda x: jt.reduce_sum(x), np.zeros(2))
    with pytest.raises(jt.ShapeError, match=r"\[minimize\] x0 must have at most one dimension"):
        optimize.minimize(energy, np.zeros((3, 1)), args=(B,))
    with pytest.raises(ValueError, match=r"\[least_squares\] loss must be one of"):
        optimize.least_squares(lambda x: x, [1.0], loss="squared")
    with pytest.raises(ValueError, match=r"\[root_scalar\] needs bracket= or x0="):
        optimize.root_scalar(lambda x: x)


def test_functions_return_lists_as_for_scipy() -> None:
    """A list with numbers and tensors is a float64 vector."""
    equations = lambda x, a: [x[0] - 0.1 * a, x[1] * 0.1 - 0.3]  # noqa: E731
    for solve in (optimize.root, optimize.least_squares):
        solution = lambda a, s=solve: s(equations, [0.0, 0.0], args=(a,)).x  # noqa: E731
        np.testing.assert_allclose(solution(np.float64(2.0)).numpy(), [0.2, 3.0], rtol=1e-12)
        np.testing.assert_allclose(jt.jacobian(solution)(np.float64(2.0)), [0.1, 0.0], rtol=1e-12, atol=1e-15)
    found = optimize.fixed_point(lambda x: [0.1, jt.cos(x[1])], [0.5, 0.5])
    np.testing.assert_allclose(found.numpy(), [0.1, 0.7390851332151607], rtol=1e-9)


METHODS_WITH_BOUNDS = [
    "L-BFGS-B",
    "TNC",
    "SLSQP",
    "trust-constr",
    "Nelder-Mead",
    "Powell",
    "COBYLA",
    "COBYQA",
]


@pytest.mark.parametrize("method", METHODS_WITH_BOUNDS)
def test_a_bound_that_a_method_does_not_quite_reach_holds_its_component(method: str) -> None:
    """Some methods stop before an active bound, or a little behind it; an inactive bound near the minimum is none."""

    def solution(a: Any, upper: float) -> Any:
        return optimize.minimize(
            lambda x, a: jt.reduce_sum((x - a) ** 2), [0.5, 0.1], args=(a,), method=method,
            bounds=[(0.0, 1.0), (0.0, upper)], tol=1e-10,
        ).x  # fmt: skip

    held = jt.jacobian(solution)(np.array([0.6, 2.0]), 0.3)
    np.testing.assert_allclose(held, [[1.0, 0.0], [0.0, 0.0]], atol=1e-6)
    near = jt.jacobian(solution)(np.array([0.6, 0.295]), 0.3)
    np.testing.assert_allclose(near, np.eye(2), atol=1e-6)


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_bounds_of_least_squares_at_default_tolerances(method: str) -> None:
    t = np.linspace(0.0, 2.0, 9)
    y = 2.0 * np.exp(-1.3 * t)

    def fit(y: Any) -> Any:
        return optimize.least_squares(
            lambda x, y: x[0] * jt.exp(-x[1] * t) - y, [1.0, 1.0], args=(y,), bounds=([0.0, 0.0], [1.8, 5.0]),
            method=method,
        ).x  # fmt: skip

    slopes = jt.jacobian(fit)(y)
    assert (slopes[0] == 0).all()
    rate = float(fit(y)[1])
    model = -1.8 * t * np.exp(-rate * t)
    curvature = np.sum(model**2 + 1.8 * t**2 * np.exp(-rate * t) * (1.8 * np.exp(-rate * t) - y))
    np.testing.assert_allclose(slopes[1], model / curvature, rtol=1e-4)


def test_a_failed_solution_has_no_gradient() -> None:
    """A failure near a solution, such as lost precision, leaves the gradient; one far away raises, or gives nan."""

    def no_root(a: Any) -> Any:
        return optimize.root(lambda x, a: x**2 + a, [1.0], args=(a,)).x[0]

    assert np.isfinite(float(no_root(2.0)))
    with pytest.raises(jt.errors.NoGradientError, match=r"\[root\] the solver did not find a solution"):
        jt.grad(no_root)(2.0)
    assert np.isnan(jt.grad(jt.function(no_root))(np.float64(2.0)))
    assert jt.grad(jt.function(no_root))(np.float64(-4.0)) == pytest.approx(-0.25)

    def stopped(a: Any) -> Any:
        found = optimize.minimize(
            lambda x, a: (x[0] - a) ** 4 + x[0] ** 2, [9.0], args=(a,), options={"maxiter": 1}
        )
        assert not found.success
        return found.x[0]

    with pytest.raises(jt.errors.NoGradientError, match=r"\[minimize\] the solver did not find"):
        jt.grad(stopped)(2.0)
    double_root = jt.grad(lambda a: optimize.root(lambda x, a: (x - a) ** 2, [1.0], args=(a,)).x[0])
    assert double_root(2.0) == pytest.approx(1.0)


def test_functions_with_values_of_shape_one_and_numbers_in_a_trace() -> None:
    np.testing.assert_allclose(optimize.minimize(lambda x: (x - 2.0) ** 2, [1.0]).x, [2.0])
    found = optimize.root_scalar(lambda x: x**2 - 2.0, bracket=[0.0, 4.0])
    reference = scipy.optimize.root_scalar(lambda x: x**2 - 2.0, bracket=[0.0, 4.0])
    assert found.converged
    assert (found.iterations, found.function_calls) == (reference.iterations, reference.function_calls)

    @jt.function
    def cube_root(a: Any) -> Any:
        return optimize.root_scalar(lambda x, a: x**3 - a, args=(a,), bracket=[0.0, 5.0]).root

    for a in (2.0, 8.0):  # a Python float: a number of the trace
        assert float(cube_root(a)) == pytest.approx(a ** (1 / 3))
    assert float(jt.grad(cube_root)(8.0)) == pytest.approx(1 / 12)


@pytest.mark.parametrize("method", ["lm", "trf", "dogbox"])
def test_curve_fits_that_the_data_do_not_determine(method: str) -> None:
    """The covariance is that of SciPy: infinite, or the pseudoinverse."""
    t = np.linspace(0.0, 2.0, 9)
    y = 2.0 * np.exp(-1.3 * t)
    with pytest.warns(scipy.optimize.OptimizeWarning) if method == "lm" else contextlib.nullcontext():
        _, found = optimize.curve_fit(lambda x, a, b: a + 0.0 * b * x, t, y, method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, wanted = scipy.optimize.curve_fit(lambda x, a, b: a + 0.0 * b * x, t, y, method=method)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
