"""Evaluations in C, with derivatives written by hand: ``hand_adjoints.c``, compiled by gcc when first needed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["HAND_WRITTEN"]

_SOURCE = Path(__file__).parent / "hand_adjoints.c"
_FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp-simd", "-fPIC")


@cache
def _library() -> ctypes.CDLL | None:
    """Return the compiled code; None if there is no gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        compiled, path = Path(folder) / "hand_adjoints.o", Path(folder) / "hand_adjoints.so"
        subprocess.run([compiler, *_FLAGS, "-c", "-o", str(compiled), str(_SOURCE)], check=True)
        # A library that is linked with -ffast-math makes the thread that loads it flush subnormal numbers to zero.
        subprocess.run([compiler, "-shared", "-o", str(path), str(compiled), "-lm"], check=True)
        library = ctypes.CDLL(str(path))
    for name in ("lse", "llsq", "gmm"):
        getattr(library, name).restype = ctypes.c_double
    return library


def _bound(name: str, *arguments: Any) -> Callable[[], Any] | None:
    """Return a call with arguments: integers, floats, and arrays by address."""
    library = _library()
    if library is None:
        return None
    function = getattr(library, name)
    given = [
        ctypes.c_double(a)
        if isinstance(a, float)
        else ctypes.c_long(a)
        if isinstance(a, int)
        else _pointer(a)
        for a in arguments
    ]
    return lambda: function(*given)


def _pointer(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


def _lse(row: Any) -> Any:
    (x,) = row.arguments
    slope = np.empty_like(x)
    return _bound("lse", row.n, x, slope), lambda value: [value, slope], (x, slope)


def _llsq(row: Any) -> Any:
    x, points, _ = row.arguments
    slope = np.empty_like(x)
    return _bound("llsq", row.n, row.m, x, points, slope), lambda value: [value, slope], (x, points, slope)


def _kmeans(row: Any) -> Any:
    centers, points = row.arguments
    direction = np.empty_like(centers)
    run = _bound("kmeans", row.k, row.n, row.d, centers, points, direction)
    return run, lambda _: [direction], (centers, points, direction)


def _gmm(row: Any) -> Any:
    slopes = [np.empty_like(a) for a in row.arguments[:4]]
    below = np.ascontiguousarray(row.below)
    constant = row.constant()
    run = _bound("gmm", row.d, row.k, row.n, row.gamma, float(row.m), *row.arguments, below, *slopes)
    return run, lambda value: [value + constant, *slopes], (row.arguments, below, slopes)


def _ba(row: Any) -> Any:
    blocks, by_weights = np.empty((row.observations, 2, 15)), np.empty(row.observations)
    pairs = np.ascontiguousarray(row.arguments[4])
    run = _bound("ba", row.observations, *row.arguments[:4], pairs, blocks, by_weights)
    return run, lambda _: [blocks, by_weights], (row.arguments, pairs, blocks, by_weights)


HAND_WRITTEN = {"lse": _lse, "llsq": _llsq, "kmeans": _kmeans, "gmm": _gmm, "ba": _ba}
"""By the title of an evaluation, a function of it.

It returns the run, None without gcc; the function from what the run returns to the results; and the arrays that the
run uses.
"""
