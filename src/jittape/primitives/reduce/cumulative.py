"""Cumulative sums and products along an axis, and the linear recurrence that their gradients use.

No rule divides. The derivative of a cumulative product is a linear recurrence, and that of a linear recurrence is a
recurrence in the other direction. So products with zeros among their factors have correct gradients of any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import int64
from jittape.core.forms import Decomposition, Map, Scan
from jittape.core.primitive import Primitive, apply
from jittape.core.user_calls import as_flag
from jittape.primitives.batched_params import along_axis
from jittape.primitives.broadcast import as_symbol, axis_key, broadcast, cast_to, conj, require_equal
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    subtract,
    zero_dominant_multiply,
)
from jittape.primitives.elementwise.assertions import MADE
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import equal, greater, logical_and, logical_not, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log1p
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.record_parts import floating, require_kinds
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import concat_op, flipped, placed, sliced
from jittape.typing import Tensor, TensorLike

__all__ = [
    "advanced",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "delayed",
    "products_of_others",
    "recurrence_op",
]

# ---- shifts ----------------------------------------------------------------------------------------------------------


def delayed(x: Any, axis: int, first: float) -> Any:
    """Return `x` shifted by one towards the end of `axis`; the first element is `first`."""
    n = x.shape[axis]
    if n == 0:
        return x
    kept = sliced(x, axis, 0, n - 1)
    if first == 0:
        return placed(kept, tuple([int(a == axis) for a in range(len(x.shape))]), x.shape)
    start = broadcast(literal(first, x.dtype), tuple([1 if a == axis else m for a, m in enumerate(x.shape)]))
    return concat_op.bind(start, kept, axis=axis)


def advanced(x: Any, axis: int) -> Any:
    """Return `x` shifted by one towards the beginning of `axis`; the last element is 0."""
    n = x.shape[axis]
    return placed(sliced(x, axis, 1, n - 1), (0,) * len(x.shape), x.shape) if n else x


# ---- the linear recurrence -------------------------------------------------------------------------------------------


def _recurrence_impl(a: Any, b: Any, *, axis: int) -> Any:
    result = np.empty_like(b)
    factors, terms, states = (np.moveaxis(x, axis, 0) for x in (a, b, result))
    state = np.zeros(terms.shape[1:], b.dtype)
    for i in range(len(terms)):
        state = terms[i] + factors[i] * state
        states[i] = state
    return result


def _backwards(a: Any, g: Any, axis: int) -> Any:
    """Return the adjoint of the recurrence with factors `a`: r[i] = g[i] + conj(a[i+1]) r[i+1]."""
    factors = flipped(conj(advanced(a, axis)), (axis,))
    return flipped(recurrence_op.bind(factors, flipped(g, (axis,)), axis=axis), (axis,))


def _recurrence_factors_vjp(g: Any, out: Any, a: Any, b: Any, *, axis: int) -> Any:
    return multiply(_backwards(a, g, axis), conj(delayed(out, axis, 0.0)))


recurrence_op = Primitive(
    "linear_recurrence",
    abstract_eval=lambda a, b, *, axis: require_equal("linear_recurrence", a, b),
    impl=_recurrence_impl,
    vjp=(_recurrence_factors_vjp, lambda g, out, a, b, *, axis: _backwards(a, g, axis)),
    lowering=Scan(lambda m, before, a, b: m.add(b, m.multiply(a, before)), 0.0),
    batch=along_axis(),
)
"""The linear recurrence s[i] = b[i] + a[i] s[i-1] along `axis`, with s[-1] = 0."""


# ---- cumulative sums and products ------------------------------------------------------------------------------------

cumsum_op: Primitive = Primitive(
    "cumsum",
    abstract_eval=lambda x, *, axis: x,
    impl=lambda x, *, axis: np.cumsum(x, axis, dtype=x.dtype),
    vjp=(lambda g, out, x, *, axis: flipped(cumsum_op.bind(flipped(g, (axis,)), axis=axis), (axis,)),),
    lowering=Scan(lambda m, before, x: m.add(before, x), -0.0),
    batch=along_axis(),
)


def _cumprod_vjp(g: Any, out: Any, x: Any, *, axis: int) -> Any:
    return multiply(conj(delayed(out, axis, 1.0)), _backwards(x, g, axis))


cumprod_op = Primitive(
    "cumprod",
    abstract_eval=lambda x, *, axis: x,
    impl=lambda x, *, axis: np.cumprod(x, axis, dtype=x.dtype),
    vjp=(_cumprod_vjp,),
    lowering=Scan(lambda m, before, x: m.multiply(before, x), 1.0),
    batch=along_axis(),
)


def products_of_others(x: Any, axis: int) -> Any:
    """Return, for each element, the product of all other elements along `axis`."""
    before = delayed(cumprod_op.bind(x, axis=axis), axis, 1.0)
    after = delayed(cumprod_op.bind(flipped(x, (axis,)), axis=axis), axis, 1.0)
    return multiply(before, flipped(after, (axis,)))


def _scan(op: Primitive, x: Any, axis: int, exclusive: bool, reverse: bool, start: float) -> Any:
    x = as_symbol(x)
    if x.dtype.kind == "b":
        x = cast_to(x, int64)
    a = one_axis(op.name, axis, len(x.shape))
    out = op.bind(flipped(x, (a,)) if reverse else x, axis=a)
    if exclusive:
        out = delayed(out, a, start)
    return flipped(out, (a,)) if reverse else out


def _options(axis: Any, exclusive: Any, reverse: Any) -> tuple[Any, bool, bool]:
    return axis_key(axis), as_flag("exclusive", exclusive), as_flag("reverse", reverse)


def _cumsum_body(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return _scan(cumsum_op, x, axis, exclusive, reverse, 0.0)


def cumsum(
    x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return the cumulative sum along `axis`.

    Parameters
    ----------
    x : tensor
        The result has its dtype; bools are counted in int64.
    axis : int
        The dimension to sum along.
    exclusive : bool
        Exclude the element itself from its sum.
    reverse : bool
        Start at the end.

    Raises
    ------
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.cumsum([1.0, 2.0, 3.0]).numpy()
    array([1., 3., 6.], dtype=float32)
    >>> jt.cumsum([1.0, 2.0, 3.0], exclusive=True, reverse=True).numpy()
    array([5., 3., 0.], dtype=float32)
    """
    return apply(_cumsum_body, (x,), _options(axis, exclusive, reverse))


