"""Parallel loops: a ``prange`` whose iterations are independent runs in a fixed number of parts, forward and backward.

Each part is a call of a function, so threads share no temporary. A part adds up its terms of sums and of cotangents
that iterations share, and the parts are added in order: the result does not depend on the number of threads.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from jittape.numba_ad.activity import Activity, outer_operands
from jittape.numba_ad.loops.independent_iterations import shared_tables
from jittape.numba_ad.structured_ir import Array, Loop

__all__ = ["PartFunction", "split_into_parts"]

PARTS = 32
"""Number of parts of a loop: the largest number of threads that it can use."""


@dataclass(frozen=True)
class PartFunction:
    """The function that runs one part of a loop, as text."""

    name: str
    lines: list[str]

    @property
    def text(self) -> str:
        """Return the text with a decorator; the gradient calls the function."""
        return "\n".join(['\n\n@njit(nogil=True, error_model="numpy")', *self.lines]) + "\n"


def split_into_parts(loop: Loop, activity: Activity, text: list[str], start: int, name: str) -> PartFunction:
    """Replace the lines of a loop, from number `start` of the `text` on, by calls of a new function; return that."""
    assert loop.counter is not None
    lines = text[start:]
    head = next(k for k, line in enumerate(lines) if line.startswith("    for "))
    end = next((k for k in range(head + 1, len(lines)) if not lines[k].startswith("     ")), len(lines))
    body = lines[head + 1 : end]
    loaded, stored = _names(["    if True:", *body])
    earlier = text[:start] + lines[:head]
    _, defined = _names(earlier)
    counter, sums = loop.counter.name, f"{loop.counter.name}_sums"
    added = [phi.inner.name for phi in loop.phis if phi.inner.name in stored]
    # The cotangent of a sum, which each iteration leaves as it is.
    carried = {f"{phi.inner.name}_c" for phi in loop.phis}
    added += [f"{x.name}_b" for x in outer_operands(loop, activity) if f"{x.name}_b" in stored]
    tables = [one for one in shared_tables(loop, activity) if f"{one.name}_b" in loaded]
    first, last = loop.bounds[0].name, loop.bounds[1].name
    parameters = sorted(((loaded - stored) | (loaded & carried) | {first, last}) & defined)
    low, high = (f"{first} + max(0, {last} - {first}) * {part} // {PARTS}" for part in ("part", "(part + 1)"))
    first_parameters = ["part", sums] if added else ["part"]
    function = [
        f"def {name}({', '.join([*first_parameters, *parameters])}):",
        *[line for line in earlier if _initialized(line) in stored - set(added)],
        *[f"    {one} = 0.0" for one in added],
        f"    for {counter} in range({low}, {high}):",
        *body,
        *[f"    {sums}[part, {k}] = {one}" for k, one in enumerate(added)],
    ]
    own = {f"{one.name}_b": f"{one.name}_b_parts" for one in tables}
    arguments = [f"{own[one]}[part]" if one in own else one for one in parameters]
    call = [
        *([f"{sums} = new_zeros(({PARTS}, {len(added)}), np.float64)"] if added else []),
        *[_zeros(one) for one in tables],
        f"for part in prange({PARTS}):",
        f"    {name}({', '.join(['np.int64(part)', *first_parameters[1:], *arguments])})",
        *([f"for k in range({PARTS}):"] if added or tables else []),
        *[f"    {one} += {sums}[k, {i}]" for i, one in enumerate(added)],
        *[f"    add_into({one}, {parts}[k])" for one, parts in own.items()],
    ]
    text[start:] = [*lines[:head], *[f"    {line}" for line in call], *lines[end:]]
    return PartFunction(name, function)


def _names(lines: list[str]) -> tuple[set[str], set[str]]:
    """Return the names that lines of a function read, and those that they assign."""
    nodes = [n for n in ast.walk(ast.parse("\n".join(["if True:", *lines]))) if isinstance(n, ast.Name)]
    loaded = {n.id for n in nodes if isinstance(n.ctx, ast.Load)}
    stored = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    return loaded, stored


def _initialized(line: str) -> str:
    """Return the name to which a line gives a value for paths that do not compute it; an empty text for other lines."""
    found = re.fullmatch(r"    (\w+) = (False|0|0\.0|np\.\w+\(0\))", line)
    return found[1] if found else ""


def _zeros(table: Array) -> str:
    shadow = f"{table.name}_b"
    return f"{shadow}_parts = new_zeros(({PARTS}, ) + {shadow}.shape, np.{table.type.dtype})"
