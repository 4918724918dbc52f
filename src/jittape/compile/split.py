"""Cuts a long loop nest into several, so that compiling stays linear and equal pieces are compiled once.

What is needed on both sides of a cut goes through memory. A cut is made where least has to: in an unrolled loop that is
between two iterations, so the pieces come out equal. Loads, constants, coordinates and masks are *free*: a piece that
needs them writes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jittape.compile.cost import cost_of_map
from jittape.compile.instructions import Compute, Masked
from jittape.compile.rawnest import (
    RawAddress,
    RawInside,
    RawInstruction,
    RawLinear,
    RawLoad,
    RawNest,
    RawReduction,
    RawStore,
    RawWhole,
    renumbered,
    renumbered_address,
)
from jittape.program import Aval

__all__ = ["LIMIT", "PIECE", "split"]

LIMIT = 768
"""The cost of a nest (see `cost`), about its LLVM instructions, above which it is cut."""
PIECE = 128
"""The cost of a piece at most. The gradient of a function of 252 steps over 10,000 numbers takes 2.3 ms with pieces of
this size, as with half as large again, and LLVM and what is written for it 15 ms less; with half the size 6.3 ms."""

BOOL = np.dtype(np.bool_)


def split(nest: RawNest, temporary: Callable[[Aval], int]) -> list[RawNest]:
    """`nest` as a list of nests to be run in order; `temporary` makes a slot for a value between them."""
    costs = [_cost(nest, i) for i in nest.instructions]
    if sum(costs) <= LIMIT:
        return [nest]
    order = _program_order(nest)
    return _Splitter(_reordered(nest, order), [costs[i] for i in order], temporary).result()


def _program_order(nest: RawNest) -> list[int]:
    """The instructions in the order of the program, which is that of an unrolled loop's iterations.

    What is free comes before its first use.
    """
    last = max(nest.births) + 1
    free = [_is_free(i) for i in nest.instructions]
    places = [last if f else birth for f, birth in zip(free, nest.births, strict=True)]
    for number in range(len(places) - 1, -1, -1):
        for operand in _operands(nest.instructions[number]):
            if free[operand]:
                places[operand] = min(places[operand], places[number])
    return sorted(range(len(places)), key=places.__getitem__)


def _reordered(nest: RawNest, order: list[int]) -> RawNest:
    """The nest with its instructions in another order."""
    here = [0] * len(order)
    for number, before in enumerate(order):
        here[before] = number
    result = RawNest(nest.extents)
    result.instructions = [renumbered(nest.instructions[before], here) for before in order]
    result.stores = [
        _latest(s.renumbered(renumbered_address(s.address, here), here.__getitem__)) for s in nest.stores
    ]
    for r in nest.reductions:
        address = renumbered_address(r.address, here)
        result.reductions.append(r._replace(address=address, value=here[r.value]))
    return result


def _latest(store: RawStore) -> RawStore:
    """With the value that is computed last, in another order."""
    return store if store.running is None else store._replace(value=max(store.running.values))


def _cost(nest: RawNest, instruction: RawInstruction) -> int:
    if not isinstance(instruction, Compute):
        return 1 if isinstance(instruction, RawLoad | Masked) else 2
    dtypes = tuple([dtype_of(nest, a) for a in instruction.args])
    return cost_of_map(instruction.primitive, instruction.params, dtypes)


def dtype_of(nest: RawNest, value: int) -> np.dtype[Any]:
    """The dtype of an instruction's value."""
    instruction = nest.instructions[value]
    while isinstance(instruction, Masked):
        instruction = nest.instructions[instruction.value]
    return BOOL if isinstance(instruction, RawInside) else instruction.dtype


def _operands(instruction: RawInstruction) -> Sequence[int]:
    """The instructions that an instruction reads."""
    match instruction:
        case Compute(args=args):
            return args
        case Masked(mask, value):
            return [mask, value]
        case RawLoad(address, mask, _):
            return _variables(address.linear) + ([] if mask is None else [mask])
        case RawWhole(linear, _, _):
            return _variables(linear)
        case RawInside(linear, _, _, also):
            return _variables(linear) + ([] if also is None else [also])


def _variables(linear: RawLinear) -> list[int]:
    return [int(v[1:]) for v, _, _ in linear.terms if isinstance(v, str)]


def _loops(linear: RawLinear) -> set[int]:
    return {v for v, _, _ in linear.terms if isinstance(v, int)}


def _is_free(instruction: RawInstruction) -> bool:
    if isinstance(instruction, Compute):
        return not instruction.args
    return not isinstance(instruction, Masked)


@dataclass
class _Spill:
    """A value that goes from one piece to later ones through memory."""

    address: RawAddress
    dtype: np.dtype[Any]


