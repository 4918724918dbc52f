"""Functions whose definitions lose digits or overflow: sinc and logcosh."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.primitives.elementwise.arithmetic import multiply, polyval, square, subtract
from jittape.primitives.elementwise.bits import is_inf
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.elementwise.piecewise import absolute, round
from jittape.primitives.elementwise.trigonometric import cos
from jittape.typing import Tensor, TensorLike

__all__ = ["logcosh", "sinc"]

_SLOPE_OF_SINC = [
    (-1) ** k * math.pi ** (2 * k) * 2 * k / math.factorial(2 * k + 1) for k in reversed(range(1, 14))
]
"""Coefficients of the derivative of sinc divided by x, in x**2."""


def _slope_of_sinc(out: Any, x: Any) -> Any:
    """Return ``(cos(pi x) - sinc(x)) / x``, near 0 by the series because the difference cancels."""
    from_even = subtract(x, multiply(2.0, round(multiply(0.5, x))))
    far = divide(subtract(cos(multiply(math.pi, from_even)), out), x)
    near = multiply(x, polyval(_SLOPE_OF_SINC, square(x)))
    return where(less(absolute(x), 0.5), near, where(is_inf(x), 0.0, far))


sinc_op = formula_op("sinc", _slope_of_sinc)
logcosh_op = formula_op("logcosh", lambda out, x: tanh(x))


def sinc(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``sin(pi * x) / (pi * x)``, and 1 at 0, as `numpy.sinc`.

    Parameters
    ----------
    x : tensor-like
        Real numbers of any shape; integers become floats.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`; exactly 0 at integers other than 0.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.sinc([0.0, 0.5, 1.0]).numpy().round(4)
    array([1.    , 0.6366, 0.    ], dtype=float32)
    """
    return apply(sinc_op, (x,))


def logcosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the hyperbolic cosine, which neither overflows nor cancels near 0.

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
    >>> jt.math.logcosh([0.0, 1.0, 1000.0]).numpy().round(4)
    array([0.000000e+00, 4.338000e-01, 9.993068e+02], dtype=float32)
    """
    return apply(logcosh_op, (x,))
