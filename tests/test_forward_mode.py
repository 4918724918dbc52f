"""`ForwardAccumulator`, and forward mode of every primitive: two reverse passes give the Jacobian-vector product."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.builder import Builder
from jittape.core.interpret import interpret
from jittape.core.program import Program, check
from jittape.core.simplify import simplify
from jittape.transform.differentiate import Reverse, TapeView, seen
from jittape.transform.op_paths import Path
from programs import compiled, gradient_program, or_zeros, program_of
from test_primitives import DIFFERENTIABLE, cast, difference, rng, run, sources

ForwardAccumulator = jt.autodiff.ForwardAccumulator


def tangent_program(program: Program, wrt: tuple[int, ...]) -> Program:
    """The tangent of the first output: its inputs are those of `program`, the cotangent and the tangents of `wrt`."""
    first = gradient_program(program, wrt)
    seed = first.inputs[-1]
    builder = Builder(max(first.avals) + 1)
    builder.ops, builder.avals = list(first.ops), dict(first.avals)
    path = Path(first.inputs, first.ops, first.avals, {})
    reverse = Reverse.between(path, seen(path, TapeView((0,), ((seed, seed),), False)), first.outputs, [seed])
    tangents = []
    for output in first.outputs:
        tangents.append(builder.new_slot(first.avals[output]))
        if output in {op.out for op, _ in reverse.steps} | {seed}:
            reverse.seed(builder, output, tangents[-1])
    assert reverse.run(builder) is None
    inputs = (*first.inputs, *[t.slot for t in tangents])
    tangent = or_zeros(builder, reverse.cotangents.get(seed), first.avals[seed])
    return check(Program(inputs, tuple(builder.ops), (tangent,), builder.avals))


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_the_tangent_of_every_primitive_is_its_directional_derivative(row: Any) -> None:
    """And nothing of it needs the cotangent of the first pass, which is nan here."""
    operands = cast(row.sample(rng()), "float64")
    wrt = sources(row, operands)
    if not wrt:
        return
    program = program_of(row.function, *operands)
    generator = rng()
    directions = [generator.standard_normal(operands[i].shape) for i in wrt]
    weight = generator.standard_normal(run(program, operands)[0].shape)
    tangents = simplify(tangent_program(program, wrt))
    cotangent = np.full(weight.shape, np.nan)
    (got,) = interpret(tangents, (*operands, cotangent, *directions))
    assert got.shape == weight.shape

    def along(step: float) -> float:
        moved = list(operands)
        for i, direction in zip(wrt, directions, strict=True):
            moved[i] = operands[i] + step * direction
        return float(np.sum(weight * run(program, tuple(moved))[0]))

    expected = difference(along)
    scale = float(np.sum(np.abs(weight * got)))
    assert float(np.sum(weight * got)) == pytest.approx(expected, rel=1e-7, abs=1e-7 * (scale + 1))
    if DIFFERENTIABLE.index(row) % 3 == 0:  # tangents consist of primitives, which `test_primitives` compiles
        (machine,) = compiled(tangents, (*operands, cotangent, *directions))
        np.testing.assert_allclose(machine, got, rtol=1e-9, atol=1e-12)


def test_a_chain_of_elementwise_functions_and_its_tangent_are_one_loop() -> None:
    x = np.linspace(0.1, 1.0, 50)
    for _ in range(3):
        jt.jvp(lambda x: jt.exp(jt.sin(x) * jt.tanh(x)) / (1 + x * x), [x], [np.ones(50)])
    assert [step.loops for step in jt.explain().steps] == [1]


# ---- ForwardAccumulator ----------------------------------------------------------------------------------------------


def test_the_textbook_example(mode: str) -> None:
    """Of TensorFlow's documentation: the tangent of a regression's loss."""
    for _ in range(3):
        x = jt.constant([[2.0, 3.0], [1.0, 4.0]])
        targets = jt.constant([[1.0], [-1.0]])
        kernel = jt.Variable([[0.5], [0.25]])
        with ForwardAccumulator(primals=kernel, tangents=jt.constant([[1.0], [0.0]])) as acc:
            loss = jt.reduce_sum((jt.tanh(x @ kernel) - targets) ** 2.0)
        z = np.tanh(x.numpy() @ [[0.5], [0.25]])
        expected = np.sum(2 * (z - targets.numpy()) * (1 - z**2) * x.numpy()[:, :1])
        assert float(acc.jvp(loss)) == pytest.approx(expected, rel=1e-6)
        assert acc.jvp(kernel).tolist() == [[1.0], [0.0]]


def test_nested_structures(mode: str) -> None:
    for _ in range(3):
        a, b = jt.constant(2.0), jt.constant([1.0, 3.0])
        with ForwardAccumulator({"a": a, "b": [b]}, {"a": 10.0, "b": [[1.0, 0.0]]}) as acc:
            y, z = a * b, jt.reduce_sum(b)
        got = acc.jvp((y, {"z": z}))
        assert isinstance(got, tuple)
        assert got[0].tolist() == [12.0, 30.0]
        assert float(got[1]["z"]) == 1.0
        assert acc.jvp(a).numpy() == 10.0


def test_it_may_be_asked_inside_and_after_and_again(mode: str) -> None:
    for _ in range(3):
        x = jt.constant(3.0)
        with ForwardAccumulator(x, 1.0) as acc:
            y = x * x
            assert float(acc.jvp(y)) == 6.0
            z = y * y
        assert float(acc.jvp(z)) == 4 * 27.0
        assert float(acc.jvp(y)) == 6.0
        with acc:
            w = z * x
        assert float(acc.jvp(w)) == 5 * 81.0


def test_what_was_computed_outside_is_constant() -> None:
    x = jt.constant(3.0)
    before = x * x
    with ForwardAccumulator(x, 1.0) as acc:
        y = before * x
    after = x * x
    assert float(acc.jvp(y)) == 9.0
    with pytest.warns(jt.UnconnectedGradientWarning, match="tangent of target 0 is None"):
        assert acc.jvp(after) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert acc.jvp([after, y], unconnected_gradients="zero")[0].numpy() == 0.0
    assert acc.jvp(before, jt.UnconnectedGradients.ZERO).numpy() == 0.0


def test_the_reason_of_a_none_names_the_op_and_the_line() -> None:
    x = jt.constant([1.0, 2.0])
    with ForwardAccumulator(x, [1.0, 1.0]) as acc:
        y = jt.floor(x) * 2.0
    with pytest.warns(jt.UnconnectedGradientWarning, match=r"`floor` at line \d+ of .*test_forward_mode.py"):
        assert acc.jvp(y) is None


@pytest.mark.parametrize("inner_asked", ["inside", "after"])
def test_accumulators_nest(mode: str, inner_asked: str) -> None:
    """The second example of TensorFlow's documentation asks the inner one after both have ended."""
    for _ in range(3):
        x = jt.constant(1.1, jt.float64)
        with ForwardAccumulator(x, np.float64(1)) as outer:
            with ForwardAccumulator(x, np.float64(1)) as inner:
                y = x**3.5
            if inner_asked == "inside":
                first = inner.jvp(y)
        if inner_asked == "after":
            first = inner.jvp(y)
        assert float(first) == pytest.approx(3.5 * 1.1**2.5, rel=1e-14)
        assert float(outer.jvp(first)) == pytest.approx(3.5 * 2.5 * 1.1**1.5, rel=1e-14)


