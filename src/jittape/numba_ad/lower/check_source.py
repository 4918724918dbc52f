"""Check of a function before the types of its arguments are known: for code that has no gradient for any types.

Code that may be dead is not judged: a branch on something that the types may decide, and what follows if it may return.
"""

from __future__ import annotations

import ast
import sys
import types
from typing import Any

import numpy as np
from numba.extending import is_jitted

from jittape.errors import NoGradientError
from jittape.numba_ad.global_arrays import has_constant
from jittape.numba_ad.lower.build_ir import Builder
from jittape.numba_ad.lower.control_flow import always_returns, assigned_names, without_loop_else
from jittape.numba_ad.lower.function_source import PythonObject, Source, read_source
from jittape.numba_ad.lower.known_calls import (
    ATTRIBUTES,
    WAY_OUT,
    inlined_function,
    is_known_form,
    is_scalar_function,
    known_function,
    known_method,
)
from jittape.numba_ad.lower.lower_expressions import REWRITE, WAYS_OUT, way_out_of
from jittape.numba_ad.lower.lower_loops import Loops
from jittape.numba_ad.structured_ir import Where
from jittape.numba_ad.user_rules import rule_of

__all__ = ["check_source"]

JUMPS = (ast.Return, ast.Break, ast.Continue)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
ATTRIBUTES_OF_TYPES = ("ndim", "shape", "size", "dtype", "itemsize")
METHODS_OF_CONTAINERS = ("append", "extend", "insert", "pop", "remove", "keys", "values", "items", "update")
ITERATORS = ("enumerate", "zip", "ndindex", "ndenumerate")
"""Functions that loops run over."""
CONSTANTS = (np.ndarray, complex, list, dict, set)
"""Types of global values that generated code cannot contain, except of arrays that it can."""


def check_source(function: Any, purpose: str) -> None:
    """Raise NoGradientError for the first statement or call of an ``@njit`` function that no types make derivable."""
    if rule_of(function) is not None:
        return
    _Check(purpose).function(function)


class _Check:
    """The check of a function and of those that it calls."""

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose
        self.builder = Builder(purpose)
        self.active: list[Any] = []
        self.done: set[Any] = set()

    def function(self, function: Any) -> None:
        """Check a function, once."""
        python = function.py_func
        if python in self.done:
            return
        self.done.add(python)
        source = read_source(function, self.purpose)
        self.active.append(python)
        _Body(self, source).run()
        self.active.pop()

    def refusal(self, source: Source, node: ast.AST, reason: str, way_out: str = REWRITE) -> NoGradientError:
        """Return the error for a syntax node."""
        line = getattr(node, "lineno", source.first)
        self.builder.where = Where(source.file, line, ast.unparse(node).splitlines()[0])
        return self.builder.refusal(reason, way_out)


