"""Rows of the primitive table for special functions of one variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from jittape.primitives.elementwise import bessel as be
from jittape.primitives.elementwise import error_functions as ef
from primitive_table import INF, SHAPE, Array, Row, between, normal, signed, unary


def erfcinv(y: Array) -> Array:
    """Return SciPy's, but the finite values at subnormal numbers, where SciPy's is infinite."""
    tail = -scipy.special.ndtri_exp(np.log(y) - np.log(2)) / np.sqrt(2)
    return np.where((y > 0) & (y < 1e-300), tail, scipy.special.erfcinv(y))


def at_infinity(function: Callable[..., Any], size: float) -> Callable[..., Any]:
    """Return SciPy's function, but with the limit at infinite arguments, where SciPy's is nan."""

    def reference(x: Array) -> Array:
        limit = size * np.sign(function(np.copysign(2.0, x)))
        return np.where(np.isinf(x), limit, function(x))

    return reference


ERROR_FUNCTIONS = (
    unary("erf", ef.erf, scipy.special.erf, normal(SHAPE)),
    unary("erfc", ef.erfc, scipy.special.erfc, normal(SHAPE)),
    unary("erfinv", ef.erfinv, scipy.special.erfinv, between(-0.9, 0.9, SHAPE)),
    unary("erfcinv", ef.erfcinv, erfcinv, between(0.1, 1.9, SHAPE)),
    unary("erfcx", ef.erfcx, scipy.special.erfcx, normal(SHAPE)),
    unary("erfcx of large numbers", ef.erfcx, scipy.special.erfcx, between(8.0, 12.0, SHAPE)),
    unary("ndtr", ef.ndtr, scipy.special.ndtr, normal(SHAPE)),
    unary("ndtri", ef.ndtri, scipy.special.ndtri, between(0.1, 0.9, SHAPE), rtol=1e-13),
    unary("log_ndtr", ef.log_ndtr, scipy.special.log_ndtr, between(-12.0, 4.0, SHAPE)),
)

BESSEL = (
    unary("bessel_i0", be.bessel_i0, at_infinity(scipy.special.i0, INF), normal(SHAPE)),
    unary("bessel_i0e", be.bessel_i0e, scipy.special.i0e, signed(0.1, 3.0, SHAPE)),
    unary("bessel_i1", be.bessel_i1, at_infinity(scipy.special.i1, INF), normal(SHAPE)),
    unary("bessel_i1e", be.bessel_i1e, scipy.special.i1e, signed(0.1, 3.0, SHAPE)),
    unary(
        "bessel_j0", be.bessel_j0, at_infinity(scipy.special.j0, 0.0), between(-12.0, 12.0, SHAPE), rtol=1e-13
    ),
    unary(
        "bessel_j1", be.bessel_j1, at_infinity(scipy.special.j1, 0.0), between(-12.0, 12.0, SHAPE), rtol=1e-13
    ),
    unary("bessel_k0", be.bessel_k0, scipy.special.k0, between(0.3, 5.0, SHAPE)),
    unary("bessel_k0e", be.bessel_k0e, scipy.special.k0e, between(0.3, 5.0, SHAPE)),
    unary("bessel_k1", be.bessel_k1, scipy.special.k1, between(0.3, 5.0, SHAPE)),
    unary("bessel_k1e", be.bessel_k1e, scipy.special.k1e, between(0.3, 5.0, SHAPE)),
    unary(
        "bessel_y0", be.bessel_y0, at_infinity(scipy.special.y0, 0.0), between(0.3, 12.0, SHAPE), rtol=1e-13
    ),
    unary(
        "bessel_y1", be.bessel_y1, at_infinity(scipy.special.y1, 0.0), between(0.3, 12.0, SHAPE), rtol=1e-13
    ),
)

ROWS: tuple[Row, ...] = (*ERROR_FUNCTIONS, *BESSEL)
