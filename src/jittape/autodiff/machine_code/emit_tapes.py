"""Machine code of the methods of `GradientTape` and `TapeInterval` that a step calls.

Each method checks first that its case is the common one; otherwise it calls the Python method that it replaces.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.autodiff.machine_code.emit_gradients import find_gradient
from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_methods import call_by_position, call_python, imported_slot
from jittape.recording.machine_code.emit_operands import New, OwnedObjects, changed, recorder
from jittape.recording.machine_code.emit_steps import leave_to, require_unused

__all__ = [
    "define_enter",
    "define_exit",
    "define_gradient",
    "define_known_gradient",
    "define_watch",
]


def _interval(code: ObjectCode, tape: ir.Value, otherwise: ir.Block) -> ir.Value:
    """Return the interval of a tape, borrowed."""
    interval = code.get(tape, "GradientTape._interval", otherwise)
    code.require(code.is_a(interval, "TapeInterval"), otherwise)
    return interval


# ---- entering and leaving --------------------------------------------------------------------------------------------


def define_enter(new: New, function: ir.Function) -> None:
    """Emit ``GradientTape.__enter__(self)`` for the first entry of a tape."""
    code = new(function)
    tape, _ = function.args
    python, failed, undo = (code.block(name) for name in ("python", "failed", "undo"))
    interval = _interval(code, tape, python)
    pairs = {"entered": "False", "trace": "None", "function": "None"}
    for place, name in pairs.items():
        code.require_same(python, (code.get(interval, f"TapeInterval.{place}", python), code.known(name)))
    _end_step(code, python)
    trace = recorder(code, python)
    code.decref(trace)
    lost = code.get(trace, "Trace.lost", python)

    made = ("append", "ticket", "number", "holders", "thread", "segments", "watches", "variables")
    owned = OwnedObjects(code, *made)
    words = code.words(2)
    append = owned.keep("append", code.attempt(failed, "PyObject_GetAttr", lost, code.known("append")))
    for i, value in enumerate((interval, append)):
        code.write(words, value, i)
    ticket = owned.keep("ticket", code.call_object(code.known("Ticket"), words, integer(2)))
    code.require(code.differ(ticket, integer(0)), failed)
    # The call may have started the garbage collector, whose finalizers may have recorded.
    intervals = code.get(trace, "Trace.intervals", failed)
    outer = code.call("PyList_Size", intervals)
    _require_ready(code, trace, intervals, outer, failed)
    owned.keep("holders", changed(code, code.get(trace, "Trace.holders", failed), 1, failed))
    number = owned.keep("number", code.attempt(failed, "PyLong_FromSsize_t", ticket))
    ident = code.call("PyThread_get_thread_ident")
    owned.keep("thread", code.attempt(failed, "PyLong_FromSsize_t", ident))
    segments, _, _ = [
        owned.keep(name, code.attempt(failed, "PyList_New", integer(0)))
        for name in ("segments", "watches", "variables")
    ]
    begin = code.get(code.get(trace, "Trace.node", failed), "Node.n_slots", failed)
    code.attempt(failed, "PyList_Append", segments, begin)
    code.attempt(failed, "PyList_Append", intervals, ticket)
    held = code.get(lost, "TicketQueue.held", undo)
    code.attempt(undo, "PyDict_SetItem", held, number, ticket)

    _begin(code, owned, trace, interval)
    code.put(tape, "GradientTape._used_up", code.incref(code.known("False")))
    owned.release()
    code.builder.ret(code.incref(tape))

    code.begin(undo)
    code.call("PyList_SetSlice", intervals, outer, code.builder.add(outer, integer(1)), integer(0))
    code.builder.branch(failed)
    code.begin(failed)
    owned.release()
    code.builder.branch(python)
    code.begin(python)
    code.call("PyErr_Clear")
    call_by_position(code, code.known("GradientTape.__enter__"), tape)


def _end_step(code: ObjectCode, otherwise: ir.Block) -> None:
    """Flush at a step boundary; return from the function if that raises."""
    trace = recorder(code, otherwise)
    code.decref(trace)
    outer = code.call("PyList_Size", code.get(trace, "Trace.intervals", otherwise))
    with code.builder.if_then(code.same(outer, integer(0)), likely=True):
        used, ready = code.block("used"), code.block("ready")
        require_unused(code, trace, used)
        code.builder.branch(ready)
        code.begin(used)
        code.call("PyErr_Clear")
        words = code.words(1)
        code.write(words, trace)
        made = code.call_object(code.known("Trace.step"), words, integer(1))
        with code.builder.if_then(code.same(made, integer(0)), likely=False):
            code.builder.ret(integer(0))
        code.decref(made)
        code.builder.branch(ready)
        code.begin(ready)


def _begin(code: ObjectCode, owned: OwnedObjects, trace: ir.Value, interval: ir.Value) -> None:
    """Let the interval record on `trace`, with the objects that the caller has made."""
    code.init(owned.read("ticket"), "Ticket.content", code.incref(trace))
    parts = {"ticket": "_ticket", "thread": "_thread", "segments": "_segments", "watches": "_watches"}
    for name, place in (parts | {"variables": "_watched_variables"}).items():
        code.put(interval, f"TapeInterval.{place}", owned.take(name))
    lost = code.get_unchecked(trace, "Trace.lost")
    for place, value in (("_lost", lost), ("trace", trace)):
        code.put(interval, f"TapeInterval.{place}", code.incref(value))
    for place in ("entered", "recording"):
        code.put(interval, f"TapeInterval.{place}", code.incref(code.known("True")))
    code.put(trace, "Trace.holders", owned.take("holders"))


def _require_ready(
    code: ObjectCode, trace: ir.Value, intervals: ir.Value, outer: ir.Value, otherwise: ir.Block
) -> None:
    """Require that a tape can begin on `trace`, which this thread records: an unused one, or that of an outer tape."""
    with code.builder.if_else(code.same(outer, integer(0)), likely=True) as (outermost, inner):
        with outermost:
            require_unused(code, trace, otherwise)
        with inner:
            current = recorder(code, otherwise)
            code.decref(current)
            lost = code.call("PyObject_Size", code.get(trace, "Trace.lost", otherwise))
            code.require_same(otherwise, (current, trace), (lost, integer(0)))
            last = code.call("PyList_GetItem", intervals, code.builder.sub(outer, integer(1)))
            alive = code.differ(code.call("PyWeakref_GetObject", last), code.known("None"))
            code.require(alive, otherwise)


def define_exit(new: New, function: ir.Function) -> None:
    """Emit ``GradientTape.__exit__(self, typ, value, traceback)`` for the innermost tape."""
    code = new(function)
    tape = function.args[0]
    python = code.block("python")
    interval = _interval(code, tape, python)
    for place in ("entered", "recording"):
        code.require_same(python, (code.get(interval, f"TapeInterval.{place}", python), code.known("True")))
    trace = code.get(interval, "TapeInterval.trace", python)
    code.require(code.is_a(trace, "Trace"), python)
    intervals = code.get(trace, "Trace.intervals", python)
    last = code.builder.sub(code.call("PyList_Size", intervals), integer(1))
    code.require(code.builder.icmp_signed(">=", last, integer(0)), python)
    ticket = code.get(interval, "TapeInterval._ticket", python)
    code.require_same(python, (code.call("PyList_GetItem", intervals, last), ticket))
    node = code.get(trace, "Trace.node", python)
    segments = code.get(interval, "TapeInterval._segments", python)
    n_ops = code.get(node, "Node.n_ops", python)
    code.attempt(python, "PyList_Append", segments, code.get(node, "Node.n_slots", python))
    code.call("PyList_SetSlice", intervals, last, code.builder.add(last, integer(1)), integer(0))
    code.put(trace, "Trace._ops_when_left", code.incref(n_ops))
    for place in ("entered", "recording"):
        code.put(interval, f"TapeInterval.{place}", code.incref(code.known("False")))
    code.builder.ret(code.incref(code.known("None")))
    code.begin(python)
    code.call("PyErr_Clear")
    call_python(new, code, code.known("GradientTape.__exit__"), *function.args)


# ---- watching --------------------------------------------------------------------------------------------------------


def define_watch(new: New, function: ir.Function) -> None:
    """Emit ``GradientTape.watch(self, tensor)`` for a Tensor of float64 or float32."""
    code = new(function)
    tape, tensor = function.args
    python = code.block("python")
    code.require(code.is_a(tensor, "Tensor"), python)
    interval = _interval(code, tape, python)
    trace = code.get(interval, "TapeInterval.trace", python)
    code.require(code.is_a(trace, "Trace"), python)
    dtype = code.item(code.get(tensor, "_aval", python), 1)
    fits = [code.same(dtype, code.known(f"dtype {name}")) for name in ("float64", "float32")]
    code.require(code.builder.or_(*fits), python)
    slot = imported_slot(new, code, trace, tensor, python)
    end = code.get(code.get(trace, "Trace.node", python), "Node.n_slots", python)
    entry = code.new_tuple(python, code.incref(end), code.incref(slot))
    appended = code.call("PyList_Append", code.get(interval, "TapeInterval._watches", python), entry)
    code.decref(entry)
    code.require(code.same(appended, ir.Constant(appended.type, 0)), python)
    code.builder.ret(code.incref(code.known("None")))
    code.begin(python)
    code.call("PyErr_Clear")
    call_by_position(code, code.known("GradientTape.watch"), tape, tensor)


# ---- gradients -------------------------------------------------------------------------------------------------------


def define_known_gradient(new: New, function: ir.Function) -> None:
    """Emit ``TapeInterval.known_gradient(self, target, sources)``."""
    code = new(function)
    interval, arguments, count, names = function.args
    other, missing = code.block("other"), code.block("missing")
    code.require_same(other, (count, integer(2)), (names, integer(0)))
    code.require(code.is_a(interval, "TapeInterval"), other)
    made = find_gradient(new, code, interval, *[code.read(arguments, i) for i in range(2)])
    code.require(code.differ(made, integer(0)), missing)
    code.builder.ret(made)
    code.begin(missing)
    _return_error(code)
    code.builder.branch(other)
    code.begin(other)
    code.builder.ret(code.incref(code.known("None")))


def define_gradient(new: New, function: ir.Function) -> None:
    """Emit ``GradientTape.gradient(self, target, sources)``."""
    code = new(function)
    tape, arguments, count, names = function.args
    python, failed = code.block("python"), code.block("failed")
    code.require_same(python, (count, integer(2)), (names, integer(0)))
    interval = _interval(code, tape, python)
    given = [code.read(arguments, i) for i in range(2)]
    owned = OwnedObjects(code, "number", "past", "holders")
    persistent = code.get(tape, "GradientTape._persistent", python)
    with code.builder.if_then(code.same(persistent, code.known("True")), likely=False):
        found = find_gradient(new, code, interval, *given)
        code.require(code.differ(found, integer(0)), failed)
        code.builder.ret(found)
    entered = code.get(interval, "TapeInterval.entered", python)
    code.require_same(python, *[(flag, code.known("False")) for flag in (persistent, entered)])
    trace = code.get(interval, "TapeInterval.trace", python)
    code.require(code.is_a(trace, "Trace"), python)
    ticket = code.get(interval, "TapeInterval._ticket", python)
    owned.keep("number", code.attempt(failed, "PyLong_FromSsize_t", ticket))
    owned.keep("holders", changed(code, code.get(trace, "Trace.holders", python), -1, failed))
    owned.keep("past", code.attempt(failed, "PyTuple_New", integer(len(_PAST))))
    held = code.get(code.get(interval, "TapeInterval._lost", failed), "TicketQueue.held", failed)
    made = find_gradient(new, code, interval, *given)
    code.require(code.differ(made, integer(0)), failed)
    code.put(tape, "GradientTape._used_up", code.incref(code.known("True")))
    _release(code, owned, trace, interval, held)
    owned.release()
    code.builder.ret(made)
    code.begin(failed)
    owned.release()
    _return_error(code)
    code.builder.branch(python)
    code.begin(python)
    call_python(new, code, code.known("GradientTape.gradient"), *function.args)


def _release(
    code: ObjectCode, owned: OwnedObjects, trace: ir.Value, interval: ir.Value, held: ir.Value
) -> None:
    """Emit ``TapeInterval.release`` with the objects that the caller has made."""
    for i, place in enumerate(_PAST):
        owner = trace if place.startswith("Trace.") else interval
        code.fill(owned.read("past"), i, code.incref(code.get_unchecked(owner, place)))
    code.call("PyDict_DelItem", held, owned.read("number"))
    code.call("PyErr_Clear")
    code.put(interval, "TapeInterval._past", owned.take("past"))
    code.incref(trace)
    code.put(interval, "TapeInterval.trace", code.incref(code.known("None")))
    code.put(interval, "TapeInterval._ticket", integer(0))
    leave_to(code, trace, owned.take("holders"))
    code.decref(trace)


_PAST = (
    "TapeInterval.trace",
    "Trace.node",
    "Trace.variables",
    "TapeInterval._segments",
    "TapeInterval._watches",
    "TapeInterval._watched_variables",
    "Trace.exits",
)
"""The parts of `TapeInterval._past`."""


def _return_error(code: ObjectCode) -> None:
    """Return 0 if an error is set."""
    with code.builder.if_then(code.differ(code.call("PyErr_Occurred"), integer(0)), likely=False):
        code.builder.ret(integer(0))
