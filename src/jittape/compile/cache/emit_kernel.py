"""Emission of kernels: from kernels to modules of LLVM IR.

A module holds many functions: LLVM's work is linear in their number, and they share outlined functions (100 kernels
take 24 ms each in one module, 35 ms each in modules of their own). A kernel is a function ``void kernel(i8** slots,
i32* operand_slots, i64* sizes, i64 task)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from llvmlite import ir

from jittape.compile.ir.banded_kernel import BandedSubstitution
from jittape.compile.ir.exchanges import Exchanges
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.general_band_kernel import GeneralBandSolve
from jittape.compile.ir.isotonic_kernel import IsotonicBlocks
from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.lapack import DECOMPOSITIONS, EXPONENTIALS, SCHUR_FUNCTIONS, Lapack
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.ir.mask_kernels import MaskCounts, MaskLoop
from jittape.compile.ir.tridiagonal_kernel import TridiagonalSolve
from jittape.compile.kernels.control.control_driver import ControlDriver, Release, Stop
from jittape.compile.kernels.control.emit_control import (
    define_branch,
    define_loop,
    define_release,
    define_stop,
)
from jittape.compile.kernels.control.emit_parallel import define_parallel_loop
from jittape.compile.kernels.diagonal.emit_diagonals import define_diagonal_scatter
from jittape.compile.kernels.exchanges.emit_exchanges import define_exchanges
from jittape.compile.kernels.gemm.blas_call import define_product
from jittape.compile.kernels.gemm.gemv import define_gemv
from jittape.compile.kernels.gemm.skinny_gemm import define_skinny_gemm
from jittape.compile.kernels.gemm.small_gemm import define_loops_or_matrix, define_small_gemm
from jittape.compile.kernels.isotonic.emit_isotonic import define_isotonic_blocks
from jittape.compile.kernels.lapack.decompositions import define_decomposition
from jittape.compile.kernels.lapack.emit_expm import define_exponential
from jittape.compile.kernels.lapack.emit_schur import define_schur_function
from jittape.compile.kernels.lapack.lapack_calls import define_lapack
from jittape.compile.kernels.lapack.unrolled import define_unrolled
from jittape.compile.kernels.loop.emit_loops import define_loops
from jittape.compile.kernels.loop.vectorize import lanes_in
from jittape.compile.kernels.masks.emit_masks import define_mask_counts, define_mask_loop
from jittape.compile.kernels.scalar_vm.bytecode import ScalarVM
from jittape.compile.kernels.scalar_vm.emit_bytecode import define_scalar_vm
from jittape.compile.kernels.tridiagonal.emit_banded import define_banded_substitution
from jittape.compile.kernels.tridiagonal.emit_general_bands import define_general_band_solve
from jittape.compile.kernels.tridiagonal.emit_tridiagonal import define_tridiagonal_solve
from jittape.compile.llvm.definition import Definition, Effort, FunctionKind, symbol_of
from jittape.compile.llvm.driver import FUNCTION_TYPES
from jittape.compile.rewrite.diagonal_op import DiagonalScatter
from jittape.errors import CompileError

__all__ = ["definition_of", "emit_module"]


_WITH_LOOPS = (ScalarVM, DiagonalScatter, MaskCounts, TridiagonalSolve, BandedSubstitution, GeneralBandSolve)
"""Kernels whose loops LLVM vectorizes."""


_DRIVERS = {"loop": define_loop, "parallel loop": define_parallel_loop, "branch": define_branch}


def definition_of(kernel: Kernel) -> Definition:
    """Return the definition of a kernel."""

    def emit(function: ir.Function) -> None:
        try:
            if isinstance(kernel, LoopKernel):
                define_loops(kernel, function)
            elif isinstance(kernel, ControlDriver):
                _DRIVERS[kernel.kind](function)
            elif isinstance(kernel, ScalarVM):
                define_scalar_vm(kernel, function)
            elif isinstance(kernel, Stop):
                define_stop(function)
            elif isinstance(kernel, DiagonalScatter):
                define_diagonal_scatter(kernel, function)
            elif isinstance(kernel, Exchanges):
                define_exchanges(function)
            elif isinstance(kernel, IsotonicBlocks):
                define_isotonic_blocks(function)
            elif isinstance(kernel, MaskCounts):
                define_mask_counts(function)
            elif isinstance(kernel, MaskLoop):
                define_mask_loop(kernel, function)
            elif isinstance(kernel, TridiagonalSolve):
                define_tridiagonal_solve(kernel, function)
            elif isinstance(kernel, GeneralBandSolve):
                define_general_band_solve(kernel, function)
            elif isinstance(kernel, BandedSubstitution):
                define_banded_substitution(kernel, function)
            elif isinstance(kernel, Lapack):
                _lapack_definer(kernel)(kernel, function)
            elif isinstance(kernel, Release):
                define_release(function)
            else:
                assert isinstance(kernel, Gemm)
                _definer(kernel)(kernel, function)
        except TimeoutError:  # from a signal handler
            raise
        except Exception as error:
            raise CompileError(f"cannot emit code for this kernel: {error}\n{kernel.listing}") from error

    return Definition(kernel.name, FunctionKind.KERNEL, emit, _effort(kernel))


def _effort(kernel: Kernel) -> Effort:
    if isinstance(kernel, LoopKernel):
        return Effort.LITTLE if not kernel.depth or lanes_in(kernel) else Effort.LOOPS
    if isinstance(kernel, Gemm):
        return Effort.LITTLE
    if isinstance(kernel, Lapack):
        has_loops = kernel.routine in ("potri", *EXPONENTIALS, *SCHUR_FUNCTIONS)
        return Effort.LOOPS if has_loops else Effort.LITTLE
    return Effort.LOOPS if isinstance(kernel, _WITH_LOOPS) else Effort.LITTLE


def _definer(kernel: Gemm) -> Callable[[Gemm, ir.Function], None]:
    if kernel.form.startswith("dots"):
        return define_skinny_gemm
    if kernel.form.startswith(("rows", "columns")):
        return define_gemv
    if kernel.form.endswith(" or matrix"):
        return define_loops_or_matrix
    return define_small_gemm if kernel.form in ("tiny", "tiled") else define_product


def _lapack_definer(kernel: Lapack) -> Callable[[Lapack, ir.Function], None]:
    if kernel.routine in EXPONENTIALS:
        return define_exponential
    if kernel.routine in SCHUR_FUNCTIONS:
        return define_schur_function
    if kernel.routine in DECOMPOSITIONS:
        return define_decomposition
    return define_unrolled if kernel.order else define_lapack


def emit_module(definitions: Iterable[Definition]) -> ir.Module:
    """Return a module with these functions; functions that only they call are internal."""
    module = ir.Module("jittape")
    for definition in definitions:
        definition.emit(ir.Function(module, FUNCTION_TYPES[definition.kind], symbol_of(definition.name)))
    return module
