"""Machine code of ``__array_ufunc__``: calls of NumPy's ufuncs on known paths.

The table in `known_paths` says what a call records. All other calls, such as those with ``out=``, run in Python.
`emit_one_call` has the functions that are no ufuncs, `emit_calls` the methods.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_lists import array_for_ufunc
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_one_call import one_call
from jittape.recording.machine_code.emit_operands import New, recorder
from jittape.recording.machine_code.emit_recorder import record

__all__ = ["define_array_ufunc", "record_ufunc"]

_MOST_OPERANDS = 3
"""Maximum number of operands of a ufunc among which machine code takes lists."""


def define_array_ufunc(new: New, function: ir.Function) -> None:
    """Emit ``__array_ufunc__(self, ufunc, method, *inputs, **kwargs)``; only methods have keyword arguments here."""
    code = new(function)
    _, arguments, count, names = function.args
    python, of_method = code.block("python"), code.block("of_method")
    code.require(code.builder.icmp_signed(">=", count, integer(3)), python)
    method = code.read(arguments, 1)
    code.require(code.is_a(method, "str"), python)
    order = code.call("PyUnicode_Compare", method, code.known("__call__"))  # NumPy makes a new string
    ufunc = code.read(arguments, 0)
    operands, length = code.element(arguments, 2), code.builder.sub(count, integer(2))
    code.require_same(of_method, (order, ir.Constant(order.type, 0)))
    code.require_same(python, (names, integer(0)))
    known = code.attempt(python, "PyDict_GetItemWithError", code.known("UFUNC_BODIES"), ufunc)
    tensor = record_ufunc(new, code, known, operands, length)
    code.require(code.differ(tensor, integer(0)), python)
    code.builder.ret(tensor)
    code.begin(of_method)
    by_name = code.attempt(python, "PyDict_GetItemWithError", code.known("UFUNC_METHODS"), ufunc)
    call = code.attempt(python, "PyDict_GetItemWithError", by_name, method)
    found = one_call(new, code, call, operands, length, integer(0), names)
    code.require(code.differ(found, integer(0)), python)
    code.builder.ret(found)
    code.begin(python)
    call_python(new, code, code.known("Operators.__array_ufunc__"), *function.args)


def record_ufunc(new: New, code: ObjectCode, *known_operands_count: ir.Value) -> ir.Value:
    """Emit a call of ``record_ufunc(known, operands, count)``, which returns 0 if Python has to record the call.

    `known` is an entry of `UFUNC_BODIES`. The int to which ``np.power`` raises a tensor is structure.
    """
    return code.call_shared(
        "jittape_ufunc", lambda shared: _define_record_ufunc(new, shared), *known_operands_count
    )


def _define_record_ufunc(new: New, function: ir.Function) -> None:
    code = new(function)
    known, operands, count = function.args
    python, drop, by_int = (code.block(name) for name in ("python", "drop", "by_int"))
    with code.each(count) as i:
        lists = _is_list(code, code.read(operands, i))
        with code.builder.if_then(lists, likely=False):
            code.builder.ret(_recorded_with_lists(new, code, known, operands, count))
    trace = recorder(code, python)
    body_of_int = code.item(known, 2)
    code.require(code.same(body_of_int, code.known("None")), by_int)
    _return_recorded(new, code, trace, code.item(known, 0), operands, count, code.item(known, 1))
    code.begin(by_int)
    plain = code.block("plain")
    code.require_same(plain, (count, integer(2)))
    code.require(code.is_a(code.read(operands), "Tensor"), plain)
    code.require(code.is_a(code.read(operands, 1), "int"), plain)
    static = code.new_tuple(drop, code.incref(code.read(operands, 1)))
    tensor = record(new, code, trace, body_of_int, operands, integer(1), static, integer(0))
    code.decref(static)
    code.decref(trace)
    code.builder.ret(tensor)
    code.begin(plain)
    _return_recorded(new, code, trace, code.item(known, 0), operands, count, code.item(known, 1))
    code.begin(drop)
    code.decref(trace)
    code.builder.branch(python)
    code.begin(python)
    code.builder.ret(integer(0))


def _is_list(code: ObjectCode, operand: ir.Value) -> ir.Value:
    return code.builder.or_(*(code.is_a(operand, kind) for kind in ("list", "tuple")))


def _recorded_with_lists(new: New, code: ObjectCode, *known_operands_count: ir.Value) -> ir.Value:
    """Emit a call of a function like `record_ufunc` for operands of which some are lists or tuples."""
    return code.call_shared(
        "jittape_ufunc_of_lists", lambda shared: _define_with_lists(new, shared), *known_operands_count
    )


def _define_with_lists(new: New, function: ir.Function) -> None:
    code = new(function)
    known, operands, count = function.args
    python, drop = code.block("python"), code.block("drop")
    arrays, is_array = code.words(_MOST_OPERANDS), code.words(1)
    code.require(code.builder.icmp_signed("<=", count, integer(_MOST_OPERANDS)), python)
    code.write(is_array, integer(1))
    with code.each(count) as i:
        array = array_for_ufunc(new, code, code.read(operands, i))
        code.write(arrays, array, i)
        with code.builder.if_then(_is_list(code, array), likely=False):
            code.write(is_array, integer(0))
    code.require(code.differ(code.read(is_array), integer(0)), drop)
    trace = recorder(code, drop)
    tensor = record(new, code, trace, code.item(known, 0), arrays, count, code.item(known, 1), integer(0))
    code.decref(trace)
    _drop(code, arrays, count)
    code.builder.ret(tensor)
    code.begin(drop)
    _drop(code, arrays, count)
    code.builder.branch(python)
    code.begin(python)
    code.builder.ret(integer(0))


def _drop(code: ObjectCode, values: ir.Value, count: ir.Value) -> None:
    with code.each(count) as i:
        code.decref(code.read(values, i))


def _return_recorded(new: New, code: ObjectCode, trace: ir.Value, *call: ir.Value) -> None:
    tensor = record(new, code, trace, *call, integer(0))
    code.decref(trace)
    code.builder.ret(tensor)
