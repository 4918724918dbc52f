"""Programs that differ from an earlier one: the line where they part, and what was new there.

Paths of the trie that begin on the same line and record the same ops share nodes. A new program leaves the known paths
at one node, where its key differs from the keys of the other children. These *siblings* say what changed: a shape, a
dtype, a Python value, or the operation itself after a branch.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from jittape.core.primitive import Primitive
from jittape.core.program import SourceLine
from jittape.errors import RecompileWarning
from jittape.recording.trie import Node
from jittape.recording.trie_insertion import Marker
from jittape.value_classes import NamedTuple

__all__ = ["NewProgram", "new_program_at", "place_at", "warn_of_new_program"]

Edge = tuple[Node, Node]
"""A node and a child of it."""
_PROGRAMS = 5
"""Number of programs that part at one node above which a warning says why."""
_SHOWN = 60
"""Maximum number of characters of a value in a message."""
_PLACES = 1000
"""Maximum number of nodes that are remembered as warned about."""
_warned: dict[int, Node] = {}
_branches: dict[SourceLine, int] = {}
"""Number of programs that left others by a branch, by the line before it."""


class NewProgram(NamedTuple):
    """A program that leaves the paths of earlier programs.

    Attributes
    ----------
    line : SourceLine or None
        Line of the first call that differs.
    operation : str
        Name of the function that it calls.
    kind : str
        ``"shape"``, ``"dtype"``, ``"value"``, ``"type"``, ``"operand"`` or ``"branch"``.
    what : str
        Name of the argument that differs.
    old, new : str
        Its description before and now.
    programs : int
        Number of different programs at this place, with the first.
    """

    line: SourceLine | None
    operation: str
    kind: str
    what: str
    old: str
    new: str
    programs: int

    @property
    def change(self) -> str:
        """The difference in words."""
        if self.kind == "branch":
            return f"{self.new} runs where {self.old} ran before"
        return f"{self.what} of {self.operation} changed from {self.old} to {self.new}"

    @property
    def remedy(self) -> str:
        """Advice on the code to write instead."""
        return _REMEDIES[self.kind]

    def __str__(self) -> str:
        place = "an unknown line" if self.line is None else self.line.link
        return f"{place}: {self.programs} programs part here, the last because {self.change}: {self.remedy}"


_REMEDIES = {
    "shape": "use arrays of few shapes, padded if necessary",
    "dtype": "convert the operand to one dtype before the loop",
    "value": "a Python value that is part of the program must not change at each step: use a tensor or a float, "
    "jt.fori_loop, jt.scan, jt.gather or jt.where",
    "type": "always use numbers of the same type",
    "operand": "use the same Variables and tensors in the same order",
    "branch": "use jt.cond, jt.switch_case or jt.where, or a Python loop with the same number of iterations",
}


def _siblings_of(parent: Node, child: Node, derived: bool) -> list[tuple[Any, Node]]:
    """Return the keys and children of `parent` that call the same function as `child`, oldest first.

    Unless `derived` is True, nodes that a general path has derived are left out: they cost little.
    """
    key = next((key for key, node in list(parent.children.items()) if node is child), None)
    if key is None:
        return []
    return [
        (other, node)
        for other, node in list(parent.children.items())
        if other[0] is key[0] and (derived or node.derivation is None) and len(other) == len(key)
    ]


def new_program_at(
    node: Node, least: int = 1, derived: bool = False, edges: Iterable[Edge] | None = None
) -> NewProgram | None:
    """Return where the program of `node` leaves earlier ones; None if fewer than `least` others part there.

    Of several places, the one with the most programs counts. `derived` says whether programs that a general path has
    derived count too. If `edges` are given, programs part at these edges only.
    """
    found: NewProgram | None = None
    for parent, child in _edges(node) if edges is None else edges:
        if len(parent.children) <= least or (child.derivation is not None and not derived):
            continue
        described = place_at(parent, child, derived)
        if described is not None and described.programs > max(least, 0 if found is None else found.programs):
            found = described
    return found


def _edges(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the nodes of a path with their parents, the last first."""
    child = node
    while child.parent is not None:
        yield child.parent, child
        child = child.parent


def _new_edges(node: Node) -> list[Edge]:
    """Return the edges after the last node at which a flush has run at which paths to `node` part, the last first.

    Earlier edges were looked at then. In a tape in which values are read, looking at all of them at each flush took
    half of the time of 400 flushes.
    """
    found: list[Edge] = []
    child = node
    while (parent := child.parent) is not None:
        if len(parent.children) > 1:
            found.append((parent, child))
        if parent.executables:
            break
        child = parent
    return found


def place_at(parent: Node, child: Node, derived: bool = False) -> NewProgram | None:
    """Return the difference between `child` and the sibling before it, or the child before it after a branch."""
    known = _siblings_of(parent, child, derived)
    position = next((i for i, (_, node) in enumerate(known) if node is child), 0)
    if position:
        (old, _), (new, _) = known[position - 1], known[position]
        change = _change(old, new)
        return None if change is None else NewProgram(child.source, _name(new[0]), *change, position + 1)
    others = [(key, node) for key, node in list(parent.children.items()) if node.derivation is None]
    last = next((i for i, (_, node) in enumerate(others) if node is child), 0)
    if not last or not callable(others[last][0][0]) or not callable(others[last - 1][0][0]):
        return None
    (old, before), (new, _) = others[last - 1], others[last]
    was, now = f"{_name(old[0])} at {_place(before)}", f"{_name(new[0])} at {_place(child)}"
    return NewProgram(child.source, _name(new[0]), "branch", "operation", was, now, last + 1)


