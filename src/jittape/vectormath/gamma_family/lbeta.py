"""The terms of the logarithm of the multivariate beta function, in two words.

``lbeta(x) = sum(lgamma(x)) - lgamma(t)`` with t the sum of the elements. If t is at least 8, Stirling's series for
lgamma(t) is distributed over the elements, so that large terms do not cancel: an element below 8 contributes
``lgamma(x) - x (log(t) - 1)``, and others ``x log(x / t) - log(x) / 2`` plus the correction of Stirling's series.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import add_words, fast_two_sum, multiply_words, two_sum
from jittape.vectormath.gamma_family.gamma import HALF_LOG_2_PI, small_gamma, stirling_correction
from jittape.vectormath.pow import log_in_two_words

__all__ = ["Words", "lbeta_sum", "lbeta_term", "lbeta_term_of_total", "leading_part", "log_word", "sum_error"]

_LARGE = 8.0
"""Smallest argument of Stirling's series."""
_TINY = 1e-300
"""Below it, the logarithm of gamma(x) rounds to -log(x)."""

Words = tuple[Any, Any]


def lbeta_term(m: Any, x: Any, rest: Any, total: Any, log_total: Any, log_total_low: Any, unit: Any) -> Words:
    """Return two parts of what a positive element contributes; the arguments are float64.

    Parameters
    ----------
    x, rest, total
        The element, the sum of all others and that of all.
    log_total, log_total_low
        The words of the logarithm of `total`.
    unit
        The first part is rounded by it, as `leading_part` does; the second part is the rest.
    """
    is_large, zero = x >= _LARGE, m.literal(0, np.float64)
    # Of x below 8 only the logarithm of gamma(x) is needed, which is that of 1 / x for tiny x.
    (gamma, gamma_low), _ = small_gamma(m, m.where(is_large | (x < _TINY), 1.0, x))
    direct = is_large | (x < _TINY)
    logarithm = _log(m, m.where(direct, x, gamma), m.where(direct, 0.0, gamma_low))
    ratio = add_words(m, logarithm, (-log_total, -log_total_low))
    # Much greater than all others: the logarithms nearly cancel.
    greatest = rest < 0.25 * x
    close = -m.log1p(m.where(greatest, rest / x, 0.0))
    ratio = m.where(greatest, close, ratio[0]), m.where(greatest, 0.0, ratio[1])
    of_large = add_words(m, multiply_words(m, (x, zero), ratio), (-0.5 * logarithm[0], -0.5 * logarithm[1]))
    of_large = add_words(m, of_large, _stirling(m, m.where(is_large, x, _LARGE)))
    shift = multiply_words(m, (x, zero), add_words(m, (log_total, log_total_low), (zero - 1, zero)))
    shift = m.where(total < _LARGE, 0.0, shift[0]), m.where(total < _LARGE, 0.0, shift[1])
    sign = m.where(x < _TINY, -1.0, m.literal(1, np.float64))
    of_small = add_words(m, (sign * logarithm[0], sign * logarithm[1]), (-shift[0], -shift[1]))
    high, low = m.where(is_large, of_large[0], of_small[0]), m.where(is_large, of_large[1], of_small[1])
    leading = leading_part(m, high, unit)
    return leading, (high - leading) + low


def lbeta_term_of_total(
    m: Any, total: Any, total_low: Any, log_total: Any, log_total_low: Any, word: int
) -> Any:
    """Return a word of what the sum of the elements contributes, from the words of it and of its logarithm."""
    small = total < _LARGE
    limited = m.where(small & (total >= _TINY), total, 1.0)
    (gamma, gamma_low), _ = small_gamma(m, limited)
    high, low = _log(m, gamma, gamma_low)
    of_small = high, low + m.digamma(limited) * total_low
    tiny = total < _TINY
    of_large = add_words(
        m, (-0.5 * log_total, -0.5 * log_total_low), _stirling(m, m.where(small, _LARGE, total))
    )
    result = m.where(small, of_small[word], of_large[word])
    return -m.where(tiny, -(log_total_low if word else log_total), result)


def lbeta_word(m: Any, x: Any, rest: Any, total: Any, log_total: Any) -> Any:
    """Return what a positive element contributes, rounded to float64, for results in float32."""
    is_large = x >= _LARGE
    logarithm = m.log(x)
    greatest = rest < 0.25 * x
    ratio = m.where(greatest, -m.log1p(m.where(greatest, rest / x, 0.0)), logarithm - log_total)
    correction = HALF_LOG_2_PI[0] + stirling_correction(m.where(is_large, x, _LARGE))
    of_large = x * ratio - 0.5 * logarithm + correction
    shift = m.where(total < _LARGE, 0.0, x * (log_total - 1))
    return m.where(is_large, of_large, m.lgamma(m.where(is_large, 1.0, x)) - shift)


def lbeta_word_of_total(m: Any, total: Any, log_total: Any) -> Any:
    """Return what the sum of the elements contributes, rounded to float64."""
    small = total < _LARGE
    correction = HALF_LOG_2_PI[0] + stirling_correction(m.where(small, _LARGE, total))
    return -m.where(small, m.lgamma(m.where(small, total, 1.0)), correction - 0.5 * log_total)


def log_word(m: Any, x: Any, low: Any, word: int) -> Any:
    """Return a word of the logarithm of a positive two-word number."""
    return _log(m, x, low)[word]


def lbeta_sum(m: Any, leading: Any, rest: Any, term: Any, term_low: Any) -> Any:
    """Return the sum of the exact sum of leading parts, the sum of the other parts and the words of one more term."""
    total, error = two_sum(m, leading, term)
    return total + (error + (rest + term_low))


def leading_part(m: Any, x: Any, unit: Any) -> Any:
    """Return `x` rounded so that sums are exact: `unit` exceeds four times the sum of the sizes (S. Rump, 2008)."""
    return m.where(unit < np.inf, m.rounded_add(m.rounded_add(x, unit), -unit), x)


def sum_error(m: Any, x: Any, y: Any) -> Any:
    """Return the rounding error of a sum."""
    return two_sum(m, x, y)[1]


def _log(m: Any, x: Any, low: Any) -> Words:
    high, rest = log_in_two_words(m, x)
    return fast_two_sum(m, high, rest + low / x)


def _stirling(m: Any, x: Any) -> Words:
    """Return ``log(2 pi) / 2`` plus the correction of Stirling's series, of x of at least 8."""
    high, low = two_sum(m, m.literal(HALF_LOG_2_PI[0], np.float64), stirling_correction(x))
    return high, low + HALF_LOG_2_PI[1]
