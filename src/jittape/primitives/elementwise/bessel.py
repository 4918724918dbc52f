"""Bessel functions J and Y of orders 0 and 1.

Derivatives: DLMF 10.6.2 and 10.6.3. The quotient ``J_1(x) / x`` in them is a series near 0, which is correct to any
order.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import multiply, negative, polyval, square, subtract
from jittape.primitives.elementwise.comparison import equal, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.primitives.elementwise.piecewise import absolute
from jittape.typing import Tensor, TensorLike

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "near_zero",
    "or_inverse_square",
    "order_1_series",
]


# ---- derivatives -----------------------------------------------------------------------------------------------------


def order_1_series(alternate: int) -> list[float]:
    """Return the coefficients of ``I_1(x) / x``, or ``J_1(x) / x`` for -1, in x**2, highest power first."""
    return [
        0.5 * (0.25 * alternate) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(8, -1, -1)
    ]


def near_zero(x: Any) -> Any:
    """Return whether nine terms of the series suffice."""
    return less(absolute(x), 1.0)


def or_inverse_square(x: Any, factor: int, otherwise: Any) -> Any:
    """Return the leading term ``factor / x**2`` at 0, where `otherwise` is a difference of infinities."""
    return where(equal(x, 0), multiply(factor, square(reciprocal(x))), otherwise)


def _slope_of_j1(out: Any, x: Any) -> Any:
    quotient = where(near_zero(x), polyval(order_1_series(-1), square(x)), divide(out, x))
    return subtract(bessel_j0(x), quotient)


def _slope_of_y1(out: Any, x: Any) -> Any:
    return or_inverse_square(x, 1, subtract(bessel_y0(x), divide(out, x)))


bessel_j0_op = formula_op("bessel_j0", lambda out, x: negative(bessel_j1(x)))
bessel_j1_op = formula_op("bessel_j1", _slope_of_j1)
bessel_y0_op = formula_op("bessel_y0", lambda out, x: negative(bessel_y1(x)))
bessel_y1_op = formula_op("bessel_y1", _slope_of_y1)


# ---- public functions ------------------------------------------------------------------------------------------------


def bessel_j0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the Bessel function of the first kind of order 0.

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

    Notes
    -----
    Beyond 5 the error is relative to the amplitude of the oscillation, also near zeros.

    Examples
    --------
    >>> jt.math.bessel_j0([0.0, 1.0, 10.0]).numpy().round(4)
    array([ 1.    ,  0.7652, -0.2459], dtype=float32)
    """
    return apply(bessel_j0_op, (x,))


def bessel_j1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the Bessel function of the first kind of order 1.

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

    Notes
    -----
    Beyond 5 the error is relative to the amplitude of the oscillation, also near zeros.

    Examples
    --------
    >>> jt.math.bessel_j1([0.0, 1.0, 10.0]).numpy().round(4)
    array([0.    , 0.4401, 0.0435], dtype=float32)
    """
    return apply(bessel_j1_op, (x,))


def bessel_y0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the Bessel function of the second kind of order 0.

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

    Notes
    -----
    Beyond 5 the error is relative to the amplitude of the oscillation, also near zeros.

    Examples
    --------
    >>> jt.math.bessel_y0([0.5, 1.0, 10.0]).numpy().round(4)
    array([-0.4445,  0.0883,  0.0557], dtype=float32)
    """
    return apply(bessel_y0_op, (x,))


def bessel_y1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the Bessel function of the second kind of order 1.

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

    Notes
    -----
    Beyond 5 the error is relative to the amplitude of the oscillation, also near zeros.

    Examples
    --------
    >>> jt.math.bessel_y1([0.5, 1.0, 10.0]).numpy().round(4)
    array([-1.4715, -0.7812,  0.249 ], dtype=float32)
    """
    return apply(bessel_y1_op, (x,))
