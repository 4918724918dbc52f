"""`jt.plot.graph`: ops as nodes, and the kernels that compute them as boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jittape.core.forms import Alias, View
from jittape.core.program import Op, Program
from jittape.inspect.explain import size_text
from jittape.plot.node_layout import rows_of
from jittape.plot.scheduled_step import lines_of, schedule_of
from jittape.plot.svg_picture import Picture, box, curve, picture, text

__all__ = ["graph"]

CHARACTER = 7.3
"""Width of a character in pixels."""
NODE_HEIGHT, ROW_GAP, NODE_GAP, MARGIN = 34.0, 18.0, 14.0, 16.0
"""Sizes in pixels."""
MOST_OPS = 60
"""A step of more ops is drawn as one node with their names."""
NEAR, FAR = "#8297a8", "#d3dbe2"
"""Colors of arrows between neighboring rows and over many rows."""
STORED, PASSING, INPUT = "#fde7c2", "#eef3fb", "#e3f1e1"
"""Fill of nodes whose value is stored in memory, stays in registers, and is an input."""


@dataclass
class _Node:
    """One op of a step, or an input: `label` above the shape; `parents` are the nodes that it reads."""

    label: str
    shape: str
    tooltip: str
    fill: str
    is_output: bool = False
    parents: list[_Node] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def width(self) -> float:
        return max(len(self.label) * CHARACTER, len(self.shape) * CHARACTER * 0.85) + 14


def graph(f: Callable[..., Any] | None = None, /, *args: Any) -> Picture:
    """Draw a program: its ops, the kernels that compute them, and the values that are stored.

    Kernels, library calls and NumPy steps are boxes in the order in which they run. Ops are nodes with the shape of
    their result. A value that is stored in memory, because a later step or the caller reads it, is orange, with its
    bytes; other values stay in registers. Views and broadcasts are not drawn. The source line of an op is its tooltip.

    Parameters
    ----------
    f : callable, optional
        A function, which is traced for `args` and not run. Without it, the last step that ran is drawn.
    *args : any
        Arguments of `f`.

    Returns
    -------
    Picture
        An SVG, which notebooks show; ``save("graph.svg")`` writes it.

    Raises
    ------
    RuntimeError
        If nothing has run yet and `f` is missing.
    TypeError
        If `f` is not callable.
    ValueError
        If `f` looks at values while it is traced.

    Examples
    --------
    >>> import jittape as jt
    >>> picture = jt.plot.graph(lambda x: jt.reduce_sum(jt.square(x)), jt.ones([1000]))
    >>> [word in picture.svg for word in ("square", "sum", "float32[1000]", "matmul")]
    [True, True, True, False]
    """
    return _drawn(schedule_of("graph", f, args))


def _drawn(schedule: Any) -> Picture:
    program: Program = schedule.program
    stored = _stored(schedule)
    found: dict[int, _Node] = {}
    inputs = []
    read = {slot for op in program.ops for slot in op.args} | set(program.outputs)
    for i, slot in enumerate(program.inputs):
        if slot in read:
            found[slot] = _Node(f"input {i}", str(program.avals[slot]), "", INPUT, slot in program.outputs)
            inputs.append(found[slot])
    boxes = [("inputs", [inputs])] if inputs else []
    for number, step in enumerate(schedule.steps, 1):
        name = "NumPy" if step.kernel is None else "loop or branch" if step.bodies else "kernel"
        nodes = _nodes_of(step.ops, program, stored, found)
        lines = lines_of(step)
        title = ", ".join([f"{number}. {name}", *lines[:3]]) + (", ..." if len(lines) > 3 else "")
        boxes.append((title, rows_of(nodes, {node: node.parents for node in nodes})))
    return _placed(boxes)


def _stored(schedule: Any) -> set[int]:
    """Return the slots whose values a later step or the caller reads."""
    stored = set(schedule.program.outputs)
    for step in schedule.steps:
        inside = {op.out for op in step.ops}
        stored.update(slot for op in step.ops for slot in op.args if slot not in inside)
    return stored


def _nodes_of(ops: Sequence[Op], program: Program, stored: set[int], found: dict[int, _Node]) -> list[_Node]:
    """Return the nodes of a step and enter them in `found`, which has the node that computes each slot."""
    drawn = [op for op in ops if not isinstance(op.primitive.lowering, View | Alias) and op.args] or list(ops)
    if len(drawn) > MOST_OPS:
        names = list(dict.fromkeys(op.primitive.name for op in drawn))
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        node = _Node(f"{len(drawn)} ops: {shown}", "", "", PASSING)
        node.parents = list(dict.fromkeys(found[slot] for op in ops for slot in op.args if slot in found))
        found.update({op.out: node for op in ops})
        return [node]
    nodes = []
    for op in ops:
        parents = list(dict.fromkeys(found[slot] for slot in op.args if slot in found))
        if op not in drawn:
            if parents:
                found[op.out] = parents[0]
            continue
        aval = program.avals[op.out]
        shape = str(aval) + (f", {size_text(aval.nbytes)}" if op.out in stored else "")
        fill = STORED if op.out in stored else PASSING
        node = _Node(_label(op), shape, str(op.source or ""), fill, op.out in program.outputs, parents)
        found[op.out] = node
        nodes.append(node)
    return nodes


def _label(op: Op) -> str:
    words = [f"{name}={value}" for name, value in op.params if name in ("axis", "axes", "perm")]
    return " ".join([op.primitive.name, *words])


def _placed(boxes: list[tuple[str, list[list[_Node]]]]) -> Picture:
    """Return the picture of titled boxes with rows of nodes, one below the other."""
    inner = [sum(node.width + NODE_GAP for node in row) for _, rows in boxes for row in rows]
    width = max([*inner, *[len(title) * CHARACTER for title, _ in boxes], 160.0]) + 4 * MARGIN
    frames, y = [], MARGIN
    for title, rows in boxes:
        top = y
        y += 24
        for row in rows:
            x = (width - sum(node.width + NODE_GAP for node in row) + NODE_GAP) / 2
            for node in row:
                node.x, node.y = x, y
                x += node.width + NODE_GAP
            y += NODE_HEIGHT + ROW_GAP
        frames.append(box(MARGIN, top, width - 2 * MARGIN, y - top - 4, "#fafafa", "#bbb"))
        frames.append(text(MARGIN + 8, top + 16, title, "#777", "start"))
        y += 12
    nodes = [node for _, rows in boxes for row in rows for node in row]
    arrows = [
        curve(
            p.x + p.width / 2,
            p.y + NODE_HEIGHT,
            node.x + node.width / 2,
            node.y,
            NEAR if node.y - p.y < 150 else FAR,
        )
        for node in nodes
        for p in node.parents
    ]
    return picture(width, y + MARGIN, [*frames, *arrows, *[part for node in nodes for part in _shapes(node)]])


def _shapes(node: _Node) -> list[str]:
    middle = node.x + node.width / 2
    stroke, line_width = ("#c0392b", 2.0) if node.is_output else ("#889", 1.0)
    return [
        box(node.x, node.y, node.width, NODE_HEIGHT, node.fill, stroke, line_width, node.tooltip),
        text(middle, node.y + 14, node.label),
        text(middle, node.y + 28, node.shape, "#666", size=10),
    ]
