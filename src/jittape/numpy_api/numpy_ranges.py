"""NumPy's ranges of numbers between tensors: linspace, logspace and geomspace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import as_dtype
from jittape.core.primitive import active_recorder
from jittape.errors import DTypeError
from jittape.numpy_api.numpy_operands import (
    array_like,
    converted,
    dtype_of,
    shape_of,
    strong,
    values_of,
)
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import floor
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.shape import creation
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, one_axis, reshape

__all__ = ["RANGES"]


def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    # An int, such as -1, need not fit the dtype of the other end.
    start, stop = [array_like(float(end) if type(end) is int else end) for end in (start, stop)]
    numbers = creation.evenly_spaced(start, stop, num, axis, endpoint, broadcasts=True)
    if dtype is None or as_dtype(dtype).kind not in "iu":
        numbers = converted(numbers, dtype)
    else:
        numbers = cast(floor(numbers), dtype)
    if not retstep:
        return numbers
    intervals = num - bool(endpoint)
    return numbers, divide(
        subtract(_float(stop), _float(start)), float(intervals) if intervals > 0 else np.nan
    )


def _float(end: Any) -> Any:
    """Return the end of an interval with a float or complex dtype."""
    return cast(end, np.float64) if dtype_of(end).kind in "biu" else strong(end)


def _logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    base = strong(base)
    if shape_of(base):
        start, stop, base = _of_equal_rank(strong(start), strong(stop), base)
        base = expand_dims(base, axis)
    return converted(pow(base, _linspace(start, stop, num, endpoint, axis=axis)), dtype)


def _of_equal_rank(*arrays: Any) -> list[Any]:
    rank = max(len(shape_of(a)) for a in arrays)
    return [reshape(a, [*(1,) * (rank - len(shape_of(a))), *shape_of(a)]) for a in arrays]


def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    start, stop = add(strong(start), 0.0), add(strong(stop), 0.0)
    if "c" in (dtype_of(start).kind, dtype_of(stop).kind):
        raise DTypeError(
            "[np.geomspace] on a tensor is not defined for complex numbers; use np.exp of np.linspace"
        )
    for name, value in (("start", start), ("stop", stop)):
        if active_recorder().traced_in is None and np.any(values_of(value) == 0):
            raise ValueError(f"[np.geomspace] Geometric sequence cannot include zero, got {name} with a zero")
    weights = creation.evenly_spaced(np.float64(0), np.float64(1), num, 0, endpoint, broadcasts=True)
    shape = np.broadcast_shapes(shape_of(start), shape_of(stop))
    axis = one_axis("np.geomspace", axis, len(shape) + 1)
    weights = reshape(weights, [*(1,) * axis, num, *(1,) * (len(shape) - axis)])
    first, ratio = broadcast_to(start, shape), divide(stop, start)
    numbers = multiply(expand_dims(first, axis), pow(expand_dims(broadcast_to(ratio, shape), axis), weights))
    return converted(numbers, dtype)


RANGES: dict[Any, Callable[..., Any]] = {
    np.geomspace: _geomspace,
    np.linspace: _linspace,
    np.logspace: _logspace,
}
