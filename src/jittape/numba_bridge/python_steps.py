"""Steps of native functions that run in Python: ops with a NumPy implementation only, and loops around such ops.

Compiled code calls a step through a C function pointer with a table of addresses: operands, results, and a word that
the step sets to 1 when it succeeds. `ctypes` takes the GIL for the call, so any thread can make it, also without the
GIL. An exception waits in the thread for `Carried`, which Numba's code raises in its place.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.buffers import address_of
from jittape.core.interpret import run_ops
from jittape.core.program import Aval, Program, is_dynamic_dim

if TYPE_CHECKING:
    from jittape.compile.schedule.steps import NumpyStep

__all__ = ["Carried", "PythonStep", "Release"]

_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_failed = threading.local()

_grown: dict[int, np.ndarray[Any, Any]] = {}
"""Stacks of unknown length that a loop in Python has made. Compiled code holds their keys."""

_keys = itertools.count(1)


class Carried(BaseException):
    """Exception of the last step that failed in this thread: the call returns the exception itself.

    Numba stores the class of an exception in the code and calls it, twice, to raise the exception.
    """

    def __new__(cls, *_: Any) -> Any:
        error = getattr(_failed, "error", None)
        # Only an exception from outside, such as Ctrl-C, ends a step before its first line.
        return KeyboardInterrupt("interrupted in a native function") if error is None else error


class PythonStep:
    """A step as a C function.

    Parameters
    ----------
    program : Program
        The program of the step.
    step : NumpyStep

    Attributes
    ----------
    address : int
        Address of the C function, valid as long as the `PythonStep` exists.
    """

    def __init__(self, program: Program, step: NumpyStep) -> None:
        function = _FUNCTION(lambda table: _run(program, step, table))
        self.address: int = ctypes.cast(function, ctypes.c_void_p).value or 0
        self._function = function


class Release:
    """A C function that releases the stacks with the keys in a table of `count` words, 0 for none."""

    def __init__(self, count: int) -> None:
        function = _FUNCTION(lambda table: _release(table, count))
        self.address: int = ctypes.cast(function, ctypes.c_void_p).value or 0
        self._function = function


def _run(program: Program, step: NumpyStep, table: int) -> None:
    try:
        _failed.error = None
        words = _words(table, len(step.storages) + len(step.results) + 1)
        # The operands are copies: a function of the user, or a traceback, may keep them longer than their memory.
        operands = [_read(address, aval) for address, aval in zip(words, step.avals, strict=False)]
        with np.errstate(all="ignore"):
            results = run_ops(program, step.ops, operands)
        for address, aval, value in zip(
            words[len(step.storages) :], step.result_avals, results, strict=False
        ):
            _write(address, aval, value)
        words[-1] = 1
    except BaseException as error:
        _failed.error = error


def _release(table: int, count: int) -> None:
    for key in _words(table, count):
        _grown.pop(key, None)


def _words(table: int, count: int) -> Any:
    return (ctypes.c_size_t * count).from_address(table)


def _read(address: int, aval: Aval) -> np.ndarray[Any, Any]:
    if is_dynamic_dim(aval):
        return _grown[ctypes.c_size_t.from_address(address).value]
    array = np.empty(aval.shape, aval.dtype)
    ctypes.memmove(address_of(array), address, aval.nbytes)
    return array


def _write(address: int, aval: Aval, value: np.ndarray[Any, Any]) -> None:
    if is_dynamic_dim(aval):
        key = next(_keys)
        _grown[key] = value
        ctypes.c_size_t.from_address(address).value = key
        return
    packed = np.ascontiguousarray(value)
    ctypes.memmove(address, address_of(packed), aval.nbytes)
