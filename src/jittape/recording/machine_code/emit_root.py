"""Machine code that finds the root of a step in the trie: see `Trie.root`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode

__all__ = ["placed_node"]


def placed_node(code: ObjectCode, trace: ir.Value, refused: ir.Block) -> ir.Value:
    """Return the current node of a trace; the first op of a step chooses the root.

    Branch to `refused` if the place in the user's code is new, for which Python makes a root.
    """
    unplaced = code.same(code.get(trace, "Trace.node", refused), code.known("UNPLACED"))
    with code.builder.if_then(unplaced, likely=False):
        place = _place(code, refused)
        known = code.call("PyDict_GetItemWithError", code.known("Trie.places"), place)
        code.decref(place)
        code.require(code.differ(known, integer(0)), refused)
        code.put(trace, "Trace.node", code.incref(known))
    return code.get(trace, "Trace.node", refused)


def _place(code: ObjectCode, nowhere: ir.Block) -> ir.Value:
    """Return the key of the running instruction of the user's code in `Trie.places`."""
    builder = code.builder
    frame, running = code.words(1), code.words(1)
    innermost = code.call("PyEval_GetFrame")
    code.require(code.differ(innermost, integer(0)), nowhere)
    code.write(frame, code.incref(innermost))
    inspect, outwards, out, users = (code.block(name) for name in ("frame", "outwards", "out", "users"))
    builder.branch(inspect)
    code.begin(inspect)
    code.write(running, code.call("PyFrame_GetCode", code.read(frame)))
    code.decref(code.read(running))  # the frame keeps it alive
    number = code.attempt(out, "PyLong_FromSsize_t", code.read(running))
    of_jittape = code.call("PyDict_GetItemWithError", code.known("code_of_jittape"), number)
    code.decref(number)
    builder.cbranch(code.same(of_jittape, integer(0)), users, outwards)
    code.begin(outwards)
    outer = code.call("PyFrame_GetBack", code.read(frame))
    code.require(code.differ(outer, integer(0)), out)
    code.decref(code.read(frame))
    code.write(frame, outer)
    builder.branch(inspect)
    code.begin(out)
    code.decref(code.read(frame))
    builder.branch(nowhere)
    code.begin(users)
    at = builder.sext(code.call("PyFrame_GetLasti", code.read(frame)), ir.IntType(64))
    code.decref(code.read(frame))
    return code.attempt(nowhere, "PyLong_FromSsize_t", builder.add(code.read(running), at))
