"""Temporaries that are written over operands: less memory, the same values, and a check that refuses wrong plans."""

from dataclasses import replace

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.schedule.overwrite_operands import _Lives
from jittape.compile.schedule.validate import check_schedule
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from jittape.errors import ProgramError
from jittape.primitives.broadcast import sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.views import transpose_op
from programs import compiled, program_of

N = 96
rng = np.random.default_rng(3)
OPERANDS = rng.normal(size=(N, N)) / N, rng.normal(size=(N, N)) / N


def chain(x, w):
    """Two products with a function between them, which only the second product reads."""
    return matmul_op.bind(tanh(matmul_op.bind(x, w)), w)


def long_chain(x, w):
    for _ in range(4):
        x = exp(matmul_op.bind(x, w))
    return matmul_op.bind(x, w)


def read_later(x, w):
    """The first product is read after the function of it."""
    a = matmul_op.bind(x, w)
    b = tanh(a)
    return add(matmul_op.bind(b, w), matmul_op.bind(a, b))


def read_between(x, w):
    """A third product is computed between the first one and the last step that reads it."""
    a = matmul_op.bind(x, w)
    return matmul_op.bind(add(a, matmul_op.bind(matmul_op.bind(a, a), a)), w)


def transposed(x, w):
    """Element (i, j) of the result needs element (j, i) of the operand, too."""
    a = matmul_op.bind(x, w)
    return matmul_op.bind(tanh(add(a, transpose_op.bind(a, perm=(1, 0)))), w)


def rows_and_sums(x, w):
    a = matmul_op.bind(x, w)
    b = exp(a)
    return matmul_op.bind(b, w), sum_op.bind(b, axes=(1,)), sum_op.bind(multiply(a, a), axes=(0, 1))


PROGRAMS = [chain, long_chain, read_later, read_between, transposed, rows_and_sums]


def made(function):
    return schedule(program_of(function, *OPERANDS))


def pairs(found):
    return [pair for step in found.steps for pair in step.overwritten]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_the_interpreter(function):
    program = simplify(program_of(function, *OPERANDS))
    for value, expected in zip(compiled(program, OPERANDS), interpret(program, list(OPERANDS)), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("function", "count", "arrays"),
    [(chain, 1, 1), (long_chain, 4, 2), (read_later, 0, 2), (transposed, 0, 2)],
)
def test_an_operand_that_ends_gives_its_memory(function, count, arrays):
    found = made(function)
    assert len(pairs(found)) == count
    assert found.arena == arrays * 8 * N * N


def test_steps_of_a_row_tile_write_over_their_own_blocks(override_tuning):
    override_tuning(row_tile_cached_bytes=1 << 12, row_tile_bytes=1 << 10, row_tile_step_bytes=1 << 6)
    operands = rng.normal(size=(2048, 8)), rng.normal(size=(8, 8)) / 64
    program = simplify(program_of(long_chain, *operands))
    found = schedule(program)
    (tile,) = {step.tile for step in found.steps if step.tile is not None}
    assert len(pairs(found)) == 4
    assert {storage for pair in pairs(found) for storage in pair} <= {storage for storage, _ in tile.moved}
    for value, expected in zip(compiled(program, operands), interpret(program, list(operands)), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12)


# ---- wrong plans -----------------------------------------------------------------------------------------------------


def with_step(found, number, **changes):
    steps = list(found.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(found, steps=tuple(steps))


def overwriting(found):
    return next(i for i, step in enumerate(found.steps) if step.overwritten)


def test_an_operand_that_is_read_later_is_not_overwritten(monkeypatch):
    monkeypatch.setattr(_Lives, "ends", lambda self, owner, number: self.first[owner] < number)
    with pytest.raises(ProgramError, match="which is in use before or afterwards"):
        made(read_later)


def test_elements_that_are_read_later_are_not_overwritten(monkeypatch):
    monkeypatch.setattr(LoopKernel, "reads_only_what_it_writes", lambda self, read, written: True)
    wrong = made(transposed)
    monkeypatch.undo()
    number = overwriting(wrong)
    wrong = with_step(wrong, number, kernel=replace(wrong.steps[number].kernel))  # without what it has cached
    with pytest.raises(ProgramError, match="reads elements of storage .* that it has overwritten"):
        check_schedule(wrong)


def test_a_pair_that_is_missing_or_elsewhere_is_refused():
    good = made(chain)
    number = overwriting(good)
    ((_, y),) = good.steps[number].overwritten
    with pytest.raises(ProgramError, match="reads the results .* but overwrites"):
        check_schedule(with_step(good, number, overwritten=()))
    with pytest.raises(ProgramError, match="which is elsewhere"):
        offsets = list(good.offsets)
        offsets[y - len(good.program.inputs) - len(good.results)] += 64
        check_schedule(replace(good, offsets=tuple(offsets), arena=good.arena + 64))
    with pytest.raises(ProgramError, match="before it is written"):
        check_schedule(with_step(good, number, overwritten=((y, y),)))
    with pytest.raises(ProgramError, match="without a loop"):
        check_schedule(with_step(good, number + 1, overwritten=((y, y),)))


def test_other_values_do_not_use_the_memory_in_between():
    """The operand keeps its memory up to the step that overwrites it, though no kernel has it as an operand there."""
    good = made(read_between)
    ((x, _),) = pairs(good)
    given = len(good.program.inputs) + len(good.results)
    other = next(s for s, offset in enumerate(good.offsets, given) if offset != good.offsets[x - given])
    offsets = [
        good.offsets[x - given] if s == other else offset for s, offset in enumerate(good.offsets, given)
    ]
    with pytest.raises(ProgramError, match="in the memory of"):
        check_schedule(replace(good, offsets=tuple(offsets)))


def test_gradients_of_empty_slices_are_not_added_in_place():
    """The step that would add no element does not exist, and steps that read its result had no order."""

    def cholesky_by_hand(a):
        n = a.shape[0]
        factor = jt.zeros([n, n], a.dtype)
        for i in range(n):
            for j in range(i + 1):
                rest = a[i, j] - jt.reduce_sum(factor[i, :j] * factor[j, :j])
                factor[i, j] = rest**0.5 if i == j else rest / factor[j, j]
        return jt.reduce_sum(factor * np.arange(n * n).reshape(n, n))

    a = np.random.default_rng(3).standard_normal((4, 4))
    a = a @ a.T + 4 * np.eye(4)
    weights = np.arange(16.0).reshape(4, 4)
    truth = jt.grad(lambda a: jt.reduce_sum(jt.linalg.cholesky(a) * weights))(a)
    found = [jt.function(jt.grad(cholesky_by_hand))(a) for _ in range(2)][-1]
    np.testing.assert_allclose(found + found.T, truth + truth.T, rtol=1e-10)


def test_empty_slices_are_not_written_in_place():
    def f(x):
        y = x * 1.0
        for i in range(5):
            y[: i % 2] += x[: i % 2]
            y[i:i] = x[i:i] * 2
            y[i] = jt.reduce_sum(y[:i]) + x[i] * y[i - 1]
            y[2:2] *= 3.0
        return jt.reduce_sum(y * np.arange(5.0))

    x = np.random.default_rng(0).standard_normal(5)
    jt.config.interpret = True
    try:
        truth = jt.grad(f)(x), jt.hessian(f)(x)
    finally:
        jt.config.interpret = False
    for transform, expected in zip((jt.grad, jt.hessian), truth, strict=True):
        for _ in range(2):
            np.testing.assert_allclose(jt.function(transform(f))(x), expected, rtol=1e-12)
