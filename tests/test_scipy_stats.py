"""Distributions of `jittape.scipy.stats` against SciPy's values and their differences."""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import jittape as jt
from jittape.scipy import stats
from jittape.scipy.stats.distributions import FORMULAS

SHAPES: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "beta": (1.5, 0.8), "binom": (7, 0.3), "chi2": (3.2,), "gamma": (1.7,), "geom": (0.3,),
    "invgamma": (3.1,), "lognorm": (0.7,), "nbinom": (2.5, 0.4), "pareto": (3.5,), "poisson": (2.2,), "t": (3.3,),
    "truncnorm": (-0.5, 2.0), "weibull_min": (1.4,),
    "betabinom": (7, 1.5, 2.2), "betanbinom": (3, 20.5, 1.2), "betaprime": (1.5, 3.2), "boltzmann": (0.4, 6),
    "bradford": (1.6,), "burr12": (2.1, 1.4), "chi": (2.3,), "dgamma": (1.7,), "dlaplace": (0.7,), "dweibull": (1.6,),
    "exponnorm": (0.8,), "exponpow": (1.3,), "exponweib": (1.6, 1.2), "f": (3.5, 6.2), "fatiguelife": (0.9,),
    "fisk": (2.7,), "genextreme": (0.3,), "gengamma": (1.4, 1.6), "genlogistic": (1.7,), "gennorm": (1.6,),
    "genpareto": (0.2,), "gompertz": (0.7,), "halfgennorm": (1.4,), "hypergeom": (20, 7, 9), "invgauss": (0.9,),
    "invweibull": (2.2,), "johnsonsb": (0.4, 1.3), "johnsonsu": (0.4, 1.3), "laplace_asymmetric": (1.4,),
    "loggamma": (1.3,), "loglaplace": (3.2,), "loguniform": (0.5, 3.0), "logser": (0.6,), "lomax": (3.1,),
    "mielke": (1.8, 2.3), "nakagami": (1.2,), "planck": (0.5,), "powerlaw": (1.6,), "powernorm": (1.8,),
    "randint": (-2, 5), "rdist": (2.4,), "skewnorm": (1.2,), "triang": (0.3,), "truncexpon": (2.2,),
    "alpha": (1.8,), "burr": (2.6, 1.4), "foldnorm": (0.7,), "nct": (4.3, 0.6), "ncx2": (3.2, 1.4), "rice": (1.3,),
    "vonmises": (1.5,), "weibull_max": (1.7,), "yulesimon": (3.2,), "zipf": (3.4,),
    "argus": (1.3,), "crystalball": (1.2, 6.5), "erlang": (3,), "foldcauchy": (0.8,), "genexpon": (0.7, 1.3, 0.6),
    "genhalflogistic": (0.4,), "geninvgauss": (1.3, 0.8), "jf_skew_t": (3.2, 4.5), "kappa3": (4.5,),
    "norminvgauss": (1.4, 0.6), "pearson3": (-0.7,), "powerlognorm": (1.8, 0.5), "recipinvgauss": (0.9,),
    "reciprocal": (0.5, 3.0), "skellam": (2.2, 1.4), "skewcauchy": (0.4,),
    "truncpareto": (1.6, 4.0), "truncweibull_min": (1.4, 0.3, 1.8), "tukeylambda": (0.3,), "vonmises_line": (1.5,),
    "wrapcauchy": (0.4,),
}  # fmt: skip
DISTRIBUTIONS = {n: d for n in stats.__all__ if isinstance(d := getattr(stats, n), stats.Distribution)}
CONTINUOUS = [n for n, d in DISTRIBUTIONS.items() if hasattr(getattr(scipy.stats, n), "pdf")]
DISCRETE = sorted(set(DISTRIBUTIONS) - set(CONTINUOUS))
VALUES = np.array([*range(-3, 12), np.nan, 0.5, 2.2, -1.7, 1.9, 300.0])
INFINITE = np.array([-np.inf, np.inf])
LEVELS = np.array([0, 1e-8, 0.01, 0.2, 0.5, 0.7, 0.99, 1, -0.1, 1.1, np.nan])
COMPILED = ("norm", "gamma", "t", "truncnorm", "binom", "gumbel_r")
"""Distributions whose densities are tested in a `jt.function`; the others consist of the same functions."""
MOMENTS = ("mean", "var", "std", "entropy")


def keywords(name: str) -> dict[str, Any]:
    return {"loc": 1.0} if name in DISCRETE else {"loc": 0.5, "scale": 1.7}


def methods(name: str) -> list[str]:
    """The methods that have a formula."""
    d = DISTRIBUTIONS[name]
    own = ["pmf", "logpmf"] if name in DISCRETE else ["pdf", "logpdf", "ppf", "isf"]
    return [m for m in (*own, "cdf", "logcdf", "sf", "logsf", *MOMENTS) if available(d, m)]


def has_formula(name: str, method: str) -> bool:
    method = "var" if method == "std" else method
    return method not in MOMENTS or getattr(FORMULAS[name], method) is not None


def available(distribution: Any, method: str) -> bool:
    operands = [] if method in MOMENTS else [1.0]
    try:
        getattr(distribution, method)(*operands, *SHAPES.get(distribution.name, ()))
    except NotImplementedError:
        return False
    return True


