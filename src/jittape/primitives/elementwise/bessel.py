"""Bessel functions of orders 0 and 1: I, J, K and Y, and I and K scaled by exponentials.

Derivatives: DLMF 10.6.2, 10.6.3, 10.29.2 and 10.29.3. The quotients ``I_1(x) / x`` and ``J_1(x) / x`` in them are
series near 0, which are correct to any order.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, polyval, square, subtract
from jittape.primitives.elementwise.bessel_far import FAR_I0E, FAR_I1E, FAR_K0E, FAR_K1E, far_slope, or_far
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import equal, less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.typing import Tensor, TensorLike

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e",
    "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1",
]  # fmt: skip


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _series(alternate: int) -> list[float]:
    """Return the coefficients of ``I_1(x) / x``, or ``J_1(x) / x`` for -1, in x**2, highest power first."""
    return [
        0.5 * (0.25 * alternate) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(8, -1, -1)
    ]


def _near_zero(x: Any) -> Any:
    """Return whether nine terms of the series suffice."""
    return less(absolute(x), 1.0)


def _slope_of_i1(out: Any, x: Any) -> Any:
    """Return ``I_0 - I_1 / x``, and infinity where both are infinite."""
    even = bessel_i0(x)
    quotient = where(_near_zero(x), polyval(_series(1), square(x)), divide(out, x))
    return where(is_finite(even), subtract(even, quotient), even)


def _slope_of_i0e(out: Any, x: Any) -> Any:
    near = subtract(bessel_i1e(x), multiply(sign(x), out))
    size = absolute(x)
    return or_far(size, near, multiply(sign(x), far_slope(size, 1 / (2 * math.pi), FAR_I0E)))


def _slope_of_i1e(out: Any, x: Any) -> Any:
    near = multiply(exp(negative(absolute(x))), polyval(_series(1), square(x)))
    quotient = where(_near_zero(x), near, divide(out, x))
    slope = subtract(subtract(bessel_i0e(x), multiply(sign(x), out)), quotient)
    size = absolute(x)
    return or_far(size, slope, far_slope(size, 1 / (2 * math.pi), FAR_I1E))


def _slope_of_j1(out: Any, x: Any) -> Any:
    quotient = where(_near_zero(x), polyval(_series(-1), square(x)), divide(out, x))
    return subtract(bessel_j0(x), quotient)


def _slope_of_y1(out: Any, x: Any) -> Any:
    return _or_inverse_square(x, 1, subtract(bessel_y0(x), divide(out, x)))


def _slope_of_k1(out: Any, x: Any) -> Any:
    return _or_inverse_square(x, -1, negative(add(bessel_k0(x), divide(out, x))))


def _slope_of_k0e(out: Any, x: Any) -> Any:
    """Return ``exp(x) (K_0 - K_1)``, whose second term dominates at 0."""
    scaled = bessel_k1e(x)
    far = far_slope(x, math.pi / 2, FAR_K0E)
    return where(equal(x, 0), negative(scaled), or_far(x, subtract(out, scaled), far))


def _slope_of_k1e(out: Any, x: Any) -> Any:
    near = subtract(subtract(out, bessel_k0e(x)), divide(out, x))
    return _or_inverse_square(x, -1, or_far(x, near, far_slope(x, math.pi / 2, FAR_K1E)))


def _or_inverse_square(x: Any, factor: int, otherwise: Any) -> Any:
    """Return the leading term ``factor / x**2`` at 0, where `otherwise` is a difference of infinities."""
    return where(equal(x, 0), multiply(factor, square(reciprocal(x))), otherwise)


bessel_i0_op = formula_op("bessel_i0", lambda out, x: bessel_i1(x))
bessel_i1_op = formula_op("bessel_i1", _slope_of_i1)
bessel_i0e_op = formula_op("bessel_i0e", _slope_of_i0e)
bessel_i1e_op = formula_op("bessel_i1e", _slope_of_i1e)
bessel_j0_op = formula_op("bessel_j0", lambda out, x: negative(bessel_j1(x)))
bessel_j1_op = formula_op("bessel_j1", _slope_of_j1)
bessel_k0_op = formula_op("bessel_k0", lambda out, x: negative(bessel_k1(x)))
bessel_k1_op = formula_op("bessel_k1", _slope_of_k1)
bessel_k0e_op = formula_op("bessel_k0e", _slope_of_k0e)
bessel_k1e_op = formula_op("bessel_k1e", _slope_of_k1e)
bessel_y0_op = formula_op("bessel_y0", lambda out, x: negative(bessel_y1(x)))
bessel_y1_op = formula_op("bessel_y1", _slope_of_y1)


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

    Examples
    --------
    >>> jt.math.bessel_i1e([0.0, 1.0, 1000.0]).numpy().round(4)
    array([0.    , 0.2079, 0.0126], dtype=float32)
    """
    return apply(bessel_i1e_op, (x,))


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

    Notes
    -----
    Beyond 5 the error is relative to the amplitude of the oscillation, also near zeros.

    Examples
    --------
    >>> jt.math.bessel_j1([0.0, 1.0, 10.0]).numpy().round(4)
    array([0.    , 0.4401, 0.0435], dtype=float32)
    """
    return apply(bessel_j1_op, (x,))


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

    Examples
    --------
    >>> jt.math.bessel_k1e([0.5, 1.0, 1000.0]).numpy().round(4)
    array([2.731 , 1.6362, 0.0396], dtype=float32)
    """
    return apply(bessel_k1e_op, (x,))


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

    Notes
    -----
    Beyond 5 the error is relative to the amplitude of the oscillation, also near zeros.

    Examples
    --------
    >>> jt.math.bessel_y1([0.5, 1.0, 10.0]).numpy().round(4)
    array([-1.4715, -0.7812,  0.249 ], dtype=float32)
    """
    return apply(bessel_y1_op, (x,))
