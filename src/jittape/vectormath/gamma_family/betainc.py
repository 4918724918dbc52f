"""The regularized incomplete beta function I, and the integrals for its derivatives (`beta_derivatives`).

With ``t / (1 - t) = exp(-v) x / (1 - x)``, the integral of ``t**(a - 1) (1 - t)**(b - 1)`` from 0 to x is
``x**a (1 - x)**b`` times

    integral of exp(-d v - (a + b) (log(1 + x (exp(-v) - 1)) + x v)) over v from 0 to infinity,    d = a - (a + b) x.

For x up to the mean ``a / (a + b)``, the integrand decreases; beyond, I is ``1 - I`` with `a` and `b` exchanged. As in
`igamma`, a Gauss-Legendre rule for `a` + 2 and the recurrence DLMF 8.17.20 give the function. Next to 0 and 1, the
integral from that end is computed even beyond the mean; if it is nearly 1, its complement has a series. float32 is
computed in float64 with fewer nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.value_classes import NamedTuple
from jittape.vectormath.double_word import (
    FLOAT64,
    add_words,
    divide,
    multiply_words,
    polynomial,
    two_product,
    two_sum,
)
from jittape.vectormath.exp import LN2_PARTS, LOG2_E, exp_of_minus, second_order
from jittape.vectormath.gamma_family.gamma import Scaled, power_over_gamma_parts
from jittape.vectormath.gamma_family.igamma import log_minus_digamma
from jittape.vectormath.gamma_family.lgamma import lgamma_of_one_plus
from jittape.vectormath.gamma_family.quadrature import Rule, nodes, pairs
from jittape.vectormath.log import LOG_SERIES, split
from jittape.vectormath.pow import exp_in_two_words

__all__ = [
    "Side",
    "beta_density",
    "betainc",
    "difference_of_products",
    "integrals",
    "is_undefined",
    "limited",
    "moments",
    "side_of",
    "sides",
]

#: By size of the dtype: number of nodes of each interval, and the exponent at which the integrand is cut off.
_RULES = {4: (14, 18.0), 8: (28, 38.0)}
_GREATEST = 1e150
#: Up to ``z = _SMALL / max(1, a + b)``, the integral from the end 0 of z is computed.
_SMALL = 0.25
#: Binary exponent of the scale of the smallest arguments, and the scale's logarithm in two words.
_BITS, _LOG_OF_SCALE = 200, (138.62943611198907, -3.3555121496085278e-15)
#: Rows k, 1 / k of the series for these z.
_SERIES = tuple([(float(k), 1 / k) for k in range(1, 29)])


def betainc(m: Any, a: Any, b: Any, x: Any) -> Any:
    """Return I_x(a, b); nan unless `a` and `b` are positive and x is between 0 and 1."""
    size, dtype = x.dtype.itemsize, x.dtype
    a, b, x = (m.cast(value, np.float64) for value in (a, b, x))
    side = sides(m, a, b, x)
    near = _factor(m, side).times(m, _term(m, side, moments(m, side, (0, 0), _RULES[size])[0, 0]))
    near = m.where(near < 1, near, 1.0)
    few = ~side.lower & (near > 0.5) & side.is_small
    result = m.where(side.lower, near, m.where(few, _small_complement(m, side, ~few), 1 - near))
    result = m.where(x == 0, 0.0, m.where(x == 1, 1.0, result))
    return m.cast(m.where(is_undefined(a, b, x), m.literal(np.nan, np.float64), result), dtype)


def beta_density(m: Any, a: Any, b: Any, x: Any) -> Any:
    """Return ``x**(a - 1) (1 - x)**(b - 1)`` divided by the beta function: the derivative of I with respect to x."""
    dtype = x.dtype
    a, b, x = (m.cast(value, np.float64) for value in (a, b, x))
    side = sides(m, a, b, x)
    scale = m.where(side.z[0] < 2.0**-800, m.literal(2.0**_BITS, np.float64), 1.0)  # p / z may overflow
    z = side.z[0] * scale, side.z[1] * scale
    density = divide(m, (side.p, 0.0), multiply_words(m, z, side.rest))
    result = _factor(m, side).times(m, density) * scale
    infinity, end = m.literal(np.inf, np.float64), m.where(x == 0, a, b)
    other = m.where(x == 0, b, a)
    at_end = m.where(end < 1, infinity, m.where(end > 1, 0.0, other))
    result = m.where((x == 0) | (x == 1), at_end, result)
    return m.cast(m.where(is_undefined(a, b, x), m.literal(np.nan, np.float64), result), dtype)


def is_undefined(a: Any, b: Any, x: Any) -> Any:
    """Return where I is nan."""
    return ~((a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x >= 0) & (x <= 1))


def _within(m: Any, x: Any) -> Any:
    return m.where(x > 0, m.where(x < _GREATEST, x, _GREATEST), 1.0)


class Side(NamedTuple):
    """The arguments of the side on which the integral is computed.

    They are a, b, x and 1 - x, or b, a, 1 - x and x; all words but those of p and q are two.
    """

    lower: Any  #: whether it is I_x(a, b)
    p: Any
    q: Any
    z: tuple[Any, Any]
    rest: tuple[Any, Any]
    n: tuple[Any, Any]  #: a + b
    is_small: Any  #: whether z is


def limited(m: Any, a: Any, b: Any, x: Any) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Return the arguments with harmless values in place of those that are out of range, and 1 - x in two words."""
    x = m.where((x > 0) & (x < 1), x, 0.5)
    return _within(m, a), _within(m, b), x, two_sum(m, m.literal(1, np.float64), -x)


