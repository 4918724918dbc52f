"""The classes of the tensors that `jt.shape`, `size` and `rank` return, whose numbers are known during tracing."""

from __future__ import annotations

from typing import Any

__all__ = ["KNOWN_SHAPES", "has_extents"]

KNOWN_SHAPES: set[type] = set()
"""The classes; each is added where it is defined."""


def has_extents(value: Any) -> bool:
    """Return whether `value` is such a tensor with extents, in its attribute ``extents``."""
    return type(value) in KNOWN_SHAPES and hasattr(type(value), "extents")
