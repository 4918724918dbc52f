"""`jt.dask.map`: one function for many tasks on the workers of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

from jittape.core.config import config
from jittape.dask.distributed_gradient import connected_client
from jittape.dask.sent_functions import check_sendable, packed_function, packed_result, sendable_error
from jittape.progress_bar import progress as progress_bar

__all__ = ["map"]

_BATCHES = 16
"""Batches of full size that the tasks of one worker would make: few, since one costs Dask about 1 ms."""
_LAST_BATCHES = 4
"""The least number of batches that the tasks left make for each worker: all workers end at about the same time."""


def map(
    f: Callable[[Any], Any], tasks: Iterable[Any], client: Any = None, progress: bool | None = None
) -> list[Any]:
    """Return ``[f(task) for task in tasks]``, computed on the workers of a Dask cluster.

    Tasks are sent in batches. The tasks of a lost worker are computed by another one.

    Parameters
    ----------
    f : callable
        Function of one task, such as a fit. What it returns is sent back, so it should be small.
    tasks : iterable
        Arguments.
    client : distributed.Client, optional
        Client of the cluster; by default the current one.
    progress : bool, optional
        Whether to show a progress bar; by default if tqdm, which draws it, is installed.

    Returns
    -------
    list
        The results, in the order of the tasks.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError
        If `f` or a task cannot be sent to workers, or a result cannot be sent back; the message names what it holds.
    ValueError
        If there is no cluster, or `f` reads a Variable, whose value would not change at the workers.

    Notes
    -----
    An exception of `f` is raised with a note that tells the number of its task. The other tasks are canceled.

    Examples
    --------
    >>> import jittape as jt
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> jt.dask.map(lambda x: x**2, range(4), progress=False)  # doctest: +SKIP
    [0, 1, 4, 9]
    """
    function = packed_function(f, "dask.map")
    if not isinstance(tasks, Iterable):
        raise TypeError(
            f"[dask.map] tasks must be an iterable of arguments, got {tasks!r}: write [task] for one"
        )
    connected = connected_client(client, "dask.map")
    from distributed import as_completed

    listed = list(tasks)
    if not listed:
        return []
    starts, batches = _batches_of(listed, max(len(connected.nthreads()), 1))
    results: list[Any] = [None] * len(listed)
    try:
        sent = connected.map(_batch, [function] * len(batches), batches, pure=False, retries=3)
    except TypeError:
        for number, task in enumerate(listed):
            check_sendable(f"tasks[{number}]", task, "dask.map")
        raise
    futures = dict(zip(sent, starts, strict=True))
    done = as_completed(futures, with_results=True)
    shown = find_spec("tqdm") is not None if progress is None else progress
    try:
        for future, (found, error) in progress_bar(done, "batches", len(futures)) if shown else done:
            start = futures[future]
            if error is not None:
                error.add_note(f"in task {start + len(found)}, at a worker")
                raise error
            results[start : start + len(found)] = [pickle.loads(each) for each in found]
    except BaseException:
        connected.cancel(list(futures))
        raise
    return results


def _batches_of(tasks: list[Any], workers: int) -> tuple[list[int], list[list[Any]]]:
    """Return the number of the first task of each batch, and the batches.

    The last batches have a quarter of the size of the first: with 1,000 fits of 7 ms on two workers, one of them waits
    for the other 25 ms in the mean; with batches of equal size it waits 110 ms.
    """
    largest = max(1, len(tasks) // (workers * _BATCHES))
    starts, batches, start = [], [], 0
    while start < len(tasks):
        left = len(tasks) - start
        size = min(largest, max(1, largest // _LAST_BATCHES, left // (workers * _LAST_BATCHES)))
        starts.append(start)
        batches.append(tasks[start : start + size])
        start += size
    return starts, batches


def _batch(function: bytes, tasks: list[Any]) -> tuple[list[bytes], Exception | None]:
    """Return the pickled results of some tasks; and the exception of the first that fails, if one does."""
    from distributed import get_worker

    config.threads = min(config.threads, get_worker().state.nthreads)
    f = _loaded(function)
    found: list[bytes] = []
    for task in tasks:
        try:
            found.append(packed_result(f(task)))
        except Exception as error:
            return found, sendable_error(error)
    return found, None


_FUNCTIONS: dict[bytes, Callable[[Any], Any]] = {}
"""The last function of this process: all batches use one function object, so that its traces are kept."""


def _loaded(function: bytes) -> Callable[[Any], Any]:
    found = _FUNCTIONS.get(function)
    if found is None:
        _FUNCTIONS.clear()
        found = _FUNCTIONS[function] = pickle.loads(function)
    return found
