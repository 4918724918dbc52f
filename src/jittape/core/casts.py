"""The op that converts between dtypes, of which the builder makes use too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jittape.core.dtypes import WIDENED, float32, info_of, int64, is_floating, uint64, widened
from jittape.core.forms import Map
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Op

__all__ = ["cast_op"]


def _cast_impl(x: Any, *, dtype: np.dtype[Any]) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real if dtype.kind != "b" else x != 0
        if dtype.kind in "iu" and is_floating(x.dtype):
            return _float_to_integer(x.astype(widened(x.dtype), copy=False), dtype)
        return x.astype(dtype)


def _float_to_integer(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return `x` truncated to integers; floats out of range give the same result as in compiled code.

    C and NumPy leave the result undefined. Here a float saturates to the range of `DTypeInfo.saturates`, int32 or
    int64, and the integer is then truncated to the width of the dtype: -1.0 becomes 255 as uint8. A nan becomes 0.
    """
    if dtype == uint64:
        return np.where(x < 0, _saturated(x, int64).astype(uint64), _saturated(x, uint64))
    return _saturated(x, info_of(dtype).saturates).astype(dtype)


def _saturated(x: Any, integer: np.dtype[Any]) -> Any:
    limits = np.iinfo(integer)
    if x.size and limits.min <= x.min() and x.max() < limits.max:
        return x.astype(integer)
    wide = np.where(np.isnan(x), 0, x).astype(np.float64)
    low, high = wide < float(limits.min), wide >= float(limits.max)
    inside = np.where(low | high, 0, wide).astype(integer)
    return np.where(low, limits.min, np.where(high, limits.max, inside))


def _cast_vjp(g: Any, out: Any, x: Any, *, dtype: np.dtype[Any]) -> Any:
    return cast_op.bind(g, dtype=x.dtype)


def _simplified(op: Op, producers: Mapping[int, Op]) -> int | None:
    """Return the slot that was cast to float32 and is cast back to its own dtype, which is exact."""
    before = producers.get(op.args[0])
    if before is None or before.primitive is not cast_op or dict(before.params)["dtype"] != float32:
        return None
    return before.args[0] if dict(op.params)["dtype"] in WIDENED else None


cast_op = Primitive(
    "cast",
    abstract_eval=lambda x, *, dtype: Aval(x.shape, dtype),
    impl=_cast_impl,
    vjp=(_cast_vjp,),
    lowering=Map(lambda m, x, *, dtype: m.cast(x, dtype)),
    simplified=_simplified,
    linear=((0,),),
    any_dtype=True,
    is_cast=True,
)
