"""NumPy's functions that choose, test and replace elements, and apply functions along axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.core.user_calls import shown
from jittape.errors import DTypeError
from jittape.numpy_api.numpy_operands import (
    array_like,
    dtype_of,
    is_number,
    on_values,
    reject,
    selecting_values_of,
    shape_of,
    strong,
    values_of,
)
from jittape.numpy_api.numpy_shapes import common_shape, numpy_stack
from jittape.numpy_api.numpy_ufuncs import trunc
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.arithmetic import add, multiply, polyval, square, subtract
from jittape.primitives.elementwise.bits import is_finite, is_inf, is_nan
from jittape.primitives.elementwise.comparison import (
    equal,
    greater,
    less,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    where,
)
from jittape.primitives.elementwise.complex_numbers import cast, complex, imag, real
from jittape.primitives.elementwise.division import divide, mod
from jittape.primitives.elementwise.modified_bessel import bessel_i0
from jittape.primitives.elementwise.piecewise import absolute, maximum, minimum
from jittape.primitives.elementwise.smooth_functions import sinc
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.identity import identity
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, one_axis, reshape

__all__ = ["CONDITIONS"]


# ---- choices ---------------------------------------------------------------------------------------------------------


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions, choices = [strong(c) for c in condlist], list(choicelist)
    if len(conditions) != len(choices):
        raise ValueError("[np.select] list of cases must be same length as list of conditions")
    if not conditions:
        raise ValueError("[np.select] select with an empty condition list is not possible")
    for i, condition in enumerate(conditions):
        if dtype_of(condition) != np.bool_:
            raise TypeError(f"[np.select] invalid entry {i} in condlist: should be boolean ndarray")
    kinds = [x if type(x) in (int, float, builtins.complex) else dtype_of(x) for x in (*choices, default)]
    dtype = np.result_type(*[0 if k is default and isinstance(k, int) else k for k in kinds])
    result = cast(array_like(default), dtype)
    shape = common_shape("select", [*conditions, *[strong(c) for c in choices], strong(default)])
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, cast(array_like(choice), dtype), result)
    return broadcast_to(result, shape)


def _choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    reject("choose", out=out)
    a = strong(a)
    rows = [strong(c) for c in (choices if isinstance(choices, (list, tuple)) else _rows(choices))]
    if dtype_of(a).kind not in "biu":
        raise DTypeError(f"[np.choose] a must be integers, got {dtype_of(a).name}")
    count, a = len(rows), cast(a, np.int64)
    if mode == "raise":
        np.choose(values_of(a), [0] * count)  # NumPy's check of the range
    elif mode in ("wrap", "clip"):
        a = mod(a, count) if mode == "wrap" else minimum(maximum(a, 0), count - 1)
    else:
        raise ValueError(
            f"[np.choose] clipmode must be one of 'clip', 'raise', or 'wrap' (got {shown(mode)})"
        )
    shape = common_shape("choose", [a, *rows])
    given = choices if isinstance(choices, (list, tuple)) else rows
    dtype = np.result_type(
        *[c if is_number(c) else dtype_of(row) for c, row in zip(given, rows, strict=True)]
    )
    result = broadcast_to(cast(rows[0], dtype), shape)
    for i in range(1, count):
        result = where(equal(a, i), cast(rows[i], dtype), result)
    return result


def _rows(a: Any) -> list[Any]:
    a = strong(a)
    return [getitem(a, i) for i in range(shape_of(a)[0])]


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = strong(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    if not isinstance(conditions[0], (list, tuple)) and not shape_of(strong(conditions[0])) and shape_of(x):
        conditions = [conditions]
    masks = [cast(strong(c), np.bool_) for c in conditions]
    count = len(funclist)
    if count == len(masks) + 1:
        rest = masks[0]
        for mask in masks[1:]:
            rest = logical_or(rest, mask)
        masks.append(equal(rest, False))
    elif count != len(masks):
        raise ValueError(
            f"[np.piecewise] with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are "
            f"expected, got {count}"
        )
    dtype = dtype_of(x)
    result = broadcast_to(np.zeros((), dtype), shape_of(x))
    for mask, function in zip(masks, funclist, strict=True):
        value = function(x, *args, **kw) if callable(function) else _stored(function, dtype)
        result = where(mask, cast(array_like(value), dtype), result)
    return result


def _stored(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number as ``array[i] = value`` stores it, or raise as that does; anything else as it is."""
    if not isinstance(value, (int, float, builtins.complex)) or isinstance(value, np.generic):
        return value
    stored = np.zeros((), dtype)
    stored[()] = value
    return stored


