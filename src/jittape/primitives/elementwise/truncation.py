"""Division that rounds toward zero, casts that saturate, and neighbors among the floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.core.dtypes import NATIVE_FLOATS, as_dtype, float_limits, info_of, is_floating, kind_of
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, any_dtype, apply
from jittape.core.program import Aval
from jittape.errors import DTypeError
from jittape.primitives.broadcast import as_symbol, cast_to, real_op, require_equal
from jittape.primitives.elementwise.arithmetic import negative, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import greater, where
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.record_parts import common, common_float, same_of_kinds
from jittape.typing import Tensor, TensorLike

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["nextafter", "saturate_cast", "truncatediv", "truncatemod"]


# ---- division --------------------------------------------------------------------------------------------------------


def _truncated_quotient(m: Any, x: Any, y: Any) -> Any:
    """Return the quotient of the math namespace `m`; an integer divided by zero gives 0, as in `floor_divide`."""
    if x.dtype.kind == "f":
        return m.trunc(x / y)
    floor = m.floor_divide(x, y)
    return (
        floor
        if x.dtype.kind == "u"
        else m.where((m.remainder(x, y) != 0) & ((x < 0) != (y < 0)), floor + 1, floor)
    )


def _truncatediv_impl(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.trunc(np.true_divide(x, y))
    floor = np.floor_divide(x, y)
    return np.where((np.remainder(x, y) != 0) & ((x < 0) != (y < 0)), floor + 1, floor).astype(x.dtype)


truncatediv_op = Primitive(
    "truncatediv",
    abstract_eval=same_of_kinds("truncatediv", "iuf"),
    impl=_truncatediv_impl,
    lowering=Map(_truncated_quotient),
    promote_args=common("truncatediv"),
    gradient_stops="a truncated quotient is constant between its jumps",
)


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the quotient rounded toward zero.

    Parameters
    ----------
    x, y : tensor_like
        Real; they broadcast. An integer divided by zero gives 0.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` or `y` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.truncatediv([7, -7], 2).numpy()
    array([ 3, -3], dtype=int32)
    """
    return apply(truncatediv_op, (x, y))


def _truncated_remainder(m: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return m.fmod(x, y)
    rest = m.remainder(x, y)
    return rest if x.dtype.kind == "u" else m.where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest)


truncatemod_op = Primitive(
    "truncatemod",
    abstract_eval=same_of_kinds("truncatemod", "iuf"),
    impl=np.fmod,
    vjp=(
        lambda g, out, x, y: g,
        lambda g, out, x, y: zero_dominant_multiply(g, negative(truncatediv(x, y))),
    ),
    lowering=Map(_truncated_remainder),
    promote_args=common("truncatemod"),
)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder of the division rounded toward zero, with the sign of `x`, as in C.

    Parameters
    ----------
    x, y : tensor_like
        Real; they broadcast. An integer divided by zero gives 0.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` or `y` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.truncatemod([7.0, -7.0], 4.0).numpy()
    array([ 3., -3.], dtype=float32)
    """
    return apply(truncatemod_op, (x, y))


# ---- floats next to each other ---------------------------------------------------------------------------------------


def _nextafter_abstract_eval(x1: Aval, x2: Aval) -> Aval:
    if x1.dtype not in NATIVE_FLOATS:
        raise DTypeError(f"[nextafter] needs float32 or float64, got {x1.dtype.name}; cast it first")
    return require_equal("nextafter", x1, x2)


def _nextafter(m: Any, x: Any, y: Any) -> Any:
    """Step the bits of x, an integer that grows with the absolute value."""
    integer = np.dtype(f"i{x.dtype.itemsize}")
    bits = m.bitcast(x, integer)
    stepped = m.bitcast(m.where((x < y) == (x > 0), bits + 1, bits - 1), x.dtype)
    least = float(np.finfo(x.dtype).smallest_subnormal)
    found = m.where(x == y, y, m.where(x == 0, m.copysign(m.literal(least, x.dtype), y), stepped))
    return m.where((x != x) | (y != y), x + y, found)


nextafter_op = Primitive(
    "nextafter",
    abstract_eval=_nextafter_abstract_eval,
    impl=np.nextafter,
    vjp=(lambda g, out, x1, x2: g, None),
    lowering=Map(_nextafter),
    promote_args=common_float("nextafter"),
    any_dtype=True,
)


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Return the float next to `x1` in the direction of `x2`.

    The derivative with respect to `x1` is 1; no gradient flows to `x2`.

    Parameters
    ----------
    x1, x2 : tensor_like
        Float32 or float64; they broadcast.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x1` or `x2` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> jt.math.nextafter(np.float64(1.0), 2.0).numpy() - 1
    np.float64(2.220446049250313e-16)
    """
    return apply(nextafter_op, (x1, x2))


# ---- casts -----------------------------------------------------------------------------------------------------------


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    limits = float_limits(dtype)
    return float(limits.min), float(limits.max)


@any_dtype
def _saturate_cast(value: Any, dtype: np.dtype[Any]) -> Any:
    value = as_symbol(value)
    for found in (value.dtype, dtype):
        if kind_of(found) not in "iufc":
            raise DTypeError(f"[saturate_cast] is not defined for {found.name}; use jt.cast")
    if value.dtype.kind == "c":
        if dtype.kind == "c":
            return cast_to(value, dtype)
        value = real_op.bind(value)
    source, target = _limits(value.dtype), _limits(info_of(dtype).real)
    low, high = max(source[0], target[0]), min(source[1], target[1])
    if is_floating(value.dtype) and dtype.kind in "iu":
        # The largest integer may lie between two floats: the cast is exact below the lower one.
        inside = clip_by_value(value, float(target[0]), _float_below(int(target[1]), value.dtype))
        return where(greater(value, inside), int(target[1]), cast_to(inside, dtype))
    if low > source[0] or high < source[1]:
        number = int if value.dtype.kind in "iu" else float
        value = clip_by_value(value, number(low), number(high))
    return cast_to(value, dtype)


def _float_below(bound: int, dtype: np.dtype[Any]) -> float:
    """Return the largest finite number of `dtype` that is not greater than `bound`."""
    if bound >= float(float_limits(dtype).max):
        return float(float_limits(dtype).max)
    nearest = dtype.type(bound)
    return float(nearest if int(nearest) <= bound else np.nextafter(nearest, dtype.type(0)))


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Cast `value` to another dtype; numbers out of range become the nearest limit of the dtype.

    Of a complex number, a real dtype gets the real part. nan becomes nan as a float, and 0 as an integer. No gradient
    flows through an integer dtype, nor from numbers out of range.

    Parameters
    ----------
    value : tensor_like
        Integers, floats or complex numbers.
    dtype : dtype
        Dtype of the result.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If one of the dtypes is bool.

    Examples
    --------
    >>> jt.saturate_cast([-1.0, 300.0], jt.uint8).numpy()
    array([  0, 255], dtype=uint8)
    """
    return apply(_saturate_cast, (value,), (as_dtype(dtype),))