def sides(m: Any, a: Any, b: Any, x: Any, small: float = _SMALL) -> Side:
    """Return the side of x on which the integral is computed: that of a near end, else the lower one up to the mean.

    `small` is the largest distance of an end, times a + b if that is above 1. For derivatives it is 0: those of an
    integral that is nearly 1 would be differences of large terms.
    """
    a, b, x, y = limited(m, a, b, x)
    n = a + b
    scale = m.where(n > 1, n, 1.0)
    x_is_small, y_is_small = x * scale < small, y[0] * scale < small
    lower = x_is_small | ((x * b <= y[0] * a) & ~y_is_small)
    return side_of(m, lower, a, b, x, y)._replace(is_small=x_is_small | y_is_small)


def side_of(m: Any, lower: Any, a: Any, b: Any, x: Any, y: tuple[Any, Any]) -> Side:
    """Return the lower or the upper side of the arguments that `limited` returns."""
    p, q = m.where(lower, a, b), m.where(lower, b, a)
    z = m.where(lower, x, y[0]), m.where(lower, 0.0, y[1])
    rest = m.where(lower, y[0], x), m.where(lower, y[1], 0.0)
    return Side(lower, p, q, z, rest, two_sum(m, a, b), False)


def _small_complement(m: Any, side: Side, skip: Any) -> Any:
    """Return ``1 - I_z(p, q)`` for small p and z, without cancellation; undefined where `skip` holds.

    With ``y = z**p / (p B(p, q))``, it is ``1 - y - p y sum((1 - q) (2 - q) ... (k - q) z**k / (k! (p + k)))`` (DLMF
    8.17.7 and 15.2.1). The logarithm of p B(p, q) is that of ``gamma(1 + p)`` minus the integral of digamma from q to
    q + p.
    """

    def step(_: Any, fixed: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        p, q, z, n = fixed
        far = q >= 1
        scale, start = m.where(far, n, 1.0), m.where(far, q, q + 1)

        def add_logarithm(row: tuple[Any, ...], _: Any, sums: tuple[Any, ...]) -> tuple[Any, ...]:
            node, weight = row
            return (sums[0] + weight * log_minus_digamma(m, start + p * node, scale),)

        def add_power(row: tuple[Any, ...], _: Any, sums: tuple[Any, ...]) -> tuple[Any, ...]:
            total, power = sums
            k, inverse = row
            power = power * ((k - q) * (z * inverse))
            return total + power / (p + k), power

        zero = m.literal(0, np.float64)
        (mean,) = m.accumulate(add_logarithm, nodes(12), (p,), (zero,))
        total, _ = m.accumulate(add_power, _SERIES, (p,), (zero, m.literal(1, np.float64)))
        logarithm = p * (m.log(z * scale) - mean) - lgamma_of_one_plus(p)
        change = m.expm1(m.where(far, logarithm, logarithm - m.log1p(p / q)))
        return p == p, (-change - p * ((1 + change) * total),)

    inner = m.where(skip, 0.25, side.p)
    fixed = inner, side.q, side.z[0], side.n[0]
    (result,) = m.repeat(step, fixed, (m.literal(0, np.float64),), 1, skip)
    return result


def _factor(m: Any, side: Side) -> Scaled:
    """Return ``z**p rest**q gamma(n) / (gamma(p + 1) gamma(q))``.

    It is q / n times a quotient of ``t**p exp(-t) / gamma(p + 1)`` at t = z n, of the same for q at rest n, and of that
    for n at n.
    """
    _, p, q, z, rest, n, _ = side
    exponent, divisor = _power_of_end(m, p, z, n)
    other, other_divisor = power_over_gamma_parts(m, q, *_times_sum(m, rest, n))
    whole, whole_divisor = power_over_gamma_parts(m, n[0], n[0])
    exponent = add_words(m, add_words(m, exponent, other), (-whole[0], -whole[1]))
    power, n_bits = exp_in_two_words(m, *exponent)
    divisor = multiply_words(m, multiply_words(m, divisor, other_divisor), n)
    numerator = multiply_words(m, multiply_words(m, power, whole_divisor), (q, 0.0))
    return Scaled(divide(m, numerator, divisor), n_bits)


def _power_of_end(m: Any, p: Any, z: tuple[Any, Any], n: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the parts of ``t**p exp(-t) / gamma(p + 1)`` at t = z n; a z so small that exp(-t) is 1 is scaled.

    Else the product would be subnormal, with few digits or none.
    """
    tiny = (z[0] < 2.0**-800) | (z[0] * n[0] < 2.0**-900)
    scale = m.where(tiny, m.literal(2.0**_BITS, np.float64), 1.0)
    high, low = _times_sum(m, (z[0] * scale, z[1] * scale), n)
    empty = tiny & (high < 2.0**-1022)  # p is so small that its power is 1 at any t
    t = m.where(empty, 2.0**-1022, high), m.where(empty, 0.0, low)
    exponent, divisor = power_over_gamma_parts(m, p, *t)
    shift = multiply_words(m, (m.where(tiny, -p, 0.0), 0.0), _LOG_OF_SCALE)
    return add_words(m, exponent, shift), divisor


def _times_sum(m: Any, part: tuple[Any, Any], n: tuple[Any, Any]) -> tuple[Any, Any]:
    high, low = two_product(m, part[0], n[0])
    return high, low + (part[0] * n[1] + part[1] * n[0])


def _term(m: Any, side: Side, moment: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return I divided by `_factor`: ``1 + z n (1 + z (n + 1) moment) / (p + 1)``, in two words."""
    one = (m.literal(1, np.float64), 0.0)
    inner = multiply_words(m, multiply_words(m, add_words(m, side.n, one), side.z), moment)
    shifted = divide(m, add_words(m, inner, one), two_sum(m, side.p, one[0]))
    return add_words(m, multiply_words(m, multiply_words(m, side.n, side.z), shifted), one)


def moments(
    m: Any, side: Side, orders: tuple[int, int], rule: Rule, own: Any = True, raised: Any = 2.0
) -> dict[tuple[int, int], tuple[Any, Any]]:
    """Return the integrals of powers of the two logarithms up to `orders`, in two words; see `integrals`.

    Where `own` is false, the first logarithm is replaced by the second.
    """
    keys = [(i, j) for i in range(orders[0] + 1) for j in range(orders[1] + 1)]

    def weights(first: Any, of_rest: Any) -> list[Any]:
        first = first if own is True else m.where(own, first, of_rest)
        return [_power(first, i) * _power(of_rest, j) for i, j in keys]

    return dict(zip(keys, integrals(m, side, weights, len(keys), rule, raised), strict=True))


def integrals(
    m: Any,
    side: Side,
    weights: Callable[[Any, Any], list[Any]],
    size: int,
    rule: Rule,
    raised: Any = 2.0,
) -> list[tuple[Any, Any]]:
    """Return the integral of the module's docstring for p + 2, times each of `size` weights; in two words.

    The weights are functions of ``log(t / x)`` and ``log((1 - t) / (1 - x))``. `raised` replaces the 2.
    """
    count, cut = rule
    x, y, a = side.z[0], side.rest[0], side.p + raised
    # The sum p + 2 is rounded, so the slope is computed without it.
    slope = difference_of_products(m, side.p, side.rest, side.q, side.z) + raised * y
    n = a + side.q
    # For x above 1/2, log(1 + x (exp(-v) - 1)) is log(1 + y (exp(v) - 1)) - v.
    small = x <= 0.5
    z = m.where(small, x, y)
    end = _end(m, slope, n * x * y, (cut - n * m.log(y)) / a, cut)
    # While z (exp(v) - 1) is less than 1, its logarithm log(1 + ...) is at least log(2) times that.
    growth = LOG2_E * (end + cut / (n * z))
    end = m.where(~small & (z * growth < 1), m.minimum(end, m.log1p(growth)), end)
    # The integrand bends where exp(-v) is (1 - x) / x: the intervals end there.
    bend = m.log(2 * x / (a * y))
    middle = m.where((bend > 0.1 * end) & (bend < end), bend, 0.5 * end)

    def step(row: tuple[Any, ...], _: Any, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        node, weight = row
        for start, width in ((middle, end - middle), (None, middle)):
            v = width * node if start is None else start + width * node
            signed = m.where(small, -v, v)
            second = second_order(m, signed)
            u = z * (second + signed)
            excess = _log_excess(m, u)
            value = (weight * width) * exp_of_minus(m, slope * v + n * (z * second - excess))
            logarithm = u - excess
            of_rest = m.where(small, -logarithm, v - logarithm)
            first = m.where(small, -v - logarithm, -logarithm)
            new: list[Any] = []
            for (high, low), factor in zip(pairs(sums), weights(first, of_rest), strict=True):
                high, error = two_sum(m, high, value * factor)
                new += [high, low + error]
            sums = tuple(new)
        return sums

    sums = m.accumulate(step, nodes(count), (x,), (m.literal(0, np.float64),) * (2 * size))
    return pairs(sums)


def _power(x: Any, exponent: int) -> Any:
    result = 1.0
    for _ in range(exponent):
        result = x * result
    return result


def difference_of_products(m: Any, a: Any, y: tuple[Any, Any], b: Any, x: tuple[Any, Any]) -> Any:
    """Return ``a y - b x``, where x and y have two words."""
    first, first_low = two_product(m, a, y[0])
    second, second_low = two_product(m, b, x[0])
    total, error = two_sum(m, first, -second)
    return total + (error + (first_low - second_low + (a * y[1] - b * x[1])))


def _end(m: Any, slope: Any, curvature: Any, far: Any, cut: float) -> Any:
    """Return v at which the exponent is at least `cut`, and not much more.

    The exponent is at least ``slope v + curvature v**2 / (2 + v)``.
    """
    slope = m.where(slope > 0, slope, 0.0)
    linear = cut - 2 * slope
    total = slope + curvature
    root = m.sqrt(linear * linear + (8 * cut) * total)
    near = m.where(linear > 0, (linear + root) / (2 * total), (4 * cut) / (root - linear))
    return m.where(near < far, near, far)


def _log_excess(m: Any, u: Any) -> Any:
    """Return ``u - log(1 + u)`` for u above -1, without cancellation.

    With 1 + u = 2**k (1 + f) and s = f / (2 + f), ``f - log(1 + f)`` is ``s (f - s**2 P(s**2))``, see `log`. If k is 0,
    f is u.
    """
    k, _, exponent = split(m, 1 + u)
    scale = m.bitcast((2 * FLOAT64.bias - exponent) << FLOAT64.mantissa, np.float64)
    f = u * scale + (scale - 1)
    s = f / (2 + f)
    z = s * s
    high, low = LN2_PARTS[8]
    return ((u - f) - k * high - k * low) + s * (f - z * polynomial(z, LOG_SERIES[8]))
