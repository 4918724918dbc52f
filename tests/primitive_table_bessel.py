"""Rows of the primitive table for special functions of one variable."""

from __future__ import annotations

import numpy as np
import scipy.special

from jittape.primitives.elementwise import error_functions as ef
from primitive_table import SHAPE, Array, Row, between, normal, unary


def erfcinv(y: Array) -> Array:
    """Return SciPy's, but the finite values at subnormal numbers, where SciPy's is infinite."""
    tail = -scipy.special.ndtri_exp(np.log(y) - np.log(2)) / np.sqrt(2)
    return np.where((y > 0) & (y < 1e-300), tail, scipy.special.erfcinv(y))


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

ROWS: tuple[Row, ...] = ERROR_FUNCTIONS
