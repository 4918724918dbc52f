"""Machine code of ``np.shape(x)``, ``np.ndim(x)`` and ``np.size(x)``, and of these functions in `jittape.numpy`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_operands import New
from jittape.recording.machine_code.path_tables import RANK, SHAPE

__all__ = ["fact"]


def fact(new: New, code: ObjectCode, kind: ir.Value, x: ir.Value) -> ir.Value:
    """Emit a call of ``fact(kind, x)``, which returns 0 if Python has to answer; `kind` is an item of `FACTS`."""
    return code.call_shared("jittape_fact", lambda function: _define_fact(new(function)), kind, x)


def _define_fact(code: ObjectCode) -> None:
    builder, (kind, x) = code.builder, code.function.args
    python, total = code.block("python"), code.words(1)
    code.require(code.is_a(x, "Tensor"), python)
    aval = code.get(x, "_aval", python)
    code.require(code.is_a(aval, "Aval"), python)
    code.require_same(python, (code.call("PyList_Size", code.known("open_extents")), integer(0)))
    shape, asked = code.item(aval, 0), code.index(kind, python)
    with builder.if_then(code.same(asked, integer(SHAPE))):
        builder.ret(code.incref(shape))
    with builder.if_then(code.same(asked, integer(RANK))):
        builder.ret(code.call("PyLong_FromSsize_t", code.length_of(shape)))
    code.write(total, integer(1))
    with code.each(code.length_of(shape)) as i:
        extent = code.index(code.item(shape, i), python)
        code.write(total, builder.mul(code.read(total), extent))
    builder.ret(code.call("PyLong_FromSsize_t", code.read(total)))
    code.begin(python)
    code.call("PyErr_Clear")
    builder.ret(integer(0))
