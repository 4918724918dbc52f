"""Rollback of assignments, for an update of several Variables that fails."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from jittape.core.buffers import Buffer
from jittape.core.primitive import active_recorder
from jittape.recording.flushing import Assignments
from jittape.recording.trace import current_trace
from jittape.recording.variable import Variable

__all__ = ["roll_back", "snapshot"]


Snapshot = tuple[Any, Assignments, Assignments, Sequence[Variable], list[Buffer]]
"""The recorder, its dictionary of pending assignments and a copy of that, the Variables, and their values.

A flush replaces the dictionary, so `roll_back` detects a flush.
"""

_value = attrgetter("_buffer")


def snapshot(variables: Sequence[Variable]) -> Snapshot:
    """Return a snapshot for `roll_back`. Drop it soon, since memory that it refers to is not updated in place."""
    recorder = current_trace()
    assigned = recorder.assigned
    return recorder, assigned, assigned.copy(), variables, list(map(_value, variables))


def roll_back(before: Snapshot) -> None:
    """Undo the assignments to the Variables since the snapshot.

    If the trace has been flushed meanwhile, a Variable that had a pending assignment at the snapshot keeps its last
    value, since the pending value is lost.
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
