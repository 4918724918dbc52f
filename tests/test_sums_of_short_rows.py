"""Sums over several loops whose innermost loop is short: rows are added up until they have the elements of a chunk."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from host_schedules import schedule
from jittape.compile.cache.emit_kernel import definition_of, emit_module
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.llvm import target
from jittape.compile.schedule.steps import KernelStep
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op, sum_op
from jittape.primitives.elementwise.arithmetic import square, subtract
from jittape.primitives.reduce.reductions import max_op
from programs import compiled, program_of

Array = np.ndarray[Any, Any]


def distance(x: Any, y: Any) -> Any:
    """Return the sum of the squared differences of all rows, and the largest one; both in one nest."""
    squares = square(subtract(x, broadcast_to_op.bind(y, shape=x.shape)))
    return sum_op.bind(squares, axes=(0, 1)), max_op.bind(squares, axes=(0, 1))


def operands(shape: tuple[int, int], dtype: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1:]).astype(dtype)


def test_partial_sums_are_combined_once_in_a_chunk() -> None:
    steps = schedule(program_of(distance, *operands((100, 10), "float64"))).steps
    (kernel,) = [s.kernel for s in steps if isinstance(s, KernelStep) and isinstance(s.kernel, LoopKernel)]
    text = target.module_text(emit_module([definition_of(kernel)])).text
    blocks = re.findall(r"^(\S+):\n(.*?)(?=^\S+:\n|^})", text, re.DOTALL | re.MULTILINE)
    adding = [name for name, body in blocks if re.search(r"call void @\"\w*pairwise_add", body)]
    assert len(adding) == 2
    assert all(".if" in name for name in adding)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape",
    [(0, 3), (3, 0), (1, 1), (2, 1), (1000, 1), (10_000, 3), (100_000, 1), (70, 33), (5, 1500), (3, 2048)],
)
@pytest.mark.parametrize("chunk", [2, 64, 1024])
def test_values(shape: tuple[int, int], dtype: str, chunk: int) -> None:
    x, y = operands(shape, dtype)
    program = program_of(distance, x, y)
    with tuning.override(sum_chunk_elements=chunk):
        total, largest = compiled(program, [x, y])
    squares = np.square(x - y)
    exact = squares.sum(dtype=np.longdouble)
    np.testing.assert_allclose(total, exact, rtol=12 * np.finfo(dtype).eps)
    assert largest == squares.max(initial=-np.inf)
