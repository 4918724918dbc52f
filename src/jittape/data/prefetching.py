"""Elements computed ahead of their use by a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from jittape.data.dataset_iterator import orders_of_thread

__all__ = ["prefetched"]


class _End(NamedTuple):
    """The last entry of the queue: the end of the elements, or the error that ended them."""

    error: BaseException | None


def prefetched(elements: Callable[[], Iterator[Any]], count: int) -> Iterator[Any]:
    """Yield what ``elements()`` yields; a thread computes up to `count` elements ahead.

    An error of the thread is raised at the element where it occurred. The thread ends with the iterator.
    """
    entries: queue.Queue[Any] = queue.Queue(count)
    closed = threading.Event()

    def put(entry: Any) -> bool:
        while not closed.is_set():
            try:
                entries.put(entry, timeout=0.05)
                return True
            except queue.Full:
                continue
        return False

    orders = orders_of_thread.orders
    stream = elements()  # begun in this thread, so that several of them begin one after another

    def work() -> None:
        end = _End(None)
        orders_of_thread.orders = orders
        try:
            for element in stream:
                if not put((element,)):
                    return
        except BaseException as error:
            end = _End(error)
        put(end)

    thread = threading.Thread(target=work, name="jittape-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            entry = entries.get()
            if isinstance(entry, _End):
                if entry.error is not None:
                    raise entry.error
                return
            yield entry[0]
    finally:
        closed.set()
