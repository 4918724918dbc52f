"""`ContinuousLaws`: the continuous laws of `numpy.random.Generator`, with its names and arguments.

Each law is a formula of uniform, normal, exponential or gamma numbers, so gradients flow to the parameters. The
formulas are those of Devroye, Non-Uniform Random Variate Generation (1986), chapters II and IX.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.dtypes import float64
from jittape.core.user_calls import shown
from jittape.module import Module
from jittape.numpy.random.law_parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    extents,
    float_of,
    ordered,
    real,
    refuse_out,
)
from jittape.numpy.random.normal_vectors import check_normal, factor_of
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import equal, less, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, expm1, sqrt
from jittape.primitives.elementwise.piecewise import round
from jittape.primitives.elementwise.powers import pow
from jittape.random.arguments import is_symbolic
from jittape.random.continuous import draw_normal, draw_uniform
from jittape.random.discrete import draw_poisson
from jittape.random.gammas import draw_beta, draw_dirichlet, draw_gamma
from jittape.random.location_scale import (
    draw_exponential,
    draw_gumbel,
    draw_laplace,
    draw_multivariate_normal,
    draw_von_mises,
)

__all__ = ["ContinuousLaws"]


class ContinuousLaws(Module):
    """Continuous laws over a source of random states. Numbers are float64 unless `dtype` says otherwise."""

    def _take(self, blocks: int) -> Any:
        """Return a state for `blocks` blocks of random bits, and advance."""
        raise NotImplementedError

    # ---- uniform and normal ----------------------------------------------------------------------------------------

    def random(self, size: Any = None, dtype: Any = float64, out: Any = None) -> Any:
        """Draw numbers in ``[0, 1)``; see `numpy.random.Generator.random`."""
        refuse_out("random", out)
        return draw_uniform("random", self._take, extents("random", size), 0, 1.0, float_of("random", dtype))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers in ``[low, high)``; see `numpy.random.Generator.uniform`."""
        low, high = real("uniform", "low", low), real("uniform", "high", high)
        ordered("uniform", "low", low, "high", high)
        if not (is_symbolic(low) or is_symbolic(high)) and not np.all(np.isfinite(np.subtract(high, low))):
            raise OverflowError(
                f"[random.uniform] high - low must be finite, got {shown(low)} and {shown(high)}"
            )
        shape = extents("uniform", size, low, high)
        return add(low, multiply(subtract(high, low), self.random(shape)))

    def standard_normal(self, size: Any = None, dtype: Any = float64, out: Any = None) -> Any:
        """Draw normal numbers of mean 0 and deviation 1; see `numpy.random.Generator.standard_normal`."""
        refuse_out("standard_normal", out)
        shape = extents("standard_normal", size)
        return draw_normal("standard_normal", self._take, shape, 0.0, 1.0, float_of("random", dtype))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw normal numbers; see `numpy.random.Generator.normal`."""
        loc, scale = real("normal", "loc", loc), real("normal", "scale", scale, *NOT_NEGATIVE)
        return add(loc, multiply(scale, self.standard_normal(extents("normal", size, loc, scale))))

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers whose logarithms are normal; see `numpy.random.Generator.lognormal`."""
        mean, sigma = real("lognormal", "mean", mean), real("lognormal", "sigma", sigma, *NOT_NEGATIVE)
        return exp(add(mean, multiply(sigma, self.standard_normal(extents("lognormal", size, mean, sigma)))))

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Any:
        """Draw normal vectors; see `numpy.random.Generator.multivariate_normal`.

        The method matters for arrays only. A covariance that is a tensor is factorized by Cholesky's method, whose
        gradient exists for equal eigenvalues too; it must be positive definite.
        """
        mean, cov = (real("multivariate_normal", n, x) for n, x in (("mean", mean), ("cov", cov)))
        lead = () if size is None else extents("multivariate_normal", size)
        check_normal(mean, cov, check_valid, method)
        factor = None
        if not is_symbolic(cov):
            cov, factor = None, factor_of(cov, check_valid, tol, method)
        return draw_multivariate_normal("multivariate_normal", self._take, lead, mean, cov, factor, float64)

    # ---- exponential and gamma -------------------------------------------------------------------------------------

    def standard_exponential(
        self, size: Any = None, dtype: Any = float64, method: str = "zig", out: Any = None
    ) -> Any:
        """Draw exponential numbers of mean 1; see `numpy.random.Generator.standard_exponential`."""
        refuse_out("standard_exponential", out)
        shape = extents("standard_exponential", size)
        return draw_exponential(
            "standard_exponential", self._take, shape, 1.0, float_of("standard_exponential", dtype)
        )

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw exponential numbers of mean `scale`; see `numpy.random.Generator.exponential`."""
        scale = real("exponential", "scale", scale, *NOT_NEGATIVE)
        return multiply(scale, self.standard_exponential(extents("exponential", size, scale)))

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = float64, out: Any = None) -> Any:
        """Draw gamma numbers of scale 1; see `numpy.random.Generator.standard_gamma`."""
        refuse_out("standard_gamma", out)
        shape = real("standard_gamma", "shape", shape, *NOT_NEGATIVE)
        return self._gamma("standard_gamma", extents("standard_gamma", size, shape), shape, dtype)

    def _gamma(self, op: str, extents: tuple[int, ...], shape: Any, dtype: Any = float64) -> Any:
        """Draw gamma numbers of scale 1; those of shape 0 are 0."""
        zero = equal(shape, 0.0)
        draw = draw_gamma(op, self._take, extents, where(zero, 1.0, shape), 1.0, float_of(op, dtype))
        return where(zero, 0.0, draw)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw gamma numbers; see `numpy.random.Generator.gamma`."""
        shape = real("gamma", "shape", shape, *NOT_NEGATIVE)
        scale = real("gamma", "scale", scale, *NOT_NEGATIVE)
        return multiply(scale, self._gamma("gamma", extents("gamma", size, shape, scale), shape))

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Draw beta numbers; see `numpy.random.Generator.beta`."""
        a, b = real("beta", "a", a, *POSITIVE), real("beta", "b", b, *POSITIVE)
        return draw_beta("beta", self._take, extents("beta", size, a, b), a, b, float64)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Draw vectors of positive numbers of sum 1; see `numpy.random.Generator.dirichlet`."""
        alpha = real("dirichlet", "alpha", alpha, *POSITIVE)
        lead = () if size is None else extents("dirichlet", size)
        return draw_dirichlet("dirichlet", self._take, lead, alpha, float64)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Draw chi-square numbers; see `numpy.random.Generator.chisquare`."""
        df = real("chisquare", "df", df, *POSITIVE)
        return multiply(2.0, self.standard_gamma(divide(df, 2.0), extents("chisquare", size, df)))

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Any:
        """Draw chi-square numbers of squares around `nonc`; see `numpy.random.Generator.noncentral_chisquare`."""
        df = real("noncentral_chisquare", "df", df, *POSITIVE)
        nonc = real("noncentral_chisquare", "nonc", nonc, *NOT_NEGATIVE)
        shape = extents("noncentral_chisquare", size, df, nonc)
        half = divide(nonc, 2.0)
        more = draw_poisson("noncentral_chisquare", self._take, shape, half, float64)
        return multiply(2.0, self.standard_gamma(add(divide(df, 2.0), more), shape))

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Any:
        """Draw numbers of Fisher's law; see `numpy.random.Generator.f`."""
        return self.noncentral_f(dfnum, dfden, 0.0, size)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
        """Draw ratios of chi-square numbers; see `numpy.random.Generator.noncentral_f`."""
        names = (("dfnum", dfnum, POSITIVE), ("dfden", dfden, POSITIVE), ("nonc", nonc, NOT_NEGATIVE))
        dfnum, dfden, nonc = (real("f", name, x, *rule) for name, x, rule in names)
        shape = extents("f", size, dfnum, dfden, nonc)
        above = self.noncentral_chisquare(dfnum, nonc, shape)
        return divide(divide(above, dfnum), divide(self.chisquare(dfden, shape), dfden))

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Draw numbers of Student's law; see `numpy.random.Generator.standard_t`."""
        df = real("standard_t", "df", df, *POSITIVE)
        shape = extents("standard_t", size, df)
        return multiply(self.standard_normal(shape), sqrt(divide(df, self.chisquare(df, shape))))

    def standard_cauchy(self, size: Any = None) -> Any:
        """Draw ratios of normal numbers; see `numpy.random.Generator.standard_cauchy`."""
        return divide(self.standard_normal(size), self.standard_normal(size))

    # ---- other laws ------------------------------------------------------------------------------------------------

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers of the Laplace law; see `numpy.random.Generator.laplace`."""
        loc, scale = real("laplace", "loc", loc), real("laplace", "scale", scale, *NOT_NEGATIVE)
        shape = extents("laplace", size, loc, scale)
        return draw_laplace("laplace", self._take, shape, loc, scale, float64)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers of the Gumbel law; see `numpy.random.Generator.gumbel`."""
        loc, scale = real("gumbel", "loc", loc), real("gumbel", "scale", scale, *NOT_NEGATIVE)
        return draw_gumbel("gumbel", self._take, extents("gumbel", size, loc, scale), loc, scale, float64)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers of the logistic law; see `numpy.random.Generator.logistic`."""
        loc, scale = real("logistic", "loc", loc), real("logistic", "scale", scale, *NOT_NEGATIVE)
        shape = extents("logistic", size, loc, scale)
        first, second = [draw_gumbel("logistic", self._take, shape, 0.0, 1.0, float64) for _ in range(2)]
        return add(loc, multiply(scale, subtract(first, second)))

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Draw numbers of the Lomax law; see `numpy.random.Generator.pareto`."""
        a = real("pareto", "a", a, *POSITIVE)
        return expm1(divide(self.standard_exponential(extents("pareto", size, a)), a))

    def power(self, a: Any, size: Any = None) -> Any:
        """Draw numbers of density ``a * x ** (a - 1)``; see `numpy.random.Generator.power`."""
        a = real("power", "a", a, *POSITIVE)
        return exp(divide(multiply(-1.0, self.standard_exponential(extents("power", size, a))), a))

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Draw numbers of the Weibull law; see `numpy.random.Generator.weibull`."""
        a = real("weibull", "a", a, *POSITIVE)
        return pow(self.standard_exponential(extents("weibull", size, a)), divide(1.0, cast(a, np.float64)))

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw lengths of normal vectors of the plane; see `numpy.random.Generator.rayleigh`."""
        scale = real("rayleigh", "scale", scale, *NOT_NEGATIVE)
        shape = extents("rayleigh", size, scale)
        return multiply(scale, sqrt(multiply(2.0, self.standard_exponential(shape))))

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Draw numbers of a triangular density; see `numpy.random.Generator.triangular`."""
        left, mode, right = (
            real("triangular", name, x) for name, x in (("left", left), ("mode", mode), ("right", right))
        )
        ordered("triangular", "left", left, "mode", mode)
        ordered("triangular", "mode", mode, "right", right)
        ordered("triangular", "left", left, "right", right, strictly=True)
        shape = extents("triangular", size, left, mode, right)
        unit, width = self.random(shape), subtract(right, left)
        below, above = subtract(mode, left), subtract(right, mode)
        rising = add(left, sqrt(multiply(multiply(width, below), unit)))
        falling = subtract(right, sqrt(multiply(multiply(width, above), subtract(1.0, unit))))
        return where(less(multiply(unit, width), below), rising, falling)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Any:
        """Draw angles in ``[-pi, pi]`` around `mu`; see `numpy.random.Generator.vonmises`."""
        mu, kappa = real("vonmises", "mu", mu), real("vonmises", "kappa", kappa, *NOT_NEGATIVE)
        draw = draw_von_mises("vonmises", self._take, extents("vonmises", size, mu, kappa), kappa, float64)
        angle = add(mu, draw)
        return subtract(angle, multiply(2 * math.pi, round(divide(angle, 2 * math.pi))))

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Any:
        """Draw inverse Gaussian numbers, by Michael, Schucany and Haas (1976); see `numpy.random.Generator.wald`."""
        mean, scale = real("wald", "mean", mean, *POSITIVE), real("wald", "scale", scale, *POSITIVE)
        shape = extents("wald", size, mean, scale)
        y = multiply(mean, pow(self.standard_normal(shape), 2))
        ratio = divide(mean, multiply(2.0, cast(scale, np.float64)))
        root = sqrt(add(multiply(multiply(4.0, scale), y), multiply(y, y)))
        x = add(mean, multiply(ratio, subtract(y, root)))
        first = less(multiply(self.random(shape), add(mean, x)), mean)
        return where(first, x, divide(multiply(mean, mean), x))
