"""Long arrays of short rows that are stored transposed: which arrays, and that the values are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.rewrite.layout_transposition import transpose_layouts
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import broadcast_back, broadcast_to_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.comparison import greater, where
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.reduce.reductions import max_op
from jittape.primitives.shape.views import transpose_op
from programs import compiled, gradient_program, program_of

Array = np.ndarray[Any, Any]


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def swapped(x: Any) -> Any:
    return transpose_op.bind(x, perm=(*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2))


def whitened(x: Any, mean: Any, factor: Any) -> Any:
    """Points, one row each, less a mean of each stack, times a matrix of each stack."""
    shape = (mean.shape[0], *x.shape)
    centered = subtract(
        broadcast_to_op.bind(x, shape=shape),
        broadcast_to_op.bind(reshape_op.bind(mean, shape=(shape[0], 1, shape[2])), shape=shape),
    )
    return matmul_op.bind(centered, factor)


def distances(x: Any, mean: Any, factor: Any) -> Any:
    return sum_op.bind(square(whitened(x, mean, swapped(factor))), axes=(2,))


def over_all_axes(x: Any, mean: Any, factor: Any) -> Any:
    white = whitened(x, mean, factor)
    return (
        sum_op.bind(white, axes=(0,)),
        max_op.bind(white, axes=(1,)),
        sum_op.bind(exp(white), axes=(0, 2)),
        sum_op.bind(white, axes=(0, 1, 2)),
    )


def products_of_transposed_arrays(x: Any, mean: Any, factor: Any) -> Any:
    white = whitened(x, mean, factor)
    again = matmul_op.bind(exp(white), swapped(factor))
    return matmul_op.bind(swapped(again), white), matmul_op.bind(white, swapped(again)), swapped(again)


def a_choice_and_a_scale(x: Any, mean: Any, factor: Any) -> Any:
    white = whitened(x, mean, factor)
    scale = broadcast_back(sum_op.bind(square(white), axes=(2,)), white.shape, (2,))
    row = broadcast_to_op.bind(sum_op.bind(mean, axes=(0,)), shape=white.shape)
    chosen = where(greater(white, row), multiply(white, scale), row)
    return sum_op.bind(chosen, axes=(1,))


PROGRAMS = [distances, over_all_axes, products_of_transposed_arrays, a_choice_and_a_scale]
SHAPES = [(100, 10, 3), (64, 5, 2), (130, 16, 1), (70, 2, 4), (80, 3, 25)]


def check(program: Program, operands: list[Array]) -> None:
    for found, wanted in zip(compiled(program, operands), interpret(program, operands), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize(("n", "d", "stacks"), SHAPES)
def test_values_are_the_same(
    function: Callable[..., Any], n: int, d: int, stacks: int, override_tuning: Callable[..., None]
) -> None:
    override_tuning(transposed_min_elements=0, transposed_rows_per_column=2, transposed_broadcast_factor=1)
    operands = [normal(n, d), normal(stacks, d), normal(stacks, d, d) / d]
    program = simplify(program_of(function, *operands))
    assert transpose_layouts(program) is not program
    check(program, operands)


def test_gradients_are_the_same() -> None:
    def total(x: Any, mean: Any, factor: Any) -> Any:
        return sum_op.bind(exp(multiply(distances(x, mean, factor), -0.5)), axes=(0, 1))

    operands = [normal(1000, 10), normal(25, 10), normal(25, 10, 10) / 4]
    program = simplify(gradient_program(program_of(total, *operands), (0, 1, 2)))
    assert transpose_layouts(program) is not program
    check(program, [*operands, np.ones(())])


def test_loops_run_along_the_points() -> None:
    def total(x: Any, mean: Any, factor: Any) -> Any:
        return sum_op.bind(distances(x, mean, factor), axes=(0, 1))

    operands = [normal(1000, 10), normal(25, 10), normal(25, 10, 10)]
    made = schedule(simplify(gradient_program(program_of(total, *operands), (1, 2))))
    loops = [s for s in made.steps if isinstance(s.kernel, LoopKernel)]
    large = [s.sizes[: s.kernel.depth] for s in loops if np.prod(s.sizes[: s.kernel.depth]) > 100_000]
    assert len(large) == 2
    assert all(extents[-1] == 1000 for extents in large)
    # The points are transposed once, not for every stack.
    assert [s.sizes[:2] for s in loops].count((10, 1000)) == 1


def test_small_arrays_and_what_others_see_are_left_alone() -> None:
    def shown(x: Any, mean: Any, factor: Any) -> Any:
        white = whitened(x, mean, factor)
        return white, sum_op.bind(white, axes=(2,))

    def flattened(x: Any, mean: Any, factor: Any) -> Any:
        white = whitened(x, mean, factor)
        return sum_op.bind(exp(reshape_op.bind(white, shape=(white.shape[0] * 10_000,))), axes=(0,))

    def met_by_an_input(x: Any, mean: Any, factor: Any) -> Any:
        white = whitened(x, mean, factor)
        return sum_op.bind(add(white, reshape_op.bind(x, shape=white.shape)), axes=(1,))

    def left_alone(function: Callable[..., Any], n: int, d: int, stacks: int) -> bool:
        program = simplify(program_of(function, normal(n, d), normal(stacks, d), normal(stacks, d, d)))
        return transpose_layouts(program) is program

    assert not left_alone(distances, 1000, 10, 25)
    assert left_alone(distances, 100, 10, 3)
    assert left_alone(distances, 1000, 40, 25)
    assert left_alone(distances, 60, 10, 250)
    assert left_alone(shown, 1000, 10, 25)
    assert left_alone(flattened, 1000, 10, 25)
    assert left_alone(met_by_an_input, 10_000, 10, 1)


def test_a_transposed_view_is_copied_only_where_it_is_read_often() -> None:
    def added(x: Any, y: Any) -> Any:
        return add(broadcast_to_op.bind(swapped(x), shape=y.shape), y)

    def loops(stacks: int) -> list[tuple[int, ...]]:
        made = schedule(program_of(added, normal(200, 30), normal(stacks, 30, 200)))
        return [s.sizes[: s.kernel.depth] for s in made.steps if isinstance(s.kernel, LoopKernel)]

    assert loops(8) == [(30, 200), (8, 6000)]
    assert loops(2) == [(2, 30, 200)]
    operands = [normal(200, 30), normal(8, 30, 200)]
    check(program_of(added, *operands), operands)
