"""`Definition`: a function to compile, before its code is emitted. It is made without LLVM."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from jittape.value_classes import NamedTuple

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["Definition", "Effort", "FunctionKind", "symbol_of"]


class Effort(Enum):
    """LLVM's effort for a function: the level of its passes, and the level of its code generator.

    Kernels are emitted in their final form, so higher levels find nothing to improve. The 24 kernels of a mixture of
    Gaussians take 0.20 s, at level 3 they took 0.50 s and ran no faster; the same holds for all benchmarks of
    `asv_bench/peers.py`. Global value numbering took a tenth of LLVM's time and left the same machine code.
    """

    LEAST = None, 0
    """Code around kernels: the driver is compiled in 1.6 ms, with `LOOPS` in 17."""
    LITTLE = None, 1
    """Loops that are emitted as vectors, and code without loops: a product of small matrices takes 10 ms, with `LOOPS`
    22."""
    LOOPS = 1, 1
    """Loops that LLVM vectorizes."""


class FunctionKind(Enum):
    """The type of a function."""

    KERNEL = "kernel"
    BUILT_IN = "built-in"
    """A built-in function of Python, which gets its arguments as an array."""
    METHOD = "method"
    """A method of at most one argument."""
    METHOD_BY_NAMES = "method by names"
    """A method that is called as ``(self, arguments, count, names)``."""


class Definition(NamedTuple):
    """A function to compile: its name, its type, the function that emits its body, and LLVM's effort for it."""

    name: str
    kind: FunctionKind
    emit: Callable[[ir.Function], None]
    effort: Effort = Effort.LITTLE


def symbol_of(name: str) -> str:
    """Return the name of a function in the object file."""
    return f"jittape_{name}"
