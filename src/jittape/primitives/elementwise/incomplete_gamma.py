"""The regularized incomplete gamma functions P and Q = 1 - P, with derivatives in both arguments.

``d/dx P(a, x)`` is the density p of the gamma distribution. The derivatives with respect to `a` are kept as multiples
of p, because p and the derivatives may underflow together. With ``s_n`` the derivative of order n, divided by p,

    d/da s_n = s_(n+1) - s_n (log(x) - digamma(a)),
    d/dx s_n = (the derivative of p of order n with respect to a) / p - s_n ((a - 1) / x - 1).
"""

from __future__ import annotations

from math import comb
from typing import Any

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    subtract,
    zero_dominant_multiply,
)
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.special import polygamma
from jittape.primitives.record_parts import by_formula, common_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = ["gamma_density_op", "igamma", "igammac", "log_minus_digamma_op", "random_gamma_grad"]


# ---- derivatives -----------------------------------------------------------------------------------------------------

log_minus_digamma_op = Primitive(
    "log_minus_digamma",
    abstract_eval=same_real_float("log_minus_digamma"),
    impl=by_formula("log_minus_digamma"),
    vjp=(
        lambda g, out, a, x: zero_dominant_multiply(g, negative(polygamma(1, a))),
        lambda g, out, a, x: zero_dominant_multiply(g, reciprocal(x)),
    ),
    lowering=Map(lambda m, a, x: m.log_minus_digamma(a, x)),
    promote_args=common_float("log_minus_digamma"),
)


def _log_density_in_x(a: Any, x: Any) -> Any:
    """Return the derivative of the logarithm of the density with respect to `x`."""
    return subtract(divide(subtract(a, 1), x), 1)


gamma_density_op = Primitive(
    "gamma_density",
    abstract_eval=same_real_float("gamma_density"),
    impl=by_formula("gamma_density"),
    vjp=(
        lambda g, out, a, x: zero_dominant_multiply(
            g, zero_dominant_multiply(out, apply(log_minus_digamma_op, (a, x)))
        ),
        lambda g, out, a, x: zero_dominant_multiply(g, zero_dominant_multiply(out, _log_density_in_x(a, x))),
    ),
    lowering=Map(lambda m, a, x: m.gamma_density(a, x)),
    promote_args=common_float("gamma_density"),
)


def _density_derivative(a: Any, x: Any, order: int) -> Any:
    """Return the derivative of the density of an order of at least 1 with respect to `a`, divided by the density."""
    slopes = [apply(log_minus_digamma_op, (a, x)), *[negative(polygamma(k, a)) for k in range(1, order)]]
    results = [slopes[0]]
    for n in range(2, order + 1):
        total = add(slopes[n - 1], multiply(slopes[0], results[n - 2]))
        for k in range(1, n - 1):
            total = add(total, multiply(comb(n - 1, k), multiply(slopes[k], results[n - 2 - k])))
        results.append(total)
    return results[-1]


def _igamma_slope_abstract_eval(a: Aval, x: Aval, *, order: int) -> Aval:
    return same_real_float("random_gamma_grad")(a, x)


def _igamma_slope_in_a(g: Any, out: Any, a: Any, x: Any, *, order: int) -> Any:
    logarithm = apply(log_minus_digamma_op, (a, x))
    following = igamma_slope_op.bind(a, x, order=order + 1)
    return zero_dominant_multiply(g, subtract(following, zero_dominant_multiply(out, logarithm)))


def _igamma_slope_in_x(g: Any, out: Any, a: Any, x: Any, *, order: int) -> Any:
    of_density = zero_dominant_multiply(out, _log_density_in_x(a, x))
    return zero_dominant_multiply(g, subtract(_density_derivative(a, x, order), of_density))


igamma_slope_op = Primitive(
    "igamma_slope",
    abstract_eval=_igamma_slope_abstract_eval,
    impl=by_formula("igamma_slope"),
    vjp=(_igamma_slope_in_a, _igamma_slope_in_x),
    lowering=Map(lambda m, a, x, *, order: m.igamma_slope(a, x, order)),
)


