"""Python text of forward mode: each statement with the tangent of its result.

The tangent of a value ``x`` is ``x_d``; the shadow of an array holds the tangents of its elements.
"""

from __future__ import annotations

from typing import Any

from jittape.numba_ad.activity import Activity, contributions
from jittape.numba_ad.emit_forward import (
    Writer,
    begin_loop,
    element,
    end_loop,
    index_text,
    resize_text,
    write_simple,
    zeros_text,
)
from jittape.numba_ad.structured_ir import (
    Alloc,
    Array,
    Block,
    If,
    Load,
    Loop,
    Op,
    Resize,
    Statement,
    Store,
    Value,
    View,
)

__all__ = ["TangentPass"]


class TangentPass:
    """Writes statements with the tangents of their results."""

    def __init__(self, activity: Activity, writer: Writer) -> None:
        self._activity, self._writer = activity, writer

    def tangent(self, one: Any) -> str:
        """Return the text of the tangent of a result; that of a passive one is zero."""
        if isinstance(one, tuple):
            return f"({''.join(f'{self.tangent(item)}, ' for item in one)})"
        if isinstance(one, Array):
            return f"{one.name}_d" if one in self._activity else f"np.zeros_like({one.name})"
        return f"{one.name}_d" if isinstance(one, Value) and one in self._activity else "0.0"

    def run(self, block: Block) -> None:
        """Write the statements of a block."""
        for statement in block.statements:
            self._statement(statement)

    def _statement(self, s: Statement) -> None:
        writer, activity = self._writer, self._activity
        if isinstance(s, If):
            self._branch(s)
            return
        if isinstance(s, Loop):
            self._loop(s)
            return
        if isinstance(s, Store) and s.array in activity and not (s.sign and s.value not in activity):
            writer.line(f"{element(s, '_d')} {s.sign}= {self.tangent(s.value)}", s.where)
        elif isinstance(s, Resize) and s.array in activity:
            writer.line(resize_text(s, "_d"), s.where)
        write_simple(s, writer)
        if isinstance(s, (Op, Load, Alloc, View)) and s.result in activity:
            writer.line(f"{s.result.name}_d = {self._tangent_text(s)}", s.where)

    def _tangent_text(self, s: Op | Load | Alloc | View) -> str:
        if isinstance(s, Load):
            return element(s, "_d")
        if isinstance(s, Alloc):
            return zeros_text(s)
        if isinstance(s, View):
            return f"{s.base.name}_d{index_text(s)}"
        names = [x.name for x in s.operands]
        terms = [
            partial.format(*names, r=s.result.name, g=f"{x.name}_d")
            for x, partial in contributions(s, self._activity)
        ]
        return " + ".join(terms) if terms else "0.0"

    def _branch(self, s: If) -> None:
        writer = self._writer
        writer.begin(f"if {s.condition.name}:", s.where)
        for side, block in (("then", s.then), ("orelse", s.orelse)):
            if block is s.orelse:
                writer.begin("else:")
            self.run(block)
            for phi in s.phis:
                value = getattr(phi, side)
                writer.line(f"{phi.result.name} = {value.name}")
                if phi.result in self._activity:
                    writer.line(f"{phi.result.name}_d = {self.tangent(value)}")
            writer.end()
        writer.remove_empty_else()

    def _loop(self, s: Loop) -> None:
        writer = self._writer
        carried = [phi for phi in s.phis if phi.inner in self._activity]
        for phi in carried:
            writer.line(f"{phi.inner.name}_d = {self.tangent(phi.init)}", s.where)
        begin_loop(s, writer, self.run)
        self.run(s.body)
        moved = [phi for phi in carried if phi.next is not phi.inner]
        end_loop(s, writer, [(f"{phi.inner.name}_d", self.tangent(phi.next)) for phi in moved])
        for phi in carried:
            if phi.out in self._activity:
                writer.line(f"{phi.out.name}_d = {phi.inner.name}_d")
