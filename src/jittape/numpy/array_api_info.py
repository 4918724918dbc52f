"""``__array_namespace_info__`` of the Array API standard: what jittape's arrays are and can do."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import NATIVE
from jittape.numpy.array_arguments import check_device
from jittape.numpy.scalar_types import SCALAR_TYPES, ScalarType
from jittape.recording.static_info import DEVICE

__all__ = ["ArrayNamespaceInfo"]

_LETTERS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "real floating": "f",
    "complex floating": "c",
}
# The standard has no float16.
_KINDS = {
    kind: tuple(
        [d.name for d in sorted(NATIVE, key=lambda d: d.itemsize) if d.kind == letter and d != np.float16]
    )
    for kind, letter in _LETTERS.items()
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


MAX_DIMENSIONS = 64
"""Maximum number of dimensions: NumPy's."""


class ArrayNamespaceInfo:
    """The inspection functions of the Array API standard 2024.12.

    Examples
    --------
    >>> import jittape.numpy as np
    >>> np.__array_namespace_info__().default_dtypes()["real floating"]
    jittape.numpy.float64
    """

    __module__ = "jittape.numpy"

    def capabilities(self) -> dict[str, Any]:
        """Return which optional features there are: boolean masks and results whose shape depends on data."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MAX_DIMENSIONS,
        }

    def default_device(self) -> str:
        """Return the device of all tensors, the processor."""
        return DEVICE

    def devices(self) -> list[str]:
        """Return all devices."""
        return [DEVICE]

    def default_dtypes(self, *, device: Any = None) -> dict[str, ScalarType]:
        """Return the dtypes that Python numbers and indices get."""
        check_device(device)
        names = {
            "real floating": "float64",
            "complex floating": "complex128",
            "integral": "int64",
            "indexing": "intp",
        }
        return {kind: SCALAR_TYPES[name] for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, ScalarType]:
        """Return the dtypes of a kind, of several kinds, or all dtypes of the standard, by name.

        Raises
        ------
        ValueError
            If there is no such kind.
        """
        check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in _KINDS:
                raise ValueError(f"[dtypes] kind must be one of {', '.join(map(repr, _KINDS))}, got {one!r}")
        return {name: SCALAR_TYPES[name] for one in kinds for name in _KINDS[one]}
