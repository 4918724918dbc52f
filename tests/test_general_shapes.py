"""Programs that compute with `jt.shape`: one trace serves all lengths, with the values and dtypes of plain calls."""

import warnings
from typing import Any

import numpy as np
import optree
import pytest

import jittape as jt

PROGRAMS = {
    "zeros": lambda x: jt.zeros([jt.shape(x)[0], 3]),
    "ones": lambda x: jt.ones(jt.shape(x), x.dtype) * x,
    "fill": lambda x: jt.fill([jt.shape(x)[0]], 2.0),
    "reshape": lambda x: jt.reshape(x, [jt.shape(x)[0] * 3, -1]),
    "flat": lambda x: jt.reshape(x, [jt.size(x)]),
    "mean": lambda x: jt.reduce_sum(x) / jt.cast(jt.shape(x)[0], x.dtype),
    "mean of all": lambda x: jt.reduce_sum(x) / jt.cast(jt.size(x), x.dtype),
    "range": lambda x: jt.range(jt.shape(x)[0]),
    "range of steps": lambda x: jt.range(1, jt.shape(x)[0], 3),
    "one_hot": lambda x: jt.one_hot(jt.range(jt.shape(x)[0]) % 4, 4),
    "eye": lambda x: jt.eye(jt.shape(x)[0]),
    "tile": lambda x: jt.tile(x[:1], [jt.shape(x)[0], 1]),
    "broadcast": lambda x: jt.broadcast_to(x[:1], jt.shape(x)),
    "half": lambda x: x[: jt.shape(x)[0] // 2],
    "a table": lambda x: x + jt.constant(np.arange(1200.0).reshape(400, 3))[: jt.shape(x)[0]],
    "slice": lambda x: jt.slice(x, [1, 0], [jt.shape(x)[0] - 2, 3]),
    "split": lambda x: jt.split(x, [jt.shape(x)[0] - 2, 2], 0)[0],
    "pad": lambda x: jt.pad(x, [[0, jt.shape(x)[0]], [0, 0]]),
    "gather": lambda x: jt.gather(x, jt.range(jt.shape(x)[0] - 1, -1, -1)),
    "mask": lambda x: jt.sequence_mask([2, 3], jt.shape(x)[0]),
    "triangle": lambda x: jt.linalg.band_part(jt.ones([jt.shape(x)[0]] * 2), -1, 0),
    "linspace": lambda x: jt.linspace(0.0, 1.0, jt.shape(x)[0]),
    "random": lambda x: jt.random.normal([jt.shape(x)[0], 3]) * 0.0,
    "sort": lambda x: jt.sort(x, 0),
    "ensure_shape": lambda x: jt.ensure_shape(x, [None, 3]),
    "loss": lambda x: jt.keras.losses.MeanSquaredError()(x, x * 2.0),
    "concat of shapes": lambda x: jt.reshape(x, jt.concat([jt.shape(x)[:1], [3, 1]], 0)),
    "stack of shapes": lambda x: jt.reshape(x, jt.stack([1, jt.shape(x)[0], 3])),
    "unstack of shapes": lambda x: jt.zeros(jt.unstack(jt.shape(x))),
    "shapes as results": lambda x: (jt.shape(x), jt.size(x), jt.shape(x)[0] * 2 + 1, jt.shape(x)[1:]),
    "arithmetic": lambda x: (
        x * jt.cast((jt.shape(x) * 2 - 1)[0] % 7, x.dtype) + jt.cast(-jt.shape(x)[0], x.dtype)
    ),
    "a branch": lambda x: x * 2.0 if jt.shape(x)[0] > 3 else x,
    "iterations": lambda x: jt.fori_loop(0, jt.shape(x)[0], lambda i, s: s * 0.5 + x[i], jt.zeros([3], x.dtype)),
    "a condition": lambda x: jt.while_loop(
        lambda i, s: i < jt.shape(x)[0],
        lambda i, s: (i + 1, s * 0.5 + x[i]),
        (jt.constant(0), jt.zeros([3], x.dtype)),
    ),
    "a remainder": lambda x: jt.shape(x)[0] % 4,
    "a square": lambda x: jt.shape(x)[0] ** 2,
    "a ratio": lambda x: (jt.shape(x)[0] / 2, jt.size(x) / jt.shape(x)[0]),
    "comparisons": lambda x: (jt.shape(x)[0] < 60, jt.shape(x)[0] != 61, jt.shape(x) == [61, 3]),
    "cond": lambda x: jt.cond(jt.shape(x)[0] > 60, lambda: x * 2.0, lambda: -x),
    "cond of a remainder": lambda x: jt.cond(jt.shape(x)[0] % 2 == 0, lambda: x * 2.0, lambda: -x),
    "where": lambda x: jt.where(jt.shape(x)[0] > 60, x, -x),
    "an end": lambda x: (x[-(jt.shape(x)[0] // 3) :], x[jt.shape(x)[0] - 1]),
    "a middle": lambda x: jt.slice(x, [jt.shape(x)[0] // 2, 0], [jt.shape(x)[0] - jt.shape(x)[0] // 2, 2]),
    "lists": lambda x: (jt.concat([[jt.shape(x)[0]], [2]], 0), jt.tile([jt.shape(x)[0]], [3])),
    "a shape of lists": lambda x: jt.zeros(jt.concat([[jt.shape(x)[0]], [2]], 0)),
    "an assertion": lambda x: (jt.debugging.assert_greater(jt.shape(x)[0], 0), x)[1],
    "bounds of integers": lambda x: jt.random.uniform([9], maxval=jt.shape(x)[0], dtype=jt.int32) * 0,
    "functions": lambda x: (jt.maximum(jt.shape(x)[0], 60), jt.math.floormod(jt.size(x), 7), jt.sort(jt.shape(x))),
    "a descent": lambda x: jt.while_loop(lambda i, s: i > 0, lambda i, s: (i - 1, s + i), (jt.shape(x)[0], 0)),
}  # fmt: skip


def leaves_of(result: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in optree.tree_leaves(result)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_compute_with_shapes(name):
    python = PROGRAMS[name]
    general = jt.function(python)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (50, 61, 70, 23, 301, 1, 2):
            x = np.random.default_rng(n).normal(size=(n, 3))
            if n < 3 and name in ("slice", "split"):
                continue
            for found, expected in zip(leaves_of(general(x)), leaves_of(python(jt.constant(x))), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12, strict=True)
            if n == 301:
                assert general.trace_count == 2


def test_shapes_of_general_traces_are_tensors():
    seen = []

    @jt.function(input_signature=[jt.TensorSpec([None, 3])])
    def f(x):
        n = jt.shape(x)[0]
        seen.extend([jt.shape(x), n, n + 1, n // 2, n / 2, n > 5, -n, jt.size(x), jt.rank(x)])
        return x

    f(np.ones((4, 3), np.float32))
    assert all([isinstance(value, jt.Tensor) and jt.is_tensor(value) for value in seen])
    assert [value.dtype.name for value in seen[4:7]] == ["float64", "bool", "int32"]


def test_a_number_of_a_shape_that_numpy_needs_holds_for_one_length():
    f = jt.function(
        lambda x: x * np.sqrt(jt.shape(x)[0]) + float(jt.shape(x)[0]) + len(range(jt.shape(x)[0]))
    )
    for n in (5, 7, 9):
        np.testing.assert_allclose(f(np.ones(n)).numpy(), np.sqrt(n) + 2 * n)


def test_arithmetic_that_overflows_wraps_as_in_numpy():
    f = jt.function(lambda x: jt.shape(x)[0] * 100_000 * 100_000)
    g = lambda x: jt.shape(x)[0] * 100_000 * 100_000  # noqa: E731
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (5, 7, 9):
            assert int(f(np.ones(n))) == int(g(jt.ones([n])))


def test_a_function_with_an_open_signature_may_create_variables_at_its_first_call():
    """The state of an optimizer is made while the function is traced for the first time."""
    layer = jt.keras.layers.Dense(1, kernel_initializer="zeros")
    optimizer = jt.keras.optimizers.Adam(0.01)

    @jt.function(input_signature=[jt.TensorSpec([None, 3])])
    def step(x):
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(layer(x) - 1.0))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables, strict=True)
        )
        return loss

    losses = [float(step(np.ones((n, 3), "float32"))) for n in (9, 14, 30, 8, 50, 21, 9)]
    assert losses == sorted(losses, reverse=True)
    assert step.trace_count == 2
    assert int(optimizer.iterations) == 7


@pytest.mark.filterwarnings("ignore::jittape.errors.UnconnectedGradientWarning")
@pytest.mark.parametrize("choice", ["none", "zero"])
def test_sources_without_a_gradient_leave_the_lengths_open(choice):
    """Neither the warning, which names their shapes, nor their zeros bind a trace to one length."""

    @jt.function(input_signature=[jt.TensorSpec([None, 3], jt.float64)] * 2)
    def gradients(x: Any, y: Any) -> Any:
        with jt.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            rows = jt.reduce_sum(x * x, 0)
        return tape.gradient(rows, [x, y], unconnected_gradients=choice), tape.jacobian(
            rows, y, unconnected_gradients=choice
        )

    for n, m in [(5, 4), (7, 9), (0, 2), (4, 4), (12, 1)]:
        x = np.random.default_rng(n).normal(size=(n, 3))
        (of_x, of_y), jacobian = gradients(x, np.ones((m, 3)))
        np.testing.assert_array_equal(of_x, 2 * x)
        if choice == "none":
            assert of_y is None
            assert jacobian is None
        else:
            np.testing.assert_array_equal(of_y, np.zeros((m, 3)))
            np.testing.assert_array_equal(jacobian, np.zeros((3, m, 3)))
    assert gradients.trace_count == 1


@pytest.mark.parametrize(
    ("shapes", "traces"),
    [
        # As `tf.function(reduce_retracing=True)` traces in TensorFlow 2.21.
        ([(1,), (2,), (3,), (4,)], [1, 2, 2, 2]),
        ([(2,), (1,), (3,), (0,)], [1, 2, 2, 2]),
        ([(0,), (1,), (3,)], [1, 2, 2]),
        ([(1, 3), (2, 3), (3, 3)], [1, 2, 2]),
        ([(1, 1), (2, 3), (4, 5)], [1, 2, 2]),
        ([(3, 2), (3, 4), (5, 4), (7, 9)], [1, 2, 3, 3]),
    ],
)
def test_the_second_shape_gives_a_trace_for_all_lengths(shapes, traces):
    step = jt.function(lambda x: jt.reduce_sum(x * x), reduce_retracing=True)
    counts = []
    for shape in shapes:
        x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        assert step(x).numpy() == np.sum(x * x)
        counts.append(step.experimental_get_tracing_count())
    assert counts == traces


def test_a_second_shape_with_a_meaning_of_its_own_is_traced_as_it_is():
    calls = []

    @jt.function
    def step(x):
        calls.append(x.shape[0])
        if x.shape[0] == 1:
            return x[0] * 2.0
        return jt.add_n([x[i] for i in range(x.shape[0])])

    for n in (5, 1, 2, 5, 1, 4):
        x = np.arange(1.0, 1.0 + n)
        assert step(x).numpy() == (2.0 if n == 1 else x.sum())
    assert len(calls) <= 6


@pytest.mark.parametrize("columns", [3, 16])
def test_sums_over_rows_have_the_bits_of_those_of_known_lengths(columns):
    """How many rows are added at a time depends on their number, and with it the order of the sum."""
    sums = lambda x: jt.reduce_sum(x * x, axis=0)  # noqa: E731
    general = jt.function(sums, input_signature=[jt.TensorSpec([None, columns], jt.float64)])
    for rows in (5000, 600, 512, 511, 40, 7):
        x = np.random.default_rng(rows).normal(size=(rows, columns))
        known = jt.function(sums)
        for _ in range(2):
            np.testing.assert_array_equal(general(x), known(x))
    assert general.trace_count == 1
