"""Bessel functions and their relatives, which SciPy computes between kernels, with derivatives in the argument.

Airy: DLMF 9.2; Kelvin: DLMF 10.61; Struve: DLMF 11.4; spherical Bessel functions: DLMF 10.51; Mathieu: DLMF 28.2;
spheroidal wave functions: DLMF 30.2; parabolic cylinder functions: DLMF 12.2. The orders have no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.primitive import Primitive
from jittape.scipy.special.scipy_steps import scipy_step
from jittape.scipy.special.terms import (
    Term,
    absolute,
    cos,
    cosh,
    floor,
    maximum,
    results,
    sign,
    slope,
    special,
    sqrt,
    where,
)

__all__ = ["BESSEL", "spherical_slope", "spherical_value"]


def _in_argument(name: str, arguments: str, formula: Callable[..., Any], **options: Any) -> Primitive:
    """Return a record with a derivative in the last argument only."""
    return scipy_step(name, arguments, *[None] * (len(arguments.split()) - 1), slope(formula), **options)


def _other(name: str, output: int, *operands: Term) -> Term:
    """Return result number `output` of the function `name`."""
    return results(name, *operands)[output]


def _results(name: str, arguments: str, *formulas: Callable[..., Any] | None) -> tuple[Primitive, ...]:
    """Return the records of a function with several results."""
    before = [None] * (len(arguments.split()) - 1)
    return tuple([scipy_step(name, arguments, *before, slope(f), output=i) for i, f in enumerate(formulas)])


# ---- Bessel ----------------------------------------------------------------------------------------------------------


def _half_difference(name: str, factor: float) -> Callable[..., Any]:
    return lambda out, v, x: factor * (special(name, v - 1, x) - special(name, v + 1, x))


def _whole_order(name: str, kind: str, factor: float, sign_above: float) -> Primitive:
    """Return the record of a Bessel function of integer order: SciPy truncates other orders, with a warning."""

    def formula(out: Term, n: Term, x: Term) -> Term:
        whole = sign(n) * floor(absolute(n))
        return factor * (special(kind, whole - 1, x) - sign_above * special(kind, whole + 1, x))

    return _in_argument(name, "n x", formula)


def spherical_value(name: str, n: Any, z: Any) -> Any:
    """Return the value of a spherical Bessel function of SciPy, whose orders are integers from 0 on."""
    from scipy import special as scipy_special

    orders = n.real.astype(np.int64)
    if (orders != n).any() or (orders < 0).any():
        raise ValueError(f"[{name}] n must be integers from 0 on, got {n.ravel()[0]}")
    with np.errstate(all="ignore"):
        return np.asarray(getattr(scipy_special, name)(orders, z)).astype(z.dtype, copy=False)


SPHERICAL = {
    "spherical_in": (1.0, 1.0),
    "spherical_jn": (1.0, -1.0),
    "spherical_kn": (-1.0, -1.0),
    "spherical_yn": (1.0, -1.0),
}
"""Signs a and b in ``(2 n + 1) f_n' = a n f_(n-1) + b (n + 1) f_(n+1)``."""


def spherical_slope(name: str, n: Any, z: Any) -> Any:
    """Return the derivative of a spherical Bessel function of handles."""
    order, at = Term(n), Term(z)
    lower = special(name, where(order.is_equal(0.0), 0.0, order - 1), at)  # counts 0 for order 0
    below, above = SPHERICAL[name]
    total = below * order * lower + above * (order + 1) * special(name, order + 1, at)
    return (total / (2 * order + 1)).handle


def _spherical(name: str) -> Primitive:
    def impl(n: Any, z: Any) -> Any:
        return spherical_value(name, n, z)

    return scipy_step(name, "n z", None, lambda out, n, z: spherical_slope(name, n, z), impl=impl)


def _over(x: Term, numerator: Any) -> Term:
    """Return a quotient that is 0 at 0."""
    return where(x.is_equal(0.0), 0.0, numerator / where(x.is_equal(0.0), 1.0, x))


# ---- Struve, Kelvin --------------------------------------------------------------------------------------------------


def _struve_slope(name: str, side: float) -> Callable[..., Any]:
    def formula(out: Term, v: Term, x: Term) -> Term:
        power = (0.5 * x) ** v * special("rgamma", v + 1.5) / math.sqrt(math.pi)
        return 0.5 * (special(name, v - 1, x) - side * special(name, v + 1, x) + power)

    return formula


def _kelvin_second(of_value: float, other: str, at_zero: float) -> Callable[..., Any]:
    """Return the derivative of a derivative of a Kelvin function: ``w'' = -w' / x + i w``."""

    def formula(out: Term, x: Term) -> Term:
        zero = x.is_equal(0.0)
        safe = where(zero, 1.0, x)
        return where(zero, at_zero, of_value * special(other, safe) - out / safe)

    return formula


# ---- Airy ------------------------------------------------------------------------------------------------------------


def _scaled_airy(output: int) -> Callable[..., Any]:
    """Return the derivative of ``airye``: Ai and Ai' times ``exp(2/3 z^(3/2))``, Bi and Bi' by the inverse."""

    def formula(out: Term, z: Term) -> Term:
        root = sqrt(z) if output < 2 else -sqrt(maximum(z, 0.0))
        other = _other("airye", output + 1 - 2 * (output % 2), z)
        return (other if output % 2 == 0 else z * other) + root * out

    return formula


def _airy(output: int) -> Callable[..., Any]:
    def formula(out: Term, z: Term) -> Term:
        other = _other("airy", output + 1 - 2 * (output % 2), z)
        return other if output % 2 == 0 else z * other

    return formula


# ---- waves -----------------------------------------------------------------------------------------------------------


