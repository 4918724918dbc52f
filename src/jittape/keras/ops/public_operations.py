"""The names of ``keras.ops``."""

from __future__ import annotations

import sys
from typing import Any

import jittape.keras.ops.own_signatures as own_signatures
from jittape.keras.ops.operation_calls import function_of_row, symbolic_too
from jittape.keras.ops.operation_table import ROWS
from jittape.lazy_names import missing_name

__all__ = ["NAMES", "find"]

PACKAGE = "jittape.keras.ops"
NAMES = sorted([*ROWS, *own_signatures.__all__])
"""The public names."""
_PARTS = ("linalg", "nn", "numpy")
"""Modules of Keras, in which each function has a second name."""


def find(name: str) -> Any:
    """Return the function with this name, and make it an attribute of the package."""
    if name in _PARTS:
        found: Any = sys.modules[PACKAGE]
    elif name in ROWS:
        found = function_of_row(name, ROWS[name])
    elif name in own_signatures.__all__:
        found = symbolic_too(getattr(own_signatures, name))
    else:
        raise missing_name(PACKAGE, name)
    setattr(sys.modules[PACKAGE], name, found)
    return found
