"""Products that are added to a Variable in its memory, and products that must not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.core.buffers import Buffer
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import broadcast_to_op, cast_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.views import transpose_op
from jittape.runtime.executable import CompiledExecutable
from programs import program_of

Array = np.ndarray[Any, Any]

M, N, K = 160, 120, 40
"""160x120 float32 are 75 KiB: large enough to be updated in place."""


@pytest.fixture(autouse=True, params=["loops", "BLAS"])
def multiplier(request: pytest.FixtureRequest, override_tuning: Callable[..., None]) -> None:
    """What multiplies: loops, if the processor has wide registers, or the BLAS."""
    if request.param == "BLAS":
        override_tuning(tiled_gemm_multiplications=-1, tiny_gemm_multiplications=-1)


def normal(*shape: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def gradient(x: Any, g: Any) -> Any:
    return matmul_op.bind(transpose_op.bind(x, perm=(1, 0)), g)


def everywhere(number: Any, like: Any) -> Any:
    return broadcast_to_op.bind(number, shape=like.shape)


def down(w: Any, x: Any, g: Any) -> Any:
    return subtract(w, multiply(0.25, gradient(x, g)))


def by_a_rate(w: Any, x: Any, g: Any, rate: Any) -> Any:
    return subtract(w, multiply(gradient(x, g), everywhere(rate, w)))


def by_a_computed_rate(w: Any, x: Any, g: Any, rate: Any) -> Any:
    computed = exp(rate)
    factor = everywhere(cast_op.bind(computed, dtype=w.dtype), w)
    return add(multiply(factor, gradient(x, g)), w), computed


def plainly(w: Any, x: Any, g: Any) -> Any:
    return add(w, gradient(x, g))


def read_before(w: Any, x: Any, g: Any) -> Any:
    return down(
        w, x, matmul_op.bind(exp(matmul_op.bind(x, w)), matmul_op.bind(transpose_op.bind(w, perm=(1, 0)), w))
    )


def schedule_of(function: Callable[..., Any], *operands: Array) -> Any:
    return schedule(simplify(program_of(function, *operands)), ((0, 0),))


def is_accumulated(made: Any) -> bool:
    """Whether a product writes the first result."""
    first = len(made.program.inputs)
    return any(isinstance(s.kernel, Gemm) and s.storages[2] == first for s in made.steps)


def check(program: Program, operands: list[Array], alone: bool) -> None:
    """The values, and that what somebody else sees of the first operand stays."""
    wanted = interpret(program, operands)
    given = operands[0].copy()
    executable = CompiledExecutable(program, frozenset(), ((0, 0),))
    buffers = [Buffer(given), *[Buffer(a) for a in operands[1:]]]
    view = None if alone else buffers[0].view()
    if alone:
        del given
    found = executable.run(buffers)
    tolerance = 1e-4 if operands[0].dtype == np.float32 else 1e-11
    for value, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value.array.reshape(other.shape), other, rtol=tolerance, atol=tolerance)
    if view is not None:
        np.testing.assert_array_equal(view, operands[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("function", [down, by_a_rate, by_a_computed_rate, plainly, read_before])
def test_an_update_by_a_product_is_one_step(function: Callable[..., Any], alone: bool, dtype: str) -> None:
    size = (M, M) if function is read_before else (M, N)
    operands = [normal(*size, dtype=dtype) / 10, normal(K, M, dtype=dtype), normal(K, size[1], dtype=dtype)]
    if function in (by_a_rate, by_a_computed_rate):
        operands.append(np.array(-0.75, dtype if function is by_a_rate else np.float64))
    made = schedule_of(function, *operands)
    assert is_accumulated(made)
    assert [read for _, result, read in made.in_place if result == 0] == [True]
    check(simplify(program_of(function, *operands)), operands, alone)


def reversed_terms(w: Any, x: Any, g: Any, rate: Any) -> Any:
    product = matmul_op.bind(x, transpose_op.bind(g, perm=(1, 0)))
    return subtract(w, multiply(everywhere(cast_op.bind(rate, dtype=w.dtype), w), product))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rate", [0.0, -0.0, 1e-60, np.nan, np.inf])
@pytest.mark.parametrize("function", [by_a_rate, by_a_computed_rate, reversed_terms])
def test_a_product_that_is_not_finite_is_added_times_any_rate(
    function: Callable[..., Any], rate: float, dtype: str
) -> None:
    x, g = normal(K, M, dtype=dtype), normal(K, N, dtype=dtype)
    x[3, 5], x[7, 150], g[9, 100] = np.inf, -np.inf, np.nan
    if function is reversed_terms:
        x, g = np.ascontiguousarray(x.T), np.ascontiguousarray(g.T)
    w = normal(M, N, dtype=dtype)
    with np.errstate(all="ignore"):
        given = np.log(rate) if function is by_a_computed_rate else rate
        operands = [w, x, g, np.array(given, dtype if function is by_a_rate else np.float64)]
        assert is_accumulated(schedule_of(function, *operands))
        check(simplify(program_of(function, *operands)), operands, True)


def by_a_fixed_zero(w: Any, x: Any, g: Any) -> Any:
    return subtract(w, multiply(0.0, gradient(x, g)))


def shown(w: Any, x: Any, g: Any) -> Any:
    step = gradient(x, g)
    return subtract(w, step), step


def measured(w: Any, x: Any, g: Any) -> Any:
    step = gradient(x, g)
    return subtract(w, step), sum_op.bind(step, axes=(0, 1))


def multiplied_again(w: Any, x: Any, g: Any) -> Any:
    step = gradient(x, g)
    return subtract(w, step), matmul_op.bind(x, step)


def by_a_late_rate(w: Any, x: Any, g: Any) -> Any:
    rate = sum_op.bind(
        exp(
            matmul_op.bind(exp(multiply(matmul_op.bind(x, exp(transpose_op.bind(x, perm=(1, 0)))), 1e-3)), x)
        ),
        axes=(0, 1),
    )
    return subtract(w, multiply(everywhere(rate, w), gradient(x, g))), rate


def read_afterwards(w: Any, x: Any, g: Any) -> Any:
    new = subtract(w, gradient(x, g))
    return new, matmul_op.bind(exp(new), exp(transpose_op.bind(w, perm=(1, 0))))


def by_itself(w: Any, x: Any, g: Any) -> Any:
    return subtract(w, matmul_op.bind(w, g))


def transpose_layouts(w: Any, x: Any, g: Any) -> Any:
    return subtract(w, transpose_op.bind(gradient(g, x), perm=(1, 0)))


def squared(w: Any, x: Any, g: Any) -> Any:
    return subtract(w, multiply(gradient(x, g), w))


def by_two_products(w: Any, x: Any, g: Any) -> Any:
    return subtract(w, add(gradient(x, g), gradient(exp(x), g)))


def in_another_shape(w: Any, x: Any, g: Any) -> Any:
    new = subtract(w, gradient(x, g))
    return new, reshape_op.bind(new, shape=(w.shape[0] * w.shape[1],))


@pytest.mark.parametrize(
    "function",
    [
        shown,
        measured,
        multiplied_again,
        by_a_late_rate,
        read_afterwards,
        by_itself,
        by_a_fixed_zero,
        transpose_layouts,
        squared,
        by_two_products,
        in_another_shape,
    ],
)
def test_what_is_needed_otherwise_is_left_alone(function: Callable[..., Any]) -> None:
    operands = [normal(M, N), normal(K, M), normal(N if function is by_itself else K, N)]
    made = schedule_of(function, *operands)
    assert not is_accumulated(made)
    for alone in (True, False):
        check(simplify(program_of(function, *operands)), operands, alone)


def test_nothing_is_accumulated_where_the_memory_is_not_given_away() -> None:
    program = simplify(program_of(down, normal(M, N), normal(K, M), normal(K, N)))
    assert not is_accumulated(schedule(program))


def test_a_pass_over_many_rows_stays_one() -> None:
    def regression(w: Any, x: Any) -> Any:
        return subtract(w, multiply(1e-3, gradient(x, exp(matmul_op.bind(x, w)))))

    made = schedule_of(regression, normal(50, 4), normal(20_000, 50))
    assert not is_accumulated(made)
    assert len({s.tile for s in made.steps if s.tile is not None}) == 1


def test_products_that_are_done_block_by_block_are_left_alone() -> None:
    def rows(w: Any, x: Any, a: Any, b: Any) -> Any:
        return subtract(w, matmul_op.bind(x, a)), exp(matmul_op.bind(x, b))

    operands = [normal(20_000, 8), normal(20_000, 50), normal(50, 8), normal(50, 5) / 50]
    made = schedule_of(rows, *operands)
    assert not is_accumulated(made)
    assert sum(s.tile is not None for s in made.steps) == 4
    check(simplify(program_of(rows, *operands)), operands, True)


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("watched", [False, True])
def test_steps_of_an_optimizer(decorated: bool, watched: bool) -> None:
    x, start = normal(32, M), normal(M, N) / 10
    w, optimizer = jt.Variable(start), jt.optimizers.SGD(0.5)
    wanted, views = start.copy(), []

    def step(x: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(jt.tanh(x @ w)))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    run = jt.function(step) if decorated else step
    for _ in range(5):
        float(run(x))
        y = np.tanh(x @ wanted)
        wanted = wanted - 0.5 * (x.T @ (2 * y / y.size * (1 - y * y)))
        if watched:
            views.append((w.numpy(), wanted))
        else:
            np.testing.assert_allclose(w.value().numpy(), wanted, rtol=1e-10, atol=1e-12)
    for view, value in views:
        np.testing.assert_allclose(view, value, rtol=1e-10, atol=1e-12)
