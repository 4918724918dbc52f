"""Scalar functions that come as LLVM IR from elsewhere, and how a kernel calls them.

Each is known by its *code*, a hash of its text. The code is a parameter of the op and so a part of the text of every
kernel that calls it: another version of the function is another kernel, in memory and on disk. The text is linked into
the module of the kernel, where LLVM inlines it into the loop.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.value import IRMath, IRValue, llvm_type

__all__ = ["Linked", "call_linked", "linked", "register", "used_by"]

PLACEHOLDER = "jittape_linked_function"
"""What the function is called in a text that is given to `register`."""


@dataclass(frozen=True)
class Linked:
    """A function.

    Attributes
    ----------
    code : str
        The hash that it is known by.
    text : str
        A module in LLVM's assembly that defines it, and what it calls.
    returns : dtype
        What the function returns.
    result : dtype
        What that is converted to.
    cost : int
        Instructions.
    """

    code: str
    text: str
    returns: np.dtype[Any]
    result: np.dtype[Any]
    cost: int

    @property
    def symbol(self) -> str:
        """Its name in a module."""
        return f"jittape_linked_{self.code}"


_known: dict[str, Linked] = {}
_by_symbol: dict[str, Linked] = {}


def register(text: str, returns: np.dtype[Any], result: np.dtype[Any]) -> Linked:
    """Make a function known; in `text` it is called `PLACEHOLDER`."""
    digest = hashlib.blake2b(f"{result}\n{text}".encode(), digest_size=12).hexdigest()
    cost = len(re.findall(r"^  \S", text, re.MULTILINE))
    function = Linked(digest, text, returns, result, cost)
    function = Linked(digest, text.replace(PLACEHOLDER, function.symbol), returns, result, cost)
    function = _known.setdefault(digest, function)
    _by_symbol[function.symbol] = function
    return function


def linked(code: str) -> Linked:
    """The function of that code."""
    return _known[code]


def call_linked(m: IRMath, *operands: IRValue, code: str) -> IRValue:
    """Write a call: the expression of a `Map`."""
    function = _known[code]
    kinds = [operand.ir.type for operand in operands]
    kind = ir.FunctionType(llvm_type(function.returns), kinds)
    module = m.builder.module
    declared = module.globals.get(function.symbol)
    if declared is None:
        declared = ir.Function(module, kind, function.symbol)
    value = m.builder.call(declared, [operand.ir for operand in operands])
    return m.cast(IRValue(m.builder, value, function.returns), function.result)


def used_by(module: ir.Module) -> list[Linked]:
    """The functions that a module calls."""
    return [_by_symbol[name] for name in module.globals if name in _by_symbol]


def cost_of_call(name: str) -> int | None:
    """The instructions of the function with that symbol, None if it is none of these."""
    function = _by_symbol.get(name)
    return None if function is None else function.cost
