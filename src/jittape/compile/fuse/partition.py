"""`Partition`: which values of a program are stored in memory, and which are inlined into loop nests.

Every value is either *stored* (an input, a result, an operand of a library call, ...) or *inlined* into the loop nests
of its consumers. A stored value that a loop nest computes is a *root*. Roots over the same index space with the same
*depth* share one nest; depth is the number of complete values (sums, products) on the way to a root, so that no nest
depends on its own results.

The decision needs two walks that depend on each other: depth goes from inputs to results, the uses of a value (in which
nest, through which index map) are known from results to inputs. They are repeated until nothing changes; the set of
stored values only grows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jittape.compile.analysis.gemm_operands import Product, product_of, wants_rows
from jittape.compile.analysis.lapack_operands import LapackCall, lapack_call_of, overwritten
from jittape.compile.analysis.op_class import OpClass, op_classes_of
from jittape.compile.analysis.op_traits import OpProperties, op_properties_of
from jittape.compile.analysis.uses import NO_USES, Group, Use, add_uses
from jittape.compile.fuse.scatter_memory import scatter_memory, users_of
from jittape.compile.fuse.store_rules import Candidate, is_read_once, store_rule
from jittape.compile.ir.index_maps import Access, identity, space_of
from jittape.compile.ir.operand_maps import Key, operand_accesses, scattered_to
from jittape.compile.ir.target_facts import Target
from jittape.core.forms import Alias, Map, Pad, View
from jittape.core.locks import cached_property
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning

__all__ = ["Partition"]

_Entry = tuple[Op, int, tuple[int, ...], OpClass, OpProperties]
"""An op with its slot, its operands, its class and its properties."""
_Accesses = dict[tuple[OpProperties, Access, tuple[int, ...]], tuple[Key, ...]]
"""The operand accesses of ops by their properties, the access to their results and the extents of the nest."""


class Partition:
    """The stored values and loop nests of a program or body; properties of ops are reused from the partition `before`.

    Attributes
    ----------
    classes : dict
        The class of the op of each slot.
    stored : set of int
        Slots in memory, inputs included.
    products : dict
        For every slot that a library call computes, the product and its operands in memory.
    lapack_calls : dict
        For every slot that a factorization or a solve computes, its arguments in memory.
    overwritten : dict
        For such a slot, or one that is scattered to, whose operand nothing else reads: the slot of that operand, whose
        memory the result takes.
    addends : dict
        For the sum of a product and a value without other uses: the product, and the slot of that value, to whose
        memory the product is added.
    depth : dict
        The depth at which the value of a slot is computed.
    begun : dict
        For a slot that is scattered to, the lesser depth at which the copy is made.
    stored_by : dict
        For a slot that is stored to save work, the name of the rule that decided this.
    properties : dict
        The properties of the op of each slot.
    constants : set of int
        Slots whose elements are all the same number.
    """

    def __init__(
        self,
        program: Program,
        target: Target,
        before: Partition | None = None,
        writes_parts: bool = False,
    ) -> None:
        self.program, self.writes_parts = program, writes_parts
        self.target = target
        self.avals = program.avals
        self.op_of = {op.out: op for op in program.ops}
        self._known: dict[Any, OpProperties] = {} if before is None else before._known
        self._accesses: _Accesses = {} if before is None else before._accesses
        self.properties = {} if before is None else before._known_properties(program.ops)
        new = [op for op in program.ops if op.out not in self.properties]
        self.properties.update(op_properties_of(new, self.avals, self._known))
        own = {slot: properties.op_class for slot, properties in self.properties.items()}
        self.classes, self.addends = op_classes_of(program, self.op_of, own)
        self._entries: list[_Entry] = [
            (op, op.out, op.args, self.classes[op.out], self.properties[op.out]) for op in program.ops
        ]
        self.constants = {
            op.out for op in program.ops if not op.args and isinstance(op.primitive.lowering, Map)
        }
        self.products: dict[int, Product] = {}
        self.lapack_calls: dict[int, LapackCall] = {}
        self.overwritten: dict[int, int] = {}
        self.stored = set(program.inputs) | set(program.outputs)
        self.in_memory: set[int] = set()
        self.stored_by: dict[int, str] = {}
        self.depth: dict[int, int] = {}
        self.begun: dict[int, int] = {}
        self._read_before: dict[int, list[int]] = {}
        self._mark_stored()
        self._costs = self._inlined_costs()
        self._needed_later: set[int] = set()
        self._own_uses: dict[tuple[OpProperties, int], frozenset[Use]] = {}
        self._iterate()

    def groups(self, slot: int) -> list[Group]:
        """Return the nests of a root: several for a join, two for a scatter that copies and then writes."""
        if self.classes[slot] is OpClass.SCATTER and slot not in self.overwritten:
            return [(space_of(self.avals[slot].shape), self.begun[slot]), self.group(slot)]
        if self.classes[slot] is not OpClass.JOIN:
            return [self.group(slot)]
        spaces = [space_of(self.avals[s].shape) for s in self.op_of[slot].args]
        return [(space, self.depth[slot]) for space in dict.fromkeys(spaces)]

    def group(self, slot: int) -> Group:
        """Return the nest of a root that is no join."""
        return self.properties[slot].space, self.depth[slot]

    def readable_from(self, slot: int) -> int:
        """Return the least depth at which the memory of `slot` can be read."""
        while slot in self.op_of and self.classes[slot] is OpClass.ALIAS:
            slot = self.op_of[slot].args[0]
        return self.depth[slot] + 1 if slot in self.op_of else 0

    def accesses(self, op: Op, access: Access, extents: tuple[int, ...]) -> Sequence[Key]:
        """Return `operand_accesses`; ops of an unrolled loop share them: 20 of 2,762 calls for an LSTM differ."""
        if len(op.args) != 1:
            return operand_accesses(op, access, self.avals, extents)
        key = self.properties[op.out], access, extents
        known = self._accesses.get(key)
        if known is None:
            known = self._accesses[key] = operand_accesses(op, access, self.avals, extents)
        return [(op.args[0], inner) for _, inner in known]

    def _known_properties(self, ops: Sequence[Op]) -> dict[int, OpProperties]:
        """Return the properties of those of `ops` that this program has too; a slot has the same shape in both."""
        known = self.op_of
        return {op.out: self.properties[op.out] for op in ops if known.get(op.out) is op}

    # ---- values that are always stored ---------------------------------------------------------------------------

    def _mark_stored(self) -> None:
        for op, slot, args, op_class, _ in self._entries:
            if op_class is OpClass.INLINE or op_class is OpClass.ABSORBED:
                continue
            self.stored.add(slot)
            self.in_memory.add(slot)
            if op_class is OpClass.CALL:
                self.products[slot] = product_of(
                    self._multiplied(op), self.avals, self._view_of, self._has_memory
                )
            elif op_class is OpClass.LAPACK:
                self._mark_lapack(op)
            elif op_class is OpClass.SCATTER:
                self._mark_scatter(op)
            elif op_class not in (OpClass.REDUCE, OpClass.JOIN, OpClass.SCAN):
                self.stored.update(args)
        self._write_out_transposes()
        for product in self.products.values():
            self.stored.update((product.x.slot, product.y.slot))

    def _mark_scatter(self, op: Op) -> None:
        """Let a scatter write into the memory of the scatter or loop before it, if nothing reads that later.

        An element or row at one index is computed before it is written: then the loops that write it read no array, and
        an array of which a loop's body changes one element stays in its memory.
        """
        base, value, *indices = op.args
        taken, reads = scatter_memory(op, self.program, self._users[base], self.classes, self.writes_parts)
        if taken is not None:
            self.overwritten[op.out] = taken
        self._read_before[op.out] = reads
        self.stored.update(reads)
        self.in_memory.update(reads)
        if all([self.avals[index].size == 1 for index in indices]) and value not in self.constants:
            self.stored.add(value)
            self.in_memory.add(value)

    @cached_property
    def _counts(self) -> Counter[int]:
        """The number of uses of each slot, outputs included."""
        return Counter([*self.program.outputs, *[s for op in self.program.ops for s in op.args]])

    @cached_property
    def _users(self) -> dict[int, list[Op]]:
        """The ops that use each slot."""
        return users_of(self.program)

    def _mark_lapack(self, op: Op) -> None:
        taken = overwritten(op, self.avals, self.op_of, self.classes, self._counts, self.program.outputs)
        call = lapack_call_of(op, self.avals, self._view_of, self._has_memory, taken is not None)
        if taken is not None:
            self.overwritten[op.out] = taken
        self.lapack_calls[op.out] = call
        self.stored.update(call.slots)

    def _multiplied(self, op: Op) -> Op:
        """Return the matrix product of a library call."""
        return self.addends[op.out][0] if op.out in self.addends else op

    def _write_out_transposes(self) -> None:
        """Copy the transposed operands of products that run faster on a copy."""
        calls: dict[int, list[Op]] = {}
        for slot, product in self.products.items():
            op = self._multiplied(self.op_of[slot])
            if product.y.slot != op.args[1] and self.avals[slot].dtype.kind == "f":
                calls.setdefault(op.args[1], []).append(self.op_of[slot])
        for y, ops in calls.items():
            if not wants_rows([self.products[op.out] for op in ops], self.avals[y].dtype, self.target()):
                continue
            for op in ops:
                self.products[op.out] = product_of(
                    self._multiplied(op),
                    self.avals,
                    lambda slot, y=y: None if slot == y else self._view_of(slot),  # type: ignore[misc]
                    self._has_memory,
                )

    def _view_of(self, slot: int) -> Op | None:
        op = self.op_of.get(slot)
        if op is None or self.classes[slot] is not OpClass.INLINE:
            return None
        return op if isinstance(op.primitive.lowering, View | Alias) else None

    def _has_memory(self, slot: int) -> bool:
        return slot in self.stored or self.classes[slot] is not OpClass.INLINE

    def _inlined_costs(self) -> dict[int, tuple[int, int]]:
        """Return instructions and loads of an element, including all values that it is inlined from (saturating).

        Values that are the same for all elements cost nothing, since they are computed outside of the loop.
        """
        costs: dict[int, tuple[int, int]] = {}
        stored = self.stored
        single = {slot for slot in self.program.inputs if self.avals[slot].size == 1}
        for op, slot, args, op_class, properties in self._entries:
            if properties.size == 1:
                single.add(slot)
            if op_class is not OpClass.INLINE:
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

    def _iterate(self) -> None:
        rounds = 0
        changed = True
        while changed:
            self._set_depths()
            cautious = rounds >= tuning.partition_rounds
            changed = self._walk_uses(cautious)
            if self._needed_later and not changed:
                delayed = self._delayable()
                changed = not delayed.isdisjoint(self._needed_later) and self._walk_uses(cautious, delayed)
            rounds += 1

    def _delayable(self) -> set[int]:
        """Return the stored values that only nests read, each nest at the element that it computes."""
        ops = {
            id(args) if op_class is OpClass.CONTROL else ~slot: op  # results of one op share their operands
            for op, slot, args, op_class, _ in self._entries
            if op_class not in (OpClass.INLINE, OpClass.REDUCE)
        }
        read = {slot for op in ops.values() for slot in (*op.args, *self._memory_operands(op))}
        return self.stored - self.in_memory - read

    def _set_depths(self) -> None:
        """Set the depth of every op.

        A nest that visits a value as the nest that computes it can run at the value's depth in `here`, where the value
        is in a register. All other nests read it from memory, at its depth in `moved`. The results of a control op have
        the same depth: scalar bytecode may have thousands of results and of operands.
        """
        depth, in_memory = self.depth, self.in_memory
        here: dict[int, int] = dict.fromkeys(self.program.inputs, 0)
        moved, known = dict(here), dict[int, int]()
        for op, slot, args, op_class, properties in self._entries:
            if op_class is not OpClass.INLINE:
                key = id(args) if op_class is OpClass.CONTROL else ~slot
                if key not in known:
                    known[key] = self._depth(op, op_class, here, moved)
                depth[slot] = known[key]
                here[slot] = moved[slot] = self.readable_from(slot)
                continue
            first = last = 0
            for operand in args:
                if here[operand] > first:
                    first = here[operand]
                if moved[operand] > last:
                    last = moved[operand]
            at = depth[slot] = here[slot] = first if properties.elementwise else last
            moved[slot] = at + 1 if slot in in_memory else last

    def _depth(self, op: Op, op_class: OpClass, here: Mapping[int, int], moved: Mapping[int, int]) -> int:
        """Return the depth of an op whose result is always stored."""
        if op_class is OpClass.ALIAS:
            return 0
        if op_class is OpClass.SCATTER:
            copied, value = here[op.args[0]], op.args[1]
            earlier = (*op.args[2:], *self._read_before[op.out])
            ready = max([(moved if value in self.in_memory else here)[value], *[moved[s] for s in earlier]])
            if op.out in self.overwritten:
                return max(copied, ready)
            # A nest can fill with zeros directly before the values are written.
            at = max(copied + 1, ready)
            self.begun[op.out] = at - 1 if self._costs.get(op.args[0]) == (0, 0) else copied
            return at
        if op_class in (OpClass.REDUCE, OpClass.JOIN, OpClass.SCAN):
            whole = op_class is not OpClass.REDUCE or len(self.properties[op.out].lanes) == 1
            operands = here if whole else moved
            return max([operands[s] for s in op.args], default=0)
        if op_class is OpClass.ABSORBED:
            return max([moved[s] for s in op.args])
        return max([self.readable_from(s) for s in self._memory_operands(op)], default=0)

    def _memory_operands(self, op: Op) -> Sequence[int]:
        if self.classes[op.out] is OpClass.CALL:
            product = self.products[op.out]
            addend = [self.addends[op.out][1]] if op.out in self.addends else []
            return [product.x.slot, product.y.slot, *addend]
        if self.classes[op.out] is OpClass.LAPACK:
            return self.lapack_calls[op.out].slots
        return op.args

    def _walk_uses(self, cautious: bool, delayed: Collection[int] = ()) -> bool:
        """Collect the uses of every value, from results to inputs; return whether more values must be stored.

        A value in `delayed` moves to the first nest that needs it, instead of being written by one nest and read by the
        next. An example are the averages of an optimizer, if the step size is computed after them.
        """
        uses = dict.fromkeys(self.op_of, NO_USES)
        stored = self.stored
        changed = False
        self._needed_later.clear()
        for op, slot, args, op_class, properties in reversed(self._entries):
            found = uses.pop(slot)
            if op_class is not OpClass.INLINE:
                for operand, use in self._uses_of_root(op):
                    add_uses(uses, operand, frozenset((use,)))
                continue
            if slot not in stored and not is_read_once(properties, found):
                rule = store_rule(Candidate(properties, found, self._costs[slot], cautious))
                if rule is not None:
                    stored.add(slot)
                    self.stored_by[slot] = rule
                    changed = True
            if slot in stored:
                first = min([depth for (_, depth), _ in found], default=0)
                if first > self.depth[slot]:
                    self._needed_later.add(slot)
                    if slot in delayed:
                        self.depth[slot] = first
                if slot not in self.in_memory and not self._in_register(slot, found):
                    self.in_memory.add(slot)
                    changed = True
                found = self._use_of_own(slot, properties)
            if properties.elementwise:
                found = frozenset(found)
                for operand in args:
                    if uses.get(operand) is NO_USES:
                        uses[operand] = found
                    else:
                        add_uses(uses, operand, found)
                continue
            for group, access in found:
                for operand, inner in self.accesses(op, access, group[0]):
                    add_uses(uses, operand, frozenset(((group, inner),)))
        return changed

    def _use_of_own(self, slot: int, properties: OpProperties) -> frozenset[Use]:
        """Return the use of a stored value by the nest that computes it."""
        key = properties, self.depth[slot]
        known = self._own_uses.get(key)
        if known is None:
            known = self._own_uses[key] = frozenset(((self.group(slot), properties.whole),))
        return known

    def _uses_of_root(self, op: Op) -> list[tuple[int, Use]]:
        """Return the uses of operands by the nests that compute or write the result of an op."""
        slot, op_class = op.out, self.classes[op.out]
        if op_class is OpClass.REDUCE:
            group = self.group(slot)
            return [(op.args[0], (group, access)) for access in self.properties[slot].lanes]
        if op_class is OpClass.SCATTER:
            *copied, written = self.groups(slot)
            elements = scattered_to(op, self.avals)[1]
            return [
                *[(op.args[0], (nest, identity(self.avals[slot].shape))) for nest in copied],
                (op.args[1], (written, identity(self.avals[op.args[1]].shape))),
                *[(element, (written, access)) for element, access in elements],
            ]
        if op_class in (OpClass.JOIN, OpClass.SCAN):
            shapes = [(operand, self.avals[operand].shape) for operand in op.args]
            return [(s, ((space_of(shape), self.depth[slot]), identity(shape))) for s, shape in shapes]
        return []

    def _in_register(self, slot: int, uses: Collection[Use]) -> bool:
        """Return whether every nest that needs the stored `slot` visits it as the nest that computes it."""
        space, whole = self.properties[slot].space, self.properties[slot].whole
        return all(group[0] == space and access == whole for group, access in uses)
