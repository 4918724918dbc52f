"""Emission of a native function: its schedule as one LLVM function in the module of the caller.

Addresses in the arena, sizes and slot numbers are constants of the code. All functions are internal to the module, so
LLVM can specialize the kernels for these sizes.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from jittape.compile.cache.emit_kernel import definition_of, symbol_of
from jittape.compile.ir.table_layouts import ABORTABLE, KERNEL_CALL, LAUNCH_HEAD, POOL, THREAD
from jittape.compile.kernels.control.control_plan import with_tables
from jittape.compile.llvm.interrupts import (
    is_aborted,
    is_assertion_failed,
    new_abort_state,
    release_stacks,
)
from jittape.compile.llvm.ir_helpers import BYTES, KERNEL_TYPE, external, for_range
from jittape.compile.schedule.steps import KernelStep, NumpyStep, Schedule
from jittape.core.forms import Assert, Call
from jittape.core.program import ALIGNMENT, Aval
from jittape.numba_bridge.native_function import BAKED, NativeFunction
from jittape.numba_bridge.numba_op import array_call
from jittape.numba_bridge.numba_substitutes import SUBSTITUTES
from jittape.numba_bridge.python_steps import Carried
from jittape.numba_bridge.traced_function import Argument

__all__ = ["assign", "call_program"]

ON_STACK = 1 << 14
"""Maximum size, in bytes, of temporaries on the stack; the threads of a parallel loop may have small stacks."""

_I64, _I32 = ir.IntType(64), ir.IntType(32)
_STEP = ir.FunctionType(ir.VoidType(), [BYTES])
"""Type of a `PythonStep`."""


def call_program(
    context: Any, builder: ir.IRBuilder, native: NativeFunction, addresses: list[ir.Value]
) -> None:
    """Emit a call with the addresses of the arguments' leaves and then of the outputs; emit the function if needed."""
    module, nbytes, keys = builder.module, native.schedule.arena, None
    memory = []
    if nbytes > ON_STACK:
        memory.append(_allocated(context, builder, native, nbytes + ALIGNMENT))
    if native.stacks:
        keys = cgutils.alloca_once(builder, ir.ArrayType(_I64, len(native.stacks)), zfill=True)
        memory.append(builder.bitcast(keys, BYTES))
    name = f"jittape_program_{native.fingerprint}"
    pointers = (types.voidptr,) * (len(addresses) + len(memory))
    function = module.globals.get(name)
    if function is None:
        function = _Program(context, module, native, name, pointers).function
    status, _ = context.call_conv.call_function(
        builder, function, types.none, pointers, [*addresses, *memory]
    )
    if nbytes > ON_STACK:
        builder.call(external(module, ir.FunctionType(ir.VoidType(), [BYTES]), "NRT_Free"), [memory[0]])
    if native.stacks:
        builder.call(external(module, _STEP, native.release_symbol), [memory[-1]])
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)


def _allocated(context: Any, builder: ir.IRBuilder, native: NativeFunction, nbytes: int) -> ir.Value:
    """Emit the allocation of memory that is too large for the stack."""
    allocate = external(builder.module, ir.FunctionType(BYTES, [_I64]), "NRT_Allocate")
    allocated = builder.call(allocate, [ir.Constant(_I64, nbytes)])
    with builder.if_then(cgutils.is_null(builder, allocated), likely=False):
        text = f"{native.name}: cannot allocate {nbytes} bytes"
        context.call_conv.return_user_exc(builder, MemoryError, (text,))
    return allocated


