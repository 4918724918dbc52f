"""Multivariate distributions: normal, Dirichlet, multinomial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import as_flag
from jittape.errors import ShapeError
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import equal, greater, less, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log, sqrt
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.elementwise.special import digamma, lgamma, xlogy
from jittape.primitives.identity import stop_gradient
from jittape.primitives.linalg.cholesky import cholesky
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import diag
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.reduce.reductions import reduce_max, reduce_min, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, matrix_transpose, reshape
from jittape.primitives.spectra.eigh import eigh
from jittape.scipy.scipy_operands import floating_operand
from jittape.scipy.stats.formulas import OTHER_METHODS, missing_method
from jittape.typing import Tensor, TensorLike

__all__ = ["Dirichlet", "FrozenMultivariate", "Multinomial", "MultivariateNormal"]

LOG_TWO_PI = math.log(2 * math.pi)


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


class _Multivariate:
    """A distribution whose missing methods are refused with SciPy's name."""

    name: str

    def __getattr__(self, name: str) -> Any:
        if name in OTHER_METHODS:
            raise missing_method(self.name, name)
        raise AttributeError(f"{self.name} has no attribute {name!r}")


# ---- normal ----------------------------------------------------------------------------------------------------------


def _covariance(cov: Any, n: int) -> Any:
    if len(cov.shape) == 0:
        return multiply(cov, eye(n, dtype=cov.dtype))
    return diag(cov) if len(cov.shape) == 1 else cov


def _half_log_det(factor: Any) -> Any:
    return reduce_sum(log(diag_part(factor)))


def _mvn_logpdf(x: Any, mean: Any, cov: Any) -> Any:
    n = mean.shape[-1]
    factor = cholesky(_covariance(cov, n))
    difference = subtract(x, mean)
    lead = difference.shape[:-1]
    columns = matrix_transpose(reshape(difference, (math.prod(lead), n)))
    whitened = reduce_sum(square(triangular_solve(factor, columns)), 0)
    constant = add(_half_log_det(factor), 0.5 * n * LOG_TWO_PI)
    return reshape(negative(add(multiply(0.5, whitened), constant)), lead)


def _mvn_singular_logpdf(x: Any, mean: Any, cov: Any) -> Any:
    """Return the density on the subspace that the covariance spans; the limits are SciPy's."""
    n = mean.shape[-1]
    cov = _covariance(cov, n)
    values, vectors = eigh(multiply(0.5, add(cov, matrix_transpose(cov))))  # its gradient is symmetric
    limit = multiply(_EIGENVALUE_LIMITS[values.dtype.name], reduce_max(absolute(values)))
    spanned = greater(values, limit)
    some = where(spanned, values, 1.0)
    along = matmul(reshape(subtract(x, mean), (-1, n)), vectors)
    whitened = reduce_sum(where(spanned, divide(square(along), some), 0.0), -1)
    rank = reduce_sum(cast(spanned, values.dtype))
    constant = add(multiply(rank, LOG_TWO_PI), reduce_sum(log(some)))
    distance = sqrt(reduce_sum(where(spanned, 0.0, square(stop_gradient(along))), -1))
    inside = logical_or(less(distance, multiply(1e3, limit)), equal(rank, float(n)))
    value = where(inside, multiply(-0.5, add(constant, whitened)), -math.inf)
    value = where(less(reduce_min(values), negative(limit)), math.nan, value)
    return reshape(value, subtract(x, mean).shape[:-1])


_EIGENVALUE_LIMITS = {"float32": 1e3 * 2.0**-23, "float64": 1e6 * 2.0**-52}
"""Size of an eigenvalue, relative to the greatest one, up to which SciPy takes it for zero."""


def _mvn_pdf(x: Any, mean: Any, cov: Any) -> Any:
    return exp(_mvn_logpdf(x, mean, cov))


def _mvn_singular_pdf(x: Any, mean: Any, cov: Any) -> Any:
    return exp(_mvn_singular_logpdf(x, mean, cov))


