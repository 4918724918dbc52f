"""Canonicalization: from the loop nest of one program to a kernel for all shapes.

Adjacent loops are merged where all addresses allow it, so an elementwise nest over contiguous arrays of any rank
becomes one loop. Then every integer that depends on a shape gets a symbol, in the order of appearance.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from jittape.compile.analysis.parallelism import divided, rows_at_a_time, work_of
from jittape.compile.ir.instructions import (
    Address,
    AffineValue,
    BoundsMask,
    Compute,
    Constant,
    Factor,
    Instruction,
    KernelReduction,
    KernelStore,
    Linear,
    Load,
    Operand,
    Reduction,
    Store,
    ZeroMask,
    dtype_of,
)
from jittape.compile.ir.loop_kernel import LoopKernel, divided_loop
from jittape.compile.ir.loop_nest import (
    ConcreteAddress,
    ConcreteLinear,
    LoopNest,
    NestInstruction,
    NestReduction,
    NestStore,
)
from jittape.core.primitive import Primitive
from jittape.core.symbolic.extents import Extent, applied
from jittape.core.symbolic.memo_keys import memo_keys
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["Kernels", "Placed"]


class Placed(NamedTuple):
    """The kernel of a nest, the slots that are its operands, and the integers that are its symbols.

    If there are several tasks, each has results of its own for the operands in `partials`, which are given with the
    reductions that write to them.
    """

    nest: LoopNest
    kernel: LoopKernel
    slots: tuple[int, ...]
    sizes: tuple[int, ...]
    tasks: int
    work: int
    partials: tuple[tuple[int, list[NestReduction]], ...]

    def in_blocks(self, rows: int, block: int) -> Placed:
        """Return the kernel with its outermost loop, which runs over `rows`, divided into blocks of `block` rows."""
        extent = block * (self.sizes[0] // rows)
        return self._replace(sizes=(*self.sizes[:-1], extent), tasks=-(-rows // block))


STRUCTURAL = frozenset((0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5))
"""Constants by which LLVM simplifies expressions. They are part of the text of a kernel."""


class Kernels:
    """Cache of the kernels of a program's nests.

    The nests of an unrolled loop's iterations differ only in the slots that they read and write and in offsets there:
    9 of the 203 nests of an LSTM are different.
    """

    def __init__(self) -> None:
        self._known: dict[Any, _Canonical] = {}

    def placed(self, nest: LoopNest) -> Placed:
        """Return the kernel of `nest`; nests of equal structure have kernels of equal text."""
        key, slots, large_offsets = _key(nest)
        with memo_keys():
            known = self._known.get(key)
        if known is None:
            known = _Canonicalizer(_merged(nest)).result()
            with memo_keys():
                self._known[key] = known
        sizes = known.sizes
        if large_offsets:
            offset = iter(large_offsets)
            named = zip(known.kernel.symbols, sizes, strict=True)
            sizes = tuple([next(offset) if name[0] == "o" else size for name, size in named])
        partials = []
        for operand, own in known.partials:
            partials.append((operand, [_moved(r, nest.reductions[i].address) for i, r in own]))
        return Placed(nest, known.kernel, slots, sizes, known.tasks, known.work, tuple(partials))


class _Canonical(NamedTuple):
    """The part of `Placed` that nests share if they differ in slots only; `partials` has reductions with numbers."""

    kernel: LoopKernel
    sizes: tuple[int, ...]
    tasks: int
    work: int
    partials: tuple[tuple[int, list[tuple[int, NestReduction]]], ...]


def _moved(r: NestReduction, address: ConcreteAddress) -> NestReduction:
    """Return `r`, a reduction of merged loops, with the slot and the offset of `address`."""
    linear = r.address.linear._replace(offset=address.linear.offset)
    return r._replace(address=r.address._replace(slot=address.slot, linear=linear))


def _key(nest: LoopNest) -> tuple[Any, tuple[int, ...], list[int]]:
    """Return the nest with numbers in place of slots, the slots in order of appearance, and the large offsets.

    The offsets are in the order in which `_Canonicalizer` names them.
    """
    numbers: dict[tuple[int, int], int] = {}
    large_offsets: list[int] = []

    innermost = len(nest.extents) - 1

    def with_small_offset(linear: ConcreteLinear) -> ConcreteLinear:
        if _is_known_offset(linear, innermost):
            return linear
        large_offsets.append(linear.offset)
        return linear._replace(offset=tuning.structural_offset_limit + 1)

    def number(address: ConcreteAddress) -> tuple[int, ConcreteLinear]:
        slot, linear, part = address
        return numbers.setdefault((slot, part), len(numbers)), with_small_offset(linear)

    instructions: list[Any] = []
    for instruction in nest.instructions:
        if isinstance(instruction, Load):
            instructions.append((*number(instruction.address), instruction.mask, instruction.dtype))
        elif isinstance(instruction, AffineValue | BoundsMask):
            instructions.append(instruction._replace(linear=with_small_offset(instruction.linear)))
        else:
            instructions.append(instruction)
    stores = [(*number(address), *others) for address, *others in nest.stores]
    reductions = [(*number(r.address), r.primitive, r.params, *r[3:]) for r in nest.reductions]
    key = nest.extents, tuple(instructions), tuple(stores), tuple(reductions)
    return key, tuple([slot for slot, _ in numbers]), large_offsets


def _is_known_offset(linear: ConcreteLinear, innermost: int) -> bool:
    """Return whether the offset is part of a kernel's text. Merging loops does not change the answer."""
    limit, offset = tuning.structural_offset_limit, linear.offset
    if -limit <= offset <= limit:
        return True
    return offset.__class__ is int and limit < offset < linear.narrow_stride(innermost)


