"""Machine code that converts lists and tuples of floats or of ints, which are operands, to arrays.

Lists of constants may hold both, and lists of these.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import DOUBLE, I32, I64, ObjectCode
from jittape.recording.machine_code.emit_operands import New
from jittape.recording.machine_code.path_tables import (
    DOUBLES_KIND,
    INTS_KIND,
    LONGS_KIND,
    MEET_DOUBLES,
    MOST_NUMBERS,
    NUMBER_ARRAYS,
)

__all__ = ["array_for_constant", "array_for_operator", "array_for_ufunc"]

_MOST_SINGLE = 3e38
"""Size of floats beyond which Python converts them to float32, since NumPy warns of those that become infinite."""
_NO_SHAPE = -1
"""In place of the length of an array: that of a number."""


def array_for_operator(
    new: New, code: ObjectCode, value: ir.Value, operands: ir.Value, count: ir.Value
) -> ir.Value:
    """Return an array with the numbers of a list or tuple, else `value`, with a new reference.

    Ints are int32. The dtype of floats is that of Python's floats, or float64 if another of the `count` operands of the
    call is a double or a wide integer, as in `scalar_inputs.converted_sequences`. Where an integer is an index, Python
    records the call with floats. The caller copies the array, which later calls write to.
    """
    arguments = value, operands, count
    return code.call_shared("jittape_numbers", lambda function: _define(new, function), *arguments)


def array_for_ufunc(new: New, code: ObjectCode, value: ir.Value) -> ir.Value:
    """Do the same for an operand of NumPy's functions, for which numbers are float64 and int64."""
    return code.call_shared("jittape_wide_numbers", lambda function: _define(new, function), value)


def array_for_constant(
    new: New, code: ObjectCode, value: ir.Value, kind_of_floats: ir.Value, kind_of_ints: ir.Value
) -> ir.Value:
    """Do the same for the argument of `jt.constant`: a number, a list of numbers, or a list of such lists.

    A kind is that of the array if there is a float among the numbers, or if there is none; -1 leaves them to Python.
    """
    arguments = value, kind_of_floats, kind_of_ints
    return code.call_shared("jittape_constants", lambda function: _define_constant(new(function)), *arguments)


def _define_constant(code: ObjectCode) -> None:
    value, kind_of_floats, kind_of_ints = code.function.args
    other, sequence, nested = code.block("other"), code.block("sequence"), code.block("nested")
    columns = code.words(1)

    def kind(has_float: ir.Value) -> ir.Value:
        found = code.builder.select(has_float, kind_of_floats, kind_of_ints)
        code.require(code.builder.icmp_signed(">=", found, integer(0)), other)
        return found

    is_float = code.is_a(value, "float")
    code.require(code.builder.or_(is_float, code.is_a(value, "int")), sequence)
    _return_filled(code, lambda i: value, integer(_NO_SHAPE), integer(0), kind(is_float), other)
    code.begin(sequence)
    count = _length(code, value, other)
    _read_columns(code, value, count, columns, other)
    is_flat = code.same(code.read(columns), integer(0))
    code.builder.cbranch(is_flat, flat := code.block("flat"), nested)
    code.begin(flat)
    has_float = _kinds_of_numbers(code, lambda i: _item(code, value, i), count, other)
    _return_filled(code, lambda i: _item(code, value, i), count, integer(0), kind(has_float), other)
    code.begin(nested)
    width = code.read(columns)
    total = code.builder.mul(count, width)

    def item(i: ir.Value) -> ir.Value:
        row = _item(code, value, code.builder.sdiv(i, width))
        return _item(code, row, code.builder.srem(i, width))

    code.require(code.builder.icmp_signed("<=", total, integer(MOST_NUMBERS)), other)
    has_float = _kinds_of_numbers(code, item, total, other)
    _return_filled(code, item, total, width, kind(has_float), other)
    code.begin(other)
    code.builder.ret(code.incref(value))


def _read_columns(
    code: ObjectCode, value: ir.Value, count: ir.Value, columns: ir.Value, other: ir.Block
) -> None:
    """Write the length of all items of a sequence, or 0 if they are no sequences; branch to `other` if they differ."""
    builder = code.builder
    first = _item(code, value, integer(0))
    code.write(columns, integer(0))
    with builder.if_then(_is_sequence(code, first)):
        code.write(columns, _length(code, first, other))
        with code.each(count) as i:
            length = _length(code, _item(code, value, i), other)
            code.require_same(other, (length, code.read(columns)))


def _kinds_of_numbers(
    code: ObjectCode, item: Callable[[ir.Value], ir.Value], count: ir.Value, other: ir.Block
) -> ir.Value:
    """Return whether a float is among the items; branch to `other` if one is neither a float nor an int."""
    builder, has_float = code.builder, code.words(1)
    code.write(has_float, integer(0))
    with code.each(count) as i:
        found = item(i)
        is_float = code.is_a(found, "float")
        code.require(builder.or_(is_float, code.is_a(found, "int")), other)
        code.write(has_float, builder.or_(code.read(has_float), builder.zext(is_float, I64)))
    return code.differ(code.read(has_float), integer(0))


