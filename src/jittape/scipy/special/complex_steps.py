"""Special functions of complex numbers, which SciPy computes between kernels, with their derivatives.

Error functions: DLMF 7.2 and 7.10; gamma functions: DLMF 5.2; exponential integrals: DLMF 6.2; the dilogarithm:
DLMF 25.12. The derivatives of `psi` are not elementary and SciPy has no function for them, so they raise an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

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
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, log
from jittape.primitives.record_parts import same_of_kinds
from jittape.scipy.special.scipy_steps import scipy_value

__all__ = ["COMPLEX_STEPS"]

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


COMPLEX_STEPS: dict[str, Primitive] = {
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
"""Records by SciPy's name."""
