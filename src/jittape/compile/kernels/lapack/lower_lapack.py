"""Lowering of a call of LAPACK to a kernel, which similar ops share, and to the sizes of this op."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.compile.analysis.lapack_operands import LapackCall
from jittape.compile.analysis.lapack_scratch import scratch_lengths
from jittape.compile.analysis.parallelism import work_of_decomposition, work_of_lapack
from jittape.compile.ir.lapack import DECOMPOSITIONS, FACTORIZATIONS, SOLVES, Lapack, lapack_kernel
from jittape.compile.ir.target_facts import TargetFacts
from jittape.core.forms import Call
from jittape.core.program import Aval, Op
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["LoweredLapack", "lower_lapack"]


class LoweredLapack(NamedTuple):
    """The kernel, the values of its symbols, its scratch memory, the number of tasks and the work in ns."""

    kernel: Lapack
    sizes: tuple[int, ...]
    scratch: tuple[Aval, ...]
    tasks: int
    work: int


def lower_lapack(
    call: LapackCall, op: Op, dtype: np.dtype[Any], in_place: bool, target: TargetFacts
) -> LoweredLapack:
    """Return the lowered `call` of `op`; if `in_place`, the result takes the memory of the last operand.

    A stack is divided into tasks by its sizes alone, so that every matrix is computed in the same way for any number of
    threads.
    """
    form, params = op.primitive.lowering, dict(op.params)
    assert isinstance(form, Call)
    outer, inner = call.batch
    stacked = outer.extent * inner.extent
    order = call.order if _is_unrolled(call, dtype) else 0
    kernel = lapack_kernel(
        call.routine,
        dtype,
        transposed=call.matrix.transposed,
        lower=params.get("lower", False),
        adjoint=params.get("adjoint", False),
        order=order,
        in_place=in_place,
        may_fail=bool(form.failure),
    )
    decomposed = call.routine in DECOMPOSITIONS
    if decomposed:
        each = work_of_decomposition(call.routine, call.rows * call.order)
    else:
        each = work_of_lapack(call.routine, dtype, call.order, call.columns, bool(order))
    tasks, share = 1, stacked
    if stacked * each >= tuning.parallel_work_ns and target.divisible:
        lanes = tuning.vector_bytes // dtype.itemsize
        share = max(1, tuning.task_ns // (lanes * each)) * lanes if order else max(1, tuning.task_ns // each)
        if decomposed:
            share = max(share, -(-stacked // tuning.max_decomposition_tasks))
        tasks = -(-stacked // share)
    matrix, columns = call.matrix, call.columns
    if call.routine == "potri":
        columns = tuning.pullback_loops_order if target.wide_registers else 0
    lengths = scratch_lengths(call, dtype)
    sizes = (
        *(outer.extent, inner.extent, share, call.order, columns),
        *(matrix.leading, matrix.offset, outer.x_stride, inner.x_stride),
        *(call.rows, *[*lengths, 0, 0, 0][:3]),
    )
    written = kernel.operands[kernel.result + 1 :]
    scratch = tuple([Aval((tasks, n), o.dtype) for n, o in zip(lengths, written, strict=False)])
    return LoweredLapack(kernel, sizes, scratch, tasks, stacked * each)


def _is_unrolled(call: LapackCall, dtype: np.dtype[Any]) -> bool:
    """Return whether the loops are unrolled for matrices of this order."""
    small = 0 < call.order <= tuning.unrolled_lapack_order and call.columns <= tuning.unrolled_lapack_columns
    fits = call.routine in (*FACTORIZATIONS, *SOLVES) and dtype.kind == "f"
    return small and fits and call.batch[0].extent == 1
