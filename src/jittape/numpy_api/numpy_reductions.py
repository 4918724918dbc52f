"""NumPy's reductions on tensors: adapters that widen integers as NumPy does and reject unsupported arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype, kind_of
from jittape.core.primitive import apply
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError
from jittape.primitives.broadcast import axis_key, normalized_axes
from jittape.primitives.elementwise.arithmetic import multiply, subtract
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.reduce.reductions import reduce_max, reduce_mean, reduce_min, reduce_sum
from jittape.primitives.shape.reshaping import expand_dims, reshape
from jittape.primitives.spectra.norms import MATRIX_ORDERS, norm_body

__all__ = [
    "array_like",
    "axis_of",
    "converted",
    "cumulative_adapter",
    "deviation_adapter",
    "dtype_of",
    "extreme_adapter",
    "numpy_average",
    "numpy_mean",
    "numpy_norm",
    "numpy_ptp",
    "position_adapter",
    "reject",
    "shape_of",
    "strong",
    "sum_adapter",
    "truth_adapter",
    "wide",
]


def reject(function: str, **arguments: Any) -> None:
    """Raise `TypeError` if one of NumPy's arguments that cannot be recorded is given."""
    for name, value in arguments.items():
        if value is None or value is np._NoValue or (name == "where" and value is True):
            continue
        if name == "out":
            raise TypeError(
                f"np.{function} cannot record into out=: an ndarray keeps no gradient. Use its result, "
                "Variable.assign for state, or x.numpy() to leave the tape"
            )
        raise TypeError(
            f"np.{function} on a tensor does not support {name}=; use jt.where, or x.numpy() to leave the tape"
        )


def array_like(a: Any) -> Any:
    """Return a sequence of numbers as an array with NumPy's dtype, not that of `jt.constant`; else return `a`."""
    return np.asarray(a) if a.__class__ in (list, tuple) and _is_plain(a) else a


def _is_plain(a: Any) -> bool:
    """Return whether `a` is a number, an array or a nested sequence of these, without tensors."""
    if isinstance(a, (list, tuple)):
        return all(_is_plain(x) for x in a)
    return isinstance(a, (int, float, complex, np.generic, np.ndarray))


def strong(a: Any) -> Any:
    """Do as `array_like`, and convert Python numbers to arrays too."""
    return np.asarray(a) if isinstance(a, (int, float, complex)) else array_like(a)


def shape_of(a: Any) -> tuple[int, ...]:
    """Return the shape of `a`, which may be a scalar or a list."""
    if isinstance(a, (int, float, complex)):
        return ()
    return np.shape(np.asarray(a)) if isinstance(a, (list, tuple)) else a.shape


