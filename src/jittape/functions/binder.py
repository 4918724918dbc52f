"""The binder: checks the arguments of a call, writes their addresses into a slot table and runs it, in machine code.

Asking an ndarray for its address from Python costs 1.2 µs, its shape and dtype 0.1 µs; a Numba function that takes
ndarrays 45 ns each, and has to be compiled for every list of their types. The binder is compiled once. It is handed the
address of the *tuple* of arguments and reads the objects' own memory: the type, and what stands at fixed places of an
ndarray (data, number of dimensions, shape, dtype, flags), of a float, of a Tensor and its Buffer. The places are found
out, not assumed: `object_layout` looks for known values in sample objects, and where it does not find them there is no
binder, and the calls go the slower way.

A *plan* is an int64 array: the number of arguments and of entries, the addresses of the types that the binder knows,
then for each entry `WORDS` words. So there is no address in the code itself.
"""

from __future__ import annotations

import ctypes
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from jittape.compile.driver import walk_table
from jittape.compile.irtools import KERNEL_TYPE
from jittape.program import Aval
from jittape.recording.tensor import Tensor
from jittape.runtime.buffers import Buffer

__all__ = ["ARRAY", "FLOAT32", "FLOAT64", "LIKE", "SAME", "TYPE", "Entry", "binder", "object_layout", "plan"]

WORDS = 7
_TYPES: tuple[type, ...] = (np.ndarray, Tensor, Buffer, float)
_HEAD = 2 + len(_TYPES)
ARRAY, LIKE, FLOAT64, FLOAT32, TYPE, SAME = range(6)
"""Kinds of entry: an array, the same without a cell, a Python float for a cell, an object of a type, one object."""

_FIT = 0x101
"""NumPy's flags C_CONTIGUOUS and ALIGNED."""


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


@dataclass(frozen=True)
class _Layout:
    """Where in an object things stand, in bytes."""

    type: int
    items: int
    float_value: int
    data: int
    ndim: int
    shape: int
    dtype: int
    flags: int
    tensor_buffer: int
    buffer_array: int


@cache
def object_layout() -> _Layout | None:
    """Where things stand in this Python; None if they are not where they should be, or may change under the reader."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    array = np.zeros((3, 5, 7))
    buffer = Buffer(array)
    tensor = Tensor(None, -1, Aval((), array.dtype), buffer)
    try:
        layout = _Layout(
            type=_place(id(np.ndarray), array, 4),
            items=_place(id(array), (array, None), 6),
            float_value=_place(np.float64(1.25).view(np.int64).item(), 1.25, 3),
            data=_place(buffer.address, array, 6),
            ndim=_place(buffer.address, array, 6) + 8,
            shape=_place(buffer.address, array, 6) + 16,
            dtype=_place(id(array.dtype), array, 10),
            flags=_place(id(array.dtype), array, 10) + 8,
            tensor_buffer=_place(id(buffer), tensor, 12),
            buffer_array=_place(id(array), buffer, 8),
        )
    except ValueError:
        return None
    words = _words(array, 12)
    shape = (ctypes.c_int64 * 3).from_address(words[layout.shape // 8])
    fits = list(shape) == [3, 5, 7] and words[layout.ndim // 8] & 0xFFFFFFFF == 3
    transposed = _words(array.T, 12)[layout.flags // 8] & _FIT == 0x100
    return layout if fits and transposed and words[layout.flags // 8] & _FIT == _FIT else None


def _words(value: object, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(id(value)))


def _place(wanted: int, value: object, count: int) -> int:
    """The byte at which `wanted` stands in the memory of `value`."""
    return 8 * _words(value, count).index(wanted)


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
def binder() -> Callable[[int, int, int, int, int], int] | None:
    """``run(arguments, held, plan, cells, calls)``, all addresses; 0 if all fits and has run. None where there is none.

    `calls` is a driver's table; it runs without the GIL, which is kept while objects are read. One call for both saves
    0.15 of 0.45 µs.
    """
    layout = object_layout()
    if layout is None:
        return None

    @intrinsic
    def bind_and_run(
        typing_context: Any, arguments: Any, held: Any, plan: Any, cells: Any, calls: Any
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return _Emitter(builder, layout, context.get_python_api(builder)).emit(*args)

        return types.intp(*[types.intp] * 5), generate

    def run(arguments, held, plan, cells, calls):  # type: ignore[no-untyped-def]
        return bind_and_run(arguments, held, plan, cells, calls)

    compiled: Callable[[int, int, int, int, int], int] = njit("intp(intp, intp, intp, intp, intp)")(run)
    return compiled


class _Emitter:
    """Writes the binder."""

    def __init__(self, builder: ir.IRBuilder, layout: _Layout, python: Any) -> None:
        self.builder = builder
        self.python = python
        self.layout = layout
        self.i64 = ir.IntType(64)

    def const(self, value: int) -> ir.Value:
        return ir.Constant(self.i64, value)

    def load(self, base: ir.Value, offset: int | ir.Value, kind: ir.Type | None = None) -> ir.Value:
        """The value at `base` + `offset` bytes."""
        return self.builder.load(self.pointer(base, offset, kind or self.i64))

    def pointer(self, base: ir.Value, offset: int | ir.Value, kind: ir.Type) -> ir.Value:
        at = self.const(offset) if isinstance(offset, int) else offset
        return self.builder.inttoptr(self.builder.add(base, at), kind.as_pointer())

    def times(self, value: ir.Value, factor: int) -> ir.Value:
        return self.builder.mul(value, self.const(factor))

    def emit(
        self, arguments: ir.Value, held: ir.Value, plan: ir.Value, cells: ir.Value, calls: ir.Value
    ) -> ir.Value:
        """One loop over the entries. It ends at the first that does not fit."""
        builder, i64 = self.builder, self.i64
        self.failed = builder.append_basic_block("failed")
        self.done = builder.append_basic_block("done")
        head, entry_block, self.next = (builder.append_basic_block(n) for n in ("head", "entry", "next"))
        # The number of items of a tuple stands right before them, but for a hash that some versions keep there.
        length = self.load(arguments, _tuple_length_place())
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

        end = builder.append_basic_block("end")
        builder.position_at_end(self.failed)
        builder.branch(end)
        builder.position_at_end(self.done)
        without_gil = self.python.save_thread()
        table = builder.inttoptr(calls, i64.as_pointer())
        walk_table(builder, table, builder.inttoptr(cells, KERNEL_TYPE.args[0]))
        self.python.restore_thread(without_gil)
        ran = builder.block
        builder.branch(end)
        builder.position_at_end(end)
        outcome = builder.phi(i64)
        outcome.add_incoming(self.const(1), self.failed)
        outcome.add_incoming(self.const(0), ran)
        return outcome

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
        item = self.unwrapped(item, Tensor, layout.tensor_buffer)
        item = self.unwrapped(item, Buffer, layout.buffer_array)
        self.require((self.type_of(item), self.types[np.ndarray]))
        shape = self.load(self.row, 40)
        ndim = self.load(shape, 0)
        i32 = ir.IntType(32)
        flags = builder.and_(self.load(item, layout.flags, i32), ir.Constant(i32, _FIT))
        self.require(
            (self.load(item, layout.dtype), self.load(self.row, 32)),
            (builder.sext(self.load(item, layout.ndim, i32), self.i64), ndim),
            (flags, ir.Constant(i32, _FIT)),
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


@cache
def _tuple_length_place() -> int:
    """The byte of a tuple at which its length stands."""
    return _place(5, (None,) * 5, 3)
