"""The regularized incomplete beta function I, with derivatives in all three arguments.

``d/dx I_x(a, b)`` is the density p of the beta distribution. Derivatives with respect to `a` and `b` are computed as
multiples of p. With ``s_ij`` the derivative of orders i and j, divided by p,

    d/da s_ij = s_(i+1)j - s_ij d/da log(p),
    d/dx s_ij = (the derivative of p of orders i and j with respect to a and b) / p - s_ij d/dx log(p).

The terms with s_ij cancel in derivatives of ``p s_ij``, so that product is an op of its own.
"""

from __future__ import annotations

from typing import Any

from jittape.core.builder import literal
from jittape.core.forms import Decomposition, Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import equal, logical_or, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.incomplete_gamma import log_minus_digamma_op
from jittape.primitives.elementwise.special import polygamma
from jittape.primitives.record_parts import by_decomposition, by_formula, common_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = ["beta_density_op", "betainc", "betainc_slope_op"]

# ---- derivatives -----------------------------------------------------------------------------------------------------


def _log_density_slopes(a: Any, b: Any, x: Any, orders: tuple[int, int]) -> dict[tuple[int, int], Any]:
    """Return the derivatives of the logarithm of the density with respect to `a` and `b`, up to `orders`."""
    n = add(a, b)
    slopes: dict[tuple[int, int], Any] = {}
    for i in range(orders[0] + 1):
        for j in range(orders[1] + 1):
            if i + j == 1:
                # log(x) - digamma(a) + digamma(n), without the differences of large logarithms
                own, part = (a, x) if i else (b, subtract(1, x))
                logarithm = apply(log_minus_digamma_op, (own, multiply(part, n)))
                slopes[i, j] = subtract(logarithm, apply(log_minus_digamma_op, (n, n)))
            elif i + j > 1:
                slopes[i, j] = polygamma(i + j - 1, n)
                if j == 0:
                    slopes[i, j] = subtract(slopes[i, j], polygamma(i - 1, a))
                if i == 0:
                    slopes[i, j] = subtract(slopes[i, j], polygamma(j - 1, b))
    return slopes


def _of_density(a: Any, b: Any, x: Any, orders: tuple[int, int]) -> Any:
    """Return the derivative of the density with respect to `a` and `b`, divided by it."""
    from jittape.vectormath.gamma_family.beta_derivatives import derivatives_of_exponential

    slopes = _log_density_slopes(a, b, x, orders)
    return derivatives_of_exponential(slopes, literal(1, x.dtype), orders, add, multiply)[orders]


def _log_density_in_x(a: Any, b: Any, x: Any) -> Any:
    return subtract(divide(subtract(a, 1), x), divide(subtract(b, 1), subtract(1, x)))


def _times(g: Any, out: Any, slope: Any) -> Any:
    return zero_dominant_multiply(g, zero_dominant_multiply(out, slope))


beta_density_op = Primitive(
    "beta_density",
    abstract_eval=same_real_float("beta_density"),
    impl=by_formula("beta_density"),
    vjp=(
        lambda g, out, a, b, x: _times(g, out, _log_density_slopes(a, b, x, (1, 0))[1, 0]),
        lambda g, out, a, b, x: _times(g, out, _log_density_slopes(a, b, x, (0, 1))[0, 1]),
        lambda g, out, a, b, x: _times(g, out, _log_density_in_x(a, b, x)),
    ),
    lowering=Map(lambda m, a, b, x: m.beta_density(a, b, x)),
    promote_args=common_float("beta_density"),
)


def _slope_abstract_eval(a: Aval, b: Aval, x: Aval, *, order_a: int, order_b: int) -> Aval:
    return same_real_float("betainc")(a, b, x)


def _slope_in_a(g: Any, out: Any, a: Any, b: Any, x: Any, *, order_a: int, order_b: int) -> Any:
    following = betainc_slope_op.bind(a, b, x, order_a=order_a + 1, order_b=order_b)
    of_density = zero_dominant_multiply(out, _log_density_slopes(a, b, x, (1, 0))[1, 0])
    return zero_dominant_multiply(g, subtract(following, of_density))


