"""The operators of pandas that would convert a tensor to an array: ``frame @ t`` and ``frame.add(t)`` are refused.

Most operators of pandas leave the work to the tensor, by ``__pandas_priority__``. Those here have no such rule.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from jittape.recording.tape_exits import refused_conversions

__all__ = ["register"]

_DOT = "use jt.constant({0}) @ t, which records, or {0} @ t.numpy()"
_FLEXIBLE = "use an operator, as in `{0} + t`, which records, or t.numpy()"
_METHODS = {
    ("Series", "dot"): ("Series @ tensor", _DOT.format("series")),
    ("DataFrame", "dot"): ("DataFrame @ tensor", _DOT.format("frame")),
    ("DataFrame", "_align_for_op"): ("DataFrame.add(tensor)", _FLEXIBLE.format("frame")),
}
"""Methods by class and name, each with what they do and what to use instead."""


def register(module: ModuleType) -> None:
    """Refuse conversions by the methods of the classes of `module`, pandas."""
    for (owner, name), texts in _METHODS.items():
        method: Any = getattr(getattr(module, owner), name, None)
        code = getattr(method, "__code__", None)
        if code is not None:
            refused_conversions[id(code)] = texts
