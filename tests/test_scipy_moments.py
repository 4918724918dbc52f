"""Skewness, kurtosis, moments and mean values of functions, by formulas, integrals and sums."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import jittape as jt
from jittape.scipy import stats
from jittape.scipy.stats.distributions import FORMULAS
from test_scipy_stats import DISCRETE, DISTRIBUTIONS, SHAPES, keywords

HEAVY = {
    "betanbinom": (2.5, 30.5, 1.2), "betaprime": (1.5, 4.1), "burr": (4.1, 1.4), "burr12": (2.1, 2.1), "f": (3.5, 8.3),
    "fisk": (4.1,), "genextreme": (-0.22,), "genpareto": (0.22,), "invgamma": (4.1,), "loglaplace": (4.1,),
    "lomax": (4.1,), "mielke": (1.8, 4.1), "nct": (4.1, 0.6), "pareto": (4.1,), "t": (4.1,), "zipf": (5.1,),
}  # fmt: skip
"""Shape parameters with which the fourth moment of a heavy tail is barely finite."""
WRONG_IN_SCIPY = {
    "invweibull": "takes moments that do not exist from the gamma function",
    "exponpow": "integrates to eight digits",
    "johnsonsb": "integrates to six digits",
}
MANY = ("betanbinom", "yulesimon", "zipf")
"""Distributions whose sums converge slowly."""


@pytest.mark.parametrize("name", sorted(set(DISTRIBUTIONS) - set(WRONG_IN_SCIPY)))
def test_moments(name: str) -> None:
    shapes = HEAVY.get(name, SHAPES.get(name, ()))
    ours, theirs = DISTRIBUTIONS[name], getattr(scipy.stats, name)
    if name not in ("betanbinom", "alpha"):
        with np.errstate(all="ignore"):
            wanted = np.array(theirs.stats(*shapes, moments="mvsk", **keywords(name)))
        found = np.array([float(m) for m in ours.stats(*shapes, moments="mvsk", **keywords(name))])
        finite = np.isfinite(wanted)
        np.testing.assert_allclose(found[finite], wanted[finite], rtol=1e-7, atol=1e-9)
        assert not np.isfinite(found[~finite]).any()
    if name not in MANY:
        wanted = theirs.moment(3, *shapes, **keywords(name))
        found = ours.moment(3, *shapes, **keywords(name))
        np.testing.assert_allclose(found, wanted if np.isfinite(wanted) else np.nan, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", sorted(set(DISTRIBUTIONS) - set(MANY) - {"vonmises"}))
@pytest.mark.filterwarnings("ignore")  # SciPy's integrals overflow, or fail to converge
def test_mean_values(name: str) -> None:
    """One call gets all points; with bounds, SciPy's own sums and some of its integrals are wrong."""
    ours = DISTRIBUTIONS[name](*SHAPES.get(name, ()), **keywords(name))
    theirs = getattr(scipy.stats, name)(*SHAPES.get(name, ()), **keywords(name))

    def function(x: Any) -> Any:
        return 1 / (1 + x**2)

    tolerance = 2e-4 if name == "laplace_asymmetric" else 1e-7  # of SciPy's integrals
    wanted = theirs.expect(function)
    if name == "vonmises_line":  # SciPy does not move the bounds of the integral
        wanted = scipy.integrate.quad(lambda x: function(x) * theirs.pdf(x), *theirs.support())[0]
    np.testing.assert_allclose(ours.expect(function), wanted, rtol=tolerance)
    low, high = max(1.0, theirs.support()[0]), min(5.0, theirs.support()[1])
    if name in DISCRETE:
        integers = np.arange(low, high + 1)
        total, weight = np.sum(function(integers) * theirs.pmf(integers)), np.sum(theirs.pmf(integers))
    else:
        total = scipy.integrate.quad(lambda x: function(x) * theirs.pdf(x), low, high)[0]
        weight = theirs.cdf(high) - theirs.cdf(low)
    np.testing.assert_allclose(ours.expect(function, lb=1.0, ub=5.0), total, rtol=1e-7)
    np.testing.assert_allclose(
        ours.expect(function, lb=1.0, ub=5.0, conditional=True), total / weight, rtol=1e-7
    )


@pytest.mark.parametrize("name", ["gamma", "truncnorm", "exponpow", "vonmises", "rice", "binom", "poisson"])
def test_gradients(name: str) -> None:
    """Derivatives are those of differences, also where the support moves with a parameter."""
    shapes = [np.float64(s) for s in SHAPES[name]]
    places = [i for i in range(len(shapes)) if name != "binom" or i]
    distribution = DISTRIBUTIONS[name]
    calls: list[Any] = [
        *[lambda *p, letter=letter: distribution.stats(*p, moments=letter) for letter in "vsk"],
        distribution.entropy,
        lambda *p: distribution.moment(3, *p),
        lambda *p: distribution.expect(lambda x: 1 / (1 + x**2), p),
    ]
    for call in calls:
        for i in places:
            slope = jt.grad(call, argnums=i)(*shapes)
            step = 1e-5
            above, below = [float(call(*shapes[:i], shapes[i] + s, *shapes[i + 1 :])) for s in (step, -step)]
            np.testing.assert_allclose(
                0.0 if slope is None else slope, (above - below) / (2 * step), rtol=1e-6, atol=1e-10
            )


