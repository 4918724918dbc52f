"""LLVM on several threads.

Signal handlers cannot interrupt LLVM there, and several modules are compiled at once (see `unlocked_calls`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from jittape.core.locks import at_rest, rlock
from jittape.core.tuning import tuning

# It has a lock that a fork takes, too. A thread with `llvm_lock` may wait for it, so a fork must take it last, and it
# must be imported first. It cannot be imported at exit.
with suppress(RuntimeError):
    futures.ThreadPoolExecutor  # noqa: B018

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
    with _executor(threads) as executor:
        try:
            if threads < 2:
                return [(item, executor.submit(function, item).result()) for item in items]
            with _short_switch_interval():
                found = [(item, executor.submit(function, item)) for item in items]
            return [(item, future.result()) for item, future in found]
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise


def uninterrupted(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Return the result of a call in another thread, where no signal handler can interrupt it."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    with _executor(1) as executor:
        return executor.submit(function, *arguments).result()


class _SameThreadExecutor(Executor):
    """An executor that runs everything in this thread: at exit, no thread can be started."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **options))
        return future


def _executor(threads: int) -> Executor:
    try:
        executor = futures.ThreadPoolExecutor(threads, "jittape compiles")
        executor.submit(int)  # starts a thread
    except RuntimeError:
        return _SameThreadExecutor()
    return executor


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
