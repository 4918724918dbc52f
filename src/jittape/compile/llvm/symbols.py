"""Addresses of the functions that machine code calls by name.

Machine code holds names and never addresses, since it is kept on disk. `address_of` finds the addresses, and `provide`
registers them with LLVM's linker. `PROVIDERS` has the functions that are not in the C library.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from jittape.compile.llvm.blas import ROUTINES, routine_address, symbol

__all__ = ["PROVIDERS", "PYTHON_FUNCTIONS", "address_of", "define", "provide", "provide_blas"]

PYTHON_FUNCTIONS: Mapping[str, int] = {
    "PyBytes_AsString": 64,
    "PyBytes_FromStringAndSize": 64,
    "PyDict_Copy": 64,
    "PyDict_DelItem": 32,
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
    "PyFrame_GetBack": 64,
    "PyFrame_GetCode": 64,
    "PyFrame_GetLasti": 32,
    "PyGC_Disable": 32,
    "PyGC_Enable": 32,
    "PyList_Append": 32,
    "PyList_AsTuple": 64,
    "PyList_GetItem": 64,
    "PyList_New": 64,
    "PyList_SetItem": 32,
    "PyList_SetSlice": 32,
    "PyList_Size": 64,
    "PyLong_AsLongLongAndOverflow": 64,
    "PyLong_AsSsize_t": 64,
    "PyLong_FromSsize_t": 64,
    "PyNumber_Float": 64,
    "PyNumber_Index": 64,
    "PyNumber_Power": 64,
    "PyObject_GC_IsTracked": 32,
    "PyObject_GC_UnTrack": 0,
    "PyObject_GetAttr": 64,
    "PyObject_GetIter": 64,
    "PyObject_RichCompareBool": 32,
    "PyObject_SetAttr": 32,
    "PyObject_Size": 64,
    "PyObject_Vectorcall": 64,
    "PySequence_List": 64,
    "PyTuple_GetSlice": 64,
    "PyTuple_New": 64,
    "PyThread_get_thread_ident": 64,
    "PyType_GenericAlloc": 64,
    "PyType_IsSubtype": 32,
    "PyUnicode_Compare": 32,
    "PyWeakref_GetObject": 64,
    "Py_DecRef": 0,
    "Py_IncRef": 0,
}
"""Functions of the C API, and the number of bits of their results. Every Python from 3.11 on exports them."""


def _from_python(name: str) -> int | None:
    return _address(getattr(ctypes.pythonapi, name, None))


def _clock(name: str) -> int | None:
    """Return the address of C's `time`, whose 64-bit version has another name on Windows."""
    library, clock = ("msvcrt", "_time64") if sys.platform == "win32" else (None, "time")
    return _address(getattr(ctypes.CDLL(library), clock))


def _nanoseconds(name: str) -> int | None:
    """Return the address of Python's clock `time.perf_counter_ns`; it takes a second argument before Python 3.13."""
    found = getattr(ctypes.pythonapi, "PyTime_PerfCounterRaw", None)
    return _address(found or getattr(ctypes.pythonapi, "_PyTime_GetPerfCounterWithInfo", None))


def _address(function: Any) -> int | None:
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


PROVIDERS: dict[str, Callable[[str], int | None]] = {
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
    **{symbol(routine): routine_address for routine in ROUTINES},
}


def define(name: str, address: int) -> None:
    """Register the address of a symbol for code that is loaded from now on."""
    PROVIDERS[name] = lambda name: address


def address_of(name: str) -> int | None:
    """Return the address of a symbol, without LLVM; None if neither `PROVIDERS` nor the C library has it."""
    provider = PROVIDERS.get(name)
    return _in_c_library(name) if provider is None else provider(name)


@cache
def _in_c_library(name: str) -> int | None:
    return _address(getattr(_c_library(), name, None))


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def provide(names: Iterable[str]) -> list[str]:
    """Register `names` with LLVM's linker; return those without an address. The engine must exist."""
    import llvmlite.binding as llvm

    missing = []
    for name in names:
        provider = PROVIDERS.get(name)
        address = None if provider is None else provider(name)
        if address is not None:
            llvm.add_symbol(name, address)
        if llvm.address_of_symbol(name) is None:
            missing.append(name)
    return missing


def provide_blas() -> None:
    """Register the functions of the BLAS with LLVM's linker, for code that others load."""
    provide(map(symbol, ROUTINES))
