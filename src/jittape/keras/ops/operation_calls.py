"""Calls of ``keras.ops``: Keras's names and dtypes of arguments, and symbolic tensors among them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype, is_floating
from jittape.keras.layers.symbolic_outputs import HAVE_VALUES, call_symbolically, is_symbolic
from jittape.keras.ops.operation_table import Row
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.operators import Operators

__all__ = ["function_of_row", "symbolic_too"]

_PLAIN = frozenset({*HAVE_VALUES, int, float, str, bool, type(None), np.dtype})
"""Common types of arguments that contain no symbolic tensor."""


def symbolic_too(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take symbolic tensors: it becomes a part of the graph of a functional model."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if x.__class__ not in _PLAIN:
                if is_symbolic(args, kwargs):
                    return call_symbolically(called, args, kwargs)
                break
        return function(*args, **kwargs)

    return called


def function_of_row(name: str, row: Row) -> Callable[..., Any]:
    """Return the function of ``keras.ops`` with this name."""
    counterpart = getattr(import_module(row.home), row.name)
    prepare = _RULES[row.rule]
    is_open = row.operands[0][0] == "*"
    operands = () if is_open else row.operands
    names = (*operands, *row.keywords)

    def function(*args: Any, **kwargs: Any) -> Any:
        if is_open:
            operands_given: list[Any] = list(args)
            others: tuple[Any, ...] = ()
        else:
            if len(args) > len(names):
                raise TypeError(f"[{name}] takes the arguments {', '.join(names)}, got {len(args)}")
            operands_given, others = list(args[: len(operands)]), args[len(operands) :]
        for known in operands[len(operands_given) :]:
            if known not in kwargs:
                break
            operands_given.append(kwargs.pop(known))
        given: dict[str, Any] = dict(zip(row.keywords.values(), others, strict=False))
        for key, value in kwargs.items():
            theirs = row.keywords.get(key)
            if theirs is None or theirs in given:
                raise TypeError(f"[{name}] takes the arguments {', '.join(names)}, got {key!r}")
            given[theirs] = value
        result = counterpart(*prepare(operands_given), **given)
        return _with_integers(result, row.result) if row.result else result

    function.__name__ = function.__qualname__ = name
    function.__module__ = "jittape.keras.ops"
    function.__doc__ = (
        f"Keras's ``ops.{name}({', '.join((*row.operands, *row.keywords))})``; see `{row.home}.{row.name}`."
    )
    return symbolic_too(function)


# ---- operands --------------------------------------------------------------------------------------------------------


def _as_tensors(operands: list[Any]) -> list[Any]:
    """Convert lists; numbers, tuples, text and what is none of a function's operands stay as they are."""
    return [as_tensor(x) if x.__class__ is list and _is_array(x) else x for x in operands]


def _is_array(x: Any) -> bool:
    """Return whether a list is data, not a list of tensors or arrays, which some functions take."""
    while x.__class__ is list:
        if not x:
            return True
        x = x[0]
    return isinstance(x, (bool, int, float, complex))


def _floats(operands: list[Any]) -> list[Any]:
    """Convert the first operand, integers to the default float."""
    return [_as_float(operands[0]), *operands[1:]] if operands else operands


def _as_float(x: Any) -> Any:
    x = as_tensor(x)
    return x if is_floating(x.dtype) or x.dtype.kind == "c" else cast(x, as_dtype(config.default_float))


def _pair(operands: list[Any]) -> list[Any]:
    """Convert integers beside a tensor of floats to its dtype, as Keras does; NumPy makes float64 of both."""
    tensors = _as_tensors(operands)
    if all(x.__class__ in (int, float, bool) for x in tensors):
        tensors = list(map(as_tensor, tensors))
    kinds = [x.dtype for x in tensors if hasattr(x, "dtype")]
    floats = [kind for kind in kinds if is_floating(kind)]
    if not floats or len(floats) == len(kinds):
        return tensors
    return [cast(x, floats[0]) if hasattr(x, "dtype") and x.dtype.kind in "biu" else x for x in tensors]


def _quotient(operands: list[Any]) -> list[Any]:
    """Convert as `_pair` does, and integers to the default float if there are no floats."""
    tensors = _pair(operands)
    if any(is_floating(x.dtype) or x.dtype.kind == "c" for x in tensors if hasattr(x, "dtype")):
        return tensors
    return [_as_float(x) if hasattr(x, "dtype") else x for x in tensors]


def _sums(operands: list[Any]) -> list[Any]:
    """Convert bools and small integers to 32 bits."""
    x = as_tensor(operands[0])
    if x.dtype.kind in "biu" and x.dtype.itemsize < 4:
        x = cast(x, "uint32" if x.dtype.kind == "u" else "int32")
    return [x, *operands[1:]]


_RULES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "raw": lambda operands: operands,
    "tensors": _as_tensors,
    "floats": _floats,
    "pair": _pair,
    "quotient": _quotient,
    "sums": _sums,
}


def _with_integers(result: Any, dtype: str) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)([_with_integers(part, dtype) for part in result])
    return cast(result, dtype) if isinstance(result, Operators) and result.dtype.kind in "iu" else result
