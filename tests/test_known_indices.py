"""Keys of ints, slices, lists and arrays: machine code records them with the values of now, and checks their range."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.recording.trace import current_trace
from test_native_recording import calls_of_python, machine_code

__all__ = ["machine_code"]

A, B = np.arange(12.0).reshape(3, 4), np.arange(60.0).reshape(3, 4, 5)
RECORDING = {"apply", "_record", "__getitem__", "array_function", "take", "insert_call"}

KEYS: dict[str, Callable[[Any, int], Any]] = {
    "NumPy's int": lambda a, i: a[np.int64(i)],
    "negative int8": lambda a, i: a[np.int8(-1 - i)],
    "ints": lambda a, i: a[np.int64(i), np.uint8(i + 1)],
    "slice": lambda a, i: a[np.int64(i) :][:1],
    "proper slice": lambda a, i: a[np.int64(i) : np.int64(i) + 1],
    "slices": lambda a, i: a[:, np.int64(i) : np.int64(i) + 2],
    "column list": lambda a, i: a[:, [i, 1 - i, -1]],
    "column array": lambda a, i: a[:, np.array([i, 1 - i])],
    "lists": lambda a, i: a[[i, 0, 2], [1, -1, i]],
    "lists of one length": lambda a, i: a[[0, i], [i, 0]],
    "arrays": lambda a, i: a[np.array([i, 0]), np.array([[1], [i]])],
    "list and int": lambda a, i: a[[0, i], 1],
    "int and array": lambda a, i: a[i, np.array([i, 0])],
    "list behind an axis": lambda a, i: a[..., None, [i, 0]],
    "list and slice": lambda a, i: a[[i, 1], 1:3],
    "array of int32": lambda a, i: a[:, np.array([i, 0], np.int32)],
    "array with a step": lambda a, i: a[:, np.array([i, 7, 0, 7])[::2]],
    "tensor and list": lambda a, i: a[a.ravel()[[i, 2]].astype(np.int64), [0, i]],
    "take along an axis": lambda a, i: np.take(a, [i, 0], axis=1),
    "take along the last axis": lambda a, i: np.take(a, np.array([[i], [1]]), -1),
    "take of an int": lambda a, i: np.take(a, i, axis=1),
    "method": lambda a, i: a.take([i, 2], axis=0),
    "method by position": lambda a, i: a.take(np.array([i]), 1),
    "method of an int": lambda a, i: a.take(i, axis=-1),
}


@pytest.mark.parametrize("a", [A, B], ids=["2-d", "3-d"])
@pytest.mark.parametrize("name", KEYS)
def test_keys_select_what_numpy_selects(name: str, a: Any):
    pick, x = KEYS[name], jt.constant(a)
    for i in (0, 1, 0, 1):
        found: list[Any] = []
        seen = calls_of_python(lambda: found.append(pick(x, i)))  # noqa: B023
        np.testing.assert_array_equal(np.asarray(found[0]), pick(a, i))
        assert found[0].shape == pick(a, i).shape
        current_trace().flush()
    assert not RECORDING & seen or name in ("array of int32", "array with a step")


def test_jittapes_take_is_that_of_numpy():
    x = jt.constant(A)
    for _ in range(3):
        np.testing.assert_array_equal(jnp.take(x, [2, 0], axis=1), A[:, [2, 0]])
        seen = calls_of_python(lambda: jnp.take(x, [1, 3], axis=1))
        current_trace().flush()
    assert not RECORDING & seen


def test_an_index_out_of_range_is_refused_on_a_known_path():
    x, bad = jt.constant(A), {"row": 3, "column": 4}
    picks: tuple[tuple[str, Callable[[int], Any]], ...] = (
        ("row", lambda i: x[np.int64(i)]),
        ("row", lambda i: x[[0, i], [0, 1]]),
        ("column", lambda i: x[:, [0, i]]),
        ("column", lambda i: x[:, np.array([0, i])]),
        ("column", lambda i: x[[0, 1], [i, 1]]),
        ("column", lambda i: x[1, [i, 1]]),
        ("column", lambda i: np.take(x, [i, 0], axis=1)),
        ("column", lambda i: x.take(np.array([i, 0]), axis=1)),
        ("column", lambda i: x.take(i, axis=1)),
    )
    for which, pick in picks:
        for _ in range(4):
            pick(2)
            for i in (bad[which], -bad[which] - 1):
                with pytest.raises(IndexError, match=f"index {i} is out of bounds"):
                    pick(i)


def test_an_array_of_indices_may_change_after_the_call():
    x, rows, columns = jt.constant(A), np.array([0, 1]), [1, 2]
    for shift in range(3):
        with jt.GradientTape() as tape:
            tape.watch(x)
            part = x[rows, columns] * 1.0
            rows[:], columns[0] = 2, 3
            total = part.sum()
        wanted = np.zeros_like(A)
        wanted[[shift % 2, 1], [1, 2]] = 1
        np.testing.assert_array_equal(part, A[[shift % 2, 1], [1, 2]])
        np.testing.assert_array_equal(tape.gradient(total, x), wanted)
        rows[:], columns[0] = [(shift + 1) % 2, 1], 1


def test_lists_of_one_length_in_many_calls_keep_their_values():
    x = jt.constant(A)
    for _ in range(3):
        parts = [x[[i % 3, (i + 1) % 3], [i % 4, (i + 2) % 4]] for i in range(60)]
        for i, part in enumerate(parts):
            np.testing.assert_array_equal(part, A[[i % 3, (i + 1) % 3], [i % 4, (i + 2) % 4]])


def test_threads_do_not_share_lists_of_indices():
    wrong: list[Any] = []

    def pick(first: int) -> None:
        x = jt.constant(A)
        for i in range(first, first + 300):
            key = [i % 3, (i + 1) % 3], [i % 4, (i + 2) % 4]
            if not np.array_equal(x[key], A[key]):
                wrong.append(key)

    threads = [threading.Thread(target=pick, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_empty_key_selects_everything():
    x = jt.constant(A)
    for _ in range(3):
        np.testing.assert_array_equal(x[()], A)