INTEGERS = {
    "betabinom": (0,),
    "betanbinom": (0,),
    "binom": (0,),
    "boltzmann": (1,),
    "erlang": (0,),
    "hypergeom": (0, 1, 2),
    "randint": (0, 1),
}
"""Numbers of the shape parameters that are integers."""
WITHOUT_SLOPES = {
    "betabinom": (0, 1, 2),
    "betanbinom": (0, 1, 2),
    "hypergeom": (0, 1, 2),
    "ncx2": (0,),
    "geninvgauss": (0, 1),
    "norminvgauss": (0, 1),
}
"""Numbers of the shape parameters in which distribution functions have no derivative."""
UPPER_TAILS = (
    "alpha", "betaprime", "crystalball", "f", "foldcauchy", "genlogistic", "jf_skew_t", "mielke", "moyal",
    "skewcauchy", "weibull_max",
)  # fmt: skip
"""Distributions whose `isf` SciPy computes as ``ppf(1 - q)``."""
LOWER_TAILS = ("argus", "levy_l", "pearson3")
"""Distributions whose `ppf` loses digits in SciPy, in the way of ``isf(1 - q)``."""


def reference(name: str, method: str, *given: Any, **more: Any) -> Any:
    """Return SciPy's values, with those that it rounds to infinity or leaves between integers in place of its own."""
    if name in ("hypergeom", "logser", "yulesimon") and given and method in ("cdf", "logcdf", "sf", "logsf"):
        given = (np.floor(given[0]), *given[1:])
    inexact = name in (UPPER_TAILS if method == "isf" else LOWER_TAILS if method == "ppf" else ())
    if inexact:
        levels = np.array(given[0])
        tiny = levels == 1e-8
        given = (np.where(tiny, 0.5, levels), *given[1:])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of integrals
        function = getattr(getattr(scipy.stats, name), method)
        if method in ("mean", "var", "std"):
            wanted = np.array(moment(name, method, *given, **more))
        elif (name, method) == ("norminvgauss", "isf"):  # SciPy repeats the first number of an array
            wanted = np.array([function(q, *given[1:], **more) for q in given[0]])
        else:
            wanted = np.array(function(*given, **more))
    if inexact:
        ours = getattr(DISTRIBUTIONS[name], method)(1e-8, *given[1:], **more)
        function = getattr(DISTRIBUTIONS[name], {"isf": "sf", "ppf": "cdf"}[method])
        np.testing.assert_allclose(function(ours, *given[1:], **more).numpy(), 1e-8, rtol=1e-8)
        wanted[tiny] = ours.numpy()
    if (method == "logsf" and name in ("dlaplace", "exponpow", "gompertz")) or (
        method == "logpdf" and name in ("foldnorm", "rice")
    ):
        ours = getattr(DISTRIBUTIONS[name], method)(*given, **more).numpy()
        wanted = np.where(np.isneginf(wanted) & (ours < -30), ours, wanted)
    if (name, method) == ("truncpareto", "logcdf"):  # SciPy subtracts numbers near 1
        wanted = np.where(
            (wanted < -30) & np.isfinite(wanted), DISTRIBUTIONS[name].logcdf(*given, **more), wanted
        )
    return wanted


