"""Instructions, stores and reductions of a loop nest, as plain data.

A nest has two representations of the same classes, which differ in what they refer to memory and sizes by:

- a `LoopNest` (`loop_nest`) belongs to one program. Its addresses name slots, and its sizes are numbers.
- a `LoopKernel` (`kernel`) serves all shapes. Its addresses name operands, and its sizes are symbols.

Classes that contain addresses, integer sums or sizes are generic in their types. `Address` and `Linear` are those of
kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeGuard, TypeVar

import numpy as np

from jittape.core.primitive import Primitive
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "Address",
    "AffineValue",
    "BoundsMask",
    "Compute",
    "Constant",
    "Factor",
    "Instruction",
    "KernelLoad",
    "KernelMask",
    "KernelReduction",
    "KernelStore",
    "Linear",
    "Load",
    "Operand",
    "Reduction",
    "ScanStore",
    "ScatterStore",
    "Store",
    "ZeroMask",
    "dtype_of",
    "factor_text",
    "is_narrow",
]

AddressT = TypeVar("AddressT")
LinearT = TypeVar("LinearT")
SizeT = TypeVar("SizeT")

Factor = int | str | tuple[str, ...]
"""A number, a symbol, or a product of symbols."""


def is_narrow(factor: Any) -> TypeGuard[int]:
    """Return whether vectors of elements that are so far apart are accessed in windows."""
    return factor.__class__ is int and 1 < factor <= tuning.window_stride


class Linear(NamedTuple):
    """An integer ``sum of variable * factor + offset + fixed``.

    A variable is ``"i0"`` (loop) or ``"%3"`` (instruction). `offset` is a symbol, `fixed` a number.
    """

    terms: tuple[tuple[str, Factor], ...]
    offset: str | None = None
    fixed: int = 0

    def __str__(self) -> str:
        parts = [v if f == 1 else f"{v}*{factor_text(f)}" for v, f in self.terms]
        if self.offset is not None:
            parts.append(self.offset)
        text = " + ".join(parts)
        if self.fixed:
            text += f" {'-' if self.fixed < 0 else '+'} {abs(self.fixed)}" if text else str(self.fixed)
        return text or "0"


class Address(NamedTuple):
    """An element of an operand. It is `packed` if the loops visit the operand in the order of its memory."""

    operand: int
    linear: Linear
    packed: bool


class Load(NamedTuple, Generic[AddressT]):
    """An element in memory; zero where `mask` is false."""

    address: AddressT
    mask: int | None
    dtype: np.dtype[Any]


class Compute(NamedTuple):
    """The scalar expression of a primitive."""

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    args: tuple[int, ...]
    dtype: np.dtype[Any]


class Constant(NamedTuple):
    """A number whose bytes are a symbol's integer, so that kernels with different constants are one kernel."""

    symbol: str
    dtype: np.dtype[Any]


class AffineValue(NamedTuple, Generic[LinearT]):
    """The integer ``linear / divisor``, rounded toward zero."""

    linear: LinearT
    divisor: int
    dtype: np.dtype[Any]


class BoundsMask(NamedTuple, Generic[LinearT, SizeT]):
    """The condition ``0 <= linear / divisor < extent`` without remainder, combined with the mask `also`.

    A mask is `wide` if it is true on nearly all of the innermost loop. Then the rest gets a loop without it.
    """

    linear: LinearT
    divisor: int
    extent: SizeT
    also: int | None
    wide: bool = False


class ZeroMask(NamedTuple):
    """`value` where `mask` is true, else zero."""

    mask: int
    value: int


class Operand(NamedTuple):
    """A pointer argument: ``a0`` is read, ``r0`` is written and may be read afterwards, ``u0`` is updated."""

    name: str
    dtype: np.dtype[Any]


class ScanStore(NamedTuple):
    """The recurrence by which a store combines the element before it along loop `axis` with `values`."""

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    axis: int
    values: tuple[int, ...]


class ScatterStore(NamedTuple):
    """A store to elements that may repeat, in the order of the loops.

    The expression of `combining` combines the element in memory with the value; None overwrites the element.
    """

    combining: Primitive | None


class Store(NamedTuple, Generic[AddressT]):
    """A write of `value`, or of what `scan` or `scatter` computes, in loop level `level` (0: outside all loops).

    If `scan` combines several values, `value` is the one that is computed last.
    """

    address: AddressT
    value: int
    scan: ScanStore | None = None
    scatter: ScatterStore | None = None
    level: int = 0


class Reduction(NamedTuple, Generic[AddressT, SizeT]):
    """A reduction of `value` over the loops `axes`.

    The accumulator is initialized in loop level `level`, and its result is written there. If a loop outside of that
    level is reduced too, the result is combined with the memory of the operand (`in_memory`).

    If loop 0 is reduced, each task has a result of its own, and `partial` is the distance between them: the number of
    elements of the operand. A kernel has None if loop 0 is not reduced.
    """

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    address: AddressT
    value: int
    axes: tuple[int, ...]
    dtype: np.dtype[Any]
    partial: SizeT
    level: int = 0
    in_memory: bool = False


KernelLoad = Load[Address]
KernelMask = BoundsMask[Linear, str]
KernelStore = Store[Address]
KernelReduction = Reduction[Address, str | None]
Instruction = KernelLoad | Compute | Constant | AffineValue[Linear] | KernelMask | ZeroMask
"""An instruction of a kernel."""


def dtype_of(instructions: Sequence[Any], value: int) -> np.dtype[Any]:
    """Return the dtype of an instruction's value."""
    instruction = instructions[value]
    while isinstance(instruction, ZeroMask):
        instruction = instructions[instruction.value]
    dtype: np.dtype[Any] = np.dtype(np.bool_) if isinstance(instruction, BoundsMask) else instruction.dtype
    return dtype


def factor_text(factor: Factor) -> str:
    """Return a factor as it is written in the text of a kernel."""
    return "*".join(factor) if isinstance(factor, tuple) else str(factor)
