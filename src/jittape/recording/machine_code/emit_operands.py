"""Machine code that makes Tensors, finds the trace, and tells structure from operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import I64, ObjectCode
from jittape.recording.machine_code.path_tables import MOST_SHAPES

__all__ = [
    "New",
    "OwnedObjects",
    "changed",
    "each_result",
    "is_structure",
    "new_tensor",
    "pending_tensor",
    "plain_list",
    "plain_shape",
    "recorder",
]

New = Callable[[ir.Function], ObjectCode]
"""A function that returns the code writer of an LLVM function."""


class OwnedObjects:
    """Named words for objects that a function refers to and releases at its end; 0 is no object."""

    def __init__(self, code: ObjectCode, *names: str) -> None:
        self._code = code
        self._words = {name: code.words(1) for name in names}
        for word in self._words.values():
            code.write(word, integer(0))

    def word(self, name: str) -> ir.Value:
        """Return the address of a word."""
        return self._words[name]

    def keep(self, name: str, value: ir.Value) -> ir.Value:
        """Own `value`, a new reference, and return it."""
        self._code.write(self._words[name], value)
        return value

    def read(self, name: str) -> ir.Value:
        """Return an object, borrowed."""
        return self._code.read(self._words[name])

    def take(self, name: str) -> ir.Value:
        """Return an object, which the caller owns from now on."""
        value = self.read(name)
        self._code.write(self._words[name], integer(0))
        return value

    def release(self) -> None:
        """Release all objects."""
        for name in self._words:
            self._code.decref(self.read(name))


def changed(code: ObjectCode, number: ir.Value, change: int, failed: ir.Block) -> ir.Value:
    """Return a Python int plus `change`, a new reference."""
    total = code.builder.add(code.size(number), integer(change))
    return code.attempt(failed, "PyLong_FromSsize_t", total)


def new_tensor(code: ObjectCode, failed: ir.Block, kind: str = "Tensor", **slots: ir.Value) -> ir.Value:
    """Return a Tensor; slots that are not given contain None. Branch to `failed` if there is no memory."""
    tensor = code.attempt(failed, "PyType_GenericAlloc", code.known(kind), integer(0))
    for name in ("_trace", "_slot", "_aval", "_buffer", "_marker"):
        code.init(tensor, name, code.incref(slots.get(name) or code.known("None")))
    code.init(tensor, "Tensor._origin", code.incref(code.known("None")))
    return tensor


def pending_tensor(
    code: ObjectCode, trace: ir.Value, slot: ir.Value, aval: ir.Value, failed: ir.Block
) -> ir.Value:
    """Return a pending Tensor, which the trace knows of; branch to `failed` if there is no memory."""
    tensor = new_tensor(code, failed, _trace=trace, _slot=slot, _aval=aval)
    code.attempt(failed, "PyList_Append", code.get(trace, "Trace.pending", failed), tensor)
    return tensor


@contextmanager
def each_result(
    code: ObjectCode, trace: ir.Value, results: ir.Value, failed: ir.Block
) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Emit a loop over a node's `results`; yield the index and the pending Tensor or None, with a new reference."""
    none, made = code.known("None"), code.words(1)
    with code.each(code.length_of(results)) as i:
        result = code.item(results, i)
        with code.builder.if_else(code.same(result, none)) as (missing, present):
            with missing:
                code.write(made, code.incref(none))
            with present:
                code.write(
                    made, pending_tensor(code, trace, code.item(result, 0), code.item(result, 1), failed)
                )
        yield i, code.read(made)


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
    with builder.if_then(builder.not_(code.is_a(value, "tuple")), likely=False):
        is_dtype = code.call("PyType_IsSubtype", kind, code.known("DType"))  # such as `jittape.numpy.float32`
        builder.ret(builder.zext(is_dtype, I64))
    with code.each(code.length_of(value)) as i:
        item = code.item(value, i)
        with builder.if_then(builder.not_(code.is_a(item, "int"))):
            code.require(code.is_a(item, "tuple"), no)
            inner = is_structure(new, code, item, integer(0))
            code.require(code.differ(inner, integer(0)), no)
    builder.ret(integer(1))
    code.begin(no)
    builder.ret(integer(0))


def plain_shape(new: New, code: ObjectCode, value: ir.Value) -> ir.Value:
    """Return the tuple in `PLAIN_SHAPES` for a `TensorShape` whose extents are ints, borrowed, else `value`."""
    return code.call_shared("jittape_plain_shape", lambda function: _define_plain_shape(new, function), value)


def plain_list(new: New, code: ObjectCode, value: ir.Value) -> ir.Value:
    """Return the tuple in `PLAIN_LISTS` for a list of ints, borrowed, else `value`."""
    return code.call_shared("jittape_plain_list", lambda function: _define_plain_list(new, function), value)


def _define_plain_shape(new: New, function: ir.Function) -> None:
    code, (value,) = new(function), function.args
    unknown, other = code.block("unknown"), code.block("other")
    code.require(code.is_a(value, "TensorShape"), other)  # a shape of unknown rank has another type
    with code.each(code.length_of(value)) as i:
        code.require(code.is_a(code.item(value, i), "int"), other)
    code.builder.ret(code.attempt(unknown, "PyDict_GetItemWithError", code.known("PLAIN_SHAPES"), value))
    code.begin(unknown)
    plain = code.attempt(other, "PyTuple_GetSlice", value, integer(0), code.length_of(value))
    _keep(code, "PLAIN_SHAPES", value, plain, other)
    code.begin(other)
    code.call("PyErr_Clear")
    code.builder.ret(value)


def _define_plain_list(new: New, function: ir.Function) -> None:
    code, (value,) = new(function), function.args
    unknown, other = code.block("unknown"), code.block("other")
    code.require(code.is_a(value, "list"), other)
    with code.each_item(value) as (_, item):
        code.require(code.is_a(item, "int"), other)
    plain = code.attempt(other, "PyList_AsTuple", value)
    found = code.attempt(unknown, "PyDict_GetItemWithError", code.known("PLAIN_LISTS"), plain)
    code.decref(plain)
    code.builder.ret(found)
    code.begin(unknown)
    _keep(code, "PLAIN_LISTS", plain, plain, other)
    code.begin(other)
    code.call("PyErr_Clear")
    code.builder.ret(value)


def _keep(code: ObjectCode, table: str, key: ir.Value, plain: ir.Value, full: ir.Block) -> None:
    """Add a tuple to a table, release it and return it; branch to `full` if the table is full."""
    drop = code.block("drop")
    count = code.call("PyDict_Size", code.known(table))
    code.require(code.builder.icmp_signed("<", count, integer(MOST_SHAPES)), drop)
    added = code.call("PyDict_SetItem", code.known(table), key, plain)
    code.require(code.same(added, ir.Constant(added.type, 0)), drop)
    code.decref(plain)
    code.builder.ret(plain)
    code.begin(drop)
    code.decref(plain)
    code.builder.branch(full)