def test_three_deep() -> None:
    x = jt.constant(2.0, jt.float64)
    one = np.float64(1)
    with ForwardAccumulator(x, one) as a, ForwardAccumulator(x, one) as b, ForwardAccumulator(x, one) as c:
        y = x**5
    assert float(a.jvp(b.jvp(c.jvp(y)))) == 60 * 4.0


def test_forward_over_reverse_is_a_hessian_vector_product(mode: str) -> None:
    for _ in range(3):
        v = jt.Variable([1.0, 2.0])
        with ForwardAccumulator(v, [1.0, 3.0]) as acc:
            with jt.GradientTape() as tape:
                y = jt.reduce_sum(v**3) + v[0] * v[1]
            gradient = tape.gradient(y, v)
        assert acc.jvp(gradient).tolist() == [9.0, 37.0]


@pytest.mark.parametrize("asked", ["inside", "after"])
def test_reverse_over_forward_is_one_too(mode: str, asked: str) -> None:
    for _ in range(3):
        v = jt.Variable([1.0, 2.0])
        with jt.GradientTape() as tape:
            with ForwardAccumulator(v, [1.0, 3.0]) as acc:
                y = jt.reduce_sum(v**3) + v[0] * v[1]
            if asked == "inside":
                tangent = acc.jvp(y)
        if asked == "after":
            tangent = acc.jvp(y)
        assert tape.gradient(tangent, v).tolist() == [9.0, 37.0]


