"""Machine code as built-in functions and methods of Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

__all__ = ["BY_NAMES", "NO_ARGUMENT", "ONE_ARGUMENT", "as_function", "as_method"]

_FASTCALL = 0x80
BY_NAMES = 0x82
"""Flags of a method that is called as ``(self, arguments, count, names)``."""
NO_ARGUMENT, ONE_ARGUMENT = 0x04, 0x08
"""Flags of methods that are called as ``(self, nothing)`` and ``(self, argument)``."""


class _MethodDefinition(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# A built-in function keeps a pointer to its definition.
_definitions: list[_MethodDefinition] = []


def as_function(address: int) -> Callable[..., Any]:
    """Return machine code of the kind `BUILT_IN` as a built-in function. It does not check its arguments."""
    definition = _MethodDefinition(b"jittape", address, _FASTCALL, None)
    _definitions.append(definition)
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDefinition), ctypes.c_void_p, ctypes.c_void_p
    )
    make = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.byref(definition), None, None)


def as_method(owner: type, name: str, address: int, flags: int, text: str) -> Any:
    """Return machine code as a method of a class, for ``setattr``.

    `flags` are the flags of its ``PyMethodDef``, `text` is its docstring.
    """
    definition = _MethodDefinition(name.encode(), address, flags, text.encode())
    _definitions.append(definition)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.POINTER(_MethodDefinition))
    return prototype(("PyDescr_NewMethod", ctypes.pythonapi))(owner, ctypes.byref(definition))
