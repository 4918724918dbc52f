"""Machine code that takes the calls of functions of `jittape.numpy`: known paths are recorded without Python.

`FUNCTION_CALLS` says what a call records: see `known_paths`. The functions themselves handle all other calls.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import external, integer
from jittape.native.built_in import PYTHON_CALL
from jittape.native.object_code import I64, ObjectCode
from jittape.native.object_layout import WRITEABLE
from jittape.recording.machine_code.emit_array_copies import operand_of
from jittape.recording.machine_code.emit_facts import fact, shape_tensor
from jittape.recording.machine_code.emit_lists import array_for_constant
from jittape.recording.machine_code.emit_one_call import one_call
from jittape.recording.machine_code.emit_operands import New, recorder
from jittape.recording.machine_code.emit_protocols import record_ufunc
from jittape.recording.machine_code.emit_recorder import record

__all__ = [
    "call_of_function",
    "constant",
    "count_of",
    "define_binary",
    "define_constant",
    "define_fact",
    "define_function",
    "define_shape",
    "define_unary",
    "return_or_run",
]

_COUNT = 2**63 - 1
"""Mask of the number of arguments by position; the bit beside it says that the caller lends the word before them."""


def define_unary(new: New, function: ir.Function) -> None:
    """Emit the call of a ufunc of one operand, a Tensor."""
    code = new(function)
    _, arguments, _, names = function.args
    python = code.block("python")
    count = count_of(code)
    code.require_same(python, (count, integer(1)), (names, integer(0)))
    code.require(code.is_a(code.read(arguments), "Tensor"), python)
    return_or_run(code, record_ufunc(new, code, call_of_function(code, python), arguments, count), python)


def define_binary(new: New, function: ir.Function) -> None:
    """Emit the call of a ufunc of two operands, of which at least one is a Tensor."""
    code = new(function)
    builder = code.builder
    _, arguments, _, names = function.args
    python = code.block("python")
    count = count_of(code)
    code.require_same(python, (count, integer(2)), (names, integer(0)))
    tensors = [code.is_a(code.read(arguments, i), "Tensor") for i in range(2)]
    code.require(builder.or_(*tensors), python)
    return_or_run(code, record_ufunc(new, code, call_of_function(code, python), arguments, count), python)


def define_function(new: New, function: ir.Function) -> None:
    """Emit the call of a function whose first operand is a Tensor, or a list or tuple that begins with one."""
    code = new(function)
    builder = code.builder
    _, arguments, _, names = function.args
    python, sequence, tuples, operand = (code.block(n) for n in ("python", "sequence", "tuple", "operand"))
    count = count_of(code)
    call = call_of_function(code, python)
    later = builder.zext(code.same(code.item(call, 6), code.known("one")), I64)
    code.require(builder.icmp_signed("<", later, count), python)
    first, found = code.read(arguments, later), code.words(1)
    code.write(found, first)
    builder.cbranch(code.is_a(first, "Tensor"), operand, sequence)
    code.begin(sequence)
    code.require(code.is_a(first, "list"), tuples)
    code.require(code.differ(code.call("PyList_Size", first), integer(0)), python)
    code.write(found, code.call("PyList_GetItem", first, integer(0)))
    builder.branch(operand)
    code.begin(tuples)
    code.require(code.is_a(first, "tuple"), python)
    code.require(code.differ(code.length_of(first), integer(0)), python)
    code.write(found, code.item(first, 0))
    builder.branch(operand)
    code.begin(operand)
    code.require(code.is_a(code.read(found), "Tensor"), python)
    return_or_run(code, one_call(new, code, call, arguments, count, integer(0), names), python)


def define_constant(new: New, function: ir.Function) -> None:
    """Emit the call of `jt.constant` or `convert_to_tensor` for a Tensor, an array, a number, or a list of numbers."""
    code = new(function)
    python = code.block("python")
    code.require_same(python, (count_of(code), integer(1)), (function.args[3], integer(0)))
    body, value = call_of_function(code, python), code.read(function.args[1])
    return_or_run(code, constant(new, code, body, value), python)


def constant(new: New, code: ObjectCode, body: ir.Value, value: ir.Value, is_wide: bool = False) -> ir.Value:
    """Emit a call of ``constant(body, value)``, which returns 0 if Python has to convert; see `array_for_constant`.

    A Tensor is returned itself if the body is None, else the op is recorded.
    """
    name = "jittape_wide_constant" if is_wide else "jittape_constant"
    return code.call_shared(name, lambda shared: _define_constant(new, shared, is_wide), body, value)


def _define_constant(new: New, function: ir.Function, is_wide: bool) -> None:
    code, (body, value) = new(function), function.args
    python, drop, memory = code.block("python"), code.block("drop"), code.words(1)
    trace = recorder(code, python)  # other recorders note which constants a function makes
    code.write(memory, value)
    with code.builder.if_then(code.is_a(value, "Tensor")):
        with code.builder.if_then(code.same(body, code.known("None"))):
            code.decref(trace)
            code.builder.ret(code.incref(value))
        copy = record(new, code, trace, body, memory, integer(1), code.known("empty"), integer(0))
        code.decref(trace)
        code.builder.ret(copy)
    code.decref(trace)
    shares = code.builder.and_(code.is_a(value, "ndarray"), code.same(body, code.known("None")))
    with code.builder.if_then(shares, likely=False):  # memory that is read-only
        flags = code.builder.and_(code.get_unchecked(value, "flags"), integer(WRITEABLE))
        code.require(code.differ(flags, integer(0)), python)
    array = array_for_constant(new, code, value, is_wide)
    code.require(code.is_a(array, "ndarray"), drop)
    tensor = operand_of(new, code, array, drop)
    code.decref(array)
    code.builder.ret(tensor)
    code.begin(drop)
    code.decref(array)
    code.builder.branch(python)
    code.return_nothing(python)


def define_fact(new: New, function: ir.Function) -> None:
    """Emit the call of a function that asks for the shape of a Tensor, or for a number that follows from it."""
    _define_fact(fact, new, function)


def define_shape(new: New, function: ir.Function) -> None:
    """Emit the call of `jt.shape`, `rank` or `size` for a Tensor alone."""
    _define_fact(shape_tensor, new, function)


def _define_fact(emitted: Callable[..., ir.Value], new: New, function: ir.Function) -> None:
    code = new(function)
    python = code.block("python")
    code.require_same(python, (count_of(code), integer(1)), (function.args[3], integer(0)))
    kind = call_of_function(code, python)
    return_or_run(code, emitted(new, code, kind, code.read(function.args[1])), python)


def count_of(code: ObjectCode) -> ir.Value:
    """Return the number of arguments by position."""
    return code.builder.and_(code.function.args[2], integer(_COUNT))


def call_of_function(code: ObjectCode, python: ir.Block) -> ir.Value:
    """Return what the function records: its item of `FUNCTION_CALLS`."""
    return code.attempt(
        python, "PyDict_GetItemWithError", code.known("FUNCTION_CALLS"), code.function.args[0]
    )


def return_or_run(code: ObjectCode, result: ir.Value, python: ir.Block) -> None:
    """Return a result that is not 0; otherwise, unless an error is set, that of the function's own code."""
    code.require(code.differ(result, integer(0)), python)
    code.builder.ret(result)
    code.begin(python)
    raised = code.block("raised")
    code.require(code.same(code.call("PyErr_Occurred"), integer(0)), raised)
    own_code = external(code.function.module, ir.FunctionType(I64, [I64] * 4), PYTHON_CALL)
    with code.collector_released():
        found = code.builder.call(own_code, code.function.args)
    code.builder.ret(found)
    code.begin(raised)
    code.builder.ret(integer(0))
