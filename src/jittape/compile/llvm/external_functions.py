"""Scalar functions that come as LLVM IR from elsewhere, and how a kernel calls them.

Each is known by its *code*, a hash of its text. The code is a parameter of the op and so a part of the text of every
kernel that calls it: another version of the function is another kernel, in memory and on disk. The text is linked into
the module of the kernel, where LLVM inlines it into the loop.

The functions of the C library that it calls are replaced by jittape's own, as else no such loop would vectorize: a
million values and gradients of ``exp(-0.5 * x * x)`` take 0.4 ms instead of 2.6.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import NATIVE_FLOATS
from jittape.core.tuning import tuning
from jittape.vectormath.counting_math import CountedValue, CountingMath
from jittape.vectormath.machine_math import NotInLanes

__all__ = ["Linked", "call_linked", "linked", "register", "used_by"]

PLACEHOLDER = "jittape_linked_function"
"""What the function is called in a text that is given to `register`."""


_SAME = (
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "lgamma",
    "log",
    "log10",
    "log1p",
)
_ALSO_SAME = ("log2", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")
_INVERSE = {"acos": "arccos", "asin": "arcsin", "atan": "arctan"}
_BINARY = {"atan2": "arctan2", "pow": "power"}
_C_NAMES = {**{name: name for name in (*_SAME, *_ALSO_SAME)}, **_INVERSE, **_BINARY}
"""Functions of the C library, and LLVM's intrinsics of these names; what they are called in a `MathNamespace`."""
_FLOATS = {f"f{8 * dtype.itemsize}": dtype for dtype in NATIVE_FLOATS}
_OWN = re.compile(r"@(jittape_math_(\w+)_(f32|f64))\(")


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
    def math(self) -> dict[str, tuple[str, str]]:
        """The functions of jittape's that it calls: by symbol the name and the suffix of the dtype."""
        return {symbol: (name, suffix) for symbol, name, suffix in _OWN.findall(self.text)}

    @property
    def symbol(self) -> str:
        """Its name in a module."""
        return f"jittape_linked_{self.code}"


_known: dict[str, Linked] = {}
_by_symbol: dict[str, Linked] = {}


def register(text: str, returns: np.dtype[Any], result: np.dtype[Any]) -> Linked:
    """Make a function known; in `text` it is called `PLACEHOLDER`."""
    text = _with_own_math(text)
    digest = hashlib.blake2b(f"{result}\n{text}".encode(), digest_size=12).hexdigest()
    cost = len(re.findall(r"^  \S", text, re.MULTILINE)) + tuning.math_function_cost * len(
        re.findall(r"call .*@jittape_math_", text)
    )
    function = Linked(digest, text, returns, result, cost)
    function = Linked(digest, text.replace(PLACEHOLDER, function.symbol), returns, result, cost)
    function = _known.setdefault(digest, function)
    _by_symbol[function.symbol] = function
    return function


def _with_own_math(text: str) -> str:
    """`text` with calls of jittape's functions in place of the C library's."""
    for theirs, ours in _C_NAMES.items():
        for name, suffix in (
            (f"llvm.{theirs}.f64", "f64"),
            (f"llvm.{theirs}.f32", "f32"),
            (theirs, "f64"),
            (f"{theirs}f", "f32"),
        ):
            text = text.replace(f"@{name}(", f"@jittape_math_{ours}_{suffix}(")
    # What was known of the C library's function is not known of this one.
    return re.sub(r"^(declare .*@jittape_math_\w+\([^)]*\)).*$", r"\1", text, flags=re.MULTILINE)


def linked(code: str) -> Linked:
    """The function of that code."""
    return _known[code]


def call_linked(m: Any, *operands: Any, code: str) -> Any:
    """Call the function of that code: the expression of a `Map`."""
    if any(operand.lanes for operand in operands):
        raise NotInLanes("functions from elsewhere")
    function = _known[code]
    if isinstance(m, CountingMath):
        m.cost += function.cost
        value: Any = CountedValue(m, function.returns)
    else:
        value = _emit_call(m, function, operands)
    return m.cast(value, function.result)


def _emit_call(m: IRMath, function: Linked, operands: Sequence[IRValue]) -> IRValue:
    kinds = [operand.ir.type for operand in operands]
    module = m.builder.module
    declared = module.globals.get(function.symbol)
    if declared is None:
        kind = ir.FunctionType(llvm_type(function.returns), kinds)
        declared = ir.Function(module, kind, function.symbol)
        for symbol, (name, suffix) in function.math.items():
            _define_math(module, symbol, name, _FLOATS[suffix], 2 if name in _BINARY.values() else 1)
    value = m.builder.call(declared, [operand.ir for operand in operands])
    return IRValue(m.builder, value, function.returns)


def _define_math(module: ir.Module, symbol: str, name: str, dtype: np.dtype[Any], count: int) -> None:
    """Write a function of jittape's, to be inlined, if it is not there yet."""
    if symbol in module.globals:
        return
    kind = llvm_type(dtype)
    function = ir.Function(module, ir.FunctionType(kind, [kind] * count), symbol)
    function.linkage = "weak_odr"  # the text that is linked in refers to it
    function.attributes.add("alwaysinline")
    builder = Builder(function.append_basic_block("entry"))
    value: IRValue = getattr(IRMath(builder), name)(*[IRValue(builder, x, dtype) for x in function.args])
    builder.ret(value.ir)


def used_by(module: ir.Module) -> list[Linked]:
    """The functions that a module calls."""
    return [_by_symbol[name] for name in module.globals if name in _by_symbol]
