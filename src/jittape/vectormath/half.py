"""Conversions between float32 and bfloat16, and float16 for processors without instructions for them.

A float16 or bfloat16 is given as its bits in an integer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["from_bfloat16", "from_half", "to_bfloat16", "to_half"]

_REBIAS = 127 - 15
_INFINITY, _LEAST_NORMAL, _TOO_LARGE = (
    int(np.float32(x).view(np.uint32)) for x in (np.inf, 2.0**-14, 65520.0)
)


def from_half(m: Any, bits: Any) -> Any:
    """Return the float32 of a float16, given as uint16. The scaling is exact and makes subnormal numbers normal."""
    wide = m.cast(bits, np.uint32)
    size = (wide & 0x7FFF) << 13
    scaled = m.bitcast(m.bitcast(size, np.float32) * 2.0**_REBIAS, np.uint32)
    special = size >= 0x7C00 << 13
    return m.bitcast(m.where(special, size | _INFINITY, scaled) | (wide & 0x8000) << 16, np.float32)


def to_half(m: Any, x: Any) -> Any:
    """Return the bits, as uint16, of a float32 rounded to float16. The addition of 0.5 rounds subnormal results."""
    bits = m.bitcast(x, np.uint32)
    size = bits & 0x7FFFFFFF
    normal = ((size + 0xFFF + ((size >> 13) & 1)) >> 13) - (_REBIAS << 10)
    half = m.literal(0.5, np.float32)
    subnormal = m.bitcast(m.rounded_add(m.bitcast(size, np.float32), half), np.uint32) - m.bitcast(
        half, np.uint32
    )
    found = m.where(size < _LEAST_NORMAL, subnormal, normal)
    found = m.where(size >= _TOO_LARGE, 0x7C00, found)
    found = m.where(size > _INFINITY, 0x7E00, found)
    return m.cast(found | (bits ^ size) >> 16, np.uint16)


def from_bfloat16(m: Any, bits: Any) -> Any:
    """Return the float32 of a bfloat16, given as uint16: a bfloat16 is the upper half of a float32."""
    return m.bitcast(m.cast(bits, np.uint32) << 16, np.float32)


def to_bfloat16(m: Any, x: Any) -> Any:
    """Return the bits, as uint16, of a float32 rounded to the nearest bfloat16; nan keeps its sign."""
    bits = m.bitcast(x, np.uint32)
    upper = bits >> 16
    rounded = (bits + 0x7FFF + (upper & 1)) >> 16
    is_nan = (bits & 0x7FFFFFFF) > _INFINITY
    return m.cast(m.where(is_nan, upper & 0x8000 | 0x7FC0, rounded), np.uint16)
