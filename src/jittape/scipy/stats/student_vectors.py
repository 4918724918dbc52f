"""The multivariate t distribution."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, log, log1p
from jittape.primitives.elementwise.special import lgamma
from jittape.scipy.scipy_operands import floating_operand
from jittape.scipy.stats.gaussian_vectors import vector_parameters, vectors, whitened
from jittape.scipy.stats.multivariate import FrozenMultivariate, Multivariate
from jittape.typing import Tensor, TensorLike

__all__ = ["MultivariateT"]


def _logpdf(x: Any, loc: Any, shape: Any, df: Any) -> Any:
    n = loc.shape[-1]
    squares, half_log_det = whitened(x, loc, shape)
    half = multiply(0.5, add(df, float(n)))
    constant = subtract(subtract(lgamma(half), lgamma(multiply(0.5, df))), half_log_det)
    constant = subtract(constant, multiply(0.5 * n, log(multiply(math.pi, df))))
    value = subtract(constant, multiply(half, log1p(divide(squares, df))))
    return where(greater(df, 0), value, math.nan)


def _pdf(x: Any, loc: Any, shape: Any, df: Any) -> Any:
    return exp(_logpdf(x, loc, shape, df))


class MultivariateT(Multivariate):
    """The multivariate t distribution, differentiable in the value and all parameters.

    Its methods take `loc` (zeros by default), `shape`, a positive definite matrix, a vector of its diagonal, or one
    number for it, and the degrees of freedom `df`, a finite number. Only the lower triangle of `shape` is read.

    Examples
    --------
    >>> from jittape.scipy import stats
    >>> round(float(stats.multivariate_t.logpdf([0.0, 0.0], shape=[2.0, 2.0], df=3.0)), 4)
    -2.531
    """

    name = "multivariate_t"

    def __call__(
        self, loc: TensorLike | None = None, shape: TensorLike = 1.0, df: TensorLike = 1.0
    ) -> FrozenMultivariate:
        """Return the distribution with these parameters."""
        loc, shape = vector_parameters("multivariate_t.__call__", ("loc", loc), ("shape", shape))
        given = {"loc": loc, "shape": shape, "df": floating_operand(df)}
        return FrozenMultivariate(self, given, {"logpdf": {}, "pdf": {}})

    def logpdf(
        self, x: TensorLike, loc: TensorLike | None = None, shape: TensorLike = 1.0, df: TensorLike = 1.0
    ) -> Tensor:
        """Return the logarithm of the density of the vectors in the last dimension of `x`."""
        return apply(_logpdf, self._operands("logpdf", x, loc, shape, df))

    def pdf(
        self, x: TensorLike, loc: TensorLike | None = None, shape: TensorLike = 1.0, df: TensorLike = 1.0
    ) -> Tensor:
        """Return the density of the vectors in the last dimension of `x`."""
        return apply(_pdf, self._operands("pdf", x, loc, shape, df))

    def _operands(self, method: str, x: Any, loc: Any, shape: Any, df: Any) -> tuple[Any, ...]:
        function = f"multivariate_t.{method}"
        loc, shape = vector_parameters(function, ("loc", loc), ("shape", shape))
        return vectors(function, x, loc), loc, shape, floating_operand(df)
