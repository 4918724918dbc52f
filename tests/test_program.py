"""The op list: its validity check, its printed form, and the removal of dead code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.builder import literal_op
from jittape.core.program import Aval, Op, Program, SourceLine, check, dead_code_removed, listing
from jittape.errors import ProgramError
from jittape.primitives.broadcast import sum_op
from jittape.primitives.elementwise.arithmetic import multiply_op, negative_op
from jittape.primitives.elementwise.exponential import exp_op

FLOAT = np.dtype("float32")
VECTOR = Aval((3,), FLOAT)
SCALAR = Aval((), FLOAT)
LINE = SourceLine("model.py", 12, "train")


def sample() -> Program:
    """Return ``sum(exp(x * y))`` and an unused negative."""
    ops = (
        Op(multiply_op, (0, 1), (), 2, LINE),
        Op(negative_op, (2,), (), 3, LINE),
        Op(exp_op, (2,), (), 4),
        Op(sum_op, (4,), (("axes", (0,)),), 5),
    )
    return Program((0, 1), ops, (5,), {**dict.fromkeys(range(5), VECTOR), 5: SCALAR})


def with_op(program: Program, position: int, **changes: Any) -> Program:
    ops = list(program.ops)
    ops[position] = ops[position]._replace(**changes)
    return replace(program, ops=tuple(ops))


def with_aval(program: Program, slot: int, aval: Aval | None) -> Program:
    avals = {**program.avals, slot: aval}
    return replace(program, avals={s: a for s, a in avals.items() if a is not None})


# ---- check -----------------------------------------------------------------------------------------------------------


def test_a_good_program_is_given_back():
    program = sample()
    assert check(program) is program


def test_a_program_may_be_empty():
    program = Program((), (), (), {})
    assert check(program) is program
    assert listing(program).splitlines() == ["program()", "  return "]


def test_outputs_may_repeat_and_may_be_inputs():
    check(replace(sample(), outputs=(5, 0, 5, 1, 2)))


BROKEN = {
    "an input twice": (replace(sample(), inputs=(0, 0, 1)), "input slot %0 appears twice"),
    "an input without aval": (with_aval(sample(), 1, None), "input slot %1 has no shape and dtype"),
    "an argument of no op": (with_op(sample(), 2, args=(9,)), r"op 2 \(exp\) uses %9 before definition"),
    "an argument of a later op": (with_op(sample(), 1, args=(5,)), r"op 1 \(negative\) uses %5 before"),
    "an argument that is itself": (with_op(sample(), 1, args=(3,)), r"op 1 \(negative\) uses %3 before"),
    "two arguments of no op": (with_op(sample(), 0, args=(8, 9)), r"op 0 \(multiply\) uses %8, %9 before"),
    "an input that is not declared": (replace(sample(), inputs=(0,)), r"op 0 \(multiply\) uses %1 before"),
    "a slot defined twice": (with_op(sample(), 2, out=3), r"op 2 \(exp\) defines %3 again"),
    "an input defined again": (with_op(sample(), 1, out=0), r"op 1 \(negative\) defines %0 again"),
    "a result without aval": (
        with_aval(sample(), 3, None),
        r"op 1 \(negative\) gives %3, which has no shape",
    ),
    "another shape": (with_aval(sample(), 3, Aval((4,), FLOAT)), r"says float32\[4\] but .* float32\[3\]"),
    "another dtype": (
        with_aval(sample(), 3, Aval((3,), np.dtype("float64"))),
        "says float64.* gives float32",
    ),
    "another rank": (with_aval(sample(), 5, Aval((1,), FLOAT)), r"op 3 \(sum\) says float32\[1\] but"),
    "operands that do not fit": (
        with_aval(sample(), 1, SCALAR),
        r"op 0 \(multiply\) breaks its own rule: .*equal",
    ),
    "a parameter that is missing": (
        with_op(sample(), 3, params=()),
        r"op 3 \(sum\) breaks its own rule: .*axes",
    ),
    "a parameter too many": (
        with_op(sample(), 1, params=(("axis", 0),)),
        r"op 1 \(negative\) breaks its own rule",
    ),
    "an argument too few": (with_op(sample(), 0, args=(0,)), r"op 0 \(multiply\) .*"),
    "parameters out of order": (
        with_op(sample(), 3, params=(("axes", (0,)), ("a", 0))),
        r"op 3 \(sum\) has its parameters out of order: axes, a",
    ),
    "a parameter twice": (
        with_op(sample(), 3, params=(("axes", (0,)), ("axes", (0,)))),
        "parameters out of order: axes, axes",
    ),
    "an output of no op": (replace(sample(), outputs=(5, 7)), "output %7 is never computed"),
}


@pytest.mark.parametrize(("program", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_check_finds_what_is_broken(program: Program, message: str):
    with pytest.raises(ProgramError, match=message):
        check(program)


def test_check_shows_the_op_among_its_neighbors():
    ops = tuple(Op(negative_op, (slot,), (), slot + 1) for slot in range(10))
    program = Program((0,), ops, (10,), {**dict.fromkeys(range(11), VECTOR), 6: SCALAR})
    with pytest.raises(ProgramError) as caught:
        check(program)
    lines = str(caught.value).splitlines()[1:]
    assert [line.split()[-1] for line in lines] == [f"negative(%{slot})" for slot in range(2, 9)]
    assert [i for i, line in enumerate(lines) if line.startswith("->")] == [3]


# ---- the printed form ------------------------------------------------------------------------------------------------


def test_listing():
    assert listing(sample()).splitlines() == [
        "program(%0: float32[3], %1: float32[3])",
        "  %2: float32[3] = multiply(%0, %1)  # model.py:12 in train",
        "  %3: float32[3] = negative(%2)  # model.py:12 in train",
        "  %4: float32[3] = exp(%2)",
        "  %5: float32[] = sum(%4, axes=(0,))",
        "  return %5",
    ]
    assert str(sample()) == listing(sample())


def test_listing_with_notes_in_place_of_lines():
    lines = listing(sample(), note=lambda op: f"  <- {len(op.args)}").splitlines()
    assert lines[1] == "  %2: float32[3] = multiply(%0, %1)  <- 2"
    assert lines[4] == "  %5: float32[] = sum(%4, axes=(0,))  <- 1"


def test_listing_of_an_op_without_operands():
    op = Op(literal_op, (), (("dtype", FLOAT), ("value", 2.5)), 0)
    program = Program((), (op,), (0, 0), {0: SCALAR})
    assert listing(program).splitlines()[1:] == [
        "  %0: float32[] = literal(dtype=float32, value=2.5)",
        "  return %0, %0",
    ]


@pytest.mark.parametrize(
    ("aval", "text", "size", "nbytes"),
    [
        (Aval((), FLOAT), "float32[]", 1, 4),
        (Aval((2, 3), np.dtype("float64")), "float64[2,3]", 6, 48),
        (Aval((0, 3), np.dtype("int8")), "int8[0,3]", 0, 0),
        (Aval((1,), np.dtype("complex128")), "complex128[1]", 1, 16),
    ],
)
def test_aval(aval: Aval, text: str, size: int, nbytes: int):
    assert (str(aval), aval.ndim, aval.size, aval.nbytes) == (text, len(aval.shape), size, nbytes)


def test_avals_of_inputs_and_outputs_come_in_calling_order():
    program = replace(sample(), inputs=(1, 0), outputs=(5, 2, 5))
    assert program.input_avals() == (VECTOR, VECTOR)
    assert program.output_avals() == (SCALAR, VECTOR, SCALAR)


def test_the_program_of_a_step_is_a_good_one():
    x = jt.constant([1.0, 2.0])
    float(jt.reduce_sum(jt.exp(x) * x))
    check(jt.explain().program)


# ---- dead code -------------------------------------------------------------------------------------------------------


def test_dead_code_goes_and_its_slots_with_it():
    program = dead_code_removed(sample())
    assert [op.primitive.name for op in program.ops] == ["multiply", "exp", "sum"]
    assert set(program.avals) == {0, 1, 2, 4, 5}
    assert program.inputs == (0, 1)
    check(program)


def test_dead_code_in_a_chain_goes_as_a_whole():
    program = replace(sample(), outputs=(2,))
    assert [op.out for op in dead_code_removed(program).ops] == [2]


def test_what_an_output_repeats_is_not_dead():
    program = dead_code_removed(replace(sample(), outputs=(3, 3, 0, 4)))
    assert [op.out for op in program.ops] == [2, 3, 4]
    assert program.outputs == (3, 3, 0, 4)


@pytest.mark.parametrize(("keep", "inputs"), [(True, (0, 1)), (False, (0,))])
def test_inputs_without_use_stay_or_go(keep: bool, inputs: tuple[int, ...]):
    program = replace(with_op(sample(), 0, args=(0, 0)), outputs=(2,))
    shorter = dead_code_removed(program, keep_inputs=keep)
    assert shorter.inputs == inputs
    assert set(shorter.avals) == {*inputs, 2}
    check(shorter)


def test_an_input_that_is_only_an_output_stays():
    program = dead_code_removed(replace(sample(), outputs=(1,)), keep_inputs=False)
    assert (program.inputs, program.ops, program.outputs) == ((1,), (), (1,))


def test_removing_dead_code_again_changes_nothing():
    once = dead_code_removed(sample())
    assert dead_code_removed(once) == once
