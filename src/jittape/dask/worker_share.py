"""`WorkerShare`: the client's view of one worker and the blocks that it holds."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from jittape.dask.addition_tree import Node
from jittape.dask.block_gradients import BlockGradients, BlockSum, Failure
from jittape.dask.direct_connection import DirectConnection

__all__ = ["WorkerShare", "is_in_process"]

_Request = tuple[list[Node], Sequence[np.ndarray[Any, Any]], Sequence[Any]]


def is_in_process(address: str) -> bool:
    """Return whether the worker at an address is a thread of this process."""
    return address.startswith("inproc")


class WorkerShare:
    """The blocks of one worker: their numbers, the actor that holds them, and a connection if it is on this host.

    Parameters
    ----------
    blocks : set of int
        Numbers of the blocks.
    address : str
        Address of the worker.
    future : distributed.Future
        Of its `BlockGradients`.
    client : distributed.Client
        Client of the cluster.

    Attributes
    ----------
    blocks : set of int
    is_apart : bool
        Whether the worker is a process of its own.
    """

    def __init__(self, blocks: Set[int], address: str, future: Any, client: Any) -> None:
        from distributed import Actor

        self.blocks = blocks
        self.is_apart = not is_in_process(address)
        self._address, self._client = address, client
        future.result()
        with client.as_current():  # the actor that `future.result` makes would use the default client
            self._actor = Actor(BlockGradients, address, future.key)
        self._connection = self._connected()
        self._request: _Request = ([], [], [])
        self._call: Any = None

    def _connected(self) -> DirectConnection | None:
        """Return a direct connection to the worker; None if it is on another host or in this process."""
        if is_in_process(self._address):
            return None
        try:
            offered = self._actor.offer().result()
            return None if offered is None else DirectConnection(offered, self._is_lost)
        except (OSError, RuntimeError):
            return None

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the worker's `BlockGradients` and return a future; a RuntimeError if the worker is lost."""
        return getattr(self._actor, method)(*args)

    def _is_lost(self) -> bool:
        return self._client.status != "running" or self._address not in self._client.nthreads()

    def begin(self, nodes: list[Node], weights: Sequence[np.ndarray[Any, Any]], more: Sequence[Any]) -> None:
        """Ask the worker for the sums of some nodes."""
        self._request = nodes, weights, more
        if self._connection is not None and self._connection.ask((nodes, more), weights):
            self._call = None
        else:
            self._connection = None
            self._ask_by_message()

    def _ask_by_message(self) -> None:
        try:
            self._call = self._actor.sums(*self._request)
        except RuntimeError:  # the worker is known to be lost
            self._call = None

    def sums(self) -> dict[Node, BlockSum] | None:
        """Return the sums that `begin` asked for; None if the worker is lost. Errors of the user are raised."""
        nodes = self._request[0]
        if self._connection is not None:
            found = self._connection.answer()
            if found is not None and found[0] is not None:
                sums = [
                    BlockSum(value, rows, flat, findings)
                    for (value, rows, findings), flat in zip(*found, strict=True)
                ]
                return dict(zip(nodes, sums, strict=True))
            if found is None:
                self._connection = None
            self._ask_by_message()
        if self._call is None:
            return None
        try:
            result = self._call.result()
        except (OSError, RuntimeError):
            return None
        if isinstance(result, Failure):
            result.error.add_note(f"in block {result.block} of the data, at a worker")
            raise result.error
        return dict(zip(nodes, result, strict=True))
