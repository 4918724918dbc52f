"""Random numbers from the blocks of `philox`, by transformation and by rejection.

Uniform and normal numbers round each operation by itself. Compiled code, on every processor, and the interpreter
therefore give the same bits. A rejection draws the block of the next attempt, so that each element of a result depends
only on its own coordinates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from jittape.vectormath.exp import LN2_PARTS
from jittape.vectormath.log import LOG_SERIES, split
from jittape.vectormath.philox import Coordinates, attempt, philox

#: ``(sin(x) / x - 1) / z`` in z = x**2, up to x = pi/2, interpolated at Chebyshev nodes.
_SIN = {
    4: (-0.1666666567325592, 0.008333242498338223, -0.0001982273970497772, 2.634756356201251e-06),
    8: (
        -0.16666666666666666,
        0.008333333333333316,
        -0.00019841269841254974,
        2.7557319219163234e-06,
        -2.5052107616996182e-08,
        1.6058977312464087e-10,
        -7.643970296798572e-13,
        2.7314447669863995e-15,
    ),
}
_UNIT_BITS = {4: 32, 8: 53}
"""Random bits of the uniform number whose logarithm is taken, by the size of the dtype."""


def _polynomial(m: Any, x: Any, coefficients: tuple[float, ...]) -> Any:
    """Evaluate a polynomial by Horner's rule; every operation is rounded."""
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = m.rounded_add(m.rounded_multiply(x, result), coefficient)
    return result


def _log(m: Any, x: Any) -> Any:
    """Return the logarithm of a positive normal number, as `log.log` without its edges; every operation is rounded."""
    size = x.dtype.itemsize
    high, low = LN2_PARTS[size]
    k, f, _ = split(m, x)
    half_square = m.rounded_multiply(m.rounded_multiply(f, f), 0.5)
    s = f / m.rounded_add(f, 2.0)
    z = m.rounded_multiply(s, s)
    series = m.rounded_multiply(z, _polynomial(m, z, LOG_SERIES[size]))
    rest = m.rounded_multiply(s, m.rounded_add(half_square, series))
    correction = m.rounded_add(rest, m.rounded_multiply(k, low))
    small = m.rounded_add(m.rounded_add(half_square, -correction), -f)
    return m.rounded_add(m.rounded_multiply(k, high), -small)


def positive_unit(m: Any, bits: Any, dtype: DTypeLike) -> Any:
    """Return a uniform number in (0, 1] from 64 random bits."""
    size = np.dtype(dtype).itemsize
    kept = _UNIT_BITS[size]
    return m.rounded_multiply(m.cast((bits >> (64 - kept)) + 1, dtype), 2.0**-kept)


def _cosine_of_turns(m: Any, bits: Any, dtype: DTypeLike) -> Any:
    """Return the cosine of a random angle: the fraction of a turn is `bits` / 2**64.

    It is the sine of a quarter of a turn minus the angle's size, which is exact in integers.
    """
    quarter = (1 << 62) - m.absolute(m.cast(bits, np.int64))
    x = m.rounded_multiply(m.cast(quarter, dtype), 2 * math.pi * 2.0**-64)
    z = m.rounded_multiply(x, x)
    series = m.rounded_multiply(z, _polynomial(m, z, _SIN[np.dtype(dtype).itemsize]))
    return m.rounded_add(x, m.rounded_multiply(x, series))


def normal(m: Any, at: Coordinates, dtype: DTypeLike) -> Any:
    """Return a standard normal number (Box and Muller, Ann. Math. Stat. 29, 1958)."""
    low, high = philox(at)
    radius = m.sqrt(m.rounded_multiply(_log(m, positive_unit(m, low, dtype)), -2.0))
    return m.rounded_multiply(radius, _cosine_of_turns(m, high, dtype))


def truncated_normal(m: Any, at: Coordinates, dtype: DTypeLike) -> Any:
    """Return a standard normal number between -2 and 2, by rejection."""

    def step(number: Any, fixed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        x = normal(m, attempt(Coordinates(*fixed), number), dtype)
        return m.absolute(x) <= 2.0, (x,)

    (result,) = m.repeat(step, at, (m.literal(0, dtype),))
    return result
