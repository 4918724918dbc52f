"""Elliptic integrals and functions, which SciPy computes between kernels, with their derivatives.

Legendre's integrals: DLMF 19.4, Carlson's: DLMF 19.18, Jacobi's functions: DLMF 22.13. The quotients of these formulas
lose their digits for a small parameter, where power series replace them.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import Primitive
from jittape.scipy.special.scipy_steps import scipy_step
from jittape.scipy.special.terms import (
    Term,
    absolute,
    cos,
    polynomial,
    sin,
    slope,
    special,
    sqrt,
    square,
    where,
)

__all__ = ["ELLIPTIC"]

NEAR = 0.1
"""Absolute value of the parameter below which series are used; their error is `NEAR` to the number of terms."""
TERMS = 17


def _binomials(exponent: float) -> list[float]:
    """Return the coefficients of ``(1 - t)**exponent``."""
    found = [1.0]
    for n in range(1, TERMS):
        found.append(found[-1] * (n - 1 - exponent) / n)
    return found


OF_FIRST, OF_SECOND = _binomials(-0.5), _binomials(0.5)
"""Coefficients of the integrands in ``m sin(t)**2``."""


def _complete(coefficients: list[float]) -> list[float]:
    """Return the coefficients of the derivative of a complete integral in m."""
    means = [math.pi / 2 * math.comb(2 * n, n) / 4**n for n in range(TERMS)]
    return [n * coefficients[n] * means[n] for n in range(1, TERMS)]


def _near_zero(m: Term, series: Term, formula: Any) -> Term:
    near = absolute(m) < NEAR
    return where(near, series, formula(where(near, 0.5, m)))


def _ellipk_slope(out: Term, m: Term) -> Term:
    return _near_zero(
        m,
        polynomial(_complete(OF_FIRST), m),
        lambda m: (special("ellipe", m) - (1 - m) * special("ellipk", m)) / (2 * m * (1 - m)),
    )


def _ellipkm1_slope(out: Term, p: Term) -> Term:
    m = 1 - p
    near = absolute(m) < NEAR
    safe = where(near, 0.5, p)
    far = (special("ellipe", 1 - safe) - safe * special("ellipkm1", safe)) / (2 * (1 - safe) * safe)
    return -where(near, polynomial(_complete(OF_FIRST), m), far)


def _ellipe_slope(out: Term, m: Term) -> Term:
    return _near_zero(
        m,
        polynomial(_complete(OF_SECOND), m),
        lambda m: (special("ellipe", m) - special("ellipk", m)) / (2 * m),
    )


def _incomplete(coefficients: list[float], phi: Term, m: Term) -> Term:
    """Return the series of the derivative of an incomplete integral in m."""
    s, c = sin(phi), cos(phi)
    integral, power, total, of_m = phi, s, 0.0 * phi, 0.0 * m + 1.0
    for n in range(1, TERMS):  # the integral of sin(t)**(2 n)
        integral = ((2 * n - 1) * integral - power * c) / (2.0 * n)
        power = power * square(s)
        total = total + n * coefficients[n] * of_m * integral
        of_m = of_m * m
    return total


def _root(phi: Term, m: Term) -> Term:
    return sqrt(1 - m * square(sin(phi)))


def _first_in_m(phi: Term, m: Term) -> Term:
    return _near_zero(
        m,
        _incomplete(OF_FIRST, phi, m),
        lambda m: (
            special("ellipeinc", phi, m) / (2 * m * (1 - m))
            - special("ellipkinc", phi, m) / (2 * m)
            - sin(2 * phi) / (4 * (1 - m) * _root(phi, m))
        ),
    )


def _second_in_m(phi: Term, m: Term) -> Term:
    return _near_zero(
        m,
        _incomplete(OF_SECOND, phi, m),
        lambda m: (special("ellipeinc", phi, m) - special("ellipkinc", phi, m)) / (2 * m),
    )


# ---- Jacobi's functions ----------------------------------------------------------------------------------------------


def _jacobi(u: Term, m: Term) -> list[Term]:
    return [Term(ELLIPTIC["ellipj"][i].bind(u.handle, m.handle)) for i in range(4)]


def _amplitude_in_m(u: Term, m: Term) -> Term:
    _, _, dn, phi = _jacobi(u, m)
    return -dn * _first_in_m(phi, m)


def _sn_in_m(out: Term, u: Term, m: Term) -> Term:
    return _jacobi(u, m)[1] * _amplitude_in_m(u, m)


def _cn_in_m(out: Term, u: Term, m: Term) -> Term:
    return -_jacobi(u, m)[0] * _amplitude_in_m(u, m)


def _dn_in_m(out: Term, u: Term, m: Term) -> Term:
    sn, cn, dn, _ = _jacobi(u, m)
    return -(square(sn) + 2 * m * sn * cn * _amplitude_in_m(u, m)) / (2 * dn)


def _ellipj(output: int, in_u: Any, in_m: Any) -> Primitive:
    def along_u(out: Term, u: Term, m: Term) -> Term:
        return in_u(m, *_jacobi(u, m))

    return scipy_step("ellipj", "u m", slope(along_u), slope(in_m), output=output)


# ---- Carlson's integrals ---------------------------------------------------------------------------------------------


def _rd(x: Term, y: Term, z: Term) -> Term:
    return special("elliprd", x, y, z)


def _agm_slope(out: Term, a: Term, b: Term) -> Term:
    return square(out) * a * special("elliprd", 0.0, square(b), square(a)) * (2 / (3 * math.pi))


ELLIPTIC: dict[str, Any] = {
    "agm": scipy_step(
        "agm",
        "a b",
        slope(_agm_slope),
        slope(lambda out, a, b: _agm_slope(out, b, a)),
    ),
    "ellipe": scipy_step("ellipe", "m", slope(_ellipe_slope)),
    "ellipeinc": scipy_step(
        "ellipeinc",
        "phi m",
        slope(lambda out, phi, m: _root(phi, m)),
        slope(lambda out, phi, m: _second_in_m(phi, m)),
    ),
    "ellipj": (
        _ellipj(0, lambda m, sn, cn, dn, ph: cn * dn, _sn_in_m),
        _ellipj(1, lambda m, sn, cn, dn, ph: -sn * dn, _cn_in_m),
        _ellipj(2, lambda m, sn, cn, dn, ph: -m * sn * cn, _dn_in_m),
        _ellipj(3, lambda m, sn, cn, dn, ph: dn, lambda out, u, m: _amplitude_in_m(u, m)),
    ),
    "ellipk": scipy_step("ellipk", "m", slope(_ellipk_slope)),
    "ellipkinc": scipy_step(
        "ellipkinc",
        "phi m",
        slope(lambda out, phi, m: 1 / _root(phi, m)),
        slope(lambda out, phi, m: _first_in_m(phi, m)),
    ),
    "ellipkm1": scipy_step("ellipkm1", "p", slope(_ellipkm1_slope)),
    "elliprc": scipy_step(
        "elliprc",
        "x y",
        slope(lambda out, x, y: _rd(y, y, x) / -6.0),
        slope(lambda out, x, y: _rd(x, y, y) / -3.0),
    ),
    "elliprd": scipy_step("elliprd", "x y z", None, None, None),
    "elliprf": scipy_step(
        "elliprf",
        "x y z",
        slope(lambda out, x, y, z: _rd(y, z, x) / -6.0),
        slope(lambda out, x, y, z: _rd(x, z, y) / -6.0),
        slope(lambda out, x, y, z: _rd(x, y, z) / -6.0),
    ),
}
"""Records by SciPy's name; a tuple has one for each result."""
