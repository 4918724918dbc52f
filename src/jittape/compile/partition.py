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

from collections.abc import Collection
from math import prod

from jittape.compile.accesses import operand_accesses, scattered_to
from jittape.compile.blas import blas
from jittape.compile.cost import cost_of_map
from jittape.compile.indexing import (
    UNROLLED,
    Access,
    identity,
    lanes,
    nest_over,
    repeats,
    space_of,
    times_along,
    visited,
)
from jittape.compile.kinds import Kind, kinds_of
from jittape.compile.operands import Product, product_of, wants_rows
from jittape.forms import Alias, Coordinate, Map, Overlay, Place, Reduce, View
from jittape.program import Op, Program

__all__ = ["Group", "Partition"]

Group = tuple[tuple[int, ...], int]
"""Loop extents and depth: what names a nest."""

CHEAP = 8
"""A value of so few instructions an element may be computed again in every nest that needs it."""
CHEAP_SCALAR = 60
"""The same for a value of one element, which is computed once a nest."""
MANY = 8
"""So many uses at most of a value that is computed again."""
MOST_PICKS = 3
"""So many arrays of indices in a row say at most where an element of a value that is computed again stands."""
MANY_LOADS = 2
"""Computing a value from more arrays than this again costs more traffic than storing it."""
REPEATED = 4
"""A view that is read so many times across the order in which it lies in memory is copied first: 25 times a transposed
1000x10 takes 35 µs with the copy, 83 without."""
PATIENCE = 6
"""Rounds before the simple rule is taken: everything that is used twice is stored."""


