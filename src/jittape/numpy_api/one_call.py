"""Calls of NumPy's functions that are recorded as one call, whatever ops the function consists of.

The arguments of such a call are operands and structure: ints, texts, dtypes, tuples of ints and None, which are part of
the key. Machine code in `jittape.recording.machine_code.emit_protocols` does the same on known paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jittape.core.primitive import apply
from jittape.core.symbolic.extents import open_extents
from jittape.core.tensor_shape import plain_shape
from jittape.numpy_api.numpy_operands import dtype_of, is_structure, shape_of

__all__ = [
    "BY_OPERATOR",
    "END",
    "FLAGS",
    "FRACTIONS",
    "INDEX",
    "LIST",
    "NAMED",
    "ONE_CALLS",
    "OPERAND",
    "OPERAND_NAMES",
    "PERCENTS",
    "STATICS",
    "TUPLE",
    "UFUNC_METHODS",
    "OneCall",
    "arranged",
    "one_call",
    "one_method_call",
]


class OneCall(NamedTuple):
    """How calls of a function of NumPy are recorded as one call.

    Attributes
    ----------
    body : callable
        The adapter, for calls that have operands as positional arguments and nothing else.
    general : callable
        The body of all other calls; the parameters say how the operands are arranged: see `arranged`.
    leading : int
        Number of leading parameters that are operands, never structure.
    numbers : int
        Python numbers that are operands, except as the first argument: 0 none, 1 floats, 2 also the ints among the
        leading parameters; `FRACTIONS` and `PERCENTS` ints and floats in a range, and lists and arrays of them;
        `INDEX` an index of a vector, and floats behind it. Arrays are operands unless their values are read.
    results : callable or None
        Converts a tuple of results.
    last : list
        The parameters of `general` at the last call that machine code recorded.
    """

    body: Callable[..., Any]
    general: Callable[..., Any]
    leading: int
    numbers: int
    results: Callable[..., Any] | None
    last: list[tuple[Any, ...] | None]


ONE_CALLS: dict[Any, OneCall] = {}
"""How functions are recorded as one call; `numpy_functions` fills the table."""
UFUNC_METHODS: dict[np.ufunc, dict[str, OneCall]] = {}
"""The same for methods of ufuncs, such as ``np.add.reduce``, by their names; `numpy_ufunc_methods` fills the table."""
BY_OPERATOR: dict[Any, bool] = {}
"""Bodies of functions whose calls with known indices are recorded as ``x[indices]``: that of ``np.take``."""
STATICS: dict[tuple[Any, ...], tuple[Any, ...]] = {}
"""The parameters of `OneCall.general` that paths contain, so that equal ones are mostly one object, compared fast."""
OPERAND, LIST, TUPLE, END, NAMED = (f"\ue000{name}" for name in ("operand", "list", "tuple", "end", "named"))
"""Marks among the parameters of `OneCall.general`; no argument of a user has these texts."""
OPERAND_NAMES = dict.fromkeys(("a", "b", "fp", "p", "v", "weights", "x", "x1", "x2", "xp", "y"))
"""Keyword arguments that may be operands; ``out=`` is none."""
FRACTIONS, PERCENTS, INDEX = 3, 4, 5
"""`OneCall.numbers` of functions whose second argument is from 0 to 1, from 0 to 100, or an index of a vector.

