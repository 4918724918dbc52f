"""Special functions that SciPy computes between kernels, with their derivatives.

Inverses of distribution functions have the derivatives of the implicit function theorem: if ``F(a, y) = p``, then
``dy/dp = 1 / f`` and ``dy/da = -(dF/da) / f`` with the density f. Bessel functions: DLMF 10.6.1 and 10.29.1;
``expn``: DLMF 8.19.13; hypergeometric functions: DLMF 13.3.15 and 15.5.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jittape.core.primitive import Primitive, apply
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
from jittape.primitives.elementwise.comparison import equal, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.incomplete_beta import beta_density_op, betainc_slope_op
from jittape.primitives.elementwise.incomplete_gamma import gamma_density_op, random_gamma_grad
from jittape.primitives.elementwise.piecewise import maximum, sign
from jittape.primitives.record_parts import same_real_float

__all__ = ["COMPLEX", "REAL", "STEPS", "Slope", "call_step", "no_slope", "scipy_step", "scipy_value"]

Slope = Callable[..., Any]
REAL: dict[str, Callable[..., Any]] = {}
"""Bodies of the functions of real numbers, by SciPy's name; filled by `jittape.scipy.special.ufunc_bodies`."""
COMPLEX: dict[str, Callable[..., Any]] = {}
"""Bodies of the functions of complex numbers; filled by `jittape.scipy.special.complex_steps`."""


def scipy_value(name: str, *arrays: Any, output: int | None = None) -> Any:
    """Return the value of SciPy's ufunc `name`, or one of its outputs, in the dtype of the arrays."""
    from scipy import special

    with np.errstate(all="ignore"):
        found = getattr(special, name)(*arrays)
        return np.asarray(found if output is None else found[output]).astype(arrays[0].dtype, copy=False)


def _hyp1f1_value(a: Any, b: Any, x: Any) -> Any:
    """Return SciPy's value, by Kummer's transformation where the terms of SciPy's series cancel (DLMF 13.2.39).

    For large `a` and small negative `x`, SciPy gives 4e14 in place of -0.6. Its series of equal `b` and ``-x`` is
    wrong, too, so the transformed `x` is one rounding smaller.
    """
    a, b, x = np.broadcast_arrays(a, b, x)
    value = scipy_value("hyp1f1", a, b, x)
    turned = (a > 20) & (b > 0) & (x < 0) & (x > -2)
    if np.any(turned):
        a, b, x = (np.asarray(v[turned], np.float64) for v in (a, b, x))
        x = np.where(b == -x, np.nextafter(x, 0), x)
        value = np.array(value)
        value[turned] = np.exp(x) * scipy_value("hyp1f1", b - a, b, -x)
    return value


def no_slope(name: str, argument: str) -> Callable[..., Any]:
    """Return the gradient rule that raises an error, which names the function and its argument."""

    def rule(*operands: Any) -> Any:
        raise NoGradientError(
            f"[{name}] has no derivative with respect to {argument}; pass a constant or jt.stop_gradient({argument})"
        )

    return rule


def scipy_step(
    name: str,
    arguments: str,
    *slopes: Slope | None,
    impl: Callable[..., Any] | None = None,
    output: int | None = None,
) -> Primitive:
    """Return the record of a function; ``slope(out, *operands)`` is a derivative, None is an error.

    SciPy's ufunc computes the value, or its result number `output`, unless `impl` does.
    """

    def rule(slope: Slope) -> Slope:
        return lambda g, out, *operands: zero_dominant_multiply(g, slope(out, *operands))

    names = arguments.split()
    vjp = [no_slope(name, a) if s is None else rule(s) for a, s in zip(names, slopes, strict=True)]
    return Primitive(
        f"scipy_{name}" if output is None else f"scipy_{name}_{output}",
        abstract_eval=same_real_float(name),
        impl=impl or partial(scipy_value, name, output=output),
        vjp=tuple(vjp),
        batch=alike(),
    )


def call_step(name: str, *operands: Any) -> Any:
    """Record the function `name` on operands of one dtype and shape."""
    return (COMPLEX if operands[0].dtype.kind == "c" else REAL)[name](*operands)


def _gamma_density(a: Any, y: Any) -> Any:
    return apply(gamma_density_op, (a, y))


def _beta_density(a: Any, b: Any, y: Any) -> Any:
    return apply(beta_density_op, (a, b, y))


