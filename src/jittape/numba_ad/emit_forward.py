"""Python text of the forward pass, which records what the backward pass needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity
from jittape.numba_ad.lower.build_ir import is_float
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.structured_ir import (
    Alloc,
    Block,
    Dim,
    Effect,
    If,
    Load,
    Loop,
    Op,
    Resize,
    Statement,
    Store,
    Value,
    View,
    Where,
    walk,
)

__all__ = [
    "Branch",
    "ForwardPass",
    "Pop",
    "Recompute",
    "Writer",
    "begin_loop",
    "element",
    "end_loop",
    "index_text",
    "resize_text",
    "restore_actions",
    "shadow_actions",
    "trip_count_text",
    "view_actions",
    "write_simple",
    "zeros_text",
]

FIRST_SIZE = 64
"""Size of a new stack."""

STACKS = {True: "floats", False: "ints"}


class Writer:
    """Lines of Python code with indentation and comments that show the user's lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._where: Where | None = None

    def line(self, text: str, where: Where | None = None) -> None:
        """Append a line; `where` is shown before it unless it was shown last."""
        if where is not None and where != self._where:
            self._where = where
            self.lines.append(f"{'    ' * self._depth}# {where.line}: {where.text.strip()}")
        self.lines.append("    " * self._depth + text)

    def begin(self, text: str, where: Where | None = None) -> None:
        """Append the first line of a compound statement."""
        self.line(text, where)
        self._depth += 1

    def end(self) -> None:
        """End a compound statement; an empty one gets a `pass`."""
        if self.lines[-1].endswith(":"):
            self.lines.append("    " * self._depth + "pass")
        self._depth -= 1

    def remove_empty_else(self) -> None:
        """Remove the ``else`` that was ended last if it is empty."""
        if [line.strip() for line in self.lines[-2:]] == ["else:", "pass"]:
            del self.lines[-2:]


def text_of(statement: Statement) -> str:
    """Return the text of what a statement computes or does."""
    if isinstance(statement, Dim):
        return f"{statement.array.name}.shape[{statement.axis}]"
    if isinstance(statement, Load):
        return element(statement)
    if isinstance(statement, View):
        return statement.base.name + index_text(statement)
    assert isinstance(statement, (Op, Alloc, Effect))
    template: str = statement.rule.template if isinstance(statement, Op) else statement.template
    return template.format(*[x.name for x in statement.operands])


def element(statement: Load | Store, suffix: str = "") -> str:
    """Return the text of the element that a statement reads or writes, or, with a suffix, of that of the shadow."""
    return f"{statement.array.name}{suffix}[{', '.join(x.name for x in statement.indices)}]"


def zeros_text(statement: Alloc) -> str:
    """Return the text of zeros with the shape of a new array."""
    dims = "".join(f"{x.name}, " for x in statement.operands)
    return f"np.zeros(({dims}), dtype=np.{statement.result.type.dtype})"


def resize_text(statement: Resize, suffix: str = "") -> str:
    """Return the text that enlarges a stack if needed, or, with a suffix, its shadow."""
    name = statement.array.name + suffix
    return f"{name} = reserve({name}, {', '.join(x.name for x in statement.operands)})"


def most_text(statement: Alloc | Resize) -> str:
    """Return the name of the largest size of a stack; the shadow of the stack gets that size."""
    array = statement.result if isinstance(statement, Alloc) else statement.array
    return f"{array.root.name}_most"


def index_text(view: View) -> str:
    """Return the text that follows the name of the base, or that of its shadow."""
    return view.template.format(*[x.name for x in view.operands])


def trip_count_text(loop: Loop) -> str:
    """Return the text of the number of iterations of a loop over a range."""
    start, stop, step = [x.name for x in loop.bounds]
    return f"({stop} - {start})" if step == "1" else f"trip_count({start}, {stop}, {step})"


@dataclass(frozen=True)
class Pop:
    """Take a recorded value from its stack."""

    value: Value

    @property
    def stack(self) -> str:
        """Name of the stack."""
        return STACKS[is_float(self.value.type)]

    def converted(self, text: str) -> str:
        """Return the text that gives an element of the stack the type of the value."""
        kind = self.value.type
        if kind == types.boolean:
            return f"{text} != 0"
        return text if kind in (types.float64, types.int64) else f"np.{kind}({text})"


@dataclass(frozen=True)
class Recompute:
    """Compute a value, an array or a shadow again."""

    text: str
    where: Where


@dataclass(frozen=True)
class Branch:
    """Actions on one side of a branch."""

    condition: str
    then: list[Any]
    orelse: list[Any]


