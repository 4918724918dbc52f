"""Simplification passes: the ops that each removes or must keep, and results that are equal bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core import simplify as passes
from jittape.core.builder import literal
from jittape.core.interpret import interpret
from jittape.core.program import Program, SourceLine
from jittape.core.simplify import common_subexpressions_merged, identities_removed, simplify
from jittape.errors import ProgramError
from jittape.primitives.broadcast import broadcast, cast_to
from jittape.primitives.elementwise.arithmetic import zero_dominant_multiply_op
from jittape.primitives.identity import custom_gradient_op
from jittape.recording.variable import read_variable_op
from programs import compiled, program_of

Array = np.ndarray[Any, Any]
Body = Callable[..., Any]


def edges(dtype: str) -> Array:
    """Return numbers that reveal a careless rewrite: signed zeros, infinities, nan, the smallest and the largest."""
    info = np.finfo(dtype)
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        -np.nan,
        info.smallest_subnormal,
        info.tiny,
        info.max,
        0.1,
    ]
    return np.array(values, dtype)


def bits(arrays: list[Array]) -> list[tuple[Any, ...]]:
    return [(a.shape, a.dtype, a.tobytes()) for a in arrays]


def names(program: Program) -> list[str]:
    return [op.primitive.name for op in program.ops]


def assert_same_bits(one: Program, other: Program, *operands: Any) -> None:
    assert bits(interpret(one, operands)) == bits(interpret(other, operands))


def ones(x: Any) -> Any:
    return broadcast(literal(1, x.dtype), x.shape)


def number(value: complex, x: Any) -> Any:
    return broadcast(literal(value, x.dtype), x.shape)


# ---- identities ------------------------------------------------------------------------------------------------------

IDENTITIES: dict[str, Body] = {
    "x * 1": lambda x: jt.multiply(x, 1),
    "1 * x": lambda x: jt.multiply(1, x),
    "1.0 * x": lambda x: jt.multiply(1.0, x),
    "x * ones": lambda x: jt.multiply(x, ones(x)),
    "x - 0": lambda x: jt.subtract(x, 0),
    "x - 0.0": lambda x: jt.subtract(x, 0.0),
    "x / 1": lambda x: jt.divide(x, 1),
    "zero_dominant_multiply(1, x)": lambda x: zero_dominant_multiply_op.bind(ones(x), x),
    "+x": jt.math.positive,
    "identity": jt.identity,
    "stop_gradient": jt.stop_gradient,
    "a Variable that is read": lambda x: read_variable_op.bind(x, trainable=True),
    "the result of a custom gradient": lambda x: custom_gradient_op.bind(x, ones(x), index=0, count=1),
    "one after the other": lambda x: jt.identity(jt.subtract(jt.divide(jt.multiply(1, x), 1.0), 0)),
}


@pytest.mark.parametrize("body", IDENTITIES.values(), ids=IDENTITIES.keys())
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_an_identity_goes_and_no_bit_changes(body: Body, dtype: str):
    x = edges(dtype)
    program = program_of(body, x)
    shorter = simplify(program)
    assert shorter.ops == ()
    assert shorter.outputs == shorter.inputs
    assert_same_bits(program, shorter, x)


NO_IDENTITIES: dict[str, tuple[Body, str]] = {
    "x + 0: -0.0 becomes 0.0": (lambda x: jt.add(x, 0), "add"),
    "0 + x": (lambda x: jt.add(0.0, x), "add"),
    "x - (-0.0)": (lambda x: jt.subtract(x, -0.0), "subtract"),
    "0 - x": (lambda x: jt.subtract(0, x), "subtract"),
    "x * 0: nan, inf and the sign stay": (lambda x: jt.multiply(x, 0), "multiply"),
    "x * -1": (lambda x: jt.multiply(x, -1), "multiply"),
    "x - x: nan of inf": (lambda x: jt.subtract(x, x), "subtract"),
    "x / x: nan of 0": (lambda x: jt.divide(x, x), "divide"),
    "1 / x": (lambda x: jt.divide(1, x), "divide"),
    "-(-x)": (lambda x: jt.negative(jt.negative(x)), "negative"),
    "zero_dominant_multiply(x, 1): zero of nan": (
        lambda x: zero_dominant_multiply_op.bind(x, number(1, x)),
        "zero_dominant_multiply",
    ),
    "zero_dominant_multiply(0, x)": (
        lambda x: zero_dominant_multiply_op.bind(number(0, x), x),
        "zero_dominant_multiply",
    ),
    "x * 1.0000001": (lambda x: jt.multiply(x, 1.0000001), "multiply"),
    "where of equal branches": (lambda x: jt.where(jt.greater(x, 0), x, x), "where"),
    "maximum with itself": (lambda x: jt.maximum(x, x), "maximum"),
}


@pytest.mark.parametrize(("body", "name"), NO_IDENTITIES.values(), ids=NO_IDENTITIES.keys())
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_what_is_no_identity_for_every_number_keeps_its_bits(body: Body, name: str, dtype: str):
    x = edges(dtype)
    program = program_of(body, x)
    shorter = simplify(program)
    assert_same_bits(program, shorter, x)
    if name in ("add", "multiply", "divide", "subtract", "zero_dominant_multiply"):
        assert name in names(shorter)


@pytest.mark.parametrize("factor", [1, 1 + 0j])
def test_a_complex_product_with_one_stays(factor: complex):
    # (inf + 0j) * (1 + 0j) has a nan: infinity times zero.
    x = np.array([complex(np.inf, 0), complex(1, -0.0), complex(np.nan, 2)])
    program = program_of(lambda x: jt.multiply(x, number(factor, x)), x)
    assert names(simplify(program))[-1] == "multiply"
    assert_same_bits(program, simplify(program), x)


def test_integer_identities():
    x = np.array([-(2**31), -1, 0, 7, 2**31 - 1], np.int32)
    program = program_of(lambda x: jt.subtract(jt.multiply(x, 1), 0), x)
    assert simplify(program).ops == ()
    assert_same_bits(program, simplify(program), x)


def test_a_product_with_one_that_widens_the_dtype_becomes_the_cast():
    x = edges("float32")
    program = program_of(lambda x: jt.multiply(x, np.float64(1)), x)
    assert names(simplify(program)) == ["cast"]
    assert_same_bits(program, simplify(program), x)


def test_a_product_with_ones_that_widens_the_shape_becomes_the_broadcast():
    x = edges("float32")
    program = program_of(lambda x: jt.multiply(x, broadcast(literal(1, x.dtype), (2, *x.shape))), x)
    assert names(simplify(program)) == ["broadcast_to"]
    assert_same_bits(program, simplify(program), x)


def test_an_identity_between_ops_joins_them():
    x = edges("float64")
    program = identities_removed(program_of(lambda x: jt.exp(jt.identity(jt.sin(jt.identity(x)))), x))
    assert names(program) == ["sin", "exp"]
    assert program.ops[0].args == program.inputs
    assert program.ops[1].args == (program.ops[0].out,)


def test_a_rule_that_finds_a_slot_of_another_kind_is_not_believed():
    x = np.arange(3, dtype=np.float32)
    program = program_of(lambda x: cast_to(x, np.dtype("float64")), x)
    (op,) = program.ops
    careless = replace(op.primitive, simplified=lambda op, producers: op.args[0])
    program = replace(program, ops=(op._replace(primitive=careless),))
    assert names(simplify(program)) == ["cast"]


# ---- common subexpressions -------------------------------------------------------------------------------------------


def test_equal_ops_are_computed_once():
    x = edges("float64")
    program = program_of(lambda x: jt.add(jt.sin(x), jt.sin(x)), x)
    merged = common_subexpressions_merged(program)
    assert names(merged) == ["sin", "add"]
    assert merged.ops[1].args == (merged.ops[0].out,) * 2
    assert_same_bits(program, merged, x)


def test_merging_goes_on_through_what_uses_the_merged():
    x, y = edges("float64"), edges("float64")[::-1]

    def body(x: Any, y: Any) -> Any:
        return jt.subtract(jt.exp(jt.multiply(x, y)), jt.exp(jt.multiply(x, y)))

    merged = common_subexpressions_merged(program_of(body, x, y))
    assert names(merged) == ["multiply", "exp", "subtract"]
    assert_same_bits(program_of(body, x, y), merged, x, y)


def test_the_first_of_equal_ops_keeps_its_source_line():
    program = program_of(lambda x: (jt.sin(x), jt.sin(x)), np.ones(3))
    ops = tuple(op._replace(source=SourceLine("a.py", i, "f")) for i, op in enumerate(program.ops))
    assert [
        op.source.line for op in common_subexpressions_merged(replace(program, ops=ops)).ops if op.source
    ] == [0]


UNEQUAL: dict[str, Body] = {
    "other operands": lambda x: (jt.sin(jt.exp(x)), jt.sin(x)),
    "operands the other way round": lambda x: (jt.subtract(x, jt.exp(x)), jt.subtract(jt.exp(x), x)),
    "other axes": lambda x: (jt.reduce_sum(x, axis=0), jt.reduce_sum(x, axis=1)),
    "zeros of either sign": lambda x: (number(0.0, x), number(-0.0, x)),
    "an integer zero and a negative one": lambda x: (number(0, x), number(-0.0, x)),
    "dtypes": lambda x: (literal(1, np.dtype("float32")), literal(1, np.dtype("float64"))),
    "a bool and a number": lambda x: (literal(True, np.dtype("bool")), literal(1, np.dtype("int64"))),
    "a zero imaginary part of either sign": lambda x: (
        literal(complex(1, 0.0), np.dtype("complex128")),
        literal(complex(1, -0.0), np.dtype("complex128")),
    ),
    "a zero real part of either sign": lambda x: (
        literal(complex(0.0, 1), np.dtype("complex128")),
        literal(complex(-0.0, 1), np.dtype("complex128")),
    ),
}


@pytest.mark.parametrize("body", UNEQUAL.values(), ids=UNEQUAL.keys())
def test_what_only_looks_equal_is_not_merged(body: Body):
    x = np.array([[1.0, -0.0, np.nan], [np.inf, 2.0, -3.0]])
    program = program_of(body, x)
    merged = common_subexpressions_merged(program)
    assert len(set(merged.outputs)) == 2
    assert_same_bits(program, merged, x)


def test_literals_that_are_equal_numbers_of_one_dtype_are_merged():
    dtype = np.dtype("float32")
    program = program_of(lambda x: (literal(1, dtype), literal(1.0, dtype), literal(True, dtype)), np.ones(1))
    merged = common_subexpressions_merged(program)
    assert len(merged.ops) == 1
    assert_same_bits(program, merged, np.ones(1))


# ---- outputs ---------------------------------------------------------------------------------------------------------

OUTPUTS: dict[str, Body] = {
    "an input": lambda x, y: (x,),
    "inputs crossed": lambda x, y: (y, x),
    "one input twice": lambda x, y: (x, x),
    "a result twice": lambda x, y: (lambda z: (z, z))(jt.sin(x)),
    "equal results": lambda x, y: (jt.sin(x), jt.sin(x)),
    "results that become an input": lambda x, y: (jt.identity(x), jt.multiply(x, 1), x, jt.subtract(y, 0)),
    "a result and what is made of it": lambda x, y: (lambda z: (z, jt.exp(z), z))(jt.add(x, y)),
    "equal results of equal results": lambda x, y: (jt.exp(jt.add(x, y)), jt.exp(jt.add(x, y)), jt.add(x, y)),
    "a constant twice": lambda x, y: (number(2, x), number(2, y)),
    "the same bytes in other shapes": lambda x, y: (jt.reshape(x, (3, 4)), jt.reshape(x, (4, 3)), x),
}


@pytest.mark.parametrize("body", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_outputs_that_alias_or_repeat(body: Body):
    x, y = edges("float64"), edges("float64")[::-1].copy()
    program = program_of(body, x, y)
    shorter = simplify(program)
    assert shorter.inputs == program.inputs
    assert shorter.output_avals() == program.output_avals()
    assert_same_bits(program, shorter, x, y)
    for got, expected in zip(compiled(shorter, (x, y)), interpret(program, (x, y)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_aliases_on_a_path_keep_apart_what_the_user_changes():
    for _ in range(3):
        x = jt.Variable([1.0, 2.0])
        before = jt.identity(x)
        same = before * 1
        x.assign_add([10.0, 10.0])
        after = jt.identity(x)
        x.assign_add([10.0, 10.0])
        assert [before.numpy().tolist(), same.numpy().tolist()] == [[1, 2]] * 2
        assert [after.numpy().tolist(), x.numpy().tolist()] == [[11, 12], [21, 22]]


# ---- all passes ------------------------------------------------------------------------------------------------------


def test_simplifying_again_changes_nothing():
    body = lambda x: jt.add(jt.sin(jt.multiply(x, 1)), jt.sin(jt.subtract(x, 0)))  # noqa: E731
    once = simplify(program_of(body, edges("float64")))
    assert names(once) == ["sin", "add"]
    assert simplify(once) == once


def test_constants_that_an_identity_leaves_behind_are_dead():
    assert simplify(program_of(lambda x: jt.sin(jt.multiply(x, ones(x))), edges("float64"))).avals.keys() == {
        0,
        4,
    }


def test_the_program_is_checked_after_every_pass(monkeypatch: pytest.MonkeyPatch):
    def broken(program: Program) -> Program:
        return replace(program, ops=program.ops[::-1])

    program = program_of(lambda x: jt.exp(jt.sin(x)), np.ones(3))
    assert names(simplify(program)) == ["sin", "exp"]
    for position in range(len(passes.PASSES) + 1):
        monkeypatch.setattr(passes, "PASSES", (*passes.PASSES[:position], broken, *passes.PASSES[position:]))
        with pytest.raises(ProgramError, match="before definition"):
            simplify(program)
        monkeypatch.undo()
