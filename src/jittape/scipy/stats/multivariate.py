"""Multivariate distributions: Dirichlet and multinomial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.special import digamma, lgamma, xlogy
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, reshape
from jittape.scipy.scipy_operands import floating_operand
from jittape.scipy.stats.formulas import OTHER_METHODS, missing_method
from jittape.typing import Tensor, TensorLike

__all__ = ["Dirichlet", "FrozenMultivariate", "Multinomial", "Multivariate"]


class FrozenMultivariate:
    """A multivariate distribution with fixed parameters.

    Parameters
    ----------
    dist : object
        The distribution.
    parameters : dict
        The fixed parameters, which are attributes unless a method has the name.
    methods : dict
        Further arguments of each method by its name.

    Examples
    --------
    >>> from jittape.scipy import stats
    >>> round(float(stats.multivariate_normal(cov=[2.0, 2.0]).logpdf([0.0, 0.0])), 4)
    -2.531
    """

    def __init__(
        self, dist: Any, parameters: dict[str, Any], methods: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._dist, self._parameters, self._methods = dist, parameters, methods

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            if name in self._methods:
                return partial(getattr(self._dist, name), **self._parameters, **self._methods[name])
            if name in self._parameters:
                return self._parameters[name]
            if name in OTHER_METHODS:
                raise missing_method(self._dist.name, name)
        raise AttributeError(f"a frozen multivariate distribution has no attribute {name!r}")


class Multivariate:
    """A distribution whose missing methods are refused with SciPy's name."""

    name: str

    def __getattr__(self, name: str) -> Any:
        if name in OTHER_METHODS:
            raise missing_method(self.name, name)
        raise AttributeError(f"{self.name} has no attribute {name!r}")


def _dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    log_beta = subtract(reduce_sum(lgamma(alpha)), lgamma(reduce_sum(alpha)))
    weights = alpha if len(x.shape) == 1 else reshape(alpha, (*alpha.shape, *(1,) * (len(x.shape) - 1)))
    powers = xlogy(subtract(broadcast_to(weights, x.shape), 1.0), x)
    return subtract(reduce_sum(powers, 0), log_beta)


def _dirichlet_pdf(x: Any, alpha: Any) -> Any:
    return exp(_dirichlet_logpdf(x, alpha))


def _dirichlet_mean(alpha: Any) -> Any:
    return divide(alpha, reduce_sum(alpha))


def _dirichlet_var(alpha: Any) -> Any:
    total = reduce_sum(alpha)
    return divide(multiply(alpha, subtract(total, alpha)), multiply(square(total), add(total, 1.0)))


def _dirichlet_entropy(alpha: Any) -> Any:
    total, n = reduce_sum(alpha), alpha.shape[0]
    log_beta = subtract(reduce_sum(lgamma(alpha)), lgamma(total))
    weighted = reduce_sum(multiply(subtract(alpha, 1.0), digamma(alpha)))
    return subtract(add(log_beta, multiply(subtract(total, float(n)), digamma(total))), weighted)


class Dirichlet(Multivariate):
    """The Dirichlet distribution, differentiable in the value and in `alpha`.

    As in SciPy, the first dimension of `x` has the components, and a last component may be missing. That the components
    are positive and sum to 1 is not checked.

    Examples
    --------
    >>> from jittape.scipy import stats
    >>> stats.dirichlet.mean([1.0, 3.0]).numpy()
    array([0.25, 0.75])
    """

    name = "dirichlet"

    def __call__(self, alpha: TensorLike) -> FrozenMultivariate:
        """Return the distribution with these parameters."""
        names = ("logpdf", "pdf", "mean", "var", "entropy")
        return FrozenMultivariate(self, {"alpha": floating_operand(alpha)}, {name: {} for name in names})

    def _operands(self, method: str, x: Any, alpha: Any) -> tuple[Any, Any]:
        x, alpha = floating_operand(x), floating_operand(alpha)
        if len(x.shape) and x.shape[0] == alpha.shape[0] - 1:
            x = concat([x, expand_dims(subtract(1.0, reduce_sum(x, 0)), 0)], 0)
        if not len(x.shape) or x.shape[0] != alpha.shape[0]:
            raise ShapeError(
                f"[dirichlet.{method}] the first dimension of x must be that of alpha, {alpha.shape[0]}, or one less, "
                f"got shape {tuple(x.shape)}"
            )
        return x, alpha

    def logpdf(self, x: TensorLike, alpha: TensorLike) -> Tensor:
        """Return the logarithm of the density."""
        return apply(_dirichlet_logpdf, self._operands("logpdf", x, alpha))

    def pdf(self, x: TensorLike, alpha: TensorLike) -> Tensor:
        """Return the density."""
        return apply(_dirichlet_pdf, self._operands("pdf", x, alpha))

    def mean(self, alpha: TensorLike) -> Tensor:
        """Return the mean."""
        return apply(_dirichlet_mean, (floating_operand(alpha),))

    def var(self, alpha: TensorLike) -> Tensor:
        """Return the variances."""
        return apply(_dirichlet_var, (floating_operand(alpha),))

    def entropy(self, alpha: TensorLike) -> Tensor:
        """Return the differential entropy."""
        return apply(_dirichlet_entropy, (floating_operand(alpha),))


def _multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    terms = reduce_sum(subtract(xlogy(x, broadcast_to(p, x.shape)), lgamma(add(x, 1.0))), -1)
    complete = equal(reduce_sum(x, -1), n)
    value = add(lgamma(add(n, 1.0)), terms)
    return where(complete, value, -math.inf)


def _multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    return exp(_multinomial_logpmf(x, n, p))


class Multinomial(Multivariate):
    """The multinomial distribution, differentiable in `p`, whose components must sum to 1 (not checked).

    Examples
    --------
    >>> from jittape.scipy import stats
    >>> round(float(stats.multinomial.pmf([1, 1], 2, [0.5, 0.5])), 4)
    0.5
    """

    name = "multinomial"

    def __call__(self, n: TensorLike, p: TensorLike) -> FrozenMultivariate:
        """Return the distribution with these parameters."""
        given = {"n": floating_operand(n), "p": floating_operand(p)}
        return FrozenMultivariate(self, given, {"logpmf": {}, "pmf": {}})

    def logpmf(self, x: TensorLike, n: TensorLike, p: TensorLike) -> Tensor:
        """Return the logarithm of the probability of the counts in the last dimension of `x`."""
        return apply(_multinomial_logpmf, tuple([floating_operand(v) for v in (x, n, p)]))

    def pmf(self, x: TensorLike, n: TensorLike, p: TensorLike) -> Tensor:
        """Return the probability of the counts in the last dimension of `x`."""
        return apply(_multinomial_pmf, tuple([floating_operand(v) for v in (x, n, p)]))