def test_a_paused_tape_does_not_see_a_tangent_asked_in_its_pause() -> None:
    v = jt.Variable(2.0)
    with jt.GradientTape(persistent=True) as tape:
        with ForwardAccumulator(v, 1.0) as acc:
            y = v**3
        seen_value = acc.jvp(y)
        with tape.stop_recording():
            w = jt.identity(v) * 1.0
    assert float(tape.gradient(seen_value, v)) == 12.0
    with pytest.warns(jt.UnconnectedGradientWarning):
        assert tape.gradient(w, v) is None


def test_a_custom_gradient_is_used_in_forward_mode_too(mode: str) -> None:
    @jt.custom_gradient
    def f(x: Any, y: Any) -> Any:
        def gradient(upstream: Any) -> Any:
            return upstream * 100.0 * x, upstream * 7.0

        return x * y, gradient

    for _ in range(3):
        x, y = jt.constant([1.0, 2.0]), jt.constant([5.0, 6.0])
        with ForwardAccumulator([x, y], [[1.0, 1.0], [1.0, 0.0]]) as acc:
            z = jt.sin(f(x, y) * 0.0)
        assert acc.jvp(z).tolist() == [0.0, 0.0]
        with ForwardAccumulator([x, y], [[1.0, 1.0], [1.0, 0.0]]) as acc:
            z = f(x, y)
        assert acc.jvp(z).tolist() == [107.0, 200.0]


def test_inside_a_function_and_around_one() -> None:
    @jt.function
    def inside(x: Any, v: Any) -> Any:
        with ForwardAccumulator(x, v) as acc:
            y = jt.reduce_sum(x**3)
        return acc.jvp(y)

    cube = jt.function(lambda x: x**3)
    for _ in range(3):
        x, v = np.array([1.0, 2.0]), np.array([1.0, 10.0])
        assert float(inside(x, v)) == 123.0
        t = jt.constant(x)
        with ForwardAccumulator(t, v) as acc:
            y = cube(t)
        assert acc.jvp(y).tolist() == [3.0, 120.0]
    assert inside.trace_count == 1


def test_a_variable_that_is_assigned_meanwhile(mode: str) -> None:
    """As under a tape: what it was computed from is disconnected, what is read of it afterwards is not."""
    for _ in range(3):
        v, w = jt.Variable(3.0), jt.Variable(2.0)
        with ForwardAccumulator([v, w], [1.0, 0.0]) as acc:
            w.assign(v * v)
            y = w * v
        assert float(y) == 27.0
        assert float(acc.jvp(y)) == 9.0


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_entering_an_active_one() -> None:
    acc = ForwardAccumulator(jt.constant(1.0), 1.0)
    with acc, pytest.raises(ValueError, match=r"^Accumulator is already recording\.$"):
        acc.__enter__()
    with acc:
        pass


