"""Reverse mode on the op list: what a tape sees, which ops its gradient has and in which order they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.builder import Builder, Symbol, literal
from jittape.differentiate import Callback, Path, Reverse, Seen, TapeView, seen
from jittape.errors import NoGradientError, ProgramError
from jittape.interpret import interpret
from jittape.primitive import Primitive, active_recorder, recording_with
from jittape.primitives.broadcast import broadcast
from jittape.primitives.custom import custom_gradient_op
from jittape.program import Aval, Program, SourceLine, check
from jittape.recording.variable import read_variable_op

FLOAT = np.dtype("float64")
INT = np.dtype("int32")


class Recording:
    """An op list in the making; used as a context it records what user-level functions do."""

    def __init__(self) -> None:
        self.builder = Builder(0)
        self.inputs: list[int] = []
        self.variables: dict[int, bool] = {}
        self._context: Any = None

    def __enter__(self) -> Recording:
        self._context = recording_with(self.builder)
        self._context.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._context.__exit__(None, None, None)

    def input(
        self, shape: tuple[int, ...] = (), dtype: np.dtype[Any] = FLOAT, trainable: bool | None = None
    ) -> Symbol:
        symbol = self.builder.new_slot(Aval(shape, dtype))
        self.inputs.append(symbol.slot)
        if trainable is not None:
            self.variables[symbol.slot] = trainable
        return symbol

    @property
    def position(self) -> int:
        return self.builder.next_slot

    def path(self) -> Path:
        return Path(tuple(self.inputs), tuple(self.builder.ops), self.builder.avals, self.variables)

    def seen(
        self, *watched: Symbol, segments: tuple[int, ...] = (0,), accessed: bool = False, at: int = 0
    ) -> Seen:
        return seen(self.path(), TapeView(segments, tuple((at, x.slot) for x in watched), accessed))


def begun(recording: Recording, target: Symbol, *sources: Symbol) -> tuple[Reverse, Builder]:
    """The walk from `target` back to `sources`, seeded with ones, and the builder for what it appends."""
    path = recording.path()
    tracked = seen(path, TapeView((0,), tuple((0, x.slot) for x in sources), False))
    reverse = Reverse.between(path, tracked, [target.slot], [x.slot for x in sources])
    builder = Builder(recording.position)
    with recording_with(builder):
        ones = broadcast(literal(1, target.dtype), target.shape)
    reverse.seed(builder, target.slot, ones)
    return reverse, builder


def result(
    recording: Recording, reverse: Reverse, builder: Builder, source: Symbol, values: Sequence[Any]
) -> Any:
    """The gradient with respect to `source`, evaluated."""
    ops = (*recording.builder.ops, *builder.ops)
    avals = {**recording.builder.avals, **builder.avals}
    program = check(Program(tuple(recording.inputs), ops, (reverse.cotangents[source.slot].slot,), avals))
    return interpret(program, values)[0]


def gradient(recording: Recording, target: Symbol, source: Symbol, *values: Any) -> Any:
    reverse, builder = begun(recording, target, source)
    assert reverse.run(builder) is None
    return result(recording, reverse, builder, source, values)


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
    uses = [op for op in builder.ops if e.slot in op.args and op.primitive.name == "chain"]
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

unwritten = Primitive("unwritten", result=lambda x: x, evaluate=lambda x: x)


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
        (lambda g, out, x: jt.reduce_sum(g), r"rule of careless gave float64\[\] for float64\[3\]"),
        (lambda g, out, x: jt.cast(g, "float32"), r"rule of careless gave float32\[3\] for float64\[3\]"),
    ],
)
def test_a_rule_that_gives_another_shape_or_dtype_is_found(rule: Any, message: str):
    careless = Primitive("careless", result=lambda x: x, evaluate=lambda x: x, vjp=(rule,))
    with Recording() as r:
        x = r.input((3,))
        y = careless.bind(x)
    reverse, builder = begun(r, y, x)
    with pytest.raises(ProgramError, match=message):
        reverse.run(builder)


def test_a_rule_may_say_that_there_is_nothing():
    silent = Primitive("silent", result=lambda x: x, evaluate=lambda x: x, vjp=(lambda g, out, x: None,))
    with Recording() as r:
        x = r.input()
        y = silent.bind(jt.exp(x))
    reverse, builder = begun(r, y, x)
    assert reverse.run(builder) is None
    assert x.slot not in reverse.cotangents


# ---- Python functions as gradients -----------------------------------------------------------------------------------


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


def literal_in(builder: Builder, value: float) -> Symbol:
    with recording_with(builder):
        return literal(value, FLOAT)


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


def test_an_op_without_rule_leaves_the_tape_usable():
    x = jt.Variable(2.0)
    with jt.GradientTape(persistent=True) as tape:
        y = x * x
        z = jt.primitive.apply(unwritten, (y,))
    with pytest.raises(jt.NoGradientError, match="unwritten, recorded at .*test_differentiate.py:"):
        tape.gradient(z, x)
    assert float(tape.gradient(y, x)) == 4.0
    assert float(z) == 4.0