def test_arrays_of_parameters_and_compiled_calls() -> None:
    a = np.array([[1.3], [2.5]])
    b = np.array([0.7, 1.2, 4.0])
    for name in ("exponweib", "betabinom"):
        shapes = (7, a, b) if name == "betabinom" else (a, b)
        found = DISTRIBUTIONS[name].entropy(*shapes)
        one = [[getattr(scipy.stats, name).entropy(*shapes[:-2], v, w) for w in b] for v in a[:, 0]]
        np.testing.assert_allclose(found, one, rtol=1e-7)
    np.testing.assert_allclose(
        jt.function(stats.exponweib.entropy)(a, b), stats.exponweib.entropy(a, b), rtol=1e-12
    )
    single = stats.skewnorm.entropy(np.float32(1.2))
    assert single.dtype == "float32"
    np.testing.assert_allclose(single, scipy.stats.skewnorm.entropy(1.2), rtol=1e-6)


@pytest.mark.parametrize("name", ["exponpow", "johnsonsb"])
def test_integrals_have_all_digits(name: str) -> None:
    density: Any = {
        "exponpow": lambda x, b: b * x ** (b - 1) * mpmath.exp(1 + x**b - mpmath.exp(x**b)),
        "johnsonsb": lambda x, a, b: (
            b / (x * (1 - x)) * mpmath.npdf(a + b * mpmath.log(x / (1 - x))) if 0 < x < 1 else mpmath.mpf(0)
        ),
    }[name]
    ends = [0, 0.1, 0.5, 1, 2, 3] if name == "exponpow" else [0, 0.1, 0.5, 0.9, 1]
    with mpmath.workdps(30):
        powers = [
            mpmath.quad(lambda x, k=k: x**k * density(x, *map(mpmath.mpf, SHAPES[name])), ends)
            for k in range(5)
        ]
    mean, var = powers[1], powers[2] - powers[1] ** 2
    skewness = (powers[3] - 3 * mean * powers[2] + 2 * mean**3) / var**1.5
    kurtosis = (powers[4] - 4 * mean * powers[3] + 6 * mean**2 * powers[2] - 3 * mean**4) / var**2 - 3
    found = DISTRIBUTIONS[name].stats(*SHAPES[name], moments="mvsk")
    np.testing.assert_allclose(found, [*map(float, (mean, var, skewness, kurtosis))], rtol=2e-9)


def test_moments_that_do_not_exist_are_nan() -> None:
    for name, limit in (("pareto", 3.0), ("t", 3.0), ("invweibull", 3.0), ("lomax", 3.0)):
        assert np.isnan(float(DISTRIBUTIONS[name].stats(limit, moments="s")))
        assert np.isfinite(float(DISTRIBUTIONS[name].stats(limit + 0.01, moments="s")))


def test_the_variance_of_truncated_and_extreme_laws_keeps_its_digits() -> None:
    """Formulas whose terms cancel have a series there."""
    for b in (1e-6, 1e-3, 0.199, 0.201):
        x = mpmath.mpf(b) / 2
        assert float(stats.truncexpon.var(b)) == pytest.approx(
            float(1 - (x / mpmath.sinh(x)) ** 2), rel=1e-12
        )
    for c in (0.0, 1e-9, 5e-3, -5e-3, 0.02):
        g1, g2 = [mpmath.gamma(1 + k * mpmath.mpf(c)) for k in (1, 2)]
        wanted = (
            (mpmath.pi**2 / 6, mpmath.euler) if not c else ((g2 - g1**2) / mpmath.mpf(c) ** 2, (1 - g1) / c)
        )
        if c != 1e-9:
            assert float(stats.genextreme.var(c)) == pytest.approx(float(wanted[0]), rel=1e-11)
            assert float(stats.genextreme.mean(c)) == pytest.approx(float(wanted[1]), rel=1e-11)


def test_refusals() -> None:
    with pytest.raises(NotImplementedError, match=r"\[zipf.expect\] is a sum that converges slowly"):
        stats.zipf(3.0).expect()
    with pytest.raises(
        NotImplementedError, match=r"\[poisson.entropy\] sums over integers, whose number depends"
    ):
        jt.function(stats.poisson.entropy)(jt.constant(2.0))
    with pytest.raises(NotImplementedError, match=r"\[poisson.entropy\] sums over at most 1000000 integers"):
        stats.poisson.entropy(1e14)
    with pytest.raises(ValueError, match=r"\[norm.moment\] order must be at least 1, got 0"):
        stats.norm.moment(0)
    with pytest.raises(ValueError, match=r"\[norm.stats\] moments has the letters m, v, s and k, got 'mx'"):
        stats.norm.stats(moments="mx")
    assert np.isnan(float(stats.gamma.stats(-1.0, moments="s")))
    assert np.isnan(float(stats.poisson.entropy(-1.0)))
    assert sorted(DISCRETE) == sorted(n for n in DISTRIBUTIONS if FORMULAS[n].discrete)
