"""Building blocks of formulas: the layout of floats, polynomials, and unevaluated sums of two floats.

An unevaluated sum of two floats, high and low, has about twice the precision of one. The error-free transformations are
those of Knuth and Dekker (Dekker, Numer. Math. 18, 1971; Muller et al., Handbook of Floating-Point Arithmetic,
chapter 4).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from jittape.value_classes import NamedTuple

__all__ = [
    "FLOAT32", "FLOAT64", "Layout", "add_words", "clamp", "computed_in_float64", "divide", "fast_two_sum",
    "fused_polynomial", "layout", "multiply_words", "polynomial", "round_by_shift", "sqrt_in_two_words",
    "two_product", "two_sum",
]  # fmt: skip


class Layout(NamedTuple):
    """The bit layout of an IEEE 754 format."""

    unsigned: type  #: unsigned integer of the same width
    mantissa: int  #: explicit bits of the mantissa
    bias: int  #: bias of the exponent
    shift: float  #: 1.5 * 2**mantissa; adding it rounds to an integer, which is then in the low bits
    shift_bits: int  #: bits of `shift`


FLOAT32 = Layout(np.uint32, 23, 127, 12582912.0, 0x4B400000)
FLOAT64 = Layout(np.uint64, 52, 1023, 6755399441055744.0, 0x4338000000000000)


def layout(x: Any) -> Layout:
    """Return the layout of a value's dtype."""
    return FLOAT32 if x.dtype.itemsize == 4 else FLOAT64


def computed_in_float64(formula: Callable[[Any, Any, int], Any]) -> Callable[[Any, Any], Any]:
    """Return ``formula(m, x, size)`` as a formula of m and x, for float32 rounded from float64.

    `size` is that of the dtype in bytes; it selects the coefficients.
    """

    @wraps(formula)
    def rounded(m: Any, x: Any) -> Any:
        return m.cast(formula(m, m.cast(x, np.float64), x.dtype.itemsize), x.dtype)

    return rounded


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Evaluate a polynomial by Horner's rule; `coefficients` start with the constant term."""
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def fused_polynomial(m: Any, x: Any, coefficients: tuple[float, ...], steps: int) -> Any:
    """Evaluate a polynomial by Horner's rule; the last `steps` additions are rounded together with their products.

    Compiled code fuses all steps; here the interpreter fuses those whose errors count most.
    """
    result = polynomial(x, coefficients[steps:])
    for coefficient in reversed(coefficients[:steps]):
        result = m.fma(result, x, m.literal(coefficient, x.dtype))
    return result


def clamp(m: Any, x: Any, low: float, high: float) -> Any:
    """Limit `x` to an interval; nan stays nan."""
    x = m.where(x < low, low, x)
    return m.where(x > high, high, x)


def round_by_shift(m: Any, x: Any) -> tuple[Any, Any]:
    """Round to an integer n; return n as a float, and the bits of the layout's `shift` plus n.

    The size of n must be below ``2**(mantissa - 1)``. Subtract `shift_bits` to get n as an integer.
    """
    shift = layout(x).shift
    shifted = x + shift
    return m.rounded_add(shifted, -shift), m.bitcast(shifted, layout(x).unsigned)


def two_sum(m: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the sum and its rounding error."""
    total = m.rounded_add(a, b)
    back = m.rounded_add(total, -a)
    return total, m.rounded_add(m.rounded_add(a, -m.rounded_add(total, -back)), m.rounded_add(b, -back))


def fast_two_sum(m: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the sum and its rounding error, for ``|a| >= |b|``."""
    total = m.rounded_add(a, b)
    return total, m.rounded_add(b, -m.rounded_add(total, -a))


def two_product(m: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the product and its rounding error."""
    product = m.rounded_multiply(a, b)
    return product, m.fma(a, b, -product)


def divide(m: Any, numerator: tuple[Any, Any], denominator: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the quotient of two-word numbers as a two-word number, with one division."""
    inverse = 1 / denominator[0]
    quotient = m.rounded_multiply(numerator[0], inverse)
    remainder = m.fma(-quotient, denominator[0], numerator[0])
    return quotient, (remainder + (numerator[1] - quotient * denominator[1])) * inverse


def multiply_words(m: Any, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the product of two-word numbers as a two-word number."""
    product, error = two_product(m, a[0], b[0])
    return fast_two_sum(m, product, error + (a[0] * b[1] + a[1] * b[0]))


def add_words(m: Any, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the sum of two-word numbers as a two-word number."""
    total, error = two_sum(m, a[0], b[0])
    return fast_two_sum(m, total, error + (a[1] + b[1]))


def sqrt_in_two_words(m: Any, x: Any) -> tuple[Any, Any]:
    """Return the square root of a positive number as a two-word number."""
    root = m.sqrt(x)
    return root, m.fma(-root, root, x) / (2 * root)
