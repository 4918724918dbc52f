"""Instructions of an innermost loop that is written as vectors; `vectorize` decides which loops are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.ir.instructions import Address, Instruction, KernelLoad, Linear
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop.hoist_invariants import hoist_invariants
from jittape.compile.kernels.loop.scalar_body import NO_WRAP, ScalarBody
from jittape.compile.kernels.loop.strided_vectors import load_column, store_columns
from jittape.compile.kernels.loop.vectorize import (
    Lanes,
    addresses_of,
    cost_of_innermost,
    is_adjacent,
    is_reversed,
    loads_of,
    narrow_stride,
    prefetches,
    read_stride,
    reads_ahead,
    strided_loads,
    strided_stores,
    written_twice,
)
from jittape.compile.llvm.ir_helpers import constant_table, for_steps, integer, prefetch
from jittape.compile.llvm.ir_value import IRValue, memory_type
from jittape.compile.llvm.ir_vectors import (
    first_lanes,
    like,
    masked_load,
    masked_store,
    numbered,
    reversed_lanes,
    spread,
)
from jittape.core.tuning import tuning

__all__ = ["VectorBody"]


def _row(address: Address) -> Address:
    """Return the address without its known offset; addresses of one row differ in it only."""
    return address._replace(linear=address.linear._replace(fixed=0))


def _block(address: Address, stride: int) -> Address:
    """Return the address of the first of the `stride` adjacent elements to which an element of a column belongs."""
    fixed = address.linear.fixed
    return address._replace(linear=address.linear._replace(fixed=fixed - fixed % stride))


class VectorBody(ScalarBody):
    """Emitter of instructions, those of the innermost loop for several elements at a time.

    Attributes
    ----------
    vectors : Lanes or None
        Numbers of lanes of the innermost loop; None leaves it to LLVM's vectorizer.
    mask : ir.Value or None
        The lanes that exist; None if all do.
    """

    def __init__(
        self,
        kernel: LoopKernel,
        builder: ir.IRBuilder,
        pointers: Sequence[ir.Value],
        symbols: Mapping[str, ir.Value],
        vectors: Lanes | None,
    ) -> None:
        super().__init__(kernel, builder, pointers, symbols)
        self.vectors = vectors
        self.mask: ir.Value | None = None
        self._loop = f"i{kernel.depth - 1}"
        # For each row (see `_row`), the pointer at the start of the innermost loop, and the type of an element.
        self._rows: dict[Address, tuple[ir.Value, ir.Type]] = {}
        # The same for the row before along an outer loop, or the row itself if it is the first.
        self._rows_before: dict[Address, tuple[ir.Value, ir.Type]] = {}
        # The rows whose elements are not adjacent, and how far apart these are.
        self._strides: dict[Address, ir.Value] = {}
        # The number of columns that are written to a block of narrow rows (see `_block`), and those that wait.
        self._columns_written: Counter[Address] = Counter()
        self._waiting: dict[Address, list[tuple[int, ir.Value]]] = {}
        # Values that are loaded before the loop's body, and stores that follow it.
        self._ahead: dict[Instruction, IRValue] = {}
        self._late: list[Callable[[], None]] | None = None
        # The number of elements to those of the next task if these are prefetched.
        self._next_task: ir.Value | None = None

    # ---- the loop ------------------------------------------------------------------------------------------------

    def innermost(
        self,
        count: ir.Value,
        start: ir.Value | None,
        body: Callable[[], None],
        narrow: Callable[[], None],
    ) -> None:
        """Emit a loop that runs `body` for `count` elements from `start` (0).

        `narrow` runs between whole vectors and the rest, which has fewer lanes.
        """
        self._find_rows(start, addresses_of(self.kernel))
        self._find_rows_before()
        self._next_task = self._distance_of_next_task(count, start) if prefetches(self.kernel) else None
        loads, stores = strided_loads(self.kernel), strided_stores(self.kernel)
        strided = [*[load.address for load in loads], *stores]
        self._strides = {_row(address): self._step(address.linear) for address in strided}
        columns = [(address, narrow_stride(self.kernel, address)) for address in stores]
        self._columns_written = Counter([_block(a, s) for a, s in columns if s is not None])
        first = integer(0)
        if written_twice(self.kernel):
            first = self._whole_vectors(count, start, body)
        narrow()
        ahead = loads_of(self.kernel) if reads_ahead(self.kernel) else None
        self._rest(first, count, start, body, ahead)

    def _distance_of_next_task(self, count: ir.Value, start: ir.Value | None) -> ir.Value:
        """Emit the number of elements from a task to the next one, or zero if there is none."""
        assert start is not None
        assert self.kernel.task is not None
        end = self.builder.add(start, count, flags=NO_WRAP)
        is_last = self.builder.icmp_signed(">=", end, self.integers["n0"])
        return self.builder.select(is_last, integer(0), self.integers[self.kernel.task])

    def fill(self, address: Address, count: ir.Value, start: ir.Value | None, value: IRValue) -> None:
        """Emit a loop like the innermost that writes `value` to `count` elements from `start` (0)."""
        self._find_rows(start, [address])
        first = self._whole_vectors(count, start, lambda: self.store(address, value))
        self._rest(first, count, start, lambda: self.store(address, value), [])

    def _whole_vectors(self, count: ir.Value, start: ir.Value | None, body: Callable[[], None]) -> ir.Value:
        """Emit the loop over whole vectors; return the number of elements in them."""
        assert self.vectors is not None
        builder, lanes = self.builder, self.vectors.at_once
        whole = builder.and_(count, integer(-lanes))
        before = builder.block
        with for_steps(builder, integer(0), whole, integer(lanes), as_written=True) as index:
            self._move(start, index, lanes)
            body()
        if cost_of_innermost(self.kernel) <= tuning.hoisted_loop_cost:
            hoist_invariants(builder, before)
        self.width = None
        return whole

    def _rest(
        self,
        first: ir.Value,
        count: ir.Value,
        start: ir.Value | None,
        body: Callable[[], None],
        ahead: list[KernelLoad] | None,
    ) -> None:
        """Emit the loop over the elements that are left, with a mask in the last vector.

        If the loads to do `ahead` are known, they come first and stores last, both in two versions, with the mask and
        without. With the mask alone, a pass over 10,000,000 numbers takes 33 ms instead of 20, and a load cannot be
        forwarded from a masked store.
        """
        assert self.vectors is not None
        builder, lanes = self.builder, self.vectors.least
        with for_steps(builder, first, count, integer(lanes), as_written=True) as index:
            left = builder.sub(count, index, flags=NO_WRAP)
            full = builder.icmp_signed(">=", left, integer(lanes))
            mask = first_lanes(builder, left, lanes)
            self._move(start, index, lanes)
            if ahead is not None:
                self._read_ahead(ahead, full, mask)
                self._late = []
            self.mask = mask
            body()
            late, self._late, self._ahead = self._late, None, {}
            if late:
                for _ in self._masked_and_unmasked(full, mask):
                    for write in late:
                        write()
        self.mask = self.width = None

    def _masked_and_unmasked(self, full: ir.Value, mask: ir.Value) -> Iterator[None]:
        """Emit two branches: for whole vectors, and with the mask."""
        with self.builder.if_else(full, likely=True) as branches:
            for branch, self.mask in zip(branches, (None, mask), strict=True):
                with branch:
                    yield

    def _read_ahead(self, loads: list[KernelLoad], full: ir.Value, mask: ir.Value) -> None:
        builder = self.builder
        if not loads:
            return
        found: list[tuple[ir.Block, list[IRValue]]] = []
        for _ in self._masked_and_unmasked(full, mask):
            read = [self.load(load.address, load.dtype) for load in loads]
            found.append((builder.block, read))
        for n, load in enumerate(loads):
            merged = builder.phi(found[0][1][n].ir.type)
            for block, read in found:
                merged.add_incoming(read[n].ir, block)
            self._ahead[load] = IRValue(builder, merged, load.dtype)

    def _move(self, start: ir.Value | None, index: ir.Value, lanes: int) -> None:
        """Move to the vector that begins `index` elements after the start of the innermost loop."""
        self.counted[self._loop] = start, index
        self.integers[self._loop] = index if start is None else self.builder.add(start, index, flags=NO_WRAP)
        self.width = lanes

    # ---- vectors -------------------------------------------------------------------------------------------------

    def instruction(self, instruction: Instruction) -> IRValue:
        ahead = self._ahead.get(instruction)
        return super().instruction(instruction) if ahead is None else ahead

    def _step(self, linear: Linear) -> ir.Value:
        """Emit the difference between two elements of the innermost loop."""
        here, self.integers[self._loop] = self.integers[self._loop], integer(1)
        step = self.linear(Linear(tuple([term for term in linear.terms if term[0] == self._loop])))
        self.integers[self._loop] = here
        return step

    def whole(self, linear: Linear) -> ir.Value:
        first = self.linear(linear)
        if self.width is None:
            return first
        first, step = (spread(self.builder, number, self.width) for number in (first, self._step(linear)))
        return self.builder.add(first, self.builder.mul(numbered(self.width), step))

    def masked_load(self, address: Address, mask: int, dtype: np.dtype[Any]) -> IRValue:
        if self.width is None:
            if is_adjacent(self.kernel, address):
                return self._load_or_zero(address, mask, dtype)
            return super().masked_load(address, mask, dtype)
        wanted = self.values[mask].spread(self.width).ir
        wanted = wanted if self.mask is None else self.builder.and_(wanted, self.mask)
        return self._load_lanes(address, dtype, wanted, perhaps_none=True)

    def _load_or_zero(self, address: Address, mask: int, dtype: np.dtype[Any]) -> IRValue:
        """Emit the load of the element, or of a constant zero, for LLVM's vectorizer.

        From a branch, the vectorizer makes loads of vectors that may have no elements: see `_place_of_some`.
        """
        builder, place = self.builder, self._place(address)
        zeros = builder.bitcast(constant_table(builder.module, ((0.0, 0.0),)), place.type)
        wanted = builder.select(self.values[mask].ir, place, zeros)
        return self.load_from(wanted, dtype)

    def load(self, address: Address, dtype: np.dtype[Any]) -> IRValue:
        return (
            super().load(address, dtype)
            if self.width is None
            else self._load_lanes(address, dtype, self.mask)
        )

    def store(self, address: Address, value: IRValue) -> None:
        if self.width is None:
            super().store(address, value)
        elif self._late is None:
            self._store_lanes(address, value, self.mask)
        else:
            self._late.append(lambda: self._store_lanes(address, value, self.mask))

    def _strided_lanes(
        self, address: Address, kind: ir.Type, mask: ir.Value | None
    ) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Emit the number and the place of the element of each lane; lanes that do not exist have the first one."""
        builder, stride = self.builder, self._strides[_row(address)]
        assert self.width is not None
        first = self._place_of_lanes(address)
        for lane in range(self.width):
            number, ahead = integer(lane), builder.mul(stride, integer(lane), flags=NO_WRAP)
            if mask is not None and lane:
                exists = builder.extract_element(mask, number)
                number = builder.select(exists, number, integer(0))
                ahead = builder.select(exists, ahead, integer(0))
            yield number, builder.gep(first, [ahead], inbounds=True, source_etype=kind)

    def _load_strided(self, address: Address, dtype: np.dtype[Any], mask: ir.Value | None) -> IRValue:
        """Emit the load of a column of narrow rows, or loads of single elements."""
        stride = read_stride(self.kernel, address, dtype)
        if stride is not None:
            place, kind = self._place_of_lanes(_row(address)), like(memory_type(dtype), self.width)
            fixed = address.linear.fixed
            column = load_column(self.builder, place, kind, stride, fixed, mask, dtype.itemsize)
            return self.from_memory(column, dtype)
        builder, kind = self.builder, memory_type(dtype)
        loaded: ir.Value = ir.Constant(like(kind, self.width), ir.Undefined)
        for lane, (_, place) in enumerate(self._strided_lanes(address, kind, mask)):
            element = builder.load(place, align=dtype.alignment, typ=kind)
            loaded = builder.insert_element(loaded, element, integer(lane))
        return self.from_memory(loaded, dtype)

    def _store_strided(self, address: Address, value: IRValue, mask: ir.Value | None) -> None:
        """Emit stores of single elements; instead of a lane that does not exist, the first one is stored again.

        Columns of narrow rows wait for the last column of their row that is written.
        """
        vector, kind = self.in_memory(value), memory_type(value.dtype)
        stride = narrow_stride(self.kernel, address)
        if stride is not None:
            block = _block(address, stride)
            self._waiting.setdefault(block, []).append((address.linear.fixed % stride, vector))
            if len(self._waiting[block]) == self._columns_written[block]:
                columns = dict(self._waiting.pop(block))
                place = self._place_of_lanes(block)
                store_columns(self.builder, place, columns, stride, mask, value.dtype.itemsize)
            return
        for number, place in self._strided_lanes(address, kind, mask):
            element = self.builder.extract_element(vector, number)
            self.builder.store(element, place, align=value.dtype.alignment)

    def _load_lanes(
        self, address: Address, dtype: np.dtype[Any], mask: ir.Value | None, perhaps_none: bool = False
    ) -> IRValue:
        if _row(address) in self._strides:
            return self._load_strided(address, dtype, mask)
        builder, place = self.builder, self._place_of_lanes(address)
        assert self.width is not None
        kind = like(memory_type(dtype), self.width)
        if mask is None:
            loaded = builder.load(place, align=dtype.alignment, typ=kind)
            if self._next_task is not None and self.kernel.operands[address.operand].name[0] == "a":
                ahead = builder.gep(place, [self._next_task], source_etype=memory_type(dtype))
                prefetch(builder, ahead, self.width * dtype.itemsize)
        else:
            if perhaps_none:
                place = self._place_of_some(mask, place, address)
            loaded = masked_load(builder, kind, place, self._in_memory_order(address, mask), dtype.alignment)
        return self.from_memory(self._in_memory_order(address, loaded), dtype)

    def _in_memory_order(self, address: Address, vector: ir.Value) -> ir.Value:
        """Emit a vector in the order of its elements in memory, or such a vector in the order of the loop."""
        assert self.width is not None
        if not is_reversed(self.kernel, address):
            return vector
        return reversed_lanes(self.builder, vector, self.width)

    def _place_of_some(self, mask: ir.Value, place: ir.Value, address: Address) -> ir.Value:
        """Emit `place`, or the start of the array if `mask` is false in all lanes.

        `place` may be far outside of the array then. The processor takes 0.3 µs to find out that it need not load from
        a page that does not exist: zeros after 200,000 numbers took 3.7 ms instead of 0.1.
        """
        builder, lanes = self.builder, ir.IntType(mask.type.count)
        some = builder.icmp_unsigned("!=", builder.bitcast(mask, lanes), ir.Constant(lanes, 0))
        return builder.select(some, place, self.hidden(self.pointers[address.operand]))

    def _store_lanes(self, address: Address, value: IRValue, mask: ir.Value | None) -> None:
        value = value.spread(self.width)
        if _row(address) in self._strides:
            self._store_strided(address, value, mask)
            return
        place, align = self._place_of_lanes(address), value.dtype.alignment
        vector = self._in_memory_order(address, self.in_memory(value))
        if mask is None:
            self.builder.store(vector, place, align=align)
        else:
            masked_store(self.builder, vector, place, self._in_memory_order(address, mask), align)

    def _place_of_lanes(self, address: Address) -> ir.Value:
        """Emit the address of the lane that is the first one in memory."""
        _, index = self.counted[self._loop]
        row, element = self._rows[_row(address)]
        stride = self._strides.get(_row(address))
        if stride is not None:
            index = self.builder.mul(index, stride, flags=NO_WRAP)
        elif is_reversed(self.kernel, address):
            assert self.width is not None
            index = self.builder.sub(integer(1 - self.width), index, flags=NO_WRAP)
        place = self.builder.gep(row, [index], inbounds=True, source_etype=element)
        fixed = address.linear.fixed
        if not fixed:
            return place
        return self.builder.gep(place, [integer(fixed)], inbounds=True, source_etype=element)

    def _find_rows(self, start: ir.Value | None, addresses: Iterable[Address]) -> None:
        """Emit the addresses of rows before the innermost loop."""
        self.integers[self._loop] = integer(0) if start is None else start
        self._rows = {}
        for address in dict.fromkeys([_row(a) for a in addresses]):
            pointer = self.pointers[address.operand]
            place = self.builder.gep(pointer, [self.linear(address.linear)], inbounds=True)
            self._rows[address] = self.hidden(place), pointer.type.pointee

    def _find_rows_before(self) -> None:
        self._rows_before = {}
        for store in self.kernel.stores:
            if store.scan is None:
                continue
            loop, (row, element) = f"i{store.scan.axis}", self._rows[_row(store.address)]
            here = self.integers[loop]
            self.integers[loop] = self.builder.sub(here, integer(1), flags=NO_WRAP)
            before = self.linear(_row(store.address).linear)
            self.integers[loop] = here
            place = self.builder.gep(self.pointers[store.address.operand], [before])
            known = self.builder.icmp_signed("!=", here, integer(0))
            self._rows_before[_row(store.address)] = self.builder.select(known, place, row), element

    def load_before(self, address: Address, dtype: np.dtype[Any]) -> IRValue:
        """Emit the load of the element before along an outer loop; any value if there is none."""
        here, self._rows = self._rows, self._rows_before
        loaded = self.load(address, dtype)
        self._rows = here
        return loaded
