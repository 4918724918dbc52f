"""Checks of constructor arguments; each error names the class, the argument and the value."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from jittape.core.user_calls import as_int, shown

__all__ = [
    "BELOW_ONE",
    "FINITE",
    "NOT_NEGATIVE",
    "POSITIVE",
    "UNIT",
    "ArgumentError",
    "Interval",
    "flag",
    "listed",
    "number",
    "numbers",
    "optional_number",
    "optional_whole_number",
    "shape_of_weight",
    "unknown_argument",
]


class Interval(NamedTuple):
    """A set of allowed numbers, with its description for errors."""

    text: str
    holds: Callable[[float], bool]


FINITE = Interval("finite", math.isfinite)
NOT_NEGATIVE = Interval("at least 0 and finite", lambda x: 0.0 <= x < math.inf)
POSITIVE = Interval("greater than 0 and finite", lambda x: 0.0 < x < math.inf)
UNIT = Interval("between 0 and 1", lambda x: 0.0 <= x <= 1.0)
BELOW_ONE = Interval("at least 0 and below 1", lambda x: 0.0 <= x < 1.0)


def number(owner: str, name: str, value: Any, allowed: Interval) -> float:
    """Return `value` as a float.

    Parameters
    ----------
    owner : str
        Name of the class, for errors.
    name : str
        The argument.
    value : number
        A Python or NumPy number, or a 0-d NumPy array, but no bool.
    allowed : Interval

    Raises
    ------
    TypeError
        If it is not a number.
    ValueError
        If it is not in `allowed`.
    """
    scalar = value.item() if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 else value
    if isinstance(scalar, bool) or not isinstance(scalar, (int, float)):
        raise TypeError(f"{owner}: `{name}` must be a number, got {_shown(value)}")
    if not allowed.holds(scalar):
        raise ValueError(f"{owner}: `{name}` must be {allowed.text}, got {scalar!r}")
    return float(scalar)


def optional_number(owner: str, name: str, value: Any, allowed: Interval) -> float | None:
    """Return `number` of `value`, or None for None."""
    return None if value is None else number(owner, name, value, allowed)


def optional_whole_number(owner: str, name: str, value: Any) -> int | None:
    """Return `value` as an int of at least 1, or None for None.

    Raises
    ------
    TypeError
        If it is not an int.
    ValueError
        If it is below 1.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{owner}: `{name}` must be an int, got {_shown(value)}")
    if value < 1:
        raise ValueError(f"{owner}: `{name}` must be at least 1, got {value}")
    return int(value)


def listed(owner: str, name: str, value: Any) -> list[Any]:
    """Return the elements of a list, tuple or array.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{owner}: `{name}` must be a list, got {_shown(value)}")
    return list(value)


def shape_of_weight(owner: str, shape: Any) -> tuple[int, ...]:
    """Return the shape of a weight as a tuple.

    Raises
    ------
    TypeError
        If it is not a list of ints.
    ValueError
        If an extent is negative.
    """
    extents = tuple([as_int(f"{owner}: `shape`", n) for n in listed(owner, "shape", shape)])
    if any(n < 0 for n in extents):
        raise ValueError(f"{owner}: `shape` must not be negative, got {extents}")
    return extents


def numbers(owner: str, name: str, value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return a number, or lists of numbers, as an array of a real dtype.

    Raises
    ------
    TypeError
        If it contains anything else.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" and array.dtype.type.__module__ != "ml_dtypes":
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(
            f"{owner}: `{name}` must be a number or a list of numbers, got {_shown(value)}"
        ) from None
    return array.astype(dtype)


def flag(owner: str, name: str, value: Any) -> bool:
    """Return `value` as a bool.

    Raises
    ------
    TypeError
        If it is not a bool.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{owner}: `{name}` must be True or False, got {_shown(value)}")
    return bool(value)


def _shown(value: Any) -> str:
    return f"{shown(value)} of type {type(value).__name__}"


class ArgumentError(TypeError, ValueError):
    """A wrong argument, for which Python raises TypeError and Keras ValueError."""


def unknown_argument(kind: type, base: type, argument: str) -> ArgumentError:
    """Return the error for an argument that no constructor of `kind`, from `base` on, has."""
    bases = [one for one in kind.__mro__ if "__init__" in vars(one) and issubclass(one, base)]
    found = itertools.chain.from_iterable(inspect.signature(one).parameters for one in bases)
    known = [name for name in dict.fromkeys(found) if name not in ("options", "unknown")]
    near = difflib.get_close_matches(argument, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    return ArgumentError(f"[{kind.__name__}] there is no argument {argument!r}; {hint}")
