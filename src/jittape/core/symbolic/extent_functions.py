"""Functions of ints that may be extents."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.symbolic.expression_writer import ExpressionWriter, guarded_function
from jittape.core.symbolic.extents import Extent, applied, hint_of, terms_of
from jittape.core.symbolic.guard_ranges import Sign
from jittape.core.symbolic.polynomials import reduced, sums

__all__ = [
    "converted",
    "index_of",
    "is_about_at_most",
    "is_always",
    "is_extent_of",
    "is_open",
    "never_negative",
    "whole_quotient",
    "with_present_values",
]


def converted(function: Callable[..., Any], value: Any, dtype: np.dtype[Any]) -> Any:
    """Return ``function(value, dtype)``, a conversion; an extent that fits an integer dtype as it is."""
    if value.__class__ is Extent and type(hint_of(value)) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if limits.min <= value <= limits.max:
            return value  # another expression of the same number would be in no general position
    return applied(function, value, dtype)


def is_extent_of(value: Any, extents: Any) -> bool:
    """Return whether `value` is one of `extents`, whose run goes on."""
    return value.__class__ is Extent and value._owner is extents and extents.is_open


def is_about_at_most(value: Any, limit: Any, exact_if_true: bool = False) -> bool:
    """Return whether ``value <= limit``, for a decision on which only the speed depends.

    The answer for extents may serve other values at which it is wrong by less than ``tuning.length_slack``, or a larger
    factor in the first run of a length, so that fewer lengths need schedules of their own. With `exact_if_true`, only
    the answer False may, since results for larger values depend on it.
    """
    holds = bool(hint_of(value) <= hint_of(limit))
    extent = value if value.__class__ is Extent else limit
    if extent.__class__ is not Extent or not extent._owner.is_open:
        return holds
    if holds and exact_if_true:
        return bool(value <= limit)
    less, more, symbol = (value, limit, "<=") if holds else (limit, value, "<")
    left, right = [v._source if v.__class__ is Extent else f"({v!r})" for v in (less, more)]
    first, second = terms_of(less), terms_of(more)
    is_whole = type(hint_of(value)) is type(hint_of(limit)) is int

    def condition(slack: float) -> tuple[str, Sign | None]:
        sign = Sign(reduced(sums(first, second, -1 if slack == 1 else -slack)), symbol) if is_whole else None
        return exact if slack == 1 else f"{left} {symbol} {slack} * {right}", sign

    exact = f"{left} {symbol} {right}"
    extent._owner.guards.prefer(exact, condition)
    return holds


def is_always(number: int, value: Any) -> bool:
    """Return whether `value` is `number`. For an extent, the answer is False and adds no guard."""
    return value.__class__ is not Extent and bool(value == number)


def never_negative(value: Any) -> bool:
    """Return whether a number is not negative; an extent is tested for all values of its variables from 2 on.

    If that depends on the values, the answer is False. So a decision by this function holds for all lengths.
    """
    if value.__class__ is not Extent:
        return bool(value >= 0)
    count = len(value._owner.variables)
    least = 0
    for monomial, factor in value._terms:
        if monomial and factor < 0:
            return False
        least += factor * 2 ** len(monomial) if all([i < count for i in monomial]) else 0
    return least >= 0 and bool(value >= 0)


def index_of(value: Any) -> Any:
    """Return ``operator.index(value)``; an extent as it is, and that of a tensor that is known as one."""
    as_extent = getattr(value, "_as_extent", None)
    return operator.index(value) if as_extent is None else as_extent()


def whole_quotient(number: Any, divisor: Any) -> Any:
    """Return ``number / divisor`` if it is a whole number, for extents at all lengths; None else."""
    if divisor.__class__ is int and divisor == 0:
        return None
    quotient = number // divisor
    product = quotient * divisor
    if number.__class__ is Extent:
        return quotient if product.__class__ is Extent and product._terms == number._terms else None
    return quotient if divisor.__class__ is int and product == number else None


def with_present_values(value: Any) -> Any:
    """Return nested data with the present values of its extents, which adds no guard."""
    writer = ExpressionWriter(lambda v: repr(v._hint) if v.__class__ is Extent else None, [])
    text = writer.text(value)
    return guarded_function((), (), (), [*writer.lines, text], writer.constants, Extent, {})()


def is_open(value: Any) -> bool:
    """Return whether a number differs between the lengths that a schedule serves; this adds no guard."""
    return value.__class__ is Extent
