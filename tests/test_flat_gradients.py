"""`jt.flatten_gradients`, and the parts of `jt.dask` that need no cluster."""

from __future__ import annotations

import functools
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.dask.addition_tree import add_up, largest_nodes
from jittape.dask.sent_functions import check_sendable, packed_function, packed_result, sendable_error


def test_flat_gradients_have_one_dtype_and_their_structure_comes_back() -> None:
    gradients = {
        "w": jt.constant([[1.0, 2.0], [3.0, 4.0]]),
        "b": [np.float64(5.0), None],
    }
    flat, unflatten = jt.flatten_gradients(gradients)
    np.testing.assert_array_equal(flat, [5.0, 1.0, 2.0, 3.0, 4.0])
    assert flat.dtype == np.float64
    back = unflatten(2.0 * flat)
    assert back["w"].dtype == np.float32
    np.testing.assert_array_equal(back["w"], [[2.0, 4.0], [6.0, 8.0]])
    assert back["b"] == [10.0, None]
    with pytest.raises(ValueError, match=r"expected an array of shape \(5,\), got \(4,\)"):
        unflatten(flat[1:])


def test_some_rows_are_no_gradient() -> None:
    rows = jt.IndexedSlices(jt.constant([[6.0]]), jt.constant([1]), dense_shape=(3, 1))
    with pytest.raises(TypeError, match="IndexedSlices; give it as a tensor of all rows"):
        jt.flatten_gradients([rows])


def test_no_gradients() -> None:
    flat, unflatten = jt.flatten_gradients([None, {}])
    assert flat.shape == (0,)
    assert unflatten(flat) == [None, {}]


@pytest.mark.parametrize("blocks", range(1, 18))
def test_sums_are_added_in_the_same_order_for_any_placement(blocks: int) -> None:
    def add(x: str, y: str) -> str:
        return f"({x} {y})"

    def leaf(node: tuple[int, int]) -> str | None:
        return str(node[0]) if node[1] == node[0] + 1 else None

    whole = add_up((0, blocks), leaf, add)
    rng = np.random.default_rng(blocks)
    for workers in (1, 2, 3, 5):
        owner = rng.integers(workers, size=blocks)
        known = {}
        for worker in range(workers):
            held = {int(i) for i in np.flatnonzero(owner == worker)}
            nodes = largest_nodes((0, blocks), held)
            assert {i for start, stop in nodes for i in range(start, stop)} == held
            known |= {node: add_up(node, leaf, add) for node in nodes}
        assert add_up((0, blocks), known.get, add) == whole


def test_functions_are_sent_with_what_they_hold() -> None:
    factor = 3.0
    assert pickle.loads(packed_function(lambda w: w * factor, "dask.map"))(2.0) == 6.0


STEP = jt.Variable(1.0, name="step")


class Model:
    def __init__(self) -> None:
        self.file_lock = threading.Lock()

    def loss(self, w: Any) -> Any:
        return w


def test_functions_that_cannot_be_sent() -> None:
    lock, local = threading.Lock(), jt.Variable(2.0)
    nested = {"net": [Model()]}

    def helper(w: Any) -> Any:
        return w, lock

    for function, error, message in (
        (lambda w: (w, lock), TypeError, "it holds 'lock', of type lock"),
        (Model().loss, TypeError, "it holds 'file_lock', of type lock"),
        (lambda w: (w, nested), TypeError, r"""it holds "nested\['net'\]\[0\].file_lock", of type lock"""),
        (lambda w: helper(w), TypeError, "it holds 'helper: lock', of type lock"),
        (lambda w, kept=lock: w, TypeError, "it holds 'kept', of type lock"),
        (functools.partial(helper, kept=lock), TypeError, "it holds 'func: lock', of type lock"),
        (functools.partial(max, key=lock), TypeError, r"""it holds "keywords\['key'\]", of type lock"""),
        (
            lambda w: w * local,
            ValueError,
            "reads the Variable 'local', which would keep its value at the workers",
        ),
        (lambda w: w * STEP, ValueError, "reads the Variable 'STEP'"),
        (lambda w, s=local: w * s, ValueError, "reads the Variable"),
    ):
        with pytest.raises(error, match=message):
            packed_function(function, "dask.map")


def test_results_that_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match=r"a result cannot be sent back: result\['a'\]\[1\] is of type lock"):
        packed_result({"a": [1, threading.Lock()]})

    with pytest.raises(
        TypeError, match=r"more\[0\] cannot be sent to workers: more\[0\]\['q'\] is of type lock"
    ):
        check_sendable("more[0]", {"q": threading.Lock()}, "dask.value_and_grad")

    class Odd(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    assert sendable_error(error := KeyError("k")) is error
    assert str(sendable_error(Odd(1, 2))) == "Odd: 1 and 2"


def test_reductions_without_a_meaning() -> None:
    with pytest.raises(ValueError, match="reduce must be 'sum' or 'mean', got 'max'"):
        jt.dask.value_and_grad(lambda w, x: w, reduce="max")  # type: ignore[arg-type]