class _Program:
    """Emitter of the function. It has Numba's calling convention, so that it can return errors."""

    def __init__(
        self, context: Any, module: ir.Module, native: NativeFunction, name: str, pointers: Any
    ) -> None:
        self.context = context
        self.module = module
        self.native = native
        self.function = ir.Function(module, context.call_conv.get_function_type(types.none, pointers), name)
        self.function.linkage = "internal"
        self.addresses = context.call_conv.get_arguments(self.function)
        self.leaves = leaf_count(native)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._write()

    def _write(self) -> None:
        builder, schedule = self.builder, self.native.schedule
        stacks = self.addresses[-1] if self.native.stacks else None
        arena = self._arena(schedule.arena)
        temporaries = [builder.gep(arena, [ir.Constant(_I64, offset)]) for offset in schedule.offsets]
        inputs = self._inputs()
        results, copied = self._outputs(inputs)
        self.places = [*inputs, *results, *temporaries]
        for i, storage in enumerate(self.native.stacks):
            self.places[storage] = builder.gep(stacks, [ir.Constant(_I64, 8 * i)])
        slots = builder.alloca(BYTES, size=max(1, len(self.places)))
        for i, place in enumerate(self.places):
            builder.store(place, builder.gep(slots, [ir.Constant(_I64, i)]))
        self.abort_state = new_abort_state(builder, interruptible=False)
        for number, step in enumerate(schedule.steps):
            if isinstance(step, KernelStep):
                self._call(number, step, slots)
            elif number in self.native.python_steps:
                self._call_python(number, step)
            elif step.op.primitive in SUBSTITUTES:
                self._substitute(step)
            else:
                _ArrayCall(self, step).write()
        for to, source, nbytes in copied:
            self._copy(to, source, nbytes)
        self.context.call_conv.return_value(builder, self.context.get_dummy_value())

    def _arena(self, nbytes: int) -> ir.Value:
        """Return aligned memory for temporaries: on the stack, or in the memory from the caller."""
        builder = self.builder
        if nbytes <= ON_STACK:
            arena = builder.alloca(ir.IntType(8), size=max(1, nbytes))
            arena.align = ALIGNMENT
            return arena
        address = builder.ptrtoint(self.addresses[-2 if self.native.stacks else -1], _I64)
        upwards = builder.add(address, ir.Constant(_I64, ALIGNMENT - 1))
        return builder.inttoptr(builder.and_(upwards, ir.Constant(_I64, -ALIGNMENT)), BYTES)

    def fail(self, kind: type, text: str) -> None:
        """Emit the return of an error."""
        self.context.call_conv.return_user_exc(self.builder, kind, (f"{self.native.name}: {text}",))

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
        if array.nbytes > BAKED:
            data = self.module.globals.get(native.symbol(position))
            if data is None:
                data = ir.GlobalVariable(self.module, ty, native.symbol(position))
        else:
            data = self._table(
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

    def _call_python(self, number: int, step: NumpyStep) -> None:
        """Emit the call of a step in Python, which raises the step's exception if it fails."""
        builder = self.builder
        function = external(self.module, _STEP, self.native.step_symbol(number))
        places = [self.places[storage] for storage in (*step.storages, *step.results)]
        table = builder.alloca(_I64, size=len(places) + 1)
        for i, place in enumerate(places):
            builder.store(builder.ptrtoint(place, _I64), builder.gep(table, [ir.Constant(_I64, i)]))
        succeeded = builder.gep(table, [ir.Constant(_I64, len(places))])
        builder.store(ir.Constant(_I64, 0), succeeded)
        builder.call(function, [builder.bitcast(table, BYTES)])
        failed = builder.icmp_signed("==", builder.load(succeeded), ir.Constant(_I64, 0))
        with builder.if_then(failed, likely=False):
            self.context.call_conv.return_user_exc(builder, Carried, ())

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
            self._table(f"{name}_slots", _constants(_I32, [ir.Constant(_I32, cell) for cell in cells])),
            self._table(f"{name}_sizes", _constants(_I64, sizes)),
        )

    def _body(self, name: str, body: Schedule) -> ir.Constant:
        """Return the address of a body's launch table. Its pool is zero, so the calling thread runs all tasks."""
        pool = self._table(
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
        table: ir.Constant = self._table(f"{name}_table", _constants(_I64, words)).ptrtoint(_I64)
        return table

    def _substitute(self, step: NumpyStep) -> None:
        """Emit a call of the Numba implementation of an op that has no kernel."""
        context, builder = self.context, self.builder
        substitute = SUBSTITUTES[step.op.primitive]
        operands = [self.flat(s, aval) for s, aval in zip(step.storages, step.avals, strict=True)]
        if substitute.several is not None:
            operands[substitute.several :] = [self._tuple(operands[substitute.several :])]
        arguments = [*operands, self.flat(step.result, step.result_aval)]
        for value in substitute.layout(step.avals, **dict(step.op.params)):
            if isinstance(value, int):
                arguments.append((types.intp, context.get_constant(types.intp, value)))
            else:
                arguments.append(
                    self._tuple([(types.intp, context.get_constant(types.intp, n)) for n in value])
                )
        signature = types.none(*[ty for ty, _ in arguments])
        context.compile_internal(builder, substitute.function, signature, [value for _, value in arguments])

    def _tuple(self, parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        ty = types.UniTuple(parts[0][0], len(parts))
        return ty, self.context.make_tuple(self.builder, ty, [value for _, value in parts])

    def flat(self, storage: int, aval: Aval) -> tuple[Any, Any]:
        """Return type and value of a storage as a one-dimensional array."""
        ty = types.Array(from_dtype(aval.dtype), 1, "C")
        return ty, self.array(ty, Aval((aval.size,), aval.dtype), self.places[storage])

    def array(self, ty: Any, aval: Aval, address: ir.Value) -> Any:
        """Return a Numba array that does not own its memory."""
        context, builder = self.context, self.builder
        array = context.make_array(ty)(context, builder)
        strides = [aval.dtype.itemsize]
        for extent in reversed(aval.shape[1:]):
            strides.insert(0, strides[0] * extent)
        arrayobj.populate_array(
            array,
            data=builder.bitcast(address, context.get_data_type(ty.dtype).as_pointer()),
            shape=[context.get_constant(types.intp, n) for n in aval.shape],
            strides=[context.get_constant(types.intp, n) for n in strides],
            itemsize=context.get_constant(types.intp, aval.dtype.itemsize),
            meminfo=None,
        )
        return array._getvalue()

    def _table(self, name: str, value: ir.Constant) -> ir.GlobalVariable:
        table = ir.GlobalVariable(self.module, value.type, name)
        table.linkage = "internal"
        table.global_constant = True
        table.initializer = value
        return table


class _ArrayCall:
    """Emitter of a call of a user function of whole arrays."""

    def __init__(self, program: _Program, step: NumpyStep) -> None:
        self.program = program
        self.context = program.context
        self.builder = program.builder
        self.step = step
        body = array_call(step.op.primitive)
        assert body is not None
        self.body = body

    def write(self) -> None:
        """Emit the call and copy the result to its place."""
        context, builder, step = self.context, self.builder, self.step
        operands = [self._operand(s, aval) for s, aval in zip(step.storages, step.avals, strict=True)]
        function = types.Dispatcher(self.body.dispatcher)
        signature = function.get_call_type(context.typing_context, tuple([ty for ty, _ in operands]), {})
        whole = context.get_function(function, signature)(builder, [value for _, value in operands])
        ty, value = signature.return_type, whole
        if self.body.item is not None:
            ty, value = ty[self.body.item], builder.extract_value(value, self.body.item)
        self._store(ty, value, step.result_aval, self.program.places[step.result])
        context.nrt.decref(builder, signature.return_type, whole)

    def _operand(self, storage: int, aval: Aval) -> tuple[Any, Any]:
        """Return Numba's type and value of an operand: a number, or a read-only array."""
        context, builder = self.context, self.builder
        dtype = from_dtype(aval.dtype)
        address = self.program.places[storage]
        if aval.shape == ():
            place = builder.bitcast(address, context.get_data_type(dtype).as_pointer())
            return dtype, context.data_model_manager[dtype].from_data(builder, builder.load(place))
        ty = types.Array(dtype, aval.ndim, "C", readonly=True)
        return ty, self.program.array(ty, aval, address)

    def _store(self, ty: Any, value: Any, aval: Aval, address: ir.Value) -> None:
        context, builder = self.context, self.builder
        dtype = from_dtype(aval.dtype)
        returned = ty.dtype if isinstance(ty, types.Array) else types.unliteral(ty)
        if returned != dtype or (ty.ndim if isinstance(ty, types.Array) else 0) != aval.ndim:
            raise errors.TypingError(f"numba_op({self.body.op.name}): the function returns {ty}, not {aval}")
        if not isinstance(ty, types.Array):
            place = builder.bitcast(address, context.get_data_type(dtype).as_pointer())
            builder.store(
                context.get_value_as_data(builder, dtype, context.cast(builder, value, ty, dtype)), place
            )
            return
        extents = cgutils.unpack_tuple(builder, context.make_array(ty)(context, builder, value).shape)
        for extent, expected in zip(extents, aval.shape, strict=True):
            differs = builder.icmp_signed("!=", extent, ir.Constant(extent.type, expected))
            with cgutils.if_unlikely(builder, differs):
                self.program.fail(
                    ValueError, f"{self.body.op.name} must return an array of shape {aval.shape}"
                )
        target = types.Array(dtype, aval.ndim, "C")
        signature = types.none(target, ty)
        context.compile_internal(
            builder, assign, signature, (self.program.array(target, aval, address), value)
        )


def assign(target, source):  # type: ignore[no-untyped-def]
    """Copy an array; compiled by Numba."""
    target[...] = source


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
