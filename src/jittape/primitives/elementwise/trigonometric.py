"""Trigonometric functions and their inverses."""

from __future__ import annotations

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
from jittape.primitives.elementwise.complex_numbers import shifted
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import rsqrt
from jittape.primitives.record_parts import common_float, one_float, same_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = ["acos", "asin", "atan", "atan2", "cos", "sin", "tan"]


sin_op = Primitive(
    "sin",
    abstract_eval=same_float("sin"),
    impl=np.sin,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, cos(x)),),
    lowering=Map(lambda m, x: m.sin(x)),
    promote_args=one_float,
)


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the sine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return apply(sin_op, (x,))


cos_op = Primitive(
    "cos",
    abstract_eval=same_float("cos"),
    impl=np.cos,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, negative(sin(x))),),
    lowering=Map(lambda m, x: m.cos(x)),
    promote_args=one_float,
)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the cosine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.cos([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return apply(cos_op, (x,))


tan_op = Primitive(
    "tan",
    abstract_eval=same_float("tan"),
    impl=np.tan,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, add(square(out), 1)),),
    lowering=Map(lambda m, x: m.tan(x)),
    promote_args=one_float,
)


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the tangent of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.tan([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return apply(tan_op, (x,))


def _asin_slope(x: Any) -> Any:
    if x.dtype.kind != "c":
        return rsqrt(subtract(1, square(x)))
    return multiply(rsqrt(shifted(negative(x), 1)), rsqrt(shifted(x, 1)))


asin_op = Primitive(
    "asin",
    abstract_eval=same_float("asin"),
    impl=np.arcsin,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, _asin_slope(x)),),
    lowering=Map(lambda m, x: m.arcsin(x)),
    promote_args=one_float,
)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse sine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.asin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return apply(asin_op, (x,))


acos_op = Primitive(
    "acos",
    abstract_eval=same_float("acos"),
    impl=np.arccos,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, negative(_asin_slope(x))),),
    lowering=Map(lambda m, x: m.arccos(x)),
    promote_args=one_float,
)


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse cosine of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.acos([0.0, 1.0]).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return apply(acos_op, (x,))


atan_op = Primitive(
    "atan",
    abstract_eval=same_float("atan"),
    impl=np.arctan,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, reciprocal(add(square(x), 1))),),
    lowering=Map(lambda m, x: m.arctan(x)),
    promote_args=one_float,
)


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse tangent of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.atan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return apply(atan_op, (x,))


atan2_op = Primitive(
    "atan2",
    abstract_eval=same_real_float("atan2"),
    impl=np.arctan2,
    vjp=(
        lambda g, out, y, x: zero_dominant_multiply(g, divide(x, add(square(x), square(y)))),
        lambda g, out, y, x: zero_dominant_multiply(g, negative(divide(y, add(square(x), square(y))))),
    ),
    lowering=Map(lambda m, y, x: m.arctan2(y, x)),
    promote_args=common_float("atan2"),
)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle of the point (x, y), from -pi to pi.

    Parameters
    ----------
    y, x : tensor_like
        Shapes that broadcast. The dtypes are promoted.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.
    DTypeError
        If an operand is complex.

    Examples
    --------
    >>> jt.atan2([0.0, 1.0], [-1.0, 0.0]).numpy().round(4)
    array([3.1416, 1.5708], dtype=float32)
    """
    return apply(atan2_op, (y, x))
