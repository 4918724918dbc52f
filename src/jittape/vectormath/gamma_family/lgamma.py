"""The logarithm of the gamma function, lgamma, and its derivative, digamma.

Between 1 and 5/2 both are polynomials times the factors of their zeros. Elsewhere they use a recurrence, and for large
arguments the asymptotic series (DLMF 5.11.1, 5.11.2). For negative arguments digamma uses the reflection formula (DLMF
5.5.4), and lgamma calls the C library. float32 is computed in float64. Coefficients are interpolated at Chebyshev
nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.vectormath.double_word import polynomial
from jittape.vectormath.sin import moderate_tan

__all__ = ["DIGAMMA_ASYMPTOTIC", "STIRLING", "digamma", "lgamma", "lgamma_of_one_plus"]

#: ``digamma(x) / (x - root)`` in x - 7/4 on [1, 5/2].
_DIGAMMA = (
    0.8581832171262995,
    -0.3262546278681057,
    0.15712011335203557,
    -0.0822855863557742,
    0.04479965445346896,
    -0.0248900484893292,
    0.013985786157508626,
    -0.007910468765551373,
    0.004491814231667347,
    -0.0025566867017622107,
    0.0014573684965110889,
    -0.0008314950839455225,
    0.00047472772527107213,
    -0.0002711057203797016,
    0.00015459216568650946,
    -8.831646074466962e-05,
    5.140014905306479e-05,
    -2.936862874450264e-05,
    1.4484177011634043e-05,
    -8.276292697842558e-06,
    8.51057695623017e-06,
    -4.8631356044938135e-06,
    -1.236050759758137e-06,
    7.063203600167428e-07,
    2.078409164543408e-06,
    -1.1876609363542229e-06,
)
#: ``lgamma(1 + u) / (u (u - 1))`` in u - 3/4 on [0, 3/2].
_LGAMMA = (
    0.4501393121092563,
    -0.11948158662524268,
    0.044520447198509644,
    -0.019053957830260832,
    0.008776370425257302,
    -0.004226194125189418,
    0.0020955338799232407,
    -0.0010605660937984334,
    0.0005448969907212743,
    -0.00028319036037842405,
    0.0001485167612603942,
    -7.8464050392945e-05,
    4.170547456941329e-05,
    -2.226821449897537e-05,
    1.194925036645649e-05,
    -6.487859797094674e-06,
    3.5071990932812468e-06,
    -1.76764375827818e-06,
    9.597109616498142e-07,
    -7.562612463459416e-07,
    4.142761109248788e-07,
    3.404324894896923e-08,
    -1.9561462574604242e-08,
    -1.577723410210679e-07,
    8.702854149462274e-08,
)
#: The positive zero of digamma, in two words.
_ROOT = (1.4616321449683622, 9.549995429965697e-17)
#: B(2k) / (2k (2k - 1)), with B the Bernoulli numbers, for lgamma.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
#: B(2k) / (2k), for digamma.
DIGAMMA_ASYMPTOTIC = (
    1 / 12,
    -1 / 120,
    1 / 252,
    -1 / 240,
    1 / 132,
    -691 / 32760,
    1 / 12,
    -3617 / 8160,
    43867 / 14364,
)
_HALF_LOG_2_PI = 0.9189385332046728
#: Smallest argument of the asymptotic series.
_LARGE = 8.0


def lgamma(m: Any, x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function."""
    if x.dtype == np.float32:
        return m.cast(lgamma(m, m.cast(x, np.float64)), np.float32)
    first, large = x < 1, x >= _LARGE
    u, u_minus_1, product, _ = _lower(m, x)
    logarithm = m.log(m.where(first | large, m.absolute(x), product))
    near = u * u_minus_1 * polynomial(u - 0.75, _LGAMMA) + m.where(first, -logarithm, logarithm)
    inverse = 1 / x
    correction = _HALF_LOG_2_PI - 0.5 + inverse * polynomial(inverse * inverse, STIRLING)
    far = (x - 0.5) * (logarithm - 1) + correction
    result = m.where(large, far, near)
    return m.rarely(x < 0, "lgamma", x, m.where(x == 0, np.inf, result))


def lgamma_of_one_plus(u: Any) -> Any:
    """Return ``lgamma(1 + u)`` for u between 0 and 3/2, also if 1 + u would be rounded."""
    return u * (u - 1) * polynomial(u - 0.75, _LGAMMA)


def digamma(m: Any, x: Any) -> Any:
    """Return the logarithmic derivative of the gamma function; nan at the negative integers."""
    if x.dtype == np.float32:
        return m.cast(digamma(m, m.cast(x, np.float64)), np.float32)
    positive = _positive_digamma(m, m.where(x < 0, 1 - x, x))
    r = x - m.rint(x)
    reflected = positive - np.pi / moderate_tan(m, np.pi * r)
    undefined = (x == -np.inf) | (r == 0)
    reflected = m.where(undefined, m.literal(np.nan, x.dtype), reflected)
    return m.where(x < 0, reflected, m.where(x == 0, m.copysign(np.inf, -x), positive))


def _positive_digamma(m: Any, x: Any) -> Any:
    """Return digamma of a positive number."""
    u, _, product, derivative = _lower(m, x)
    first = x < 1
    from_root = (u - (_ROOT[0] - 1)) - _ROOT[1]
    reciprocals = m.where(first, -1.0, derivative) / m.where(first, x, product)
    near = from_root * polynomial(u - 0.75, _DIGAMMA) + reciprocals
    inverse = 1 / x
    square = inverse * inverse
    far = m.log(x) - (0.5 * inverse + square * polynomial(square, DIGAMMA_ASYMPTOTIC))
    return m.where(x < _LARGE, near, m.where(x < np.inf, far, x))


def _lower(m: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Return u, u - 1, product and its derivative, with ``gamma(x) = product * gamma(1 + u)`` for 1 <= x < 8.

    u is in [0, 3/2), and ``product = (u + 1) (u + 2) ...``. For x below 1, u is x and ``gamma(x) = gamma(1 + u) / x``.
    """
    one, zero = m.literal(1, x.dtype), m.literal(0, x.dtype)
    steps = m.floor(m.where(x < _LARGE, x, _LARGE) + 0.5) - 2
    steps = m.where(steps > 0, steps, zero)
    first = x < 1
    u = m.where(first, x, (x - 1) - steps)
    product, derivative = one, zero
    for step in range(1, 7):
        within, factor = steps >= step, u + step
        derivative = m.where(within, derivative * factor + product, derivative)
        product = m.where(within, product * factor, product)
    return u, m.where(first, x - 1, (x - 2) - steps), product, derivative
