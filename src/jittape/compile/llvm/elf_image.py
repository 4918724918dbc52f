"""Loading of ELF object files without LLVM.

LLVM's code for x86-64 has the large code model: it contains addresses of 64 bits only, so its sections may be placed
anywhere, and a loader has nothing to do but copy sections and fill in addresses. LLVM loads the files that differ, and
those of other systems.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Callable
from functools import cache

from jittape.value_classes import NamedTuple

__all__ = ["ElfImage", "load_image"]

_UNUSED, _PROGRAM, _SYMBOL_TABLE, _WITH_ADDENDS, _NO_CONTENT, _WITHOUT_ADDENDS = 0, 1, 2, 4, 8, 9
_SKIPPED_TYPES = frozenset((_UNUSED, 3, 0x70000001))
"""Types of unused sections, of tables of strings, and of tables for the unwinding of exceptions, which code of jittape
never raises."""
_WRITABLE, _LOADED, _THREAD_LOCAL = 1, 2, 0x400
_ABSOLUTE_64 = 1
_UNDEFINED, _ABSOLUTE, _SPECIAL = 0, 0xFFF1, 0xFF00
_SECTION = struct.Struct("<4xIQ8xQQIIQQ")
_SYMBOL = struct.Struct("<IBxHQ8x")
_RELOCATION = struct.Struct("<QIIq")
_WORD = struct.Struct("<Q")
_PAGE = mmap.PAGESIZE
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_FAILED = 2**64 - 1


class _Section(NamedTuple):
    """A section of the file: type, flags, offset and size in the file, linked sections, alignment, size of an entry."""

    kind: int
    flags: int
    offset: int
    nbytes: int
    link: int
    info: int
    alignment: int
    entry: int


class ElfImage(NamedTuple):
    """A loaded object file: the addresses of its symbols, and its memory.

    Only `unload` frees the memory: while a process exits, Python may still call functions in it.
    """

    addresses: dict[str, int]
    start: int
    nbytes: int

    def unload(self) -> None:
        """Free the memory."""
        _c_function("munmap", 2)(self.start, self.nbytes)


def load_image(code: bytes, address_of: Callable[[str], int | None]) -> ElfImage | None:
    """Load an object file; None if only LLVM can load it.

    Parameters
    ----------
    code : bytes
        The object file.
    address_of : callable
        Returns the address of an external symbol by name, or None.

    Raises
    ------
    struct.error, IndexError, ValueError
        If the file is damaged.
    """
    if not _is_supported() or code[:6] != b"\x7fELF\x02\x01":
        return None
    sections = _sections_of(code)
    placed = _placed(sections)
    tables = [section for section in sections if section.kind == _SYMBOL_TABLE]
    if placed is None or len(tables) != 1:
        return None
    places, nbytes = placed
    start = _c_function("mmap", 6)(0, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, _PRIVATE, -1, 0)
    if start == _FAILED:
        return None
    image = ElfImage({}, start, nbytes)
    try:
        values = _values(
            code, tables[0], sections, {i: start + place for i, place in places.items()}, address_of, image
        )
        content = None if values is None else _content(code, sections, places, values, nbytes)
        if content is not None:
            ctypes.memmove(start, bytes(content), nbytes)
            if _c_function("mprotect", 3)(start, nbytes, mmap.PROT_READ | mmap.PROT_EXEC) == 0:
                return image
    except BaseException:
        image.unload()
        raise
    image.unload()
    return None


@cache
def _is_supported() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32


def _sections_of(code: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", code, 0x28)
    entry, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [_Section(*_SECTION.unpack_from(code, table + i * entry)) for i in range(count)]
    if any([s.kind not in (_UNUSED, _NO_CONTENT) and s.offset + s.nbytes > len(code) for s in sections]):
        raise ValueError("a section ends behind the end of the file")
    return sections


def _placed(sections: list[_Section]) -> tuple[dict[int, int], int] | None:
    """Return the offset of each loaded section in memory, and the size of the memory; None if one is unusual."""
    places, end = {}, 0
    for number, section in enumerate(sections):
        if section.kind in _SKIPPED_TYPES or not section.flags & _LOADED:
            continue
        if (
            section.kind != _PROGRAM
            or section.flags & (_WRITABLE | _THREAD_LOCAL)
            or section.alignment > _PAGE
        ):
            return None
        end = -(-end // max(section.alignment, 1)) * max(section.alignment, 1)
        places[number] = end
        end += section.nbytes
    return places, max(-(-end // _PAGE), 1) * _PAGE


def _values(
    code: bytes,
    table: _Section,
    sections: list[_Section],
    starts: dict[int, int],
    address_of: Callable[[str], int | None],
    image: ElfImage,
) -> list[int | None] | None:
    """Return the values of all symbols by number, and enter the file's own; None if an external one is unknown."""
    strings = sections[table.link].offset
    values: list[int | None] = []
    for place in range(table.offset, table.offset + table.nbytes, _SYMBOL.size):
        at, _, section, value = _SYMBOL.unpack_from(code, place)
        name = code[strings + at : code.index(b"\0", strings + at)].decode()
        if section == _UNDEFINED:
            address = address_of(name) if name else 0
            if address is None:
                return None
            values.append(address)
        elif section >= _SPECIAL:
            values.append(value if section == _ABSOLUTE else None)
        else:
            start = starts.get(section)
            values.append(None if start is None else start + value)
            if name and start is not None:
                image.addresses[name] = start + value
    return values


def _content(
    code: bytes, sections: list[_Section], places: dict[int, int], values: list[int | None], nbytes: int
) -> bytearray | None:
    """Return the content of the memory; None if an address in it is unknown."""
    content = bytearray(nbytes)
    for number, place in places.items():
        section = sections[number]
        content[place : place + section.nbytes] = code[section.offset : section.offset + section.nbytes]
    for section in sections:
        if section.kind not in (_WITH_ADDENDS, _WITHOUT_ADDENDS) or section.info not in places:
            continue
        if section.kind == _WITHOUT_ADDENDS:
            return None
        place, size = places[section.info], sections[section.info].nbytes
        table = memoryview(code)[section.offset : section.offset + section.nbytes]
        for offset, kind, symbol, addend in _RELOCATION.iter_unpack(table):
            value = values[symbol]
            if kind != _ABSOLUTE_64 or value is None or offset + 8 > size:
                return None
            _WORD.pack_into(content, place + offset, (value + addend) & _FAILED)
    return content


@cache
def _c_function(name: str, count: int) -> Callable[..., int]:
    """Return a function of the C library that takes and returns words."""
    function = getattr(ctypes.CDLL(None), name)
    function.argtypes, function.restype = [ctypes.c_int64] * count, ctypes.c_uint64
    return function
