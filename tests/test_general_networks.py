"""Layers and steps under an open signature: one trace for all lengths, and passes for few of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.runtime import general_executable, general_schedule
from jittape.runtime.counters import counters

rng = np.random.default_rng(0)


def weight(*shape: int) -> jt.Variable:
    return jt.Variable(rng.normal(size=shape).astype("float32") * 0.3)


Q, K, V = weight(16, 16), weight(16, 16), weight(16, 16)
FILTERS, TABLE, W = weight(3, 8, 16), weight(50, 8), weight(3, 3)
LAYERS = {"LSTM": jt.keras.layers.LSTM(6), "RNN": jt.keras.layers.SimpleRNN(6)}
for layer in LAYERS.values():
    layer(jt.ones([2, 4, 5]))


def attention(x: Any) -> Any:
    return jt.nn.softmax((x @ Q) @ jt.transpose(x @ K) * 0.25) @ (x @ V)


FLOATS, INTEGERS = jt.float32, jt.int64
STEPS: dict[str, tuple[list[int | None], Any, Callable[[Any], Any], list[Any], int, int]] = {
    # The signature, the model, its weights, the smallest length, and the maximum number of runs of the passes.
    "attention": ([None, 16], FLOATS, attention, [Q, K, V], 0, 22),
    "conv1d": ([1, None, 8], FLOATS, lambda x: jt.nn.conv1d(x, FILTERS, 1, "SAME"), [FILTERS], 0, 12),
    "strided conv1d": (
        [1, None, 8],
        FLOATS,
        lambda x: jt.nn.conv1d(x, FILTERS, 2, "VALID"),
        [FILTERS],
        3,
        10,
    ),
    "gather": ([None], INTEGERS, lambda i: jt.gather(TABLE, i), [TABLE], 0, 14),
    "cumsum": ([None, 3], FLOATS, lambda x: jt.cumsum(x @ W, 0), [W], 2, 10),
    "sort": ([None, 3], FLOATS, lambda x: jt.sort(x @ W, 0), [W], 2, 12),
    "RNN over a time": ([4, None, 5], FLOATS, LAYERS["RNN"], LAYERS["RNN"].trainable_variables, 1, 12),
    "LSTM over a batch": ([None, 8, 5], FLOATS, LAYERS["LSTM"], LAYERS["LSTM"].trainable_variables, 1, 20),
}


@pytest.mark.parametrize("name", STEPS)
def test_one_trace_serves_all_lengths(name, monkeypatch):
    """The passes run for few of them, which need few new kernels.

    Lengths that equal a number of the program, such as four times the units, need no other trace.
    """
    shape, dtype, model, weights, smallest, most = STEPS[name]

    def step(x: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(model(x)))
        return loss, tape.gradient(loss, weights)

    def values(n: int) -> Any:
        extents = [n if extent is None else extent for extent in shape]
        own = np.random.default_rng(n)
        return own.normal(size=extents).astype("float32") if dtype is FLOATS else own.integers(0, 50, extents)

    passes: list[Any] = []
    for module, runs_passes in ((general_schedule, "schedule"), (general_executable, "executable_of")):
        original = getattr(module, runs_passes)

        def counted(*args: Any, run: Callable[..., Any] = original, **options: Any) -> Any:
            passes.append(run)
            return run(*args, **options)

        monkeypatch.setattr(module, runs_passes, counted)
    general = jt.function(step, input_signature=[jt.TensorSpec(shape, dtype)])
    lengths = [n for n in [100, 97, *range(41, 420, 27), 0, 1, 2, 3, 12, 24] if n >= smallest]
    kernels: dict[int, int] = {}
    for n in lengths:
        x = values(n)
        before = counters.kernels_compiled + counters.kernels_loaded
        loss, gradients = general(x)
        kernels[n] = counters.kernels_compiled + counters.kernels_loaded - before
        if n in (97, 24, 12, 311):
            expected, own = step(jt.constant(x))
            np.testing.assert_allclose(loss.numpy(), expected.numpy(), rtol=1e-5)
            for a, b in zip(gradients, own, strict=True):
                a, b = jt.convert_to_tensor(a).numpy(), jt.convert_to_tensor(b).numpy()
                np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)
    assert general.trace_count == 1
    assert len(passes) <= most
    assert sum([count for n, count in kernels.items() if n > 40 and n != 100]) <= 3


def adam_with_weight_decay(weights: list[jt.Variable]) -> Callable[[list[Any]], None]:
    optimizer = jt.keras.optimizers.AdamW(0.01, weight_decay=0.1)
    return lambda gradients: optimizer.apply_gradients(zip(gradients, weights, strict=True))


def by_hand(weights: list[jt.Variable]) -> Callable[[list[Any]], None]:
    def update(gradients: list[Any]) -> None:
        for gradient, w in zip(gradients, weights, strict=True):
            w.assign_sub(0.1 * gradient)
            w.assign(w * 0.9)

    return update


@pytest.mark.parametrize("optimizer", [adam_with_weight_decay, by_hand])
def test_one_trace_of_a_step_that_reads_variables_after_their_assignment_serves_all_lengths(optimizer):
    def trained(decorated: bool) -> tuple[Any, Any, int]:
        weights = [jt.Variable(np.linspace(-1, 1, size).reshape(size // 4, 4)) for size in (12, 16)]
        update = optimizer(weights)

        def step(x):
            with jt.GradientTape() as tape:
                loss = jt.reduce_mean(jt.square(jt.tanh(x @ weights[0]) @ weights[1]))
            update(tape.gradient(loss, weights))
            return loss, jt.reduce_sum(weights[0])

        call = jt.function(step, input_signature=[jt.TensorSpec([None, 3], jt.float64)])
        losses = []
        for n in (20, 31, 45, 7, 20, 101, 3, 45):
            x = jt.constant(np.sin(np.arange(3.0 * n)).reshape(n, 3))
            losses.append([float(value) for value in (call if decorated else step)(x)])
        return losses, [w.numpy() for w in weights], call.trace_count

    losses, weights, count = trained(True)
    expected_losses, expected_weights, _ = trained(False)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-10, atol=1e-12)
    for found, expected in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert count <= 2  # the first call of an optimizer creates its Variables


def test_a_tape_follows_a_function_of_open_lengths_that_reads_a_variable_after_its_assignment():
    def scaled(x, w):
        before = jt.reduce_sum(x * w)
        w.assign_add([1.0, 1.0, 1.0])
        return before + 2 * jt.reduce_sum(x * w)

    w = jt.Variable([2.0, 3.0, 4.0])
    general = jt.function(lambda x: scaled(x, w), input_signature=[jt.TensorSpec([None, 3], jt.float32)])
    for n in (5, 9, 14, 9):
        x = jt.ones([n, 3])
        value = w.numpy()
        results = []
        for step in (general, lambda x: scaled(x, w)):
            w.assign(value)
            with jt.GradientTape() as tape:
                tape.watch(x)
                total = step(x)
            results.append([total.numpy(), *[g.numpy() for g in tape.gradient(total, [x, w])], w.numpy()])
        for found, expected in zip(*results, strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(results[0][0], n * (3 * value + 2).sum())
