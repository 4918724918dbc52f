"""`SpecialFunctions`: the special functions of the math namespace that are computed by formulas of their own."""

from __future__ import annotations

from jittape.vectormath.special_functions import bessel_i, bessel_j, bessel_k, fresnel
from jittape.vectormath.special_functions import dawsn as dawson
from jittape.vectormath.special_functions import erfinv as inverse_erf
from jittape.vectormath.special_functions import expint as exponential_integral
from jittape.vectormath.special_functions import ndtr as normal
from jittape.vectormath.special_functions import sinc as sine_quotient
from jittape.vectormath.special_functions import spence as dilogarithm

__all__ = ["SpecialFunctions"]


class SpecialFunctions:
    """Special functions as methods of the math namespace; each formula's first argument is the namespace."""

    erfinv = inverse_erf.erfinv
    erfcinv = inverse_erf.erfcinv
    ndtri = inverse_erf.ndtri

    erfcx = normal.erfcx
    ndtr = normal.ndtr
    log_ndtr = normal.log_ndtr

    bessel_i0 = bessel_i.bessel_i0
    bessel_i0e = bessel_i.bessel_i0e
    bessel_i1 = bessel_i.bessel_i1
    bessel_i1e = bessel_i.bessel_i1e
    bessel_k0 = bessel_k.bessel_k0
    bessel_k0e = bessel_k.bessel_k0e
    bessel_k1 = bessel_k.bessel_k1
    bessel_k1e = bessel_k.bessel_k1e

    bessel_j0 = bessel_j.bessel_j0
    bessel_j1 = bessel_j.bessel_j1
    bessel_y0 = bessel_j.bessel_y0
    bessel_y1 = bessel_j.bessel_y1

    spence = dilogarithm.spence
    sinc = sine_quotient.sinc
    logcosh = sine_quotient.logcosh

    dawsn = dawson.dawsn
    expint = exponential_integral.expint
    fresnel_sin = fresnel.fresnel_sin
    fresnel_cos = fresnel.fresnel_cos
    fresnel_sin_slope = fresnel.fresnel_sin_slope
    fresnel_cos_slope = fresnel.fresnel_cos_slope
