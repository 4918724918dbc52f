"""Machine code of methods such as ``x.sum(axis=0)`` and ``x.T``, on known paths.

`method_plans` says what a call of a method records. All calls without a plan run in Python.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_items import require_named, take_by_operator, take_over
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_operands import New, is_structure, plain_list, plain_shape, recorder
from jittape.recording.machine_code.emit_recorder import record

__all__ = ["define_method", "define_property", "define_sort", "find_plan"]

_ARGUMENTS = 4
"""Maximum number of arguments besides the tensor; Python records calls with more."""


def define_method(name: str, number: int, takes: int, new: New, function: ir.Function) -> None:
    """Emit a method that records one call: `name` is that of the Python method; `takes` is that of `_Method`."""
    code = new(function)
    arguments = (code.known(name), integer(number), integer(takes), *function.args)
    code.builder.ret(
        code.call_shared("jittape_method", lambda shared: _Method(new, shared).emit(), *arguments)
    )


class _Method:
    """The writer of ``method(in_python, number, takes, own, arguments, count, names)``, the shared code of methods.

    `takes` has bit 0 if ints are operands, bit 1 if arrays are, and bit 2 if a list of ints means what a tuple means.
    """

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = code = new(function)
        self.in_python, self.number, self.takes, self.own, self.arguments, self.count, self.names = (
            function.args
        )
        self.python = code.block("python")
        self.operands, self.n_operands = code.words(_ARGUMENTS + 1), code.words(1)
        self.parts, self.given_names = code.words(_ARGUMENTS), code.words(1)

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        known, recorded = code.block("known"), code.block("recorded")
        plan = code.words(1)
        n = self._take_arguments()
        code.write(plan, code.call("PyList_GetItem", code.known("LAST_PLANS"), self.number))
        self._compare(code.read(plan), n, known)
        code.write(plan, self._plan(n))
        builder.branch(recorded)
        code.begin(known)
        code.incref(code.read(plan))
        builder.branch(recorded)
        code.begin(recorded)
        operands = (self.operands, code.read(self.n_operands))
        _return_planned(self.new, code, code.read(plan), operands, self.python)
        code.begin(self.python)
        self._take_by_operator()
        call_python(self.new, code, self.in_python, self.own, self.arguments, self.count, self.names)

    def _take_by_operator(self) -> None:
        """Return the result of ``x.take(indices, axis)`` if machine code records it."""
        code, builder, otherwise = self.code, self.code.builder, self.code.block("no_take")
        code.require_same(otherwise, (self.in_python, code.known("ArrayMethods.take")))
        code.require_same(otherwise, (code.call("PyErr_Occurred"), integer(0)))
        found = take_by_operator(self.new, code, self.own, self.arguments, self.count, integer(0), self.names)
        code.require(code.differ(found, integer(0)), otherwise)
        builder.ret(found)
        code.begin(otherwise)

    def _take_arguments(self) -> ir.Value:
        """Take the operands and the parts of the key; return the number of arguments."""
        code, builder = self.code, self.code.builder
        total = code.words(1)
        code.write(total, self.count)
        code.write(self.given_names, code.known("None"))
        with builder.if_then(code.differ(self.names, integer(0)), likely=False):
            code.write(total, builder.add(self.count, code.length_of(self.names)))
            code.write(self.given_names, self.names)
        n = code.read(total)
        code.require(builder.icmp_signed("<=", n, integer(_ARGUMENTS)), self.python)
        code.write(self.operands, self.own)
        code.write(self.n_operands, integer(1))
        with code.each(n) as i:
            value = code.read(self.arguments, i)
            mark = self._mark(value)
            is_operand = code.differ(mark, integer(0))
            code.write(self.parts, builder.select(is_operand, mark, plain_shape(self.new, code, value)), i)
            lists = code.differ(builder.and_(self.takes, integer(4)), integer(0))
            with builder.if_then(builder.and_(lists, code.is_a(value, "list")), likely=False):
                code.write(self.parts, plain_list(self.new, code, value), i)
            with builder.if_then(is_operand):
                at = code.read(self.n_operands)
                code.write(self.operands, value, at)
                code.write(self.n_operands, builder.add(at, integer(1)))
        return n

    def _mark(self, value: ir.Value) -> ir.Value:
        """Return the mark of an operand, 0 for another value."""
        code, builder, mark = self.code, self.code.builder, integer(0)
        is_tensor = builder.or_(code.is_a(value, "Tensor"), code.is_a(value, "Variable"))
        ints, arrays = (code.differ(builder.and_(self.takes, integer(bit)), integer(0)) for bit in (1, 2))
        for found, name in (
            (builder.and_(code.is_a(value, "int"), ints), "INT_OPERAND"),
            (builder.and_(code.is_a(value, "ndarray"), arrays), "TENSOR_OPERAND"),
            (code.is_a(value, "float"), "FLOAT_OPERAND"),
            (is_tensor, "TENSOR_OPERAND"),
        ):
            mark = builder.select(found, code.known(name), mark)
        return mark

    def _compare(self, last: ir.Value, n: ir.Value, known: ir.Block) -> None:
        """Branch to `known` if the parts are those of the key for which the method found its last plan."""
        code, builder = self.code, self.code.builder
        other = code.block("other")
        code.require(code.is_a(last, "tuple"), other)
        code.require_same(other, (code.length_of(last), builder.add(n, integer(_KEY + 2))))
        code.require_same(other, (code.item(last, _KEY + 1), code.read(self.given_names)))
        with code.each(n) as i:
            part = code.item(last, builder.add(i, integer(_KEY + 2)))
            code.require_same(other, (part, code.read(self.parts, i)))
        builder.branch(known)
        code.begin(other)

    def _plan(self, n: ir.Value) -> ir.Value:
        """Return the plan for the parts with a new reference, and keep it."""
        code, builder = self.code, self.code.builder
        with code.each(n) as i:
            value, name = code.read(self.parts, i), code.words(1)
            code.write(name, integer(0))
            with builder.if_then(builder.icmp_signed(">=", i, self.count)):
                code.write(name, code.item(self.names, builder.sub(i, self.count)))
            is_mark = code.differ(self._mark(code.read(self.arguments, i)), integer(0))
            with builder.if_then(builder.not_(is_mark)):
                fits = is_structure(self.new, code, value, code.read(name))
                code.require(code.differ(fits, integer(0)), self.python)
        key = code.attempt(self.python, "PyTuple_New", builder.add(n, integer(2)))
        code.fill(key, 0, code.incref(self.in_python))
        code.fill(key, 1, code.incref(code.read(self.given_names)))
        with code.each(n) as i:
            code.fill(key, builder.add(i, integer(2)), code.incref(code.read(self.parts, i)))
        plan = find_plan(self.new, code, key, "plan_method", self.python)
        entry = code.attempt(self.python, "PyTuple_New", builder.add(n, integer(_KEY + 2)))
        for i, part in enumerate((code.item(plan, 0), code.item(plan, 1), self.in_python)):
            code.fill(entry, i, code.incref(part))
        code.decref(plan)
        code.fill(entry, _KEY + 1, code.incref(code.read(self.given_names)))
        with code.each(n) as i:
            code.fill(entry, builder.add(i, integer(_KEY + 2)), code.incref(code.read(self.parts, i)))
        code.incref(entry)
        code.call("PyList_SetItem", code.known("LAST_PLANS"), self.number, entry)
        return entry


_KEY = 2
"""Position of the key in an item of `LAST_PLANS`, behind the plan."""


def define_property(name: str, number: int, new: New, function: ir.Function) -> None:
    """Emit the getter of a property that records one call."""
    code = new(function)
    memory = code.words(1)
    code.write(memory, integer(0))
    arguments = (
        code.known(name),
        integer(number),
        integer(0),
        function.args[0],
        memory,
        integer(0),
        integer(0),
    )
    code.builder.ret(
        code.call_shared("jittape_method", lambda shared: _Method(new, shared).emit(), *arguments)
    )


def define_sort(number: int, new: New, function: ir.Function) -> None:
    """Emit ``x.sort()``, a write of the result of the Python method `_sorted`. Python handles Variables."""
    code = new(function)
    own, *arguments = function.args
    python, raised = code.block("python"), code.block("raised")
    code.require(code.is_a(own, "Tensor"), python)
    require_named(code, own, python)
    code.decref(recorder(code, python))  # other recorders check the write
    call = code.known("ArrayMethods._sorted"), integer(number), integer(0), own, *arguments
    updated = code.call_shared("jittape_method", lambda shared: _Method(new, shared).emit(), *call)
    code.require(code.differ(updated, integer(0)), raised)
    take_over(new, code, own, updated, "Tensor._assign_result", pending=True)
    code.begin(raised)
    code.builder.ret(integer(0))
    code.begin(python)
    call_python(new, code, code.known("ArrayMethods.sort"), *function.args)


def find_plan(new: New, code: ObjectCode, key: ir.Value, planner: str, python: ir.Block) -> ir.Value:
    """Return the plan for a key with a new reference, and release the key; branch to `python` if there is none.

    `planner` names the Python function that makes a plan.
    """
    arguments = key, code.known(planner)
    plan = code.call_shared("jittape_plan", lambda shared: _define_plan(new(shared)), *arguments)
    code.decref(key)
    code.require(code.differ(plan, integer(0)), python)
    return plan


def _define_plan(code: ObjectCode) -> None:
    """Emit ``plan(key, planner)``; it returns 0, with an error set only if the planner raised one, without a plan."""
    key, planner = code.function.args
    none, unknown, drop = (code.block(name) for name in ("none", "unknown", "drop"))
    found = code.call("PyDict_GetItemWithError", code.known("METHOD_PLANS"), key)
    code.require(code.differ(found, integer(0)), unknown)
    code.require(code.is_a(found, "tuple"), none)
    code.builder.ret(code.incref(found))
    code.begin(unknown)
    code.call("PyErr_Clear")
    memory = code.words(1)
    code.write(memory, key)
    made = code.call_object(planner, memory, integer(1))
    code.require(code.differ(made, integer(0)), none)
    code.require(code.is_a(made, "tuple"), drop)
    code.builder.ret(made)
    code.begin(drop)
    code.decref(made)
    code.builder.branch(none)
    code.begin(none)
    code.builder.ret(integer(0))


def _return_planned(
    new: New, code: ObjectCode, plan: ir.Value, operands: tuple[ir.Value, ir.Value], python: ir.Block
) -> None:
    """Record a call and return its result, or branch to `python`; release the plan."""
    drop = code.block("plan.drop")
    trace = recorder(code, drop)
    tensor = record(new, code, trace, code.item(plan, 0), *operands, code.item(plan, 1), integer(0))
    code.decref(trace)
    code.require(code.differ(tensor, integer(0)), drop)
    code.decref(plan)
    code.builder.ret(tensor)
    code.begin(drop)
    code.decref(plan)
    code.builder.branch(python)
