"""Hyperbolic functions and their inverses, and the logistic functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    square,
    subtract,
    zero_dominant_multiply,
)
from jittape.primitives.elementwise.bits import is_inf
from jittape.primitives.elementwise.comparison import equal, logical_and, where
from jittape.primitives.elementwise.complex_numbers import complex, imag, real, shifted
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.elementwise.exponential import rsqrt
from jittape.primitives.record_parts import common_float, floating, one_float, same_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = [
    "acosh",
    "asinh",
    "atanh",
    "cosh",
    "log_sigmoid",
    "logaddexp_op",
    "sigmoid",
    "sinh",
    "softplus",
    "tanh",
]

LOG_2 = math.log(2)
LARGE = 1e10
"""Smallest x for which 1 + x² rounds to x² in both float dtypes and x² does not overflow in float32."""


# ---- hyperbolic ------------------------------------------------------------------------------------------------------

sinh_op = Primitive(
    "sinh",
    abstract_eval=same_float("sinh"),
    impl=np.sinh,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, cosh(x)),),
    lowering=Map(lambda m, x: m.sinh(x)),
    promote_args=one_float,
)


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the hyperbolic sine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.sinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return apply(sinh_op, (x,))


cosh_op = Primitive(
    "cosh",
    abstract_eval=same_float("cosh"),
    impl=np.cosh,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, sinh(x)),),
    lowering=Map(lambda m, x: m.cosh(x)),
    promote_args=one_float,
)


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the hyperbolic cosine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.cosh([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return apply(cosh_op, (x,))


tanh_op = Primitive(
    "tanh",
    abstract_eval=same_float("tanh"),
    impl=np.tanh,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, subtract(1, square(out))),),
    lowering=Map(lambda m, x: m.tanh(x)),
    promote_args=one_float,
)


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the hyperbolic tangent of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.tanh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return apply(tanh_op, (x,))


# ---- inverses --------------------------------------------------------------------------------------------------------


def _asinh_expression(m: Any, x: Any) -> Any:
    a = m.absolute(x)
    near = m.where(a < LARGE, a, 1.0)
    small = m.log1p(near + near * near / (1 + m.sqrt(1 + near * near)))
    return m.copysign(m.where(a < LARGE, small, m.log(a) + math.log(2)), x)


def _acosh_expression(m: Any, x: Any) -> Any:
    t = m.where(x < LARGE, x, 1.0) - 1
    root = m.sqrt(2 * t + t * t)
    # The rounding error of the sum is passed to the logarithm: near 1 it is a large part of the result.
    total = m.rounded_add(root, t)
    error = m.rounded_add(t, -m.rounded_add(total, -root))
    found = m.where(x < LARGE, m.log1p(total) + error / (1 + total), m.log(x) + math.log(2))
    return m.where(x >= 1, found, math.nan)


def _atanh_expression(m: Any, x: Any) -> Any:
    a = m.absolute(x)
    return m.copysign(0.5 * m.log1p(2 * a / (1 - a)), x)


def _asinh_slope(x: Any) -> Any:
    if x.dtype.kind != "c":
        return rsqrt(add(square(x), 1))
    turned = complex(negative(imag(x)), real(x))  # i x, with the signs of zeros
    return multiply(rsqrt(shifted(turned, 1)), rsqrt(shifted(negative(turned), 1)))


asinh_op = Primitive(
    "asinh",
    abstract_eval=same_float("asinh"),
    impl=np.arcsinh,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, _asinh_slope(x)),),
    lowering=Map(_asinh_expression),
    promote_args=one_float,
)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic sine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.asinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return apply(asinh_op, (x,))


acosh_op = Primitive(
    "acosh",
    abstract_eval=same_float("acosh"),
    impl=np.arccosh,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, multiply(rsqrt(shifted(x, -1)), rsqrt(shifted(x, 1)))),),
    lowering=Map(_acosh_expression),
    promote_args=one_float,
)


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic cosine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.acosh([1.0, 2.0]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return apply(acosh_op, (x,))


atanh_op = Primitive(
    "atanh",
    abstract_eval=same_float("atanh"),
    impl=np.arctanh,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, reciprocal(subtract(1, square(x)))),),
    lowering=Map(_atanh_expression),
    promote_args=one_float,
)


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic tangent of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.atanh([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return apply(atanh_op, (x,))


# ---- logistic --------------------------------------------------------------------------------------------------------


def _sigmoid_impl(x: Any) -> Any:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, x.dtype.type(1)) / (1 + small)


sigmoid_op = Primitive(
    "sigmoid",
    abstract_eval=same_float("sigmoid"),
    impl=_sigmoid_impl,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, multiply(out, sigmoid(negative(x)))),),
    lowering=Map(lambda m, x: m.sigmoid(x)),
    promote_args=one_float,
)


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logistic function ``1 / (1 + exp(-x))``, without overflow.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.sigmoid([0.0, 100.0]).numpy()
    array([0.5, 1. ], dtype=float32)
    """
    return apply(sigmoid_op, (x,))


softplus_op = Primitive(
    "softplus",
    abstract_eval=same_real_float("softplus"),
    impl=lambda x: np.logaddexp(x, x.dtype.type(0)),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, sigmoid(x)),),
    lowering=Map(lambda m, x: m.softplus(x)),
    promote_args=one_float,
)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``log(1 + exp(x))``, without overflow.

    Parameters
    ----------
    features : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `features` is complex.

    Examples
    --------
    >>> jt.math.softplus([0.0, 100.0]).numpy().round(4)
    array([  0.6931, 100.    ], dtype=float32)
    """
    return apply(softplus_op, (features,))


def _share(x: Any, y: Any) -> Any:
    """Return the derivative of ``logaddexp`` with respect to `x`; 1/2 if the operands are the same infinity."""
    return where(logical_and(equal(x, y), is_inf(x)), 0.5, sigmoid(subtract(x, y)))


def _logaddexp_expression(m: Any, x: Any, y: Any) -> Any:
    return m.where(x == y, x + LOG_2, m.maximum(x, y) + m.softplus(-m.absolute(x - y)))


logaddexp_op = Primitive(
    "logaddexp",
    abstract_eval=same_real_float("logaddexp"),
    impl=np.logaddexp,
    vjp=(
        lambda g, out, x, y: zero_dominant_multiply(g, _share(x, y)),
        lambda g, out, x, y: zero_dominant_multiply(g, _share(y, x)),
    ),
    lowering=Map(_logaddexp_expression),
    promote_args=common_float("logaddexp"),
)


def _log_sigmoid_body(x: Any) -> Any:
    return negative(softplus(negative(floating(x))))


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the sigmoid, without overflow.

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
    >>> jt.math.log_sigmoid([0.0, -100.0]).numpy().round(4)
    array([  -0.6931, -100.    ], dtype=float32)
    """
    return apply(_log_sigmoid_body, (x,))