@cache
def standard_moments(name: str, shapes: tuple[float, ...]) -> tuple[float, float]:
    """Return SciPy's mean and variance without `loc` and `scale`; the integrals of one call take up to 0.6 s."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of integrals
        mean, variance = getattr(scipy.stats, name).stats(*shapes, moments="mv")
    return float(mean), float(variance)


def moment(name: str, method: str, *given: Any, **more: Any) -> Any:
    """Return the mean, variance or standard deviation by `standard_moments`."""
    count = getattr(scipy.stats, name).numargs
    names = ["loc"] if name in DISCRETE else ["loc", "scale"]
    places = {"loc": 0.0, "scale": 1.0, **dict(zip(names, given[count:], strict=False)), **more}
    mean, variance = standard_moments(name, tuple(map(float, given[:count])))
    if method == "mean":
        return places["loc"] + places["scale"] * mean
    return places["scale"] ** 2 * variance if method == "var" else places["scale"] * np.sqrt(variance)


def first_operands(method: str) -> list[Any]:
    return [] if method in MOMENTS else [LEVELS if method in ("ppf", "isf") else VALUES]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_values(name: str) -> None:
    """All methods, inside the support, at its bounds and outside, and the same when compiled."""
    shapes = SHAPES.get(name, ())
    for method in methods(name):
        for more in ({}, keywords(name)):
            given = first_operands(method)
            wanted = reference(name, method, *given, *shapes, **more)
            found = getattr(DISTRIBUTIONS[name], method)(*given, *shapes, **more)
            assert found.dtype == "float64"
            tolerance = 1e-10 if has_formula(name, method) else 1e-7  # of SciPy's integrals and sums
            np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance, atol=1e-14, err_msg=method)
    known = {methods(name)[0]: [0, 0], "cdf": [0, 1], "sf": [1, 0], "logsf": [0, -np.inf]}
    for method, limits in known.items():
        if method not in methods(name):
            continue
        found = getattr(DISTRIBUTIONS[name], method)(
            INFINITE, *shapes
        ).numpy()  # SciPy's densities may be nan
        np.testing.assert_array_equal(found, limits)
    if name not in COMPILED:
        return
    compiled = jt.function(lambda x: getattr(DISTRIBUTIONS[name], methods(name)[1])(x, *shapes))
    wanted = getattr(getattr(scipy.stats, name), methods(name)[1])(VALUES, *shapes)
    for _ in range(2):
        np.testing.assert_allclose(compiled(VALUES).numpy(), wanted, rtol=1e-10, atol=1e-14)


def points(name: str, method: str) -> Any:
    """Points inside the support, away from kinks."""
    levels = np.array([0.07, 0.31, 0.62, 0.9])
    if method in ("ppf", "isf"):
        return levels
    return getattr(scipy.stats, name).ppf(levels, *SHAPES.get(name, ()), **keywords(name))


@pytest.mark.filterwarnings("ignore:expect")  # SciPy's sum of the entropy of yulesimon
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_gradients_in_the_value_and_all_parameters(name: str) -> None:
    """Derivatives are those of differences of SciPy's values, on a tape; those of the density also in a function."""
    more, step = keywords(name), 1e-5
    parameters = [*SHAPES.get(name, ()), *more.values()]
    for method in methods(name):
        value = [] if method in MOMENTS else [points(name, method)]
        arguments = [*value, *map(np.float64, parameters)]
        distribution, theirs = (
            getattr(DISTRIBUTIONS[name], method),
            getattr(getattr(scipy.stats, name), method),
        )
        if method in ("mean", "var", "std"):
            theirs = partial(moment, name, method)
        with jt.GradientTape() as tape:
            operands = [jt.constant(a) for a in arguments]
            without = method in ("mean", "var", "std") and name != "geninvgauss"
            hidden = () if without else WITHOUT_SLOPES.get(name, ())
            tape.watch([x for i, x in enumerate(operands) if i - len(value) not in hidden])
            y = jt.reduce_sum(distribution(*operands))
        gradients = [g.numpy() for g in tape.gradient(y, operands, unconnected_gradients="zero")]
        if method == methods(name)[1] and name in COMPILED:
            compiled = jt.function(lambda *a, f=distribution: jt.reduce_sum(f(*a)))
            again = jt.grad(compiled, argnums=tuple(range(len(arguments))), unconnected_gradients="zero")(
                *arguments
            )
            for one, other in zip(again, gradients, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
        for i in range(len(arguments)):
            integers = (len(arguments) - 1, len(value) - 1) if name in DISCRETE else ()
            if i in integers or i - len(value) in (*INTEGERS.get(name, ()), *hidden):
                continue
            shifted = [[*arguments[:i], arguments[i] + s * step, *arguments[i + 1 :]] for s in (1, -1)]
            with np.errstate(invalid="ignore"):
                slope = np.asarray(theirs(*shifted[0]) - theirs(*shifted[1])) / (2 * step)
            slope = np.where(np.isnan(slope), 0, slope)  # a constant of -inf
            slope = slope if np.ndim(arguments[i]) else np.sum(slope)
            if name in (
                "alpha",
                "cauchy",
                "foldcauchy",
                "halfcauchy",
                "levy",
                "levy_l",
                "skewcauchy",
            ) and method in ("mean", "var", "std"):
                continue  # nan or infinite for all parameters
            np.testing.assert_allclose(gradients[i], slope, rtol=3e-5, atol=1e-6, err_msg=f"{method} {i}")


@pytest.mark.parametrize("name", CONTINUOUS)
def test_gradients_outside_the_support_are_zero(name: str) -> None:
    low, high = getattr(scipy.stats, name).support(*SHAPES.get(name, ()))
    outside = [x for x in (low - 1, high + 1) if np.isfinite(x)]
    shapes = [np.float64(s) for s in SHAPES.get(name, ())]
    for x in outside:
        with jt.GradientTape(persistent=True) as tape:
            operands = [jt.constant(a) for a in (np.float64(x), *shapes)]
            tape.watch([v for i, v in enumerate(operands, -1) if i not in WITHOUT_SLOPES.get(name, ())])
            tested = [m for m in ("pdf", "logpdf", "cdf", "logsf") if m in methods(name)]
            results = [getattr(DISTRIBUTIONS[name], m)(*operands) for m in tested]
        for y in results:
            assert all(g == 0 for g in tape.gradient(y, operands, unconnected_gradients="zero"))


INVALID = {
    "gamma": (-1.0,),
    "beta": (1.0, 0.0),
    "binom": (3, 1.5),
    "t": (-2.0,),
    "poisson": (-1.0,),
    "geom": (0.0,),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_parameters_give_nan(name: str) -> None:
    for method in methods(name):
        found = getattr(DISTRIBUTIONS[name], method)(*first_operands(method), *INVALID[name])
        assert np.isnan(found.numpy()).all(), method
    assert np.isnan(stats.norm.logpdf(0.0, scale=-1.0).numpy())


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("pearson3", (0.0,)),
        ("pearson3", (0.9,)),
        ("tukeylambda", (-0.4,)),
        ("tukeylambda", (0.0,)),
        ("skewcauchy", (-0.3,)),
        ("genhalflogistic", (1.4,)),
    ],
)
def test_other_branches_of_formulas(name: str, shapes: tuple[float, ...]) -> None:
    theirs, ours = getattr(scipy.stats, name), DISTRIBUTIONS[name]
    levels = np.array([0.03, 0.3, 0.62, 0.97])
    x = theirs.ppf(levels, *shapes)
    np.testing.assert_allclose(ours.ppf(levels, *shapes), x, rtol=1e-9, atol=1e-12)
    for method in ("logpdf", "cdf", "sf"):
        found, wanted = (getattr(d, method)(x, *shapes) for d in (ours, theirs))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_densities_have_slopes_where_distribution_functions_have_none() -> None:
    x = np.array([0.4, 1.3])
    jt.check_gradient(lambda a, b: jt.reduce_sum(stats.norminvgauss.logpdf(x, a, b)), 1.4, 0.6)
    jt.check_gradient(
        lambda b: jt.reduce_sum(stats.geninvgauss.logpdf(x, 1.3, b)) + stats.geninvgauss.var(1.3, b), 0.8
    )


