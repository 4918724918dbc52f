"""Machine code that makes Tensors and finds the trace, and `trie_insertion.operand_of` for small arrays."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import external, integer
from jittape.native.array_copy import ARRAY_COPY
from jittape.native.new_buffers import new_buffer
from jittape.native.object_code import I32, I64, ObjectCode
from jittape.recording.machine_code.path_tables import LAST_ARRAYS

__all__ = ["KEY", "NBYTES", "New", "array_copy", "copied", "is_structure", "kind_of_array", "new_tensor", "operand_of", "recorder"]

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


def operand_of(new: New, code: ObjectCode, array: ir.Value, python: ir.Block) -> ir.Value:
    """Return a Tensor with the values of an ndarray; branch to `python` if Python has to convert it."""
    memory, drop, after = code.words(1), code.block("drop_copy"), code.block("tensor")
    buffer = copied(new, code, array, memory)
    code.require(code.differ(buffer, integer(0)), python)
    known = code.read(memory)
    slots = {"_slot": code.known("minus one"), "_aval": code.item(known, 0), "_marker": code.item(known, 1)}
    tensor = new_tensor(code, drop, **slots, _buffer=buffer)
    code.decref(buffer)
    code.decref(known)
    code.builder.branch(after)
    code.begin(drop)
    code.decref(buffer)
    code.decref(known)
    code.builder.branch(python)
    code.begin(after)
    return tensor


def copied(new: New, code: ObjectCode, array: ir.Value, memory: ir.Value) -> ir.Value:
    """Emit a call of ``copied(array, memory)``: see `_define_copied`."""
    return code.call_shared("jittape_copied", lambda shared: _define_copied(new, shared), array, memory)


def _define_copied(new: New, function: ir.Function) -> None:
    """Emit ``copied(array, memory)``, which copies an ndarray to a Buffer; it returns 0 if Python has to do it.

    It stores the item of `ARRAY_AVALS` in `memory`, a new reference. Python converts large arrays, and those of a shape
    and dtype that it has not met.
    """
    code = new(function)
    array, memory = function.args
    python, drop = code.block("python"), code.block("drop")
    kind = kind_of_array(new, code, array)
    code.require(code.differ(kind, integer(0)), python)
    copy = array_copy(code, array)
    code.require(code.differ(copy, integer(0)), drop)
    objects = (code.known("None"), code.known("False"))
    nbytes = code.incref(code.item(kind, NBYTES))
    buffer = new_buffer(code, code.known("Buffer"), copy, nbytes, *objects, drop)
    code.write(memory, code.incref(code.item(kind, _KNOWN)))
    code.decref(kind)
    code.builder.ret(buffer)
    code.begin(drop)
    code.decref(kind)
    code.builder.branch(python)
    code.begin(python)
    code.builder.ret(integer(0))


def array_copy(code: ObjectCode, array: ir.Value) -> ir.Value:
    """Return a copy of an ndarray in C order, or 0 with an error set."""
    copy = external(code.function.module, ir.FunctionType(I64, [I64, I32]), ARRAY_COPY)
    return code.builder.call(copy, (array, ir.Constant(I32, 0)))


def kind_of_array(new: New, code: ObjectCode, array: ir.Value) -> ir.Value:
    """Emit a call of ``kind(array)``, which returns a new reference to an item of `LAST_ARRAYS`, or 0."""
    return code.call_shared("jittape_kind_of_array", lambda shared: _define_kind(new(shared)), array)


def _define_kind(code: ObjectCode) -> None:
    (array,) = code.function.args
    python, other = code.block("python"), code.block("other")
    place = _place_of(code, array)
    kind = code.call("PyList_GetItem", code.known("LAST_ARRAYS"), place)
    _require_kind(code, array, kind, other)
    code.builder.ret(code.incref(kind))
    code.begin(other)
    code.builder.ret(_find_kind(code, array, place, python))
    code.begin(python)
    code.builder.ret(integer(0))


_SHAPE, _DTYPE, _KNOWN, NBYTES, KEY = range(5)
"""Items of an item of `LAST_ARRAYS`; the third one is that of `ARRAY_AVALS`, and the last one its key."""


def _place_of(code: ObjectCode, array: ir.Value) -> ir.Value:
    """Return the place in `LAST_ARRAYS` of arrays with the shape and dtype of `array`; several kinds may share it."""
    builder, mixed = code.builder, code.words(1)
    code.write(mixed, builder.lshr(code.get_unchecked(array, "dtype"), integer(5)))
    extents = code.get_unchecked(array, "shape")
    with code.each(builder.zext(code.get_unchecked(array, "ndim", I32), I64)) as i:
        weighted = builder.mul(code.read(mixed), integer(3))
        code.write(mixed, builder.add(weighted, builder.add(code.read(extents, i), integer(1))))
    return builder.and_(code.read(mixed), integer(len(LAST_ARRAYS) - 1))


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


def _find_kind(code: ObjectCode, array: ir.Value, place: ir.Value, python: ir.Block) -> ir.Value:
    """Return the item of `LAST_ARRAYS` for a small array with a new reference, and keep it."""
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
    unknown = code.block("unknown")
    code.require(code.differ(known, integer(0)), unknown)
    parts = [code.incref(part) for part in (shape, dtype, known)]
    kind = code.new_tuple(drop, *parts, nbytes, key)
    code.incref(kind)
    code.call("PyList_SetItem", code.known("LAST_ARRAYS"), place, kind)
    after = code.block("kind")
    code.builder.branch(after)
    code.begin(unknown)
    code.decref(key)
    code.builder.branch(drop)
    code.begin(after)
    return kind
