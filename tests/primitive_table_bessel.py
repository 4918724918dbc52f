"""Rows of the primitive table for special functions of one variable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.special
from mpmath import mp

import special_references
from jittape.core.primitive import apply
from jittape.primitives.elementwise import bessel, modified_bessel
from jittape.primitives.elementwise import error_functions as ef
from jittape.primitives.elementwise import integrals as it
from jittape.primitives.elementwise import smooth_functions as sf
from primitive_table import NAN, SHAPE, Array, Row, Sampler, between, normal, signed, unary


def erfcinv(y: Array) -> Array:
    """Return SciPy's, but the finite values at subnormal numbers, where SciPy's is infinite."""
    tail = -scipy.special.ndtri_exp(np.log(y) - np.log(2)) / np.sqrt(2)
    return np.where((y > 0) & (y < 1e-300), tail, scipy.special.erfcinv(y))


def by_mpmath(name: str) -> Callable[[Array], Array]:
    """Return the reference of the accuracy tests, because SciPy loses digits of large and of subnormal numbers."""
    exact, edges = special_references.ROWS[name][0], dict(special_references.EDGES[name])

    def one(x: float) -> float:
        if np.isnan(x) or x in edges:
            return edges.get(x, NAN)
        return float(exact(mp.mpf(x)))

    return np.vectorize(one, [float])


def bessel_row(name: str, sample: Sampler) -> Row:
    return unary(name, getattr(modified_bessel if name[7] in "ik" else bessel, name), by_mpmath(name), sample)


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
    bessel_row("bessel_i0", normal(SHAPE)),
    bessel_row("bessel_i0e", signed(0.1, 3.0, SHAPE)),
    bessel_row("bessel_i1", normal(SHAPE)),
    bessel_row("bessel_i1e", signed(0.1, 3.0, SHAPE)),
    bessel_row("bessel_j0", between(-12.0, 12.0, SHAPE)),
    bessel_row("bessel_j1", between(-12.0, 12.0, SHAPE)),
    bessel_row("bessel_k0", between(0.3, 5.0, SHAPE)),
    bessel_row("bessel_k0e", between(0.3, 5.0, SHAPE)),
    bessel_row("bessel_k1", between(0.3, 5.0, SHAPE)),
    bessel_row("bessel_k1e", between(0.3, 5.0, SHAPE)),
    bessel_row("bessel_y0", between(0.3, 12.0, SHAPE)),
    bessel_row("bessel_y1", between(0.3, 12.0, SHAPE)),
)

INTEGRALS = (
    unary("dawsn", it.dawsn, scipy.special.dawsn, signed(0.1, 4.0, SHAPE)),
    unary("dawsn of large numbers", it.dawsn, scipy.special.dawsn, signed(9.0, 11.0, SHAPE)),
    unary("expint", it.expint, by_mpmath("expint"), signed(0.2, 3.0, SHAPE)),
    unary("expint of large numbers", it.expint, by_mpmath("expint"), signed(5.0, 30.0, SHAPE)),
    unary("fresnel_cos", it.fresnel_cos, by_mpmath("fresnel_cos"), signed(0.1, 3.0, SHAPE)),
    unary("fresnel_sin", it.fresnel_sin, by_mpmath("fresnel_sin"), signed(0.1, 3.0, SHAPE)),
    unary(
        "fresnel_cos_slope",
        lambda x: apply(it.fresnel_cos_slope_op, (x,)),
        by_mpmath("fresnel_cos_slope"),
        signed(0.1, 3.0, SHAPE),
    ),
    unary(
        "fresnel_sin_slope",
        lambda x: apply(it.fresnel_sin_slope_op, (x,)),
        by_mpmath("fresnel_sin_slope"),
        signed(0.1, 3.0, SHAPE),
    ),
    unary("spence", it.spence, by_mpmath("spence"), between(0.2, 3.0, SHAPE)),
    unary("spence near 1", it.spence, by_mpmath("spence"), between(0.9, 1.1, SHAPE)),
    unary("sinc", sf.sinc, by_mpmath("sinc"), between(-4.0, 4.0, SHAPE)),
    unary("sinc near 0", sf.sinc, by_mpmath("sinc"), between(-0.4, 0.4, SHAPE)),
    unary("logcosh", sf.logcosh, by_mpmath("logcosh"), normal(SHAPE)),
)

ROWS: tuple[Row, ...] = (*ERROR_FUNCTIONS, *BESSEL, *INTEGRALS)
