"""Coordinates of random numbers: which blocks of the generator the elements of a result get.

A *state* is a tensor of integers: ``[key, stream]``, the seed of a stateless function, or ``[block, stream, key]``, as
generators keep it. Element number `i` of a result, in C order, gets block number ``block + i``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import float_limits, uint64
from jittape.primitives.broadcast import broadcast, cast_to, iota, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.bits import right_shift
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.random_numbers import philox_op, scaled_op
from jittape.primitives.shape.views import sliced

__all__ = ["bits", "coordinates", "not_negative", "scaled", "unit_of_bits"]


def coordinates(state: Any, shape: tuple[int, ...], skipped: int = 0) -> tuple[Any, Any, Any]:
    """Return the block, stream and key of each element of `shape` as uint64, after a number of skipped blocks."""
    state = cast_to(state, uint64)
    words = [broadcast(to_shape(sliced(state, 0, i, 1), ()), shape) for i in range(state.shape[0])]
    element = to_shape(iota((math.prod(shape),), 0, uint64), shape)
    if skipped:
        element = add(element, broadcast(literal(skipped, uint64), shape))
    if len(words) == 2:
        key, stream = words
        return element, stream, key
    first, stream, key = words
    return add(element, first), stream, key


def bits(state: Any, shape: tuple[int, ...], half: int = 0) -> Any:
    """Return 64 random bits for each element of `shape`; there are two halves of 64 bits."""
    return philox_op.bind(*coordinates(state, shape), half=half)


def unit_of_bits(word: Any, dtype: np.dtype[Any]) -> Any:
    """Return uniform numbers in [0, 1) made of the leading bits of `word`; all bits of the mantissa are random."""
    kept = int(float_limits(dtype).nmant) + 1
    leading = right_shift(word, broadcast(literal(64 - kept, uint64), word.shape))
    return multiply(cast_to(leading, dtype), broadcast(literal(2.0**-kept, dtype), word.shape))


def not_negative(scale: Any, dtype: np.dtype[Any]) -> Any:
    """Return a scale in `dtype`, with nan in place of negative numbers."""
    scale = cast_to(scale, dtype)
    return where(less(scale, 0), math.nan, scale)


def scaled(loc: Any, scale: Any, draw: Any) -> Any:
    """Return ``loc + scale * draw`` in the dtype of `draw`."""
    loc, scale = [broadcast(cast_to(x, draw.dtype), draw.shape) for x in (loc, scale)]
    return scaled_op.bind(loc, scale, draw)
