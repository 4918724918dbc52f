"""The gamma and beta functions and their integrals, as SciPy's ufuncs define them at all real numbers."""

from __future__ import annotations

import math
from typing import Any

from jittape.primitives.elementwise import gamma_beta, incomplete_beta
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.incomplete_gamma import igamma, igammac
from jittape.primitives.elementwise.piecewise import absolute, floor, maximum, minimum, round, sign
from jittape.primitives.elementwise.special import lgamma
from jittape.primitives.identity import stop_gradient

__all__ = [
    "beta", "betainc", "betaincc", "betaln", "binom", "gammainc", "gammaincc", "gammasgn", "loggamma", "poch",
]  # fmt: skip

NAN, INF = math.nan, math.inf


def gammasgn(x: Any) -> Any:
    """Return the sign of gamma: alternating between the negative integers, nan at them."""
    below = floor(x)
    odd = greater(absolute(subtract(below, multiply(2.0, floor(multiply(0.5, below))))), 0.5)
    left = where(logical_or(equal(x, below), is_nan(x)), NAN, where(odd, -1.0, 1.0))
    return where(greater(x, 0), 1.0, where(equal(x, 0), sign(divide(1.0, x)), left))


def loggamma(x: Any) -> Any:
    """Return the principal branch of the logarithm of gamma: nan for negative numbers."""
    return where(less(x, 0), NAN, lgamma(x))


def betaln(a: Any, b: Any) -> Any:
    """Return the logarithm of the absolute value of `beta`."""
    positive = greater(minimum(a, b), 0)
    inner = gamma_beta.betaln(where(positive, a, 1.0), where(positive, b, 1.0))
    return where(positive, inner, subtract(add(lgamma(a), lgamma(b)), lgamma(add(a, b))))


def beta(a: Any, b: Any) -> Any:
    """Return ``gamma(a) gamma(b) / gamma(a + b)``."""
    signs = multiply(multiply(gammasgn(a), gammasgn(b)), gammasgn(add(a, b)))
    positive = greater(minimum(a, b), 0)
    return multiply(stop_gradient(where(positive, 1.0, signs)), exp(betaln(a, b)))


def _log_ratio(top: Any, bottom: Any) -> Any:
    """Return ``lgamma(top) - lgamma(bottom)``; by the beta function if both are large, where the terms cancel."""
    change = subtract(top, bottom)
    large = logical_and(greater(minimum(top, bottom), 20.0), greater(absolute(change), 0))
    size = where(large, absolute(change), 1.0)
    distance = subtract(lgamma(size), gamma_beta.betaln(where(large, minimum(top, bottom), 1.0), size))
    return where(large, multiply(sign(change), distance), subtract(lgamma(top), lgamma(bottom)))


def poch(z: Any, m: Any) -> Any:
    """Return ``gamma(z + m) / gamma(z)``; by reflection where `z` is a pole and `m` whole."""
    top = add(z, m)
    poles = logical_and(logical_and(less_equal(z, 0), equal(z, floor(z))), equal(m, floor(m)))
    odd = subtract(m, multiply(2.0, floor(multiply(0.5, m))))
    signs = where(poles, subtract(1.0, multiply(2.0, odd)), multiply(gammasgn(top), gammasgn(z)))
    log_size = _log_ratio(where(poles, subtract(1.0, z), top), where(poles, subtract(1.0, top), z))
    return multiply(stop_gradient(signs), exp(log_size))


def binom(n: Any, k: Any) -> Any:
    """Return ``gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1))``; integers give exact integers."""
    n1, k1, rest = add(n, 1.0), add(k, 1.0), add(subtract(n, k), 1.0)
    least, most = minimum(k1, rest), maximum(k1, rest)
    size = exp(subtract(_log_ratio(n1, most), lgamma(least)))
    signs = multiply(multiply(gammasgn(n1), gammasgn(k1)), gammasgn(rest))
    whole = logical_and(equal(n, floor(n)), equal(k, floor(k)))
    outside = logical_and(equal(k, floor(k)), less(minimum(k1, where(whole, rest, k1)), 0.5))
    value = multiply(stop_gradient(where(outside, 1.0, signs)), size)
    snap = logical_and(whole, less(value, 1e14))
    value = add(value, stop_gradient(where(snap, subtract(round(value), value), 0.0)))
    poles = logical_and(equal(n, floor(n)), less(n, 0))
    return where(poles, NAN, where(outside, 0.0, value))


def gammainc(a: Any, x: Any) -> Any:
    """Return the regularized integral of the gamma function from 0 to `x`: 1 for ``a = 0``."""
    return where(_only_at_zero(a, x), 1.0, igamma(a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """Return the complement of `gammainc`."""
    return where(_only_at_zero(a, x), 0.0, igammac(a, x))


def _only_at_zero(a: Any, x: Any) -> Any:
    return logical_and(equal(a, 0), greater(x, 0))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function: a step at 0 for ``a = 0``, at 1 for ``b = 0``."""
    inside = logical_and(greater_equal(x, 0), less_equal(x, 1))
    at_zero = logical_and(inside, logical_and(equal(a, 0), greater(b, 0)))
    at_one = logical_and(inside, logical_and(greater(a, 0), equal(b, 0)))
    value = incomplete_beta.betainc(where(at_zero, 1.0, a), where(at_one, 1.0, b), x)
    step = where(at_zero, where(greater(x, 0), 1.0, 0.0), where(less(x, 1), 0.0, 1.0))
    return where(logical_or(at_zero, at_one), step, value)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """Return the complement of `betainc`."""
    return betainc(b, a, subtract(1.0, x))
