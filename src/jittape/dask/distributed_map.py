"""`jt.dask.map`: one function for many tasks on the workers of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from time import monotonic
from typing import Any

from jittape.core.config import config
from jittape.dask.distributed_gradient import connected_client
from jittape.dask.sent_functions import check_sendable, packed_function, packed_result, sendable_error
from jittape.progress_bar import progress as progress_bar

__all__ = ["BatchSizes", "map"]

_SECONDS = 1.0
"""Duration of a batch if its tasks are shorter: a batch costs 5 ms of processor time, most of it in Dask."""
_GROWTH = 32
"""Most that a batch may be larger than the largest before it, in case the first tasks are short by chance."""
_LEFT = 2
"""A batch contains at most one task of so many for each thread, so that all threads end at about the same time."""
_SMALLEST = 16
"""The last batches are smaller by this factor at most."""
_WAITING = 2
"""Batches of a thread, of which one waits while the other is computed."""
_RECOUNT = 2.0
"""Seconds after which the threads are counted again, for workers that start later."""


def map(
    f: Callable[[Any], Any], tasks: Iterable[Any], client: Any = None, progress: bool | None = None
) -> list[Any]:
    """Return ``[f(task) for task in tasks]``, computed on the workers of a Dask cluster.

    Tasks are sent in batches of about a second. The tasks of a lost worker are computed by another one.

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
    listed = list(tasks)
    found = _results(connected, function, listed)
    shown = find_spec("tqdm") is not None if progress is None else progress
    results: list[Any] = [None] * len(listed)
    for number, result in progress_bar(found, "tasks", len(listed)) if shown else found:
        results[number] = result
    return results


def _results(client: Any, function: bytes, tasks: list[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the number and the result of each task."""
    from distributed import as_completed

    sizes, start = BatchSizes(len(tasks)), 0
    threads, counted = 0, -_RECOUNT
    under_way: dict[Any, range] = {}
    done = as_completed(with_results=True, raise_errors=False)
    try:
        while start < len(tasks) or under_way:
            if monotonic() - counted >= _RECOUNT:
                threads, counted = max(sum(client.nthreads().values()), 1), monotonic()
            while start < len(tasks) and len(under_way) < _WAITING * threads:
                stop = start + sizes.next_size(len(tasks) - start, threads)
                future = _sent(client, function, tasks, start, stop)
                under_way[future] = range(start, stop)
                done.add(future)
                start = stop
            future, result = next(done)
            numbers = under_way.pop(future)
            if future.status != "finished":  # all workers that tried died, or somebody canceled it
                lost = result[1] if future.status == "error" else result
                sent = [numbers, *under_way.values()]  # Dask also blames batches that only waited there
                first, last = min(each[0] for each in sent), max(each[-1] for each in sent)
                lost.add_note(f"in one of the tasks {first} to {last}, at a worker")
                raise lost
            found, seconds, error = result
            if error is not None:
                error.add_note(f"in task {numbers[len(found)]}, at a worker")
                raise error
            sizes.measured(len(found), seconds)
            yield from enumerate([pickle.loads(each) for each in found], numbers[0])
    finally:
        if under_way:
            client.cancel(list(under_way))


def _sent(client: Any, function: bytes, tasks: list[Any], start: int, stop: int) -> Any:
    """Return a future of a batch; raise TypeError if a task cannot be sent."""
    try:
        return client.submit(_batch, function, tasks[start:stop], pure=False, retries=3)
    except TypeError:
        for number, task in enumerate(tasks[start:stop], start):
            check_sendable(f"tasks[{number}]", task, "dask.map")
        raise


class BatchSizes:
    """Sizes of the next batches, by the duration of the last ones.

    Parameters
    ----------
    tasks : int
        Number of all tasks.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._full = self._largest = 1

    def measured(self, size: int, seconds: float) -> None:
        """Take account of a batch that has been computed."""
        wanted = int(_SECONDS * size / seconds) if seconds else self._tasks
        self._full = max(1, min(wanted, self._largest * _GROWTH))

    def next_size(self, left: int, threads: int) -> int:
        """Return the size of the next batch if so many tasks are left."""
        size = min(left, self._full, max(1, self._full // _SMALLEST, left // (threads * _LEFT)))
        self._largest = max(self._largest, size)
        return size


def _batch(function: bytes, tasks: list[Any]) -> tuple[list[bytes], float, Exception | None]:
    """Return the pickled results of some tasks, their duration, and the exception of the first that fails."""
    from distributed import get_worker

    config.threads = min(config.threads, get_worker().state.nthreads)
    f = _loaded(function)
    found: list[bytes] = []
    start = monotonic()
    for task in tasks:
        try:
            found.append(packed_result(f(task)))
        except Exception as error:
            return found, monotonic() - start, sendable_error(error)
    return found, monotonic() - start, None


_FUNCTIONS: dict[bytes, Callable[[Any], Any]] = {}
"""The last function of this process: all batches use one function object, so that its traces are kept."""


def _loaded(function: bytes) -> Callable[[Any], Any]:
    found = _FUNCTIONS.get(function)
    if found is None:
        _FUNCTIONS.clear()
        found = _FUNCTIONS[function] = pickle.loads(function)
    return found
