"""Evaluation of the matrix exponential and its derivative in a direction, with NumPy.

Both use scaling and squaring with the Padé approximant of degree 13: A. Al-Mohy and N. Higham, "A new scaling and
squaring algorithm for the matrix exponential" (SIAM J. Matrix Anal. Appl. 31, 2009). The derivative of each step is
computed together with the step, as in their "Computing the Fréchet derivative of the matrix exponential" (2009): pairs
of a matrix and its derivative are multiplied by the product rule.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from jittape.vectormath.matrix_pade import COEFFICIENTS, FEW_HALVINGS, LARGEST, LEADING_ERROR

__all__ = ["exponential"]

Pair = tuple[Any, Any]


def _times(x: Pair, y: Pair) -> Pair:
    """Return the product of two pairs (matrix, derivative or None)."""
    (a, da), (b, db) = x, y
    return a @ b, None if da is None else a @ db + da @ b


def _sum(identity: Any, *terms: tuple[float, Pair]) -> Pair:
    """Return the weighted sum of pairs plus a multiple `identity` of the identity."""
    value = identity + sum(weight * x for weight, (x, _) in terms)
    derivatives = [weight * dx for weight, (_, dx) in terms if dx is not None]
    return value, sum(derivatives) if derivatives else None


def _norm(x: Any) -> Any:
    """Return the greatest sum of absolute values of a column, in float64."""
    return np.abs(x).sum(-2, dtype=np.float64).max(-1)


def _halvings(a: Any) -> Any:
    """Return how often each matrix is halved before the approximation, an array of int64."""
    norm = _norm(a)
    if norm.max(initial=0) <= LARGEST:
        return np.zeros(norm.shape, np.int64)
    unit = a / np.where(norm == 0, 1, norm)[..., None, None].astype(a.real.dtype)
    a2 = unit @ unit
    a4 = a2 @ a2
    a6 = a4 @ a2
    roots = [_norm(power) ** (1 / k) for power, k in ((a4, 4), (a6, 6), (a4 @ a4, 8), (a4 @ a6, 10))]
    pairs = [norm * np.maximum(*pair) for pair in pairwise(roots)]
    size = np.where(pairs[0] > LARGEST * 2.0**FEW_HALVINGS, np.minimum.reduce(pairs), pairs[0])
    halvings = np.maximum(np.ceil(np.log2(np.maximum(size, 1e-300) / LARGEST)), 0)
    # Matrices that are far from normal may need more: the norm of abs(a)**27, at most the power of the norm, bounds
    # the error.
    scaled = np.log2(np.maximum(norm, 1e-300)) - halvings
    error = 26 * scaled - np.log2(LEADING_ERROR * np.finfo(a.dtype).eps / 2)
    if error.max() <= 0:
        return halvings.astype(np.int64)
    matrix = np.abs(unit)
    sums = np.ones((*norm.shape, 1, a.shape[-1]), matrix.dtype)
    for _ in range(27):
        sums = sums @ matrix
        greatest = sums.max((-2, -1))
        error += np.log2(np.maximum(greatest, 1e-300))
        sums = sums / np.where(greatest == 0, 1, greatest)[..., None, None]
    return (halvings + np.maximum(np.ceil(error / 26), 0)).astype(np.int64)


def exponential(a: Any, da: Any = None) -> Pair:
    """Return the exponentials of finite matrices and, unless `da` is None, their derivatives in the directions `da`."""
    if not a.size:
        return a.copy(), a.copy()
    identity = np.eye(a.shape[-1], dtype=a.dtype)
    halvings = _halvings(a)
    factor = (0.5 ** halvings[..., None, None]).astype(a.real.dtype)
    x = (a * factor, None if da is None else da * factor)
    x2 = _times(x, x)
    x4 = _times(x2, x2)
    x6 = _times(x4, x2)
    c = COEFFICIENTS
    high = _sum(0, (c[13], x6), (c[11], x4), (c[9], x2))
    low = _sum(c[1] * identity, (c[7], x6), (c[5], x4), (c[3], x2))
    odd = _times(x, _sum(0, (1, _times(x6, high)), (1, low)))
    high = _sum(0, (c[12], x6), (c[10], x4), (c[8], x2))
    low = _sum(c[0] * identity, (c[6], x6), (c[4], x4), (c[2], x2))
    even = _sum(0, (1, _times(x6, high)), (1, low))
    numerator, denominator = _sum(0, (1, even), (1, odd)), _sum(0, (1, even), (-1, odd))
    value = np.linalg.solve(denominator[0], numerator[0])
    slope = None
    if numerator[1] is not None:
        slope = np.linalg.solve(denominator[0], numerator[1] - denominator[1] @ value)
    return _squared((value, slope), halvings)


def _squared(x: Pair, times: Any) -> Pair:
    """Return the pairs `x`, each squared as often as `times` says; writes to `x`."""
    value, slope = x
    for step in range(int(times.max(initial=0))):
        due = times > step
        part = (value[due], None if slope is None else slope[due])
        value[due], square_slope = _times(part, part)
        if slope is not None:
            slope[due] = square_slope
    return value, slope
