"""NumPy's C functions that copy and view an array, for machine code; the methods take twice as long."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np

__all__ = ["ARRAY_COPY", "ARRAY_VIEW", "array_functions"]

ARRAY_COPY = "jittape_array_copy"
"""Symbol of NumPy's C function ``PyArray_NewCopy(array, order)``; order 0 is that of C."""
ARRAY_VIEW = "jittape_array_view"
"""Symbol of NumPy's C function ``PyArray_View(array, dtype, type)``; 0 stands for those of the array."""
_VERSION, _COPY, _VIEW = 0, 85, 137
"""Positions of functions in the table of NumPy's C API, which all versions of an ABI have."""
_ABI = 2
"""Major version of the ABI of NumPy 2."""


def array_functions() -> Mapping[str, int]:
    """Return the addresses of the functions by symbol; none if NumPy has another ABI, or one does something else."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    capsule = getattr(np._core._multiarray_umath, "_ARRAY_API", None)  # type: ignore[attr-defined]
    if capsule is None:
        return {}
    table = (ctypes.c_void_p * (_VIEW + 1)).from_address(pointer(capsule, None))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[_VERSION] or 0)
    if version() >> 24 != _ABI:
        return {}
    found = {ARRAY_COPY: table[_COPY] or 0, ARRAY_VIEW: table[_VIEW] or 0}
    copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int)(found[ARRAY_COPY])
    view = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)(
        found[ARRAY_VIEW]
    )
    sample = np.arange(6.0).reshape(2, 3).copy()
    copied, viewed = copy(sample.T, 0), view(sample, None, None)
    copies = np.array_equal(copied, sample.T) and copied.flags.c_contiguous and copied.base is None
    views = viewed.base is sample and viewed.shape == sample.shape and viewed.dtype is sample.dtype
    return found if copies and views else {}
