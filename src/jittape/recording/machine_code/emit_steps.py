"""Machine code of the beginning of a step and of the end of a tape: `Trace.step` and `Trace.release`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_flush import clear
from jittape.recording.machine_code.emit_methods import call_by_position
from jittape.recording.machine_code.emit_operands import New, changed, recorder

__all__ = ["define_release", "define_step", "leave_to", "require_unused"]


def define_step(new: New, function: ir.Function) -> None:
    """Emit ``Trace.step(self)``, which returns an unused trace itself."""
    code = new(function)
    trace, _ = function.args
    python = code.block("python")
    require_unused(code, trace, python)
    code.builder.ret(code.incref(trace))
    code.begin(python)
    code.call("PyErr_Clear")
    call_by_position(code, code.known("Trace.step"), trace)


def require_unused(code: ObjectCode, trace: ir.Value, otherwise: ir.Block) -> None:
    """Require that a step may begin on `trace`, which this thread records: see `Slots.is_unused`."""
    code.require(code.is_a(trace, "Trace"), otherwise)
    limit = code.get(code.known("config"), "Config._max_pending_ops", otherwise)
    code.require_same(
        otherwise,
        (code.get(trace, "Trace.node", otherwise), code.known("UNPLACED")),
        (code.get(trace, "Trace.holders", otherwise), code.known("zero")),
        (code.get(trace, "Trace.exits", otherwise), code.known("None")),
        (code.get(trace, "Trace.limit", otherwise), limit),
    )
    for place in ("pending", "assigned", "inputs", "lost"):
        size = code.call("PyObject_Size", code.get(trace, f"Trace.{place}", otherwise))
        code.require_same(otherwise, (size, integer(0)))
    active = recorder(code, otherwise)
    code.decref(active)
    code.require_same(otherwise, (active, trace))


def define_release(new: New, function: ir.Function) -> None:
    """Emit ``Trace.release(self)``."""
    code = new(function)
    trace, _ = function.args
    python = code.block("python")
    code.require(code.is_a(trace, "Trace"), python)
    leave_to(code, trace, changed(code, code.get(trace, "Trace.holders", python), -1, python))
    code.builder.ret(code.incref(code.known("None")))
    code.begin(python)
    code.call("PyErr_Clear")
    call_by_position(code, code.known("Trace.release"), trace)


def leave_to(code: ObjectCode, trace: ir.Value, holders: ir.Value) -> None:
    """Set the number of tapes that hold a trace, a new reference; clear the trace if it needs none and has none."""
    code.put(trace, "Trace.holders", holders)
    is_free = code.same(holders, code.known("zero"))
    superseded = code.same(code.get_unchecked(trace, "Trace.superseded"), code.known("True"))
    with code.builder.if_then(code.builder.and_(superseded, is_free)):
        clear(code, trace)
