"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_flag
from jittape.errors import ShapeError
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, square, subtract
from jittape.primitives.elementwise.comparison import equal, greater, less, logical_or, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log, sqrt
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.identity import stop_gradient
from jittape.primitives.linalg.cholesky import cholesky
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import diag
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.reduce.reductions import reduce_max, reduce_min, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims, matrix_transpose, reshape
from jittape.primitives.spectra.eigh import eigh
from jittape.scipy.scipy_operands import floating_operand
from jittape.scipy.stats.multivariate import FrozenMultivariate, Multivariate
from jittape.scipy.stats.normal_probabilities import box_probability
from jittape.typing import Tensor, TensorLike

__all__ = ["MultivariateNormal", "vector_parameters", "vectors", "whitened"]

LOG_TWO_PI = math.log(2 * math.pi)


def _covariance(cov: Any, n: int) -> Any:
    if len(cov.shape) == 0:
        return multiply(cov, eye(n, dtype=cov.dtype))
    return diag(cov) if len(cov.shape) == 1 else cov


def _half_log_det(factor: Any) -> Any:
    return reduce_sum(log(diag_part(factor)))


def whitened(x: Any, mean: Any, cov: Any) -> tuple[Any, Any]:
    """Return the squares of the distances from the mean in units of the covariance, and half its log determinant."""
    n = mean.shape[-1]
    factor = cholesky(_covariance(cov, n))
    difference = subtract(x, mean)
    lead = difference.shape[:-1]
    columns = matrix_transpose(reshape(difference, (math.prod(lead), n)))
    squares = reduce_sum(square(triangular_solve(factor, columns)), 0)
    return reshape(squares, lead), _half_log_det(factor)


def _mvn_logpdf(x: Any, mean: Any, cov: Any) -> Any:
    squares, half_log_det = whitened(x, mean, cov)
    return negative(add(multiply(0.5, squares), add(half_log_det, 0.5 * mean.shape[-1] * LOG_TWO_PI)))


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


def _mvn_cdf(x: Any, mean: Any, cov: Any, *lower_limit: Any) -> Any:
    """Return the probability between `lower_limit`, if there is one, and `x`."""
    x, mean, cov, *limits = [cast(v, float64) for v in (x, mean, cov, *lower_limit)]
    difference = subtract(x, mean)
    lower = subtract(broadcast_to(limits[0], x.shape), mean) if limits else None
    return box_probability(lower, difference, _covariance(cov, mean.shape[-1]))


def _mvn_logcdf(*operands: Any) -> Any:
    return log(_mvn_cdf(*operands))


def _mvn_entropy(mean: Any, cov: Any) -> Any:
    n = mean.shape[-1]
    return add(_half_log_det(cholesky(_covariance(cov, n))), 0.5 * n * (1 + LOG_TWO_PI))


def vector_parameters(function: str, center: tuple[str, Any], matrix: tuple[str, Any]) -> tuple[Any, Any]:
    """Return a center and a matrix, each given with its name; a missing center is zeros."""
    (mean_name, mean), (cov_name, cov) = center, matrix
    cov = floating_operand(cov)
    mean = floating_operand([0.0] * (cov.shape[-1] if len(cov.shape) else 1) if mean is None else mean)
    mean = mean if len(mean.shape) else reshape(mean, (1,))
    if len(mean.shape) != 1 or len(cov.shape) > 2 or any(s != mean.shape[0] for s in cov.shape):
        raise ShapeError(
            f"[{function}] {mean_name} must be a vector of n numbers and {cov_name} an n by n matrix, a vector or a "
            f"number, got shapes {tuple(mean.shape)} and {tuple(cov.shape)}; use jt.vectorized_map for stacks"
        )
    return mean, cov


def vectors(function: str, x: Any, mean: Any) -> Any:
    """Return vectors of the length of `mean` in the last dimension."""
    x = floating_operand(x)
    if mean.shape[0] == 1 and len(x.shape) < 2:
        x = expand_dims(x, -1)
    if not len(x.shape) or x.shape[-1] != mean.shape[0]:
        raise ShapeError(
            f"[{function}] x must have {mean.shape[0]} numbers in its last dimension, got shape {tuple(x.shape)}"
        )
    return x


class MultivariateNormal(Multivariate):
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
            self,
            {"mean": mean, "cov": cov},
            {**dict.fromkeys(("logpdf", "pdf", "cdf", "logcdf"), singular), "entropy": {}},
        )

    def _parameters(self, method: str, mean: Any, cov: Any) -> tuple[Any, Any]:
        return vector_parameters(f"{self.name}.{method}", ("mean", mean), ("cov", cov))

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

    def cdf(
        self,
        x: TensorLike,
        mean: TensorLike | None = None,
        cov: TensorLike = 1.0,
        allow_singular: bool = False,
        *,
        lower_limit: TensorLike | None = None,
    ) -> Tensor:
        """Return the probability that all components are at most those of `x`, in float64.

        With `lower_limit`, the components must also be greater than its own. The absolute error is about 1e-15 in one
        and two dimensions and 1e-9 in three. In more dimensions, 8191 fixed points give about five digits, and less for
        a nearly singular covariance. The derivatives are those of these rules.

        Raises
        ------
        NotImplementedError
            If `allow_singular` is true.
        """
        found: Tensor = self._probability(_mvn_cdf, "cdf", (x, mean, cov), allow_singular, lower_limit)
        return found

    def logcdf(
        self,
        x: TensorLike,
        mean: TensorLike | None = None,
        cov: TensorLike = 1.0,
        allow_singular: bool = False,
        *,
        lower_limit: TensorLike | None = None,
    ) -> Tensor:
        """Return the logarithm of `cdf`."""
        found: Tensor = self._probability(_mvn_logcdf, "logcdf", (x, mean, cov), allow_singular, lower_limit)
        return found

    def _probability(
        self, body: Any, method: str, operands: tuple[Any, ...], allow_singular: bool, lower_limit: Any
    ) -> Any:
        if as_flag("allow_singular", allow_singular):
            raise NotImplementedError(
                f"[multivariate_normal.{method}] allow_singular=True has no formula here; call "
                f"scipy.stats.multivariate_normal.{method} on arrays, or add a small multiple of the identity to cov"
            )
        x, mean, cov = self._operands(method, *operands)
        limits = [] if lower_limit is None else [self._operands(method, lower_limit, mean, cov)[0]]
        return apply(body, (x, mean, cov, *limits))

    def entropy(self, mean: TensorLike | None = None, cov: TensorLike = 1.0) -> Tensor:
        """Return the differential entropy."""
        return apply(_mvn_entropy, self._parameters("entropy", mean, cov))

    def _operands(self, method: str, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, Any]:
        mean, cov = self._parameters(method, mean, cov)
        return vectors(f"{self.name}.{method}", x, mean), mean, cov
