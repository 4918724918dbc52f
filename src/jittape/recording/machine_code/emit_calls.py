"""Machine code of methods such as ``x.sum(axis=0)`` and ``x.T``, on known paths.

`method_plans` says what a call of a method records. All calls without a plan run in Python.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_methods import call_by_position, call_python
from jittape.recording.machine_code.emit_operands import New, is_structure, recorder
from jittape.recording.machine_code.emit_recorder import record

__all__ = ["define_method", "define_property"]

_ARGUMENTS = 4
"""Maximum number of arguments besides the tensor; Python records calls with more."""


def define_method(name: str, ints: bool, new: New, function: ir.Function) -> None:
    """Emit a method that records one call: `name` is that of the Python method, `ints` whether ints are operands."""
    code = new(function)
    arguments = (code.known(name), integer(int(ints)), *function.args)
    code.builder.ret(
        code.call_shared("jittape_method", lambda shared: _define_method(new, shared), *arguments)
    )


def _define_method(new: New, function: ir.Function) -> None:
    """Emit ``method(in_python, ints, own, arguments, count, names)``, the shared code of methods."""
    code = new(function)
    builder = code.builder
    in_python, ints, own, arguments, count, names = function.args
    python, drop = code.block("python"), code.block("drop")
    none = code.known("None")
    total, given_names = code.words(1), code.words(1)
    code.write(total, count)
    code.write(given_names, none)
    with builder.if_then(code.differ(names, integer(0)), likely=False):
        code.write(total, builder.add(count, code.length_of(names)))
        code.write(given_names, names)
    n = code.read(total)
    code.require(builder.icmp_signed("<=", n, integer(_ARGUMENTS)), python)
    operands, n_operands = code.words(_ARGUMENTS + 1), code.words(1)
    code.write(operands, own)
    code.write(n_operands, integer(1))
    key = code.attempt(python, "PyTuple_New", builder.add(n, integer(2)))
    code.fill(key, 0, code.incref(in_python))
    code.fill(key, 1, code.incref(code.read(given_names)))
    with code.each(n) as i:
        value, part, name = code.read(arguments, i), code.words(1), code.words(1)
        _write_mark(code, value, ints, part)
        structure, after = code.block("structure"), code.block("part")
        code.require(code.differ(code.read(part), integer(0)), structure)
        at = code.read(n_operands)
        code.write(operands, value, at)
        code.write(n_operands, builder.add(at, integer(1)))
        builder.branch(after)
        code.begin(structure)
        code.write(name, integer(0))
        with builder.if_then(builder.icmp_signed(">=", i, count)):
            code.write(name, code.item(names, builder.sub(i, count)))
        fits = is_structure(new, code, value, code.read(name))
        code.require(code.differ(fits, integer(0)), drop)
        code.write(part, value)
        builder.branch(after)
        code.begin(after)
        code.fill(key, builder.add(i, integer(2)), code.incref(code.read(part)))
    plan = _plan(new, code, key, python)
    _return_planned(new, code, plan, (operands, code.read(n_operands)), python)
    code.begin(drop)
    code.decref(key)
    builder.branch(python)
    code.begin(python)
    call_python(new, code, in_python, own, arguments, count, names)


def _write_mark(code: ObjectCode, value: ir.Value, ints: ir.Value, part: ir.Value) -> None:
    """Write the mark of an operand to `part`, 0 for another value."""
    builder = code.builder
    mark = integer(0)
    is_tensor = builder.or_(code.is_a(value, "Tensor"), code.is_a(value, "Variable"))
    is_int = builder.and_(code.is_a(value, "int"), code.differ(ints, integer(0)))
    for found, name in (
        (is_int, "INT_OPERAND"),
        (code.is_a(value, "float"), "FLOAT_OPERAND"),
        (is_tensor, "TENSOR_OPERAND"),
    ):
        mark = builder.select(found, code.known(name), mark)
    code.write(part, mark)


def define_property(name: str, new: New, function: ir.Function) -> None:
    """Emit the getter of a property that records one call."""
    code = new(function)
    own, python, operands = function.args[0], code.block("python"), code.words(1)
    code.write(operands, own)
    key = code.new_tuple(python, code.incref(code.known(name)), code.incref(code.known("None")))
    _return_planned(new, code, _plan(new, code, key, python), (operands, integer(1)), python)
    code.begin(python)
    call_by_position(code, code.known(name), own)


def _plan(new: New, code: ObjectCode, key: ir.Value, python: ir.Block) -> ir.Value:
    """Return the plan for a key with a new reference, and release the key; branch to `python` if there is none."""
    plan = code.call_shared("jittape_plan", lambda shared: _define_plan(new(shared)), key)
    code.decref(key)
    code.require(code.differ(plan, integer(0)), python)
    return plan


def _define_plan(code: ObjectCode) -> None:
    """Emit ``plan(key)``; it returns 0, with an error set only if `plan_method` raised one, if there is none."""
    (key,) = code.function.args
    none, unknown, drop = (code.block(name) for name in ("none", "unknown", "drop"))
    found = code.call("PyDict_GetItemWithError", code.known("METHOD_PLANS"), key)
    code.require(code.differ(found, integer(0)), unknown)
    code.require(code.is_a(found, "tuple"), none)
    code.builder.ret(code.incref(found))
    code.begin(unknown)
    code.call("PyErr_Clear")
    memory = code.words(1)
    code.write(memory, key)
    made = code.call_object(code.known("plan_method"), memory, integer(1))
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
