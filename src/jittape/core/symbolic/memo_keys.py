"""Keys to the results of pure functions, whose extents need no general position."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager

from jittape.core.thread_values import replaced

__all__ = ["decisive_keys", "is_memo_key", "memo_keys"]


class _Keys:
    """The kind of keys that code looks for."""

    def __init__(self, are_memo_keys: bool) -> None:
        self.are_memo_keys = are_memo_keys


class _Current(threading.local):
    keys = _Keys(False)


_current = _Current()


def memo_keys() -> AbstractContextManager[object]:
    """Let extents be parts of keys to results of a pure function.

    Two keys that are equal by accident for some lengths are not found to be equal. The function is then called again,
    with the same result.
    """
    return replaced(_current, "keys", _Keys(True))


def decisive_keys() -> AbstractContextManager[object]:
    """End the effect of `memo_keys` for code that may decide by a set or dictionary of extents."""
    return replaced(_current, "keys", _Keys(False))


def is_memo_key() -> bool:
    """Return whether this thread looks for a key with `memo_keys`."""
    return _current.keys.are_memo_keys
