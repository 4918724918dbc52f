"""Several handles to one value: a function that writes to its arguments is given handles of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np

from jittape.primitive import active_recorder
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = ["own_handles"]


def own_handles(leaves: Sequence[Any]) -> list[Any]:
    """Return `leaves` with another handle in the place of each tensor, and copies of arrays.

    A write to either handle leaves the other as it is. To a tape both are the same value. A leaf that occurs twice gets
    one handle.
    """
    trace = active_recorder()
    made: dict[int, Any] = {}
    for leaf in leaves:
        if id(leaf) in made:
            continue
        if isinstance(leaf, np.ndarray):
            made[id(leaf)] = leaf.copy()
        elif leaf.__class__ is Tensor and isinstance(trace, Trace):
            made[id(leaf)] = _another(trace, leaf)
    return [made.get(id(leaf), leaf) for leaf in leaves]


def _another(trace: Trace, tensor: Tensor) -> Tensor:
    slot = trace.enter(tensor)
    buffer = tensor._buffer
    handle = Tensor(trace, slot, tensor._aval, buffer)
    if buffer is None:
        trace.adopt(handle)
    elif trace.traced_in is None:  # so that the handle goes along if what is recorded goes to another trace
        if id(tensor) in trace.entered:
            trace.entered[id(handle)] = (slot, handle, buffer)
        else:
            trace.materialized.append(ref(handle))
    return handle