def test_tails_keep_their_digits() -> None:
    assert float(stats.norm.logsf(40.0)) == pytest.approx(scipy.stats.norm.logsf(40.0), rel=1e-13)
    assert float(stats.norm.sf(30.0)) == pytest.approx(scipy.stats.norm.sf(30.0), rel=1e-12)
    x = [3.0, 8.5]
    found = stats.truncnorm.logpdf(x, 8.0, 9.0)
    np.testing.assert_allclose(found.numpy(), scipy.stats.truncnorm.logpdf(x, 8.0, 9.0), rtol=1e-12)
    np.testing.assert_allclose(stats.cauchy.cdf(-1e10).numpy(), scipy.stats.cauchy.cdf(-1e10), rtol=1e-13)
    for x in (np.float64(-1e300), np.float32(1e30), np.float64(1e-9), np.float64(0.7)):
        expected = scipy.stats.cauchy.logpdf(float(x))
        assert float(stats.cauchy.logpdf(x)) == pytest.approx(expected, rel=4 * float(np.finfo(x.dtype).eps))
    assert float(jt.grad(stats.cauchy.logpdf)(np.float64(1e200))) == pytest.approx(-2e-200)


def test_second_derivatives_of_a_likelihood() -> None:
    """The Hessian of a likelihood is that of differences of its gradient."""
    x = scipy.stats.gamma.rvs(2.0, scale=1.5, size=50, random_state=0)
    loss = lambda p: -jt.reduce_sum(stats.gamma.logpdf(x, p[0], scale=p[1]))  # noqa: E731
    at, step = np.array([1.8, 1.4]), 1e-5
    hessian = jt.hessian(loss)(at)
    gradient = jt.grad(loss)
    rows = [(gradient(at + step * e) - gradient(at - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(hessian, rows, rtol=1e-6)


def test_frozen_float32_and_shapes() -> None:
    frozen = stats.norm(loc=1.0, scale=2.0)
    np.testing.assert_allclose(frozen.logpdf([1.0, 2.0]).numpy(), scipy.stats.norm(1, 2).logpdf([1, 2]))
    assert float(frozen.mean()) == 1.0
    assert stats.norm.logpdf(np.float32([1.0])).dtype == "float32"
    assert stats.norm.logpdf(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4)
    assert repr(stats.norm) == "<jittape.scipy.stats.norm>"


def test_refusals() -> None:
    with pytest.raises(TypeError, match=r"\[gamma.logpdf\] needs the shape parameter a"):
        stats.gamma.logpdf(1.0)
    with pytest.raises(TypeError, match=r"\[norm.pdf\] has no parameter 'sigma', only loc, scale"):
        stats.norm.pdf(1.0, sigma=2.0)
    with pytest.raises(TypeError, match=r"\[norm.pdf\] got loc twice"):
        stats.norm.pdf(1.0, 2.0, loc=2.0)
    with pytest.raises(TypeError, match=r"\[norm.pdf\] takes the parameters loc, scale, got 3 values"):
        stats.norm.pdf(1.0, 2.0, 3.0, 4.0)
    with pytest.raises(AttributeError, match=r"\[poisson.rvs\] is missing: .*jittape.numpy.random"):
        stats.poisson.rvs(2.0)
    with pytest.raises(AttributeError, match=r"\[norm.fit\] is not recorded; call scipy.stats.norm.fit"):
        stats.norm.fit([1.0])
    with pytest.raises(jt.NoGradientError, match=r"\[ncx2.cdf\] has no derivative with respect to df"):
        jt.grad(lambda df: stats.ncx2.cdf(1.0, df, 2.0))(3.0)
    with pytest.raises(AttributeError, match=r"poisson has logpmf"):
        stats.poisson.logpdf(1, 2.0)
    with pytest.raises(AttributeError, match="frozen norm has no attribute 'shape'"):
        stats.norm().shape  # noqa: B018
    with pytest.raises(jt.DTypeError, match="real numbers only"):
        stats.norm.logpdf(1j)


# ---- several variables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cov", [2.0, [1.0, 2.0, 3.0], "matrix"])
def test_multivariate_normal(cov: Any) -> None:
    rng = np.random.default_rng(5)
    a = rng.normal(size=(3, 3))
    cov = a @ a.T + np.eye(3) if isinstance(cov, str) else np.asarray(cov)
    mean, x = rng.normal(size=3), rng.normal(size=(4, 2, 3))
    for method in ("logpdf", "pdf"):
        found = getattr(stats.multivariate_normal, method)(x, mean, cov)
        wanted = getattr(scipy.stats.multivariate_normal, method)(x, mean, cov)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(
        stats.multivariate_normal.entropy(mean, cov).numpy(),
        scipy.stats.multivariate_normal.entropy(mean, cov),
    )
    symmetric = (lambda c: (c + jt.transpose(c)) / 2) if cov.ndim == 2 else (lambda c: c)
    jt.check_gradient(
        lambda x, m, c: jt.reduce_sum(stats.multivariate_normal.logpdf(x, m, symmetric(c))), x, mean, cov
    )
    for given in (x[0, 0], 0.5):  # numbers of one dimension
        one = stats.multivariate_normal.logpdf(given, cov=2.0)
        np.testing.assert_allclose(one.numpy(), scipy.stats.multivariate_normal.logpdf(given, cov=2.0))
    with pytest.raises(jt.ShapeError, match=r"\[multivariate_normal.logpdf\] x must have 3 numbers"):
        stats.multivariate_normal.logpdf(np.ones(2), mean, cov)
    with pytest.raises(jt.ShapeError, match="cov an n by n matrix"):
        stats.multivariate_normal.logpdf(x, mean, np.ones((2, 2)))


@pytest.mark.parametrize("kind", ["matrix", "diagonal", "number"])
def test_multivariate_t(kind: str) -> None:
    rng = np.random.default_rng(6)
    a, loc, x = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(4, 2, 3))
    shape = {"matrix": a @ a.T + np.eye(3), "diagonal": np.array([1.0, 2.0, 3.0]), "number": np.array(1.7)}[
        kind
    ]
    full = {"matrix": shape, "diagonal": np.diag(np.atleast_1d(shape)[:3]), "number": shape * np.eye(3)}[kind]
    for method in ("logpdf", "pdf"):
        wanted = getattr(scipy.stats.multivariate_t, method)(x, loc, full, 3.5)
        for found in (
            getattr(stats.multivariate_t, method)(x, loc, shape, 3.5),
            getattr(stats.multivariate_t(loc, shape, 3.5), method)(x),
        ):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    symmetric = (lambda c: (c + jt.transpose(c)) / 2) if shape.ndim == 2 else (lambda c: c)
    jt.check_gradient(
        lambda x, m, c, df: jt.reduce_sum(stats.multivariate_t.logpdf(x, m, symmetric(c), df)),
        x, loc, shape, np.float64(3.5),
    )  # fmt: skip
    assert np.isnan(float(stats.multivariate_t.pdf([0.0], df=-1.0)))
    with pytest.raises(jt.ShapeError, match=r"\[multivariate_t.pdf\] x must have 3 numbers"):
        stats.multivariate_t.pdf(np.ones(2), loc, shape)
    with pytest.raises(
        jt.ShapeError, match=r"\[multivariate_t.pdf\] loc must be a vector .* and shape an n by n"
    ):
        stats.multivariate_t.pdf(x, loc, np.ones((2, 2)))
    with pytest.raises(AttributeError, match=r"\[multivariate_t.cdf\] is not recorded"):
        stats.multivariate_t.cdf(x)


def test_dirichlet_and_multinomial() -> None:
    alpha, x = np.array([0.5, 2.0, 3.0]), np.array([0.2, 0.3, 0.5])
    for given in (x, x[:2], np.stack([x, x[::-1]], 1)):
        for method in ("logpdf", "pdf"):
            found = getattr(stats.dirichlet, method)(given, alpha).numpy()
            np.testing.assert_allclose(
                found, getattr(scipy.stats.dirichlet, method)(given, alpha), rtol=1e-12
            )
    for method in ("mean", "var", "entropy"):
        found = getattr(stats.dirichlet, method)(alpha).numpy()
        np.testing.assert_allclose(found, getattr(scipy.stats.dirichlet, method)(alpha), rtol=1e-12)
    jt.check_gradient(lambda x, a: stats.dirichlet.logpdf(x, a), x[:2], alpha)
    counts = np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1]])
    for method in ("logpmf", "pmf"):
        found = getattr(stats.multinomial, method)(counts, 6, x).numpy()
        np.testing.assert_allclose(found, getattr(scipy.stats.multinomial, method)(counts, 6, x), rtol=1e-12)
    found = jt.grad(lambda p: jt.reduce_sum(stats.multinomial.logpmf(counts[:2], 6, p)))(x)
    np.testing.assert_allclose(found, counts[:2].sum(0) / x)
    with pytest.raises(jt.ShapeError, match=r"\[dirichlet.pdf\]"):
        stats.dirichlet.pdf([0.5], alpha)


