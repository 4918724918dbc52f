"""Special functions of complex numbers, which SciPy computes between kernels, with their derivatives.

Error functions: DLMF 7.2 and 7.10; gamma functions: DLMF 5.2; exponential integrals: DLMF 6.2; the dilogarithm:
DLMF 25.12. The derivatives of `psi` are not elementary and SciPy has no function for them, so they raise an error.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jittape.core.primitive import Primitive
from jittape.errors import NoGradientError
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    square,
    subtract,
    zero_dominant_multiply,
)
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.complex_numbers import cast, real
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, log
from jittape.primitives.record_parts import same_of_kinds
from jittape.scipy.special.bessel_steps import BESSEL, spherical_value
from jittape.scipy.special.elliptic_steps import ELLIPTIC
from jittape.scipy.special.other_steps import OTHERS
from jittape.scipy.special.polynomial_steps import POLYNOMIALS
from jittape.scipy.special.scipy_steps import COMPLEX, STEPS, scipy_step, scipy_value

__all__ = ["COMPLEX_STEPS", "NOT_REAL", "REAL_ARGUMENTS", "complex_body"]

Slope = Callable[..., Any]
_TWO = 2 / math.sqrt(math.pi)
_BELL = 1 / math.sqrt(2 * math.pi)


def _step(name: str, *slopes: Slope) -> Primitive:
    """Return the record of a holomorphic function; ``slope(out, *operands)`` is the derivative in an operand."""

    def rule(slope: Slope) -> Slope:
        return lambda g, out, *operands: zero_dominant_multiply(g, slope(out, *operands))

    return Primitive(
        f"scipy_complex_{name}",
        abstract_eval=same_of_kinds(name, "c"),
        impl=partial(scipy_value, name),
        vjp=tuple(map(rule, slopes)),
        batch=alike(),
    )


def _psi_slope(out: Any, z: Any) -> Any:
    raise NoGradientError("[psi] has no derivative for complex numbers; use it for real ones, or a constant")


def _gauss(sign: float, factor: float) -> Slope:
    return lambda out, z: multiply(factor, exp(multiply(sign, square(z))))


def _log_ndtr_slope(out: Any, z: Any) -> Any:
    return multiply(_BELL, exp(subtract(multiply(-0.5, square(z)), out)))


COMPLEX_STEPS: dict[str, Any] = {
    "dawsn": _step("dawsn", lambda out, z: subtract(1.0, multiply(2.0, multiply(z, out)))),
    "erf": _step("erf", _gauss(-1.0, _TWO)),
    "erfc": _step("erfc", _gauss(-1.0, -_TWO)),
    "erfcx": _step("erfcx", lambda out, z: subtract(multiply(2.0, multiply(z, out)), _TWO)),
    "erfi": _step("erfi", _gauss(1.0, _TWO)),
    "exp1": _step("exp1", lambda out, z: negative(divide(exp(negative(z)), z))),
    "expi": _step("expi", lambda out, z: divide(exp(z), z)),
    "expm1": _step("expm1", lambda out, z: add(out, 1.0)),
    "gamma": _step("gamma", lambda out, z: multiply(out, COMPLEX_STEPS["psi"].bind(z))),
    "log1p": _step("log1p", lambda out, z: reciprocal(add(z, 1.0))),
    "log_ndtr": _step("log_ndtr", _log_ndtr_slope),
    "loggamma": _step("loggamma", lambda out, z: COMPLEX_STEPS["psi"].bind(z)),
    "ndtr": _step("ndtr", _gauss(-0.5, _BELL)),
    "psi": _step("psi", _psi_slope),
    "spence": _step("spence", lambda out, z: divide(log(z), subtract(1.0, z))),
    "wofz": _step("wofz", lambda out, z: subtract(2j / math.sqrt(math.pi), multiply(2.0, multiply(z, out)))),
    "xlog1py": _step(
        "xlog1py",
        lambda out, x, y: COMPLEX_STEPS["log1p"].bind(y),
        lambda out, x, y: divide(x, add(y, 1.0)),
    ),
    "xlogy": _step("xlogy", lambda out, x, y: log(y), lambda out, x, y: divide(x, y)),
}
"""Records by SciPy's name; a tuple has one for each result."""


# ---- functions of a complex argument after real ones -----------------------------------------------------------------


def _complex_value(name: str, reals: int, output: int | None, *arrays: Any) -> Any:
    """Return SciPy's value, which takes the first `reals` arguments as real numbers."""
    if name.startswith("spherical"):
        return spherical_value(name, arrays[0].real, arrays[1])
    found = _computed(name, [x.real if i < reals else x for i, x in enumerate(arrays)], output)
    return np.asarray(found).astype(arrays[0].dtype, copy=False)


def _computed(name: str, arrays: list[Any], output: int | None) -> Any:
    from scipy import special

    if name == "lambertw":
        arrays = [arrays[0], arrays[1].real.astype(np.int64), float(arrays[2].real.min(initial=np.inf))]
    with np.errstate(all="ignore"):
        found = getattr(special, name)(*arrays)
    return found if output is None else found[output]


