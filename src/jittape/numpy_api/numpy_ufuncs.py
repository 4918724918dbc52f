"""NumPy's ufuncs that are compositions of jittape's ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.core.traced_scalar import TracedScalar
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.bits import (
    bitcast,
    bitwise_and,
    is_finite,
    is_inf,
    is_nan,
    right_shift,
)
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from jittape.primitives.elementwise.complex_numbers import cast, complex, conj, imag, real
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.division import reciprocal as divide_reciprocal
from jittape.primitives.elementwise.exponential import exp, log1p
from jittape.primitives.elementwise.hyperbolic import logaddexp_op
from jittape.primitives.elementwise.piecewise import absolute, ceil, floor, maximum, minimum, round
from jittape.primitives.elementwise.piecewise import sign as piecewise_sign
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.elementwise.truncation import nextafter
from jittape.primitives.identity import identity, stop_gradient
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.reshaping import expand_dims, squeeze

__all__ = [
    "COMPLEX_ORDER",
    "bitwise_count",
    "cbrt",
    "copysign",
    "exp2",
    "fmax",
    "fmin",
    "frexp",
    "heaviside",
    "hypot",
    "in_order",
    "ldexp",
    "logaddexp2",
    "matvec",
    "modf",
    "next_after",
    "power",
    "power_of_int",
    "reciprocal",
    "rint",
    "sign",
    "signbit",
    "spacing",
    "to_degrees",
    "to_radians",
    "trunc",
    "vecmat",
]


def to_degrees(x: Any) -> Any:
    """Return `x` times 180 / pi, rounded as in NumPy."""
    return _scaled(x, 180.0, np.pi)


def to_radians(x: Any) -> Any:
    """Return `x` times pi / 180, rounded as in NumPy."""
    return _scaled(x, np.pi, 180.0)


def _scaled(x: Any, numerator: float, denominator: float) -> Any:
    wide = np.dtype(np.float32) if x.dtype == np.float16 else x.dtype
    return cast(multiply(cast(x, wide), wide.type(numerator) / wide.type(denominator)), x.dtype)


def signbit(x: Any) -> Any:
    """Return whether the sign bit is set, also that of a zero or nan."""
    return less(bitcast(stop_gradient(x), f"int{8 * x.dtype.itemsize}"), 0)


def sign(x: Any) -> Any:
    """Return -1, 0 or 1; of a complex number ``x / abs(x)``, also if one part is infinite."""
    if x.dtype.kind != "c":
        return piecewise_sign(x)
    size, a, b = absolute(x), real(x), imag(x)
    zero = equal(size, 0)
    known = where(zero, 1.0, size)
    first, second = (where(is_inf(part), piecewise_sign(part), 0.0) for part in (a, b))
    lost = logical_and(is_inf(a), is_inf(b))
    limit = complex(where(lost, float("nan"), first), where(lost, float("nan"), second))
    plain = where(zero, 0.0, complex(divide(a, known), divide(b, known)))
    return where(is_inf(x), limit, plain)


def reciprocal(x: Any) -> Any:
    """Return ``1 / x`` in the dtype of `x`; an integer is rounded toward zero, and 0 gives 0."""
    if x.dtype.kind in "iu":
        return where(equal(absolute(x), 1), x, 0)
    if x.dtype.kind != "c":
        return divide_reciprocal(x)
    a, b = real(x), imag(x)  # in NumPy's order of operations, which determines the signs of zeros
    first = less_equal(absolute(b), absolute(a))
    ratio = where(first, divide(b, a), divide(a, b))
    scale = where(first, add(a, multiply(b, ratio)), add(multiply(a, ratio), b))
    return complex(
        divide(where(first, 1.0, ratio), scale), divide(where(first, negative(ratio), -1.0), scale)
    )


def exp2(x: Any) -> Any:
    """Return 2 to the power `x`."""
    if x.dtype.kind != "c":
        return pow(2.0, x)
    log_2 = float(np.log(2))
    return exp(complex(multiply(real(x), log_2), multiply(imag(x), log_2)))


def rint(x: Any) -> Any:
    """Round to the nearest integer; a half is rounded to an even one."""
    return complex(round(real(x)), round(imag(x))) if x.dtype.kind == "c" else round(x)


def copysign(x: Any, y: Any) -> Any:
    """Return `x` with the sign of `y`."""
    return where(equal(signbit(x), signbit(y)), x, negative(x))


def fmax(x: Any, y: Any) -> Any:
    """Return the greater operand, or the one that is not nan."""
    return where(is_nan(x), y, where(is_nan(y), x, maximum(x, y)))


def fmin(x: Any, y: Any) -> Any:
    """Return the smaller operand, or the one that is not nan."""
    return where(is_nan(x), y, where(is_nan(y), x, minimum(x, y)))


# ---- the order of complex numbers ------------------------------------------------------------------------------------


def _precedes(x: Any, y: Any, or_equal: bool) -> Any:
    """Return NumPy's ``x < y`` of complex numbers: by the real parts, and by the imaginary parts of equal ones."""
    apart = logical_and(less(real(x), real(y)), logical_not(logical_or(is_nan(imag(x)), is_nan(imag(y)))))
    later = (less_equal if or_equal else less)(imag(x), imag(y))
    return logical_or(apart, logical_and(equal(real(x), real(y)), later))


