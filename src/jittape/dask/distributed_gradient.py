"""`jt.dask.value_and_grad`: the gradient of a sum over blocks that workers hold.

Start reading at `DistributedGradient.__call__`. A `Placement` knows which worker holds which blocks. At each step it
sends the weights to each worker once, gets the sums of the workers' blocks, and adds them up.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import optree

from jittape.autodiff.flat_gradients import FlatLayout
from jittape.core.config import config
from jittape.dask.addition_tree import Node, add_up, largest_nodes
from jittape.dask.block_gradients import BlockGradients, BlockSum, added
from jittape.dask.data_blocks import block_futures, is_divided
from jittape.dask.sent_functions import check_sendable, packed_function
from jittape.dask.sent_kernels import SentKernels
from jittape.dask.worker_share import WorkerShare, is_in_process
from jittape.dask.worker_warnings import report
from jittape.interop.optional_library import imported
from jittape.recording.operators import Operators

__all__ = ["DistributedGradient", "connected_client", "value_and_grad"]

_Array = np.ndarray[Any, Any]
_RESTART = 30
"""Seconds to wait for a worker if all are lost."""


def value_and_grad(
    f: Callable[..., Any], reduce: Literal["sum", "mean"] = "sum", client: Any = None
) -> DistributedGradient:
    """Return a function that computes the sum of `f` over blocks of data, and its gradient, on a Dask cluster.

    Each worker keeps its blocks and the compiled gradient. A step sends the weights to each worker once and gets back
    one sum of gradients or a few. They are added in an order that depends on the number of blocks alone, so the result
    has the same bits for any number of workers.

    Parameters
    ----------
    f : callable
        ``f(weights, block, *more)`` returns a real floating scalar. A block is what the data consist of: an array, a
        structure of arrays, a `pandas.DataFrame`, or an element of a bag.
    reduce : {"sum", "mean"}
        ``"mean"`` multiplies the value of a block by its number of rows and divides the sum by the number of all rows:
        for an `f` that returns a mean over rows.
    client : distributed.Client, optional
        Client of the cluster; by default the current one.

    Returns
    -------
    DistributedGradient
        Function of ``(weights, data, *more)`` that returns the value and the gradient.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError
        If `f` cannot be sent to workers; the message names what it holds.
    ValueError
        If `reduce` is unknown, or `f` reads a Variable, whose value would not change at the workers.

    Examples
    --------
    >>> import dask.array, numpy as np  # doctest: +SKIP
    >>> import jittape as jt
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> x = dask.array.from_array(np.arange(6.0), chunks=2)  # doctest: +SKIP
    >>> gradient = jt.dask.value_and_grad(lambda w, x: jt.reduce_sum((w * x) ** 2))  # doctest: +SKIP
    >>> gradient(np.float64(2.0), x)  # doctest: +SKIP
    (220.0, array(220.))
    """
    if reduce not in ("sum", "mean"):
        raise ValueError(f"[dask.value_and_grad] reduce must be 'sum' or 'mean', got {reduce!r}")
    imported("distributed", "dask.value_and_grad", "dask[distributed]")
    return DistributedGradient(packed_function(f, "dask.value_and_grad"), reduce == "mean", client)


def connected_client(client: Any, caller: str) -> Any:
    """Return the client, or the current one."""
    distributed = imported("distributed", caller, "dask[distributed]")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:
        raise ValueError(
            f"[{caller}] there is no Dask cluster: make a client first, as in distributed.Client() for this machine or "
            'distributed.Client("tcp://scheduler:8786"), or pass client='
        ) from None


class DistributedGradient:
    """A function that computes a value and its gradient on the workers of a cluster; see `value_and_grad`.

    It keeps the data of the last call at the workers. Calls with the same data object send only the weights.
    """

    def __init__(self, function: bytes, weighted: bool, client: Any) -> None:
        self._function, self._weighted, self._client = function, weighted, client
        self._placement: _Placement | None = None
        self._lock = threading.Lock()

    def __call__(self, weights: Any, data: Any, *more: Any) -> tuple[Any, Any]:
        """Return the value and the gradient, with arrays in the structure of the weights.

        Parameters
        ----------
        weights : array, Variable, or nested structure of them
            What the gradient is taken with respect to.
        data : dask.array.Array, dask.dataframe.DataFrame, dask.bag.Bag, or a nested structure of arrays
            Arrays are divided along their first axis, all in the same way. Empty blocks count as 0.
        *more
            Further arguments of `f`, sent at each call.

        Raises
        ------
        TypeError
            If a weight is not a number, an array, a tensor or a Variable, or a further argument cannot be sent.
        ValueError
            If there is no cluster, or arrays are divided differently.
        RuntimeError
            If all workers are lost and none comes back within 30 seconds.
        """
        leaves, structure = optree.tree_flatten(weights)
        arrays = [_array(leaf) for leaf in leaves]
        if not arrays:
            raise TypeError(
                f"[dask.value_and_grad] weights must contain an array, a number or a Variable, got {weights!r}"
            )
        for array in arrays:
            if getattr(array, "dtype", None) is None:
                raise TypeError(
                    f"[dask.value_and_grad] weights must be numbers, arrays or Variables, got {type(array).__name__}"
                )
        further = [optree.tree_map(_array, each) for each in more]
        for number, each in enumerate(further):
            if any(map(is_divided, optree.tree_leaves(each, is_leaf=is_divided))):
                raise TypeError(
                    f"[dask.value_and_grad] more[{number}] is divided into blocks: make it a part of the data, as in "
                    "gradient(w, (x, y)); f then gets (block of x, block of y)"
                )
            if not isinstance(each, np.ndarray):
                check_sendable(f"more[{number}]", each, "dask.value_and_grad")
        total = self._total(arrays, structure, data, further)
        value, gradient = total.value, total.gradient
        if total.findings is not None:
            report(total.findings, [path.codify("weights") for path in structure.accessors()])
        if self._weighted:
            if not total.rows:
                raise ValueError("[dask.value_and_grad] all blocks are empty: the mean is undefined")
            value, gradient = value / total.rows, gradient / total.rows
        elif not gradient.flags.writeable:
            gradient = gradient.copy()
        return value, FlatLayout(structure, arrays)(gradient)

    def _total(self, arrays: Sequence[_Array], structure: Any, data: Any, more: Sequence[Any]) -> BlockSum:
        """Return the sum over all blocks. A restart of the cluster loses all of them: they are placed once more."""
        from distributed.client import FutureCancelledError

        with self._lock:  # two threads must not talk to a worker at once
            for is_last in (False, True):
                try:
                    if self._placement is None or not self._placement.serves(data, structure):
                        client = connected_client(self._client, "dask.value_and_grad")
                        self._placement = _Placement(client, data, self._function, structure, self._weighted)
                    return self._placement.total(arrays, more)
                except FutureCancelledError as error:
                    self._placement = None
                    if is_last:
                        raise RuntimeError(
                            "[dask.value_and_grad] the cluster was restarted and has lost the data: make them again, "
                            "or call persist() again"
                        ) from error
        raise AssertionError


def _array(value: Any) -> Any:
    """Return a tensor or a Variable as an array; other values as they are, numbers as arrays."""
    if isinstance(value, Operators):
        return np.array(value.numpy())
    return np.asarray(value) if isinstance(value, (int, float, complex)) else value


class _Placement:
    """Places of the blocks of some data."""

    def __init__(self, client: Any, data: Any, function: bytes, structure: Any, weighted: bool) -> None:
        self._client, self._data, self._structure = client, data, structure
        self._arguments = (function, structure, weighted)
        self._futures = block_futures(data, client)
        self._root: Node = (0, len(self._futures))
        self._shares: list[WorkerShare] = []
        self._has_lost_workers = self._are_new = False
        self._kernels = SentKernels(function)
        self._place(range(len(self._futures)))

    def serves(self, data: Any, structure: Any) -> bool:
        """Return whether these are the data, the weights have the same structure, and the cluster is there."""
        if self._client.status != "running":
            return False
        ours, others = (optree.tree_flatten(each, is_leaf=is_divided) for each in (self._data, data))
        same = ours[1] == others[1] and all(x is y for x, y in zip(ours[0], others[0], strict=True))
        return same and structure == self._structure

    def total(self, weights: Sequence[_Array], more: Sequence[Any]) -> BlockSum:
        """Return the sum over all blocks. Blocks of lost workers go to other workers."""
        known: dict[Node, BlockSum] = {}
        if self._has_lost_workers:
            self._spread()
        shares = list(self._shares)
        while shares:
            nodes = [largest_nodes(self._root, share.blocks) for share in shares]
            for share, part in zip(shares, nodes, strict=True):
                share.begin(part, weights, more)
            lost = list[WorkerShare]()
            for share in shares:
                sums = share.sums()
                if sums is None:
                    lost.append(share)
                else:
                    known |= sums
            shares = self._replaced(lost)
        if self._are_new:
            self._are_new = False
            self._kernels.collect([share.call for share in self._shares if share.is_apart])
        return add_up(self._root, known.get, added)

    def _replaced(self, lost: list[WorkerShare]) -> list[WorkerShare]:
        """Place the blocks of lost workers anew, and return the new shares."""
        if not lost:
            return []
        self._has_lost_workers = True
        self._shares = [share for share in self._shares if share not in lost]
        return self._place(sorted(block for share in lost for block in share.blocks))

    def _spread(self) -> None:
        """Place all blocks anew if there are more workers than shares, as after a restart."""
        if len(self._workers()) > len(self._shares):
            self._shares, self._has_lost_workers = [], False
            self._place(range(len(self._futures)))

    def _place(self, blocks: Sequence[int]) -> list[WorkerShare]:
        """Divide blocks among all workers, neighbors together, and return the new shares."""
        threads = self._workers()
        parts = zip(threads.items(), _divided(blocks, len(threads)), strict=False)
        made = []
        for (address, count), part in parts:
            held = {number: self._futures[number] for number in part}
            future = self._client.submit(
                BlockGradients, *self._arguments, held, count, _settings(), not is_in_process(address),
                actor=True, workers=[address], pure=False,
            )  # fmt: skip
            made.append((set(part), address, future))
        placed = [WorkerShare(part, address, future, self._client) for part, address, future in made]
        self._shares += placed
        self._are_new = True
        self._kernels.send([share.call for share in placed if share.is_apart])
        return placed

    def _workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, in a fixed order."""
        from distributed import TimeoutError as NoWorker

        try:
            self._client.wait_for_workers(1, timeout=_RESTART)
        except NoWorker:
            raise RuntimeError(
                f"[dask.value_and_grad] no worker is left, and none has started within {_RESTART} s: start workers and "
                "call again"
            ) from None
        return dict(sorted(self._client.nthreads().items()))


def _settings() -> dict[str, Any]:
    """Return the settings of this process that workers follow."""
    return {"deterministic": config.deterministic, "on_tape_exit": config.on_tape_exit}


def _divided(blocks: Sequence[int], parts: int) -> Iterator[list[int]]:
    """Divide blocks into at most so many parts of nearly equal size, none of them empty."""
    parts = min(parts, len(blocks))
    ends = [len(blocks) * i // parts for i in range(parts + 1)]
    for start, stop in itertools.pairwise(ends):
        yield list(blocks[start:stop])
