"""Machine code as built-in functions and methods of Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

__all__ = ["BY_NAMES", "NO_ARGUMENT", "ONE_ARGUMENT", "as_function", "as_method", "kept_for_ever"]

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


def kept_for_ever(value: Any) -> Any:
    """Return `value`, an object that machine code refers to, and never free it.

    At the end of a process, functions in machine code may be called, and are deleted, after the variables of all
    modules are gone.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    return value


def _definition(name: str, address: int, flags: int, text: str | None) -> Any:
    """Return a pointer to a new definition, which a function reads even when it is deleted."""
    encoded = None if text is None else text.encode()
    return ctypes.byref(kept_for_ever(_MethodDefinition(name.encode(), address, flags, encoded)))


def as_function(address: int) -> Callable[..., Any]:
    """Return machine code of the kind `BUILT_IN` as a built-in function. It does not check its arguments."""
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.POINTER(_MethodDefinition), ctypes.c_void_p, ctypes.c_void_p
    )
    make = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    return make(_definition("jittape", address, _FASTCALL, None), None, None)


def as_method(owner: type, name: str, address: int, flags: int, text: str) -> Any:
    """Return machine code as a method of a class, for ``setattr``.

    `flags` are the flags of its ``PyMethodDef``, `text` is its docstring.
    """
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.POINTER(_MethodDefinition))
    return prototype(("PyDescr_NewMethod", ctypes.pythonapi))(owner, _definition(name, address, flags, text))
