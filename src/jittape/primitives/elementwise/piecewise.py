"""Functions with kinks and jumps: absolute value, sign, rounding, maximum, minimum, clipping."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.broadcast import as_symbol, cast_to, conj
from jittape.primitives.elementwise.arithmetic import zero_dominant_multiply
from jittape.primitives.elementwise.comparison import greater_equal, less_equal, where
from jittape.primitives.elementwise.division import divide_no_nan
from jittape.primitives.record_parts import (
    common,
    filled,
    not_enlarged,
    one,
    real_dtype,
    require_kinds,
    same_of_kinds,
)
from jittape.typing import Tensor, TensorLike

__all__ = [
    "absolute",
    "ceil",
    "clip_by_value",
    "floor",
    "maximum",
    "maximum_op",
    "minimum",
    "minimum_op",
    "round",
    "sign",
]

ROUNDING = "rounding is constant between its jumps"


# ---- absolute value and sign -----------------------------------------------------------------------------------------


def _absolute_vjp(g: Any, out: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return zero_dominant_multiply(cast_to(g, x.dtype), conj(sign(x)))
    return zero_dominant_multiply(g, sign(x))


absolute_op = Primitive(
    "abs",
    abstract_eval=lambda x: Aval(x.shape, real_dtype(require_kinds("abs", "biufc", x).dtype)),
    impl=np.absolute,
    vjp=(_absolute_vjp,),
    lowering=Map(lambda m, x: m.absolute(x)),
    promote_args=one,
    is_even=True,
)


def absolute(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the absolute value; for complex numbers the modulus. The gradient at 0 is 0.

    TensorFlow's name is ``abs``.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.abs([1.0, -2.0]).numpy()
    array([1., 2.], dtype=float32)
    """
    return apply(absolute_op, (x,))


sign_op = Primitive(
    "sign",
    abstract_eval=same_of_kinds("sign", "iuf"),
    impl=np.sign,
    vjp=(lambda g, out, x: filled(x, 0),),
    lowering=Map(lambda m, x: m.sign(x)),
    promote_args=one,
)


def _sign_body(x: Any) -> Any:
    x = as_symbol(x)
    if x.dtype.kind == "c":
        return divide_no_nan(x, absolute(x))
    return sign_op.bind(x)


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Return -1, 0 or 1; for complex numbers ``x / abs(x)``. The gradient for real numbers is 0.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is bool.

    Examples
    --------
    >>> jt.sign([3.0, 0.0, -2.0]).numpy()
    array([ 1.,  0., -1.], dtype=float32)
    """
    return apply(_sign_body, (x,))


# ---- rounding --------------------------------------------------------------------------------------------------------

floor_op = Primitive(
    "floor",
    abstract_eval=same_of_kinds("floor", "iuf"),
    impl=lambda x: np.floor(x) if x.dtype.kind == "f" else x,
    lowering=Map(lambda m, x: m.floor(x)),
    promote_args=one,
    gradient_stops=ROUNDING,
)


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Round down to an integer, in the dtype of `x`. No gradient flows through it.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.floor([1.5, -1.5]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return apply(floor_op, (x,))


ceil_op = Primitive(
    "ceil",
    abstract_eval=same_of_kinds("ceil", "iuf"),
    impl=lambda x: np.ceil(x) if x.dtype.kind == "f" else x,
    lowering=Map(lambda m, x: m.ceil(x)),
    promote_args=one,
    gradient_stops=ROUNDING,
)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Round up to an integer, in the dtype of `x`. No gradient flows through it.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.ceil([1.5, -1.5]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return apply(ceil_op, (x,))


round_op = Primitive(
    "round",
    abstract_eval=same_of_kinds("round", "iuf"),
    impl=lambda x: np.rint(x) if x.dtype.kind == "f" else x,
    lowering=Map(lambda m, x: m.rint(x)),
    promote_args=one,
    gradient_stops=ROUNDING,
)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Round to the nearest integer, halves to the even one, in the dtype of `x`. No gradient flows through it.

    Parameters
    ----------
    x : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.round([0.5, 1.5, 2.6]).numpy()
    array([0., 2., 3.], dtype=float32)
    """
    return apply(round_op, (x,))


# ---- maximum and minimum ---------------------------------------------------------------------------------------------

maximum_op = Primitive(
    "maximum",
    abstract_eval=same_of_kinds("maximum", "biuf"),
    impl=np.maximum,
    vjp=(
        lambda g, out, x, y: where(greater_equal(x, y), g, 0),
        lambda g, out, x, y: where(greater_equal(x, y), 0, g),
    ),
    lowering=Map(lambda m, x, y: m.maximum(x, y)),
    promote_args=common("maximum"),
)


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the greater of two elements; nan if either is nan. For equal elements the gradient flows to the first.

    Parameters
    ----------
    x, y : tensor_like
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
    >>> jt.maximum([1.0, 5.0], 3.0).numpy()
    array([3., 5.], dtype=float32)
    """
    return apply(maximum_op, (x, y))


minimum_op = Primitive(
    "minimum",
    abstract_eval=same_of_kinds("minimum", "biuf"),
    impl=np.minimum,
    vjp=(
        lambda g, out, x, y: where(less_equal(x, y), g, 0),
        lambda g, out, x, y: where(less_equal(x, y), 0, g),
    ),
    lowering=Map(lambda m, x, y: m.minimum(x, y)),
    promote_args=common("minimum"),
)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the lesser of two elements; nan if either is nan. For equal elements the gradient flows to the first.

    Parameters
    ----------
    x, y : tensor_like
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
    >>> jt.minimum([1.0, 5.0], 3.0).numpy()
    array([1., 3.], dtype=float32)
    """
    return apply(minimum_op, (x, y))


def _clip_body(t: Any, low: Any, high: Any) -> Any:
    result = maximum(minimum(t, high), low)
    return not_enlarged("clip_by_value", "clip_value_min and clip_value_max", as_symbol(t).shape, result)


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Limit the elements of `t` to a range. The gradient is 1 inside and at the bounds, 0 outside.

    The bounds broadcast to the shape of `t`. Where they cross, the result is `clip_value_min`.

    Parameters
    ----------
    t : tensor_like
        Any shape.
    clip_value_min, clip_value_max : tensor_like
        Least and greatest value of the result. They broadcast with `t`.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `t`, `clip_value_min` or `clip_value_max` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.clip_by_value([-1.0, 0.5, 2.0], 0.0, 1.0).numpy()
    array([0. , 0.5, 1. ], dtype=float32)
    """
    return apply(_clip_body, (t, clip_value_min, clip_value_max))
