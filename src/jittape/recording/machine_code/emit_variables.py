"""Machine code that assigns Variables, and that reads their new values in the same trace."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_operands import New

__all__ = ["assign", "read_assigned", "require_assignable"]


def require_assignable(code: ObjectCode, trace: ir.Value, variable: ir.Value, otherwise: ir.Block) -> None:
    """Branch to `otherwise` unless a Variable has a value, and no other trace has a pending assignment of it."""
    before = code.get(variable, "_assigned_in", otherwise)
    is_free = code.builder.or_(code.same(before, trace), code.same(before, code.known("None")))
    code.require(is_free, otherwise)
    code.require(code.is_a(code.get(variable, "_buffer", otherwise), "Buffer"), otherwise)


def assign(code: ObjectCode, trace: ir.Value, variable: ir.Value, tensor: ir.Value) -> None:
    """Emit `Trace.assign` for a pending tensor of the trace."""
    failed = code.block("failed")
    number = code.attempt(failed, "PyLong_FromSsize_t", variable)
    assigned, before = code.get(trace, "Trace.assigned", failed), code.words(1)
    code.write(before, code.known("None"))
    with code.builder.if_then(code.same(code.get(variable, "_assigned_in", failed), trace)):
        found = code.call("PyDict_GetItemWithError", assigned, number)
        code.write(before, code.builder.select(code.same(found, integer(0)), code.known("None"), found))
    slot, node = code.get(tensor, "_slot", failed), code.get(trace, "Trace.node", failed)
    parts = (variable, slot, node, code.read(before))
    entry = code.new_tuple(failed, *[code.incref(part) for part in parts])
    code.attempt(failed, "PyDict_SetItem", assigned, number, entry)
    code.decref(number)
    code.decref(entry)
    nbytes = code.size(code.get(code.get(variable, "_buffer", failed), "Buffer.nbytes", failed))
    large = code.size(code.known("LARGE"))
    with code.builder.if_then(code.builder.icmp_signed(">=", nbytes, large), likely=False):
        code.put(trace, "Trace.large", code.incref(code.known("True")))
    for place in ("_assigned_in", "_trace"):
        code.put(variable, place, code.incref(trace))
    code.put(variable, "_slot", code.incref(code.known("minus one")))
    here = code.builder.block
    code.begin(failed)
    code.builder.ret(integer(0))
    code.begin(here)


def read_assigned(
    new: New, code: ObjectCode, trace: ir.Value, operands: ir.Value, count: ir.Value, refused: ir.Block
) -> None:
    """Emit `Trace._read_version` for the operands that were assigned in the trace and not read since.

    Branch to `refused` at the first read that the trie does not know.
    """
    assignments = code.call("PyDict_Size", code.get(trace, "Trace.assigned", refused))
    with (
        code.builder.if_then(code.differ(assignments, integer(0)), likely=False),
        code.each(count) as position,
    ):
        operand = code.read(operands, position)
        with code.builder.if_then(code.is_a(operand, "Variable")):
            here = code.same(code.get(operand, "_assigned_in", refused), trace)
            unread = code.same(code.get(operand, "_slot", refused), code.known("minus one"))
            with code.builder.if_then(code.builder.and_(here, unread)):
                done = code.call_shared(
                    "jittape_read_version",
                    lambda function: _define_read_version(new, function),
                    trace,
                    operand,
                )
                code.require(code.differ(done, integer(0)), refused)


def _define_read_version(new: New, function: ir.Function) -> None:
    """Emit ``read_version(trace, variable)``, which returns 0, and has changed nothing, if the read is new."""
    code, (trace, variable) = new(function), function.args
    refused, known_number = code.block("refused"), code.block("known_number")
    number = code.attempt(refused, "PyLong_FromSsize_t", variable)
    node, table, assigned = (
        code.get(trace, f"Trace.{place}", known_number) for place in ("node", "variables", "assigned")
    )
    entry = code.call("PyDict_GetItemWithError", assigned, number)
    code.require(code.differ(entry, integer(0)), known_number)
    trainable = code.get(variable, "_trainable", known_number)
    parts = (code.known("read_variable"), code.new_tuple(known_number, code.incref(trainable)))
    key = code.new_tuple(known_number, code.incref(parts[0]), parts[1], code.incref(code.item(entry, 1)))
    child = code.call("PyDict_GetItemWithError", code.get(node, "Node.children", known_number), key)
    code.decref(key)
    code.require(code.differ(child, integer(0)), known_number)
    slot = code.get(child, "Node.slot", known_number)
    versions = code.attempt(known_number, "PyList_New", integer(0))
    known = code.call("PyDict_GetItemWithError", table, number)
    with code.builder.if_then(code.differ(known, integer(0))):
        before = code.item(known, 1)
        with code.each(code.length_of(before)) as position:
            code.attempt(known_number, "PyList_Append", versions, code.item(before, position))
    code.attempt(known_number, "PyList_Append", versions, slot)
    slots = code.attempt(known_number, "PyList_AsTuple", versions)
    code.decref(versions)
    read = code.new_tuple(known_number, code.incref(variable), slots)
    code.attempt(known_number, "PyDict_SetItem", table, number, read)
    code.decref(read)
    code.decref(number)
    code.put(variable, "_slot", code.incref(slot))
    code.put(trace, "Trace.node", code.incref(child))
    code.builder.ret(integer(1))
    code.begin(known_number)
    code.decref(number)
    code.builder.branch(refused)
    code.return_nothing(refused)
