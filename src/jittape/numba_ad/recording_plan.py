"""To-be-recorded analysis: which values the backward pass needs, and which of them it cannot compute again.

Values outside loops stay in local variables, and so do those of an iteration whose adjoint follows it. A value inside
another loop is recomputed from other values, read again from an array that is not written afterwards, or recorded: once
per iteration of the loop that defines it.
"""

from __future__ import annotations

from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity, contributions, partial_fields
from jittape.numba_ad.checkpoints import find_checkpoints
from jittape.numba_ad.loops.index_order import is_overwritten_by
from jittape.numba_ad.loops.restored_elements import RestoredElements, find_restored_elements
from jittape.numba_ad.loops.single_pass_loops import SinglePass
from jittape.numba_ad.loops.undone_writes import UndoneWrites, WrittenRow
from jittape.numba_ad.saved_arrays import SavedArray, SavedArrays
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
    Array,
    Block,
    Dim,
    Function,
    If,
    IfPhi,
    Load,
    Loop,
    Op,
    Resize,
    Root,
    Store,
    Value,
    View,
    walk,
)

__all__ = ["Plan", "make_plan"]


class Plan:
    """Values that are recorded, and values and arrays that the backward pass needs."""

    def __init__(
        self,
        function: Function,
        activity: Activity,
        checkpoint: int | str | None = None,
        restored: RestoredElements | None = None,
    ) -> None:
        self.recorded: set[Any] = set()
        self.needed: set[Any] = set()
        self.shadowed: set[Array] = set()
        self.kept: dict[Apply, list[bool]] = {}
        self.restored = restored or RestoredElements()
        for pairs in self.restored.old.values():
            self.recorded.update(load.result for _, load in pairs)
        self.needed.update(self.recorded)
        self.activity = activity
        self.single_pass = SinglePass(function, activity)
        self.saved = SavedArrays(function, self.single_pass.loops)
        self.checkpoints = find_checkpoints(function, checkpoint, self.single_pass.loops)
        self.resized = list(dict.fromkeys(s.array.root for s in walk(function.body) if isinstance(s, Resize)))
        self._top = function.body
        self._phis: dict[Value, IfPhi] = {}
        self.stores: dict[Any, list[tuple[int, Store, Block]]] = {}
        self.position: dict[Any, int] = {}
        self._has_segments = checkpoint is not None
        self.undone = UndoneWrites(function, activity, self.single_pass.loops, self.stores, self.position)
        for position, statement in enumerate(walk(function.body)):
            self.position[statement] = position
            if isinstance(statement, If):
                self._phis.update({phi.result: phi for phi in statement.phis})

    def add_store(self, statement: Store, block: Block) -> None:
        """Note where an array is written."""
        place = self.position[statement], statement, block
        self.stores.setdefault(statement.array.root, []).append(place)

    def is_inside_loop(self, one: Any) -> bool:
        """Return whether a value or array is defined in a loop that runs backward after it has run forward."""
        loop = one.block.loop if one.block is not None else None
        return loop is not None and loop not in self.single_pass.loops

    def is_in_branch(self, one: Any) -> bool:
        """Return whether a value is defined on one side of a branch only."""
        block = one.block
        return (
            block is not None
            and block is not self._top
            and (block.loop is None or block is not block.loop.body)
        )

    def keep_operands(self, s: Apply) -> None:
        """Keep the result and the operands of a function of arrays: as they are, or, if they change, as copies."""
        block = s.result.block
        loops = self._loops(block)
        copies = []
        for one in [s.result, *s.operands]:
            stores = self.stores.get(one.root, ()) if isinstance(one, Array) else ()
            changes = any(
                place > self.position[s] or loops & self._loops(around) for place, _, around in stores
            )
            copied = isinstance(one, Array) and (changes or not self._is_kept(one.root))
            copies.append(copied)
            if not copied:
                self.need(one)
        self.kept[s] = copies

    def can_read_again(self, load: Load) -> bool:
        """Return whether the backward pass finds the same element in the array."""
        assert load.result.block is not None
        if load.array.root in self.restored.roots:
            return self.restored.can_read_again(load, self.stores[load.array.root], self.position)
        return self._is_final(load.array, load.indices, load.result.block, self.position[load])

    def _is_final(self, array: Array, indices: list[Any], block: Block, position: int) -> bool:
        """Return whether an element that is accessed at a position keeps its value until the backward pass."""
        if not self._is_kept(array.root):
            return False
        loops = self._loops(block)
        for store_position, store, store_block in self.stores.get(array.root, ()):
            is_before = position < store_position
            repeated = loops & self._loops(store_block)
            if (is_before or repeated) and is_overwritten_by(
                array, indices, block, is_before, store, store_block, repeated
            ):
                return False
        return True

    def _is_kept(self, one: Root | Array) -> bool:
        """Return whether the memory or the name of an array still exists in the backward pass."""
        block = one.block
        if block is None or block is self._top:
            return True
        return block.loop is not None and block is block.loop.body and block.loop in self.single_pass.loops

    def _loops(self, block: Block | None) -> set[Loop]:
        """Return the loops around a block that run backward after they have run forward."""
        return set() if block is None else set(block.loops()) - self.single_pass.loops

    def operands(self, one: Any) -> list[Any] | None:
        """Return what `one` is computed from again; None if it has to be recorded."""
        if isinstance(one, Array):
            definition = one.statement
            return [definition.base, *definition.operands] if isinstance(definition, View) else []
        if one in self._phis:
            phi = self._phis[one]
            return [phi.result.statement.condition, phi.then, phi.orelse]  # type: ignore[union-attr]
        definition = one.statement
        if isinstance(definition, Op):
            return list(definition.operands) if definition.repeatable else None
        if isinstance(definition, Dim):
            return [definition.array] if self._is_kept(definition.array.root) else None
        if isinstance(definition, Load):
            if self.saved_array(definition) is not None:
                return list(definition.indices)
            read = [definition.array, *definition.indices, definition.guard]
            again = self.can_read_again(definition) or self.undone_rows(definition)
            return read if again else None
        if isinstance(definition, Loop) and one is definition.counter:
            return []
        return None

    def saved_array(self, load: Load) -> SavedArray | None:
        """Return the copy of an array from which the backward pass reads an element; None if there is no copy."""
        if self.can_read_again(load) or not self._is_kept(load.array):
            return None
        return self.saved.find(load)

    def undone_rows(self, load: Load) -> list[WrittenRow]:
        """Return the rows that the backward pass puts back to read an element again; none if it cannot."""
        # Segments of loops restore whole arrays.
        excluded = self._has_segments or load.array.root in self.restored.roots
        return [] if excluded or self.can_read_again(load) else self.undone.find(load)

    def need(self, one: Any) -> None:
        """Mark a value or an array as needed by the backward pass, and all that it is computed from."""
        work = [one]
        while work:
            one = work.pop()
            if not isinstance(one, (Value, Array)) or one in self.needed:
                continue
            self.needed.add(one)
            if not self.is_inside_loop(one):
                continue
            operands = self.operands(one)
            if operands is None:
                self.recorded.add(one)
                continue
            work.extend(operands)
            if isinstance(one, Value) and isinstance(one.statement, Load):
                saved = self.saved_array(one.statement)
                if saved is not None:
                    self.saved.keep(saved)
                else:
                    self.undone.keep(self.undone_rows(one.statement))

    def reason(self, one: Value) -> str:
        """Return the reason for which a value is recorded."""
        definition = one.statement
        if isinstance(definition, Load):
            kept = self._is_kept(definition.array.root)
            return "its element is overwritten later" if kept else "its array is local to an iteration"
        if isinstance(definition, Loop):
            if one is definition.trips:
                return "number of iterations"
            carried = any(one is phi.inner for phi in definition.phis)
            return "changes in each iteration" if carried else "result of an inner loop"
        return "decides a branch, an index or a size"

    def missing(self, one: Any, seen: set[Any]) -> set[Any]:
        """Return the values that would have to be recorded to compute `one` again."""
        if (
            not isinstance(one, (Value, Array))
            or one in seen
            or one in self.needed
            or not self.is_inside_loop(one)
        ):
            return set()
        seen.add(one)
        operands = self.operands(one)
        if operands is None:
            return {one}
        return {leaf for operand in operands for leaf in self.missing(operand, seen)}

    def need_shadow(self, array: Array, choices: list[Any]) -> None:
        """Mark the views that lead to a shadow, and what they are computed from."""
        while isinstance(array.statement, View):
            self.shadowed.add(array)
            choices.extend(array.statement.operands)
            array = array.statement.base

    def need_choice(self, one: Any) -> None:
        """Mark a bool or an int; record it if computing it again needs more than one other recorded value."""
        if not isinstance(one, Value) or one in self.needed:
            return
        missing = self.missing(one, set())
        keep = len(missing) > 1 or any(one.type == types.boolean != leaf.type for leaf in missing)
        if keep:
            self.needed.add(one)
            self.recorded.add(one)
        else:
            self.need(one)


