"""Machine code for `ResultMemory`: new sets of results, and the count of those in use."""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from jittape.compile.llvm.driver import return_integer
from jittape.compile.llvm.ir_helpers import integer
from jittape.native.new_buffers import new_buffer
from jittape.native.object_code import I32, I64, ObjectCode

__all__ = ["let_next_be_first", "take_first", "write_busy", "write_new"]


def write_new(function: ir.Function, places: Mapping[str, int]) -> None:
    """Emit the function that returns a new set of buffers."""
    code = ObjectCode(function, places)
    avals, empty, kind, false, none = (code.argument(i) for i in range(5))
    failed, drop, drop_made = (code.block(name) for name in ("failed", "drop", "drop_made"))
    count = code.length_of(avals)
    packed = code.attempt(
        failed, "PyBytes_FromStringAndSize", integer(0), code.builder.mul(count, integer(8))
    )
    cells = code.call("PyBytes_AsString", packed)
    made = code.attempt(drop, "PyTuple_New", count)
    with code.each(count) as index:
        aval = code.item(avals, index)
        arguments = code.element(aval, 0)
        array = code.call_object(empty, code.builder.add(arguments, integer(places["items"])), integer(2))
        code.require(code.differ(array, integer(0)), drop_made)
        code.write(cells, code.get_unchecked(array, "data"), index)
        nbytes = code.incref(code.item(aval, 2))
        code.fill(made, index, new_buffer(code, kind, array, nbytes, none, false, drop_made))
    code.return_object(code.new_tuple(failed, made, packed))
    code.begin(drop_made)
    code.decref(made)
    code.builder.branch(drop)
    code.begin(drop)
    code.decref(packed)
    code.builder.branch(failed)
    code.begin(failed)
    code.return_object(integer(0))


def write_busy(function: ir.Function, places: Mapping[str, int]) -> None:
    """Emit the function that counts the buffers of a set that are not free."""
    code = ObjectCode(function, places)
    buffers, false, none = (code.argument(i) for i in range(3))
    return_integer(code.builder, _count_in_use(code, buffers, false, none))


def take_first(
    code: ObjectCode,
    memory: ir.Value,
    found: ir.Value,
    constants: tuple[ir.Value, ir.Value, ir.Value],
    failed: ir.Block,
) -> ir.Value:
    """Take the first set of a `ResultMemory`, if it is free, as `ResultMemory.take` does, and return the list of sets.

    The word `found` gets the set. `constants` are False, None and 0. Branch to `failed` if the set is not free, or if a
    result is in no set.
    """
    false, none, zero = constants
    large, sets = (code.get(memory, f"ResultMemory.{place}", failed) for place in ("large", "_sets"))
    code.require_same(failed, (code.length_of(large), integer(0)))
    code.require(code.differ(code.call("PyList_Size", sets), integer(0)), failed)
    code.write(found, code.incref(code.call("PyList_GetItem", sets, integer(0))))
    used = _count_in_use(code, code.item(code.read(found), 0), false, none)
    code.require_same(failed, (used, integer(0)))
    code.put(memory, "ResultMemory._misses", code.incref(zero))
    return sets


def let_next_be_first(code: ObjectCode, sets: ir.Value, found: ir.Value) -> None:
    """Move the set in the word `found` to the end, so that the next run finds another set free first."""
    with code.builder.if_then(code.builder.icmp_signed(">", code.call("PyList_Size", sets), integer(1))):
        code.call("PyList_SetSlice", sets, integer(0), integer(1), integer(0))
        code.call("PyList_Append", sets, code.read(found))


def _count_in_use(code: ObjectCode, buffers: ir.Value, false: ir.Value, none: ir.Value) -> ir.Value:
    """Return the number of buffers of a tuple that are not free; free ones are marked as unexposed."""
    builder, places = code.builder, code.places

    def shared(item: ir.Value, own: str = "held") -> ir.Value:
        return code.differ(code.get_unchecked(item, "references", I32), ir.Constant(I32, places[own]))

    def memory_shared(buffer: ir.Value) -> ir.Value:
        pooled = code.get_unchecked(buffer, "buffer_pooled")
        with builder.if_else(code.same(pooled, none)) as (own, from_pool):
            with own:
                alone = shared(code.get_unchecked(buffer, "buffer_array"))
                own_end = builder.block
            with from_pool:
                raw, array = code.item(pooled, 1), code.item(pooled, 2)
                both = builder.or_(shared(raw, "raw_references"), shared(array, "array_references"))
                pool_end = builder.block
        memory = builder.phi(alone.type)
        memory.add_incoming(alone, own_end)
        memory.add_incoming(both, pool_end)
        return memory

    total = code.words(1)
    code.write(total, integer(0))
    with code.each(code.length_of(buffers)) as index:
        item = code.item(buffers, index)
        one = builder.or_(shared(item), memory_shared(item))
        seen = code.differ(code.get_unchecked(item, "buffer_exposed"), false)
        with builder.if_then(builder.and_(seen, builder.not_(one)), likely=False):
            code.put(item, "buffer_exposed", code.incref(false))
        code.write(total, builder.add(code.read(total), builder.zext(one, I64)))
    return code.read(total)
