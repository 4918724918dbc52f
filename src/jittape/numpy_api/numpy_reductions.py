"""NumPy's reductions on tensors: adapters that widen integers as NumPy does and reject unsupported arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.numpy_api.numpy_operands import (
    PLACES,
    SUMS,
    array_like,
    axis_of,
    converted,
    dtype_of,
    element_as,
    given,
    has_tensor,
    is_mask,
    keeps_dims,
    reject,
    shape_of,
)
from jittape.numpy_api.numpy_ufuncs import COMPLEX_ORDER
from jittape.primitives.broadcast import axis_key, normalized_axes
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import equal, logical_and
from jittape.primitives.elementwise.comparison import where as chosen
from jittape.primitives.elementwise.complex_numbers import cast, imag, real
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.indexing.gather import take_along_axis
from jittape.primitives.reduce.extremum_indices import argmax, argmin
from jittape.primitives.reduce.reductions import reduce_any, reduce_max, reduce_mean, reduce_min, reduce_sum
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, one_axis, reshape, transpose
from jittape.primitives.spectra.norms import MATRIX_ORDERS, norm_body

__all__ = [
    "cumulative_adapter",
    "element_count",
    "extreme_adapter",
    "first_greatest",
    "first_least",
    "greatest",
    "least",
    "masked",
    "numpy_average",
    "numpy_mean",
    "numpy_norm",
    "numpy_ptp",
    "position_adapter",
    "rows_along",
    "sum_adapter",
    "truth_adapter",
    "weights_of_shape",
    "wide",
]


# ---- extremes, of complex numbers in NumPy's order -------------------------------------------------------------------


def rows_along(a: Any, axes: tuple[int, ...]) -> Any:
    """Return `a` with the dimensions `axes` flattened to the last one."""
    shape = shape_of(a)
    kept = [i for i in range(len(shape)) if i not in axes]
    count = int(np.prod([shape[i] for i in axes], dtype=np.int64))
    return reshape(transpose(a, [*kept, *axes]), [*[shape[i] for i in kept], count])


def _place(a: Any, axis: int, best: Callable[..., Any]) -> Any:
    """Return the index of the first extreme complex number along `axis`; that of the first nan if there is one."""
    axis = one_axis("np.argmax" if best is reduce_max else "np.argmin", axis, len(a.shape))
    among = equal(real(a), best(real(a), axis, True))
    beyond = np.array(-np.inf if best is reduce_max else np.inf, imag(a).dtype)
    parts = chosen(among, imag(a), beyond)
    found = argmax(logical_and(among, equal(parts, best(parts, axis, True))), axis)
    missing = is_nan(a)
    return chosen(reduce_any(missing, axis), argmax(missing, axis), found)


def _placing(best: Callable[..., Any], place: Callable[..., Any]) -> Callable[..., Any]:
    """Return `place`, the position of an extreme real number, for complex numbers too."""

    def position(a: Any, axis: Any) -> Any:
        return apply(_place, (a,), (axis_key(axis), best)) if dtype_of(a).kind == "c" else place(a, axis)

    return position


def _complex_extreme(a: Any, axis: Any, keepdims: bool, best: Callable[..., Any]) -> Any:
    axes = normalized_axes(f"np.{best.__name__[-3:]}", axis, len(a.shape))
    rows = rows_along(a, axes)
    if rows.shape[-1] == 0:
        found = broadcast_to(np.array(-np.inf if best is reduce_max else np.inf, a.dtype), rows.shape[:-1])
    else:
        found = take_along_axis(rows, expand_dims(_place(rows, -1, best), -1), -1)
    kept = [1 if i in axes else n for i, n in enumerate(a.shape)]
    return reshape(found, kept if keepdims else rows.shape[:-1])


def _ordering(best: Callable[..., Any]) -> Callable[..., Any]:
    """Return `best`, a maximum or minimum of real numbers, for complex numbers too."""

    def extreme(a: Any, axis: Any, keepdims: bool) -> Any:
        if dtype_of(a).kind != "c":
            return best(a, axis, keepdims)
        return apply(_complex_extreme, (a,), (axis_key(axis), keepdims, best))

    return extreme


first_greatest, first_least = _placing(reduce_max, argmax), _placing(reduce_min, argmin)
greatest, least = _ordering(reduce_max), _ordering(reduce_min)


# ---- reductions ------------------------------------------------------------------------------------------------------


def wide(a: Any, dtype: Any) -> Any:
    """Cast `a` to the dtype in which NumPy sums it: small integers widen."""
    if dtype is None and dtype_of(a).kind in "biu":
        dtype = np.sum(np.empty(0, dtype_of(a))).dtype
    return converted(a, dtype)


def masked(function: str, a: Any, where: Any, otherwise: Any) -> Any:
    """Return `a` with the elements outside of the mask `where` replaced by the number `otherwise`."""
    a, where = array_like(a), np.bool_(where) if isinstance(where, int) else array_like(where)
    if dtype_of(where) != np.bool_:
        raise TypeError(f"[np.{function}] where must be a mask of bools, got {dtype_of(where).name}")
    try:
        mask = broadcast_to(where, shape_of(a))
    except ValueError:
        raise ShapeError(
            f"[np.{function}] where of shape {shape_of(where)} does not broadcast to the operand of shape {shape_of(a)}"
        ) from None
    return chosen(mask, a, np.array(otherwise, dtype_of(a)))


def element_count(function: str, a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Return the number of elements that a reduction reads: a float, or a tensor if there is a mask."""
    shape = shape_of(a)
    if is_mask(where):
        return reduce_sum(
            cast(masked(function, broadcast_to(np.float64(1.0), shape), where, 0), np.float64), axis, keepdims
        )
    axes = normalized_axes(f"np.{function}", axis_key(axis), len(shape))
    return float(np.prod([shape[i] for i in axes]))