# ---- merging loops -------------------------------------------------------------------------------------------------


def _linears(nest: LoopNest) -> list[ConcreteLinear]:
    linears = [store.address.linear for store in nest.stores] + [r.address.linear for r in nest.reductions]
    for instruction in nest.instructions:
        if isinstance(instruction, Load):
            linears.append(instruction.address.linear)
        elif isinstance(instruction, AffineValue | BoundsMask):
            linears.append(instruction.linear)
    return linears


def _merged(nest: LoopNest) -> LoopNest:
    factors = [{v: f for v, f, _ in linear.terms} for linear in set(_linears(nest))]
    ordered = [r.axes for r in nest.reductions]
    ordered += [(s.scan.axis,) for s in nest.stores if s.scan is not None]
    group = list(range(len(nest.extents)))  # number of the merged loop, for each loop
    extents = list(nest.extents)
    for axis in range(1, len(nest.extents)):
        together = all(f.get(axis - 1, 0) == f.get(axis, 0) * nest.extents[axis] for f in factors) and all(
            (axis - 1 in axes) == (axis in axes) for axes in ordered
        )
        group[axis] = group[axis - 1] if together else group[axis - 1] + 1
    if len(group) < 2 or group[-1] == len(group) - 1:
        return nest
    extents = [1] * (group[-1] + 1)
    last = {}
    for axis, merged in enumerate(group):
        extents[merged] *= nest.extents[axis]
        last[merged] = axis
    return nest.with_loops(tuple(extents), {axis: merged for merged, axis in last.items()})


@lru_cache(maxsize=1024)
def _constant_bits(
    primitive: Primitive, params: tuple[tuple[str, Any], ...], dtype: np.dtype[Any]
) -> int | None:
    """Return the bytes of a constant as an integer, or None if the number is structural.

    Bools, complex numbers, nan, infinities and the numbers in `STRUCTURAL` are structural. All others are symbols, so
    means over any number of elements share a kernel.
    """
    if dtype.kind == "c":
        return None
    varying = [(name, value) for name, value in params if value.__class__ is Extent]
    if not varying:
        return _bits_of(None, primitive, "", params, dtype)
    if dtype.kind == "b" or len(varying) > 1 or any([varying[0][1] == number for number in STRUCTURAL]):
        return None
    bits: int = applied(_varying_bits, varying[0][1], primitive, varying[0][0], params, dtype)
    return bits


