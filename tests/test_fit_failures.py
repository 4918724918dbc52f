"""`jt.fit` on data that do not determine the parameters, and on models and constraints that fail."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.fits.fit_engines import ENGINES, Engine, Outcome

T = np.linspace(0.0, 4.0, 40)
Y = 3.0 * np.exp(-T / 1.5) + 0.5 + 0.05 * np.random.default_rng(3).normal(size=40)
START = {"height": 1.0, "life": 1.0, "floor": 0.0}


def decay(p: Any, t: Any) -> Any:
    return p["height"] * jt.exp(-t / p["life"]) + p["floor"]


def line(p: Any, x: Any) -> Any:
    return p["a"] * x + p["b"]


def test_undetermined_parameters_are_named() -> None:
    with pytest.warns(UserWarning, match="do not determine b:"):
        found = jt.fit(lambda p, x: p["a"] * x + 0.0 * p["b"], (T, Y), {"a": 1.0, "b": 0.0})
    assert np.isnan(found.errors["b"])
    assert "do not determine b" in found.message


@pytest.mark.parametrize("seed", range(12))
def test_products_of_parameters_are_undetermined_wherever_the_engine_stops(seed: int) -> None:
    """The gradient that remains where an engine stops makes the Hessian of ``a * b`` regular."""
    rng = np.random.default_rng(seed)
    factors = rng.uniform(0.3, 3.0, 2 + seed % 2)
    options: dict[str, Any] = (
        {"options": {}} if seed % 3 else {"options": {"xtol": 1e-5, "ftol": 1e-5, "gtol": 1e-5}}
    )
    if seed % 4 == 3:
        options = {"algorithm": "BFGS"}
    with pytest.warns(UserWarning, match="do not determine"):
        found = jt.fit(
            lambda p, t: jt.reduce_prod(p) * t, (T, Y), factors, sigma=rng.uniform(0.01, 1.0), **options
        )
    assert np.isnan(found.errors).any()


def test_nearly_undetermined_parameters_have_errors() -> None:
    """The sum of two exponentials is determined, with a ratio of eigenvalues of about 1e-7."""

    def both(p: Any, t: Any) -> Any:
        return p["a"] * jt.exp(-t / p["l"]) + p["b"] * jt.exp(-t / p["m"])

    start = {"a": 1.1, "l": 1.05, "b": 0.9, "m": 1.45}
    clean = np.exp(-T / 1.0) + np.exp(-T / 1.3)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=r"\[fit\]")
        found = jt.fit(both, (T, clean), start, sigma=1e-4)
    np.testing.assert_allclose(found.values, [1.0, 1.0, 1.0, 1.3], atol=1e-3)
    gauss_newton = jt.fit(both, (T, clean), start, sigma=1e-4, covariance="gauss_newton")
    np.testing.assert_allclose(found.covariance, gauss_newton.covariance, rtol=1e-3)


def test_errors_of_the_model_are_raised_as_they_are() -> None:
    calls = 0

    def fragile(p: Any, t: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise KeyError("mine")
        return decay(p, t)

    with pytest.raises(KeyError, match="mine"):
        jt.fit(fragile, (T, Y), START)


def test_contradicting_constraints_are_named() -> None:
    contrary = [(lambda p: p["a"] + p["b"], 5.0, 6.0), (lambda p: p["a"] + p["b"], None, 4.0)]
    with pytest.warns(UserWarning, match=r"did not converge: .*constraint [01] is .*, outside its bounds"):
        assert not jt.fit(line, (T, Y), {"a": 0.0, "b": 0.0}, constraints=contrary).success


@pytest.mark.parametrize(("start", "low", "high"), [(1.0, 1.0, 9.0), (9.0, None, 9.0), (1e-9, 0.0, None)])
def test_an_engine_that_stays_at_a_bound_is_noticed(
    monkeypatch: pytest.MonkeyPatch, start: float, low: float | None, high: float | None
) -> None:
    stays = Engine(lambda problem, *_: Outcome(problem.start, True, "", None), takes_constraints=False)
    monkeypatch.setitem(ENGINES, "stays", stays)
    options: dict[str, Any] = {"start": {"a": start}, "sigma": 0.05, "bounds": {"a": (low, high)}}
    with pytest.warns(UserWarning, match="did not converge: the cost falls from the bound of a inwards"):
        assert not jt.fit(lambda p, t: p["a"] * jt.exp(-t / 1.5), (T, Y), engine="stays", **options).success


@pytest.mark.parametrize(("low", "high"), [(None, 1.0), (9.0, None), (0.0, 1.0)])
def test_a_minimum_at_a_bound_is_one(low: float | None, high: float | None) -> None:
    start = {"a": low if high is None else high}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=r"\[fit\]")
        found = jt.fit(
            lambda p, t: p["a"] * jt.exp(-t / 1.5), (T, Y), start, sigma=0.05, bounds={"a": (low, high)}
        )
    assert found.params == pytest.approx(start)


CONSTRAINED: dict[str, dict[str, Any]] = {
    "free": {},
    "bounds": {"bounds": {"a": (None, 0.5), "b": (-1.0, None)}},
    "inequality": {"constraints": [(lambda p: p["a"] + p["b"], None, 0.75)]},
    "equation": {"constraints": [(lambda p: p["a"] * p["b"], 0.5, 0.5)]},
}


@pytest.mark.parametrize("case", CONSTRAINED)
@pytest.mark.parametrize("seed", range(4))
def test_success_is_what_exact_derivatives_say(monkeypatch: pytest.MonkeyPatch, case: str, seed: int) -> None:
    """Engines that claim success anywhere, or failure at the minimum."""
    data = (T, 2.0 * T + 1.0 + 0.05 * np.random.default_rng(seed).normal(size=T.size))
    start, options = {"a": 0.4, "b": 0.3}, {"sigma": 0.05} | CONSTRAINED[case]
    best = jt.fit(line, data, start, **options)
    assert best.success
    runs: list[np.ndarray[Any, Any]] = []

    def engine(end: np.ndarray[Any, Any], claims_success: bool) -> Engine:
        def run(problem: Any, *unused: Any) -> Outcome:
            runs.append(problem.start)
            return Outcome(end, claims_success, "done", None)

        return Engine(run, takes_constraints=True)

    monkeypatch.setitem(ENGINES, "fails", engine(best.values, False))
    assert jt.fit(line, data, start, engine="fails", **options).success
    assert len(runs) == 1
    # Away from the minimum, along the bounds and constraints: a + b and a * b stay.
    a, b = best.values
    away = {"free": (a + 0.1, b), "bounds": (a, b + 0.1), "inequality": (a - 0.1, b + 0.1)}
    end = np.array(away.get(case, (1.1 * a, b / 1.1)))
    monkeypatch.setitem(ENGINES, "claims", engine(end, True))
    with pytest.warns(UserWarning, match="claims did not converge: done; the minimum is .* standard errors"):
        assert not jt.fit(line, data, start, engine="claims", **options).success
    np.testing.assert_array_equal(runs[1:], [list(start.values()), end, end])


@pytest.mark.parametrize(
    ("cost", "success", "message"),
    [
        (lambda p: -p["a"], False, "did not converge: .*may have no minimum"),
        (lambda p: 0.0 * p["a"], True, "the data do not determine a"),
    ],
    ids=["slope", "constant"],
)
def test_a_cost_without_curvature(cost: Any, success: bool, message: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = jt.fit(cost, (), {"a": 1.0}, loss="nll")
    assert found.success == success
    (warning,) = caught  # no warning of NumPy
    assert re.search(message, str(warning.message))


def test_a_saddle_is_no_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    stays = Engine(lambda problem, *_: Outcome(problem.start, True, "done", None), takes_constraints=False)
    monkeypatch.setitem(ENGINES, "stays", stays)

    def saddle(p: Any) -> Any:
        return p["a"] ** 2 - p["b"] ** 2 + p["b"] ** 4

    with pytest.warns(UserWarning, match="the cost curves downwards there"):
        assert not jt.fit(saddle, (), {"a": 0.0, "b": 0.0}, loss="nll", engine="stays").success


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("algorithm", [None, "L-BFGS-B", "SLSQP", "BFGS"])
def test_exact_data_are_fitted(size: float, algorithm: str | None) -> None:
    """Residuals are rounding errors, of which a standard error is not to be estimated."""
    y = size * (3.0 * np.exp(-T / 1.5) + 0.5)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=r"\[fit\].*")
        found = jt.fit(
            lambda p, t: size * (p["height"] * jt.exp(-t / p["life"]) + p["floor"]),
            (T, y),
            {"height": 1.0, "life": 1.0, "floor": 0.1},
            algorithm=algorithm,
        )
    assert found.success
    np.testing.assert_allclose(found.values, [3.0, 1.5, 0.5], rtol=1e-6)
