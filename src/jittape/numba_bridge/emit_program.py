"""Emission of a traced function: its schedule as the body of one LLVM function.

Addresses in the arena, sizes and slot numbers are constants of the code. All functions are internal to the module, so
LLVM can specialize the kernels for these sizes. `ProgramEmitter` leaves the calling convention to its subclasses.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

from llvmlite import ir

from jittape.compile.cache.emit_kernel import definition_of
from jittape.compile.ir.table_layouts import ABORTABLE, KERNEL_CALL, LAUNCH_HEAD, POOL, THREAD, with_tables
from jittape.compile.llvm.definition import symbol_of
from jittape.compile.llvm.interrupts import (
    is_aborted,
    is_assertion_failed,
    new_abort_state,
    release_stacks,
)
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, for_range
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.forms import Assert, Call
from jittape.core.program import ALIGNMENT, Aval
from jittape.numba_bridge.native_function import BAKED, NativeFunction
from jittape.numba_bridge.traced_function import Argument

__all__ = ["ON_STACK", "ProgramEmitter", "leaf_count"]

ON_STACK = 1 << 14
"""Maximum size, in bytes, of temporaries on the stack; the threads of a parallel loop may have small stacks."""

_I64, _I32 = ir.IntType(64), ir.IntType(32)


class ProgramEmitter:
    """Emitter of the body of a function whose arguments are addresses: of the leaves, then of the outputs.

    Parameters
    ----------
    native : NativeFunction
        The traced and scheduled function.
    function : ir.Function
        The function to write, without blocks.
    addresses : sequence of ir.Value
        Addresses of the leaves of all arguments and of the outputs.
    embeds : bool
        Whether large constants are part of the code too, in place of symbols.
    """

    def __init__(
        self,
        native: NativeFunction,
        function: ir.Function,
        addresses: Sequence[ir.Value],
        *,
        embeds: bool = False,
    ) -> None:
        self.native, self.function, self.addresses = native, function, addresses
        self.module: ir.Module = function.module
        self.leaves = leaf_count(native)
        self._embeds = embeds
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    # ---- what the calling convention decides -------------------------------------------------------------------------

    def fail(self, kind: type, text: str) -> None:
        """Emit the return of an error."""
        raise NotImplementedError

    def succeed(self) -> None:
        """Emit the return without an error."""
        raise NotImplementedError

    def other_step(self, number: int, step: NumpyStep) -> None:
        """Emit a step that has no kernel."""
        raise NotImplementedError

    def large_arena(self, nbytes: int) -> ir.Value:
        """Return the address of memory for temporaries that are too large for the stack."""
        raise NotImplementedError

    def stack_addresses(self) -> list[ir.Value]:
        """Return the addresses of the words that hold stacks of unknown length."""
        return []

    # ---- the body ----------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Emit the whole function."""
        builder, schedule = self.builder, self.native.schedule
        arena = self._arena(schedule.arena)
        temporaries = [builder.gep(arena, [ir.Constant(_I64, offset)]) for offset in schedule.offsets]
        inputs = self._inputs()
        results, copied = self._outputs(inputs)
        self.places = [*inputs, *results, *temporaries]
        for storage, address in zip(self.native.stacks, self.stack_addresses(), strict=True):
            self.places[storage] = address
        slots = builder.alloca(BYTES, size=max(1, len(self.places)))
        for i, place in enumerate(self.places):
            builder.store(place, builder.gep(slots, [ir.Constant(_I64, i)]))
        self.abort_state = new_abort_state(builder, interruptible=False)
        for number, step in enumerate(schedule.steps):
            if isinstance(step, KernelStep):
                self._call(number, step, slots)
            else:
                self.other_step(number, step)
        for to, source, nbytes in copied:
            self._copy(to, source, nbytes)
        self.succeed()

    def _arena(self, nbytes: int) -> ir.Value:
        """Return aligned memory for temporaries: on the stack, or from the subclass."""
        builder = self.builder
        if nbytes <= ON_STACK:
            arena = builder.alloca(ir.IntType(8), size=max(1, nbytes))
            arena.align = ALIGNMENT
            return arena
        address = builder.ptrtoint(self.large_arena(nbytes), _I64)
        upwards = builder.add(address, ir.Constant(_I64, ALIGNMENT - 1))
        return builder.inttoptr(builder.and_(upwards, ir.Constant(_I64, -ALIGNMENT)), BYTES)

    def _inputs(self) -> list[ir.Value]:
        native = self.native
        return [
            self.addresses[leaf] if isinstance(leaf, int) else self._constant(position)
            for position, leaf in enumerate(native.traced.leaves)
        ]

    def _outputs(self, inputs: list[ir.Value]) -> tuple[list[ir.Value], list[tuple[ir.Value, ir.Value, int]]]:
        """Return the address of each result, and copies (to, from, bytes) for outputs that are inputs or repeated."""
        schedule, program = self.native.schedule, self.native.traced.program
        places: dict[int, ir.Value] = dict(enumerate(inputs))
        copied = []
        addresses = self.addresses[self.leaves : self.leaves + len(schedule.outputs)]
        for place, storage, aval in zip(addresses, schedule.outputs, program.output_avals(), strict=True):
            if storage in places:
                copied.append((place, places[storage], aval.nbytes))
            else:
                places[storage] = place
        return [places[len(inputs) + i] for i in range(len(schedule.results))], copied

    def _copy(self, to: ir.Value, source: ir.Value, nbytes: int) -> None:
        copy = self.module.declare_intrinsic("llvm.memcpy", [BYTES, BYTES, _I64])
        self.builder.call(copy, [to, source, ir.Constant(_I64, nbytes), ir.Constant(ir.IntType(1), 0)])

    def _constant(self, position: int) -> ir.Value:
        """Return the address of a constant: inside the module, or by symbol."""
        native = self.native
        array = native.constants[position]
        ty = ir.ArrayType(ir.IntType(8), array.nbytes)
        if array.nbytes > BAKED and not self._embeds:
            data = self.module.globals.get(native.symbol(position))
            if data is None:
                data = ir.GlobalVariable(self.module, ty, native.symbol(position))
        else:
            data = self.table(
                f"{self.function.name}_c{position}", ir.Constant(ty, bytearray(array.tobytes()))
            )
            data.align = ALIGNMENT
        return self.builder.bitcast(data, BYTES)

    def _call(self, number: int, step: KernelStep, slots: ir.Value) -> None:
        builder = self.builder
        kernel = self._kernel(step)
        operands, sizes = self._operand_tables(f"{self.function.name}_{number}", step, step.storages)
        arguments = [slots, operands.bitcast(_I32.as_pointer()), sizes.bitcast(_I64.as_pointer())]
        if step.kernel.abortable:
            builder.call(kernel, [*arguments, self.abort_state])
            with builder.if_then(is_aborted(builder, self.abort_state), likely=False):
                release_stacks(builder, self.abort_state)
                self._fail_if_assertion_failed(step)
                self.fail(
                    MemoryError,
                    "the values that a loop of unknown length must save for its gradient do not fit in memory",
                )
            return
        with for_range(builder, ir.Constant(_I64, step.tasks or 1)) as task:
            builder.call(kernel, [*arguments, task])

    def _fail_if_assertion_failed(self, step: KernelStep) -> None:
        """Emit the error of a failed check. A loop or branch with several checks raises the error of the first one."""
        checks = list(dict.fromkeys(_check_errors(step)))
        if checks:
            text = " or ".join([message for _, message in checks])
            with self.builder.if_then(is_assertion_failed(self.builder, self.abort_state)):
                kind = getattr(builtins, checks[0][0])
                self.fail(kind, f"{text} in {step.ops[0].source or 'an unknown line'}")

    def _kernel(self, step: KernelStep) -> ir.Function:
        kernel = self.module.globals.get(symbol_of(step.kernel.name))
        if kernel is None:
            kernel = ir.Function(self.module, KERNEL_TYPE, symbol_of(step.kernel.name))
            kernel.linkage = "internal"
            definition_of(step.kernel).emit(kernel)
        return kernel

    def _operand_tables(
        self, name: str, step: KernelStep, cells: Sequence[int]
    ) -> tuple[ir.GlobalVariable, ir.GlobalVariable]:
        """Return the tables of a step's operands and sizes. The sizes of a loop begin with the tables of its bodies."""
        tables = [self._body(f"{name}_{i}", body) for i, body in enumerate(step.bodies)]
        plan = [ir.Constant(_I64, _signed(value)) for value in step.sizes]
        sizes = with_tables(tables, plan, lambda count: ir.Constant(_I64, count))
        return (
            self.table(f"{name}_slots", _constants(_I32, [ir.Constant(_I32, cell) for cell in cells])),
            self.table(f"{name}_sizes", _constants(_I64, sizes)),
        )

    def _body(self, name: str, body: Schedule) -> ir.Constant:
        """Return the address of a body's launch table. Its pool is zero, so the calling thread runs all tasks."""
        pool = self.table(
            f"{name}_pool", _constants(_I64, [ir.Constant(_I64, 0)] * (POOL.words + THREAD.words))
        )
        calls, no_counter = ir.Constant(_I64, len(body.steps)), ir.Constant(_I64, 0)
        words = LAUNCH_HEAD.pack(calls=calls, pool=pool.ptrtoint(_I64), runs=no_counter)
        for number, step in enumerate(body.steps):
            assert isinstance(step, KernelStep)
            operands, sizes = self._operand_tables(f"{name}_{number}", step, step.storages)
            words += KERNEL_CALL.pack(
                kernel=self._kernel(step).ptrtoint(_I64),
                slots=operands.ptrtoint(_I64),
                sizes=sizes.ptrtoint(_I64),
                tasks=ir.Constant(_I64, ABORTABLE if step.kernel.abortable else step.tasks),
                threads=ir.Constant(_I64, 1),
            )
        table: ir.Constant = self.table(f"{name}_table", _constants(_I64, words)).ptrtoint(_I64)
        return table

    def table(self, name: str, value: ir.Constant) -> ir.GlobalVariable:
        table = ir.GlobalVariable(self.module, value.type, name)
        table.linkage = "internal"
        table.global_constant = True
        table.initializer = value
        return table


def _check_errors(step: KernelStep | NumpyStep) -> Iterator[tuple[str, str]]:
    """Yield the errors (type, message) of the checks of a step and of its bodies."""
    for op in step.ops:
        form = op.primitive.lowering
        if isinstance(form, Assert):
            params = dict(op.params)
            yield params["error"], params["message"]
        elif isinstance(form, Call) and form.failure:
            yield "ValueError", form.failure
    for body in step.bodies:
        for inner in body.steps:
            yield from _check_errors(inner)


def leaf_count(native: NativeFunction) -> int:
    """Return the number of leaves of the arguments, used or not."""

    def count(argument: Argument) -> int:
        return 1 if isinstance(argument, Aval) else sum(map(count, argument))

    return sum(map(count, native.traced.arguments))


def _constants(ty: ir.Type, values: Sequence[ir.Constant]) -> ir.Constant:
    return ir.Constant(ir.ArrayType(ty, len(values)), list(values))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
