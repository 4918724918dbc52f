"""Reverse mode on the op list: the ops that a tape tracks, and the ops of their gradient.

`seen` walks the list forwards and finds the edges that a tape tracks. `Reverse` walks back along these edges and
appends the VJP of each primitive, written in user-level functions, with a `Builder`. The appended ops are ordinary ops,
so a tape that records meanwhile can differentiate them again.

A primitive whose gradient is a Python function of the user (`custom_gradient`) interrupts the walk: `Reverse.run`
returns a `Callback`. The caller runs the function, passes the result to `Reverse.supply` and continues the walk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

from jittape.core.builder import Builder, Symbol
from jittape.core.config import config
from jittape.core.dtypes import is_differentiable
from jittape.core.forms import Control, runs_of
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, CallLine, GradientLine, Op, is_dynamic_dim
from jittape.errors import NoGradientError, ProgramError
from jittape.primitives.broadcast import real_op
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.transform.op_paths import Path
from jittape.transform.templates import Memory, Template, has_pure_rules
from jittape.value_classes import NamedTuple

__all__ = ["Callback", "Reverse", "Seen", "TapeView", "carries", "seen"]

_TRACKING_TAPES = 4
"""Maximum number of tapes of which a path remembers what they track."""


class TapeView(NamedTuple):
    """The part of the op list that a tape records. It holds structure only, so it can be part of a trie key.

    Attributes
    ----------
    segments : tuple of int
        Positions (slot numbers) at which recording alternately began and ended: ``(begin, end, begin, end, ...)``.
    watches : tuple of (position, slot)
        Explicit `watch` calls, in order.
    accessed : bool
        Whether trainable Variables are watched automatically.
    """

    segments: tuple[int, ...]
    watches: tuple[tuple[int, int], ...]
    accessed: bool

    def records(self, slot: int) -> bool:
        """Return whether the op that defined `slot` was recorded."""
        return bisect_right(self.segments, slot) % 2 == 1


class Seen(NamedTuple):
    """The slots that a tape tracks, and the tracked operand numbers of each op, by the op's slot."""

    slots: set[int]
    edges: dict[int, tuple[int, ...]]


class _Tracking:
    """The slots and edges that a tape tracks among the first ops of a path.

    Attributes
    ----------
    n_ops, n_variables : int
        Number of ops and Variables of the path that have been visited.
    tracked : set of int
        Tracked slots, also those of dtypes without gradients.
    seen : Seen
    """

    def __init__(self, view: TapeView) -> None:
        self.n_ops = self.n_variables = 0
        self.tracked: set[int] = set()
        self.seen = Seen(set(), {})
        self._view, self._end = view, float("-inf")

    def is_part_of(self, view: TapeView) -> bool:
        """Return whether a tape with `view` has seen the visited ops in the same way."""
        mine, end = self._view, self._end
        return (
            mine.accessed == view.accessed
            and mine.segments[: bisect_left(mine.segments, end)]
            == view.segments[: bisect_left(view.segments, end)]
            and mine.watches[: bisect_left(mine.watches, (end,))]
            == view.watches[: bisect_left(view.watches, (end,))]
        )

    def advance(self, path: Path, view: TapeView) -> Seen:
        """Visit the other ops of `path` and return what a tape with `view` tracks."""
        tracked, slots, edges = self.tracked, self.seen.slots, self.seen.edges
        if view.accessed:
            variables = path.variables
            fresh = [s for s in islice(variables, self.n_variables, None) if variables[s]]
            self._track(path, fresh)
            self.n_variables = len(variables)
        done = bisect_left(view.watches, (self._end,))
        watches = list(reversed(view.watches[done:]))
        ops, n_ops = path.ops, len(path.ops)
        for number in self._recorded(ops, view):
            op = ops[number]
            while watches and watches[-1][0] <= op.out:
                self._track(path, [watches.pop()[1]])
            if tracked.isdisjoint(op.args):
                continue
            along = tuple([i for i, slot in enumerate(op.args) if slot in tracked and carries(op, i)])
            if along and is_differentiable(path.avals[op.out].dtype):
                tracked.add(op.out)
                slots.add(op.out)
                edges[op.out] = along
        self.n_ops, self._view = n_ops, view
        if n_ops:
            self._end = ops[n_ops - 1].out + 1
        # Another tape that has seen the same ops need not watch these.
        later = [
            slot for at, slot in watches if at >= self._end and is_differentiable(path.avals[slot].dtype)
        ]
        self._track(path, [slot for at, slot in watches if at < self._end])
        return self.seen if slots.issuperset(later) else Seen(slots.union(later), edges)

    def _recorded(self, ops: Sequence[Op], view: TapeView) -> Iterator[int]:
        """Yield the numbers of the other ops that a tape with `view` recorded."""
        passed = bisect_left(view.segments, self._end)
        bounds = [bisect_left(ops, at, key=_position) for at in view.segments[passed:]]
        if passed % 2:
            bounds.insert(0, self.n_ops)
        for begin, end in zip_longest(bounds[::2], bounds[1::2], fillvalue=len(ops)):
            yield from range(begin, end)

    def _track(self, path: Path, slots: Sequence[int]) -> None:
        self.tracked.update(slots)
        self.seen.slots.update([slot for slot in slots if is_differentiable(path.avals[slot].dtype)])


