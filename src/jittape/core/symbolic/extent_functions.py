"""Functions of ints that may be extents."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.symbolic.extents import Extent, applied, hint_of, terms_of
from jittape.core.symbolic.guard_ranges import Sign
from jittape.core.symbolic.polynomials import reduced, sums
from jittape.core.tuning import tuning

__all__ = ["converted", "index_of", "is_about_at_most", "is_always", "never_negative", "whole_quotient"]


def converted(function: Callable[..., Any], value: Any, dtype: np.dtype[Any]) -> Any:
    """Return ``function(value, dtype)``, a conversion; an extent that fits an integer dtype as it is."""
    if value.__class__ is Extent and type(hint_of(value)) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if (
            limits.min <= value <= limits.max
        ):  # another expression of the same number would be in no general position
            return value
    return applied(function, value, dtype)


def is_about_at_most(value: Any, limit: Any) -> bool:
    """Return whether ``value <= limit``, for a decision on which only the speed depends.

    The answer for extents may serve other values at which it is wrong by less than ``tuning.length_slack``, so that
    fewer lengths need schedules of their own.
    """
    holds = bool(hint_of(value) <= hint_of(limit))
    extent = value if value.__class__ is Extent else limit
    if extent.__class__ is not Extent or not extent._owner.is_open:
        return holds
    slack = tuning.length_slack
    left, right = [v._source if v.__class__ is Extent else f"({v!r})" for v in (value, limit)]
    guard, weaker = f"{left} <= {right}", f"{left} <= {slack} * {right}"
    if not holds:
        guard, weaker = f"{left} > {right}", f"{slack} * {left} > {right}"
    signs: list[Sign] = []
    if type(hint_of(value)) is type(hint_of(limit)) is int:
        less, more = [terms_of(v) for v in ((value, limit) if holds else (limit, value))]
        signs = [Sign(reduced(sums(less, more, -times)), "<=" if holds else "<") for times in (1, slack)]
    extent._owner.guards.prefer(guard, weaker, signs)
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
    """Return ``operator.index(value)``; an extent as it is, and the one in `ShapeExtents`."""
    as_extent = getattr(value, "as_extent", None)
    return operator.index(value) if as_extent is None else as_extent()


def whole_quotient(number: Any, divisor: Any) -> Any:
    """Return ``number / divisor`` if it is a whole number, for extents at all lengths; None else."""
    quotient = number // divisor
    product = quotient * divisor
    if number.__class__ is Extent:
        return quotient if product.__class__ is Extent and product._terms == number._terms else None
    return quotient if divisor.__class__ is int and product == number else None
