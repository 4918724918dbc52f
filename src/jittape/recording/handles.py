"""Separate handles to a value, for functions that may write to their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from jittape.core.primitive import active_recorder
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = ["own_handles"]


def own_handles(leaves: Sequence[Any]) -> list[Any]:
    """Return `leaves` with new handles to the tensors and with copies of the arrays.

    A write to one handle does not change the other. A tape treats both as the same value. A leaf that occurs twice gets
    one new handle.
    """
    trace = active_recorder()
    made: dict[int, Any] = {}
    for leaf in leaves:
        if leaf.__class__ is Tensor and isinstance(trace, Trace):
            if id(leaf) not in made:
                made[id(leaf)] = _new_handle(trace, leaf)
        elif isinstance(leaf, np.ndarray):
            made.setdefault(id(leaf), leaf.copy())
    return [made.get(id(leaf), leaf) for leaf in leaves]


def _new_handle(trace: Trace, tensor: Tensor) -> Tensor:
    slot = tensor._slot if tensor._trace is trace and tensor._slot >= 0 else trace.import_tensor(tensor)
    buffer = tensor._buffer
    handle = Tensor(trace, slot, tensor._aval, buffer)
    if buffer is None:
        trace.adopt(handle)
    elif trace.traced_in is None:  # so that the handle moves too if the ops move to another trace
        if id(tensor) in trace.imported:
            trace.imported[id(handle)] = (slot, handle, buffer)
        else:
            trace.materialized.append(ref(handle))
    return handle
