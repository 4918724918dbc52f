"""Locks that are free in a forked process.

A fork copies only the thread that forks. A lock that another thread holds at that moment would stay locked in the child
for ever. `lock` and `rlock` make locks that the child finds free; `at_rest` makes a fork wait until work that must not
be cut in two, such as LLVM's, is done.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

__all__ = ["at_rest", "cached_property", "lock", "rlock"]

PATIENCE = 60.0
"""Seconds that a fork waits for work to end; then it goes on, as the thread that works may be waiting for this one."""

_locks: list[ref[Any]] = []
_many = 64
"""Number of locks from which on those that are gone are dropped from the list."""


def lock() -> Any:
    """Return a new `threading.Lock`."""
    return _known(threading.Lock())


def rlock() -> Any:
    """Return a new `threading.RLock`."""
    return _known(threading.RLock())


def at_rest(made: Any) -> Any:
    """Return a lock of `rlock`'s; from now on a fork waits until no other thread holds it.

    Of several such locks a fork takes the one that was made last first. The hooks are C, so that no exception of a
    signal handler can come between.
    """
    if sys.platform != "win32":
        take = partial(made.acquire, True, PATIENCE)
        os.register_at_fork(before=take, after_in_parent=made.release, after_in_child=made.release)
    return made


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """As `functools.cached_property`, which before Python 3.12 has a lock that a forked process cannot renew."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value


def _known(made: Any) -> Any:
    global _locks, _many
    _locks.append(ref(made))
    if len(_locks) > _many:
        _locks = [known for known in _locks if known() is not None]
        _many = 2 * max(len(_locks), 32)
    return made


def _after_in_child() -> None:
    for known in _locks:
        one = known()
        if one is not None:
            if one.acquire(blocking=False):
                one.release()
            else:
                one._at_fork_reinit()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_in_child)
