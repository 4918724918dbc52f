"""Machine code of `jittape.numpy_api.one_call.one_call` on known paths: a call of a NumPy function as one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import DOUBLE, I64, ObjectCode
from jittape.numpy_api.one_call import FRACTIONS, INDEX
from jittape.recording.machine_code.emit_facts import fact
from jittape.recording.machine_code.emit_getitem import getitem
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_operands import New, is_structure, recorder
from jittape.recording.machine_code.emit_recorder import OPERANDS, record

__all__ = ["define_array_function", "one_call"]

_PARTS = 48
"""Maximum number of parameters, marks included; Python records calls with more."""
_LENGTH, _COUNT, _FIRST = 0, 1, 2
"""Words of the memory of a call: number of parameters, number of operands, the parameters and then the operands."""


def define_array_function(new: New, function: ir.Function) -> None:
    """Emit ``__array_function__(self, func, types, args, kwargs)``."""
    code = new(function)
    _, arguments, count, names = function.args
    python = code.block("python")
    code.require_same(python, (names, integer(0)), (count, integer(4)))
    args, kwargs = code.read(arguments, 2), code.read(arguments, 3)
    code.require(code.is_a(args, "tuple"), python)
    code.require(code.is_a(kwargs, "dict"), python)
    called = code.read(arguments, 0)
    is_empty = code.same(code.call("PyDict_Size", kwargs), integer(0))
    other = code.block("other")
    call = code.attempt(other, "PyDict_GetItemWithError", code.known("ONE_CALLS"), called)
    by_position = code.builder.add(args, integer(code.places["items"]))
    kwargs = code.builder.select(is_empty, integer(0), kwargs)
    result = one_call(new, code, call, by_position, code.length_of(args), kwargs, integer(0))
    code.require(code.differ(result, integer(0)), python)
    code.builder.ret(result)
    code.begin(other)
    kind = code.attempt(python, "PyDict_GetItemWithError", code.known("FACTS"), called)
    code.require(code.builder.and_(is_empty, code.same(code.length_of(args), integer(1))), python)
    found = fact(new, code, kind, code.item(args, 0))
    code.require(code.differ(found, integer(0)), python)
    code.builder.ret(found)
    code.begin(python)
    call_python(new, code, code.known("Operators.__array_function__"), *function.args)


def one_call(new: New, code: ObjectCode, *call: ir.Value) -> ir.Value:
    """Emit a call of ``one_call(call, arguments, count, kwargs, names)``: see `_OneCall`."""
    return code.call_shared("jittape_one_call", lambda shared: _OneCall(new, shared).emit(), *call)


class _OneCall:
    """The writer of ``one_call(call, arguments, count, kwargs, names)``, which returns 0 if Python has to record it.

    `call` is a `OneCall`. The arguments by name are in the dictionary `kwargs`, or they follow those by position, and
    `names` is a tuple. Either is 0 if there are none.
    """

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = code = new(function)
        self.call, self.arguments, self.count, self.kwargs, self.names = function.args
        self.memory = code.words(_FIRST + _PARTS + OPERANDS)
        self.operands = code.element(self.memory, _FIRST + _PARTS)
        self.refused, self.none, self.no = (code.block(name) for name in ("refused", "none", "no"))
        for word in (_LENGTH, _COUNT):
            code.write(self.memory, integer(0), word)

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        known = self.call
        self._take_arguments()
        length, count = code.read(self.memory, _LENGTH), code.read(self.memory, _COUNT)
        code.require(code.differ(count, integer(0)), self.refused)
        body, static, drop = code.words(1), code.words(1), code.block("drop")
        with builder.if_else(code.same(length, count), likely=True) as (plain, general):
            with plain:
                code.write(body, code.item(known, 0))
                code.write(static, code.incref(code.known("empty")))
            with general:
                code.write(body, code.item(known, 1))
                code.write(static, self._parameters(length, count))
        trace = recorder(code, drop)
        recorded = (trace, code.read(body), self.operands, count, code.read(static), integer(0))
        result = record(self.new, code, *recorded)
        code.decref(trace)
        code.require(code.differ(result, integer(0)), drop)
        code.decref(code.read(static))
        self._drop_operands()
        self._return(result, code.item(known, 4))
        code.begin(drop)
        code.decref(code.read(static))
        builder.branch(self.refused)
        code.begin(self.refused)
        self._drop_operands()
        builder.branch(self.none)
        code.begin(self.none)
        code.require(code.same(code.call("PyErr_Occurred"), integer(0)), self.no)
        self._take_by_operator()
        code.begin(self.no)
        builder.ret(integer(0))

    def _take_by_operator(self) -> None:
        """Record ``np.take(x, indices)`` as ``x[indices]`` if that is the same."""
        code, builder, axis = self.code, self.code.builder, self.code.words(1)
        found = code.call("PyDict_GetItemWithError", code.known("BY_OPERATOR"), code.item(self.call, 0))
        code.require(code.differ(found, integer(0)), self.no)
        code.require(builder.icmp_signed(">=", self.count, integer(2)), self.no)
        code.require(builder.icmp_signed("<=", self.count, integer(3)), self.no)
        x, indices = code.read(self.arguments), code.read(self.arguments, 1)
        code.require(code.is_a(x, "Tensor"), self.no)
        code.require(builder.or_(code.is_a(indices, "ndarray"), code.is_a(indices, "list")), self.no)
        code.write(axis, code.known("None"))
        with builder.if_then(code.same(self.count, integer(3))):
            code.write(axis, code.read(self.arguments, 2))
        with builder.if_then(code.differ(self.kwargs, integer(0))):
            code.require_same(self.no, (self.count, integer(2)))
            code.require_same(self.no, (code.call("PyDict_Size", self.kwargs), integer(1)))
            code.write(axis, code.call("PyDict_GetItemWithError", self.kwargs, code.known("axis")))
        with builder.if_then(code.differ(self.names, integer(0))):
            code.require_same(self.no, (self.count, integer(2)), (code.length_of(self.names), integer(1)))
            code.require_same(self.no, (code.item(self.names, 0), code.known("axis")))
            code.write(axis, code.read(self.arguments, 2))
        first = code.block("first_axis")
        aval = code.get(x, "_aval", self.no)
        code.require(code.is_a(aval, "Aval"), self.no)
        with builder.if_then(code.differ(code.read(axis), code.known("zero")), likely=False):
            vector = code.same(code.length_of(code.item(aval, 0)), integer(1))
            by_default = code.same(code.read(axis), code.known("None"))
            code.require(builder.and_(vector, by_default), self.no)
        builder.branch(first)
        code.begin(first)
        builder.ret(getitem(self.new, code, x, indices))

    def _take_arguments(self) -> None:
        code, builder = self.code, self.code.builder
        leading, numbers = (code.index(code.item(self.call, i), self.refused) for i in (2, 3))
        with code.each(self.count) as i:
            leads = builder.zext(builder.icmp_signed("<", i, leading), ir.IntType(64))
            value = code.read(self.arguments, i)
            behind = builder.and_(builder.icmp_signed(">", i, integer(1)), code.same(numbers, integer(INDEX)))
            allowed = builder.select(behind, integer(1), numbers)
            first = code.same(i, integer(0))
            self._take(value, integer(0), leads, builder.select(first, integer(0), allowed))
        with builder.if_then(code.differ(self.kwargs, integer(0))):
            self._append_part(code.known("NAMED"))
            with code.each_pair(self.kwargs) as (name, value):
                self._append_part(name)
                self._take(value, name, integer(0), numbers)
        with builder.if_then(code.differ(self.names, integer(0))):
            self._append_part(code.known("NAMED"))
            with code.each(code.length_of(self.names)) as i:
                name = code.item(self.names, i)
                self._append_part(name)
                value = code.read(self.arguments, builder.add(self.count, i))
                self._take(value, name, integer(0), numbers)

    def _append_part(self, part: ir.Value) -> None:
        appended = _append_part(self.new, self.code, self.memory, part)
        self.code.require(self.code.differ(appended, integer(0)), self.refused)

    def _take(self, *value_name_leads_numbers: ir.Value) -> None:
        code = self.code
        taken = code.call_shared(
            "jittape_take_argument",
            lambda shared: _Argument(self.new, shared).emit(),
            self.memory,
            *value_name_leads_numbers,
        )
        code.require(code.differ(taken, integer(0)), self.refused)

    def _parameters(self, length: ir.Value, count: ir.Value) -> ir.Value:
        """Return a tuple of the parameters and the number of operands, mostly the last one, with a new reference."""
        code, found = self.code, self.code.words(1)
        other, after = code.block("other"), code.block("parameters")
        last = code.call("PyList_GetItem", code.item(self.call, 5), integer(0))
        code.require(code.is_a(last, "tuple"), other)
        code.require_same(other, (code.length_of(last), code.builder.add(length, integer(1))))
        with code.each(length) as i:
            part = code.read(self.memory, code.builder.add(i, integer(_FIRST)))
            code.require_same(other, (code.item(last, i), part))
        code.write(found, code.incref(last))
        code.builder.branch(after)
        code.begin(other)
        code.write(found, self._new_parameters(length, count))
        code.call("PyList_SetItem", code.item(self.call, 5), integer(0), code.incref(code.read(found)))
        code.builder.branch(after)
        code.begin(after)
        return code.read(found)

    def _new_parameters(self, length: ir.Value, count: ir.Value) -> ir.Value:
        code = self.code
        number = code.attempt(self.refused, "PyLong_FromSsize_t", count)
        made = code.attempt(self.refused, "PyTuple_New", code.builder.add(length, integer(1)))
        with code.each(length) as i:
            part = code.read(self.memory, code.builder.add(i, integer(_FIRST)))
            code.fill(made, i, code.incref(part))
        code.fill(made, length, number)
        kept, found = code.call("PyDict_GetItemWithError", code.known("STATICS"), made), code.words(1)
        code.write(found, made)
        with code.builder.if_then(code.differ(kept, integer(0))):
            code.write(found, code.incref(kept))
            code.decref(made)
        return code.read(found)

    def _drop_operands(self) -> None:
        code = self.code
        with code.each(code.read(self.memory, _COUNT)) as i:
            code.decref(code.read(self.operands, i))

    def _return(self, result: ir.Value, convert: ir.Value) -> None:
        """Return a result; a tuple of results in the form that the function of NumPy has."""
        code, builder = self.code, self.code.builder
        converts = builder.and_(code.differ(convert, code.known("None")), code.is_a(result, "tuple"))
        with builder.if_then(converts, likely=False):
            memory = code.words(1)
            code.write(memory, result)
            made = code.call_object(convert, memory, integer(1))
            code.decref(result)
            builder.ret(made)
        builder.ret(result)


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
            self._require_in_range()
            self._append_operand(self.value)
        with self._if(code.same(self.value, code.known("None"))):
            self._append_part(self.value)
        code.require(builder.not_(leads), sequence)
        with self._if(self._is_flag()):
            self._append_part(self.value)
        structure = is_structure(self.new, code, self.value, integer(0))
        with self._if(code.differ(structure, integer(0))):
            self._append_part(self.value)
        builder.branch(sequence)
        code.begin(sequence)
        self._take_sequence()
        builder.ret(integer(1))
        code.begin(self.no)
        builder.ret(integer(0))

    def _require_in_range(self) -> None:
        """Refuse a number out of the range that `OneCall.numbers` gives."""
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        index, percents, after, unfit = (code.block(n) for n in ("index", "percents", "in_range", "unfit"))
        builder.cbranch(code.same(self.numbers, integer(INDEX)), index, percents)
        code.begin(index)
        code.require(code.is_a(self.value, "int"), self.no)
        aval = code.get(code.read(self.memory, _FIRST + _PARTS), "_aval", self.no)
        code.require(code.is_a(aval, "Aval"), self.no)
        shape = code.item(aval, 0)
        code.require_same(self.no, (code.length_of(shape), integer(1)))
        extent = code.item(shape, 0)
        code.require(code.is_a(extent, "int"), self.no)
        n, place = (code.index(value, unfit) for value in (extent, self.value))
        code.require(builder.icmp_signed("<", place, n), self.no)
        code.require(builder.icmp_signed(">=", place, builder.neg(n)), self.no)
        builder.branch(after)
        code.begin(unfit)
        code.call("PyErr_Clear")
        builder.branch(self.no)
        code.begin(percents)
        with builder.if_else(code.is_a(self.value, "int")) as (an_int, a_float):
            with an_int:
                number = code.index(self.value, unfit)
                code.write(found, builder.bitcast(builder.sitofp(number, DOUBLE), I64))
            with a_float:
                code.write(found, code.get_unchecked(self.value, "float_value"))
        value = builder.bitcast(code.read(found), DOUBLE)
        one = code.same(self.numbers, integer(FRACTIONS))
        most = builder.select(one, ir.Constant(DOUBLE, 1.0), ir.Constant(DOUBLE, 100.0))
        code.require(builder.fcmp_ordered(">=", value, ir.Constant(DOUBLE, 0.0)), self.no)
        code.require(builder.fcmp_ordered("<=", value, most), self.no)
        builder.branch(after)
        code.begin(after)

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
        """Append the operands in a list or tuple."""
        code, builder = self.code, self.code.builder
        a_list = code.block("list")
        code.require(code.same(self.name, integer(0)), self.no)
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
        code = self.code
        code.require(code.builder.or_(self._is_tensor(item), code.is_a(item, "ndarray")), self.no)
        self._append_operand(item)

    def _append_part(self, part: ir.Value) -> None:
        appended = _append_part(self.new, self.code, self.memory, part)
        self.code.require(self.code.differ(appended, integer(0)), self.no)

    def _append_operand(self, operand: ir.Value) -> None:
        code, builder = self.code, self.code.builder
        count = code.read(self.memory, _COUNT)
        code.require(builder.icmp_signed("<", count, integer(OPERANDS)), self.no)
        code.write(self.memory, code.incref(operand), builder.add(count, integer(_FIRST + _PARTS)))
        code.write(self.memory, builder.add(count, integer(1)), _COUNT)
        self._append_part(code.known("OPERAND"))


def _append_part(new: New, code: ObjectCode, memory: ir.Value, part: ir.Value) -> ir.Value:
    """Append a parameter, borrowed; return 0 if there are too many."""
    return code.call_shared(
        "jittape_append_part", lambda shared: _define_append_part(new(shared)), memory, part
    )


def _define_append_part(code: ObjectCode) -> None:
    memory, part = code.function.args
    full = code.block("full")
    length = code.read(memory, _LENGTH)
    code.require(code.builder.icmp_signed("<", length, integer(_PARTS)), full)
    code.write(memory, part, code.builder.add(length, integer(_FIRST)))
    code.write(memory, code.builder.add(length, integer(1)), _LENGTH)
    code.builder.ret(integer(1))
    code.begin(full)
    code.builder.ret(integer(0))
