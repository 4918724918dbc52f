"""Calls of Python's, `math`'s and NumPy's functions, and attributes and methods of arrays."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import from_dtype, types

from jittape.numba_ad.lower.build_ir import Builder, constant, is_float, result_type
from jittape.numba_ad.lower.function_source import PythonObject
from jittape.numba_ad.lower.whole_arrays import (
    Lazy,
    as_lazy,
    assign,
    elementwise,
    evaluated,
    materialize,
    matmul,
    reduction,
)
from jittape.numba_ad.scalar_rules import BINARY, FUNCTIONS, SELECT
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value

__all__ = ["attribute", "call_function", "call_method", "known_function", "known_method"]

REDUCTIONS = {np.sum: "sum", np.mean: "mean", np.min: "min", np.max: "max"}
WAY_OUT = "Write a loop, or give the function a rule with jt.njit_rule."


def known_function(function: Any) -> bool:
    """Return whether `call_function` has a meaning for `function`."""
    try:
        return function in FUNCTIONS or function in CALLS or function in REDUCTIONS
    except TypeError:
        return False


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
        if name == "T":
            kind = base.type
            layout = {"C": "F", "F": "C"}.get(kind.layout, "A") if kind.ndim > 1 else kind.layout
            return builder.view(base, ".T", [], kind.copy(layout=layout), base.dims[::-1])
    return None


def call_function(builder: Builder, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """Return the result of a call of a known function."""
    if function in CALLS:
        return _called(builder, CALLS[function], _name(function), arguments, keywords)
    if keywords and not (set(keywords) == {"out"} and function not in REDUCTIONS):
        raise builder.refusal(f"keyword arguments of {_name(function)} are not supported", WAY_OUT)
    if function in REDUCTIONS:
        if len(arguments) != 1:
            raise builder.refusal(
                f"{_name(function)} is only supported without an axis", "Write a loop over the axis."
            )
        return reduction(builder, REDUCTIONS[function], arguments[0])
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


def _shape(builder: Builder, shape: Any) -> list[Scalar]:
    sizes = list(shape) if isinstance(shape, tuple) else [shape]
    if not all(
        isinstance(size, (Value, Constant)) and isinstance(size.type, types.Integer) for size in sizes
    ):
        raise builder.refusal("a shape must be an int or a tuple of ints", "Write it as a tuple.")
    return sizes


def _dtype(builder: Builder, dtype: Any) -> Any:
    """Return the Numba type of an argument ``dtype=``; the default is float64."""
    if dtype is None:
        return types.float64
    try:
        return from_dtype(np.dtype(str(dtype.value) if isinstance(dtype.value, types.Type) else dtype.value))
    except (TypeError, AttributeError, NotImplementedError):
        raise builder.refusal(
            "this dtype is not supported", "Use np.float64, np.float32 or an int type."
        ) from None


def _filled(name: str) -> Callable[..., Any]:
    def allocate(builder: Builder, shape: Any, dtype: Any = None) -> Array:
        return builder.alloc("array", _dtype(builder, dtype), _shape(builder, shape), name)

    return allocate


def _like(name: str) -> Callable[..., Any]:
    def allocate(builder: Builder, x: Any, dtype: Any = None) -> Array:
        lazy = as_lazy(builder, x)
        return builder.alloc(
            "array", lazy.dtype if dtype is None else _dtype(builder, dtype), lazy.dims, name
        )

    return allocate


def _full(builder: Builder, shape: Any, value: Any, dtype: Any = None) -> Array:
    kind = value.type if dtype is None else _dtype(builder, dtype)
    array = builder.alloc("array", kind, _shape(builder, shape))
    assign(builder, array, value)
    return array


def _full_like(builder: Builder, x: Any, value: Any) -> Array:
    array: Array = _like("empty")(builder, x)
    assign(builder, array, value)
    return array


def _copy(builder: Builder, x: Any) -> Array:
    return materialize(builder, as_lazy(builder, x), getattr(x, "name", "copy"))


def _arange(builder: Builder, *bounds: Any) -> Lazy:
    for bound in bounds:
        if not isinstance(bound, (Value, Constant)) or not isinstance(bound.type, types.Integer):
            raise builder.refusal("np.arange is only supported for ints", "Use np.linspace, or a loop.")
    if len(bounds) > 2 or not bounds:
        raise builder.refusal(
            "np.arange with a step is not supported", "Multiply np.arange(n) with the step."
        )
    start, stop = (constant(0), bounds[0]) if len(bounds) == 1 else bounds
    size = builder.binary("Sub", stop, start)
    if len(bounds) == 2:
        size = builder.op(FUNCTIONS[builtins.max], [size, constant(0)])
    return Lazy([size], types.int64, lambda indices: builder.binary("Add", indices[0], start), [])


def _linspace(builder: Builder, start: Any, stop: Any, num: Any) -> Lazy:
    last = builder.binary("Sub", num, constant(1))
    step = builder.binary("Div", builder.binary("Sub", stop, start), last)

    def element(indices: list[Scalar]) -> Scalar:
        return builder.binary("Add", start, builder.binary("Mult", step, indices[0]))

    return Lazy([num], types.float64, element, [])


def _where(builder: Builder, condition: Any, x: Any, y: Any) -> Any:
    operands = [condition, x, y]
    if all(isinstance(one, (Value, Constant)) for one in operands):
        kind = result_type(operator.add, [x.type, y.type])
        return builder.op(SELECT, [condition, *[_as_type(builder, one, kind) for one in (x, y)]])
    kind = result_type(operator.add, [as_lazy(builder, x).dtype, as_lazy(builder, y).dtype])
    return elementwise(builder, SELECT, [condition, *[_lazy_as_type(builder, one, kind) for one in (x, y)]])


def _lazy_as_type(builder: Builder, x: Any, kind: Any) -> Lazy:
    lazy = as_lazy(builder, x)
    return Lazy(lazy.dims, kind, lambda indices: _as_type(builder, lazy.element(indices), kind), lazy.reads)


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


def _reshape(builder: Builder, x: Any, *shape: Any) -> Array:
    x = evaluated(builder, x)
    sizes = _shape(builder, shape[0] if len(shape) == 1 else tuple(shape))
    if x.type.layout != "C":
        raise builder.refusal("only arrays in C order can be reshaped", "Copy the array first.")
    if any(isinstance(size, Constant) and size.value < 0 for size in sizes):
        raise builder.refusal("a size of -1 is not supported", "Write the size.")
    text = ".reshape((" + "".join(f"{{{i}}}, " for i in range(len(sizes))) + "))"
    return builder.view(x, text, sizes, x.type.copy(ndim=len(sizes)), list(sizes))


def _ravel(builder: Builder, x: Any) -> Array:
    return _reshape(builder, x, attribute(builder, x, "size"))


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
    np.full_like: _full_like,
    np.copy: _copy,
    np.arange: _arange,
    np.linspace: _linspace,
    np.where: _where,
    np.cumsum: _cumsum,
    np.dot: _dot,
    np.reshape: _reshape,
    np.ravel: _ravel,
}
"""Functions that are not applied element by element."""

METHODS: dict[str, Callable[..., Any]] = {
    "sum": lambda builder, x: reduction(builder, "sum", x),
    "mean": lambda builder, x: reduction(builder, "mean", x),
    "min": lambda builder, x: reduction(builder, "min", x),
    "max": lambda builder, x: reduction(builder, "max", x),
    "copy": _copy,
    "dot": _dot,
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": lambda builder, x: _copy(builder, _ravel(builder, x)),
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
