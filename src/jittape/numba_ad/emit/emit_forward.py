"""Python text of the forward pass, which records what the backward pass needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numba import types

from jittape.numba_ad.activity import Activity
from jittape.numba_ad.checkpoints import Checkpoint
from jittape.numba_ad.emit.kept_arrays import PopArray, kept_copies, save
from jittape.numba_ad.emit.parallel_loops import PartFunction, split_into_parts
from jittape.numba_ad.emit.restore_actions import Branch, Pop, pushes, restore_actions
from jittape.numba_ad.emit.stack_slices import StackSlices, find_slices
from jittape.numba_ad.emit.statement_text import element, most_text, range_text, resize_text, text_of
from jittape.numba_ad.loops.independent_iterations import KEEPS, reason_for_one_thread
from jittape.numba_ad.recording_plan import Plan
from jittape.numba_ad.stack_sizes import recording_loops, stack_size
from jittape.numba_ad.structured_ir import (
    Alloc,
    Apply,
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
    "ForwardPass",
    "Writer",
    "begin_loop",
    "end_loop",
    "write_simple",
]

FIRST_SIZE = 64
"""Size of a new stack."""


class Writer:
    """Lines of Python code with indentation and comments that show the user's lines.

    Comments name the file of a line if it is not that of the function.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self.lines: list[str] = []
        self._depth = 1
        self._where: Where | None = None

    def line(self, text: str, where: Where | None = None) -> None:
        """Append a line; `where` is shown before it unless it was shown last."""
        if where is not None and where != self._where:
            self._where = where
            file = "" if where.file == self._file else f"{Path(where.file).name}:"
            self.lines.append(f"{'    ' * self._depth}# {file}{where.line}: {where.text.strip()}")
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


def begin_loop(s: Loop, writer: Writer, run: Callable[[Block], None]) -> None:
    """Write what precedes the body of a loop; `run` writes the statements of its header."""
    for phi in s.phis:
        writer.line(f"{phi.inner.name} = {phi.init.name}", s.where)
    if s.counter is not None:
        writer.begin(f"for {s.counter.name} in {range_text(s.bounds)}:", s.where)
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
        assert isinstance(s, (Op, Dim, Load, Alloc, Apply, View))
        writer.line(f"{s.result.name} = {text_of(s)}", s.where)


