"""Random op lists, repeated as by an unrolled loop and scheduled in segments, agree with the interpreter.

``python -m pytest tests/fuzz/test_segments_fuzz.py --programs 20000 --seed 7`` runs the programs from number 7 on.
"""

from __future__ import annotations

import random
from typing import Any

from evaluator import evaluated
from rounding import agrees_up_to_rounding
from test_schedules_fuzz import pytest_generate_tests
from thresholds import lowered
from wide_programs import donated_pairs

from host_schedules import schedule_long
from jittape.core.interpret import interpret
from jittape.core.program import Program, check, dead_code_removed
from jittape.core.tuning import tuning
from random_programs import random_program

__all__ = ["pytest_generate_tests"]

LIMITS = {
    "segment_ops": (2, 5, 10, 20),
    "segment_windows": ((2, 32), (4, 32), (8,)),
    "segment_reach": (4, 16, 64),
    "segment_shared_reads": (1, 4),
    "segments_arena_bytes": (0, 1 << 26),
}


def repeated_program(number: int, rng: random.Random) -> tuple[Program, list[Any]]:
    """Return a random op list and its repetitions: some inputs are results of the repetition before.

    Some values of the first repetition are read by all.
    """
    body, arrays = random_program(number)
    avals, ops, results = dict(body.avals), list(body.ops), list(body.outputs)
    numbers = [slot for slot in body.inputs if avals[slot].dtype.kind == "f"]  # other inputs are indices
    alike = {slot: [op.out for op in ops if avals[op.out] == avals[slot]] for slot in numbers}
    carried = {slot: rng.choice(found) for slot, found in alike.items() if found and rng.random() < 0.9}
    shared = {op.out for op in body.ops if rng.random() < 0.1}
    slots = {slot: slot for slot in avals}
    returns_each = rng.random() < 0.5
    for _ in range(rng.randint(8, 30)):
        names = {slot: slots[carried[slot]] if slot in carried else slot for slot in body.inputs}
        for op in body.ops:
            args = tuple([slot if slot in shared else names[slot] for slot in op.args])
            names[op.out] = max(avals) + 1
            avals[names[op.out]] = avals[op.out]
            ops.append(op._replace(args=args, out=names[op.out]))
        slots = names
        if returns_each:
            results.append(slots[body.outputs[0]])
    results += [slots[slot] for slot in body.outputs]
    results += [slots[op.out] for op in body.ops if rng.random() < 0.5]
    results += rng.sample(body.inputs, rng.randint(0, 1))
    return check(dead_code_removed(Program(body.inputs, tuple(ops), tuple(results), avals))), arrays


def run_repeated(number: int) -> bool:
    """Schedule and evaluate the repeated program of that number; return whether it has segments."""
    rng = random.Random(number)
    program, arrays = repeated_program(number, rng)
    limits = {name: rng.choice(values) for name, values in LIMITS.items()}
    with tuning.override(segmented_program_ops=10, **limits), lowered(rng):
        donated = donated_pairs(program, rng) if rng.random() < 0.7 else ()
        made = schedule_long(program, donated, with_ops=True)
    if made is not None:
        got = evaluated(made, arrays, number, in_place=rng.random() < 0.8)
        expected = interpret(program, arrays)
        assert agrees_up_to_rounding(got, expected, program, arrays), (
            f"{got}\nbut the interpreter\n{expected}"
        )
    return made is not None


def test_segments_compute_what_the_interpreter_computes(numbers: range) -> None:
    found = []
    for number in numbers:
        try:
            found.append(run_repeated(number))
        except Exception as error:
            error.add_note(f"in program {number}: --programs 1 --seed {number}")
            raise
    assert len(numbers) < 50 or sum(found) > len(numbers) // 10
