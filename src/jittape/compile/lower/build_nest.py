"""Building of loop nests: `NestBuilder` inlines maps and views into the nest that computes a group of roots.

The result is a `LoopNest` with numbers for strides. `split_nest` cuts it if it is long, and `canonicalize` turns each
piece into a kernel for all shapes and the integers for this shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jittape.compile.analysis.op_class import OpClass
from jittape.compile.fuse.partition import Partition
from jittape.compile.ir.index_maps import (
    EVERYWHERE,
    Access,
    Condition,
    Position,
    Quotient,
    identity,
    lanes,
    space_of,
    viewed,
)
from jittape.compile.ir.instructions import (
    AffineValue,
    BoundsMask,
    Compute,
    Load,
    Reduction,
    ScanStore,
    ScatterStore,
    Store,
    ZeroMask,
)
from jittape.compile.ir.loop_nest import (
    ConcreteAddress,
    ConcreteLinear,
    LoopNest,
    NestInstruction,
    NestReduction,
    renumbered,
)
from jittape.compile.ir.operand_maps import Key, dynamic_keys, scattered_to
from jittape.core.forms import Concatenate, DynamicUpdateSlice, Iota, Pad, Reduce, Scan, Scatter, View
from jittape.core.program import Aval, Op
from jittape.core.tuning import tuning
from jittape.primitives.elementwise.comparison import where_op

__all__ = ["NestBuilder"]

INT64 = np.dtype(np.int64)


class NestBuilder:
    """Builder of the `LoopNest` of a group of roots over one space.

    Parameters
    ----------
    space : tuple of int
        The loop extents.
    partition : Partition
        The stored values, and the properties of the ops.
    position : mapping
        For each slot, the position in the program of the op that defines it.

    Attributes
    ----------
    nest : LoopNest
        The nest so far.
    covered : dict
        The ops that the nest computes, by their slots.
    """

    def __init__(self, space: tuple[int, ...], partition: Partition, position: Mapping[int, int]) -> None:
        self.nest = LoopNest(space)
        self.partition = partition
        self.avals = partition.avals
        self.op_of = partition.op_of
        self.stored = partition.stored
        self.constants = partition.constants
        self.position = position
        self.origin = 0
        self.covered: dict[int, Op] = {}
        self._own: set[Key] = set()
        self._ids: dict[Key, int] = {}
        self._known: dict[NestInstruction, int] = {}

    def add_roots(self, ops: list[Op]) -> None:
        """Compute and write the results of `ops`."""
        avals, extents = self.avals, self.nest.extents
        here = [(op.out, avals[op.out].shape) for op in ops]
        self._own = {(slot, identity(shape)) for slot, shape in here if space_of(shape) == extents}
        for op in ops:
            self.covered[op.out] = op
            if isinstance(op.primitive.lowering, Concatenate):
                self._add_parts(op, op.primitive.lowering)
            elif isinstance(op.primitive.lowering, Scan):
                self._add_scan(op)
            elif isinstance(op.primitive.lowering, Scatter):
                self._add_scattered(op, op.primitive.lowering)
            elif self.partition.classes[op.out] is OpClass.REDUCE:
                self._add_reduction(op)
            else:
                access = identity(self.avals[op.out].shape)
                value = self._value((op.out, access))
                self.nest.stores.append(Store(self._address(op.out, access), value))

    def add_copies(self, ops: list[Op]) -> None:
        """Copy the first operand of each `Scatter` to the memory that a later nest scatters into."""
        for op in ops:
            self.covered[op.out] = op
            access = identity(self.avals[op.out].shape)
            value = self._value((op.args[0], access))
            self.nest.stores.append(Store(self._address(op.out, access), value))

    def _add_scattered(self, op: Op, form: Scatter) -> None:
        place, elements = scattered_to(op, self.avals)
        value = self._value((op.args[1], identity(self.avals[op.args[1]].shape)))
        for element in elements:
            self._value(element)
        how = ScatterStore(form.combining(**dict(op.params)))
        self.nest.stores.append(Store(self._address(op.out, place), value, None, how))

    def _add_scan(self, op: Op) -> None:
        access = identity(self.avals[op.out].shape)
        values = tuple([self._value((slot, access)) for slot in op.args])
        axis = access.positions[dict(op.params)["axis"]].variable
        scan = ScanStore(op.primitive, _scalar_params(op), axis, values)
        self.nest.stores.append(Store(self._address(op.out, access), max(values), scan))

    def _add_parts(self, op: Op, form: Concatenate) -> None:
        """Write the operands of a `Concatenate` that have the loops of this nest to their parts of the result."""
        operands, out = tuple([self.avals[slot] for slot in op.args]), self.avals[op.out]
        for number, (slot, operand) in enumerate(zip(op.args, operands, strict=True)):
            if space_of(operand.shape) != self.nest.extents:
                continue
            access = identity(operand.shape)
            index = form.index(number, operands, out, **dict(op.params))
            place = viewed(access, index, out.shape, op.args)
            address = self._address(op.out, place)
            # Columns of narrow rows share a pointer, so that they are written together.
            if address.linear.narrow_stride(len(self.nest.extents) - 1) == 1:
                address = address._replace(part=number)
            self.nest.stores.append(Store(address, self._value((slot, access))))

    def add_copy(self, op: Op) -> None:
        """Write the result of an alias that needs memory of its own, as integers of at most 8 bytes."""
        self.covered[op.out] = op
        nbytes, word = self.avals[op.out].nbytes, min(8, self.avals[op.out].dtype.itemsize)
        whole = Aval((nbytes // word,), np.dtype(f"u{word}"))
        linear = self._linear_of(identity(whole.shape), whole.shape)
        value = self._instruction(Load(ConcreteAddress(op.args[0], linear), None, whole.dtype))
        self.nest.stores.append(Store(ConcreteAddress(op.out, linear), value))

    def _add_reduction(self, op: Op) -> None:
        shape, axes = self.avals[op.args[0]].shape, dict(op.params)["axes"]
        dtype, size, params = self.avals[op.out].dtype, self.avals[op.out].size, _scalar_params(op)
        reductions: dict[ConcreteLinear, NestReduction] = {}
        for access in lanes(shape):
            value = self._value((op.args[0], access))
            kept = [p for axis, p in enumerate(access.positions) if axis not in axes]
            address = self._address(op.out, Access(tuple(kept)))
            known = reductions.get(address.linear)
            if known is not None:
                combined = Compute(op.primitive, params, (known.value, value), dtype)
                reductions[address.linear] = known._replace(value=self._instruction(combined))
                continue
            loops = [p.variable for axis, p in enumerate(access.positions) if axis in axes]
            reduced = tuple([variable for variable in loops if variable is not None])
            reductions[address.linear] = Reduction(op.primitive, params, address, value, reduced, dtype, size)
        for reduction in reductions.values():
            if reduction.axes:
                self.nest.reductions.append(reduction)
            else:
                self.nest.stores.append(Store(reduction.address, reduction.value))

    def can_host(self, other: NestBuilder) -> bool:
        """Return whether `other`, whose loops are slightly shorter, can run in the loops of this nest.

        It must compute sums, and read an array that this nest reads too.
        """
        if len(self.nest.extents) != len(other.nest.extents) or other.nest.stores:
            return False
        sums = all(r.primitive.is_sum for r in other.nest.reductions)
        if not sums or self._read().isdisjoint(other._read()):
            return False
        # The extents come last: each comparison may be a guard of a general schedule.
        pairs = list(zip(self.nest.extents, other.nest.extents, strict=True))
        if not all(n <= m <= n + max(2, n // 8) for m, n in pairs):
            return False
        shorter = {axis for axis, (m, n) in enumerate(pairs) if m > n}
        # Only a sum along the longer loops ignores the zeros that are added there.
        return all(shorter.issubset(r.axes) for r in other.nest.reductions)

    def _read(self) -> set[int]:
        """Return the slots of arrays that the nest reads."""
        loads = [i.address for i in self.nest.instructions if isinstance(i, Load)]
        return {address.slot for address in loads if address.linear.terms}

    def host(self, other: NestBuilder) -> None:
        """Add the sums of `other`, which add zero beyond its loops."""
        self.covered.update(other.covered)
        mask = None
        for axis, (extent, shorter) in enumerate(zip(self.nest.extents, other.nest.extents, strict=True)):
            if extent != shorter:
                linear = ConcreteLinear(((axis, 1, True),), 0)
                mask = self._instruction(BoundsMask(linear, 1, shorter, mask))
        here: list[int] = []
        for instruction, self.origin in zip(other.nest.instructions, other.nest.origins, strict=True):
            moved = renumbered(instruction, here.__getitem__)
            if isinstance(moved, BoundsMask) and moved.also is None:
                moved = moved._replace(also=mask)
            if isinstance(moved, Load) and moved.mask is None and moved.address.linear.terms:
                moved = moved._replace(mask=mask)
            here.append(self._instruction(moved))
        for r in other.nest.reductions:
            value = here[r.value] if mask is None else self._instruction(ZeroMask(mask, here[r.value]))
            address = r.address.renumbered(here.__getitem__)
            self.nest.reductions.append(r._replace(address=address, value=value))

    # ---- inlining: a walk with an explicit stack, since chains are as long as the user's loop ---------------------

    def _value(self, root: Key) -> int:
        root, ids = self._normal(root), self._ids
        needed = () if root in ids else self._needs(root)
        pending = [] if root in ids else [(root, needed, iter(needed))]
        while pending:
            key, needed, rest = pending[-1]
            for operand in rest:
                if operand in ids:
                    continue
                inner = self._needs(operand)
                if inner:
                    pending.append((operand, inner, iter(inner)))
                    break
                ids[operand] = self._make(operand, ())
            else:
                ids[key] = self._make(key, tuple([ids[k] for k in needed]))
                pending.pop()
        return ids[root]

    def _normal(self, key: Key) -> Key:
        """Return the key of an element, which for a constant is the same everywhere."""
        return (key[0], EVERYWHERE) if key[0] in self.constants else key

    def _needs(self, key: Key) -> Sequence[Key]:
        """Return the elements that the instruction for an element takes."""
        slot, access = key
        if slot in self.stored and key not in self._own:
            return [self._normal(k) for k in dynamic_keys(*access)]
        op, constants = self.op_of[slot], self.constants
        if self.partition.properties[slot].elementwise:
            return [(operand, EVERYWHERE if operand in constants else access) for operand in op.args]
        form = op.primitive.lowering
        inner = list(self.partition.accesses(op, access, self.nest.extents))
        if isinstance(form, View | Pad | DynamicUpdateSlice):
            # Dynamic offsets are operands of the load whose address has them.
            del inner[2 if isinstance(form, DynamicUpdateSlice) else 1 :]
        if isinstance(form, Pad | DynamicUpdateSlice):
            inner += dynamic_keys((), inner[-1][1].conditions)
        if isinstance(form, Iota):
            inner += dynamic_keys((access.positions[dict(op.params)["axis"]],), ())
        return [self._normal(k) for k in inner]

    def _make(self, key: Key, operands: tuple[int, ...]) -> int:
        slot, access = key
        self.origin = self.position.get(slot, 0)
        dtype = self.avals[slot].dtype
        if slot in self.stored and key not in self._own:
            # A value of one element can be loaded unmasked.
            mask = self._mask(access.conditions) if access.conditions and self.avals[slot].size != 1 else None
            return self._instruction(Load(self._address(slot, access), mask, dtype))
        op = self.covered[slot] = self.op_of[slot]
        if self.partition.properties[slot].elementwise:
            return self._instruction(Compute(op.primitive, op.params, operands, dtype))
        match op.primitive.lowering:
            case Reduce():
                return self._instruction(Compute(op.primitive, _scalar_params(op), operands, dtype))
            case Iota():
                position = access.positions[dict(op.params)["axis"]]
                return self._instruction(AffineValue(self._linear(position), 1, dtype))
            case Pad():
                inner = self.partition.accesses(op, access, self.nest.extents)[0][1]
                mask = self._mask(inner.conditions)
                value = self.nest.instructions[operands[0]]
                if mask is None or (isinstance(value, Load | ZeroMask) and value.mask == mask):
                    return operands[0]
                return self._instruction(ZeroMask(mask, operands[0]))
            case DynamicUpdateSlice():
                over = self.partition.accesses(op, access, self.nest.extents)[1][1]
                mask = self._mask(over.conditions)
                if mask is None:
                    return operands[1]
                chosen = Compute(where_op, (), (mask, operands[1], operands[0]), dtype)
                return self._instruction(chosen)
            case _:
                return operands[0]

    def _instruction(self, instruction: NestInstruction) -> int:
        instructions, origins = self.nest.instructions, self.nest.origins
        known = self._known.setdefault(instruction, len(instructions))
        if known == len(instructions):
            instructions.append(instruction)
            origins.append(self.origin)
        elif self.origin < origins[known]:
            origins[known] = self.origin
        return known

    # ---- addresses -----------------------------------------------------------------------------------------------

    def _mask(self, conditions: tuple[Condition, ...]) -> int | None:
        mask = None
        for numerator, step, extent in conditions:
            mask = self._instruction(BoundsMask(self._linear(numerator), step, extent, mask))
        return mask

    def _address(self, slot: int, access: Access) -> ConcreteAddress:
        return ConcreteAddress(slot, self._linear_of(access, self.avals[slot].shape))

    def _linear_of(self, access: Access, shape: tuple[int, ...]) -> ConcreteLinear:
        plain = _plain_linear(access, shape)
        return _linear(*_parts(access, shape), self._number) if plain is None else plain

    def _linear(self, position: Position) -> ConcreteLinear:
        """Return a position as an integer sum."""
        plain = _plain_position(position)
        return _linear([(position, 1, True)], 0, self._number) if plain is None else plain

    def _number(self, part: Quotient | Key) -> int:
        """Return the number of the instruction for a part of an address."""
        if isinstance(part, Quotient):
            return self._instruction(AffineValue(self._linear(part.numerator), part.step, INT64))
        return self._ids[self._normal(part)]


Part = tuple[Position, int, bool]
"""A position, its stride, and whether the stride is structural."""


def _parts(access: Access, shape: tuple[int, ...]) -> tuple[list[Part], int]:
    """Return the terms of the address of an element, and its structural offset."""
    parts: list[Part] = []
    stride, structural, fixed = 1, True, 0
    for position, extent in zip(reversed(access.positions), reversed(shape), strict=True):
        written_out = structural and stride * extent <= tuning.unrolled_elements and position.constant()
        if written_out:
            fixed += position.offset * stride
        elif extent != 1:
            parts.append((position, stride, structural))
            structural = False
        stride *= extent
    return parts[::-1], fixed


@lru_cache(4096)
def _plain_linear(access: Access, shape: tuple[int, ...]) -> ConcreteLinear | None:
    """Return the address of an element, or None if it takes instructions.

    An LSTM asks for 1,850 addresses, 17 of which differ.
    """
    if any(_takes_instructions(position) for position in access.positions):
        return None
    return _linear(*_parts(access, shape))


@lru_cache(4096)
def _plain_position(position: Position) -> ConcreteLinear | None:
    """Return a position as an integer sum, or None if it takes instructions."""
    return None if _takes_instructions(position) else _linear([(position, 1, True)], 0)


def _takes_instructions(position: Position) -> bool:
    return bool(position.dynamic) or isinstance(position.variable, Quotient)


def _linear(
    parts: list[Part], fixed: int, number: Callable[[Quotient | Key], int] = lambda part: 0
) -> ConcreteLinear:
    """Return the sum of ``position * stride``; `number` gives the instructions for variables that take one."""
    factors: dict[int | str, tuple[int, bool]] = {}
    offset = 0

    def add(variable: int | str, factor: int, structural: bool) -> None:
        before, also = factors.get(variable, (0, True))
        factors[variable] = (before + factor, structural and also)

    for position, stride, structural in parts:
        offset += position.offset * stride
        if isinstance(position.variable, Quotient):
            add(f"%{number(position.variable)}", position.step * stride, structural)
        elif position.variable is not None:
            add(position.variable, position.step * stride, structural)
        for element, factor in position.dynamic:
            add(f"%{number(element)}", factor * stride, structural)
    return ConcreteLinear(tuple([(v, f, s) for v, (f, s) in factors.items() if f]), offset, fixed)


def _scalar_params(op: Op) -> tuple[tuple[str, Any], ...]:
    """Return the parameters of a reduction or scan that its combining expression takes."""
    return tuple([(name, value) for name, value in op.params if name not in ("axes", "axis")])