def test_normal_vectors_with_a_singular_covariance() -> None:
    """Points outside of the subspace of the covariance have the density 0."""
    basis = np.array([[1.0, 0.5], [0.2, 2.0], [-1.0, 0.3]])
    cov = basis @ basis.T
    x = np.vstack([np.array([[0.3, 0.2], [1.0, -2.0]]) @ basis.T, [[1.0, 0.0, 0.0]]])
    for method in ("logpdf", "pdf"):
        ours, wanted = (getattr(lib.multivariate_normal, method) for lib in (stats, scipy.stats))
        found = ours(x, np.zeros(3), cov, allow_singular=True).numpy()
        np.testing.assert_allclose(found, wanted(x, np.zeros(3), cov, allow_singular=True), rtol=1e-9)
        regular = ours(x, cov=cov + np.eye(3), allow_singular=True).numpy()
        np.testing.assert_allclose(regular, wanted(x, cov=cov + np.eye(3)), rtol=1e-12)

    def total(x: Any, cov: Any) -> Any:
        return jt.reduce_sum(stats.multivariate_normal.logpdf(x, cov=cov, allow_singular=True))

    inside = x[:2]
    np.testing.assert_allclose(jt.grad(total)(inside, cov), -inside @ np.linalg.pinv(cov), rtol=1e-9)
    regular = cov + np.eye(3)
    expected = jt.grad(lambda c: jt.reduce_sum(stats.multivariate_normal.logpdf(x, cov=c)))(regular)
    np.testing.assert_allclose(jt.grad(total, 1)(x, regular), expected, rtol=1e-9)
    indefinite = stats.multivariate_normal.logpdf(x, cov=np.diag([1.0, -1.0, 1.0]), allow_singular=True)
    assert np.isnan(indefinite.numpy()).all()  # SciPy raises an error


