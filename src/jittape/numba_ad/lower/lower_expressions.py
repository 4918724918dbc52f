"""Expressions of the user's source in structured form."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import types

from jittape.errors import NoGradientError
from jittape.numba_ad.global_arrays import constant_name, has_constant
from jittape.numba_ad.lower.advanced_indexing import Mask, Places
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.function_source import MissingResult, NamedItems, PythonObject, Source
from jittape.numba_ad.lower.known_calls import (
    attribute,
    call_function,
    call_method,
    inlined_function,
    inlined_method,
    known_function,
    known_method,
)
from jittape.numba_ad.lower.lower_subscripts import subscript, tuple_item
from jittape.numba_ad.lower.whole_arrays import Lazy, elementwise, evaluated, matmul
from jittape.numba_ad.scalar_rules import BINARY, COMPARE, UNARY, Rule, constant_power
from jittape.numba_ad.structured_ir import Array, Constant, Value, Where

__all__ = ["REWRITE", "WAYS_OUT", "Expressions", "Frame", "Unusable", "is_scalar", "way_out_of"]

REWRITE = "Rewrite it with loops over elements, or give the function a rule with jt.njit_rule."

_LOOP = "Fill an array in a loop."
_OUTSIDE = "Define the function outside, with @numba.njit, and pass what it reads."
_ARRAYS, _REMOVE = "Use arrays or named tuples.", "Remove the statement."
WAYS_OUT = {
    "FunctionDef": _OUTSIDE, "Lambda": _OUTSIDE, "ListComp": _LOOP, "GeneratorExp": _LOOP, "SetComp": _ARRAYS,
    "DictComp": _ARRAYS, "Dict": _ARRAYS, "Set": _ARRAYS, "Delete": _REMOVE, "Global": _REMOVE, "Nonlocal": _REMOVE,
    "Try": "Test the condition with `if`.", "Match": "Use `if` and `elif`.", "JoinedStr": "Print numbers and literals.",
    "With": "Compute the value before, and pass it as an argument.", "NamedExpr": "Assign the variable before.",
    "Import": "Import the module at the top of the file.", "ImportFrom": "Import the name at the top of the file.",
    "nditer": "Use np.ndindex, or a loop over range for each axis.", "fmod": "Use np.fmod.",
    "inner": "Use np.dot, or x @ y.T for matrices.", "squeeze": "Use a reshape, or index axes of size 1.",
}  # fmt: skip
"""Ways out of unsupported statements, expressions and functions of NumPy and math, by their names."""


def way_out_of(function: Any, name: str) -> str:
    """Return the way out of a call of a function that is not supported."""
    return (
        WAYS_OUT.get(name, REWRITE) if getattr(function, "__module__", "") in ("numpy", "math") else REWRITE
    )


@dataclass(eq=False)
class Unusable:
    """A variable that cannot be read here, and why.

    If it is `undefined`, a branch may leave it so; `merged` tells that one did, so that loops must carry the variable.
    One that is `unset` is an array of generated code, which reads it only in iterations that assign it.
    """

    reason: str
    way_out: str
    undefined: bool = False
    merged: bool = False
    unset: bool = False


@dataclass(eq=False)
class Frame:
    """One inlined call: its source and variables; inside a function of jittape, the user's line that calls it.

    `ahead` are the statements that follow the current one, in each of the lists of statements that contain it.
    """

    source: Source
    variables: dict[str, Any]
    path: tuple[Any, ...]
    loads: dict[str, int] = field(default_factory=dict)
    local_names: frozenset[str] = frozenset()
    line: Where | None = None
    outer: Frame | None = None
    ahead: list[list[ast.stmt]] = field(default_factory=list)


def is_scalar(x: Any) -> bool:
    """Return whether `x` is a number."""
    return isinstance(x, (Value, Constant))


class Expressions:
    """Lowers expressions; a subclass lowers statements and calls."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.frame: Any = None

    def refusal(self, node: ast.AST, reason: str, way_out: str = REWRITE) -> NoGradientError:
        """Return the error for a syntax node."""
        if hasattr(node, "lineno") and self.frame.line is None:
            text = ast.unparse(node).splitlines()[0]
            text = re.sub(r"%(?=[a-z])", "", text)  # names of jumps
            self.builder.where = self.frame.source.where(node.lineno, text)
        return self.builder.refusal(reason, way_out)

    def expression(self, node: ast.expr) -> Any:
        """Return the lowered value of an expression: a scalar, an array, a tuple or a Python object."""
        handler = getattr(self, f"_{type(node).__name__}", None)
        if handler is None:
            name = type(node).__name__
            raise self.refusal(node, f"{name} expressions are not supported", WAYS_OUT.get(name, REWRITE))
        return handler(node)

    def evaluated(self, node: ast.expr) -> Any:
        """Return the value of an expression; that of an array expression is an array."""
        return evaluated(self.builder, self.expression(node))

    def scalar(self, node: ast.expr) -> Any:
        """Return a number."""
        value = self.expression(node)
        if not is_scalar(value):
            raise self.refusal(node, "a number is needed here")
        return value

    def condition(self, node: ast.expr) -> Any:
        """Return a bool that is not an array."""
        return self._truth(node, self.expression(node))

    def _truth(self, node: ast.expr, value: Any) -> Any:
        if isinstance(value, PythonObject) and value.value is None:
            return constant(False)
        if not is_scalar(value):
            raise self.refusal(node, "a condition must be a number or a bool")
        if isinstance(value, Constant):
            return constant(bool(value.value))
        return value

    def wrapped(self, value: Any, node: ast.AST) -> Any:
        """Return a Python object as a lowered value; arrays are constants, as for Numba."""
        if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            if isinstance(value, (np.floating, np.integer, np.bool_)):
                if isinstance(value, np.float32):
                    return Constant(value.item(), types.float32)
                value = value.item()
            return constant(value)
        if isinstance(value, tuple):
            return tuple([self.wrapped(item, node) for item in value])
        if has_constant(value):
            return self.builder.global_array(constant_name(ast.unparse(node), value), value)
        if isinstance(value, (np.ndarray, complex, list, dict, set)):
            raise self.refusal(
                node,
                f"a global or closure variable of type {type(value).__name__}",
                "Pass it as an argument.",
            )
        return PythonObject(value)

    def _Name(self, node: ast.Name) -> Any:
        return self._read(node, self.variable(node))

    def _read(self, node: ast.AST, value: Any) -> Any:
        if isinstance(value, PythonObject) and isinstance(value.value, MissingResult):
            raise self.refusal(node, value.value.reason, value.value.way_out)
        return value

    def variable(self, node: ast.Name) -> Any:
        """Return the value of a variable, which may be a result that must not be read but may be passed on."""
        variables = self.frame.variables
        if node.id in variables:
            value = variables[node.id]
            if isinstance(value, Unusable):
                raise self.refusal(node, value.reason, value.way_out)
            return value
        try:
            if node.id in self.frame.local_names:
                raise KeyError(node.id)
            return self.wrapped(self.frame.source.lookup(node.id), node)
        except (KeyError, ValueError):
            raise self.refusal(
                node, f"the variable {node.id} may not be assigned here", "Assign it before."
            ) from None

    def _Constant(self, node: ast.Constant) -> Any:
        return self.wrapped(node.value, node)

    def _Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._unpacked(node.elts, self._tuple_element))

    def _tuple_element(self, node: ast.expr) -> Any:
        value = self.variable(node) if isinstance(node, ast.Name) else self.expression(node)
        return evaluated(self.builder, value)

    def _List(self, node: ast.List) -> Any:
        """Return a tuple: the methods and the statements that change a list are refused."""
        return tuple(self._unpacked(node.elts, self._tuple_element))

    def _Attribute(self, node: ast.Attribute) -> Any:
        base = self.expression(node.value)
        if isinstance(base, PythonObject):
            try:
                return self.wrapped(getattr(base.value, node.attr), node)
            except AttributeError:
                raise self.refusal(node, f"there is no attribute {node.attr}") from None
        if isinstance(base, NamedItems) and node.attr in base.kind._fields:
            return base[base.kind._fields.index(node.attr)]
        found = attribute(self.builder, evaluated(self.builder, base), node.attr)
        if found is None:
            raise self.refusal(node, f"the attribute {node.attr} is not supported")
        return found

    def _BinOp(self, node: ast.BinOp) -> Any:
        x, y = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.MatMult):
            return matmul(self.builder, x, y)
        if isinstance(x, tuple) and isinstance(y, tuple) and isinstance(node.op, ast.Add):
            return x + y
        return self.binary(node, type(node.op).__name__, x, y)

    def binary(self, node: ast.AST, name: str, x: Any, y: Any) -> Any:
        """Apply a binary operator to numbers and arrays."""
        operands = [x, y]
        if (
            not all(is_scalar(one) or isinstance(one, (Array, Lazy)) for one in operands)
            or name not in BINARY
        ):
            raise self.refusal(node, "the operands must be numbers or arrays")
        rule: Rule = BINARY[name]
        if name == "Pow" and isinstance(y, Constant) and isinstance(y.value, (int, float)):
            rule = constant_power(y.value)
            if is_scalar(x):
                return self.builder.op(rule, operands)
        if all(is_scalar(one) for one in operands):
            return self.builder.binary(name, x, y)
        return elementwise(self.builder, rule, operands)

    def _UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.expression(node.operand)
        rule = UNARY[type(node.op).__name__]
        if isinstance(node.op, ast.Not):
            if isinstance(x, PythonObject):
                return constant(not x.value)
        elif isinstance(node.op, ast.USub) and isinstance(x, Constant):
            return Constant(-x.value, types.int64 if x.type == types.boolean else x.type)
        elif isinstance(x, (Array, Lazy)):
            return elementwise(self.builder, rule, [x])
        if not is_scalar(x):
            raise self.refusal(node, "the operand must be a number or an array")
        return self.builder.op(rule, [x])

    def _Compare(self, node: ast.Compare) -> Any:
        return self._chain(
            node, self.expression(node.left), list(zip(node.ops, node.comparators, strict=True))
        )

    def _chain(self, node: ast.Compare, left: Any, rest: list[tuple[ast.cmpop, ast.expr]]) -> Any:
        """Return a chained comparison; its later expressions are evaluated only if the earlier parts are true."""
        (op, right_node), *following = rest
        right = self.expression(right_node)
        first = self._compared(node, type(op).__name__, left, right)
        if not following:
            return first
        if all(isinstance(one, (ast.Name, ast.Constant)) for _, one in following):
            return self.builder.op(BINARY["BitAnd"], [first, self._chain(node, right, following)])
        return self.choose(
            node,
            self._truth(node, first),
            lambda: self._chain(node, right, following),
            lambda: constant(False),
        )

    def _compared(self, node: ast.AST, name: str, x: Any, y: Any) -> Any:
        if isinstance(x, PythonObject) or isinstance(y, PythonObject):
            values = [one.value if isinstance(one, PythonObject) else one for one in (x, y)]
            if name in ("Is", "Eq", "IsNot", "NotEq"):
                equal = values[0] is values[1] or (
                    isinstance(x, PythonObject) and isinstance(y, PythonObject) and values[0] == values[1]
                )
                return constant(bool(equal) == (name in ("Is", "Eq")))
        if name not in COMPARE:
            raise self.refusal(node, f"the comparison {name} is not supported")
        if (
            isinstance(x, tuple)
            and isinstance(y, tuple)
            and len(x) == len(y)
            and name in ("Eq", "NotEq")
            and x
        ):
            joined: Any = None
            for one, other in zip(x, y, strict=True):
                part = self._compared(node, "Eq", one, other)
                joined = part if joined is None else self.builder.op(BINARY["BitAnd"], [joined, part])
            return joined if name == "Eq" else self.builder.op(UNARY["Not"], [joined])
        if isinstance(x, Constant) and isinstance(y, Constant):
            return constant(bool(COMPARE[name].function(x.value, y.value)))
        if is_scalar(x) and is_scalar(y):
            return self.builder.op(COMPARE[name], [x, y])
        if all(is_scalar(one) or isinstance(one, (Array, Lazy)) for one in (x, y)):
            return elementwise(self.builder, COMPARE[name], [x, y])
        raise self.refusal(node, "the operands must be numbers or arrays")

    def _BoolOp(self, node: ast.BoolOp) -> Any:
        """Return the operand that decides, as Python does; later ones are not evaluated."""
        ends_with = isinstance(node.op, ast.Or)
        first = self.expression(node.values[0])
        if not is_scalar(first):
            first = self._truth(node.values[0], first)
        if len(node.values) == 1:
            return first
        decided = constant(ends_with) if first.type == types.boolean else first
        rest = ast.copy_location(ast.BoolOp(node.op, node.values[1:]), node)
        return self.choose(
            node,
            first,
            lambda: decided if ends_with else self._BoolOp(rest),
            lambda: self._BoolOp(rest) if ends_with else decided,
        )

    def _IfExp(self, node: ast.IfExp) -> Any:
        condition = self.condition(node.test)
        return self.choose(
            node, condition, lambda: self.expression(node.body), lambda: self.expression(node.orelse)
        )

    def choose(self, node: ast.AST, condition: Any, then: Any, orelse: Any) -> Any:
        """Return the value that one of two sides computes."""
        raise NotImplementedError

    def _Subscript(self, node: ast.Subscript) -> Any:
        base = self.evaluated(node.value)
        if isinstance(base, tuple):
            return self._read(node, tuple_item(self, node, base))
        if not isinstance(base, Array):
            raise self.refusal(
                node, "only arrays and tuples can be indexed", "Use arrays in place of lists and dicts."
            )
        array, where = subscript(self, node, base)
        if isinstance(where, (Places, Mask)):
            return where.read(self.builder)
        return array if where is None else self.builder.load(array, where)

    def _Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value)
            if not isinstance(owner, PythonObject):
                arguments, keywords = self._arguments(node)
                inlined = inlined_method(node.func.attr, arguments)
                if inlined is not None and isinstance(owner, (Array, Lazy)):
                    return self.user_call(node, inlined, [owner, *arguments], keywords, is_library=True)
                if not known_method(node.func.attr):
                    raise self.refusal(node, f"the method {node.func.attr} is not supported")
                return call_method(self.builder, owner, node.func.attr, arguments, keywords)
        function = self.expression(node.func)
        if not isinstance(function, PythonObject):
            raise self.refusal(node, "only functions known when the gradient is derived can be called")
        if function.value in (np.array, np.asarray) and node.args and isinstance(node.args[0], ast.ListComp):
            filled = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
            arguments, keywords = self._arguments(filled)
            return call_function(
                self.builder, np.asarray, [self.comprehension(node.args[0]), *arguments], keywords
            )
        arguments, keywords = self._arguments(node)
        if isinstance(function.value, type) and hasattr(function.value, "_fields"):
            return self._named_tuple(node, function.value, arguments, keywords)
        inlined = inlined_function(function.value, arguments)
        if inlined is not None:
            return self.user_call(node, inlined, arguments, keywords, is_library=True)
        if known_function(function.value):
            return call_function(self.builder, function.value, arguments, keywords)
        return self.user_call(node, function.value, arguments, keywords)

    def _named_tuple(
        self, node: ast.Call, kind: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> NamedItems:
        items = dict(zip(kind._fields, arguments, strict=False)) | keywords
        for field_name, value in kind._field_defaults.items():
            items.setdefault(field_name, self.wrapped(value, node))
        if sorted(items) != sorted(kind._fields) or len(arguments) > len(kind._fields):
            raise self.refusal(
                node, f"{kind.__name__} has the fields {', '.join(kind._fields)}", "Pass each."
            )
        return NamedItems.of(kind, [evaluated(self.builder, items[name]) for name in kind._fields])

    def comprehension(self, node: ast.ListComp) -> Any:
        """Return an array, or a tuple, of the items of a list comprehension."""
        raise NotImplementedError

    def user_call(
        self,
        node: ast.Call,
        function: Any,
        arguments: list[Any],
        keywords: dict[str, Any],
        is_library: bool = False,
    ) -> Any:
        """Return the result of a call of another function of the user, or of one of `inlined_functions`."""
        raise NotImplementedError

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        arguments = self._unpacked(node.args, self.expression)
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.refusal(node, "**keywords are not supported", "Pass each argument.")
        return arguments, {str(keyword.arg): self.expression(keyword.value) for keyword in node.keywords}

    def _unpacked(self, nodes: list[ast.expr], value: Any) -> list[Any]:
        """Return the values of expressions; a tuple that has a star gives its items."""
        found: list[Any] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(value(node))
                continue
            items = self.expression(node.value)
            if not isinstance(items, tuple):
                raise self.refusal(node, "only a tuple can be unpacked", "Write each item.")
            found.extend(items)
        return found
