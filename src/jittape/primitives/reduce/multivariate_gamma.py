"""The multivariate beta and gamma functions: sums of logarithms of gamma functions."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.builder import literal
from jittape.core.dtypes import complex128, float64
from jittape.core.forms import Decomposition, Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, cast_to, require_equal
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.assertions import MADE
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import greater, logical_and, where
from jittape.primitives.elementwise.complex_numbers import imag, real
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.gamma_beta import polygamma_difference_op
from jittape.primitives.elementwise.special import lgamma
from jittape.primitives.record_parts import (
    by_decomposition,
    by_formula,
    filled,
    floating,
    require_kinds,
)
from jittape.primitives.reduce.reductions import reduce_max, reduce_min, reduce_sum
from jittape.primitives.shape.reshaping import expand_dims
from jittape.typing import Tensor, TensorLike

__all__ = ["lbeta", "multigammaln"]


def _step(name: str) -> Primitive:
    """Return the record of an elementwise step of `_positive_lbeta` in float64, which has no gradient of its own."""
    return Primitive(
        name,
        abstract_eval=lambda *operands, **params: require_equal(name, *operands),
        impl=by_formula(name),
        gradient_stops=MADE,
        lowering=Map(lambda m, *operands, **params: getattr(m, name)(*operands, **params)),
    )


leading_part_op, sum_error_op, log_word_op = _step("leading_part"), _step("sum_error"), _step("log_word")
lbeta_term_of_total_op, lbeta_sum_op = _step("lbeta_term_of_total"), _step("lbeta_sum")
lbeta_word_op, lbeta_word_of_total_op = _step("lbeta_word"), _step("lbeta_word_of_total")


def _term_impl(*operands: Any) -> Any:
    from jittape.vectormath import NumPyMath  # imported on first use, not with the package

    leading, rest = NumPyMath().lbeta_term(*operands)
    return leading + 1j * rest


lbeta_term_op = Primitive(
    "lbeta_term",
    abstract_eval=lambda *operands: Aval(operands[0].shape, complex128),
    impl=_term_impl,
    gradient_stops=MADE,
    lowering=Map(lambda m, *operands: m.complex_number(*m.lbeta_term(*operands))),
)
"""The two parts of a term, as the parts of a complex number: one loop computes and adds both."""


def _along(values: Any, x: Any) -> Any:
    """Repeat results of sums along the last dimension of `x`."""
    return broadcast(expand_dims(values, -1), x.shape)


def _others(x: Any) -> tuple[Any, Any]:
    """Return the sum of all other elements for each positive one, and the sum of those that are at most half the total.

    If an element is more than half of the total, the others are added without it, so no digits cancel.
    """
    total = reduce_sum(x, -1)
    is_most = greater(multiply(x, 2.0), _along(total, x))
    rest = reduce_sum(where(is_most, 0, x), -1)
    return where(is_most, _along(rest, x), subtract(_along(total, x), x)), rest


def _total_in_two_words(x: Any) -> tuple[Any, Any]:
    """Return the sum of positive elements and its rounding error."""
    unit = multiply(reduce_max(x, -1), 4.0 * x.shape[-1])
    leading = leading_part_op.bind(x, _along(unit, x))
    sums = reduce_sum(leading, -1), reduce_sum(subtract(x, leading), -1)
    return add(*sums), sum_error_op.bind(*sums)


def _positive_lbeta(x: Any) -> Any:
    """Return `lbeta` of positive elements, for float64 by sums of two-word numbers.

    Sums of float64 suffice for float32: 1,000 vectors of 5 elements take 137 us instead of 247.
    """
    wide = cast_to(x, float64)
    others, rest = _others(wide)
    if x.dtype != float64:
        sum_ = reduce_sum(wide, -1)
        logarithm_of_sum = log(sum_)
        terms = lbeta_word_op.bind(wide, others, _along(sum_, wide), _along(logarithm_of_sum, wide))
        of_sum = lbeta_word_of_total_op.bind(sum_, logarithm_of_sum)
        return cast_to(add(reduce_sum(terms, -1), of_sum), x.dtype)
    total = _total_in_two_words(wide)
    logarithm = [log_word_op.bind(*total, word=word) for word in (0, 1)]
    # A bound of the sum of the terms, times 4: each is at most 8 * 750, or the sum of all but the greatest times 750.
    unit = add(multiply(rest, 3e3), 2.4e4 * x.shape[-1])
    operands = (wide, others, *[_along(value, wide) for value in (total[0], *logarithm, unit)])
    terms = lbeta_term_op.bind(*operands)
    sums = reduce_sum(real(terms), -1), reduce_sum(imag(terms), -1)
    of_total = [lbeta_term_of_total_op.bind(*total, *logarithm, word=word) for word in (0, 1)]
    return cast_to(lbeta_sum_op.bind(*sums, *of_total), x.dtype)


def _positive_lbeta_vjp(g: Any, out: Any, x: Any) -> Any:
    return zero_dominant_multiply(_along(g, x), polygamma_difference_op.bind(x, _others(x)[0], order=0))


positive_lbeta_op = Primitive(
    "positive_lbeta",
    abstract_eval=lambda x: Aval(x.shape[:-1], x.dtype),
    impl=by_decomposition(_positive_lbeta),
    vjp=(_positive_lbeta_vjp,),
    lowering=Decomposition(_positive_lbeta),
    batch=alike(),
)


def _lbeta(x: Any) -> Any:
    x = floating(x)
    require_kinds("lbeta", "f", x.aval)
    if not x.shape:
        raise ShapeError("[lbeta] x must have at least one dimension, got a scalar; the last one is reduced")
    if x.shape[-1] == 0:
        return filled(reduce_sum(x, -1), -math.inf)
    if x.shape[-1] == 1:
        return multiply(reduce_sum(x, -1), 0.0)
    total = reduce_sum(x, -1)
    positive = logical_and(greater(reduce_min(x, -1), 0), is_finite(total))
    others = subtract(reduce_sum(lgamma(x), -1), lgamma(total))
    return where(positive, positive_lbeta_op.bind(where(_along(positive, x), x, 1)), others)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the beta function of the elements along the last dimension.

    It is the sum of their `lgamma`, minus the `lgamma` of their sum: the normalization of the Dirichlet distribution.
    If all are positive, the error is at most 2 units in the last place of the larger of 1 and the result.

    Parameters
    ----------
    x : tensor_like, shape (..., n)
        Positive; integers give floats. Without elements the result is -inf.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor, shape (...)

    Raises
    ------
    DTypeError
        If `x` is complex.
    ShapeError
        If `x` is a scalar.

    Examples
    --------
    >>> jt.math.lbeta([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]).numpy().round(4)
    array([-4.0943, -4.7875], dtype=float32)
    """
    return apply(_lbeta, (x,))


def _multigammaln(a: Any, d: int) -> Any:
    a = floating(a)
    require_kinds("multigammaln", "f", a.aval)
    total: Any = literal(d * (d - 1) / 4 * math.log(math.pi), a.dtype)
    for j in range(d):
        total = add(total, lgamma(subtract(a, j / 2)))
    return total


def multigammaln(a: TensorLike, d: int, name: str | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension `d` (DLMF 35.3.4).

    Parameters
    ----------
    a : tensor_like
        Greater than ``(d - 1) / 2``; integers give floats.
    d : int
        Dimension of the matrices, at least 1. It is part of the program's structure.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `d` is less than 1.

    Examples
    --------
    >>> jt.math.multigammaln([3.0], 2).numpy().round(4)
    array([1.5502], dtype=float32)
    """
    dimension = as_int("d", d)
    if not 1 <= dimension <= 1000:
        raise ValueError(f"[multigammaln] d, the dimension, must be from 1 to 1000, got {d}")
    return apply(_multigammaln, (a,), (dimension,))
