"""Splitting of long loop nests, so that compile time stays linear and equal pieces are compiled once.

Values that are needed on both sides of a cut are stored in temporaries. A cut is made where there are fewest such
values. In an unrolled loop that is between two iterations, so the pieces are equal. Loads, constants, coordinates and
masks are *free*: each piece that needs them has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from jittape.compile.analysis.cost import cost_of_map
from jittape.compile.ir.instructions import AffineValue, BoundsMask, Compute, Load, Store, ZeroMask, dtype_of
from jittape.compile.ir.loop_nest import (
    ConcreteAddress,
    ConcreteLinear,
    LoopNest,
    NestInstruction,
    NestLoad,
    NestReduction,
    NestStore,
    renumbered,
)
from jittape.core.program import Aval
from jittape.core.tuning import tuning

__all__ = ["split"]


BOOL = np.dtype(np.bool_)


def split(nest: LoopNest, temporary: Callable[[Aval], int]) -> list[LoopNest]:
    """Return `nest` as a list of nests to run in order; `temporary` makes a slot for a value that crosses a cut."""
    costs = _costs(nest.instructions)
    if sum(costs) <= tuning.split_cost_limit:
        return [nest]
    return _Splitter(nest, costs, temporary).result()


def _costs(instructions: Sequence[NestInstruction]) -> list[int]:
    costs: list[int] = []
    dtypes: list[np.dtype[Any]] = []
    for instruction in instructions:
        if isinstance(instruction, Compute):
            primitive, params, args, dtype = instruction
            costs.append(cost_of_map(primitive, params, tuple([dtypes[a] for a in args])))
            dtypes.append(dtype)
        elif isinstance(instruction, ZeroMask):
            costs.append(1)
            dtypes.append(dtypes[instruction.value])
        else:
            costs.append(1 if isinstance(instruction, Load) else 2)
            dtypes.append(BOOL if isinstance(instruction, BoundsMask) else instruction.dtype)
    return costs


def _operands(instruction: NestInstruction) -> Sequence[int]:
    """Return the instructions that an instruction reads."""
    match instruction:
        case Compute():
            return instruction.args
        case ZeroMask():
            return instruction
        case Load():
            linear, also = instruction.address.linear, instruction.mask
        case AffineValue():
            linear, also = instruction.linear, None
        case BoundsMask():
            linear, also = instruction.linear, instruction.also
    return linear.values() + ([] if also is None else [also])


def _read_by(store: NestStore) -> Sequence[int]:
    """Return the instructions that a store reads, including those of its address."""
    values = (store.value,) if store.scan is None else store.scan.values
    return (*values, *store.address.linear.values())


def _home(store: NestStore, piece_of: Sequence[int]) -> int:
    """Return the piece of a store: the first in which all its operands are available."""
    return max([piece_of[value] for value in _read_by(store)])


def _loops(linear: ConcreteLinear) -> int:
    """Return the axes that an integer sum depends on, as bits."""
    bits = 0
    for variable, _, _ in linear.terms:
        if isinstance(variable, int):
            bits |= 1 << variable
    return bits


def _is_free(instruction: NestInstruction) -> bool:
    if isinstance(instruction, Compute):
        return not instruction.args
    return not isinstance(instruction, ZeroMask)


class _Splitter:
    """The division of one nest, whose instructions keep their numbers.

    Attributes
    ----------
    operands : list of sequences of int
        For each instruction, the instructions that it reads.
    free : list of bool
        For each instruction, whether each piece has its own.
    solid : list of tuples of int
        For each instruction, the operands that are not free, including those of free operands.
    axes : list of int
        For each instruction, the loops that it depends on, as bits.
    order : list of int
        The instructions in program order, in which the iterations of an unrolled loop follow each other. Free
        instructions come right before their first use.
    place : list of int
        For each instruction, its position in `order`.
    """

    def __init__(self, nest: LoopNest, costs: list[int], temporary: Callable[[Aval], int]) -> None:
        self.nest = nest
        self.costs = costs
        self.temporary = temporary
        self._arrays: dict[int, tuple[tuple[int, ...], ConcreteLinear]] = {}
        self.operands = [_operands(i) for i in nest.instructions]
        self.free = free = [_is_free(i) for i in nest.instructions]
        self.solid: list[Sequence[int]] = []
        self.axes: list[int] = []
        for instruction, inner in zip(nest.instructions, self.operands, strict=True):
            linear = _linear_of(instruction)
            bits = 0 if linear is None else _loops(linear)
            through = False
            for operand in inner:
                bits |= self.axes[operand]
                through = through or free[operand]
            self.axes.append(bits)
            seen = [self.solid[i] if free[i] else (i,) for i in inner] if through else ()
            self.solid.append(tuple(chain(*seen)) if through else inner)
        self.order = self._program_order()
        self.place = [0] * len(self.order)
        for place, number in enumerate(self.order):
            self.place[number] = place

    def _program_order(self) -> list[int]:
        last = max(self.nest.origins) + 1
        places: list[int] = []
        for number, origin in enumerate(self.nest.origins):
            # An instruction that several ops share has the origin of the first, but may read one of a later origin.
            here = max([origin, *[places[operand] for operand in self.solid[number]]])
            places.append(last if self.free[number] else here)
        for number in range(len(places) - 1, -1, -1):
            for operand in self.operands[number]:
                if self.free[operand] and places[number] < places[operand]:
                    places[operand] = places[number]
        return sorted(range(len(places)), key=places.__getitem__)

    def result(self) -> list[LoopNest]:
        ends = self._cuts()
        piece_of = [0] * len(self.order)
        for piece, (start, end) in enumerate(zip([0, *ends], [*ends, len(self.order)], strict=True)):
            for number in self.order[start:end]:
                piece_of[number] = piece
        spills = self._spills(piece_of)
        pieces = [_Piece(self, spills) for _ in range(len(ends) + 1)]
        for number in self.order:
            if not self.free[number]:
                pieces[piece_of[number]].take(number)
        for store in self.nest.stores:
            pieces[_home(store, piece_of)].store(store)
        for reduction in self.nest.reductions:
            pieces[piece_of[reduction.value]].reduce(reduction)
        for value, spill in spills.items():
            pieces[piece_of[value]].store(Store(spill.address, value))
        return [p.finished() for p in pieces if p.nest.stores or p.nest.reductions]

    def _cuts(self) -> list[int]:
        """Return the ends of the pieces, each at the fewest live values in the second half of the piece.

        A nest without loops has long pieces, since a step costs more than the instructions for a few numbers.
        """
        most = tuning.split_piece_cost if self.nest.extents else tuning.split_cost_limit
        live = self._live()
        costs = [self.costs[number] for number in self.order]
        ends, cost, start, best = [], 0, 0, 0
        for place, own in enumerate(costs):
            if cost + own > most and place > start:
                cut = best if best > start else place
                ends.append(cut)
                cost, start, best = sum(costs[cut:place]), cut, 0
            if cost >= most // 2 and (best <= start or live[place] <= live[best]):
                best = place
            cost += own
        return ends

    def _live(self) -> list[int]:
        """Return, for each position in the order, the number of solid values from before it that are used later."""
        last: dict[int, int] = {}
        for place, number in enumerate(self.order):
            for value in self.solid[number]:
                last[value] = place
        change = [0] * (len(self.order) + 2)
        for value, end in last.items():
            change[self.place[value] + 1] += 1
            change[end + 1] -= 1
        return list(accumulate(change[: len(self.order)]))

    def _spills(self, piece_of: list[int]) -> dict[int, NestLoad]:
        crossing: dict[int, None] = {}

        def cross(values: Sequence[int], here: int) -> None:
            far = [value for value in values if piece_of[value] != here]
            if far:
                crossing.update(dict.fromkeys(sorted(far, key=self.place.__getitem__)))

        for number in self.order:
            cross(self.solid[number], piece_of[number])
        for store in self.nest.stores:
            for value in _read_by(store):
                cross(self.solid[value] if self.free[value] else [value], _home(store, piece_of))
        return {value: self._spill(value) for value in crossing}

    def _spill(self, value: int) -> NestLoad:
        """Make a temporary for a value and return the load from it."""
        extents, linear = self._contiguous(self.axes[value])
        dtype = dtype_of(self.nest.instructions, value)
        return Load(ConcreteAddress(self.temporary(Aval(extents, dtype)), linear), None, dtype)

    def _contiguous(self, axes: int) -> tuple[tuple[int, ...], ConcreteLinear]:
        """Return the shape of an array with an element for each iteration of some loops, and the address of one."""
        known = self._arrays.get(axes)
        if known is None:
            terms, stride, extents = list[tuple[int | str, int, bool]](), 1, list[int]()
            for axis in reversed(_numbers(axes)):
                extents.append(self.nest.extents[axis])
                terms.append((axis, stride, stride == 1))
                stride *= extents[-1]
            linear = ConcreteLinear(tuple([t for t in reversed(terms) if t[1]]), 0)
            known = self._arrays[axes] = tuple(reversed(extents)), linear
        return known


def _numbers(bits: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


class _Piece:
    """One of the pieces of a long nest."""

    def __init__(self, whole: _Splitter, spills: dict[int, NestLoad]) -> None:
        self.whole = whole
        self.spills = spills
        self.nest = LoopNest(whole.nest.extents)
        self._here: dict[int, int] = {}
        self._axes = 0

    def take(self, number: int) -> int:
        """Add an instruction of the long nest; return its number in this piece."""
        instruction = self.whole.nest.instructions[number]
        if not self.whole.operands[number]:
            return self._append(number, instruction)
        return self._append(number, renumbered(instruction, self._value))

    def store(self, store: NestStore) -> None:
        self._axes |= _loops(store.address.linear) | self.whole.axes[store.value]
        if store.scatter is not None:
            self._axes |= (1 << len(self.nest.extents)) - 1  # each iteration of all loops writes
        address, scan = store.address.renumbered(self._value), store.scan
        if scan is None:
            self.nest.stores.append(Store(address, self._value(store.value), None, store.scatter))
            return
        self._axes |= 1 << scan.axis  # an address in an array without elements does not move along it
        values = tuple([self._value(value) for value in scan.values])
        self.nest.stores.append(Store(address, max(values), scan._replace(values=values), store.scatter))

    def reduce(self, r: NestReduction) -> None:
        self._axes |= (
            _loops(r.address.linear) | self.whole.axes[r.value] | sum([1 << axis for axis in r.axes])
        )
        self.nest.reductions.append(
            r._replace(address=r.address.renumbered(self._value), value=self._value(r.value))
        )

    def finished(self) -> LoopNest:
        """Return the nest without the loops that nothing in it depends on."""
        kept = _numbers(self._axes)
        if len(kept) == len(self.nest.extents):
            return self.nest
        extents = tuple([self.nest.extents[axis] for axis in kept])
        return self.nest.with_loops(extents, {axis: number for number, axis in enumerate(kept)})

    def _value(self, number: int) -> int:
        here = self._here.get(number)
        if here is not None:
            return here
        if self.whole.free[number]:
            return self.take(number)
        return self._append(number, self.spills[number])

    def _append(self, number: int, instruction: NestInstruction) -> int:
        self._here[number] = len(self.nest.instructions)
        self.nest.instructions.append(instruction)
        return self._here[number]


def _linear_of(instruction: NestInstruction) -> ConcreteLinear | None:
    match instruction:
        case Load(address, _, _):
            return address.linear
        case AffineValue(linear, _, _) | BoundsMask(linear, _, _, _):
            return linear
    return None
