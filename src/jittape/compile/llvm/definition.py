"""`Definition`: a function to compile, before its code is emitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

from jittape.compile.llvm.target import Effort

__all__ = ["Definition", "symbol_of"]


class Definition(NamedTuple):
    """A function to compile: its name, its type, the function that emits its body, and LLVM's effort for it."""

    name: str
    kind: ir.FunctionType
    emit: Callable[[ir.Function], None]
    effort: Effort = Effort.LITTLE


def symbol_of(name: str) -> str:
    """Return the name of a function in the object file."""
    return f"jittape_{name}"