def _position(op: Op) -> int:
    return op.out


def seen(path: Path, view: TapeView) -> Seen:
    """Walk `path` forwards and return what a tape with `view` tracks.

    The result grows with the path. The walk begins where a former one with the same view ended.
    """
    fitting = [known for known in path.tracking if known.is_part_of(view)]
    tracking = max(fitting, key=lambda known: known.n_ops) if fitting else _Tracking(view)
    others = [known for known in path.tracking if known is not tracking]
    path.tracking = others  # a signal handler that asks meanwhile begins anew
    found = tracking.advance(path, view)
    path.tracking = [tracking, *others[: _TRACKING_TAPES - 1]]
    return found


def carries(op: Op, operand: int) -> bool:
    """Return whether a cotangent flows from `op` to its operand, or would flow if the op had a gradient rule."""
    primitive = op.primitive
    if primitive.calls_back:
        return operand > 0
    if primitive.reads_variable or primitive.gradient_stops:
        return False
    return primitive.vjp == () or primitive.has_rule_for(operand)


class Callback(NamedTuple):
    """A call whose gradient is a Python function, which interrupts the walk.

    `op` is the first result of the call that the walk reached, `slots` are the slots of all its results, and
    `cotangents` are their cotangents, None for a result without one.
    """

    op: Op
    slots: tuple[int, ...]
    cotangents: tuple[Symbol | None, ...]