def _change(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[str, str, str, str] | None:
    """Return kind, argument, old and new description of the first difference between two keys of one function."""
    body = old[0]
    if not callable(body):
        return ("operand", "the sources", "others", "these") if old != new else None
    names = _parameters(body)
    operands = len(old) - 2
    for i, (a, b) in enumerate(zip(old[2:], new[2:], strict=True)):
        what = f"operand {names[i] if i < len(names) else i + 1}"
        if a == b and a.__class__ is b.__class__:
            continue
        if isinstance(a, Marker) and isinstance(b, Marker):
            if a.aval.dtype != b.aval.dtype:
                return "dtype", what, str(a.aval), str(b.aval)
            if a.aval != b.aval:
                return "shape", what, str(a.aval), str(b.aval)
            return "operand", what, _kind(a), _kind(b)
        if isinstance(a, type | np.dtype) or isinstance(b, type | np.dtype):
            return "type", what, _kind(a), _kind(b)
        return "operand", what, _kind(a), _kind(b)
    for i, (a, b) in enumerate(zip(old[1], new[1], strict=False)):
        if a is not b and (a != b or a.__class__ is not b.__class__):
            at = operands + i
            name = names[at] if at < len(names) else f"parameter {i + 1}"
            return "value", name, _shown(a, b), _shown(b, a)
    return None


def _parameters(body: Any) -> list[str]:
    try:
        parameters = inspect.signature(body).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]


def _name(body: Any) -> str:
    if isinstance(body, Primitive):
        return f"`{body.name}`"
    name = getattr(body, "__name__", None)
    return f"`{name.strip('_').removesuffix('_body')}`" if name is not None else f"a {type(body).__name__}"


def _kind(part: Any) -> str:
    if isinstance(part, Marker):
        return f"a new value {part.aval}"
    if isinstance(part, type):
        return f"a Python {part.__name__}"
    if isinstance(part, np.dtype):
        return f"a NumPy {part.name}"
    return "an earlier value"


def _shown(value: Any, other: Any) -> str:
    """Return the text of a value, of a long one the part that differs from another value."""
    text, second = repr(value), repr(other)
    if len(text) <= _SHOWN:
        return text
    pairs = zip(text, second, strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(text), len(second)))
    first = max(0, same - _SHOWN // 2)
    return (
        f"{'...' if first else ''}{text[first : first + _SHOWN]}{'...' if first + _SHOWN < len(text) else ''}"
    )


def _place(node: Node) -> str:
    return "an unknown line" if node.source is None else f"line {node.source.line}"


def _branch_at(edges: Iterable[Edge]) -> NewProgram | None:
    """Return the branch by which a new program leaves the others at one of `edges`, if it is one in a loop of the user.

    Its `programs` counts the programs that have left others after the same line. Branches are two lines of the function
    that recorded the common ops. Paths that part on one line do not count, since a line such as ``f(x)`` may call many
    functions, and neither do paths that part in a caller: several programs may call one function.
    """
    for parent, child in edges:
        recorded = (one for one in list(parent.children.values()) if one.derivation is None)
        if len(list(islice(recorded, 2))) < 2:
            continue
        line = parent.source
        place = None if line is None else place_at(parent, child)
        if line is None or place is None or place.kind != "branch":
            return None
        lines = [
            one.source
            for one in list(parent.children.values())
            if one.derivation is None and one.source is not None
        ]
        inside = {one for one in lines if (one.file, one.function) == (line.file, line.function)}
        if child.source not in inside or len(inside) < 2:
            return None
        _branches[line] = _branches.get(line, 1) + 1
        return place._replace(programs=_branches[line])
    return None


def warn_of_new_program(node: Node) -> None:
    """Warn, once for each place, if many programs part at one node of the path to `node` or by branches of a line.

    The place that has been warned about is not looked at again: with 1,500 programs there, a look took 0.3 ms.
    """
    edges = _new_edges(node)
    unknown = [edge for edge in edges if id(edge[0]) not in _warned]
    found, branch = new_program_at(node, _PROGRAMS, edges=unknown), _branch_at(edges)
    if branch is not None:
        if branch.programs == _PROGRAMS + 1:
            _issue(branch)
        return
    if found is None or found.line is None or found.kind == "branch":
        return
    for parent, child in edges:
        if child.source == found.line and len(parent.children) > _PROGRAMS:
            if len(_warned) >= _PLACES:
                _warned.clear()
            _warned[id(parent)] = parent
    _issue(found)


def _issue(found: NewProgram) -> None:
    message = (
        f"{found.programs} different programs have been recorded from this line, this time because {found.change}. "
        f"Each is interpreted once and then compiled: {found.remedy}. jt.explain_recompiles() lists all"
    )
    if found.line is not None:
        warnings.warn_explicit(message, RecompileWarning, found.line.file, found.line.line)
