"""Calls of Python's, `math`'s and NumPy's functions, and attributes and methods of arrays."""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.numba_ad.inlined import inlined_functions, inlined_orders, inlined_selections, inlined_statistics
from jittape.numba_ad.lower.array_calls import (
    ARRAY_CALLS,
    astype,
    copied,
    flattened,
    literal,
    reshaped,
    transposed,
)
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.lower_reductions import REDUCTIONS, count_nonzero, reduction
from jittape.numba_ad.lower.new_arrays import NEW_ARRAYS
from jittape.numba_ad.lower.numba_types import is_float
from jittape.numba_ad.lower.passive_calls import (
    PASSIVE_CALLS,
    conjugate,
    flat_view,
    nonzero,
    only_item,
    rounded,
    size_of,
)
from jittape.numba_ad.lower.rule_calls import RULE_CALLS
from jittape.numba_ad.lower.whole_arrays import (
    Lazy,
    as_lazy,
    assign,
    elementwise,
    evaluated,
    matmul,
)
from jittape.numba_ad.scalar_rules import BINARY, FUNCTIONS
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value

__all__ = [
    "ATTRIBUTES", "WAY_OUT", "attribute", "call_function", "call_method", "inlined_function", "inlined_method",
    "is_known_form", "is_scalar_function", "known_function", "known_method",
]  # fmt: skip

WAY_OUT = "Write a loop, or give the function a rule with jt.njit_rule."


def known_function(function: Any) -> bool:
    """Return whether `call_function` has a meaning for `function`."""
    try:
        return function in FUNCTIONS or function in CALLS
    except TypeError:
        return False


def is_scalar_function(function: Any) -> bool:
    """Return whether `function` computes a number from numbers, or an array element by element."""
    try:
        return function in FUNCTIONS
    except TypeError:
        return False


def inlined_function(function: Any, arguments: list[Any]) -> Any:
    """Return the ``@njit`` function whose source stands for a NumPy function; None without one."""
    try:
        found = BY_KIND.get(function)
        if found is None:
            return INLINED.get(function)
    except TypeError:
        return None
    position, of_number, of_array = found
    is_number = len(arguments) > position and isinstance(arguments[position], (Value, Constant))
    return of_number if is_number else of_array


def inlined_method(name: str, arguments: list[Any]) -> Any:
    """Return the ``@njit`` function whose source stands for a method of arrays; None without one."""
    if name == "sort":
        return inlined_orders.sort_in_place
    return inlined_function(getattr(np, name), [None, *arguments]) if name in INLINED_METHODS else None


def known_method(name: str) -> bool:
    """Return whether `call_method` has a meaning for a method of arrays."""
    return name in METHODS or name == "sort" or name in INLINED_METHODS


