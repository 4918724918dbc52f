"""Machine code of the methods that Python calls. `emit_recorder` has the common part.

Each method checks first that its case is the common one; otherwise it calls the Python method that it replaces.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.native.read_only_views import read_only_view
from jittape.recording.machine_code.emit_array_copies import operand_of
from jittape.recording.machine_code.emit_flush import add_live, give, needed_slots
from jittape.recording.machine_code.emit_operands import New, each_result, recorder
from jittape.recording.machine_code.emit_recorder import record
from jittape.recording.machine_code.emit_variables import assign, require_assignable

__all__ = [
    "call_by_position",
    "call_python",
    "define_apply",
    "define_assign",
    "define_binary",
    "define_distribute",
    "define_import_tensor",
    "define_take_pending",
    "define_tensor_of_array",
    "define_tensors_at",
    "define_unary",
    "define_update",
    "define_view",
    "imported_slot",
]


# ---- recording -----------------------------------------------------------------------------------------------------


def define_apply(new: New, function: ir.Function) -> None:
    """Emit ``Trace.apply(self, body, arrays, static=())``; Python handles keyword arguments."""
    code = new(function)
    trace, arguments, count, names = function.args
    python = code.block("python")
    three = code.same(count, integer(3))
    code.require(code.builder.or_(three, code.same(count, integer(2))), python)
    code.require(code.same(names, integer(0)), python)
    code.require(code.is_a(trace, "Trace"), python)
    body, arrays = code.read(arguments, 0), code.read(arguments, 1)
    code.require(code.is_a(arrays, "tuple"), python)
    static = code.builder.alloca(ir.IntType(64))
    code.builder.store(code.known("empty"), static)
    with code.builder.if_then(three):
        code.builder.store(code.read(arguments, 2), static)
    operands = code.builder.add(arrays, integer(code.places["items"]))
    length = code.length_of(arrays)
    tensor = record(new, code, trace, body, operands, length, code.builder.load(static), integer(0))
    code.require(code.differ(tensor, integer(0)), python)
    code.builder.ret(tensor)
    code.begin(python)
    call_python(new, code, code.known("Trace.apply"), *function.args)


def define_import_tensor(new: New, function: ir.Function) -> None:
    """Emit ``Trace.import_tensor(self, tensor)``."""
    code = new(function)
    trace, tensor = function.args
    python = code.block("python")
    code.require(code.is_a(trace, "Trace"), python)
    code.require(code.is_a(tensor, "Tensor"), python)
    code.builder.ret(code.incref(imported_slot(new, code, trace, tensor, python)))
    code.begin(python)
    call_by_position(code, code.known("Trace.import_tensor"), trace, tensor)


def imported_slot(
    new: New, code: ObjectCode, trace: ir.Value, tensor: ir.Value, python: ir.Block
) -> ir.Value:
    """Return the slot of a Tensor in a Trace, borrowed; import the tensor as an input if it has none."""
    here, outside = code.block("here"), code.block("outside")
    own_trace, buffer = (code.get(tensor, place, python) for place in ("_trace", "_buffer"))
    valid = code.builder.or_(code.same(buffer, code.known("None")), code.is_a(buffer, "Buffer"))
    code.require(valid, python)
    code.builder.cbranch(code.same(own_trace, trace), here, outside)
    code.begin(outside)
    arguments = (trace, code.known("imported"), _as_array(code, tensor), integer(1), code.known("empty"))
    made = record(new, code, *arguments, integer(0))
    code.require(code.differ(made, integer(0)), python)
    code.decref(made)
    code.builder.branch(here)
    code.begin(here)
    return code.get(tensor, "_slot", python)


def define_tensor_of_array(new: New, function: ir.Function) -> None:
    """Emit ``Slots.tensor_of_array(self, array)``."""
    code = new(function)
    _, array = function.args
    python = code.block("python")
    code.require(code.is_a(array, "ndarray"), python)
    code.builder.ret(operand_of(new, code, array, python))
    code.begin(python)
    call_by_position(code, code.known("Slots.tensor_of_array"), *function.args)


def define_binary(name: str, op: str, reflected: bool, new: New, function: ir.Function) -> None:
    """Emit a binary operator method."""
    own, other = function.args
    _define_operator(name, op, (other, own) if reflected else (own, other), new, function)


def define_unary(name: str, op: str, new: New, function: ir.Function) -> None:
    """Emit a unary operator method."""
    _define_operator(name, op, function.args[:1], new, function)


def _define_operator(
    name: str, op: str, operands: tuple[ir.Value, ...], new: New, function: ir.Function
) -> None:
    code = new(function)
    recorded, given = (_as_array(code, *values) for values in (operands, function.args))
    count = integer(len(operands))
    arguments = (code.known(op), code.known(name), recorded, given, count)
    code.builder.ret(
        code.call_shared("jittape_operator", lambda shared: _define_operate(new, shared), *arguments)
    )


def _define_operate(new: New, function: ir.Function) -> None:
    """Emit ``operate(op, python, operands, given, count)``, the shared code of operator methods."""
    code = new(function)
    op, in_python, operands, given, count = function.args
    python = code.block("python")
    trace = recorder(code, python)
    tensor = record(new, code, trace, op, operands, count, code.known("empty"), integer(0))
    code.decref(trace)
    code.require(code.differ(tensor, integer(0)), python)
    code.builder.ret(tensor)
    code.begin(python)
    _return_unless_raised(code, lambda: code.call_object(in_python, given, count))


def define_assign(new: New, function: ir.Function) -> None:
    """Emit ``Variable.assign(self, value)`` for a pending tensor of the trace; Python handles all other arguments."""
    code = new(function)
    variable, arguments, count, names = function.args
    python, drop = code.block("python"), code.block("drop")
    code.require_same(python, (count, integer(1)), (names, integer(0)))
    tensor = code.read(arguments)
    code.require(code.is_a(variable, "Variable"), python)
    code.require(code.is_a(tensor, "Tensor"), python)
    trace = recorder(code, python)
    require_assignable(code, trace, variable, drop)
    code.require(code.differ(code.get(tensor, "_slot", drop), code.known("minus one")), drop)
    code.require(code.differ(code.get(trace, "Trace.superseded", drop), code.known("True")), drop)
    code.require_same(
        drop,
        (code.get(variable, "_declared", drop), code.known("None")),
        (code.get(tensor, "_trace", drop), trace),
        (code.get(tensor, "_buffer", drop), code.known("None")),
    )
    avals = (code.get(value, "_aval", drop) for value in (tensor, variable))
    code.require(code.equal(*avals), drop)
    assign(code, trace, variable, tensor)
    code.decref(trace)
    code.builder.ret(code.incref(variable))
    code.begin(drop)
    code.decref(trace)
    code.builder.branch(python)
    code.begin(python)
    call_python(new, code, code.known("Variable.assign"), *function.args)


def define_update(name: str, op: str, new: New, function: ir.Function) -> None:
    """Emit ``Variable.assign_add(self, delta)`` or ``assign_sub``; Python handles further arguments."""
    code = new(function)
    arguments = (code.known(op), code.known(name), *function.args)
    code.builder.ret(
        code.call_shared("jittape_update", lambda shared: _define_update(new, shared), *arguments)
    )


def _define_update(new: New, function: ir.Function) -> None:
    """Emit ``update(op, python, variable, arguments, count, names)``, the shared code of updates."""
    code = new(function)
    op, in_python, variable, arguments, count, names = function.args
    python, drop = code.block("python"), code.block("drop")
    code.require_same(python, (count, integer(1)), (names, integer(0)))
    code.require(code.is_a(variable, "Variable"), python)
    trace = recorder(code, python)
    require_assignable(code, trace, variable, drop)
    operands = _as_array(code, variable, code.read(arguments))
    aval = code.get(variable, "_aval", drop)
    tensor = record(new, code, trace, op, operands, integer(2), code.known("empty"), aval)
    code.require(code.differ(tensor, integer(0)), drop)
    has_run = code.block("has_run")
    code.require(code.differ(code.get_unchecked(trace, "Trace.superseded"), code.known("True")), has_run)
    assign(code, trace, variable, tensor)
    code.decref(tensor)
    code.decref(trace)
    code.builder.ret(code.incref(variable))
    code.begin(has_run)  # recording ran the pending ops and began another trace
    made = code.call_object(
        code.known("Variable._assign_result"), _as_array(code, variable, tensor), integer(2)
    )
    code.decref(tensor)
    code.decref(trace)
    code.builder.ret(made)
    code.begin(drop)
    code.decref(trace)
    code.builder.branch(python)
    code.begin(python)
    call_python(new, code, in_python, variable, arguments, count, names)


def _as_array(code: ObjectCode, *values: ir.Value) -> ir.Value:
    """Store values in an array on the stack and return its address."""
    memory = code.words(len(values))
    for position, value in enumerate(values):
        code.write(memory, value, position)
    return memory


# ---- results and flushes --------------------------------------------------------------------------------------------


def define_tensors_at(new: New, function: ir.Function) -> None:
    """Emit ``Trace.tensors_at(self, node)`` for a node with several results."""
    code = new(function)
    trace, node = function.args
    python, failed = code.block("python"), code.block("failed")
    code.require(code.is_a(trace, "Trace"), python)
    code.require(code.is_a(node, "Node"), python)
    results = code.get(node, "Node.results", python)
    code.require(code.is_a(results, "tuple"), python)
    made = code.attempt(python, "PyList_New", integer(0))
    with each_result(code, trace, results, failed) as (_, tensor):
        code.attempt(failed, "PyList_Append", made, tensor)
        code.decref(tensor)
    code.builder.ret(made)
    code.begin(failed)
    code.decref(made)
    code.builder.ret(integer(0))
    code.begin(python)
    call_by_position(code, code.known("Trace.tensors_at"), trace, node)


def define_take_pending(new: New, function: ir.Function) -> None:
    """Emit ``Flushing._take_pending(self)``."""
    code = new(function)
    trace, _ = function.args
    python, failed, lost = (code.block(name) for name in ("python", "failed", "lost"))
    code.require(code.is_a(trace, "Trace"), python)
    pending = code.get(trace, "Trace.pending", python)
    fresh, alive = (code.attempt(python, "PyList_New", integer(0)) for _ in range(2))
    add_live(code, pending, alive, failed)
    code.incref(pending)
    code.put(trace, "Trace.pending", fresh)
    assigned = code.attempt(lost, "PyDict_Copy", code.get(trace, "Trace.assigned", lost))
    needed = needed_slots(code, alive, assigned, lost)
    code.builder.ret(code.new_tuple(lost, pending, alive, assigned, needed))
    code.begin(lost)
    code.builder.ret(integer(0))
    code.begin(failed)
    code.decref(fresh)
    code.decref(alive)
    code.builder.branch(python)
    code.begin(python)
    call_by_position(code, code.known("Flushing._take_pending"), trace)


def define_distribute(new: New, function: ir.Function) -> None:
    """Emit ``Flushing._distribute(self, alive, assigned, buffers)``, if nothing else was assigned meanwhile."""
    code = new(function)
    trace, arguments, count, names = function.args
    python = code.block("python")
    code.require_same(python, (count, integer(3)), (names, integer(0)))
    code.require(code.is_a(trace, "Trace"), python)
    alive, assigned, buffers = (code.read(arguments, i) for i in range(3))
    for values, kind in ((alive, "list"), (assigned, "dict"), (buffers, "list")):
        code.require(code.is_a(values, kind), python)
    first = code.call("PyList_Size", alive)
    now = code.get(trace, "Trace.assigned", python)
    code.require_same(python, (code.call("PyDict_Size", now), code.call("PyDict_Size", assigned)))
    with code.each_pair(assigned) as (number, assignment):
        code.require_same(python, (code.call("PyDict_GetItemWithError", now, number), assignment))
    expected = code.builder.add(first, code.call("PyDict_Size", assigned))
    code.require(code.same(code.call("PyList_Size", buffers), expected), python)
    fresh = code.attempt(python, "PyDict_New")
    give(code, trace, alive, assigned, fresh, lambda i: code.call("PyList_GetItem", buffers, i))
    none = code.known("None")
    code.builder.ret(code.incref(none))
    code.begin(python)
    call_python(new, code, code.known("Flushing._distribute"), *function.args)


def define_view(new: New, function: ir.Function) -> None:
    """Emit ``Buffer.view(self)``."""
    code = new(function)
    buffer, _ = function.args
    python = code.block("python")
    code.builder.ret(read_only_view(code, buffer, python))
    code.begin(python)
    call_by_position(code, code.known("Buffer.view"), buffer)


# ---- calls of the Python methods -------------------------------------------------------------------------------------


def call_python(new: New, code: ObjectCode, function: ir.Value, *arguments: ir.Value) -> None:
    """Return the result of a Python function for ``self, arguments, count, names``."""

    def call() -> ir.Value:
        return code.call_shared(
            "jittape_in_python",
            lambda shared: _define_in_python(new(shared)),
            function,
            *arguments,
        )

    _return_unless_raised(code, call)


def call_by_position(code: ObjectCode, function: ir.Value, *arguments: ir.Value) -> None:
    """Return the result of a Python function for arguments by position."""
    memory = _as_array(code, *arguments)
    _return_unless_raised(code, lambda: code.call_object(function, memory, integer(len(arguments))))


def _return_unless_raised(code: ObjectCode, call: Callable[[], ir.Value]) -> None:
    """Return the result of `call`, or 0 if an error is set already."""
    raised = code.block("raised")
    code.require(code.same(code.call("PyErr_Occurred"), integer(0)), raised)
    code.builder.ret(call())
    code.begin(raised)
    code.builder.ret(integer(0))


def _define_in_python(code: ObjectCode) -> None:
    function, own, arguments, count, names = code.function.args
    builder = code.builder
    total = builder.alloca(ir.IntType(64))
    builder.store(count, total)
    with builder.if_then(code.differ(names, integer(0))):
        builder.store(builder.add(count, code.length_of(names)), total)
    given = builder.load(total)
    memory = builder.ptrtoint(
        builder.alloca(ir.IntType(64), size=builder.add(given, integer(1))), ir.IntType(64)
    )
    code.write(memory, own)
    with code.each(given) as i:
        code.write(memory, code.read(arguments, i), builder.add(i, integer(1)))
    builder.ret(code.call_object(function, memory, builder.add(count, integer(1)), names))
