"""Short ways to record the most common calls of NumPy's functions.

The adapters of `jittape.numpy_api` accept all arguments. A function here does the same for the common ones, with fewer
calls of Python, and hands other calls to the adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import active
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.primitives.reduce.reductions import reduce_mean, reduce_sum
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import roll
from jittape.recording.tensor import Tensor
from jittape.recording.trie_insertion import operand_of

__all__ = ["RECORDERS", "SHORT", "as_operand"]

Function = Callable[..., Any]


def as_operand(a: Any) -> Any:
    """Return an ndarray as a tensor that machine code records, if the recorder runs operations; else return `a`."""
    return operand_of(a) if a.__class__ is np.ndarray and active.recorder.traced_in is None else a


def _reduction(reduce: Function, adapter: Function) -> Function:
    def recorded(a: Any, axis: Any = None, *args: Any, keepdims: Any = False, **kwargs: Any) -> Any:
        if (
            a.__class__ is Tensor
            and not args
            and not kwargs
            and keepdims.__class__ is bool
            and a._aval.dtype.kind in "fc"
            and (axis is None or (axis.__class__ is int and a._aval.shape))
        ):
            return reduce(a, axis, keepdims)
        if keepdims is not False:
            kwargs["keepdims"] = keepdims
        return adapter(a, axis, *args, **kwargs)

    return recorded


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if shift.__class__ is int and axis.__class__ is int and a.__class__ is Tensor:
        return roll(a, shift, axis)
    return FUNCTIONS[np.roll](a, shift, axis)


def _concatenate(arrays: Any, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
    if (
        axis.__class__ is int
        and not args
        and not kwargs
        and all([a.__class__ is Tensor or a.__class__ is np.ndarray for a in arrays])
    ):
        return concat([as_operand(a) for a in arrays], axis)
    return FUNCTIONS[np.concatenate](arrays, axis, *args, **kwargs)


RECORDERS: dict[Any, Function] = {
    np.concatenate: _concatenate,
    np.mean: _reduction(reduce_mean, FUNCTIONS[np.mean]),
    np.roll: _roll,
    np.sum: _reduction(reduce_sum, FUNCTIONS[np.sum]),
}
"""Functions that record, with the adapter for calls with uncommon arguments."""

SHORT: dict[Any, Function] = {np.mean: reduce_mean, np.sum: reduce_sum}
"""Functions of one floating tensor without other arguments."""
