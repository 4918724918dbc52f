"""The gamma and beta functions and their integrals, as SciPy's ufuncs define them at all real numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

from jittape.core.dtypes import float32, float64, float_limits
from jittape.primitives.broadcast import as_symbol
from jittape.primitives.elementwise import gamma_beta, incomplete_beta
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.bits import is_inf, is_nan
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.incomplete_gamma import igamma, igammac
from jittape.primitives.elementwise.piecewise import absolute, floor, maximum, minimum, round, sign
from jittape.primitives.elementwise.special import lgamma
from jittape.primitives.elementwise.trigonometric import cos, sin, tan
from jittape.primitives.identity import stop_gradient

__all__ = [
    "beta", "betainc", "betainc_of_parts", "betaincc", "betaln", "binom", "gammainc", "gammaincc", "gammasgn",
    "loggamma", "poch",
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


def _is_pole(x: Any) -> Any:
    return logical_and(logical_and(less_equal(x, 0), greater(x, -INF)), equal(x, floor(x)))


def _is_odd(x: Any) -> Any:
    return greater(absolute(subtract(x, multiply(2.0, floor(multiply(0.5, x))))), 0.5)


def _unit(x: Any) -> Any:
    """Return ``(-1)**x`` of whole numbers."""
    return stop_gradient(where(_is_odd(x), -1.0, 1.0))


def _zero_at_pole(log_factor: Any, signs: Any, x: Any) -> Any:
    """Return ``signs exp(log_factor) / gamma(x)`` at a pole of gamma, 0, with its derivative; 0 elsewhere.

    The derivative of ``1 / gamma`` at a pole is ``(-1)**x gamma(1 - x)``.
    """
    pole = where(_is_pole(x), x, 0.0)
    slope = exp(add(log_factor, lgamma(subtract(1.0, pole))))
    finite = where(less(slope, INF), slope, float(float_limits(as_symbol(x).dtype).max))
    return multiply(
        multiply(stop_gradient(multiply(signs, _unit(pole))), finite), subtract(pole, stop_gradient(pole))
    )


def _turned(step: Any, angle: Any) -> Any:
    """Return ``sin(pi (angle + step)) / sin(pi angle)`` for a whole `step`, with the derivatives of the sines."""
    turn = multiply(math.pi, subtract(step, stop_gradient(step)))
    slope = divide(sin(turn), tan(multiply(math.pi, angle)))
    return multiply(_unit(step), add(cos(turn), slope))


def _without_poles(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return operands at which beta is finite up to a sign, that sign, and where it is infinite.

    If `a` is a nonpositive integer and `b` a whole number, beta is ``(-1)**b beta(1 - a - b, b)`` as a limit, which is
    finite for ``0 < b < 1 - a``. Elsewhere it is infinite, without a sign as in SciPy.
    """
    swap = logical_and(_is_pole(b), logical_not(_is_pole(a)))
    pole, other = where(swap, b, a), where(swap, a, b)
    at_pole = _is_pole(pole)
    distance = subtract(1.0, add(pole, other))
    whole = logical_and(at_pole, logical_and(equal(other, floor(other)), greater(distance, 0)))
    finite = logical_and(whole, greater(other, 0))
    signs = where(logical_and(whole, _is_odd(other)), -1.0, 1.0)
    infinite = logical_and(at_pole, logical_not(finite))
    usual = logical_not(at_pole)
    defined = equal(other, other)
    first = where(usual, a, where(finite, distance, where(defined, 1.0, NAN)))
    second = where(usual, b, where(finite, other, 1.0))
    return first, second, signs, logical_and(infinite, defined)


def _betaln(a: Any, b: Any) -> Any:
    """Return the logarithm of the absolute value of beta away from its poles."""
    positive = greater(minimum(a, b), 0)
    inner = gamma_beta.betaln(where(positive, a, 1.0), where(positive, b, 1.0))
    first = less(a, b)
    least, most = where(first, a, b), where(first, b, a)
    ratio = _log_ratio(add(a, b), most, least)
    return where(positive, inner, where(_is_pole(add(a, b)), -INF, subtract(lgamma(least), ratio)))


def betaln(a: Any, b: Any) -> Any:
    """Return the logarithm of the absolute value of `beta`."""
    a, b, _, infinite = _without_poles(a, b)
    return where(infinite, INF, _betaln(a, b))