def view_actions(s: Alloc | View, plan: Plan) -> list[Any]:
    """Return the action that makes available a view."""
    lost = plan.is_inside_loop(s.result) or plan.is_in_branch(s.result)
    if isinstance(s, View) and s.result in plan.needed and lost:
        return [Recompute(f"{s.result.name} = {text_of(s)}", s.where)]
    return []


def shadow_actions(s: Alloc | View, plan: Plan, activity: Activity) -> list[Any]:
    """Return the action that makes available the shadow of an array."""
    if s.result not in activity:
        return []
    if isinstance(s, Alloc):
        grows = s.result.root in plan.resized
        text = f"np.zeros({most_text(s)}, dtype=np.{s.result.type.dtype})" if grows else zeros_text(s)
    elif s.result in plan.shadowed:
        text = f"{s.base.name}_b{index_text(s)}"
    else:
        return []
    return [Recompute(f"{s.result.name}_b = {text}", s.where)]


def restore_actions(block: Block, plan: Plan, activity: Activity) -> list[Any]:
    """Return the actions that make available, for one iteration, what the adjoints of `block` need.

    Statements from the first loop on that runs forward and backward in one pass are left out.

    Shadows of arrays that a branch makes are made again in the adjoint of the branch, because Numba requires that a
    variable is assigned on each path to its use.
    """
    actions: list[Any] = []

    def value(one: Value, text: str, where: Where) -> None:
        if one in plan.recorded:
            actions.append(Pop(one))
        elif one in plan.needed and plan.is_inside_loop(one):
            actions.append(Recompute(f"{one.name} = {text}", where))

    for s in block.statements[: plan.single_pass.tail(block)]:
        if isinstance(s, (Op, Dim, Load)):
            value(s.result, text_of(s), s.where)
        elif isinstance(s, (Alloc, View)):
            actions.extend(view_actions(s, plan))
            if not plan.is_in_branch(s.result):
                actions.extend(shadow_actions(s, plan, activity))
        elif isinstance(s, If):
            sides = [restore_actions(side, plan, activity) for side in (s.then, s.orelse)]
            for phi in s.phis:
                if (
                    phi.result in plan.needed
                    and phi.result not in plan.recorded
                    and plan.is_inside_loop(phi.result)
                ):
                    for side, one in zip(sides, (phi.then, phi.orelse), strict=True):
                        side.append(Recompute(f"{phi.result.name} = {one.name}", s.where))
            if any(sides):
                actions.append(Branch(s.condition.name, *sides))
            actions.extend(Pop(phi.result) for phi in s.phis if phi.result in plan.recorded)
        elif isinstance(s, Loop):
            outs = [phi.out for phi in s.phis] + ([] if s.trips is None else [s.trips])
            actions.extend(Pop(one) for one in outs if one in plan.recorded)
    if block.loop is not None and block is block.loop.body:
        carried = [Pop(phi.inner) for phi in block.loop.phis if phi.inner in plan.recorded]
        actions = carried + actions
    return actions


def begin_loop(s: Loop, writer: Writer, run: Callable[[Block], None]) -> None:
    """Write what precedes the body of a loop; `run` writes the statements of its header."""
    for phi in s.phis:
        writer.line(f"{phi.inner.name} = {phi.init.name}", s.where)
    if s.counter is not None:
        start, stop, step = [x.name for x in s.bounds]
        writer.begin(f"for {s.counter.name} in range({start}, {stop}, {step}):", s.where)
    else:
        writer.begin("while True:", s.where)
        if s.header is not None:
            run(s.header)
            writer.line(f"if not {s.condition.name}: break", s.where)


def end_loop(s: Loop, writer: Writer, more: Sequence[tuple[str, str]] = ()) -> None:
    """Write what follows the body of a loop; `more` are pairs of names and values to assign with its variables."""
    moved = [(phi.inner.name, phi.next.name) for phi in s.phis if phi.next is not phi.inner] + list(more)
    if moved:
        writer.line(f"{', '.join(x for x, _ in moved)} = {', '.join(y for _, y in moved)}")
    if s.stop is not None:
        writer.line(f"if {s.stop.name}: break")
    writer.end()
    for phi in s.phis:
        writer.line(f"{phi.out.name} = {phi.inner.name}")


def write_simple(s: Statement, writer: Writer) -> None:
    """Write a statement that contains no others."""
    if isinstance(s, Store):
        writer.line(f"{element(s)} {s.sign}= {s.value.name}", s.where)
    elif isinstance(s, Resize):
        writer.line(resize_text(s), s.where)
    elif isinstance(s, Effect):
        writer.line(text_of(s), s.where)
    else:
        assert isinstance(s, (Op, Dim, Load, Alloc, View))
        writer.line(f"{s.result.name} = {text_of(s)}", s.where)


