"""Parallel loops of the user whose gradients are parallel too, and why others run on one thread."""

from __future__ import annotations

from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity, outer_operands
from jittape.numba_ad.loops.index_order import differ_between_iterations
from jittape.numba_ad.loops.single_pass_loops import LINEAR
from jittape.numba_ad.structured_ir import (
    Apply,
    Array,
    Constant,
    Effect,
    If,
    Load,
    Loop,
    Op,
    Resize,
    Root,
    Statement,
    Store,
    Value,
    View,
    is_inside,
    walk,
)

__all__ = ["KEEPS", "reason_for_one_thread", "reason_in_reverse", "shared_tables"]


KEEPS = "its iterations keep values on a stack"
"""Reason for a loop that records values or saves arrays."""


def reason_for_one_thread(
    loop: Loop, is_single_pass: bool, recorded: set[Any], activity: Activity
) -> str | None:
    """Return why a ``prange`` loop runs on one thread; None if its iterations are independent.

    A loop that runs in a single pass also runs backward then. `recorded` are the values that the function keeps on the
    top of a stack for the backward pass.
    """
    if not any(_has_derivative(s, activity) for s in walk(loop.body)):
        return "it has no derivative"
    if loop.outer.parent is not None:
        return "it is inside another loop or a branch"
    if any(is_inside(one, loop) for one in recorded):
        return KEEPS
    step = loop.bounds[2]
    if loop.trips is not None or not isinstance(step, Constant) or step.value != 1:
        return "its step is not 1"
    for s in walk(loop.body):
        if isinstance(s, (Effect, Apply, Resize)) or (isinstance(s, Op) and s.draws):
            return f"line {s.where.line} has a check of shapes, an effect, a random number or linear algebra"
        if (
            isinstance(s, Store)
            and not is_inside(s.array.root, loop)
            and (is_single_pass or _is_shared(s, loop))
        ):
            return f"line {s.where.line} writes an array that iterations share"
    for phi in loop.phis:
        if phi.inner.type != types.float64 or not _only_adds(phi.inner, phi.next, loop):
            return "a variable that is not a sum of float64 goes from one iteration to the next"
    return reason_in_reverse(loop, activity) if is_single_pass else None


def reason_in_reverse(loop: Loop, activity: Activity) -> str | None:
    """Return why a loop whose iterations are independent runs backward on one thread; None if it does not."""
    for root, loads in _reads(loop, activity).items():
        if not _are_apart(loads, loop) and any(_varies(s, loop) for s in loads):
            return f"iterations add to the same elements of the gradient by {root.name}"
    if any(x.type != types.float64 for x in outer_operands(loop, activity)):
        return "a number that iterations share is a float32"
    return None


def _is_shared(store: Store, loop: Loop) -> bool:
    """Return whether another iteration may access the element that a statement of a loop writes."""
    others = [s for s in walk(loop.body) if isinstance(s, (Load, Store)) and s.array.root is store.array.root]
    return not all(differ_between_iterations(store, other, loop) for other in others)


def _has_derivative(s: Any, activity: Activity) -> bool:
    return s.array in activity if isinstance(s, Store) else getattr(s, "result", None) in activity


def shared_tables(loop: Loop, activity: Activity) -> list[Array]:
    """Return the outer arrays of which all iterations read the same elements."""
    found: dict[Array, None] = {}
    for loads in _reads(loop, activity).values():
        if not _are_apart(loads, loop):
            found.update(dict.fromkeys(_outer(s.array, loop) for s in loads))
    return list(found)


def _reads(loop: Loop, activity: Activity) -> dict[Root, list[Load]]:
    found: dict[Root, list[Load]] = {}
    for s in walk(loop.body):
        if isinstance(s, Load) and s.result in activity and not is_inside(s.array.root, loop):
            found.setdefault(s.array.root, []).append(s)
    return found


def _are_apart(loads: list[Load], loop: Loop) -> bool:
    pairs = [(s, other) for k, s in enumerate(loads) for other in loads[k:]]
    return all(differ_between_iterations(s, other, loop) for s, other in pairs)


def _outer(array: Array, loop: Loop) -> Array:
    while isinstance(array.statement, View) and is_inside(array, loop):
        array = array.statement.base
    return array


def _varies(load: Load, loop: Loop) -> bool:
    """Return whether different iterations may read different elements."""
    work: list[Any] = [load.array, *load.indices]
    while work:
        one = work.pop()
        if not isinstance(one, (Value, Array)) or not is_inside(one, loop):
            if one is loop.counter:
                return True
            continue
        definition = one.statement
        if isinstance(definition, Op):
            work.extend(definition.operands)
        elif isinstance(definition, View):
            work.extend([definition.base, *definition.operands])
        elif isinstance(definition, Loop) and one is definition.counter and definition is not loop:
            work.extend(definition.bounds)
        else:
            return True
    return False


def _only_adds(inner: Value, following: Any, loop: Loop) -> bool:
    """Return whether iterations add to a variable and do not use it in another way."""
    statements = list(walk(loop.body))
    chain = _derived_from(inner, statements)
    for s in statements:
        if isinstance(s, Op):
            used = [k for k, x in enumerate(s.operands) if x in chain]
            if used and [LINEAR.get(s.rule.partials, (0, 0))[k] for k in used] != [1]:
                return False
        elif isinstance(s, If):
            if any((phi.then in chain) != (phi.orelse in chain) for phi in s.phis):
                return False
        elif isinstance(s, Loop):
            if any((phi.init in chain) != (phi.next in chain) for phi in s.phis):
                return False
        elif any(x in chain for x in [*getattr(s, "operands", []), getattr(s, "value", None)]):
            return False
    return following in chain and not any(phi.next in chain for phi in loop.phis if phi.inner is not inner)


def _derived_from(inner: Value, statements: list[Statement]) -> set[Any]:
    """Return the values that depend on a value by arithmetic, branches and loops."""
    chain: set[Any] = {inner}
    size = 0
    while len(chain) > size:
        size = len(chain)
        for s in statements:
            if isinstance(s, Op) and any(x in chain for x in s.operands):
                chain.add(s.result)
            elif isinstance(s, If):
                chain.update(phi.result for phi in s.phis if phi.then in chain or phi.orelse in chain)
            elif isinstance(s, Loop):
                phis = [phi for phi in s.phis if phi.init in chain or phi.next in chain]
                chain.update(one for phi in phis for one in (phi.inner, phi.out))
    return chain
