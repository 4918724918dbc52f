"""Byte offsets in Python's and NumPy's objects, for machine code that reads them.

`object_layout` measures the offsets: it searches sample objects for known values. If it does not find the values,
there is no layout, and jittape uses its Python code instead of machine code over objects.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from jittape.core.buffers import LARGE, Buffer, pool
from jittape.core.config import config
from jittape.core.program import Aval
from jittape.value_classes import NamedTuple

__all__ = ["CONTIGUOUS_AND_ALIGNED", "WRITEABLE", "ObjectLayout", "object_layout", "slot_places"]

CONTIGUOUS_AND_ALIGNED = 0x101
WRITEABLE = 0x400
"""Flags of NumPy's arrays: C_CONTIGUOUS with ALIGNED, and WRITEABLE."""


class ObjectLayout(NamedTuple):
    """Byte offsets from the beginning of an object.

    `shape` is the offset of the pointer to an array's extents, `slice_start` that of the first bound of a slice. The
    last three fields are reference counts, as machine code reads them: of an object that only a list, tuple or slot
    refers to, and of pooled memory that only one buffer uses, as bytes and as an array.
    """

    references: int
    type: int
    tuple_length: int
    items: int
    float_value: int
    array_base: int
    data: int
    ndim: int
    shape: int
    dtype: int
    flags: int
    slice_start: int
    buffer_array: int
    buffer_exposed: int
    buffer_pooled: int
    held: int
    raw_references: int
    array_references: int


@cache
def object_layout() -> ObjectLayout | None:
    """Return the layout in this Python; None if a value is not found or objects may change during a read."""
    if not config.native_supported or "free-threading" in sys.version:
        return None
    array = np.zeros((3, 5, 7))
    buffer = Buffer(array)
    memory = pool.take(Aval((LARGE,), np.dtype(np.uint8)))
    pooled = Buffer(memory.array, memory)
    try:
        references, held = _reference_count()
        layout = ObjectLayout(
            references=references,
            type=_offset(id(np.ndarray), array, 4),
            tuple_length=_offset(5, (None,) * 5, 3),
            items=_offset(id(array), (array, None), 6),
            float_value=_offset(np.float64(1.25).view(np.int64).item(), 1.25, 3),
            array_base=_offset(id(array), array[:], 8),
            data=_offset(buffer.address, array, 6),
            ndim=_offset(buffer.address, array, 6) + 8,
            shape=_offset(buffer.address, array, 6) + 16,
            dtype=_offset(id(array.dtype), array, 10),
            flags=_offset(id(array.dtype), array, 10) + 8,
            slice_start=_offset(id(array), slice(array, buffer, memory), 5),
            buffer_array=_offset(id(array), buffer, 8),
            buffer_exposed=_offset(id(False), buffer, 8),
            buffer_pooled=_offset(id(memory), pooled, 8),
            held=held,
            raw_references=ctypes.c_int32.from_address(id(memory.raw) + references).value,
            array_references=ctypes.c_int32.from_address(id(memory.array) + references).value,
        )
    except ValueError:
        return None
    parts = _words(memory, 8)[layout.items // 8 :][1:3]
    bounds = _words(slice(array, buffer, memory), 5)[layout.slice_start // 8 :]
    fits = (
        _matches(layout, array)
        and parts == [id(memory.raw), id(memory.array)]
        and bounds == [id(array), id(buffer), id(memory)]
    )
    return layout if fits else None


def _matches(layout: ObjectLayout, array: np.ndarray[Any, Any]) -> bool:
    """Return whether the fields that follow from others are where `layout` says."""
    words = _words(array, 12)
    shape = (ctypes.c_int64 * array.ndim).from_address(words[layout.shape // 8])
    flags, transposed = (_words(a, 12)[layout.flags // 8] & CONTIGUOUS_AND_ALIGNED for a in (array, array.T))
    return (
        tuple(shape) == array.shape
        and words[layout.ndim // 8] & 0xFFFFFFFF == array.ndim
        and (flags, transposed) == (CONTIGUOUS_AND_ALIGNED, 0x100)
    )


def _reference_count() -> tuple[int, int]:
    """Return the offset of the 32-bit reference count, and the count of an object that only a list refers to.

    Each further list increments the count.
    """
    owner = [object()]
    seen = []
    for extra in range(3):
        holders = owner * extra
        seen.append(list((ctypes.c_int32 * 4).from_address(id(owner[0]))))
        del holders
    (found,) = [i for i in range(4) if [words[i] - seen[0][i] for words in seen] == [0, 1, 2]]
    return 4 * found, seen[0][found]


def _offset(wanted: int, value: object, count: int) -> int:
    """Return the offset of the word `wanted` in `value`, among its first `count` words."""
    return 8 * _words(value, count).index(wanted)


def slot_places(kind: type, names: Iterable[str]) -> dict[str, int]:
    """Return the offsets of a class's slots by name.

    Raises
    ------
    ValueError
        If a slot is not found.
    """
    try:
        sample: Any = object.__new__(kind)
    except TypeError:
        # A subclass of `weakref.ref`, which needs an object, or of `deque`, which takes any argument.
        sample = kind.__new__(kind, Buffer)
    held = {name: object() for name in names}
    for name, value in held.items():
        setattr(sample, name, value)
    places = {name: _offset(id(value), sample, kind.__basicsize__ // 8) for name, value in held.items()}
    for name in held:
        setattr(sample, name, None)
    return places


def _words(value: object, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(id(value)))
