"""Remarks between the lines of a profile: what the compiler did with a line, and what to write instead."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jittape.core.forms import Alias, Pad, View
from jittape.core.program import Op, Program, SourceLine
from jittape.inspect.explain import size_text

__all__ = ["OUTSIDE_LAYERS", "LineFacts", "is_warning", "layer_of", "lines_text", "remarks_of"]

_MANY_OPS = 500
"""Minimum number of ops recorded by one line in one program that a remark mentions."""
_COPY = 10**6
"""Minimum size, in bytes, of copies that a remark mentions."""
_CAST = _ZEROS = 2**16
"""Minimum size, in bytes, of casts to float64 and of gradients filled with zeros that a remark mentions."""
_MANY_PARTS, _PARTS = 6, 5
"""Minimum number of kinds of operations of a line whose times a remark divides, and maximum number that it names.

Kinds with less than 1 % of the time of the line do not count.
"""
OUTSIDE_LAYERS = frozenset({"updates", "other operations"})
"""Names for the operations of a line that belong to no layer."""
_SEVERAL = 3
"""Minimum number of new programs or traces that a remark mentions."""
_WHOLE_TO_PART = 4
"""Minimum ratio of the size of a gradient filled with zeros to the part that is not zero."""


@dataclass
class LineFacts:
    """Facts about a line that its remarks state.

    Attributes
    ----------
    fused : set of SourceLine
        Lines that share a kernel with the line.
    recomputed : set of SourceLine
        Lines whose gradients recompute the line.
    numpy_ops : set of str
        Ops of the line that are NumPy steps of compiled programs.
    stored_copies : dict of str to int
        Bytes of the largest copy that an op makes which only moves elements, by the name of the op.
    zeros : (int, int)
        Bytes of the largest gradient that is filled with zeros, and of the part that is not zero.
    wide : int
        Bytes of the largest array that the line casts from float32 to float64.
    recorded_ops : int
        Ops that the line recorded in one program.
    looks : int
        Number of values that the line read while a tape recorded.
    copied_operands : (int, int)
        Number and total bytes of large arrays that were copied as operands.
    compilations : list of Compilation
        Programs that the line waited for.
    new_programs, traces : int
        Number of programs that left earlier ones at the line, and of traces of functions that it called.
    parts, layers : Counter of str
        Time in kernels by role and operation, and by layer, in ns.
    change, trace_reason : str
        Reasons of the last of them.
    """

    fused: set[SourceLine] = field(default_factory=set)
    recomputed: set[SourceLine] = field(default_factory=set)
    numpy_ops: set[str] = field(default_factory=set)
    stored_copies: dict[str, int] = field(default_factory=dict)
    zeros: tuple[int, int] = (0, 0)
    wide: int = 0
    recorded_ops: int = 0
    looks: int = 0
    copied_operands: tuple[int, int] = (0, 0)
    compilations: list[Any] = field(default_factory=list)
    new_programs: int = 0
    traces: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    layers: Counter[str] = field(default_factory=Counter)
    change: str = ""
    trace_reason: str = ""

    def note_stored(self, op: Op, program: Program, role: str, runs: int) -> None:
        """Note an op whose result is stored."""
        form, nbytes = op.primitive.lowering, program.avals[op.out].nbytes
        if isinstance(form, Pad) and role == "backward":
            part = program.avals[op.args[0]].nbytes
            if nbytes >= max(_ZEROS, _WHOLE_TO_PART * part, self.zeros[0]):
                self.zeros = (nbytes, part)
        elif isinstance(form, View | Alias) and nbytes >= _COPY:
            name = op.primitive.name
            self.stored_copies[name] = max(nbytes, self.stored_copies.get(name, 0))

    def note_op(self, op: Op, program: Program) -> None:
        """Note a recorded op."""
        aval = program.avals[op.out]
        if op.primitive.name != "cast" or aval.dtype != np.float64 or aval.nbytes < _CAST:
            return
        if program.avals[op.args[0]].dtype == np.float32:
            self.wide = max(self.wide, aval.nbytes)


def layer_of(op: Op, role: str) -> str:
    """Return the layer in whose call an op was recorded, or one of `OUTSIDE_LAYERS`."""
    layer: str = getattr(op.source, "layer", "")
    return layer or ("updates" if role == "update" else "other operations")


def is_warning(remark: str) -> bool:
    """Return whether a remark says what to change, or that a line leaves compiled code."""
    return not remark.startswith(("fused", "recomputed", "waited", "kernel time"))


def remarks_of(line: SourceLine, facts: LineFacts) -> list[str]:
    """Return the remarks on a line, each a short sentence without a period; the most important ones first."""
    found: list[str] = []
    if facts.new_programs >= _SEVERAL:
        found.append(
            f"{facts.new_programs:,} new programs began here, the last because {facts.change} "
            "(see `jt.explain_recompiles()`)"
        )
    if facts.traces >= _SEVERAL:
        found.append(f"{facts.traces:,} traces of functions; the last: {facts.trace_reason}")
    if facts.looks:
        found.append(
            f"reads a value while a tape records, {facts.looks:,} times: each runs the step up to here "
            "(read it after the tape)"
        )
    if facts.numpy_ops:
        names = ", ".join([f"`{name}`" for name in sorted(facts.numpy_ops)])
        found.append(f"runs with NumPy: {names}")
    if facts.recorded_ops >= _MANY_OPS:
        found.append(f"recorded {facts.recorded_ops:,} ops here (use `jt.scan` or `jt.fori_loop`)")
    if facts.copied_operands[0] > 1:
        count, nbytes = facts.copied_operands
        found.append(
            f"copied {count:,} arrays of NumPy into tensors, {size_text(nbytes)} in all (convert constant arrays "
            "before the loop)"
        )
    if facts.wide:
        found.append(
            f"casts float32 to float64 here: {size_text(facts.wide)} (make the other operand float32)"
        )
    if facts.zeros[0]:
        whole, part = facts.zeros
        found.append(
            f"its gradient fills {size_text(whole)} with zeros for a part of {size_text(part)} (split the array "
            "into separate ones)"
        )
    for name, nbytes in sorted(facts.stored_copies.items()):
        kind = "a transposed copy" if name == "transpose" else f"a copy (`{name}`)"
        found.append(f"{kind} of {size_text(nbytes)}")
    if facts.compilations:
        found.append(_compilation_text(facts.compilations))
    if facts.fused:
        found.append(f"fused with {lines_text(line, facts.fused)}")
    if facts.recomputed:
        found.append(f"recomputed in the gradient of {lines_text(line, facts.recomputed)}")
    if len(facts.layers.keys() - OUTSIDE_LAYERS) > 1:
        found.append(f"kernel time by layer: {_shares_text(facts.layers)}")
    least = sum(facts.parts.values()) / 100
    if sum([part >= least for part in facts.parts.values()]) >= _MANY_PARTS:
        found.append(f"kernel time by operation: {_shares_text(facts.parts)}")
    return found


def _shares_text(parts: Counter[str]) -> str:
    whole = sum(parts.values())
    return ", ".join([f"{name} {part / whole:.0%}" for name, part in parts.most_common(_PARTS)])


def _compilation_text(compilations: list[Any]) -> str:
    seconds = sum([one.ns for one in compilations]) / 1e9
    compiled, loaded = sum([one.compiled for one in compilations]), sum([one.loaded for one in compilations])
    count = len(compilations)
    programs = f"{count} program{'' if count == 1 else 's'}"
    parts = [f"compiled {compiled} kernel{'' if compiled == 1 else 's'}"] if compiled else []
    parts += [f"loaded {loaded} from disk"] if loaded else []
    return f"waited {seconds:.2g} s for {programs}: {' and '.join(parts) or 'all kernels were known'}"


def lines_text(line: SourceLine, others: set[SourceLine]) -> str:
    """Return line numbers as text, such as ``lines 12 to 15 and 20``; lines of other files have the file's name."""
    here = sorted({other.line for other in others if other.file == line.file})
    ranges: list[list[int]] = []
    for number in here:
        if ranges and number <= ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [f"{a}" if a == b else f"{a} to {b}" for a, b in ranges]
    texts += sorted({f"{other.line} of {other.name}" for other in others if other.file != line.file})
    joined = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    single = len(texts) == 1 and " to " not in texts[0]
    return f"line{'' if single else 's'} {joined}"
