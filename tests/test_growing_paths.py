"""The cost of queries on a long path: each gradient and each flush visits its own ops, not all ops before it.

The tests count the lines of jittape that Python executes, also those in loops, for two lengths of a program.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.recording.trace import current_trace
from jittape.recording.trie import _latest, growing_path, path_to, trie
from jittape.transform.differentiate import seen
from line_counts import lines_of


def separate_losses(n: int) -> None:
    x = jt.constant(np.ones(4))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        losses = [jt.reduce_sum(jt.sin(x * float(i))) for i in range(n)]
    for loss in losses:
        tape.gradient(loss, x)


def gradients_while_paused(n: int) -> None:
    x = jt.Variable(np.ones(4))
    with jt.GradientTape(persistent=True) as tape:
        for _ in range(n):
            loss = jt.reduce_sum(jt.sin(x * 2.0))
            with tape.stop_recording():
                tape.gradient(loss, x)


def looks_between(n: int) -> None:
    x = jt.constant(np.ones(4))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        for i in range(n):
            loss = jt.reduce_sum(jt.sin(x * float(i)))
            float(loss)
            tape.gradient(loss, x)


def programs_between(n: int) -> None:
    x = jt.constant(np.ones(4))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        losses = [jt.reduce_sum(jt.sin(x * float(i))) for i in range(n)]
    for loss in losses:
        g = tape.gradient(loss, x)
        with jt.GradientTape() as other:
            other.watch(g)
            y = jt.reduce_sum(g * g)
        other.gradient(y, g).numpy()


def through_numpy_functions(n: int) -> None:
    x = jt.constant(np.ones(4))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        losses = [
            jt.reduce_sum(x * jt.stop_gradient(jt.numpy_function(np.sin, [x], np.float64))) for i in range(n)
        ]
    for loss in losses:
        tape.gradient(loss, x)


def recomputed_blocks(n: int) -> None:
    x, w = jt.constant(np.ones(4)), jt.constant(np.ones(4))
    block = jt.recompute_grad(lambda y: jt.tanh(y * w))
    y = x
    with jt.GradientTape() as tape:
        tape.watch(w)
        for _ in range(n):
            y = block(y)
        loss = jt.reduce_sum(y)
    tape.gradient(loss, w)


PROGRAMS = [
    separate_losses,
    gradients_while_paused,
    looks_between,
    programs_between,
    through_numpy_functions,
    recomputed_blocks,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_cost_of_queries_is_linear(program):
    def first_visit(n: int) -> int:
        trie.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lines_of(lambda: program(n))

    first_visit(3)  # imports and caches
    few, many = first_visit(30), first_visit(120)
    assert many < 4.8 * few, (few, many)


def contents(path: Any) -> tuple[Any, ...]:
    return list(path.inputs), list(path.ops), dict(path.avals), dict(path.variables)


def test_path_grows_and_is_made_anew_after_a_branch():
    x, v = jt.constant(np.ones(3)), jt.Variable(2.0)
    for branch in range(3):
        with jt.GradientTape() as tape:
            y = x * v
            growing = growing_path(current_trace().node)
            assert contents(growing) == contents(path_to(current_trace().node))
            for i in range(3):
                y = jt.sin(y) if i < branch else jt.cos(y) + 1.0
                node = current_trace().node
                assert contents(growing_path(node)) == contents(path_to(node))
            v.assign_add(1.0)
            z = y * v
            assert growing_path(current_trace().node) is growing
            above = current_trace().node.parent
            assert contents(growing_path(above)) == contents(path_to(above))
        tape.gradient(z, v)


def test_two_paths_grow_in_turn():
    x = jt.constant(np.ones(3))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    first = growing_path(y._trace.node)
    for _ in range(3):
        z = jt.sin(jt.constant(np.ones(2)))
        assert contents(growing_path(z._trace.node)) == contents(path_to(z._trace.node))
        tape.gradient(y, x)
        assert growing_path(y._trace.node) is first
        assert contents(first) == contents(path_to(y._trace.node))


@pytest.mark.parametrize("seed", range(30))
def test_what_tapes_track_grows_as_if_visited_at_once(seed):
    rng = np.random.default_rng(seed)
    v, frozen = jt.Variable(np.ones(3)), jt.Variable(np.ones(3), trainable=False)
    values = [jt.constant(np.ones(3)), jt.constant(np.arange(3)), v, frozen]
    accessed = [bool(rng.integers(2)), bool(rng.integers(2))]
    tapes = [jt.GradientTape(persistent=True, watch_accessed_variables=a) for a in accessed]
    outer = jt.GradientTape(persistent=True)
    with outer:
        for tape in tapes:
            tape.__enter__()
        for _ in range(40):
            step = rng.integers(8)
            tape = tapes[rng.integers(2)]
            chosen = values[rng.integers(len(values))]
            if not tape._interval.entered and step != 3:
                tape = outer
            if step == 0:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tape.watch(chosen)
            elif step == 1:
                with tape.stop_recording():
                    values.append(jt.sin(chosen))
            elif step == 2 and tape is not outer:
                tape.__exit__(None, None, None)
            elif step == 3 and not tape._interval.entered:
                tape.__enter__()
            elif step == 4:
                v.assign(values[0] * 2.0)
            elif step == 5:
                tape.reset()
            elif step == 6:
                for one in (*tapes, outer):
                    node = current_trace().node
                    view = one._interval.view(current_trace())
                    assert seen(growing_path(node), view) == seen(path_to(node), view)
            else:
                values.append(jt.multiply(jt.cast(chosen, "float64"), values[rng.integers(len(values))]))


def test_a_path_that_has_ended_keeps_no_lists() -> None:
    x = jt.constant(np.ones(3))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(5):
            y = jt.sin(y) * 1.0625
    gradient = tape.gradient(y, x)
    assert _latest.paths
    del tape
    gradient.numpy()
    assert not _latest.paths
