"""NumPy's reductions on tensors: adapters that widen integers as NumPy does and refuse what cannot be recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.hostnumber import HostNumber
from jittape.primitives.arithmetic import multiply, subtract
from jittape.primitives.complexes import cast
from jittape.primitives.division import divide
from jittape.primitives.reduce import reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum
from jittape.primitives.shape import expand_dims, reshape
from jittape.primitives.statistics import norm

__all__ = [
    "converted",
    "dtype_of",
    "extreme_adapter",
    "numpy_average",
    "numpy_mean",
    "numpy_norm",
    "numpy_prod",
    "numpy_ptp",
    "numpy_sum",
    "place_adapter",
    "refuse",
    "running_adapter",
    "shape_of",
    "spread_adapter",
    "truth_adapter",
    "wide",
]


def refuse(function: str, **arguments: Any) -> None:
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
            f"np.{function} on a tensor takes no {name}=; use jt.where, or x.numpy() to leave the tape"
        )


def shape_of(a: Any) -> tuple[int, ...]:
    """The shape of `a`, which may be a scalar or a list."""
    if isinstance(a, (int, float, complex)):
        return ()
    return np.shape(np.asarray(a)) if isinstance(a, (list, tuple)) else a.shape


def dtype_of(a: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives `a`."""
    if isinstance(a, HostNumber):
        return np.dtype(a.kind)
    return np.asarray(a).dtype if isinstance(a, (int, float, complex, list, tuple)) else a.dtype


def converted(a: Any, dtype: Any) -> Any:
    """`a` in `dtype`, as it is for None."""
    return a if dtype is None else cast(a, dtype)


# ---- reductions ------------------------------------------------------------------------------------------------------


def wide(a: Any, dtype: Any) -> Any:
    """`a` in the dtype in which NumPy adds it up: small integers widen."""
    if dtype is None and dtype_of(a).kind in "biu":
        dtype = np.sum(np.empty(0, dtype_of(a))).dtype
    return converted(a, dtype)


def numpy_sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``np.sum``."""
    refuse("sum", out=out, initial=initial, where=where)
    return reduce_sum(wide(a, dtype), axis, bool(keepdims))


def numpy_prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """``np.prod``."""
    refuse("prod", out=out, initial=initial, where=where)
    return reduce_prod(wide(a, dtype), axis, bool(keepdims))


def numpy_mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """``np.mean``."""
    refuse("mean", out=out, where=where)
    return reduce_mean(converted(a, dtype), axis, bool(keepdims))


def spread_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``np.var`` or ``np.std``."""

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
        refuse(name, out=out, where=where, mean=mean)
        ddof = ddof if correction is None else correction
        result = of(converted(a, dtype), axis, bool(keepdims))
        if not ddof:
            return result
        shape = shape_of(a)
        axes = range(len(shape)) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
        count = float(np.prod([shape[i] for i in axes]))
        factor = count / (count - ddof) if count > ddof else np.nan
        return multiply(result, factor if name == "var" else factor**0.5)

    return measure


def extreme_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``np.max`` or ``np.min``."""

    def extreme(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        refuse(name, out=out, initial=initial, where=where)
        return of(a, axis, bool(keepdims))

    return extreme


def truth_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``np.all`` or ``np.any``."""

    def truth(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        refuse(name, out=out, where=where)
        return of(cast(a, np.bool_), axis, bool(keepdims))

    return truth


def place_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``np.argmax`` or ``np.argmin``."""

    def place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        refuse(name, out=out)
        if axis is None:
            flat = of(reshape(a, -1), 0)
            return reshape(flat, (1,) * len(shape_of(a))) if keepdims is True else flat
        found = of(a, axis)
        return expand_dims(found, axis) if keepdims is True else found

    return place


def running_adapter(of: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``np.cumsum`` or ``np.cumprod``."""

    def running(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        refuse(name, out=out)
        a = wide(a, dtype)
        return of(reshape(a, -1), 0) if axis is None else of(a, axis)

    return running


def numpy_ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """``np.ptp``."""
    refuse("ptp", out=out)
    return subtract(reduce_max(a, axis, bool(keepdims)), reduce_min(a, axis, bool(keepdims)))


def numpy_average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False
) -> Any:
    """``np.average`` with weights of the shape of `a`."""
    refuse("average", returned=returned or None)
    if weights is None:
        return numpy_mean(a, axis, keepdims=keepdims)
    if shape_of(weights) != shape_of(a):
        raise TypeError("np.average on a tensor takes weights of the shape of a; broadcast them first")
    total = reduce_sum(multiply(wide(a, None), weights), axis, bool(keepdims))
    return divide(total, cast(reduce_sum(wide(weights, None), axis, bool(keepdims)), total.dtype))


def numpy_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """``np.linalg.norm`` of vectors, and the Frobenius norm."""
    matrix = len(shape_of(x)) > 1 if axis is None else isinstance(axis, tuple) and len(axis) > 1
    if matrix and ord not in (None, "fro"):
        raise TypeError(
            f"np.linalg.norm on a tensor has no matrix norm ord={ord!r}; it has the Frobenius norm"
        )
    x = cast(x, np.float64) if dtype_of(x).kind in "biu" else x
    return norm(x, "euclidean" if ord is None else ord, axis, bool(keepdims))
