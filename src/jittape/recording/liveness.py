"""Which pending tensors does anybody still want? Those that are referred to from elsewhere than the list of them.

Reference counts tell, as cheaply as can be: a weak reference for every recorded op cost 0.13 µs of the 0.56 µs that
recording one takes. What an unreferred entry of a list counts is measured when the module is imported, not assumed.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

__all__ = ["live_among"]


def live_among(pending: list[Any]) -> list[Any]:
    """The tensors of `pending` that have no value yet and that something besides this list refers to."""
    return [t for t in pending if getrefcount(t) > _UNREFERRED and t._buffer is None]


def _counts(entries: list[Any]) -> list[int]:
    return [getrefcount(t) for t in entries if t is not None]


_UNREFERRED = _counts([object()])[0]
