"""Nodes and weights of double exponential rules, whose points are dense at the ends of the interval."""

from __future__ import annotations

import math

from jittape.core.dtypes import float64
from jittape.primitives.shape.creation import range as steps
from jittape.scipy.special.terms import Term, cosh, exp, sinh

__all__ = ["half_line_rule", "numbered", "unit_rule"]

STEP, POINTS = 0.05, 161
"""Step and number of points of the trapezoidal rule."""


def numbered(n: int) -> Term:
    """Return the float64 numbers from 0 to ``n - 1``."""
    return Term(steps(0, n, 1, dtype=float64))


def _variable() -> tuple[Term, Term]:
    """Return ``pi sinh(t)`` at the points t of the trapezoidal rule, and the weights in this variable."""
    t = STEP * (numbered(POINTS) - 0.5 * (POINTS - 1))
    return math.pi * sinh(t), STEP * math.pi * cosh(t)


def unit_rule() -> tuple[Term, Term]:
    """Return points between 0 and 1, symmetric about one half, and their weights."""
    u, weights = _variable()
    points = 1.0 / (1.0 + exp(-u))
    return points, weights * points / (1.0 + exp(u))


def half_line_rule() -> tuple[Term, Term]:
    """Return positive points and their weights."""
    u, weights = _variable()
    points = exp(0.5 * u)
    return points, 0.5 * weights * points
