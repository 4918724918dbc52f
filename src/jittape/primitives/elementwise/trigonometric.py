"""Trigonometric functions and their inverses."""

from __future__ import annotations

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.primitives.elementwise.arithmetic import add, chain, negative, square, subtract
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.exponential import rsqrt
from jittape.primitives.record_parts import common_float, one_float, same_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = ["acos", "asin", "atan", "atan2", "cos", "sin", "tan"]


sin_op = Primitive(
    "sin",
    result=same_float("sin"),
    evaluate=np.sin,
    vjp=(lambda g, out, x: chain(g, cos(x)),),
    form=Map(lambda m, x: m.sin(x)),
    prepare=one_float,
)


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Sine.

    Examples
    --------
    >>> jt.sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return apply(sin_op, (x,))


cos_op = Primitive(
    "cos",
    result=same_float("cos"),
    evaluate=np.cos,
    vjp=(lambda g, out, x: chain(g, negative(sin(x))),),
    form=Map(lambda m, x: m.cos(x)),
    prepare=one_float,
)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Cosine.

    Examples
    --------
    >>> jt.cos([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return apply(cos_op, (x,))


tan_op = Primitive(
    "tan",
    result=same_float("tan"),
    evaluate=np.tan,
    vjp=(lambda g, out, x: chain(g, add(square(out), 1)),),
    form=Map(lambda m, x: m.tan(x)),
    prepare=one_float,
)


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Tangent.

    Examples
    --------
    >>> jt.tan([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return apply(tan_op, (x,))


asin_op = Primitive(
    "asin",
    result=same_float("asin"),
    evaluate=np.arcsin,
    vjp=(lambda g, out, x: chain(g, rsqrt(subtract(1, square(x)))),),
    form=Map(lambda m, x: m.arcsin(x)),
    prepare=one_float,
)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse sine.

    Examples
    --------
    >>> jt.asin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return apply(asin_op, (x,))


acos_op = Primitive(
    "acos",
    result=same_float("acos"),
    evaluate=np.arccos,
    vjp=(lambda g, out, x: chain(g, negative(rsqrt(subtract(1, square(x))))),),
    form=Map(lambda m, x: m.arccos(x)),
    prepare=one_float,
)


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse cosine.

    Examples
    --------
    >>> jt.acos([0.0, 1.0]).numpy().round(4)
    array([1.5708, 0.    ], dtype=float32)
    """
    return apply(acos_op, (x,))


atan_op = Primitive(
    "atan",
    result=same_float("atan"),
    evaluate=np.arctan,
    vjp=(lambda g, out, x: chain(g, reciprocal(add(square(x), 1))),),
    form=Map(lambda m, x: m.arctan(x)),
    prepare=one_float,
)


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Inverse tangent.

    Examples
    --------
    >>> jt.atan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return apply(atan_op, (x,))


atan2_op = Primitive(
    "atan2",
    result=same_real_float("atan2"),
    evaluate=np.arctan2,
    vjp=(
        lambda g, out, y, x: chain(g, divide(x, add(square(x), square(y)))),
        lambda g, out, y, x: chain(g, negative(divide(y, add(square(x), square(y))))),
    ),
    form=Map(lambda m, y, x: m.arctan2(y, x)),
    prepare=common_float("atan2"),
)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Angle of the point (x, y), from -pi to pi.

    Examples
    --------
    >>> jt.atan2([0.0, 1.0], [-1.0, 0.0]).numpy().round(4)
    array([3.1416, 1.5708], dtype=float32)
    """
    return apply(atan2_op, (y, x))