def _cumprod_body(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return _scan(cumprod_op, x, axis, exclusive, reverse, 1.0)


def cumprod(
    x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return the cumulative product along `axis`. The gradient is correct for elements that are 0, to any order.

    Parameters
    ----------
    x : tensor
        The result has its dtype; bools are multiplied in int64.
    axis : int
        The dimension to multiply along.
    exclusive : bool
        Exclude the element itself from its product.
    reverse : bool
        Start at the end.

    Raises
    ------
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.math.cumprod([1.0, 2.0, 3.0]).numpy()
    array([1., 2., 6.], dtype=float32)
    """
    return apply(_cumprod_body, (x,), _options(axis, exclusive, reverse))


# ---- cumulative logsumexp --------------------------------------------------------------------------------------------


cumulative_max_op = Primitive(
    "cumulative_max",
    abstract_eval=lambda x, *, axis: x,
    impl=lambda x, *, axis: np.maximum.accumulate(x, axis),
    gradient_stops=MADE,
    lowering=Scan(lambda m, before, x: m.maximum(before, x), -np.inf),
    batch=along_axis(),
)


def _residual(m: Any, before: Any, factor: Any, term: Any, state: Any) -> Any:
    """Return ``factor * before + term - state`` with the digits that rounding dropped from `state`."""
    from jittape.vectormath.double_word import (  # imported on first use, not with the package
        two_product,
        two_sum,
    )

    product, product_error = two_product(m, factor, before)
    total, total_error = two_sum(m, product, term)
    return (total - state) + (total_error + product_error)


def _residual_impl(*operands: Any) -> Any:
    from jittape.vectormath import NumPyMath  # imported on first use, not with the package

    return _residual(NumPyMath(), *operands)


recurrence_residual_op = Primitive(
    "recurrence_residual",
    abstract_eval=lambda *operands: require_equal("recurrence_residual", *operands),
    impl=_residual_impl,
    gradient_stops=MADE,
    lowering=Map(_residual),
)


def _sum_beside_greatest(x: Any, *, axis: int) -> Any:
    """Return ``log(cumsum(exp(x)))`` as the greatest element so far plus ``log1p(r)``.

    r is the sum of the exponentials of all other elements relative to the greatest, a linear recurrence. A second
    recurrence adds what rounding drops from r, so the error does not grow with the number of elements.
    """
    top = cumulative_max_op.bind(x, axis=axis)
    before = delayed(top, axis, -np.inf)
    terms = exp(negative(absolute(_difference(x, before))))
    factors = where(greater(x, before), terms, 1)
    rest = recurrence_op.bind(factors, terms, axis=axis)
    dropped = recurrence_residual_op.bind(delayed(rest, axis, 0.0), factors, terms, rest)
    dropped = divide(recurrence_op.bind(factors, dropped, axis=axis), add(rest, 1))
    return add(top, add(log1p(rest), dropped))


def _cumulative_logsumexp_impl(x: Any, *, axis: int) -> Any:
    """Evaluate `_sum_beside_greatest`."""

    def shifted(values: Any, first: float) -> Any:
        widths = [(int(a == axis), 0) for a in range(x.ndim)]
        return np.take(np.pad(values, widths, constant_values=first), range(x.shape[axis]), axis)

    top = np.maximum.accumulate(x, axis)
    before = shifted(top, -np.inf)
    with np.errstate(all="ignore"):
        terms = np.exp(-np.abs(np.where(x == before, 0, x - before)))
        factors = np.where(x > before, terms, x.dtype.type(1))
        rest = _recurrence_impl(factors, terms, axis=axis)
        dropped = _residual_impl(shifted(rest, 0.0), factors, terms, rest)
        return top + (np.log1p(rest) + _recurrence_impl(factors, dropped, axis=axis) / (1 + rest))


def _cumulative_logsumexp_vjp(g: Any, out: Any, x: Any, *, axis: int) -> Any:
    """Return the gradient by a recurrence whose factors are at most 1, so nothing overflows.

    With s[j] the sum of ``g[i] exp(out[j] - out[i])`` over i from j, it is ``exp(x[j] - out[j]) s[j]``.
    """
    factors = exp(_difference(delayed(out, axis, -np.inf), out))
    factors = flipped(advanced(factors, axis), (axis,))
    sums = flipped(recurrence_op.bind(factors, flipped(g, (axis,)), axis=axis), (axis,))
    return zero_dominant_multiply(sums, exp(_difference(x, out)))


def _difference(x: Any, y: Any) -> Any:
    """Return ``x - y``, and 0 where they are equal infinities."""
    same_infinity = logical_and(equal(x, y), logical_not(is_finite(x)))
    return where(same_infinity, 0, subtract(x, y))


cumulative_logsumexp_op = Primitive(
    "cumulative_logsumexp",
    abstract_eval=lambda x, *, axis: require_kinds("cumulative_logsumexp", "f", x),
    impl=_cumulative_logsumexp_impl,
    vjp=(_cumulative_logsumexp_vjp,),
    lowering=Decomposition(_sum_beside_greatest),
    batch=along_axis(),
)


def _cumulative_logsumexp_body(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return _scan(cumulative_logsumexp_op, floating(x), axis, exclusive, reverse, -np.inf)


def cumulative_logsumexp(
    x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return ``log(cumsum(exp(x)))`` along `axis`, without overflow.

    Parameters
    ----------
    x : tensor
        Real; integers give floats.
    axis : int
        The dimension to sum along.
    exclusive : bool
        Exclude the element itself from its sum; the first result is -inf.
    reverse : bool
        Start at the end.

    Raises
    ------
    DTypeError
        If `x` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.math.cumulative_logsumexp([0.0, 0.0, 200.0]).numpy().round(3)
    array([  0.   ,   0.693, 200.   ], dtype=float32)
    """
    return apply(_cumulative_logsumexp_body, (x,), _options(axis, exclusive, reverse))
