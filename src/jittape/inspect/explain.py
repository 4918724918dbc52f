"""What became of the last step, as a page of text: `jt.explain()`."""

from __future__ import annotations

__all__ = ["explain"]


def explain() -> str:
    return ""