def beta(a: Any, b: Any) -> Any:
    """Return ``gamma(a) gamma(b) / gamma(a + b)``."""
    a, b, at_poles, infinite = _without_poles(a, b)
    signs = multiply(multiply(gammasgn(a), gammasgn(b)), gammasgn(add(a, b)))
    positive = greater(minimum(a, b), 0)
    size = where(infinite, INF, exp(_betaln(a, b)))
    total = add(a, b)
    zero = _zero_at_pole(add(lgamma(a), lgamma(b)), multiply(gammasgn(a), gammasgn(b)), total)
    value = multiply(stop_gradient(multiply(at_poles, where(positive, 1.0, signs))), size)
    return where(logical_and(_is_pole(total), logical_not(infinite)), zero, value)


def _log_ratio(top: Any, bottom: Any, change: Any) -> Any:
    """Return ``lgamma(top) - lgamma(bottom)`` where ``top = bottom + change``.

    If both are large, the terms cancel, and so does ``top - bottom``: the beta function of the smaller one and of the
    change is accurate.
    """
    large = logical_and(greater(minimum(top, bottom), 20.0), greater(absolute(change), 0))
    size = where(large, absolute(change), 1.0)
    distance = subtract(lgamma(size), gamma_beta.betaln(where(large, minimum(top, bottom), 1.0), size))
    return where(large, multiply(sign(change), distance), subtract(lgamma(top), lgamma(bottom)))


MAX_GAMMA = 171.0
"""Largest integer whose gamma function is finite in float64."""


def _exact_ratio(ratio: Any, top: Any, *bottoms: Any) -> Any:
    """Return `ratio`, a value of gamma of `top` over the product of those of `bottoms`, exact for small integers.

    The gamma function of an integer up to 23 is a float64, so the quotient is correctly rounded. That of larger
    integers is close to an integer, if it is below 2**49. `top` and `bottoms` are float64.
    """
    operands = (top, *bottoms)
    in_range = [logical_and(greater_equal(x, 1.0), less_equal(x, MAX_GAMMA)) for x in operands]
    whole = [logical_and(inside, equal(x, floor(x))) for x, inside in zip(operands, in_range, strict=True)]
    known = functools.reduce(logical_and, whole)
    quotient = functools.reduce(
        divide, [gamma_beta.gamma(stop_gradient(where(known, x, 1.0))) for x in operands]
    )
    integer = logical_and(greater(quotient, 0.5), less(quotient, 2.0**49))
    exact = where(integer, round(quotient), quotient)
    return add(ratio, stop_gradient(where(known, subtract(exact, ratio), 0.0)))


def poch(z: Any, m: Any) -> Any:
    """Return ``gamma(z + m) / gamma(z)``; by reflection if `m` is whole and `z` a pole or small.

    float32 is computed in float64, so that integers give exact integers there too.
    """
    dtype = as_symbol(z).dtype
    if dtype == float32:
        return cast(poch(cast(z, float64), cast(m, float64)), dtype)
    top = add(z, m)
    whole, pole = equal(m, floor(m)), _is_pole(z)
    reflected = logical_and(whole, logical_or(pole, less(maximum(z, top), 0.5)))
    above, below = where(reflected, subtract(1.0, z), top), where(reflected, subtract(1.0, top), z)
    turned = where(pole, _unit(m), divide(1.0, _turned(where(whole, m, 0.0), where(pole, 0.5, z))))
    signs = stop_gradient(multiply(gammasgn(above), gammasgn(below)))
    size = _exact_ratio(exp(_log_ratio(above, below, m)), above, below)
    value = multiply(where(reflected, turned, 1.0), multiply(signs, size))
    zero = _zero_at_pole(lgamma(above), multiply(where(reflected, _unit(m), 1.0), gammasgn(above)), below)
    value = where(_is_pole(below), zero, where(_is_pole(above), INF, value))
    return where(logical_and(is_inf(z), equal(m, 0)), 1.0, value)