def _first(x: Any, y: Any, among: Any, greatest: bool) -> Any:
    """Return `x` where it is not less (or not greater) than `y` or `among`, x or y, is nan, else `y`."""
    chosen = _precedes(y, x, True) if greatest else _precedes(x, y, True)
    return where(logical_or(is_nan(among), chosen), x, y)


_REFLECTED = {"__gt__": np.less, "__ge__": np.less_equal, "__lt__": np.greater, "__le__": np.greater_equal}


def in_order(reflected: str, x: Any, y: Any, error: TypeError) -> Any:
    """Compare complex numbers as NumPy, by the name of the reflected operator; raise `error` for other operands."""
    if reflected not in _REFLECTED or "is not defined for complex" not in str(error):
        raise error
    return _REFLECTED[reflected](x, y)


COMPLEX_ORDER: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.fmax: lambda x, y: _first(x, y, y, True),
    np.fmin: lambda x, y: _first(x, y, y, False),
    np.greater: lambda x, y: _precedes(y, x, False),
    np.greater_equal: lambda x, y: _precedes(y, x, True),
    np.less: lambda x, y: _precedes(x, y, False),
    np.less_equal: lambda x, y: _precedes(x, y, True),
    np.maximum: lambda x, y: _first(x, y, x, True),
    np.minimum: lambda x, y: _first(x, y, x, False),
}
"""Ufuncs of complex numbers, which NumPy orders; jittape's own comparisons refuse them, as TensorFlow's do."""


# ---- signs and scales ------------------------------------------------------------------------------------------------


def heaviside(x: Any, h0: Any) -> Any:
    """Return 0 for negative numbers, 1 for positive ones and `h0` for zeros."""
    step = where(less(x, 0), cast(0, x.dtype), cast(1, x.dtype))
    return where(is_nan(x), x, where(equal(x, 0), h0, step))


def hypot(x: Any, y: Any) -> Any:
    """Return the length of the vector of `x` and `y`, without overflow."""
    wide = np.float32 if x.dtype == np.float16 else x.dtype
    return cast(absolute(complex(cast(x, wide), cast(y, wide))), x.dtype)


def trunc(x: Any) -> Any:
    """Round toward zero; integers and bools stay as they are."""
    return identity(x) if x.dtype.kind in "biu" else where(less(x, 0), ceil(x), floor(x))


# ---- powers ----------------------------------------------------------------------------------------------------------


def power(x: Any, y: Any) -> Any:
    """Return the power; the square of bools is int64, while that of the operator ``**`` is int8."""
    if isinstance(y, TracedScalar) and y.kind is int:
        y = y.concretize()
    return apply(power_of_int, (x,), (y,)) if type(y) is int else pow(x, y)


def power_of_int(x: Any, exponent: int) -> Any:
    """Return the power of an int, which is part of the program's structure."""
    x = as_symbol(x)
    return pow(cast(x, np.int64) if x.dtype.kind == "b" else x, exponent)


def cbrt(x: Any) -> Any:
    """Return the cube root, also of negative numbers."""
    return apply(_cbrt, (x,))


def _cbrt(x: Any) -> Any:
    if x.dtype.itemsize == 2:  # in float16 a quarter of the roots would be off by one ulp, in float32 20
        return cast(_cbrt(cast(x, np.dtype(np.float64))), x.dtype)
    size = absolute(x)
    root = pow(size, 1 / 3)
    # The float 1/3 is too small by 2e-17: far from 1 the power is off by up to 60 ulp, which a Newton step corrects.
    usable = logical_and(is_finite(root), greater(root, 0))
    safe = where(usable, root, cast(1, x.dtype))
    ratio = divide(divide(divide(where(usable, size, cast(1, x.dtype)), safe), safe), safe)
    correction = add(1.0, stop_gradient(divide(subtract(ratio, 1.0), 3.0)))
    return copysign(where(usable, multiply(root, correction), root), x)


def logaddexp2(x: Any, y: Any) -> Any:
    """Return the logarithm to base 2 of ``2**x + 2**y``, without overflow."""
    # The sum of a maximum and a logarithm may cancel, so small dtypes are computed in float64.
    return cast(apply(_logaddexp2, (cast(x, np.float64), cast(y, np.float64))), x.dtype)


def _logaddexp2(x: Any, y: Any) -> Any:
    log_2 = float(np.log(2))
    smooth = divide(apply(logaddexp_op, (multiply(x, log_2), multiply(y, log_2))), log_2)
    # `smooth` has the derivatives, also at a tie; this is accurate near 0 and at powers of two.
    distance = absolute(subtract(x, y))
    exact = add(maximum(x, y), divide(log1p(pow(2.0, negative(distance))), log_2))
    correction = where(logical_and(is_finite(exact), is_finite(smooth)), subtract(exact, smooth), 0.0)
    return add(smooth, stop_gradient(correction))


