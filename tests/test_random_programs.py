"""Random programs, whole: the interpreter, the compiled kernels and differences must agree on them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import jittape as jt
from jittape.core.forms import Call, Map, Reduce, Scan
from jittape.core.interpret import interpret, run_op
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.recording.trace import begin_step
from programs import gradient_program, program_of
from recipe_steps import CASTS, KINKED, OTHER_DTYPES, SMOOTH
from recipes import Recipe, recipes

Array = np.ndarray[Any, Any]

anything = recipes(("float64", "float32", "float32", "int32", "bool"), SMOOTH + KINKED + OTHER_DTYPES + CASTS)
floats = recipes(("float64", "float32"), SMOOTH + KINKED + CASTS)
smooth = recipes(("float64",), SMOOTH, max_steps=7)


# ---- what rounding may do --------------------------------------------------------------------------------------------

SAMPLES = 6
EXACT = frozenset(
    "negative absolute maximum minimum max min where cast identity sign floor literal".split()  # noqa: SIM905
)
"""Ops that do not round."""


def shaken(program: Program, inputs: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """What the interpreter gives if every op rounds carelessly: by up to four units in the last place."""

    def noisy(x: Array) -> Array:
        noise = 1 + rng.uniform(-4, 4, x.shape) * np.finfo(x.dtype).eps
        return (x * noise).astype(x.dtype)

    values = {
        slot: np.asarray(x, program.avals[slot].dtype) for slot, x in zip(program.inputs, inputs, strict=True)
    }
    for op in program.ops:
        operands = [values[slot] for slot in op.args]
        rounds = program.avals[op.out].dtype.kind == "f" and op.primitive.name not in EXACT
        form = op.primitive.lowering
        if rounds and (form is None or isinstance(form, (Reduce, Scan, Call))):
            # In whatever order a sum is taken, it is the sum of slightly different terms.
            operands = [noisy(x) if x.dtype.kind == "f" else x for x in operands]
        result = run_op(program, op, operands)
        values[op.out] = noisy(result) if rounds and isinstance(form, Map) else result
    return [values[slot] for slot in program.outputs]


def assert_equal_up_to_rounding(got: Sequence[Array], program: Program, inputs: Sequence[Array]) -> None:
    """Compare with the interpreter; the tolerance is what careless rounding does to this very program."""
    expected = interpret(program, inputs)
    rng = np.random.default_rng(0)
    samples = [shaken(program, inputs, rng) for _ in range(SAMPLES)]
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if b.dtype.kind != "f":
            np.testing.assert_array_equal(a, b)
            continue
        with np.errstate(all="ignore"):
            spread = np.max([np.abs(s[i].astype(float) - b) for s in samples], axis=0)
            largest = np.max(spread, initial=0)
            tolerance = 8 * spread + largest + 4 * np.finfo(b.dtype).eps * np.abs(b) + np.finfo(b.dtype).tiny
            wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a.astype(float) - b) <= tolerance))
        assert not wrong.any(), f"output {i}: {a[wrong]} instead of {b[wrong]}, tolerance {tolerance[wrong]}"


# ---- running recipes -------------------------------------------------------------------------------------------------


def program(recipe: Recipe) -> Program:
    return program_of(lambda *xs: [recipe.followed(xs)[i] for i in recipe.outputs], *recipe.inputs)


def values(recipe: Recipe, keep: bool = False) -> list[Array]:
    """The outputs, by tensors; with `keep` all other values are alive when they are looked at."""
    found = recipe.followed([jt.constant(x) for x in recipe.inputs])
    outputs = [found[i] for i in recipe.outputs]
    if not keep:
        del found
    return [y.numpy() for y in outputs]


def weights(recipe: Recipe) -> tuple[Array, ...]:
    return tuple(np.linspace(0.5, 1.5, a.size).reshape(a.shape) for a in program(recipe).output_avals())


def total(recipe: Recipe, operands: Sequence[Any]) -> Any:
    """The weighted sum of all elements of the outputs; `operands` are the inputs and the weights."""
    inputs, factors = operands[: len(recipe.inputs)], operands[len(recipe.inputs) :]
    found = recipe.followed(inputs)
    parts = [jt.reduce_sum(jt.multiply(found[i], w)) for i, w in zip(recipe.outputs, factors, strict=True)]
    return jt.add_n(parts)


def value_and_gradients(recipe: Recipe, inputs: Sequence[Array], factors: Sequence[Array]) -> list[Array]:
    tensors = [jt.constant(x) for x in inputs]
    with jt.GradientTape() as tape:
        tape.watch(tensors)
        y = total(recipe, (*tensors, *[jt.constant(w) for w in factors]))
    found = tape.gradient(y, tensors, unconnected_gradients="zero")
    return [y.numpy(), *[g.numpy() for g in found]]


# ---- the interpreter against the kernels -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def no_garbage() -> Iterator[None]:
    """Release the tapes that earlier tests left: one that is collected between two visits begins another path."""
    gc.collect()
    begin_step()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage")
@settings(max_examples=120)
@given(anything)
def test_the_second_visit_agrees_with_the_first(recipe: Recipe):
    before = jt.stats()
    first = values(recipe)
    between = jt.stats()
    second = values(recipe)
    after = jt.stats()
    flushed = after.flushes - between.flushes
    assert after.compiled_runs - between.compiled_runs == flushed == between.flushes - before.flushes
    expected = program(recipe)
    assert_equal_up_to_rounding(first, expected, recipe.inputs)
    assert_equal_up_to_rounding(second, expected, recipe.inputs)
    for a, b in zip(second, values(recipe), strict=True):
        np.testing.assert_array_equal(a, b)


@settings(max_examples=80)
@given(floats)
def test_gradients_of_the_second_visit_agree_with_the_first(recipe: Recipe):
    factors = weights(recipe)
    operands = (*recipe.inputs, *factors)
    forward = program_of(lambda *xs: total(recipe, xs), *operands)
    backward = gradient_program(forward, range(len(recipe.inputs)))
    both = simplify(replace(backward, outputs=(*forward.outputs, *backward.outputs)))
    inputs = (*operands, np.ones((), forward.output_avals()[0].dtype))
    for _ in range(2):
        assert_equal_up_to_rounding(value_and_gradients(recipe, recipe.inputs, factors), both, inputs)
    assert jt.explain().compiled


@settings(max_examples=60)
@given(floats)
def test_results_do_not_depend_on_what_else_is_alive(recipe: Recipe):
    expected = program(recipe)
    for keep in (False, False, True, True, False):
        assert_equal_up_to_rounding(values(recipe, keep), expected, recipe.inputs)


# ---- gradients against differences -----------------------------------------------------------------------------------


def assert_derivative(found: float, scale: float, along: Callable[[float], float]) -> None:
    """Compare with central differences of fourth order; how far those of two steps are apart says how good they are."""

    def difference(h: float) -> float:
        return (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)

    best, coarse = difference(1e-3), difference(2e-3)
    trust = 1e-7 * (1 + scale) + 2 * abs(best - coarse)
    assume(trust < 1e-3 * (1 + scale))
    assert abs(found - best) <= trust, f"{found} instead of {best}, tolerance {trust}"


def directions(recipe: Recipe) -> list[Array]:
    rng = np.random.default_rng(1)
    return [rng.uniform(-1, 1, x.shape) for x in recipe.inputs]


def moved(recipe: Recipe, step: float) -> list[Array]:
    return [x + step * d for x, d in zip(recipe.inputs, directions(recipe), strict=True)]


def dot(ones: Sequence[Array], others: Sequence[Array]) -> tuple[float, float]:
    """The scalar product, and that of the magnitudes."""
    products = [a * b for a, b in zip(ones, others, strict=True)]
    return float(sum(np.sum(p) for p in products)), float(sum(np.sum(np.abs(p)) for p in products))


@settings(max_examples=60)
@given(smooth)
def test_gradient_against_differences(recipe: Recipe):
    factors = weights(recipe)
    forward = program_of(lambda *xs: total(recipe, xs), *recipe.inputs, *factors)

    def along(step: float) -> float:
        return float(interpret(forward, (*moved(recipe, step), *factors))[0])

    for _ in range(2):  # interpreted, then compiled
        _, *gradients = value_and_gradients(recipe, recipe.inputs, factors)
        assert_derivative(*dot(gradients, directions(recipe)), along)


@settings(max_examples=40)
@given(smooth)
def test_second_derivative_against_differences_of_the_first(recipe: Recipe):
    factors = weights(recipe)
    forward = program_of(lambda *xs: total(recipe, xs), *recipe.inputs, *factors)
    backward = simplify(gradient_program(forward, range(len(recipe.inputs))))

    def along(step: float) -> float:
        gradients = interpret(backward, (*moved(recipe, step), *factors, np.ones(())))
        return dot(gradients, directions(recipe))[0]

    for _ in range(2):
        tensors = [jt.constant(x) for x in recipe.inputs]
        with jt.GradientTape() as outer:
            outer.watch(tensors)
            with jt.GradientTape() as inner:
                inner.watch(tensors)
                y = total(recipe, (*tensors, *[jt.constant(w) for w in factors]))
            first = inner.gradient(y, tensors, unconnected_gradients="zero")
            slope = jt.add_n([jt.reduce_sum(g * d) for g, d in zip(first, directions(recipe), strict=True)])
        second = outer.gradient(slope, tensors, unconnected_gradients="zero")
        assert_derivative(*dot([h.numpy() for h in second], directions(recipe)), along)


# ---- simplification --------------------------------------------------------------------------------------------------


def assert_same_bits(one: Program, other: Program, inputs: Sequence[Array]) -> None:
    for a, b in zip(interpret(one, inputs), interpret(other, inputs), strict=True):
        assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -1.0)


@settings(max_examples=150)
@given(anything)
def test_simplification_changes_no_bit(recipe: Recipe):
    whole = program(recipe)
    shorter = simplify(whole)
    assert len(shorter.ops) <= len(whole.ops)
    assert_same_bits(whole, shorter, recipe.inputs)
    hostile = [np.resize(EDGES, x.shape).astype(x.dtype) if x.dtype.kind == "f" else x for x in recipe.inputs]
    assert_same_bits(whole, shorter, hostile)


@settings(max_examples=100)
@given(floats)
def test_simplification_of_a_gradient_changes_no_bit(recipe: Recipe):
    whole = gradient_program(program(recipe), range(len(recipe.inputs)))
    seed = np.asarray(np.linspace(-1, 1, whole.input_avals()[-1].size), whole.input_avals()[-1].dtype)
    inputs = (*recipe.inputs, seed.reshape(whole.input_avals()[-1].shape))
    shorter = simplify(whole)
    assert_same_bits(whole, shorter, inputs)
    assert simplify(shorter) == shorter
