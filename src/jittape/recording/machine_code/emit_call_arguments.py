"""Machine code that takes an argument of a call of a NumPy function: as operands, or as a part of the parameters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import DOUBLE, I64, ObjectCode
from jittape.native.object_layout import CONTIGUOUS_AND_ALIGNED
from jittape.numpy_api.one_call import FRACTIONS, INDEX, PERCENTS
from jittape.recording.machine_code.emit_array_copies import NBYTES, kind_of_array
from jittape.recording.machine_code.emit_operands import New, is_structure, plain_shape
from jittape.recording.machine_code.emit_recorder import OPERANDS

__all__ = ["COUNT", "FIRST", "LENGTH", "PARTS", "append_part", "take_argument"]

PARTS = 48
"""Maximum number of parameters, marks included; Python records calls with more."""
_MOST_FRACTIONS = 4096
"""Maximum size of an array of fractions or percentages whose range machine code checks."""
LENGTH, COUNT, FIRST = 0, 1, 2
"""Words of the memory of a call: number of parameters, number of operands, the parameters and then the operands."""


def take_argument(new: New, code: ObjectCode, *arguments: ir.Value) -> ir.Value:
    """Emit a call of ``take(memory, value, name, leads, numbers)``: see `_Argument`."""
    return code.call_shared("jittape_take_argument", lambda shared: _Argument(new, shared).emit(), *arguments)


class _Argument:
    """The writer of ``take(memory, value, name, leads, numbers)``, which returns 0 for an argument of no known kind.

    `name` is 0 for an argument by position, `leads` whether it must be an operand, and `numbers` is that of the call.
    """

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = new(function)
        self.memory, self.value, self.name, self.leads, self.numbers = function.args
        self.no = self.code.block("no")

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        leads = code.differ(self.leads, integer(0))
        sequence = code.block("sequence")
        with self._if(self._is_tensor(self.value)):
            with builder.if_then(code.differ(self.name, integer(0))):
                found = code.call("PyDict_GetItemWithError", code.known("OPERAND_NAMES"), self.name)
                code.require(code.differ(found, integer(0)), self.no)
            self._append_operand(self.value)
        plain = builder.icmp_signed("<", self.numbers, integer(FRACTIONS))
        with_floats = builder.and_(plain, builder.icmp_signed(">", self.numbers, integer(0)))
        is_float = builder.and_(code.is_a(self.value, "float"), with_floats)
        two = builder.and_(code.same(self.numbers, integer(2)), leads)
        is_int = builder.and_(code.is_a(self.value, "int"), two)
        is_array = builder.and_(code.is_a(self.value, "ndarray"), builder.and_(leads, plain))
        is_number_or_array = builder.or_(builder.or_(is_float, is_int), is_array)
        with self._if(is_number_or_array):
            self._append_operand(self.value)
        is_real = builder.or_(code.is_a(self.value, "float"), code.is_a(self.value, "int"))
        with self._if(builder.and_(builder.and_(leads, is_real), builder.not_(plain))):
            self._require_in_range(self.value)
            self._append_operand(self.value)
        with self._if(builder.and_(code.is_a(self.value, "ndarray"), self._are_fractions())):
            self._require_array_in_range()
            self._append_operand(self.value)
        with self._if(code.same(self.value, code.known("None"))):
            self._append_part(self.value)
        code.require(builder.not_(leads), sequence)
        with self._if(self._is_flag()):
            self._append_part(self.value)
        value = plain_shape(self.new, code, self.value)
        with self._if(code.differ(is_structure(self.new, code, value, integer(0)), integer(0))):
            self._append_part(value)
        builder.branch(sequence)
        code.begin(sequence)
        self._take_sequence()
        builder.ret(integer(1))
        code.begin(self.no)
        builder.ret(integer(0))

    def _are_fractions(self) -> ir.Value:
        """Return whether the argument is a number, or are numbers, from 0 to 1 or to 100."""
        code, builder = self.code, self.code.builder
        leads = code.differ(self.leads, integer(0))
        found = builder.or_(*(code.same(self.numbers, integer(n)) for n in (FRACTIONS, PERCENTS)))
        return builder.and_(leads, found)

    def _require_in_range(self, value: ir.Value) -> None:
        """Refuse a number out of the range that `OneCall.numbers` gives."""
        code, builder = self.code, self.code.builder
        index, percents, after, unfit = (code.block(n) for n in ("index", "percents", "in_range", "unfit"))
        builder.cbranch(code.same(self.numbers, integer(INDEX)), index, percents)
        code.begin(index)
        code.require(code.is_a(value, "int"), self.no)
        aval = code.get(code.read(self.memory, FIRST + PARTS), "_aval", self.no)
        code.require(code.is_a(aval, "Aval"), self.no)
        shape = code.item(aval, 0)
        code.require_same(self.no, (code.length_of(shape), integer(1)))
        extent = code.item(shape, 0)
        code.require(code.is_a(extent, "int"), self.no)
        n, place = (code.index(number, unfit) for number in (extent, value))
        code.require(builder.icmp_signed("<", place, n), self.no)
        code.require(builder.icmp_signed(">=", place, builder.neg(n)), self.no)
        builder.branch(after)
        code.begin(unfit)
        code.call("PyErr_Clear")
        builder.branch(self.no)
        code.begin(percents)
        self._require_fraction(value, unfit)
        builder.branch(after)
        code.begin(after)

    def _require_fraction(self, value: ir.Value, unfit: ir.Block) -> None:
        """Refuse a number that is no fraction or percentage; branch to `unfit` with an error set for a large int."""
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        with builder.if_else(code.is_a(value, "int")) as (an_int, a_float):
            with an_int:
                number = code.index(value, unfit)
                code.write(found, builder.bitcast(builder.sitofp(number, DOUBLE), I64))
            with a_float:
                code.write(found, code.get_unchecked(value, "float_value"))
        self._require_between(builder.bitcast(code.read(found), DOUBLE), self.no)

    def _require_between(self, value: ir.Value, otherwise: ir.Block) -> None:
        code, builder = self.code, self.code.builder
        one = code.same(self.numbers, integer(FRACTIONS))
        most = builder.select(one, ir.Constant(DOUBLE, 1.0), ir.Constant(DOUBLE, 100.0))
        code.require(builder.fcmp_ordered(">=", value, ir.Constant(DOUBLE, 0.0)), otherwise)
        code.require(builder.fcmp_ordered("<=", value, most), otherwise)

    def _require_array_in_range(self) -> None:
        """Refuse an array of fractions or percentages unless it is one of few float64 numbers in the range."""
        code, builder = self.code, self.code.builder
        dtype = code.get_unchecked(self.value, "dtype")
        code.require_same(self.no, (dtype, code.known("dtype float64")))
        flags = builder.and_(code.get_unchecked(self.value, "flags"), integer(CONTIGUOUS_AND_ALIGNED))
        code.require_same(self.no, (flags, integer(CONTIGUOUS_AND_ALIGNED)))
        kind = kind_of_array(self.new, code, self.value)
        code.require(code.differ(kind, integer(0)), self.no)
        count = builder.sdiv(code.size(code.item(kind, NBYTES)), integer(8))
        code.decref(kind)
        code.require(builder.icmp_signed("<=", count, integer(_MOST_FRACTIONS)), self.no)
        data = code.get_unchecked(self.value, "data")
        with code.each(count) as i:
            self._require_between(builder.bitcast(code.read(data, i), DOUBLE), self.no)

    @contextmanager
    def _if(self, condition: ir.Value) -> Iterator[None]:
        """Emit what is done with an argument of one kind; it ends the call."""
        with self.code.builder.if_then(condition):
            yield
            self.code.builder.ret(integer(1))

    def _is_tensor(self, value: ir.Value) -> ir.Value:
        code = self.code
        return code.builder.or_(code.is_a(value, "Tensor"), code.is_a(value, "Variable"))

    def _is_flag(self) -> ir.Value:
        """Return whether the argument is a bool whose name is in `FLAGS`."""
        code, flag = self.code, self.code.words(1)
        code.write(flag, integer(0))
        named = code.builder.and_(code.is_a(self.value, "bool"), code.differ(self.name, integer(0)))
        with code.builder.if_then(named):
            code.write(flag, code.call("PyDict_GetItemWithError", code.known("FLAGS"), self.name))
        return code.differ(code.read(flag), integer(0))

    def _take_sequence(self) -> None:
        """Append the operands and the structure in a list or tuple."""
        code, builder = self.code, self.code.builder
        a_list = code.block("list")
        code.require(code.is_a(self.value, "tuple"), a_list)
        code.require(code.differ(code.length_of(self.value), integer(0)), self.no)
        self._append_part(code.known("TUPLE"))
        with code.each(code.length_of(self.value)) as i:
            self._append_item(code.item(self.value, i))
        self._append_part(code.known("END"))
        builder.ret(integer(1))
        code.begin(a_list)
        code.require(code.is_a(self.value, "list"), self.no)
        code.require(code.differ(code.call("PyList_Size", self.value), integer(0)), self.no)
        self._append_part(code.known("LIST"))
        with code.each_item(self.value) as (_, item):
            self._append_item(item)
        self._append_part(code.known("END"))

    def _append_item(self, item: ir.Value) -> None:
        code, call = self.code, (self.memory, item, integer(0), self.leads, self.numbers)
        taken = take_argument(self.new, code, *call)
        code.require(code.differ(taken, integer(0)), self.no)

    def _append_part(self, part: ir.Value) -> None:
        appended = append_part(self.new, self.code, self.memory, part)
        self.code.require(self.code.differ(appended, integer(0)), self.no)

    def _append_operand(self, operand: ir.Value) -> None:
        code, builder = self.code, self.code.builder
        count = code.read(self.memory, COUNT)
        code.require(builder.icmp_signed("<", count, integer(OPERANDS)), self.no)
        code.write(self.memory, code.incref(operand), builder.add(count, integer(FIRST + PARTS)))
        code.write(self.memory, builder.add(count, integer(1)), COUNT)
        self._append_part(code.known("OPERAND"))


def append_part(new: New, code: ObjectCode, memory: ir.Value, part: ir.Value) -> ir.Value:
    """Append a parameter, borrowed; return 0 if there are too many."""
    return code.call_shared(
        "jittape_append_part", lambda shared: _define_append_part(new(shared)), memory, part
    )


def _define_append_part(code: ObjectCode) -> None:
    memory, part = code.function.args
    full = code.block("full")
    length = code.read(memory, LENGTH)
    code.require(code.builder.icmp_signed("<", length, integer(PARTS)), full)
    code.write(memory, part, code.builder.add(length, integer(FIRST)))
    code.write(memory, code.builder.add(length, integer(1)), LENGTH)
    code.builder.ret(integer(1))
    code.begin(full)
    code.builder.ret(integer(0))
