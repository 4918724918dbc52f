"""Functions of complex numbers, as formulas of their real and imaginary parts; edge cases are those of C99.

For complex64, moduli are computed in float64, which cannot overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "absolute", "cos", "cosh", "divide", "exp", "integer_power", "is_complex", "isfinite", "isinf", "log", "sin",
    "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip

_SHIFT = {4: 64.0, 8: 512.0}
"""By the bytes of a part: what is subtracted from a real part whose exponential may overflow before the product."""
_SATURATED = 22.0
"""Real part from which the absolute value of `tanh` is 1 in float64, and sinh and cosh are half of exp."""
_LARGE, _SMALL = 2.0**1020, 2.0**-900
_HALF_LOW, _HALF_HIGH = 0.5, 2.0


def is_complex(x: Any) -> bool:
    """Return whether a value is complex."""
    return bool(x.dtype.kind == "c")


def _parts(m: Any, z: Any) -> tuple[Any, Any]:
    return m.real(z), m.imag(z)


def _sizes(m: Any, z: Any) -> tuple[Any, Any, Any]:
    """Return the absolute values of both parts, the greater one first, and whether one of them is infinite."""
    x, y = (m.absolute(part) for part in _parts(m, z))
    return m.maximum(x, y), m.minimum(x, y), (x == np.inf) | (y == np.inf)


def _wide(m: Any, z: Any) -> Any:
    return m.cast(z, np.complex128)


def divide(m: Any, a: Any, b: Any) -> Any:
    """Return ``a / b`` by Smith's method, as NumPy (Communications of the ACM 5, 1962)."""
    x, y = _parts(m, a)
    p, q = _parts(m, b)
    p_size, q_size = m.absolute(p), m.absolute(q)
    first = p_size >= q_size
    large, small = m.where(first, p, q), m.where(first, q, p)
    u, v = m.where(first, x, y), m.where(first, y, x)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    real = (u + v * ratio) * scale
    imag = m.where(first, v - u * ratio, u * ratio - v) * scale
    by_zero = (p_size == 0) & (q_size == 0)
    return m.complex_number(m.where(by_zero, x / p_size, real), m.where(by_zero, y / p_size, imag))


def absolute(m: Any, z: Any) -> Any:
    """Return the modulus."""
    large, small, infinite = _sizes(m, z)
    if z.dtype == np.complex64:
        x, y = (m.cast(part, np.float64) for part in (large, small))
        found = m.cast(m.sqrt(x * x + y * y), np.float32)
    else:
        ratio = small / m.where(large == 0, 1, large)
        found = large * m.sqrt(1 + ratio * ratio)
    return m.where(infinite, np.inf, found)


def exp(m: Any, z: Any) -> Any:
    """Return the exponential."""
    x, y = _parts(m, z)
    shift = _SHIFT[x.dtype.itemsize]
    shifted = x > shift
    size = m.exp(m.where(shifted, x - shift, x))
    scale = m.where(shifted, m.literal(float(np.exp(shift)), x.dtype), 1)
    real, imag = size * m.cos(y) * scale, size * m.sin(y) * scale
    vague = ~m.isfinite(y)
    zero, infinite = vague & (x == -np.inf), vague & (x == np.inf)
    real = m.where(zero, 0, m.where(infinite, np.inf, real))
    imag = m.where(y == 0, y, m.where(zero, m.copysign(0, y), imag))
    return m.complex_number(real, imag)


def log(m: Any, z: Any) -> Any:
    """Return the natural logarithm, without cancellation near the unit circle."""
    x, y = _parts(m, z)
    angle = m.arctan2(y, x)
    dtype = x.dtype
    large, small, infinite = _sizes(m, _wide(m, z))
    large = m.where(infinite, np.inf, large)
    squares = large * large + small * small
    near = (squares > _HALF_LOW) & (squares < _HALF_HIGH)
    ratio = m.where(infinite, 0, small / m.where(large == 0, 1, large))
    rest = m.log1p(m.where(near, (large - 1) * (large + 1) + small * small, ratio * ratio))
    size = 0.5 * rest + m.where(near, 0, m.log(large))
    return m.complex_number(m.cast(size, dtype), angle)


def sqrt(m: Any, z: Any) -> Any:
    """Return the square root with a nonnegative real part."""
    x, y = _parts(m, _wide(m, z))
    large = m.maximum(m.absolute(x), m.absolute(y))
    big, tiny = large > _LARGE, large < _SMALL
    one = m.literal(1, x.dtype)
    scale = m.where(big, 2.0**-4, m.where(tiny, 2.0**108, one))
    a, b = x * scale, y * scale
    root = m.sqrt(0.5 * (m.absolute(a) + absolute(m, m.complex_number(a, b))))
    other = 0.5 * b / m.where(root == 0, 1, root)
    back = m.where(big, 2.0**2, m.where(tiny, 2.0**-54, one))
    root, other = root * back, other * back
    right = a >= 0
    infinite = m.absolute(y) == np.inf
    real = m.where(infinite, np.inf, m.where(right, root, m.absolute(other)))
    imag = m.where(infinite, y, m.where(right, other, m.copysign(root, b)))
    dtype = m.real(z).dtype
    return m.complex_number(m.cast(real, dtype), m.cast(imag, dtype))


