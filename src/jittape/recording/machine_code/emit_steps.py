"""Machine code of the beginning of a step, of the end of a tape and of looks at values, which end a step."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.native.read_only_views import read_only_view
from jittape.recording.machine_code.emit_flush import clear, run_known
from jittape.recording.machine_code.emit_methods import call_by_position
from jittape.recording.machine_code.emit_operands import New, changed, recorder

__all__ = ["define_numpy", "define_release", "define_step", "define_value_of", "leave_to", "require_unused"]


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


def define_numpy(new: New, function: ir.Function) -> None:
    """Emit ``Operators.numpy(self)`` outside tapes, which note looks at values."""
    code = new(function)
    own, _ = function.args
    python, raised, drop = (code.block(name) for name in ("python", "raised", "drop"))
    builder, none, memory = code.builder, code.known("None"), code.words(1)
    trace = recorder(code, python)
    intervals = code.get_unchecked(trace, "Trace.intervals")
    code.decref(trace)
    code.require(code.differ(intervals, integer(0)), python)
    code.require_same(python, (code.call("PyList_Size", intervals), integer(0)))
    is_variable = code.is_a(own, "Variable")
    code.require(builder.or_(code.is_a(own, "Tensor"), is_variable), python)
    with builder.if_then(is_variable):
        code.require_same(python, (code.get(own, "_assigned_in", python), none))
    buffer = code.get(own, "_buffer", python)
    code.write(memory, own)
    with builder.if_else(code.same(buffer, none), likely=False) as (pending, computed):
        with pending:
            of = code.get(own, "_trace", python)
            code.require(code.is_a(of, "Trace"), python)
            made = code.call_shared("jittape_value_of", lambda shared: define_value_of(new, shared), of, own)
            code.require(code.differ(made, integer(0)), raised)
            code.write(memory, made)
        with computed:
            code.write(memory, code.incref(buffer))
    view = read_only_view(code, code.read(memory), drop)
    code.decref(code.read(memory))
    builder.ret(view)
    code.begin(raised)
    builder.ret(integer(0))
    code.begin(drop)
    code.decref(code.read(memory))
    builder.branch(python)
    code.begin(python)
    call_by_position(code, code.known("Operators.numpy"), own)


def define_value_of(new: New, function: ir.Function) -> None:
    """Emit ``Flushing.value_of(self, tensor)`` for known runs that end a trace."""
    code = new(function)
    trace, tensor = function.args
    python, lost = code.block("python"), code.block("lost")
    code.require(code.is_a(trace, "Trace"), python)
    code.require(code.is_a(tensor, "Tensor"), python)
    code.require_same(python, (code.call("PyList_Size", code.known("FLUSH_CLOCKS")), integer(0)))
    gone = code.call("PyObject_Size", code.get(trace, "Trace.lost", python))
    code.require_same(
        python, (gone, integer(0)), (code.get(trace, "Trace.holders", python), code.known("zero"))
    )
    lock, memory = code.get(trace, "Trace._flushing", python), code.words(1)
    code.require(code.is_a(lock, "RLock"), python)
    code.write(memory, code.incref(lock))
    taken = code.call_object(code.known("RLock.acquire"), memory, integer(1))
    code.require(code.differ(taken, integer(0)), lost)
    code.decref(taken)
    known = run_known(new, code, trace, tensor)
    code.decref(code.call_object(code.known("RLock.release"), memory, integer(1)))
    code.decref(lock)
    code.decref(known)  # True and False are always alive
    code.require_same(python, (known, code.known("True")))
    buffer = code.get(tensor, "_buffer", python)
    code.require(code.differ(buffer, code.known("None")), python)
    code.builder.ret(code.incref(buffer))
    code.begin(lost)  # a signal handler has raised an error
    code.decref(lock)
    code.builder.ret(integer(0))
    code.begin(python)
    call_by_position(code, code.known("Flushing.value_of"), trace, tensor)
