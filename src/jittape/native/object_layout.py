"""Where in the memory of Python's and NumPy's objects things stand, so that machine code can read them.

The places are found out, not assumed: `object_layout` looks for known values in sample objects. Where it does not find
them there is no layout, and what would use it goes a slower way.
"""

from __future__ import annotations

import ctypes
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from jittape.compile.cache.emit_kernel import Definition
from jittape.compile.llvm.driver import DRIVER_TYPE
from jittape.core.buffers import LARGE, Buffer, pool
from jittape.core.config import config
from jittape.core.program import Aval

__all__ = ["FIT", "ObjectLayout", "object_layout", "place", "reader", "slot_places"]

FIT = 0x101
"""NumPy's flags C_CONTIGUOUS and ALIGNED."""


class ObjectLayout(NamedTuple):
    """Bytes from the beginning of an object; of `shape` to where its extents' address stands.

    The last three are counts of references, as machine code reads them: to an object that only a list, tuple or slot
    refers to, and to a pool's memory that only a buffer has, as bytes and as an array.
    """

    references: int
    type: int
    tuple_length: int
    items: int
    float_value: int
    data: int
    ndim: int
    shape: int
    dtype: int
    flags: int
    buffer_array: int
    buffer_exposed: int
    buffer_pooled: int
    held: int
    raw_references: int
    array_references: int


@cache
def object_layout() -> ObjectLayout | None:
    """The layout in this Python; None if things are not where they should be, or may change under the reader."""
    if not config.native_supported or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    array = np.zeros((3, 5, 7))
    buffer = Buffer(array)
    memory = pool.take(Aval((LARGE,), np.dtype(np.uint8)))
    pooled = Buffer(memory.array, memory)
    try:
        references, held = _place_of_references()
        layout = ObjectLayout(
            references=references,
            type=place(id(np.ndarray), array, 4),
            tuple_length=place(5, (None,) * 5, 3),
            items=place(id(array), (array, None), 6),
            float_value=place(np.float64(1.25).view(np.int64).item(), 1.25, 3),
            data=place(buffer.address, array, 6),
            ndim=place(buffer.address, array, 6) + 8,
            shape=place(buffer.address, array, 6) + 16,
            dtype=place(id(array.dtype), array, 10),
            flags=place(id(array.dtype), array, 10) + 8,
            buffer_array=place(id(array), buffer, 8),
            buffer_exposed=place(id(False), buffer, 8),
            buffer_pooled=place(id(memory), pooled, 8),
            held=held,
            raw_references=ctypes.c_int32.from_address(id(memory.raw) + references).value,
            array_references=ctypes.c_int32.from_address(id(memory.array) + references).value,
        )
    except ValueError:
        return None
    return (
        layout
        if _fits(layout, array)
        and _words(memory, 8)[layout.items // 8 :][1:3]
        == [
            id(memory.raw),
            id(memory.array),
        ]
        else None
    )


def reader(name: str, define: Callable[[ir.Function, ObjectLayout], None], *more: int) -> Definition | None:
    """A function that reads objects' memory, for the registry; None where there is no layout.

    The places are part of its name, with `more` that it has been told, as they are part of its code.
    """
    layout = object_layout()
    if layout is None:
        return None
    places = "_".join([name, *map(str, (*layout, *more))])
    return Definition(places, DRIVER_TYPE, lambda function: define(function, layout))


def _fits(layout: ObjectLayout, array: np.ndarray[Any, Any]) -> bool:
    """Whether what was not looked for is where it is expected to be."""
    words = _words(array, 12)
    shape = (ctypes.c_int64 * array.ndim).from_address(words[layout.shape // 8])
    flags, transposed = (_words(a, 12)[layout.flags // 8] & FIT for a in (array, array.T))
    return (
        tuple(shape) == array.shape
        and words[layout.ndim // 8] & 0xFFFFFFFF == array.ndim
        and (flags, transposed) == (FIT, 0x100)
    )


def _place_of_references() -> tuple[int, int]:
    """The byte at which the count of references stands, 32 bits, and the count of an object that only a list holds.

    It grows by one with every further list.
    """
    owner = [object()]
    seen = []
    for extra in range(3):
        holders = owner * extra
        seen.append(list((ctypes.c_int32 * 4).from_address(id(owner[0]))))
        del holders
    (found,) = [i for i in range(4) if [words[i] - seen[0][i] for words in seen] == [0, 1, 2]]
    return 4 * found, seen[0][found]


def place(wanted: int, value: object, count: int) -> int:
    """The byte at which `wanted` stands in the memory of `value`, among its first `count` words."""
    return 8 * _words(value, count).index(wanted)


def slot_places(kind: type, names: Iterable[str]) -> dict[str, int]:
    """The bytes at which objects of a class have their slots, by name."""
    sample: Any = object.__new__(kind)
    held = {name: object() for name in names}
    for name, value in held.items():
        setattr(sample, name, value)
    places = {name: place(id(value), sample, kind.__basicsize__ // 8) for name, value in held.items()}
    for name in held:
        setattr(sample, name, None)
    return places


def _words(value: object, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(id(value)))