def test_asking_before_entering() -> None:
    x = jt.constant(1.0)
    with pytest.raises(ValueError, match=r"Called jvp\(\) without first tracing anything"):
        ForwardAccumulator(x, 1.0).jvp(x)


X = jt.constant([1.0, 2.0])


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "match"),
    [
        (X, [1.0], ValueError, r"tangents\[0\] has shape \(1,\), its primal \(2,\)"),
        (X, 1.0, ValueError, r"tangents\[0\] has shape \(\), its primal \(2,\)"),
        (X, np.ones(2), TypeError, r"tangents\[0\] has dtype float64, its primal float32; cast it"),
        ([X, X * 2.0], [X], ValueError, "tangents has 1 entries for 2"),
        ({"a": X}, {"b": X}, ValueError, "tangents must have the structure"),
        ([X, X], [X, X], ValueError, "a primal was given more than once"),
        (
            np.ones(2),
            np.ones(2),
            ValueError,
            "Passed in object .* of type 'ndarray', not jt.Tensor or jt.Variable",
        ),
    ],
)
def test_what_does_not_fit(primals: Any, tangents: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        ForwardAccumulator(primals, tangents)


def test_what_it_was_asked_for_must_be_a_tensor() -> None:
    with ForwardAccumulator(X, X) as acc:
        y = X * 2.0
    with pytest.raises(TypeError, match="the target must be a jt.Tensor"):
        acc.jvp(y.numpy())
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'foo'"):
        acc.jvp(y, "foo")
    assert acc.jvp(y).tolist() == [2.0, 4.0]


def test_an_exception_in_the_block_leaves_it_usable() -> None:
    acc = ForwardAccumulator(X, X)
    with pytest.raises(RuntimeError, match="mine"), acc:
        y = X * X
        raise RuntimeError("mine")
    assert acc.jvp(y).tolist() == [2.0, 8.0]


def test_it_does_not_pickle() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(ForwardAccumulator(X, X))


def test_integers_have_no_tangent() -> None:
    n = jt.constant([1, 2])
    with ForwardAccumulator([n, X], [[1, 1], X]) as acc:
        y = jt.cast(n, jt.float32) * X
    assert acc.jvp(y).tolist() == [1.0, 4.0]


def test_dead_code_of_the_two_passes_is_gone() -> None:
    """Forward mode of a matrix product: the product and the product of the tangent, no third one."""
    program = tangent_program(program_of(jt.matmul, np.ones((2, 2)), np.ones((2, 2))), (0, 1))
    names = [op.primitive.name for op in simplify(program).ops]
    assert names.count("matmul") == 2, names


@pytest.mark.parametrize(
    ("setting", "limit"), [("max_pending_ops", 1), ("max_pending_ops", 3), ("max_pending_bytes", 16)]
)
def test_tangents_of_custom_gradients_may_exceed_the_limits_of_what_is_pending(
    setting: str, limit: int
) -> None:
    """The tangents are recorded after the accumulator has been left, so outside of all tapes."""

    @jt.custom_gradient
    def f(x):
        return jt.sin(x), lambda upstream: upstream * 2.0

    before = getattr(jt.config, setting)
    setattr(jt.config, setting, limit)
    try:
        x = jt.constant(np.array([1.0, 2.0]))
        for _ in range(3):
            with jt.autodiff.ForwardAccumulator(x, jt.constant(np.array([1.0, 3.0]))) as accumulator:
                y = f(x) * x
            with jt.GradientTape() as tape:
                tape.watch(x)
                z = f(x) * x
            expected = 2.0 * x + np.sin([1.0, 2.0])
            np.testing.assert_allclose(accumulator.jvp(y), expected * [1.0, 3.0], rtol=1e-12)
            np.testing.assert_allclose(tape.jacobian(z, x), np.diag(expected), rtol=1e-12)
    finally:
        setattr(jt.config, setting, before)
