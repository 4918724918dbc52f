"""Arguments for the comparison with NumPy: every dtype at its edges, empty and 0-d arrays, arguments out of range.

A *case* is ``(args, kwargs)`` of one call. Arrays among the positional arguments, also within lists, become tensors
when jittape is called; everything else is given as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Case = tuple[tuple[Any, ...], dict[str, Any]]
Cases = Callable[[], Iterator[Case]]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS, "complex64", "complex128")
SCALARS = (True, 2, -1, 300, 1.5, 1e300, 2j, np.float32(1.5), np.int64(-2))


def edges(dtype: str) -> Array:
    """The values of `dtype` at which functions tend to go wrong."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        limits = np.iinfo(dtype)
        return np.array(
            [0, 1, 2, 3, 7, 64, limits.max, limits.min, *([-1, -2, -7] if kind == "i" else [])], dtype
        )
    if kind == "c":
        return np.array([0, 1, -1, 2j, -3j, 1.5 - 2j, -0.5 + 0.25j, -2 + 7j], dtype)
    limits = np.finfo(dtype)
    some = [0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, 2.5, -2.5, 3, -7, 8, np.inf, -np.inf, np.nan]
    return np.array([*some, limits.max, limits.min, limits.tiny, limits.smallest_subnormal], dtype)


def numbers(dtype: str, shape: tuple[int, ...] = (2, 3), seed: int = 0) -> Array:
    """Ordinary numbers with ties, zeros and, where there are any, negative ones."""
    drawn = np.asarray(np.random.default_rng(seed).integers(-4, 5, shape))
    kind = np.dtype(dtype).kind
    values = drawn + 1j * np.flip(drawn) if kind == "c" else abs(drawn) if kind == "u" else drawn
    return np.asarray(values / 2 if kind in "fc" else values).astype(dtype)


def of_kinds(kinds: str) -> tuple[str, ...]:
    """The dtypes whose `numpy.dtype.kind` is in `kinds`."""
    return tuple(d for d in DTYPES if np.dtype(d).kind in kinds)


def arrays(kinds: str = "biufc") -> Iterator[Array]:
    """One array of each sort for every dtype."""
    for dtype in of_kinds(kinds):
        yield edges(dtype)
        yield numbers(dtype)
        yield numbers(dtype, (1,))[0:1].reshape(())
        yield np.zeros((0, 3), dtype)


def unary(kinds: str = "biufc") -> Cases:
    """One array."""
    return lambda: (((a,), {}) for a in arrays(kinds))


PAIRED = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64")


def binary(kinds: str = "biufc") -> Cases:
    """Two operands: all pairs of edges, mixed dtypes, Python scalars on either side, shapes that do not fit."""

    def cases() -> Iterator[Case]:
        for dtype in of_kinds(kinds):
            e = edges(dtype)
            yield (e[:, None], e), {}
            for scalar in SCALARS:
                yield (numbers(dtype), scalar), {}
                yield (scalar, numbers(dtype)), {}
        for one, other in itertools.permutations(PAIRED, 2):
            yield (numbers(one), numbers(other, (3,), 1)), {}
        some = numbers("float64")
        yield (some, numbers("float64", (2,))), {}
        yield (some, np.zeros((0, 3))), {}
        yield (np.zeros((0, 1)), np.zeros(3)), {}
        yield (some[0, 0].reshape(()), some), {}
        yield (some, numbers("float64", (1, 1, 1))), {}

    return cases


EVERY_AXIS = (None, 0, 1, -1, -2, 2, -3, (0, 1), (1, -1), (0,), (), True, 1.0, "0", np.int8(1), [0])
FLAGS = (False, True)


def reductions(kinds: str = "biufc", axes: tuple[Any, ...] = EVERY_AXIS, keepdims: bool = True) -> Cases:
    """An array and an axis, good or bad; empty arrays along and across it; nans, ties and infinities."""

    def cases() -> Iterator[Case]:
        for dtype in of_kinds(kinds):
            yield (edges(dtype),), {}
            yield (numbers(dtype, ()),), {}
            for shape in ((2, 3), (0, 3), (3, 0)):
                for axis in (None, 0, 1):
                    yield (numbers(dtype, shape),), {"axis": axis}
        for axis in axes:
            for keep in FLAGS if keepdims else (None,):
                options = {"axis": axis} if keep is None else {"axis": axis, "keepdims": keep}
                for dtype in [d for d in ("bool", "int8", "float16", "float64") if np.dtype(d).kind in kinds]:
                    yield (numbers(dtype),), options
        for axis in (0, -1, (), None):
            yield (np.ones(()),), {"axis": axis}

    return cases


def given(*cases: Any) -> Cases:
    """The cases as they are written down: tuples of arguments, a dict at their end for those with names."""

    def listed() -> Iterator[Case]:
        for case in cases:
            case = case if isinstance(case, tuple) else (case,)
            yield (case[:-1], case[-1]) if case and isinstance(case[-1], dict) else (case, {})

    return listed


def each(dtypes: str, *options: Any, shape: tuple[int, ...] = (2, 3)) -> Cases:
    """An array of each dtype of these kinds, with each of the `options`: a tuple of further arguments, or a dict."""

    def cases() -> Iterator[Case]:
        for dtype in of_kinds(dtypes):
            for option in options:
                args = (option,) if isinstance(option, dict) else option
                named = args[-1] if args and isinstance(args[-1], dict) else {}
                yield (
                    (numbers(dtype, shape), *(args[:-1] if named or (args and args[-1] == {}) else args)),
                    named,
                )

    return cases


def together(*parts: Cases) -> Cases:
    """The cases of all parts."""
    return lambda: itertools.chain.from_iterable(part() for part in parts)