def _is_common(a: Any, axis: Any, out: Any, initial: Any, where: Any) -> bool:
    """Return whether a reduction of a tensor has no options; the checks of the others take 0.7 µs."""
    if out is not None or initial is not None or where is not True:
        return False
    aval = getattr(a, "aval", None)
    return aval is not None and (axis is None or (axis.__class__ is int and aval.shape != ()))


def sum_adapter(of: Callable[..., Any], of_bools: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.sum`` or ``np.prod``; for the dtype bool they are ``np.any`` and ``np.all``."""
    neutral, combine = (0, add) if name.endswith("sum") else (1, multiply)

    def total(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if dtype is None and _is_common(a, axis, out, initial, where) and a.aval.dtype.kind in "fc":
            return of(a, axis, keeps_dims(keepdims))
        reject(name, out=out)
        a = array_like(a)
        kind = a.dtype.kind
        if dtype is not None or kind in "biu":
            a = wide(a, dtype)
            kind = a.dtype.kind
        if is_mask(where):
            a = masked(name, a, where, neutral)
        result = (of_bools if kind == "b" else of)(a, axis_of(name, a, axis), keeps_dims(keepdims))
        return combine(result, element_as(initial, dtype_of(result))) if given(initial) else result

    SUMS.add(total)
    return total


_total = sum_adapter(reduce_sum, reduce_any, "sum")


def numpy_mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """``np.mean``; an integer `dtype` truncates the mean, and its total may overflow."""
    if dtype is None and _is_common(a, axis, out, None, where):
        return reduce_mean(a, axis, keeps_dims(keepdims))
    reject("mean", out=out)
    a = converted(array_like(a), dtype)
    if isinstance(axis, list):
        raise TypeError(f"[np.mean] axis must be None, an int or a tuple of ints, got {axis!r}")
    if dtype is not None and (a.dtype.kind in "biu" or dtype_of(a) == np.float16):
        total = _total(a, axis, dtype, keepdims=keepdims, where=where)
        count = element_count("mean", a, axis_of("mean", a, axis), keeps_dims(keepdims), where)
        return cast(divide(cast(total, np.float64), count), dtype)
    if is_mask(where):
        floats = a if dtype_of(a).kind in "fc" else cast(a, np.float64)
        total = reduce_sum(masked("mean", floats, where, 0), axis, keeps_dims(keepdims))
        mean = divide(total, cast(element_count("mean", a, axis, keeps_dims(keepdims), where), total.dtype))
    else:
        mean = reduce_mean(a, axis, keeps_dims(keepdims))
    return mean if dtype is None else cast(mean, dtype)


def extreme_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.max`` or ``np.min``, which raise for empty reductions."""

    def extreme(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if _is_common(a, axis, out, initial, where) and a.aval.size:
            return of(a, axis, keeps_dims(keepdims))
        reject(name, out=out)
        a = array_like(a)
        if is_mask(where):
            if not given(initial):
                raise ValueError(
                    f"[np.{name}] where= needs initial=, the result if no element is in the mask: a greatest or "
                    "least element has no neutral value"
                )
            a = masked(name, a, where, initial)
        result = of(a, axis_of(name, a, axis), keeps_dims(keepdims))
        if given(initial):
            initial = element_as(initial, dtype_of(result))
            if dtype_of(a).kind == "c":
                return COMPLEX_ORDER[np.maximum if name.endswith("max") else np.minimum](result, initial)
            return (maximum if name.endswith("max") else minimum)(result, initial)
        if 0 in a.shape and 0 in [
            a.shape[i] for i in normalized_axes(f"np.{name}", axis_key(axis), len(a.shape))
        ]:
            raise ValueError(
                f"[np.{name}] zero-size array to reduction operation: shape {a.shape} has no elements along axis "
                f"{axis}; jt.reduce_{name[-3:]} returns the neutral element"
            )
        return result

    return extreme


def truth_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.all`` or ``np.any``."""

    def truth(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        reject(name, out=out)
        a = cast(array_like(a), np.bool_)
        a = masked(name, a, where, name == "all") if is_mask(where) else a
        return of(a, axis_of(name, a, axis), keeps_dims(keepdims))

    return truth


def position_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.argmax`` or ``np.argmin``."""

    def position(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        reject(name, out=out)
        a = array_like(a)
        if axis_of(name, a, axis) is None:
            flat = of(reshape(a, -1), 0)
            return reshape(flat, (1,) * len(shape_of(a))) if bool(keepdims) else flat
        positions = of(a, axis)
        return expand_dims(positions, axis) if bool(keepdims) else positions

    PLACES.add(position)
    return position


def cumulative_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.cumsum`` or ``np.cumprod``."""

    def cumulative(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        reject(name, out=out)
        a = wide(array_like(a), dtype)
        if dtype_of(a).kind == "b":
            raise TypeError(
                f"[np.{name}] on a tensor, dtype must be numeric, got bool; compare the result with 0"
            )
        return of(reshape(a, -1), 0) if axis_of(name, a, axis) is None else of(a, axis)

    SUMS.add(cumulative)
    return cumulative


def numpy_ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """``np.ptp``."""
    top, bottom = extreme_adapter(greatest, "max"), extreme_adapter(least, "min")
    return subtract(top(a, axis, out, keepdims), bottom(a, axis, out, keepdims))


def numpy_average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    """``np.average``."""
    a, weights, keepdims = array_like(a), array_like(weights), keeps_dims(keepdims)
    if weights is None:
        mean = numpy_mean(a, axis, keepdims=keepdims)
        count = cast(element_count("average", a, axis, keepdims, True), dtype_of(mean))
        return (mean, broadcast_to(count, mean.shape)) if returned else mean
    each, weights = weights, weights_of_shape("average", a, axis, weights)
    alike = shape_of(each) == shape_of(a)
    if not has_tensor(each) and not np.all(np.sum(each, axis_key(axis) if alike else None)):
        raise ZeroDivisionError("[np.average] Weights sum to zero, can't be normalized")
    exact = (np.float64,) if dtype_of(a).kind in "biu" else ()
    dtype = np.result_type(dtype_of(a), dtype_of(weights), *exact)
    a, weights = cast(a, dtype), cast(weights, dtype)
    total = reduce_sum(multiply(a, weights), axis, keepdims)
    scale = reduce_sum(weights, axis, keepdims)
    average = divide(total, scale)
    return (average, broadcast_to(cast(scale, average.dtype), average.shape)) if returned else average


def weights_of_shape(name: str, a: Any, axis: Any, weights: Any) -> Any:
    """Return weights along `axis` in the shape of `a`."""
    shape, own = shape_of(a), shape_of(weights)
    if own == shape:
        return weights
    if axis is None:
        raise TypeError(
            f"[np.{name}] axis must be given for weights of shape {own}, which is not {shape}, the shape of a"
        )
    axes = np.lib.array_utils.normalize_axis_tuple(axis_key(axis), len(shape), "axis")
    if own != tuple([shape[i] for i in axes]):
        raise ShapeError(f"[np.{name}] weights of shape {own} do not fit axis {axis} of a with shape {shape}")
    weights = transpose(weights, np.argsort(axes).tolist())
    return broadcast_to(reshape(weights, [n if i in axes else 1 for i, n in enumerate(shape)]), shape)


def numpy_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """``np.linalg.norm``."""
    rank = len(shape_of(x))
    if not (axis is None or isinstance(axis, tuple)):
        axis = (as_int("axis", axis),)
    axes = tuple(range(rank)) if axis is None else axis_key(axis)
    flat = axis is None and (ord is None or (ord in ("f", "fro") and rank == 2))
    if len(axes) not in (1, 2) and not flat:
        raise ValueError(f"[np.linalg.norm] axis must name one dimension or two, got {axes} for ord={ord!r}")
    if len(axes) == 2 and ord not in MATRIX_ORDERS:
        raise ValueError(f"[np.linalg.norm] ord of a matrix must be one of {MATRIX_ORDERS}, got {ord!r}")
    if len(axes) == 1 and not (ord is None or isinstance(ord, (int, float, np.number))):
        raise ValueError(f"[np.linalg.norm] ord of a vector must be None or a number, got {ord!r}")
    return apply(norm_body, (x,), (ord, axes, len(axes) == 2, bool(keepdims)))
