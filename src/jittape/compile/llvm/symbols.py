"""Who provides the functions that machine code calls by name.

Machine code, on disk above all, holds names and never addresses. `provide` makes them known to LLVM's linker before
code is loaded: those in `PROVIDERS` by a module, all others by the C library, which every process has.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable

import llvmlite.binding as llvm

from jittape.compile.llvm.blas import ROUTINES, blas, symbol
from jittape.native.object_code import PYTHON_FUNCTIONS

__all__ = ["PROVIDERS", "define", "provide"]


def _from_python(name: str) -> None:
    function = getattr(ctypes.pythonapi, name, None)
    if function is not None:
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def _from_blas(name: str) -> None:
    blas()


def _clock(name: str) -> None:
    """C's `time`, whose name is another one where it is older than 64 bits."""
    library, clock = ("msvcrt", "_time64") if sys.platform == "win32" else (None, "time")
    llvm.add_symbol(name, ctypes.cast(getattr(ctypes.CDLL(library), clock), ctypes.c_void_p).value)


PROVIDERS: dict[str, Callable[[str], None]] = {
    "PyErr_BadArgument": _from_python,
    "PyErr_CheckSignals": _from_python,
    "PyErr_NoMemory": _from_python,
    "PyEval_RestoreThread": _from_python,
    "PyEval_SaveThread": _from_python,
    "PyGILState_Ensure": _from_python,
    "PyGILState_Release": _from_python,
    "PyLong_AsLongLongAndOverflow": _from_python,
    "PyLong_AsVoidPtr": _from_python,
    "PyLong_FromVoidPtr": _from_python,
    **dict.fromkeys(PYTHON_FUNCTIONS, _from_python),
    "PyTuple_GetItem": _from_python,
    "jittape_seconds": _clock,
    **{symbol(routine): _from_blas for routine in ROUTINES},
}


def define(name: str, address: int) -> None:
    """Have code that is loaded from now on find this address by that name."""
    PROVIDERS[name] = lambda name: llvm.add_symbol(name, address)


def provide(names: Iterable[str]) -> list[str]:
    """Make `names` known to the linker; returns those that nobody has. Call it when the engine is there."""
    missing = []
    for name in names:
        provider = PROVIDERS.get(name)
        if provider is not None:
            provider(name)
        if llvm.address_of_symbol(name) is None:
            missing.append(name)
    return missing
