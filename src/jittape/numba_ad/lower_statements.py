"""Statements and calls of the user's source in structured form; calls of ``@njit`` functions are inlined."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.extending import is_jitted

from jittape.numba_ad.build_ir import Builder, constant, is_float, undefined, unified
from jittape.numba_ad.control_flow import (
    RETURNED,
    VALUE,
    always_returns,
    assigned_names,
    loaded_names,
    without_jumps,
)
from jittape.numba_ad.function_source import PythonObject, Source, read_source
from jittape.numba_ad.known_calls import attribute
from jittape.numba_ad.lower_expressions import Expressions, Frame, Unusable, is_scalar
from jittape.numba_ad.scalar_rules import BINARY
from jittape.numba_ad.structured_ir import Array, Block, Constant, Function, Loop, Root, Store, Value, Where, walk
from jittape.numba_ad.user_rules import rule_of
from jittape.numba_ad.whole_arrays import Lazy, as_lazy, assign, materialize

__all__ = ["lower_function"]

REBOUND = "Write into the array, as in `u[:] = v`, or use another name."


def lower_function(function: Any, argument_types: list[Any], purpose: str) -> Function:
    """Return the structured form of a function for arguments of these Numba types."""
    source = read_source(function, purpose)
    lowering = _Statements(Builder(purpose))
    builder = lowering.builder
    builder.where = Where(source.file, source.first, f"def {source.function.__name__}")
    if len(argument_types) != len(source.parameters):
        raise TypeError(
            f"{purpose}: {source.function.__name__} takes {len(source.parameters)} arguments, got {len(argument_types)}"
        )
    arguments: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    for name, kind in zip(source.parameters, argument_types, strict=True):
        variables[name] = _argument(builder, name, kind, arguments)
    result = lowering.inline(source, variables, ())
    return Function(source.function.__name__, source.parameters, arguments, builder.top, result, lowering.sources)


def _argument(builder: Builder, name: str, kind: Any, arguments: dict[str, Any]) -> Any:
    kind = types.unliteral(kind)
    if isinstance(kind, types.Array):
        if not isinstance(kind.dtype, (types.Float, types.Integer, types.Boolean)):
            builder.refuse(f"the argument {name} is {kind}", "Pass arrays of floats, ints or bools.")
        arguments[name] = Array(builder.name(name), kind, Root(name, kind.dtype))
        return arguments[name]
    if isinstance(kind, (types.Float, types.Integer, types.Boolean)):
        arguments[name] = Value(builder.name(name), kind)
        return arguments[name]
    if isinstance(kind, types.BaseTuple):
        items = [
            _argument(builder, f"{name}[{position}]", item, arguments) for position, item in enumerate(kind.types)
        ]
        return tuple(items)
    if isinstance(kind, (types.NoneType, types.Omitted)):
        return PythonObject(getattr(kind, "value", None))
    builder.refuse(f"the argument {name} is {kind}", "Pass numbers, arrays and tuples of them.")


class _Statements(Expressions):
    """Lowers statements into the current block."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.sources: list[str] = []
        self._active: list[Any] = []
        self._carried_types: dict[Any, dict[str, Any]] = {}

    def inline(self, source: Source, variables: dict[str, Any], path: tuple[Any, ...]) -> Any:
        """Lower the body of a function; return its result."""
        self.sources.append(ast.unparse(source.tree))
        body = without_jumps(source.tree.body)
        outer, where = self.frame, self.builder.where
        module = ast.Module(body, [])
        self.frame = Frame(source, {**variables, RETURNED: constant(False)}, path, loaded_names(module))
        self.frame.loads[VALUE] = self.frame.loads[RETURNED] = 1000
        if not always_returns(source.tree.body):
            returns = [n for n in ast.walk(source.tree) if isinstance(n, ast.Return) and n.value is not None]
            if returns:
                self.refuse(returns[0], "another path returns None", "Return a value on every path.")
            self.frame.variables[VALUE] = PythonObject(None)
        self.run(body)
        result = self._Name(ast.copy_location(ast.Name(VALUE, ast.Load()), source.tree))
        self.frame, self.builder.where = outer, where
        return result

    def run(self, body: list[ast.stmt]) -> None:
        """Lower statements."""
        for statement in body:
            source = self.frame.source
            self.builder.where = Where(source.file, statement.lineno, source.text(statement.lineno))
            handler = getattr(self, f"_{type(statement).__name__}", None)
            if handler is None:
                self.refuse(statement, f"the statement {type(statement).__name__} is not supported")
            handler(statement)

    def _Pass(self, statement: ast.Pass) -> None:
        """Do nothing."""

    def _Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.expression(statement.value)

    def _Raise(self, statement: ast.Raise) -> None:
        bound = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} & set(self.frame.variables)
        if bound:
            self.refuse(statement, "an exception with variables is not supported", "Raise it with a literal message.")
        text = ast.unparse(statement).replace("{", "{{").replace("}", "}}")
        self.builder.effect(text, [])

    def _Assert(self, statement: ast.Assert) -> None:
        condition = self.condition(statement.test)
        message = ast.unparse(statement.msg) if isinstance(statement.msg, ast.Constant) else ""
        self.builder.effect(f"if not {{0}}: raise AssertionError({message})", [condition])

    def _AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._assign(statement.target, self.expression(statement.value))

    def _Assign(self, statement: ast.Assign) -> None:
        value = self.expression(statement.value)
        if isinstance(value, Lazy) and not isinstance(statement.targets[0], ast.Subscript):
            value = materialize(self.builder, value, getattr(statement.targets[0], "id", "t"))
        for target in statement.targets:
            self._assign(target, value)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Lazy):
                value = materialize(self.builder, value, target.id)
            self.frame.variables[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, Array):
                indices = [constant(i) for i in range(len(target.elts))]
                if value.type.ndim != 1:
                    self.refuse(target, "only vectors can be unpacked", "Index the array.")
                value = tuple([self.builder.load(value, [i]) for i in indices])
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                self.refuse(target, f"the value is not a tuple of {len(target.elts)} items", "Assign each item.")
            for one, item in zip(target.elts, value, strict=True):
                self._assign(one, item)
        elif isinstance(target, ast.Subscript):
            self._store(target, value, "")
        else:
            self.refuse(target, "only variables and elements of arrays can be assigned")

    def _store(self, target: ast.Subscript, value: Any, sign: str) -> None:
        base = self.expression(target.value)
        if not isinstance(base, Array):
            self.refuse(target, "only elements of arrays can be assigned", "Use an array.")
        array, indices = self.element_or_view(target, base)
        if isinstance(value, tuple):
            value = self._as_array(target, value)
        if indices is None:
            assign(self.builder, array, value, sign)
        elif is_scalar(value):
            self.builder.store(array, indices, value, sign)
        else:
            self.refuse(target, "a number is needed here", "Use a slice as the target.")

    def _as_array(self, target: ast.AST, items: tuple[Any, ...]) -> Array:
        if not items or not all(is_scalar(item) for item in items):
            self.refuse(target, "only tuples of numbers can be stored in an array", "Assign each element.")
        kind = types.float64 if any(is_float(item.type) for item in items) else items[0].type
        array = self.builder.alloc("row", kind, [constant(len(items))], "np.empty(<shape>, dtype=<dtype>)")
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
            elif sign:
                assign(self.builder, current, value, sign)
            else:
                assign(self.builder, current, self.binary(statement, name, current, value))
            return
        if not isinstance(target, ast.Subscript):
            self.refuse(statement, "only variables and elements of arrays can be updated")
        base = self.expression(target.value)
        if not isinstance(base, Array):
            self.refuse(target, "only elements of arrays can be assigned", "Use an array.")
        array, indices = self.element_or_view(target, base)
        value = self.expression(statement.value)
        floats = is_float(array.type.dtype)
        if indices is None:
            plain = not (sign and floats)
            value = self.binary(statement, name, array, value) if plain else value
            assign(self.builder, array, value, "" if plain else sign)
        elif sign and floats and is_scalar(value):
            self.builder.store(array, indices, value, sign)
        else:
            current = self.builder.load(array, indices)
            self.builder.store(array, indices, self.binary(statement, name, current, value))

    def _If(self, statement: ast.If) -> None:
        condition = self.condition(statement.test)
        if isinstance(condition, Constant):
            self.run(statement.body if condition.value else statement.orelse)
            return
        builder, before, where = self.builder, self.frame.variables, self.builder.where
        after = []
        blocks = builder.new_block(), builder.new_block()
        for block, body in zip(blocks, (statement.body, statement.orelse), strict=True):
            self.frame.variables = dict(before)
            builder.inside(block, lambda body=body: self.run(body))
            after.append(self.frame.variables)
        self.frame.variables = {}
        builder.where = where
        branch = builder.branch(condition, *blocks)
        ends = [_ends_in_raise(body) for body in (statement.body, statement.orelse)]
        for name in [*after[0], *[name for name in after[1] if name not in after[0]]]:
            one, other = after[0].get(name), after[1].get(name)
            if ends[0]:
                one = other
            elif ends[1]:
                other = one
            self.frame.variables[name] = self._merged(name, one, other, lambda n, a, b: builder.if_phi(branch, n, a, b))

    def _merged(self, name: str, one: Any, other: Any, phi: Callable[[str, Any, Any], Any]) -> Any:
        """Return a variable that has one of two values; None stands for an undefined one."""
        if one is other or (isinstance(one, PythonObject) and one == other):
            return one
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            return tuple([self._merged(name, a, b, phi) for a, b in zip(one, other, strict=True)])
        for start in (one, other):
            if isinstance(start, Unusable):
                start.merged = True
        pair = [undefined(b.type) if _no_value(a) and is_scalar(b) else a for a, b in ((one, other), (other, one))]
        if all(is_scalar(value) for value in pair):
            if all(isinstance(v, Constant) for v in pair) and repr(pair[0].value) == repr(pair[1].value):
                return pair[0]
            merged = phi(name, *pair)
            if merged is not None:
                return merged
        shown = name.replace("%value", "the result")
        return Unusable(f"{shown} is another array or has another type on another path", REBOUND)

    def _While(self, statement: ast.While) -> None:
        self._no_else(statement)
        builder = self.builder
        endless = isinstance(statement.test, ast.Constant) and bool(statement.test.value)

        def header(loop: Loop) -> None:
            if endless:
                return
            loop.header = Block(builder.block, loop)
            loop.condition = builder.inside(loop.header, lambda: self.condition(statement.test))
            if any(isinstance(one, Store) for one in walk(loop.header)):
                self.refuse(statement.test, "the condition of a loop writes an array", "Write it in the body.")

        self._loop(statement, None, header, lambda loop: None)

    def _For(self, statement: ast.For) -> None:
        self._no_else(statement)
        call = statement.iter
        function = None
        if isinstance(call, ast.Call) and not call.keywords:
            function = getattr(self.expression(call.func), "value", None) if isinstance(
                call.func, (ast.Name, ast.Attribute)
            ) else None
        if function in (range, numba.prange):
            bounds = [self.scalar(node) for node in call.args]  # type: ignore[attr-defined]
            if any(not isinstance(bound.type, types.Integer) for bound in bounds):
                self.refuse(call, "the bounds of range must be ints", "Convert them with int(...).")
            start, stop, step = [
                *([constant(0)] if len(bounds) == 1 else []), *bounds, *([constant(1)] if len(bounds) < 3 else [])
            ]  # fmt: skip
            self._loop(
                statement, [start, stop, step], None, lambda loop: self._assign(statement.target, loop.counter)
            )
            return
        values = [self._iterated(node) for node in (call.args if function in (enumerate, zip) else [call])]  # type: ignore[attr-defined]
        if len(values) == 1 and isinstance(values[0], tuple) and function is None:
            if getattr(statement, "number", None) is not None:
                self.refuse(statement, "a jump out of a loop over a tuple", "Use range, or nested if statements.")
            for item in values[0]:
                self._assign(statement.target, item)
                self.run(statement.body)
            return
        if not all(isinstance(value, Array) for value in values):
            self.refuse(call, "a loop runs over range, an array, enumerate, zip or a tuple", "Use range.")
        size = self.builder.dim(values[0], 0)
        for other in values[1:]:
            self.builder.require_equal(size, self.builder.dim(other, 0))

        def bind(loop: Loop) -> None:
            items = tuple([self._item(value, loop.counter) for value in values])
            item = (loop.counter, items[0]) if function is enumerate else items if function is zip else items[0]
            self._assign(statement.target, item)

        self._loop(statement, [constant(0), size, constant(1)], None, bind)

    def _iterated(self, node: ast.expr) -> Any:
        value = self.expression(node)
        return materialize(self.builder, value, "t") if isinstance(value, Lazy) else value

    def _item(self, array: Array, index: Any) -> Any:
        if array.type.ndim == 1:
            return self.builder.load(array, [index])
        layout = array.type.layout if array.type.layout == "C" else "A"
        kind = array.type.copy(ndim=array.type.ndim - 1, layout=layout)
        rest = array.dims[1:] if array.dims else []
        return self.builder.view(array, "[{0}]", [index], kind, list(rest))

    def _no_else(self, statement: ast.For | ast.While) -> None:
        if statement.orelse:
            self.refuse(statement, "`else` of a loop is not supported", "Use a flag.")

    def _loop(
        self, statement: Any, bounds: Any, header: Any, begin: Callable[[Loop], None]
    ) -> None:
        """Lower a loop, again if a carried variable turns out to have a wider type."""
        builder, frame = self.builder, self.frame
        assigned = assigned_names([statement])
        inside = loaded_names(statement)
        outside = {name for name in assigned if frame.loads.get(name, 0) > inside.get(name, 0)}
        known = self._carried_types.setdefault((*frame.path, statement.lineno, statement.col_offset), {})
        before, where = dict(frame.variables), builder.where
        stop = None if getattr(statement, "number", None) is None else f"%stop{statement.number}"
        while True:
            loop = builder.new_loop(bounds)
            frame.variables = dict(before)
            phis, starts = {}, {}
            for name in assigned:
                phis[name] = self._carry(loop, name, before.get(name), known)
                starts[name] = frame.variables[name]
                if name.startswith("%") and name != VALUE:
                    frame.variables[name] = constant(False)
            if header is not None:
                header(loop)
            builder.inside(loop.body, lambda loop=loop: (begin(loop), self.run(statement.body)))
            after, builder.where = frame.variables, where
            outside |= {name for name in assigned if getattr(starts[name], "merged", False)}
            if self._widened(phis, after, outside, known):
                continue
            break
        frame.variables = {**after, **before}
        for name in assigned:
            phi, value = phis[name], after.get(name)
            if phi is None:
                unchanged = value is not None and value is before.get(name)
                frame.variables[name] = value if unchanged else Unusable(
                    f"{name} is assigned in the loop only, or refers to another array after it", REBOUND
                )
            else:
                phi.next = value
                frame.variables[name] = phi.out
        for name in set(after) - set(assigned) - set(before):
            del frame.variables[name]
        loop.stop = None if stop is None else after[stop]
        if isinstance(loop.stop, Constant) and not loop.stop.value:
            loop.stop = None
        builder.close_loop(loop)

    def _carry(self, loop: Loop, name: str, init: Any, known: dict[str, Any]) -> Any:
        """Return the phi of a scalar that a loop assigns; None for another variable, which is unusable at first."""
        missing = _no_value(init)
        if missing and name in known:
            if isinstance(init, Unusable):
                init.merged = True
            init = undefined(known[name])
        if not is_scalar(init):
            reason = f"{name} may be undefined or refer to another array in the next iteration"
            way_out = "Assign it before the loop, or write into the array."
            self.frame.variables[name] = Unusable(reason, way_out, undefined=missing)
            return None
        kind = unified(known.get(name, init.type), init.type)
        phi = self.builder.loop_phi(loop, name, init, kind)
        self.frame.variables[name] = phi.inner
        return phi

    def _widened(self, phis: dict[str, Any], after: dict[str, Any], outside: set[str], known: dict[str, Any]) -> bool:
        """Update the types of carried variables from those at the end of the body; return whether any changed."""
        changed = False
        for name, phi in phis.items():
            value = after.get(name)
            if phi is None:
                if is_scalar(value) and name in outside and name not in known:
                    known[name] = value.type
                    changed = True
                continue
            if not is_scalar(value):
                self.builder.refuse(
                    f"{name} is a number before the loop and something else after an iteration",
                    "Use another name, or assign it on every path.",
                )
            kind = unified(phi.inner.type, value.type)
            if kind is None:
                self.builder.refuse(f"{name} changes its type in the loop", "Use another name.")
            if kind != phi.inner.type:
                known[name] = kind
                changed = True
        return changed

    def user_call(self, node: ast.Call, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Inline an ``@njit`` function, or apply its rule."""
        rule = rule_of(function)
        if rule is not None:
            if keywords or not all(is_scalar(x) for x in arguments):
                self.refuse(node, "a function with a rule takes numbers by position", "Pass numbers.")
            return self.builder.op(rule, arguments, rule.name)
        if not is_jitted(function):
            name = getattr(function, "__name__", type(function).__name__)
            self.refuse(node, f"the derivative of {name} is unknown")
        python = function.py_func
        if python in self._active or len(self._active) > 30:
            self.refuse(node, "recursion is not supported", "Write a loop.")
        source = read_source(function, self.builder.purpose)
        try:
            bound = inspect.signature(python).bind(*arguments, **keywords)
        except TypeError as error:
            self.refuse(node, str(error), "Pass the arguments that the function takes.")
        bound.apply_defaults()
        variables = {}
        for name, value in bound.arguments.items():
            if isinstance(value, Lazy):
                value = materialize(self.builder, value, name)
            known = is_scalar(value) or isinstance(value, (Array, tuple, PythonObject))
            variables[name] = value if known else self.wrapped(value, node)
        self._active.append(python)
        result = self.inline(source, variables, (*self.frame.path, node.lineno, node.col_offset))
        self._active.pop()
        return result


def _ends_in_raise(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _no_value(value: Any) -> bool:
    return value is None or (isinstance(value, Unusable) and value.undefined)