def _define(new: New, function: ir.Function) -> None:
    code, (value, *call) = new(function), function.args
    other = code.block("other")
    if call:
        _return_sequence(code, lambda: _meets_doubles(code, call[0], call[1], other), INTS_KIND, other)
    else:
        _return_sequence(code, lambda: integer(DOUBLES_KIND), LONGS_KIND, other)
    code.begin(other)
    code.builder.ret(code.incref(value))


def _return_sequence(
    code: ObjectCode, kind_of_floats: Callable[[], ir.Value], kind_of_ints: int, other: ir.Block
) -> None:
    """Return the numbers of a list or tuple, the first argument, as an array; branch to `other` for anything else."""
    value, builder, kind = code.function.args[0], code.builder, code.words(1)
    count = _length(code, value, other)
    first = _item(code, value, integer(0))
    is_float = code.is_a(first, "float")
    code.require(builder.or_(is_float, code.is_a(first, "int")), other)
    kind_of_first = code.type_of(first)
    with code.each(count) as i:
        code.require_same(other, (code.type_of(_item(code, value, i)), kind_of_first))
    with builder.if_else(is_float) as (of_floats, of_ints):
        with of_floats:
            code.write(kind, kind_of_floats())
        with of_ints:
            code.write(kind, integer(kind_of_ints))
    _return_filled(code, lambda i: _item(code, value, i), count, integer(0), code.read(kind), other)


def _is_sequence(code: ObjectCode, value: ir.Value) -> ir.Value:
    return code.builder.or_(code.is_a(value, "list"), code.is_a(value, "tuple"))


def _length(code: ObjectCode, value: ir.Value, other: ir.Block) -> ir.Value:
    """Return the length of a list or tuple; branch to `other` for anything else, none or too many items."""
    builder, count = code.builder, code.words(1)
    code.require(_is_sequence(code, value), other)
    with builder.if_else(code.is_a(value, "list")) as (of_list, of_tuple):
        with of_list:
            code.write(count, code.call("PyList_Size", value))
        with of_tuple:
            code.write(count, code.length_of(value))
    code.require(builder.icmp_signed(">", code.read(count), integer(0)), other)
    code.require(builder.icmp_signed("<=", code.read(count), integer(MOST_NUMBERS)), other)
    return code.read(count)


def _return_filled(
    code: ObjectCode,
    item: Callable[[ir.Value], ir.Value],
    length: ir.Value,
    columns: ir.Value,
    kind: ir.Value,
    other: ir.Block,
) -> None:
    """Return an array of this `length`, or of no shape, with the items; branch to `other` if one does not fit.

    It is a matrix unless the number of `columns` is 0.
    """
    builder, stored, drop = code.builder, code.words(1), code.block("drop")
    array = _array(code, length, columns, kind, other)
    is_double = code.same(code.get_unchecked(array, "dtype"), code.known("dtype float64"))
    code.write(stored, builder.select(is_double, integer(DOUBLES_KIND), kind))
    data = code.get_unchecked(array, "data")
    count = builder.select(code.same(length, integer(_NO_SHAPE)), integer(1), length)
    with code.each(count) as i:
        _store(code, item(i), code.read(stored), data, i, drop)
    builder.ret(array)
    code.begin(drop)
    code.call("PyErr_Clear")
    code.decref(array)
    builder.branch(other)


def _store(
    code: ObjectCode, item: ir.Value, kind: ir.Value, data: ir.Value, i: ir.Value, unfit: ir.Block
) -> None:
    """Store a number in an array; branch to `unfit` if it is an int that the dtype cannot hold."""
    builder = code.builder
    with builder.if_else(builder.icmp_signed("<=", kind, integer(DOUBLES_KIND))) as (of_float, of_int):
        with of_float:
            number = _as_double(code, item, unfit)
            with builder.if_else(code.same(kind, integer(DOUBLES_KIND))) as (double, single):
                with double:
                    code.store(number, code.element(data, i))
                with single:
                    size = builder.call(builder.module.declare_intrinsic("llvm.fabs", [DOUBLE]), [number])
                    is_large = builder.fcmp_ordered(">", size, ir.Constant(DOUBLE, _MOST_SINGLE))
                    is_finite = builder.fcmp_ordered("<", size, ir.Constant(DOUBLE, float("inf")))
                    code.require(builder.not_(builder.and_(is_large, is_finite)), unfit)
                    code.store(builder.fptrunc(number, ir.FloatType()), code.element(data, i, 4))
        with of_int:
            found = code.index(item, unfit)
            with builder.if_else(code.same(kind, integer(LONGS_KIND))) as (long, short):
                with long:
                    code.write(data, found, i)
                with short:
                    narrow = builder.trunc(found, I32)
                    code.require_same(unfit, (builder.sext(narrow, found.type), found))
                    code.store(narrow, code.element(data, i, 4))


