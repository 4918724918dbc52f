"""A native function's schedule as one LLVM function in the module of its caller: the kernels, one after another.

What is known here need not be looked up at run time: addresses in the arena, sizes, slot numbers are constants, and as
everything is internal to the module, LLVM may compile the kernels for these very sizes.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from jittape.compile.emit import definition_of, symbol_of
from jittape.compile.irtools import BYTES, KERNEL_TYPE, for_range
from jittape.compile.schedule import KernelStep
from jittape.numba_bridge.native import BAKED, NativeFunction
from jittape.numba_bridge.traced import Argument
from jittape.program import ALIGNMENT, Aval

__all__ = ["NO_MEMORY", "program_function"]

ON_STACK = 1 << 14
"""Temporaries of so many bytes at most stand on the stack; the workers of a parallel loop may have little of it."""
NO_MEMORY = 1

_I64, _I32 = ir.IntType(64), ir.IntType(32)


def program_function(module: ir.Module, native: NativeFunction) -> ir.Function:
    """``i32 f(i8* leaf0, ..., i8* output0, ...)``: 0, or `NO_MEMORY`. Leaves are those of the arguments."""
    name = f"jittape_program_{native.fingerprint}"
    known = module.globals.get(name)
    return _Program(module, native, name).function if known is None else known


class _Program:
    def __init__(self, module: ir.Module, native: NativeFunction, name: str) -> None:
        self.module = module
        self.native = native
        self.leaves = leaf_count(native)
        pointers = [BYTES] * (self.leaves + len(native.schedule.outputs))
        self.function = ir.Function(module, ir.FunctionType(_I32, pointers), name)
        self.function.linkage = "internal"
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._write()

    def _write(self) -> None:
        builder, schedule = self.builder, self.native.schedule
        arena = self._arena(schedule.arena)
        temporaries = [builder.gep(arena, [ir.Constant(_I64, offset)]) for offset in schedule.offsets]
        inputs = self._inputs()
        results, copied = self._outputs(inputs)
        places = [*inputs, *results, *temporaries]
        slots = builder.alloca(BYTES, size=max(1, len(places)))
        for i, place in enumerate(places):
            builder.store(place, builder.gep(slots, [ir.Constant(_I64, i)]))
        for number, step in enumerate(schedule.steps):
            assert isinstance(step, KernelStep)
            self._call(number, step, slots)
        for to, source, nbytes in copied:
            self._copy(to, source, nbytes)
        if schedule.arena > ON_STACK:
            builder.call(
                self._external(ir.FunctionType(ir.VoidType(), [BYTES]), "NRT_Free"), [self.allocated]
            )
        builder.ret(ir.Constant(_I32, 0))

    def _arena(self, nbytes: int) -> ir.Value:
        """Memory for temporaries, aligned."""
        builder = self.builder
        if nbytes <= ON_STACK:
            arena = builder.alloca(ir.IntType(8), size=max(1, nbytes))
            arena.align = ALIGNMENT
            return arena
        allocate = self._external(ir.FunctionType(BYTES, [_I64]), "NRT_Allocate")
        self.allocated = builder.call(allocate, [ir.Constant(_I64, nbytes + ALIGNMENT)])
        address = builder.ptrtoint(self.allocated, _I64)
        with builder.if_then(builder.icmp_unsigned("==", address, ir.Constant(_I64, 0)), likely=False):
            builder.ret(ir.Constant(_I32, NO_MEMORY))
        upwards = builder.add(address, ir.Constant(_I64, ALIGNMENT - 1))
        return builder.inttoptr(builder.and_(upwards, ir.Constant(_I64, -ALIGNMENT)), BYTES)

    def _inputs(self) -> list[ir.Value]:
        native = self.native
        return [
            self.function.args[leaf] if isinstance(leaf, int) else self._constant(position)
            for position, leaf in enumerate(native.traced.leaves)
        ]

    def _outputs(self, inputs: list[ir.Value]) -> tuple[list[ir.Value], list[tuple[ir.Value, ir.Value, int]]]:
        """Where each result is computed; and the outputs that are inputs, or asked for twice: to, from, bytes."""
        schedule, program = self.native.schedule, self.native.traced.program
        places: dict[int, ir.Value] = dict(enumerate(inputs))
        copied = []
        for place, storage, aval in zip(
            self.function.args[self.leaves :], schedule.outputs, program.output_avals(), strict=True
        ):
            if storage in places:
                copied.append((place, places[storage], aval.nbytes))
            else:
                places[storage] = place
        return [places[len(inputs) + i] for i in range(len(schedule.results))], copied

    def _copy(self, to: ir.Value, source: ir.Value, nbytes: int) -> None:
        copy = self.module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, _I64])
        self.builder.call(copy, [to, source, ir.Constant(_I64, nbytes), ir.Constant(ir.IntType(1), 0)])

    def _constant(self, position: int) -> ir.Value:
        """The address of a constant: within the code, or by symbol."""
        native = self.native
        array = native.constants[position]
        kind = ir.ArrayType(ir.IntType(8), array.nbytes)
        if array.nbytes > BAKED:
            data = self.module.globals.get(native.symbol(position))
            if data is None:
                data = ir.GlobalVariable(self.module, kind, native.symbol(position))
        else:
            data = self._table(
                f"{self.function.name}_c{position}", ir.Constant(kind, bytearray(array.tobytes()))
            )
            data.align = ALIGNMENT
        return self.builder.bitcast(data, BYTES)

    def _call(self, number: int, step: KernelStep, slots: ir.Value) -> None:
        builder = self.builder
        kernel = self.module.globals.get(symbol_of(step.kernel.name))
        if kernel is None:
            kernel = ir.Function(self.module, KERNEL_TYPE, symbol_of(step.kernel.name))
            kernel.linkage = "internal"
            definition_of(step.kernel).write(kernel)
        arguments: list[Any] = [slots]
        for label, kind, values in (("slots", _I32, step.storages), ("sizes", _I64, step.sizes)):
            constants = ir.Constant(ir.ArrayType(kind, len(values)), [_signed(value) for value in values])
            table = self._table(f"{self.function.name}_{label}{number}", constants)
            arguments.append(builder.bitcast(table, kind.as_pointer()))
        with for_range(builder, ir.Constant(_I64, step.tasks)) as task:
            builder.call(kernel, [*arguments, task])

    def _table(self, name: str, value: ir.Constant) -> ir.GlobalVariable:
        table = ir.GlobalVariable(self.module, value.type, name)
        table.linkage = "internal"
        table.global_constant = True
        table.initializer = value
        return table

    def _external(self, kind: ir.FunctionType, name: str) -> ir.Function:
        known = self.module.globals.get(name)
        return ir.Function(self.module, kind, name) if known is None else known


def leaf_count(native: NativeFunction) -> int:
    """Leaves of the arguments, used or not."""

    def count(argument: Argument) -> int:
        return 1 if isinstance(argument, Aval) else sum(map(count, argument))

    return sum(map(count, native.traced.arguments))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
