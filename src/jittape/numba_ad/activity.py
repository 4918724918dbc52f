"""Activity analysis: which values and arrays carry a derivative from the arguments to the result."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.scalar_rules import BINARY
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
    Array,
    Block,
    Function,
    If,
    Load,
    Loop,
    LoopPhi,
    Op,
    Root,
    Store,
    Value,
    results_of,
    walk,
)

__all__ = [
    "Activity", "contributions", "dependents", "find_active", "influences", "outer_operands", "partial_fields",
    "sides",
]  # fmt: skip

SHARED_QUOTIENT = "-product_or_zero({r}, {g} / {1})"
"""Cotangent of the divisor if the dividend is active, too: zero for a quotient of zero, even if the other overflows.

The gradient of a sum of rational functions of 5,000 elements takes 15.8 us instead of 21.4.
"""


@dataclass
class Activity:
    """Values and roots that depend on a differentiated argument and influence the result."""

    active: set[Any]

    def __contains__(self, one: Any) -> bool:
        return _place(one) in self.active


def find_active(function: Function, sources: list[Any]) -> Activity:
    """Return the values and roots that lie on a path from `sources` to the result."""
    varied = dependents(function, {_place(one) for one in sources})
    useful = influences(function, {_place(one) for one in results_of(function)})
    return Activity(varied & useful)


def dependents(function: Function, sources: set[Any]) -> set[Any]:
    """Return the values and roots that depend on some values, with the values themselves."""
    return _closure(sources, _edges(function))


def influences(function: Function, results: set[Any]) -> set[Any]:
    """Return the values and roots on which some values depend, with the values themselves."""
    return _closure(results, [(y, x) for x, y in _edges(function)])


def contributions(statement: Op, activity: Activity) -> list[tuple[Any, str]]:
    """Return the active operands of an operation and the texts of what they receive.

    The factor of a square is added up before the product: the gradient of the energy of 64 bodies takes 7 % less.
    Both operands of a quotient receive the same quotient, of which LLVM computes one.
    """
    operands, partials = statement.operands, statement.rule.partials
    if statement.rule is BINARY["Mult"] and operands[0] is operands[1]:
        operands, partials = operands[:1], ("({g} + {g}) * {0}",)
    pairs = zip(operands, partials, strict=True)
    found = [
        (x, partial) for x, partial in pairs if partial is not None and isinstance(x, Value) and x in activity
    ]
    if len(found) == 2 and partials == BINARY["Div"].partials:
        found[1] = (found[1][0], SHARED_QUOTIENT)
    return found


def partial_fields(statement: Op, partial: str) -> list[Any]:
    """Return the operands and the result that the text of a partial derivative contains."""
    fields = sorted(set(re.findall(r"{(\w)}", partial)) - {"g"})
    return [statement.result if field == "r" else statement.operands[int(field)] for field in fields]


def sides(s: If | Loop) -> list[Block]:
    """Return the blocks of a statement that have adjoints; the header of a loop has none."""
    return [s.then, s.orelse] if isinstance(s, If) else [s.body]


def outer_operands(s: If | Loop, activity: Activity) -> list[Value]:
    """Return the active values from outside that the adjoints of inner blocks add to."""
    found: dict[Any, None] = {}
    inside: set[Block] = set()

    def visit(block: Block) -> None:
        inside.add(block)
        for one in block.statements:
            if isinstance(one, Op):
                found.update((x, None) for x, _ in contributions(one, activity))
            elif isinstance(one, Store):
                found[one.value] = None
            elif isinstance(one, Apply):
                found.update((x, None) for x in one.operands)
            elif isinstance(one, (If, Loop)):
                phi_operands(one)
                for inner in sides(one):
                    visit(inner)

    def phi_operands(one: If | Loop) -> None:
        for phi in one.phis:
            pair = (phi.init, phi.next) if isinstance(phi, LoopPhi) else (phi.then, phi.orelse)
            found.update((x, None) for x in pair)

    for block in sides(s):
        visit(block)
    if isinstance(s, If):
        phi_operands(s)
    else:
        found.update((loop_phi.next, None) for loop_phi in s.phis)
    return [x for x in found if isinstance(x, Value) and x in activity and x.block not in inside]


def _place(one: Any) -> Any:
    """Return what carries the derivative: the memory of an array, or a value itself."""
    return one.root if isinstance(one, Array) else one


def _edges(function: Function) -> list[tuple[Any, Any]]:
    """Return pairs (from, to) along which a derivative flows, in program order."""
    pairs: list[tuple[Any, Any]] = []
    for s in walk(function.body):
        if isinstance(s, Op):
            pairs += [
                (x, s.result) for x, p in zip(s.operands, s.rule.partials, strict=True) if p is not None
            ]
        elif isinstance(s, Apply):
            pairs += [(_place(x), _place(s.result)) for x in s.operands]
        elif isinstance(s, Load):
            pairs.append((s.array.root, s.result))
        elif isinstance(s, Store):
            pairs.append((s.value, s.array.root))
        elif isinstance(s, Alloc):
            pairs += [(x, s.result.root) for x in s.operands]
        elif isinstance(s, If):
            pairs += [(side, phi.result) for phi in s.phis for side in (phi.then, phi.orelse)]
        elif isinstance(s, Loop):
            for phi in s.phis:
                pairs += [(phi.init, phi.inner), (phi.next, phi.inner), (phi.inner, phi.out)]
    return [(x, y) for x, y in pairs if _carries(x) and _carries(y)]


def _carries(one: Any) -> bool:
    return is_float(one.dtype) if isinstance(one, Root) else isinstance(one, Value) and is_float(one.type)


def _closure(start: set[Any], edges: list[tuple[Any, Any]]) -> set[Any]:
    after: dict[Any, list[Any]] = {}
    for x, y in edges:
        after.setdefault(x, []).append(y)
    found, work = set(start), list(start)
    while work:
        for one in after.get(work.pop(), ()):
            if one not in found:
                found.add(one)
                work.append(one)
    return found