def binom(n: Any, k: Any) -> Any:
    """Return ``gamma(n + 1) / (gamma(k + 1) gamma(n - k + 1))``; integers give exact integers.

    For whole k and ``n < k - 1``, it is ``(-1)**k binom(k - n - 1, k)``, which rounds no argument close to a pole.
    float32 is computed in float64.
    """
    dtype = as_symbol(n).dtype
    if dtype == float32:
        return cast(binom(cast(n, float64), cast(k, float64)), dtype)
    whole_k, whole_n = equal(k, floor(k)), equal(n, floor(n))
    flipped = logical_and(
        logical_and(whole_k, greater(k, 0.5)), logical_and(less(n, subtract(k, 1.0)), logical_not(whole_n))
    )
    n1 = where(flipped, subtract(k, n), add(n, 1.0))
    k1, rest = add(k, 1.0), where(flipped, negative(n), subtract(n, subtract(k, 1.0)))
    first = less(k1, rest)
    least, most = where(first, k1, rest), where(first, rest, k1)
    change = where(first, k, where(flipped, subtract(negative(n), 1.0), subtract(n, k)))
    size = _exact_ratio(exp(subtract(_log_ratio(n1, most, change), lgamma(least))), n1, most, least)
    signs = stop_gradient(multiply(multiply(gammasgn(n1), gammasgn(k1)), gammasgn(rest)))
    turned = _turned(where(flipped, k, 0.0), where(flipped, negative(n), 0.5))
    value = multiply(where(flipped, turned, 1.0), multiply(signs, size))
    snap = logical_and(logical_and(whole_n, whole_k), less(value, 1e14))
    value = add(value, stop_gradient(where(snap, subtract(round(value), value), 0.0)))
    value = where(logical_and(is_inf(n), equal(k, 0)), 1.0, value)
    last = _is_pole(rest)
    pole, other = where(last, rest, k1), where(last, k1, rest)
    zero = _zero_at_pole(subtract(lgamma(n1), lgamma(other)), multiply(gammasgn(n1), gammasgn(other)), pole)
    value = where(_is_pole(pole), where(_is_pole(other), 0.0, zero), value)
    value = where(logical_and(equal(k, -INF), equal(n, n)), 0.0, value)
    return where(logical_and(whole_n, less(n, 0)), NAN, value)


def gammainc(a: Any, x: Any) -> Any:
    """Return the regularized integral of the gamma function from 0 to `x`: 1 for ``a = 0``."""
    return where(_only_at_zero(a, x), 1.0, igamma(a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """Return the complement of `gammainc`."""
    return where(_only_at_zero(a, x), 0.0, igammac(a, x))


def _only_at_zero(a: Any, x: Any) -> Any:
    return logical_and(equal(a, 0), greater(x, 0))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function; parameters of 0 and infinity give steps at 0 or 1."""
    inside = logical_and(greater_equal(x, 0), less_equal(x, 1))
    first = logical_or(logical_and(equal(a, 0), greater(b, 0)), logical_and(equal(b, INF), less(a, INF)))
    at_zero = logical_and(logical_and(inside, first), greater_equal(a, 0))
    last = logical_or(logical_and(greater(a, 0), equal(b, 0)), logical_and(equal(a, INF), less(b, INF)))
    at_one = logical_and(logical_and(inside, last), greater_equal(b, 0))
    steps = logical_or(at_zero, at_one)
    value = incomplete_beta.betainc(where(steps, 1.0, a), where(steps, 1.0, b), x)
    step = where(at_zero, where(greater(x, 0), 1.0, 0.0), where(less(x, 1), 0.0, 1.0))
    return where(steps, step, value)


def betainc_of_parts(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return `betainc` of `x` for a known ``y = 1 - x``, so that an `x` close to 1 loses no digits."""
    half_of_digits = float(float_limits(as_symbol(x).dtype).eps) ** 0.5
    complement = betainc(b, a, y)
    near_one = logical_or(less(y, half_of_digits), logical_and(greater(x, 0.5), less(complement, 0.75)))
    return where(near_one, subtract(1.0, complement), betainc(a, b, x))


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """Return the complement of `betainc`; float32 is computed in float64, as a small value is a difference."""
    dtype = as_symbol(x).dtype
    if dtype == float32:
        return cast(betaincc(*[cast(v, float64) for v in (a, b, x)]), dtype)
    return betainc_of_parts(b, a, subtract(1.0, x), x)
