"""Sums of symmetric arrays over either axis: one is computed for both, and only where the symmetry is proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.rewrite.symmetric_sums import symmetric_sums
from jittape.core.interpret import interpret
from jittape.core.program import Program, check
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import broadcast, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    square,
    subtract,
    zero_dominant_multiply,
)
from jittape.primitives.elementwise.piecewise import absolute, maximum
from jittape.primitives.shape.views import Region, slice_op, transpose_op
from programs import compiled, program_of

N = 5
Make = Callable[..., Any]


def rows(x: Any) -> Any:
    return broadcast(reshape_op.bind(x, shape=(x.shape[0], 1)), (x.shape[0], N))


def columns(x: Any) -> Any:
    return broadcast(x, (N, x.shape[0]))


def both_sums(make: Make) -> Make:
    """Return a body that adds up what `make` gives over its first axis, and over its second one."""

    def body(*operands: Any) -> Any:
        found = make(*operands)
        return sum_op.bind(found, axes=(0,)), sum_op.bind(found, axes=(1,))

    return body


def sums_in(program: Program) -> int:
    return sum(op.primitive.is_sum for op in program.ops)


def same_as_before(make: Make, *operands: Any) -> bool:
    """Return whether the rewrite leaves a program as it is; check that it changes no result.

    Sums of small integers are exact in any order.
    """
    program = simplify(program_of(both_sums(make), *operands))
    rewritten = check(symmetric_sums(program), program)
    for value, other in zip(interpret(rewritten, operands), interpret(program, operands), strict=True):
        np.testing.assert_array_equal(value, other)
    assert rewritten is program or sums_in(rewritten) < sums_in(program)
    return rewritten is program


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).integers(1, 9, size=shape).astype(dtype)


def difference(x: Any) -> Any:
    return subtract(rows(x), columns(x))


def turned(x: Any) -> Any:
    return transpose_op.bind(x, perm=(1, 0))


@pytest.mark.parametrize(
    "make",
    [
        difference,
        lambda x: negative(difference(x)),
        lambda x: square(difference(x)),
        lambda x: absolute(difference(x)),
        lambda x: add(rows(x), columns(x)),
        lambda x: multiply(columns(x), rows(x)),
        lambda x: maximum(square(difference(x)), 3.0),
        lambda x: multiply(multiply(rows(x), columns(x)), difference(x)),
        lambda x: multiply(difference(x), negative(difference(square(x)))),
        lambda x: zero_dominant_multiply(square(difference(x)), difference(x)),
        lambda x: subtract(multiply(rows(x), square(columns(x))), multiply(columns(x), square(rows(x)))),
        lambda x: add(turned(multiply(rows(x), square(columns(x)))), multiply(rows(x), square(columns(x)))),
        lambda x: broadcast(sum_op.bind(x, axes=(0,)), (N, N)),
    ],
)
def test_symmetric_arrays_have_one_sum(make: Make) -> None:
    assert not same_as_before(make, numbers(N))


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, a: a,
        lambda x, y, a: subtract(rows(x), columns(y)),
        lambda x, y, a: subtract(rows(x), multiply(2.0, columns(x))),
        lambda x, y, a: multiply(rows(x), square(columns(x))),
        lambda x, y, a: add(difference(x), square(difference(x))),
        lambda x, y, a: maximum(difference(x), 3.0),
        lambda x, y, a: zero_dominant_multiply(rows(x), columns(x)),
        lambda x, y, a: multiply(difference(x), a),
        lambda x, y, a: subtract(rows(x), columns(slice_op.bind(x, region=Region((0,), (4,), (5,), (-1,))))),
        lambda x, y, a: broadcast(sum_op.bind(x, axes=(0,)), (N, N + 1)),
    ],
)
def test_other_arrays_keep_both_sums(make: Make) -> None:
    assert same_as_before(make, numbers(N), numbers(N, seed=1), numbers(N, N, seed=2))


def test_differences_without_sign_keep_both_sums() -> None:
    assert same_as_before(difference, numbers(N, dtype=np.uint8))


def test_random_expressions_keep_their_sums() -> None:
    generator = np.random.default_rng(3)
    unary = [negative, square, absolute, turned]
    binary = [add, subtract, multiply, maximum, zero_dominant_multiply]

    def expression(x: Any, y: Any, depth: int) -> Any:
        if not depth:
            source = x if generator.random() < 0.8 else y
            return [rows, columns, difference][generator.integers(3)](source)
        if generator.random() < 0.3:
            return unary[generator.integers(len(unary))](expression(x, y, depth - 1))
        operands = [expression(x, y, depth - 1) for _ in range(2)]
        return binary[generator.integers(len(binary))](*operands)

    operands = numbers(N), numbers(N, seed=1)
    kept = [same_as_before(lambda x, y, d=depth: expression(x, y, d), *operands) for depth in (1, 2, 3) * 40]
    assert 20 < sum(kept) < 110


def test_axes_between_and_other_summed_axes() -> None:
    def sums(x: Any, *axes: tuple[int, ...]) -> Program:
        def body(x: Any) -> Any:
            left, right = broadcast(reshape_op.bind(x, shape=(N, 1, 3)), (N, N, 3)), broadcast(x, (N, N, 3))
            return [sum_op.bind(square(subtract(left, right)), axes=one) for one in axes]

        program = simplify(program_of(body, x))
        rewritten = check(symmetric_sums(program), program)
        for value, other in zip(interpret(rewritten, [x]), interpret(program, [x]), strict=True):
            np.testing.assert_array_equal(value, other)
        return rewritten

    x = numbers(N, 3)
    assert sums_in(sums(x, (0,), (1,))) == 1
    assert sums_in(sums(x, (0, 2), (1, 2), (1,), (0,))) == 2
    assert sums_in(sums(x, (0,), (2,), (0, 1))) == 3
    assert sums_in(sums(x, (0, 1), (1, 2))) == 2


def test_forces_between_bodies_are_added_up_once() -> None:
    def energy_and_forces(x: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            energy = jt.reduce_sum(jt.math.rsqrt(jt.reduce_sum(jt.square(x[:, None] - x), 2) + 0.01))
        return energy, tape.gradient(energy, x)

    function = jt.function(energy_and_forces)
    for n in (1, 7, 40, 64):
        x = np.random.default_rng(n).normal(size=(n, 3))
        d = x[:, None] - x
        r = 1 / np.sqrt(np.square(d).sum(2) + 0.01)
        energy, forces = function(jt.constant(x))
        np.testing.assert_allclose(energy.numpy(), r.sum(), rtol=1e-13)
        np.testing.assert_allclose(
            forces.numpy(), -2 * np.einsum("ij,ijk->ik", r**3, d), rtol=1e-9, atol=1e-9
        )


def test_a_kernel_of_symmetric_sums_updates_no_memory() -> None:
    for n in (7, 200):
        operands = [numbers(n)]
        one = program_of(both_sums(lambda x: square(difference_of(x))), *operands)
        kernels = [s.kernel for s in schedule(one).steps if isinstance(s.kernel, LoopKernel)]
        assert sum(len(kernel.reductions) for kernel in kernels) == 1
        assert not any(r.level == kernel.depth for kernel in kernels for r in kernel.reductions)
        for value, other in zip(compiled(one, operands), interpret(one, operands), strict=True):
            np.testing.assert_array_equal(value, other)


def difference_of(x: Any) -> Any:
    n = x.shape[0]
    return subtract(broadcast(reshape_op.bind(x, shape=(n, 1)), (n, n)), broadcast(x, (n, n)))
