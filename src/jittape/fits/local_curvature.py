"""Curvature of the cost of a fit at a point: sizes of parameters, active constraints, the reduced Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.fits.fit_problem import FitProblem

__all__ = [
    "NEAR", "active_constraints", "cost_variance", "curvature", "degrees_of_freedom", "near", "reduced", "sizes",
]  # fmt: skip

_Array = np.ndarray[Any, Any]
NEAR = 1e-3
"""Distance from a bound, in standard errors, within which a parameter or constraint counts as at its bound."""


def degrees_of_freedom(problem: FitProblem, free: _Array) -> int | None:
    """Return the number of degrees of freedom; None if the number of observations is unknown."""
    if problem.observations.y is None:
        return None
    equations = problem.constraint_lower == problem.constraint_upper
    determined = np.linalg.matrix_rank(problem.constraint_jacobian(free)[equations]) if equations.any() else 0
    return int(problem.observations.y.size - len(free) + determined)


def cost_variance(problem: FitProblem, free: _Array) -> float:
    """Return the variance estimated from the residuals, nan if there are too few, or 1 if standard errors are known."""
    if not problem.estimates_variance:
        return 1.0
    dof = degrees_of_freedom(problem, free)
    return 2.0 * problem.value(free) / dof if dof is not None and dof > 0 else np.nan


def curvature(problem: FitProblem, free: _Array, method: str) -> _Array:
    """Return the Hessian of the cost, or its Gauss-Newton approximation."""
    if method != "gauss_newton":
        return problem.hessian(free)
    slopes = problem.jacobian(free)
    return np.asarray(slopes.T @ slopes)


def sizes(problem: FitProblem, free: _Array, method: str, scale: float) -> _Array:
    """Return the standard error of each free parameter if it were the only one; 1 where the cost curves downwards."""
    if not problem.has_bounds and not problem.constraints:
        return np.ones(len(free))
    diagonal = np.diag(curvature(problem, free, method))
    variance = scale if np.isfinite(scale) else 1.0
    known = diagonal > 0.0  # False for nan
    return np.where(known, np.sqrt(variance / np.where(known, diagonal, 1.0)), 1.0)


def near(
    values: _Array, lower: _Array, upper: _Array, size: _Array, margin: float = NEAR
) -> tuple[_Array, _Array]:
    """Return which values are within `margin` standard errors, given by `size`, of their lower and upper bounds."""
    nearby = np.maximum(margin * size, 4 * np.finfo(float).eps * np.abs(values))
    return np.asarray(values - lower <= nearby), np.asarray(upper - values <= nearby)


def active_constraints(
    problem: FitProblem, free: _Array, size: _Array, margin: float
) -> tuple[_Array, _Array, _Array]:
    """Return the Jacobian of the constraints, and which are at their lower and at their upper bound."""
    slopes = problem.constraint_jacobian(free)
    values, errors = problem.constraint_values(free), np.sqrt((slopes * size) ** 2 @ np.ones(len(free)))
    low, high = near(values, problem.constraint_lower, problem.constraint_upper, errors, margin)
    equations = problem.constraint_lower == problem.constraint_upper
    return slopes, low | equations, high | equations


def reduced(
    problem: FitProblem, free: _Array, method: str, inner: _Array, size: _Array, margin: float = NEAR
) -> tuple[_Array, _Array]:
    """Return the Hessian of the Lagrange function, and a basis of the tangent space of the active constraints.

    Both are for the parameters `inner` only.
    """
    found = curvature(problem, free, method)
    if not problem.constraints:
        return found[np.ix_(inner, inner)], np.eye(len(inner))
    slopes, low, high = active_constraints(problem, free, size, margin)
    active = low | high
    normals = slopes[np.ix_(active, inner)]
    if method == "hessian" and active.any():
        weights = np.zeros(len(active))
        weights[active] = np.linalg.lstsq(normals.T, problem.gradient(free)[inner], rcond=None)[0]
        found = found - problem.constraint_hessian(free, weights)
    _, singular, rows = np.linalg.svd(normals.reshape(-1, len(inner)))
    rank = int(np.sum(singular > 1e-10 * max(singular.max(initial=0.0), 1e-300)))
    return found[np.ix_(inner, inner)], rows[rank:].T
