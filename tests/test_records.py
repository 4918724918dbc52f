"""Record layouts: what Python packs is what it unpacks, and what machine code reads and writes."""

import ctypes

import numpy as np
import pytest
from llvmlite import ir

from jittape.compile.cache.emit_kernel import emit_module
from jittape.compile.ir import table_layouts
from jittape.compile.ir.records import BitFields, Field, RecordLayout
from jittape.compile.llvm.definition import Definition, FunctionKind, symbol_of
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import integer
from jittape.compile.llvm.ir_records import IRRecord, bit_field
from jittape.compile.llvm.loaded_code import CodeGroup
from jittape.compile.llvm.target import object_code

I64 = ir.IntType(64)
LAYOUTS = {name: value for name, value in vars(table_layouts).items() if isinstance(value, RecordLayout)}
HEAD, ROW = RecordLayout("count"), RecordLayout("a", Field("steps", 2), Field("b", at=4), words=6)
BITS = BitFields(low=20, middle=12, high=32)


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_packed_records_are_found_again(name):
    layout = LAYOUTS[name]
    number = iter(range(1, 1 + layout.words))
    given = {
        field: tuple(next(number) for _ in range(layout.count(field)))
        if layout.count(field) > 1
        else next(number)
        for field in layout.names
    }
    words = layout.pack(**given)
    assert len(words) == layout.words
    assert layout.unpack([0, *words], 1) == given
    record = np.array(words, np.int64).view(layout.dtype)[0]
    assert all(np.array_equal(record[field], value) for field, value in given.items())


def test_records_with_wrong_fields_are_refused():
    with pytest.raises(TypeError, match="was given"):
        HEAD.pack(number=1)
    with pytest.raises(TypeError, match="has 2 words, got 1"):
        ROW.pack(a=1, steps=(1,), b=2)
    with pytest.raises(TypeError, match="do not fit one word"):
        BitFields(low=40, high=25)


def run(write, table):
    """Return the result of machine code on a table, whose body `write` emits; it is given a pointer and an address."""

    def define(function):
        builder = Builder(function.append_basic_block("entry"))
        address, _ = function.args
        builder.ret(write(builder, builder.inttoptr(address, I64.as_pointer()), address))

    group = CodeGroup()
    (address,) = group.load(
        object_code(emit_module([Definition("f", FunctionKind.METHOD, define)])), [symbol_of("f")]
    )
    result = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)(table.ctypes.data, 0)
    group.unload()
    return result


@pytest.mark.parametrize("by_address", [False, True])
def test_machine_code_reads_and_writes_fields(by_address):
    rows = [ROW.pack(a=10 + i, steps=(20 + i, 30 + i), b=40 + i) for i in range(3)]
    table = np.array([*HEAD.pack(count=3), *rows[0], *rows[1], *rows[2], *HEAD.pack(count=7)], np.int64)

    def write(builder, pointer, address):
        head = IRRecord(builder, HEAD, address if by_address else pointer)
        count = head.load("count")
        row = head.after(ROW).element(builder.sub(count, integer(1)))
        row.store("a", row.load_words("steps")[1])
        row.store("steps", row.load("b"), 1)
        return head.after(ROW).after(HEAD, count).load("count")

    assert run(write, table) == 7
    last = ROW.unpack(table, HEAD.words + 2 * ROW.words)
    assert last == {"a": 32, "steps": (22, 42), "b": 42}


@pytest.mark.parametrize("part", ["low", "middle", "high"])
def test_machine_code_reads_bit_fields(part):
    parts = {"low": 2**20 - 1, "middle": 0x123, "high": 0x7FFFFFFF}
    word = BITS.pack(**parts)
    assert BITS.unpack(word) == parts
    found = run(
        lambda builder, pointer, _: bit_field(builder, BITS, builder.load(pointer), part), np.array([word])
    )
    assert found == parts[part]
