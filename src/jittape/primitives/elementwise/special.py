"""Special functions: the gamma family, and logarithms times factors that may be 0.

The interpreter uses the formulas of compiled code, because SciPy's functions are less accurate near zeros and for large
arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_float
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import log, log1p
from jittape.primitives.record_parts import by_formula, common_float, floating, one_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = ["digamma", "lgamma", "lgamma_op", "polygamma", "xdivy", "xlog1py", "xlogy", "zeta"]


# ---- the gamma family ------------------------------------------------------------------------------------------------


lgamma_op = Primitive(
    "lgamma",
    abstract_eval=same_real_float("lgamma"),
    impl=by_formula("lgamma"),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, digamma(x)),),
    lowering=Map(lambda m, x: m.lgamma(x)),
    promote_args=one_float,
)


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function.

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
    >>> jt.math.lgamma([1.0, 5.0]).numpy().round(4)
    array([0.    , 3.1781], dtype=float32)
    """
    return apply(lgamma_op, (x,))


digamma_op = Primitive(
    "digamma",
    abstract_eval=same_real_float("digamma"),
    impl=by_formula("digamma"),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, polygamma(1, x)),),
    lowering=Map(lambda m, x: m.digamma(x)),
    promote_args=one_float,
)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of `lgamma`.

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
    >>> jt.math.digamma([1.0, 2.0]).numpy().round(4)
    array([-0.5772,  0.4228], dtype=float32)
    """
    return apply(digamma_op, (x,))


def _polygamma_abstract_eval(x: Aval, *, order: int) -> Aval:
    return same_real_float("polygamma")(x)


polygamma_op = Primitive(
    "polygamma",
    abstract_eval=_polygamma_abstract_eval,
    impl=by_formula("polygamma"),
    vjp=(lambda g, out, x, *, order: zero_dominant_multiply(g, polygamma(order + 1, x)),),
    lowering=Map(lambda m, x, *, order: m.polygamma(x, order)),
)


LARGEST_ORDER = 170
"""Largest order of `polygamma`; the factorial of a larger one overflows."""


def _polygamma_body(x: Any, order: int) -> Any:
    return digamma(x) if order == 0 else polygamma_op.bind(floating(x), order=order)


tensor_polygamma_op: Primitive = Primitive(
    "tensor_polygamma",
    abstract_eval=same_real_float("polygamma"),
    impl=by_formula("tensor_polygamma"),
    vjp=(None, lambda g, out, a, x: zero_dominant_multiply(g, tensor_polygamma_op.bind(add(a, 1), x))),
    lowering=Map(lambda m, a, x: m.tensor_polygamma(a, x)),
    promote_args=common_float("polygamma"),
)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of `digamma` of order `a`.

    Parameters
    ----------
    a : int or tensor_like
        Order, from 0. A Python number is part of the program's structure and at most 170. A tensor broadcasts with `x`;
        the result is nan where it is no integer from 0 to 170, and no gradient flows to it.
    x : tensor_like
        Real. At 0 and the negative integers the result is infinite or nan.
    name : str, optional
        For compatibility with TensorFlow.

    Raises
    ------
    ValueError
        If `a` is a Python number and not an integer from 0 to 170.

    Examples
    --------
    >>> jt.math.polygamma(1, [1.0, 2.0]).numpy().round(4)
    array([1.6449, 0.6449], dtype=float32)
    >>> jt.math.polygamma([0.0, 1.0], 1.0).numpy().round(4)
    array([-0.5772,  1.6449], dtype=float32)
    """
    if isinstance(a, (list, tuple)) or (hasattr(a, "dtype") and not isinstance(a, np.generic)):
        return apply(tensor_polygamma_op, (a, x))
    order = as_float("a", a)
    if not (0 <= order <= LARGEST_ORDER and order.is_integer()):
        raise ValueError(
            f"[polygamma] a, the order, must be an integer of at least 0 and at most {LARGEST_ORDER}, got {a!r}"
        )
    return apply(_polygamma_body, (x,), (int(order),))


def _zeta_slope_abstract_eval(x: Aval, q: Aval, *, order: int) -> Aval:
    return same_real_float("zeta")(x, q)


def _zeta_slope_in_q(g: Any, out: Any, x: Any, q: Any, *, order: int) -> Any:
    """Differentiate ``-x zeta(x + 1, q)`` by x, as often as `order` says."""
    following = add(x, 1)
    before = zeta_op.bind(following, q) if order == 1 else zeta_slope_op.bind(following, q, order=order - 1)
    slope = add(multiply(x, zeta_slope_op.bind(following, q, order=order)), multiply(order, before))
    return zero_dominant_multiply(g, negative(slope))


