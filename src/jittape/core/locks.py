"""Locks that are free in a forked process.

A fork copies only the thread that forks. A lock that another thread holds at that moment would stay locked in the child
forever. `lock` and `rlock` return locks that are free in the child. `at_rest` makes a fork wait until work that must
not be interrupted, such as LLVM's, is done.
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
"""Maximum time, in seconds, that a fork waits for work to end, which may itself be waiting for the forking thread."""

_locks: list[ref[Any]] = []
_many = 64
"""Length of the list above which dead references are removed from it."""


def lock() -> Any:
    """Return a new `threading.Lock`."""
    return _known(threading.Lock())


def rlock() -> Any:
    """Return a new `threading.RLock`."""
    return _known(threading.RLock())


def at_rest(made: Any) -> Any:
    """Return `made`, a lock from `rlock`; from now on a fork waits until no other thread holds it.

    A fork takes several such locks in reverse order of their creation. The hooks are C functions, so that an exception
    of a signal handler cannot interrupt them.
    """
    if sys.platform != "win32":
        take = partial(made.acquire, True, PATIENCE)
        os.register_at_fork(before=take, after_in_parent=made.release, after_in_child=made.release)
    return made


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """`functools.cached_property` without the lock that it has before Python 3.12 and a child cannot renew."""

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
