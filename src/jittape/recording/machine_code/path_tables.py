"""Tables of the calls that machine code records: ufuncs, functions and methods of tensors.

`UFUNC_BODIES` is empty until the program first calls a function of NumPy on a tensor: `known_paths` fills it then,
which imports the adapters of all functions, in 15 ms. `method_plans` fills `METHOD_PLANS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import DOUBLES, WIDE_INTS, as_dtype, default_dtype
from jittape.transform.templates import shared_parameters, types_of

__all__ = [
    "ARRAYS",
    "BOOL_NEXT",
    "COPIES",
    "CREATION",
    "DOUBLES_KIND",
    "DTYPE_KINDS",
    "ELEMENTWISE",
    "FACTS",
    "FLOATS_KIND",
    "FLOAT_NEXT",
    "FLOAT_OPERAND",
    "FUNCTION_CALLS",
    "INDICES",
    "INTS_KIND",
    "INT_OPERAND",
    "KEPT_COPIES",
    "LAST_ARRAYS",
    "LAST_KEYS",
    "LAST_LISTS",
    "LAST_PLANS",
    "LIST_BEGINS",
    "LONGS_KIND",
    "MEET_DOUBLES",
    "METHOD_PLANS",
    "MOST_KEPT_BYTES",
    "MOST_NUMBERS",
    "MOST_SHAPES",
    "NUMBERS",
    "NUMBERS_OF_SHAPES",
    "NUMBER_ARRAYS",
    "NUMPY_SCALARS",
    "PLAIN_LISTS",
    "PLAIN_SHAPES",
    "RANK",
    "ROWS",
    "SEQUENCE_ENDS",
    "SHAPE",
    "SIZE",
    "STRUCTURE",
    "TENSOR_OPERAND",
    "TUPLE_BEGINS",
    "UFUNC_BODIES",
    "kind_of_dtype",
    "new_indices",
    "new_numbers",
    "new_ring",
    "numbers_of_shape",
]

FUNCTION_CALLS: dict[Callable[..., Any], Any] = {}
"""Records of calls: see `take_ufunc`, `take_function` and `take_fact` of `known_paths`, and `planned_functions`."""

UFUNC_BODIES: dict[np.ufunc, tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any] | None]] = {}
"""Bodies and parameters of ufuncs by whatever dtypes; Python records where no such edge exists.

The third item is the body of a power of an int, whose parameter is the int.
"""

SHAPE, RANK, SIZE = range(3)
FACTS: dict[Any, int] = {np.shape: SHAPE, np.ndim: RANK, np.size: SIZE}
"""Functions that ask for what is known of a tensor without its values."""

NUMBERS_OF_SHAPES: dict[tuple[int, ...], tuple[np.ndarray[Any, Any], ...]] = {}
"""The numbers that `jt.shape`, `rank` and `size` return, in the order of `FACTS`; machine code copies the arrays."""


def numbers_of_shape(shape: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], ...] | None:
    """Return and add an item of `NUMBERS_OF_SHAPES`; None if there are too many, or if a number is no int32."""
    most = max(math.prod(shape), *shape, 0)
    if len(NUMBERS_OF_SHAPES) >= MOST_SHAPES or most >= 2**31:
        return None
    arrays = tuple([np.asarray(n, np.int32) for n in (shape, len(shape), math.prod(shape))])
    NUMBERS_OF_SHAPES[shape] = arrays
    return arrays


METHOD_PLANS: dict[tuple[Any, ...], tuple[Any, ...] | bool] = {}
"""Body and parameters that a call of a method or function records; False if it does anything else.

A key consists of the Python function, the names of the keyword arguments or None, and the arguments: those that are
structure themselves, and a mark for each operand. The plan of a function has two more items: see `plan_function`.
"""

_SCALARS = (
    "bool float16 float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
)
NUMPY_SCALARS: dict[type, tuple[np.dtype[Any], type]] = {
    np.dtype(name).type: (as_dtype(name), type(np.zeros((), name).item())) for name in _SCALARS.split()
}
"""Dtypes of NumPy's scalars, which become run-time inputs, and the types of the Python numbers that equal them.

Their method `item` takes 0.2 µs, the conversion to an int or float 0.02.
"""

LAST_ARRAYS: list[tuple[Any, ...] | None] = [None] * 16
"""Arrays that calls converted: shape, dtype, item of `ARRAY_AVALS`, size in bytes, the item's key, and Buffers.