@pytest.mark.parametrize("name", sorted(DISCRETE))
def test_inverses_of_discrete_distributions(name: str) -> None:
    """The values are SciPy's; the gradient of a step function is None, and the reason is given."""
    ours, reference = getattr(stats, name), getattr(scipy.stats, name)
    shapes, levels = SHAPES.get(name, ()), np.array([-0.1, 0.0, 0.07, 0.5, 0.93, 1.0])
    for method in ("ppf", "isf"):
        wanted = getattr(reference, method)(levels, *shapes, loc=2)
        np.testing.assert_array_equal(getattr(ours, method)(levels, *shapes, loc=2).numpy(), wanted)
        compiled = jt.function(lambda q, m=method: getattr(ours, m)(q, *shapes, loc=2))
        for _ in range(2):
            np.testing.assert_array_equal(compiled(levels).numpy(), wanted)
    assert float(ours.median(*shapes)) == reference.median(*shapes)
    assert [float(end) for end in ours.interval(0.9, *shapes)] == [*reference.interval(0.9, *shapes)]
    with jt.GradientTape() as tape:
        q = jt.Variable(levels)
        y = ours.ppf(q, *shapes)
    assert "piecewise constant" in str(tape.explain(y, q))


def test_medians_and_intervals_are_differentiable() -> None:
    low, high = stats.gamma.interval(0.9, 2.0, scale=1.5)
    np.testing.assert_allclose([low, high], scipy.stats.gamma.interval(0.9, 2.0, scale=1.5), rtol=1e-12)
    slope = jt.grad(lambda s: stats.norm.median(0.5, s) + stats.norm.interval(0.9, 0.5, s)[1])(
        np.float64(2.0)
    )
    assert float(slope) == pytest.approx(scipy.stats.norm.ppf(0.95), rel=1e-12)


def test_limits_of_parameters_and_integers() -> None:
    x, q = np.array([-1.0, 0.0, 0.5, 3.0]), np.array([0.0, 0.2, 0.7, 1.0])
    calls: list[Any] = [
        *[lambda m, name=name: getattr(m.t, name)(x, np.inf, 0.5, 2.0) for name in ("logpdf", "cdf", "sf")],
        lambda m: [m.t.mean(np.inf), m.t.var(np.inf), m.t.entropy(np.inf)],
        lambda m: m.t.ppf(q, np.inf),
        *[lambda m, name=name: getattr(m.poisson, name)(x, 0.0) for name in ("pmf", "logpmf", "cdf", "sf")],
        *[
            lambda m, f=f, ab=ab: getattr(m.truncnorm, f)(*ab)
            for f in ("mean", "var", "std")
            for ab in ((-np.inf, 1.0), (0.3, np.inf), (-np.inf, np.inf), (8.0, 9.0), (-20.0, -19.5))
        ],
        lambda m: m.norm.logpdf(np.array([True, False])),
        lambda m: m.gamma.cdf(np.array([1, 2], np.int8), 2.0),
    ]
    for call in calls:
        with np.errstate(all="ignore"):
            expected = np.asarray(call(scipy.stats))
        found = np.asarray(call(stats))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-8, atol=1e-300)
    # SciPy's entropy is nan for infinite bounds, and wrong in the tails.
    assert float(stats.truncnorm.entropy(-np.inf, np.inf)) == pytest.approx(
        scipy.stats.norm.entropy(), rel=1e-14
    )
    grid = np.linspace(8.0, 9.0, 100_001)
    p = scipy.stats.norm.pdf(grid) / (scipy.stats.norm.sf(8.0) - scipy.stats.norm.sf(9.0))
    entropy = scipy.integrate.simpson(-p * np.log(p), x=grid)
    assert float(stats.truncnorm.entropy(8.0, 9.0)) == pytest.approx(entropy, rel=1e-9)
    jt.check_gradient(lambda a, b: stats.truncnorm.var(a, b), np.float64(-0.5), np.float64(1.5))


# ---- tails -----------------------------------------------------------------------------------------------------------

