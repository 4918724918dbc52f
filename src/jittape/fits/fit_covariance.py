"""Covariance of the parameters at the minimum of a fit, by exact second derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.fits.fit_problem import FitProblem
from jittape.fits.local_curvature import cost_variance, degrees_of_freedom, near, reduced, sizes
from jittape.fits.minimum_check import FAR

__all__ = ["Covariance", "covariance_at"]

_Array = np.ndarray[Any, Any]
_POOR = 1e-9
"""Ratio of the eigenvalues of the scaled Hessian below which the parameters are remarked on."""
_UNSETTLED = 1e-3
"""Ratio of the eigenvalues of the scaled Hessian below which it is compared with those at points nearer the minimum."""


class Covariance(NamedTuple):
    """Covariance of all parameters, the variance that it is scaled by, and what is to be said about it.

    `dof` is the number of observations less the free parameters that equations do not determine.
    """

    matrix: _Array
    scale: float
    dof: int | None
    remarks: list[str]
    warning: str


def covariance_at(problem: FitProblem, free: _Array, method: str) -> Covariance:
    """Return the covariance at a minimum, in the tangent space of the active constraints.

    Fixed parameters have zeros, parameters at a bound nan.
    """
    scale = cost_variance(problem, free)
    size = sizes(problem, free, method, scale)
    at_bound = np.logical_or(*near(free, problem.lower, problem.upper, size))
    inner = np.flatnonzero(~at_bound)
    tangent, inverse, ratio, direction = _settled(problem, free, method, inner, size)
    warning, remarks = "", [f"{problem.names[i]} is at its bound" for i in np.flatnonzero(at_bound)]
    found = np.full((len(free), len(free)), np.nan)
    if tangent.shape[1]:
        names = _largest(tangent @ direction, [problem.names[i] for i in inner])
        if inverse is None:
            warning = (
                f"the data do not determine {names}: the Hessian is not positive definite, errors are nan"
            )
        else:
            found[np.ix_(inner, inner)] = scale * (tangent @ inverse @ tangent.T)
            if ratio < _POOR:
                remarks.append(f"the data hardly determine {names}: the Hessian is nearly singular")
    else:
        found[np.ix_(inner, inner)] = 0.0  # constraints determine all of them
    matrix = np.zeros((len(problem.values), len(problem.values)))
    matrix[np.ix_(problem.is_free, problem.is_free)] = found
    return Covariance(matrix, scale, degrees_of_freedom(problem, free), remarks, warning)


class _Curvature(NamedTuple):
    """Tangent space of the active constraints, the inverse of the Hessian in it, and its weakest direction."""

    tangent: _Array
    inverse: _Array | None
    ratio: float
    direction: _Array


def _settled(problem: FitProblem, free: _Array, method: str, inner: _Array, size: _Array) -> _Curvature:
    """Return the curvature at a minimum; its inverse is None if the data do not determine all parameters.

    The Hessian of ``a * b`` is singular at the minimum only. Where an engine stops, the remaining gradient makes it
    regular by chance. Newton steps towards the minimum tell: they change such a curvature by orders of magnitude.
    """
    found = _curvature(problem, free, method, inner, size)
    for _ in range(4):
        tangent, inverse, ratio, _ = found
        if inverse is None or ratio > _UNSETTLED:
            return found
        slope = tangent.T @ problem.gradient(free)[inner]
        free = free.copy()
        free[inner] -= tangent @ inverse @ slope
        if slope @ inverse @ slope > FAR or ((free < problem.lower) | (free > problem.upper)).any():
            return found  # too far from the minimum to tell
        nearer = _curvature(problem, free, method, inner, size)
        if abs(nearer.ratio - ratio) <= 0.1 * ratio:
            return nearer
        found = nearer
    return found._replace(inverse=None)


def _curvature(problem: FitProblem, free: _Array, method: str, inner: _Array, size: _Array) -> _Curvature:
    hessian, tangent = reduced(problem, free, method, inner, size)
    if not tangent.shape[1]:
        return _Curvature(tangent, np.zeros((0, 0)), 1.0, np.zeros(0))
    return _Curvature(tangent, *_inverse(tangent.T @ hessian @ tangent))


def _inverse(matrix: _Array) -> tuple[_Array | None, float, _Array]:
    """Return the inverse of a positive definite matrix or None, the ratio of eigenvalues, and the weakest direction.

    Rows and columns are scaled to a unit diagonal first, since parameters may have very different sizes.
    """
    diagonal = np.diag(matrix)
    size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    if not np.isfinite(matrix).all():
        return None, np.nan, np.ones(len(matrix))
    eigenvalues, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    ratio = float(eigenvalues[0] / eigenvalues[-1]) if eigenvalues.any() else 0.0
    weakest = vectors[:, 0]
    if not ratio > 1e-13:
        return None, ratio, weakest
    return (vectors / eigenvalues) @ vectors.T / np.outer(size, size), ratio, weakest


def _largest(direction: _Array, names: list[str]) -> str:
    """Return the names of the parameters that a direction consists of."""
    size = np.abs(direction)
    places = [i for i in np.argsort(-size)[:4] if size[i] > 0.1 * size.max()]
    return " and ".join([names[i] for i in sorted(places)])