def dtype_of(a: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy gives to `a`."""
    if isinstance(a, TracedScalar):
        return np.dtype(a.kind)
    if isinstance(a, (int, float, complex, list, tuple)):
        return np.asarray(a).dtype
    return getattr(a, "aval", a).dtype  # the NumPy dtype also of a tensor


def axis_of(function: str, a: Any, axis: Any) -> Any:
    """Return `axis` of a reduction of `a` as None, an int or a tuple. In NumPy, a scalar has an axis 0 too."""
    if axis.__class__ is not int:
        if isinstance(axis, list):
            raise TypeError(f"[np.{function}] axis must be None, an int or a tuple of ints, got {axis!r}")
        axis = axis_key(axis)
    return axis if axis is None or a.shape or axis not in (0, -1) else None


def converted(a: Any, dtype: Any, casting: Any = "unsafe") -> Any:
    """Cast `a` to `dtype`; return it unchanged for None.

    Raises
    ------
    TypeError
        If NumPy's rule `casting` forbids the cast.
    """
    if dtype is None:
        return a
    if not np.can_cast(dtype_of(a), as_dtype(dtype), casting):
        raise DTypeError(
            f"[cast] Cannot cast {dtype_of(a).name} to {as_dtype(dtype).name} by the rule {casting!r}; use jt.cast"
        )
    return cast(a, dtype)


# ---- reductions ------------------------------------------------------------------------------------------------------


def wide(a: Any, dtype: Any) -> Any:
    """Cast `a` to the dtype in which NumPy sums it: small integers widen."""
    if dtype is None and dtype_of(a).kind in "biu":
        dtype = np.sum(np.empty(0, dtype_of(a))).dtype
    return converted(a, dtype)


def sum_adapter(of: Callable[..., Any], of_bools: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.sum`` or ``np.prod``; for the dtype bool they are ``np.any`` and ``np.all``."""

    def total(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        reject(name, out=out, initial=initial, where=where)
        kind = a.dtype.kind
        if dtype is not None or kind in "biu":
            a = wide(a, dtype)
            kind = a.dtype.kind
        return (of_bools if kind == "b" else of)(a, axis_of(name, a, axis), bool(keepdims))

    return total


def numpy_mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """``np.mean``; an integer `dtype` truncates the mean."""
    reject("mean", out=out, where=where)
    a = converted(a, dtype)
    if isinstance(axis, list):
        raise TypeError(f"[np.mean] axis must be None, an int or a tuple of ints, got {axis!r}")
    mean = reduce_mean(a, axis, bool(keepdims))
    return mean if dtype is None else cast(mean, dtype)


def deviation_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.var`` or ``np.std``."""

    def measure(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        reject(name, out=out, where=where, mean=mean)
        if correction is not None and ddof != 0:
            raise ValueError(f"[np.{name}] ddof and correction have the same meaning: pass only one of them")
        allowed = "c" if a.dtype.kind == "c" else "fc"
        if dtype is not None and kind_of(as_dtype(dtype)) not in allowed:
            raise TypeError(
                f"[np.{name}] dtype={dtype!r} loses part of the values; use jt.cast on the result instead"
            )
        if isinstance(axis, list):
            raise TypeError(f"[np.{name}] axis must be None, an int or a tuple of ints, got {axis!r}")
        a = converted(a, dtype)
        ddof = ddof if correction is None else correction
        result = of(a, axis, bool(keepdims))
        if not ddof:
            return result
        shape = shape_of(a)
        axes = normalized_axes(name, axis_key(axis), len(shape))
        count = float(np.prod([shape[i] for i in axes]))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = float(np.float64(count) / max(count - ddof, 0))
        return multiply(result, factor if name == "var" else factor**0.5)

    return measure


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
        reject(name, out=out, initial=initial, where=where)
        result = of(a, axis_of(name, a, axis), bool(keepdims))
        if 0 in a.shape and 0 not in result.shape:
            raise ValueError(
                f"[np.{name}] zero-size array to reduction operation: shape {a.shape} has no elements along axis "
                f"{axis}; jt.reduce_{name[-3:]} returns the neutral element"
            )
        return result

    return extreme


def truth_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.all`` or ``np.any``."""

    def truth(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        reject(name, out=out, where=where)
        return of(cast(a, np.bool_), axis_of(name, a, axis), bool(keepdims))

    return truth


def position_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.argmax`` or ``np.argmin``."""

    def position(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        reject(name, out=out)
        if axis_of(name, a, axis) is None:
            flat = of(reshape(a, -1), 0)
            return reshape(flat, (1,) * len(shape_of(a))) if keepdims is True else flat
        positions = of(a, axis)
        return expand_dims(positions, axis) if keepdims is True else positions

    return position


def cumulative_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return ``np.cumsum`` or ``np.cumprod``."""

    def cumulative(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        reject(name, out=out)
        a = wide(a, dtype)
        if dtype_of(a).kind == "b":
            raise TypeError(
                f"[np.{name}] on a tensor, dtype must be numeric, got bool; compare the result with 0"
            )
        return of(reshape(a, -1), 0) if axis_of(name, a, axis) is None else of(a, axis)

    return cumulative


def numpy_ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """``np.ptp``."""
    greatest, least = extreme_adapter(reduce_max, "max"), extreme_adapter(reduce_min, "min")
    return subtract(greatest(a, axis, out, keepdims), least(a, axis, out, keepdims))


def numpy_average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    """``np.average`` with weights of the shape of `a`."""
    reject("average", returned=returned or None)
    a, weights = array_like(a), array_like(weights)
    if weights is None:
        return numpy_mean(a, axis, keepdims=keepdims)
    if shape_of(weights) != shape_of(a):
        raise TypeError("np.average on a tensor requires weights of the shape of a; broadcast them first")
    total = reduce_sum(multiply(wide(a, None), weights), axis, bool(keepdims))
    return divide(total, cast(reduce_sum(wide(weights, None), axis, bool(keepdims)), total.dtype))


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
