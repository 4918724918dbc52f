"""The builder that writes text at once: the same LLVM IR as llvmlite's, and its errors."""

from __future__ import annotations

import re
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder, vector_type

I1, I8, I32, I64 = (ir.IntType(width) for width in (1, 8, 32, 64))
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
WHOLE, LANES = ir.VectorType(I64, 4), ir.VectorType(DOUBLE, 4)
KINDS = (I64, I64, DOUBLE, DOUBLE, I64.as_pointer(), WHOLE, LANES, I1)


def text_by(kind: type[ir.IRBuilder], write: Callable[..., None]) -> str:
    """The text of a function as LLVM prints it, its values numbered in the order in which they come."""
    module = ir.Module("test")
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), KINDS), "function")
    builder = kind(function.append_basic_block("entry"))
    write(builder, *function.args)
    builder.ret_void()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    numbers: dict[str, str] = {}
    return re.sub(
        r'%(?:"[^"]*"|[-\w.]+)',
        lambda match: numbers.setdefault(match[0], f"%{len(numbers)}"),
        re.sub(r"(?m)^(\S+):.*$", r"label:", str(parsed)),
    )


def integers(b, i, j, x, y, place, v, w, yes):
    for operation in (
        b.add,
        b.sub,
        b.mul,
        b.sdiv,
        b.udiv,
        b.srem,
        b.shl,
        b.lshr,
        b.ashr,
        b.and_,
        b.or_,
        b.xor,
    ):
        operation(i, j)
        operation(v, v)
    b.add(i, j, flags=("nsw",))
    b.neg(i), b.neg(v), b.not_(i), b.not_(v), b.not_(yes)
    b.cttz(i, ir.Constant(I1, 0))


def floats(b, i, j, x, y, place, v, w, yes):
    for operation in (b.fadd, b.fsub, b.fmul, b.fdiv, b.frem):
        operation(x, y)
        operation(w, w, flags=("reassoc", "contract"))
    b.fneg(x), b.fneg(w, flags=("contract",))


def comparisons(b, i, j, x, y, place, v, w, yes):
    for sign in ("<", "<=", ">", ">=", "==", "!="):
        for compare in (b.icmp_signed, b.icmp_unsigned):
            compare(sign, i, j)
            b.select(compare(sign, v, v), w, w)
        for compare in (b.fcmp_ordered, b.fcmp_unordered):
            compare(sign, x, y)
            compare(sign, w, w)
    b.select(yes, x, y)


def conversions(b, i, j, x, y, place, v, w, yes):
    small = b.trunc(i, I32)
    b.zext(small, I64), b.sext(small, I64), b.zext(small, I32)
    single = b.fptrunc(x, FLOAT)
    b.fpext(single, DOUBLE)
    b.sitofp(i, DOUBLE), b.uitofp(v, LANES)
    b.bitcast(x, I64), b.bitcast(i, I64)
    b.inttoptr(b.ptrtoint(place, I64), I8.as_pointer())


def memory(b, i, j, x, y, place, v, w, yes):
    held = b.alloca(DOUBLE)
    b.store(x, held)
    b.load(held)
    b.store(i, place, align=8)
    loaded = b.load(b.gep(place, [j]))
    b.store(loaded, b.gep(place, [i], inbounds=True))
    b.load(b.gep(place, [i], source_etype=I32), align=32, typ=WHOLE)
    struct = b.alloca(ir.LiteralStructType([I64, DOUBLE]))
    b.load(b.gep(struct, [ir.Constant(I32, 0), ir.Constant(I32, 1)]))


def calls(b, i, j, x, y, place, v, w, yes):
    module = b.module
    nothing = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64]), "nothing")
    something = ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE, I64]), "something")
    other = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "other")
    other.calling_convention = "fastcc"
    b.call(nothing, [b.add(i, j)])
    b.fadd(x, b.call(something, [y, i]))
    b.call(something, [y, i], fastmath=("reassoc",))
    b.call(other, [])
    address = b.inttoptr(i, ir.FunctionType(DOUBLE, [DOUBLE]).as_pointer())
    b.call(address, [x])
    b.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [i], False)


def vectors(b, i, j, x, y, place, v, w, yes):
    element = b.extract_element(w, ir.Constant(I32, 1))
    changed = b.insert_element(w, element, ir.Constant(I32, 2))
    b.shuffle_vector(changed, w, ir.Constant(ir.VectorType(I32, 2), [0, 5]))


def blocks(b, i, j, x, y, place, v, w, yes):
    with b.if_else(yes) as (then, otherwise):
        with then:
            a, above = b.add(i, j), b.block
        with otherwise:
            c, below = b.mul(i, j), b.block
    merged = b.phi(I64)
    merged.add_incoming(a, above)
    merged.add_incoming(c, below)
    with b.goto_entry_block():
        one = b.add(i, i)
        b.store(one, b.alloca(I64))
    b.add(merged, one)


@pytest.mark.parametrize(
    "write",
    [integers, floats, comparisons, conversions, memory, calls, vectors, blocks],
    ids=lambda f: f.__name__,
)
def test_the_same_as_llvmlite_writes(write):
    ours, theirs = text_by(Builder, write), text_by(ir.IRBuilder, write)
    assert ours == theirs
    assert ours.count("\n") > 5


def test_flags_may_be_given_later():
    def write(b, i, j, x, y, place, v, w, yes):
        b.fadd(x, y).flags = ["reassoc"]

    assert "fadd reassoc double" in text_by(Builder, write)


@pytest.mark.parametrize(
    "write",
    [
        lambda b, i, j, x, *_: b.add(i, x),
        lambda b, i, j, x, y, place, v, w, yes: b.fadd(x, w),
        lambda b, i, j, x, y, place, v, w, yes: b.select(yes, i, x),
        lambda b, i, j, x, *_: b.icmp_signed("<", i, x),
        lambda b, i, j, x, y, place, *_: b.store(x, place),
        lambda b, i, j, x, y, place, v, w, yes: b.insert_element(w, i, i),
        lambda b, i, j, x, *_: b.call(b.function, [i] * len(KINDS)),
    ],
)
def test_a_value_of_another_type_is_an_error(write):
    with pytest.raises(TypeError, match="expected a value of type .*, got one of type"):
        text_by(Builder, write)


def test_a_call_with_another_number_of_arguments_is_an_error():
    with pytest.raises(ValueError, match="zip"):
        text_by(Builder, lambda b, i, *_: b.call(b.function, [i]))


def test_a_vector_type_is_one_object():
    assert vector_type(I64, 4) is vector_type(I64, 4) == WHOLE
    assert vector_type(I64, 4) != vector_type(I32, 4)
