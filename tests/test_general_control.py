"""One trace serves loops, branches and recurrent layers of all lengths, with the numbers of a trace of their own."""

import dataclasses
import warnings
from typing import Any

import numpy as np
import optree
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.schedule.validate import check_schedule
from jittape.core.simplify import simplify
from jittape.runtime.counters import counters
from jittape.runtime.derived_executable import DerivedExecutable
from length_programs import decide_by_sizes

LENGTHS = [50, 61, 70, 23, 111, 61, 7, 301]
rng = np.random.default_rng(0)
W = jt.Variable(rng.normal(size=(3, 3)) * 0.4)
U = jt.Variable(rng.normal(size=(3, 3)) * 0.4)


def start() -> Any:
    return jt.zeros([1, 3], jt.float64)


def cell(h: Any, row: Any) -> Any:
    return jt.tanh(h @ W + row @ U)


def by_while(x: Any) -> Any:
    n = x.shape[0]
    return jt.while_loop(
        lambda i, s: i < n, lambda i, s: (i + 1, cell(s, x[i][None])), (jt.constant(0), start())
    )[1]


def doubled(x: Any) -> Any:
    @jt.custom_gradient
    def f(y: Any) -> Any:
        return y * 2.0, lambda g: g * 3.0

    return jt.map_fn(lambda r: f(jt.sin(r @ W)), x)


def nested(x: Any) -> Any:
    """A branch in a loop in a loop; both lengths vary."""

    def inner(h: Any, row: Any) -> Any:
        return jt.cond(jt.reduce_sum(h) > 0.0, lambda: jt.tanh(h + row), lambda: h - row * 0.1)

    return jt.scan(lambda h, row: jt.foldl(inner, x, h) + row, x, jt.zeros([3], jt.float64))


PROGRAMS = {
    "scan": lambda x: jt.scan(lambda h, row: cell(h, row[None]), x, start()),
    "scan without a start": lambda x: jt.scan(lambda h, row: jt.tanh(h * 0.5 + row), x),
    "scan backwards": lambda x: jt.scan(lambda h, row: cell(h, row[None]), x, start(), reverse=True),
    "foldr": lambda x: jt.foldr(lambda h, row: cell(h, row[None]), x, start()),
    "fori_loop": lambda x: jt.fori_loop(0, x.shape[0], lambda i, s: cell(s, x[i][None]), start()),
    "fori_loop from the middle": lambda x: jt.fori_loop(
        x.shape[0] // 2, x.shape[0], lambda i, s: s + jt.cast(i, jt.float64) * x[i], jt.zeros([3], jt.float64)
    ),
    "while_loop": by_while,
    "map_fn": lambda x: jt.map_fn(lambda row: jt.tanh(row[None] @ W)[0] / x.shape[0], x),
    "vectorized_map": lambda x: jt.vectorized_map(lambda row: jt.exp(-row) * jt.reduce_sum(row), x),
    "cond": lambda x: jt.cond(jt.reduce_sum(x) > 0.0, lambda: jt.tanh(x @ W), lambda: x @ U),
    "switch_case": lambda x: jt.switch_case(
        jt.cast(jt.reduce_sum(x) > 0.0, jt.int32), [lambda: x * 2.0, lambda: jt.cumsum(x)]
    ),
    "a carry of the length": lambda x: jt.fori_loop(0, 4, lambda i, s: jt.tanh(s @ W) + x, x),
    "a custom gradient": doubled,
    "nested": nested,
}


