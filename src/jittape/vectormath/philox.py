"""Philox 4x32-10, a counter-based random number generator.

A block of four words of 32 bits is a function of a counter of 128 bits and a key of 64 bits (Salmon, Moraes, Dror and
Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ATTEMPT_SHIFT", "Coordinates", "Words", "attempt", "philox"]

_MASK = 0xFFFFFFFF
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_INCREMENTS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10

ATTEMPT_SHIFT = 56
"""Bit of the lower half of the counter from which on it holds the number of an attempt."""


class Coordinates(NamedTuple):
    """The place of a block in the sequence of random numbers; three uint64."""

    block: Any  #: lower half of the counter
    stream: Any  #: upper half of the counter
    key: Any


class Words(NamedTuple):
    """The 128 bits of a block as two uint64."""

    low: Any
    high: Any


def philox(at: Coordinates) -> Words:
    """Return the block at `at`.

    The upper halves of the intermediate values have arbitrary bits: they are cleared only where they matter.
    """
    a, b, c, d = at.block, at.block >> 32, at.stream, at.stream >> 32
    low, high = at.key & _MASK, at.key >> 32
    for _ in range(_ROUNDS):
        first, second = (a & _MASK) * _MULTIPLIERS[0], (c & _MASK) * _MULTIPLIERS[1]
        a, b, c, d = (second >> 32) ^ b ^ low, second, (first >> 32) ^ d ^ high, first
        low, high = (low + _KEY_INCREMENTS[0]) & _MASK, (high + _KEY_INCREMENTS[1]) & _MASK
    return Words((a & _MASK) | (b << 32), (c & _MASK) | (d << 32))


def attempt(at: Coordinates, number: Any) -> Coordinates:
    """Return the coordinates of attempt `number`, a uint64 below 256, at the same place."""
    return at._replace(block=at.block + (number << ATTEMPT_SHIFT))
