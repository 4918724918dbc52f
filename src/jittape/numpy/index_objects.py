"""Objects of NumPy that are indexed to create arrays: ``mgrid``, ``ogrid``, ``r_`` and ``c_``."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import shown
from jittape.numpy.array_arguments import as_operand, as_result
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.numpy_api.numpy_shapes import with_weak_numbers
from jittape.primitives.shape.reshaping import reshape

__all__ = ["INDEX_OBJECTS"]


class _Grid:
    """Coordinates of a grid, given as slices; see `numpy.mgrid` and `numpy.ogrid`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: Any) -> Any:
        parts = [slice(*map(_number, (part.start, part.stop, part.step))) for part in _as_tuple(key)]
        return as_result(getattr(np, self._name)[tuple(parts) if isinstance(key, tuple) else parts[0]])

    def __repr__(self) -> str:
        return f"<jittape.numpy.{self._name}>"


class _Joined:
    """Numbers, ranges and arrays, joined; see `numpy.r_` and `numpy.c_`. Tensors record."""

    def __init__(self, name: str, columns: bool) -> None:
        self._name, self._columns = name, columns

    def __getitem__(self, key: Any) -> Any:
        parts = [
            self._of_rank(part)
            for part in with_weak_numbers([self._operand(part) for part in _as_tuple(key)])
        ]
        return as_result(FUNCTIONS[np.concatenate](parts, -1 if self._columns else 0))

    def _operand(self, part: Any) -> Any:
        if isinstance(part, str):
            raise TypeError(
                f"np.{self._name} takes no directives, got {shown(part)}; use concatenate or stack"
            )
        if isinstance(part, slice):
            part = np.r_[slice(*map(_number, (part.start, part.stop, part.step)))]
        return as_operand(part, self._name)

    def _of_rank(self, array: Any) -> Any:
        wanted = 2 if self._columns else 1
        if len(array.shape) >= wanted:
            return array
        return reshape(array, (-1, 1) if self._columns else (1,))

    def __repr__(self) -> str:
        return f"<jittape.numpy.{self._name}>"


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _number(value: Any) -> Any:
    """Return an end or a step of a range as a number; that of a tensor leaves the tape."""
    return value if value is None or isinstance(value, (int, float, complex)) else np.asarray(value)[()]


INDEX_OBJECTS: dict[str, Any] = {
    "c_": _Joined("c_", columns=True),
    "mgrid": _Grid("mgrid"),
    "ogrid": _Grid("ogrid"),
    "r_": _Joined("r_", columns=False),
}
"""Objects of the namespace by name."""
