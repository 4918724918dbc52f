"""The binder: checks the arguments of a call, writes their addresses into a slot table and runs it, in machine code.

Asking an ndarray for its address from Python costs 1.2 µs, its shape and dtype 0.1 µs; a Numba function that takes
ndarrays 45 ns each, and has to be compiled for every list of their types. The binder is compiled once, or comes from
disk as kernels do. It is handed the *tuple* of arguments and reads the objects' own memory: the type, and what stands
at fixed places of an ndarray (data, number of dimensions, shape, dtype, flags), of a float, of a Tensor and its Buffer,
of a Variable. Where `runtime.objects` does not find out the places there is no binder, and the calls go the slower way.

Variables are read here before the run, and those that are assigned get their new values after it. With 60 of them that
takes 0.4 µs; in Python it took 2. The Tensors that are returned are made here, too: two in 0.1 µs, in Python in 0.48.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.cache.kernel_cache import registry
from jittape.compile.llvm.driver import (
    address_argument,
    as_function,
    object_argument,
    return_integer,
    return_unless,
    run_table,
)
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external, for_range
from jittape.core.buffers import Buffer
from jittape.functions.emit_arithmetic import Arithmetic
from jittape.functions.marshal_plan import TYPES, VALUE, WORDS, Form, Head, Kind
from jittape.native.object_layout import FIT, ObjectLayout, object_layout, reader, slot_places
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Outcome", "marshaller"]


_VARIABLE = ("_buffer", "_trace", "_assigned_in")
_TENSOR = ("_buffer", "_aval", "_slot", "_trace", "_marker", "_origin")


class Outcome(IntEnum):
    """What the binder says of a call."""

    DONE = 0
    MISSED = 1
    """The arguments do not fit, and nothing has run."""
    PENDING = 2
    """A Variable has an assignment that has not run; nothing has run."""
    UNASSIGNED = 3
    """It has run, but a trace has read a Variable that is assigned; none has its new value."""


@cache
def marshaller() -> (
    Callable[[tuple[Any, ...], tuple[Any, ...], tuple[Buffer, ...], int, int, int], Any] | None
):
    """``run(arguments, held, results, plan, cells, calls)``, the last three addresses; gives an `Outcome`.

    Where all is done and the plan has a `Form` for what is returned, it gives that instead.

    An error that ends the run, as Ctrl-C does in a loop, leaves the Variables as they were.

    None where there is none. `calls` is a driver's table; it runs without the GIL, which is kept while objects are
    read. One call for both saves 0.15 of 0.45 µs.
    """
    if object_layout() is None:
        return None
    variable, tensor = slot_places(Variable, _VARIABLE), slot_places(Tensor, _TENSOR)
    places = (*variable.values(), *tensor.values())

    def define(function: ir.Function, layout: ObjectLayout) -> None:
        _Emitter(function, layout, *places).emit()

    definition = reader("marshaller", define, *places)
    return None if definition is None else as_function(registry.own(definition))


class _Emitter(Arithmetic):
    """Writes the binder."""

    def __init__(
        self,
        function: ir.Function,
        layout: ObjectLayout,
        buffer: int,
        trace: int,
        assigned: int,
        *tensor: int,
    ) -> None:
        self.function = function
        self.layout = layout
        self.variable_buffer, self.variable_trace, self.variable_assigned = buffer, trace, assigned
        self.tensor = dict(zip(_TENSOR, tensor, strict=True))
        super().__init__(Builder(function.append_basic_block("entry")))

    def emit(self) -> None:
        """One loop over the entries. It ends at the first that does not fit."""
        builder, i64 = self.builder, self.i64
        arguments, held, results = (
            builder.ptrtoint(object_argument(builder, self.function, i), i64) for i in range(3)
        )
        self.arguments, self.held, self.results = arguments, held, results
        self.plan, self.cells, calls = (address_argument(builder, self.function, i) for i in range(3, 6))
        self.none = self.head(Head.NONE)
        self.failed, self.pending, done = (
            builder.append_basic_block(n) for n in ("failed", "pending", "done")
        )
        head, entry_block, self.next = (builder.append_basic_block(n) for n in ("head", "entry", "next"))
        # The number of items of a tuple stands right before them, but for a hash that some versions keep there.
        length = self.load(arguments, self.layout.tuple_length)
        start = builder.append_basic_block("start")
        builder.cbranch(builder.icmp_signed("==", length, self.head(Head.ARGUMENTS)), start, self.failed)
        builder.position_at_end(start)
        count = self.head(Head.ENTRIES)
        self.types = {kind: self.load(self.plan, 8 * (Head.TYPES + i)) for i, kind in enumerate(TYPES)}
        builder.branch(head)

        builder.position_at_end(head)
        index = builder.phi(i64)
        index.add_incoming(self.const(0), start)
        builder.cbranch(builder.icmp_signed("<", index, count), entry_block, done)

        builder.position_at_end(entry_block)
        self.row = self.row_of(index)
        self.switch()

        builder.position_at_end(self.next)
        index.add_incoming(builder.add(index, self.const(1)), self.next)
        builder.branch(head)

        for block, outcome in ((self.failed, Outcome.MISSED), (self.pending, Outcome.PENDING)):
            builder.position_at_end(block)
            return_integer(builder, self.const(outcome))
        builder.position_at_end(done)
        self.run(calls)

    def head(self, word: Head) -> ir.Value:
        return self.load(self.plan, 8 * word)

    def row_of(self, index: ir.Value) -> ir.Value:
        """The address of an entry of the plan."""
        first = self.const(8 * (len(Head) - 1 + len(TYPES)))
        return self.builder.add(self.plan, self.builder.add(first, self.times(index, 8 * WORDS)))

    def switch(self) -> None:
        """Go to the code for the kind of entry; each ends at `next` or at `failed`."""
        builder = self.builder
        ways = {
            Kind.VARIABLE: self.variable,
            Kind.ARRAY: self.array,
            Kind.LIKE: self.fitting,
            Kind.FLOAT64: self.float64,
            Kind.FLOAT32: self.float32,
            Kind.TYPE: self.of_type,
            Kind.SAME: self.same,
            Kind.SHARED: self.shared,
            Kind.INT: self.int_argument,
            Kind.FLOAT: self.float_argument,
            **self.ways(),
        }
        choice = builder.switch(self.load(self.row, 0), self.failed)
        for kind, way in ways.items():
            block = builder.append_basic_block(kind.name.lower())
            choice.add_case(self.const(kind), block)
            builder.position_at_end(block)
            way()
            builder.branch(self.next)

    # ---- arguments -------------------------------------------------------------------------------------------------

    def item(self) -> ir.Value:
        """The argument."""
        builder = self.builder
        in_second = builder.icmp_signed("!=", self.load(self.row, 8), self.const(0))
        source = builder.select(in_second, self.held, self.arguments)
        return self.load(builder.add(source, self.times(self.load(self.row, 16), 8)), self.layout.items)

    def slot(self, item: ir.Value, place: int) -> ir.Value:
        """The object in a slot. Any may be empty, of an object that was never made; then it does not fit."""
        found = self.load(item, place)
        self.hold(self.builder.icmp_signed("!=", found, self.const(0)))
        return found

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
        content = self.slot(item, place)
        inside = builder.block
        builder.branch(after)
        builder.position_at_end(after)
        result = builder.phi(self.i64)
        result.add_incoming(item, before)
        result.add_incoming(content, inside)
        return result

    def variable(self) -> None:
        """A Variable, whose buffer is noted and its address written; dtype and shape never change."""
        builder = self.builder
        variable = self.load(self.row, 32)
        none = builder.icmp_signed("==", self.load(variable, self.variable_assigned), self.none)
        settled = builder.append_basic_block("settled")
        builder.cbranch(none, settled, self.pending)
        builder.position_at_end(settled)
        buffer = self.slot(variable, self.variable_buffer)
        self.store(buffer, self.row, VALUE)
        self.write(self.load(self.slot(buffer, self.layout.buffer_array), self.layout.data))

    def array(self) -> None:
        """An array, whose address is written."""
        self.write(self.load(self.fitting(), self.layout.data))

    def fitting(self) -> ir.Value:
        """An ndarray, or that in a Tensor or Buffer, if it has the right dtype and shape, contiguous and aligned."""
        builder, layout = self.builder, self.layout
        item = self.unwrapped(self.item(), Tensor, self.tensor["_buffer"])
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
        with for_range(builder, ndim) as axis:
            offset = self.times(axis, 8)
            self.require((self.load(extents, offset), self.load(builder.add(shape, offset), 8)))
        return item

    def number(self) -> ir.Value:
        """The value of a float."""
        item = self.item()
        self.require((self.type_of(item), self.types[float]))
        return self.load(item, self.layout.float_value, ir.DoubleType())

    def float64(self) -> None:
        self.write(self.number())

    def float32(self) -> None:
        self.write(self.builder.fptrunc(self.number(), ir.FloatType()))

    def float_argument(self) -> None:
        self.store(self.number(), self.row, VALUE)

    def int_argument(self) -> None:
        """An int of 64 bits; which it is Python says, without any Python code."""
        builder, i32 = self.builder, ir.IntType(32)
        item = self.item()
        self.require((self.type_of(item), self.types[int]))
        kind = ir.FunctionType(self.i64, [BYTES, i32.as_pointer()])
        convert = external(builder.module, kind, "PyLong_AsLongLongAndOverflow")
        value = builder.call(convert, [builder.inttoptr(item, BYTES), self.overflow])
        self.require((builder.load(self.overflow), ir.Constant(i32, 0)))
        self.store(value, self.row, VALUE)

    def of_type(self) -> None:
        self.require((self.type_of(self.item()), self.load(self.row, 32)))

    def same(self) -> None:
        self.require((self.item(), self.load(self.row, 32)))

    def shared(self) -> None:
        builder = self.builder
        place = builder.add(self.arguments, self.times(self.load(self.row, 24), 8))
        one = builder.icmp_signed("==", self.item(), self.load(place, self.layout.items))
        self.require((builder.zext(one, self.i64), self.load(self.row, VALUE)))

    # ---- the run ---------------------------------------------------------------------------------------------------

    def run(self, calls: ir.Value) -> None:
        """Run the table with the Variables' values held, as another thread may assign them meanwhile."""
        builder = self.builder
        entries, variables, assigned = (
            self.head(word) for word in (Head.ENTRIES, Head.VARIABLES, Head.ASSIGNED)
        )
        with for_range(builder, variables) as index:
            self.count("Py_IncRef", self.load(self.row_of(index), VALUE))
        self.place_results()
        failed = run_table(builder, calls, self.cells)
        untouched = self.untouched(entries, assigned)
        made = alloca_once(builder, self.i64)
        builder.store(self.const(0), made)
        form = self.head(Head.FORM)
        wanted = builder.icmp_signed("!=", form, self.const(Form.NOTHING))
        wanted = builder.and_(wanted, builder.and_(untouched, builder.not_(failed)))
        with builder.if_then(wanted, likely=True):
            builder.store(self.returned(form, builder.add(entries, assigned)), made)
        result = builder.load(made)
        lost = builder.and_(wanted, builder.icmp_signed("==", result, self.const(0)))
        failed = builder.or_(failed, lost)
        with builder.if_then(builder.and_(untouched, builder.not_(failed)), likely=True):
            self.assign(entries, assigned)
        # Letting go of the last reference runs Python code; all Variables are as they should be by now.
        with for_range(builder, variables) as index:
            self.count("Py_DecRef", self.load(self.row_of(index), VALUE))
        with builder.if_then(builder.icmp_signed("!=", result, self.const(0)), likely=True):
            builder.ret(builder.inttoptr(result, BYTES))
        outcome = builder.select(untouched, self.const(Outcome.DONE), self.const(Outcome.UNASSIGNED))
        return_unless(builder, failed, outcome)

    def place_results(self) -> None:
        """Write the addresses of the results into their cells."""
        builder, layout = self.builder, self.layout
        first = builder.add(self.cells, self.times(self.head(Head.FIRST_RESULT), 8))
        with for_range(builder, self.load(self.results, layout.tuple_length), scalar=True) as index:
            array = self.load(self.result_at(index), layout.buffer_array)
            self.store(self.load(array, layout.data), builder.add(first, self.times(index, 8)), 0)

    def result_at(self, position: ir.Value) -> ir.Value:
        """The buffer of a result."""
        return self.load(self.builder.add(self.results, self.times(position, 8)), self.layout.items)

    # ---- what is returned ------------------------------------------------------------------------------------------

    def returned(self, form: ir.Value, first_row: ir.Value) -> ir.Value:
        """A Tensor or a tuple of them, of the results that are returned; 0 with an error set if there is no memory."""
        builder = self.builder
        made = alloca_once(builder, self.i64)
        one = builder.icmp_signed("==", form, self.const(Form.TENSOR))
        with builder.if_else(one) as (single, several):
            with single:
                builder.store(self.new_tensor(self.const(0), first_row), made)
            with several:
                count = self.head(Head.RETURNED)
                values = self.call("PyTuple_New", count)
                builder.store(values, made)
                with builder.if_then(builder.icmp_signed("!=", values, self.const(0)), likely=True):
                    self.fill(values, count, first_row, made)
        return builder.load(made)

    def fill(self, values: ir.Value, count: ir.Value, first_row: ir.Value, made: ir.Value) -> None:
        """Make the items of a new tuple; without memory for one it goes again."""
        builder = self.builder
        with for_range(builder, count, scalar=True) as index:
            tensor = self.new_tensor(index, first_row)
            self.store(tensor, builder.add(values, self.times(index, 8)), self.layout.items)
            lost = builder.icmp_signed("==", tensor, self.const(0))
            builder.store(builder.select(lost, tensor, builder.load(made)), made)
        with builder.if_then(builder.icmp_signed("==", builder.load(made), self.const(0)), likely=False):
            self.count("Py_DecRef", values)

    def new_tensor(self, position: ir.Value, first_row: ir.Value) -> ir.Value:
        """A Tensor with a result; 0 with an error set if there is no memory."""
        builder = self.builder
        tensor = self.call("PyType_GenericAlloc", self.types[Tensor], self.const(0))
        aval = self.load(self.row_of(builder.add(first_row, position)), 32)
        slots = {"_buffer": self.result_at(position), "_aval": aval, "_slot": self.head(Head.MINUS_ONE)}
        with builder.if_then(builder.icmp_signed("!=", tensor, self.const(0)), likely=True):
            for name, at in self.tensor.items():
                value = slots.get(name, self.none)
                self.count("Py_IncRef", value)
                self.store(value, tensor, at)
        return tensor

    def call(self, name: str, *arguments: ir.Value) -> ir.Value:
        """Call a function of the C API that gives an object."""
        kind = ir.FunctionType(self.i64, [self.i64] * len(arguments))
        return self.builder.call(external(self.builder.module, kind, name), arguments)

    # ---- Variables -------------------------------------------------------------------------------------------------

    def untouched(self, entries: ir.Value, assigned: ir.Value) -> ir.Value:
        """Whether no trace has read a Variable that is assigned, or has a value for it."""
        builder = self.builder
        touched = alloca_once(builder, ir.IntType(1))
        builder.store(ir.Constant(ir.IntType(1), 0), touched)
        with for_range(builder, assigned) as index:
            variable = self.load(self.row_of(builder.add(entries, index)), 32)
            read = builder.icmp_signed("!=", self.load(variable, self.variable_trace), self.none)
            builder.store(builder.or_(builder.load(touched), read), touched)
        return builder.not_(builder.load(touched))

    def assign(self, entries: ir.Value, assigned: ir.Value) -> None:
        """Give all Variables their new values, and let go of the old ones after that."""
        builder = self.builder
        with for_range(builder, assigned) as index:
            row = self.row_of(builder.add(entries, index))
            position, variable = self.load(row, 16), self.load(row, 32)
            buffer = self.result_at(position)
            self.count("Py_IncRef", buffer)
            self.store(self.load(variable, self.variable_buffer), row, VALUE)
            self.store(buffer, variable, self.variable_buffer)
        with for_range(builder, assigned) as index:
            self.count("Py_DecRef", self.load(self.row_of(builder.add(entries, index)), VALUE))

    def count(self, function: str, item: ir.Value) -> None:
        """Count a reference to an object, or one less."""
        kind = ir.FunctionType(ir.VoidType(), [BYTES])
        builder = self.builder
        builder.call(external(builder.module, kind, function), [builder.inttoptr(item, BYTES)])