Python records calls with arrays of indices, and those with numbers out of range.
"""
_FLAGS = "bias compute_uv copy equal_nan full_matrices hermitian increasing keepdims rowvar subok upper"
FLAGS = dict.fromkeys(_FLAGS.split())
"""Keyword arguments for which 1 means the same as True: equal keys must have the same meaning, and 1 is an axis."""


def arranged(
    name: str, adapter: Callable[..., Any], results: Callable[..., Any] | None
) -> Callable[..., Any]:
    """Return the `adapter` of the function `name` as a body whose parameters are the arguments of a call.

    `OPERAND` stands for each operand. A list begins with a mark and ends with `END`, and so does a tuple with operands
    or lists. `NAMED` begins the named arguments, each after its name. The last parameter is the number of operands.
    """

    def called(*operands_and_static: Any) -> Any:
        count = operands_and_static[-1]
        operands = iter(operands_and_static[:count])
        parts = iter(operands_and_static[count:-1])
        args = [_argument(part, parts, operands) for part in iter(partial(next, parts, NAMED), NAMED)]
        kwargs = {name: _argument(next(parts), parts, operands) for name in parts}
        found = adapter(*args, **kwargs)
        if found.__class__ is not tuple and isinstance(found, (tuple, list)) and results is None:
            raise TypeError("the results are no tuple")
        return found

    called.__name__ = called.__qualname__ = name
    return called


def _argument(part: Any, parts: Iterator[Any], operands: Iterator[Any]) -> Any:
    if part == OPERAND:
        return next(operands)
    if part in (LIST, TUPLE):
        values = [_argument(item, parts, operands) for item in iter(partial(next, parts), END)]
        return values if part == LIST else tuple(values)
    return part


def one_call(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of a NumPy function as one call; return NotImplemented if it cannot be one.

    A call cannot be one if its arguments are not only operands and structure, or if the adapter reads values.
    """
    call = ONE_CALLS.get(func)
    if call is None:
        return NotImplemented
    found = _flattened(call, types, args, kwargs)
    if found is None or (
        func is np.clip and dtype_of(found[0][0]).kind != "f"
    ):  # ints of clip need their values
        return NotImplemented
    return _recorded(call, func, *found)


