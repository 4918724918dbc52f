"""Machine code of ``x[key]`` for keys whose plan is known: see `jittape.primitives.indexing.getitem`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import I32, I64, ObjectCode
from jittape.native.object_layout import CONTIGUOUS_AND_ALIGNED
from jittape.recording.machine_code.emit_array_copies import KEY, kind_of_array
from jittape.recording.machine_code.emit_methods import call_by_position
from jittape.recording.machine_code.emit_operands import New, recorder
from jittape.recording.machine_code.emit_recorder import OPERANDS, record
from jittape.recording.machine_code.path_tables import LAST_KEYS, LAST_LISTS

__all__ = ["Getitem", "define_getitem", "getitem"]

_MOST_INDICES = 4096
"""Maximum size of an index array whose range machine code checks."""
_MOST_KEPT = 16
"""Maximum number of ints and arrays that the call makes; Python records keys with more."""


def define_getitem(name: str, is_variable: bool, new: New, function: ir.Function) -> None:
    """Emit ``__getitem__(self, key)``; a part of a Variable remembers where it comes from."""
    code = new(function)
    own, key = function.args
    python = code.block("python")
    part = getitem(new, code, own, key)
    code.require(code.differ(part, integer(0)), python)
    if is_variable:
        failed = code.block("failed")
        code.put(part, "Tensor._origin", code.new_tuple(failed, code.incref(own), code.incref(key)))
        code.builder.ret(part)
        code.begin(failed)
        code.decref(part)
        code.builder.ret(integer(0))
    else:
        code.builder.ret(part)
    code.begin(python)
    call_by_position(code, code.known(name), own, key)


def getitem(new: New, code: ObjectCode, x: ir.Value, key: ir.Value) -> ir.Value:
    """Emit a call of ``getitem(x, key)``, which returns 0 without an error if Python has to record the call."""
    return code.call_shared("jittape_getitem", lambda shared: Getitem(new, shared).emit(), x, key)


class Getitem:
    """The writer of `getitem`. A subclass may record another body of the plan, with more operands."""

    BODY = 0
    """Item of a plan: the body to record."""

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = code = new(function)
        self.x, given = function.args[:2]
        self.key = code.words(1)
        code.write(self.key, given)
        self.no, self.refused = code.block("no"), code.block("refused")
        self.operands, self.count = code.words(OPERANDS), code.words(1)
        # References that the call holds: the trace, the parts of the plan, the plan, and numbers and arrays.
        self.trace, self.parts, self.plan = self.held = [code.words(1) for _ in range(3)]
        self.kept, self.n_kept, self.place = code.words(_MOST_KEPT), code.words(1), code.words(1)
        for memory in (*self.held, self.n_kept, self.place):
            code.write(memory, integer(0))

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        code.write(self.trace, recorder(code, self.no))
        self._begin_operands()
        none_open = code.same(code.call("PyList_Size", code.known("open_extents")), integer(0))
        code.require(none_open, self.refused)
        aval = code.get(self.x, "_aval", self.refused)
        code.require(code.is_a(aval, "Aval"), self.refused)
        shape = code.item(aval, 0)

        names = ("row", "rows", "others", "number", "other", "planned")
        row, rows, others, number, other, planned = (code.block(name) for name in names)
        given = code.read(self.key)
        builder.cbranch(code.is_a(given, "int"), row, rows)
        code.begin(row)
        self._start_of_row(shape)
        builder.branch(planned)
        code.begin(rows)
        code.require(code.is_a(given, "slice"), others)
        self._start_of_rows(shape, other)
        builder.branch(planned)
        code.begin(others)
        builder.cbranch(self._is_numpy_int(given), number, other)
        code.begin(number)
        code.write(self.key, self._int(given))
        builder.branch(row)
        code.begin(other)
        self._parts_of_key(shape)
        builder.branch(planned)

        code.begin(planned)
        self._find_plan()
        plan = code.read(self.plan)
        call = code.read(self.trace), code.item(plan, self.BODY), self.operands, code.read(self.count)
        made = record(self.new, code, *call, code.item(plan, 1), integer(0))
        self._drop_all()
        builder.ret(made)
        self._return_nothing()

    def _begin_operands(self) -> None:
        """Write the operands that stand before those of the key."""
        self.code.write(self.count, integer(0))
        self._append(self.x)

    def _return_nothing(self) -> None:
        code = self.code
        code.begin(self.refused)
        self._drop_all()
        code.builder.branch(self.no)
        code.return_nothing(self.no)

    def _drop_all(self) -> None:
        code = self.code
        for memory in self.held:
            code.decref(code.read(memory))
        with code.each(code.read(self.n_kept)) as i:
            code.decref(code.read(self.kept, i))

    def _keep(self, value: ir.Value) -> ir.Value:
        """Hold a new reference until the call ends, and return the object."""
        code, builder, count = self.code, self.code.builder, self.code.read(self.n_kept)
        with builder.if_then(builder.icmp_signed(">=", count, integer(_MOST_KEPT)), likely=False):
            code.decref(value)
            builder.branch(self.refused)
        code.write(self.kept, value, count)
        code.write(self.n_kept, builder.add(count, integer(1)))
        return value

    def _is_numpy_int(self, value: ir.Value) -> ir.Value:
        code, found = self.code, self.code.words(1)
        code.write(found, integer(0))
        known = code.call("PyDict_GetItemWithError", code.known("NUMPY_SCALARS"), code.type_of(value))
        with code.builder.if_then(code.differ(known, integer(0))):
            is_int = code.same(code.item(known, 1), code.known("int"))
            code.write(found, code.builder.zext(is_int, I64))
        return code.differ(code.read(found), integer(0))

    def _int(self, value: ir.Value) -> ir.Value:
        """Return the Python int that equals one of NumPy's, borrowed."""
        return self._keep(self.code.attempt(self.refused, "PyNumber_Index", value))

    def _append(self, operand: ir.Value) -> None:
        code = self.code
        count = code.read(self.count)
        code.require(code.builder.icmp_signed("<", count, integer(OPERANDS)), self.refused)
        code.write(self.operands, operand, count)
        code.write(self.count, code.builder.add(count, integer(1)))

    def _mix(self, *parts: ir.Value) -> None:
        """Let objects determine the place of the plan in `LAST_KEYS`."""
        code, builder = self.code, self.code.builder
        for part in parts:
            address = builder.lshr(part, integer(4))
            code.write(self.place, builder.add(builder.mul(code.read(self.place), integer(3)), address))

    def _begin_at(self, start: ir.Value) -> None:
        code = self.code
        self._append(self._keep(code.attempt(self.refused, "PyLong_FromSsize_t", start)))

    def _first_extent(self, shape: ir.Value, otherwise: ir.Block) -> ir.Value:
        code = self.code
        code.require(code.differ(code.length_of(shape), integer(0)), otherwise)
        extent = code.item(shape, 0)
        code.require(code.is_a(extent, "int"), otherwise)
        return code.index(extent, self.refused)

    def _start_of_row(self, shape: ir.Value) -> None:
        """Take the parts and the start of ``x[i]``."""
        code, builder = self.code, self.code.builder
        extent = self._first_extent(shape, self.refused)
        index = code.index(code.read(self.key), self.refused)
        self._require_in_range(index, extent, self.refused)
        self._begin_at(builder.select(self._is_negative(index), builder.add(index, extent), index))
        kind = code.known("int")
        code.write(self.parts, code.new_tuple(self.refused, code.incref(shape), code.incref(kind)))
        self._mix(shape, kind)

    def _is_negative(self, index: ir.Value) -> ir.Value:
        return self.code.builder.icmp_signed("<", index, integer(0))

    def _require_in_range(self, index: ir.Value, extent: ir.Value, otherwise: ir.Block) -> None:
        builder = self.code.builder
        least = builder.sub(integer(0), extent)
        self.code.require(builder.icmp_signed(">=", index, least), otherwise)
        self.code.require(builder.icmp_signed("<", index, extent), otherwise)

    def _start_of_rows(self, shape: ir.Value, other: ir.Block) -> None:
        """Take the parts and the start of ``x[i:j]``; branch to `other` if the slice is not a proper part."""
        code, builder = self.code, self.code.builder
        start, stop, step = (self._bound(code.read(self.key), i) for i in range(3))
        code.require_same(other, (step, code.known("None")))
        extent = self._first_extent(shape, other)
        first = self._clipped(start, integer(0), extent)
        size = builder.sub(self._clipped(stop, extent, extent), first)
        code.require(builder.icmp_signed(">", size, integer(0)), other)
        code.require(builder.icmp_signed("<", size, extent), other)
        self._begin_at(first)
        number = code.attempt(self.refused, "PyLong_FromSsize_t", size)
        parts = code.new_tuple(self.refused, code.incref(shape), code.incref(code.known("slice")), number)
        code.write(self.parts, parts)
        self._mix(shape, number)

    def _bound(self, part: ir.Value, position: int) -> ir.Value:
        """Return a bound of a slice, borrowed: an int or None."""
        code, bound = self.code, self.code.words(1)
        code.write(bound, code.load(part, code.places["slice_start"] + 8 * position))
        given = code.read(bound)
        plain = code.builder.or_(code.is_a(given, "int"), code.same(given, code.known("None")))
        with code.builder.if_then(code.builder.not_(plain), likely=False):
            code.require(self._is_numpy_int(given), self.refused)
            code.write(bound, self._int(given))
        return code.read(bound)

    def _clipped(self, bound: ir.Value, default: ir.Value, extent: ir.Value) -> ir.Value:
        """Return a bound counted from the start, as `slice.indices` does for a positive step."""
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        code.write(found, default)
        with builder.if_then(code.differ(bound, code.known("None"))):
            given = code.index(bound, self.refused)
            counted = builder.select(self._is_negative(given), builder.add(given, extent), given)
            least = builder.select(self._is_negative(counted), integer(0), counted)
            below = builder.icmp_signed("<", least, extent)
            code.write(found, builder.select(below, least, extent))
        return code.read(found)

    def _indices(self, given: ir.Value, otherwise: ir.Block) -> ir.Value:
        """Return an array of indices, borrowed, which may be given as a list of ints; branch for any other value."""
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        code.write(found, given)
        with builder.if_then(code.is_a(given, "list")):
            count = code.call("PyList_Size", given)
            code.require(builder.icmp_signed(">", count, integer(0)), self.refused)
            code.require(builder.icmp_signed("<=", count, integer(_MOST_INDICES)), self.refused)
            code.write(found, self._keep(self._new_indices(count)))
            data = code.get_unchecked(code.read(found), "data")
            with code.each_item(given) as (i, item):
                code.require(code.is_a(item, "int"), self.refused)
                code.write(data, code.index(item, self.refused), i)
        code.require(code.is_a(code.read(found), "ndarray"), otherwise)
        return code.read(found)

    def _new_indices(self, count: ir.Value) -> ir.Value:
        """Return an array of `count` int64 numbers that nothing else refers to: mostly that of a former call."""
        code, builder, last, memory = self.code, self.code.builder, self.code.words(1), self.code.words(1)
        at = builder.add(count, code.read(self.n_kept))
        place = builder.and_(at, integer(len(LAST_LISTS) - 1))
        other, found = code.block("other_length"), code.block("length")
        code.write(last, code.call("PyList_GetItem", code.known("LAST_LISTS"), place))
        code.require(code.is_a(code.read(last), "ndarray"), other)
        extent = code.read(code.get_unchecked(code.read(last), "shape"))
        code.require_same(other, (extent, count))
        references = code.get_unchecked(code.read(last), "references", I32)
        code.require_same(other, (references, ir.Constant(I32, code.places["held"])))
        builder.branch(found)
        code.begin(other)
        code.write(memory, code.attempt(self.refused, "PyLong_FromSsize_t", count))
        made = code.call_object(code.known("new_indices"), memory, integer(1))
        code.decref(code.read(memory))
        code.require(code.differ(made, integer(0)), self.refused)
        code.write(last, made)
        code.call("PyList_SetItem", code.known("LAST_LISTS"), place, made)
        builder.branch(found)
        code.begin(found)
        return code.incref(code.read(last))

    def _parts_of_key(self, shape: ir.Value) -> None:
        """Take the parts of any other key; its index arrays become operands when the plan is known."""
        code, builder, key = self.code, self.code.builder, self.code.read(self.key)
        is_tuple = code.is_a(key, "tuple")
        length = builder.select(is_tuple, code.length_of(key), integer(1))
        parts = code.attempt(self.refused, "PyTuple_New", builder.add(length, integer(1)))
        code.write(self.parts, parts)
        code.fill(parts, 0, code.incref(shape))
        self._mix(shape)
        with code.each(length) as i:
            part = code.words(1)
            code.write(part, key)
            with builder.if_then(is_tuple):
                code.write(part, code.item(key, i))
            code.fill(parts, builder.add(i, integer(1)), self._part(code.read(part)))

    def _part(self, part: ir.Value) -> ir.Value:
        """Return the part of the plan's key for a part of the key, with a new reference."""
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        plain = builder.or_(code.is_a(part, "int"), code.same(part, code.known("None")))
        plain = builder.or_(plain, code.same(part, code.known("Ellipsis")))
        is_tensor = builder.or_(code.is_a(part, "Tensor"), code.is_a(part, "Variable"))
        cases = [code.block(name) for name in ("plain", "slice", "tensor", "array", "scalar", "after")]
        numbers, ranges, tensors, arrays, scalars, after = cases
        for condition, case in ((plain, numbers), (code.is_a(part, "slice"), ranges), (is_tensor, tensors)):
            following = code.block("following")
            builder.cbranch(condition, case, following)
            code.begin(following)
        builder.branch(arrays)

        code.begin(numbers)
        self._mix(part)
        code.write(found, code.incref(part))
        builder.branch(after)
        code.begin(ranges)
        bounds = [self._bound(part, i) for i in range(3)]
        self._mix(*bounds)
        code.write(found, code.new_tuple(self.refused, *map(code.incref, bounds)))
        builder.branch(after)
        code.begin(tensors)
        code.write(found, code.incref(code.get(part, "_aval", self.refused)))
        self._append(part)
        builder.branch(after)
        code.begin(arrays)
        array = self._indices(part, scalars)
        code.write(found, self._aval_of_indices(array))
        self._append(array)
        builder.branch(after)
        code.begin(scalars)
        code.require(self._is_numpy_int(part), self.refused)
        code.write(found, code.incref(self._int(part)))
        builder.branch(after)
        code.begin(after)
        return code.read(found)

    def _aval_of_indices(self, array: ir.Value) -> ir.Value:
        """Return the shape and dtype of an array of indices with a new reference."""
        code = self.code
        dtype = code.get_unchecked(array, "dtype")
        code.require_same(self.refused, (dtype, code.known("dtype int64")))
        flags = code.builder.and_(code.get_unchecked(array, "flags"), integer(CONTIGUOUS_AND_ALIGNED))
        code.require_same(self.refused, (flags, integer(CONTIGUOUS_AND_ALIGNED)))
        rank = code.get_unchecked(array, "ndim", I32)
        code.require(code.differ(rank, ir.Constant(I32, 0)), self.refused)
        kind = kind_of_array(self.new, code, array)
        code.require(code.differ(kind, integer(0)), self.refused)
        key = code.incref(code.item(kind, KEY))
        code.decref(kind)
        return key

    def _require_indices(self, array: ir.Value, extent: ir.Value) -> None:
        """Refuse an array of too many indices, or with one that is out of range."""
        code, builder, count = self.code, self.code.builder, self.code.words(1)
        code.write(count, integer(1))
        extents = code.get_unchecked(array, "shape")
        with code.each(builder.zext(code.get_unchecked(array, "ndim", I32), I64)) as i:
            code.write(count, builder.mul(code.read(count), code.read(extents, i)))
        few = builder.icmp_signed("<=", code.read(count), integer(_MOST_INDICES))
        code.require(few, self.refused)
        data = code.get_unchecked(array, "data")
        with code.each(code.read(count)) as i:
            self._require_in_range(code.read(data, i), extent, self.refused)

    def _last_or_known_plan(self) -> ir.Value:
        """Return the plan for the parts, mostly the one that was found last, and hold it."""
        code, builder = self.code, self.code.builder
        parts = code.read(self.parts)
        length, other, after = code.length_of(parts), code.block("other_plan"), code.block("plan")
        place = builder.and_(code.read(self.place), integer(len(LAST_KEYS) - 1))
        last = code.call("PyList_GetItem", code.known("LAST_KEYS"), place)
        code.require(code.is_a(last, "tuple"), other)
        known = code.item(last, 0)
        code.require_same(other, (code.length_of(known), length))
        with code.each(length) as i:
            self._require_same_part(code.item(known, i), code.item(parts, i), other)
        code.write(self.plan, code.incref(code.item(last, 1)))
        builder.branch(after)
        code.begin(other)
        plan = code.attempt(self.refused, "PyDict_GetItemWithError", code.known("PLANS"), parts)
        code.write(self.plan, code.incref(plan))
        entry = code.new_tuple(self.refused, code.incref(parts), code.incref(plan))
        code.call("PyList_SetItem", code.known("LAST_KEYS"), place, entry)
        builder.branch(after)
        code.begin(after)
        return code.read(self.plan)

    def _require_same_part(self, a: ir.Value, b: ir.Value, otherwise: ir.Block) -> None:
        """Branch to `otherwise` unless two parts are one object, or tuples with the same bounds of a slice."""
        code = self.code
        with code.builder.if_then(code.differ(a, b), likely=False):
            for part in (a, b):
                code.require(code.is_a(part, "tuple"), otherwise)
                code.require_same(otherwise, (code.length_of(part), integer(3)))
            code.require_same(otherwise, *[(code.item(a, i), code.item(b, i)) for i in range(3)])

    def _find_plan(self) -> None:
        """Find the plan and complete the operands: numbers, and index arrays in the places of None."""
        code, builder = self.code, self.code.builder
        plan = self._last_or_known_plan()
        places, extents = code.item(plan, 2), code.item(plan, 3)
        with builder.if_then(code.differ(code.length_of(places), integer(0))):
            arrays, following, given = code.words(OPERANDS), code.words(1), code.read(self.count)
            code.write(following, integer(0))
            self._begin_operands()
            first = code.read(self.count)
            with code.each(given) as i:
                code.write(arrays, code.read(self.operands, i), i)
            with code.each(code.length_of(places)) as i:
                place, operand = code.item(places, i), code.words(1)
                code.write(operand, place)
                with builder.if_then(code.same(place, code.known("None"))):
                    array = code.read(arrays, builder.add(code.read(following), first))
                    with builder.if_then(code.is_a(array, "ndarray")):
                        extent = code.item(extents, code.read(following))
                        self._require_indices(array, code.index(extent, self.refused))
                    code.write(following, builder.add(code.read(following), integer(1)))
                    code.write(operand, array)
                self._append(code.read(operand))
