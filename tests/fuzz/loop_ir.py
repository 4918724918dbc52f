"""Evaluation of loop kernels and matrix products by NumPy, without LLVM, one task at a time.

The value of an instruction is an array with an axis for each loop, of extent 1 if the value does not depend on that
loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from memory import Heap, Pointer

from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.instructions import (
    AffineValue,
    BoundsMask,
    Compute,
    Constant,
    Linear,
    Load,
    Reduction,
    Store,
    ZeroMask,
)
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.ir.table_layouts import SHARES_SHIFT
from jittape.core.forms import Map, Reduce, Scan
from jittape.vectormath.numpy_math import NumPyMath

MATH = NumPyMath()
SHARE_STEP = 16


def computed(primitive: Any, params: Sequence[tuple[str, Any]], operands: Sequence[Any], dtype: Any) -> Any:
    """Evaluate the scalar expression of a map, or combine a few elements as a reduction does."""
    if isinstance(primitive.lowering, Map):
        result = primitive.impl(*np.broadcast_arrays(*operands), **dict(params))
    else:
        assert isinstance(primitive.lowering, Reduce)
        result = reduce(lambda a, b: primitive.lowering.combine(MATH, a, b), operands)
    result = np.asarray(result)
    return result if result.dtype == dtype else result.astype(dtype)


class Nest:
    """One task of a loop nest."""

    def __init__(
        self, heap: Heap, kernel: LoopKernel, pointers: Sequence[Pointer], sizes: Sequence[int], task: int
    ) -> None:
        self.heap = heap
        self.kernel = kernel
        self.pointers = list(pointers)
        self.symbols = dict(zip(kernel.symbols, sizes, strict=True))
        self.extents = [self.symbols[f"n{axis}"] for axis in range(kernel.depth)]
        self.begin = 0
        if kernel.task is not None:
            self.begin = task * self.symbols[kernel.task]
            left = self.extents[kernel.divided_loop] - self.begin
            self.extents[kernel.divided_loop] = min(self.symbols[kernel.task], left)
        for r in kernel.reductions:
            if r.partial is not None:
                number, distance = r.address.operand, task * self.symbols[r.partial] * r.dtype.itemsize
                self.pointers[number] = pointers[number].moved(distance)
        starts = [self.begin if axis == kernel.divided_loop else 0 for axis in range(kernel.depth)]
        self.loops = [
            np.arange(start, start + n).reshape([-1 if i == axis else 1 for i in range(kernel.depth)])
            for axis, (start, n) in enumerate(zip(starts, self.extents, strict=True))
        ]
        self.last_level = next((axis for axis, n in enumerate(self.extents) if n <= 0), kernel.depth)
        """The deepest level that runs: loops inside one without iterations do not."""
        self.values: list[Any] = []

    def run(self) -> None:
        kernel = self.kernel
        for r in kernel.reductions:
            if r.in_memory:
                self._write(r, self._identity(r))
        for instruction, level in zip(kernel.instructions, kernel.levels, strict=True):
            if level > self.last_level:
                self.values.append(None)
            else:
                self.values.append(self._instruction(instruction))
        for store in kernel.stores:
            if store.level <= self.last_level:
                self._store(store)
        for r in kernel.reductions:
            self._reduce(r)

    # ---- instructions --------------------------------------------------------------------------------------------

    def _instruction(self, instruction: Any) -> Any:
        values = self.values
        match instruction:
            case Load(address, mask, dtype):
                return self._load(address, None if mask is None else values[mask], dtype)
            case Compute(primitive, params, args, dtype):
                return computed(primitive, params, [values[a] for a in args], dtype)
            case Constant(symbol, dtype):
                return (
                    np.array([self.symbols[symbol]], np.uint64)
                    .view(np.uint8)[: dtype.itemsize]
                    .view(dtype)[0]
                )
            case AffineValue(linear, divisor, dtype):
                number = np.asarray(self._linear(linear))
                return np.trunc(number / divisor).astype(dtype)
            case BoundsMask(linear, divisor, extent, also, _):
                number, rest = np.divmod(self._linear(linear), divisor)
                inside = (rest == 0) & (number >= 0) & (number < self.symbols[extent])
                return inside if also is None else inside & values[also]
            case ZeroMask(mask, value):
                zero = np.zeros((), values[value].dtype)
                return np.where(values[mask], values[value], zero)
        raise AssertionError(instruction)

    def _linear(self, linear: Linear) -> Any:
        total: Any = linear.fixed + (0 if linear.offset is None else self._signed(linear.offset))
        for variable, factor in linear.terms:
            if isinstance(factor, str):
                factor = self._signed(factor)
            elif isinstance(factor, tuple):
                factor = int(np.prod([self._signed(symbol) for symbol in factor]))
            number = int(variable[1:])
            value = self.loops[number] if variable[0] == "i" else self.values[number].astype(np.int64)
            total = total + value * factor
        return total

    def _signed(self, symbol: str) -> int:
        value = self.symbols[symbol]
        return value - 2**64 if value >= 2**63 else value

    def _load(self, address: Any, mask: Any, dtype: np.dtype[Any]) -> Any:
        heap, pointer = self.heap, self.pointers[address.operand]
        places = heap.indices(pointer, self._linear(address.linear), dtype, mask)
        if mask is None:
            return np.asarray(heap.view(dtype)[places])
        return np.where(mask, heap.view(dtype)[places], np.zeros((), dtype))

    # ---- stores and reductions ----------------------------------------------------------------------------------

    def _places(self, address: Any) -> tuple[np.ndarray[Any, Any], Any]:
        """Return the memory of an operand and the indices of its elements."""
        dtype = self.kernel.operands[address.operand].dtype
        places = self.heap.indices(self.pointers[address.operand], self._linear(address.linear), dtype)
        return self.heap.view(dtype), places

    def _store(self, store: Store) -> None:
        memory, places = self._places(store.address)
        value = self.values[store.value] if store.scan is None else self._scan(store, memory.dtype)
        assert value.dtype == memory.dtype
        if store.scatter is None:
            if np.ndim(places) and np.shape(places) != value.shape:
                places, value = np.broadcast_arrays(places, value)
            elif not np.ndim(places):
                value = value.reshape(-1)[-1]
            memory[places] = value
            return
        full = np.broadcast_to(places, self.extents).ravel()
        value = np.broadcast_to(value, self.extents).ravel()
        combining = store.scatter.combining
        for place, element in zip(full.tolist(), value, strict=True):
            if combining is not None:
                element = computed(combining, (), [memory[place], element], memory.dtype)
            memory[place] = element

    def _scan(self, store: Store, dtype: np.dtype[Any]) -> Any:
        scan = store.scan
        assert scan is not None
        form = scan.primitive.lowering
        assert isinstance(form, Scan)
        is_whole = scan.axis != self.kernel.divided_loop or self.begin == 0
        assert is_whole, "a scan along the divided loop is in several tasks"
        operands = [
            np.moveaxis(np.broadcast_to(self.values[v], self.extents), scan.axis, 0) for v in scan.values
        ]
        before = MATH.literal(form.start, dtype)
        rows = []
        for elements in zip(*operands, strict=True):
            before = form.combine(MATH, before, *elements, **dict(scan.params))
            rows.append(before)
        return np.moveaxis(np.array(rows, dtype), 0, scan.axis)

    def _identity(self, r: Reduction) -> Any:
        form = r.primitive.lowering
        assert isinstance(form, Reduce)
        return np.asarray(form.identity(r.dtype)).astype(r.dtype)

    def _write(self, r: Reduction, value: Any, combining: bool = False) -> None:
        """Write a value that has an element for each iteration of the loops that are not reduced."""
        memory, places = self._places(r.address)
        if not np.ndim(places):
            value = value.reshape(())
        else:
            kept = [1 if axis in r.axes else n for axis, n in enumerate(self.extents)]
            places, value = np.broadcast_to(places, kept), np.broadcast_to(value, kept)
        if combining:
            form = r.primitive.lowering
            assert isinstance(form, Reduce)
            value = form.combine(MATH, memory[places], value)
        memory[places] = value

    def _reduce(self, r: Reduction) -> None:
        if r.level > self.last_level:
            return
        if self.last_level < self.kernel.depth:
            if not r.in_memory:
                self._write(r, self._identity(r))
            return
        value = np.broadcast_to(self.values[r.value], self.extents).astype(r.dtype)
        total = np.asarray(r.primitive.impl(value, axes=r.axes, **dict(r.params)))
        assert total.dtype == r.dtype
        self._write(r, np.expand_dims(total, r.axes), r.in_memory)


# ---- matrix products -------------------------------------------------------------------------------------------------


def run_product(
    heap: Heap, kernel: Gemm, pointers: Sequence[Pointer], sizes: Sequence[int], task: int
) -> None:
    """Run one task of a stack of matrix products; see `blas_call`."""
    s = {name: n - 2**64 if n >= 2**63 else n for name, n in zip(kernel.SYMBOLS, sizes, strict=True)}
    dtype, (tx, ty) = kernel.dtype, kernel.transposed
    row, area = s["m"] * s["n"] * s["b1"], s["m"] * s["n"]
    results = row * s["b0"] * task if s["tk"] < s["k"] else 0
    task, shared = _shared(kernel, s, task)
    ranges = {}
    for name in ("b0", "b1", "m", "n", "k"):
        part = s["t" + name[-1]]
        begin = task * part if part < s[name] or name == shared else 0
        ranges[name] = np.arange(begin, min(s[name], begin + part))
    b0, b1 = ranges["b0"].reshape(-1, 1, 1, 1), ranges["b1"].reshape(-1, 1, 1)
    i, j, k = ranges["m"], ranges["n"], ranges["k"]
    x = _matrix(heap, pointers[0], dtype, s["ox"] + b0 * s["x0"] + b1 * s["x1"], (i, k), s["lx"], tx)
    y = _matrix(heap, pointers[1], dtype, s["oy"] + b0 * s["y0"] + b1 * s["y1"], (k, j), s["ly"], ty)
    places = results + b0 * row + b1 * area + i[:, None] * s["lr"] + j
    places = heap.indices(pointers[2], places, dtype)
    value = np.matmul(x, y)
    if kernel.scales:
        alpha, beta = (_real(s[name], dtype) for name in ("alpha", "beta"))
        if len(kernel.operands) > 3:
            rate = kernel.operands[3].dtype
            alpha = alpha * heap.view(rate)[heap.indices(pointers[3], 0, rate)].astype(dtype)
        value = alpha * value
        adds = beta != 0
    else:
        adds = kernel.accumulates
    memory = heap.view(dtype)
    memory[places] = (memory[places] + value if adds else value).astype(dtype)


def _real(bits: int, dtype: np.dtype[Any]) -> Any:
    """Return the number with these bytes."""
    real = np.dtype(f"f{dtype.itemsize // (2 if dtype.kind == 'c' else 1)}")
    return np.array([bits % 2**64], np.uint64).view(np.uint8)[: real.itemsize].view(real)[0]


def _shared(kernel: Gemm, s: dict[str, int], task: int) -> tuple[int, str]:
    """Return the number of a task and the name of the extent that is divided on demand; `s` then has a share of it."""
    shares, name = task >> SHARES_SHIFT, ""
    if shares > 1:
        fits = {"b0": s["b0"] >= s["b1"], "b1": True}
        if kernel.divisible:
            fits = {"b0": s["b0"] >= shares, "b1": s["b1"] >= shares, "m": s["m"] >= s["n"], "n": True}
        name = next(name for name, fitting in fits.items() if fitting)
        unit = SHARE_STEP if name in "mn" else 1
        s["t" + name[-1]] = -(-s[name] // (shares * unit)) * unit
    return task & ((1 << SHARES_SHIFT) - 1), name


def _matrix(
    heap: Heap, pointer: Pointer, dtype: np.dtype[Any], start: Any, axes: Any, leading: int, transposed: bool
) -> Any:
    rows, columns = axes[0][:, None], axes[1]
    places = rows + columns * leading if transposed else rows * leading + columns
    return heap.view(dtype)[heap.indices(pointer, start + places, dtype)]
