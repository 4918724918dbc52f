"""Machine code that takes the calls of functions of `jittape` such as ``jt.reduce_sum(x, axis=0)``, on known paths.

`method_plans` says what a call records, `planned_functions` which functions there are. All calls without a plan run in
Python, and so do those without a tensor among their arguments, unless the function creates tensors.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import I64, ObjectCode
from jittape.recording.machine_code.emit_array_copies import operand_of
from jittape.recording.machine_code.emit_calls import find_plan
from jittape.recording.machine_code.emit_functions import (
    call_of_function,
    constant,
    count_of,
    return_or_run,
    value_and_dtype,
)
from jittape.recording.machine_code.emit_items import rows_of
from jittape.recording.machine_code.emit_operands import New, is_structure, plain_shape, recorder
from jittape.recording.machine_code.emit_recorder import OPERANDS, record
from jittape.recording.machine_code.path_tables import (
    ARRAYS,
    CREATION,
    ELEMENTWISE,
    INDICES,
    NUMBERS,
    ROWS,
)

__all__ = ["define_array", "define_planned"]

_PARTS = 48
"""Maximum number of parts of a key, marks included; Python records calls with more."""
_LENGTH, _COUNT, _HAS_TENSOR, _FIRST = 0, 1, 2, 3
"""Words of the memory of a call: number of parts, number of operands, whether one is a tensor, parts and operands."""
_OPERAND = -1
"""The way in which an argument is taken that is an operand whatever its type is: see `ELEMENTWISE`."""
_PLAN = 4
"""Number of items of a plan, which stand before the parts in the list of a function's last plan."""


def define_planned(new: New, function: ir.Function) -> None:
    """Emit the call of a function that records one call."""
    code = new(function)
    python = code.block("python")
    _return_planned(new, code, call_of_function(code, python), python)


def define_array(new: New, function: ir.Function) -> None:
    """Emit the call of ``array`` or ``asarray``: of numbers, of arrays, or of a list of tensors, which is one call.

    The third item of its entry in `FUNCTION_CALLS` is the op that copies a tensor, or None.
    """
    code = new(function)
    python, planned = code.block("python"), code.block("planned")
    call = call_of_function(code, python)
    value, dtype = value_and_dtype(code, planned)
    with code.builder.if_then(code.is_a(value, "list")):
        code.require(code.differ(code.call("PyList_Size", value), integer(0)), python)
        first = code.call("PyList_GetItem", value, integer(0))
        code.require(code.builder.not_(code.is_a(first, "Tensor")), planned)
    tensor = constant(new, code, code.item(call, 2), value, dtype, is_wide=True)
    code.require(code.differ(tensor, integer(0)), planned)
    code.builder.ret(tensor)
    code.begin(planned)
    code.require(code.same(code.call("PyErr_Occurred"), integer(0)), python)
    _return_planned(new, code, call, python)


def _return_planned(new: New, code: ObjectCode, call: ir.Value, python: ir.Block) -> None:
    """Return the result of the call that a plan tells, or of the function's own code."""
    own, arguments, _, names = code.function.args
    taken = call, own, arguments, count_of(code), names
    result = code.call_shared("jittape_planned", lambda shared: _Planned(new, shared).emit(), *taken)
    return_or_run(code, result, python)