def with_gradients(python: Any) -> Any:
    def step(x: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = python(x)
            loss = jt.reduce_sum(y * y)
        gradients = tape.gradient(loss, [x, W, U], unconnected_gradients="zero")
        return y, gradients

    return step


def flatten(result: Any) -> list[Any]:
    leaves: list[Any] = optree.tree_leaves(result)
    return leaves


def check_memory(compiled: Any) -> None:
    """The steps of a derived schedule are those of the passes, and no value overwrites another one."""

    def check(found: Any, fresh: Any) -> None:
        steps = []
        for step, own in zip(found.steps, fresh.steps, strict=True):
            assert (step.kernel.name, step.storages, step.tasks, step.work) == (
                own.kernel.name, own.storages, own.tasks, own.work,
            )  # fmt: skip
            assert len(step.sizes) == len(own.sizes)
            for body, inner in zip(step.bodies, own.bodies, strict=True):
                check(body, inner)
            steps.append(dataclasses.replace(step, ops=own.ops))
        check_schedule(dataclasses.replace(found, steps=tuple(steps), program=fresh.program))

    if compiled.is_cached:
        check(compiled.schedule, schedule(simplify(compiled.program), compiled._donated))


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow_of_any_length(name, monkeypatch):
    """From the second length on no Python runs, nothing is compiled, and the bits are those of an own trace."""
    decide_by_sizes(monkeypatch)
    python = with_gradients(PROGRAMS[name])
    general = jt.function(python)
    kernels = derived = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, n in enumerate(LENGTHS):
            x = np.random.default_rng(n).normal(size=(n, 3)) + 0.1
            before = counters.kernels_compiled + counters.kernels_loaded
            found = general(x)
            if i > 1:
                kernels += counters.kernels_compiled + counters.kernels_loaded - before
            for a, b in zip(flatten(found), flatten(jt.function(python)(x)), strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)
            compiled = general.get_concrete_function(x)._trace.compiled
            check_memory(compiled)
            derived += isinstance(compiled, DerivedExecutable)
    assert general.trace_count == 2
    assert kernels <= 3
    assert derived >= 2, "the passes ran for each length"


def test_lengths_below_three_and_lengths_that_equal_a_number_of_the_program():
    f = jt.function(with_gradients(PROGRAMS["scan"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (50, 60, 3, 2, 1, 0, 4, 9, 61):
            x = rng.normal(size=(n, 3))
            expected = with_gradients(PROGRAMS["scan"])(jt.constant(x))
            for a, b in zip(flatten(f(x)), flatten(expected), strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)


LAYERS = {
    "SimpleRNN": lambda: jt.keras.layers.SimpleRNN(6),
    "LSTM": lambda: jt.keras.layers.LSTM(6, return_sequences=True),
    "GRU": lambda: jt.keras.layers.GRU(6, go_backwards=True),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("how", ["function", "signature", "relaxed", "value_and_grad"])
def test_recurrent_layers_of_batches_of_any_size_and_length(name, how):
    """The batch and the time vary independently, and one trace serves them."""
    layer, head = LAYERS[name](), jt.keras.layers.Dense(1)
    head(layer(jt.ones([2, 4, 5])))
    weights = [*layer.trainable_variables, *head.trainable_variables]

    def loss_of(x: Any) -> Any:
        return jt.reduce_mean(jt.square(head(layer(x))))

    def step(x: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = loss_of(x)
        return loss, tape.gradient(loss, weights)

    if how == "value_and_grad":

        def step(x: Any) -> Any:
            return jt.value_and_grad(loss_of)(x)

    spec = [jt.TensorSpec([None, None, 5])] if how == "signature" else None
    general = jt.function(step, input_signature=spec, reduce_retracing=how == "relaxed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for b, t in [(7, 50), (8, 61), (31, 23), (16, 33), (9, 41), (61, 8)]:
            x = np.random.default_rng(b).normal(size=(b, t, 5)).astype("float32")
            found, expected = flatten(general(x)), flatten(step(jt.constant(x)))
            for a, b_ in zip(found, expected, strict=True):
                np.testing.assert_allclose(a.numpy(), b_.numpy(), rtol=2e-4, atol=2e-6)
    assert general.trace_count == (1 if how == "signature" else 2)


@pytest.mark.parametrize("fold", [jt.foldl, jt.foldr])
def test_segments_of_any_length(fold):
    """One general trace serves all lengths whose segments leave a rest, unless these numbers stand in the program."""
    python = with_gradients(lambda x: fold(lambda h, row: cell(h, row[None]), x, start(), checkpoint="sqrt"))
    whole = jt.function(with_gradients(lambda x: fold(lambda h, row: cell(h, row[None]), x, start())))
    general = jt.function(python)

    def check(n: int) -> None:
        x = np.random.default_rng(n).normal(size=(n, 3)) + 0.1
        for a, b in zip(flatten(general(x)), flatten(whole(x)), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-13, strict=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (103, 116, 149, 300, 500, 701):
            check(n)
        assert general.trace_count == 2
        for n in (0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 100, 110, 121, 144):
            check(n)
