"""Tables of NumPy's functions whose calls machine code records.

They are empty until the program first calls a function of NumPy on a tensor: `known_paths` fills them then, which
imports the adapters of all functions, in 15 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FUNCTION_BODIES", "SEQUENCE_BODIES", "UFUNC_BODIES"]

UFUNC_BODIES: dict[np.ufunc, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
"""Bodies and parameters of ufuncs by whatever dtypes; Python records where no such edge exists."""

FUNCTION_BODIES: dict[Any, tuple[int, Callable[..., Any], Callable[..., Any]]] = {}
"""Number of leading tensors of a function, and its body without and with named arguments."""

SEQUENCE_BODIES: dict[Any, Callable[..., Any]] = {}
"""Bodies of functions of a sequence of tensors, with the further arguments as two tuples."""
