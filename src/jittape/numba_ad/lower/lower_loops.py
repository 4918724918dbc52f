"""Loops of the user's source in structured form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numba
import numpy as np
from numba import types

from jittape.errors import NoGradientError
from jittape.numba_ad.lower.array_names import is_live
from jittape.numba_ad.lower.build_ir import constant, undefined
from jittape.numba_ad.lower.carried_arrays import CarriedArrays, CarriedTuples, check_origins
from jittape.numba_ad.lower.control_flow import (
    VALUE,
    assigned_names,
    loaded_names,
    rebound_names,
)
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.lower_expressions import Unusable, is_scalar
from jittape.numba_ad.lower.lower_statements import REBOUND, Statements, no_value
from jittape.numba_ad.lower.numba_types import unified
from jittape.numba_ad.scalar_rules import FUNCTIONS
from jittape.numba_ad.structured_ir import (
    Array,
    Block,
    Constant,
    Loop,
    Store,
    walk,
)

__all__ = ["Loops"]

ONE_NAME_EACH = "Bind it to a tuple of as many items, each of the same kind, in each iteration."


@dataclass(frozen=True)
class Items:
    """Values that a loop runs over: their number, and a function that lowers the item of a place."""

    count: Any
    at: Callable[[Any], Any]


class Loops(Statements):
    """Lowers loops."""

    def _While(self, statement: ast.While) -> None:
        builder = self.builder
        endless = isinstance(statement.test, ast.Constant) and bool(statement.test.value)

        def header(loop: Loop) -> None:
            if endless:
                return
            loop.header = Block(builder.block, loop)
            loop.condition = builder.inside(loop.header, lambda: self.condition(statement.test))
            if any(isinstance(one, Store) for one in walk(loop.header)):
                raise self.refusal(
                    statement.test, "the condition of a loop writes an array", "Write it in the body."
                )

        self._loop(statement, None, header, lambda loop: None)

    def _For(self, statement: ast.For) -> None:
        call = statement.iter
        function = None if getattr(call, "keywords", ()) else self._called(call)
        if function in (range, numba.prange):
            bounds = [self.scalar(node) for node in call.args]  # type: ignore[attr-defined]
            if any(not isinstance(bound.type, types.Integer) for bound in bounds):
                raise self.refusal(call, "the bounds of range must be ints", "Convert them with int(...).")
            if len(bounds) == 1:
                bounds.insert(0, constant(0))
            if len(bounds) == 2:
                bounds.append(constant(1))

            def begin(loop: Loop) -> None:
                loop.parallel = function is numba.prange and self.frame.source.parallel
                self._assign(statement.target, loop.counter)

            self._range(statement, bounds, begin)
            return
        items = self._items(call)
        if isinstance(items, tuple):
            self._unrolled(statement, items)
            return

        def bind(loop: Loop) -> None:
            self._assign(statement.target, items.at(loop.counter))

        self._loop(statement, [constant(0), items.count, constant(1)], None, bind)

    def _range(self, statement: ast.For, bounds: list[Any], begin: Callable[[Loop], None]) -> None:
        """Lower a loop over a range; write out one whose counter is the index of a tuple of arrays."""
        counters: list[Any] = []

        def noted(loop: Loop) -> None:
            counters.append(loop.counter)
            begin(loop)

        frame, block = self.frame, self.builder.block
        variables, depth = frame.variables, len(frame.ahead)
        try:
            self._loop(statement, bounds, None, noted)
        except NoGradientError as error:
            index, known = (
                getattr(error, "index", None),
                [cast(Any, getattr(x, "value", None)) for x in bounds],
            )
            if index not in counters or None in known or 0 in known[2:]:
                raise
            self.frame, frame.variables, self.builder.block = frame, variables, block
            del frame.ahead[depth:]
            self._forget_calls()
            self._unrolled(statement, tuple([constant(k) for k in range(*known)]))

    def _forget_calls(self) -> None:
        """Forget calls that an error has left."""

    def _unrolled(self, statement: ast.For, items: tuple[Any, ...]) -> None:
        """Lower the body of a loop over a tuple once for each item."""
        if getattr(statement, "number", None) is not None:
            raise self.refusal(
                statement, "a jump out of a loop over a tuple", "Use range, or nested if statements."
            )
        for item in items:
            self._assign(statement.target, item)
            self.frame.ahead.append([statement])
            self.run(statement.body)
            self.frame.ahead.pop()

    def _called(self, node: ast.expr) -> Any:
        """Return the function that an expression calls; None for a method or another expression."""
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute):
            base = self.expression(node.func.value)
            return getattr(base.value, node.func.attr, None) if isinstance(base, PythonObject) else None
        return getattr(self.expression(node.func), "value", None) if isinstance(node.func, ast.Name) else None

    def _items(self, node: ast.expr) -> Items | tuple[Any, ...]:
        """Return what a loop runs over: an array, indices, several of these by `zip` and `enumerate`, or a tuple."""
        function = self._called(node)
        given = (
            [*node.args, *[one.value for one in node.keywords if one.arg == "start"]]
            if isinstance(node, ast.Call)
            else []
        )
        if function is enumerate and len(given) in (1, 2):
            inner = self._items(given[0])
            start = self.scalar(given[1]) if len(given) == 2 else constant(0)
            if isinstance(inner, tuple):
                return tuple(
                    [(self.builder.binary("Add", constant(k), start), x) for k, x in enumerate(inner)]
                )
            each = inner.at
            return Items(inner.count, lambda k: (self.builder.binary("Add", k, start), each(k)))
        if function is zip and given:
            parts = [self._items(one) for one in given]
            if all(isinstance(one, tuple) for one in parts):
                return tuple(zip(*parts, strict=False))
            arrays = [one for one in parts if isinstance(one, Items)]
            if len(arrays) < len(parts):
                raise self._no_items(node)
            count = arrays[0].count
            for other in arrays[1:]:  # zip ends with the shortest
                same = other.count is count
                count = count if same else self.builder.op(FUNCTIONS[min], [count, other.count], "size")
            return Items(count, lambda k: tuple([one.at(k) for one in arrays]))
        if function is range and len(given) in (1, 2):
            first = constant(0) if len(given) == 1 else self.scalar(given[0])
            count = self.builder.binary("Sub", self.scalar(given[-1]), first)
            if not isinstance(count, Constant) or count.value < 0:
                count = self.builder.op(FUNCTIONS[max], [count, constant(0)], "size")
            return Items(count, lambda k: self.builder.binary("Add", k, first))
        if function in (np.ndindex, np.ndenumerate):
            return self._indices(node, function, [self.evaluated(one) for one in given])
        value = self.evaluated(node)
        if isinstance(value, tuple):
            return value
        if not isinstance(value, Array):
            raise self._no_items(node)
        return Items(self.builder.dim(value, 0), lambda k: self._item(value, k))

    def _no_items(self, node: ast.expr) -> NoGradientError:
        return self.refusal(
            node, "a loop runs over range, an array, enumerate, zip, indices or a tuple", "Use range."
        )

    def _indices(self, node: ast.expr, function: Any, given: list[Any]) -> Items:
        """Return the indices of an array in C order, with its elements for `ndenumerate`."""
        builder, array = self.builder, None
        sizes = list(given[0]) if len(given) == 1 and isinstance(given[0], tuple) else given
        if function is np.ndenumerate:
            if len(given) != 1 or not isinstance(given[0], Array):
                raise self.refusal(
                    node, "ndenumerate needs one array", "Use a loop over range for each axis."
                )
            array = given[0]
            sizes = [builder.dim(array, axis) for axis in range(array.type.ndim)]
        if not sizes or not all(is_scalar(one) and isinstance(one.type, types.Integer) for one in sizes):
            raise self.refusal(node, "ndindex needs ints or a shape", "Use a loop over range for each axis.")
        strides: list[Any] = [constant(1)]
        for size in reversed(sizes[1:]):
            strides.insert(0, builder.binary("Mult", strides[0], size))
        count = builder.binary("Mult", strides[0], sizes[0])

        def at(k: Any) -> Any:
            found = []
            for axis, stride in enumerate(strides):
                place = k if axis == len(strides) - 1 else builder.binary("FloorDiv", k, stride)
                found.append(place if axis == 0 else builder.binary("Mod", place, sizes[axis]))
            index = tuple(found)
            return index if array is None else (index, builder.load(array, found))

        return Items(count, at)

    def _item(self, array: Array, index: Any) -> Any:
        if array.type.ndim == 1:
            return self.builder.load(array, [index])
        layout = array.type.layout if array.type.layout == "C" else "A"
        kind = array.type.copy(ndim=array.type.ndim - 1, layout=layout)
        rest = array.dims[1:] if array.dims else []
        return self.builder.view(array, "[{0}]", [index], kind, list(rest))

    def _loop(self, statement: Any, bounds: Any, header: Any, begin: Callable[[Loop], None]) -> None:
        """Lower a loop, again if a carried variable turns out to have a wider type."""
        builder, frame = self.builder, self.frame
        assigned = assigned_names([statement])
        inside = loaded_names(statement)
        rebound = list(rebound_names(statement, self.is_resize))
        outside = {name for name in assigned if frame.loads.get(name, 0) > inside.get(name, 0)}
        if isinstance(statement, ast.For):  # an outer loop may evaluate what this one runs over again
            outside |= {
                name for name in loaded_names(statement.iter) if name in assigned and is_live(frame, name)
            }
        known = self.carried_types.setdefault((*frame.path, statement.lineno, statement.col_offset), {})
        where = builder.where
        frame.ahead.append([statement])  # the next iteration
        variables = frame.variables
        tuples = CarriedTuples(frame, assigned, known.setdefault("%tuples", {}))
        before = frame.variables = tuples.split(variables)
        assigned, outside, rebound = tuples.names(assigned), set(tuples.names(outside)), tuples.names(rebound)
        rebound_arrays = {
            name: before[name]
            for name in assigned
            if isinstance(before.get(name), Array) and name in rebound and is_live(frame, name)
        }
        carried = CarriedArrays(builder, frame, rebound_arrays)
        stop = None if getattr(statement, "number", None) is None else f"%stop{statement.number}"
        while True:
            loop = builder.new_loop(bounds)
            frame.variables = dict(before)
            phis: dict[str, Any] = {}
            starts: dict[str, Any] = {}
            arrays = carried.begin()
            for name in assigned:
                if name in arrays:
                    phis[name], frame.variables[name] = None, arrays[name]
                elif isinstance(before.get(name), Array) and name not in rebound:
                    phis[name] = None
                else:
                    phis[name] = self._carry(loop, name, before.get(name), known)
                starts[name] = frame.variables[name]
                if name.startswith("%") and not name.startswith(VALUE):
                    frame.variables[name] = constant(False)
            tuples.join(frame.variables)
            if header is not None:
                header(loop)
            builder.inside(loop.body, partial(begin, loop))
            builder.inside(loop.body, partial(self.run, statement.body))
            builder.where = where
            if not tuples.have_items(frame.variables, outside):
                carried.drop()
                frame.ahead.pop()
                frame.variables = variables
                self._loop(statement, bounds, header, begin)
                return
            after = frame.variables = tuples.split(frame.variables)
            outside |= {name for name in assigned if getattr(starts[name], "merged", False)}
            if not self._widened(phis, after, outside, known):
                break
        arrays = carried.finish(loop, after, outside)
        check_origins(builder, loop)
        frame.ahead.pop()
        frame.variables = {**after, **before}
        for name in assigned:
            if name in arrays:
                frame.variables[name] = arrays[name]
            else:
                self._after_loop(
                    name, phis[name], before.get(name), starts[name], after.get(name), name in before
                )
        for name in set(after) - set(assigned) - set(before):
            del frame.variables[name]
        tuples.join(frame.variables)
        loop.stop = None if stop is None else after[stop]
        if isinstance(loop.stop, Constant) and not loop.stop.value:
            loop.stop = None
        builder.close_loop(loop)

    def _after_loop(self, name: str, phi: Any, before: Any, start: Any, value: Any, known: bool) -> None:
        """Give a variable that a loop assigns its value after the loop.

        Parameters
        ----------
        phi : object
            That of the variable; None if the loop does not carry it.
        before, start, value : object
            The values before the loop, at the start and at the end of an iteration.
        known : bool
            Whether the variable exists before the loop.
        """
        variables = self.frame.variables
        if phi is not None:
            phi.next = value
            variables[name] = phi.out
        elif no_value(before) and (value is None or value is start):
            if not known:  # a folded branch would have assigned it
                variables.pop(name, None)
        elif value is not None and value is before:
            variables[name] = value
        else:
            text = (
                f"{name.partition('.')[0]} is assigned in the loop only, or refers to another array after it"
            )
            is_tuple = isinstance(before, tuple)
            variables[name] = (
                Unusable(f"a loop binds the tuple {name} again", ONE_NAME_EACH)
                if is_tuple
                else Unusable(text, REBOUND)
            )

    def _carry(self, loop: Loop, name: str, init: Any, known: dict[str, Any]) -> Any:
        """Return the phi of a scalar that a loop assigns; None for another variable, which is unusable at first."""
        missing = no_value(init)
        if missing and name in known:
            if isinstance(init, Unusable):
                init.merged = True
            init = undefined(known[name])
        if not is_scalar(init):
            reason = (
                f"{name.partition('.')[0]} may be undefined or refer to another array in the next iteration"
            )
            way_out = "Assign it before the loop, or write into the array, as in `u[:] = v`."
            if isinstance(init, tuple):
                reason, way_out = f"the items of the tuple {name} change their kinds in a loop", ONE_NAME_EACH
            unset = getattr(init, "unset", False)
            self.frame.variables[name] = Unusable(reason, way_out, undefined=missing, unset=unset)
            return None
        kind = unified(known.get(name, init.type), init.type)
        phi = self.builder.loop_phi(loop, name, init, kind)
        self.frame.variables[name] = phi.inner
        return phi

    def _widened(
        self, phis: dict[str, Any], after: dict[str, Any], outside: set[str], known: dict[str, Any]
    ) -> bool:
        """Update the types of carried variables from those at the end of the body; return whether any changed."""
        changed = False
        for name, phi in phis.items():
            value: Any = after.get(name)
            if phi is None:
                if is_scalar(value) and name in outside and name not in known:
                    known[name] = value.type
                    changed = True
                continue
            if not is_scalar(value):
                raise self.builder.refusal(
                    f"{name} is a number before the loop and something else after an iteration",
                    "Use another name, or assign it on every path.",
                )
            kind = unified(phi.inner.type, value.type)
            if kind is None:
                raise self.builder.refusal(f"{name} changes its type in the loop", "Use another name.")
            if kind != phi.inner.type:
                known[name] = kind
                changed = True
        return changed