class ForwardPass:
    """Writes the forward pass of a function."""

    def __init__(self, plan: Plan, activity: Activity, writer: Writer) -> None:
        self._plan, self._activity, self._writer = plan, activity, writer
        self.stacks = sorted({Pop(value).stack for value in plan.recorded if plan.is_inside_loop(value)})
        for stack in self.stacks:
            writer.line(f"{stack}, {stack}_at = np.empty({FIRST_SIZE}, dtype=np.{stack[:-1]}64), 0")
        for root in plan.resized:
            writer.line(f"{root.name}_most = {FIRST_SIZE}")
        for value in sorted(plan.needed, key=lambda one: one.name):
            if isinstance(value, Value) and plan.is_in_branch(value):
                zero = {types.boolean: "False", types.float64: "0.0", types.int64: "0"}.get(value.type)
                writer.line(f"{value.name} = {zero or f'np.{value.type}(0)'}")

    def run(self, block: Block) -> None:
        """Write the statements of a block before the first loop that runs forward and backward in one pass."""
        for statement in block.statements[: self._plan.single_pass.tail(block)]:
            self.statement(statement)

    def _block(self, block: Block) -> None:
        for statement in block.statements:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        """Write one statement."""
        if isinstance(s, If):
            self._branch(s)
        elif isinstance(s, Loop):
            self._loop(s)
        else:
            write_simple(s, self._writer)
        if isinstance(s, Resize):
            self._writer.line(f"{most_text(s)} = max({most_text(s)}, {s.array.name}.size)")

    def _branch(self, s: If) -> None:
        writer = self._writer
        writer.begin(f"if {s.condition.name}:", s.where)
        self._block(s.then)
        for phi in s.phis:
            writer.line(f"{phi.result.name} = {phi.then.name}")
        writer.end()
        if s.orelse.statements or s.phis:
            writer.begin("else:")
            self._block(s.orelse)
            for phi in s.phis:
                writer.line(f"{phi.result.name} = {phi.orelse.name}")
            writer.end()

    def _loop(self, s: Loop) -> None:
        writer = self._writer
        if s.trips is not None:
            writer.line(f"{s.trips.name} = 0", s.where)
        actions = restore_actions(s.body, self._plan, self._activity)
        counts = {stack: _pushes(actions, stack) for stack in self.stacks}
        reserved = s.trips is None and not self._inner_pushes(s.body)
        if reserved:
            trips = trip_count_text(s)
            for stack, count in counts.items():
                if count:
                    writer.line(f"{stack} = reserve({stack}, {stack}_at, {trips} * {count})")
        self.begin_loop(s)
        self._block(s.body)
        if not reserved:
            for stack, count in counts.items():
                if count:
                    writer.line(f"{stack} = reserve({stack}, {stack}_at, {count})")
        self._record(actions)
        if s.trips is not None:
            writer.line(f"{s.trips.name} += 1")
        self.end_loop(s)

    def begin_loop(self, s: Loop) -> None:
        """Write what precedes the body of a loop."""
        begin_loop(s, self._writer, self._block)

    def end_loop(self, s: Loop) -> None:
        """Write what follows the body of a loop."""
        end_loop(s, self._writer)

    def _inner_pushes(self, block: Block) -> bool:
        """Return whether a loop inside `block` records values."""
        bodies = [
            restore_actions(s.body, self._plan, self._activity) for s in walk(block) if isinstance(s, Loop)
        ]
        return any(_pushes(actions, stack) for actions in bodies for stack in self.stacks)

    def _record(self, actions: list[Any]) -> None:
        """Write the pushes, in the reverse order of the pops."""
        writer = self._writer
        for action in reversed(actions):
            if isinstance(action, Pop):
                stack = action.stack
                writer.line(f"{stack}[{stack}_at] = {action.value.name}")
                writer.line(f"{stack}_at += 1")
            elif isinstance(action, Branch):
                for condition, side in (
                    (action.condition, action.then),
                    (f"not {action.condition}", action.orelse),
                ):
                    if any(_pushes(side, stack) for stack in self.stacks):
                        writer.begin(f"if {condition}:")
                        self._record(side)
                        writer.end()


def _pushes(actions: list[Any], stack: str) -> int:
    count = 0
    for action in actions:
        if isinstance(action, Pop):
            count += action.stack == stack
        elif isinstance(action, Branch):
            count += _pushes(action.then, stack) + _pushes(action.orelse, stack)
    return count
