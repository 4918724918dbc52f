"""The binder: checks the arguments of a call, writes their addresses into a slot table and runs it, in machine code.

Asking an ndarray for its address from Python costs 1.2 µs, its shape and dtype 0.1 µs; a Numba function that takes
ndarrays 45 ns each, and has to be compiled for every list of their types. The binder is compiled once, or comes from
disk as kernels do. It is handed the *tuple* of arguments and reads the objects' own memory: the type, and what stands
at fixed places of an ndarray (data, number of dimensions, shape, dtype, flags), of a float, of a Tensor and its Buffer.
Where `runtime.objects` does not find out the places there is no binder, and the calls go the slower way.

A *plan* is an int64 array: the number of arguments and of entries, the addresses of the types that the binder knows,
then for each entry `WORDS` words. So there is no address in the code itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.driver import (
    address_argument,
    as_function,
    object_argument,
    return_integer,
    run_table,
)
from jittape.compile.irtools import load_at
from jittape.compile.registry import registry
from jittape.program import Aval
from jittape.recording.tensor import Tensor
from jittape.runtime.buffers import Buffer
from jittape.runtime.objects import FIT, ObjectLayout, object_layout, place, reader

__all__ = ["ARRAY", "FLOAT32", "FLOAT64", "LIKE", "SAME", "TYPE", "Entry", "binder", "plan"]

WORDS = 7
_TYPES: tuple[type, ...] = (np.ndarray, Tensor, Buffer, float)
_HEAD = 2 + len(_TYPES)
ARRAY, LIKE, FLOAT64, FLOAT32, TYPE, SAME = range(6)
"""Kinds of entry: an array, the same without a cell, a Python float for a cell, an object of a type, one object."""


@dataclass(frozen=True)
class Entry:
    """What one argument must be, and where it goes.

    Attributes
    ----------
    kind : int
        `ARRAY` and its kin.
    held : bool
        Whether it is in the second tuple.
    position : int
        In its tuple.
    cell : int
        Of the slot table; none for `LIKE`, `TYPE` and `SAME`.
    what : Aval, type or object
        What an array, an object of a type, one very object must be.
    """

    kind: int
    held: bool
    position: int
    cell: int = 0
    what: Any = None


@cache
def _tensor_buffer() -> int:
    """The byte at which a Tensor has its buffer."""
    buffer = Buffer(np.zeros(1))
    return place(id(buffer), Tensor(None, -1, Aval((1,), buffer.array.dtype), buffer), 12)


def plan(arguments: int, entries: Sequence[Entry]) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """The plan of a call with that many arguments, and the objects that it points to and that must be kept."""
    words = [arguments, len(entries), *map(id, _TYPES)]
    kept: list[Any] = []
    for entry in entries:
        words += [entry.kind, int(entry.held), entry.position, entry.cell]
        if entry.kind in (ARRAY, LIKE):
            shape = np.array([len(entry.what.shape), *entry.what.shape], np.int64)
            kept += [shape, entry.what.dtype]
            words += [id(entry.what.dtype), shape.__array_interface__["data"][0], 0]
        else:
            kept.append(entry.what)
            words += [id(entry.what), 0, 0]
    return np.array(words, np.int64), kept


@cache
def binder() -> Callable[[tuple[Any, ...], tuple[Any, ...], int, int, int], int] | None:
    """``run(arguments, held, plan, cells, calls)``, the last three addresses; 0 if all fits and has run, else 1.

    Also if the run has been ended by a check, which the general way then finds once more, and raises.

    None where there is none. `calls` is a driver's table; it runs without the GIL, which is kept while objects are
    read. One call for both saves 0.15 of 0.45 µs.
    """
    if object_layout() is None:
        return None
    tensor_buffer = _tensor_buffer()

    def define(function: ir.Function, layout: ObjectLayout) -> None:
        _Emitter(function, layout, tensor_buffer).emit()

    definition = reader("binder", define, tensor_buffer)
    return None if definition is None else as_function(registry.own(definition))


class _Emitter:
    """Writes the binder."""

    def __init__(self, function: ir.Function, layout: ObjectLayout, tensor_buffer: int) -> None:
        self.function = function
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.layout = layout
        self.tensor_buffer = tensor_buffer
        self.i64 = ir.IntType(64)

    def const(self, value: int) -> ir.Value:
        return ir.Constant(self.i64, value)

    def load(self, base: ir.Value, offset: int | ir.Value, kind: ir.Type | None = None) -> ir.Value:
        """The value at `base` + `offset` bytes."""
        return load_at(self.builder, base, offset, kind)

    def pointer(self, base: ir.Value, offset: int | ir.Value, kind: ir.Type) -> ir.Value:
        at = self.const(offset) if isinstance(offset, int) else offset
        return self.builder.inttoptr(self.builder.add(base, at), kind.as_pointer())

    def times(self, value: ir.Value, factor: int) -> ir.Value:
        return self.builder.mul(value, self.const(factor))

    def emit(self) -> None:
        """One loop over the entries. It ends at the first that does not fit."""
        builder, i64 = self.builder, self.i64
        arguments, held = (
            builder.ptrtoint(object_argument(builder, self.function, i), i64) for i in range(2)
        )
        plan, cells, calls = (address_argument(builder, self.function, i) for i in range(2, 5))
        self.failed = builder.append_basic_block("failed")
        self.done = builder.append_basic_block("done")
        head, entry_block, self.next = (builder.append_basic_block(n) for n in ("head", "entry", "next"))
        # The number of items of a tuple stands right before them, but for a hash that some versions keep there.
        length = self.load(arguments, self.layout.tuple_length)
        start = builder.append_basic_block("start")
        builder.cbranch(builder.icmp_signed("==", length, self.load(plan, 0)), start, self.failed)
        builder.position_at_end(start)
        count = self.load(plan, 8)
        self.types = {kind: self.load(plan, 16 + 8 * i) for i, kind in enumerate(_TYPES)}
        builder.branch(head)

        builder.position_at_end(head)
        index = builder.phi(i64)
        index.add_incoming(self.const(0), start)
        builder.cbranch(builder.icmp_signed("<", index, count), entry_block, self.done)

        builder.position_at_end(entry_block)
        self.row = builder.add(plan, builder.add(self.const(8 * _HEAD), self.times(index, 8 * WORDS)))
        source = builder.select(
            builder.icmp_signed("!=", self.load(self.row, 8), self.const(0)), held, arguments
        )
        item = self.load(builder.add(source, self.times(self.load(self.row, 16), 8)), self.layout.items)
        self.cell = builder.add(cells, self.times(self.load(self.row, 24), 8))
        self.switch(item)

        builder.position_at_end(self.next)
        index.add_incoming(builder.add(index, self.const(1)), self.next)
        builder.branch(head)

        builder.position_at_end(self.failed)
        return_integer(builder, self.const(1))
        builder.position_at_end(self.done)
        return_integer(builder, run_table(builder, calls, cells))

    def switch(self, item: ir.Value) -> None:
        """Go to the code for the kind of entry; each ends at `next` or at `failed`."""
        builder = self.builder
        ways = [(ARRAY, self.array), (LIKE, self.like), (FLOAT64, self.float64), (FLOAT32, self.float32)]
        ways += [(TYPE, self.of_type), (SAME, self.same)]
        choice = builder.switch(self.load(self.row, 0), self.failed)
        for kind, way in ways:
            block = builder.append_basic_block(f"kind{kind}")
            choice.add_case(self.const(kind), block)
            builder.position_at_end(block)
            way(item)

    def require(self, *equal: tuple[ir.Value, ir.Value]) -> None:
        """Go on only if each pair is equal."""
        for a, b in equal:
            on = self.builder.append_basic_block("on")
            self.builder.cbranch(self.builder.icmp_signed("==", a, b), on, self.failed)
            self.builder.position_at_end(on)

    def type_of(self, item: ir.Value) -> ir.Value:
        return self.load(item, self.layout.type)

    def unwrapped(self, item: ir.Value, wrapper: type, place: int) -> ir.Value:
        """What stands at `place` of `item` if it is a `wrapper`, else `item`."""
        builder = self.builder
        before = builder.block
        inside, after = builder.append_basic_block("inside"), builder.append_basic_block("after")
        is_wrapper = builder.icmp_signed("==", self.type_of(item), self.types[wrapper])
        builder.cbranch(is_wrapper, inside, after)
        builder.position_at_end(inside)
        content = self.load(item, place)
        builder.branch(after)
        builder.position_at_end(after)
        result = builder.phi(self.i64)
        result.add_incoming(item, before)
        result.add_incoming(content, inside)
        return result

    def array(self, item: ir.Value) -> None:
        """An array, whose address is written."""
        address = self.load(self.fitting(item), self.layout.data)
        self.builder.store(address, self.pointer(self.cell, 0, self.i64))
        self.builder.branch(self.next)

    def like(self, item: ir.Value) -> None:
        self.fitting(item)
        self.builder.branch(self.next)

    def fitting(self, item: ir.Value) -> ir.Value:
        """An ndarray, or that in a Tensor or Buffer, if it has the right dtype and shape, contiguous and aligned."""
        builder, layout = self.builder, self.layout
        item = self.unwrapped(item, Tensor, self.tensor_buffer)
        item = self.unwrapped(item, Buffer, layout.buffer_array)
        self.require((self.type_of(item), self.types[np.ndarray]))
        shape = self.load(self.row, 40)
        ndim = self.load(shape, 0)
        i32 = ir.IntType(32)
        flags = builder.and_(self.load(item, layout.flags, i32), ir.Constant(i32, FIT))
        self.require(
            (self.load(item, layout.dtype), self.load(self.row, 32)),
            (builder.sext(self.load(item, layout.ndim, i32), self.i64), ndim),
            (flags, ir.Constant(i32, FIT)),
        )
        extents = self.load(item, layout.shape)
        before = builder.block
        head, body, after = (builder.append_basic_block(n) for n in ("dims", "dim", "dims_end"))
        builder.branch(head)
        builder.position_at_end(head)
        axis = builder.phi(self.i64)
        axis.add_incoming(self.const(0), before)
        builder.cbranch(builder.icmp_signed("<", axis, ndim), body, after)
        builder.position_at_end(body)
        offset = self.times(axis, 8)
        self.require((self.load(extents, offset), self.load(builder.add(shape, offset), 8)))
        axis.add_incoming(builder.add(axis, self.const(1)), builder.block)
        builder.branch(head)
        builder.position_at_end(after)
        return item

    def float64(self, item: ir.Value) -> None:
        self.require((self.type_of(item), self.types[float]))
        value = self.load(item, self.layout.float_value, ir.DoubleType())
        self.builder.store(value, self.pointer(self.cell, 0, ir.DoubleType()))
        self.builder.branch(self.next)

    def float32(self, item: ir.Value) -> None:
        self.require((self.type_of(item), self.types[float]))
        value = self.load(item, self.layout.float_value, ir.DoubleType())
        single = self.builder.fptrunc(value, ir.FloatType())
        self.builder.store(single, self.pointer(self.cell, 0, ir.FloatType()))
        self.builder.branch(self.next)

    def of_type(self, item: ir.Value) -> None:
        self.require((self.type_of(item), self.load(self.row, 32)))
        self.builder.branch(self.next)

    def same(self, item: ir.Value) -> None:
        self.require((item, self.load(self.row, 32)))
        self.builder.branch(self.next)
