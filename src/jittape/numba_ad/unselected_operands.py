"""Derivatives of operands that `where`, `max` or `min` does not select.

In ``np.where(x > 0.0, x * np.log(x), 0.0)``, the adjoint of the logarithm multiplies a zero cotangent by ``1.0 / x``,
which is infinite at zero. The adjoints of such operations use `product_or_zero`, so that the derivative is zero. Other
programs keep plain products, and so do operations on numbers that no division, root or logarithm made.

A gradient that is derived again multiplies by the cotangents of these operands. In its adjoint, a cotangent that is
zero because the operand was not selected adds zero, too, even if the cotangent of the product is infinite.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import re
from typing import Any

import numpy as np

from jittape.numba_ad.activity import Activity, dependents, influences, partial_fields
from jittape.numba_ad.scalar_rules import BINARY, FUNCTIONS, SELECT, UNARY, Rule
from jittape.numba_ad.structured_ir import Constant, Function, If, Op, walk
from jittape.numba_ad.tape_support import product_or_zero

__all__ = ["guard_unselected_operands"]

_SELECTING = (builtins.max, builtins.min, np.maximum, np.minimum, np.fmax, np.fmin, product_or_zero)
_SELECTORS = {SELECT, *(FUNCTIONS[one] for one in _SELECTING)}

_PRODUCT_OR_ZERO = FUNCTIONS[product_or_zero]
_LINEAR = (BINARY["Mult"], UNARY["USub"])

_SINGULAR = re.compile(
    r"/|%|\*\*|log|exp|sqrt|tan\(|a(rc)?cos|a(rc)?sin|sinh|cosh|reciprocal|divide|remainder|mod|gamma|pow"
)
"""Templates of functions that are infinite or nan for some numbers, or whose derivatives are."""


def guard_unselected_operands(function: Function, activity: Activity) -> None:
    """Replace the rules of operations whose results are not selected: a zero cotangent adds zero to the operands."""
    operations = [s for s in walk(function.body) if isinstance(s, Op) and isinstance(s.rule, Rule)]
    selected = {x for s in operations if s.rule in _SELECTORS and s.result in activity for x in s.operands}
    before = influences(function, selected)
    candidates = [s for s in operations if s.result in before]
    singular = {s.result for s in candidates if _is_singular(s)}
    if not singular:
        return
    unbounded = dependents(function, singular)
    if any(s.rule is _PRODUCT_OR_ZERO for s in operations):
        _guard_products(
            function, [s for s in candidates if s.rule is BINARY["Mult"] and s.result in activity]
        )
    for s in candidates:
        chosen = tuple(
            partial is not None
            and (s.result in singular or not unbounded.isdisjoint(partial_fields(s, partial)))
            for partial in s.rule.partials
        )
        if s.result in activity and any(chosen):
            s.rule = _guarded(s.rule, chosen)


def _guard_products(function: Function, products: list[Op]) -> None:
    """Let a factor that is zero because it was not selected add zero to the other factor."""
    zeros = _selected_zeros(function)
    for s in products:
        first, second = [x in zeros for x in s.operands]
        own, other = s.rule.partials
        guarded = (
            "product_or_zero({1}, {g})" if second else own,
            "product_or_zero({0}, {g})" if first else other,
        )
        if guarded != s.rule.partials:
            s.rule = _with_partials(s.rule, guarded)


def _selected_zeros(function: Function) -> set[Any]:
    """Return the numbers that are the constant zero on one side of a selection, also with a constant factor."""
    found: set[Any] = set()
    for s in walk(function.body):
        if isinstance(s, If):
            found |= {phi.result for phi in s.phis if _is_zero(phi.then) or _is_zero(phi.orelse)}
        elif isinstance(s, Op):
            others = [x for x in s.operands if x not in found]
            is_chosen = s.rule is SELECT and any(_is_zero(x) for x in s.operands[1:])
            is_scaled = s.rule in _LINEAR and len(others) < len(s.operands)
            if is_chosen or (is_scaled and all(isinstance(x, Constant) and x.value for x in others)):
                found.add(s.result)
    return found


def _is_zero(x: Any) -> bool:
    return isinstance(x, Constant) and x.value == 0.0


def _is_singular(s: Op) -> bool:
    """Return whether the result or a derivative of an operation is infinite or nan for some finite operands."""
    exponent = s.operands[1] if "**" in s.rule.template else None
    if isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value >= 0:
        return False
    return _SINGULAR.search(s.rule.template) is not None


@functools.cache
def _with_partials(rule: Rule, partials: tuple[str | None, ...]) -> Rule:
    return dataclasses.replace(rule, partials=partials)


@functools.cache
def _guarded(rule: Rule, chosen: tuple[bool, ...]) -> Rule:
    partials = [
        _zero_for_zero(partial) if partial is not None and is_chosen else partial
        for partial, is_chosen in zip(rule.partials, chosen, strict=True)
    ]
    return dataclasses.replace(rule, partials=tuple(partials))


def _zero_for_zero(partial: str) -> str:
    """Return the text of a partial derivative that is zero for a zero cotangent."""
    found = re.fullmatch(r"(-?){g} ([*/]) (.+)", partial)
    if found is None:
        return partial  # is linear in the cotangent, or zero already
    sign, operator, factor = found.groups()
    return f"{sign}product_or_zero({{g}}, {factor if operator == '*' else f'1.0 / {factor}'})"
