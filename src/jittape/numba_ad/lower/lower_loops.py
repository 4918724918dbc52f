"""Loops of the user's source in structured form."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from numba import types

from jittape.numba_ad.lower.array_names import is_live
from jittape.numba_ad.lower.build_ir import constant, undefined
from jittape.numba_ad.lower.carried_arrays import CarriedArrays, check_origins
from jittape.numba_ad.lower.control_flow import (
    VALUE,
    assigned_names,
    loaded_names,
    rebound_names,
)
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

ONE_NAME_EACH = "Use one variable for each item, as in `a, b = b, a + b`."


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
        function = None
        if (
            isinstance(call, ast.Call)
            and not call.keywords
            and isinstance(call.func, (ast.Name, ast.Attribute))
        ):
            function = getattr(self.expression(call.func), "value", None)
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

            self._loop(statement, bounds, None, begin)
            return
        values = [self.evaluated(node) for node in (call.args if function in (enumerate, zip) else [call])]  # type: ignore[attr-defined]
        if len(values) == 1 and isinstance(values[0], tuple) and function is None:
            if getattr(statement, "number", None) is not None:
                raise self.refusal(
                    statement, "a jump out of a loop over a tuple", "Use range, or nested if statements."
                )
            for item in values[0]:
                self._assign(statement.target, item)
                self.frame.ahead.append([statement])
                self.run(statement.body)
                self.frame.ahead.pop()
            return
        if not all(isinstance(value, Array) for value in values):
            raise self.refusal(
                call, "a loop runs over range, an array, enumerate, zip or a tuple", "Use range."
            )
        size = self.builder.dim(values[0], 0)
        for other in values[1:]:  # zip ends with the shortest array
            length = self.builder.dim(other, 0)
            size = size if length is size else self.builder.op(FUNCTIONS[min], [size, length], "size")

        def bind(loop: Loop) -> None:
            items = tuple([self._item(value, loop.counter) for value in values])
            item = (
                (loop.counter, items[0]) if function is enumerate else items if function is zip else items[0]
            )
            self._assign(statement.target, item)

        self._loop(statement, [constant(0), size, constant(1)], None, bind)

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
        rebound = rebound_names(statement, self.is_resize)
        outside = {name for name in assigned if frame.loads.get(name, 0) > inside.get(name, 0)}
        if isinstance(statement, ast.For):  # an outer loop may evaluate what this one runs over again
            outside |= {
                name for name in loaded_names(statement.iter) if name in assigned and is_live(frame, name)
            }
        known = self.carried_types.setdefault((*frame.path, statement.lineno, statement.col_offset), {})
        before, where = dict(frame.variables), builder.where
        frame.ahead.append([statement])  # the next iteration
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
            if header is not None:
                header(loop)
            builder.inside(loop.body, partial(begin, loop))
            builder.inside(loop.body, partial(self.run, statement.body))
            after, builder.where = frame.variables, where
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
            text = f"{name} is assigned in the loop only, or refers to another array after it"
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
            reason = f"{name} may be undefined or refer to another array in the next iteration"
            way_out = "Assign it before the loop, or write into the array, as in `u[:] = v`."
            if isinstance(init, tuple):
                reason, way_out = f"a loop carries the tuple {name}", ONE_NAME_EACH
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
