"""LLVM on several threads.

Signal handlers cannot interrupt LLVM there, and several modules are compiled at once (see `unlocked_calls`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from jittape.core.locks import at_rest, rlock
from jittape.core.tuning import tuning

if TYPE_CHECKING:
    from queue import Empty, SimpleQueue
else:
    try:
        from _queue import Empty, SimpleQueue  # `queue` has three more classes and takes 1 ms
    except ImportError:
        from queue import Empty, SimpleQueue

__all__ = ["llvm_lock", "mapped", "uninterrupted"]

llvm_lock = at_rest(rlock())
"""LLVM's engines and its global context are not thread-safe."""


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def mapped(
    function: Callable[[_Item], _Result], items: Iterable[_Item], threads: int
) -> list[tuple[_Item, _Result]]:
    """Return every item with the result of `function`, which up to `threads` other threads compute at once.

    A signal handler may raise in the main thread at any moment. During a call of llvmlite this would leave its lock
    held and free LLVM's objects in the wrong order. So LLVM is called in other threads, which signals do not reach.
    This thread makes the items while the others work.

    An error is raised after all threads have ended; of several errors, that of the first item.
    """
    with _Workers(threads) as workers:
        if threads < 2:
            return [(item, workers.submit(function, item).result()) for item in items]
        with _short_switch_interval():
            found = [(item, workers.submit(function, item)) for item in items]
        return [(item, task.result()) for item, task in found]


def uninterrupted(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Return the result of a call in another thread, where no signal handler can interrupt it."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    with _Workers(1) as workers:
        found: _Result = workers.submit(function, *arguments).result()
        return found


_PATIENCE = 0.2
"""Seconds after which a thread that waits for a task asks whether its owner is still there."""


class _Task:
    """A call, and its result or error once it has ended."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._result: Any = None
        self._error: BaseException | None = None
        self._running = threading.Lock()
        self._running.acquire()

    def run(self) -> None:
        """Call the function."""
        try:
            self._result = self._function(*self._arguments)
        except BaseException as error:
            self._error = error
        finally:
            self._running.release()

    def result(self) -> Any:
        """Return the result, or raise the error, when the call has ended."""
        with self._running:
            if self._error is not None:
                raise self._error
            return self._result


class _Workers:
    """Threads that run tasks until the end of a ``with`` block; tasks that wait are dropped after an error.

    If no thread can be started, as at exit, the tasks run in this thread. `concurrent.futures` does the same; its
    import takes 6 ms, and its lock, which a fork takes, too, would have to be taken in order with `llvm_lock`.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads: list[threading.Thread] = []
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()

    def __enter__(self) -> _Workers:
        return self

    def submit(self, function: Callable[..., Any], *arguments: Any) -> _Task:
        """Have ``function(*arguments)`` run by a thread."""
        task = _Task(function, arguments)
        if len(self._threads) < self._most:
            self._start()
        if self._threads:
            self._waiting.put(task)
        else:
            task.run()
        return task

    def _start(self) -> None:
        thread = threading.Thread(target=_serve, args=(self._waiting, ref(self)), name="jittape compiles")
        try:
            thread.start()
        except RuntimeError:
            self._most = len(self._threads)
        else:
            self._threads.append(thread)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None:
            self._drop_waiting()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _drop_waiting(self) -> None:
        try:
            while True:
                self._waiting.get_nowait()
        except Empty:
            pass


def _serve(waiting: SimpleQueue[_Task | None], owner: ref[_Workers]) -> None:
    """Run tasks until the end.

    A signal handler that raises an error may take the owner of the threads out of its block without ending this one.
    """
    while True:
        try:
            task = waiting.get(timeout=_PATIENCE)
        except Empty:
            if owner() is None or not threading.main_thread().is_alive():
                return
            continue
        if task is None:
            return
        task.run()


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Let threads that return from LLVM wait for the GIL less than the usual 5 ms.

    Compiling a module takes the GIL some 15 times, and the main thread emits modules for 60 ms.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, tuning.compile_switch_seconds))
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
