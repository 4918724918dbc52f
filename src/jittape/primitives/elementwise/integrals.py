"""Functions defined by integrals: Dawson's, the exponential one, Fresnel's and Spence's."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.dtypes import float64
from jittape.core.primitive import Primitive, apply
from jittape.primitives.elementwise.arithmetic import multiply, polyval, square, subtract
from jittape.primitives.elementwise.bits import is_inf
from jittape.primitives.elementwise.comparison import greater, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, log
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.primitives.elementwise.piecewise import absolute
from jittape.typing import Tensor, TensorLike

__all__ = ["dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence"]

_FAR_SLOPE = [-math.prod(range(1, 2 * k + 2, 2)) * 0.5 ** (k + 1) for k in reversed(range(15))]
"""Coefficients of the asymptotic series (DLMF 7.12.1) of the derivative of dawsn in 1 / x**2, divided by 1 / x**2."""

_SLOPE_NEAR_ONE = [-1 / (k + 1) for k in reversed(range(20))]
"""Coefficients of the derivative of spence in 1 - x."""


def _slope_of_dawsn(out: Any, x: Any) -> Any:
    """Return ``1 - 2 x dawsn(x)``, for large x by the asymptotic series because the difference cancels."""
    near = subtract(1.0, multiply(multiply(2.0, x), out))
    inverse = square(reciprocal(x))
    far = multiply(inverse, polyval(_FAR_SLOPE, inverse))
    return where(greater(absolute(x), 10.0 if x.dtype == float64 else 5.0), far, near)


def _slope_of_expint(out: Any, x: Any) -> Any:
    """Return ``exp(x) / x``, and its limits at infinity."""
    power = exp(x)
    return where(is_inf(x), power, divide(power, x))


def _slope_of_spence(out: Any, x: Any) -> Any:
    """Return ``log(x) / (1 - x)``."""
    distance = subtract(1.0, x)
    near = polyval(_SLOPE_NEAR_ONE, distance)
    return where(less(absolute(distance), 0.125), near, divide(log(x), distance))


dawsn_op = formula_op("dawsn", _slope_of_dawsn)

# The derivatives are formulas of their own, because ``cos(pi * x**2 / 2)`` of a rounded square is wrong for large x.
fresnel_cos_slope_op: Primitive = formula_op(
    "fresnel_cos_slope", lambda out, x: multiply(multiply(-math.pi, x), apply(fresnel_sin_slope_op, (x,)))
)
fresnel_sin_slope_op: Primitive = formula_op(
    "fresnel_sin_slope", lambda out, x: multiply(multiply(math.pi, x), apply(fresnel_cos_slope_op, (x,)))
)
fresnel_cos_op = formula_op("fresnel_cos", lambda out, x: apply(fresnel_cos_slope_op, (x,)))
fresnel_sin_op = formula_op("fresnel_sin", lambda out, x: apply(fresnel_sin_slope_op, (x,)))
expint_op = formula_op("expint", _slope_of_expint)
spence_op = formula_op("spence", _slope_of_spence)


def dawsn(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Dawson's integral, ``exp(-x**2)`` times the integral of ``exp(t**2)`` from 0 to `x`.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.dawsn([0.0, 1.0, 10.0]).numpy().round(4)
    array([0.    , 0.5381, 0.0503], dtype=float32)
    """
    return apply(dawsn_op, (x,))


def expint(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the exponential integral Ei, the principal value of the integral of ``exp(t) / t`` up to `x`.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is negative infinity at 0. For a negative
        element it is ``-E_1(-x)``, where TensorFlow gives nan.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.expint([-1.0, 0.5, 1.0]).numpy().round(4)
    array([-0.2194,  0.4542,  1.8951], dtype=float32)
    """
    return apply(expint_op, (x,))


def fresnel_cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Fresnel's integral of ``cos(pi * t**2 / 2)`` from 0 to `x`.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.fresnel_cos([0.0, 1.0, 10.0]).numpy().round(4)
    array([0.    , 0.7799, 0.4999], dtype=float32)
    """
    return apply(fresnel_cos_op, (x,))


def fresnel_sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Fresnel's integral of ``sin(pi * t**2 / 2)`` from 0 to `x`.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.fresnel_sin([0.0, 1.0, 10.0]).numpy().round(4)
    array([0.    , 0.4383, 0.4682], dtype=float32)
    """
    return apply(fresnel_sin_op, (x,))


def spence(x: TensorLike, name: str | None = None) -> Tensor:
    """Return Spence's integral of ``-log(t) / (t - 1)`` from 1 to `x`, the dilogarithm of ``1 - x``.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is nan for negative elements.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.spence([0.0, 1.0, 10.0]).numpy().round(4)
    array([ 1.6449, -0.    , -3.9507], dtype=float32)
    """
    return apply(spence_op, (x,))
