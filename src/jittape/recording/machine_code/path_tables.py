"""Tables of the calls that machine code records: functions of NumPy and methods of tensors.

Those of functions are empty until the program first calls a function of NumPy on a tensor: `known_paths` fills them
then, which imports the adapters of all functions, in 15 ms. `method_plans` fills `METHOD_PLANS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "FLOAT_OPERAND", "FUNCTION_BODIES", "INT_OPERAND", "METHOD_PLANS", "SEQUENCE_BODIES", "TENSOR_OPERAND",
    "UFUNC_BODIES",
]  # fmt: skip

UFUNC_BODIES: dict[np.ufunc, tuple[Callable[..., Any], tuple[Any, ...]]] = {}
"""Bodies and parameters of ufuncs by whatever dtypes; Python records where no such edge exists."""

FUNCTION_BODIES: dict[Any, tuple[int, Callable[..., Any], Callable[..., Any], bool]] = {}
"""Number of a function's operands, its body without and with named arguments, and whether operands may be numbers."""

SEQUENCE_BODIES: dict[Any, Callable[..., Any]] = {}
"""Bodies of functions of a sequence of tensors, with the further arguments as two tuples."""

METHOD_PLANS: dict[tuple[Any, ...], tuple[Callable[..., Any], tuple[Any, ...]] | bool] = {}
"""Body and parameters that a call of a method records; False if the method does anything else.

A key consists of the Python method, the names of the keyword arguments or None, and the arguments: those that are
structure themselves, and a mark for each operand.
"""

TENSOR_OPERAND, FLOAT_OPERAND, INT_OPERAND = (object() for _ in range(3))
"""Marks of operands in the keys of `METHOD_PLANS`."""