class _Planned:
    """The writer of ``planned(call, function, arguments, count, names)``, which returns 0 if Python has to record.

    `call` is an item of `FUNCTION_CALLS`: a list with the last plan, and how ints and arrays are taken.
    """

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = code = new(function)
        self.call, self.called, self.arguments, self.count, self.names = function.args
        self.memory = code.words(_FIRST + _PARTS + OPERANDS)
        self.operands = code.element(self.memory, _FIRST + _PARTS)
        self.refused = code.block("refused")
        for word in (_LENGTH, _COUNT, _HAS_TENSOR):
            code.write(self.memory, integer(0), word)

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        known, planned, drop = code.block("known"), code.block("planned"), code.block("drop")
        plan = code.words(1)
        self._take_arguments()
        mode = code.index(code.item(self.call, 1), self.refused)
        creates = builder.or_(*(code.same(mode, integer(n)) for n in (CREATION, NUMBERS)))
        has_tensor = code.differ(code.read(self.memory, _HAS_TENSOR), integer(0))
        code.require(builder.or_(has_tensor, creates), self.refused)
        last = code.call("PyList_GetItem", code.item(self.call, 0), integer(0))
        code.write(plan, last)
        self._compare(last, known)
        code.write(plan, self._plan())
        builder.branch(planned)
        code.begin(known)
        code.incref(last)
        builder.branch(planned)
        code.begin(planned)
        trace = recorder(code, drop)
        found = code.read(plan)
        self._return_values(trace, found, drop)
        operands, count = self._ordered(code.item(found, 3), drop)
        call = (trace, code.item(found, 0), operands, count, code.item(found, 1), integer(0))
        result = record(self.new, code, *call)
        code.decref(trace)
        code.require(code.differ(result, integer(0)), drop)
        self._drop_operands()
        self._return(result, found)
        code.begin(drop)
        code.decref(code.read(plan))
        builder.branch(self.refused)
        code.begin(self.refused)
        self._drop_operands()
        builder.ret(integer(0))

    def _return_values(self, trace: ir.Value, plan: ir.Value, otherwise: ir.Block) -> None:
        """Return a tensor with the values of a plan that has an array; release trace and plan."""
        code, values = self.code, self.code.item(plan, 0)
        with code.builder.if_then(code.is_a(values, "ndarray"), likely=False):
            code.decref(trace)
            tensor = operand_of(self.new, code, values, otherwise)
            code.decref(plan)
            code.builder.ret(tensor)

    def _ordered(self, order: ir.Value, otherwise: ir.Block) -> tuple[ir.Value, ir.Value]:
        """Return the operands of the recorded call, borrowed, and their number; `order` is the plan's."""
        code, builder, call = self.code, self.code.builder, self.code.words(2)
        code.write(call, self.operands)
        code.write(call, code.read(self.memory, _COUNT), 1)
        with builder.if_then(code.differ(order, code.known("None")), likely=False):
            ordered, count = code.words(OPERANDS), code.length_of(order)
            code.require(builder.icmp_signed("<=", count, integer(OPERANDS)), otherwise)
            with code.each(count) as i:
                entry, operand = code.item(order, i), code.words(1)
                with builder.if_else(code.is_a(entry, "tuple")) as (constant, given):
                    with constant:
                        code.write(operand, code.item(entry, 0))
                    with given:
                        code.write(operand, code.read(self.operands, code.size(entry)))
                code.write(ordered, code.read(operand), i)
            code.write(call, ordered)
            code.write(call, count, 1)
        return code.read(call), code.read(call, 1)

    def _take_arguments(self) -> None:
        code, builder = self.code, self.code.builder
        code.write(self.memory, code.known("None"), _FIRST)
        code.write(self.memory, integer(1), _LENGTH)
        mode = code.index(code.item(self.call, 1), self.refused)
        axis = code.words(1)
        with builder.if_else(self._has_known_rows(mode, axis), likely=False) as (known, others):
            with known:
                x, given = (code.read(self.arguments, i) for i in range(2))
                rows = rows_of(self.new, code, x, given, code.read(axis))
                code.require(code.differ(rows, integer(0)), self.refused)
                self._take(x, integer(0), mode)
                self._take(rows, integer(0), integer(_OPERAND))
                code.decref(rows)
            with others, code.each(self.count) as i:
                self._take(code.read(self.arguments, i), integer(0), mode)
        with builder.if_then(code.differ(self.names, integer(0)), likely=False):
            code.write(self.memory, self.names, _FIRST)
            with code.each(code.length_of(self.names)) as i:
                value = code.read(self.arguments, builder.add(self.count, i))
                self._take(value, code.item(self.names, i), mode)

    def _has_known_rows(self, mode: ir.Value, axis: ir.Value) -> ir.Value:
        """Return whether the arguments are any one and an index, or a list or array of indices, along an axis.

        `axis` is memory for the axis, an int: that of the keyword argument, or 0.
        """
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        code.write(found, integer(0))
        code.write(axis, code.known("zero"))
        two = builder.and_(code.same(self.count, integer(2)), code.same(mode, integer(ROWS)))
        with builder.if_then(two):
            with builder.if_then(code.differ(self.names, integer(0))):
                code.require_same(self.refused, (code.length_of(self.names), integer(1)))
                code.require_same(self.refused, (code.item(self.names, 0), code.known("axis")))
                code.write(axis, code.read(self.arguments, 2))
                code.require(code.is_a(code.read(axis), "int"), self.refused)
            indices, known = code.read(self.arguments, 1), ir.Constant(ir.IntType(1), 0)
            for kind in ("list", "ndarray", "int"):
                known = builder.or_(known, code.is_a(indices, kind))
            code.write(found, builder.zext(known, I64))
        return code.differ(code.read(found), integer(0))

    def _take(self, *value_name_mode: ir.Value) -> None:
        code = self.code
        taken = _take(self.new, code, self.memory, *value_name_mode)
        code.require(code.differ(taken, integer(0)), self.refused)

    def _compare(self, last: ir.Value, known: ir.Block) -> None:
        """Branch to `known` if the parts are those for which the function found its last plan."""
        code, builder = self.code, self.code.builder
        other, length = code.block("other"), code.read(self.memory, _LENGTH)
        code.require(code.is_a(last, "tuple"), other)
        code.require_same(other, (code.length_of(last), builder.add(length, integer(_PLAN))))
        with code.each(length) as i:
            part = code.item(last, builder.add(i, integer(_PLAN)))
            code.require_same(other, (part, self._part(i)))
        builder.branch(known)
        code.begin(other)

    def _part(self, i: ir.Value) -> ir.Value:
        return self.code.read(self.memory, self.code.builder.add(i, integer(_FIRST)))

    def _plan(self) -> ir.Value:
        """Return the plan for the parts, and behind it the parts, with a new reference, and keep it."""
        code, builder = self.code, self.code.builder
        length = code.read(self.memory, _LENGTH)
        key = code.attempt(self.refused, "PyTuple_New", builder.add(length, integer(1)))
        code.fill(key, 0, code.incref(self.called))
        with code.each(length) as i:
            code.fill(key, builder.add(i, integer(1)), code.incref(self._part(i)))
        plan = find_plan(self.new, code, key, "plan_function", self.refused)
        entry = code.attempt(self.refused, "PyTuple_New", builder.add(length, integer(_PLAN)))
        for i in range(_PLAN):
            code.fill(entry, i, code.incref(code.item(plan, i)))
        code.decref(plan)
        with code.each(length) as i:
            code.fill(entry, builder.add(i, integer(_PLAN)), code.incref(self._part(i)))
        code.call("PyList_SetItem", code.item(self.call, 0), integer(0), code.incref(entry))
        return entry

    def _drop_operands(self) -> None:
        code = self.code
        with code.each(code.read(self.memory, _COUNT)) as i:
            code.decref(code.read(self.operands, i))

    def _return(self, result: ir.Value, plan: ir.Value) -> None:
        """Return a result, or what the plan makes of a tuple of results; release the plan."""
        code, builder, convert = self.code, self.code.builder, self.code.item(plan, 2)
        converts = builder.and_(code.differ(convert, code.known("None")), code.is_a(result, "tuple"))
        with builder.if_then(converts, likely=False):
            memory = code.words(1)
            code.write(memory, result)
            made = code.call_object(convert, memory, integer(1))
            code.decref(result)
            code.decref(plan)
            builder.ret(made)
        code.decref(plan)
        builder.ret(result)


