"""From kernels to machine code: LLVM IR written inside a Numba intrinsic.

One `njit` call compiles all new kernels of a program (0.02 s and the work of LLVM, whatever their number); each is an
LLVM function of its own, ``void kernel(i8** slots, i32* operand_slots, i64* sizes, i64 task)``. `registry` keeps what
has been compiled by the kernels' names, for the life of the process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from jittape.compile.gemm import define_gemm
from jittape.compile.kernel import Gemm, Kernel, LoopKernel
from jittape.compile.loops import define_loops
from jittape.errors import CompileError

__all__ = ["Compiled", "Registry", "RegistryStats", "registry"]


class Compiled(NamedTuple):
    """Machine code for a kernel."""

    kernel: Kernel
    address: int


class RegistryStats(NamedTuple):
    """Counts since the start of the process."""

    compiled: int
    found: int
    seconds: float


class Registry:
    """Machine code by kernel name, shared by the whole process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compiled: dict[str, Compiled] = {}
        self._keep_alive: list[Any] = []
        self._found = 0
        self._seconds = 0.0

    def addresses(self, kernels: Iterable[Kernel]) -> tuple[list[int], set[str]]:
        """The address of every kernel, and the names of those that were compiled for it just now."""
        kernels = list(kernels)
        with self._lock:
            missing = {k.name: k for k in kernels if k.name not in self._compiled}
            self._found += len({k.name for k in kernels}) - len(missing)
            if missing:
                start = time.perf_counter()
                self._compile(list(missing.values()))
                self._seconds += time.perf_counter() - start
            return [self._compiled[k.name].address for k in kernels], set(missing)

    def stats(self) -> RegistryStats:
        """How much was compiled and found again, and the time that compiling took."""
        return RegistryStats(len(self._compiled), self._found, self._seconds)

    def _compile(self, kernels: list[Kernel]) -> None:
        dispatcher, addresses = compile_functions([(k.name, _definition(k)) for k in kernels])
        self._keep_alive.append(dispatcher)
        for kernel, address in zip(kernels, addresses, strict=True):
            self._compiled[kernel.name] = Compiled(kernel, address)


registry = Registry()

Define = Callable[[ir.Function], None]


def _definition(kernel: Kernel) -> Define:
    def define(function: ir.Function) -> None:
        try:
            if isinstance(kernel, LoopKernel):
                define_loops(kernel, function)
            else:
                assert isinstance(kernel, Gemm)
                define_gemm(kernel, function)
        except Exception as error:
            raise CompileError(f"cannot write code for this kernel: {error}\n{kernel.listing}") from error

    return define


def compile_functions(definitions: list[tuple[str, Define]]) -> tuple[Any, list[int]]:
    """Compile functions of type `KERNEL_TYPE`; returns what must be kept alive, and the addresses."""
    failures: list[CompileError] = []

    @intrinsic
    def store_addresses(typing_context: Any, out: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            try:
                _write_functions(builder, args[0], definitions)
            except CompileError as error:
                failures.append(error)
                raise
            return context.get_dummy_value()

        return types.void(types.intp), generate

    def entry(out):  # type: ignore[no-untyped-def]
        store_addresses(out)  # type: ignore[call-arg]

    addresses = np.zeros(len(definitions), np.int64)
    try:
        dispatcher = njit("void(intp)", nogil=True)(entry)
    except Exception as error:
        if failures:
            raise failures[0] from error
        names = "\n".join(name for name, _ in definitions)
        raise CompileError(f"Numba could not compile these kernels: {error}\n{names}") from error
    dispatcher(addresses.__array_interface__["data"][0])
    return dispatcher, addresses.tolist()


def _write_functions(builder: ir.IRBuilder, out: ir.Value, definitions: list[tuple[str, Define]]) -> None:
    i64 = ir.IntType(64)
    out = builder.inttoptr(out, i64.as_pointer())
    for position, (name, define) in enumerate(definitions):
        function = ir.Function(builder.module, KERNEL_TYPE, f"jittape_{name}")
        function.linkage = "internal"
        define(function)
        place = builder.gep(out, [ir.Constant(i64, position)])
        builder.store(builder.ptrtoint(function, i64), place)


_BYTES = ir.IntType(8).as_pointer()
KERNEL_TYPE = ir.FunctionType(
    ir.VoidType(),
    [_BYTES.as_pointer(), ir.IntType(32).as_pointer(), ir.IntType(64).as_pointer(), ir.IntType(64)],
)
