"""NumPy's C function that copies an array, for machine code; the method `copy` takes twice as long."""

from __future__ import annotations

import ctypes

import numpy as np

__all__ = ["ARRAY_COPY", "copy_function"]

ARRAY_COPY = "jittape_array_copy"
"""Symbol of NumPy's C function ``PyArray_NewCopy(array, order)``; order 0 is that of C."""
_VERSION, _COPY = 0, 85
"""Positions of functions in the table of NumPy's C API, which all versions of an ABI have."""
_ABI = 2
"""Major version of the ABI of NumPy 2."""


def copy_function() -> int | None:
    """Return the address of `ARRAY_COPY`; None if NumPy has another ABI, or the function copies nothing."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    capsule = getattr(np._core._multiarray_umath, "_ARRAY_API", None)  # type: ignore[attr-defined]
    if capsule is None:
        return None
    table = (ctypes.c_void_p * (_COPY + 1)).from_address(pointer(capsule, None))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[_VERSION] or 0)
    if version() >> 24 != _ABI:
        return None
    address: int = table[_COPY] or 0
    copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int)(address)
    sample = np.arange(6.0).reshape(2, 3).T
    made = copy(sample, 0)
    works = np.array_equal(made, sample) and made.flags.c_contiguous and not np.may_share_memory(made, sample)
    return address if works else None
