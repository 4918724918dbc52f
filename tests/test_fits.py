"""`jt.fit`: parameters, errors, profiles, constraints, and bad input, with SciPy as the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import jittape as jt

T = np.linspace(0.0, 4.0, 40)
NOISE = np.random.default_rng(3).normal(size=40)
Y = 3.0 * np.exp(-T / 1.5) + 0.5 + 0.05 * NOISE
START = {"height": 1.0, "life": 1.0, "floor": 0.0}


def decay(p: Any, t: Any) -> Any:
    return p["height"] * jt.exp(-t / p["life"]) + p["floor"]


def line(p: Any, x: Any) -> Any:
    return p["a"] * x + p["b"]


def of_curve_fit(**options: Any) -> tuple[Any, Any]:
    return scipy.optimize.curve_fit(
        lambda t, height, life, floor: height * np.exp(-t / life) + floor, T, Y, [1, 1, 0], **options
    )


def test_parameters_and_gauss_newton_errors_are_those_of_curve_fit() -> None:
    found = jt.fit(decay, (T, Y), START, sigma=0.05, covariance="gauss_newton")
    values, covariance = of_curve_fit(sigma=np.full(40, 0.05), absolute_sigma=True)
    assert found.success
    assert found.names == list(START)
    assert found.dof == 37
    np.testing.assert_allclose(found.values, values, rtol=1e-5)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-3)
    estimated = jt.fit(decay, (T, Y), START, covariance="gauss_newton")
    np.testing.assert_allclose(estimated.covariance, of_curve_fit()[1], rtol=1e-3)


def test_the_covariance_is_the_inverse_of_the_hessian() -> None:
    found = jt.fit(decay, (T, Y), START, sigma=0.05)

    def cost(vector: Any) -> float:
        height, life, floor = vector
        return 0.5 * float(np.sum(((height * np.exp(-T / life) + floor - Y) / 0.05) ** 2))

    step, n = 1e-4, 3
    units = step * np.eye(n)
    hessian = [
        [
            sum(s * r * cost(found.values + s * units[i] + r * units[j]) for s in (1, -1) for r in (1, -1))
            / (4 * step**2)
            for j in range(n)
        ]
        for i in range(n)
    ]
    np.testing.assert_allclose(found.covariance, np.linalg.inv(hessian), rtol=1e-4)
    np.testing.assert_allclose(np.diag(found.correlation), 1.0)
    assert found.errors["life"] == pytest.approx(np.sqrt(found.covariance[1, 1]))


@pytest.mark.parametrize("sigma", ["number", "array", "matrix"])
def test_sigma_of_a_line(sigma: str) -> None:
    x, y = T[:6], 2.0 * T[:6] + 1.0 + 0.1 * NOISE[:6]
    mixed = np.random.default_rng(1).normal(size=(6, 6))
    given, matrix = {
        "number": (0.1, 0.01 * np.eye(6)),
        "array": (0.1 + T[:6], np.diag((0.1 + T[:6]) ** 2)),
        "matrix": (mixed @ mixed.T + np.eye(6), mixed @ mixed.T + np.eye(6)),
    }[sigma]
    found = jt.fit(line, (x, y), {"a": 0.0, "b": 0.0}, sigma=given)
    design, weight = np.stack([x, np.ones(6)], 1), np.linalg.inv(matrix)
    covariance = np.linalg.inv(design.T @ weight @ design)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7)
    np.testing.assert_allclose(found.values, covariance @ design.T @ weight @ y, rtol=1e-7)


def test_counts_and_likelihoods() -> None:
    counts = np.array([3, 0, 5, 4])
    found = jt.fit(lambda p, x: p + 0.0 * x, (np.zeros(4), counts), 1.0, loss="poisson")
    assert found.params == pytest.approx(3.0)
    assert found.errors == pytest.approx(np.sqrt(3.0 / 4.0))
    positive = counts[counts > 0]
    assert found.chi2 == pytest.approx(2.0 * np.sum(positive * np.log(positive / 3.0)))

    def normal(p: Any, z: Any) -> Any:
        return jt.reduce_sum(jt.math.log(p["s"]) + 0.5 * ((z - p["m"]) / p["s"]) ** 2)

    z = 2.0 + 3.0 * NOISE
    found = jt.fit(normal, z, {"m": 0.0, "s": 1.0}, loss="nll", bounds={"s": (1e-3, None)})
    np.testing.assert_allclose(found.values, [z.mean(), z.std()], rtol=1e-6)
    errors = [z.std() / np.sqrt(40), z.std() / np.sqrt(80)]
    np.testing.assert_allclose([found.errors["m"], found.errors["s"]], errors, rtol=1e-5)
    assert found.dof is None


def test_structures_of_parameters() -> None:
    x = np.stack([T, T**2], 1)
    y = x @ [1.0, -2.0] + 3.0

    def model(p: Any, x: Any) -> Any:
        return jt.linalg.matvec(x, p["layer"]["w"]) + p["layer"]["b"]

    start = {"layer": {"w": np.zeros(2), "b": 0.0}}
    found = jt.fit(model, (x, y), start, sigma=1.0)
    assert found.names == ["layer.w[0]", "layer.w[1]", "layer.b"]
    np.testing.assert_allclose(found.params["layer"]["w"], [1.0, -2.0], atol=1e-9)
    assert found.params["layer"]["b"] == pytest.approx(3.0)
    held = jt.fit(model, (x, y), start, sigma=1.0, fixed="layer.w[1]")
    assert held.params["layer"]["w"][1] == 0.0 == held.errors["layer"]["w"][1]
    vector = jt.fit(lambda p, x: jt.linalg.matvec(x, p), (x, y - 3.0), [0.0, 0.0], sigma=1.0)
    np.testing.assert_allclose(vector.params, [1.0, -2.0], atol=1e-9)
    assert vector.names == ["p[0]", "p[1]"]


def test_a_parameter_at_its_bound() -> None:
    found = jt.fit(decay, (T, Y), START, sigma=0.05, bounds={"floor": (-0.2, 0.4)})
    assert found.params["floor"] == pytest.approx(0.4)
    assert np.isnan(found.errors["floor"])
    held = jt.fit(decay, (T, Y), START | {"floor": 0.4}, sigma=0.05, fixed=["floor"])
    np.testing.assert_allclose(found.covariance[:2, :2], held.covariance[:2, :2], rtol=1e-4)
    assert "floor is at its bound" in repr(found)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_bound_is_near_in_standard_errors(size: float) -> None:
    """Whatever the unit of a parameter, a bound that is many errors away changes no error."""
    start = {"height": size, "life": 1.0, "floor": 0.0}
    free = jt.fit(decay, (T, size * Y), start, sigma=0.05 * size)
    height, error = free.params["height"], free.errors["height"]
    for low, high in ((0.0, None), (height - 20.0 * error, height + 20.0 * error)):
        found = jt.fit(
            decay,
            (T, size * Y),
            start | {"height": height},
            sigma=0.05 * size,
            bounds={"height": (low, high)},
        )
        np.testing.assert_allclose(found.covariance, free.covariance, rtol=1e-3)
    top = (0.5 * height, height - error)
    found = jt.fit(
        decay, (T, size * Y), start | {"height": top[0]}, sigma=0.05 * size, bounds={"height": top}
    )
    assert np.isnan(found.errors["height"])


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_where_the_cost_is_not_finite(seed: int) -> None:
    """Normal numbers with a standard deviation that must not be negative; at zero, the likelihood is nan."""
    numbers = np.random.default_rng(seed).normal(2.0, 0.5, 200)
    mean, deviation = numbers.mean(), numbers.std()

    def minus_log_likelihood(p: Any, numbers: Any) -> Any:
        return jt.reduce_sum(0.5 * ((numbers - p["m"]) / p["s"]) ** 2 + jt.math.log(p["s"]))

    found = jt.fit(
        minus_log_likelihood, (numbers,), {"m": 0.0, "s": 1.0}, loss="nll", bounds={"s": (0.0, None)}
    )
    np.testing.assert_allclose(found.values, [mean, deviation], rtol=1e-6)
    errors = deviation / np.sqrt([200.0, 400.0])
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), errors, rtol=1e-5)
    low, high = found.interval("m")
    # The profile of the mean is n * log(1 + (m - mean)**2 / variance).
    half = deviation * np.sqrt(np.expm1(0.99998 / 200.0))
    np.testing.assert_allclose([low, high], [mean - half, mean + half], rtol=1e-4)


def test_a_constraint_is_near_in_standard_errors() -> None:
    """A constraint on a number that is small in its unit, but many errors away from its bound, changes no error."""
    free = jt.fit(decay, (T, Y), START, sigma=0.05)
    constraint = (lambda p: 1e-8 * p["height"], 0.0, None)
    found = jt.fit(decay, (T, Y), free.params, sigma=0.05, constraints=[constraint])
    np.testing.assert_allclose(found.covariance, free.covariance, rtol=1e-3)


def test_the_covariance_along_a_constraint_is_that_of_the_free_coordinates() -> None:
    found = jt.fit(
        decay, (T, Y), START, sigma=0.05, constraints=[(lambda p: p["height"] * p["life"], 5.0, 5.0)]
    )
    free = jt.fit(
        lambda p, t: p["height"] * jt.exp(-t * p["height"] / 5.0) + p["floor"], (T, Y),
        {"height": 1.0, "floor": 0.0}, sigma=0.05,
    )  # fmt: skip
    np.testing.assert_allclose(found.values[[0, 2]], free.values, rtol=1e-5)
    np.testing.assert_allclose(found.covariance[np.ix_([0, 2], [0, 2])], free.covariance, rtol=1e-4)
    product, error = found.propagate(lambda p: p["height"] * p["life"])
    assert product == pytest.approx(5.0)
    assert error < 1e-6


@pytest.mark.parametrize("algorithm", ["SLSQP", "trust-constr"])
def test_inequalities(algorithm: str) -> None:
    bounds = [(lambda p: p["a"], None, 1.5), (lambda p: jt.stack([p["b"], p["a"]]), [0.0, -9.0], [9.0, 9.0])]
    found = jt.fit(
        line, (T, 2.0 * T + 1.0), {"a": 0.0, "b": 0.5}, sigma=1.0, constraints=bounds, algorithm=algorithm
    )
    assert found.params["a"] == pytest.approx(1.5, abs=1e-4)
    assert found.params["b"] == pytest.approx(np.mean(0.5 * T + 1.0), abs=1e-3)


def test_profile_and_interval() -> None:
    found = jt.fit(decay, (T, Y), START, sigma=0.05)
    profile = found.profile("life", points=5)
    assert profile.difference[2] == pytest.approx(0.0, abs=1e-8)
    for value, difference, all_parameters in zip(*list(vars(profile).values())[1:], strict=True):
        held = jt.fit(decay, (T, Y), START | {"life": value}, sigma=0.05, fixed="life")
        assert difference == pytest.approx(held.chi2 - found.chi2, abs=1e-6)
        np.testing.assert_allclose(all_parameters, held.values, rtol=1e-4)
    low, high = found.interval("life", 0.9)
    ends = found.profile("life", [low, high])
    np.testing.assert_allclose(ends.difference, 2.7055, rtol=1e-3)


def test_an_interval_ends_at_a_bound() -> None:
    found = jt.fit(line, (T, 2.0 * T + 1.0), {"a": 1.0, "b": 0.0}, sigma=1.0, bounds={"a": (0.0, 2.001)})
    assert found.interval("a")[1] == 2.001


def test_propagate_is_linear_in_the_covariance() -> None:
    found = jt.fit(line, (T, Y), {"a": 1.0, "b": 0.0})
    value, error = found.propagate(lambda p: line(p, jt.constant(T)))
    design = np.stack([T, np.ones(40)], 1)
    np.testing.assert_allclose(value, design @ found.values)
    np.testing.assert_allclose(error, np.sqrt(np.sum(design @ found.covariance * design, 1)))


def test_a_model_with_python_control_flow() -> None:
    def bent(p: Any, x: Any) -> Any:
        return p["a"] * x if float(p["a"]) < 1.5 else 1.5 * x + 2.0 * (p["a"] - 1.5) * x

    found = jt.fit(bent, (T, 2.5 * T), {"a": 1.0}, sigma=1.0)
    assert found.params["a"] == pytest.approx(2.0)


def test_equations_add_degrees_of_freedom() -> None:
    free = jt.fit(lambda p, x: p["a"] * x + 2.0 * p["a"], (T, Y), {"a": 0.0})
    held = jt.fit(
        line, (T, Y), {"a": 0.0, "b": 0.0}, constraints=[(lambda p: p["b"] - 2.0 * p["a"], 0.0, 0.0)]
    )
    assert held.dof == free.dof == 39
    assert held.errors["a"] == pytest.approx(free.errors["a"])


def test_a_fit_that_stops_early_warns() -> None:
    with pytest.warns(UserWarning, match="scipy did not converge"):
        found = jt.fit(decay, (T, Y), START, options={"max_nfev": 2})
    assert not found.success
    assert repr(found).startswith("fit NOT converged")


def test_data_of_other_libraries_and_dtypes() -> None:
    import pandas as pd

    x, y = np.arange(6, dtype=np.float32), np.arange(6) * 2 + 1
    frame = pd.DataFrame({"x": x, "y": y})
    for data in ((x, y), (jt.constant(x), jt.Variable(y, dtype="float32")), (frame.x, frame.y)):
        found = jt.fit(line, data, {"a": 1.0, "b": 0.0}, sigma=1.0)
        np.testing.assert_allclose(found.values, [2.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"start": {}}, ValueError, "start has no parameters"),
        ({"start": {"a": "1"}}, TypeError, "the start of a must be a real number"),
        ({"start": {"a": np.nan, "b": 0.0}}, ValueError, "the start of a must be finite"),
        ({"start": {1: 2.0}}, TypeError, "names of parameters must be strings, got 1"),
        ({"data": T}, ValueError, r"data must be a pair \(x, y\) for loss='least_squares', got ndarray"),
        ({"data": (T, Y[:-1])}, jt.ShapeError, r"one value for each observation: shape \(39,\), got \(40,\)"),
        ({"data": (T, Y[:, None])}, jt.ShapeError, r"shape \(40, 1\), got \(40,\)"),
        ({"data": (T[:0], Y[:0])}, ValueError, "y is empty"),
        ({"data": (T, np.append(Y[1:], np.nan))}, ValueError, "1 of 40 observations are nan or infinite"),
        ({"data": (T, Y.astype(complex))}, TypeError, "observations must be real numbers, got complex128"),
        ({"sigma": -1.0}, ValueError, "standard deviations must be finite and positive"),
        ({"sigma": np.ones(3)}, jt.ShapeError, r"sigma must have shape \(\) or \(40,\)"),
        ({"sigma": np.zeros((40, 40))}, ValueError, "sigma is not positive definite"),
        ({"loss": "huber"}, ValueError, "loss must be one of least_squares, poisson, nll, got 'huber'"),
        ({"loss": "poisson", "data": (T, T - 1.0)}, ValueError, "counts must not be negative"),
        ({"loss": "poisson", "sigma": 1.0}, ValueError, "counts have their own errors"),
        (
            {"loss": "nll", "data": (T,)},
            jt.ShapeError,
            r"must return a scalar for loss='nll', got shape \(40,\)",
        ),
        ({"bounds": {"c": (0, 1)}}, ValueError, "bounds names 'c', but the parameters are a, b"),
        ({"bounds": {"a": (1, 0)}}, ValueError, "the lower bound of a must be less than the upper one"),
        ({"bounds": {"a": 1.0}}, ValueError, r"the bounds of a must be a pair \(low, high\), got 1.0"),
        ({"bounds": (0, 1)}, TypeError, "bounds must map names to pairs"),
        ({"bounds": {"a": (2, 3)}}, ValueError, r"the start of a is 1, outside its bounds \(2, 3\)"),
        (
            {"bounds": {"a": ([0, 1], None)}},
            jt.ShapeError,
            r"a bound of a must have shape \(\) or \(\), got \(2,\)",
        ),
        ({"fixed": "c"}, ValueError, "fixed names 'c'"),
        ({"fixed": ["a", "b"]}, ValueError, "all parameters are fixed"),
        ({"constraints": [1]}, ValueError, r"a constraint must be \(function, low, high\), got 1"),
        ({"constraints": [(1, 0, 1)]}, TypeError, "must start with a function of the parameters, got 1"),
        (
            {"constraints": [(lambda p: p["a"], [0, 1], 1)]},
            jt.ShapeError,
            r"a bound of constraint 0 must have shape",
        ),
        (
            {"constraints": [(lambda p: p["a"], 0, 1)], "engine": "lmfit"},
            ValueError,
            "'lmfit' takes no constraints",
        ),
        (
            {"constraints": [(lambda p: p["a"], 2, 1)]},
            ValueError,
            "lower bound of constraint 0 must not exceed",
        ),
        (
            {"constraints": [(lambda p: p["a"], np.nan, 1)]},
            ValueError,
            "lower bound of constraint 0 must not exceed",
        ),
        (
            {"constraints": [(lambda p: p["a"], "x", 1)]},
            TypeError,
            "a bound of constraint 0 must be a number or None",
        ),
        (
            {"constraints": [(lambda p: jt.math.log(p["b"] - 9.0), 0, 1)]},
            ValueError,
            "constraint 0 is nan at the start",
        ),
        (
            {"constraints": [(lambda p: p["a"], 0, 1)], "algorithm": "BFGS"},
            ValueError,
            "engine 'scipy' refuses algorithm 'BFGS' with constraints: use one of slsqp",
        ),
        ({"bounds": {"a": (0, 2)}, "algorithm": "BFGS"}, ValueError, "with bounds: use one of slsqp"),
        ({"algorithm": "foo"}, ValueError, "engine 'scipy' refuses algorithm 'foo': Unknown solver foo"),
        ({"options": {"foo": 1}}, ValueError, r"failed with options \['foo'\]: TypeError: .*'foo'"),
        ({"engine": "foo"}, ValueError, "engine must be one of scipy, iminuit"),
        ({"covariance": "foo"}, ValueError, "covariance must be 'hessian' or 'gauss_newton'"),
        (
            {"covariance": "gauss_newton", "loss": "poisson"},
            ValueError,
            "is for least squares: use 'hessian'",
        ),
        ({"model": lambda p, x: jt.math.log(p["a"] - 5.0) * x}, ValueError, "the cost is nan at the start"),
        ({"model": lambda p, x: x * jt.sqrt(p["b"])}, ValueError, "the derivative with respect to b is"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"model": line, "data": (T, Y), "start": {"a": 1.0, "b": 0.0}} | options
    with pytest.raises(error, match=message):
        jt.fit(**arguments)


def test_bad_names_and_levels() -> None:
    found = jt.fit(lambda p, x: p["w"][0] * x + p["w"][1], (T, Y), {"w": [1.0, 0.0]}, sigma=1.0)
    fixed = jt.fit(line, (T, Y), {"a": 1.0, "b": 0.0}, fixed="b")
    for call, message in (
        (lambda: found.profile("w"), r"'w' has 2 elements: name one, such as 'w\[0\]'"),
        (lambda: found.interval("c"), "name names 'c', but the parameters are w"),
        (lambda: found.interval("w[0]", 1.0), "level must be between 0 and 1, got 1.0"),
        (lambda: fixed.profile("b"), "'b' is fixed: its profile is one point"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_missing_engine_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "iminuit", None)
    with pytest.raises(ImportError, match="iminuit is not installed: pip install iminuit"):
        jt.fit(line, (T, Y), {"a": 1.0, "b": 0.0}, engine="iminuit")


def test_results_in_notebooks() -> None:
    found = jt.fit(line, (T, 2.0 * T), {"a": 1.0, "b": 0.0}, sigma=1.0)
    assert "<td>a</td><td>2</td>" in found._repr_html_()


def test_value_and_gradient_of_a_point_are_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines such as iminuit ask for one after the other; what they do to their arrays changes nothing."""
    from jittape.fits.fit_engines import ENGINES, Engine, Outcome

    calls = 0

    def counted(p: Any, t: Any) -> Any:
        nonlocal calls
        calls += 1
        return decay(p, t)

    def run(problem: Any, algorithm: Any, options: Any) -> Outcome:
        nonlocal calls
        calls, x = 0, problem.start + 0.5  # the start has been tried before
        for step in range(3):
            gradient = problem.gradient(x)
            expected = gradient.copy()
            gradient[:] = np.nan
            value = problem.value(x)
            assert np.isfinite(value)
            np.testing.assert_array_equal(problem.gradient(x), expected)
            assert calls == problem.evaluations == step + 1
            x += 0.125  # in place, as some engines do
        assert problem.value(problem.start) != value
        return Outcome(x, False, "", None)

    monkeypatch.setitem(ENGINES, "careful", Engine(run, takes_constraints=False))
    with pytest.warns(UserWarning, match="standard errors away"):
        assert jt.fit(counted, (T, Y), START, engine="careful").evaluations == 5  # one to check the end
