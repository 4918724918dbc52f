"""The generator of the process: seeds and states of the functions that take no seed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import uint64
from jittape.core.locks import lock
from jittape.core.program import Aval
from jittape.core.user_calls import as_array, named
from jittape.recording.symbolic_trace import drawn

__all__ = ["get_state", "set_seed", "set_state", "state_for", "state_of_seed", "taken_from"]

_WORD = (1 << 64) - 1
BLOCK_BITS = 56
"""Bits of the lower half of the counter that number blocks; the others number attempts of rejections."""

Rows = np.ndarray[Any, np.dtype[np.uint64]]

_lock = lock()
_TEMPLATE = np.empty(3, np.uint64)
_state: tuple[int, int, int] | None = None
"""Next block, stream and key; None until the first use."""


def set_seed(seed: int) -> None:
    """Restart the sequence of random numbers.

    Parameters
    ----------
    seed : int
        At least 0 and less than 2**128.

    Raises
    ------
    TypeError
        If `seed` is not an int of at least 0.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.random.set_seed(1)
    >>> a = jt.random.normal([2])
    >>> jt.random.set_seed(1)
    >>> bool(jt.reduce_all(a == jt.random.normal([2])))
    True
    """
    global _state
    _state = state_of_seed(seed)


def get_state() -> Rows:
    """Return the complete state of the generator as an array.

    Returns
    -------
    ndarray
        Three uint64; see `set_state`.

    Examples
    --------
    >>> import jittape as jt
    >>> state = jt.random.get_state()
    >>> a = jt.random.normal([2])
    >>> jt.random.set_state(state)
    >>> bool(jt.reduce_all(a == jt.random.normal([2])))
    True
    """
    return np.array(_current(), np.uint64)


def set_state(state: Any) -> None:
    """Restore the state of the generator.

    Parameters
    ----------
    state : ndarray or tensor
        Result of `get_state`, in this process or another.

    Raises
    ------
    TypeError, ValueError
        If it is not a valid state.

    Examples
    --------
    >>> state = jt.random.get_state()
    >>> first = float(jt.random.normal([]))
    >>> jt.random.set_state(state)
    >>> float(jt.random.normal([])) == first
    True
    """
    global _state
    array = as_array("state", state)
    if array.shape == (6,) and array.dtype == np.uint64:
        raise ValueError(
            "[random.set_state] state is of the generator PCG64 of an earlier version, which cannot be continued: "
            "call jt.random.set_seed and save a new state"
        )
    if array.shape != (3,) or array.dtype != np.uint64:
        raise ValueError(
            "[random.set_state] state must be the array of 3 uint64 that jt.random.get_state gave, got "
            f"{Aval(array.shape, array.dtype)}"
        )
    block, stream, key = array.tolist()
    _state = block, stream, key


def state_of_seed(seed: int) -> tuple[int, int, int]:
    """Return the first state for a seed."""
    try:
        number = seed.__index__()
    except (AttributeError, TypeError):
        number = -1
    if number < 0:
        raise named(TypeError(f"seed must be an int of at least 0, got {seed!r}"))
    if number >= 1 << 128:
        raise named(ValueError(f"seed must be less than 2**128, got {seed!r}"))
    return 0, number >> 64, number & _WORD


def advanced(state: tuple[int, int, int], blocks: int) -> tuple[int, int, int]:
    """Return the state after `blocks` blocks."""
    block, stream, key = state
    block += blocks
    if block >> BLOCK_BITS == 0:
        return block, stream, key
    return block & ((1 << BLOCK_BITS) - 1), (stream + (block >> BLOCK_BITS)) & _WORD, key


def state_for(blocks: int, seed: int | None = None) -> Any:
    """Return a state for `blocks` blocks: that of the generator, which advances, or that of `seed`.

    A `jt.function` takes another state at each call, and a loop takes another one in each iteration.
    """
    if seed is not None:
        return np.array(state_of_seed(seed), np.uint64)
    return drawn(_take, (blocks,), (3,), uint64)


def taken_from(seed: int | None) -> Callable[[int], Any]:
    """Return a function that gives a state for a number of blocks; see `state_for`."""
    return lambda blocks: state_for(blocks, seed)


def _take(blocks: int, lead: tuple[int, ...] = ()) -> Rows:
    """Return an array of states of shape ``(*lead, 3)`` and advance the generator."""
    global _state
    count = math.prod(lead) if lead else 1
    with _lock:
        first = _state or _current()
        _state = advanced(first, count * blocks)
    if not lead:
        state = _TEMPLATE.copy()  # twice as fast as an array of a tuple, for draws of each call of a function
        state[0], state[1], state[2] = first
        return state
    states = np.empty((count, 3), np.uint64)
    states[:] = first
    states[:, 0] += np.arange(count, dtype=np.uint64) * np.uint64(blocks)
    return states.reshape(*lead, 3)


def _current() -> tuple[int, int, int]:
    global _state
    if _state is None:
        _state = state_of_seed(int.from_bytes(os.urandom(16), "little"))
    return _state
