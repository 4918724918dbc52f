"""Machine code that makes `Buffer` objects of small arrays."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode

__all__ = ["new_buffer"]


def new_buffer(
    code: ObjectCode,
    kind: ir.Value,
    array: ir.Value,
    nbytes: ir.Value,
    none: ir.Value,
    false: ir.Value,
    failed: ir.Block,
) -> ir.Value:
    """Return a new object of the class `kind`, the address of `Buffer`.

    It takes the references to `array` and `nbytes`, a Python int. `none` and `false` are the objects' addresses.
    """
    address = code.attempt(failed, "PyLong_FromSsize_t", code.get_unchecked(array, "data"))
    buffer = code.attempt(failed, "PyType_GenericAlloc", kind, integer(0))
    code.init(buffer, "Buffer.array", array)
    code.init(buffer, "Buffer.address", address)
    code.init(buffer, "Buffer.nbytes", nbytes)
    code.init(buffer, "Buffer.pooled", code.incref(none))
    code.init(buffer, "Buffer.exposed", code.incref(false))
    return buffer