class Reverse:
    """The walk from targets back to sources. Copy it (`copy`) to continue it twice.

    Attributes
    ----------
    steps : tuple of (Op, operand numbers)
        Ops between sources and targets, last first, and the operands that receive cotangents.
    avals : mapping
        Avals of all slots of the path.
    cotangents : dict of int to Symbol
        Cotangents accumulated so far, by slot.
    position : int
        Number of the next step.
    called : set of int
        Results of calls whose Python function has run.
    runs : mapping of int to tuple of Op
        Loops and branches: all results of one run between sources and targets, by the slot that the walk reaches last.
    stacked : dict of int to list of Symbol
        Cotangents of values stacked by loops of unknown length; the gradient of the loop adds them up.
    lines : dict of int to GradientLine
        Lines of the appended ops, by identity of the line of the differentiated op.
    """

    def __init__(
        self,
        steps: tuple[tuple[Op, tuple[int, ...]], ...],
        avals: Mapping[int, Aval],
        runs: Mapping[int, tuple[Op, ...]],
    ) -> None:
        self.steps, self.avals, self.runs = steps, avals, runs
        self.cotangents: dict[int, Symbol] = {}
        self.position = 0
        self.called: set[int] = set()
        self.stacked: dict[int, list[Symbol]] = {}
        self.lines: dict[int, GradientLine] = {}

    @classmethod
    def between(cls, path: Path, tracked: Seen, targets: Sequence[int], sources: Sequence[int]) -> Reverse:
        """Return the walk over the ops of `path` that lie between `sources` and `targets`."""
        dependent = {slot for slot in sources if slot in tracked.slots}
        numbers, edges = path.numbers, tracked.edges
        first = min([numbers.get(slot, -1) for slot in dependent], default=len(numbers))

        def follow(op: Op) -> Sequence[int]:
            if numbers[op.out] <= first:
                return ()
            return [op.args[i] for i in edges.get(op.out, ())]

        along: dict[int, tuple[int, ...]] = {}
        behind = path.ops_behind(targets, follow) if dependent else []
        for op in behind:
            carrying = tuple([i for i in edges.get(op.out, ()) if op.args[i] in dependent])
            if carrying:
                along[op.out] = carrying
                dependent.add(op.out)
        needed = {slot for slot in targets if slot in dependent}
        steps = []
        for op in reversed(behind):
            if op.out in needed and op.out in along:
                steps.append((op, along[op.out]))
                needed.update([op.args[i] for i in along[op.out]])
        runs = {run[-1].out: run for run in runs_of([op for op, _ in steps]).values()}
        return cls(tuple(steps), path.avals, runs)

    def copy(self) -> Reverse:
        made = Reverse(self.steps, self.avals, self.runs)
        made.cotangents, made.position, made.called = dict(self.cotangents), self.position, set(self.called)
        made.stacked = {slot: list(parts) for slot, parts in self.stacked.items()}
        return made

    def seed(self, builder: Builder, slot: int, cotangent: Symbol) -> None:
        """Add `cotangent` to the cotangent of `slot`, a target. Call this before `run`."""
        self._accumulate(builder, slot, cotangent)

    def run(self, builder: Builder) -> Callback | None:
        """Continue the walk to the next op whose gradient is a Python function; return None at the end."""
        with recording_with(builder):
            while self.position < len(self.steps):
                op, along = self.steps[self.position]
                self.position += 1
                if isinstance(op.primitive.lowering, Control):
                    if op.out in self.runs:
                        self._run_control(builder, self.runs[op.out], along)
                    continue
                cotangent = self.cotangents.get(op.out)
                if cotangent is None:
                    continue
                if op.primitive.calls_back:
                    if op.out not in self.called:
                        return self._callback(op)
                    continue
                self._run_op(builder, op, along, cotangent)
        return None

    def _run_control(self, builder: Builder, run: tuple[Op, ...], along: tuple[int, ...]) -> None:
        """Apply the gradient rule of a loop or branch to all its results at once."""
        op = run[0]
        form, params = op.primitive.lowering, dict(op.params)
        assert isinstance(form, Control)
        del params["result_index"]
        cotangents: dict[Any, list[Symbol]] = {}
        for one in run:
            found = self.stacked.get(one.out, [])
            if one.out in self.cotangents:
                found = [*found, self.cotangents[one.out]]
            if found:
                cotangents.setdefault(dict(one.params)["result_index"], []).extend(found)
        if not cotangents:
            return
        builder.source = self._line_of_gradient(op)
        operands = [Symbol(slot, self.avals[slot]) for slot in op.args]
        parts = form.vjp(cotangents, along, operands, **params)
        for i, part in parts.items():
            self._accumulate(builder, op.args[i], self._as_cotangent(op, operands[i], part))

    def _callback(self, op: Op) -> Callback:
        """Return the callback of a call. Its results are defined together, so all cotangents have been accumulated."""
        params = dict(op.params)
        first = op.out - params["index"]
        slots = tuple(range(first, first + params["count"]))
        self.called.update(slots)
        return Callback(op, slots, tuple([self.cotangents.get(slot) for slot in slots]))

    def supply(self, builder: Builder, op: Op, cotangents: Sequence[Symbol | None]) -> None:
        """Accumulate the results of the Python function: cotangents of the operands of `op` after its primal."""
        along = self.steps[self.position - 1][1]
        for i, cotangent in enumerate(cotangents, start=1):
            if i in along and cotangent is not None:
                self._accumulate(builder, op.args[i], cotangent)

    def _run_op(self, builder: Builder, op: Op, along: tuple[int, ...], cotangent: Symbol) -> None:
        """Propagate `cotangent` to the operands. The ops of a rule depend on avals and on which slots are equal."""
        if op.primitive.vjp == ():
            raise NoGradientError(
                f"No gradient is defined for {op.primitive.name}, recorded at {op.source or 'an unknown line'}; "
                "wrap it with jt.custom_gradient, or stop the path there with jt.stop_gradient"
            )
        builder.source = self._line_of_gradient(op)
        given = (cotangent.slot, op.out, *op.args)
        same = () if len(set(given)) == len(given) else tuple([given.index(slot) for slot in given])
        avals = map(self.avals.__getitem__, given[1:])
        template_key = (op.primitive, op.params, along, config._default_float, same, cotangent.aval, *avals)
        known = _rules.find(template_key)
        if known is None:
            rules = [self._run_rule(builder, op, i, cotangent, given) for i in along]
            pure = tuple([rule for rule in rules if rule is not None])
            if len(pure) == len(along):
                _rules.keep(template_key, pure, sum([rule.ops.n_new for rule in pure]))
            return
        for i, rule in zip(along, known, strict=True):
            slots = rule.ops.append_to(builder, given)
            if rule.part is not None:
                number, aval = rule.part
                self._accumulate(builder, op.args[i], Symbol(slots[number], aval))

    def _line_of_gradient(self, op: Op) -> GradientLine | None:
        """Return the line of the ops that the gradient of an op appends; ops of one line share it."""
        source = op.source
        if source is None:
            return None
        line = self.lines.get(id(source))
        if line is None:
            line = self.lines[id(source)] = tuple.__new__(GradientLine, source)
            if isinstance(source, CallLine | GradientLine) and source.layer:
                line.layer = source.layer
        return line

    def _run_rule(
        self, builder: Builder, op: Op, operand: int, cotangent: Symbol, given: tuple[int, ...]
    ) -> _Rule | None:
        """Run the gradient rule of one operand and accumulate its result.

        Returns the recorded ops as a template, or None if the rule is not pure.
        """
        first, n_ops = builder.next_slot, len(builder.ops)
        out = Symbol(op.out, self.avals[op.out])
        operands = [Symbol(slot, self.avals[slot]) for slot in op.args]
        rule = op.primitive.rule_for(operand)
        part = rule(cotangent, out, *operands, **dict(op.params)) if rule is not None else None
        if part is not None:
            part = self._as_cotangent(op, operands[operand], part)
        known = _Rule.of(builder, n_ops, first, given, part) if has_pure_rules(op.primitive) else None
        if part is not None:
            self._accumulate(builder, op.args[operand], part)
        return known

    def _as_cotangent(self, op: Op, operand: Symbol, part: Any) -> Symbol:
        """Return `part` as a cotangent of `operand`; it is made real if the operand is real."""
        if part.dtype.kind == "c" and operand.dtype.kind != "c":
            part = real_op.bind(part)
        if part.aval != operand.aval:
            raise ProgramError(
                f"the gradient rule of {op.primitive.name} returned {part.aval} for {operand.aval}"
            )
        cotangent: Symbol = part
        return cotangent

    def _accumulate(self, builder: Builder, slot: int, cotangent: Symbol) -> None:
        if is_dynamic_dim(cotangent.aval):
            self.stacked.setdefault(slot, []).append(cotangent)
            return
        before = self.cotangents.get(slot)
        self.cotangents[slot] = cotangent if before is None else self.sum(builder, before, cotangent)

    def sum(self, builder: Builder, one: Symbol, other: Symbol) -> Symbol:
        """Append the sum of two cotangents of one slot."""
        if one.aval == other.aval:
            return builder.append(add_op, (one.slot, other.slot), (), one.aval)
        return builder.bind(add_op, (one, other), {})


class _Rule(NamedTuple):
    """The ops that a gradient rule recorded; the given slots are those of the cotangent, the result and the operands.

    `part` is the position of the rule's result among the template's slots, and its aval; None if the rule returns None.
    """

    ops: Template
    part: tuple[int, Aval] | None

    @classmethod
    def of(
        cls, builder: Builder, n_ops: int, first: int, given: tuple[int, ...], part: Symbol | None
    ) -> _Rule:
        """Return the ops of `builder` after its first `n_ops`; their slots begin at `first`."""
        ops = builder.ops[n_ops:]
        template = Template.of(ops, [builder.avals[op.out] for op in ops], first, builder.next_slot, given)
        if part is None:
            return cls(template, None)
        return cls(template, (template.slots(first, given).index(part.slot), part.aval))


_rules: Memory[tuple[_Rule, ...]] = Memory()
