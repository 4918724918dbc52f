"""Random programs, scheduled with lowered thresholds and run by NumPy, agree with the interpreter.

``python -m pytest tests/fuzz/test_schedules_fuzz.py --programs 20000 --seed 7`` runs the programs from number 7 on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from evaluator import Stopped, evaluated
from rounding import agrees_up_to_rounding
from thresholds import lowered
from wide_programs import donated_pairs, wide_program

from host_schedules import schedule
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from random_programs import random_program

PROGRAMS = 300
"""Programs in a run of the whole test suite."""
SHARE = 100
"""Programs in a test."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "numbers" in metafunc.fixturenames:
        first = metafunc.config.getoption("--seed", default=0)
        last = first + (metafunc.config.getoption("--programs", default=None) or PROGRAMS)
        shares = [range(at, min(last, at + SHARE)) for at in range(first, last, SHARE)]
        metafunc.parametrize("numbers", shares, ids=lambda numbers: f"{numbers[0]}-{numbers[-1]}")


def outcome(program: Program, arrays: Sequence[Any]) -> list[Any] | None:
    """Return what the interpreter computes, or None where an index is out of range."""
    try:
        return interpret(program, arrays)
    except IndexError:
        return None


def run(number: int, program: Program, arrays: Sequence[Any]) -> None:
    """Schedule and evaluate a program, and compare."""
    rng = random.Random(number)
    program = simplify(program)
    expected = outcome(program, arrays)
    with lowered(rng):
        made = schedule(program, donated_pairs(program, rng), tile_rows=rng.random() < 0.9)
    try:
        got = evaluated(made, arrays, number, in_place=rng.random() < 0.8)
    except Stopped:
        got = None
    assert (got is None) == (expected is None), "a check that ends the run"
    if got is not None and expected is not None:
        assert agrees_up_to_rounding(got, expected, program, arrays), (
            f"{got}\nbut the interpreter\n{expected}"
        )


def run_wide(number: int) -> None:
    """Run the wide program of that number."""
    try:
        run(number, *wide_program(number))
    except Exception as error:
        error.add_note(f"in program {number}: --programs 1 --seed {number}")
        raise


def test_schedules_compute_what_the_interpreter_computes(numbers: range) -> None:
    for number in numbers:
        run_wide(number)


@pytest.mark.parametrize("number", [164467, 185006, 221410, 229600])
def test_programs_that_failed(number: int) -> None:
    """A product whose parts overflow, a bad index that no result needs, a loop without iterations, a NumPy step."""
    run_wide(number)


def test_programs_without_control() -> None:
    for number in range(100):
        run(number, *random_program(number))
