"""Machine code for workers that do not share the disk cache of the client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["SentKernels"]


class SentKernels:
    """The kernels that the workers of a gradient use, for workers that lack them.

    The first step asks the workers which kernels they use, and copies to the client those that it lacks. A worker that
    starts later, or in the next run of the program, gets what it lacks before its first step. Kernels are on the disks
    of both. A worker with another processor or another version compiles its own.

    Parameters
    ----------
    function : bytes
        The pickled function, by which the next run knows its kernels.
    """

    def __init__(self, function: bytes) -> None:
        from jittape.compile.cache.sent_batches import listed_batches  # imports LLVM

        self._function = function
        self._names = listed_batches(function)

    def send(self, calls: Sequence[Callable[..., Any]]) -> None:
        """Send workers the kernels that they lack.

        ``call(method, *args)`` for each worker calls a method of its `BlockGradients` and returns a future. Workers
        import the compiler to answer, all at the same time.
        """
        from jittape.compile.cache.sent_batches import read_batches, used_batches

        used = used_batches()
        if used is None or not self._names:
            return
        answers = []
        for call in calls:
            with suppress(OSError, RuntimeError):  # a lost worker is noticed by the next step
                answers.append((call, call("lacking_kernels", used[0], self._names)))
        for call, answer in answers:
            with suppress(OSError, RuntimeError):
                lacking = answer.result()
                if lacking:
                    call("keep_kernels", read_batches(lacking)).result()

    def collect(self, calls: Sequence[Callable[..., Any]]) -> None:
        """Copy the kernels that workers use and the client lacks, and note which they are."""
        from jittape.compile.cache.sent_batches import keep_batches, lacking_batches, list_batches

        names = dict.fromkeys(self._names)
        for call in calls:
            with suppress(OSError, RuntimeError):
                environment, used = call("used_kernels").result() or ({}, [])
                lacking = lacking_batches(environment, used)
                if lacking:
                    keep_batches(call("kernels", lacking).result())
                names |= dict.fromkeys(used)
        if list(names) != self._names:
            self._names = list(names)
            list_batches(self._function, self._names)