def _beta_slope(order_a: int, order_b: int) -> Callable[..., Any]:
    return lambda out, a, b, p: negative(betainc_slope_op.bind(a, b, out, order_a=order_a, order_b=order_b))


def _shifted(name: str, by: int) -> Callable[..., Any]:
    return lambda order, x: call_step(name, add(order, by), x)


def _half_sum(name: str, combine: Callable[..., Any], factor: float) -> Callable[..., Any]:
    """Return ``factor (F_(v-1) +- F_(v+1))``, the derivative of a Bessel function."""
    lower, upper = _shifted(name, -1), _shifted(name, 1)
    return lambda out, v, x: multiply(factor, combine(lower(v, x), upper(v, x)))


def _ive_slope(out: Any, v: Any, x: Any) -> Any:
    return subtract(_half_sum("ive", add, 0.5)(out, v, x), multiply(sign(x), out))


def _kve_slope(out: Any, v: Any, x: Any) -> Any:
    return add(_half_sum("kve", add, -0.5)(out, v, x), out)


def _expn_slope(out: Any, n: Any, x: Any) -> Any:
    """Return ``-E_(n-1)(x)``, where ``E_-1(x) = exp(-x) (1 + x) / x**2``."""
    below = divide(multiply(exp(negative(x)), add(x, 1)), square(x))
    return negative(where(less(n, 1), below, call_step("expn", maximum(subtract(n, 1), 0), x)))


def _hyp1f1_slope(out: Any, a: Any, b: Any, x: Any) -> Any:
    following = call_step("hyp1f1", add(a, 1), add(b, 1), x)
    return multiply(
        divide(a, b), where(equal(a, -1), 1.0, following)
    )  # a polynomial of degree 1, also at poles of b + 1


def _hyp2f1_slope(out: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    factor = divide(multiply(a, b), c)
    return multiply(factor, call_step("hyp2f1", add(a, 1), add(b, 1), add(c, 1), x))


def _ndtri_exp_slope(out: Any, y: Any) -> Any:
    return multiply(math.sqrt(2 * math.pi), exp(add(y, multiply(0.5, square(out)))))


STEPS: dict[str, Primitive] = {
    "betaincinv": scipy_step(
        "betaincinv",
        "a b y",
        _beta_slope(1, 0),
        _beta_slope(0, 1),
        lambda out, a, b, p: reciprocal(_beta_density(a, b, out)),
    ),
    "betainccinv": scipy_step(
        "betainccinv",
        "a b y",
        _beta_slope(1, 0),
        _beta_slope(0, 1),
        lambda out, a, b, p: negative(reciprocal(_beta_density(a, b, out))),
    ),
    "expn": scipy_step("expn", "n x", None, _expn_slope),
    "gammaincinv": scipy_step(
        "gammaincinv",
        "a y",
        lambda out, a, p: random_gamma_grad(a, out),
        lambda out, a, p: reciprocal(_gamma_density(a, out)),
    ),
    "gammainccinv": scipy_step(
        "gammainccinv",
        "a y",
        lambda out, a, p: random_gamma_grad(a, out),
        lambda out, a, p: negative(reciprocal(_gamma_density(a, out))),
    ),
    "hyp0f1": scipy_step(
        "hyp0f1", "v z", None, lambda out, v, z: divide(call_step("hyp0f1", add(v, 1), z), v)
    ),
    "hyp1f1": scipy_step("hyp1f1", "a b x", None, None, _hyp1f1_slope, impl=_hyp1f1_value),
    "hyp2f1": scipy_step("hyp2f1", "a b c z", None, None, None, _hyp2f1_slope),
    "iv": scipy_step("iv", "v z", None, _half_sum("iv", add, 0.5)),
    "ive": scipy_step("ive", "v z", None, _ive_slope),
    "jv": scipy_step("jv", "v z", None, _half_sum("jv", subtract, 0.5)),
    "kv": scipy_step("kv", "v z", None, _half_sum("kv", add, -0.5)),
    "kve": scipy_step("kve", "v z", None, _kve_slope),
    "ndtri_exp": scipy_step("ndtri_exp", "y", _ndtri_exp_slope),
    "yv": scipy_step("yv", "v z", None, _half_sum("yv", subtract, 0.5)),
}
"""Records by SciPy's name."""
