"""Statements of the user's source in structured form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from numba import types

from jittape.numba_ad.lower.advanced_indexing import Mask, Places
from jittape.numba_ad.lower.array_names import TupleItems
from jittape.numba_ad.lower.build_ir import Builder, constant, undefined
from jittape.numba_ad.lower.control_flow import VALUE
from jittape.numba_ad.lower.function_source import NamedItems, PythonObject
from jittape.numba_ad.lower.lower_expressions import REWRITE, WAYS_OUT, Expressions, Unusable, is_scalar
from jittape.numba_ad.lower.lower_subscripts import subscript
from jittape.numba_ad.lower.merged_arrays import merged_arrays
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.lower.whole_arrays import assign, evaluated
from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
)
from jittape.numba_ad.tape_support import reserve

__all__ = ["REBOUND", "Statements", "no_value"]

JUMPS = (ast.Return, ast.Break, ast.Continue)

CHOICE = "%choice"
"""Name of the value of ``x if c else y`` while its two sides are joined; user's names do not begin like this."""

REBOUND = "Write into the array, as in `u[:] = v`, or use another name."


class Statements(Expressions):
    """Lowers statements into the current block."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.carried_types: dict[Any, dict[str, Any]] = {}

    def run(self, body: list[ast.stmt]) -> None:
        """Lower statements."""
        ahead = self.frame.ahead
        for position, statement in enumerate(body):
            ahead.append(body[position + 1 :])
            source = self.frame.source
            if self.frame.line is None:
                self.builder.where = source.where(statement.lineno)
            self._handler(statement)(statement)
            ahead.pop()

    def _handler(self, statement: ast.stmt) -> Callable[[Any], None]:
        name = type(statement).__name__
        handler: Callable[[Any], None] | None = getattr(self, f"_{name}", None)
        if handler is None:
            raise self.refusal(
                statement, f"the statement {name} is not supported", WAYS_OUT.get(name, REWRITE)
            )
        return handler

    def check_statements(self, tree: ast.FunctionDef) -> None:
        """Refuse the first statement of a function that is not supported; jumps are rewritten before."""
        for statement in (one for part in tree.body for one in ast.walk(part)):
            if isinstance(statement, ast.stmt) and not isinstance(statement, JUMPS):
                self._handler(statement)

    def _Pass(self, statement: ast.Pass) -> None:
        """Do nothing."""

    def _Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.expression(statement.value)

    def _Raise(self, statement: ast.Raise) -> None:
        bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} & set(self.frame.variables)
        if bound:
            raise self.refusal(
                statement, "an exception with variables is not supported", "Raise it with a literal message."
            )
        text = ast.unparse(statement).replace("{", "{{").replace("}", "}}")
        self.builder.effect(text, [])

    def _Assert(self, statement: ast.Assert) -> None:
        condition = self.condition(statement.test)
        function = self.frame.source.function
        if (
            function.__module__.startswith("jittape.numba_ad.inlined.")
            and isinstance(condition, Constant)
            and not condition.value
        ):
            raise self.refusal(
                statement,
                f"this form of {function.__name__} is not supported",
                "Write it with loops over elements.",
            )
        message = ast.unparse(statement.msg) if isinstance(statement.msg, ast.Constant) else ""
        self.builder.effect(f"if not {{0}}: raise AssertionError({message})", [condition])

    def _AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._assign(statement.target, self.expression(statement.value))

    def is_resize(self, statement: ast.Assign) -> bool:
        """Return whether generated code enlarges a stack: ``stack = reserve(stack, used, wanted)``."""
        target, call = statement.targets[0], statement.value
        if not (
            isinstance(target, ast.Name) and isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        ):
            return False
        name = call.func.id
        return name == "reserve" and self.frame.source.function.__globals__.get(name) is reserve

    def _Assign(self, statement: ast.Assign) -> None:
        if self.is_resize(statement):
            array, *operands = [self.expression(one) for one in statement.value.args]  # type: ignore[attr-defined]
            self.builder.resize(array, operands)
            return
        value = self.expression(statement.value)
        if not isinstance(statement.targets[0], ast.Subscript):
            value = evaluated(self.builder, value, getattr(statement.targets[0], "id", "t"))
        for target in statement.targets:
            self._assign(target, value)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.frame.variables[target.id] = evaluated(self.builder, value, target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, Array):
                indices = [constant(i) for i in range(len(target.elts))]
                if value.type.ndim != 1:
                    raise self.refusal(target, "only vectors can be unpacked", "Index the array.")
                value = tuple([self.builder.load(value, [i]) for i in indices])
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                raise self.refusal(
                    target, f"the value is not a tuple of {len(target.elts)} items", "Assign each item."
                )
            for one, item in zip(target.elts, value, strict=True):
                self._assign(one, item)
        elif isinstance(target, ast.Subscript):
            self._store(target, value)
        else:
            raise self.refusal(target, "only variables and elements of arrays can be assigned")

    def _store(self, target: ast.Subscript, value: Any) -> None:
        array, indices = self._target(target)
        if isinstance(value, tuple):
            value = self._as_array(target, value)
        if isinstance(indices, (Mask, Places)):
            indices.write(self.builder, value)
        elif indices is None:
            assign(self.builder, array, value)
        elif is_scalar(value):
            self.builder.store(array, indices, value)
        else:
            raise self.refusal(target, "a number is needed here", "Use a slice as the target.")

    def _target(self, target: ast.Subscript) -> tuple[Array, list[Any] | Places | Mask | None]:
        """Return the array and the indices of an element that is assigned, a view and None, or a selection."""
        base = self.expression(target.value)
        if not isinstance(base, Array):
            raise self.refusal(target, "only elements of arrays can be assigned", "Use an array.")
        return subscript(self, target, base)

    def _as_array(self, target: ast.AST, items: tuple[Any, ...]) -> Array:
        if not items or not all(is_scalar(item) for item in items):
            raise self.refusal(
                target, "only tuples of numbers can be stored in an array", "Assign each element."
            )
        kind = types.float64 if any(is_float(item.type) for item in items) else items[0].type
        array = self.builder.alloc("row", kind, [constant(len(items))])
        for position, item in enumerate(items):
            self.builder.store(array, [constant(position)], item)
        return array

    def _AugAssign(self, statement: ast.AugAssign) -> None:
        name, target = type(statement.op).__name__, statement.target
        sign = {"Add": "+", "Sub": "-"}.get(name, "")
        if isinstance(target, ast.Name):
            current = self._Name(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            value = self.expression(statement.value)
            if not isinstance(current, Array):
                self._assign(target, self.binary(statement, name, current, value))
            else:
                self._update(statement, current, value, sign)
            return
        if not isinstance(target, ast.Subscript):
            raise self.refusal(statement, "only variables and elements of arrays can be updated")
        array, indices = self._target(target)
        if isinstance(indices, (Mask, Places)):
            current = indices.read(self.builder)
            value = evaluated(self.builder, self.expression(statement.value))
            indices.write(self.builder, self.binary(statement, name, current, value))
            return
        floats = is_float(array.type.dtype)
        if indices is None:
            self._update(statement, array, self.expression(statement.value), sign if floats else "")
            return
        current, epoch = self.builder.load(array, indices), array.root.epoch
        value = self.expression(statement.value)
        if sign and floats and is_scalar(value) and array.root.epoch == epoch:
            self.builder.store(array, indices, value, sign)
        else:  # a function that the value calls may have written the array
            self.builder.store(array, indices, self.binary(statement, name, current, value))

    def _update(self, statement: ast.AugAssign, array: Array, value: Any, sign: str) -> None:
        """Update all elements of an array; an operand that is a view of the array changes meanwhile, as in Numba."""
        buffered = not isinstance(value, Array)
        if not sign:
            value = self.binary(statement, type(statement.op).__name__, array, value)
        assign(self.builder, array, value, sign, buffered)

    def _If(self, statement: ast.If) -> None:
        condition = self.condition(statement.test)
        if isinstance(condition, Constant):
            self.run(statement.body if condition.value else statement.orelse)
            return
        builder, before, where = self.builder, self.frame.variables, self.builder.where
        after, reads = [], builder.unchanged_reads()
        blocks = builder.new_block(), builder.new_block()
        for block, body in zip(blocks, (statement.body, statement.orelse), strict=True):
            self.frame.variables = dict(before)
            builder.repeat_reads(block, reads)
            builder.inside(block, partial(self.run, body))
            after.append(self.frame.variables)
        builder.where = where
        ends = [_ends_in_raise(body) for body in (statement.body, statement.orelse)]
        self._join(condition, blocks, after, ends)

    def choose(self, node: ast.AST, condition: Any, then: Any, orelse: Any) -> Any:
        """Return the value that one of two sides computes."""
        if isinstance(condition, Constant):
            return then() if condition.value else orelse()
        builder = self.builder
        blocks = builder.new_block(), builder.new_block()
        values = [builder.inside(block, side) for block, side in zip(blocks, (then, orelse), strict=True)]
        if all(is_scalar(value) for value in values):
            result = builder.if_phi(builder.branch(condition, *blocks), "choice", *values)
            if result is None:
                raise self.refusal(node, "the two sides have different types")
            return result
        after = []
        for block, value in zip(blocks, values, strict=True):
            found = builder.inside(block, partial(evaluated, builder, value, "choice"))
            after.append({**self.frame.variables, CHOICE: found})
        self._join(condition, blocks, after, [False, False])
        chosen = self.frame.variables.pop(CHOICE)
        if isinstance(chosen, Unusable):
            raise self.refusal(
                node, "the two sides are arrays or tuples of different kinds", "Use an if statement."
            )
        return chosen

    def _join(
        self, condition: Any, blocks: tuple[Block, Block], after: list[dict[str, Any]], ends: list[bool]
    ) -> None:
        """Append a branch; variables have the values `after` the side that runs, unless that side `ends` the run."""
        builder = self.builder
        self.frame.variables = {}
        tuples = TupleItems.common(*after)
        after = [tuples.split(one) for one in after]
        sides = [(block, one) for block, one, end in zip(blocks, after, ends, strict=True) if not end]
        merged = merged_arrays(self, sides, no_value)
        branch = builder.branch(condition, *blocks)
        for name in [*after[0], *[name for name in after[1] if name not in after[0]]]:
            one, other = after[0].get(name), after[1].get(name)
            if name in merged:
                one = other = merged[name]
            elif ends[0]:
                one = other
            elif ends[1]:
                other = one
            self.frame.variables[name] = self._merged(
                name, one, other, lambda n, a, b: builder.if_phi(branch, n, a, b)
            )
        tuples.join(self.frame.variables)

    def _merged(self, name: str, one: Any, other: Any, phi: Callable[[str, Any, Any], Any]) -> Any:
        """Return a variable that has one of two values; None stands for an undefined one."""
        if one is other or (isinstance(one, PythonObject) and one == other):
            return one
        one, other = _undefined_items(other, one), _undefined_items(one, other)
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            items = tuple([self._merged(name, a, b, phi) for a, b in zip(one, other, strict=True)])
            named = isinstance(one, NamedItems) and isinstance(other, NamedItems) and one.kind is other.kind
            return NamedItems.of(one.kind, items) if named else items  # type: ignore[attr-defined]
        for start in (one, other):
            if isinstance(start, Unusable):
                start.merged = True
        pair = [
            undefined(b.type) if no_value(a) and is_scalar(b) else a for a, b in ((one, other), (other, one))
        ]
        if all(is_scalar(value) for value in pair):
            if all(isinstance(v, Constant) for v in pair) and repr(pair[0].value) == repr(pair[1].value):
                return pair[0]
            merged = phi(name, *pair)
            if merged is not None:
                return merged
        shown = "the result" if name.startswith(VALUE) else name.partition(".")[0]
        return Unusable(f"{shown} is another array or has another type on another path", REBOUND)


def _undefined_items(given: Any, value: Any) -> Any:
    """Return a value; in place of an undefined one, a tuple of undefined numbers if the `given` one has numbers."""
    if not isinstance(given, tuple) or not (given and no_value(value)):
        return value
    if isinstance(value, Unusable):
        value.merged = True
    items = [_undefined_items(item, None) for item in given]
    kept = all(is_scalar(item) or isinstance(found, tuple) for item, found in zip(given, items, strict=True))
    if not kept:
        return value
    return NamedItems.of(given.kind, items) if isinstance(given, NamedItems) else tuple(items)


def _ends_in_raise(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def no_value(value: Any) -> bool:
    """Return whether a variable is undefined."""
    return value is None or (isinstance(value, Unusable) and value.undefined)
