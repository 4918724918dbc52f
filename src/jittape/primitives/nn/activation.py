"""Activation functions of neural networks, composed of few primitives so that they fuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.user_calls import as_flag, as_float
from jittape.primitives.broadcast import as_symbol, axis_key, cast_to, normalized_axes
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import greater, less, less_equal, where
from jittape.primitives.elementwise.complex_numbers import squared_magnitude
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.elementwise.error_functions import erfc
from jittape.primitives.elementwise.exponential import exp, expm1, log, rsqrt
from jittape.primitives.elementwise.hyperbolic import sigmoid, tanh
from jittape.primitives.elementwise.piecewise import absolute, maximum, minimum
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.identity import stop_gradient
from jittape.primitives.record_parts import floating, one_float, same_of_kinds, same_real_float
from jittape.primitives.reduce.reductions import Axis, reduce_max, reduce_sum
from jittape.typing import Tensor, TensorLike

__all__ = [
    "elu", "gelu", "l2_normalize", "leaky_relu", "log_softmax", "relu", "relu6", "selu", "shifted", "silu", "softmax",
    "softsign",
]  # fmt: skip


# ---- rectifiers ------------------------------------------------------------------------------------------------------


def _number(x: Any) -> tuple[Any, ...]:
    x = as_symbol(x)
    return (cast_to(x, int64) if x.dtype.kind == "b" else x,)


relu_op = Primitive(
    "relu",
    abstract_eval=same_of_kinds("relu", "biuf"),
    impl=lambda x: np.maximum(x.dtype.type(0), x),
    # By the result, which the next matrix product of a network needs anyway: the operand then ends here.
    vjp=(lambda g, out, x: where(less_equal(out, 0), 0, g),),
    lowering=Map(lambda m, x: m.maximum(m.literal(0, x.dtype), x)),
    promote_args=_number,
)


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``max(x, 0)``. The gradient at 0 is 0.

    Parameters
    ----------
    features : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `features` is complex.

    Examples
    --------
    >>> jt.nn.relu([-1.0, 2.0]).numpy()
    array([0., 2.], dtype=float32)
    """
    return apply(relu_op, (features,))


def _relu6_body(x: Any) -> Any:
    # For equal operands the gradient flows to the constants: it is 0 at 0 and at 6.
    return minimum(6, relu(x))


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``min(max(x, 0), 6)``. The gradient is 0 at 0 and at 6.

    Parameters
    ----------
    features : tensor_like
        Any shape.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `features` is complex.

    Examples
    --------
    >>> jt.nn.relu6([-1.0, 2.0, 8.0]).numpy()
    array([0., 2., 6.], dtype=float32)
    """
    return apply(_relu6_body, (features,))


def _leaky_relu_body(x: Any, alpha: Any) -> Any:
    return where(greater(x, 0), x, multiply(x, alpha))


def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> Tensor:
    """Return `x` where it is positive, else ``alpha * x``. The gradient at 0 is `alpha`.

    Parameters
    ----------
    features : tensor_like
        Any shape.
    alpha : tensor_like
        Slope for negative numbers.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `features` is complex.

    Examples
    --------
    >>> jt.nn.leaky_relu([-1.0, 2.0]).numpy()
    array([-0.2,  2. ], dtype=float32)
    """
    return apply(_leaky_relu_body, (features, alpha))


def _elu_body(x: Any) -> Any:
    x = floating(x)
    # `minimum` prevents an overflow of expm1 where it is not selected.
    return where(less(x, 0), expm1(minimum(x, 0)), x)


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return `x` where it is positive, else ``exp(x) - 1``. The gradient at 0 is 1.

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
    >>> jt.nn.elu([-1.0, 2.0]).numpy().round(4)
    array([-0.6321,  2.    ], dtype=float32)
    """
    return apply(_elu_body, (features,))


SELU_SCALE = 1.0507009873554805
SELU_ALPHA = 1.6732632423543772


def _selu_body(x: Any) -> Any:
    x = floating(x)
    negative_part = multiply(SELU_SCALE * SELU_ALPHA, expm1(minimum(x, 0)))
    return where(less(x, 0), negative_part, multiply(SELU_SCALE, x))


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return scaled `elu`, with constants that preserve mean 0 and variance 1 (Klambauer et al., 2017).

    The gradient at 0 is 1.0507.

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
    >>> jt.nn.selu([-1.0, 2.0]).numpy().round(4)
    array([-1.1113,  2.1014], dtype=float32)
    """
    return apply(_selu_body, (features,))


# ---- smooth ----------------------------------------------------------------------------------------------------------


def _gelu_body(x: Any, approximate: bool) -> Any:
    x = floating(x)
    if approximate:
        inner = multiply(math.sqrt(2 / math.pi), add(x, multiply(0.044715, pow(x, 3))))
        return multiply(multiply(0.5, x), add(tanh(inner), 1))
    return multiply(multiply(0.5, x), erfc(multiply(-math.sqrt(0.5), x)))


def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Return `x` times the probability that a standard normal variable is below `x`.

    Parameters
    ----------
    features : tensor
        Integers give floats.
    approximate : bool
        Use the formula with `tanh`.

    Raises
    ------
    DTypeError
        If `features` is complex.

    Examples
    --------
    >>> jt.nn.gelu([-1.0, 2.0]).numpy().round(4)
    array([-0.1587,  1.9545], dtype=float32)
    """
    return apply(_gelu_body, (features,), (as_flag("approximate", approximate),))