TAILS: list[tuple[str, tuple[float, ...], list[float]]] = [
    ("beta", (0.5, 0.5), [1e-300, 1e-100, 1e-20, 1e-10, 1e-3]),
    ("beta", (1e-3, 2.0), [1e-300, 1e-100, 1e-20, 1e-10, 0.5]),
    ("expon", (), [1e-20, 1.0, 30.0, 100.0, 700.0]),
    ("logistic", (), [-700.0, -40.0, -20.0, 20.0, 40.0, 700.0]),
    ("gumbel_l", (), [-30.0, 5.0, 6.0]),
    ("gumbel_r", (), [-6.0, -5.0, 30.0]),
    ("pareto", (3.5,), [1.5, 1e3, 1e5, 1e10]),
    ("rayleigh", (), [1e-10, 10.0, 30.0]),
    ("weibull_min", (2.0,), [1e-10, 5.0, 6.0, 20.0]),
]


@pytest.mark.parametrize(("name", "shapes", "at"), TAILS)
def test_tails_and_their_gradients(name: str, shapes: tuple[float, ...], at: list[float]) -> None:
    """Both distribution functions have all digits in both tails, and their slopes are the density."""
    x = np.array(at)
    reference = getattr(scipy.stats, name)
    density, lower, upper = (getattr(reference, m)(x, *shapes) for m in ("pdf", "cdf", "sf"))
    upper = np.where(lower < 0.5, 1 - lower, upper)  # SciPy rounds sf of beta to 1 too early
    for method, sign, wanted in (("cdf", 1.0, lower), ("sf", -1.0, upper)):
        function = getattr(DISTRIBUTIONS[name], method)
        for way in (lambda f: f, jt.function):
            f = way(lambda x, f=function: f(x, *shapes))
            np.testing.assert_allclose(f(x), wanted, rtol=1e-12)
            slope = jt.grad(lambda x, f=f: jt.reduce_sum(f(x)))(x)
            np.testing.assert_allclose(slope, sign * density, rtol=1e-11)


def test_inverses_near_zero() -> None:
    q = np.array([0.25, 0.5, 1 - 1e-10, 1 - 1e-16])
    for shapes in ((0.5, 0.5), (2.0, 3.0), (1.0, 3.0)):
        found = stats.beta.isf(q, *shapes)
        np.testing.assert_allclose(found, scipy.stats.beta.isf(q, *shapes), rtol=1e-10)
        slopes = jt.grad(lambda q, s=shapes: jt.reduce_sum(stats.beta.isf(q, *s)))(q)
        np.testing.assert_allclose(slopes, -1 / scipy.stats.beta.pdf(found.numpy(), *shapes), rtol=1e-9)


def test_large_parameters() -> None:
    for a in (10.0, 999.0, 1001.0, 1e6, 1e10):
        np.testing.assert_allclose(float(stats.gamma.entropy(a)), scipy.stats.gamma.entropy(a), rtol=1e-12)
        slope = 1 + (1 - a) * scipy.special.polygamma(1, a)
        if a < 1e5:
            np.testing.assert_allclose(jt.grad(stats.gamma.entropy)(np.float64(a)), slope, rtol=1e-7)
    k = np.array([0.0, 7.0, 1e8, 1e10])
    np.testing.assert_allclose(stats.nbinom.pmf(k, 5, 1e-9), scipy.stats.nbinom.pmf(k, 5, 1e-9), rtol=1e-10)


@pytest.mark.parametrize(("method", "wanted"), [("cdf", 0.5), ("sf", -0.5), ("logcdf", 1.0), ("logsf", -1.0)])
def test_laplace_has_slopes_at_its_center(method: str, wanted: float) -> None:
    assert float(jt.grad(getattr(stats.laplace, method))(0.0)) == wanted


