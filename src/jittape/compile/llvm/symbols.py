"""Addresses of the functions that machine code calls by name.

Machine code holds names and never addresses, since it is kept on disk. `provide` registers the addresses with LLVM's
linker before code is loaded. `PROVIDERS` has the functions that are not in the C library.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping

import llvmlite.binding as llvm

from jittape.compile.llvm.blas import ROUTINES, blas, symbol

__all__ = ["PROVIDERS", "PYTHON_FUNCTIONS", "define", "provide"]

PYTHON_FUNCTIONS: Mapping[str, int] = {
    "PyBytes_AsString": 64,
    "PyBytes_FromStringAndSize": 64,
    "PyDict_GetItemWithError": 64,
    "PyDict_Items": 64,
    "PyDict_New": 64,
    "PyDict_Next": 32,
    "PyDict_SetItem": 32,
    "PyDict_Size": 64,
    "PyErr_BadArgument": 32,
    "PyErr_Clear": 0,
    "PyErr_Occurred": 64,
    "PyEval_GetFrame": 64,
    "PyFrame_GetCode": 64,
    "PyFrame_GetLasti": 32,
    "PyList_Append": 32,
    "PyList_AsTuple": 64,
    "PyList_GetItem": 64,
    "PyList_New": 64,
    "PyList_Size": 64,
    "PyLong_AsLongLongAndOverflow": 64,
    "PyLong_AsSsize_t": 64,
    "PyLong_FromSsize_t": 64,
    "PyNumber_Float": 64,
    "PyObject_GetAttr": 64,
    "PyObject_Vectorcall": 64,
    "PyTuple_GetSlice": 64,
    "PyTuple_New": 64,
    "PyType_GenericAlloc": 64,
    "PyUnicode_Compare": 32,
    "Py_DecRef": 0,
    "Py_IncRef": 0,
}
"""Functions of the C API, and the number of bits of their results. Every Python from 3.11 on exports them."""


def _from_python(name: str) -> None:
    function = getattr(ctypes.pythonapi, name, None)
    if function is not None:
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


def _from_blas(name: str) -> None:
    blas()


def _clock(name: str) -> None:
    """Register C's `time`, whose 64-bit version has another name on Windows."""
    library, clock = ("msvcrt", "_time64") if sys.platform == "win32" else (None, "time")
    llvm.add_symbol(name, ctypes.cast(getattr(ctypes.CDLL(library), clock), ctypes.c_void_p).value)


def _nanoseconds(name: str) -> None:
    """Register Python's clock `time.perf_counter_ns`; its function takes a second argument before Python 3.13."""
    found = getattr(ctypes.pythonapi, "PyTime_PerfCounterRaw", None)
    found = found or getattr(ctypes.pythonapi, "_PyTime_GetPerfCounterWithInfo", None)
    if found is not None:
        llvm.add_symbol(name, ctypes.cast(found, ctypes.c_void_p).value)


PROVIDERS: dict[str, Callable[[str], None]] = {
    "PyErr_CheckSignals": _from_python,
    "PyErr_NoMemory": _from_python,
    "PyEval_RestoreThread": _from_python,
    "PyEval_SaveThread": _from_python,
    "PyGILState_Ensure": _from_python,
    "PyGILState_Release": _from_python,
    "PyLong_AsVoidPtr": _from_python,
    "PyLong_FromVoidPtr": _from_python,
    **dict.fromkeys(PYTHON_FUNCTIONS, _from_python),
    "PyTuple_GetItem": _from_python,
    "jittape_nanoseconds": _nanoseconds,
    "jittape_seconds": _clock,
    **{symbol(routine): _from_blas for routine in ROUTINES},
}


def define(name: str, address: int) -> None:
    """Register the address of a symbol for code that is loaded from now on."""
    PROVIDERS[name] = lambda name: llvm.add_symbol(name, address)


def provide(names: Iterable[str]) -> list[str]:
    """Register `names` with the linker; return those without an address. The engine must exist."""
    missing = []
    for name in names:
        provider = PROVIDERS.get(name)
        if provider is not None:
            provider(name)
        if llvm.address_of_symbol(name) is None:
            missing.append(name)
    return missing