The last one is None or a list: see `new_ring`. Shape and dtype determine the place. The number of places is a power of
two.
"""
KEPT_COPIES = 32
"""Number of Buffers of a shape and dtype that are kept for later copies: a power of two."""
MOST_KEPT_BYTES = 4096
"""Maximum size, in bytes, of Buffers that are kept."""
COPIES = np.zeros(1, np.int64)
"""Number of copies of arrays; it determines the Buffer that the next one is written to."""


def new_ring() -> list[None]:
    """Return the list of Buffers in an item of `LAST_ARRAYS`."""
    return [None] * KEPT_COPIES


LAST_LISTS: list[np.ndarray[Any, Any] | None] = [None] * 16
"""Arrays of int64 of several lengths, which determine the places; machine code writes lists of indices to them."""


def new_indices(count: int) -> np.ndarray[Any, Any]:
    """Return an array for `LAST_LISTS`."""
    return np.zeros(count, np.int64)


FLOATS_KIND, DOUBLES_KIND, INTS_KIND, LONGS_KIND = range(4)
"""Kinds of arrays of Python's numbers: of the default float dtype, float64, int32 and int64."""
NUMBER_ARRAYS: list[np.ndarray[Any, Any] | None] = [None] * 64
"""Arrays of numbers like `LAST_LISTS`; machine code writes the operand of ``x + [1.0, 2.0]`` to one of them.

Length and kind determine the place.
"""
MOST_NUMBERS = 512
"""Maximum number of numbers in a list that machine code converts."""
MEET_DOUBLES = tuple(sorted([dtype.name for dtype in DOUBLES | WIDE_INTS]))
"""Dtypes of operands next to which a list of floats is in double precision."""


def new_numbers(count: int, columns: int, kind: int) -> np.ndarray[Any, Any]:
    """Return an array for `NUMBER_ARRAYS`: of no shape for a negative `count`, a matrix unless `columns` is 0."""
    dtype = (default_dtype(float), np.dtype(float), np.dtype(np.int32), np.dtype(np.int64))[kind]
    return np.zeros(() if count < 0 else (count // columns, columns) if columns else (count,), dtype)


DTYPE_KINDS: dict[int, tuple[Any, int, np.dtype[Any], tuple[Any, ...]]] = {}
"""Each object that was the dtype of constants, by its address: the object, the kind of numbers, the dtype, and the
parameters of a cast to it; see `kind_of_dtype`."""
_MOST_DTYPES = 64


def kind_of_dtype(dtype: Any) -> int:
    """Return the kind of `NUMBER_ARRAYS` for a dtype, and add it to `DTYPE_KINDS`; -1 if there is none."""
    if not isinstance(dtype, (np.dtype, type, str)):  # another object may mean something else later
        return -1
    try:
        wanted = as_dtype(dtype)
    except Exception:  # the function raises the errors of bad arguments again
        return -1
    kinds = {default_dtype(float): FLOATS_KIND, np.dtype(float): DOUBLES_KIND}
    kind = {**kinds, np.dtype(np.int32): INTS_KIND, np.dtype(np.int64): LONGS_KIND}.get(wanted, -1)
    if len(DTYPE_KINDS) >= _MOST_DTYPES:
        DTYPE_KINDS.clear()
    DTYPE_KINDS[id(dtype)] = dtype, kind, wanted, shared_parameters((wanted,), types_of((wanted,)))
    return kind


config.on_change(DTYPE_KINDS.clear)
config.on_change(lambda: NUMBER_ARRAYS.__setitem__(slice(None), [None] * len(NUMBER_ARRAYS)))

LAST_KEYS: list[tuple[Any, ...] | None] = [None] * 16
"""Plans of keys that machine code found last in `PLANS`, each behind its parts, which it compares by identity."""

LAST_PLANS: list[tuple[Any, ...] | None] = []
"""For each method, by its number: the plan that it found last, and behind it the key.

Machine code compares the parts of a key by identity, which saves the key and its hash: ``x.sum()`` takes 0.19 µs, and
without it 0.24.
"""

TENSOR_OPERAND, FLOAT_OPERAND, INT_OPERAND = (object() for _ in range(3))
"""Marks of operands in the keys of `METHOD_PLANS`."""

PLAIN_SHAPES: dict[tuple[int, ...], tuple[int, ...]] = {}
"""The tuple for each `TensorShape` that was an argument; keys of calls contain the tuple.

Machine code borrows the tuples, so none is ever removed.
"""
PLAIN_LISTS: dict[tuple[int, ...], tuple[int, ...]] = {}
"""The tuple with the ints of each list that was an argument of ``x.reshape`` or ``x.transpose``, as above."""
MOST_SHAPES = 4096
"""Maximum size of `PLAIN_SHAPES` and of `PLAIN_LISTS`; Python records calls with other shapes."""

BOOL_NEXT, FLOAT_NEXT, LIST_BEGINS, TUPLE_BEGINS, SEQUENCE_ENDS = (object() for _ in range(5))
"""Marks in the keys of functions: before a bool or float, which may equal an int, and around items of sequences."""

STRUCTURE, CREATION, NUMBERS, ARRAYS, ELEMENTWISE, INDICES, ROWS = range(7)
"""How a function takes ints, lists and arrays.

They are structure, except arrays, which Python handles; the same, for calls without a tensor, too; the same, for calls
without a tensor alone, in which floats are structure as well; only arrays are operands; ints and arrays are operands;
or Python handles them all, unless they have a name. `ROWS` are such, but an int, list or array as the last of two
arguments is an index, or are the indices, along an axis.
"""
