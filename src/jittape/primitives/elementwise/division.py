"""Division: divide, reciprocal, floor_divide, mod, divide_no_nan, and multiply_no_nan."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.primitives.broadcast import broadcast_operands, promote
from jittape.primitives.elementwise.arithmetic import (
    multiply,
    negative,
    square,
    zero_dominant_multiply,
    zero_dominant_multiply_op,
)
from jittape.primitives.record_parts import (
    common_number,
    neutral,
    one_float,
    quotient,
    same_float,
    same_of_kinds,
)
from jittape.typing import Tensor, TensorLike

__all__ = [
    "divide",
    "divide_no_nan",
    "divide_op",
    "floor_divide",
    "mod",
    "multiply_no_nan",
    "reciprocal",
    "reciprocal_no_nan",
]


divide_op = Primitive(
    "divide",
    abstract_eval=same_of_kinds("divide", "fc"),
    impl=np.true_divide,
    vjp=(
        lambda g, out, x, y: zero_dominant_multiply(g, reciprocal(y)),
        lambda g, out, x, y: zero_dominant_multiply(g, negative(multiply(out, reciprocal(y)))),
    ),
    lowering=Map(lambda m, x, y: m.divide(x, y)),
    promote_args=quotient("divide"),
    simplified=neutral(1, 1),
    linear_if_finite=((0,),),
)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide `x` by `y`, element by element; integers give float64.

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

    Examples
    --------
    >>> jt.divide([1.0, 3.0], 2.0).numpy()
    array([0.5, 1.5], dtype=float32)
    """
    return apply(divide_op, (x, y))


def _reciprocal_impl(x: Any) -> Any:
    return x.dtype.type(1) / x


reciprocal_op = Primitive(
    "reciprocal",
    abstract_eval=same_float("reciprocal"),
    impl=_reciprocal_impl,
    vjp=(lambda g, out, x: zero_dominant_multiply(g, negative(square(out))),),
    lowering=Map(lambda m, x: m.reciprocal(x)),
    promote_args=one_float,
)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / x``; integers give floats.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.reciprocal([2.0, 0.5]).numpy()
    array([0.5, 2. ], dtype=float32)
    """
    return apply(reciprocal_op, (x,))


def _divide_no_nan_impl(x: Any, y: Any) -> Any:
    return np.where(y == 0, x.dtype.type(0), x / y)


divide_no_nan_op = Primitive(
    "divide_no_nan",
    abstract_eval=same_of_kinds("divide_no_nan", "fc"),
    impl=_divide_no_nan_impl,
    vjp=(
        lambda g, out, x, y: zero_dominant_multiply(g, divide_no_nan(1.0, y)),
        lambda g, out, x, y: zero_dominant_multiply(g, negative(divide_no_nan(out, y))),
    ),
    lowering=Map(lambda m, x, y: m.where(y == 0, 0, m.divide(x, y))),
    promote_args=quotient("divide_no_nan"),
)


def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divide `x` by `y`; the result is 0 where `y` is 0.

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

    Examples
    --------
    >>> jt.math.divide_no_nan([1.0, 3.0], [0.0, 2.0]).numpy()
    array([0. , 1.5], dtype=float32)
    """
    return apply(divide_no_nan_op, (x, y))


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / x``, and 0 where `x` is 0; integers give floats.

    Parameters
    ----------
    x : tensor_like
        Any shape. Integers give floats; int32 gives float64.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.math.reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    return divide_no_nan(1, x)


floor_divide_op = Primitive(
    "floor_divide",
    abstract_eval=same_of_kinds("floor_divide", "iuf"),
    impl=np.floor_divide,
    lowering=Map(lambda m, x, y: m.floor_divide(x, y)),
    promote_args=common_number("floor_divide"),
    gradient_stops="the floor of a quotient is constant between its jumps",
)


def floor_divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the quotient rounded down: ``x // y``.

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
    >>> jt.math.floordiv([7, -7], 2).numpy()
    array([ 3, -4], dtype=int32)
    """
    return apply(floor_divide_op, (x, y))


mod_op = Primitive(
    "mod",
    abstract_eval=same_of_kinds("mod", "iuf"),
    impl=np.remainder,
    vjp=(
        lambda g, out, x, y: g,
        lambda g, out, x, y: zero_dominant_multiply(g, negative(floor_divide(x, y))),
    ),
    lowering=Map(lambda m, x, y: m.remainder(x, y)),
    promote_args=common_number("mod"),
)


def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder of the division rounded down, with the sign of `y`: ``x % y``.

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
    >>> jt.math.floormod([7.0, -7.0], 4.0).numpy()
    array([3., 1.], dtype=float32)
    """
    return apply(mod_op, (x, y))


def _multiply_no_nan_body(x: Any, y: Any) -> Any:
    x, y = broadcast_operands(*promote(x, y), op="multiply_no_nan")
    return multiply(x, y) if y.dtype.kind == "b" else zero_dominant_multiply_op.bind(y, x)


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Multiply `x` by `y`; the result is 0 where `y` is 0, even if `x` is infinite or nan.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.multiply_no_nan([np.inf, 2.0], [0.0, 3.0]).numpy()
    array([0., 6.], dtype=float32)
    """
    return apply(_multiply_no_nan_body, (x, y))
