"""Machine code of `Buffer.view`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import external, integer
from jittape.native.array_functions import ARRAY_VIEW
from jittape.native.object_code import I32, I64, ObjectCode
from jittape.native.object_layout import WRITEABLE

__all__ = ["read_only_view"]


def read_only_view(code: ObjectCode, buffer: ir.Value, failed: ir.Block) -> ir.Value:
    """Return a read-only view of a Buffer's array, a new reference; branch to `failed` if there is none.

    The base of the view is a tuple with the array's owner, so that NumPy refuses to make the view writeable.
    """
    code.require(code.is_a(buffer, "Buffer"), failed)
    array = code.get(buffer, "Buffer.array", failed)
    code.require(code.is_a(array, "ndarray"), failed)
    code.put(buffer, "Buffer.exposed", code.incref(code.known("True")))
    new_view = external(code.function.module, ir.FunctionType(I64, [I64, I64, I64]), ARRAY_VIEW)
    view = code.builder.call(new_view, (array, integer(0), integer(0)))
    code.require(code.differ(view, integer(0)), failed)
    flags = code.get_unchecked(view, "flags", I32)
    read_only = code.builder.and_(flags, ir.Constant(I32, ~WRITEABLE))
    code.store(read_only, view, code.places["flags"])
    base = code.get_unchecked(view, "array_base")
    code.init(view, "array_base", code.new_tuple(failed, base))
    return view