def is_known_form(function: Any, count: int, keywords: set[str]) -> bool:
    """Return whether a known function or a method, given by its name, takes so many arguments and these keywords."""
    if function in INLINED_METHODS or function == "sort" or inlined_function(function, [None]) is not None:
        return True
    if function not in METHODS and function not in CALLS:
        return keywords <= {"out"}
    lower = METHODS[function] if function in METHODS else CALLS[function]
    owner = function in METHODS
    try:
        inspect.signature(lower).bind(None, *[None] * (count + owner), **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


ATTRIBUTES = ("shape", "size", "ndim", "dtype", "itemsize", "T", "flat", "real", "nbytes")
"""Attributes of arrays that `attribute` knows."""


def attribute(builder: Builder, base: Any, name: str) -> Any:
    """Return an attribute of an array or a number; None for an unknown one."""
    if isinstance(base, Array):
        if name == "shape":
            return tuple([builder.dim(base, axis) for axis in range(base.type.ndim)])
        if name == "size":
            return size_of(builder, base)
        if name == "ndim":
            return constant(base.type.ndim)
        if name == "dtype":
            return PythonObject(np.dtype(str(base.type.dtype)))
        if name == "itemsize":
            return constant(base.type.dtype.bitwidth // 8)
        if name == "T":
            return transposed(builder, base)
        if name == "flat":
            return flat_view(builder, base)
        if name == "real":
            return base
        if name == "nbytes":
            return builder.binary("Mult", size_of(builder, base), constant(base.type.dtype.bitwidth // 8))
    return None


def call_function(builder: Builder, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return the result of a call of a known function."""
    if function in CALLS:
        return _called(builder, CALLS[function], _name(function), arguments, keywords)
    if keywords and set(keywords) != {"out"}:
        raise builder.refusal(f"keyword arguments of {_name(function)} are not supported", WAY_OUT)
    return _scalar_function(builder, function, arguments, keywords)


def _called(
    builder: Builder, lower: Callable[..., Any], shown: str, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    """Return ``lower(builder, *arguments, **keywords)``; refuse arguments that `lower` does not take."""
    try:
        return lower(builder, *arguments, **keywords)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise builder.refusal(f"this form of {shown} is not supported", WAY_OUT) from None


def _scalar_function(builder: Builder, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    rule = FUNCTIONS[function]
    wanted = len(rule.partials)
    if function in (builtins.max, builtins.min) and len(arguments) > 2:
        first, *rest = arguments
        return _scalar_function(builder, function, [first, _scalar_function(builder, function, rest, {})], {})
    if len(arguments) == wanted + 1 and isinstance(function, np.ufunc):
        keywords = {"out": arguments.pop()}
    if len(arguments) != wanted:
        raise builder.refusal(f"{_name(function)} is only supported with {wanted} arguments", WAY_OUT)
    if any(not isinstance(x, (Value, Constant, Array, Lazy)) for x in arguments):
        raise builder.refusal(f"{_name(function)} needs numbers or arrays", WAY_OUT)
    if keywords:
        out = keywords["out"]
        if not isinstance(out, Array):
            raise builder.refusal(f"{_name(function)} can only write into an array", WAY_OUT)
        # Numba does not copy arrays that overlap with the result, as NumPy does; expressions are other arrays.
        operands = [evaluated(builder, x) for x in arguments]
        assign(builder, out, elementwise(builder, rule, operands), buffered=False)
        return out
    if any(isinstance(x, (Array, Lazy)) for x in arguments):
        return elementwise(builder, rule, arguments)
    return builder.op(rule, arguments, _name(function))


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _cumsum(builder: Builder, x: Any, axis: Any = None) -> Array:
    lazy = as_lazy(builder, x)
    if not is_float(lazy.dtype):
        raise builder.refusal("np.cumsum is only supported for floats", "Write a loop.")
    place: int | None = 0
    if len(lazy.dims) != 1:
        is_whole = axis is None or isinstance(axis, PythonObject)
        place = None if is_whole else literal(builder, "axis", axis) % len(lazy.dims)
    sizes = lazy.dims if place is not None else [size_of(builder, lazy)]
    array = builder.alloc("cumsum", lazy.dtype, sizes)
    zero = Constant(0.0, lazy.dtype)
    if place is None:
        flat = as_lazy(builder, flattened(builder, x))
        _sum_up(builder, array, flat, sizes[0], zero, lambda k: k)
        return array
    kept, at = [*sizes[:place], *sizes[place + 1 :]], place
    builder.nest(
        kept,
        lambda i: _sum_up(builder, array, lazy, sizes[at], zero, lambda k: [*i[:at], *k, *i[at:]]),
    )
    return array


def _sum_up(
    builder: Builder, array: Array, lazy: Lazy, size: Scalar, zero: Scalar, place: Callable[..., list[Scalar]]
) -> None:
    """Store the sums of the first elements along an axis; `place` gives the indices of an element."""

    def step(k: list[Scalar], total: Scalar) -> Scalar:
        following = builder.binary("Add", total, lazy.element(place(k)))
        builder.store(array, place(k), following)
        return following

    builder.reduce([size], zero, step)


def _length(builder: Builder, x: Any) -> Scalar:
    if isinstance(x, tuple):
        return constant(len(x))
    sizes = as_lazy(builder, x).dims
    if not sizes:
        raise builder.refusal("a number has no length", "Pass an array.")
    return sizes[0]


def _print(builder: Builder, *arguments: Any) -> PythonObject:
    texts: list[str] = []
    operands: list[Any] = []
    for argument in arguments:
        if isinstance(argument, PythonObject) and isinstance(argument.value, str):
            texts.append(repr(argument.value).replace("{", "{{").replace("}", "}}"))
        elif isinstance(argument, (Value, Constant)):
            texts.append(f"{{{len(operands)}}}")
            operands.append(argument)
        else:
            raise builder.refusal("print is only supported for numbers and strings", "Print elements.")
    builder.effect(f"print({', '.join(texts)})", operands)
    return PythonObject(None)


def _dot(builder: Builder, x: Any, y: Any, out: Any = None) -> Any:
    if all(isinstance(one, (Value, Constant)) for one in (x, y)):
        return builder.op(BINARY["Mult"], [x, y])
    result = matmul(builder, x, y)
    if out is not None:
        assign(builder, out, result)
        return out
    return result


CALLS: dict[Any, Callable[..., Any]] = {
    builtins.len: _length,
    builtins.print: _print,
    builtins.sum: lambda builder, x: reduction(builder, "sum", x),
    **NEW_ARRAYS,
    **PASSIVE_CALLS,
    np.cumsum: _cumsum,
    np.dot: _dot,
    np.count_nonzero: count_nonzero,
    builtins.round: rounded("round", builtins.round),
    math.gcd: rounded("math.gcd", math.gcd),
    builtins.pow: lambda builder, x, y: _scalar_function(builder, math.pow, [x, y], {}),
    **ARRAY_CALLS,
    **RULE_CALLS,
    **REDUCTIONS,
}
"""Functions that are not applied element by element."""

_SOURCES = (inlined_functions, inlined_orders, inlined_selections, inlined_statistics)
_OF_MATRICES = ("cond", "matrix_power", "norm")
INLINED: dict[Any, Any] = {
    getattr(np.linalg if name in _OF_MATRICES else np, name): getattr(module, name)
    for module in _SOURCES
    for name in module.__all__
    if hasattr(np, name) or name in _OF_MATRICES
} | {np.ptp: inlined_statistics.peak_to_peak}
"""NumPy functions whose derivatives follow from a source in loops."""

BY_KIND: dict[Any, tuple[int, Any, Any]] = {
    np.delete: (1, inlined_selections.delete_at, inlined_selections.delete_places),
    np.insert: (1, inlined_selections.insert_at, inlined_selections.insert_at_places),
    np.interp: (0, inlined_functions.interpolated, inlined_functions.interpolated_array),
    np.nan_to_num: (0, inlined_selections.nan_to_num, inlined_selections.nan_to_num_of_array),
    np.nanpercentile: (1, inlined_orders.nanpercentile, inlined_orders.nanpercentiles),
    np.nanquantile: (1, inlined_orders.nanquantile, inlined_orders.nanquantiles),
    np.percentile: (1, inlined_orders.percentile, inlined_orders.percentiles),
    np.quantile: (1, inlined_orders.quantile, inlined_orders.quantiles),
    np.repeat: (1, inlined_functions.repeat, inlined_selections.repeat_each),
    np.take: (1, inlined_selections.take_one, inlined_selections.take_places),
}
"""NumPy functions with one source if the argument at a position is a number, and another one if it is an array."""

INLINED_METHODS = {name: getattr(np, name) for name in ("var", "std", "repeat", "trace", "cumprod", "take")}
"""Methods that are a NumPy function of the array, which has a source."""

METHODS: dict[str, Callable[..., Any]] = {
    **{
        name: CALLS[getattr(np, name)]
        for name in (
            "sum",
            "mean",
            "min",
            "max",
            "prod",
            "any",
            "all",
            "ravel",
            "clip",
            "argmax",
            "argmin",
            "argsort",
        )
    },
    "copy": copied,
    "dot": _dot,
    "reshape": reshaped,
    "transpose": transposed,
    "flatten": flattened,
    "astype": astype,
    "fill": lambda builder, x, value: assign(builder, x, value),
    "cumsum": _cumsum,
    "conj": conjugate,
    "conjugate": conjugate,
    "item": only_item,
    "nonzero": nonzero,
}


def call_method(
    builder: Builder, owner: Any, name: str, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    """Return the result of a method of an array."""
    if name == "item" and isinstance(owner, (Value, Constant)) and not arguments:
        return owner  # a number here may be an array without dimensions in Numba
    if not isinstance(owner, (Array, Lazy)):
        raise builder.refusal(f"the method {name} is only supported for arrays", WAY_OUT)
    operands = [evaluated(builder, owner), *arguments]
    result = _called(builder, METHODS[name], f"the method {name}", operands, keywords)
    return PythonObject(None) if result is None else result