zeta_slope_op: Primitive = Primitive(
    "zeta_slope",
    abstract_eval=_zeta_slope_abstract_eval,
    impl=by_formula("zeta_slope"),
    vjp=(
        lambda g, out, x, q, *, order: zero_dominant_multiply(g, zeta_slope_op.bind(x, q, order=order + 1)),
        _zeta_slope_in_q,
    ),
    lowering=Map(lambda m, x, q, *, order: m.zeta_slope(x, q, order)),
)

zeta_op: Primitive = Primitive(
    "zeta",
    abstract_eval=same_real_float("zeta"),
    impl=by_formula("zeta"),
    vjp=(
        lambda g, out, x, q: zero_dominant_multiply(g, zeta_slope_op.bind(x, q, order=1)),
        lambda g, out, x, q: zero_dominant_multiply(g, negative(multiply(x, zeta_op.bind(add(x, 1), q)))),
    ),
    lowering=Map(lambda m, x, q: m.zeta(x, q)),
    promote_args=common_float("zeta"),
)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Return the Hurwitz zeta function, the sum of ``(q + k)**-x`` over k from 0.

    It is differentiable in both arguments, to any order.

    Parameters
    ----------
    x : tensor_like
        Real. The result is infinite at 1 and nan below 1.
    q : tensor_like
        Real. If it is negative, the result is nan unless `x` is an integer, and so is the derivative with respect to
        `x`. It broadcasts with `x`.
    name : str, optional
        For compatibility with TensorFlow.

    Raises
    ------
    DTypeError
        If `x` or `q` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.zeta([2.0, 4.0], 1.0).numpy().round(4)
    array([1.6449, 1.0823], dtype=float32)
    """
    return apply(zeta_op, (x, q))


# ---- x log y ---------------------------------------------------------------------------------------------------------


def _zero_at_zero(x: Any, value: Any) -> Any:
    """Return the derivative `value`, or 0 where `x` is 0, as if the product did not exist."""
    return where(equal(x, 0), 0, value)


def _xlogy_impl(x: Any, y: Any) -> Any:
    return np.where(x == 0, x.dtype.type(0), x * np.log(y))


xlogy_op = Primitive(
    "xlogy",
    abstract_eval=same_real_float("xlogy"),
    impl=_xlogy_impl,
    vjp=(
        lambda g, out, x, y: zero_dominant_multiply(g, _zero_at_zero(x, log(y))),
        lambda g, out, x, y: zero_dominant_multiply(g, xdivy(x, y)),
    ),
    lowering=Map(lambda m, x, y: m.where(x == 0, 0, x * m.log(y))),
    promote_args=common_float("xlogy"),
)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x * log(y)``, and 0 where `x` is 0; the gradient is 0 there too.

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
    >>> jt.math.xlogy([0.0, 2.0], [0.0, 1.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return apply(xlogy_op, (x, y))


def _xlog1py_impl(x: Any, y: Any) -> Any:
    return np.where(x == 0, x.dtype.type(0), x * np.log1p(y))


def _xdivy_body(x: Any, y: Any) -> Any:
    x, y = common_float("xdivy")(x, y)
    return _zero_at_zero(x, divide(x, y))


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y``, and 0 where `x` is 0, for any `y`; the gradient is 0 there too.

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
    >>> jt.math.xdivy([0.0, 1.0], [0.0, 2.0]).numpy()
    array([0. , 0.5], dtype=float32)
    """
    return apply(_xdivy_body, (x, y))


xlog1py_op = Primitive(
    "xlog1py",
    abstract_eval=same_real_float("xlog1py"),
    impl=_xlog1py_impl,
    vjp=(
        lambda g, out, x, y: zero_dominant_multiply(g, _zero_at_zero(x, log1p(y))),
        lambda g, out, x, y: zero_dominant_multiply(g, xdivy(x, add(y, 1))),
    ),
    lowering=Map(lambda m, x, y: m.where(x == 0, 0, x * m.log1p(y))),
    promote_args=common_float("xlog1py"),
)


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x * log(1 + y)``, and 0 where `x` is 0; the gradient is 0 there too.

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
    >>> jt.math.xlog1py([0.0, 2.0], [-1.0, 0.0]).numpy()
    array([0., 0.], dtype=float32)
    """
    return apply(xlog1py_op, (x, y))