def _wave(
    name: str, value: str, unit: float, sign: float, potential: Callable[[Term], Term]
) -> tuple[Primitive, ...]:
    """Return the records of a Mathieu function, ``y'' = sign (a - 2 q potential(x)) y`` for x in radians."""

    def first(out: Term, m: Term, q: Term, x: Term) -> Term:
        return unit * _other(name, 1, m, q, x)

    def second(out: Term, m: Term, q: Term, x: Term) -> Term:
        factor = special(value, m, q) - 2 * q * potential(x)
        return sign * unit * factor * _other(name, 0, m, q, x)

    return _results(name, "m q x", first, second)


def _radial(name: str, value: str) -> tuple[Primitive, ...]:
    return _wave(name, value, 1.0, 1.0, lambda x: cosh(2 * x))


def _angular(name: str, value: str) -> tuple[Primitive, ...]:
    return _wave(name, value, math.pi / 180, -1.0, lambda x: cos(x * (math.pi / 90)))  # SciPy takes degrees


def _spheroidal(name: str, arguments: str) -> tuple[Primitive, ...]:
    """Return the records of a spheroidal wave function, whose second result is the derivative of the first."""
    return _results(name, arguments, lambda out, *operands: _other(name, 1, *operands), None)


BESSEL: dict[str, Any] = {
    "airy": _results("airy", "z", *[_airy(i) for i in range(4)]),
    "airye": _results("airye", "z", *[_scaled_airy(i) for i in range(4)]),
    "bei": _in_argument("bei", "x", lambda out, x: special("beip", x)),
    "beip": _in_argument("beip", "x", _kelvin_second(1.0, "ber", 0.5)),
    "ber": _in_argument("ber", "x", lambda out, x: special("berp", x)),
    "berp": _in_argument("berp", "x", _kelvin_second(-1.0, "bei", 0.0)),
    "itairy": _results(
        "itairy",
        "x",
        lambda out, x: _other("airy", 0, x),
        lambda out, x: _other("airy", 2, x),
        lambda out, x: _other("airy", 0, -x),
        lambda out, x: _other("airy", 2, -x),
    ),
    "it2i0k0": _results(
        "it2i0k0", "x", lambda out, x: _over(x, special("i0", x) - 1), lambda out, x: -special("k0", x) / x
    ),
    "it2j0y0": _results(
        "it2j0y0", "x", lambda out, x: _over(x, 1 - special("j0", x)), lambda out, x: -special("y0", x) / x
    ),
    "it2struve0": _in_argument("it2struve0", "x", lambda out, x: -special("struve", 0.0, x) / x),
    "iti0k0": _results("iti0k0", "x", lambda out, x: special("i0", x), lambda out, x: special("k0", x)),
    "itj0y0": _results("itj0y0", "x", lambda out, x: special("j0", x), lambda out, x: special("y0", x)),
    "itmodstruve0": _in_argument("itmodstruve0", "x", lambda out, x: special("modstruve", 0.0, x)),
    "itstruve0": _in_argument("itstruve0", "x", lambda out, x: special("struve", 0.0, x)),
    "jve": _in_argument("jve", "v z", _half_difference("jve", 0.5)),
    "kei": _in_argument("kei", "x", lambda out, x: special("keip", x)),
    "keip": _in_argument("keip", "x", _kelvin_second(1.0, "ker", math.inf)),
    "ker": _in_argument("ker", "x", lambda out, x: special("kerp", x)),
    "kerp": _in_argument("kerp", "x", _kelvin_second(-1.0, "kei", math.inf)),
    "kn": _whole_order("kn", "kv", -0.5, -1.0),
    "mathieu_cem": _angular("mathieu_cem", "mathieu_a"),
    "mathieu_modcem1": _radial("mathieu_modcem1", "mathieu_a"),
    "mathieu_modcem2": _radial("mathieu_modcem2", "mathieu_a"),
    "mathieu_modsem1": _radial("mathieu_modsem1", "mathieu_b"),
    "mathieu_modsem2": _radial("mathieu_modsem2", "mathieu_b"),
    "mathieu_sem": _angular("mathieu_sem", "mathieu_b"),
    "modstruve": _in_argument("modstruve", "v x", _struve_slope("modstruve", -1.0)),
    "pbdv": _results(
        "pbdv",
        "v x",
        lambda out, v, x: _other("pbdv", 1, v, x),
        lambda out, v, x: (0.25 * x * x - v - 0.5) * _other("pbdv", 0, v, x),
    ),
    "pbvv": _results(
        "pbvv",
        "v x",
        lambda out, v, x: _other("pbvv", 1, v, x),
        lambda out, v, x: (0.25 * x * x - v - 0.5) * _other("pbvv", 0, v, x),
    ),
    "pbwa": _results(
        "pbwa",
        "a x",
        lambda out, a, x: _other("pbwa", 1, a, x),
        lambda out, a, x: (a - 0.25 * x * x) * _other("pbwa", 0, a, x),
    ),
    **{name: _spherical(name) for name in SPHERICAL},
    "struve": _in_argument("struve", "v x", _struve_slope("struve", 1.0)),
    "yn": _whole_order("yn", "yv", 0.5, 1.0),
    "yve": _in_argument("yve", "v z", _half_difference("yve", 0.5)),
    **{
        f"{shape}_{kind}{suffix}": _spheroidal(f"{shape}_{kind}{suffix}", f"m n c {cv}x")
        for shape in ("obl", "pro")
        for kind in ("ang1", "rad1", "rad2")
        for suffix, cv in (("", ""), ("_cv", "cv "))
    },
}
"""Records by SciPy's name; a tuple has one for each result."""