def _as_double(code: ObjectCode, item: ir.Value, unfit: ir.Block) -> ir.Value:
    """Return a float or an int as a double; branch to `unfit` for a large int."""
    builder, found = code.builder, code.words(1)
    with builder.if_else(code.is_a(item, "float"), likely=True) as (a_float, an_int):
        with a_float:
            code.write(found, code.get_unchecked(item, "float_value"))
        with an_int:
            number = builder.sitofp(code.index(item, unfit), DOUBLE)
            code.write(found, builder.bitcast(number, I64))
    return builder.bitcast(code.read(found), DOUBLE)


def _item(code: ObjectCode, values: ir.Value, i: ir.Value) -> ir.Value:
    """Return an item of a list or tuple, borrowed."""
    found = code.words(1)
    with code.builder.if_else(code.is_a(values, "list")) as (of_list, of_tuple):
        with of_list:
            code.write(found, code.call("PyList_GetItem", values, i))
        with of_tuple:
            code.write(found, code.item(values, i))
    return code.read(found)


def _meets_doubles(code: ObjectCode, operands: ir.Value, count: ir.Value, other: ir.Block) -> ir.Value:
    """Return 1 if an operand is a tensor of a dtype in `MEET_DOUBLES`, else 0; branch to `other` for arrays."""
    builder, found, dtype = code.builder, code.words(1), code.words(1)
    code.write(found, integer(0))
    with code.each(count) as i:
        operand = code.read(operands, i)
        is_value = builder.or_(code.is_a(operand, "Tensor"), code.is_a(operand, "Variable"))
        code.write(dtype, integer(0))
        with builder.if_else(is_value) as (value, number):
            with value:
                aval = code.get(operand, "_aval", other)
                code.require(code.is_a(aval, "Aval"), other)
                code.write(dtype, code.item(aval, 1))
            with number:
                is_plain = ir.Constant(ir.IntType(1), 0)
                for name in ("float", "int", "bool", "complex", "list", "tuple"):
                    is_plain = builder.or_(is_plain, code.is_a(operand, name))
                code.require(is_plain, other)
        for name in MEET_DOUBLES:
            meets = code.same(code.read(dtype), code.known(f"dtype {name}"))
            code.write(found, builder.select(meets, integer(1), code.read(found)))
    return code.read(found)


def _array(
    code: ObjectCode, count: ir.Value, columns: ir.Value, kind: ir.Value, failed: ir.Block
) -> ir.Value:
    """Return an array of `count` numbers that nothing else refers to, mostly that of a former call."""
    builder, last, memory = code.builder, code.words(1), code.words(3)
    mixed = builder.add(builder.shl(builder.add(count, columns), integer(2)), kind)
    place = builder.and_(mixed, integer(len(NUMBER_ARRAYS) - 1))
    other, found, unfit = code.block("other_length"), code.block("length"), code.block("unfit")
    code.write(last, code.call("PyList_GetItem", code.known("NUMBER_ARRAYS"), place))
    code.require(code.is_a(code.read(last), "ndarray"), other)
    has_shape, is_matrix = code.differ(count, integer(_NO_SHAPE)), code.differ(columns, integer(0))
    rank = code.get_unchecked(code.read(last), "ndim", I32)
    wanted = builder.add(builder.zext(has_shape, I32), builder.zext(is_matrix, I32))
    code.require_same(other, (rank, wanted))
    with builder.if_then(has_shape):
        shape, total = code.get_unchecked(code.read(last), "shape"), code.words(1)
        code.write(total, code.read(shape))
        with builder.if_then(is_matrix):
            code.require_same(other, (code.read(shape, 1), columns))
            code.write(total, builder.mul(code.read(shape), columns))
        code.require_same(other, (code.read(total), count))
    references = code.get_unchecked(code.read(last), "references", I32)
    code.require_same(other, (references, ir.Constant(I32, code.places["held"])))
    code.incref(code.read(last))
    builder.branch(found)
    code.begin(other)
    for i, number in enumerate((count, columns, kind)):
        code.write(memory, code.attempt(unfit, "PyLong_FromSsize_t", number), i)
    made = code.call_object(code.known("new_numbers"), memory, integer(3))
    for i in range(3):
        code.decref(code.read(memory, i))
    code.require(code.differ(made, integer(0)), unfit)
    code.write(last, made)
    code.call("PyList_SetItem", code.known("NUMBER_ARRAYS"), place, code.incref(made))
    builder.branch(found)
    code.begin(unfit)
    code.call("PyErr_Clear")
    builder.branch(failed)
    code.begin(found)
    return code.read(last)
