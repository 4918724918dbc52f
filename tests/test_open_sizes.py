"""Sizes that are functions of the open extents of an input signature: one trace serves all lengths."""

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.runtime import general_schedule

LENGTHS = (20, 23, 31, 17, 40, 25)


def length(x: Any) -> Any:
    return jt.shape(x)[0]


def gradient(x: Any) -> Any:
    with jt.GradientTape() as tape:
        tape.watch(x)
        flat = jt.reshape(x, [jt.cast(length(x), jt.int64) * 3])
        y = jt.reduce_sum(flat**2) / jt.cast(jt.maximum(length(x), 3), jt.float32)
    return tape.gradient(y, x)


def array_of_open_size(x: Any) -> Any:
    n = length(x)
    array = jt.TensorArray(jt.float32, size=n)
    start = jt.constant(0), array
    return jt.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, x[i] * 2)), start)[1].stack()


def sizes_in_a_body(x: Any) -> Any:
    n = length(x)

    def body(i: Any, s: Any) -> Any:
        return s + jt.reshape(jt.reshape(x, [jt.cast(n, jt.int64) * 3]), [n, -1])

    return jt.fori_loop(0, 3, body, x * 0)


SERVED: dict[str, Callable[[Any], Any]] = {
    "cast": lambda x: jt.reshape(x, [jt.cast(length(x), jt.int64), -1]),
    "cast of a vector": lambda x: jt.reshape(x, jt.cast(jt.shape(x), jt.int64)[::-1]),
    "maximum": lambda x: jt.zeros([jt.maximum(length(x), 3)]),
    "product": lambda x: jt.reshape(x, [length(x), jt.reduce_prod(jt.shape(x)[1:])]),
    "sum": lambda x: jt.zeros([jt.reduce_sum(jt.shape(x))]),
    "greatest": lambda x: jt.ones([jt.reduce_max(jt.shape(x))]),
    "half": lambda x: x[: length(x) // 2],
    "floordiv": lambda x: jt.fill([jt.math.floordiv(length(x), 2)], 2.0),
    "floormod": lambda x: jt.range(jt.math.floormod(length(x), 4)),
    "of floats": lambda x: jt.zeros([jt.cast(jt.math.ceil(length(x) / 4), jt.int32)]),
    "square root": lambda x: jt.zeros([jt.cast(jt.sqrt(jt.cast(length(x), jt.float32)), jt.int32)]),
    "range of a float": lambda x: jt.range(jt.cast(length(x), jt.float32)),
    "size": lambda x: jt.reshape(x, [jt.size(x)]),
    "stack": lambda x: jt.reshape(x, jt.stack([length(x), -1])),
    "concat": lambda x: jt.zeros(jt.concat([jt.shape(x)[:1], [4]], 0)),
    "broadcast_to": lambda x: jt.broadcast_to(x[:, None], jt.concat([jt.shape(x)[:1], [2, 3]], 0)),
    "broadcast_dynamic_shape": lambda x: jt.zeros(jt.broadcast_dynamic_shape(jt.shape(x), [1, 3])),
    "random": lambda x: jt.random.uniform([jt.cast(length(x), jt.int64)]) * 0,
    "tile": lambda x: jt.tile([[1.0, 2.0]], jt.stack([length(x) * 2, 1])),
    "slice": lambda x: jt.slice(x, [length(x) // 2, 0], [length(x) // 3, 2]),
    "one_hot": lambda x: jt.one_hot([0, 1], jt.cast(length(x), jt.int64)),
    "sequence_mask": lambda x: jt.sequence_mask([1, 2, 3], maxlen=jt.maximum(length(x), 4)),
    "split": lambda x: jt.split(x, jt.stack([2, length(x) - 2]), 0),
    "where": lambda x: jt.zeros([jt.where(length(x) > 10, length(x), 10)]),
    "gather": lambda x: jt.zeros([jt.gather(jt.shape(x), 0)]),
    "expand_dims": lambda x: jt.zeros(jt.expand_dims(length(x), 0)),
    "reverse": lambda x: jt.zeros(jt.reverse(jt.shape(x), [0])),
    "absolute": lambda x: jt.zeros([jt.abs(-length(x))]),
    "square": lambda x: jt.zeros([jt.square(length(x))]),
    "vector": lambda x: jt.zeros(jt.shape(x) * jt.constant([2, 1])),
    "array": lambda x: jt.zeros(jt.shape(x) // np.array([2, 1], np.int32)),
    "update": lambda x: jt.zeros(jt.tensor_scatter_nd_update(jt.shape(x), [[1]], [2])),
    "cumsum": lambda x: jt.zeros([jt.cumsum(jt.shape(x))[1]]),
    "gradient": gradient,
    "TensorArray": array_of_open_size,
    "body": sizes_in_a_body,
}


def opened(f: Callable[[Any], Any]) -> Any:
    return jt.function(f, input_signature=[jt.TensorSpec([None, 3], jt.float32)])


def require_equal(f: Callable[[Any], Any], g: Any) -> None:
    for n in LENGTHS:
        x = jt.constant(np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32))
        for found, expected in zip(jt.nest.flatten(g(x)), jt.nest.flatten(f(x)), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", SERVED)
def test_one_trace_serves_all_lengths(name):
    f = SERVED[name]
    g = opened(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", jt.FunctionWarning)
        require_equal(f, g)
    assert g.experimental_get_tracing_count() == 1


# The size of "floormod" is 0 to 3, and "update" gives the length another name.
@pytest.mark.parametrize("name", sorted(SERVED.keys() - {"floormod", "update"}))
def test_few_schedules_serve_all_lengths(name, monkeypatch):
    original, made = general_schedule.schedule, []

    def schedule(*args: Any, **options: Any) -> Any:
        made.append(name)
        return original(*args, **options)

    monkeypatch.setattr(general_schedule, "schedule", schedule)
    g = opened(SERVED[name])
    for n in (*LENGTHS, *LENGTHS, 50, 61, 72):
        g(jt.ones([n, 3]))
    assert len(made) <= 6


BRANCHES: dict[str, Callable[[Any], Any]] = {
    "minimum": lambda x: jt.zeros([jt.minimum(length(x), 24)]),
    "maximum of both": lambda x: jt.zeros([jt.maximum(length(x) - 20, 10)]),
    "clip_by_value": lambda x: jt.zeros([jt.clip_by_value(length(x), 22, 24)]),
    "pad": lambda x: jt.pad(x, [[0, jt.maximum(0, 30 - length(x))], [0, 0]]),
    "pad to the longest": lambda x: jt.pad(x, [[0, 60 - length(x)], [0, 0]]),
    "if": lambda x: x if length(x) % 2 == 0 else x * 2,
    "if of a number": lambda x: x if length(x) % 2 else x * 2,
}


@pytest.mark.parametrize("name", BRANCHES)
def test_each_case_has_a_trace(name):
    f = BRANCHES[name]
    g = opened(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", jt.FunctionWarning)
        require_equal(f, g)
    assert g.experimental_get_tracing_count() <= 3


def random_size(rng: random.Random, depth: int) -> Callable[[Any], Any]:
    """Return a random function of a length, a tensor or an int, that gives an integer."""
    if depth == 0:
        k = rng.randint(1, 9)
        return rng.choice([lambda n: n, lambda n: n + k, lambda n: n * k])
    a, b = random_size(rng, depth - 1), random_size(rng, depth - 1)
    k = rng.randint(2, 7)
    return rng.choice(
        [
            lambda n: jt.maximum(a(n), b(n)),
            lambda n: jt.minimum(a(n), b(n)),
            lambda n: a(n) - b(n),
            lambda n: a(n) + b(n),
            lambda n: jt.math.floordiv(a(n), k),
            lambda n: a(n) % k,
            lambda n: jt.where(a(n) < b(n), a(n), k),
            lambda n: jt.reduce_max(jt.stack([a(n), b(n), k])),
            lambda n: jt.reduce_sum(jt.concat([[a(n)], [b(n)]], 0)),
            lambda n: jt.cast(jt.cast(a(n), jt.float64) / k, jt.int32),
            lambda n: jt.abs(a(n) - b(n)),
            lambda n: jt.sort(jt.stack([a(n), b(n)]))[0],
        ]
    )


@pytest.mark.parametrize("seed", range(40))
def test_random_sizes(seed):
    size = random_size(random.Random(seed), 2)

    def f(x: Any) -> Any:
        n = size(length(x))
        return jt.zeros([jt.abs(n) % 50, 2]), n

    g = opened(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jt.FunctionWarning)
        require_equal(f, g)


def test_a_size_that_overflows_is_not_taken_for_an_exact_one():
    @jt.function(input_signature=[jt.TensorSpec([None], jt.float32)])
    def f(x: Any) -> Any:
        n = jt.cast(length(x), jt.int8) * 2
        return jt.zeros([jt.cast(n, jt.int32) + 300])

    for n in (20, 60, 70, 100):
        expected = int(np.array(n, np.int8) * np.int8(2)) + 300
        assert f(jt.zeros([n])).shape == (expected,)


def test_sizes_from_numbers_among_the_arguments():
    f = jt.function(lambda x, k: jt.zeros([jt.maximum(k, 3)]) + x)
    with warnings.catch_warnings():
        warnings.simplefilter("error", jt.FunctionWarning)
        assert [f(jt.constant(1.0), k).shape[0] for k in (1, 5, 4, 5)] == [3, 5, 4, 5]


def test_sizes_from_the_values_of_arrays_are_recorded():
    f = jt.function(lambda x: jt.zeros([jt.cast(x[0], jt.int32) + 2]))
    with pytest.warns(jt.FunctionWarning, match="the value of a traced tensor is needed by zeros"):
        assert [f(jt.constant([n])).shape[0] for n in (1.0, 5.0)] == [3, 7]


def test_a_python_loop_over_an_open_axis_is_explained():
    @jt.function(input_signature=[jt.TensorSpec([None], jt.float32)])
    def f(x: Any) -> Any:
        total = 0.0
        for i in jt.range(length(x)):
            total += x[i] * 0.5
        return total

    with pytest.warns(
        jt.FunctionWarning, match="an extent is used as a Python number at .*test_open"
    ) as found:
        totals = [float(f(jt.ones([n]))) for n in range(5, 15)]
    np.testing.assert_allclose(totals, np.arange(5, 15) * 0.5)
    assert "use jt.fori_loop" in str(found[0].message)
    assert "an extent is used as a Python number" in f.signatures()[0].why


def test_the_line_that_needs_an_extent_is_the_users() -> None:
    """NumPy's code, which asks for the shape, is not."""
    f = jt.function(lambda x: jt.reduce_sum(np.lib.stride_tricks.sliding_window_view(x, 2)[:, 1]))
    with pytest.warns(jt.FunctionWarning, match="an extent is used as a Python number at .*test_open_sizes"):
        totals = [float(f(np.ones(n))) for n in range(5, 16)]
    assert totals == list(range(4, 15))