def _slope_in_b(g: Any, out: Any, a: Any, b: Any, x: Any, *, order_a: int, order_b: int) -> Any:
    following = betainc_slope_op.bind(a, b, x, order_a=order_a, order_b=order_b + 1)
    of_density = zero_dominant_multiply(out, _log_density_slopes(a, b, x, (0, 1))[0, 1])
    return zero_dominant_multiply(g, subtract(following, of_density))


def _slope_in_x(g: Any, out: Any, a: Any, b: Any, x: Any, *, order_a: int, order_b: int) -> Any:
    of_density = _of_density(a, b, x, (order_a, order_b))
    change = zero_dominant_multiply(out, _log_density_in_x(a, b, x))
    return zero_dominant_multiply(g, subtract(of_density, change))


betainc_slope_op = Primitive(
    "betainc_slope",
    abstract_eval=_slope_abstract_eval,
    impl=by_formula("betainc_slope"),
    vjp=(_slope_in_a, _slope_in_b, _slope_in_x),
    lowering=Map(lambda m, a, b, x, *, order_a, order_b: m.betainc_slope(a, b, x, order_a, order_b)),
)
"""A derivative with respect to `a` and `b`, divided by the density."""


def _partial(a: Any, b: Any, x: Any, *, order_a: int, order_b: int) -> Any:
    slope = betainc_slope_op.bind(a, b, x, order_a=order_a, order_b=order_b)
    ends = logical_or(
        equal(x, 0), equal(x, 1)
    )  # the density may be infinite there, and the function is constant
    return zero_dominant_multiply(where(ends, 0.0, beta_density_op.bind(a, b, x)), slope)


def _partial_in_x(g: Any, out: Any, a: Any, b: Any, x: Any, *, order_a: int, order_b: int) -> Any:
    change = zero_dominant_multiply(beta_density_op.bind(a, b, x), _of_density(a, b, x, (order_a, order_b)))
    return zero_dominant_multiply(g, change)


betainc_partial_op: Primitive = Primitive(
    "betainc_partial",
    abstract_eval=_slope_abstract_eval,
    impl=by_decomposition(_partial),
    vjp=(
        lambda g, out, a, b, x, *, order_a, order_b: _times_partial(g, a, b, x, order_a + 1, order_b),
        lambda g, out, a, b, x, *, order_a, order_b: _times_partial(g, a, b, x, order_a, order_b + 1),
        _partial_in_x,
    ),
    lowering=Decomposition(_partial),
    batch=alike(),
)
"""A derivative with respect to `a` and `b`."""


def _times_partial(g: Any, a: Any, b: Any, x: Any, order_a: int, order_b: int) -> Any:
    return zero_dominant_multiply(g, betainc_partial_op.bind(a, b, x, order_a=order_a, order_b=order_b))


# ---- the function ----------------------------------------------------------------------------------------------------

betainc_op = Primitive(
    "betainc",
    abstract_eval=same_real_float("betainc"),
    impl=by_formula("betainc"),
    vjp=(
        lambda g, out, a, b, x: _times_partial(g, a, b, x, 1, 0),
        lambda g, out, a, b, x: _times_partial(g, a, b, x, 0, 1),
        lambda g, out, a, b, x: zero_dominant_multiply(g, apply(beta_density_op, (a, b, x))),
    ),
    lowering=Map(lambda m, a, b, x: m.betainc(a, b, x)),
    promote_args=common_float("betainc"),
)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized incomplete beta function I_x(a, b), the distribution function of the beta distribution.

    It is differentiable in all three arguments, to any order; TensorFlow has the derivative with respect to `x` only.

    Parameters
    ----------
    a, b : tensor_like
        Real, positive and finite: the result is nan elsewhere.
    x : tensor_like
        Between 0 and 1: the result is nan elsewhere. The three broadcast.
    name : str, optional
        For compatibility with TensorFlow.

    Returns
    -------
    Tensor
        The integral of ``t**(a - 1) (1 - t)**(b - 1)`` from 0 to `x`, divided by that from 0 to 1 (DLMF 8.17.2).

    Raises
    ------
    DTypeError
        If `a`, `b` or `x` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.betainc(2.0, [1.0, 3.0], 0.5).numpy().round(4)
    array([0.25  , 0.6875], dtype=float32)
    """
    return apply(betainc_op, (a, b, x))
