"""Python text of forward mode: each statement with the tangent of its result.

The tangent of a value ``x`` is ``x_d``, or ``x_d0``, ``x_d1`` and so on if there are several; the shadow of an array
holds the tangents of its elements.
"""

from __future__ import annotations

from typing import Any

from jittape.errors import NoGradientError
from jittape.numba_ad.activity import Activity, contributions
from jittape.numba_ad.emit.emit_forward import Writer, begin_loop, end_loop, write_simple
from jittape.numba_ad.emit.statement_text import element, index_text, resize_text, zeros_text
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
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
    """Writes statements with the tangents of their results; each of `suffixes` names one tangent of a value."""

    def __init__(self, activity: Activity, writer: Writer, suffixes: tuple[str, ...] = ("_d",)) -> None:
        self._activity, self._writer, self._suffixes = activity, writer, suffixes

    def result(self, one: Any) -> str:
        """Return the text of the tangent of a result; several tangents are one array."""
        if isinstance(one, tuple):
            return f"({''.join(f'{self.result(item)}, ' for item in one)})"
        texts = [self.tangent(one, suffix) for suffix in self._suffixes]
        if self._suffixes == ("_d",):
            return texts[0]
        joined = f"({', '.join(texts)},)"
        return f"np.stack({joined})" if isinstance(one, Array) else f"np.array({joined})"

    def tangent(self, one: Any, suffix: str) -> str:
        """Return the text of a tangent; that of a passive value is zero."""
        if isinstance(one, Array):
            return f"{one.name}{suffix}" if one in self._activity else f"np.zeros_like({one.name})"
        return f"{one.name}{suffix}" if isinstance(one, Value) and one in self._activity else "0.0"

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
        for suffix in self._suffixes:
            if isinstance(s, Store) and s.array in activity and not (s.sign and s.value not in activity):
                writer.line(f"{element(s, suffix)} {s.sign}= {self.tangent(s.value, suffix)}", s.where)
            elif isinstance(s, Resize) and s.array in activity:
                writer.line(resize_text(s, suffix), s.where)
        write_simple(s, writer)
        if isinstance(s, (Op, Load, Alloc, Apply, View)) and s.result in activity:
            for suffix in self._suffixes:
                writer.line(f"{s.result.name}{suffix} = {self._text(s, suffix)}", s.where)

    def _text(self, s: Op | Load | Alloc | Apply | View, suffix: str) -> str:
        if isinstance(s, Load):
            return element(s, suffix) + ("" if s.guard is None else f" if {s.guard.name} else 0.0")
        if isinstance(s, Alloc):
            return zeros_text(s)
        if isinstance(s, View):
            return f"{s.base.name}{suffix}{index_text(s)}"
        names = [x.name for x in s.operands]
        if isinstance(s, Apply):
            if not s.rule.jvp:
                raise NoGradientError(
                    f"{s.where.file}:{s.where.line}: `{s.where.text.strip()}`: the rule of this function has no "
                    "forward mode. Pass jvp= to jt.njit_rule"
                )
            tangents = [self.tangent(x, suffix) for x in s.operands]
            return f"{s.rule.jvp}({', '.join([s.result.name, *names, *tangents])})"
        terms = [
            partial.format(*names, r=s.result.name, g=f"{x.name}{suffix}")
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
                    for suffix in self._suffixes:
                        writer.line(f"{phi.result.name}{suffix} = {self.tangent(value, suffix)}")
            writer.end()
        writer.remove_empty_else()

    def _loop(self, s: Loop) -> None:
        writer = self._writer
        carried = [
            (phi, suffix) for phi in s.phis if phi.inner in self._activity for suffix in self._suffixes
        ]
        for phi, suffix in carried:
            writer.line(f"{phi.inner.name}{suffix} = {self.tangent(phi.init, suffix)}", s.where)
        begin_loop(s, writer, self.run)
        self.run(s.body)
        moved = [(phi, suffix) for phi, suffix in carried if phi.next is not phi.inner]
        more = [(f"{phi.inner.name}{suffix}", self.tangent(phi.next, suffix)) for phi, suffix in moved]
        end_loop(s, writer, more)
        for phi, suffix in carried:
            if phi.out in self._activity:
                writer.line(f"{phi.out.name}{suffix} = {phi.inner.name}{suffix}")