# ---- tests and replacements ------------------------------------------------------------------------------------------


def _nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    x = strong(x)
    if not copy:
        raise TypeError("np.nan_to_num cannot change a tensor in place (copy=False); use the result")
    if dtype_of(x).kind not in "fc":
        return identity(x)
    return apply(_nan_to_num_body, (x,), tuple([v if v is None else float(v) for v in (nan, posinf, neginf)]))


def _nan_to_num_body(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if dtype_of(x).kind == "c":
        return complex(*[_nan_to_num_body(part, nan, posinf, neginf) for part in (real(x), imag(x))])
    limits = np.finfo(dtype_of(x))
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    infinite = is_inf(x)
    x = where(logical_and(infinite, greater(x, 0)), high, where(logical_and(infinite, less(x, 0)), low, x))
    return where(is_nan(x), nan, x)


def _real_if_close(a: Any, tol: Any = 100) -> Any:
    a = strong(a)
    if dtype_of(a).kind != "c":
        return identity(a)
    limit = tol * np.finfo(dtype_of(a)).eps if tol > 1 else tol
    return real(a) if bool(np.all(np.abs(selecting_values_of(a).imag) < limit)) else identity(a)


# ---- numpy.emath, whose results are complex if values demand it ------------------------------------------------------


def _is_negative(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.isreal(x) & (x < 0)


def _is_beyond_1(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.isreal(x) & (np.abs(x) > 1)


def _complex_if(beyond: Callable[[Any], Any], x: Any) -> Any:
    """Return `x` as complex numbers if values are where a function of real numbers is not defined; they are read."""
    x = strong(x)
    dtype = dtype_of(x)
    if dtype.kind == "c" or not np.any(beyond(selecting_values_of(x))):
        return x
    return cast(x, np.complex64 if dtype.char in "fbhBH" else np.complex128)


def _extended(function: Callable[..., Any], beyond: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x: function(identity(_complex_if(beyond, x)))


def _extended_logn(n: Any, x: Any) -> Any:
    x, n = (identity(_complex_if(_is_negative, a)) for a in (x, n))
    return divide(np.log(x), np.log(n))


def _extended_power(x: Any, p: Any) -> Any:
    x, p = identity(_complex_if(_is_negative, x)), strong(p)
    return np.power(x, multiply(p, 1.0) if np.any(_is_negative(selecting_values_of(p))) else p)


def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    a, b = strong(a), strong(b)
    if dtype_of(b).kind in "biu":
        b = cast(b, np.result_type(dtype_of(b), np.float64))
    return apply(_isclose_body, (a, b, array_like(rtol), array_like(atol)), (bool(equal_nan),))


def _isclose_body(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    close = logical_or(logical_and(near, is_finite(b)), equal(a, b))
    if not equal_nan:
        return close
    return logical_or(close, logical_and(not_equal(a, a), not_equal(b, b)))


def _part_is_zero(of_complex: Callable[[Any], Any], of_real: bool) -> Callable[..., Any]:
    """Return ``np.isreal`` or ``np.iscomplex``."""

    def test(x: Any) -> Any:
        x = strong(x)
        if dtype_of(x).kind == "c":
            return of_complex(imag(x))
        return broadcast_to(np.bool_(of_real), shape_of(x))

    return test


def _signed_infinity(positive: bool) -> Callable[..., Any]:
    """Return ``np.isposinf`` or ``np.isneginf``."""
    name, compare = ("isposinf", greater) if positive else ("isneginf", less)

    def test(x: Any, out: Any = None) -> Any:
        reject(name, out=out)
        x = strong(x)
        if dtype_of(x).kind == "c":
            raise TypeError(f"[np.{name}] This operation is not supported for {dtype_of(x).name} values")
        return logical_and(is_inf(x), compare(x, 0))

    return test


def _fix(x: Any, out: Any = None) -> Any:
    reject("fix", out=out)
    x = strong(x)
    return trunc(x)


def _i0(x: Any) -> Any:
    x = strong(x)
    if dtype_of(x).kind == "c":
        raise TypeError("[np.i0] i0 not supported for complex values")
    x = x if dtype_of(x).kind == "f" else cast(x, np.float64)
    return where(is_inf(x), np.nan, bessel_i0(x))  # NumPy multiplies infinity by 0


def _sinc(x: Any) -> Any:
    x = strong(x)
    if dtype_of(x).kind == "c":
        return _complex_sinc(x)
    x = x if dtype_of(x).kind == "f" else cast(x, np.float64)
    return where(is_inf(x), cast(np.nan, x.dtype), sinc(x))


def _complex_sinc(x: Any) -> Any:
    """Return ``sin(pi x) / (pi x)``, near 0 by its series, whose derivatives are exact there."""
    near = less(absolute(x), 0.05)
    small = square(multiply(where(near, x, 0.0), np.pi))
    large = multiply(where(near, 1.0, x), np.pi)
    series = polyval([(-1.0) ** k / math.factorial(2 * k + 1) for k in reversed(range(7))], small)
    return where(near, series, divide(sin(large), large))


def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    reject("astype", device=None if device == "cpu" else device)
    return cast(strong(x), dtype)


# ---- functions along axes --------------------------------------------------------------------------------------------


def _apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = strong(arr)
    shape = shape_of(arr)
    axis = one_axis("np.apply_along_axis", axis_key(axis), len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    if 0 in rest:
        raise ValueError("[np.apply_along_axis] Cannot apply_along_axis when any iteration dimensions are 0")
    rows = reshape(moveaxis(arr, axis, -1), [math.prod(rest), shape[axis]])
    results = [strong(func1d(getitem(rows, i), *args, **kwargs)) for i in range(shape_of(rows)[0])]
    own = shape_of(results[0])
    stacked = reshape(numpy_stack(results), [*rest, *own])
    for i in range(len(own)):
        stacked = moveaxis(stacked, len(rest) + i, axis + i)
    return stacked


def _apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    a = strong(a)
    rank = len(shape_of(a))
    for axis in np.atleast_1d(axes).tolist():
        result = strong(func(a, axis if axis >= 0 else rank + axis))
        if len(shape_of(result)) != rank:
            result = expand_dims(result, axis if axis >= 0 else rank + axis)
            if len(shape_of(result)) != rank:
                raise ValueError(
                    "[np.apply_over_axes] function is not returning an array of the correct shape"
                )
        a = result
    return a


CONDITIONS: dict[Any, Callable[..., Any]] = {
    np.apply_along_axis: _apply_along_axis,
    np.apply_over_axes: _apply_over_axes,
    np.astype: _astype,
    np.choose: _choose,
    np.fix: _fix,
    np.i0: _i0,
    np.iscomplex: _part_is_zero(lambda x: not_equal(x, 0), False),
    np.isclose: _isclose,
    np.isneginf: _signed_infinity(False),
    np.isposinf: _signed_infinity(True),
    np.isreal: _part_is_zero(lambda x: equal(x, 0), True),
    np.ix_: on_values(np.ix_),
    np.nan_to_num: _nan_to_num,
    np.packbits: on_values(np.packbits),
    np.piecewise: _piecewise,
    np.ravel_multi_index: on_values(np.ravel_multi_index),
    np.emath.arccos: _extended(np.arccos, _is_beyond_1),
    np.emath.arcsin: _extended(np.arcsin, _is_beyond_1),
    np.emath.arctanh: _extended(np.arctanh, _is_beyond_1),
    np.emath.log: _extended(np.log, _is_negative),
    np.emath.log10: _extended(np.log10, _is_negative),
    np.emath.log2: _extended(np.log2, _is_negative),
    np.emath.logn: _extended_logn,
    np.emath.power: _extended_power,
    np.emath.sqrt: _extended(np.sqrt, _is_negative),
    np.real_if_close: _real_if_close,
    np.select: _select,
    np.sinc: _sinc,
    np.unpackbits: on_values(np.unpackbits),
    np.unravel_index: on_values(np.unravel_index),
}
