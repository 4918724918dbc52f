"""The writer of the call of a function in machine code: see `jittape.functions.machine_code.function_calls`."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_methods import call_python
from jittape.recording.machine_code.emit_operands import New, recorder

__all__ = ["define_bound_call", "define_call", "define_get"]

_ARGUMENTS = 7
"""Number of arguments of `jittape.functions.marshaller.simple_call`."""


def define_call(new: New, function: ir.Function) -> None:
    """Emit ``Function.__call__(self, /, *args, **kwargs)`` for calls by position that are simple."""
    _define_call(new, function, "Function.__call__", lambda code, own, python: own)


def define_bound_call(new: New, function: ir.Function) -> None:
    """Emit ``BoundFunction.__call__(self, /, *args, **kwargs)`` for calls by position that are simple."""

    def compiled(code: ObjectCode, own: ir.Value, python: ir.Block) -> ir.Value:
        found = code.get(own, "BoundFunction._function", python)
        code.require(code.is_a(found, "Function"), python)
        return found

    _define_call(new, function, "BoundFunction.__call__", compiled)


def define_get(new: New, function: ir.Function) -> None:
    """Emit ``Function.__get__(self, instance, owner=None)`` for instances whose methods have been called before."""
    code = new(function)
    own, arguments, count, names = function.args
    python, drop = code.block("python"), code.block("drop")
    code.require_same(python, (names, integer(0)), (count, integer(2)))
    instance = code.read(arguments, 0)
    code.require(code.differ(instance, code.known("None")), python)
    companions = code.get(own, "Function._bound", python)
    code.require(code.is_a(companions, "Companions"), python)
    references, values = (
        code.get(companions, f"Companions.{slot}", python) for slot in ("_references", "_values")
    )
    number = code.attempt(python, "PyLong_FromSsize_t", instance)
    reference = code.call("PyDict_GetItemWithError", references, number)
    code.decref(number)
    code.require(code.differ(reference, integer(0)), python)
    code.require(code.is_a(reference, "Identity"), python)
    code.require_same(python, (code.call("PyWeakref_GetObject", reference), instance))
    compiled = code.incref(code.attempt(python, "PyDict_GetItemWithError", values, reference))
    bound = code.call("PyType_GenericAlloc", code.known("BoundFunction"), integer(0))
    code.require(code.differ(bound, integer(0)), drop)
    code.init(bound, "BoundFunction._function", compiled)
    code.init(bound, "BoundFunction.__self__", code.incref(instance))
    code.builder.ret(bound)
    code.begin(drop)
    code.decref(compiled)
    code.builder.branch(python)
    code.begin(python)
    call_python(new, code, code.known("Function.__get__"), *function.args)


def _define_call(
    new: New,
    function: ir.Function,
    label: str,
    compiled: Callable[[ObjectCode, ir.Value, ir.Block], ir.Value],
) -> None:
    """Emit a call; `compiled` emits the `Function` of the called object. `label` is the method in Python."""
    code = new(function)
    own, arguments, count, names = function.args
    python, other, lost = (code.block(name) for name in ("python", "other", "lost"))
    code.require_same(python, (names, integer(0)))
    concrete = code.get(compiled(code, own, python), "Function._recent", python)
    code.require(code.is_a(concrete, "Concrete"), python)
    path = code.get(concrete, "Concrete.simple_path", python)
    code.require(code.is_a(path, "tuple"), python)
    code.require_same(python, (code.item(path, _ARGUMENTS), code.get(concrete, "Concrete.fast_call", python)))
    _require_plain_run(code, python)

    def release() -> None:
        code.decref(path)
        code.decref(concrete)

    code.incref(concrete)
    code.incref(path)
    result = _called(code, path, arguments, count, lost)
    code.require(code.differ(result, integer(0)), lost)
    code.require(code.builder.not_(code.is_a(result, "int")), other)
    _count_run(code, concrete)
    release()
    code.builder.ret(result)
    code.begin(other)  # an `Outcome`: nothing has changed
    code.decref(result)
    release()
    code.builder.branch(python)
    code.begin(python)
    call_python(new, code, code.known(label), *function.args)
    code.begin(lost)
    release()
    code.builder.ret(integer(0))


def _require_plain_run(code: ObjectCode, python: ir.Block) -> None:
    """Require that no tape records, and that functions run compiled."""
    config, false = code.known("config"), code.known("False")
    settings = [code.get(config, f"Config.{name}", python) for name in ("_eager_functions", "_interpret")]
    code.require_same(python, *[(setting, false) for setting in settings])
    trace = recorder(code, python)
    intervals = code.get_unchecked(trace, "Trace.intervals")
    code.decref(trace)  # the thread's state holds it
    code.require(code.differ(intervals, integer(0)), python)
    code.require(code.is_a(intervals, "list"), python)
    code.require_same(python, (code.call("PyList_Size", intervals), integer(0)))


def _called(
    code: ObjectCode, path: ir.Value, arguments: ir.Value, count: ir.Value, failed: ir.Block
) -> ir.Value:
    """Return the result of the path's function for the arguments, a new reference."""
    words = code.words(_ARGUMENTS)
    leaves = code.attempt(failed, "PyTuple_New", count)
    with code.each(count) as i:
        code.fill(leaves, i, code.incref(code.read(arguments, i)))
    code.write(words, leaves)
    for i in range(1, _ARGUMENTS):
        code.write(words, code.item(path, i), i)
    result = code.call_object(code.item(path, 0), words, integer(_ARGUMENTS))
    code.decref(leaves)
    return result


def _count_run(code: ObjectCode, concrete: ir.Value) -> None:
    """Count the run as the method in Python does; without memory for the number it is not counted."""
    counters = code.known("counters")
    for owner, slot in ((counters, "Counters.compiled_runs"), (concrete, "Concrete.visits")):
        before = code.get_unchecked(owner, slot)
        with code.builder.if_then(code.differ(before, integer(0)), likely=True):
            more = code.builder.add(code.call("PyLong_AsSsize_t", before), integer(1))
            number = code.call("PyLong_FromSsize_t", more)
            with code.builder.if_else(code.differ(number, integer(0)), likely=True) as (counted, no_memory):
                with counted:
                    code.put(owner, slot, number)
                with no_memory:
                    code.call("PyErr_Clear")
    code.put(counters, "Counters.last", code.incref(concrete))