class Partition:
    """The decision for one program.

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
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.avals = program.avals
        self.op_of = {op.out: op for op in program.ops}
        self.kinds, self.addends = kinds_of(program, self.op_of)
        self.products: dict[int, Product] = {}
        self.stored = set(program.inputs) | set(program.outputs)
        self.hard: set[int] = set()
        self.depth: dict[int, int] = {}
        self.begun: dict[int, int] = {}
        self._identities: dict[tuple[int, ...], Access] = {}
        self._mark_stored()
        self._costs = self._inlined_costs()
        self._settle()

    def groups(self, slot: int) -> list[Group]:
        """The nests of a root, of which a join may have several, and what is scattered has two: copy and writes."""
        if self.kinds[slot] is Kind.SCATTER:
            return [(space_of(self.avals[slot].shape), self.begun[slot]), self.group(slot)]
        if self.kinds[slot] is not Kind.JOIN:
            return [self.group(slot)]
        spaces = [space_of(self.avals[s].shape) for s in self.op_of[slot].args]
        return [(space, self.depth[slot]) for space in dict.fromkeys(spaces)]

    def group(self, slot: int) -> Group:
        """The nest of a root that is no join."""
        op = self.op_of[slot]
        if self.kinds[slot] is Kind.REDUCE:
            return (nest_over(self.avals[op.args[0]].shape)[0], self.depth[slot])
        if self.kinds[slot] is Kind.SCATTER:
            return (space_of(self.avals[op.args[1]].shape), self.depth[slot])
        return (space_of(self.avals[slot].shape), self.depth[slot])

    def finished(self, slot: int) -> int:
        """The depth from which on the memory of `slot` can be read."""
        while slot in self.op_of and self.kinds[slot] is Kind.ALIAS:
            slot = self.op_of[slot].args[0]
        return self.depth[slot] + 1 if slot in self.op_of else 0

    # ---- what is stored in any case ------------------------------------------------------------------------------

    def _mark_stored(self) -> None:
        for op in self.program.ops:
            kind = self.kinds[op.out]
            if kind in (Kind.INLINE, Kind.ABSORBED):
                continue
            self.stored.add(op.out)
            self.hard.add(op.out)
            if kind is Kind.CALL:
                self.products[op.out] = product_of(
                    self._multiplied(op), self.avals, self._view_of, self._in_memory
                )
            elif kind not in (Kind.REDUCE, Kind.JOIN, Kind.RUNNING, Kind.SCATTER):
                self.stored.update(op.args)
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
            if not wants_rows([self.products[op.out] for op in ops]) or not blas().unpacked:
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
        if op is None or self.kinds[slot] is not Kind.INLINE:
            return None
        return op if isinstance(op.primitive.form, View | Alias) else None

    def _in_memory(self, slot: int) -> bool:
        return slot in self.stored or self.kinds[slot] is not Kind.INLINE

    # ---- what an inlined value costs -----------------------------------------------------------------------------

    def _inlined_costs(self) -> dict[int, tuple[int, int]]:
        """Instructions and loads of an element, all that it is inlined from included (saturating).

        What is the same for all elements costs nothing, since it is computed outside of the loop.
        """
        costs: dict[int, tuple[int, int]] = {}
        for op in self.program.ops:
            if self.kinds[op.out] is not Kind.INLINE:
                continue
            form = op.primitive.form
            own = {Place: 3, Overlay: 4, Coordinate: 1}.get(type(form), 0)
            if isinstance(form, Map):
                own = cost_of_map(op.primitive, op.params, tuple([self.avals[a].dtype for a in op.args]))
            times = 1
            if isinstance(form, Reduce):
                times = own = self.avals[op.args[0]].size // max(1, self.avals[op.out].size)
            several = self.avals[op.out].size > 1
            inner = [
                (0, 0)
                if several and self.avals[slot].size == 1
                else (0, 1)
                if slot in self.stored
                else costs[slot]
                for slot in op.args
            ]
            if (
                several
                and inner
                and not any(cost or loads for cost, loads in inner)
                and not isinstance(form, Place)
            ):
                costs[op.out] = (0, 0)
                continue
            own += times * sum(cost for cost, _ in inner)
            loads = times * sum(loads for _, loads in inner)
            costs[op.out] = (min(own, 1 << 20), min(loads, 1 << 20))
        return costs

    def _cheap(self, slot: int) -> bool:
        cost, loads = self._costs[slot]
        if self.avals[slot].size == 1:
            return cost <= CHEAP_SCALAR
        return cost == 0 or (cost <= CHEAP and loads <= MANY_LOADS)

    # ---- the walks -----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        rounds = 0
        changed = True
        while changed:
            self._set_depths()
            cautious = rounds >= PATIENCE
            changed = self._walk_uses(cautious) or self._walk_uses(cautious, self._in_no_hurry())
            rounds += 1

    def _in_no_hurry(self) -> set[int]:
        """The stored values that nests alone read, each where it computes the same element."""
        read = {
            slot
            for op in self.program.ops
            if self.kinds[op.out] not in (Kind.INLINE, Kind.REDUCE)
            for slot in (*op.args, *self._memory_operands(op))
        }
        return self.stored - self.hard - read

    def _set_depths(self) -> None:
        """Set the depth of every op: `here` for who visits a value as its own nest does, `moved` for all others.

        A value in memory can be read in the next depth, but in its own nest it is at hand in a register.
        """
        depth = self.depth
        here: dict[int, int] = dict.fromkeys(self.program.inputs, 0)
        moved = dict(here)
        for op in self.program.ops:
            slot, kind = op.out, self.kinds[op.out]
            elementwise = isinstance(op.primitive.form, Map)
            if kind in (Kind.CALL, Kind.CONTROL, Kind.NUMPY, Kind.CHECK):
                at = max([self.finished(s) for s in self._memory_operands(op)], default=0)
            elif kind is Kind.ALIAS:
                at = 0
            elif kind is Kind.SCATTER:
                copied = here[op.args[0]]
                at = max(copied + 1, here[op.args[1]], *[moved[s] for s in op.args[2:]])
                # Zeros are written when they are needed.
                self.begun[slot] = at - 1 if self._costs.get(op.args[0]) == (0, 0) else copied
            else:
                whole = kind is Kind.REDUCE and len(lanes(self.avals[op.args[0]].shape)) == 1
                whole = whole or kind in (Kind.JOIN, Kind.RUNNING)
                operands = here if elementwise or whole else moved
                at = max([operands[s] for s in op.args], default=0)
            depth[slot] = at
            if kind is not Kind.INLINE:
                here[slot] = moved[slot] = self.finished(slot)
            elif slot in self.hard:
                here[slot], moved[slot] = at, at + 1
            else:
                here[slot] = at
                moved[slot] = max([moved[s] for s in op.args], default=0) if elementwise else at

    def _memory_operands(self, op: Op) -> list[int]:
        if self.kinds[op.out] is Kind.CALL:
            product = self.products[op.out]
            addend = [self.addends[op.out][1]] if op.out in self.addends else []
            return [product.x.slot, product.y.slot, *addend]
        return list(op.args)

    def _identity(self, shape: tuple[int, ...]) -> Access:
        found = self._identities.get(shape)
        if found is None:
            found = self._identities[shape] = identity(shape)
        return found

    def _walk_uses(self, cautious: bool, delaying: Collection[int] = ()) -> bool:
        """From results to inputs: who needs what through which map; returns whether more values must be stored.

        A value of `delaying` moves to the first of the nests that need it, instead of being written by one nest and
        read again by the next: as when a step size, itself computed, comes in after the averages of an optimizer.
        """
        uses: dict[int, dict[tuple[Group, Access], None]] = {}
        changed = False

        def use(slot: int, group: Group, access: Access) -> None:
            if slot in self.op_of:
                uses.setdefault(slot, {})[group, access] = None

        for op in reversed(self.program.ops):
            slot, kind = op.out, self.kinds[op.out]
            if kind is Kind.REDUCE:
                for access in lanes(self.avals[op.args[0]].shape):
                    use(op.args[0], self.group(slot), access)
            if kind is Kind.SCATTER:
                copied, written = self.groups(slot)
                use(op.args[0], copied, self._identity(self.avals[slot].shape))
                use(op.args[1], written, self._identity(self.avals[op.args[1]].shape))
                for element, access in scattered_to(op, self.avals)[1]:
                    use(element, written, access)
            if kind in (Kind.JOIN, Kind.RUNNING):
                for operand in op.args:
                    shape = self.avals[operand].shape
                    use(operand, (space_of(shape), self.depth[slot]), self._identity(shape))
            if kind is not Kind.INLINE:
                continue
            found = list(uses.pop(slot, ()))
            if slot not in self.stored and self._must_store(slot, found, cautious):
                self.stored.add(slot)
                changed = True
            if slot in self.stored:
                if slot in delaying and found:
                    self.depth[slot] = max(self.depth[slot], min(group[1] for group, _ in found))
                if slot not in self.hard and not self._in_register(slot, found):
                    self.hard.add(slot)
                    changed = True
                found = [(self.group(slot), self._identity(self.avals[slot].shape))]
            for group, access in found:
                for inner, inner_access in operand_accesses(op, access, self.avals, group[0]):
                    use(inner, group, inner_access)
        return changed

    def _in_register(self, slot: int, uses: list[tuple[Group, Access]]) -> bool:
        """Whether every nest that needs the stored `slot` visits it as its own nest does."""
        shape = self.avals[slot].shape
        space, whole = space_of(shape), self._identity(shape)
        return all(group[0] == space and access == whole for group, access in uses)

    def _must_store(self, slot: int, uses: list[tuple[Group, Access]], cautious: bool) -> bool:
        if not uses or self._costs[slot][0] == 0:
            return self._is_scattered(slot, uses)
        picks = [access.picks() for _, access in uses]
        if max(picks) > MOST_PICKS:
            return True
        if cautious and len(uses) > 1:
            return True
        if self._cheap(slot):
            return len(uses) > MANY
        if any(repeats(access) for _, access in uses):
            return True
        size, again = self.avals[slot].size, len(uses) > 1 or any(picks)
        return again and sum([visited(group[0], access) for group, access in uses]) > size

    def _is_scattered(self, slot: int, uses: list[tuple[Group, Access]]) -> bool:
        """Whether a nest reads a view often, along an axis on which its elements lie apart."""
        op, shape = self.op_of[slot], self.avals[slot].shape
        if not isinstance(op.primitive.form, View) or not shape or shape[-1] <= UNROLLED:
            return False
        operand = self.avals[op.args[0]]
        index = op.primitive.form.index(operand, self.avals[slot], **dict(op.params))
        along = [axis for axis, entry in enumerate(index) if entry.axis == len(shape) - 1]
        if not along or prod(operand.shape[along[0] + 1 :]) == 1:
            return False
        return any(times_along(group[0], access) >= REPEATED for group, access in uses)
