"""Actions that make available what the adjoints of an iteration need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity
from jittape.numba_ad.emit.kept_arrays import STACKS, PopArray, kept_copies, kept_names
from jittape.numba_ad.emit.statement_text import (
    element,
    index_text,
    most_text,
    text_of,
    zeros_like_text,
    zeros_text,
)
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
    Array,
    Block,
    Dim,
    If,
    Load,
    Loop,
    Op,
    Store,
    Value,
    View,
    Where,
)

__all__ = ["Branch", "Pop", "Recompute", "pushes", "restore_actions", "shadow_actions", "view_actions"]


@dataclass(frozen=True)
class Pop:
    """Take a recorded value from its stack."""

    value: Value

    @property
    def stack(self) -> str:
        """Name of the stack."""
        return STACKS[is_float(self.value.type)]

    def converted(self, text: str) -> str:
        """Return the text that gives an element of the stack the type of the value."""
        kind = self.value.type
        if kind == types.boolean:
            return f"{text} != 0"
        return text if kind in (types.float64, types.int64) else f"np.{kind}({text})"


@dataclass(frozen=True)
class Recompute:
    """Compute a value, an array or a shadow again."""

    text: str
    where: Where


@dataclass(frozen=True)
class Branch:
    """Actions on one side of a branch."""

    condition: str
    then: list[Any]
    orelse: list[Any]


def view_actions(s: Alloc | View, plan: Plan) -> list[Any]:
    """Return the action that makes available a view."""
    lost = plan.is_inside_loop(s.result) or plan.is_in_branch(s.result)
    if isinstance(s, View) and s.result in plan.needed and lost:
        return [Recompute(f"{s.result.name} = {text_of(s)}", s.where)]
    return []


def shadow_actions(s: Alloc | Apply | View, plan: Plan, activity: Activity) -> list[Any]:
    """Return the action that makes available the shadow of an array."""
    if s.result not in activity or not isinstance(s.result, Array):
        return []
    if isinstance(s, Apply):
        text = zeros_like_text(kept_names(s, plan)[0], s.result.type)
        return [Recompute(f"{s.result.name}_b = {text}", s.where)]
    if isinstance(s, Alloc):
        grows = s.result.root in plan.resized
        text = f"new_zeros(({most_text(s)}, ), np.{s.result.type.dtype})" if grows else zeros_text(s)
    elif s.result in plan.shadowed:
        text = f"{s.base.name}_b{index_text(s)}"
    else:
        return []
    return [Recompute(f"{s.result.name}_b = {text}", s.where)]


def restore_actions(block: Block, plan: Plan, activity: Activity) -> list[Any]:
    """Return the actions that make available, for one iteration, what the adjoints of `block` need.

    Statements from the first loop on that runs forward and backward in one pass are left out.

    Shadows of arrays that a branch makes are made again in the adjoint of the branch, because Numba requires that a
    variable is assigned on each path to its use.
    """
    actions: list[Any] = []

    def value(one: Value, text: str, where: Where) -> None:
        if one in plan.recorded:
            actions.append(Pop(one))
        elif one in plan.needed and plan.is_inside_loop(one):
            actions.append(Recompute(f"{one.name} = {text}", where))

    for s in plan.restored.order(block, block.statements[: plan.single_pass.tail(block)]):
        if isinstance(s, Load):
            saved = plan.saved_array(s) if s.result in plan.needed else None
            value(s.result, text_of(s) if saved is None else saved.element(s), s.where)
        elif isinstance(s, (Op, Dim)):
            value(s.result, text_of(s), s.where)
        elif isinstance(s, Store):
            actions.append(Recompute(f"{element(s)} = {plan.restored.value(s, block).name}", s.where))
        elif isinstance(s, (Alloc, View)):
            actions.extend(view_actions(s, plan))
            if not plan.is_in_branch(s.result):
                actions.extend(shadow_actions(s, plan, activity))
        elif isinstance(s, Apply):
            if isinstance(s.result, Value):
                value(s.result, "", s.where)
            if plan.is_inside_loop(s.result):
                actions.extend(PopArray(name, array) for name, array in kept_copies(s, plan))
            if not plan.is_in_branch(s.result):
                actions.extend(shadow_actions(s, plan, activity))
        elif isinstance(s, If):
            sides = [restore_actions(side, plan, activity) for side in (s.then, s.orelse)]
            for phi in s.phis:
                if (
                    phi.result in plan.needed
                    and phi.result not in plan.recorded
                    and plan.is_inside_loop(phi.result)
                ):
                    for side, one in zip(sides, (phi.then, phi.orelse), strict=True):
                        side.append(Recompute(f"{phi.result.name} = {one.name}", s.where))
            if any(sides):
                actions.append(Branch(s.condition.name, *sides))
            actions.extend(Pop(phi.result) for phi in s.phis if phi.result in plan.recorded)
        elif isinstance(s, Loop):
            outs = [phi.out for phi in s.phis] + ([] if s.trips is None else [s.trips])
            actions.extend(Pop(one) for one in outs if one in plan.recorded)
    if block.loop is not None and block is block.loop.body:
        carried = [Pop(phi.inner) for phi in block.loop.phis if phi.inner in plan.recorded]
        actions = carried + actions
    return actions


def pushes(actions: list[Any], stack: str) -> int:
    """Return how many values actions take from a stack at most, without the elements of arrays."""
    count = 0
    for action in actions:
        if isinstance(action, Pop):
            count += action.stack == stack
        elif isinstance(action, PopArray):
            count += action.array.type.ndim if stack == "ints" else 0
        elif isinstance(action, Branch):
            count += pushes(action.then, stack) + pushes(action.orelse, stack)
    return count
