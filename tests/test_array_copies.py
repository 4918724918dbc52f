"""Arrays and lists of indices beside tensors on known paths: machine code copies them, to memory that it uses again."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.native import switch
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python

A = np.arange(12.0).reshape(3, 4)
V = np.arange(6.0)


@pytest.fixture(autouse=True)
def machine_code() -> Iterator[None]:
    before = switch.is_used()
    current_trace().flush()
    switch.use()
    yield
    if not before:
        switch.use_python()


ACTIONS: list[Callable[..., tuple[Any, Any]]] = [
    lambda x, a, indices, places: (jt.constant(a), a.copy()),
    lambda x, a, indices, places: (x + a, V + a),
    lambda x, a, indices, places: (a * x, a * V),
    lambda x, a, indices, places: (np.maximum(a, x), np.maximum(a, V)),
    lambda x, a, indices, places: (x[indices], V[indices]),
    lambda x, a, indices, places: (x[places], V[places]),
    lambda x, a, indices, places: (jt.constant(a).numpy(), a.copy()),
]


@pytest.mark.parametrize("seed", range(3))
def test_values_in_use_never_change(seed: int):
    rng, x = random.Random(seed), jt.constant(V)
    arrays = [V.copy(), np.zeros(12)[::2], V.astype(np.float32), V.copy()[::-1], np.zeros(6, np.int64)]
    indices = np.zeros(3, np.int64)
    kept: list[tuple[Any, np.ndarray[Any, Any]]] = []
    for _ in range(250):
        with jt.GradientTape():
            for _ in range(rng.randint(1, 4)):
                a = rng.choice(arrays)
                a[:] = [rng.randint(0, 99) for _ in range(6)]
                indices[:] = [rng.randrange(-6, 6) for _ in range(3)]
                places = indices.tolist()
                made = rng.choice(ACTIONS)(x, a, indices, places)
                kept.append((made[0], np.array(made[1])))
                a[:] = -1
                indices[:] = 0
                places[0] = 0
        most = rng.choice([150, 150, 150, 10])
        while len(kept) > most:
            found, wanted = kept.pop(rng.randrange(len(kept)))
            np.testing.assert_array_equal(found, wanted)
    for found, wanted in kept:
        np.testing.assert_array_equal(found, wanted)


FORMS: dict[str, Callable[..., Any]] = {
    "x + array": lambda np, x: x + V,
    "array * x": lambda np, x: V * x,
    "x[array]": lambda np, x: x[NEGATIVE],
    "x[list]": lambda np, x: x[[0, -3, 2]],
    "take array": lambda np, x: np.take(x, NEGATIVE),
    "take list": lambda np, x: np.take(x, [0, 2, -1]),
    "take axis=0": lambda np, x: np.take(x, [0, 2], axis=0),
    "take 0": lambda np, x: np.take(x, [5, 2], 0),
    "add": lambda np, x: np.add(x, V),
    "x.take(array)": lambda np, x: x.take(NEGATIVE),
    "x.take(list)": lambda np, x: x.take([1, -2]),
    "x.take(int)": lambda np, x: x.take(-2),
}
NEGATIVE = np.array([0, 2, -1])


@pytest.mark.parametrize("name", FORMS)
def test_known_paths_run_no_python(name: str):
    x = jt.constant(V)
    for namespace in (np, jnp):
        for _ in range(4):
            current_trace().step()
            seen = calls_of_python(lambda: FORMS[name](namespace, x))  # noqa: B023
        assert not seen
        for _ in range(3):
            np.testing.assert_array_equal(FORMS[name](namespace, x), FORMS[name](np, V))


CONSTANTS: tuple[Any, ...] = (
    2.5, -0.0, float("inf"), float("nan"), 1e-45, 1e300, [1e300, 1.0], [float("nan"), 1e300], [2.5, -1.0], (0.1,), 3,
    2**31 - 1, 2**31, [1, 2], (-(2**31),), [-(2**31) - 1, 0], [], (), True, [True, False], [1, 2.5], [1, True],
    [[1.0], [2.0]], 1j, np.float64(0.1), [np.float64(0.1), 0.1], [1j, 2.5], -1,
)  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("default_float", ["float32", "float64"])
@pytest.mark.parametrize("make", [jt.constant, jt.convert_to_tensor])
def test_constants_are_those_of_a_variable(make: Any, default_float: str):
    """Floats, ints and their sequences take a path of their own, which a Variable's initial value does not."""
    before, jt.config.default_float = jt.config.default_float, default_float
    try:
        for value in CONSTANTS:
            wanted = jt.Variable(value)
            for _ in range(3):
                found = make(value)
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), value
                np.testing.assert_array_equal(found, wanted.numpy())
        assert jt.convert_to_tensor(2.5, dtype_hint=jt.float16).dtype == jt.float16
        assert not set(calls_of_python(lambda: make(2.5))) & {"_array_of", "tensor_of"}
    finally:
        jt.config.default_float = before


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [jt.constant, jt.convert_to_tensor])
def test_constants_of_numbers_of_a_traced_function(make: Any):
    """The class of a traced number is that of its value: the conversion of one called itself without end."""
    f = jt.function(lambda a, n, x: make(a) * x + make([a, 2.0]) + jt.cast(make(n), jt.float32))
    for a, n in ((2.0, 3), (0.5, 4)):
        assert f(a, n, jt.ones(2)).tolist() == [2 * a + n, a + 2 + n]


