"""Global arrays of a user's function as constants of the generated module, which Numba compiles into the code."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["constant_lines", "constant_name", "digest_of", "has_constant"]

MAX_BYTES = 2**20
"""Maximum size, in bytes, of a global array that generated code contains."""

_LINES: dict[str, str] = {}
"""Lines that define the constants of this process, by their names."""


def has_constant(array: Any) -> bool:
    """Return whether a global array can be a constant of generated code."""
    return (
        isinstance(array, np.ndarray)
        and (array.dtype.kind in "biu" or array.dtype in (np.float32, np.float64))
        and array.dtype.isnative
        and array.ndim > 0
        and array.nbytes <= MAX_BYTES
    )


def digest_of(array: Any) -> str:
    """Return a hash of the dtype, the shape and the elements of an array."""
    content = (array.dtype.str, array.shape, array.tobytes())
    return hashlib.blake2b(repr(content).encode(), digest_size=8).hexdigest()


def constant_name(name: str, array: Any) -> str:
    """Return the name of the constant of a global array; arrays with the same elements share it."""
    digest = digest_of(array)
    found = re.sub(r"\W", "_", name)
    if not found.endswith(digest):  # a constant of generated code, whose gradient is derived
        found = f"{found}_{digest}"
    data = base64.b64encode(array.tobytes()).decode()
    _LINES[found] = (
        f"{found} = np.frombuffer(base64.b64decode({data!r}), np.dtype({array.dtype.str!r})).reshape({array.shape})"
    )
    return found


def constant_lines(words: Iterable[str]) -> list[str]:
    """Return the lines that define the constants among `words`."""
    lines = [_LINES[word] for word in sorted(words) if word in _LINES]
    return ["import base64", *lines] if lines else []
