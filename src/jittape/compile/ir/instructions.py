"""What a loop kernel is made of: instructions, addresses, stores and reductions, as plain data.

Numbers that depend on sizes are symbols; `kernel` says what they mean and how all this reads as text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.primitive import Primitive

__all__ = [
    "Address",
    "AffineValue",
    "BoundsMask",
    "Compute",
    "Constant",
    "Factor",
    "Instruction",
    "Linear",
    "Load",
    "Operand",
    "Reduction",
    "ScanStore",
    "Scattered",
    "Store",
    "ZeroMask",
    "factor_text",
]

Factor = int | str | tuple[str, ...]
"""A known number, a symbol, or a product of symbols."""


class Linear(NamedTuple):
    """An integer ``sum of variable * factor + offset``; a variable is ``"i0"`` (loop) or ``"%3"`` (instruction).

    Of the offset, `fixed` is a known number.
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
    """An element of an operand; `packed` if the loops visit it in the order in which it lies in memory."""

    operand: int
    linear: Linear
    packed: bool


class Load(NamedTuple):
    """An element of an operand; zero where `mask` is false."""

    address: Address
    mask: int | None
    dtype: np.dtype[Any]


class Compute(NamedTuple):
    """A primitive's scalar expression."""

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    args: tuple[int, ...]
    dtype: np.dtype[Any]


class Constant(NamedTuple):
    """A number that a step hands over, its bytes in the symbol's integer: so another number is no other kernel."""

    symbol: str
    dtype: np.dtype[Any]


class AffineValue(NamedTuple):
    """An integer: ``linear / divisor``, rounded toward zero."""

    linear: Linear
    divisor: int
    dtype: np.dtype[Any]


class BoundsMask(NamedTuple):
    """A mask: ``0 <= linear / divisor < extent`` without remainder, and the mask `also`.

    It is `wide` if it is true on nearly all of the innermost loop, so that the rest is worth a loop of its own.
    """

    linear: Linear
    divisor: int
    extent: str
    also: int | None
    wide: bool


class ZeroMask(NamedTuple):
    """`value` where `mask` is true, else zero."""

    mask: int
    value: int


Instruction = Load | Compute | Constant | AffineValue | BoundsMask | ZeroMask


class Operand(NamedTuple):
    """A pointer argument: ``a0``, ``a1``, ... are read, ``r0``, ... written (and perhaps read again).

    ``u0`` is brought up to date: what stands there before matters.
    """

    name: str
    dtype: np.dtype[Any]


class ScanStore(NamedTuple):
    """What is written is made of what was written before it along loop `axis`, and of `values`."""

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    axis: int
    values: tuple[int, ...]


class Scattered(NamedTuple):
    """What is written goes on what stands there: combined with it by a primitive's expression, or None: over it."""

    combining: Primitive | None


class Store(NamedTuple):
    """Writes `value`, or what `running` or `scattered` make of it, in loop level `level` (0: outside all loops)."""

    address: Address
    value: int
    level: int
    running: ScanStore | None
    scattered: Scattered | None = None


class Reduction(NamedTuple):
    """Combines `value` over the loops `axes`.

    The accumulator is set up in level `level` and there written, or, where a loop outside of that level is reduced
    too (`in_memory`), combined into the result's memory. Where loop 0 is reduced, `partial` is the symbol for the
    distance between the results of tasks.
    """

    primitive: Primitive
    params: tuple[tuple[str, Any], ...]
    address: Address
    value: int
    axes: tuple[int, ...]
    level: int
    in_memory: bool
    dtype: np.dtype[Any]
    partial: str | None


def factor_text(factor: Factor) -> str:
    """A factor as it reads in a kernel's text."""
    return "*".join(factor) if isinstance(factor, tuple) else str(factor)
