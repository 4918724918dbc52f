"""A user's function in structured form; calls of ``@njit`` functions are inlined."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any

from numba import types
from numba.extending import is_jitted

from jittape.core.signatures import bound_arguments
from jittape.numba_ad.lower.array_calls import copied
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.control_flow import (
    RETURNED,
    VALUE,
    always_returns,
    assigned_names,
    loaded_names,
    split_results,
    without_jumps,
    without_loop_else,
)
from jittape.numba_ad.lower.function_source import NamedItems, PythonObject, Source, read_source
from jittape.numba_ad.lower.lower_expressions import REWRITE, Frame, Unusable, is_scalar, way_out_of
from jittape.numba_ad.lower.lower_loops import Loops
from jittape.numba_ad.lower.numba_types import is_scalar_type, may_write, may_write_secretly
from jittape.numba_ad.lower.passive_calls import push_elements
from jittape.numba_ad.lower.whole_arrays import assign, evaluated
from jittape.numba_ad.scalar_rules import Rule
from jittape.numba_ad.structured_ir import (
    Array,
    Function,
    Root,
    Value,
    Where,
)
from jittape.numba_ad.tape_support import (
    add_into,
    copy_into,
    differ,
    overlap,
    overlaps_itself,
    save_array,
    unset,
)
from jittape.numba_ad.user_rules import rule_of

__all__ = ["lower_function"]

OVERLAP = Rule("overlap({0}, {1})", overlap, (None, None))
DIFFER = Rule("differ({0}, {1})", differ, (None, None))
"""Rules of checks of two arrays."""

CHECKS = {
    overlap: OVERLAP,
    differ: DIFFER,
    overlaps_itself: Rule("overlaps_itself({0})", overlaps_itself, (None,)),
}
"""Rules of the checks of arguments, by the functions that generated code calls."""


def lower_function(function: Any, argument_types: list[Any], purpose: str) -> Function:
    """Return the structured form of a function for arguments of these Numba types."""
    source = read_source(function, purpose)
    lowering = _Calls(Builder(purpose))
    builder = lowering.builder
    where = builder.where = source.where(source.first, f"def {source.function.__name__}")
    if len(argument_types) != len(source.parameters):
        raise TypeError(
            f"{purpose}: {source.function.__name__} takes {len(source.parameters)} arguments, got {len(argument_types)}"
        )
    arguments: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    for name, kind in zip(source.parameters, argument_types, strict=True):
        variables[name] = _argument(builder, name, kind, arguments)
    rule = rule_of(function)
    if rule is None:
        result = lowering.inline(source, variables, ())
    else:
        lowering.frame = Frame(source, variables, ())
        result = lowering.by_rule(source.tree, rule, list(variables.values()), {})
    return Function(
        where, source.function.__name__, source.parameters, arguments, builder.top, result, lowering.sources
    )


def _argument(builder: Builder, name: str, kind: Any, arguments: dict[str, Any]) -> Any:
    kind = types.unliteral(kind)
    if getattr(kind, "dtype", kind) == types.float16:
        raise builder.refusal(f"the argument {name} is {kind}", "Convert it to np.float32 or np.float64.")
    if isinstance(kind, types.Array):
        if not isinstance(kind.dtype, (types.Float, types.Integer, types.Boolean)):
            raise builder.refusal(f"the argument {name} is {kind}", "Pass arrays of floats, ints or bools.")
        if kind.ndim == 0:
            raise builder.refusal(f"the argument {name} is an array without dimensions", "Pass a number.")
        arguments[name] = Array(builder.name(name), kind, Root(name, kind.dtype))
        return arguments[name]
    if isinstance(kind, (types.Float, types.Integer, types.Boolean)):
        arguments[name] = Value(builder.name(name), kind)
        return arguments[name]
    if isinstance(kind, types.BaseTuple):
        items = [
            _argument(builder, f"{name}[{position}]", item, arguments)
            for position, item in enumerate(kind.types)
        ]
        named = isinstance(kind, types.BaseNamedTuple)
        return NamedItems.of(kind.instance_class, items) if named else tuple(items)
    if isinstance(kind, (types.NoneType, types.Omitted)):
        return PythonObject(getattr(kind, "value", None))
    raise builder.refusal(f"the argument {name} is {kind}", "Pass numbers, arrays and tuples of them.")


def _type_of(one: Any) -> Any:
    """Return the Numba type of a lowered value."""
    if isinstance(one, NamedItems):
        return types.NamedTuple([_type_of(item) for item in one], one.kind)
    if isinstance(one, tuple):
        return types.Tuple([_type_of(item) for item in one])
    return types.none if isinstance(one, PythonObject) else one.type


def _signature(tree: ast.FunctionDef) -> inspect.Signature:
    """Return the signature of a local function, which takes the variables that it reads by keyword."""
    parameter = inspect.Parameter
    positional = [parameter(one.arg, parameter.POSITIONAL_OR_KEYWORD) for one in tree.args.args]
    captured = [parameter(one.arg, parameter.KEYWORD_ONLY) for one in tree.args.kwonlyargs]
    return inspect.Signature([*positional, *captured])


class _Calls(Loops):
    """Lowers calls of the user's functions."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.sources: list[str] = []
        self._active: list[Any] = []

    def _forget_calls(self) -> None:
        depth, frame = 0, self.frame
        while frame.outer is not None:
            depth, frame = depth + 1, frame.outer
        del self._active[depth:]

    def inline(
        self, source: Source, variables: dict[str, Any], path: tuple[Any, ...], line: Where | None = None
    ) -> Any:
        """Lower the body of a function; return its result. `line` is shown in place of its own lines."""
        self.sources.append("".join(source.lines))
        statements = without_loop_else(source.tree.body)
        body = without_jumps(statements)
        items = split_results(source.tree, body)
        outer, where = self.frame, self.builder.where
        module = ast.Module(body, [])
        names = frozenset(assigned_names(body))
        self.frame = Frame(
            source, {**variables, RETURNED: constant(False)}, path, loaded_names(module), names, line, outer
        )
        self.frame.loads.update(dict.fromkeys([VALUE, RETURNED, *items], 1000))
        if not always_returns(statements):
            self.check_statements(source.tree)
            returns = [n for n in ast.walk(source.tree) if isinstance(n, ast.Return) and n.value is not None]
            if returns:
                raise self.refusal(returns[0], "another path returns None", "Return a value on every path.")
            self.frame.variables[VALUE] = PythonObject(None)
        self.run(body)
        results = [
            self.variable(ast.copy_location(ast.Name(name, ast.Load()), source.tree))
            for name in items or [VALUE]
        ]
        result = tuple(results) if items else results[0]
        self.frame, self.builder.where = outer, where
        return result

    def by_rule(self, node: ast.AST, rule: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Call a function with a rule of the user."""
        arguments = [evaluated(self.builder, x) for x in arguments]
        if keywords or not all(is_scalar(x) or isinstance(x, Array) for x in arguments):
            raise self.refusal(
                node, "a function with a rule takes numbers and arrays by position", "Pass them."
            )
        if len(arguments) != rule.count:
            raise self.refusal(node, f"the function takes {rule.count} arguments", "Pass all of them.")
        kinds = [x.type for x in arguments]
        if all(is_scalar(x) for x in arguments) and is_scalar_type(rule.function, kinds):
            return self.builder.op(rule, arguments, rule.name)
        if may_write(rule.function, tuple(kinds)):
            raise self.refusal(
                node,
                "a function with a rule must not write its arguments, and Numba does not compile this one for arrays "
                "that are only read",
                "Copy the array in the function.",
            )
        arrays = [x for x in arguments if isinstance(x, Array)]
        before = [copied(self.builder, x) for x in arrays if may_write_secretly(rule.function)]
        result = self.builder.apply(rule.of_arrays, rule.function, arguments, rule.name)
        for x in arrays if isinstance(result, Array) else ():
            self._refuse_if(OVERLAP, result, x, "returned memory of its argument; copy it")
        for x, copy in zip(arrays, before, strict=False):
            self._refuse_if(DIFFER, copy, x, "wrote to its argument; copy the array in the function")
        return result

    def _refuse_if(self, rule: Rule, one: Array, other: Array, reason: str) -> None:
        """Let the generated code raise an error if a rule of two arrays gives True."""
        message = f"{self.builder.purpose}: a function with a rule {reason}"
        found = self.builder.op(rule, [one, other], "wrong")
        self.builder.effect(f"if {{0}}: raise ValueError({message!r})", [found])

    def _Call(self, node: ast.Call) -> Any:
        local = self.frame.source.local_functions
        is_local = isinstance(node.func, ast.Name) and node.func.id in local
        return self._local_call(node, local[node.func.id]) if is_local else super()._Call(node)  # type: ignore[attr-defined]

    def _local_call(self, node: ast.Call, tree: ast.FunctionDef) -> Any:
        """Inline a function that the current function defines."""
        arguments, keywords = self._arguments(node)
        values = self._bound(node, _signature(tree), arguments, keywords)
        variables = dict(zip(_signature(tree).parameters, values, strict=True))
        source = dataclasses.replace(self.frame.source, tree=tree)
        self._active.append(tree)
        path = (*self.frame.path, node.lineno, node.col_offset)
        result = self.inline(source, variables, path, self.frame.line)
        self._active.pop()
        return result

    def comprehension(self, node: ast.ListComp) -> Any:
        """Return an array, or a tuple, of the items of a list comprehension."""
        builder, variables = self.builder, dict(self.frame.variables)
        parts: list[tuple[ast.expr, Any]] = []
        bound: set[str] = set()
        inner: ast.expr = node
        while isinstance(inner, ast.ListComp):
            (one, *others) = inner.generators
            if others or one.ifs or bound & loaded_names(one.iter).keys():
                raise self.refusal(
                    node, "this list comprehension is not supported", "Fill an array in a loop."
                )
            bound |= set(assigned_names([ast.Expr(one.target)]))
            parts.append((one.target, self._items(one.iter)))
            inner = inner.elt
        item = inner
        if isinstance(parts[0][1], tuple) and len(parts) == 1:
            values = []
            for one in parts[0][1]:
                self._assign(parts[0][0], one)
                values.append(self.scalar(item))
            self.frame.variables = variables
            return tuple(values)
        if any(isinstance(items, tuple) for _, items in parts):
            raise self.refusal(node, "this list comprehension is not supported", "Fill an array in a loop.")

        def value(indices: list[Any]) -> Any:
            for (target, items), index in zip(parts, indices, strict=True):
                self._assign(target, items.at(index))
            found = self.scalar(item)
            self.frame.variables = dict(variables)
            return found

        # The first lowering finds the type of the items.
        kind = builder.inside(builder.new_block(), lambda: value([constant(0)] * len(parts))).type
        array = builder.alloc("items", kind, [items.count for _, items in parts])
        builder.nest(array.dims, lambda indices: builder.store(array, indices, value(indices)))
        return array

    def _bound(
        self, node: ast.AST, signature: inspect.Signature, arguments: list[Any], keywords: dict[str, Any]
    ) -> list[Any]:
        """Return the arguments of a call by position, with default values."""
        try:
            bound = bound_arguments(signature, arguments, keywords)
        except TypeError as error:
            raise self.refusal(node, str(error), "Pass the arguments that the function takes.") from None
        values = []
        for name, value in bound.arguments.items():
            value = evaluated(self.builder, value, name)
            known = is_scalar(value) or isinstance(value, (Array, tuple, PythonObject))
            values.append(value if known else self.wrapped(value, node))
        return values

    def user_call(
        self,
        node: ast.Call,
        function: Any,
        arguments: list[Any],
        keywords: dict[str, Any],
        is_library: bool = False,
    ) -> Any:
        """Inline an ``@njit`` function, or apply its rule."""
        rule = rule_of(function)
        if rule is not None:
            return self.by_rule(node, rule, arguments, keywords)
        if not hasattr(function, "derived"):  # a `numba_op` without a rule of its user calls its function
            function = getattr(function, "dispatcher", function)
        if function in CHECKS:
            return self.builder.op(CHECKS[function], arguments, "overlap")
        if function is unset:
            return Unusable("an array of another path", REWRITE, undefined=True, unset=True)
        if function in (add_into, copy_into):
            target, values = arguments
            return assign(self.builder, target, values, "+" if function is add_into else "", buffered=False)
        if function is save_array:
            return push_elements(self.builder, *arguments)
        if hasattr(function, "derived"):  # a gradient: its generated code is lowered
            arguments, keywords = self._bound(node, function.signature, arguments, keywords), {}
            function = function.derived(tuple([_type_of(one) for one in arguments]))
        if not is_jitted(function):
            name = getattr(function, "__name__", type(function).__name__)
            raise self.refusal(node, f"the derivative of {name} is unknown", way_out_of(function, name))
        python = function.py_func
        if python in self._active or len(self._active) > 30:
            raise self.refusal(node, "recursion is not supported", "Write a loop.")
        source = read_source(function, self.builder.purpose)
        signature = inspect.signature(python)
        values = self._bound(node, signature, arguments, keywords)
        variables = dict(zip(signature.parameters, values, strict=True))
        self._active.append(python)
        line = self.builder.where if is_library else self.frame.line
        result = self.inline(source, variables, (*self.frame.path, node.lineno, node.col_offset), line)
        self._active.pop()
        return result
