"""Gradient diagnostics: the reason for a gradient that is ``None``, with the user's source lines."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from jittape.core.dtypes import is_differentiable
from jittape.core.program import DYNAMIC_DIM, Op
from jittape.core.symbolic.extents import Extent
from jittape.core.user_calls import stack_level
from jittape.errors import UnconnectedGradientWarning
from jittape.recording.tape_exits import Exits, described
from jittape.recording.trie import Node, path_to
from jittape.recording.user_line import user_line
from jittape.recording.variable import Variable
from jittape.transform.differentiate import Seen, TapeView, carries, seen
from jittape.transform.op_paths import Path
from jittape.transform.opaque import opaque_op_between
from jittape.value_classes import NamedTuple

__all__ = ["GradientQuery", "dependent_slots", "diagnoses", "diagnosis", "explain_missing"]


class GradientQuery(NamedTuple):
    """A query for a gradient.

    Attributes
    ----------
    targets : tuple of int
        Slots of the targets that the trace knows.
    sources : tuple of tuples of int
        Slots of each source; a Variable has one for each version that was read.
    view : TapeView
        Positions and slots that the tape recorded and watched.
    values : tuple of Tensor and Variable
        The sources.
    given : int
        Number of targets, including those that the trace does not know.
    exits : Exits or None
        Values that left the tape as arrays or numbers.
    """

    targets: tuple[int, ...]
    sources: tuple[tuple[int, ...], ...]
    view: TapeView
    values: tuple[Any, ...]
    given: int
    exits: Exits | None


def diagnoses(before: Node, after: Node, query: GradientQuery, missing: list[int]) -> str:
    """Return the sentences for all sources in `missing`.

    They are computed once for each gradient in the trie and each calling line, and kept with the gradient's node, so
    that they do not slow down a loop whose gradients are always None.

    Parameters
    ----------
    before, after : Node
        The node at which the gradient was recorded, and the node of the gradient.
    query : GradientQuery
    missing : list of int
        Numbers of the sources without a gradient.
    """
    hints = [(_name(query.values[i], i), _numpy_hint(query.values[i])) for i in missing]
    key = (user_line(), *hints, *(query.exits or ()))
    if after.notes is None:
        after.notes = {}
    text = after.notes.get(key)
    if text is None:
        path = path_to(before)
        text = after.notes[key] = "; ".join([diagnosis(path, query, i) for i in missing])
    return text


def diagnosis(path: Path, query: GradientQuery, number: int) -> str:
    """Return the sentence for source `number`, and the exits of values that depend on it."""
    text = _diagnosis(path, query, number)
    if query.exits is None:
        return text
    value, depends = query.values[number], dependent_slots(path, query.sources[number])
    left = [(key, exit) for key, exit in query.exits.items() if key[0] in depends or key[0] == -id(value)]
    if not left:
        return text
    exits = dict.fromkeys([described(key, exit) for key, exit in left])
    check = _CHECK if text.endswith(_CHECK) else ""
    found = text.removesuffix(_EXPOSED).removesuffix(_CHECK)
    return f"{found}; the value was taken out with {', '.join(exits)}{check}"


def _diagnosis(path: Path, query: GradientQuery, number: int) -> str:
    slots, value, view = query.sources[number], query.values[number], query.view
    name = _name(value, number)
    if not is_differentiable(value.aval.dtype):
        return f"{name} has dtype {value.dtype.name}; only floating and complex values have gradients"
    if not query.given:
        return (
            "the target is an empty structure, so there is nothing to differentiate: give what was computed"
        )
    if not query.targets:
        return (
            "the target was not computed on this tape: it is a constant, or was computed before the tape was entered, "
            "after a step boundary, or in another thread"
        )
    if not slots:
        return f"{name} was not used in anything that the tape recorded" + _numpy_hint(value)
    if any(slot in query.targets for slot in slots):
        return f"{name} is the target itself: the gradient is the cotangent of the target"
    tracked = seen(path, view)
    if not any(slot in tracked.slots for slot in slots):
        return _not_watched(path, view, slots, value, name)
    depends = dependent_slots(path, slots)
    if not any(slot in depends for slot in query.targets):
        return (
            f"the target does not depend on {name}: no recorded op leads from one to the other"
            + _numpy_hint(value)
        )
    return _connection(path, view, tracked, query.targets, slots, depends, name)


def _name(value: Any, number: int) -> str:
    if isinstance(value, Variable):
        return f"variable {value.name!r}"
    # An extent that is printed would be bound to its value, and the trace to one length.
    shape = tuple([DYNAMIC_DIM if n.__class__ is Extent else n for n in value.aval.shape])
    return f"source {number} ({value.aval._replace(shape=shape)})"


def _numpy_hint(value: Any) -> str:
    buffer = value._buffer
    if buffer is not None and buffer.exposed:
        return _EXPOSED
    return ""


_CHECK = "; jt.check_gradient(f, x) compares a gradient with differences"
_EXPOSED = "; its value was taken out with numpy(), and what NumPy computes is not recorded"


def _uses(path: Path, view: TapeView, slots: tuple[int, ...]) -> list[Op]:
    return [op for op in path.ops if view.records(op.out) and any(slot in slots for slot in op.args)]


def _not_watched(path: Path, view: TapeView, slots: tuple[int, ...], value: Any, name: str) -> str:
    uses = _uses(path, view, slots)
    source = uses[0].source if uses else None
    where = f" before {source.place}" if source else " before using it"
    if isinstance(value, Variable):
        why = (
            "it is not trainable"
            if not value.trainable
            else "the tape was made with watch_accessed_variables=False"
        )
        return f"{name} was not watched: {why}; call tape.watch(variable){where}"
    if any(op.out in slots for op in path.ops):
        why = "was computed from nothing that the tape watched"
        return f"{name} {why}; call tape.watch on what it was computed from{where}"
    from jittape.autodiff.rebinding import rebinding_of

    return f"{name} was not watched: it is a constant; call tape.watch(x){where}" + rebinding_of(value)


def dependent_slots(path: Path, slots: Iterable[int]) -> set[int]:
    """Return `slots` and all slots computed from them, recorded or not."""
    depends = set(slots)
    for op in path.ops:
        if any(slot in depends for slot in op.args):
            depends.add(op.out)
    return depends


def _connection(
    path: Path,
    view: TapeView,
    tracked: Seen,
    targets: tuple[int, ...],
    slots: tuple[int, ...],
    depends: set[int],
    name: str,
) -> str:
    """Return the number of ops that connect source and targets, or the first op that blocks the cotangent."""
    towards = set(targets)
    for op in reversed(path.ops):
        if op.out in towards and op.out in depends:
            towards.update(op.args)
    followed, passed, stops = _followed(path, tracked, towards, slots)
    if not any(slot in followed for slot in targets):
        obstacle = _obstacle(path, view, stops[0], followed) if stops else "it was watched after its use"
        return f"no gradient reaches {name}: {obstacle}"
    opaque = opaque_op_between(path, view, tracked, targets, slots)
    if opaque is not None:
        return f"no gradient reaches {name}: " + _obstacle(path, view, opaque, followed)
    text = f"the target depends on {name} through {passed} recorded op{'s' if passed != 1 else ''}"
    custom = [op for op in path.ops if op.primitive.calls_back and op.out in followed & towards]
    if custom:
        return f"{text}; the custom gradient {_line(custom[-1])} may have returned None for it"
    return text + _CHECK


def _followed(
    path: Path, tracked: Seen, towards: set[int], slots: tuple[int, ...]
) -> tuple[set[int], int, list[Op]]:
    """Return the slots that cotangents connect to `slots`, the number of ops on the way, and the ops that block."""
    followed = {slot for slot in slots if slot in tracked.slots}
    passed = 0
    stops: list[Op] = []
    for op in path.ops:
        if op.out not in towards or followed.isdisjoint(op.args):
            continue
        if any(op.args[i] in followed for i in tracked.edges.get(op.out, ())):
            followed.add(op.out)
            passed += 1
        else:
            stops.append(op)
    return followed, passed, stops


def _line(op: Op) -> str:
    return "at an unknown line" if op.source is None else f"at {op.source.place}"


def _obstacle(path: Path, view: TapeView, op: Op, followed: set[int]) -> str:
    """Return the reason why no cotangent passes `op`."""
    where = _line(op)
    if op.primitive.reads_variable:
        return f"the Variable read {where} had been assigned, and no gradient flows through an assignment"
    if not view.records(op.out):
        return f"`{op.primitive.name}` {where} ran while the tape was not recording, or before a reset"
    if op.primitive.gradient_stops:
        why = op.primitive.gradient_stops
        return f"the path goes through `{op.primitive.name}` {where}, which has no gradient: {why}"
    if not is_differentiable(path.avals[op.out].dtype):
        return f"`{op.primitive.name}` {where} gives {path.avals[op.out].dtype.name}, which has no gradient"
    if not any(carries(op, i) for i, slot in enumerate(op.args) if slot in followed):
        return f"the path goes through an argument of `{op.primitive.name}` {where} that has no gradient"
    return f"it was watched after its use in `{op.primitive.name}` {where}"


def explain_missing(results: list[Any], query: GradientQuery, before: Node, after: Node) -> None:
    """Warn about each None in `results`."""
    for result in results:
        if result is None:
            break
    else:
        return
    missing = [i for i, result in enumerate(results) if result is None]
    why = diagnoses(before, after, query, missing)
    text = f"the gradient is None: {why}; see tape.explain(target, source)"
    warnings.warn(text, UnconnectedGradientWarning, stacklevel=stack_level())
