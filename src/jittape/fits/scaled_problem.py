"""`ScaledProblem`: a fit in parameters of about one standard error each, with residuals of about one."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.fits.fit_problem import FitProblem

__all__ = ["ScaledProblem", "start_variance", "step_sizes"]

_Array = np.ndarray[Any, Any]


def start_variance(problem: FitProblem) -> float:
    """Return the variance of the observations estimated from the residuals at the start; 1 if it is known.

    Divided by it, the cost does not depend on the unit of the observations, and the tolerances of engines fit it.
    """
    if not problem.estimates_variance:
        return 1.0
    found = 2.0 * problem.value(problem.start) / problem.observations.y.size
    return found if np.isfinite(found) and found > np.finfo(float).tiny else 1.0


def step_sizes(problem: FitProblem) -> _Array:
    """Return about one standard error of each parameter at the start; 1 % of the start where the data do not tell."""
    start = problem.start
    size = np.maximum(1.0, np.abs(start))
    squares = problem.is_least_squares
    curvature = (problem.jacobian(start) ** 2).sum(0) if squares else np.diag(problem.hessian(start))
    known = np.isfinite(curvature) & (curvature > 0.0)
    found = np.sqrt(start_variance(problem) / np.where(known, curvature, 1.0))
    return np.where(known, np.minimum(found, 100.0 * size), 0.01 * size)


class ScaledProblem:
    """A fit whose parameters are divided by `step_sizes`, and whose cost is divided by `start_variance`.

    Methods that begin with a step along the gradient otherwise leave the region of the minimum if one parameter is
    500 and another 0.0001.

    Parameters
    ----------
    problem : FitProblem
        The fit.

    Attributes
    ----------
    sizes : ndarray
        One unit of each scaled parameter.
    """

    def __init__(self, problem: FitProblem) -> None:
        self._problem = problem
        self.sizes = step_sizes(problem)
        self._variance = start_variance(problem)
        self.start, self.lower, self.upper = (
            each / self.sizes for each in (problem.start, problem.lower, problem.upper)
        )
        self.start = np.clip(self.start, self.lower, self.upper)
        self.constraints, self.has_bounds = problem.constraints, problem.has_bounds
        self.constraint_lower, self.constraint_upper = problem.constraint_lower, problem.constraint_upper

    def whole(self, x: _Array) -> _Array:
        """Return the parameters of the fit, within their bounds also after rounding."""
        return np.clip(x * self.sizes, self._problem.lower, self._problem.upper)

    def value(self, x: _Array) -> float:
        """Return the cost."""
        return self._problem.value(self.whole(x)) / self._variance

    def value_and_gradient(self, x: _Array) -> tuple[float, _Array]:
        """Return the cost and its gradient."""
        value, gradient = self._problem.value_and_gradient(self.whole(x))
        return value / self._variance, gradient * self.sizes / self._variance

    def gradient(self, x: _Array) -> _Array:
        """Return the gradient of the cost."""
        return self.value_and_gradient(x)[1]

    def hessian(self, x: _Array) -> _Array:
        """Return the Hessian of the cost."""
        unit = np.outer(self.sizes, self.sizes) / self._variance
        return self._problem.hessian(self.whole(x)) * unit

    def residuals(self, x: _Array) -> _Array:
        """Return the residuals."""
        return self._problem.residuals(self.whole(x)) / np.sqrt(self._variance)

    def jacobian(self, x: _Array) -> _Array:
        """Return the Jacobian of the residuals."""
        return self._problem.jacobian(self.whole(x)) * (self.sizes / np.sqrt(self._variance))

    def constraint_values(self, x: _Array) -> _Array:
        """Return the values of the constraints."""
        return self._problem.constraint_values(self.whole(x))

    def constraint_jacobian(self, x: _Array) -> _Array:
        """Return the Jacobian of the constraints."""
        return self._problem.constraint_jacobian(self.whole(x)) * self.sizes

    def constraint_hessian(self, x: _Array, weights: _Array) -> _Array:
        """Return the Hessian of the weighted sum of the constraints."""
        return self._problem.constraint_hessian(self.whole(x), weights) * np.outer(self.sizes, self.sizes)
