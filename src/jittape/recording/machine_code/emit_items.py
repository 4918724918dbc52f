"""Machine code of ``x[key] = value``, ``iter(x)``, ``np.take(x, indices, axis)``, and of indices of rows."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import I32, ObjectCode
from jittape.recording.machine_code.emit_getitem import Getitem, getitem
from jittape.recording.machine_code.emit_methods import call_by_position, call_python
from jittape.recording.machine_code.emit_operands import New

__all__ = ["define_iter", "define_setitem", "require_named", "rows_of", "take_by_operator", "take_over"]

_NAMED = 2
"""References to a tensor that the caller of ``x[key] = value`` has a name for: the name's and the call's."""


def define_iter(new: New, function: ir.Function) -> None:
    """Emit ``__iter__(self)``; Python records each row that the trie does not know."""
    code = new(function)
    own, _ = function.args
    python, failed, raised = (code.block(name) for name in ("python", "failed", "raised"))
    builder, memory, row = code.builder, code.words(2), code.words(1)
    code.require(builder.or_(code.is_a(own, "Tensor"), code.is_a(own, "Variable")), python)
    aval = code.get(own, "_aval", python)
    code.require(code.is_a(aval, "Aval"), python)
    shape = code.item(aval, 0)
    code.require(code.differ(code.length_of(shape), integer(0)), python)
    code.require(code.is_a(code.item(shape, 0), "int"), python)
    rows = code.attempt(raised, "PyList_New", integer(0))
    with code.each(code.size(code.item(shape, 0))) as i:
        number = code.attempt(failed, "PyLong_FromSsize_t", i)
        code.write(row, getitem(new, code, own, number))
        with builder.if_then(code.same(code.read(row), integer(0)), likely=False):
            code.write(memory, own)
            code.write(memory, number, 1)
            code.write(row, code.call_object(code.known("Operators.__getitem__"), memory, integer(2)))
        code.decref(number)
        code.require(code.differ(code.read(row), integer(0)), failed)
        code.put(code.read(row), "Tensor._origin", code.incref(code.known("ROW")))
        code.attempt(failed, "PyList_Append", rows, code.read(row))
        code.decref(code.read(row))
    found = code.call("PyObject_GetIter", rows)
    code.decref(rows)
    builder.ret(found)
    code.begin(failed)
    code.decref(rows)
    builder.branch(raised)
    code.begin(raised)
    builder.ret(integer(0))
    code.begin(python)
    call_by_position(code, code.known("Operators.__iter__"), own)


def define_setitem(name: str, become: str, new: New, function: ir.Function) -> None:
    """Emit ``__setitem__(self, key, value)`` of a class; its method `become` takes over the new value.

    Python refuses writes that nobody could see: see `Tensor.__setitem__`.
    """
    code, kind = new(function), name.partition(".")[0]
    own, arguments, count, names = function.args
    python = code.block("python")
    code.require_same(python, (count, integer(2)), (names, integer(0)))
    code.require(code.is_a(own, kind), python)
    key, value = (code.read(arguments, i) for i in range(2))
    if kind == "Tensor":
        require_named(code, own, python)
    for sequence in ("list", "tuple"):
        code.require(code.builder.not_(code.is_a(value, sequence)), python)
    updated = code.call_shared(
        "jittape_setitem", lambda shared: _Setitem(new, shared).emit(), own, key, value
    )
    code.require(code.differ(updated, integer(0)), python)
    take_over(new, code, own, updated, become, pending=kind == "Tensor")
    code.begin(python)
    call_python(new, code, code.known(name), *function.args)


def require_named(code: ObjectCode, tensor: ir.Value, python: ir.Block) -> None:
    """Branch to `python` if the call may be all that refers to a Tensor, so that nobody could see a write to it."""
    none = code.known("None")
    code.require_same(python, (code.get(tensor, "Tensor._origin", python), none))
    is_pending = code.same(code.get(tensor, "_buffer", python), none)
    least = code.builder.select(is_pending, *(ir.Constant(I32, _NAMED + extra) for extra in (1, 0)))
    references = code.get_unchecked(tensor, "references", I32)
    code.require(code.builder.icmp_signed(">=", references, least), python)


def take_over(
    new: New, code: ObjectCode, own: ir.Value, updated: ir.Value, become: str, *, pending: bool
) -> None:
    """Return None after `own` has taken over the value of `updated`, which is released.

    The method `become` does it, unless both may be, and are, `pending` tensors of one trace.
    """
    raised, memory = code.block("raised"), code.words(2)
    if pending:
        with code.builder.if_then(code.differ(_becomes(new, code, own, updated), integer(0)), likely=True):
            code.decref(updated)
            code.builder.ret(code.incref(code.known("None")))
    code.write(memory, own)
    code.write(memory, updated, 1)
    done = code.call_object(code.known(become), memory, integer(2))
    code.decref(updated)
    code.require(code.differ(done, integer(0)), raised)
    code.decref(done)
    code.builder.ret(code.incref(code.known("None")))
    code.begin(raised)
    code.builder.ret(integer(0))


def _becomes(new: New, code: ObjectCode, *own_updated: ir.Value) -> ir.Value:
    """Emit `Tensor._become` for pending tensors of one trace; the call returns 0 if Python has to do it.

    The trace remembers the slot before the write if a tape holds it. Python does so at the first write to a tensor.
    """
    return code.call_shared("jittape_becomes", lambda shared: _define_becomes(new(shared)), *own_updated)


def _define_becomes(code: ObjectCode) -> None:
    own, updated = code.function.args
    python, drop = code.block("python"), code.block("drop")
    trace, none = code.get(updated, "_trace", python), code.known("None")
    code.require(code.is_a(trace, "Trace"), python)
    code.require_same(python, (code.get(own, "_trace", python), trace))
    for tensor in (own, updated):
        code.require_same(python, (code.get(tensor, "_buffer", python), none))
    with code.builder.if_then(code.differ(code.get(trace, "Trace.holders", python), code.known("zero"))):
        written = code.get(trace, "Trace.written", python)
        code.require(code.is_a(written, "dict"), python)
        number = code.attempt(python, "PyLong_FromSsize_t", own)
        known = code.attempt(drop, "PyDict_GetItemWithError", written, number)
        code.require_same(drop, (code.call("PyWeakref_GetObject", code.item(known, 0)), own))
        slot, before = code.get(own, "_slot", drop), code.item(known, 1)
        slots = code.new_tuple(drop, code.incref(slot), code.incref(before))
        entry = code.new_tuple(drop, code.incref(code.item(known, 0)), slots)
        code.attempt(drop, "PyDict_SetItem", written, number, entry)
        code.decref(entry)
        code.decref(number)
    code.put(own, "_slot", code.incref(code.get(updated, "_slot", python)))
    code.builder.ret(integer(1))
    code.begin(drop)
    code.decref(number)
    code.builder.branch(python)
    code.return_nothing(python)


class _Setitem(Getitem):
    """The writer of ``setitem(x, key, value)``, which returns the new value of `x`, or 0 if Python has to record it."""

    BODY = 4

    def _begin_operands(self) -> None:
        super()._begin_operands()
        self._append(self.code.function.args[2])


def take_by_operator(new: New, code: ObjectCode, *call: ir.Value) -> ir.Value:
    """Emit a call of ``take(x, arguments, count, kwargs, names)``, which returns 0 without an error if Python records.

    The arguments are those behind the tensor; those by name are in the dictionary `kwargs` or in the tuple `names`.
    """
    return code.call_shared("jittape_take", lambda shared: _Take(new, shared).emit(), *call)


class _Take:
    """The writer of `take_by_operator`. The indices are an int, a list or an array."""

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = code = new(function)
        self.x, self.arguments, self.count, self.kwargs, self.names = function.args
        self.no, self.failed = code.block("no"), code.block("failed")

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        code.require(builder.icmp_signed(">", self.count, integer(0)), self.no)
        indices = code.read(self.arguments)
        is_list = builder.or_(code.is_a(indices, "ndarray"), code.is_a(indices, "list"))
        code.require(builder.or_(is_list, code.is_a(indices, "int")), self.no)
        code.require(code.is_a(self.x, "Tensor"), self.no)
        along = self._position(self._axis())
        later, key = code.block("later"), code.words(1)
        with builder.if_then(code.same(along, integer(0))):
            builder.ret(getitem(self.new, code, self.x, indices))
        builder.branch(later)
        code.begin(later)
        code.write(key, code.attempt(self.failed, "PyTuple_New", builder.add(along, integer(1))))
        with code.each(along) as i:
            code.fill(code.read(key), i, code.incref(code.known("slice(None)")))
        code.fill(code.read(key), along, code.incref(indices))
        part = getitem(self.new, code, self.x, code.read(key))
        code.decref(code.read(key))
        builder.ret(part)
        code.begin(self.failed)
        code.call("PyErr_Clear")
        builder.branch(self.no)
        code.begin(self.no)
        builder.ret(integer(0))

    def _axis(self) -> ir.Value:
        """Return the axis, or None if it is not given."""
        code, builder, axis = self.code, self.code.builder, self.code.words(1)
        code.write(axis, code.known("None"))
        with builder.if_then(code.differ(self.count, integer(1))):
            code.require_same(self.no, (self.count, integer(2)))
            code.write(axis, code.read(self.arguments, 1))
        with builder.if_then(code.differ(self.kwargs, integer(0))):
            code.require_same(self.no, (self.count, integer(1)))
            code.require_same(self.no, (code.call("PyDict_Size", self.kwargs), integer(1)))
            given = code.call("PyDict_GetItemWithError", self.kwargs, code.known("axis"))
            code.require(code.differ(given, integer(0)), self.no)
            code.write(axis, given)
        with builder.if_then(code.differ(self.names, integer(0))):
            code.require_same(self.no, (self.count, integer(1)), (code.length_of(self.names), integer(1)))
            code.require_same(self.no, (code.item(self.names, 0), code.known("axis")))
            code.write(axis, code.read(self.arguments, 1))
        return code.read(axis)

    def _position(self, axis: ir.Value) -> ir.Value:
        """Return the number of the axis in the shape; None is the only axis of a vector."""
        code, builder, along = self.code, self.code.builder, self.code.words(1)
        aval = code.get(self.x, "_aval", self.no)
        code.require(code.is_a(aval, "Aval"), self.no)
        rank = code.length_of(code.item(aval, 0))
        with builder.if_else(code.same(axis, code.known("None"))) as (by_default, given):
            with by_default:
                code.require_same(self.no, (rank, integer(1)))
                code.write(along, integer(0))
            with given:
                code.require(code.is_a(axis, "int"), self.no)
                found = code.index(axis, self.failed)
                negative = builder.icmp_signed("<", found, integer(0))
                code.write(along, builder.select(negative, builder.add(found, rank), found))
        found = code.read(along)
        code.require(builder.icmp_signed(">=", found, integer(0)), self.no)
        code.require(builder.icmp_signed("<", found, rank), self.no)
        return found


def rows_of(new: New, code: ObjectCode, *x_given_axis: ir.Value) -> ir.Value:
    """Emit a call of ``rows(x, given, axis)``: an index of `x` along an axis, or an array of int64 of several, or 0.

    It returns a new reference to an int or array in range, which is `given` or made of a list of ints.
    """
    return code.call_shared("jittape_rows", lambda shared: _Rows(new, shared).emit(), *x_given_axis)


class _Rows(Getitem):
    """The writer of `rows_of`."""

    def emit(self) -> None:
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        is_tensor = builder.or_(code.is_a(self.x, "Tensor"), code.is_a(self.x, "Variable"))
        code.require(is_tensor, self.no)
        extents = code.call("PyList_Size", code.known("open_extents"))
        code.require_same(self.no, (extents, integer(0)))
        aval = code.get(self.x, "_aval", self.no)
        code.require(code.is_a(aval, "Aval"), self.no)
        extent = self._extent(code.item(aval, 0))
        given = code.read(self.key)
        code.write(found, given)
        with builder.if_else(code.is_a(given, "int")) as (one, several):
            with one:
                self._require_in_range(code.index(given, self.refused), extent, self.refused)
            with several:
                array = self._indices(given, self.refused)
                code.decref(self._aval_of_indices(array))
                self._require_indices(array, extent)
                code.write(found, array)
        code.incref(code.read(found))
        self._drop_all()
        builder.ret(code.read(found))
        self._return_nothing()

    def _extent(self, shape: ir.Value) -> ir.Value:
        """Return the extent of the axis; refuse an axis that the shape does not have."""
        code, builder = self.code, self.code.builder
        axis, rank = code.index(code.function.args[2], self.refused), code.length_of(shape)
        self._require_in_range(axis, rank, self.refused)
        along = builder.select(self._is_negative(axis), builder.add(axis, rank), axis)
        extent = code.item(shape, along)
        code.require(code.is_a(extent, "int"), self.refused)
        return code.index(extent, self.refused)
