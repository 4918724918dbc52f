"""Which values of a program stand in memory, and which are computed where they are needed.

Every value is either *stored* (an input, a result, an operand of a library call, ...) or *inlined* into the loop nests
of its consumers. A stored value that a loop nest computes is a *root*. Roots over the same index space with the same
*depth* share one nest; depth is the number of finished values (sums, products) on the way to a root, so that no nest
can wait for itself.

The decision needs two walks that depend on each other: depth goes from inputs to results, the uses of a value (in which
nest, through which index map) are known from results to inputs. They are repeated until nothing changes; the set of
stored values only grows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any

from jittape.compile.analysis.gemm_operands import Product, product_of, wants_rows
from jittape.compile.analysis.op_class import OpClass, op_classes_of
from jittape.compile.analysis.op_traits import OpProperties, op_properties_of
from jittape.compile.analysis.uses import NOBODY, Group, Use, add_uses
from jittape.compile.ir.index_maps import (
    Access,
    identity,
    picks,
    repeats,
    space_of,
    times_along,
    visited,
)
from jittape.compile.ir.operand_maps import Key, operand_accesses, scattered_to
from jittape.compile.llvm.target_facts import TargetFacts, host_facts
from jittape.core.forms import Alias, Map, Pad, View
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning

__all__ = ["Partition"]

_Entry = tuple[Op, int, tuple[int, ...], OpClass, OpProperties]
"""An op with its slot, its operands, what becomes of it and its traits."""
_Accesses = dict[tuple[OpProperties, Access, tuple[int, ...]], tuple[Key, ...]]
"""What the ops of some traits need of their operands, for an access to their results in a nest of some extents."""


class Partition:
    """The decision for one program; what is known of the ops of one like it, `before`, is not found out again.

    Attributes
    ----------
    kinds : dict
        What becomes of the op of a slot.
    stored : set of int
        Slots in memory, inputs included.
    products : dict
        For every slot that a library call computes, the product and what it reads.
    addends : dict
        For the sum of a product and something that is used nowhere else: the product, and the slot of the other, to
        whose memory it is added.
    depth : dict
        When the value of a slot can be computed.
    begun : dict
        For a slot that is scattered to, when its memory can be filled, before that.
    traits : dict
        What is known of the op of a slot by itself.
    constants : set of int
        Slots whose elements are all the same number.
    """

    def __init__(
        self,
        program: Program,
        before: Partition | None = None,
        target: Callable[[], TargetFacts] = host_facts,
    ) -> None:
        self.program = program
        self.target = target
        self.avals = program.avals
        self.op_of = {op.out: op for op in program.ops}
        self._known: dict[Any, OpProperties] = {} if before is None else before._known
        self._accesses: _Accesses = {} if before is None else before._accesses
        self.properties = {} if before is None else before._traits_of_the_same(program.ops)
        new = [op for op in program.ops if op.out not in self.properties]
        self.properties.update(op_properties_of(new, self.avals, self._known))
        own = {slot: properties.kind for slot, properties in self.properties.items()}
        self.kinds, self.addends = op_classes_of(program, self.op_of, own)
        self._entries: list[_Entry] = [
            (op, op.out, op.args, self.kinds[op.out], self.properties[op.out]) for op in program.ops
        ]
        self.constants = {
            op.out for op in program.ops if not op.args and isinstance(op.primitive.lowering, Map)
        }
        self.products: dict[int, Product] = {}
        self.stored = set(program.inputs) | set(program.outputs)
        self.hard: set[int] = set()
        self.depth: dict[int, int] = {}
        self.begun: dict[int, int] = {}
        self._mark_stored()
        self._costs = self._inlined_costs()
        self._late: set[int] = set()
        self._own_uses: dict[tuple[OpProperties, int], frozenset[Use]] = {}
        self._settle()

    def groups(self, slot: int) -> list[Group]:
        """The nests of a root, of which a join may have several, and what is scattered has two: copy and writes."""
        if self.kinds[slot] is OpClass.SCATTER:
            return [(space_of(self.avals[slot].shape), self.begun[slot]), self.group(slot)]
        if self.kinds[slot] is not OpClass.JOIN:
            return [self.group(slot)]
        spaces = [space_of(self.avals[s].shape) for s in self.op_of[slot].args]
        return [(space, self.depth[slot]) for space in dict.fromkeys(spaces)]

    def group(self, slot: int) -> Group:
        """The nest of a root that is no join."""
        return self.properties[slot].space, self.depth[slot]

    def finished(self, slot: int) -> int:
        """The depth from which on the memory of `slot` can be read."""
        while slot in self.op_of and self.kinds[slot] is OpClass.ALIAS:
            slot = self.op_of[slot].args[0]
        return self.depth[slot] + 1 if slot in self.op_of else 0

    def accesses(self, op: Op, access: Access, extents: tuple[int, ...]) -> Sequence[Key]:
        """See `operand_accesses`; ops of an unrolled loop ask for the same, of 2,762 calls for an LSTM 20 differ."""
        if len(op.args) != 1:
            return operand_accesses(op, access, self.avals, extents)
        key = self.properties[op.out], access, extents
        known = self._accesses.get(key)
        if known is None:
            known = self._accesses[key] = operand_accesses(op, access, self.avals, extents)
        return [(op.args[0], inner) for _, inner in known]

    def _traits_of_the_same(self, ops: Sequence[Op]) -> dict[int, OpProperties]:
        """The traits of those of `ops` that this program has too; a slot has the same shape in both."""
        known = self.op_of
        return {op.out: self.properties[op.out] for op in ops if known.get(op.out) is op}

    # ---- what is stored in any case ------------------------------------------------------------------------------

    def _mark_stored(self) -> None:
        for op, slot, args, kind, _ in self._entries:
            if kind is OpClass.INLINE or kind is OpClass.ABSORBED:
                continue
            self.stored.add(slot)
            self.hard.add(slot)
            if kind is OpClass.CALL:
                self.products[slot] = product_of(
                    self._multiplied(op), self.avals, self._view_of, self._in_memory
                )
            elif kind not in (OpClass.REDUCE, OpClass.JOIN, OpClass.RUNNING, OpClass.SCATTER):
                self.stored.update(args)
        self._write_out_transposes()
        for product in self.products.values():
            self.stored.update((product.x.slot, product.y.slot))

    def _multiplied(self, op: Op) -> Op:
        """The `matmul` of a library call."""
        return self.addends[op.out][0] if op.out in self.addends else op

    def _write_out_transposes(self) -> None:
        """Copy the transposed operands that are cheaper so."""
        calls: dict[int, list[Op]] = {}
        for slot, product in self.products.items():
            op = self._multiplied(self.op_of[slot])
            if product.y.slot != op.args[1] and self.avals[slot].dtype.kind == "f":
                calls.setdefault(op.args[1], []).append(self.op_of[slot])
        for y, ops in calls.items():
            if not wants_rows([self.products[op.out] for op in ops]) or not self.target().unpacked:
                continue
            for op in ops:
                self.products[op.out] = product_of(
                    self._multiplied(op),
                    self.avals,
                    lambda slot, y=y: None if slot == y else self._view_of(slot),  # type: ignore[misc]
                    self._in_memory,
                )

    def _view_of(self, slot: int) -> Op | None:
        op = self.op_of.get(slot)
        if op is None or self.kinds[slot] is not OpClass.INLINE:
            return None
        return op if isinstance(op.primitive.lowering, View | Alias) else None

    def _in_memory(self, slot: int) -> bool:
        return slot in self.stored or self.kinds[slot] is not OpClass.INLINE

    # ---- what an inlined value costs -----------------------------------------------------------------------------

    def _inlined_costs(self) -> dict[int, tuple[int, int]]:
        """Instructions and loads of an element, all that it is inlined from included (saturating).

        What is the same for all elements costs nothing, since it is computed outside of the loop.
        """
        costs: dict[int, tuple[int, int]] = {}
        stored = self.stored
        single = {slot for slot in self.program.inputs if self.avals[slot].size == 1}
        for op, slot, args, kind, properties in self._entries:
            if properties.size == 1:
                single.add(slot)
            if kind is not OpClass.INLINE:
                continue
            several = properties.size > 1
            cost = loads = 0
            for operand in args:
                if several and operand in single:
                    continue
                if operand in stored:
                    loads += 1
                    continue
                own = costs[operand]
                cost += own[0]
                loads += own[1]
            if several and args and cost == loads == 0 and not isinstance(op.primitive.lowering, Pad):
                costs[slot] = (0, 0)
                continue
            cost, loads = properties.cost + properties.times * cost, properties.times * loads
            costs[slot] = min(cost, tuning.counted_cost_limit), min(loads, tuning.counted_cost_limit)
        return costs

    def _is_cheap(self, slot: int) -> bool:
        cost, loads = self._costs[slot]
        if self.properties[slot].size == 1:
            return cost <= tuning.recompute_scalar_cost_limit
        return cost == 0 or (cost <= tuning.recompute_cost_limit and loads <= tuning.recompute_loads_limit)

    # ---- the walks -----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        rounds = 0
        changed = True
        while changed:
            self._set_depths()
            cautious = rounds >= tuning.partition_rounds
            changed = self._walk_uses(cautious)
            if self._late and not changed:
                delaying = self._in_no_hurry()
                changed = not delaying.isdisjoint(self._late) and self._walk_uses(cautious, delaying)
            rounds += 1

    def _in_no_hurry(self) -> set[int]:
        """The stored values that nests alone read, each where it computes the same element."""
        read = {
            slot
            for op in self.program.ops
            if self.kinds[op.out] not in (OpClass.INLINE, OpClass.REDUCE)
            for slot in (*op.args, *self._memory_operands(op))
        }
        return self.stored - self.hard - read

    def _set_depths(self) -> None:
        """Set the depth of every op: `here` for who visits a value as its own nest does, `moved` for all others.

        A value in memory can be read in the next depth, but in its own nest it is at hand in a register.
        """
        depth, hard = self.depth, self.hard
        here: dict[int, int] = dict.fromkeys(self.program.inputs, 0)
        moved = dict(here)
        for op, slot, args, kind, properties in self._entries:
            if kind is not OpClass.INLINE:
                depth[slot] = self._depth(op, kind, here, moved)
                here[slot] = moved[slot] = self.finished(slot)
                continue
            first = last = 0
            for operand in args:
                if here[operand] > first:
                    first = here[operand]
                if moved[operand] > last:
                    last = moved[operand]
            at = depth[slot] = here[slot] = first if properties.elementwise else last
            moved[slot] = at + 1 if slot in hard else last

    def _depth(self, op: Op, kind: OpClass, here: Mapping[int, int], moved: Mapping[int, int]) -> int:
        """The depth of what is in memory in any case."""
        if kind is OpClass.ALIAS:
            return 0
        if kind is OpClass.SCATTER:
            copied = here[op.args[0]]
            # Zeros are written when they are needed.
            at = max(copied + 1, here[op.args[1]], *[moved[s] for s in op.args[2:]])
            self.begun[op.out] = at - 1 if self._costs.get(op.args[0]) == (0, 0) else copied
            return at
        if kind in (OpClass.REDUCE, OpClass.JOIN, OpClass.RUNNING):
            whole = kind is not OpClass.REDUCE or len(self.properties[op.out].lanes) == 1
            operands = here if whole else moved
            return max([operands[s] for s in op.args], default=0)
        if kind is OpClass.ABSORBED:
            return max([moved[s] for s in op.args])
        return max([self.finished(s) for s in self._memory_operands(op)], default=0)

    def _memory_operands(self, op: Op) -> list[int]:
        if self.kinds[op.out] is OpClass.CALL:
            product = self.products[op.out]
            addend = [self.addends[op.out][1]] if op.out in self.addends else []
            return [product.x.slot, product.y.slot, *addend]
        return list(op.args)

    def _walk_uses(self, cautious: bool, delaying: Collection[int] = ()) -> bool:
        """From results to inputs: who needs what through which map; returns whether more values must be stored.

        A value of `delaying` moves to the first of the nests that need it, instead of being written by one nest and
        read again by the next: as when a step size, itself computed, comes in after the averages of an optimizer.
        """
        uses = dict.fromkeys(self.op_of, NOBODY)
        stored = self.stored
        changed = False
        self._late.clear()
        for op, slot, args, kind, properties in reversed(self._entries):
            found = uses.pop(slot)
            if kind is not OpClass.INLINE:
                for operand, use in self._uses_of_root(op):
                    add_uses(uses, operand, frozenset((use,)))
                continue
            if slot not in stored and self._must_store(slot, properties, found, cautious):
                stored.add(slot)
                changed = True
            if slot in stored:
                first = min([depth for (_, depth), _ in found], default=0)
                if first > self.depth[slot]:
                    self._late.add(slot)
                    if slot in delaying:
                        self.depth[slot] = first
                if slot not in self.hard and not self._in_register(slot, found):
                    self.hard.add(slot)
                    changed = True
                found = self._use_of_own(slot, properties)
            if properties.elementwise:
                found = frozenset(found)
                for operand in args:
                    if uses.get(operand) is NOBODY:
                        uses[operand] = found
                    else:
                        add_uses(uses, operand, found)
                continue
            for group, access in found:
                for operand, inner in self.accesses(op, access, group[0]):
                    add_uses(uses, operand, frozenset(((group, inner),)))
        return changed

    def _use_of_own(self, slot: int, properties: OpProperties) -> frozenset[Use]:
        """The use of the nest that computes a stored value."""
        key = properties, self.depth[slot]
        known = self._own_uses.get(key)
        if known is None:
            known = self._own_uses[key] = frozenset(((self.group(slot), properties.whole),))
        return known

    def _uses_of_root(self, op: Op) -> list[tuple[int, Use]]:
        """What the nests need that compute or write an op's result."""
        slot, kind = op.out, self.kinds[op.out]
        if kind is OpClass.REDUCE:
            group = self.group(slot)
            return [(op.args[0], (group, access)) for access in self.properties[slot].lanes]
        if kind is OpClass.SCATTER:
            copied, written = self.groups(slot)
            elements = scattered_to(op, self.avals)[1]
            return [
                (op.args[0], (copied, identity(self.avals[slot].shape))),
                (op.args[1], (written, identity(self.avals[op.args[1]].shape))),
                *[(element, (written, access)) for element, access in elements],
            ]
        if kind in (OpClass.JOIN, OpClass.RUNNING):
            shapes = [self.avals[operand].shape for operand in op.args]
            depth = self.depth[slot]
            return [
                (operand, ((space_of(shape), depth), identity(shape)))
                for operand, shape in zip(op.args, shapes, strict=True)
            ]
        return []

    def _in_register(self, slot: int, uses: Collection[Use]) -> bool:
        """Whether every nest that needs the stored `slot` visits it as its own nest does."""
        space, whole = self.properties[slot].space, self.properties[slot].whole
        return all(group[0] == space and access == whole for group, access in uses)

    def _must_store(self, slot: int, properties: OpProperties, uses: Set[Use], cautious: bool) -> bool:
        if len(uses) == 1 and not properties.moves_apart:
            ((_, access),) = uses
            if access is properties.whole or not (picks(access) or repeats(access)):
                return False
        # What repeats a smaller array is not stored, the array is.
        if not uses or self._costs[slot][0] == 0 or properties.repeats:
            # Whether a nest reads a view often, along an axis on which its elements lie apart.
            apart = properties.moves_apart
            return apart and any(
                times_along(group[0], access) >= tuning.strided_reads_before_copy for group, access in uses
            )
        most_picks = max([picks(access) for _, access in uses])
        if most_picks > tuning.recompute_gathers_limit:
            return True
        if cautious and len(uses) > 1:
            return True
        if self._is_cheap(slot):
            return len(uses) > tuning.recompute_uses_limit
        if any([repeats(access) for _, access in uses]):
            return True
        again = len(uses) > 1 or most_picks > 0
        return again and sum([visited(group[0], access) for group, access in uses]) > properties.size
