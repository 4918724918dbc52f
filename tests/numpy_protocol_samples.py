"""What the two tables of NumPy's own names share: arrays, ways to combine arguments, and deviations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numpy_rows import Deviation, Row
from numpy_samples import given, numbers

X, V, S, E = numbers("float64"), numbers("float64", (5,)), np.array(2.5), np.zeros((0, 3))
CUBE, SQUARE, INTS = numbers("float64", (2, 3, 4)), numbers("float64", (3, 3)), numbers("int64")
BOOLS, COMPLEX = numbers("bool"), numbers("complex128")
SEVERAL = (X, CUBE, INTS, V, S, E, BOOLS, COMPLEX)
AXES = (None, 0, 1, -1, -2, 2, -3, True, 1.0, (0, 1), (0, 0), ())


def per(*options: Any, arrays: tuple[Any, ...] = SEVERAL) -> Any:
    """Each of the `arrays` with each of the `options`: an argument, a tuple of arguments, or a dict."""
    return given(*[(a, *(o if isinstance(o, tuple) else (o,))) for a in arrays for o in options])


def along(*arrays: Any, axes: tuple[Any, ...] = AXES) -> Any:
    """Each of the `arrays` along each of the `axes`."""
    return given(*[(a, {"axis": axis}) for a in arrays for axis in axes])


def row(
    name: str,
    cases: Any,
    *deviations: Deviation,
    remark: str = "",
    rtol: float = 4,
    signed_zeros: bool = True,
) -> Row:
    """The row of the function that is called `name` in NumPy."""
    function: Callable[..., Any] = np  # type: ignore[assignment]
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    return Row(name + remark, function, function, cases, deviations, rtol, signed_zeros)


NO_ARGUMENT = Deviation(
    "not recorded; the message names the argument", r"on a tensor (does not support|supports)"
)
NO_INDEX = Deviation(
    "nothing is read, but an index is checked all the same", "is out of bounds|must not be negative"
)