def make_plan(function: Function, activity: Activity, checkpoint: int | str | None = None) -> Plan:
    """Return the plan of the backward pass; `checkpoint` is the length of segments of time loops."""
    plan = _planned(function, activity, checkpoint, None)
    if checkpoint is not None:
        return plan
    restored = find_restored_elements(function, activity, plan, plan.stores, plan.position)
    return _planned(function, activity, None, restored) if restored.roots else plan


def _planned(
    function: Function, activity: Activity, checkpoint: int | str | None, restored: RestoredElements | None
) -> Plan:
    plan = Plan(function, activity, checkpoint, restored)
    choices: list[Any] = []
    _collect_stores(function.body, plan)
    _needs(function.body, plan, choices)
    if isinstance(function.result, Array):
        plan.need_shadow(function.result, choices)
    for one in choices:
        plan.need_choice(one)
    recording = {loop for one in plan.recorded if one.block is not None for loop in one.block.loops()}
    recording |= {loop for one in plan.saved.of_loop for loop in one.outer.loops()}
    plan.checkpoints = {loop: one for loop, one in plan.checkpoints.items() if loop in recording}
    return plan


def _collect_stores(block: Block, plan: Plan) -> None:
    for statement in block.statements:
        if isinstance(statement, Store):
            plan.add_store(statement, block)
        elif isinstance(statement, If):
            _collect_stores(statement.then, plan)
            _collect_stores(statement.orelse, plan)
        elif isinstance(statement, Loop):
            _collect_stores(statement.body, plan)


