"""Machine code that makes Tensors and finds the trace, and `trie_insertion.operand_of` for small arrays."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.new_buffers import new_buffer
from jittape.native.object_code import I32, I64, ObjectCode

__all__ = ["New", "is_structure", "new_tensor", "operand_of", "recorder"]

New = Callable[[ir.Function], ObjectCode]
"""A function that returns the code writer of an LLVM function."""


def new_tensor(code: ObjectCode, failed: ir.Block, **slots: ir.Value) -> ir.Value:
    """Return a Tensor; slots that are not given contain None. Branch to `failed` if there is no memory."""
    tensor = code.attempt(failed, "PyType_GenericAlloc", code.known("Tensor"), integer(0))
    for name in ("_trace", "_slot", "_aval", "_buffer", "_marker"):
        code.init(tensor, name, code.incref(slots.get(name) or code.known("None")))
    code.init(tensor, "Tensor._origin", code.incref(code.known("None")))
    return tensor


def recorder(code: ObjectCode, otherwise: ir.Block) -> ir.Value:
    """Return the trace that is this thread's recorder, with a new reference."""
    other = code.block("other")
    trace = code.call("PyObject_GetAttr", code.known("active"), code.known("recorder"))
    code.require(code.differ(trace, integer(0)), otherwise)
    code.require(code.is_a(trace, "Trace"), other)
    here = code.builder.block
    code.begin(other)
    code.decref(trace)
    code.builder.branch(otherwise)
    code.begin(here)
    return trace


def is_structure(new: New, code: ObjectCode, value: ir.Value, name: ir.Value) -> ir.Value:
    """Return 1 if a key may contain `value`, the argument `name`, or 0 if it has none; else 0.

    It may be an int, a str, a dtype, None, a tuple of ints and of such tuples, or a bool that is ``keepdims``: True
    equals 1, but is no axis.
    """
    return code.call_shared(
        "jittape_is_structure", lambda function: _define_is_structure(new, function), value, name
    )


def _define_is_structure(new: New, function: ir.Function) -> None:
    code = new(function)
    builder, (value, name) = code.builder, function.args
    no, kind = code.block("no"), code.type_of(value)
    fits = builder.and_(code.is_a(value, "bool"), code.same(name, code.known("keepdims")))
    for plain in ("int", "str", "type", "DType"):
        fits = builder.or_(fits, code.same(kind, code.known(plain)))
    fits = builder.or_(fits, code.same(value, code.known("None")))
    fits = builder.or_(fits, code.same(code.type_of(kind), code.known("type of dtypes")))
    with builder.if_then(fits):
        builder.ret(integer(1))
    code.require(code.is_a(value, "tuple"), no)
    with code.each(code.length_of(value)) as i:
        item = code.item(value, i)
        with builder.if_then(builder.not_(code.is_a(item, "int"))):
            code.require(code.is_a(item, "tuple"), no)
            inner = is_structure(new, code, item, integer(0))
            code.require(code.differ(inner, integer(0)), no)
    builder.ret(integer(1))
    code.begin(no)
    builder.ret(integer(0))


def operand_of(new: New, code: ObjectCode, array: ir.Value) -> ir.Value:
    """Emit a call of ``operand_of(array)``."""
    return code.call_shared("jittape_operand_of", lambda function: _define_operand_of(new, function), array)


def _define_operand_of(new: New, function: ir.Function) -> None:
    """Emit ``operand_of(array)``, which copies an ndarray to a Tensor; it returns 0 if Python has to do it.

    Python converts large arrays, and those of a shape and dtype that it has not met.
    """
    code = new(function)
    (array,) = function.args
    python, drop, found = code.block("python"), code.block("drop"), code.block("found")
    kind = code.words(1)
    code.write(kind, code.incref(code.call("PyList_GetItem", code.known("LAST_ARRAY"), integer(0))))
    other = code.block("other")
    _require_kind(code, array, code.read(kind), other)
    code.builder.branch(found)
    code.begin(other)
    code.decref(code.read(kind))
    code.write(kind, _find_kind(code, array, python))
    code.builder.branch(found)
    code.begin(found)
    arguments = code.words(1)
    code.write(arguments, array)
    copy = code.call_object(code.known("ndarray.copy"), arguments, integer(1))
    code.require(code.differ(copy, integer(0)), drop)
    objects = (code.known("None"), code.known("False"))
    nbytes = code.incref(code.item(code.read(kind), _NBYTES))
    buffer = new_buffer(code, code.known("Buffer"), copy, nbytes, *objects, drop)
    minus_one = code.known("minus one")
    aval, marker = (code.item(code.item(code.read(kind), _KNOWN), i) for i in range(2))
    tensor = new_tensor(code, drop, _slot=minus_one, _aval=aval, _marker=marker, _buffer=buffer)
    code.decref(buffer)
    code.decref(code.read(kind))
    code.builder.ret(tensor)
    code.begin(drop)
    code.decref(code.read(kind))
    code.builder.branch(python)
    code.begin(python)
    code.builder.ret(integer(0))


_SHAPE, _DTYPE, _KNOWN, _NBYTES = range(4)
"""Items of the item of `LAST_ARRAY`; the third one is that of `ARRAY_AVALS`."""


def _require_kind(code: ObjectCode, array: ir.Value, kind: ir.Value, other: ir.Block) -> None:
    """Branch to `other` unless an array has the shape and the dtype of the last one."""
    builder = code.builder
    code.require(code.is_a(kind, "tuple"), other)
    code.require_same(other, (code.item(kind, _DTYPE), code.get_unchecked(array, "dtype")))
    shape, rank = code.item(kind, _SHAPE), code.get_unchecked(array, "ndim", I32)
    code.require_same(other, (code.length_of(shape), builder.zext(rank, I64)))
    extents = code.get_unchecked(array, "shape")
    with code.each(code.length_of(shape)) as i:
        code.require_same(other, (code.size(code.item(shape, i)), code.read(extents, i)))


def _find_kind(code: ObjectCode, array: ir.Value, python: ir.Block) -> ir.Value:
    """Return the item of `LAST_ARRAY` for a small array with a new reference, and keep it."""
    nbytes = code.attempt(python, "PyObject_GetAttr", array, code.known("nbytes"))
    small = code.block("small")
    size, drop = code.size(nbytes), code.block("drop_nbytes")
    is_small = code.builder.icmp_signed("<", size, code.size(code.known("LARGE")))
    code.builder.cbranch(is_small, small, drop)
    code.begin(drop)
    code.decref(nbytes)
    code.builder.branch(python)
    code.begin(small)
    shape = code.attempt(drop, "PyObject_GetAttr", array, code.known("shape"))
    dtype = code.get_unchecked(array, "dtype")
    key = code.new_tuple(drop, shape, code.incref(dtype))
    known = code.call("PyDict_GetItemWithError", code.known("ARRAY_AVALS"), key)
    code.incref(shape)
    code.decref(key)
    unknown = code.block("unknown")
    code.require(code.differ(known, integer(0)), unknown)
    kind = code.new_tuple(drop, shape, code.incref(dtype), code.incref(known), nbytes)
    code.incref(kind)
    code.call("PyList_SetItem", code.known("LAST_ARRAY"), integer(0), kind)
    after = code.block("kind")
    code.builder.branch(after)
    code.begin(unknown)
    code.decref(shape)
    code.builder.branch(drop)
    code.begin(after)
    return kind