def one_method_call(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of a method of a ufunc as one call; return NotImplemented if it cannot be one."""
    call = UFUNC_METHODS.get(ufunc, {}).get(method)
    if call is None:
        return NotImplemented
    types = frozenset([x.__class__ for x in inputs if hasattr(x, "_aval")])
    found = _flattened(call, types, inputs, kwargs)
    return NotImplemented if found is None else _recorded(call, (ufunc, method), *found)


def _recorded(call: OneCall, func: Any, operands: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
    if _refused and _is_refused(func, operands, static):
        return NotImplemented
    try:
        result = apply(call.general if static else call.body, operands, static)
    except Exception:  # the adapter, which the caller tries next, raises the errors that concern users
        _refuse(func, operands, static)
        return NotImplemented
    return call.results(result) if call.results is not None and result.__class__ is tuple else result


_refused: set[tuple[Any, ...]] = set()
"""Calls that could not be recorded as one."""
_MOST_REFUSED = 4096


def _is_refused(func: Any, operands: tuple[Any, ...], static: tuple[Any, ...]) -> bool:
    """Return whether a call is known to be no single one; the hash of an open extent would fix the extent."""
    return not open_extents and _signature(func, operands, static) in _refused


def _refuse(func: Any, operands: tuple[Any, ...], static: tuple[Any, ...]) -> None:
    if len(_refused) >= _MOST_REFUSED:
        _refused.clear()
    if not open_extents:
        _refused.add(_signature(func, operands, static))


def _signature(func: Any, operands: tuple[Any, ...], static: tuple[Any, ...]) -> tuple[Any, ...]:
    avals = [getattr(x, "_aval", None) or (x.__class__, shape_of(x)) for x in operands]
    return func, static, *avals


def _flattened(
    call: OneCall, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the operands of a call and the parameters of its body; None if an argument is neither."""
    operands: list[Any] = []
    parts: list[Any] = []
    for i, value in enumerate(map(plain_shape, args)):
        kind, leads, numbers = value.__class__, i < call.leading, call.numbers if i else 0
        if numbers == INDEX and i > 1:
            numbers = 1
        if kind in _SEQUENCES and leads and numbers < FRACTIONS and {*map(type, value)} in _NUMBERS:
            value, kind = np.asarray(value), np.ndarray
        if numbers >= FRACTIONS:
            is_number = leads and _is_in_range(value, numbers, args[0])
        else:
            is_number = (kind is float and numbers > 0) or (kind is int and leads and numbers == 2)
        is_operand = numbers < FRACTIONS and leads if kind is np.ndarray else kind in types
        if is_number or is_operand:
            operands.append(value)
            parts.append(OPERAND)
        elif value is None or (not leads and is_structure(value)):
            parts.append(value)
        elif (found := _sequence(value, types, numbers, leads, operands)) is not None:
            parts += found
        else:
            return None
    if kwargs:
        parts.append(NAMED)
    for name, given in kwargs.items():
        value = plain_shape(given)
        kind = value.__class__
        if (kind in types and name in OPERAND_NAMES) or (kind is float and 0 < call.numbers < FRACTIONS):
            operands.append(value)
            parts += [name, OPERAND]
        elif (is_structure(value) and not (kind is int and name in _INDICES)) or (
            kind is bool and name in FLAGS
        ):
            parts += [name, value]
        elif (
            name not in _INDICES
            and (found := _sequence(value, types, call.numbers, False, operands)) is not None
        ):
            parts += [name, *found]
        else:
            return None
    if len(parts) == len(operands):
        return tuple(operands), ()
    return (tuple(operands), _kept((*parts, len(operands)))) if operands else None


def _kept(static: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the object in `STATICS` that equals `static`; the hash of an open extent would fix the extent."""
    if open_extents:
        return static
    if len(STATICS) >= _MOST_REFUSED:
        STATICS.clear()
    return STATICS.setdefault(static, static)


def _sequence(values: Any, types: Any, numbers: int, leads: bool, operands: list[Any]) -> list[Any] | None:
    """Return the parts of a list or tuple of operands and structure, and add its operands; None if it is none."""
    kind = values.__class__
    if kind not in _SEQUENCES or not 0 < len(values) <= _MOST_ITEMS:
        return None
    fractions = leads and numbers in (FRACTIONS, PERCENTS)
    parts: list[Any] = [LIST if kind is list else TUPLE]
    for x in map(plain_shape, values):
        is_array = x.__class__ is np.ndarray and leads and numbers < FRACTIONS
        if x.__class__ in types or is_array or (fractions and _is_fraction(x, numbers)):
            operands.append(x)
            parts.append(OPERAND)
        elif not leads and is_structure(x):
            parts.append(x)
        elif (found := _sequence(x, types, numbers, leads, operands)) is not None:
            parts += found
        else:
            return None
    return [*parts, END] if len(parts) <= _MOST_ITEMS else None


def _is_fraction(x: Any, numbers: int) -> bool:
    return x.__class__ in _REAL and _is_in_range(x, numbers, None)


def _is_in_range(value: Any, numbers: int, first: Any) -> bool:
    """Return whether numbers are in the range that `OneCall.numbers` gives."""
    if numbers != INDEX:
        kind, most = type(value), 1 if numbers == FRACTIONS else 100
        if kind is np.ndarray:
            return value.dtype.kind in "fiu" and bool(np.all((value >= 0) & (value <= most)))
        return kind in _REAL and bool(0 <= value <= most)
    shape: Any = first._aval.shape if hasattr(first, "_aval") and not open_extents else ()
    return type(value) is int and len(shape) == 1 and -shape[0] <= value < shape[0]


_SEQUENCES = frozenset((list, tuple))
_REAL = frozenset((int, float))
_NUMBERS = (frozenset((float,)), frozenset((int,)), _REAL)
"""Types of the items of a list that becomes an array: ``np.dot(x, [1.0, 2.0])`` takes 2.6 µs instead of 4.7."""
_MOST_ITEMS = 16
"""Maximum number of items of a list or tuple that becomes operands and structure, of one with more items for each."""
_INDICES = frozenset(("indices", "obj"))
"""Keyword arguments whose ints change from call to call."""
