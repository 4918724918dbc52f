"""The order of elements after exchanges: permutations of LAPACK's pivots and of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.forms import Control
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.errors import DTypeError
from jittape.primitives.batched_params import alike

__all__ = ["exchanged", "order_after"]


def order_after(targets: Any, backwards: bool = False) -> Any:
    """Return the rows of 0, 1, ... after exchanges of each element with that at its target, one after another.

    Exchanges from the last element to the first, `backwards`, give the inverse permutations.
    """
    n = targets.shape[-1]
    steps = range(n)[::-1] if backwards else range(n)
    if targets.size > n * n:  # a large stack of short rows: all rows at once
        order = np.broadcast_to(np.arange(n), targets.shape).copy()
        for k in steps:
            other = targets[..., k, None]
            moved = np.take_along_axis(order, other, axis=-1)
            np.put_along_axis(order, other, order[..., k, None], axis=-1)
            order[..., k] = moved[..., 0]
        return order
    result = np.empty(targets.shape, np.int64)
    for row in np.ndindex(targets.shape[:-1]):
        numbers, others = list(range(n)), targets[row].tolist()
        for k in steps:
            other = others[k]
            numbers[k], numbers[other] = numbers[other], numbers[k]
        result[row] = numbers
    return result


def _abstract_eval(targets: Aval, *, backwards: bool, result_index: int) -> Aval:
    if targets.dtype != int64 or not targets.ndim:
        raise DTypeError(f"[exchanged] targets must be rows of int64, got {targets}")
    return targets


def _run(operands: Sequence[Any], picks: Sequence[int], *, backwards: bool) -> list[Any]:
    return [order_after(operands[0], backwards)]


exchanged_op = Primitive(
    "exchanged",
    abstract_eval=_abstract_eval,
    impl=lambda targets, *, backwards, result_index: order_after(targets, backwards),
    lowering=Control("exchanges", _run),
    gradient_stops="an order is integers",
    batch=alike(),
)
"""The order after exchanges, see `order_after`. Element k is exchanged with an element of a number that is in range."""


def exchanged(targets: Any, backwards: bool = False) -> Any:
    """Record `order_after`, on rows of int64."""
    return exchanged_op.bind(targets, backwards=backwards, result_index=0)