def _mvn_entropy(mean: Any, cov: Any) -> Any:
    n = mean.shape[-1]
    return add(_half_log_det(cholesky(_covariance(cov, n))), 0.5 * n * (1 + LOG_TWO_PI))


class MultivariateNormal(_Multivariate):
    """The multivariate normal distribution, differentiable in the value, the mean and the covariance.

    Its methods take `mean` (zeros by default) and `cov`, a matrix, a vector of variances, or one variance. Only the
    lower triangle of `cov` is read. It must be positive definite: a singular covariance raises a `LinAlgError`, unless
    `allow_singular` is true. The density is then that on the subspace of the covariance, and 0 outside.

    Examples
    --------
    >>> from jittape.scipy import stats
    >>> round(float(stats.multivariate_normal.logpdf([0.0, 0.0], cov=[2.0, 2.0])), 4)
    -2.531
    """

    name = "multivariate_normal"

    def __call__(
        self, mean: TensorLike | None = None, cov: TensorLike = 1.0, allow_singular: bool = False
    ) -> FrozenMultivariate:
        """Return the distribution with these parameters."""
        mean, cov = self._parameters("__call__", mean, cov)
        singular = {"allow_singular": as_flag("allow_singular", allow_singular)}
        return FrozenMultivariate(
            self, {"mean": mean, "cov": cov}, {"logpdf": singular, "pdf": singular, "entropy": {}}
        )

    def _parameters(self, method: str, mean: Any, cov: Any) -> tuple[Any, Any]:
        cov = floating_operand(cov)
        mean = floating_operand([0.0] * (cov.shape[-1] if len(cov.shape) else 1) if mean is None else mean)
        mean = mean if len(mean.shape) else reshape(mean, (1,))
        if len(mean.shape) != 1 or len(cov.shape) > 2 or any(s != mean.shape[0] for s in cov.shape):
            raise ShapeError(
                f"[multivariate_normal.{method}] mean must be a vector of n numbers and cov an n by n matrix, a vector "
                f"or a number, got shapes {tuple(mean.shape)} and {tuple(cov.shape)}; use jt.vectorized_map for stacks"
            )
        return mean, cov

    def logpdf(
        self,
        x: TensorLike,
        mean: TensorLike | None = None,
        cov: TensorLike = 1.0,
        allow_singular: bool = False,
    ) -> Tensor:
        """Return the logarithm of the density of the vectors in the last dimension of `x`."""
        body = _mvn_singular_logpdf if as_flag("allow_singular", allow_singular) else _mvn_logpdf
        return apply(body, self._operands("logpdf", x, mean, cov))

    def pdf(
        self,
        x: TensorLike,
        mean: TensorLike | None = None,
        cov: TensorLike = 1.0,
        allow_singular: bool = False,
    ) -> Tensor:
        """Return the density of the vectors in the last dimension of `x`."""
        body = _mvn_singular_pdf if as_flag("allow_singular", allow_singular) else _mvn_pdf
        return apply(body, self._operands("pdf", x, mean, cov))

    def entropy(self, mean: TensorLike | None = None, cov: TensorLike = 1.0) -> Tensor:
        """Return the differential entropy."""
        return apply(_mvn_entropy, self._parameters("entropy", mean, cov))

    def _operands(self, method: str, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, Any]:
        x = floating_operand(x)
        mean, cov = self._parameters(method, mean, cov)
        if mean.shape[0] == 1 and len(x.shape) < 2:
            x = expand_dims(x, -1)
        if not len(x.shape) or x.shape[-1] != mean.shape[0]:
            raise ShapeError(
                f"[multivariate_normal.{method}] x must have {mean.shape[0]} numbers in its last dimension, "
                f"got shape {tuple(x.shape)}"
            )
        return x, mean, cov


# ---- Dirichlet and multinomial ---------------------------------------------------------------------------------------


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


class Dirichlet(_Multivariate):
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


class Multinomial(_Multivariate):
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
