"""Notices that an object has got new parts; deferred restoration of checkpoints listens to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["attached", "listeners"]

listeners: list[Callable[[Any], None]] = []
"""Functions that are called with each object that has got a part. Almost always empty."""


def attached(owner: Any) -> None:
    """Tell all listeners that `owner` has got a new part, such as a Variable in an attribute."""
    for listener in tuple(listeners):
        listener(owner)