def _alike(name: str, record: Any, vjp: Any = None) -> Any:
    """Return the record of a function of complex numbers with the slopes of that of real ones."""
    if isinstance(record, tuple):
        return tuple([_alike(name, part) for part in record])
    number = record.name.removeprefix(f"scipy_{name}")
    output = int(number[1:]) if number else None
    return Primitive(
        f"scipy_complex_{name}{number}",
        abstract_eval=same_of_kinds(name, "c"),
        impl=partial(_complex_value, name, REAL_ARGUMENTS.get(name, 0), output),
        vjp=record.vjp if vjp is None else vjp,
        batch=alike(),
    )


def _mixed(name: str, arguments: str, *slopes: Slope | None, output: int | None = None) -> Any:
    return _alike(name, scipy_step(name, arguments, *slopes, output=output))


def _difference(name: str, factor: complex) -> Slope:
    """Return the derivative of a Hankel function: half the difference of its neighbors, plus `factor` times itself."""

    def formula(out: Any, v: Any, z: Any) -> Any:
        below, above = (COMPLEX_STEPS[name].bind(add(v, by), z) for by in (-1.0, 1.0))
        return add(multiply(0.5, subtract(below, above)), multiply(factor, out))

    return formula


def _not_negative(x: Any) -> Any:
    """Return `x`, and nan with the derivative nan below 0."""
    return zero_dominant_multiply(x, cast(where(less(real(x), 0), math.nan, 1.0), x.dtype))


def _fresnel(name: str, side: complex) -> tuple[Any, Any]:
    """Return the records of the modified Fresnel integrals of a real number.

    Below 0, SciPy's values are those of another function, so the slope and all further derivatives are nan.
    """
    constant = cmath.exp(-side * math.pi / 4) / math.sqrt(math.pi)

    def of_integral(out: Any, x: Any) -> Any:
        return negative(exp(multiply(side, square(_not_negative(x)))))

    def of_product(out: Any, x: Any) -> Any:
        return subtract(multiply(-2 * side, multiply(_not_negative(x), out)), constant)

    return tuple([_mixed(name, "x", f, output=i) for i, f in enumerate((of_integral, of_product))])


POLYNOMIALS_OF_ONE = ("chebyc", "chebys", "chebyt", "chebyu", "laguerre", "legendre", "sh_chebyt", "sh_chebyu",
                      "sh_legendre")  # fmt: skip
REAL_ARGUMENTS = {
    **dict.fromkeys(
        ["hankel1", "hankel1e", "hankel2", "hankel2e", "hyp0f1", "iv", "ive", "jv", "jve", "kv"], 1
    ),
    **dict.fromkeys(["kve", "yv", "yve", "modfresnelm", "modfresnelp"], 1),
    **dict.fromkeys(["spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"], 1),
    **{f"eval_{name}": 1 for name in POLYNOMIALS_OF_ONE},
    "eval_gegenbauer": 2,
    "eval_genlaguerre": 2,
    "eval_jacobi": 3,
    "hyp1f1": 2,
    "hyp2f1": 3,
}
"""Number of first arguments that must be real."""
COMPLEX_STEPS |= {
    "rgamma": _step("rgamma", lambda out, z: negative(multiply(out, COMPLEX_STEPS["psi"].bind(z)))),
    "wrightomega": _step("wrightomega", lambda out, z: divide(out, add(out, 1.0))),
    "lambertw": _mixed(
        "lambertw",
        "z k tol",
        lambda out, z, k, tol: reciprocal(multiply(exp(out), add(out, 1.0))),
        None,
        None,
    ),
    "hankel1": _mixed("hankel1", "v z", None, _difference("hankel1", 0.0)),
    "hankel1e": _mixed("hankel1e", "v z", None, _difference("hankel1e", -1j)),
    "hankel2": _mixed("hankel2", "v z", None, _difference("hankel2", 0.0)),
    "hankel2e": _mixed("hankel2e", "v z", None, _difference("hankel2e", 1j)),
    "modfresnelm": _fresnel("modfresnelm", -1j),
    "modfresnelp": _fresnel("modfresnelp", 1j),
    **{
        name: _alike(name, STEPS[name])
        for name in ("hyp0f1", "hyp1f1", "hyp2f1", "iv", "jv", "kv", "kve", "yv")
    },
    **{name: _mixed(name, "v z", None, None) for name in ("ive", "jve", "yve")},
    **{name: _alike(name, ELLIPTIC[name]) for name in ("elliprc", "elliprd", "elliprf")},
    **{name: _alike(name, OTHERS[name]) for name in ("elliprg", "elliprj", "shichi", "sici")},
    **{name: _alike(name, POLYNOMIALS[name]) for name in REAL_ARGUMENTS if name.startswith("eval_")},
    **{name: _alike(name, BESSEL[name]) for name in REAL_ARGUMENTS if name.startswith("spherical")},
    "airy": _alike("airy", BESSEL["airy"]),
    "airye": tuple([_mixed("airye", "z", None, output=i) for i in range(4)]),
}
NOT_REAL = ("hankel1", "hankel1e", "hankel2", "hankel2e", "lambertw", "modfresnelm", "modfresnelp", "wofz")
"""Functions that are complex for real numbers."""


def complex_body(name: str, *operands: Any) -> Any:
    """Record the function `name` on operands of one complex dtype and shape."""
    record = COMPLEX_STEPS[name]
    if isinstance(record, tuple):
        return tuple([part.bind(*operands) for part in record])
    return record.bind(*operands)


COMPLEX.update({name: partial(complex_body, name) for name in COMPLEX_STEPS})
