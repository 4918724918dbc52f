"""Errors for methods of ``tf.data.Dataset`` that jittape does not have."""

from __future__ import annotations

import difflib
from typing import Any

from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, advice_for

__all__ = ["Explained", "missing_method"]


def missing_method(dataset: type, name: str) -> AttributeError:
    """Return the error for an attribute that the class `dataset` does not have."""
    start = f"jt.data.Dataset has no {name!r}"
    advice = advice_for(ATTRIBUTES_LEFT_OUT["data.Dataset"], name)
    if advice is not None:
        return AttributeError(f"{start}; {advice}")
    near = [] if name.startswith("_") else difflib.get_close_matches(name, dir(dataset), 1, 0.7)
    return AttributeError(f"{start}; did you mean {near[0]!r}?" if near else start)


class Explained(type):
    """The class of `Dataset`: its missing methods are explained too if they are asked of the class itself."""

    def __getattr__(cls, name: str) -> Any:
        raise missing_method(cls, name)
