"""Emission of a native function with Numba's calling convention, in the module of the caller."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from jittape.compile.llvm.ir_helpers import BYTES, external
from jittape.compile.schedule.steps import NumpyStep
from jittape.core.program import ALIGNMENT, Aval
from jittape.numba_bridge.emit_program import ON_STACK, ProgramEmitter
from jittape.numba_bridge.native_function import NativeFunction
from jittape.numba_bridge.numba_op import array_call
from jittape.numba_bridge.numba_substitutes import SUBSTITUTES
from jittape.numba_bridge.python_steps import Carried

__all__ = ["assign", "call_program"]

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


class _Program(ProgramEmitter):
    """Emitter of the function. It has Numba's calling convention, so that it can return errors."""

    def __init__(
        self, context: Any, module: ir.Module, native: NativeFunction, name: str, pointers: Any
    ) -> None:
        function = ir.Function(module, context.call_conv.get_function_type(types.none, pointers), name)
        function.linkage = "internal"
        super().__init__(native, function, context.call_conv.get_arguments(function))
        self.context = context
        self.write()

    def fail(self, kind: type, text: str) -> None:
        self.context.call_conv.return_user_exc(self.builder, kind, (f"{self.native.name}: {text}",))

    def succeed(self) -> None:
        self.context.call_conv.return_value(self.builder, self.context.get_dummy_value())

    def large_arena(self, nbytes: int) -> ir.Value:
        return self.addresses[-2 if self.native.stacks else -1]

    def stack_addresses(self) -> list[ir.Value]:
        stacks = range(len(self.native.stacks))
        return [self.builder.gep(self.addresses[-1], [ir.Constant(_I64, 8 * i)]) for i in stacks]

    def other_step(self, number: int, step: NumpyStep) -> None:
        if number in self.native.python_steps:
            self._call_python(number, step)
        elif step.op.primitive in SUBSTITUTES:
            self._substitute(step)
        else:
            _ArrayCall(self, step).write()

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
        kinds = self.body.argument_types.of(step.avals)
        operands = [self._operand(*each) for each in zip(step.storages, step.avals, kinds, strict=True)]
        function = types.Dispatcher(self.body.dispatcher)
        signature = function.get_call_type(context.typing_context, tuple([ty for ty, _ in operands]), {})
        whole = context.get_function(function, signature)(builder, [value for _, value in operands])
        ty, value = signature.return_type, whole
        if self.body.item is not None:
            ty, value = ty[self.body.item], builder.extract_value(value, self.body.item)
        self._store(ty, value, step.result_aval, self.program.places[step.result])
        context.nrt.decref(builder, signature.return_type, whole)
        for kind, operand in operands:
            if getattr(kind, "mutable", False):
                context.nrt.decref(builder, kind, operand)

    def _operand(self, storage: int, aval: Aval, kind: Any) -> tuple[Any, Any]:
        """Return Numba's type and value of an operand: a number, a read-only array, or a writable copy of it."""
        context, builder = self.context, self.builder
        dtype = from_dtype(aval.dtype)
        address = self.program.places[storage]
        if aval.shape == ():
            place = builder.bitcast(address, context.get_data_type(dtype).as_pointer())
            return dtype, context.data_model_manager[dtype].from_data(builder, builder.load(place))
        array = self.program.array(kind, aval, address)
        if kind.mutable:
            array = context.compile_internal(builder, copy_of, kind(kind), (array,))
        return kind, array

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


def copy_of(source):  # type: ignore[no-untyped-def]
    """Return a copy of an array; compiled by Numba."""
    return source.copy()
