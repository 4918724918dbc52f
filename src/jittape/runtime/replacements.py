"""`Replacements`: attributes that have other values while a measurement or a check is active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Replacements"]


class Replacements:
    """Replaced methods of classes and functions of modules."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, wrapper: Callable[[Any], Any]) -> None:
        """Set an attribute of a class or module to ``wrapper(original)``."""
        original = vars(owner)[name]
        self._originals.append((owner, name, original))
        setattr(owner, name, wrapper(original))

    def restore(self) -> None:
        """Restore all attributes."""
        for owner, name, original in reversed(self._originals):
            setattr(owner, name, original)
        self._originals.clear()