def _varying_bits(value: Any, *others: Any) -> int:
    bits = _bits_of(value, *others)
    if bits is None:
        raise ArithmeticError(f"{value} is a structural constant")
    return bits


def _bits_of(
    value: Any, primitive: Primitive, name: str, params: tuple[tuple[str, Any], ...], dtype: np.dtype[Any]
) -> int | None:
    """Return the bytes of a constant, whose parameter `name` is `value`; None if the number is structural."""
    if dtype.kind == "b":
        return None
    parameters = {key: value if key == name else other for key, other in params}
    if dtype.char == "d":  # no float overflows; without `errstate`, the bits take 2.3 instead of 3.8 µs
        number = primitive.impl(**parameters)
    else:
        with np.errstate(over="ignore"):
            number = primitive.impl(**parameters)
    plain = float(number)
    if not math.isfinite(plain) or plain in STRUCTURAL:
        return None
    return int.from_bytes(np.asarray(number, dtype).tobytes(), sys.byteorder, signed=False)


# ---- symbols -------------------------------------------------------------------------------------------------------


class _Canonicalizer:
    """Namer of operands and integers, in the order of their appearance."""

    def __init__(self, nest: LoopNest) -> None:
        self.nest = nest
        self.depth = len(nest.extents)
        self.divided_loop = divided_loop(self.depth, nest.stores)
        self.symbols = [f"n{axis}" for axis in range(self.depth)]
        self.sizes = list(nest.extents)
        self.operands: list[Operand] = []
        self.slots: dict[tuple[int, int], int] = {}
        self.levels: list[int] = []
        self.partials: dict[int, str] = {}
        self.counts = dict.fromkeys("sodarucpt", 0)

    def result(self) -> _Canonical:
        instructions = tuple([self._instruction(i) for i in self.nest.instructions])
        stores = tuple([self._store(s) for s in self.nest.stores])
        reductions = tuple([self._reduction(r) for r in self.nest.reductions])
        task = self._symbol("t", self.nest.extents[self.divided_loop]) if self.depth else None
        kernel = LoopKernel(
            tuple(self.operands),
            self.depth,
            tuple(self.symbols),
            task,
            instructions,
            tuple(self.levels),
            stores,
            reductions,
        )
        kernel = replace(kernel, rows=rows_at_a_time(kernel, self.nest.extents))
        work = work_of(kernel, self.nest.extents)
        count = 1
        if self.depth:
            count, self.sizes[-1] = divided(kernel, self.nest.extents, work)
        partials: dict[int, list[tuple[int, NestReduction]]] = {}
        for i, (r, raw) in enumerate(zip(reductions, self.nest.reductions, strict=True)):
            if r.partial:
                partials.setdefault(r.address.operand, []).append((i, raw))
        return _Canonical(kernel, tuple(self.sizes), count, work, tuple(partials.items()))

    def _symbol(self, kind: str, size: int) -> str:
        name = f"{kind}{self.counts[kind]}"
        self.counts[kind] += 1
        self.symbols.append(name)
        self.sizes.append(size)
        return name

    def _instruction(self, raw: NestInstruction) -> Instruction:
        made: Instruction
        match raw:
            case Load(address, mask, dtype):
                made = Load(self._address(address, "a", dtype), mask, dtype)
                level = max(self._level(made.address.linear), self._level_of(mask))
            case AffineValue(linear, divisor, dtype):
                made = AffineValue(self._linear(linear), divisor, dtype)
                level = self._level(made.linear)
            case BoundsMask(linear, divisor, extent, also):
                wide = divisor == 1 and self._is_wide(linear, extent)
                made = BoundsMask(self._linear(linear), divisor, self._symbol("d", extent), also, wide)
                level = max(self._level(made.linear), self._level_of(also))
            case Compute(primitive, params, (), dtype):
                bits = _constant_bits(primitive, params, dtype)
                made = raw if bits is None else Constant(self._symbol("c", bits), dtype)
                level = 0
            case Compute(args=args):
                made = raw
                level = max([self.levels[a] for a in args])
            case ZeroMask(mask, value):
                made = raw
                level = max(self.levels[mask], self.levels[value])
        self.levels.append(level)
        return made

    def _is_wide(self, linear: ConcreteLinear, extent: int) -> bool:
        """Return whether a mask moves with the innermost loop and is true on nearly all of it."""
        along = [factor for variable, factor, _ in linear.terms if variable == self.depth - 1]
        total = self.nest.extents[-1] if self.depth else 0
        return along in ([1], [-1]) and total - extent <= max(2, total // 8)

    def _store(self, raw: NestStore) -> KernelStore:
        kind = "r" if raw.scatter is None else "u"
        address = self._address(raw.address, kind, dtype_of(self.nest.instructions, raw.value))
        level = self.depth
        if raw.scatter is None and raw.scan is None:
            level = max(self._level(address.linear), self.levels[raw.value])
        return Store(address, raw.value, raw.scan, raw.scatter, level)

    def _reduction(self, r: NestReduction) -> KernelReduction:
        kept = [axis for axis in range(self.depth) if axis not in r.axes]
        level = kept[-1] + 1 if kept else 0
        in_memory = level == self.depth or any(axis < level for axis in r.axes)
        address = self._address(r.address, "r", r.dtype)
        partial = None
        if self.divided_loop in r.axes:
            partial = self.partials.get(address.operand) or self._symbol("p", r.partial)
            self.partials[address.operand] = partial
        return Reduction(r.primitive, r.params, address, r.value, r.axes, r.dtype, partial, level, in_memory)

    def _level(self, linear: Linear) -> int:
        levels = [self._level_of(int(v[1:])) if v[0] == "%" else int(v[1:]) + 1 for v, _ in linear.terms]
        return max(levels, default=0)

    def _level_of(self, value: int | None) -> int:
        return 0 if value is None else self.levels[value]

    def _address(self, raw: ConcreteAddress, kind: str, dtype: np.dtype[Any]) -> Address:
        operand = self.slots.get((raw.slot, raw.part))
        if operand is None:
            operand = self.slots[raw.slot, raw.part] = len(self.slots)
            self.operands.append(Operand(f"{kind}{self.counts[kind]}", dtype))
            self.counts[kind] += 1
        packed = self._packed(raw.linear)
        if packed is not None:
            return Address(operand, packed, True)
        return Address(operand, self._linear(raw.linear), False)

    def _packed(self, linear: ConcreteLinear) -> Linear | None:
        """Return the address with products of extents for strides, if the loops visit contiguous memory, else None."""
        if linear.offset or linear.fixed:
            return None
        stride = 1
        symbols: list[str] = []
        terms: list[tuple[str, Factor]] = []
        for variable, factor, _ in sorted(linear.terms, key=lambda term: term[1]):
            if isinstance(variable, str) or factor != stride:
                return None
            terms.append((f"i{variable}", tuple(reversed(symbols)) or 1))
            stride *= self.nest.extents[variable]
            symbols.append(f"n{variable}")
        return Linear(tuple(reversed(terms)))

    def _linear(self, linear: ConcreteLinear) -> Linear:
        terms: list[tuple[str, Factor]] = []
        innermost = self.depth - 1
        narrow = linear.narrow_stride(innermost)
        for variable, factor, structural in linear.terms:
            name = variable if isinstance(variable, str) else f"i{variable}"
            # An `Extent` is not compared: that would make the trace less general.
            known = structural or (variable == innermost and factor.__class__ is int and factor == narrow)
            terms.append((name, factor if known else self._symbol("s", factor)))
        if _is_known_offset(linear, innermost):
            return Linear(tuple(terms), None, linear.fixed + linear.offset)
        return Linear(tuple(terms), self._symbol("o", linear.offset), linear.fixed)
