"""Direct connections of `jt.dask` between the client and the workers of one host, without a cluster."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import optree
import pytest

import jittape as jt
from jittape.core.config import config
from jittape.dask.block_gradients import BlockGradients, BlockSum, added
from jittape.dask.direct_connection import DirectConnection, Message, offer
from jittape.dask.sent_functions import packed_function

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="the platform has no Unix sockets")


def connected(
    answer: Callable[..., Message], is_lost: Callable[[], bool] = lambda: False
) -> DirectConnection:
    offered = offer(answer)
    assert offered is not None
    return DirectConnection(offered, is_lost)


def echo(head: Any, arrays: Any) -> Message:
    return head, arrays


ARRAYS = {
    "large": np.random.default_rng(0).normal(size=(300, 700)),
    "0-d": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "transposed": np.arange(12.0).reshape(3, 4).T,
    "read-only": np.broadcast_to(np.float32(3.0), (4, 2)),
    "bfloat16": np.arange(5).astype(ml_dtypes.bfloat16),
    "complex": np.array([1 + 2j, np.nan]),
    "big-endian": np.arange(3, dtype=">f8"),
}


def test_messages_arrive_as_they_were_sent() -> None:
    connection = connected(echo)
    for _ in range(3):
        assert connection.ask({"nodes": [(0, 2)]}, list(ARRAYS.values()))
        head, arrays = connection.answer() or (None, [])
        assert head == {"nodes": [(0, 2)]}
        for found, expected in zip(arrays, ARRAYS.values(), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def test_an_answer_that_nobody_has_read_is_not_taken_for_the_next() -> None:
    """As after an exception between question and answer."""
    connection = connected(echo)
    for number in range(4):
        assert connection.ask(number, [np.full(300_000, number)])
    head, (array,) = connection.answer() or (None, [None])
    assert (head, array.min(), array.max()) == (3, 3, 3)


def test_an_interrupt_closes_the_connection() -> None:
    """A part of an answer may have been read."""
    asked: list[bool] = []

    def interrupted() -> bool:
        asked.append(True)
        raise KeyboardInterrupt

    go = threading.Event()
    connection = connected(lambda *message: (go.wait(), message)[1], interrupted)
    connection._socket.settimeout(0.01)
    assert connection.ask(1, [])
    with pytest.raises(KeyboardInterrupt):
        connection.answer()
    go.set()
    assert asked
    assert not connection.ask(2, [])


def test_a_worker_that_fails_or_is_lost_gives_no_answer() -> None:
    connection = connected(lambda *message: 1 / 0)
    assert connection.ask(1, [])
    assert connection.answer() is None
    assert not connection.ask(2, [])
    go = threading.Event()
    connection = connected(lambda *message: (go.wait(), message)[1], lambda: True)
    connection._socket.settimeout(0.01)
    assert connection.ask(1, [])
    assert connection.answer() is None
    go.set()


def test_what_cannot_be_sent_is_left_to_dask() -> None:
    assert not connected(echo).ask(lambda: 0, [])
    assert not connected(echo).ask(0, [np.array([object()])])


def test_others_are_refused() -> None:
    offered = offer(echo)
    assert offered is not None
    host, path, token = offered
    with pytest.raises(OSError, match="another host"):
        DirectConnection((host + "x", path, token), lambda: False)
    connection = DirectConnection((host, path, token[::-1]), lambda: False)
    assert not (connection.ask(1, []) and connection.answer())
    with pytest.raises(OSError, match="refused|No such file"):
        DirectConnection(offered, lambda: False)  # one client only; the socket is gone


def blocks_of(data: dict[int, Any], in_own_process: bool = True) -> BlockGradients:
    function = packed_function(lambda w, x: jt.reduce_sum(w * x), "test")
    structure = optree.tree_structure(np.ones(2))
    return BlockGradients(function, structure, False, data, 1, {}, in_own_process)


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the settings of a worker."""
    for name in ("threads", "deterministic", "compile_after"):
        monkeypatch.setattr(config, name, getattr(config, name))


def test_blocks_of_a_worker_process_are_read_only(settings: None) -> None:
    """So that a step copies none of them, and a function that writes to its block fails at once."""
    own, message = np.ones((3, 2)), bytearray(np.ones(2).tobytes())
    received = np.frombuffer(message, np.float64)
    held = blocks_of({0: own[:2], 1: received, 2: {"x": np.ones(2)}})._blocks
    assert not any(block.flags.writeable for block in (held[0], held[0].base, held[1], held[2]["x"]))
    assert not np.shares_memory(held[1], received)
    kept = np.ones(2)
    assert blocks_of({0: kept}, in_own_process=False)._blocks[0] is kept
    assert kept.flags.writeable


def test_sums_do_not_write_to_results_of_steps(settings: None) -> None:
    sums = blocks_of({0: np.arange(2.0), 1: np.ones(2)})
    for _ in range(3):
        (found,) = sums.sums([(0, 2)], [np.array([3.0, 4.0])], [])
        assert isinstance(found, BlockSum)
        assert (found.value, found.rows, found.gradient.tolist()) == (11.0, 4, [1.0, 2.0])


def test_a_sum_that_cannot_be_overwritten_is_a_new_array() -> None:
    left, right = (BlockSum(1.0, 1, np.ones(2)) for _ in range(2))
    assert added(left, right).gradient is left.gradient
    left.gradient.flags.writeable = False
    assert added(left, right).gradient.tolist() == [3.0, 3.0]
    assert left.gradient.tolist() == [2.0, 2.0]
