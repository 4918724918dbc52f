"""Calls of Python's, `math`'s and NumPy's functions, and attributes and methods of arrays."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numba import types

from jittape.numba_ad.lower import inlined_functions
from jittape.numba_ad.lower.array_calls import (
    ARRAY_CALLS,
    as_shape,
    astype,
    copied,
    flattened,
    numba_dtype,
    reshaped,
    transposed,
)
from jittape.numba_ad.lower.build_ir import Builder, constant, is_float, result_type
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.lower_reductions import REDUCTIONS, count_nonzero, reduction
from jittape.numba_ad.lower.rule_calls import RULE_CALLS
from jittape.numba_ad.lower.whole_arrays import (
    Lazy,
    as_lazy,
    assign,
    elementwise,
    evaluated,
    matmul,
)
from jittape.numba_ad.scalar_rules import BINARY, FUNCTIONS, SELECT
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value

__all__ = [
    "INLINED_METHODS", "attribute", "call_function", "call_method", "inlined_function", "known_function",
    "known_method",
]  # fmt: skip

WAY_OUT = "Write a loop, or give the function a rule with jt.njit_rule."


def known_function(function: Any) -> bool:
    """Return whether `call_function` has a meaning for `function`."""
    try:
        return function in FUNCTIONS or function in CALLS
    except TypeError:
        return False


def inlined_function(function: Any, arguments: list[Any]) -> Any:
    """Return the ``@njit`` function whose source stands for a NumPy function; None without one."""
    if function is np.interp and arguments:
        is_number = isinstance(arguments[0], (Value, Constant))
        return inlined_functions.interpolated if is_number else inlined_functions.interpolated_vector
    try:
        return INLINED.get(function)
    except TypeError:
        return None


def known_method(name: str) -> bool:
    """Return whether `call_method` has a meaning for a method of arrays."""
    return name in METHODS


def attribute(builder: Builder, base: Any, name: str) -> Any:
    """Return an attribute of an array or a number; None for an unknown one."""
    if isinstance(base, Array):
        sizes = (
            tuple([builder.dim(base, axis) for axis in range(base.type.ndim)])
            if name in ("shape", "size")
            else ()
        )
        if name == "shape":
            return sizes
        if name == "size":
            count: Scalar = constant(1)
            for size in sizes:
                count = builder.binary("Mult", size, count)
            return count
        if name == "ndim":
            return constant(base.type.ndim)
        if name == "dtype":
            return PythonObject(np.dtype(str(base.type.dtype)))
        if name == "itemsize":
            return constant(base.type.dtype.bitwidth // 8)
        if name == "T":
            return transposed(builder, base)
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
    if len(arguments) == 3 and isinstance(function, np.ufunc):
        keywords = {"out": arguments.pop()}
    if len(arguments) != wanted:
        raise builder.refusal(f"{_name(function)} is only supported with {wanted} arguments", WAY_OUT)
    if any(not isinstance(x, (Value, Constant, Array, Lazy)) for x in arguments):
        raise builder.refusal(f"{_name(function)} needs numbers or arrays", WAY_OUT)
    if any(isinstance(x, (Array, Lazy)) for x in arguments):
        lazy = elementwise(builder, rule, arguments)
        if keywords:
            assign(builder, keywords["out"], lazy)
            return keywords["out"]
        return lazy
    return builder.op(rule, arguments, _name(function))


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _filled(name: str) -> Callable[..., Any]:
    def allocate(builder: Builder, shape: Any, dtype: Any = None) -> Array:
        return builder.alloc("array", numba_dtype(builder, dtype), as_shape(builder, shape), name)

    return allocate


def _like(name: str) -> Callable[..., Any]:
    def allocate(builder: Builder, x: Any, dtype: Any = None) -> Array:
        lazy = as_lazy(builder, x)
        return builder.alloc(
            "array",
            lazy.dtype if dtype is None else numba_dtype(builder, dtype),
            lazy.dims,
            name,
            lazy.layout,
        )

    return allocate


def _full(builder: Builder, shape: Any, value: Any, dtype: Any = None) -> Array:
    kind = value.type if dtype is None else numba_dtype(builder, dtype)
    array = builder.alloc("array", kind, as_shape(builder, shape))
    assign(builder, array, value)
    return array


def _arange(builder: Builder, *bounds: Any) -> Lazy:
    if not 1 <= len(bounds) <= 3 or not all(isinstance(bound, (Value, Constant)) for bound in bounds):
        raise builder.refusal("np.arange needs one to three numbers", "Pass start, stop and step.")
    start, stop = (constant(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = bounds[2] if len(bounds) == 3 else constant(1)
    floats = any(is_float(bound.type) for bound in bounds)
    if floats or len(bounds) == 3:
        quotient = builder.binary("Div", builder.binary("Sub", stop, start), step)
        size = builder.op(FUNCTIONS[builtins.int], [builder.op(FUNCTIONS[math.ceil], [quotient])])
    else:
        size = builder.binary("Sub", stop, start)
    if len(bounds) > 1 or floats:
        size = builder.op(FUNCTIONS[builtins.max], [size, constant(0)])

    def element(indices: list[Scalar]) -> Scalar:
        moved = indices[0] if len(bounds) < 3 else builder.binary("Mult", indices[0], step)
        return builder.binary("Add", moved, start)

    return Lazy([size], types.float64 if floats else types.int64, element, [])


def _linspace(builder: Builder, start: Any, stop: Any, num: Any = None) -> Lazy:
    count = constant(50) if num is None else num
    last = builder.op(FUNCTIONS[builtins.max], [builder.binary("Sub", count, constant(1)), constant(1)])
    step = builder.binary("Div", builder.binary("Sub", stop, start), last)

    def element(indices: list[Scalar]) -> Scalar:
        return builder.binary("Add", start, builder.binary("Mult", step, indices[0]))

    return Lazy([count], types.float64, element, [])


def _where(builder: Builder, condition: Any, x: Any, y: Any) -> Any:
    operands = [condition, x, y]
    if all(isinstance(one, (Value, Constant)) for one in operands):
        kind = result_type(operator.add, [x.type, y.type])
        return builder.op(SELECT, [condition, *[_as_type(builder, one, kind) for one in (x, y)]])
    kind = result_type(operator.add, [as_lazy(builder, x).dtype, as_lazy(builder, y).dtype])
    return elementwise(builder, SELECT, [condition, *[_lazy_as_type(builder, one, kind) for one in (x, y)]])


def _lazy_as_type(builder: Builder, x: Any, kind: Any) -> Lazy:
    lazy = as_lazy(builder, x)
    return replace(lazy, dtype=kind, element=lambda indices: _as_type(builder, lazy.element(indices), kind))


def _as_type(builder: Builder, x: Scalar, kind: Any) -> Scalar:
    if x.type == kind or not is_float(kind):
        return x
    if isinstance(x, Constant):
        return Constant(float(x.value), kind)
    return builder.op(FUNCTIONS[np.float64 if kind == types.float64 else np.float32], [x])


def _cumsum(builder: Builder, x: Any) -> Array:
    lazy = as_lazy(builder, x)
    if len(lazy.dims) != 1 or not is_float(lazy.dtype):
        raise builder.refusal("np.cumsum is only supported for float vectors", "Write a loop.")
    array = builder.alloc("cumsum", lazy.dtype, lazy.dims)

    def step(indices: list[Scalar], total: Scalar) -> Scalar:
        following = builder.binary("Add", total, lazy.element(indices))
        builder.store(array, indices, following)
        return following

    builder.reduce(lazy.dims, Constant(0.0, lazy.dtype), step)
    return array


def _length(builder: Builder, x: Any) -> Scalar:
    if isinstance(x, tuple):
        return constant(len(x))
    return as_lazy(builder, x).dims[0]


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
    np.empty: _filled("empty"),
    np.zeros: _filled("zeros"),
    np.ones: _filled("ones"),
    np.empty_like: _like("empty"),
    np.zeros_like: _like("zeros"),
    np.ones_like: _like("ones"),
    np.full: _full,
    np.arange: _arange,
    np.linspace: _linspace,
    np.where: _where,
    np.cumsum: _cumsum,
    np.dot: _dot,
    np.count_nonzero: count_nonzero,
    **ARRAY_CALLS,
    **RULE_CALLS,
    **REDUCTIONS,
}
"""Functions that are not applied element by element."""

INLINED: dict[Any, Any] = {
    getattr(np, name): getattr(inlined_functions, name)
    for name in (
        "append", "average", "convolve", "corrcoef", "correlate", "cov", "cross", "cumprod", "diag", "diff", "eye",
        "fill_diagonal", "identity", "kron", "median", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd",
        "nansum", "nanvar", "outer", "percentile", "quantile", "repeat", "roll", "sort", "std", "trace", "trapezoid",
        "tri", "tril", "triu", "vander", "var",
    )
    if hasattr(np, name)
} | {np.ptp: inlined_functions.peak_to_peak, np.linalg.norm: inlined_functions.norm}  # fmt: skip
"""NumPy functions whose derivatives follow from a source in loops."""

INLINED_METHODS = {
    name: getattr(inlined_functions, name) for name in ("var", "std", "repeat", "trace", "cumprod")
} | {"sort": inlined_functions.sort_in_place}
"""Methods of the same kind."""

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
}


def call_method(
    builder: Builder, owner: Any, name: str, arguments: list[Any], keywords: dict[str, Any]
) -> Any:
    """Return the result of a method of an array."""
    if not isinstance(owner, (Array, Lazy)):
        raise builder.refusal(f"the method {name} is only supported for arrays", WAY_OUT)
    operands = [evaluated(builder, owner), *arguments]
    result = _called(builder, METHODS[name], f"the method {name}", operands, keywords)
    return PythonObject(None) if result is None else result
