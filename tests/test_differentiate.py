"""Reverse mode on the op list: what a tape sees, which ops its gradient has and in which order they come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.builder import Builder, literal
from jittape.core.primitive import Primitive, active_recorder, apply, recording_with
from jittape.core.program import SourceLine
from jittape.errors import NoGradientError, ProgramError
from jittape.recording.variable import read_variable_op
from jittape.transform.differentiate import Reverse, Seen, TapeView, seen
from op_lists import FLOAT, Recording, begun, gradient, result

INT = np.dtype("int32")


def step_names(reverse: Reverse) -> list[str]:
    return [op.primitive.name for op, _ in reverse.steps]


# ---- where a tape records --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segments", "recorded"),
    [
        ((), []),
        ((0,), [0, 1, 2, 3, 4, 5]),
        ((2,), [2, 3, 4, 5]),
        ((2, 4), [2, 3]),
        ((0, 1, 3, 5), [0, 3, 4]),
        ((1, 2, 2, 3), [1, 2]),
        ((3, 3), []),
        ((0, 2, 4), [0, 1, 4, 5]),
    ],
)
def test_what_lies_between_begin_and_end_is_recorded(segments: tuple[int, ...], recorded: list[int]):
    view = TapeView(segments, (), True)
    assert [slot for slot in range(6) if view.records(slot)] == recorded


# ---- what a tape tracks ----------------------------------------------------------------------------------------------


def test_what_depends_on_a_watched_slot_is_tracked():
    with Recording() as r:
        x, y = r.input(), r.input()
        z = jt.sin(x)
        w = jt.multiply(y, z)
        apart = jt.exp(y)
    tracked = r.seen(x)
    assert tracked.slots == {x.slot, z.slot, w.slot}
    assert tracked.edges == {z.slot: (0,), w.slot: (1,)}
    assert apart.slot not in tracked.slots


def test_nothing_is_tracked_without_a_watch():
    with Recording() as r:
        x = r.input()
        jt.sin(x)
    assert r.seen() == Seen(set(), {})


def test_a_slot_used_twice_has_two_edges():
    with Recording() as r:
        x = r.input()
        y = jt.multiply(x, x)
    assert r.seen(x).edges == {y.slot: (0, 1)}


def test_a_watch_holds_from_its_position_on():
    with Recording() as r:
        x = r.input()
        before = jt.sin(x)
        position = r.position
        after = jt.sin(x)
    tracked = r.seen(x, at=position)
    assert tracked.slots == {x.slot, after.slot}
    assert before.slot not in tracked.edges


def test_a_watch_at_the_very_end_tracks_the_slot_alone():
    with Recording() as r:
        x = r.input()
        jt.sin(x)
    assert r.seen(x, at=r.position) == Seen({x.slot}, {})


def test_watching_a_result_cuts_nothing():
    # Both the result and what it was made of are watched: the gradient goes through to x.
    with Recording() as r:
        x = r.input()
        y = jt.sin(x)
        position = r.position
        z = jt.exp(y)
    tracked = seen(r.path(), TapeView((0,), ((0, x.slot), (position, y.slot)), False))
    assert tracked.edges == {y.slot: (0,), z.slot: (0,)}


def test_a_pause_hides_ops_and_all_that_hangs_on_them_alone():
    with Recording() as r:
        x = r.input()
        y = jt.sin(x)
        pause = r.position
        hidden = jt.exp(y)
        resume = r.position
        z = jt.multiply(hidden, y)
        lost = jt.exp(hidden)
    tracked = r.seen(x, segments=(0, pause, resume))
    assert tracked.edges == {y.slot: (0,), z.slot: (1,)}
    assert {hidden.slot, lost.slot}.isdisjoint(tracked.slots)


@pytest.mark.parametrize(("accessed", "slots"), [(True, {0}), (False, set())])
def test_only_trainable_variables_are_watched_unasked(accessed: bool, slots: set[int]):
    with Recording() as r:
        v, frozen = r.input(trainable=True), r.input(trainable=False)
        y = jt.multiply(v, frozen)
    tracked = r.seen(accessed=accessed)
    assert tracked.slots == (slots | {y.slot} if accessed else slots)
    assert tracked.edges == ({y.slot: (0,)} if accessed else {})


def test_a_variable_that_is_not_trainable_can_be_watched():
    with Recording() as r:
        v, frozen = r.input(trainable=True), r.input(trainable=False)
        y = jt.multiply(v, frozen)
    assert r.seen(frozen, accessed=True).edges == {y.slot: (0, 1)}


def test_reading_an_assigned_variable_begins_anew():
    with Recording() as r:
        v = r.input(trainable=True)
        value = jt.sin(v)
        again = read_variable_op.bind(value, trainable=True)
        r.variables[again.slot] = True
        y = jt.exp(again)
    tracked = r.seen(accessed=True)
    assert again.slot in tracked.slots
    assert again.slot not in tracked.edges
    assert tracked.edges[y.slot] == (0,)


def test_integers_are_not_tracked():
    with Recording() as r:
        n, x = r.input(dtype=INT), r.input()
        jt.multiply(n, n)
        counted = jt.cast(jt.multiply(n, 2), FLOAT)
        y = jt.multiply(x, counted)
    tracked = r.seen(n, x)
    assert tracked.slots == {x.slot, y.slot}
    assert tracked.edges == {y.slot: (0,)}


STOPS = {
    "stop_gradient": jt.stop_gradient,
    "a comparison": lambda x: jt.cast(jt.greater(x, 0.0), FLOAT),
    "a cast to int": lambda x: jt.cast(jt.cast(x, INT), FLOAT),
    "argmax": lambda x: jt.cast(jt.argmax(x, axis=0), FLOAT),
    "zeros_like": jt.zeros_like,
}


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS.keys())
def test_the_path_ends_where_no_gradient_flows(stop: Any):
    with Recording() as r:
        x = r.input((3,))
        y = jt.exp(stop(x))
    assert y.slot not in r.seen(x).slots


def test_operands_without_a_rule_have_no_edge():
    with Recording() as r:
        x, condition = r.input((3,)), r.input((3,), np.dtype("bool"))
        y = jt.where(condition, x, jt.sin(x))
        picked = jt.gather(y, literal(1, INT))
    edges = r.seen(x, condition).edges
    assert edges[y.slot] == (1, 2)
    assert edges[picked.slot] == (0,)


# ---- between targets and sources -------------------------------------------------------------------------------------


def test_steps_are_the_ops_between_last_first():
    with Recording() as r:
        x = r.input()
        y = jt.sin(x)
        jt.tanh(y)
        z = jt.exp(y)
    reverse, _ = begun(r, z, x)
    assert step_names(reverse) == ["exp", "sin"]


def test_a_source_in_the_middle_ends_the_walk():
    with Recording() as r:
        x = r.input()
        y = jt.sin(x)
        z = jt.exp(y)
    tracked = r.seen(x)
    reverse = Reverse.between(r.path(), tracked, [z.slot], [y.slot])
    assert step_names(reverse) == ["exp"]
    assert step_names(Reverse.between(r.path(), tracked, [z.slot], [x.slot, y.slot])) == ["exp", "sin"]


def test_edges_that_lead_to_no_source_are_not_walked():
    with Recording() as r:
        x, y = r.input(), r.input()
        z = jt.multiply(jt.sin(x), jt.exp(y))
    reverse = Reverse.between(r.path(), r.seen(x, y), [z.slot], [y.slot])
    assert [(op.primitive.name, along) for op, along in reverse.steps] == [("multiply", (1,)), ("exp", (0,))]


@pytest.mark.parametrize("watched", [True, False])
def test_no_steps_where_nothing_connects(watched: bool):
    with Recording() as r:
        x, y = r.input(), r.input()
        z = jt.exp(y)
        jt.sin(x)
    tracked = r.seen(*([x] if watched else []), y)
    assert Reverse.between(r.path(), tracked, [z.slot], [x.slot]).steps == ()


def test_a_target_that_is_the_source_has_no_steps_and_keeps_its_seed():
    with Recording() as r:
        x = r.input()
        jt.sin(x)
    reverse, builder = begun(r, x, x)
    assert reverse.steps == ()
    assert reverse.run(builder) is None
    assert result(r, reverse, builder, x, [5.0]) == 1.0


# ---- the ops of a gradient -------------------------------------------------------------------------------------------


def test_a_chain():
    with Recording() as r:
        x = r.input()
        y = jt.exp(jt.sin(x))
    assert gradient(r, y, x, 0.3) == pytest.approx(np.exp(np.sin(0.3)) * np.cos(0.3))


def test_cotangents_of_a_slot_add_up():
    with Recording() as r:
        x = r.input()
        a = jt.sin(x)
        y = jt.add(jt.multiply(a, a), jt.multiply(a, x))
    s, c = np.sin(0.3), np.cos(0.3)
    assert gradient(r, y, x, 0.3) == pytest.approx(2 * s * c + c * 0.3 + s)


def test_a_cotangent_is_complete_before_it_is_passed_on():
    # exp is used by two ops, so its own rule must run once, after both.
    with Recording() as r:
        x = r.input()
        e = jt.exp(x)
        y = jt.add(jt.sin(e), jt.cos(e))
    reverse, builder = begun(r, y, x)
    assert step_names(reverse) == ["add", "cos", "sin", "exp"]
    assert reverse.run(builder) is None
    uses = [op for op in builder.ops if e.slot in op.args and op.primitive.name == "zero_dominant_multiply"]
    assert len(uses) == 1


def test_several_targets_add_up():
    with Recording() as r:
        x = r.input()
        y, z = jt.square(x), jt.multiply(x, 5.0)
    tracked = r.seen(x)
    reverse = Reverse.between(r.path(), tracked, [y.slot, z.slot, y.slot], [x.slot])
    builder = Builder(r.position)
    for target in (y, z, y):
        with recording_with(builder):
            seed = literal(1, FLOAT)
        reverse.seed(builder, target.slot, seed)
    assert reverse.run(builder) is None
    assert result(r, reverse, builder, x, [3.0]) == 2 * 6.0 + 5.0


def test_ops_carry_the_line_of_the_op_that_they_differentiate():
    lines = [SourceLine("model.py", n, "f") for n in (1, 2)]
    with Recording() as r:
        x = r.input()
        r.builder.source = lines[0]
        y = jt.sin(x)
        r.builder.source = lines[1]
        z = jt.exp(y)
    reverse, builder = begun(r, z, x)
    seeds = len(builder.ops)
    reverse.run(builder)
    sources = [op.source for op in builder.ops[seeds:]]
    assert sources == sorted(sources, key=lines.index, reverse=True)
    assert set(sources) == set(lines)


def test_a_long_chain_needs_no_recursion():
    with Recording() as r:
        x = y = r.input()
        for _ in range(5000):
            y = jt.sin(y)
    expected, at = 1.0, 0.5
    for _ in range(5000):
        expected, at = expected * np.cos(at), np.sin(at)
    assert gradient(r, y, x, 0.5) == pytest.approx(expected, rel=1e-10)


def test_the_gradient_can_be_differentiated_again():
    with Recording() as r:
        x = r.input()
        y = jt.multiply(jt.sin(x), x)
    reverse, builder = begun(r, y, x)
    reverse.run(builder)
    r.builder.ops += builder.ops
    r.builder.avals.update(builder.avals)
    r.builder.next_slot = builder.next_slot
    first = reverse.cotangents[x.slot]
    assert gradient(r, first, x, 0.3) == pytest.approx(2 * np.cos(0.3) - 0.3 * np.sin(0.3))


def test_the_broadcast_is_summed_back_to_the_shape_of_the_source():
    with Recording() as r:
        x, y = r.input((3, 1)), r.input((2, 1, 4))
        z = jt.multiply(x, y)
    found = gradient(r, z, x, np.ones((3, 1)), np.full((2, 1, 4), 2.0))
    assert found.shape == (3, 1)
    assert (found == 16).all()


def test_the_gradient_of_a_real_number_is_real():
    with Recording() as r:
        x = r.input()
        z = jt.multiply(jt.cast(x, np.dtype("complex128")), 1 + 2j)
        y = jt.real(jt.multiply(z, jt.conj(z)))
    found = gradient(r, y, x, 3.0)
    assert found.dtype == FLOAT
    assert found == pytest.approx(2 * 3 * 5)


# ---- what has no gradient --------------------------------------------------------------------------------------------

unwritten = Primitive("unwritten", abstract_eval=lambda x: x, impl=lambda x: x)


def test_an_op_without_rule_is_named_with_its_line():
    with Recording() as r:
        x = r.input()
        r.builder.source = SourceLine("model.py", 7, "loss")
        y = jt.exp(unwritten.bind(x))
    reverse, builder = begun(r, y, x)
    assert step_names(reverse) == ["exp", "unwritten"]
    before = active_recorder()
    with pytest.raises(NoGradientError, match=r"No gradient .* unwritten, recorded at model\.py:7 in loss"):
        reverse.run(builder)
    assert active_recorder() is before


def test_an_op_without_rule_off_the_way_does_no_harm():
    with Recording() as r:
        x, y = r.input(), r.input()
        z = jt.add(jt.exp(x), unwritten.bind(y))
    assert gradient(r, z, x, 0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda g, out, x: jt.reduce_sum(g), r"rule of careless returned float64\[\] for float64\[3\]"),
        (lambda g, out, x: jt.cast(g, "float32"), r"rule of careless returned float32\[3\] for float64\[3\]"),
    ],
)
def test_a_rule_that_gives_another_shape_or_dtype_is_found(rule: Any, message: str):
    careless = Primitive("careless", abstract_eval=lambda x: x, impl=lambda x: x, vjp=(rule,))
    with Recording() as r:
        x = r.input((3,))
        y = careless.bind(x)
    reverse, builder = begun(r, y, x)
    with pytest.raises(ProgramError, match=message):
        reverse.run(builder)


def test_a_rule_may_say_that_there_is_nothing():
    silent = Primitive("silent", abstract_eval=lambda x: x, impl=lambda x: x, vjp=(lambda g, out, x: None,))
    with Recording() as r:
        x = r.input()
        y = silent.bind(jt.exp(x))
    reverse, builder = begun(r, y, x)
    assert reverse.run(builder) is None
    assert x.slot not in reverse.cotangents


def test_an_op_without_rule_leaves_the_tape_usable():
    x = jt.Variable(2.0)
    with jt.GradientTape(persistent=True) as tape:
        y = x * x
        z = apply(unwritten, (y,))
    with pytest.raises(jt.NoGradientError, match=r"unwritten, recorded at .*test_differentiate\.py:"):
        tape.gradient(z, x)
    assert float(tape.gradient(y, x)) == 4.0
    assert float(z) == 4.0
