"""Several handles to one value: a function that writes to its arguments is given handles of its own."""

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
    """Return `leaves` with another handle in the place of each tensor, and copies of arrays.

    A write to either handle leaves the other as it is. To a tape both are the same value. A leaf that occurs twice gets
    one handle.
    """
    trace = active_recorder()
    made: dict[int, Any] = {}
    for leaf in leaves:
        if leaf.__class__ is Tensor and isinstance(trace, Trace):
            if id(leaf) not in made:
                made[id(leaf)] = _another(trace, leaf)
        elif isinstance(leaf, np.ndarray):
            made.setdefault(id(leaf), leaf.copy())
    return [made.get(id(leaf), leaf) for leaf in leaves]


def _another(trace: Trace, tensor: Tensor) -> Tensor:
    slot = tensor._slot if tensor._trace is trace and tensor._slot >= 0 else trace.import_tensor(tensor)
    buffer = tensor._buffer
    handle = Tensor(trace, slot, tensor._aval, buffer)
    if buffer is None:
        trace.adopt(handle)
    elif trace.traced_in is None:  # so that the handle goes along if what is recorded goes to another trace
        if id(tensor) in trace.imported:
            trace.imported[id(handle)] = (slot, handle, buffer)
        else:
            trace.materialized.append(ref(handle))
    return handle
