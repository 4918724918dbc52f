"""Vectors of elements that are a few elements apart: columns of narrow arrays, read and written."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop.strided_vectors import _windows
from jittape.compile.kernels.loop.vectorize import _has_masks, lanes_in, loads_of, read_stride
from jittape.compile.schedule.steps import KernelStep
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import cast_op
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import less, where_op
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.shape.views import Region, concat_op, slice_op
from programs import compiled, program_of

STRIDES = range(2, tuning.window_stride + 1)
DTYPES = [np.float64, np.float32, np.int16, np.bool_]
Array = np.ndarray[Any, Any]


def column(x: Any, i: int) -> Any:
    return slice_op.bind(x, region=Region((1,), (i,), (1,), (1,)))


def turned(x: Any) -> Any:
    """Return the columns of `x`, the last one first; each result has two columns multiplied."""
    columns = [column(x, i) for i in range(x.shape[1])]
    return concat_op.bind(*[multiply(a, b) for a, b in zip(columns[::-1], columns, strict=True)], axis=1)


def turned_far(x: Any) -> Any:
    """Return `turned`, computed in a loop that costs so much that it is written as vectors."""
    columns = [column(x, i) for i in range(x.shape[1])]
    sines = [sin(cast_op.bind(c, dtype=np.dtype(np.float32))) for c in (columns * 2)[:3]]
    is_small = less(multiply(sines[0], multiply(sines[1], sines[2])), 2.0)
    pairs = zip(columns[::-1], columns, strict=True)
    return concat_op.bind(*[where_op.bind(is_small, multiply(a, b), a) for a, b in pairs], axis=1)


def kernels_of(function: Any, *operands: Array) -> list[LoopKernel]:
    steps = schedule(program_of(function, *operands)).steps
    return [s.kernel for s in steps if isinstance(s, KernelStep) and isinstance(s.kernel, LoopKernel)]


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 64])
def test_windows_have_each_element_once_in_a_lane_of_its_own(stride: int, lanes: int) -> None:
    for first in range(stride):
        windows = _windows(stride, lanes, first)
        found = [(e, lane) for window in windows for lane, e in enumerate(window.elements) if e >= 0]
        assert sorted(e for e, _ in found) == sorted(lane for _, lane in found) == list(range(lanes))
        for window in windows:
            for lane, e in enumerate(window.elements):
                assert e < 0 or window.first + lane == first + stride * e


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("function", [turned, turned_far])
def test_columns_are_read_and_written_for_all_lengths(function: Any, stride: int, dtype: Any) -> None:
    for rows in (1, 8, 9, 33, 100):
        x = np.random.default_rng(rows).integers(0, 5, size=(rows, stride)).astype(dtype)
        (result,) = compiled(program_of(function, x), [x])
        np.testing.assert_array_equal(result, x[:, ::-1] * x)


@pytest.mark.parametrize("stride", STRIDES)
def test_loops_over_columns_are_vectors(stride: int) -> None:
    if not _has_masks():
        pytest.skip("the processor cannot mask vectors")
    (kernel,) = kernels_of(turned_far, np.ones((100, stride)))
    assert f"i0*{stride} + {stride - 1}" in kernel.text
    assert lanes_in(kernel) is not None
    assert sum(operand.name[0] == "r" for operand in kernel.operands) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: np.dtype(d).name)
def test_loops_of_little_work_are_vectors_where_windows_are_faster(dtype: Any) -> None:
    if not _has_masks():
        pytest.skip("the processor cannot mask vectors")
    found = [stride for stride in STRIDES if lanes_in(kernels_of(turned, np.ones((100, stride), dtype))[0])]
    assert found == ([5, 7] if dtype == np.float64 else [8])


@pytest.mark.parametrize(
    ("dtype", "strides"), [(np.float64, (2, 3, 4, 5, 7)), (np.float32, (2, 3, 4, 5, 6, 7, 8))]
)
def test_windows_of_one_element_and_an_even_stride_are_not_read(dtype: Any, strides: Any) -> None:
    def first(x: Any) -> Any:
        return sin(column(x, 0))

    kernels = [(stride, kernels_of(first, np.ones((100, stride), dtype))[0]) for stride in STRIDES]
    found = [
        stride
        for stride, kernel in kernels
        if read_stride(kernel, loads_of(kernel)[0].address, np.dtype(dtype))
    ]
    assert tuple(found) == strides


@pytest.mark.parametrize("stride", [3, 4, 5])
def test_columns_that_are_not_written_keep_their_values(stride: int) -> None:
    """Each assignment is a loop of its own, which writes one or two columns of the memory that it is given."""
    for first, second in combinations(range(stride), 2):
        v = jt.Variable(np.arange(37.0 * stride).reshape(37, stride))
        wanted = v.numpy().copy()

        @jt.function
        def step(first: int = first, second: int = second, v: Any = v) -> None:
            both = jt.stack([v[:, second] * 2.0, v[:, first] + 1.0], axis=1)
            v[:, first].assign(both[:, 0])
            v[:, second].assign(both[:, 1])

        for _ in range(2):
            step()
            wanted[:, first], wanted[:, second] = wanted[:, second] * 2.0, wanted[:, first] + 1.0
            np.testing.assert_array_equal(v.numpy(), wanted)


def test_steps_along_one_axis_are_the_same_as_with_numpy() -> None:
    x = np.random.default_rng(0).normal(size=1000)
    for stride in (2, 3, 5, 8, 9):
        for first in (0, 1, 7):
            f = jt.function(lambda x, first=first, stride=stride: jt.exp(x[first::stride]) * 2.0)
            np.testing.assert_allclose(f(x).numpy(), np.exp(x[first::stride]) * 2.0, rtol=1e-14)
