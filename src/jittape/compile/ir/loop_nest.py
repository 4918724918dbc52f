"""A loop nest of one program, before it becomes a kernel: slots for operands, numbers for strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jittape.compile.ir.instructions import Compute, Scattered, ZeroMask
from jittape.core.program import Op

__all__ = [
    "RawAddress",
    "RawAffineValue",
    "RawBoundsMask",
    "RawInstruction",
    "RawLinear",
    "RawLoad",
    "RawNest",
    "RawReduction",
    "RawScan",
    "RawStore",
    "renumbered",
    "renumbered_address",
]


class RawLinear(NamedTuple):
    """``sum of variable * factor + offset``; a variable is a loop axis or ``"%3"``.

    A factor is marked structural (third entry) if it does not come from an extent; `fixed` is the part of the sum
    that does not.
    """

    terms: tuple[tuple[int | str, int, bool], ...]
    offset: int
    fixed: int = 0


class RawAddress(NamedTuple):
    """An element of the memory of a slot; different `part` numbers never meet."""

    slot: int
    linear: RawLinear
    part: int = 0


class RawLoad(NamedTuple):
    """See `instructions.Load`."""

    address: RawAddress
    mask: int | None
    dtype: np.dtype[Any]


class RawAffineValue(NamedTuple):
    """See `instructions.AffineValue`."""

    linear: RawLinear
    divisor: int
    dtype: np.dtype[Any]


class RawBoundsMask(NamedTuple):
    """See `instructions.BoundsMask`."""

    linear: RawLinear
    divisor: int
    extent: int
    also: int | None


RawInstruction = RawLoad | RawAffineValue | RawBoundsMask | Compute | ZeroMask


class RawScan(NamedTuple):
    """How what is written depends on what was written before it along a loop."""

    op: Op
    axis: int
    values: tuple[int, ...]


class RawStore(NamedTuple):
    """Writes a value, or what `running` makes of several, of which `value` is computed last.

    With `scattered` a place may be written several times, in the order of the loops.
    """

    address: RawAddress
    value: int
    running: RawScan | None = None
    scattered: Scattered | None = None


class RawReduction(NamedTuple):
    """Combines a value over some loops; `size` is the number of elements of the operand that it writes to."""

    op: Op
    address: RawAddress
    value: int
    axes: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int


@dataclass
class RawNest:
    """A loop nest of one program: slots for operands, numbers for strides.

    `births` are the positions in the program of the ops that the instructions come from.
    """

    extents: tuple[int, ...]
    instructions: list[RawInstruction] = field(default_factory=list)
    births: list[int] = field(default_factory=list)
    stores: list[RawStore] = field(default_factory=list)
    reductions: list[RawReduction] = field(default_factory=list)

    def with_loops(self, extents: tuple[int, ...], renamed: dict[int, int]) -> RawNest:
        """The nest over other loops; addresses forget the loops that are not in `renamed`."""

        def linear(x: RawLinear) -> RawLinear:
            terms = [(v if isinstance(v, str) else renamed.get(v), f, s) for v, f, s in x.terms]
            return x._replace(terms=tuple([(v, f, s) for v, f, s in terms if v is not None]))

        def address(x: RawAddress) -> RawAddress:
            return x._replace(linear=linear(x.linear))

        result = RawNest(extents, births=self.births)
        for instruction in self.instructions:
            if isinstance(instruction, RawLoad):
                instruction = instruction._replace(address=address(instruction.address))
            elif isinstance(instruction, RawAffineValue | RawBoundsMask):
                instruction = instruction._replace(linear=linear(instruction.linear))
            result.instructions.append(instruction)
        for s in self.stores:
            running = s.running and s.running._replace(axis=renamed[s.running.axis])
            result.stores.append(s._replace(address=address(s.address), running=running))
        for r in self.reductions:
            axes = tuple([renamed[axis] for axis in r.axes if axis in renamed])
            result.reductions.append(r._replace(address=address(r.address), axes=axes))
        return result


def renumbered(instruction: RawInstruction, here: Sequence[int]) -> RawInstruction:
    """An instruction of another nest; `here` are the numbers of that nest's instructions."""
    match instruction:
        case Compute(primitive, params, args, dtype):
            return Compute(primitive, params, tuple([here[a] for a in args]), dtype)
        case ZeroMask(mask, value):
            return ZeroMask(here[mask], here[value])
        case RawLoad(address, mask, dtype):
            address = renumbered_address(address, here)
            return RawLoad(address, None if mask is None else here[mask], dtype)
        case RawAffineValue(linear, _, _):
            return instruction._replace(linear=renumbered_linear(linear, here))
        case RawBoundsMask(linear, _, _, also):
            linear = renumbered_linear(linear, here)
            return instruction._replace(linear=linear, also=None if also is None else here[also])


def renumbered_address(address: RawAddress, here: Sequence[int]) -> RawAddress:
    """The same for an address."""
    linear = renumbered_linear(address.linear, here)
    return address if linear is address.linear else address._replace(linear=linear)


def renumbered_linear(linear: RawLinear, here: Sequence[int]) -> RawLinear:
    """The same for a sum."""
    if not any([isinstance(v, str) for v, _, _ in linear.terms]):
        return linear
    terms = [(f"%{here[int(v[1:])]}" if isinstance(v, str) else v, f, s) for v, f, s in linear.terms]
    return linear._replace(terms=tuple(terms))
