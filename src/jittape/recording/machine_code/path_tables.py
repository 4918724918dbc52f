"""Tables of the calls that machine code records: ufuncs, functions and methods of tensors.

`UFUNC_BODIES` is empty until the program first calls a function of NumPy on a tensor: `known_paths` fills it then,
which imports the adapters of all functions, in 15 ms. `method_plans` fills `METHOD_PLANS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "FLOAT_OPERAND",
    "FUNCTION_CALLS",
    "INT_OPERAND",
    "LAST_ARRAY",
    "LAST_PLANS",
    "METHOD_PLANS",
    "TENSOR_OPERAND",
    "UFUNC_BODIES",
]

FUNCTION_CALLS: dict[Callable[..., Any], tuple[Any, ...]] = {}
"""Calls that functions of `jittape.numpy` record: see `take_ufunc` and `take_function` of `known_paths`."""

UFUNC_BODIES: dict[np.ufunc, tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any] | None]] = {}
"""Bodies and parameters of ufuncs by whatever dtypes; Python records where no such edge exists.

The third item is the body of a power of an int, whose parameter is the int.
"""

METHOD_PLANS: dict[tuple[Any, ...], tuple[Callable[..., Any], tuple[Any, ...]] | bool] = {}
"""Body and parameters that a call of a method records; False if the method does anything else.

A key consists of the Python method, the names of the keyword arguments or None, and the arguments: those that are
structure themselves, and a mark for each operand.
"""

LAST_ARRAY: list[tuple[Any, ...] | None] = [None]
"""Shape and dtype of the array that a call converted last, its item of `ARRAY_AVALS`, and its size in bytes."""

LAST_PLANS: list[tuple[Any, ...] | None] = []
"""For each method, by its number: the plan that it found last, and behind it the key.

Machine code compares the parts of a key by identity, which saves the key and its hash: ``x.sum()`` takes 0.19 µs, and
without it 0.24.
"""

TENSOR_OPERAND, FLOAT_OPERAND, INT_OPERAND = (object() for _ in range(3))
"""Marks of operands in the keys of `METHOD_PLANS`."""
