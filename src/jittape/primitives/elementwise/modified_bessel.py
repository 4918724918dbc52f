"""Modified Bessel functions I and K of orders 0 and 1, and both scaled by exponentials.

Derivatives: DLMF 10.29.2 and 10.29.3. The quotient ``I_1(x) / x`` in them is a series near 0, which is correct to any
order. At large arguments, where differences of the scaled functions cancel, their derivatives are the differences of
the asymptotic series, DLMF 10.40.1 and 10.40.2.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, polyval, square, subtract
from jittape.primitives.elementwise.bessel import near_zero, or_inverse_square, order_1_series
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import equal, greater, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp, sqrt
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.typing import Tensor, TensorLike

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e",
]  # fmt: skip


# ---- derivatives at large arguments ----------------------------------------------------------------------------------

_FAR_ORDERS = range(18, 0, -1)
"""Powers of 1 / x in the series of far slopes, highest first; the error is below 1e-17 from 30 on, 1e-9 from 10 on."""


def _hankel(order: int, k: int) -> float:
    """Return a_k of DLMF 10.17.1, the coefficients of the asymptotic series of the scaled functions (DLMF 10.40)."""
    return math.prod([(4 * order * order - (2 * j - 1) ** 2) / (8 * j) for j in range(1, k + 1)])


_FAR_I0E = [(-1) ** k * (_hankel(1, k) - _hankel(0, k)) for k in _FAR_ORDERS]
_FAR_I1E = [(-1) ** k * (_hankel(0, k) - _hankel(1, k) + _hankel(1, k - 1)) for k in _FAR_ORDERS]
_FAR_K0E = [_hankel(0, k) - _hankel(1, k) for k in _FAR_ORDERS]
_FAR_K1E = [_hankel(1, k) - _hankel(0, k) - _hankel(1, k - 1) for k in _FAR_ORDERS]


def _far_slope(x: Any, factor: float, coefficients: list[float]) -> Any:
    """Return ``sqrt(factor / x)`` times a polynomial in 1 / x without a constant."""
    inverse = reciprocal(x)
    return multiply(sqrt(multiply(factor, inverse)), multiply(inverse, polyval(coefficients, inverse)))


def _or_far(x: Any, near: Any, far: Any) -> Any:
    """Return the derivative of a scaled function, by its asymptotic series where the difference `near` cancels."""
    return where(greater(x, 30.0 if x.dtype == float64 else 10.0), far, near)


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _slope_of_i1(out: Any, x: Any) -> Any:
    """Return ``I_0 - I_1 / x``, and infinity where both are infinite."""
    even = bessel_i0(x)
    quotient = where(near_zero(x), polyval(order_1_series(1), square(x)), divide(out, x))
    return where(is_finite(even), subtract(even, quotient), even)


def _slope_of_i0e(out: Any, x: Any) -> Any:
    near = subtract(bessel_i1e(x), multiply(sign(x), out))
    size = absolute(x)
    return _or_far(size, near, multiply(sign(x), _far_slope(size, 1 / (2 * math.pi), _FAR_I0E)))


def _slope_of_i1e(out: Any, x: Any) -> Any:
    near = multiply(exp(negative(absolute(x))), polyval(order_1_series(1), square(x)))
    quotient = where(near_zero(x), near, divide(out, x))
    slope = subtract(subtract(bessel_i0e(x), multiply(sign(x), out)), quotient)
    size = absolute(x)
    return _or_far(size, slope, _far_slope(size, 1 / (2 * math.pi), _FAR_I1E))


def _slope_of_k1(out: Any, x: Any) -> Any:
    return or_inverse_square(x, -1, negative(add(bessel_k0(x), divide(out, x))))


def _slope_of_k0e(out: Any, x: Any) -> Any:
    """Return ``exp(x) (K_0 - K_1)``, whose second term dominates at 0."""
    scaled = bessel_k1e(x)
    far = _far_slope(x, math.pi / 2, _FAR_K0E)
    return where(equal(x, 0), negative(scaled), _or_far(x, subtract(out, scaled), far))


def _slope_of_k1e(out: Any, x: Any) -> Any:
    near = subtract(subtract(out, bessel_k0e(x)), divide(out, x))
    return or_inverse_square(x, -1, _or_far(x, near, _far_slope(x, math.pi / 2, _FAR_K1E)))


bessel_i0_op = formula_op("bessel_i0", lambda out, x: bessel_i1(x))
bessel_i1_op = formula_op("bessel_i1", _slope_of_i1)
bessel_i0e_op = formula_op("bessel_i0e", _slope_of_i0e)
bessel_i1e_op = formula_op("bessel_i1e", _slope_of_i1e)
bessel_k0_op = formula_op("bessel_k0", lambda out, x: negative(bessel_k1(x)))
bessel_k1_op = formula_op("bessel_k1", _slope_of_k1)
bessel_k0e_op = formula_op("bessel_k0e", _slope_of_k0e)
bessel_k1e_op = formula_op("bessel_k1e", _slope_of_k1e)


# ---- public functions ------------------------------------------------------------------------------------------------


def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the first kind of order 0.

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
    >>> jt.math.bessel_i0([0.0, 1.0, 10.0]).numpy().round(4)
    array([1.0000000e+00, 1.2661000e+00, 2.8157166e+03], dtype=float32)
    """
    return apply(bessel_i0_op, (x,))


def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(-|x|) I_0(x)``, which does not overflow.

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
    >>> jt.math.bessel_i0e([0.0, 1.0, 1000.0]).numpy().round(4)
    array([1.    , 0.4658, 0.0126], dtype=float32)
    """
    return apply(bessel_i0e_op, (x,))


def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the first kind of order 1.

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
    >>> jt.math.bessel_i1([0.0, 1.0, 10.0]).numpy().round(4)
    array([0.0000000e+00, 5.6519997e-01, 2.6709883e+03], dtype=float32)
    """
    return apply(bessel_i1_op, (x,))


def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(-|x|) I_1(x)``, which does not overflow.

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
    >>> jt.math.bessel_i1e([0.0, 1.0, 1000.0]).numpy().round(4)
    array([0.    , 0.2079, 0.0126], dtype=float32)
    """
    return apply(bessel_i1e_op, (x,))


def bessel_k0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the second kind of order 0.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is infinite at 0 and nan for negative elements.
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
    >>> jt.math.bessel_k0([0.5, 1.0, 2.0]).numpy().round(4)
    array([0.9244, 0.421 , 0.1139], dtype=float32)
    """
    return apply(bessel_k0_op, (x,))


def bessel_k0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(x) K_0(x)``, which does not underflow.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is infinite at 0 and nan for negative elements.
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
    >>> jt.math.bessel_k0e([0.5, 1.0, 1000.0]).numpy().round(4)
    array([1.5241, 1.1445, 0.0396], dtype=float32)
    """
    return apply(bessel_k0e_op, (x,))


def bessel_k1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the second kind of order 1.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is infinite at 0 and nan for negative elements.
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
    >>> jt.math.bessel_k1([0.5, 1.0, 2.0]).numpy().round(4)
    array([1.6564, 0.6019, 0.1399], dtype=float32)
    """
    return apply(bessel_k1_op, (x,))


def bessel_k1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(x) K_1(x)``, which does not underflow.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is infinite at 0 and nan for negative elements.
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
    >>> jt.math.bessel_k1e([0.5, 1.0, 1000.0]).numpy().round(4)
    array([2.731 , 1.6362, 0.0396], dtype=float32)
    """
    return apply(bessel_k1e_op, (x,))