def _take(new: New, code: ObjectCode, *arguments: ir.Value) -> ir.Value:
    """Emit a call of ``take(memory, value, name, mode)``, which returns 0 for an argument of no known kind."""
    return code.call_shared("jittape_take_planned", lambda shared: _Argument(new, shared).emit(), *arguments)


class _Argument:
    """The writer of `_take`. The name is 0 for an argument by position and for an item."""

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = new(function)
        self.memory, self.value, self.name, self.mode = function.args
        self.no = self.code.block("no")

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        takes = {
            "float": ir.Constant(ir.IntType(1), 1),
            "int": code.same(self.mode, integer(ELEMENTWISE)),
            "ndarray": builder.or_(*(code.same(self.mode, integer(n)) for n in (ARRAYS, ELEMENTWISE))),
        }
        is_tensor = builder.or_(code.is_a(self.value, "Tensor"), code.is_a(self.value, "Variable"))
        with builder.if_then(code.same(self.mode, integer(NUMBERS)), likely=False):
            code.require(builder.not_(is_tensor), self.no)
            self._take_float()
        with builder.if_then(is_tensor, likely=True):
            code.write(self.memory, integer(1), _HAS_TENSOR)
            self._end_with_operand("TENSOR_OPERAND")
        with builder.if_then(code.same(self.mode, integer(_OPERAND)), likely=False):
            self._end_with_operand("TENSOR_OPERAND")
        for kind, mark in (("float", "FLOAT_OPERAND"), ("int", "INT_OPERAND"), ("ndarray", "TENSOR_OPERAND")):
            with builder.if_then(builder.and_(code.is_a(self.value, kind), takes[kind])):
                self._end_with_operand(mark)
        # The values of indices are data, which no key may contain.
        named = code.differ(self.name, integer(0))
        is_structure_too = builder.icmp_signed("<", self.mode, integer(INDICES))
        code.require(builder.or_(named, is_structure_too), self.no)
        with builder.if_then(code.is_a(self.value, "bool")):
            self._append_part(code.known("BOOL_NEXT"))  # True equals 1
            self._append_part(self.value)
            builder.ret(integer(1))
        value = plain_shape(self.new, code, self.value)
        with builder.if_then(code.differ(is_structure(self.new, code, value, integer(0)), integer(0))):
            self._append_part(value)
            builder.ret(integer(1))
        self._take_sequence()
        code.begin(self.no)
        builder.ret(integer(0))

    def _take_float(self) -> None:
        """Append a float as structure and end the call; refuse -0.0, which equals 0.0."""
        code = self.code
        with code.builder.if_then(code.is_a(self.value, "float")):
            bits = code.get_unchecked(self.value, "float_value")
            code.require(code.differ(bits, integer(-(2**63))), self.no)
            self._append_part(code.known("FLOAT_NEXT"))
            self._append_part(self.value)
            code.builder.ret(integer(1))

    def _take_sequence(self) -> None:
        code, builder = self.code, self.code.builder
        tuples = code.block("tuple")
        code.require(code.is_a(self.value, "list"), tuples)
        self._append_part(code.known("LIST_BEGINS"))
        with code.each_item(self.value) as (_, item):
            self._take_item(item)
        self._append_part(code.known("SEQUENCE_ENDS"))
        builder.ret(integer(1))
        code.begin(tuples)
        code.require(code.is_a(self.value, "tuple"), self.no)
        self._append_part(code.known("TUPLE_BEGINS"))
        with code.each(code.length_of(self.value)) as i:
            self._take_item(code.item(self.value, i))
        self._append_part(code.known("SEQUENCE_ENDS"))
        builder.ret(integer(1))

    def _take_item(self, item: ir.Value) -> None:
        taken = _take(self.new, self.code, self.memory, item, integer(0), self.mode)
        self.code.require(self.code.differ(taken, integer(0)), self.no)

    def _end_with_operand(self, mark: str) -> None:
        code, builder = self.code, self.code.builder
        count = code.read(self.memory, _COUNT)
        code.require(builder.icmp_signed("<", count, integer(OPERANDS)), self.no)
        code.write(self.memory, code.incref(self.value), builder.add(count, integer(_FIRST + _PARTS)))
        code.write(self.memory, builder.add(count, integer(1)), _COUNT)
        self._append_part(code.known(mark))
        builder.ret(integer(1))

    def _append_part(self, part: ir.Value) -> None:
        code, builder = self.code, self.code.builder
        length = code.read(self.memory, _LENGTH)
        code.require(builder.icmp_signed("<", length, integer(_PARTS)), self.no)
        code.write(self.memory, part, builder.add(length, integer(_FIRST)))
        code.write(self.memory, builder.add(length, integer(1)), _LENGTH)
