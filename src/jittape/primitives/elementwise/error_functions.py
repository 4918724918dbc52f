"""Error functions, the normal distribution function, and their inverses.

Derivatives are DLMF 7.2.1, 7.2.2 and 7.10.1, and for inverses the reciprocals, written with the result.
"""

from __future__ import annotations

import math
from typing import Any

from jittape.core.dtypes import float64
from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import multiply, negative, polyval, square, subtract
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.typing import Tensor, TensorLike

__all__ = ["erf", "erfc", "erfcinv", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)


# ---- error functions -------------------------------------------------------------------------------------------------


def _gauss(factor: float, x: Any) -> Any:
    """Return ``factor * exp(-x**2)``."""
    return multiply(factor, exp(negative(square(x))))


erf_op = formula_op("erf", lambda out, x: _gauss(2 / ROOT_PI, x))
erfc_op = formula_op("erfc", lambda out, x: _gauss(-2 / ROOT_PI, x))


def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the error function of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.erf([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8427], dtype=float32)
    """
    return apply(erf_op, (x,))


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 - erf(x)``, accurate also where `erf` is nearly 1.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.erfc([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.1573], dtype=float32)
    """
    return apply(erfc_op, (x,))


_FAR_SLOPE = [-math.prod(range(1, 2 * k + 2, 2)) * (-0.5) ** k / ROOT_PI for k in reversed(range(15))]
"""Coefficients of the asymptotic series (DLMF 7.12.1) of the derivative of erfcx in 1 / x**2, divided by 1 / x**2."""


def _slope_of_erfcx(out: Any, x: Any) -> Any:
    """Return ``2 x erfcx(x) - 2 / sqrt(pi)``, for large x by the asymptotic series because the difference cancels."""
    near = subtract(multiply(multiply(2.0, x), out), 2 / ROOT_PI)
    inverse = reciprocal(square(x))
    far = multiply(inverse, polyval(_FAR_SLOPE, inverse))
    return where(less(x, 10.0 if x.dtype == float64 else 5.0), near, far)


erfcx_op = formula_op("erfcx", _slope_of_erfcx)


def erfcx(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(x**2) * erfc(x)``, which neither overflows nor underflows for positive elements.

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
    >>> jt.math.erfcx([0.0, 1.0, 100.0]).numpy().round(4)
    array([1.    , 0.4276, 0.0056], dtype=float32)
    """
    return apply(erfcx_op, (x,))


erfinv_op = formula_op("erfinv", lambda out, x: multiply(0.5 * ROOT_PI, exp(square(out))))
erfcinv_op = formula_op("erfcinv", lambda out, x: multiply(-0.5 * ROOT_PI, exp(square(out))))


def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of the error function.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is infinite at -1 and 1, and nan beyond.
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
    >>> jt.math.erfinv([0.0, 0.5, 1.0]).numpy().round(4)
    array([0.    , 0.4769,    inf], dtype=float32)
    """
    return apply(erfinv_op, (x,))


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of the complementary error function.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats. The result is infinite at 0 and 2, and nan beyond.
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
    >>> jt.math.erfcinv([0.5, 1.0, 1e-30]).numpy().round(4)
    array([0.4769, 0.    , 8.1486], dtype=float32)
    """
    return apply(erfcinv_op, (x,))


# ---- the normal distribution -----------------------------------------------------------------------------------------

ndtr_op = formula_op("ndtr", lambda out, x: multiply(1 / ROOT_TWO_PI, exp(multiply(-0.5, square(x)))))
log_ndtr_op = formula_op(
    "log_ndtr", lambda out, x: divide(2 / ROOT_TWO_PI, erfcx(multiply(-math.sqrt(0.5), x)))
)
ndtri_op = formula_op("ndtri", lambda out, x: multiply(ROOT_TWO_PI, exp(multiply(0.5, square(out)))))


def ndtr(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the cumulative distribution function of the standard normal distribution.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`; accurate also in the lower tail.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.ndtr([-1.0, 0.0, 1.0]).numpy().round(4)
    array([0.1587, 0.5   , 0.8413], dtype=float32)
    """
    return apply(ndtr_op, (x,))


def log_ndtr(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of `ndtr`, accurate in both tails.

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
    >>> jt.math.log_ndtr([-100.0, 0.0, 1.0]).numpy().round(4)
    array([-5.0055244e+03, -6.9309998e-01, -1.7280000e-01], dtype=float32)
    """
    return apply(log_ndtr_op, (x,))


def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of `ndtr`: the quantiles of the standard normal distribution.

    Parameters
    ----------
    x : tensor-like
        Probabilities, of any shape. The result is infinite at 0 and 1, and nan beyond.
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
    >>> jt.math.ndtri([0.025, 0.5, 0.975]).numpy().round(4)
    array([-1.96,  0.  ,  1.96], dtype=float32)
    """
    return apply(ndtri_op, (x,))
