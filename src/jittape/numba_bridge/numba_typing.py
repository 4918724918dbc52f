"""Registration of `NativeFunction` with Numba: its type, the signature of a call, and the LLVM IR of a call.

A call checks shapes, puts scalars on the stack, allocates result arrays with Numba's runtime (or uses the arrays in
``out=``), and calls the function that `emit_native.call_program` emits into the same module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, errors, types, typing
from numba.core.imputils import lower_constant
from numba.extending import (
    NativeValue,
    box,
    lower_builtin,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from jittape.compile.llvm.external_functions import used_by
from jittape.compile.llvm.ir_helpers import BYTES
from jittape.core.program import Aval
from jittape.numba_bridge.emit_native import assign, call_program
from jittape.numba_bridge.native_function import NativeFunction, find_native
from jittape.numba_bridge.traced_function import Argument, Result

__all__ = ["NativeFunctionType", "dispatcher"]

_I64 = ir.IntType(64)


class NativeFunctionType(types.Callable, types.Opaque):
    """The Numba type of one native function; each function has its own type.

    The type is pickled into the index files of Numba's cache, which must be readable without the function. It therefore
    refers to the function by name and fingerprint.
    """

    def __init__(self, label: str, fingerprint: str) -> None:
        self.label = label
        self.fingerprint = fingerprint
        super().__init__(f"jittape.NativeFunction({label}, {fingerprint})")

    @property
    def native(self) -> NativeFunction:
        """The native function of this process."""
        return find_native(self.label, self.fingerprint)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call with arguments of these types."""
        return _Typing(self).signature(args, kws)

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """Return no signatures: they depend on the arguments of a call."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Return the key of the implementation: one function lowers all calls."""
        return NativeFunctionType


# ---- signature of a call ---------------------------------------------------------------------------------------------


class _Typing:
    """Type inference of one call."""

    def __init__(self, ty: NativeFunctionType) -> None:
        self.ty = ty
        self.native = ty.native
        self.avals = self.native.traced.program.output_avals()

    def signature(self, args: Any, kws: Any) -> Any:
        """Return the signature: scalars have the expected types, arrays keep their own.

        Raises
        ------
        TypingError
            If an argument has a wrong type.
        """
        native = self.native
        pysig = signature_of(native)
        try:
            given = typing.fold_arguments(
                pysig,
                args,
                kws,
                lambda i, p, ty: ty,
                lambda i, p, value: types.Omitted(value),
                lambda i, p, ty: ty,
            )
        except (TypeError, errors.TypingError) as error:
            raise errors.TypingError(f"{native.name}: {error}; it is called as {native}") from None
        named = zip(native.parameters, native.traced.arguments, given, strict=False)
        expected = [self._argument(name, argument, ty) for name, argument, ty in named]
        out = given[-1]
        arrays = None if isinstance(out, (types.Omitted, types.NoneType)) else self._out_arrays(out)
        result = self._result(native.traced.result, iter(arrays) if arrays is not None else None)
        return typing.signature(result, *expected, out, recvr=self.ty).replace(pysig=pysig)

    def _argument(self, name: str, argument: Argument, ty: Any) -> Any:
        if isinstance(argument, Aval):
            return self._leaf(name, argument, types.unliteral(ty))
        if not isinstance(ty, types.BaseTuple) or len(ty) != len(argument):
            raise self._error(name, f"must be a tuple of {len(argument)}", ty)
        return types.Tuple(
            [
                self._argument(f"{name}[{i}]", part, t)
                for i, (part, t) in enumerate(zip(argument, ty, strict=True))
            ]
        )

    def _leaf(self, name: str, aval: Aval, ty: Any) -> Any:
        """Return the type that Numba converts an argument to before the call; the call itself converts ints."""
        dtype = from_dtype(aval.dtype)
        if isinstance(ty, types.Array):
            if ty.ndim != aval.ndim or ty.dtype != dtype:
                raise self._error(name, f"must be {aval}", ty)
            if not ty.aligned:
                raise self._error(name, "must be aligned; copy it", ty)
            return ty
        if aval.shape != () or not _converts(ty, dtype):
            raise self._error(name, f"must be {aval}", ty)
        return ty if isinstance(dtype, types.Integer) and isinstance(ty, types.Integer) else dtype

    def _out_arrays(self, out: Any) -> list[Any]:
        """Return the types of the arrays in ``out=``."""
        expected = [aval for aval in self.avals if aval.shape != ()]
        arrays = list(out) if isinstance(out, types.BaseTuple) else [out]
        if len(arrays) != len(expected):
            raise self._error(
                "out", f"must contain {len(expected)} arrays, one for each result that is not a scalar", out
            )
        for aval, ty in zip(expected, arrays, strict=True):
            fits = isinstance(ty, types.Array) and ty.ndim == aval.ndim and ty.dtype == from_dtype(aval.dtype)
            if not (fits and ty.mutable and ty.aligned):
                raise self._error("out", f"must be a writable array, {aval}", ty)
        return arrays

    def _result(self, result: Result, out: Iterator[Any] | None) -> Any:
        if isinstance(result, tuple):
            return types.Tuple([self._result(part, out) for part in result])
        aval = self.avals[result]
        dtype = from_dtype(aval.dtype)
        if aval.shape == ():
            return dtype
        return types.Array(dtype, aval.ndim, "C") if out is None else next(out)

    def _error(self, name: str, text: str, ty: Any) -> errors.TypingError:
        return errors.TypingError(f"{self.native.name}: argument {name!r} {text}, got {ty}")