def test_constants_of_a_list_do_not_change_with_it():
    values = [1.0, 2.0]
    found = jt.constant(values)
    values[0] = 5.0
    assert found.tolist() == [1.0, 2.0]


KEYS: list[Any] = [
    [0],
    [0, -1, 2],
    [True, False, True],
    [[0, 1], [2, 0]],
    [],
    [0, 5],
    [0, -4],
    [1, 2**70],
    [np.int64(1), 0],
    [True, 1],
    [None],
    np.array([0, -1], np.int32),
    np.array([[0, 2], [1, 1]]),
    np.array([0, 3]),
    np.arange(6)[::2] % 3,
    np.array(1),
    np.array([], np.int64),
    ([0, 1], [1, 2]),
    list(range(3)) * 40,
    2,
    -4,
]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return np.array(call())
    except (IndexError, TypeError, OverflowError) as error:
        return IndexError if isinstance(error, IndexError) else TypeError


@pytest.mark.parametrize("key", KEYS, ids=lambda key: repr(key)[:40])
def test_keys_select_as_in_numpy(key: Any):
    x, v = jt.constant(A), jt.constant(V[:3])
    other = [[1, 2], [0], np.array([1, 0])]
    calls: list[Callable[[Any, Any, Any], Any]] = [lambda np, a, v: a[key]]
    if not isinstance(key, tuple):
        calls += [
            lambda np, a, v: np.take(a, key, axis=0),
            lambda np, a, v: np.take(a, key, 1),
            lambda np, a, v: np.take(a, key),
            lambda np, a, v: np.take(v, key),
            lambda np, a, v: v.take(key),
            lambda np, a, v: a.take(key),
            lambda np, a, v: np.take(a, key, axis=0, mode="wrap"),
        ]
    for number, call in enumerate(calls):
        wanted = outcome(lambda: call(np, A, V[:3]))  # noqa: B023
        for i in range(4):
            with jt.GradientTape():
                if i % 2:
                    x[other[i // 2]]
                found = outcome(lambda: call(jnp if i > 1 else np, x, v))  # noqa: B023
            if isinstance(wanted, type):
                assert isinstance(found, type), number
            else:
                np.testing.assert_array_equal(found, wanted, err_msg=str(number))


def test_a_list_is_read_at_each_call():
    x, key = jt.constant(V), [0, 1]
    for i in range(30):
        key[:] = [i % 6, -1 - i % 5]
        np.testing.assert_array_equal(x[key], V[key])
        np.testing.assert_array_equal(np.take(x, key), V[key])


def test_gradients_do_not_flow_to_arrays():
    x, a = jt.Variable(V), V + 1
    for i in range(5):
        a += i
        with jt.GradientTape() as tape:
            y = jt.reduce_sum((x * a)[[0, 2]] + a[:2])
        np.testing.assert_array_equal(tape.gradient(y, x), [a[0], 0, a[2], 0, 0, 0])


def test_checkpoints_read_arrays_again():
    x, a = jt.Variable(V), V.copy()
    f = jt.recompute_grad(lambda x: jt.sin(x * a) * a)
    for i in range(5):
        a[:] = V + i
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(f(x))
        np.testing.assert_allclose(tape.gradient(y, x), np.cos(V * a) * a * a)


def test_copies_of_many_lengths_keep_the_count_of_none():
    arrays = [np.zeros(n) for n in range(600, 640)]
    before = sys.getrefcount(None)
    for _ in range(30):
        for array in arrays:
            jt.constant(array)
    assert abs(sys.getrefcount(None) - before) < 600
