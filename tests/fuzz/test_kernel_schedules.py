"""Schedules of programs with masks and tridiagonal systems, run by NumPy: blocks, slices, results in tasks."""

import random

import numpy as np
from evaluator import evaluated
from thresholds import lowered

from host_schedules import schedule
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.indexing.masks import coordinates_op, masked_op, unmasked_op
from jittape.primitives.linalg.banded import banded_triangular_solve_op
from jittape.primitives.linalg.tridiagonal import tridiagonal_solve
from programs import program_of


def test_schedules_of_masks():
    for number in range(40):
        rng = random.Random(number)
        shape = (rng.randint(1, 9), rng.randint(1, 5))
        mask = np.random.default_rng(number).random(shape[: rng.randint(1, 2)]) < rng.random()
        count = int(mask.sum())
        x = np.random.default_rng(number).normal(size=shape)

        def both(x, mask, count=count):
            chosen = masked_op.bind(x, mask, axis=0, count=count)
            spread = unmasked_op.bind(multiply(chosen, chosen), mask, axis=0)
            return chosen, multiply(spread, x), coordinates_op.bind(mask, count=count)

        program = simplify(program_of(both, x, mask))
        with lowered(rng):
            made = schedule(program)
        for got, expected in zip(
            evaluated(made, (x, mask), number), interpret(program, (x, mask)), strict=True
        ):
            np.testing.assert_array_equal(got, expected)


def test_schedules_of_tridiagonal_systems():
    for number in range(20):
        rng = random.Random(number)
        lead, rows = (rng.randint(1, 5),), rng.randint(1, 6)
        values = np.random.default_rng(number)
        x, b = values.normal(size=(*lead, 3, rows)), values.normal(size=(*lead, rows, 2))
        program = simplify(program_of(lambda x, b: multiply(tridiagonal_solve(x, b), b), x, b))
        with lowered(rng):
            made = schedule(program)
        assert all(step.kernel is not None for step in made.steps)
        for got, expected in zip(evaluated(made, (x, b), number), interpret(program, (x, b)), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_schedules_of_banded_systems():
    for number in range(20):
        rng = random.Random(number)
        lead, rows, count = (rng.randint(1, 5),), rng.randint(1, 6), rng.randint(3, 5)
        options = {"lower": rng.random() < 0.5, "adjoint": rng.random() < 0.5}
        values = np.random.default_rng(number)
        x, b = 2 + values.random(size=(*lead, count, rows)), values.normal(size=(*lead, rows, 2))

        def product(x, b, options=options):
            return multiply(banded_triangular_solve_op.bind(x, b, **options), b)

        program = simplify(program_of(product, x, b))
        with lowered(rng):
            made = schedule(program)
        assert all(step.kernel is not None for step in made.steps)
        for got, expected in zip(evaluated(made, (x, b), number), interpret(program, (x, b)), strict=True):
            np.testing.assert_array_equal(got, expected)
