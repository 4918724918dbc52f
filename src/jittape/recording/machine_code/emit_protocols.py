"""Machine code of ``__array_ufunc__``: calls of NumPy's ufuncs on known paths.

The table in `known_paths` says what a call records. All other calls, such as those with ``out=``, run in Python.
`emit_one_call` has the functions that are no ufuncs, `emit_calls` the methods.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_operands import New, recorder
from jittape.recording.machine_code.emit_recorder import record

__all__ = ["define_array_ufunc"]


def define_array_ufunc(new: New, function: ir.Function) -> None:
    """Emit ``__array_ufunc__(self, ufunc, method, *inputs)``; Python handles keyword arguments."""
    code = new(function)
    _, arguments, count, names = function.args
    python = code.block("python")
    code.require_same(python, (names, integer(0)))
    code.require(code.builder.icmp_signed(">=", count, integer(3)), python)
    method = code.read(arguments, 1)
    code.require(code.is_a(method, "str"), python)
    order = code.call("PyUnicode_Compare", method, code.known("__call__"))  # NumPy makes a new string
    code.require_same(python, (order, ir.Constant(order.type, 0)))
    ufunc = code.read(arguments, 0)
    known = code.attempt(python, "PyDict_GetItemWithError", code.known("UFUNC_BODIES"), ufunc)
    with code.builder.if_then(_is_power_of_int(code, ufunc, arguments, count), likely=False):
        base, exponent = code.read(arguments, 2), code.read(arguments, 3)
        power = code.call("PyNumber_Power", base, exponent, code.known("None"))
        with code.builder.if_then(code.differ(power, integer(0)), likely=True):
            code.builder.ret(power)
        code.call("PyErr_Clear")  # Python promotes the operands as NumPy does, or raises
        code.builder.branch(python)
    trace = recorder(code, python)
    operands, length = code.element(arguments, 2), code.builder.sub(count, integer(2))
    tensor = record(new, code, trace, code.item(known, 0), operands, length, code.item(known, 1), integer(0))
    code.decref(trace)
    code.require(code.differ(tensor, integer(0)), python)
    code.builder.ret(tensor)
    code.begin(python)
    call_python(new, code, code.known("Operators.__array_ufunc__"), *function.args)


def _is_power_of_int(code: ObjectCode, ufunc: ir.Value, arguments: ir.Value, count: ir.Value) -> ir.Value:
    """Return whether a tensor is raised to an int, which is structure: the operator records that."""
    found = code.words(1)
    code.write(found, integer(0))
    is_binary = code.builder.and_(code.same(ufunc, code.known("np.power")), code.same(count, integer(4)))
    with code.builder.if_then(is_binary):
        of_tensor = code.is_a(code.read(arguments, 2), "Tensor")
        by_int = code.is_a(code.read(arguments, 3), "int")
        code.write(found, code.builder.zext(code.builder.and_(of_tensor, by_int), ir.IntType(64)))
    return code.differ(code.read(found), integer(0))
