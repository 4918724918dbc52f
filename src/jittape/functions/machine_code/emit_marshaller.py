"""The writer of the argument marshaller: see `jittape.functions.marshaller`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from llvmlite import ir

from jittape.compile.llvm.driver import return_integer, return_unless, run_table
from jittape.compile.llvm.ir_helpers import BYTES, integer
from jittape.core.buffers import Buffer
from jittape.functions.machine_code.emit_arithmetic import Arithmetic
from jittape.functions.marshal_plan import TENSOR_SLOTS, TYPES, VALUE, WORDS, Field, Form, Head, Kind, Outcome
from jittape.native.object_code import DOUBLE, I32, I64
from jittape.native.object_layout import CONTIGUOUS_AND_ALIGNED
from jittape.recording.tensor import Tensor

__all__ = ["Marshaller"]


class Marshaller(Arithmetic):
    """The writer of the marshaller: one loop over the entries, which ends at the first that does not fit."""

    def __init__(self, function: ir.Function, places: Mapping[str, int]) -> None:
        super().__init__(function, places)
        self.take_arguments()
        self.overflow = self.words(1)
        self.none = self.head(Head.NONE)
        self.types = {kind: self.load(self.plan, 8 * (Head.TYPES + i)) for i, kind in enumerate(TYPES)}
        self.pending, self.next = self.block("pending"), self.block("next")

    def take_arguments(self) -> None:
        """Set the values that the caller gives."""
        self.arguments, self.held, self.results = (self.argument(i) for i in range(3))
        self.plan, self.cells, self.calls = (self.address_argument(i) for i in range(3, 6))

    def finish(self) -> None:
        """Emit what comes before each return."""

    def emit(self) -> None:
        """Emit the function's body."""
        self.hold_same((self.length_of(self.arguments), self.head(Head.ARGUMENTS)))
        with self.each(self.head(Head.ENTRIES)) as index:
            self.row = self.row_of(index)
            self.entry()
        self.run()
        for block, outcome in ((self.failed, Outcome.MISSED), (self.pending, Outcome.PENDING)):
            self.begin(block)
            self.finish()
            return_integer(self.builder, integer(outcome))

    def entry(self) -> None:
        """Emit a switch over the kinds of an entry; each case goes on at `next` or at `failed`."""
        emitters = {
            Kind.VARIABLE: self.variable,
            Kind.ARRAY: self.array,
            Kind.LIKE: self.fitting,
            Kind.FLOAT64: lambda: self.write_cell(self.float_value()),
            Kind.FLOAT32: lambda: self.write_cell(self.builder.fptrunc(self.float_value(), ir.FloatType())),
            Kind.TYPE: lambda: self.hold_same((self.type_of(self.leaf()), self.field(Field.OBJECT))),
            Kind.SAME: lambda: self.hold_same((self.leaf(), self.field(Field.OBJECT))),
            Kind.SHARED: self.shared,
            Kind.INT: self.int_value,
            Kind.FLOAT: lambda: self.result(self.float_value()),
            **self.arithmetic_emitters(),
        }
        choice = self.builder.switch(self.field(Field.KIND), self.failed)
        for kind, emit in emitters.items():
            block = self.block(kind.name.lower())
            choice.add_case(integer(kind), block)
            self.begin(block)
            emit()
            self.builder.branch(self.next)
        self.begin(self.next)

    def head(self, word: Head) -> ir.Value:
        """Return a word of the plan's head."""
        return self.load(self.plan, 8 * word)

    def row_of(self, index: ir.Value) -> ir.Value:
        """Return the address of an entry."""
        first = self.builder.add(self.plan, integer(8 * (Head.TYPES + len(TYPES))))
        return self.element(first, index, 8 * WORDS)

    # ---- arguments -------------------------------------------------------------------------------------------------

    def leaf(self) -> ir.Value:
        """Return the entry's argument."""
        in_second = self.differ(self.field(Field.HELD), integer(0))
        values = self.builder.select(in_second, self.held, self.arguments)
        return self.item(values, self.field(Field.POSITION))

    def unwrapped(self, value: ir.Value, wrapper: type, slot: str) -> ir.Value:
        """Return the object in a slot of `value` if that is a `wrapper`, else `value`."""
        before = self.builder.block
        inside, after = self.block("inside"), self.block("after")
        self.builder.cbranch(self.same(self.type_of(value), self.types[wrapper]), inside, after)
        self.begin(inside)
        content = self.get(value, slot, self.failed)
        inside = self.builder.block
        self.builder.branch(after)
        self.begin(after)
        result = self.builder.phi(I64)
        result.add_incoming(value, before)
        result.add_incoming(content, inside)
        return result

    def variable(self) -> None:
        """Note a Variable's buffer and write its address; its dtype and shape never change."""
        variable = self.field(Field.OBJECT)
        assigned_in = self.get_unchecked(variable, "Variable._assigned_in")
        self.require_same(self.pending, (assigned_in, self.none))
        buffer = self.get(variable, "Variable._buffer", self.failed)
        self.result(buffer)
        self.write_cell(self.get_unchecked(self.get(buffer, "buffer_array", self.failed), "data"))

    def array(self) -> None:
        """Write an array's address."""
        self.write_cell(self.get_unchecked(self.fitting(), "data"))

    def fitting(self) -> ir.Value:
        """Return an ndarray, or that in a Tensor or Buffer, if dtype, shape and memory layout fit."""
        builder = self.builder
        value = self.unwrapped(self.leaf(), Tensor, "Tensor._buffer")
        value = self.unwrapped(value, Buffer, "buffer_array")
        self.hold_same((self.type_of(value), self.types[np.ndarray]))
        shape = self.field(Field.SHAPE)
        ndim = self.load(shape)
        required = ir.Constant(I32, CONTIGUOUS_AND_ALIGNED)
        flags = builder.and_(self.get_unchecked(value, "flags", I32), required)
        self.hold_same(
            (self.get_unchecked(value, "dtype"), self.field(Field.OBJECT)),
            (builder.sext(self.get_unchecked(value, "ndim", I32), I64), ndim),
            (flags, required),
        )
        extents = self.get_unchecked(value, "shape")
        with self.each(ndim) as axis:
            self.hold_same((self.read(extents, axis), self.load(self.element(shape, axis), 8)))
        return value

    def float_value(self) -> ir.Value:
        """Return the value of a Python float."""
        value = self.leaf()
        self.hold_same((self.type_of(value), self.types[float]))
        return self.get_unchecked(value, "float_value", DOUBLE)

    def int_value(self) -> None:
        """Write the value of a Python int of 64 bits."""
        value = self.leaf()
        self.hold_same((self.type_of(value), self.types[int]))
        converted = self.call("PyLong_AsLongLongAndOverflow", value, self.overflow)
        self.hold_same((self.load(self.overflow, 0, I32), ir.Constant(I32, 0)))
        self.result(converted)

    def shared(self) -> None:
        one = self.same(self.leaf(), self.item(self.arguments, self.field(Field.CELL)))
        self.hold_same((self.builder.zext(one, I64), self.field(Field.VALUE)))

    # ---- the run ---------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the table. The Variables' buffers are owned meanwhile, as another thread may assign to the Variables."""
        builder = self.builder
        entries, variables, assigned = (
            self.head(word) for word in (Head.ENTRIES, Head.VARIABLES, Head.ASSIGNED)
        )
        with self.each(variables) as index:
            self.incref(self.load(self.row_of(index), VALUE))
        self.place_results()
        failed = run_table(builder, self.calls, self.cells)
        untouched = self.untouched(entries, assigned)
        made = self.words(1)
        self.write(made, integer(0))
        form = self.head(Head.FORM)
        wanted = self.differ(form, integer(Form.NOTHING))
        wanted = builder.and_(wanted, builder.and_(untouched, builder.not_(failed)))
        with builder.if_then(wanted, likely=True):
            self.write(made, self.returned(form, builder.add(entries, assigned)))
        result = self.read(made)
        lost = builder.and_(wanted, self.same(result, integer(0)))
        failed = builder.or_(failed, lost)
        with builder.if_then(builder.and_(untouched, builder.not_(failed)), likely=True):
            self.assign(entries, assigned)
        # Releasing the last reference runs Python code; all Variables have their new values by now.
        with self.each(variables) as index:
            self.decref(self.load(self.row_of(index), VALUE))
        self.finish()
        with builder.if_then(self.differ(result, integer(0)), likely=True):
            builder.ret(builder.inttoptr(result, BYTES))
        outcome = builder.select(untouched, integer(Outcome.DONE), integer(Outcome.UNASSIGNED))
        return_unless(builder, failed, outcome)

    def place_results(self) -> None:
        """Write the addresses of the results into their cells."""
        first = self.element(self.cells, self.head(Head.FIRST_RESULT))
        with self.each(self.length_of(self.results)) as index:
            array = self.get_unchecked(self.item(self.results, index), "buffer_array")
            self.write(first, self.get_unchecked(array, "data"), index)

    # ---- the result ------------------------------------------------------------------------------------------------

    def returned(self, form: ir.Value, first_row: ir.Value) -> ir.Value:
        """Return a Tensor, a tuple of Tensors or None; 0 with an error set if there is no memory."""
        made = self.words(1)
        with self.builder.if_then(self.same(form, integer(Form.NONE))):
            self.write(made, self.incref(self.none))
        with self.builder.if_else(self.same(form, integer(Form.TENSOR))) as (single, several):
            with single:
                self.write(made, self.new_tensor(integer(0), first_row))
            with several, self.builder.if_then(self.same(form, integer(Form.TUPLE))):
                count = self.head(Head.RETURNED)
                values = self.call("PyTuple_New", count)
                self.write(made, values)
                with self.builder.if_then(self.differ(values, integer(0)), likely=True):
                    self.fill_tuple(values, count, first_row, made)
        return self.read(made)

    def fill_tuple(self, values: ir.Value, count: ir.Value, first_row: ir.Value, made: ir.Value) -> None:
        """Make the items of a new tuple; if there is no memory, release the tuple and write 0 to `made`."""
        builder = self.builder
        with self.each(count) as index:
            tensor = self.new_tensor(index, first_row)
            self.fill(values, index, tensor)
            self.write(made, builder.select(self.same(tensor, integer(0)), tensor, self.read(made)))
        with builder.if_then(self.same(self.read(made), integer(0)), likely=False):
            self.decref(values)

    def new_tensor(self, position: ir.Value, first_row: ir.Value) -> ir.Value:
        """Return a Tensor of a result; 0 with an error set if there is no memory."""
        tensor = self.call("PyType_GenericAlloc", self.types[Tensor], integer(0))
        row = self.row_of(self.builder.add(first_row, position))
        values = {
            "_buffer": self.item(self.results, self.load(row, 8 * Field.POSITION)),
            "_aval": self.load(row, 8 * Field.OBJECT),
            "_slot": self.head(Head.MINUS_ONE),
        }
        with self.builder.if_then(self.differ(tensor, integer(0)), likely=True):
            for name in TENSOR_SLOTS:
                self.init(tensor, f"Tensor.{name}", self.incref(values.get(name, self.none)))
        return tensor

    # ---- Variables -------------------------------------------------------------------------------------------------

    def untouched(self, entries: ir.Value, assigned: ir.Value) -> ir.Value:
        """Return whether no trace has read a Variable to assign or holds a new value of it."""
        touched = self.words(1)
        self.write(touched, integer(0))
        with self.each(assigned) as index:
            variable = self.load(self.row_of(self.builder.add(entries, index)), 8 * Field.OBJECT)
            read = self.differ(self.get_unchecked(variable, "Variable._trace"), self.none)
            self.write(touched, self.builder.or_(self.read(touched), self.builder.zext(read, I64)))
        return self.same(self.read(touched), integer(0))

    def assign(self, entries: ir.Value, assigned: ir.Value) -> None:
        """Give all Variables their new values, then release the old ones."""
        with self.each(assigned) as index:
            row = self.row_of(self.builder.add(entries, index))
            variable = self.load(row, 8 * Field.OBJECT)
            buffer = self.item(self.results, self.load(row, 8 * Field.POSITION))
            self.store(self.get_unchecked(variable, "Variable._buffer"), row, VALUE)
            self.init(variable, "Variable._buffer", self.incref(buffer))
        with self.each(assigned) as index:
            self.decref(self.load(self.row_of(self.builder.add(entries, index)), VALUE))
