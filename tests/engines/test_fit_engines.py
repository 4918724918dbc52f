"""`jt.fit` by each library, beside SciPy; tests of a missing one are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from nist_fits import FITS

T = np.linspace(0.0, 4.0, 40)
Y = 3.0 * np.exp(-T / 1.5) + 0.5 + 0.05 * np.random.default_rng(3).normal(size=40)
COUNTS = np.random.default_rng(4).poisson(20.0 * np.exp(-T / 1.5))
START = {"height": 1.0, "life": 1.0, "floor": 0.1}
LIBRARIES = {
    "iminuit": "iminuit",
    "lmfit": "lmfit",
    "nlopt": "nlopt",
    "ipopt": "cyipopt",
    "optimagic": "optimagic",
}
CASES: dict[str, dict[str, Any]] = {
    "least squares": {"sigma": 0.05},
    "estimated sigma": {},
    "bounds": {"sigma": 0.05, "bounds": {"floor": (-0.2, 0.4), "life": (0.1, None)}},
    "fixed": {"sigma": 0.05, "fixed": "floor"},
    "counts": {
        "data": (T, COUNTS),
        "loss": "poisson",
        "bounds": {"floor": (0.01, None), "life": (0.1, None)},
    },
    "equation": {"sigma": 0.05, "constraints": [(lambda p: p["height"] * p["life"], 5.0, 5.0)]},
    "inequalities": {
        "sigma": 0.05,
        "constraints": [
            (lambda p: p["height"] * p["life"], None, 4.5),
            (lambda p: jt.stack([p["floor"], p["height"]]), [-1.0, 2.0], [2.0, 9.0]),
        ],
    },
}

pytestmark = pytest.mark.filterwarnings("ignore")


def decay(p: Any, t: Any) -> Any:
    return p["height"] * jt.exp(-t / p["life"]) + p["floor"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", LIBRARIES)
def test_an_engine_finds_what_scipy_finds(engine: str, case: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    options = {"data": (T, Y), "start": START} | CASES[case]
    if "constraints" in options and engine in ("iminuit", "lmfit"):
        with pytest.raises(ValueError, match=f"engine '{engine}' takes no constraints"):
            jt.fit(decay, engine=engine, **options)
        return
    expected, found = jt.fit(decay, **options), jt.fit(decay, engine=engine, **options)
    assert found.success
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.cost, expected.cost, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("engine", [name for name in LIBRARIES if name != "ipopt"])
def test_a_bound_where_the_cost_is_not_finite(engine: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    numbers = np.random.default_rng(0).normal(2.0, 0.5, 200)

    def minus_log_likelihood(p: Any, numbers: Any) -> Any:
        return jt.reduce_sum(0.5 * ((numbers - p["m"]) / p["s"]) ** 2 + jt.math.log(p["s"]))

    found = jt.fit(
        minus_log_likelihood,
        (numbers,),
        {"m": 0.0, "s": 1.0},
        loss="nll",
        bounds={"s": (0.0, None)},
        engine=engine,
    )
    np.testing.assert_allclose(found.values, [numbers.mean(), numbers.std()], rtol=1e-4)


@pytest.mark.parametrize("bounds", [{"floor": (0.1, None), "life": (1.0, None)}, {"life": (-5.0, 1.0)}])
@pytest.mark.parametrize("engine", LIBRARIES)
def test_a_start_at_a_bound(engine: str, bounds: dict[str, Any]) -> None:
    pytest.importorskip(LIBRARIES[engine])
    options: dict[str, Any] = {"sigma": 0.05, "bounds": bounds, "engine": engine}
    found = jt.fit(decay, (T, Y), START, **options)
    expected = jt.fit(decay, (T, Y), START, sigma=0.05, bounds={"life": bounds["life"]})
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("engine", LIBRARIES)
def test_intervals_use_the_engine(engine: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    options: dict[str, Any] = {"data": (T, Y), "start": START, "sigma": 0.05}
    expected = jt.fit(decay, **options).interval("life")
    np.testing.assert_allclose(jt.fit(decay, engine=engine, **options).interval("life"), expected, rtol=1e-3)


@pytest.mark.parametrize(
    ("engine", "algorithm"),
    [
        ("iminuit", "migrad"), ("lmfit", "least_squares"), ("lmfit", "bfgs"), ("nlopt", "LD_LBFGS"),
        ("nlopt", "LN_NELDERMEAD"), ("optimagic", "scipy_ls_lm"), ("optimagic", "scipy_bfgs"),
    ],
)  # fmt: skip
def test_algorithms(engine: str, algorithm: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    expected = jt.fit(decay, (T, Y), START, sigma=0.05)
    found = jt.fit(decay, (T, Y), START, sigma=0.05, engine=engine, algorithm=algorithm)
    np.testing.assert_allclose(found.values, expected.values, rtol=2e-2)


@pytest.mark.parametrize(
    ("engine", "options", "message"),
    [
        ("iminuit", {"algorithm": "minos"}, "'iminuit' refuses algorithm 'minos': use one of migrad"),
        ("lmfit", {"algorithm": "foo"}, "'lmfit' refuses algorithm 'foo': use one of leastsq"),
        ("nlopt", {"algorithm": "foo"}, "'nlopt' refuses algorithm 'foo': AttributeError"),
        ("nlopt", {"algorithm": "LD_LBFGS", "constraints": [(lambda p: p["life"], 1.0, 1.0)]}, "with constraints: inv"),
        ("optimagic", {"algorithm": "foo"}, "'optimagic' refuses algorithm 'foo': Invalid algorithm"),
        (
            "optimagic",
            {"algorithm": "scipy_lbfgsb", "constraints": [(lambda p: p["life"], 1.0, 1.0)]},
            "with constraints: .* does not support nonlinear constraints",
        ),
        ("ipopt", {"algorithm": "foo"}, "'ipopt' refuses algorithm 'foo': it has one algorithm: leave out algorithm="),
        ("ipopt", {"options": {"foo": 1}}, r"'ipopt' failed with options \['foo'\]"),
    ],
)  # fmt: skip
def test_what_an_engine_refuses_is_a_value_error(engine: str, options: Any, message: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    with pytest.raises(ValueError, match=message):
        jt.fit(decay, (T, Y), START, sigma=0.05, engine=engine, **options)


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("engine", LIBRARIES)
def test_certified_parameters_of_different_size(engine: str, name: str) -> None:
    """NLopt stopped at b2 = 47241 for Misra1a, and optimagic at the start."""
    pytest.importorskip(LIBRARIES[engine])
    fit = FITS[name]
    found = jt.fit(fit.model, (fit.x, fit.y), fit.start, engine=engine)
    assert found.success
    np.testing.assert_allclose(found.values, fit.values, rtol=1e-4)
    np.testing.assert_allclose(list(found.errors.values()), fit.errors, rtol=0.05)
    low, high = found.interval("b1")
    assert low < fit.values[0] - 0.5 * fit.errors[0]
    assert high > fit.values[0] + 0.5 * fit.errors[0]
    limit, near = 0.99 * fit.values[0], fit.start | {"b1": 0.9 * fit.values[0]}
    options: Any = {"bounds": {"b1": (None, limit)}}
    expected = jt.fit(fit.model, (fit.x, fit.y), near, **options)
    at_bound = jt.fit(fit.model, (fit.x, fit.y), near, engine=engine, **options)
    np.testing.assert_allclose(at_bound.values, expected.values, rtol=1e-4)


@pytest.mark.parametrize("engine", LIBRARIES)
def test_errors_of_the_model_are_raised_as_they_are(engine: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    calls = 0

    def fragile(p: Any, t: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise KeyError("mine")
        return decay(p, t)

    with pytest.raises(KeyError, match="mine"):
        jt.fit(fragile, (T, Y), START, sigma=0.05, engine=engine)


@pytest.mark.parametrize("engine", ["nlopt", "ipopt", "optimagic"])
def test_contradicting_constraints_are_named(engine: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    contrary = [(lambda p: p["life"], 2.0, 3.0), (lambda p: p["life"], None, 1.0)]
    with pytest.warns(UserWarning, match=r"did not converge: .*constraint [01] is .*, outside its bounds"):
        assert not jt.fit(decay, (T, Y), START, sigma=0.05, engine=engine, constraints=contrary).success


@pytest.mark.parametrize("engine", LIBRARIES)
def test_products_of_parameters_are_undetermined(engine: str) -> None:
    pytest.importorskip(LIBRARIES[engine])
    found = jt.fit(lambda p, t: p["a"] * p["b"] * t, (T, Y), {"a": 1.0, "b": 2.0}, sigma=0.05, engine=engine)
    assert np.isnan(list(found.errors.values())).all()


def test_an_algorithm_that_stops_early_runs_again() -> None:
    pytest.importorskip("iminuit")
    expected = jt.fit(decay, (T, Y), START, sigma=0.05)
    found = jt.fit(decay, (T, Y), START, sigma=0.05, engine="iminuit", algorithm="simplex")
    assert found.success
    assert found.cost - expected.cost < 0.5 * 0.05**2
    limited: dict[str, Any] = {"algorithm": "simplex", "options": {"ncall": 5}}
    with pytest.warns(UserWarning, match="MINUIT: stopped by the call limit"):
        assert not jt.fit(decay, (T, Y), START, sigma=0.05, engine="iminuit", **limited).success


ALGORITHMS = [
    *[("scipy", name) for name in ("trf", "L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead", "Powell")],
    *[("iminuit", name) for name in ("migrad", "simplex")],
    *[("lmfit", name) for name in ("leastsq", "lbfgsb", "bfgs", "cg", "tnc", "nelder", "slsqp", "newton")],
    *[("nlopt", name) for name in ("LD_SLSQP", "LD_MMA", "LD_LBFGS", "LN_BOBYQA", "LN_SBPLX")],
    *[("optimagic", name) for name in ("scipy_lbfgsb", "scipy_bfgs", "scipy_truncated_newton", "scipy_ls_trf")],
]  # fmt: skip


@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(("engine", "algorithm"), ALGORITHMS)
def test_success_means_the_minimum(engine: str, algorithm: str, name: str, is_bounded: bool) -> None:
    """lmfit's L-BFGS-B, TNC and SLSQP reported success with costs up to 1e5 times the variance above the minimum."""
    pytest.importorskip(LIBRARIES.get(engine, "scipy"))
    fit = FITS[name]
    options: dict[str, Any] = {"start": fit.start}
    if is_bounded:
        below = {"b1": 0.9 * fit.values[0]}
        options = {"start": fit.start | below, "bounds": {"b1": (None, 0.99 * fit.values[0])}}
    best = jt.fit(fit.model, (fit.x, fit.y), **options)
    options |= {"engine": engine, "algorithm": algorithm}
    if is_bounded and algorithm == "scipy_bfgs":
        with pytest.raises(ValueError, match="scipy_bfgs takes no bounds"):
            jt.fit(fit.model, (fit.x, fit.y), **options)
        return
    found = jt.fit(fit.model, (fit.x, fit.y), **options)
    assert not found.success or found.cost - best.cost < 0.05**2 * best.chi2 / best.dof


def test_ipopt_gets_sparse_derivatives() -> None:
    pytest.importorskip("cyipopt")
    n = 200
    y = np.sin(np.linspace(0.0, 6.0, n))

    def smooth(p: Any, x: Any) -> Any:
        return jt.concat([p, 3.0 * (p[1:] - p[:-1])], 0)

    data = (np.zeros(1), np.concatenate([y, np.zeros(n - 1)]))
    bounds: dict[str, Any] = {"constraints": [(lambda p: p[1:] - p[:-1], -0.01, 0.02)]}
    found = jt.fit(smooth, data, np.zeros(n), sigma=1.0, engine="ipopt", **bounds)
    steps = np.diff(found.values)
    assert found.success
    assert steps.min() > -0.01 - 1e-6
    assert steps.max() < 0.02 + 1e-6


def test_ipopt_has_one_algorithm() -> None:
    pytest.importorskip("cyipopt")
    with pytest.raises(ValueError, match="refuses algorithm 'foo': it has one algorithm"):
        jt.fit(decay, (T, Y), START, engine="ipopt", algorithm="foo")
