"""External scalar functions, given as LLVM IR, and their calls in kernels.

A function is identified by its *code*, a hash of its text. The code is a parameter of the op and so a part of the text
of every kernel that calls the function: another version of the function creates another kernel, in memory and on disk.
The text is linked into the module of the kernel, where LLVM inlines it into the loop.

Calls of the C library are replaced by jittape's own mathematics, since LLVM cannot vectorize a loop that calls the
library: a million values and gradients of ``exp(-0.5 * x * x)`` take 0.4 ms instead of 2.6.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from jittape.compile.ir.hashes import blake2b
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.dtypes import NATIVE_FLOATS
from jittape.core.tuning import tuning
from jittape.value_classes import value_class
from jittape.vectormath.counting_math import CountedValue, CountingMath
from jittape.vectormath.machine_math import NotInLanes

__all__ = ["PLACEHOLDER", "ExternalFunction", "call_external", "external_function", "register", "used_by"]

PLACEHOLDER = "jittape_linked_function"
"""Name of the function in a text that is given to `register`."""


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
"""Names in a `MathNamespace` of the C library's functions and of LLVM's intrinsics."""
_FLOATS = {f"f{8 * dtype.itemsize}": dtype for dtype in NATIVE_FLOATS}
_OWN = re.compile(r"@(jittape_math_(\w+)_(f32|f64))\(")


@value_class
class ExternalFunction:
    """An external function.

    Attributes
    ----------
    code : str
        The hash that identifies it.
    text : str
        A module in LLVM's assembly that defines it and the functions that it calls.
    returns : dtype
        Dtype that the function returns.
    result : dtype
        Dtype of the op's result.
    cost : int
        Number of instructions.
    """

    code: str
    text: str
    returns: np.dtype[Any]
    result: np.dtype[Any]
    cost: int

    @property
    def math(self) -> dict[str, tuple[str, str]]:
        """Jittape's functions that it calls: by symbol, the name and the suffix of the dtype."""
        return {symbol: (name, suffix) for symbol, name, suffix in _OWN.findall(self.text)}

    @property
    def symbol(self) -> str:
        """Its name in a module."""
        return f"jittape_linked_{self.code}"


_known: dict[str, ExternalFunction] = {}
_by_symbol: dict[str, ExternalFunction] = {}


def register(text: str, returns: np.dtype[Any], result: np.dtype[Any]) -> ExternalFunction:
    """Register a function, which is named `PLACEHOLDER` in `text`."""
    text = _with_own_math(text)
    digest = blake2b(f"{result}\n{text}".encode(), digest_size=12).hexdigest()
    cost = len(re.findall(r"^  \S", text, re.MULTILINE)) + tuning.math_function_cost * len(
        re.findall(r"call .*@jittape_math_", text)
    )
    function = ExternalFunction(digest, text, returns, result, cost)
    function = ExternalFunction(digest, text.replace(PLACEHOLDER, function.symbol), returns, result, cost)
    function = _known.setdefault(digest, function)
    _by_symbol[function.symbol] = function
    return function


def _with_own_math(text: str) -> str:
    """Return `text` with calls of jittape's functions in place of the C library's."""
    for theirs, ours in _C_NAMES.items():
        for name, suffix in (
            (f"llvm.{theirs}.f64", "f64"),
            (f"llvm.{theirs}.f32", "f32"),
            (theirs, "f64"),
            (f"{theirs}f", "f32"),
        ):
            text = text.replace(f"@{name}(", f"@jittape_math_{ours}_{suffix}(")
    # The attributes of the C library's function may not hold for jittape's.
    return re.sub(r"^(declare .*@jittape_math_\w+\([^)]*\)).*$", r"\1", text, flags=re.MULTILINE)


def external_function(code: str) -> ExternalFunction:
    """Return the function with that code."""
    return _known[code]


def call_external(m: Any, *operands: Any, code: str) -> Any:
    """Emit a call: the expression of a `Map`."""
    if any(operand.lanes for operand in operands):
        raise NotInLanes("external functions")
    function = _known[code]
    if isinstance(m, CountingMath):
        m.cost += function.cost
        value: Any = CountedValue(m, function.returns)
    else:
        value = _emit_call(m, function, operands)
    return m.cast(value, function.result)


def _emit_call(m: IRMath, function: ExternalFunction, operands: Sequence[IRValue]) -> IRValue:
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
    """Emit one of jittape's functions, to be inlined, unless the module has it."""
    if symbol in module.globals:
        return
    kind = llvm_type(dtype)
    function = ir.Function(module, ir.FunctionType(kind, [kind] * count), symbol)
    function.linkage = "weak_odr"  # the text that is linked in refers to it
    function.attributes.add("alwaysinline")
    builder = Builder(function.append_basic_block("entry"))
    value: IRValue = getattr(IRMath(builder), name)(*[IRValue(builder, x, dtype) for x in function.args])
    builder.ret(value.ir)


def used_by(module: ir.Module) -> list[ExternalFunction]:
    """Return the external functions that a module calls."""
    return [_by_symbol[name] for name in module.globals if name in _by_symbol]
