"""Machine code of the beginning of a step and of the end of a tape: `Trace.step` and `Trace.release`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.recording.machine_code.emit_flush import clear
from jittape.recording.machine_code.emit_methods import call_by_position
from jittape.recording.machine_code.emit_operands import New, recorder

__all__ = ["define_release", "define_step"]


def define_step(new: New, function: ir.Function) -> None:
    """Emit ``Trace.step(self)``, which returns an unused trace itself."""
    code = new(function)
    trace, _ = function.args
    python = code.block("python")
    code.require(code.is_a(trace, "Trace"), python)
    limit = code.get(code.known("config"), "Config._max_pending_ops", python)
    code.require_same(
        python,
        (code.get(trace, "Trace.node", python), code.known("UNPLACED")),
        (code.get(trace, "Trace.holders", python), code.known("zero")),
        (code.get(trace, "Trace.exits", python), code.known("None")),
        (code.get(trace, "Trace.limit", python), limit),
    )
    for place in ("pending", "assigned", "inputs", "lost"):
        size = code.call("PyObject_Size", code.get(trace, f"Trace.{place}", python))
        code.require_same(python, (size, integer(0)))
    active = recorder(code, python)
    code.decref(active)
    code.require_same(python, (active, trace))
    code.builder.ret(code.incref(trace))
    code.begin(python)
    code.call("PyErr_Clear")
    call_by_position(code, code.known("Trace.step"), trace)


def define_release(new: New, function: ir.Function) -> None:
    """Emit ``Trace.release(self)`` for a trace that one tape holds."""
    code = new(function)
    trace, _ = function.args
    python = code.block("python")
    code.require(code.is_a(trace, "Trace"), python)
    holders, one = code.get(trace, "Trace.holders", python), code.known("one")
    code.require_same(python, (holders, one))
    code.put(trace, "Trace.holders", code.incref(code.known("zero")))
    superseded = code.same(code.get_unchecked(trace, "Trace.superseded"), code.known("True"))
    with code.builder.if_then(superseded):
        clear(code, trace)
    code.builder.ret(code.incref(code.known("None")))
    code.begin(python)
    call_by_position(code, code.known("Trace.release"), trace)