def _converts(given: Any, expected: Any) -> bool:
    """Return whether a scalar is accepted. Scalars are weak, as Python numbers are: an int is accepted for a float."""
    ranks = (types.Boolean, types.Integer, types.Float, types.Complex)

    def rank(ty: Any) -> int:
        return next((i for i, cls in enumerate(ranks) if isinstance(ty, cls)), len(ranks))

    return rank(given) <= rank(expected) < len(ranks) and (rank(expected) > 0 or rank(given) == 0)


def signature_of(native: NativeFunction) -> inspect.Signature:
    """Return the Python signature of a call."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in native.parameters]
    return inspect.Signature([*parameters, inspect.Parameter("out", kind, default=None)])


@typeof_impl.register(NativeFunction)
def _typeof(value: NativeFunction, context: Any) -> NativeFunctionType:
    return NativeFunctionType(value.name, value.fingerprint)


register_model(NativeFunctionType)(models.OpaqueModel)


@lower_constant(NativeFunctionType)
def _constant(context: Any, builder: Any, ty: Any, value: Any) -> Any:
    return context.get_dummy_value()


@unbox(NativeFunctionType)
def _unbox(ty: Any, value: Any, c: Any) -> Any:
    return NativeValue(c.context.get_dummy_value())


@box(NativeFunctionType)
def _box(ty: Any, value: Any, c: Any) -> Any:
    return c.env_manager.read_const(c.env_manager.add_const(ty.native))


# ---- the code of a call ----------------------------------------------------------------------------------------------


@lower_builtin(NativeFunctionType, NativeFunctionType, types.VarArg(types.Any))
def _call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _Call(context, builder, sig, args).emit()


class _Call:
    """Emitter of one call."""

    def __init__(self, context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> None:
        self.context = context
        self.builder = builder
        self.sig = sig
        self.native: NativeFunction = sig.args[0].native
        self.types, self.values = sig.args[1:], args[1:]
        self.given: list[tuple[ir.Value, int]] = []
        self.copies: list[tuple[Any, Any]] = []
        self.unpacked: list[tuple[Any, Any, Any, Any]] = []
        # The compiled code, and all code that it is linked into, keeps this callback alive. Numba saves it with the
        # code and calls it before it loads the code. So the symbols exist while they are needed, or the code is stale.
        context.active_code_library._reload_init.add(self.native.provide)

    def emit(self) -> Any:
        """Emit the call and return its value."""
        context, builder, native = self.context, self.builder, self.native
        named = zip(native.parameters, native.traced.arguments, self.types, self.values, strict=False)
        leaves = [pointer for entry in named for pointer in self._leaves(*entry)]
        results = self._results(self._out())
        call_program(context, builder, native, [*leaves, *[pointer for _, _, pointer in results]])
        for used in used_by(builder.module):
            context.active_code_library.add_llvm_module(llvm.parse_assembly(used.text))
        for ty, value, source_type, source in self.unpacked:
            context.compile_internal(builder, assign, types.none(ty, source_type), (value, source))
        for ty, value in self.copies:
            context.nrt.decref(builder, ty, value)
        return self._structure(native.traced.result, self.sig.return_type, results)

    def _raise(self, error: type, text: str) -> None:
        self.context.call_conv.return_user_exc(self.builder, error, (f"{self.native.name}: {text}",))

    # ---- arguments -----------------------------------------------------------------------------------------------

    def _leaves(self, name: str, argument: Argument, ty: Any, value: Any) -> Iterator[ir.Value]:
        """Yield the addresses of the leaves of an argument."""
        if isinstance(argument, Aval):
            yield self._leaf(name, argument, ty, value)
            return
        for i, (part, part_type) in enumerate(zip(argument, ty, strict=True)):
            yield from self._leaves(f"{name}[{i}]", part, part_type, self.builder.extract_value(value, i))

    def _leaf(self, name: str, aval: Aval, ty: Any, value: Any) -> ir.Value:
        builder, context = self.builder, self.context
        if not isinstance(ty, types.Array):
            dtype = from_dtype(aval.dtype)
            value = self._convert_int(name, ty, value, dtype) if ty != dtype else value
            data = context.get_value_as_data(builder, dtype, value)
            return builder.bitcast(cgutils.alloca_once_value(builder, data), BYTES)
        self._check_shape(name, aval, ty, value)
        if ty.layout != "C":
            packed = ty.copy(layout="C", readonly=False)
            value = context.compile_internal(builder, _packed, typing.signature(packed, ty), (value,))
            ty = packed
            self.copies.append((ty, value))
        pointer = self._data(ty, value)
        self.given.append((pointer, aval.nbytes))
        return pointer

    def _convert_int(self, name: str, ty: Any, value: Any, expected: Any) -> ir.Value:
        """Convert an int to the expected dtype; raise OverflowError if it does not fit."""
        builder = self.builder
        compare = builder.icmp_signed if ty.signed else builder.icmp_unsigned
        for relation, limit in (("<", expected.minval), (">", expected.maxval)):
            if ty.minval < limit < ty.maxval:
                outside = compare(relation, value, ir.Constant(value.type, limit))
                with cgutils.if_unlikely(builder, outside):
                    self._raise(OverflowError, f"argument {name!r} is an int that does not fit {expected}")
        return self.context.cast(builder, value, ty, expected)

    def _check_shape(self, name: str, aval: Aval, ty: Any, value: Any) -> None:
        builder = self.builder
        extents = cgutils.unpack_tuple(builder, context_array(self.context, builder, ty, value).shape)
        for extent, expected in zip(extents, aval.shape, strict=True):
            differs = builder.icmp_signed("!=", extent, ir.Constant(extent.type, expected))
            with cgutils.if_unlikely(builder, differs):
                self._raise(ValueError, f"argument {name!r} must have shape {aval.shape}, but has another")

    def _data(self, ty: Any, value: Any) -> ir.Value:
        return self.builder.bitcast(context_array(self.context, self.builder, ty, value).data, BYTES)

    def _out(self) -> Iterator[tuple[Any, Any]] | None:
        """Return types and values of the arrays in ``out=``; None without them."""
        ty, value = self.types[-1], self.values[-1]
        if isinstance(ty, (types.Omitted, types.NoneType)):
            return None
        if not isinstance(ty, types.BaseTuple):
            return iter([(ty, value)])
        return iter([(part, self.builder.extract_value(value, i)) for i, part in enumerate(ty)])

    # ---- results -------------------------------------------------------------------------------------------------

    def _results(self, out: Iterator[tuple[Any, Any]] | None) -> list[tuple[Any, Any, ir.Value]]:
        """Return type, value and address of each output, after all checks. A scalar has its pointer as value."""
        avals = self.native.traced.program.output_avals()
        given = [None if out is None or aval.shape == () else next(out) for aval in avals]
        for aval, array in zip(avals, given, strict=True):
            if array is not None:
                self._check_shape("out", aval, *array)
                if array[0].layout == "C":
                    self._check_overlap(aval, self._data(*array))
        return [self._result(aval, array) for aval, array in zip(avals, given, strict=True)]

    def _check_overlap(self, aval: Aval, pointer: ir.Value) -> None:
        """Emit a check that an array in ``out=`` overlaps no other array, as kernels must not write what they read."""
        builder = self.builder
        start = builder.ptrtoint(pointer, _I64)
        for other, nbytes in self.given:
            other_start = builder.ptrtoint(other, _I64)
            before = builder.icmp_unsigned(
                "<=", builder.add(start, ir.Constant(_I64, aval.nbytes)), other_start
            )
            after = builder.icmp_unsigned("<=", builder.add(other_start, ir.Constant(_I64, nbytes)), start)
            if aval.nbytes and nbytes:
                with cgutils.if_unlikely(builder, builder.not_(builder.or_(before, after))):
                    self._raise(
                        ValueError, "an array in out= shares memory with an argument or another array in out="
                    )
        self.given.append((pointer, aval.nbytes))

    def _result(self, aval: Aval, given: tuple[Any, Any] | None) -> tuple[Any, Any, ir.Value]:
        context, builder = self.context, self.builder
        dtype = from_dtype(aval.dtype)
        if aval.shape == ():
            place = cgutils.alloca_once(builder, context.get_data_type(dtype))
            return dtype, place, builder.bitcast(place, BYTES)
        if given is not None:
            context.nrt.incref(builder, *given)
            if given[0].layout == "C":
                return (*given, self._data(*given))
        ty = types.Array(dtype, aval.ndim, "C")
        extents = [context.get_constant(types.intp, extent) for extent in aval.shape]
        value = arrayobj._empty_nd_impl(context, builder, ty, extents)._getvalue()
        if given is None:
            return ty, value, self._data(ty, value)
        self.unpacked.append((*given, ty, value))
        self.copies.append((ty, value))
        return (*given, self._data(ty, value))

    def _structure(self, result: Result, ty: Any, results: list[tuple[Any, Any, ir.Value]]) -> Any:
        if isinstance(result, tuple):
            parts = [self._structure(part, t, results) for part, t in zip(result, ty, strict=True)]
            return self.context.make_tuple(self.builder, ty, parts)
        _, value, _ = results[result]
        if isinstance(ty, types.Array):
            return value
        return self.context.data_model_manager[ty].from_data(self.builder, self.builder.load(value))


def _packed(array):  # type: ignore[no-untyped-def]
    return np.ascontiguousarray(array)


def context_array(context: Any, builder: ir.IRBuilder, ty: Any, value: Any) -> Any:
    """Return the fields of an array."""
    return context.make_array(ty)(context, builder, value)


@cache
def dispatcher() -> Callable[..., Any]:
    """Return the compiled function that calls a native function from Python."""

    @njit(nogil=True)
    def call(function, args):  # type: ignore[no-untyped-def]
        return function(*args)

    compiled: Callable[..., Any] = call
    return compiled