def test_probabilities_of_narrow_intervals_and_many_trials() -> None:
    """Values where logarithms of almost equal numbers cancel, and where 1 - p is rounded, by mpmath."""
    a, b = 1.25, 1.25 + 1e-9
    found = stats.truncnorm.logpdf(a + 4e-10, a, b)
    assert float(found) == pytest.approx(np.log(1 / (b - a)), rel=1e-9)
    x = np.nextafter(-0.383, 0)
    value, slope = jt.value_and_grad(lambda low: stats.truncnorm.cdf(x, low, -0.195))(np.float64(-0.383))
    normal = float(mpmath.npdf(-0.383) / (mpmath.ncdf(-0.195) - mpmath.ncdf(-0.383)))
    assert float(value) == pytest.approx(normal * (x + 0.383), rel=1e-12)
    assert float(slope) == pytest.approx(-normal, rel=1e-9)
    n, k, p = 786079, 339677, 0.43188961157922523
    assert float(stats.binom.pmf(k, n, p)) == pytest.approx(scipy.stats.binom.pmf(k, n, p), rel=2e-10)
    n, p = 0.7856789735938268, 3.246870632465779e-07
    found = stats.nbinom.sf(194213791, n, p)
    assert float(found) == pytest.approx(1.427675271972943e-28, rel=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_supports(name: str) -> None:
    shapes = SHAPES.get(name, ())
    theirs, ours = getattr(scipy.stats, name), getattr(stats, name)
    for options in ({}, {"loc": 1.5}) if FORMULAS[name].discrete else ({}, {"loc": 1.5, "scale": 2.0}):
        wanted = theirs.support(*shapes, **options)
        np.testing.assert_allclose(ours.support(*shapes, **options), wanted)
        np.testing.assert_allclose(ours(*shapes, **options).support(), wanted)


def test_frozen_multivariate_distributions() -> None:
    rng = np.random.default_rng(3)
    x, mean, root = rng.normal(size=(4, 2)), rng.normal(size=2), rng.normal(size=(2, 2))
    for cov in (root @ root.T + np.eye(2), np.array([1.0, 2.0]), 0.5):
        found, wanted = stats.multivariate_normal(mean, cov), scipy.stats.multivariate_normal(mean, cov)
        for method in ("logpdf", "pdf"):
            np.testing.assert_allclose(getattr(found, method)(x).numpy(), getattr(wanted, method)(x))
        np.testing.assert_allclose(found.entropy().numpy(), wanted.entropy())
        np.testing.assert_array_equal(found.mean, mean)
    singular = np.outer([1.0, 2.0], [1.0, 2.0])
    at = np.array([0.5, 1.0])
    np.testing.assert_allclose(
        stats.multivariate_normal(cov=singular, allow_singular=True).logpdf(at).numpy(),
        scipy.stats.multivariate_normal(cov=singular, allow_singular=True).logpdf(at),
    )
    gradient = jt.grad(lambda m: stats.multivariate_normal(m).logpdf(at))(jt.zeros(2, jt.float64))
    np.testing.assert_allclose(gradient.numpy(), at)
    alpha, p = [1.0, 3.0], [0.25, 0.75]
    for method in ("mean", "var", "entropy"):
        expected = getattr(scipy.stats.dirichlet(alpha), method)()
        np.testing.assert_allclose(getattr(stats.dirichlet(alpha), method)().numpy(), expected)
    np.testing.assert_allclose(stats.dirichlet(alpha).pdf(p).numpy(), scipy.stats.dirichlet(alpha).pdf(p))
    np.testing.assert_allclose(
        stats.multinomial(3, p).pmf([1, 2]).numpy(), scipy.stats.multinomial(3, p).pmf([1, 2])
    )
    with pytest.raises(jt.errors.ShapeError, match="cov an n by n matrix"):
        stats.multivariate_normal([0.0, 1.0], np.eye(3))


@pytest.mark.parametrize(("name", "x"), [("genextreme", 0.7), ("genpareto", 0.7)])
def test_extreme_values_have_slopes_where_the_shape_is_zero(name: str, x: float) -> None:
    """The formulas divide by the shape; near zero a series takes their place, with its derivatives."""
    for method in ("logpdf", "cdf", "sf"):
        ours, reference = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
        for c in (0.0, 1e-9, 5e-3, -2e-2):
            found = jt.grad(lambda c, f=ours: f(x, c))(np.float64(c))
            slope = (reference(x, c + 1e-4) - reference(x, c - 1e-4)) / 2e-4
            assert float(found) == pytest.approx(slope, rel=1e-6), (method, c)
        curve = jt.grad(jt.grad(lambda c, f=ours: f(x, c)))(np.float64(0.0))
        wanted = (reference(x, 1e-3) - 2 * reference(x, 0.0) + reference(x, -1e-3)) / 1e-6
        assert float(curve) == pytest.approx(wanted, rel=1e-3), method


@pytest.mark.parametrize("c", [-0.11, -1.0, 0.4, 1.0])
def test_the_density_of_extreme_values_at_the_end_of_the_support(c: float) -> None:
    y = np.array([1 / c])
    for method in ("pdf", "logpdf", "cdf", "sf"):
        found = getattr(stats.genextreme, method)(y, c)
        np.testing.assert_array_equal(found, getattr(scipy.stats.genextreme, method)(y, c))
    slope = jt.grad(lambda c: stats.genextreme.logpdf(0.3, c))(np.float64(c))
    wanted = scipy.stats.genextreme.logpdf(0.3, c + 1e-5) - scipy.stats.genextreme.logpdf(0.3, c - 1e-5)
    assert float(slope) == pytest.approx(wanted / 2e-5, rel=1e-6)


def test_moments_of_frozen_distributions() -> None:
    frozen, wanted = stats.gamma(2.0, scale=1.5), scipy.stats.gamma(2.0, scale=1.5)
    np.testing.assert_allclose(frozen.stats(), wanted.stats(), rtol=1e-14)
    np.testing.assert_allclose(frozen.stats(moments="v"), wanted.stats(moments="v"), rtol=1e-14)
    for order in (1, 2):
        np.testing.assert_allclose(frozen.moment(order), wanted.moment(order), rtol=1e-14)
    np.testing.assert_allclose(frozen.interval(confidence=0.9)[1], wanted.interval(0.9)[1], rtol=1e-12)


def test_missing_methods_name_scipys_function() -> None:
    normal = stats.multivariate_normal
    for owner, method, message in (
        (normal, "marginal", "call scipy.stats.multivariate_normal.marginal on arrays"),
        (normal([0.0, 0.0]), "rvs", "samples come from jittape.numpy.random"),
        (stats.multinomial, "cov", "call scipy.stats.multinomial.cov on arrays"),
        (stats.dirichlet, "rvs", "samples come from jittape.numpy.random"),
        (stats.norm(1.0), "nnlf", "call scipy.stats.norm.nnlf on arrays"),
        (normal, "shape", "multivariate_normal has no attribute 'shape'"),
    ):
        with pytest.raises(AttributeError, match=message):
            getattr(owner, method)
