"""`SpecialFunctions`: the special functions of the math namespace that are computed by formulas of their own."""

from __future__ import annotations

from jittape.vectormath import erfinv as inverse_erf
from jittape.vectormath import ndtr as normal


class SpecialFunctions:
    """Special functions as methods of the math namespace; each formula's first argument is the namespace."""

    erfinv = inverse_erf.erfinv
    erfcinv = inverse_erf.erfcinv
    ndtri = inverse_erf.ndtri

    erfcx = normal.erfcx
    ndtr = normal.ndtr
    log_ndtr = normal.log_ndtr
