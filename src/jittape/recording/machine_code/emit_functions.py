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
from jittape.recording.machine_code.path_tables import DOUBLES_KIND, FLOATS_KIND, INTS_KIND, LONGS_KIND

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
    "value_and_dtype",
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
    body = call_of_function(code, python)
    value, dtype = value_and_dtype(code, python)
    return_or_run(code, constant(new, code, body, value, dtype), python)


def value_and_dtype(code: ObjectCode, otherwise: ir.Block) -> tuple[ir.Value, ir.Value]:
    """Return the first argument and that for `dtype`, the second, or None; branch to `otherwise` for all else."""
    builder, dtype = code.builder, code.words(1)
    _, arguments, _, names = code.function.args
    count = count_of(code)
    code.write(dtype, code.known("None"))
    with builder.if_else(code.same(names, integer(0)), likely=True) as (by_position, by_name):
        with by_position:
            is_second = code.same(count, integer(2))
            code.require(builder.or_(is_second, code.same(count, integer(1))), otherwise)
            with builder.if_then(is_second):
                code.write(dtype, code.read(arguments, 1))
        with by_name:
            code.require_same(otherwise, (count, integer(1)), (code.length_of(names), integer(1)))
            code.require_same(otherwise, (code.item(names, 0), code.known("dtype")))
            code.write(dtype, code.read(arguments, 1))
    return code.read(arguments), code.read(dtype)


def constant(
    new: New, code: ObjectCode, body: ir.Value, value: ir.Value, dtype: ir.Value, is_wide: bool = False
) -> ir.Value:
    """Emit a call of ``constant(body, value, dtype)``, which returns 0 if Python has to convert.

    A Tensor is returned itself if the body is None, else the op is recorded. The dtype of numbers is that of NumPy if
    `is_wide`, float64 or int64.
    """
    name = "jittape_wide_constant" if is_wide else "jittape_constant"
    arguments = body, value, dtype
    return code.call_shared(name, lambda shared: _define_constant(new, shared, is_wide), *arguments)


def _define_constant(new: New, function: ir.Function, is_wide: bool) -> None:
    code, (body, value, dtype) = new(function), function.args
    python, drop, memory = code.block("python"), code.block("drop"), code.words(1)
    floats, ints = code.words(1), code.words(1)
    code.write(floats, integer(DOUBLES_KIND if is_wide else FLOATS_KIND))
    code.write(ints, integer(LONGS_KIND if is_wide else INTS_KIND))
    with code.builder.if_then(code.differ(dtype, code.known("None"))):
        _take_dtype(new, code, value, dtype, (floats, ints), is_wide)
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
    array = array_for_constant(new, code, value, code.read(floats), code.read(ints))
    code.require(code.is_a(array, "ndarray"), drop)
    tensor = operand_of(new, code, array, drop)
    code.decref(array)
    code.builder.ret(tensor)
    code.begin(drop)
    code.decref(array)
    code.builder.branch(python)
    code.return_nothing(python)


def _take_dtype(
    new: New,
    code: ObjectCode,
    value: ir.Value,
    dtype: ir.Value,
    kinds: tuple[ir.Value, ir.Value],
    is_wide: bool,
) -> None:
    """Write the kinds of floats and of ints for a dtype that is given, or return the cast of a Tensor.

    A Tensor or an array of this dtype is taken as if none were given. Python converts other arrays.
    """
    builder, floats_and_ints = code.builder, kinds
    python, number = code.block("dtype.python"), code.block("dtype.number")
    tensor, array, after = (code.block(f"dtype.{name}") for name in ("tensor", "array", "after"))
    known = _known_dtype(code, dtype, python)
    builder.cbranch(code.is_a(value, "Tensor"), tensor, array)
    code.begin(tensor)
    if is_wide:
        aval = code.get(value, "_aval", python)
        code.require(code.is_a(aval, "Aval"), python)
        with builder.if_then(code.differ(code.item(aval, 1), code.item(known, 2))):
            trace, memory = recorder(code, python), code.words(1)
            code.write(memory, value)
            code.incref(known)
            call = code.known("cast"), memory, integer(1), code.item(known, 3)
            made = record(new, code, trace, *call, integer(0))
            code.decref(known)
            code.decref(trace)
            builder.ret(made)
        builder.branch(after)
    else:
        builder.branch(python)
    code.begin(array)
    builder.cbranch(code.is_a(value, "ndarray"), same := code.block("dtype.same"), number)
    code.begin(same)
    if is_wide:
        is_same = code.same(code.get_unchecked(value, "dtype"), code.item(known, 2))
        builder.cbranch(is_same, after, python)
    else:
        builder.branch(python)
    code.begin(number)
    kind = code.index(code.item(known, 1), python)
    code.require(builder.icmp_signed(">=", kind, integer(0)), python)
    is_float = builder.icmp_signed("<=", kind, integer(DOUBLES_KIND))
    code.write(floats_and_ints[0], builder.select(is_float, kind, integer(-1)))
    code.write(floats_and_ints[1], kind)
    builder.branch(after)
    code.return_nothing(python)
    code.begin(after)


def _known_dtype(code: ObjectCode, dtype: ir.Value, otherwise: ir.Block) -> ir.Value:
    """Return the item of `DTYPE_KINDS` for a dtype, borrowed; branch to `otherwise` if there is none."""
    builder, found, memory = code.builder, code.words(1), code.words(1)
    number = code.attempt(otherwise, "PyLong_FromSsize_t", dtype)
    code.write(found, code.call("PyDict_GetItemWithError", code.known("DTYPE_KINDS"), number))
    with builder.if_then(code.same(code.read(found), integer(0)), likely=False):
        code.write(memory, dtype)
        made = code.call_object(code.known("kind_of_dtype"), memory, integer(1))
        with builder.if_then(code.differ(made, integer(0))):
            code.decref(made)
            code.write(found, code.call("PyDict_GetItemWithError", code.known("DTYPE_KINDS"), number))
    code.decref(number)
    code.require(code.differ(code.read(found), integer(0)), otherwise)
    return code.read(found)


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
