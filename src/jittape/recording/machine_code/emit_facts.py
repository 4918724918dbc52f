"""Machine code of ``np.shape(x)``, ``np.ndim(x)`` and ``np.size(x)``, their counterparts, and ``jt.shape(x)[0]``."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import I32, I64, ObjectCode
from jittape.native.object_layout import CONTIGUOUS_AND_ALIGNED
from jittape.recording.machine_code.emit_array_copies import operand_of
from jittape.recording.machine_code.emit_lists import array_for_constant
from jittape.recording.machine_code.emit_methods import call_by_position
from jittape.recording.machine_code.emit_operands import New, recorder
from jittape.recording.machine_code.path_tables import FLOATS_KIND, INTS_KIND, RANK, SHAPE

__all__ = ["define_item", "fact", "shape_tensor"]


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
    code.return_nothing(python)


def shape_tensor(new: New, code: ObjectCode, kind: ir.Value, x: ir.Value) -> ir.Value:
    """Emit a call of ``shape_tensor(kind, x)``, what `jt.shape`, `rank` or `size` return, or 0 if Python has to."""
    return code.call_shared(
        "jittape_shape_tensor", lambda function: _define_shape_tensor(new, function), kind, x
    )


def _define_shape_tensor(new: New, function: ir.Function) -> None:
    code, (kind, x) = new(function), function.args
    python, unknown, known = (code.block(name) for name in ("python", "unknown", "known"))
    code.require(code.is_a(x, "Tensor"), python)
    aval = code.get(x, "_aval", python)
    code.require(code.is_a(aval, "Aval"), python)
    code.require_same(python, (code.call("PyList_Size", code.known("open_extents")), integer(0)))
    code.decref(recorder(code, python))  # other recorders note which constants a function makes
    shape, found, memory = code.item(aval, 0), code.words(1), code.words(1)
    with code.each(code.length_of(shape)) as i:
        code.require(code.is_a(code.item(shape, i), "int"), python)
    code.write(
        found, code.attempt(unknown, "PyDict_GetItemWithError", code.known("NUMBERS_OF_SHAPES"), shape)
    )
    code.builder.branch(known)
    code.begin(unknown)
    code.write(memory, shape)
    made = code.call_object(code.known("numbers_of_shape"), memory, integer(1))
    code.require(code.differ(made, integer(0)), python)
    code.write(found, made)
    code.decref(made)  # the table, or the interpreter if it is None, keeps it alive
    code.require(code.is_a(made, "tuple"), python)
    code.builder.branch(known)
    code.begin(known)
    array = code.item(code.read(found), code.index(kind, python))
    code.builder.ret(operand_of(new, code, array, python, "ShapeTensor"))
    code.return_nothing(python)


def define_item(new: New, function: ir.Function) -> None:
    """Emit ``__getitem__(self, key)`` of a ShapeTensor: an element of a vector of int32, as a ShapeTensor."""
    code = new(function)
    builder, (own, key) = code.builder, function.args
    python, unfit, drop = (code.block(name) for name in ("python", "unfit", "drop"))
    for value, kind in ((own, "ShapeTensor"), (key, "int")):
        code.require(code.is_a(value, kind), python)
    code.decref(recorder(code, python))  # other recorders note which constants a function makes
    buffer = code.get(own, "_buffer", python)
    code.require(code.is_a(buffer, "Buffer"), python)
    array = code.get(buffer, "Buffer.array", python)
    code.require(code.is_a(array, "ndarray"), python)
    flags = builder.and_(code.get_unchecked(array, "flags"), integer(CONTIGUOUS_AND_ALIGNED))
    rank = code.get_unchecked(array, "ndim", I32)
    is_vector = builder.icmp_signed("==", rank, ir.Constant(I32, 1))
    code.require(is_vector, python)
    code.require_same(
        python,
        (code.get_unchecked(array, "dtype"), code.known("dtype int32")),
        (flags, integer(CONTIGUOUS_AND_ALIGNED)),
    )
    extent, given = code.read(code.get_unchecked(array, "shape")), code.index(key, unfit)
    is_negative = builder.icmp_signed("<", given, integer(0))
    place = builder.select(is_negative, builder.add(given, extent), given)
    code.require(builder.icmp_signed(">=", place, integer(0)), python)
    code.require(builder.icmp_signed("<", place, extent), python)
    found = code.load(code.element(code.get_unchecked(array, "data"), place, 4), kind=I32)
    number = code.attempt(unfit, "PyLong_FromSsize_t", builder.sext(found, I64))
    element = array_for_constant(new, code, number, integer(FLOATS_KIND), integer(INTS_KIND))
    code.decref(number)
    code.require(code.is_a(element, "ndarray"), drop)
    tensor = operand_of(new, code, element, drop, "ShapeTensor")
    code.decref(element)
    builder.ret(tensor)
    code.begin(drop)
    code.decref(element)
    builder.branch(python)
    code.begin(unfit)
    code.call("PyErr_Clear")
    builder.branch(python)
    code.begin(python)
    call_by_position(code, code.known("ShapeTensor.__getitem__"), own, key)
