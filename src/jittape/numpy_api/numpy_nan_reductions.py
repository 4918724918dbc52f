"""NumPy's reductions that ignore nan: compositions of the other reductions and a mask."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.user_calls import shown
from jittape.numpy_api.numpy_operands import (
    SUMS,
    array_like,
    axis_of,
    dtype_of,
    given,
    is_mask,
    keeps_dims,
    reject,
    shape_of,
    strong,
)
from jittape.numpy_api.numpy_reductions import (
    cumulative_adapter,
    element_count,
    extreme_adapter,
    first_greatest,
    first_least,
    greatest,
    least,
    numpy_mean,
    position_adapter,
    sum_adapter,
)
from jittape.numpy_api.numpy_statistics import deviation_adapter
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import axis_key, normalized_axes
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.bits import is_nan
from jittape.primitives.elementwise.comparison import less_equal, logical_and, logical_not, where
from jittape.primitives.identity import identity
from jittape.primitives.reduce.cumulative import cumprod, cumsum
from jittape.primitives.reduce.reductions import (
    reduce_all,
    reduce_any,
    reduce_prod,
    reduce_sum,
)
from jittape.primitives.reduce.statistics import reduce_std, reduce_variance

__all__ = ["NAN_REDUCTIONS", "without_nan"]


def has_nan(a: Any) -> bool:
    """Return whether the dtype of `a` has nan."""
    return dtype_of(a).kind in "fc"


def without_nan(a: Any, number: complex) -> Any:
    """Return `a` with `number` in place of nan."""
    return where(is_nan(a), np.array(number, dtype_of(a)), a) if has_nan(a) else a


def _require_known(name: str, options: dict[str, Any]) -> None:
    """Raise an error that names the called function, instead of the one that it calls, for an unknown option."""
    for option in options:
        if option not in _options_of(name):
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")


@cache
def _options_of(name: str) -> frozenset[str]:
    return frozenset(inspect.signature(getattr(np, name)).parameters)


def _ignoring(number: float, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a reduction in which nan counts as `number`."""

    def ignoring(a: Any, *args: Any, **kwargs: Any) -> Any:
        _require_known(name, kwargs)
        return function(without_nan(array_like(a), number), *args, **kwargs)

    SUMS.add(ignoring)
    return ignoring


def _averaging(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a mean or deviation of the elements that are not nan."""

    def average(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        _require_known(name, kwargs)
        reject(name, out=out)
        a = strong(a)
        if dtype is not None and dtype_of(a).kind in "fc" and np.dtype(dtype).kind not in "fc":
            raise TypeError(
                f"[np.{name}] dtype must be inexact for a of {dtype_of(a).name}, got {shown(dtype)}"
            )
        if has_nan(a):
            axis = axis_of(name, a, axis)
            numbers, mask = logical_not(is_nan(a)), kwargs.pop("where", True)
            kwargs["where"] = logical_and(numbers, mask) if is_mask(mask) else numbers
        result = function(a, axis, dtype, out, *args, **kwargs)
        if name == "nanmean" or dtype_of(a).kind not in "fc":
            return result
        return _with_degrees_of_freedom(name, result, a, axis, *args, **kwargs)

    return average


def _with_degrees_of_freedom(
    name: str, result: Any, a: Any, axis: Any, ddof: Any = 0, keepdims: Any = False, **options: Any
) -> Any:
    """Return a deviation, nan where no degree of freedom is left; ``np.var`` is infinite there."""
    lost = options["correction"] if given(options.get("correction")) else ddof
    if not lost:
        return result
    count = element_count(name, a, axis, keeps_dims(keepdims), options.get("where", True))
    return where(less_equal(count, float(lost)), np.nan, result)


def _extreme(of: Callable[..., Any], limit: float, name: str) -> Callable[..., Any]:
    """Return ``np.nanmax`` or ``np.nanmin``; nan where there are no numbers."""
    extreme = extreme_adapter(of, name)

    def nan_extreme(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        reject(name, out=out)
        a = strong(a)
        if not has_nan(a):
            return extreme(a, axis, None, keepdims, initial, where)
        beyond = complex(limit, limit) if dtype_of(a).kind == "c" else limit
        result = extreme(without_nan(a, beyond), axis, None, keepdims, initial, where)
        if given(initial):
            return result
        return apply(_nan_without_numbers, (result, a), (axis_of(name, a, axis), bool(keepdims)))

    return nan_extreme


def _nan_without_numbers(result: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    return where(reduce_all(is_nan(a), axis, keepdims), np.nan, result)


def _position(of: Callable[..., Any], limit: float, name: str) -> Callable[..., Any]:
    """Return ``np.nanargmax`` or ``np.nanargmin``."""
    position = position_adapter(of, name)

    def nan_position(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        a = strong(a)
        if dtype_of(a).kind not in "fc" or 0 in shape_of(a):
            return position(a, axis, out, keepdims=keepdims)
        checked = apply(_checked, (a,), (axis_key(axis_of(name, a, axis)), name))
        return position(without_nan(checked, limit), axis, out, keepdims=keepdims)

    return nan_position


def _checked(a: Any, axis: Any, name: str) -> Any:
    """Return `a`; raise if all elements along `axis` are nan."""
    rank = len(a.shape)
    axes = tuple([i - rank for i in normalized_axes(f"np.{name}", axis, rank)])
    return with_numbers_op.bind(a, axes=axes, function=name)


def _with_numbers_impl(a: Any, *, axes: tuple[int, ...], function: str) -> Any:
    if np.isnan(a).all(axis=axes).any():
        raise ValueError(f"[np.{function}] {_ONLY_NAN}")
    return a


def _with_numbers(a: Any, *, axes: tuple[int, ...], function: str) -> Any:
    end_run_where(reduce_all(is_nan(a), axes), "ValueError", f"[np.{function}] {_ONLY_NAN}")
    return identity(a)


_ONLY_NAN = "All-NaN slice encountered"

with_numbers_op = Primitive(
    "with_numbers",
    abstract_eval=lambda a, *, axes, function: a,
    impl=_with_numbers_impl,
    lowering=Decomposition(_with_numbers),
    gradient_stops="a position is an integer",
    batch=alike(),
)
"""The operand, after a check that each reduction along `axes`, counted from the last dimension, has a number."""


NAN_REDUCTIONS: dict[Any, Callable[..., Any]] = {
    np.nanargmax: _position(first_greatest, -np.inf, "nanargmax"),
    np.nanargmin: _position(first_least, np.inf, "nanargmin"),
    np.nancumprod: _ignoring(1, cumulative_adapter(cumprod, "nancumprod"), "nancumprod"),
    np.nancumsum: _ignoring(0, cumulative_adapter(cumsum, "nancumsum"), "nancumsum"),
    np.nanmax: _extreme(greatest, -np.inf, "nanmax"),
    np.nanmean: _averaging(numpy_mean, "nanmean"),
    np.nanmin: _extreme(least, np.inf, "nanmin"),
    np.nanprod: _ignoring(1, sum_adapter(reduce_prod, reduce_all, "nanprod"), "nanprod"),
    np.nanstd: _averaging(deviation_adapter(reduce_std, "nanstd"), "nanstd"),
    np.nansum: _ignoring(0, sum_adapter(reduce_sum, reduce_any, "nansum"), "nansum"),
    np.nanvar: _averaging(deviation_adapter(reduce_variance, "nanvar"), "nanvar"),
}
