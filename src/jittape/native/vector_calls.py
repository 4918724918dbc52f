"""Calls of Python functions that machine code takes first.

Each function object holds the address of the C function that runs its calls: its vectorcall. `replace` sets it. Name,
signature, attributes and code of the function stay as they are, and machine code calls the code in all unusual cases.
"""

from __future__ import annotations

import copyreg
import ctypes
import sys
import warnings
from functools import cache
from types import FunctionType
from typing import Any

__all__ = ["can_replace", "python_call", "replace"]

_WORD = ctypes.sizeof(ctypes.c_size_t)
_TYPE, _SIZE, _OFFSET, _FLAGS = 1, 4, 7, 21
"""Words of a type object: its type, ``tp_basicsize``, ``tp_vectorcall_offset`` and ``tp_flags``."""
_IS_BASE, _HAS_VECTORCALL, _IS_MADE = 1 << 10, 1 << 11, 1 << 18
"""Flags of a type: it may have subtypes, its objects have a vectorcall, and the flag that new types have."""


def can_replace() -> bool:
    """Return whether the words of the type of functions are where this module expects them."""
    words = _words(FunctionType)
    places = words[_SIZE] == FunctionType.__basicsize__ and words[_FLAGS] == FunctionType.__flags__
    return places and 0 < words[_OFFSET] < FunctionType.__basicsize__


def python_call() -> int:
    """Return the address of the vectorcall that runs a function's code: a new function has it."""

    def new() -> None:
        """Do nothing; the word is read while this exists."""

    address: int = _words(new)[_place()]
    return address


def replace(function: FunctionType, address: int) -> None:
    """Let the machine code at `address`, or `python_call`, take the calls of `function`."""
    if sys.version_info >= (3, 12):
        set_call = ctypes.pythonapi.PyFunction_SetVectorcall
        set_call.argtypes, set_call.restype = (ctypes.py_object, ctypes.c_void_p), None
        set_call(function, address)
        return
    # Python 3.11 runs the code of an object of the type of functions without a look at its vectorcall.
    words = _words(function)
    words[_place()] = address
    words[_TYPE] = id(FunctionType if address == python_call() else _called_type())


def _place() -> int:
    """Return the number of the word of a function that has its vectorcall."""
    place: int = _words(FunctionType)[_OFFSET] // _WORD
    return place


def _words(value: object) -> Any:
    return (ctypes.c_size_t * (_FLAGS + 1)).from_address(id(value))


class _Spec(ctypes.Structure):
    """``PyType_Spec`` without slots."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


@cache
def _called_type() -> type:
    """Return a type of functions with the same attributes, whose objects Python 3.11 calls by their vectorcall."""
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.py_object), ctypes.py_object
    no_slots = (ctypes.c_size_t * 2)()
    spec = _Spec(b"function", 0, 0, _IS_MADE | _HAS_VECTORCALL, ctypes.addressof(no_slots))
    words = _words(FunctionType)
    words[_FLAGS] |= _IS_BASE
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # the name has no module
            made: type = make(ctypes.byref(spec), (FunctionType,))
    finally:
        words[_FLAGS] &= ~_IS_BASE
    for name in ("__doc__", "__module__"):  # those of the function, not of its type
        setattr(made, name, vars(FunctionType)[name])
    copyreg.pickle(made, _name_of)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))  # functions do not count their references to it
    return made


def _name_of(function: Any) -> str:
    """Return the name by which copies and pickles find the function in its module."""
    name: str = function.__qualname__
    return name
