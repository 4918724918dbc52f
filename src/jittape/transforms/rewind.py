"""Temporary recording on a trace, which returns to its former position afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jittape.core.primitive import recording_with
from jittape.recording.trace import Trace

__all__ = ["rewound"]


@contextmanager
def rewound(trace: Trace, ticket: Any) -> Iterator[None]:
    """Record with `trace` inside the context, flush it at the end, and return it to its former position.

    Equal ops that are recorded again reuse their path and their executable. Tensors that were recorded inside keep
    their values and are constants from then on. No other code may record with the trace meanwhile. Tapes that are
    entered inside, as by the gradient function of a custom gradient, record with it too: the interval of `ticket` keeps
    it open.
    """
    node, inputs, superseded = trace.node, len(trace.inputs), trace.superseded
    trace.intervals.append(ticket)
    trace.superseded = False
    try:
        with recording_with(trace):
            yield
        trace.flush()
    finally:
        trace.intervals.remove(ticket)
        trace.superseded = superseded
    known = [t for r in trace.materialized if (t := r()) is not None]
    known += [tensor for _, tensor, _ in trace.imported.values()]
    for tensor in known:
        if tensor._trace is trace and tensor._slot >= node.n_slots:
            tensor._trace, tensor._slot = None, -1
    trace.materialized = [r for r in trace.materialized if (t := r()) is not None and t._trace is trace]
    trace.imported = {key: entry for key, entry in trace.imported.items() if entry[0] < node.n_slots}
    trace.written = {key: entry for key, entry in trace.written.items() if entry[1][0] < node.n_slots}
    trace.callbacks = {slot: call for slot, call in trace.callbacks.items() if slot < node.n_slots}
    for key, (variable, slots) in list(trace.variables.items()):
        kept = tuple([slot for slot in slots if slot < node.n_slots])
        if len(kept) < len(slots):
            trace.variables[key] = (variable, kept)
            if variable._trace is trace:
                variable._trace, variable._slot = None, -1
            if not kept:
                del trace.variables[key]
    trace.node = node
    del trace.inputs[inputs:]
