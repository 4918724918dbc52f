"""Undefined symbols of object files, in ELF, Mach-O and COFF.

LLVM's linker ends the process if a symbol is missing. So jittape reads the names before it loads a file.
"""

from __future__ import annotations

import struct

__all__ = ["undefined_symbols"]

_ELF_SYMBOL_TABLE = 2
_MACHO_SYMBOL_TABLE = 2
_COFF_EXTERNAL = 2


def undefined_symbols(code: bytes) -> list[str]:
    """Return the names of the undefined symbols, sorted and as C spells them.

    Raises
    ------
    ValueError
        If `code` is not an object file of a known format, or damaged.
    """
    try:
        if code[:6] == b"\x7fELF\x02\x01":
            names = _in_elf(code)
        elif code[:4] == b"\xcf\xfa\xed\xfe":
            names = _in_macho(code)
        elif code[:2] in (b"\x64\x86", b"\x64\xaa"):
            names = _in_coff(code)
        else:
            raise ValueError("not a 64-bit ELF, Mach-O or COFF object file")
    except (struct.error, IndexError) as error:
        raise ValueError(f"damaged object file: {error}") from error
    return sorted({name.decode() for name in names if name})


def _in_elf(code: bytes) -> list[bytes]:
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    entry_size, count = struct.unpack_from("<HH", code, 0x3A)
    # type, file offset, size and the number of the linked section (a symbol table's strings)
    table = [struct.unpack_from("<4xI16xQQI", code, sections + i * entry_size) for i in range(count)]
    names = []
    for kind, offset, nbytes, link in table:
        if kind != _ELF_SYMBOL_TABLE:
            continue
        strings = table[link][1]
        for place in range(offset, offset + nbytes, 24):
            name, section = struct.unpack_from("<I2xH", code, place)
            if section == 0:
                names.append(_text_at(code, strings + name))
    return names


def _in_macho(code: bytes) -> list[bytes]:
    (commands,) = struct.unpack_from("<I", code, 16)
    names = []
    place = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, place)
        if command == _MACHO_SYMBOL_TABLE:
            symbols, count, strings, _size = struct.unpack_from("<IIII", code, place + 8)
            for i in range(count):
                name, kind = struct.unpack_from("<IB", code, symbols + 16 * i)
                debugging, defined = kind & 0xE0, kind & 0x0E
                if not debugging and not defined:
                    names.append(_text_at(code, strings + name).removeprefix(b"_"))
        place += size
    return names


def _in_coff(code: bytes) -> list[bytes]:
    symbols, count = struct.unpack_from("<II", code, 8)
    strings = symbols + 18 * count
    names = []
    number = 0
    while number < count:
        place = symbols + 18 * number
        value, section, _kind, storage, auxiliary = struct.unpack_from("<IhHBB", code, place + 8)
        if section == 0 and storage == _COFF_EXTERNAL and value == 0:
            zeros, offset = struct.unpack_from("<II", code, place)
            names.append(code[place : place + 8].rstrip(b"\0") if zeros else _text_at(code, strings + offset))
        number += 1 + auxiliary
    return names


def _text_at(code: bytes, place: int) -> bytes:
    return code[place : code.index(b"\0", place)]