def ldexp(x: Any, exponent: Any) -> Any:
    """Return ``x * 2**exponent``; the power itself may overflow."""
    return apply(_ldexp, (x, exponent))


def _ldexp(x: Any, exponent: Any) -> Any:
    # Beyond these limits every number of the dtype is 0 or infinite; the parts of a power fit the dtype.
    steps, parts = {2: (44, 4), 4: (300, 4), 8: (2200, 4)}[x.dtype.itemsize]
    rest = minimum(maximum(cast(exponent, np.int64), -steps), steps)
    for count in range(parts, 0, -1):
        part = cast(floor(divide(cast(rest, np.float64), float(count))), np.int64)
        x, rest = multiply(x, pow(cast(2, x.dtype), cast(part, x.dtype))), subtract(rest, part)
    return x


def frexp(x: Any) -> tuple[Any, Any]:
    """Return a mantissa in [0.5, 1) and an int32 exponent, so that ``x == mantissa * 2**exponent``."""
    return apply(_frexp, (x,))


def _frexp(x: Any) -> tuple[Any, Any]:
    wide = cast(x, np.float64)
    tiny = less(absolute(wide), float(np.finfo(np.float64).tiny))
    scaled = where(tiny, multiply(wide, 2.0**54), wide)
    field = bitwise_and(right_shift(bitcast(stop_gradient(scaled), np.int64), 52), 0x7FF)
    exponent = subtract(field, where(tiny, 1022 + 54, 1022))
    usable = logical_and(is_finite(x), less(0.0, absolute(wide)))
    exponent = where(usable, exponent, 0)
    return cast(_ldexp(wide, subtract(0, exponent)), x.dtype), cast(exponent, np.int32)


def modf(x: Any) -> tuple[Any, Any]:
    """Return the fractional and the integral part, both with the sign of `x`."""
    whole = trunc(x)
    part = where(is_inf(x), cast(0, x.dtype), subtract(x, whole))
    return copysign(part, x), copysign(whole, x)


def next_after(x: Any, y: Any) -> Any:
    """Return the next float after `x` toward `y`."""
    return _next_half(x, y) if x.dtype == np.float16 else nextafter(x, y)


def _next_half(x: Any, y: Any) -> Any:
    """Return the next float16: the bits of floats of one sign are in the order of their absolute values."""
    start, end = stop_gradient(x), stop_gradient(y)
    bits = bitcast(start, np.int16)
    outward = equal(less(start, end), less(cast(0, x.dtype), start))
    moved = bitcast(where(outward, add(bits, 1), subtract(bits, 1)), x.dtype)
    moved = where(equal(start, 0), copysign(cast(2.0**-24, x.dtype), end), moved)
    found = where(equal(start, end), end, moved)
    return where(logical_or(is_nan(start), is_nan(end)), cast(np.nan, x.dtype), found)


def spacing(x: Any) -> Any:
    """Return the distance to the next float away from zero, with the sign of `x`; for float16 to the one above."""
    fixed = stop_gradient(x)
    outward = cast(np.inf, x.dtype)
    if x.dtype != np.float16:
        outward = where(less(fixed, 0), negative(outward), outward)
    return where(is_finite(fixed), subtract(next_after(fixed, outward), fixed), cast(np.nan, x.dtype))


# ---- integers --------------------------------------------------------------------------------------------------------


def bitwise_count(x: Any) -> Any:
    """Return the number of bits that are set in the absolute value, as uint8."""
    return apply(_bitwise_count, (x,))


def _bitwise_count(x: Any) -> Any:
    masks = (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
    bits = cast(cast(absolute(x), f"uint{8 * x.dtype.itemsize}") if x.dtype.kind == "i" else x, np.uint64)
    for step, mask in zip((1, 2, 4), masks, strict=True):
        even = np.uint64(mask)
        bits = add(bitwise_and(bits, even), bitwise_and(right_shift(bits, np.uint64(step)), even))
    count = cast(0, np.uint64)
    for byte in range(8):
        count = add(count, bitwise_and(right_shift(bits, np.uint64(8 * byte)), np.uint64(0xFF)))
    return cast(count, np.uint8)


# ---- matrices and vectors --------------------------------------------------------------------------------------------


def matvec(x1: Any, x2: Any) -> Any:
    """Return the products of matrices and vectors."""
    _check_ranks("matvec", x1, 2, x2, 1)
    return squeeze(matmul(x1, expand_dims(x2, -1)), -1)


def vecmat(x1: Any, x2: Any) -> Any:
    """Return the products of conjugated vectors and matrices."""
    _check_ranks("vecmat", x1, 1, x2, 2)
    return squeeze(matmul(expand_dims(conj(x1), -2), x2), -2)


def _check_ranks(name: str, x1: Any, rank1: int, x2: Any, rank2: int) -> None:
    if len(x1.shape) < rank1 or len(x2.shape) < rank2:
        raise ShapeError(
            f"[np.{name}] operands need at least {rank1} and {rank2} dimensions, got shapes {x1.shape} and {x2.shape}"
        )
