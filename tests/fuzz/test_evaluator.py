"""The evaluator of schedules: it agrees with compiled kernels, and it notices what is wrong with a schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from evaluator import evaluated
from wide_programs import wide_program

from host_schedules import schedule
from jittape.compile.schedule.steps import Schedule
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import cast_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.elementwise.piecewise import absolute_op
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.indexing.gather_ops import gather_op, scatter_add_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.views import Region, pad_op, slice_op, transpose_op
from programs import compiled, program_of


def assert_right(program: Program, operands: list[np.ndarray], made: Schedule | None = None) -> None:
    """Compare the evaluator's results with the interpreter's."""
    made = schedule(program) if made is None else made
    for got, expected in zip(evaluated(made, operands), interpret(program, operands), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("number", range(40, 60))
def test_it_agrees_with_compiled_kernels(number):
    program, arrays = wide_program(number, most=8)
    program = simplify(program)
    try:
        expected = compiled(program, arrays)
    except IndexError:
        return
    for got, one in zip(evaluated(schedule(program), arrays, number), expected, strict=True):
        np.testing.assert_allclose(got, one, rtol=1e-3, atol=1e-4)


# ---- what it notices -------------------------------------------------------------------------------------------------


def a_strip(override_tuning) -> tuple[Program, list[np.ndarray]]:
    override_tuning(row_tile_cached_bytes=1 << 12, row_tile_bytes=1 << 10, row_tile_step_bytes=1 << 6)

    def function(x, w):
        h = tanh(matmul_op.bind(x, w))
        return sum_op.bind(matmul_op.bind(h, w), axes=(0, 1)), exp(h)

    rng = np.random.default_rng(0)
    operands = [rng.normal(size=(512, 8)), rng.normal(size=(8, 8))]
    return program_of(function, *operands), operands


def test_a_strip_is_done_block_by_block(override_tuning):
    program, operands = a_strip(override_tuning)
    made = schedule(program)
    (strip,) = {step.tile for step in made.steps if step.tile is not None}
    assert strip.moved
    assert strip.blocks > strip.groups > 1
    assert_right(program, operands, made)
    steps = list(made.steps)
    i = next(i for i, step in enumerate(steps) if step.tile is not None)
    steps[i], steps[i + 1] = steps[i + 1], steps[i]
    with pytest.raises(AssertionError):
        assert_right(program, operands, replace(made, steps=tuple(steps)))


def test_temporaries_that_share_bytes_are_noticed():
    def function(x, w):
        a = matmul_op.bind(x, w)
        return matmul_op.bind(tanh(a), exp(matmul_op.bind(a, w)))

    operands = list(np.random.default_rng(0).normal(size=(2, 9, 9)))
    program = program_of(function, *operands)
    made = schedule(program)
    assert_right(program, operands, made)
    with pytest.raises(AssertionError):
        assert_right(program, operands, replace(made, offsets=(0,) * len(made.offsets)))


# ---- what it has found -----------------------------------------------------------------------------------------------


def test_a_sum_that_runs_along_with_longer_loops_writes_no_more_than_its_result():
    def function(x):
        placed = pad_op.bind(x, region=Region((0,), (0,), (4,), (1,)), shape=(5, 6))
        return matmul_op.bind(placed, transpose_op.bind(placed, perm=(1, 0))), sum_op.bind(x, axes=(1,))

    x = np.random.default_rng(0).normal(size=(4, 6))
    assert_right(program_of(function, x), [x])


def test_an_input_that_each_block_of_a_strip_reads_is_not_overwritten(override_tuning):
    _, (x, w) = a_strip(override_tuning)

    def function(x, w):
        transpose_layouts = slice_op.bind(x, region=Region((0,), (511,), (512,), (-1,)))
        return add(matmul_op.bind(exp(transpose_layouts), w), x)

    program = program_of(function, x, w)
    made = schedule(program, ((0, 0),))
    assert any(step.tile is not None for step in made.steps)
    assert_right(program, [x, w], made)


@pytest.mark.parametrize("limit", [4, 16, 40])
def test_a_scatter_is_cut_after_the_indices_that_it_needs(override_tuning, limit):
    override_tuning(split_cost_limit=limit, split_piece_cost=limit // 4)

    def function(x, y):
        value = tanh(y)
        scaled = multiply(absolute_op.bind(sin(tanh(sin(tanh(x))))), 4.0)
        return scatter_add_op.bind(value, cast_op.bind(scaled, dtype=np.dtype(np.int64)), axis=0, shape=(5,))

    operands = list(np.random.default_rng(0).normal(size=(2, 9)))
    assert_right(program_of(function, *operands), operands)


def test_pieces_do_not_wait_for_each_other_in_a_circle(override_tuning):
    """What the check and the sum have in common counts as an instruction of the check, which comes first."""
    override_tuning(split_cost_limit=40, split_piece_cost=12)

    def function(x, indices):
        picked = gather_op.bind(absolute_op.bind(x), indices, axis=1)
        second = slice_op.bind(picked, region=Region((1,), (1,), (1,), (-1,)))
        return sum_op.bind(absolute_op.bind(second), axes=(1,))

    operands = [np.array([[1.0, -2.0, 3.0, -4.0]]), np.array([2, 0, 1, 1])]
    assert_right(program_of(function, *operands), operands)


@pytest.mark.parametrize("seed", range(4))
def test_short_products_that_are_added_are_divided_between_threads(override_tuning, seed):
    override_tuning(parallel_work_ns=1)
    rng = np.random.default_rng(seed)
    operands = [rng.normal(size=shape) for shape in ((12, 40), (40, 10), (12, 40), (40, 10))]
    program = program_of(lambda a, b, c, d: add(matmul_op.bind(a, b), matmul_op.bind(c, d)), *operands)
    (got,) = evaluated(schedule(program), operands, seed)
    np.testing.assert_allclose(got, operands[0] @ operands[1] + operands[2] @ operands[3])


@pytest.mark.parametrize("shape", [(3, 0, 2), (0,), (0, 4)])
def test_arrays_without_elements_are_neither_read_nor_written(shape):
    def function(x, table):
        places = cast_op.bind(absolute_op.bind(x), dtype=np.dtype(np.int64))
        return gather_op.bind(table, places, axis=0), sum_op.bind(exp(x), axes=tuple(range(len(shape))))

    operands = [np.zeros(shape), np.ones((3, 2))]
    assert_right(program_of(function, *operands), operands)
