"""Formulas of derivatives, written with operators.

The operands of a gradient rule are handles, which have no operators. A `Term` holds a handle and records an op for each
operator, so that a slope reads as the formula in a book.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.primitives.elementwise import (
    arithmetic,
    comparison,
    complex_numbers,
    exponential,
    hyperbolic,
    piecewise,
    powers,
    trigonometric,
)
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.comparison import equal, greater, less
from jittape.primitives.elementwise.division import divide
from jittape.primitives.record_parts import filled
from jittape.scipy.special.scipy_steps import COMPLEX, REAL, Slope

__all__ = [
    "Term", "absolute", "as_complex", "atan2", "cos", "cosh", "exp", "floor", "imag", "lifted", "log", "maximum",
    "polynomial", "real", "results", "sign", "sin", "sinh", "slope", "special", "sqrt", "square", "tan", "where",
    "zero",
]  # fmt: skip


class Term:
    """A handle with operators."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def __add__(self, other: Any) -> Term:
        return Term(add(self.handle, _handle(other)))

    def __sub__(self, other: Any) -> Term:
        return Term(subtract(self.handle, _handle(other)))

    def __rsub__(self, other: Any) -> Term:
        return Term(subtract(_handle(other), self.handle))

    def __mul__(self, other: Any) -> Term:
        return Term(multiply(self.handle, _handle(other)))

    def __truediv__(self, other: Any) -> Term:
        return Term(divide(self.handle, _handle(other)))

    def __rtruediv__(self, other: Any) -> Term:
        return Term(divide(_handle(other), self.handle))

    def __pow__(self, other: Any) -> Term:
        return Term(powers.pow(self.handle, _handle(other)))

    def __neg__(self) -> Term:
        return Term(negative(self.handle))

    def __lt__(self, other: Any) -> Term:
        return Term(less(self.handle, _handle(other)))

    def __gt__(self, other: Any) -> Term:
        return Term(greater(self.handle, _handle(other)))

    def __and__(self, other: Any) -> Term:
        return Term(comparison.logical_and(self.handle, _handle(other)))

    def is_equal(self, other: Any) -> Term:
        """Return where the values are equal."""
        return Term(equal(self.handle, _handle(other)))

    __radd__ = __add__
    __rmul__ = __mul__


def _handle(x: Any) -> Any:
    return x.handle if isinstance(x, Term) else x


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of handles as a function of terms."""
    return lambda *terms: Term(function(*map(_handle, terms)))


absolute, sign, maximum = lifted(piecewise.absolute), lifted(piecewise.sign), lifted(piecewise.maximum)
floor = lifted(piecewise.floor)
cos, sin = lifted(trigonometric.cos), lifted(trigonometric.sin)
tan, atan2 = lifted(trigonometric.tan), lifted(trigonometric.atan2)
cosh, sinh = lifted(hyperbolic.cosh), lifted(hyperbolic.sinh)
exp, log, sqrt = lifted(exponential.exp), lifted(exponential.log), lifted(exponential.sqrt)
real, imag = lifted(complex_numbers.real), lifted(complex_numbers.imag)
as_complex, square = lifted(complex_numbers.complex), lifted(arithmetic.square)
where = lifted(comparison.where)


def polynomial(coefficients: list[float], x: Term) -> Term:
    """Return a polynomial, given its coefficients from the constant on."""
    return Term(arithmetic.polyval(coefficients[::-1], x.handle))


def special(name: str, *terms: Any) -> Term:
    """Return the value of a special function, the first one of several results."""
    return results(name, *terms)[0]


def results(name: str, *terms: Any) -> tuple[Term, ...]:
    """Return all results of a special function; a number among `terms` is broadcast."""
    like = next(t.handle for t in terms if isinstance(t, Term))
    operands = [t.handle if isinstance(t, Term) else filled(like, t) for t in terms]
    found = (COMPLEX if like.dtype.kind == "c" else REAL)[name](*operands)
    return tuple(map(Term, found if isinstance(found, tuple) else (found,)))


def slope(formula: Callable[..., Any] | None) -> Slope | None:
    """Return a formula of terms as the slope of a record: ``slope(out, *operands)``."""
    if formula is None:
        return None
    return lambda *handles: _handle(formula(*map(Term, handles)))


def zero(out: Term, *operands: Term) -> Term:
    """Return the slope in an argument that is rounded down."""
    return Term(filled(out.handle, 0.0))
