"""Machine code of `jittape.numpy_api.one_call.one_call` on known paths: a call of a NumPy function as one call."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.numpy_api.one_call import INDEX
from jittape.recording.machine_code.emit_call_arguments import (
    COUNT,
    FIRST,
    LENGTH,
    PARTS,
    append_part,
    take_argument,
)
from jittape.recording.machine_code.emit_facts import fact
from jittape.recording.machine_code.emit_items import take_by_operator
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_operands import New, recorder
from jittape.recording.machine_code.emit_recorder import OPERANDS, record

__all__ = ["define_array_function", "one_call"]


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
        self.memory = code.words(FIRST + PARTS + OPERANDS)
        self.operands = code.element(self.memory, FIRST + PARTS)
        self.refused, self.none, self.no = (code.block(name) for name in ("refused", "none", "no"))
        for word in (LENGTH, COUNT):
            code.write(self.memory, integer(0), word)

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        known = self.call
        self._take_arguments()
        length, count = code.read(self.memory, LENGTH), code.read(self.memory, COUNT)
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
        """Return the result of ``np.take(x, indices, axis)`` if machine code records it."""
        code, builder = self.code, self.code.builder
        found = code.call("PyDict_GetItemWithError", code.known("BY_OPERATOR"), code.item(self.call, 0))
        code.require(code.differ(found, integer(0)), self.no)
        code.require(builder.icmp_signed(">", self.count, integer(0)), self.no)
        later = builder.add(self.arguments, integer(8)), builder.sub(self.count, integer(1))
        x = code.read(self.arguments)
        builder.ret(take_by_operator(self.new, code, x, *later, self.kwargs, self.names))

    def _take_arguments(self) -> None:
        code, builder = self.code, self.code.builder
        leading, numbers = (code.index(code.item(self.call, i), self.refused) for i in (2, 3))
        several = builder.and_(
            code.same(numbers, integer(INDEX)), builder.icmp_signed(">", self.count, integer(1))
        )
        with builder.if_then(several, likely=False):  # values of arrays of indices are no operands
            indices = code.read(self.arguments, 1)
            is_list = builder.or_(code.is_a(indices, "ndarray"), code.is_a(indices, "list"))
            code.require(builder.not_(is_list), self.refused)
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
        appended = append_part(self.new, self.code, self.memory, part)
        self.code.require(self.code.differ(appended, integer(0)), self.refused)

    def _take(self, *value_name_leads_numbers: ir.Value) -> None:
        code = self.code
        taken = take_argument(self.new, code, self.memory, *value_name_leads_numbers)
        code.require(code.differ(taken, integer(0)), self.refused)

    def _parameters(self, length: ir.Value, count: ir.Value) -> ir.Value:
        """Return a tuple of the parameters and the number of operands, mostly the last one, with a new reference."""
        code, found = self.code, self.code.words(1)
        other, after = code.block("other"), code.block("parameters")
        last = code.call("PyList_GetItem", code.item(self.call, 5), integer(0))
        code.require(code.is_a(last, "tuple"), other)
        code.require_same(other, (code.length_of(last), code.builder.add(length, integer(1))))
        with code.each(length) as i:
            part = code.read(self.memory, code.builder.add(i, integer(FIRST)))
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
        """Return the parameters that `STATICS` has; new ones are added, for Python to record this very object."""
        code = self.code
        number = code.attempt(self.refused, "PyLong_FromSsize_t", count)
        made = code.attempt(self.refused, "PyTuple_New", code.builder.add(length, integer(1)))
        with code.each(length) as i:
            part = code.read(self.memory, code.builder.add(i, integer(FIRST)))
            code.fill(made, i, code.incref(part))
        code.fill(made, length, number)
        kept, found = code.call("PyDict_GetItemWithError", code.known("STATICS"), made), code.words(1)
        with code.builder.if_else(code.differ(kept, integer(0)), likely=True) as (known, unknown):
            with known:
                code.write(found, code.incref(kept))
                code.decref(made)
            with unknown:
                code.write(found, made)
                code.attempt(self.refused, "PyDict_SetItem", code.known("STATICS"), made, made)
        return code.read(found)

    def _drop_operands(self) -> None:
        code = self.code
        with code.each(code.read(self.memory, COUNT)) as i:
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