def _silu_body(x: Any, beta: Any) -> Any:
    x = floating(x)
    return multiply(x, sigmoid(multiply(beta, x)))


def silu(features: TensorLike, beta: TensorLike = 1.0, name: str | None = None) -> Tensor:
    """Return ``x * sigmoid(beta * x)``. Also called `swish`.

    Parameters
    ----------
    features : tensor_like
        Any shape.
    beta : tensor_like
        Factor inside the sigmoid.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.nn.silu([0.0, 2.0]).numpy().round(4)
    array([0.    , 1.7616], dtype=float32)
    """
    return apply(_silu_body, (features, beta))


softsign_op = Primitive(
    "softsign",
    abstract_eval=same_real_float("softsign"),
    impl=lambda x: x / (np.absolute(x) + 1),
    vjp=(lambda g, out, x: zero_dominant_multiply(g, square(reciprocal(add(absolute(x), 1)))),),
    lowering=Map(lambda m, x: x / (m.absolute(x) + 1)),
    promote_args=one_float,
)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / (1 + abs(x))``. The gradient is ``1 / (1 + abs(x))**2``, 0 at infinity.

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
    >>> jt.nn.softsign([-1.0, 3.0]).numpy()
    array([-0.5 ,  0.75], dtype=float32)
    """
    return apply(softsign_op, (features,))


# ---- softmax ---------------------------------------------------------------------------------------------------------


def shifted(op: str, logits: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return `logits` minus their maximum along `axis`, which is a constant for the gradient, and the axes."""
    x = floating(logits)
    axes = normalized_axes(op, axis, len(x.shape))
    return subtract(x, stop_gradient(reduce_max(x, axes, keepdims=True))), axes


def _softmax_body(logits: Any, axis: Any) -> Any:
    x, axes = shifted("softmax", logits, axis)
    weights = exp(x)
    return divide(weights, reduce_sum(weights, axes, keepdims=True))


def softmax(logits: TensorLike, axis: Axis = -1, name: str | None = None) -> Tensor:
    """Return ``exp(logits)`` scaled to sum to 1 along `axis`, without overflow.

    Parameters
    ----------
    logits : tensor_like
        Any shape.
    axis : int or sequence of int
        Dimensions over which the exponentials sum to 1.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `logits` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.nn.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return apply(_softmax_body, (logits,), (-1 if axis is None else axis_key(axis),))


def _log_softmax_body(logits: Any, axis: Any) -> Any:
    x, axes = shifted("log_softmax", logits, axis)
    return subtract(x, log(reduce_sum(exp(x), axes, keepdims=True)))


def log_softmax(logits: TensorLike, axis: Axis = -1, name: str | None = None) -> Tensor:
    """Return the logarithm of `softmax`, accurate also where `softmax` is 0.

    Parameters
    ----------
    logits : tensor_like
        Any shape.
    axis : int or sequence of int
        Dimensions over which the exponentials sum to 1.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `logits` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.nn.log_softmax([0.0, 0.0]).numpy().round(4)
    array([-0.6931, -0.6931], dtype=float32)
    """
    return apply(_log_softmax_body, (logits,), (-1 if axis is None else axis_key(axis),))


# ---- normalization ---------------------------------------------------------------------------------------------------


def _l2_normalize_body(x: Any, axis: Any, epsilon: float) -> Any:
    x = floating(x)
    squares = reduce_sum(squared_magnitude(x), axis, keepdims=True)
    return multiply(x, cast_to(rsqrt(maximum(squares, epsilon)), x.dtype))


def l2_normalize(x: TensorLike, axis: Axis = None, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """Scale `x` to norm 1 along `axis`.

    Parameters
    ----------
    x : tensor
        Integers give floats.
    axis : int or sequence of int, optional
        The dimensions of each norm; all of them by default.
    epsilon : float
        Lower limit of the squared norm in the division; part of the program's structure.

    Examples
    --------
    >>> jt.nn.l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    return apply(_l2_normalize_body, (x,), (axis_key(axis), as_float("epsilon", epsilon)))
