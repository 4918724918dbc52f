"""Check of the point at which an engine stops, by the exact gradient and Hessian."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.fits.fit_problem import FitProblem
from jittape.fits.local_curvature import active_constraints, cost_variance, near, reduced, sizes

__all__ = ["FAR", "Remainder", "remainder_at"]

_Array = np.ndarray[Any, Any]
FAR = 0.05
"""Distance from the minimum, in standard errors, above which a fit is not finished."""
_FLAT = 1e-9
"""Least ratio of the eigenvalues of the scaled Hessian that counts as curvature."""
_DOWNWARDS = -1e-3
"""Ratio of the eigenvalues of the scaled Hessian below which the cost curves downwards."""
_RESOLUTION = 1e-8
"""Least standard deviation that residuals tell, relative to the largest observation."""


class Remainder(NamedTuple):
    """Distance of a point from the minimum in standard errors, and a sentence about it; empty if it is near."""

    distance: float
    reason: str


def remainder_at(problem: FitProblem, free: _Array, method: str) -> Remainder:
    """Return how far a point is from the minimum that its gradient and curvature predict."""
    scale = _resolved_variance(problem, free)
    size = sizes(problem, free, method, scale)
    low, high = near(free, problem.lower, problem.upper, size, FAR)
    inner = np.flatnonzero(~(low | high))
    gradient = problem.gradient(free)
    hessian, tangent = reduced(problem, free, method, inner, size, FAR)
    distance = 0.0
    if tangent.shape[1]:
        matrix = tangent.T @ hessian @ tangent
        if not np.isfinite(matrix).all() or not np.isfinite(gradient).all():
            return Remainder(np.inf, "the derivatives are not finite there")
        distance, lowest = _distance(matrix, tangent.T @ gradient[inner], scale)
        if np.isinf(distance):
            return Remainder(distance, "the cost falls in a straight line there, and may have no minimum")
        if distance > FAR:
            far = (
                f"the minimum is {distance:.2g} standard errors away: tighten the tolerances of the algorithm"
            )
            return Remainder(distance, far)
        if lowest < _DOWNWARDS:
            return Remainder(np.inf, "the cost curves downwards there: choose other start values")
    stuck = _unbalanced(problem, free, low, high, size, gradient) / scale
    if stuck.max(initial=0.0) <= FAR:
        return Remainder(distance, "")
    return Remainder(np.inf, _fall(problem, int(stuck.argmax())))


def _resolved_variance(problem: FitProblem, free: _Array) -> float:
    """Return the variance of the observations, not less than rounding errors allow to see."""
    variance = cost_variance(problem, free)
    if not problem.estimates_variance:
        return variance
    least = (_RESOLUTION * float(np.abs(problem.observations.y).max())) ** 2
    return float(np.fmax(np.fmax(variance, least), np.finfo(float).tiny))


def _distance(matrix: _Array, slope: _Array, scale: float) -> tuple[float, float]:
    """Return the length of a Newton step in standard errors, and the ratio of the least and the largest eigenvalue.

    Directions without curvature count as if they had a little, and negative curvature as positive.
    """
    diagonal = np.abs(np.diag(matrix))
    unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    eigenvalues, vectors = np.linalg.eigh(matrix / np.outer(unit, unit))
    largest = float(np.abs(eigenvalues).max())
    if largest == 0.0:
        return (np.inf if slope.any() else 0.0), 0.0
    along = vectors.T @ (slope / unit)
    step = along**2 / np.maximum(np.abs(eigenvalues), _FLAT * largest)
    return float(np.sqrt(step.sum() / scale)), float(eigenvalues[0] / largest)


def _unbalanced(
    problem: FitProblem, free: _Array, low: _Array, high: _Array, size: _Array, gradient: _Array
) -> _Array:
    """Return the part of the gradient that bounds and constraints do not hold, for steps of one standard error.

    At a minimum the gradient is a sum, with positive weights, of the normals that point inwards.
    """
    from scipy.optimize import nnls

    eye = np.eye(len(free))
    normals = [eye[low], -eye[high]]
    if problem.constraints:
        slopes, lower, upper = active_constraints(problem, free, size, FAR)
        normals += [slopes[lower], -slopes[upper]]
    rows = np.concatenate(normals) * size
    if not len(rows):  # SciPy 1.17 would crash
        return np.zeros(0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    directions = (rows / np.where(lengths > 0.0, lengths, 1.0)).T
    weights, _ = nnls(directions, gradient * size)
    return np.abs(gradient * size - directions @ weights)


def _fall(problem: FitProblem, place: int) -> str:
    where = (
        "the bounds and constraints that hold with equality"
        if problem.constraints
        else f"the bound of {problem.names[place]}"
    )
    return f"the cost falls from {where} inwards: start further inside, or use another algorithm"
