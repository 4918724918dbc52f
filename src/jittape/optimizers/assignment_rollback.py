"""Taking assignments back: what an update of many Variables does that ends halfway."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from jittape.core.buffers import Buffer
from jittape.core.primitive import active_recorder
from jittape.recording.flushing import Assignment
from jittape.recording.trace import current_trace
from jittape.recording.variable import Variable

__all__ = ["as_before", "before_update"]


Before = tuple[Any, dict[int, Assignment], dict[int, Assignment], Sequence[Variable], list[Buffer]]
"""Who recorded; its pending assignments, as the dictionary itself, which a flush replaces, and as what stood in it;
Variables, and their values."""

_value = attrgetter("_buffer")


def before_update(variables: Sequence[Variable]) -> Before:
    """What `as_before` needs; it is not to be kept longer, as memory that is held is not written in place."""
    recorder = current_trace()
    assigned = recorder.assigned
    return recorder, assigned, assigned.copy(), variables, list(map(_value, variables))


def as_before(before: Before) -> None:
    """Take back what the Variables were assigned since; only what is recorded, if nothing has run meanwhile.

    If something has, a Variable that had another assignment pending keeps what it was given last: nobody has the value
    any more that was pending.
    """
    recorder, assigned, entries, variables, buffers = before
    has_run = recorder.assigned is not assigned or active_recorder() is not recorder
    for variable, buffer in zip(variables, buffers, strict=True):
        entry = entries.get(id(variable))
        if has_run:
            if entry is None and (variable._buffer is not buffer or variable._assigned_in is not None):
                variable._set(buffer)
        elif assigned.get(id(variable)) is not entry or variable._buffer is not buffer:
            variable._buffer = buffer
            variable._forget_assignment()
            if entry is None:
                assigned.pop(id(variable), None)
            else:
                assigned[id(variable)] = entry
                variable._assigned_in = variable._trace = recorder
