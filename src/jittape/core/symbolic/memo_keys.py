"""Keys to the results of pure functions, whose extents need no general position."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

__all__ = ["decisive_keys", "is_memo_key", "memo_keys"]


class _Memo(threading.local):
    is_open = False


_memo = _Memo()


def memo_keys() -> AbstractContextManager[None]:
    """Let extents be parts of keys to results of a pure function.

    Two keys that are equal by accident for some lengths are not found to be equal. The function is then called again,
    with the same result.
    """
    return _keys(True)


def decisive_keys() -> AbstractContextManager[None]:
    """End the effect of `memo_keys` for code that may decide by a set or dictionary of extents."""
    return _keys(False)


@contextmanager
def _keys(is_open: bool) -> Iterator[None]:
    before, _memo.is_open = _memo.is_open, is_open
    try:
        yield
    finally:
        _memo.is_open = before


def is_memo_key() -> bool:
    """Return whether this thread looks for a key with `memo_keys`."""
    return _memo.is_open