def integer_power(m: Any, z: Any, exponent: int) -> Any:
    """Return ``z ** exponent`` by repeated squaring, in the order of NumPy's `power`."""
    one = m.literal(1, z.dtype)
    if exponent == 0:
        return m.where(z == z, one, one)
    result = None if 0 < exponent <= 3 else one
    left, factor = abs(exponent), z
    while left:
        if left & 1:
            result = factor if result is None else result * factor
        left >>= 1
        factor = factor * factor if left else factor
    if exponent < 0:
        result = m.reciprocal(result)
    return m.where(z == 0, 0 if exponent > 0 else complex(np.nan, np.nan), result)


def _sinh_and_cosh(m: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return sinh and cosh of a real number, divided by the third value if they may overflow."""
    shift = _SHIFT[x.dtype.itemsize]
    size = m.absolute(x)
    shifted = size > shift
    half = 0.5 * m.exp(m.where(shifted, size - shift, 0))
    sine = m.where(shifted, m.copysign(half, x), m.sinh(x))
    cosine = m.where(shifted, half, m.cosh(x))
    return sine, cosine, m.where(shifted, m.literal(float(np.exp(shift)), x.dtype), 1)


def sinh(m: Any, z: Any, vague_infinity: float = np.inf) -> Any:
    """Return the hyperbolic sine; `vague_infinity` is its real part where the sign is unspecified."""
    x, y = _parts(m, z)
    sine, cosine, scale = _sinh_and_cosh(m, x)
    turns = ~m.isfinite(y)
    vague = turns & (m.absolute(x) == np.inf)
    real = m.where(turns & (x == 0), x, m.where(vague, vague_infinity, sine * m.cos(y) * scale))
    return m.complex_number(real, m.where(y == 0, y, cosine * m.sin(y) * scale))


def cosh(m: Any, z: Any) -> Any:
    """Return the hyperbolic cosine."""
    x, y = _parts(m, z)
    sine, cosine, scale = _sinh_and_cosh(m, x)
    turns = ~m.isfinite(y)
    real = m.where(turns & (m.absolute(x) == np.inf), np.inf, cosine * m.cos(y) * scale)
    zero = m.where(x == x, m.copysign(1, x) * y, y)
    imag = m.where(turns & (x == 0), 0, sine * m.sin(y) * scale)
    return m.complex_number(real, m.where(y == 0, zero, imag))


def tanh(m: Any, z: Any) -> Any:
    """Return the hyperbolic tangent (Kahan, Branch cuts for complex elementary functions, 1987)."""
    x, y = _parts(m, z)
    size = m.absolute(x)
    far = size > _SATURATED
    tangent = m.tan(y)
    sine = m.sinh(m.where(far, 0, x))
    slope = 1 + tangent * tangent
    below = 1 + slope * sine * sine
    real = slope * m.sqrt(1 + sine * sine) * sine / below
    away = 4 * m.sin(y) * m.cos(y) * m.exp(-2 * size)
    turned = m.where(m.isfinite(y) & (m.absolute(y) > 1), away, y)
    imag = m.where(far, m.where(size == np.inf, m.copysign(0, turned), away), tangent / below)
    settled = far & (m.isfinite(y) | (size == np.inf))
    real = m.where(x == 0, x, m.where(settled, m.copysign(1, x), real))
    return m.complex_number(real, m.where(y == 0, y, imag))


def _turned(m: Any, z: Any) -> Any:
    """Return ``1j * z``."""
    return m.complex_number(-m.imag(z), m.real(z))


def _turned_back(m: Any, z: Any) -> Any:
    """Return ``-1j * z``."""
    return m.complex_number(m.imag(z), -m.real(z))


def sin(m: Any, z: Any) -> Any:
    """Return the sine."""
    return _turned_back(m, sinh(m, _turned(m, z), -np.inf))


def cos(m: Any, z: Any) -> Any:
    """Return the cosine."""
    return cosh(m, _turned(m, z))


def tan(m: Any, z: Any) -> Any:
    """Return the tangent."""
    return _turned_back(m, tanh(m, _turned(m, z)))


def isinf(m: Any, z: Any) -> Any:
    """Return whether a part is infinite."""
    x, y = _parts(m, z)
    return m.isinf(x) | m.isinf(y)


def isfinite(m: Any, z: Any) -> Any:
    """Return whether both parts are finite."""
    x, y = _parts(m, z)
    return m.isfinite(x) & m.isfinite(y)