class _Splitter:
    def __init__(self, nest: RawNest, costs: list[int], temporary: Callable[[Aval], int]) -> None:
        self.nest = nest
        self.costs = costs
        self.temporary = temporary
        self.free = [_is_free(i) for i in nest.instructions]
        self.axes: list[set[int]] = []
        self.solid: list[set[int]] = []
        for instruction in nest.instructions:
            inner = _operands(instruction)
            linear = _linear_of(instruction)
            self.axes.append(set().union(_loops(linear) if linear else (), *[self.axes[i] for i in inner]))
            # What is not free among the operands, seen through free ones.
            self.solid.append(set().union(*[self.solid[i] if self.free[i] else (i,) for i in inner]))

    def result(self) -> list[RawNest]:
        ends = self._cuts()
        piece_of: list[int] = []
        for piece, (start, end) in enumerate(zip([0, *ends], [*ends, len(self.costs)], strict=True)):
            piece_of += [piece] * (end - start)
        spills = self._spills(piece_of)
        pieces = [_Piece(self, spills) for _ in range(len(ends) + 1)]
        for number in range(len(self.costs)):
            if not self.free[number]:
                pieces[piece_of[number]].take(number)
        for store in self.nest.stores:
            pieces[piece_of[store.value]].store(store)
        for reduction in self.nest.reductions:
            pieces[piece_of[reduction.value]].reduce(reduction)
        for value, spill in spills.items():
            pieces[piece_of[value]].store(RawStore(spill.address, value))
        return [p.finished() for p in pieces if p.nest.stores or p.nest.reductions]

    def _cuts(self) -> list[int]:
        """Where pieces end: the place of fewest live values in the second half of one.

        Single numbers are written at once: to run a step for a few costs more than they do.
        """
        most = PIECE if self.nest.extents else LIMIT
        live = self._live()
        ends, cost, start, best = [], 0, 0, 0
        for number, own in enumerate(self.costs):
            if cost + own > most and number > start:
                cut = best if best > start else number
                ends.append(cut)
                cost, start, best = sum(self.costs[cut:number]), cut, 0
            if cost >= most // 2 and (best <= start or live[number] <= live[best]):
                best = number
            cost += own
        return ends

    def _live(self) -> list[int]:
        """How many solid values that are computed before an instruction are needed by it or after."""
        last: dict[int, int] = {}
        for number, solid in enumerate(self.solid):
            for value in solid:
                last[value] = number
        change = [0] * (len(self.costs) + 2)
        for value, end in last.items():
            change[value + 1] += 1
            change[end + 1] -= 1
        live, total = [], 0
        for number in range(len(self.costs)):
            total += change[number]
            live.append(total)
        return live

    def _spills(self, piece_of: list[int]) -> dict[int, _Spill]:
        crossing: dict[int, None] = {}
        for number, solid in enumerate(self.solid):
            here = piece_of[number]
            if any([piece_of[v] != here for v in solid]):
                crossing.update({v: None for v in sorted(solid) if piece_of[v] != here})
        for store in self.nest.stores:
            for value in store.running.values if store.running is not None else ():
                needed = sorted(self.solid[value]) if self.free[value] else [value]
                crossing.update({v: None for v in needed if piece_of[v] != piece_of[store.value]})
        return {value: self._spill(value) for value in crossing}

    def _spill(self, value: int) -> _Spill:
        axes = sorted(self.axes[value])
        extents = tuple([self.nest.extents[axis] for axis in axes])
        dtype = dtype_of(self.nest, value)
        terms, stride = [], 1
        for axis, extent in zip(reversed(axes), reversed(extents), strict=True):
            terms.append((axis, stride, stride == 1))
            stride *= extent
        linear = RawLinear(tuple([t for t in reversed(terms) if t[1]]), 0)
        return _Spill(RawAddress(self.temporary(Aval(extents, dtype)), linear), dtype)


class _Piece:
    """One of the nests that a long one is cut into."""

    def __init__(self, whole: _Splitter, spills: dict[int, _Spill]) -> None:
        self.whole = whole
        self.spills = spills
        self.nest = RawNest(whole.nest.extents)
        self._here: dict[int, int] = {}
        self._axes: set[int] = set()

    def take(self, number: int) -> int:
        """Write an instruction of the long nest here; returns its number here."""
        instruction = self.whole.nest.instructions[number]
        match instruction:
            case Compute(primitive, params, args, dtype):
                instruction = Compute(primitive, params, tuple([self._value(a) for a in args]), dtype)
            case Masked(mask, value):
                instruction = Masked(self._value(mask), self._value(value))
            case RawLoad(address, mask, dtype):
                address = self._address(address)
                instruction = RawLoad(address, None if mask is None else self._value(mask), dtype)
            case RawWhole(linear, _, _):
                instruction = instruction._replace(linear=self._linear(linear))
            case RawInside(linear, _, _, also):
                instruction = instruction._replace(
                    linear=self._linear(linear), also=None if also is None else self._value(also)
                )
        return self._append(number, instruction)

    def store(self, store: RawStore) -> None:
        self._axes |= _loops(store.address.linear) | self.whole.axes[store.value]
        if store.scattered is not None:
            self._axes |= set(range(len(self.nest.extents)))  # each iteration of all loops writes
        self.nest.stores.append(_latest(store.renumbered(self._address(store.address), self._value)))

    def reduce(self, r: RawReduction) -> None:
        self._axes |= _loops(r.address.linear) | self.whole.axes[r.value] | set(r.axes)
        self.nest.reductions.append(r._replace(address=self._address(r.address), value=self._value(r.value)))

    def finished(self) -> RawNest:
        """The nest without the loops that nothing in it needs."""
        kept = sorted(self._axes)
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
        spill = self.spills[number]
        return self._append(number, RawLoad(spill.address, None, spill.dtype))

    def _append(self, number: int, instruction: RawInstruction) -> int:
        self._here[number] = len(self.nest.instructions)
        self.nest.instructions.append(instruction)
        return self._here[number]

    def _address(self, address: RawAddress) -> RawAddress:
        return (
            address._replace(linear=self._linear(address.linear)) if _variables(address.linear) else address
        )

    def _linear(self, linear: RawLinear) -> RawLinear:
        terms = [
            (f"%{self._value(int(v[1:]))}" if isinstance(v, str) else v, f, s) for v, f, s in linear.terms
        ]
        return linear._replace(terms=tuple(terms))


def _linear_of(instruction: RawInstruction) -> RawLinear | None:
    match instruction:
        case RawLoad(address, _, _):
            return address.linear
        case RawWhole(linear, _, _) | RawInside(linear, _, _, _):
            return linear
    return None
