"""Gradients through opaque ops: ops of unknown derivative, such as a call of a NumPy function.

An op that is piecewise constant (`floor`, `argmax`, a comparison) or stops gradients on purpose has the derivative
zero. The derivative of an opaque op is unknown. If an opaque op is on the only path from a source, the gradient is
None. If it is on one of several paths, the sum over the other paths would be a wrong number, so an error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from jittape.core.dtypes import is_differentiable
from jittape.core.forms import Control
from jittape.core.program import Aval, Body, Op, Program, bodies_of
from jittape.errors import NoGradientError
from jittape.transform.differentiate import Seen, TapeView, carries
from jittape.transform.op_paths import Path
from jittape.value_classes import NamedTuple

__all__ = ["Flow", "Follow", "OpaqueRules", "joined", "opaque_op_between", "unknown_among"]


class Flow(NamedTuple):
    """Dependence of a value on the sources: through ops with known derivatives, and through the opaque op `unknown`."""

    known: bool
    unknown: Op | None


class OpaqueRules(NamedTuple):
    """Rules for gradients with opaque ops.

    Attributes
    ----------
    zeros : bool
        Whether a missing gradient counts as zero. Then an opaque op is an error even on the only path.
    jointly : bool
        Whether targets are separate and all sources vary together, as in forward mode. Otherwise the targets are
        summed and sources are separate.
    """

    zeros: bool = False
    jointly: bool = False


_SOURCE = Flow(True, None)

Follow = Callable[[Program, Sequence[Flow | None]], Mapping[int, Flow]]
"""Return the flow of each slot of a program whose inputs have the given flows."""


def joined(flows: Iterable[Flow | None]) -> Flow | None:
    """Return the flow of a value that depends on several values."""
    known, unknown = False, None
    for flow in flows:
        if flow is not None:
            known, unknown = known or flow.known, unknown or flow.unknown
    return Flow(known, unknown) if known or unknown else None


def unknown_among(
    path: Path,
    view: TapeView,
    tracked: Seen,
    targets: Sequence[int],
    sources: Sequence[Sequence[int]],
    opaque_rules: OpaqueRules,
) -> tuple[int, ...]:
    """Return the numbers of the sources whose gradients are None because an opaque op is the only path.

    Parameters
    ----------
    path, view, tracked
        The op list, what a tape saw of it, and what it tracks.
    targets : sequence of int
    sources : sequence of sequences of int
        The slots of each source.
    opaque_rules : OpaqueRules
        If it is joint, the numbers returned are those of targets.

    Raises
    ------
    NoGradientError
        If an opaque op is one of several paths, or a missing gradient counts as zero.
    """
    if not path.ops_where(_hides):
        return ()
    if opaque_rules.jointly:
        at = _flows(path, view, tracked, targets, [slot for slots in sources for slot in slots])
        found = [at.get(slot) for slot in targets]
    else:
        found = [
            joined([at.get(slot) for slot in targets])
            for at in [_flows(path, view, tracked, targets, slots) for slots in sources]
        ]
    for flow in found:
        if flow is not None and flow.unknown is not None and (flow.known or opaque_rules.zeros):
            raise _no_gradient(flow.unknown, flow.known)
    return tuple([i for i, flow in enumerate(found) if flow is not None and not flow.known])


def opaque_op_between(
    path: Path, view: TapeView, tracked: Seen, targets: Sequence[int], slots: Sequence[int]
) -> Op | None:
    """Return an opaque op on a path from a source with the given slots to the targets; None without one."""
    if not path.ops_where(_hides):
        return None
    at = _flows(path, view, tracked, targets, slots)
    flow = joined([at.get(slot) for slot in targets])
    return None if flow is None else flow.unknown


def _no_gradient(op: Op, known: bool) -> NoGradientError:
    why = (
        "which is on one of several paths from a source to the target: without it the gradient would be a wrong number"
        if known
        else "which is on the path from a source to the target: the gradient is unknown, not zero"
    )
    return NoGradientError(
        f"No gradient is defined for {op.primitive.name}, recorded at {op.source or 'an unknown line'}, {why}. "
        f"{op.primitive.gradient_stops}; or declare it constant with jt.stop_gradient"
    )


def _flows(
    path: Path, view: TapeView, tracked: Seen, targets: Sequence[int], slots: Sequence[int]
) -> dict[int, Flow]:
    """Return the flow of each slot from which `targets` are computed and that depends on a source, by recorded ops."""
    watched = {slot: at for at, slot in reversed(view.watches)}
    begin = [
        (-1 if slot in path.variables or slot in tracked.edges else watched.get(slot, -1), slot)
        for slot in slots
        if slot in tracked.slots
    ]
    recorded = path.ops_behind(targets, lambda op: op.args if view.records(op.out) else ())
    recorded = [op for op in recorded if view.records(op.out)]
    return _followed(recorded, path.avals, {}, sorted(begin, reverse=True))


def _followed(
    ops: Iterable[Op], avals: Mapping[int, Aval], at: dict[int, Flow], waiting: list[tuple[int, int]]
) -> dict[int, Flow]:
    """Add the flow of each op's result to `at`; slots in `waiting` are sources from a position on, last first."""
    for op in ops:
        while waiting and waiting[-1][0] <= op.out:
            at[waiting.pop()[1]] = _SOURCE
        flow = joined([_flow_of(op, [at.get(slot) for slot in op.args]), at.get(op.out)])
        if flow is not None and is_differentiable(avals[op.out].dtype):
            at[op.out] = flow
    at.update({slot: _SOURCE for _, slot in waiting})
    return at


def _flow_of(op: Op, arriving: Sequence[Flow | None]) -> Flow | None:
    """Return the flow of the result of `op`, whose operands have the given flows."""
    if not any(arriving):
        return None
    if isinstance(op.primitive.lowering, Control):
        flow: Flow | None = op.primitive.lowering.flow(_through, arriving, **dict(op.params))
        return flow
    if op.primitive.opaque:
        return Flow(False, op)
    return joined([flow for i, flow in enumerate(arriving) if flow is not None and carries(op, i)])


def _through(program: Program, arriving: Sequence[Flow | None]) -> Mapping[int, Flow]:
    """Return the flow of each slot of a body."""
    at = {slot: flow for slot, flow in zip(program.inputs, arriving, strict=True) if flow is not None}
    return _followed(program.ops, program.avals, at, [])


_hiding: WeakKeyDictionary[Body, bool] = WeakKeyDictionary()


def _hides(op: Op) -> bool:
    """Return whether `op` is opaque, or a loop or branch with an opaque op in a body."""
    if not isinstance(op.primitive.lowering, Control):
        return op.primitive.opaque
    return any([_body_hides(body) for body in bodies_of(op)])


def _body_hides(body: Body) -> bool:
    known = _hiding.get(body)
    if known is None:
        known = _hiding[body] = any(_hides(op) for op in body.program.ops)
    return known