def _needs(block: Block, plan: Plan, choices: list[Any]) -> bool:
    """Mark what the adjoint of each statement uses; return whether `block` has an adjoint."""
    activity, found = plan.activity, False
    for s in block.statements:
        if isinstance(s, Op) and s.result in activity:
            found = True
            for _, partial in contributions(s, activity):
                for one in partial_fields(s, partial):
                    plan.need(one)
        elif isinstance(s, (Load, Store)) and s.array in activity:
            if isinstance(s, Load) and s.result not in activity:
                continue
            found = True
            choices.extend([*s.indices, getattr(s, "guard", None)])
            plan.need_shadow(s.array, choices)
        elif isinstance(s, Apply) and s.result in activity:
            found = True
            plan.keep_operands(s)
            for one in s.operands:
                if isinstance(one, Array) and one in activity:
                    plan.need_shadow(one, choices)
        elif isinstance(s, Alloc) and s.result in activity:
            choices.extend(s.operands)
        elif isinstance(s, If):
            inner = [_needs(side, plan, choices) for side in (s.then, s.orelse)]
            if any(inner) or any(phi.result in activity for phi in s.phis):
                found = True
                choices.append(s.condition)
        elif isinstance(s, Loop) and (
            _needs(s.body, plan, choices) or any(phi.out in activity for phi in s.phis)
        ):
            found = True
            if s not in plan.single_pass.loops:
                choices.extend(s.bounds if s.trips is None else [s.trips, *(s.bounds[::2])])
    return found
