"""Gradients that are Python functions: the walk back stops for them, and goes on with what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import jittape as jt
from jittape.core.builder import Builder, Symbol
from jittape.primitives.identity import custom_gradient_op
from jittape.transform.differentiate import Callback, Reverse
from op_lists import Recording, begun, literal_in, result


def called_with(r: Recording, results: Sequence[Symbol], *operands: Symbol) -> tuple[Symbol, ...]:
    """The results of a function of `operands` that has a gradient of its own."""
    count = len(results)
    made = [custom_gradient_op.bind(y, *operands, index=i, count=count) for i, y in enumerate(results)]
    return tuple(made)


def two_results() -> tuple[Recording, Symbol, Symbol, tuple[Symbol, ...]]:
    r = Recording()
    with r:
        x, y = r.input(), r.input()
        made = called_with(r, (jt.sin(x), jt.multiply(x, y)), jt.exp(x), y)
    return r, x, y, made


def test_the_walk_stops_where_a_python_function_is_needed():
    r, x, y, (a, b) = two_results()
    with r:
        z = jt.add(jt.multiply(a, 2.0), b)
    reverse, builder = begun(r, z, x, y)
    callback = reverse.run(builder)
    assert isinstance(callback, Callback)
    assert callback.slots == (a.slot, b.slot)
    assert callback.op.out == b.slot
    assert None not in callback.cotangents
    given = [literal_in(builder, 10.0), literal_in(builder, 100.0)]
    reverse.supply(builder, callback.op, given)
    # Once for both results: the walk runs on to the end.
    assert reverse.run(builder) is None
    assert result(r, reverse, builder, y, [0.0, 1.0]) == 100.0
    # Behind the operand the walk goes on: exp(0) = 1 times 10. What the function did inside does not count.
    assert result(r, reverse, builder, x, [0.0, 1.0]) == 10.0


@pytest.mark.parametrize("used", [0, 1])
def test_a_result_that_nobody_used_has_no_cotangent(used: int):
    r, x, y, made = two_results()
    with r:
        z = jt.exp(made[used])
    reverse, builder = begun(r, z, x, y)
    callback = reverse.run(builder)
    assert callback is not None
    assert [c is None for c in callback.cotangents] == [i != used for i in range(2)]


def test_a_python_function_may_say_that_there_is_nothing():
    r, x, y, (a, b) = two_results()
    with r:
        z = jt.add(a, b)
    reverse, builder = begun(r, z, x, y)
    callback = reverse.run(builder)
    assert callback is not None
    reverse.supply(builder, callback.op, [None, literal_in(builder, 3.0)])
    assert reverse.run(builder) is None
    assert x.slot not in reverse.cotangents
    assert result(r, reverse, builder, y, [0.0, 1.0]) == 3.0


def test_what_a_python_function_gives_for_other_operands_is_dropped():
    r, x, y, (a, b) = two_results()
    with r:
        z = jt.add(a, b)
    path = r.path()
    reverse = Reverse.between(path, r.seen(x, y), [z.slot], [y.slot])
    builder = Builder(r.position)
    reverse.seed(builder, z.slot, literal_in(builder, 1.0))
    callback = reverse.run(builder)
    assert callback is not None
    reverse.supply(builder, callback.op, [literal_in(builder, 10.0), literal_in(builder, 3.0)])
    assert reverse.run(builder) is None
    assert x.slot not in reverse.cotangents
    assert callback.op.args[1] not in reverse.cotangents
    assert result(r, reverse, builder, y, [0.0, 1.0]) == 3.0


def test_calls_in_a_chain_are_asked_last_first():
    with Recording() as r:
        x = r.input()
        (a,) = called_with(r, (jt.sin(x),), x)
        (b,) = called_with(r, (jt.sin(a),), a)
    reverse, builder = begun(r, b, x)
    first = reverse.run(builder)
    assert first is not None
    assert first.slots == (b.slot,)
    reverse.supply(builder, first.op, [literal_in(builder, 7.0)])
    second = reverse.run(builder)
    assert second is not None
    assert second.slots == (a.slot,)
    assert second.cotangents[0] is reverse.cotangents[a.slot]
    reverse.supply(builder, second.op, [second.cotangents[0]])
    assert reverse.run(builder) is None
    assert result(r, reverse, builder, x, [0.0]) == 7.0


def test_a_copy_of_the_walk_goes_its_own_way():
    # The walk that waits is kept for every time the gradient is asked for, so going on must not touch it.
    r, x, y, (a, b) = two_results()
    with r:
        z = jt.add(a, b)
    waiting, builder = begun(r, z, x, y)
    callback = waiting.run(builder)
    assert callback is not None
    cotangents = dict(waiting.cotangents)
    for factor in (1.0, 2.0):
        going, own = waiting.copy(), Builder(builder.next_slot)
        going.supply(own, callback.op, [literal_in(own, factor)] * 2)
        assert going.run(own) is None
        own.ops = builder.ops + own.ops
        own.avals = builder.avals | own.avals
        assert result(r, going, own, y, [0.0, 1.0]) == factor
    assert waiting.cotangents == cotangents
    assert y.slot not in waiting.cotangents


def test_the_primal_of_a_call_gets_nothing():
    r, x, y, made = two_results()
    edges = r.seen(x, y).edges
    assert {edges[m.slot] for m in made} == {(1, 2)}


# ---- with tapes ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("mode")
def test_a_custom_gradient_with_several_results_and_arguments():
    asked: list[tuple[float, ...]] = []

    @jt.custom_gradient
    def polar(x: Any, y: Any) -> Any:
        def grad(gx: Any, gy: Any) -> Any:
            asked.append((float(gx), float(gy)))
            return 10 * gx, 100 * gy

        return (x + y, x * y), grad

    x, y = jt.Variable(2.0), jt.Variable(3.0)
    for weight in (1.0, 2.0, 3.0):
        with jt.GradientTape() as tape:
            total, product = polar(x * 1.0, y)
            target = weight * total + product * product
        dx, dy = tape.gradient(target, [x, y])
        assert (float(dx), float(dy)) == (10 * weight, 100 * 12)
    assert asked == [(weight, 12.0) for weight in (1.0, 2.0, 3.0)]


@pytest.mark.usefixtures("mode")
def test_a_custom_gradient_is_asked_again_with_zeros_for_what_is_not_used():
    asked: list[list[float]] = []

    @jt.custom_gradient
    def pair(x: Any) -> Any:
        return (x * 2.0, x * 3.0), lambda *upstream: asked.append([float(u) for u in upstream]) or upstream[1]

    x = jt.Variable(1.0)
    for _ in range(3):
        with jt.GradientTape() as tape:
            _, second = pair(x)
        assert float(tape.gradient(second, x)) == 1.0
    assert asked == [[0.0, 1.0]] * 3


@pytest.mark.usefixtures("mode")
def test_second_order_through_a_custom_gradient():
    @jt.custom_gradient
    def cube(x: Any) -> Any:
        return x * x * x, lambda g: g * 3.0 * x * x

    x = jt.Variable(2.0)
    for _ in range(3):
        with jt.GradientTape() as outer:
            with jt.GradientTape() as inner:
                y = cube(x)
            first = inner.gradient(y, x)
        assert (float(first), float(outer.gradient(first, x))) == (12.0, 12.0)
