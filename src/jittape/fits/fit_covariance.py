"""Covariance of the parameters at the minimum of a fit, by exact second derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.fits.fit_problem import FitProblem

__all__ = ["Covariance", "covariance_at"]

_Array = np.ndarray[Any, Any]
_NEAR = 1e-3
"""Distance from a bound, in standard errors, within which a parameter or constraint counts as at its bound."""
_POOR = 1e-9
"""Ratio of the eigenvalues of the scaled Hessian below which the parameters are remarked on."""
_UNSETTLED = 1e-3
"""Ratio of the eigenvalues of the scaled Hessian below which it is compared with those at points nearer the minimum."""
_FAR = 0.05
"""Distance from the minimum, in standard errors, above which a fit is not finished."""


class Covariance(NamedTuple):
    """Covariance of all parameters, the variance that it is scaled by, and what is to be said about it.

    `dof` is the number of observations less the free parameters that equations do not determine.
    """

    matrix: _Array
    scale: float
    dof: int | None
    remarks: list[str]
    warning: str


def covariance_at(problem: FitProblem, free: _Array, method: str, *, estimates_variance: bool) -> Covariance:
    """Return the covariance at a minimum, in the tangent space of the active constraints.

    Fixed parameters have zeros, parameters at a bound nan.
    """
    dof = _degrees_of_freedom(problem, free)
    scale = 1.0
    if problem.is_least_squares and estimates_variance:
        scale = 2.0 * problem.value(free) / dof if dof is not None and dof > 0 else np.nan
    sizes = _sizes(problem, free, method, scale)
    at_bound = _near(free, problem.lower, problem.upper, sizes)
    inner = np.flatnonzero(~at_bound)
    tangent, inverse, ratio, direction = _settled(problem, free, method, inner, sizes)
    warning, remarks = "", [f"{problem.names[i]} is at its bound" for i in np.flatnonzero(at_bound)]
    found = np.full((len(free), len(free)), np.nan)
    if tangent.shape[1]:
        names = _largest(tangent @ direction, [problem.names[i] for i in inner])
        if inverse is not None and ratio < _POOR:
            remarks.append(f"the data hardly determine {names}: the Hessian is nearly singular")
        if inverse is None:
            warning = (
                f"the data do not determine {names}: the Hessian is not positive definite, errors are nan"
            )
        else:
            found[np.ix_(inner, inner)] = scale * (tangent @ inverse @ tangent.T)
            slope = tangent.T @ problem.gradient(free)[inner]
            distance = float(np.sqrt(max(slope @ inverse @ slope, 0.0) / scale)) if scale > 0.0 else 0.0
            if distance > _FAR:
                warning = f"the minimum is {distance:.2g} standard errors away: tighten the tolerances of the algorithm"
    else:
        found[np.ix_(inner, inner)] = 0.0  # constraints determine all of them
    stuck = [problem.names[i] for i in _falling_inwards(problem, free, sizes, scale)]
    if stuck and not warning:
        warning = (
            f"{stuck[0]} is at its bound, but the cost falls from there inwards: start further inside, or use "
            "another algorithm"
        )
    matrix = np.zeros((len(problem.values), len(problem.values)))
    matrix[np.ix_(problem.is_free, problem.is_free)] = found
    return Covariance(matrix, scale, dof, remarks, warning)


class _Curvature(NamedTuple):
    """Tangent space of the active constraints, the inverse of the Hessian in it, and its weakest direction."""

    tangent: _Array
    inverse: _Array | None
    ratio: float
    direction: _Array


def _settled(problem: FitProblem, free: _Array, method: str, inner: _Array, sizes: _Array) -> _Curvature:
    """Return the curvature at a minimum; its inverse is None if the data do not determine all parameters.

    The Hessian of ``a * b`` is singular at the minimum only. Where an engine stops, the remaining gradient makes it
    regular by chance. Newton steps towards the minimum tell: they change such a curvature by orders of magnitude.
    """
    found = _curvature(problem, free, method, inner, sizes)
    for _ in range(4):
        tangent, inverse, ratio, _ = found
        if inverse is None or ratio > _UNSETTLED:
            return found
        slope = tangent.T @ problem.gradient(free)[inner]
        free = free.copy()
        free[inner] -= tangent @ inverse @ slope
        if slope @ inverse @ slope > _FAR or ((free < problem.lower) | (free > problem.upper)).any():
            return found  # too far from the minimum to tell
        nearer = _curvature(problem, free, method, inner, sizes)
        if abs(nearer.ratio - ratio) <= 0.1 * ratio:
            return nearer
        found = nearer
    return found._replace(inverse=None)


def _curvature(problem: FitProblem, free: _Array, method: str, inner: _Array, sizes: _Array) -> _Curvature:
    curvature, tangent = _reduced(problem, free, method, inner, sizes)
    if not tangent.shape[1]:
        return _Curvature(tangent, np.zeros((0, 0)), 1.0, np.zeros(0))
    return _Curvature(tangent, *_inverse(tangent.T @ curvature @ tangent))


def _degrees_of_freedom(problem: FitProblem, free: _Array) -> int | None:
    """Return the number of degrees of freedom; None if the number of observations is unknown."""
    if problem.observations.y is None:
        return None
    equations = problem.constraint_lower == problem.constraint_upper
    determined = np.linalg.matrix_rank(problem.constraint_jacobian(free)[equations]) if equations.any() else 0
    return int(problem.observations.y.size - len(free) + determined)


def _sizes(problem: FitProblem, free: _Array, method: str, scale: float) -> _Array:
    """Return the standard error of each free parameter if it were the only one; 1 where the cost curves downwards."""
    if not problem.has_bounds and not problem.constraints:
        return np.ones(len(free))
    curvature = np.diag(_hessian(problem, free, method))
    variance = scale if np.isfinite(scale) else 1.0
    known = curvature > 0.0  # False for nan
    return np.where(known, np.sqrt(variance / np.where(known, curvature, 1.0)), 1.0)


def _near(values: _Array, lower: _Array, upper: _Array, sizes: _Array) -> _Array:
    """Return which values are at a bound; `sizes` are their standard errors."""
    nearby = np.maximum(_NEAR * sizes, 4 * np.finfo(float).eps * np.abs(values))
    return np.asarray((values - lower <= nearby) | (upper - values <= nearby))


def _falling_inwards(problem: FitProblem, free: _Array, sizes: _Array, scale: float) -> _Array:
    """Return which parameters are at a bound although the cost falls from there; with constraints, they may have to."""
    if problem.constraints or not problem.has_bounds:
        return np.zeros(0, int)
    unbounded = np.full(len(free), np.inf)
    low, high = (
        _near(free, problem.lower, unbounded, sizes),
        _near(free, -unbounded, problem.upper, sizes),
    )
    fall = (high * 1.0 - low * 1.0) * problem.gradient(free) * sizes
    return np.flatnonzero(fall > _FAR * (scale if scale > 0.0 else 1.0))


def _hessian(problem: FitProblem, free: _Array, method: str) -> _Array:
    if method != "gauss_newton":
        return problem.hessian(free)
    slopes = problem.jacobian(free)
    return np.asarray(slopes.T @ slopes)


def _reduced(
    problem: FitProblem, free: _Array, method: str, inner: _Array, sizes: _Array
) -> tuple[_Array, _Array]:
    """Return the Hessian of the Lagrange function, and a basis of the tangent space of the active constraints."""
    curvature = _hessian(problem, free, method)
    if not problem.constraints:
        return curvature[np.ix_(inner, inner)], np.eye(len(inner))
    values = problem.constraint_values(free)
    slopes = problem.constraint_jacobian(free)
    lower, upper = problem.constraint_lower, problem.constraint_upper
    active = (lower == upper) | _near(
        values, lower, upper, np.sqrt((slopes * sizes) ** 2 @ np.ones(len(free)))
    )
    normals = slopes[np.ix_(active, inner)]
    if method == "hessian" and active.any():
        gradient = problem.gradient(free)[inner]
        weights = np.zeros(len(values))
        weights[active] = np.linalg.lstsq(normals.T, gradient, rcond=None)[0]
        curvature = curvature - problem.constraint_hessian(free, weights)
    _, singular, rows = np.linalg.svd(normals.reshape(-1, len(inner)))
    rank = int(np.sum(singular > 1e-10 * max(singular.max(initial=0.0), 1e-300)))
    return curvature[np.ix_(inner, inner)], rows[rank:].T


def _inverse(matrix: _Array) -> tuple[_Array | None, float, _Array]:
    """Return the inverse of a positive definite matrix or None, the ratio of eigenvalues, and the weakest direction.

    Rows and columns are scaled to a unit diagonal first, since parameters may have very different sizes.
    """
    diagonal = np.diag(matrix)
    size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    if not np.isfinite(matrix).all():
        return None, np.nan, np.ones(len(matrix))
    eigenvalues, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    ratio = float(eigenvalues[0] / eigenvalues[-1])
    weakest = vectors[:, 0]
    if not ratio > 1e-13:
        return None, ratio, weakest
    return (vectors / eigenvalues) @ vectors.T / np.outer(size, size), ratio, weakest


def _largest(direction: _Array, names: list[str]) -> str:
    """Return the names of the parameters that a direction consists of."""
    size = np.abs(direction)
    places = [i for i in np.argsort(-size)[:4] if size[i] > 0.1 * size.max()]
    return " and ".join([names[i] for i in sorted(places)])
