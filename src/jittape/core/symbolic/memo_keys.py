"""Keys to the results of pure functions, whose extents need no general position."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

__all__ = ["decisive_keys", "is_memo_key", "memo_keys"]


class _Keys:
    """The kind of keys that code looks for."""

    def __init__(self, are_memo_keys: bool) -> None:
        self.are_memo_keys = are_memo_keys


class _Current(threading.local):
    keys = _Keys(False)


_current = _Current()


def memo_keys() -> AbstractContextManager[None]:
    """Let extents be parts of keys to results of a pure function.

    Two keys that are equal by accident for some lengths are not found to be equal. The function is then called again,
    with the same result.
    """
    return _looking_for(_Keys(True))


def decisive_keys() -> AbstractContextManager[None]:
    """End the effect of `memo_keys` for code that may decide by a set or dictionary of extents."""
    return _looking_for(_Keys(False))


@contextmanager
def _looking_for(keys: _Keys) -> Iterator[None]:
    """Set the kind of keys; as for `recording_with`, a late end does not replace what another end has restored."""
    before = _current.keys
    _current.keys = keys
    is_late = False
    try:
        yield
    except GeneratorExit:
        is_late = True
        raise
    finally:
        if not is_late or _current.keys is keys:
            _current.keys = before


def is_memo_key() -> bool:
    """Return whether this thread looks for a key with `memo_keys`."""
    return _current.keys.are_memo_keys
