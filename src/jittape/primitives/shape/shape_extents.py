"""Shapes and sizes that are tensors, and whose numbers are known during tracing."""

from __future__ import annotations

from typing import Any

__all__ = ["KNOWN_SHAPES", "known_extents", "with_extents"]

KNOWN_SHAPES: set[type] = set()
"""The classes of the tensors that `jt.shape`, `size` and `rank` return; each is added where it is defined."""


def known_extents(value: Any, kinds: str = "iu") -> Any:
    """Return a tensor of a general trace as an extent, or a vector as a tuple of them; None if they are not known.

    `kinds` are the kinds of the dtypes that the caller accepts.
    """
    find = getattr(getattr(value, "_trace", None), "known_extents", None)
    return None if find is None else find(value, kinds)


def with_extents(value: Any) -> Any:
    """Return `value`, or what `known_extents` returns for it if that is known."""
    known = known_extents(value)
    return value if known is None else known