class ForwardPass:
    """Writes the forward pass of the function called `name`; without a name, no loop runs in threads.

    Attributes
    ----------
    parts : list of PartFunction
        Functions that run parts of loops.
    in_threads : set of Loop
        Loops that run in threads, and backward in another pass.
    """

    def __init__(self, plan: Plan, activity: Activity, writer: Writer, name: str | None) -> None:
        self._plan, self._activity, self._writer, self._name = plan, activity, writer, name
        self.parts: list[PartFunction] = []
        self.in_threads: set[Loop] = set()
        self._reserved: set[Loop] = set()
        self._records, self._repeats = True, False
        stacks = {Pop(value).stack for value in plan.recorded if plan.is_inside_loop(value)}
        copies = [(s, *copy) for s in plan.kept for copy in kept_copies(s, plan)]
        for s, name, array in copies:
            if plan.is_inside_loop(s.result):
                stacks |= {PopArray(name, array).stack, "ints"}
        for loop, arrays in plan.saved.of_loop.items():
            if plan.saved.is_on_stack(loop):
                stacks |= {one.stack for one in arrays}
        stacks |= {one.stack for rows in plan.undone.of_loop.values() for one in rows}
        self.stacks = sorted(stacks)
        for stack in self.stacks:
            writer.line(f"{stack}, {stack}_at = new_empty(({FIRST_SIZE}, ), np.{stack[:-1]}64), 0")
        for root in plan.resized:
            writer.line(f"{root.name}_most = {FIRST_SIZE}")
        for s, name, array in copies:
            if plan.is_in_branch(s.result):
                empty = f"({'0, ' * array.type.ndim})"
                writer.line(f"{name} = unset(new_empty({empty}, np.{array.type.dtype}))")
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
            arrays = self._plan.saved.of_loop.get(s)
            if arrays and self._records:
                save(arrays, self._plan.saved.is_on_stack(s), s in self._reserved, self._writer)
        elif not (self._repeats and isinstance(s, Effect)):
            write_simple(s, self._writer)
        if isinstance(s, Apply):
            for name, array in kept_copies(s, self._plan):
                self._writer.line(f"{name} = {array.name}.copy()")
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
        if s in self._plan.checkpoints and self._records:
            self._checkpointed(self._plan.checkpoints[s], s)
            return
        if not self._records:
            self._unrecorded(s)
            return
        if s.trips is not None:
            writer.line(f"{s.trips.name} = 0", s.where)
        if s.parallel and not self._repeats and self._name is not None and not self.explain_one_thread(s):
            self.in_threads.add(s)
        start = len(writer.lines)
        slices = self.slices(s)
        reserved = self._reserve(s)
        if slices is not None:
            for line in slices.begin(reserved):
                writer.line(line, s.where)
        self.begin_loop(s)
        self._save_rows(s, reserved)
        self._block(s.body)
        if slices is None:
            self._push(restore_actions(s.body, self._plan, self._activity), reserved)
        else:
            for pop in slices.pops:
                reason = self._plan.reason(pop.value)
                writer.line(f"{slices.element(pop)} = {pop.value.name}  # kept: {reason}")
        if s.trips is not None:
            writer.line(f"{s.trips.name} += 1")
        self.end_loop(s)
        if s in self.in_threads:
            self.split(s, start)

    def split(self, s: Loop, start: int) -> None:
        """Replace the text of a loop, from line `start` on, by calls for its parts."""
        name = f"part_{len(self.parts) + 1}_of_{self._name}"
        self.parts.append(split_into_parts(s, self._activity, self._writer.lines, start, name))

    def _save_rows(self, s: Loop, reserved: bool) -> None:
        """Write the copies of what an iteration writes."""
        for row in self._plan.undone.of_loop.get(s, ()):
            self._writer.begin(f"if {row.exists}:")
            if not reserved:
                self._writer.line(f"{row.stack} = reserve({row.stack}, {row.stack}_at, {row.size})")
            for line in row.save():
                self._writer.line(line)
            self._writer.end()

    def explain_one_thread(self, s: Loop) -> bool:
        """Write why a ``prange`` loop runs on one thread; return whether it does."""
        plan = self._plan
        loops = [s, *[one for one in walk(s.body) if isinstance(one, Loop)]]
        keeping = (plan.saved.of_loop, plan.undone.of_loop, plan.checkpoints)
        saves = any(one in kept for one in loops for kept in keeping)
        is_single_pass = s in plan.single_pass.loops
        # Each iteration has its own elements of a slice.
        recorded = plan.recorded if is_single_pass or self.slices(s) is None else set()
        reason = reason_for_one_thread(s, is_single_pass, recorded, self._activity)
        if reason is None and saves:
            reason = KEEPS
        if reason is not None:
            self._writer.line(f"# prange runs on one thread: {reason}", s.where)
        return reason is not None

    def records(self, s: Loop) -> bool:
        """Return whether a loop itself, or an iteration outside inner loops, keeps values for the backward pass."""
        actions = restore_actions(s.body, self._plan, self._activity)
        keeps = s in self._plan.saved.of_loop or s in self._plan.undone.of_loop
        return keeps or any(pushes(actions, stack) for stack in self.stacks)

    def slices(self, s: Loop) -> StackSlices | None:
        """Return the slices of the stacks that a loop uses; None if it uses their tops."""
        inner = [one for stack in self.stacks for one in recording_loops(s.body, partial(self._count, stack))]
        keeps = bool(inner) or s in self._plan.undone.of_loop
        return find_slices(s, restore_actions(s.body, self._plan, self._activity), self._plan, keeps)

    def begin_loop(self, s: Loop) -> None:
        """Write what precedes the body of a loop."""
        begin_loop(s, self._writer, self._block)

    def end_loop(self, s: Loop) -> None:
        """Write what follows the body of a loop."""
        end_loop(s, self._writer)

    def _unrecorded(self, s: Loop) -> None:
        self.begin_loop(s)
        self._block(s.body)
        self.end_loop(s)

    def _checkpointed(self, checkpoint: Checkpoint, s: Loop) -> None:
        """Write a loop that records nothing, and keeps its state at the beginning of each segment."""
        for line in checkpoint.before():
            self._writer.line(line, s.where)
        self._unrecorded_with_states(checkpoint, s)

    def _unrecorded_with_states(self, checkpoint: Checkpoint, s: Loop) -> None:
        self._records = False
        self.begin_loop(s)
        for line in checkpoint.at_iteration():
            self._writer.line(line)
        self._block(s.body)
        self.end_loop(s)
        self._records = True

    def segment(self, checkpoint: Checkpoint) -> None:
        """Write the second run of one segment, which records; effects are not repeated."""
        for line in checkpoint.restore():
            self._writer.line(line)
        self._repeats = True
        if checkpoint.advance is not None:
            self._unrecorded_with_states(checkpoint, checkpoint.advance)
            for line in checkpoint.after_advance():
                self._writer.line(line)
        self._loop(checkpoint.segment)
        self._repeats = False

    def kept_bytes(self) -> str:
        """Write the second run of one segment of each time loop; return the text of the size of all kept values."""
        sizes = [f"8 * {stack}_at" for stack in self.stacks]
        for checkpoint in self._plan.checkpoints.values():
            self._writer.begin(checkpoint.any_segment())
            self._writer.line(checkpoint.first_segment())
            self.segment(checkpoint)
            self._writer.end()
            sizes += checkpoint.sizes()
        for loop, arrays in self._plan.saved.of_loop.items():
            if not self._plan.saved.is_on_stack(loop):
                sizes += [f"{one.name}.nbytes" for one in arrays]
        return " + ".join(sizes) or "0"

    def _reserve(self, s: Loop) -> bool:
        """Enlarge the stacks for all iterations of a loop; return whether they are large enough for it."""
        if s in self._reserved:
            return True
        if any(kept_copies(one, self._plan) for one in walk(s.body) if isinstance(one, Apply)):
            return False  # sizes of arrays are unknown
        sizes = {stack: stack_size(s, partial(self._count, stack)) for stack in self.stacks}
        if None in sizes.values():
            return False
        for stack, size in sizes.items():
            inner = recording_loops(s.body, partial(self._count, stack))
            if size is not None and (inner or self._count(stack, s)):
                for line in size.lines:
                    self._writer.line(line, s.where)
                self._writer.line(f"{stack} = reserve({stack}, {stack}_at, {size.text})", s.where)
        self._reserved.update(one for one in walk(s.body) if isinstance(one, Loop))
        return True

    def _count(self, stack: str, s: Loop) -> list[str]:
        """Return texts whose sum is how many values an iteration records, without those of inner loops."""
        count = pushes(restore_actions(s.body, self._plan, self._activity), stack)
        saved = [one for loop in s.body.statements for one in self._plan.saved.of_loop.get(loop, ())]  # type: ignore[call-overload]
        sizes = [one.size for one in [*saved, *self._plan.undone.of_loop.get(s, ())] if one.stack == stack]
        return [*([str(count)] if count else []), *sizes]

    def _push(self, actions: list[Any], reserved: bool) -> None:
        """Write the pushes of an iteration; the stacks may be `reserved` for them."""
        counts = {stack: pushes(actions, stack) for stack in self.stacks}
        for stack, count in counts.items():
            if count and not reserved:
                self._writer.line(f"{stack} = reserve({stack}, {stack}_at, {count})")
        self._record(actions, counts)

    def _record(self, actions: list[Any], counts: dict[str, int]) -> None:
        """Write the pushes, in the reverse order of the pops."""
        writer = self._writer
        for action in reversed(actions):
            if isinstance(action, Pop):
                stack = action.stack
                reason = self._plan.reason(action.value)
                writer.line(f"{stack}[{stack}_at] = {action.value.name}  # kept: {reason}")
                writer.line(f"{stack}_at += 1")
            elif isinstance(action, PopArray):
                action.record(writer, counts[action.stack])
            elif isinstance(action, Branch):
                for condition, side in (
                    (action.condition, action.then),
                    (f"not {action.condition}", action.orelse),
                ):
                    if any(pushes(side, stack) for stack in self.stacks):
                        writer.begin(f"if {condition}:")
                        self._record(side, counts)
                        writer.end()
