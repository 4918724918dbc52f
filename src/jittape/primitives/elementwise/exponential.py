"""Exponential, logarithm and square root."""

from __future__ import annotations

import math

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.primitives.elementwise.arithmetic import add, multiply, square, zero_dominant_multiply
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.record_parts import by_formula, one_float, same_float
from jittape.typing import Tensor, TensorLike

__all__ = ["exp", "expm1", "log", "log1p", "log2", "log10", "rsqrt", "sqrt"]


# ---- exponential and logarithm ---------------------------------------------------------------------------------------

exp_op = Primitive(
    "exp",
    abstract_eval=same_float("exp"),
    impl=np.exp,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, out),),
    lowering=Map(lambda m, x: m.exp(x)),
    promote_args=one_float,
)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the exponential of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.exp([0.0, 1.0]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return apply(exp_op, (x,))


expm1_op = Primitive(
    "expm1",
    abstract_eval=same_float("expm1"),
    impl=np.expm1,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, exp(x)),),  # out + 1 has no correct digits below -37
    lowering=Map(lambda m, x: m.expm1(x)),
    promote_args=one_float,
)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(x) - 1``, accurate also near 0.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.expm1([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    return apply(expm1_op, (x,))


log_op = Primitive(
    "log",
    abstract_eval=same_float("log"),
    impl=np.log,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, reciprocal(x)),),
    lowering=Map(lambda m, x: m.log(x)),
    promote_args=one_float,
)


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the natural logarithm of each element.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.log([1.0, 2.0]).numpy().round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return apply(log_op, (x,))


log2_op = Primitive(
    "log2",
    abstract_eval=same_float("log2"),
    impl=by_formula("log2"),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, multiply(1 / math.log(2), reciprocal(x))),),
    lowering=Map(lambda m, x: m.log2(x)),
    promote_args=one_float,
)


def log2(x: TensorLike) -> Tensor:
    """Return the logarithm to base 2, exact at powers of 2; `numpy.log2` of a tensor."""
    return apply(log2_op, (x,))


log10_op = Primitive(
    "log10",
    abstract_eval=same_float("log10"),
    impl=by_formula("log10"),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, multiply(1 / math.log(10), reciprocal(x))),),
    lowering=Map(lambda m, x: m.log10(x)),
    promote_args=one_float,
)


def log10(x: TensorLike) -> Tensor:
    """Return the logarithm to base 10, exact at powers of 10; `numpy.log10` of a tensor."""
    return apply(log10_op, (x,))


log1p_op = Primitive(
    "log1p",
    abstract_eval=same_float("log1p"),
    impl=np.log1p,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, reciprocal(add(x, 1))),),
    lowering=Map(lambda m, x: m.log1p(x)),
    promote_args=one_float,
)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``log(1 + x)``, accurate also near 0.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.log1p([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return apply(log1p_op, (x,))


# ---- roots -----------------------------------------------------------------------------------------------------------

sqrt_op = Primitive(
    "sqrt",
    abstract_eval=same_float("sqrt"),
    impl=np.sqrt,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, multiply(0.5, reciprocal(out))),),
    lowering=Map(lambda m, x: m.sqrt(x)),
    promote_args=one_float,
)


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the square root of each element. The gradient at 0 is infinite.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.sqrt([4.0, 9.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    return apply(sqrt_op, (x,))


rsqrt_op = Primitive(
    "rsqrt",
    abstract_eval=same_float("rsqrt"),
    impl=lambda x: x.dtype.type(1) / np.sqrt(x),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, multiply(-0.5, multiply(out, square(out)))),),
    lowering=Map(lambda m, x: m.rsqrt(x)),
    promote_args=one_float,
)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / sqrt(x)``.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.rsqrt([4.0, 0.25]).numpy()
    array([0.5, 2. ], dtype=float32)
    """
    return apply(rsqrt_op, (x,))