class _Body:
    """The check of the statements of one function."""

    def __init__(self, check: _Check, source: Source) -> None:
        self.check = check
        self.source = source
        arguments = source.tree.args
        self.local_names = {
            *source.parameters,
            *assigned_names(source.tree.body),
            *source.local_functions,
        }
        self.given = set(source.parameters[: len(source.parameters) - len(arguments.defaults)])
        self.given -= set(assigned_names(source.tree.body))

    def run(self) -> None:
        """Check the whole body, and that either all paths return a value or none does."""
        self._refuse_unknown_bytecode()
        self.statements(self.source.tree.body)
        body = self.source.tree.body
        if always_returns(body) or always_returns(without_loop_else(body)):
            return
        returns = [n for n in ast.walk(self.source.tree) if isinstance(n, ast.Return) and n.value is not None]
        if returns:
            self.refuse(returns[0], "another path returns None", "Return a value on every path.")

    def refuse(self, node: ast.AST, reason: str, way_out: str = REWRITE) -> None:
        """Raise the error for a syntax node."""
        raise self.check.refusal(self.source, node, reason, way_out)

    def _refuse_statement(self, statement: ast.stmt) -> None:
        name = type(statement).__name__
        self.refuse(statement, f"the statement {name} is not supported", WAYS_OUT.get(name, REWRITE))

    def _refuse_unknown_bytecode(self) -> None:
        """Refuse statements that Numba compiles nowhere, not even in code that is dead."""
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Delete) and any(isinstance(one, ast.Name) for one in node.targets):
                self._refuse_statement(node)
            if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Store):
                self.refuse(
                    node, "a variable with a star cannot be assigned", "Slice the tuple or the array."
                )

    def statements(self, body: list[ast.stmt]) -> None:
        """Check statements up to the first one after which the rest may be dead."""
        for statement in body:
            self._statement(statement)
            if isinstance(statement, (*JUMPS, ast.Raise)) or self._may_end_in(statement):
                return

    def _may_end_in(self, statement: ast.stmt) -> bool:
        """Return whether a branch that the types may decide may leave the statements after it."""
        if not isinstance(statement, ast.If) or self._depends_on_values(statement.test):
            return False
        return any(isinstance(node, (*JUMPS, ast.Raise)) for node in ast.walk(statement))

    def _statement(self, statement: ast.stmt) -> None:
        name = type(statement).__name__
        if not isinstance(statement, JUMPS) and not hasattr(Loops, f"_{name}"):
            self._refuse_statement(statement)
        if isinstance(statement, (ast.Raise, ast.Assert)):
            return
        for target in _targets(statement):
            if isinstance(target, ast.Attribute):
                self.refuse(target, "only variables and elements of arrays can be assigned")
        if isinstance(statement, ast.If):
            self._expression(statement.test)
            if self._depends_on_values(statement.test):
                self.statements(statement.body)
                self.statements(statement.orelse)
        elif isinstance(statement, ast.While):
            self._expression(statement.test)
            if self._depends_on_values(statement.test) or getattr(statement.test, "value", False):
                self.statements(statement.body)
        elif isinstance(statement, ast.For):
            self._expression(statement.iter)
            if isinstance(statement.iter, ast.Call) and ast.unparse(statement.iter.func).endswith("range"):
                self.statements(statement.body)
        else:
            for node in ast.iter_child_nodes(statement):
                if isinstance(node, ast.expr) and node is not getattr(statement, "annotation", None):
                    self._expression(node)

    def _depends_on_values(self, test: ast.expr) -> bool:
        """Return whether a condition certainly depends on the values of arguments, not only on types."""
        if isinstance(test, ast.BoolOp):
            return all(map(self._depends_on_values, test.values))
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._depends_on_values(test.operand)
        if not isinstance(test, ast.Compare) or not all(isinstance(op, COMPARISONS) for op in test.ops):
            return False
        sides = [test.left, *test.comparators]
        if any(isinstance(op, (ast.Eq, ast.NotEq)) for op in test.ops) and not any(map(_is_number, sides)):
            return False
        nodes = [node for side in sides for node in ast.walk(side)]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        if not all(map(self._is_of_numbers, calls)) or any(_is_of_types(node) for node in nodes):
            return False
        return any(isinstance(n, ast.Name) and n.id in self.given for n in nodes)

    def _is_of_numbers(self, call: ast.Call) -> bool:
        """Return whether a call computes a number from numbers."""
        found = self._resolved(call.func)
        return found is not None and is_scalar_function(found.value)

    # ---- expressions -----------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> None:
        """Check an expression; of one that may be evaluated in part, the part that is."""
        name = type(node).__name__
        if name in WAYS_OUT and not hasattr(Loops, f"_{name}"):
            self.refuse(node, f"{name} expressions are not supported", WAYS_OUT[name])
        if isinstance(node, (ast.Name, ast.Constant)):
            self._value(node)
        elif isinstance(node, ast.Attribute):
            if self._resolved(node) is None:
                self._expression(node.value)
                if node.attr not in ATTRIBUTES and self._is_array(node.value):
                    self.refuse(node, f"the attribute {node.attr} is not supported")
        elif isinstance(node, ast.BoolOp):
            self._expression(node.values[0])
        elif isinstance(node, ast.IfExp):
            self._expression(node.test)
            if self._depends_on_values(node.test):
                self._expression(node.body)
                self._expression(node.orelse)
        else:
            for part in ast.iter_child_nodes(node):
                inner = part.value if isinstance(part, (ast.Starred, ast.keyword)) else part
                is_function = isinstance(node, ast.Call) and part is node.func
                if is_function and isinstance(part, ast.Attribute) and self._resolved(part) is None:
                    inner = part.value  # `_method` checks the name
                is_items = isinstance(inner, ast.ListComp) and self._makes_array(node)
                if isinstance(inner, ast.expr) and not isinstance(inner, ast.Slice) and not is_items:
                    self._expression(inner)
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
                name = type(node.ops[0]).__name__
                self.refuse(node, f"the comparison {name} is not supported")

    def _makes_array(self, node: ast.expr) -> bool:
        """Return whether an expression calls `np.array`, which fills an array by a list comprehension."""
        found = self._resolved(node.func) if isinstance(node, ast.Call) else None
        return found is not None and found.value in (np.array, np.asarray)

    def _value(self, node: ast.Name | ast.Constant) -> None:
        """Refuse a literal or a global value that generated code cannot contain."""
        if isinstance(node, ast.Constant):
            value: Any = node.value
        elif node.id in self.local_names:
            return
        else:
            try:
                value = self.source.lookup(node.id)
            except KeyError:
                if not _may_come_later(self.source.function, node.id):
                    self.refuse(
                        node, f"the name {node.id} is not defined", "Define it before the gradient is made."
                    )
                return
            except ValueError:  # an empty cell: a function that is defined later
                return
        if isinstance(node, ast.Constant) and isinstance(value, complex):
            self.refuse(node, "complex numbers are not supported", "Use real and imaginary parts.")
        if isinstance(value, CONSTANTS) and not has_constant(value):
            self.refuse(
                node,
                f"a global or closure variable of type {type(value).__name__}",
                "Pass it as an argument.",
            )

    def _resolved(self, node: ast.expr) -> PythonObject | None:
        """Return the object that a global name, or an attribute of a module, has now; None for all else."""
        if isinstance(node, ast.Name) and node.id not in self.local_names:
            try:
                return PythonObject(self.source.lookup(node.id))
            except (KeyError, ValueError):
                return None
        if isinstance(node, ast.Attribute):
            base = self._resolved(node.value)
            if base is not None and isinstance(base.value, types.ModuleType):
                if not hasattr(base.value, node.attr):
                    self.refuse(node, f"there is no attribute {node.attr}")
                return PythonObject(getattr(base.value, node.attr))
        return None

    def _is_array(self, node: ast.expr) -> bool:
        """Return whether an expression is an array or a number for all types: not a tuple with names."""
        if isinstance(node, ast.Call):
            found = self._resolved(node.func)
            return found is not None and known_function(found.value)
        return isinstance(node, ast.Compare) or (not isinstance(node, ast.Constant) and _is_number(node))

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        """Check a call of a method of an array, or of a function of a module that may be imported later."""
        name, root = function.attr, _root_name(function)
        if known_method(name):
            if root is None or root in self.local_names:
                self._form(node, name, f"the method {name}")
            return
        of_container = name in METHODS_OF_CONTAINERS
        if of_container or root is None or root in self.local_names:
            way_out = "Use arrays in place of lists and dicts." if of_container else REWRITE
            self.refuse(node, f"the method {name} is not supported", way_out)

    def _form(self, node: ast.Call, function: Any, shown: str) -> None:
        """Refuse arguments that no form of a function takes."""
        names = {keyword.arg for keyword in node.keywords}
        if None in names or any(isinstance(x, ast.Starred) for x in node.args):
            return
        if not is_known_form(function, len(node.args), names):  # type: ignore[arg-type]
            self.refuse(node, f"this form of {shown} is not supported", WAY_OUT)

    def _call(self, node: ast.Call) -> None:
        found = self._resolved(node.func)
        if found is None:
            if isinstance(node.func, ast.Attribute):
                self._method(node, node.func)
            return
        function = found.value
        if known_function(function):
            self._form(node, function, f"{getattr(function, '__name__', function)}")
        if (
            known_function(function)
            or inlined_function(function, [None]) is not None
            or hasattr(function, "derived")
            or rule_of(function) is not None
            or (isinstance(function, type) and hasattr(function, "_fields"))
            or (getattr(function, "__module__", None) or "").startswith("jittape.")
        ):
            return
        function = getattr(function, "dispatcher", function)  # of a `numba_op`
        if not is_jitted(function):
            name = getattr(function, "__name__", type(function).__name__)
            if not ast.unparse(node.func).endswith("range") and name not in ITERATORS:
                self.refuse(node, f"the derivative of {name} is unknown", way_out_of(function, name))
        else:
            if function.py_func in self.check.active:
                self.refuse(node, "recursion is not supported", "Write a loop.")
            self.check.function(function)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For)) else []


def _root_name(node: ast.expr) -> str | None:
    """Return the name whose attribute is meant; None for an attribute of another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression can only be a number or an array: a literal, or arithmetic."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    return isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Mult))  # as of tuples


def _is_of_types(node: ast.AST) -> bool:
    """Return whether the types of arguments may decide the value of an expression."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, (str, bool))
    return isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES_OF_TYPES


def _may_come_later(function: Any, name: str) -> bool:
    """Return whether the code of the function's module, which runs now, may define `name` later."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals is function.__globals__ and frame.f_code.co_name == "<module>":
            return name in frame.f_code.co_names
        frame = frame.f_back
    return False
