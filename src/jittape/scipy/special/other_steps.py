"""More functions that SciPy computes between kernels: those with derivatives, and those without.

Reciprocal gamma function: DLMF 5.5; sine and cosine integrals: DLMF 6.2; associated Legendre functions: DLMF 14.10.5;
confluent hypergeometric function: DLMF 13.3.22; plasma dispersion: DLMF 7.10.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jittape.scipy.special.scipy_steps import scipy_step
from jittape.scipy.special.terms import (
    Term,
    as_complex,
    cos,
    cosh,
    exp,
    imag,
    log,
    real,
    sin,
    sinh,
    slope,
    special,
    square,
    where,
)

__all__ = ["OTHERS"]

_DEGREE = math.pi / 180


def _over_x(function: Callable[[Term], Term], at_zero: float) -> Callable[..., Any]:
    def formula(out: Term, x: Term) -> Term:
        zero = x.is_equal(0.0)
        return where(zero, at_zero, function(x) / where(zero, 1.0, x))

    return formula


def _rgamma_slope(out: Term, z: Term) -> Term:
    """Return ``-psi(z) / gamma(z)``; on the left by the reflection formula, which has no poles."""
    right = z > 0.5
    positive = where(right, 1.0, 1 - z)
    reflected = special("gamma", positive) * cos(math.pi * z) - special("psi", positive) * out
    return where(right, -special("psi", where(right, z, 1.0)) * out, reflected)


def _lpmv_slope(out: Term, m: Term, v: Term, x: Term) -> Term:
    return (v * x * out - (v + m) * special("lpmv", m, v - 1, x)) / (square(x) - 1)


def _powm1_in_x(out: Term, x: Term, y: Term) -> Term:
    return y * x ** (y - 1)


def _powm1_in_y(out: Term, x: Term, y: Term) -> Term:
    return where(x > 0.0, (out + 1) * log(x), 0.0)


def _voigt(part: Callable[..., Any]) -> Any:
    """Return a slope of Voigt's profile ``real(w(z)) / (sigma sqrt(2 pi))``, ``z = (x + i gamma) / (sigma sqrt 2)``."""

    def formula(out: Term, x: Term, sigma: Term, gamma: Term) -> Term:
        safe = where(sigma.is_equal(0.0), 1.0, sigma)
        scale = 1 / (safe * math.sqrt(2))
        z = as_complex(x * scale, gamma * scale)
        change = as_complex(0.0 * x, 0.0 * x + 2 / math.sqrt(math.pi)) - 2 * z * special("wofz", z)
        return part(out, x, safe, gamma, sigma.is_equal(0.0), z, change)

    return slope(formula)


def _voigt_in_x(out: Term, x: Term, sigma: Term, gamma: Term, lorentz: Term, z: Term, change: Term) -> Term:
    total = square(x) + square(gamma)
    narrow = -2 * x * gamma / (math.pi * square(total))
    return where(lorentz, narrow, real(change) / (2 * math.sqrt(math.pi) * square(sigma)))


def _voigt_in_sigma(
    out: Term, x: Term, sigma: Term, gamma: Term, lorentz: Term, z: Term, change: Term
) -> Term:
    shift = real(change * z) / (square(sigma) * math.sqrt(2 * math.pi))
    return where(lorentz, 0.0, -out / sigma - shift)


def _voigt_in_gamma(
    out: Term, x: Term, sigma: Term, gamma: Term, lorentz: Term, z: Term, change: Term
) -> Term:
    total = square(x) + square(gamma)
    narrow = (square(x) - square(gamma)) / (math.pi * square(total))
    return where(lorentz, narrow, -imag(change) / (2 * math.sqrt(math.pi) * square(sigma)))


def _following(out: Term, a: Term, b: Term, x: Term) -> Term:
    """Return the derivative of the logarithm of Wright's Bessel function."""
    return exp(special("log_wright_bessel", a, a + b, x) - out)


OTHERS: dict[str, Any] = {
    "cbrt": scipy_step("cbrt", "x", slope(lambda out, x: 1 / (3 * square(out)))),
    "cosdg": scipy_step("cosdg", "x", slope(lambda out, x: -_DEGREE * special("sindg", x))),
    "cotdg": scipy_step("cotdg", "x", slope(lambda out, x: -_DEGREE * (1 + square(out)))),
    "hyperu": scipy_step(
        "hyperu", "a b x", None, None, slope(lambda out, a, b, x: -a * special("hyperu", a + 1, b + 1, x))
    ),
    "log_wright_bessel": scipy_step("log_wright_bessel", "a b x", None, None, slope(_following)),
    "lpmv": scipy_step("lpmv", "m v x", None, None, slope(_lpmv_slope)),
    "powm1": scipy_step("powm1", "x y", slope(_powm1_in_x), slope(_powm1_in_y)),
    "radian": scipy_step(
        "radian",
        "d m s",
        *[slope(lambda out, d, m, s, size=size: 0.0 * d + _DEGREE / size) for size in (1, 60, 3600)],
    ),
    "rgamma": scipy_step("rgamma", "z", slope(_rgamma_slope)),
    "shichi": (
        scipy_step("shichi", "x", slope(_over_x(sinh, 1.0)), output=0),
        scipy_step("shichi", "x", slope(_over_x(cosh, math.inf)), output=1),
    ),
    "sici": (
        scipy_step("sici", "x", slope(_over_x(sin, 1.0)), output=0),
        scipy_step("sici", "x", slope(_over_x(cos, math.inf)), output=1),
    ),
    "sindg": scipy_step("sindg", "x", slope(lambda out, x: _DEGREE * special("cosdg", x))),
    "tandg": scipy_step("tandg", "x", slope(lambda out, x: _DEGREE * (1 + square(out)))),
    "voigt_profile": scipy_step(
        "voigt_profile",
        "x sigma gamma",
        _voigt(_voigt_in_x),
        _voigt(_voigt_in_sigma),
        _voigt(_voigt_in_gamma),
    ),
    "wright_bessel": scipy_step(
        "wright_bessel",
        "a b x",
        None,
        None,
        slope(lambda out, a, b, x: special("wright_bessel", a, a + b, x)),
    ),
    "wrightomega": scipy_step("wrightomega", "z", slope(lambda out, z: out / (1 + out))),
}
"""Records by SciPy's name; a tuple has one for each result."""

WITHOUT_DERIVATIVE = {
    "besselpoly": "a lmb nu",
    "chndtridf": "x p nc",
    "elliprg": "x y z",
    "elliprj": "x y z p",
    "mathieu_a": "m q",
    "mathieu_b": "m q",
    "ncfdtr": "dfn dfd nc f",
    "ncfdtri": "dfn dfd nc p",
    "ncfdtridfd": "dfn p nc f",
    "ncfdtridfn": "p dfd nc f",
    "ncfdtrinc": "dfn dfd p f",
    "nctdtr": "df nc t",
    "nctdtridf": "p nc t",
    "nctdtrinc": "df p t",
    "nctdtrit": "df nc p",
    "obl_cv": "m n c",
    "pro_cv": "m n c",
    "smirnov": "n d",
    "smirnovi": "n p",
    "zetac": "x",
}
"""Parameters of the functions whose derivatives have no formula."""
OTHERS |= {
    name: scipy_step(name, parameters, *[None] * len(parameters.split()))
    for name, parameters in WITHOUT_DERIVATIVE.items()
}
