"""Every primitive on a stack of operands at once gives what it gives row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.builder import Builder
from jittape.core.forms import Map
from jittape.core.interpret import interpret
from jittape.core.primitive import Batch
from jittape.core.program import Aval, Program, check
from jittape.core.simplify import simplify
from jittape.transform.batching import batched
from programs import compiled, gradient_program, program_of
from test_primitives import DIFFERENTIABLE, ROWS, cast, rng, run, sources

N = 3


def batched_program(program: Program, number: int) -> Program:
    """`program` for a stack of values in the place of input `number`."""
    builder = Builder(max(program.avals) + 1)
    builder.ops, builder.avals = list(program.ops), dict(program.avals)
    over = program.inputs[number]
    aval = program.avals[over]
    stack = builder.new_slot(Aval((N, *aval.shape), aval.dtype))
    outputs = batched(builder, program.ops, program.avals, over, stack, program.outputs)
    inputs = (*program.inputs, stack.slot)
    return check(Program(inputs, tuple(builder.ops), tuple(s.slot for s in outputs), builder.avals))


def assert_batched(
    program: Program, operands: tuple[Any, ...], number: int, machine_too: bool = False
) -> None:
    """Three samples near the operand, or permuted if they are integers: they stay in the op's domain."""
    generator = rng()
    operand = np.asarray(operands[number])
    if operand.dtype.kind == "f":
        stack = np.stack([operand * (1 + 0.001 * i) for i in range(N)])
    else:
        stack = np.stack(
            [generator.permutation(operand.reshape(-1)).reshape(operand.shape) for _ in range(N)]
        )
    on_stack = simplify(batched_program(program, number))
    got = interpret(on_stack, (*operands, stack))
    for i in range(N):
        one = list(operands)
        one[number] = stack[i]
        for value, expected in zip(got, run(program, tuple(one)), strict=True):
            assert value.shape == (N, *expected.shape)
            assert value.dtype == expected.dtype
            np.testing.assert_allclose(value[i], expected, rtol=1e-12, atol=1e-12)
    if not machine_too:
        return
    for value, machine in zip(got, compiled(on_stack, (*operands, stack)), strict=True):
        np.testing.assert_allclose(machine, value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_values(row: Any) -> None:
    operands = cast(row.sample(rng()), "float64")
    program = program_of(row.function, *operands)
    for number in range(len(operands)):
        assert_batched(program, operands, number)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_the_cotangents_of_a_reverse_pass(row: Any) -> None:
    operands = cast(row.sample(rng()), "float64")
    wrt = sources(row, operands)
    if wrt:
        program = program_of(row.function, *operands)
        weight = rng().standard_normal(run(program, operands)[0].shape)
        derived = gradient_program(program, wrt)
        assert_batched(derived, (*operands, weight), len(operands), machine_too=True)


def test_what_does_not_depend_on_it_is_computed_once() -> None:
    program = program_of(lambda x, y: jt.multiply(jt.exp(x), y), np.ones(4), np.ones(4))
    on_stack = simplify(batched_program(program, 1))
    (exp,) = [op for op in on_stack.ops if op.primitive.name == "exp"]
    assert on_stack.avals[exp.out].shape == (4,)


@pytest.mark.parametrize(("number", "product"), [(0, (3 * 5, 6)), (1, (3 * 1, 5))])
def test_a_stack_times_one_matrix_is_one_tall_product(number: int, product: tuple[int, int]) -> None:
    program = program_of(jt.matmul, np.ones((5, 4)), np.ones((4, 6 if number == 0 else 1)))
    on_stack = simplify(batched_program(program, number))
    assert [on_stack.avals[op.out].shape for op in on_stack.ops if op.primitive.name == "matmul"] == [product]


def test_few_primitives_run_row_by_row() -> None:
    """So a Jacobian is no loop written out, but for what nobody has needed yet."""
    used = {
        op.primitive for row in ROWS for op in program_of(row.function, *row.sample(rng())).ops if op.args
    }
    rowwise = {p.name for p in used if p.batch is None and not isinstance(p.lowering, Map)}
    assert rowwise <= {
        "coordinates",
        "scatter_combine",
        "scatter_extremum",
        "last_write",
        "invert_permutation",
    }
    assert all(isinstance(p.batch, Batch) or callable(p.batch) for p in used if p.batch is not None)
