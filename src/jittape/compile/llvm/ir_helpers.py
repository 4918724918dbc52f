"""Helpers for emitting LLVM IR: loops, external functions and memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from llvmlite import ir

from jittape.compile.ir.hashes import blake2b

__all__ = [
    "BYTES",
    "KERNEL_TYPE",
    "alloca_once",
    "constant_table",
    "external",
    "for_range",
    "for_steps",
    "integer",
    "keep_scalar",
    "load_at",
    "one_at_a_time",
    "prefetch",
    "unknown",
]

BYTES = ir.IntType(8).as_pointer()
KERNEL_TYPE = ir.FunctionType(
    ir.VoidType(),
    [BYTES.as_pointer(), ir.IntType(32).as_pointer(), ir.IntType(64).as_pointer(), ir.IntType(64)],
)
"""Type of every kernel. Its arguments are the slot table, its operands' slot numbers, its sizes and the task."""


@lru_cache(maxsize=4096)
def integer(value: int) -> ir.Constant:
    """Return an i64 constant."""
    return ir.Constant(ir.IntType(64), value)


def alloca_once(builder: ir.IRBuilder, kind: ir.Type, size: ir.Value | None = None) -> ir.Value:
    """Allocate stack memory in the function's entry block, where no loop repeats it."""
    with builder.goto_entry_block():
        return builder.alloca(kind, size=size)


def external(module: ir.Module, kind: ir.FunctionType, name: str) -> ir.Function:
    """Return the declaration of a function outside of the module; see `symbols`."""
    found = module.globals.get(name)
    return ir.Function(module, kind, name) if found is None else found


def constant_table(module: ir.Module, rows: tuple[tuple[float, ...], ...]) -> ir.GlobalVariable:
    """Return a table of float64 that is stored beside the code, once in each module."""
    digest = blake2b(repr(rows).encode(), digest_size=8).hexdigest()
    name = f"jittape_table_{digest}"
    found = module.globals.get(name)
    if found is None:
        row_type = ir.ArrayType(ir.DoubleType(), len(rows[0]))
        found = ir.GlobalVariable(module, ir.ArrayType(row_type, len(rows)), name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = ir.Constant(found.value_type, [ir.Constant(row_type, list(row)) for row in rows])
    return found


def prefetch(builder: ir.IRBuilder, place: ir.Value, nbytes: int) -> None:
    """Emit the prefetch of memory into the second-level cache; it may lie outside of any array."""
    number, line = ir.IntType(32), 64
    kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
    function = external(builder.module, kind, "llvm.prefetch.p0")
    read, second_level, data = (ir.Constant(number, value) for value in (0, 2, 1))
    for offset in range(0, nbytes, line):
        at = builder.gep(place, [integer(offset)], source_etype=ir.IntType(8))
        builder.call(function, [at, read, second_level, data])


def load_at(
    builder: ir.IRBuilder, address: ir.Value, offset: int | ir.Value, kind: ir.Type | None = None
) -> ir.Value:
    """Load the value `offset` bytes behind an address, which is an i64; its type is i64 unless `kind` is given."""
    if isinstance(offset, int):
        offset = ir.Constant(address.type, offset)
    pointer = builder.inttoptr(builder.add(address, offset), (kind or address.type).as_pointer())
    return builder.load(pointer)


def unknown(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """Return the same integer through an empty piece of assembly, so that LLVM knows nothing about it."""
    kind = ir.FunctionType(number.type, [number.type])
    return builder.asm(kind, "", "=r,0", [number], False)


@contextmanager
def for_range(builder: ir.IRBuilder, count: ir.Value, scalar: bool = False) -> Iterator[ir.Value]:
    """Emit a loop over ``range(count)`` and return the index; for `scalar` see `keep_scalar`."""
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
    """Emit a loop over ``range(start, stop, step)``, for a positive step, and return the index.

    With `as_written` the step is hidden from LLVM, which then leaves addresses as they are. Its strength reduction
    tries all ways to write the addresses of a loop as sums of one another: for the kernels of 252 steps of an option
    this took 12 of 73 ms of code generation and made them no faster.
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
    """Disable vectorization of the loop that ends with a branch, which saves compile time."""
    _set_loop_options(
        branch, ("llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0)), ("llvm.loop.unroll.disable",)
    )


def one_at_a_time(branch: ir.Instruction) -> None:
    """Disable interleaving of a loop that waits for memory: several vectors at a time would only add code."""
    one = ir.Constant(ir.IntType(32), 1)
    _set_loop_options(branch, ("llvm.loop.interleave.count", one), ("llvm.loop.unroll.disable",))


def _set_loop_options(branch: ir.Instruction, *options: tuple[str] | tuple[str, ir.Constant]) -> None:
    module = branch.parent.function.module
    nodes = [module.add_metadata([ir.MetaDataString(module, name), *value]) for name, *value in options]
    # The node of a loop refers to itself, which makes it distinct from the nodes of other loops.
    loop = module.add_metadata([ir.Constant(ir.IntType(64), len(module.metadata)), *nodes])
    loop.operands = (loop, *nodes)
    branch.set_metadata("llvm.loop", loop)
