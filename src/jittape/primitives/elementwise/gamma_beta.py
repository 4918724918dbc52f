"""The gamma function, and the logarithm of the beta function."""

from __future__ import annotations

from typing import Any

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, zero_dominant_multiply
from jittape.primitives.elementwise.formula_op import formula_op
from jittape.primitives.elementwise.special import digamma, lgamma_op, polygamma
from jittape.primitives.record_parts import by_formula, common_float, same_real_float
from jittape.typing import Tensor, TensorLike

__all__ = ["betaln", "gamma", "gammaln", "polygamma_difference_op"]


def gammaln(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function, `lgamma` under SciPy's name.

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
    >>> jt.math.gammaln([1.0, 5.0]).numpy().round(4)
    array([0.    , 3.1781], dtype=float32)
    """
    return apply(lgamma_op, (x,))


gamma_op = formula_op("gamma", lambda out, x: multiply(out, digamma(x)))


def gamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the gamma function; nan at the negative integers.

    Parameters
    ----------
    x : tensor_like
        Real; integers give floats.
    name : str, optional
        For compatibility with TensorFlow's functions.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.math.gamma([0.5, 5.0]).numpy().round(4)
    array([ 1.7725, 24.    ], dtype=float32)
    """
    return apply(gamma_op, (x,))


polygamma_difference_op: Primitive = Primitive(
    "polygamma_difference",
    abstract_eval=lambda x, y, *, order: same_real_float("polygamma_difference")(x, y),
    impl=by_formula("polygamma_difference"),
    vjp=(
        lambda g, out, x, y, *, order: zero_dominant_multiply(
            g, polygamma_difference_op.bind(x, y, order=order + 1)
        ),
        lambda g, out, x, y, *, order: zero_dominant_multiply(g, negative(polygamma(order + 1, add(x, y)))),
    ),
    lowering=Map(lambda m, x, y, *, order: m.polygamma_difference(x, y, order)),
)
"""``polygamma(order, x) - polygamma(order, x + y)``, with all digits also if one argument is much larger."""


def _betaln_slope(x: Any, y: Any) -> Any:
    return polygamma_difference_op.bind(x, y, order=0)


betaln_op = Primitive(
    "betaln",
    abstract_eval=same_real_float("betaln"),
    impl=by_formula("betaln"),
    vjp=(
        lambda g, out, x, y: zero_dominant_multiply(g, _betaln_slope(x, y)),
        lambda g, out, x, y: zero_dominant_multiply(g, _betaln_slope(y, x)),
    ),
    lowering=Map(lambda m, x, y: m.betaln(x, y)),
    promote_args=common_float("betaln"),
)


def betaln(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the beta function ``gamma(x) gamma(y) / gamma(x + y)``, without cancellation.

    `lbeta` is the function of any number of arguments.

    Parameters
    ----------
    x, y : tensor_like
        Real and at least 0: the result is nan elsewhere. They broadcast.
    name : str, optional
        For compatibility with TensorFlow's functions.

    Raises
    ------
    DTypeError
        If `x` or `y` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.math.betaln([1.0, 1e6], 2.0).numpy().round(4)
    array([ -0.6931, -27.631 ], dtype=float32)
    """
    return apply(betaln_op, (x, y))
