"""Small helpers for writing LLVM IR with llvmlite's builder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from llvmlite import ir

__all__ = [
    "BYTES",
    "KERNEL_TYPE",
    "alloca_once",
    "external",
    "for_range",
    "for_steps",
    "integer",
    "keep_scalar",
    "load_at",
    "one_at_a_time",
    "unknown",
]

BYTES = ir.IntType(8).as_pointer()
KERNEL_TYPE = ir.FunctionType(
    ir.VoidType(),
    [BYTES.as_pointer(), ir.IntType(32).as_pointer(), ir.IntType(64).as_pointer(), ir.IntType(64)],
)
"""What every kernel is called with: the slot table, the numbers of its operands' slots, its sizes, the task."""


@lru_cache(maxsize=4096)
def integer(value: int) -> ir.Constant:
    """An i64."""
    return ir.Constant(ir.IntType(64), value)


def alloca_once(builder: ir.IRBuilder, kind: ir.Type, size: ir.Value | None = None) -> ir.Value:
    """Reserve memory in the function's entry block, so that no loop reserves it again."""
    with builder.goto_entry_block():
        return builder.alloca(kind, size=size)


def external(module: ir.Module, kind: ir.FunctionType, name: str) -> ir.Function:
    """The declaration of a function that stands elsewhere; `symbols.py` says where."""
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found


def load_at(
    builder: ir.IRBuilder, address: ir.Value, offset: int | ir.Value, kind: ir.Type | None = None
) -> ir.Value:
    """What stands `offset` bytes behind an address, which is an i64; an i64 unless `kind` says otherwise."""
    if isinstance(offset, int):
        offset = ir.Constant(address.type, offset)
    pointer = builder.inttoptr(builder.add(address, offset), (kind or address.type).as_pointer())
    return builder.load(pointer)


def unknown(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """The same integer in the same register, of which LLVM knows nothing: it comes from an empty piece of assembly."""
    kind = ir.FunctionType(number.type, [number.type])
    return builder.asm(kind, "", "=r,0", [number], False)


@contextmanager
def for_range(builder: ir.IRBuilder, count: ir.Value, scalar: bool = False) -> Iterator[ir.Value]:
    """Write a loop; the value is the index, from 0, of the type of `count`. See `keep_scalar`."""
    zero, one = (ir.Constant(count.type, value) for value in (0, 1))
    with for_steps(builder, zero, count, one, scalar) as index:
        yield index


@contextmanager
def for_steps(
    builder: ir.IRBuilder,
    start: ir.Value,
    stop: ir.Value,
    step: ir.Value,
    scalar: bool = False,
    as_written: bool = False,
) -> Iterator[ir.Value]:
    """Write a loop from `start` up to below `stop` by a positive `step`; the value is the index.

    With `as_written` LLVM does not know of the step, so that it leaves addresses as they are: its strength reduction
    tries all ways to write those of a loop as sums of one another. For the kernels of 252 steps of an option that was
    12 of 73 ms of code generation, and they run as fast without.
    """
    before = builder.block
    head, body, after = (builder.append_basic_block(f"for.{part}") for part in ("head", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(start.type)
    index.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", index, stop), body, after)
    builder.position_at_end(body)
    yield index
    following = builder.add(index, step)
    index.add_incoming(unknown(builder, following) if as_written else following, builder.block)
    again = builder.branch(head)
    if scalar:
        keep_scalar(again)
    builder.position_at_end(after)


def keep_scalar(branch: ir.Instruction) -> None:
    """Say of a loop, by the branch that ends it, that it is not worth vectorizing: that takes time to compile."""
    _say_of_loop(
        branch, ("llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0)), ("llvm.loop.unroll.disable",)
    )


def one_at_a_time(branch: ir.Instruction) -> None:
    """Say of a loop that memory is what it waits for: several vectors at a time would only be more code."""
    one = ir.Constant(ir.IntType(32), 1)
    _say_of_loop(branch, ("llvm.loop.interleave.count", one), ("llvm.loop.unroll.disable",))


def _say_of_loop(branch: ir.Instruction, *options: tuple[str] | tuple[str, ir.Constant]) -> None:
    module = branch.parent.function.module
    said = [module.add_metadata([ir.MetaDataString(module, name), *value]) for name, *value in options]
    # What names a loop refers to itself, so that no other loop has the same name.
    name = module.add_metadata([ir.Constant(ir.IntType(64), len(module.metadata)), *said])
    name.operands = (name, *said)
    branch.set_metadata("llvm.loop", name)