def _igamma_in_a(a: Any, x: Any) -> Any:
    density = where(
        equal(x, 0), 0.0, apply(gamma_density_op, (a, x))
    )  # infinite at 0 for a < 1, where P is 0
    return zero_dominant_multiply(density, igamma_slope_op.bind(a, x, order=1))


# ---- the functions ---------------------------------------------------------------------------------------------------

igamma_op = Primitive(
    "igamma",
    abstract_eval=same_real_float("igamma"),
    impl=by_formula("igamma"),
    vjp=(
        lambda g, out, a, x: zero_dominant_multiply(g, _igamma_in_a(a, x)),
        lambda g, out, a, x: zero_dominant_multiply(g, apply(gamma_density_op, (a, x))),
    ),
    lowering=Map(lambda m, a, x: m.igamma(a, x)),
    promote_args=common_float("igamma"),
)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized lower incomplete gamma function P(a, x).

    P is the distribution function of the gamma distribution of shape `a`. It is differentiable in both arguments, to
    any order.

    Parameters
    ----------
    a, x : tensor_like
        Real; `a` must be positive, and `x` at least 0: P is nan elsewhere. They broadcast.
    name : str, optional
        For compatibility with TensorFlow.

    Returns
    -------
    Tensor
        ``integral of t**(a - 1) exp(-t) over t from 0 to x, divided by gamma(a)`` (DLMF 8.2.4).

    Raises
    ------
    DTypeError
        If `a` or `x` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.igamma([1.0, 2.0], 3.0).numpy().round(4)
    array([0.9502, 0.8009], dtype=float32)
    """
    return apply(igamma_op, (a, x))


igammac_op = Primitive(
    "igammac",
    abstract_eval=same_real_float("igammac"),
    impl=by_formula("igammac"),
    vjp=(
        lambda g, out, a, x: zero_dominant_multiply(negative(g), _igamma_in_a(a, x)),
        lambda g, out, a, x: zero_dominant_multiply(negative(g), apply(gamma_density_op, (a, x))),
    ),
    lowering=Map(lambda m, a, x: m.igammac(a, x)),
    promote_args=common_float("igammac"),
)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), accurate also where P is nearly 1.

    It is differentiable in both arguments, to any order.

    Parameters
    ----------
    a, x : tensor_like
        Real; `a` must be positive, and `x` at least 0: Q is nan elsewhere. They broadcast.
    name : str, optional
        For compatibility with TensorFlow.

    Returns
    -------
    Tensor
        ``integral of t**(a - 1) exp(-t) over t from x to infinity, divided by gamma(a)`` (DLMF 8.2.4).

    Raises
    ------
    DTypeError
        If `a` or `x` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.igammac([1.0, 2.0], 3.0).numpy().round(4)
    array([0.0498, 0.1991], dtype=float32)
    """
    return apply(igammac_op, (a, x))


def _random_gamma_grad_body(alpha: Any, sample: Any) -> Any:
    return negative(igamma_slope_op.bind(*common_float("random_gamma_grad")(alpha, sample), order=1))


def random_gamma_grad(alpha: TensorLike, sample: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of a sample of the gamma distribution with respect to its shape `alpha`.

    By implicit reparameterization (Figurnov et al., NeurIPS 2018), the derivative is ``-(dP/dalpha) / (dP/dsample)``
    with P(alpha, sample) the distribution function. It is differentiable in both arguments, to any order.

    Parameters
    ----------
    alpha : tensor_like
        Shape of the distribution, positive.
    sample : tensor_like
        Sample of the distribution with rate 1, at least 0. It broadcasts with `alpha`.
    name : str, optional
        For compatibility with TensorFlow.

    Returns
    -------
    Tensor
        The derivative, with the broadcast shape.

    Raises
    ------
    DTypeError
        If `alpha` or `sample` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.random_gamma_grad(2.0, [0.5, 3.0]).numpy().round(4)
    array([0.498 , 1.3218], dtype=float32)
    """
    return apply(_random_gamma_grad_body, (alpha, sample))
