"""Loop nests of one program, before they become kernels: addresses name slots, and sizes are numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from jittape.compile.ir.instructions import (
    AffineValue,
    BoundsMask,
    Compute,
    Load,
    Reduction,
    Store,
    ZeroMask,
    dtype_of,
    is_narrow,
)
from jittape.core.builder import literal_op
from jittape.value_classes import NamedTuple

__all__ = [
    "ConcreteAddress",
    "ConcreteLinear",
    "LoopNest",
    "NestInstruction",
    "NestLoad",
    "NestReduction",
    "NestStore",
    "renumbered",
]


class ConcreteLinear(NamedTuple):
    """An integer ``sum of variable * factor + offset + fixed``.

    A variable is a loop axis or an instruction, ``"%3"``. A factor is marked structural (third entry) if it does not
    depend on an extent. `offset` depends on extents, `fixed` does not.
    """

    terms: tuple[tuple[int | str, int, bool], ...]
    offset: int
    fixed: int = 0

    def values(self) -> list[int]:
        """Return the numbers of the instructions among the variables."""
        return [int(v[1:]) for v, _, _ in self.terms if isinstance(v, str)]

    def narrow_stride(self, axis: int) -> int:
        """Return the factor of a loop if vectors of its elements are accessed in windows, otherwise 1."""
        for variable, factor, _ in self.terms:
            if variable == axis and is_narrow(factor):
                return factor
        return 1

    def renumbered(self, value: Callable[[int], int]) -> ConcreteLinear:
        """Return the sum with other numbers of instructions."""
        if not self.values():
            return self
        terms = [(f"%{value(int(v[1:]))}" if isinstance(v, str) else v, f, s) for v, f, s in self.terms]
        return self._replace(terms=tuple(terms))


class ConcreteAddress(NamedTuple):
    """An element of the memory of a slot. Addresses of one slot with different `part` numbers never meet."""

    slot: int
    linear: ConcreteLinear
    part: int = 0

    def renumbered(self, value: Callable[[int], int]) -> ConcreteAddress:
        """Return the address with other numbers of instructions."""
        linear = self.linear.renumbered(value)
        return self if linear is self.linear else self._replace(linear=linear)


NestLoad = Load[ConcreteAddress]
NestInstruction = (
    NestLoad | Compute | AffineValue[ConcreteLinear] | BoundsMask[ConcreteLinear, int] | ZeroMask
)
NestStore = Store[ConcreteAddress]
NestReduction = Reduction[ConcreteAddress, int]


@dataclass
class LoopNest:
    """A loop nest of one program.

    Attributes
    ----------
    extents : tuple of int
        The extent of each loop.
    instructions, stores, reductions : lists
        See `instructions`. Levels are computed when the nest becomes a kernel.
    origins : list of int
        For each instruction, the position in the program of the op that it comes from.
    """

    extents: tuple[int, ...]
    instructions: list[NestInstruction] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    stores: list[NestStore] = field(default_factory=list)
    reductions: list[NestReduction] = field(default_factory=list)

    def drop_iterations(self) -> None:
        """Keep what a nest with an empty loop does: its reductions write their neutral elements.

        A store or a load that is hoisted out of the empty loop would run, and read an array without elements.
        """
        dtypes = [dtype_of(self.instructions, r.value) for r in self.reductions]
        self.instructions[:] = [Compute(literal_op, (("dtype", d), ("value", 0)), (), d) for d in dtypes]
        self.origins[:] = [0] * len(dtypes)
        self.stores.clear()
        self.reductions[:] = [r._replace(value=i) for i, r in enumerate(self.reductions)]

    def with_loops(self, extents: tuple[int, ...], renamed: dict[int, int]) -> LoopNest:
        """Return the nest over other loops; addresses lose the loops that are not in `renamed`."""

        def linear(x: ConcreteLinear) -> ConcreteLinear:
            terms = [(v if isinstance(v, str) else renamed.get(v), f, s) for v, f, s in x.terms]
            return x._replace(terms=tuple([(v, f, s) for v, f, s in terms if v is not None]))

        def address(x: ConcreteAddress) -> ConcreteAddress:
            return x._replace(linear=linear(x.linear))

        result = LoopNest(extents, origins=self.origins)
        for instruction in self.instructions:
            if isinstance(instruction, Load):
                instruction = instruction._replace(address=address(instruction.address))
            elif isinstance(instruction, AffineValue | BoundsMask):
                instruction = instruction._replace(linear=linear(instruction.linear))
            result.instructions.append(instruction)
        for s in self.stores:
            scan = s.scan and s.scan._replace(axis=renamed[s.scan.axis])
            result.stores.append(s._replace(address=address(s.address), scan=scan))
        for r in self.reductions:
            axes = tuple([renamed[axis] for axis in r.axes if axis in renamed])
            result.reductions.append(r._replace(address=address(r.address), axes=axes))
        return result


def renumbered(instruction: NestInstruction, value: Callable[[int], int]) -> NestInstruction:
    """Return an instruction with other numbers of its operands, which `value` gives."""
    match instruction:
        case Compute(primitive, params, args, dtype):
            return Compute(primitive, params, tuple([value(a) for a in args]), dtype)
        case ZeroMask(mask, number):
            return ZeroMask(value(mask), value(number))
        case Load(address, also, dtype):
            return Load(address.renumbered(value), None if also is None else value(also), dtype)
        case AffineValue(linear, divisor, dtype):
            return AffineValue(linear.renumbered(value), divisor, dtype)
        case BoundsMask(linear, divisor, extent, also):
            linear = linear.renumbered(value)
            return BoundsMask(linear, divisor, extent, None if also is None else value(also))
