"""Activations by name, under the names of ``tf.keras.activations``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.user_calls import as_float
from jittape.keras.saving.named_objects import deserializer
from jittape.keras.saving.named_objects import name_or_config as serialize
from jittape.keras.saving.object_configs import identified
from jittape.keras.saving.registered_objects import BUILTIN_FUNCTIONS
from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import greater, less_equal, where
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.hyperbolic import sigmoid, tanh
from jittape.primitives.elementwise.hyperbolic import softplus as math_softplus
from jittape.primitives.elementwise.piecewise import minimum
from jittape.primitives.nn import activation as nn

__all__ = [
    "deserialize", "elu", "exponential", "gelu", "get", "hard_sigmoid", "leaky_relu", "linear", "log_softmax",
    "mish", "relu", "relu6", "selu", "serialize", "sigmoid", "silu", "softmax", "softplus", "softsign", "swish",
    "tanh",
]  # fmt: skip

Activation = Callable[[Any], Any]


exponential = exp


def relu(x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """Return `x` above `threshold`, else ``negative_slope * (x - threshold)``; at most `max_value`.

    Parameters
    ----------
    x : tensor_like
    negative_slope, threshold : float, default 0
    max_value : float, optional

    Raises
    ------
    DTypeError
        If `x` is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.keras.activations.relu([-1.0, 2.0, 5.0], max_value=3.0).numpy()
    array([0., 2., 3.], dtype=float32)
    """
    if not (as_float("negative_slope", negative_slope) or as_float("threshold", threshold)):
        result = nn.relu(x)
    else:
        below = multiply(subtract(x, threshold), negative_slope) if negative_slope else 0.0
        result = where(less_equal(x, threshold), below, x)
    return result if max_value is None else minimum(result, max_value)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return `x` where it is positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    x : tensor_like
    alpha : float, default 1

    Raises
    ------
    DTypeError
        If `x` is complex.
    ValueError
        If `alpha` is an array.

    Examples
    --------
    >>> jt.keras.activations.elu([-1.0, 2.0], alpha=2.0).numpy().round(3)
    array([-1.264,  2.   ], dtype=float32)
    """
    if np.ndim(alpha):
        raise ValueError(f"[elu] alpha must be a number, got an array of shape {tuple(np.shape(alpha))}")
    result = nn.elu(x)
    return result if alpha == 1.0 else where(greater(result, 0.0), result, multiply(alpha, result))


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """Return `x` where it is positive, else `negative_slope` times `x`.

    Parameters
    ----------
    x : tensor_like
    negative_slope : float, default 0.2

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.leaky_relu([-1.0, 2.0]).numpy()
    array([-0.2,  2. ], dtype=float32)
    """
    return nn.leaky_relu(x, negative_slope)


def gelu(x: Any, approximate: bool = False) -> Any:
    """Return `x` times the standard normal distribution function at `x`; see `jittape.nn.gelu`.

    Parameters
    ----------
    x : tensor_like
    approximate : bool, default False
        Compute it by tanh.

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.gelu([-1.0, 2.0]).numpy().round(3)
    array([-0.159,  1.954], dtype=float32)
    """
    return nn.gelu(x, approximate)


def softmax(x: Any, axis: int | Sequence[int] = -1) -> Any:
    """Return ``exp(x)`` divided by its sum along an axis.

    Parameters
    ----------
    x : tensor_like
    axis : int or sequence of int, default -1

    Raises
    ------
    DTypeError
        If `x` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.keras.activations.softmax([0.0, 0.0]).numpy()
    array([0.5, 0.5], dtype=float32)
    """
    return nn.softmax(x, axis)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """Return the logarithm of `softmax`.

    Parameters
    ----------
    x : tensor_like
    axis : int, default -1

    Raises
    ------
    DTypeError
        If `x` is complex.
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> jt.keras.activations.log_softmax([0.0, 0.0]).numpy().round(3)
    array([-0.693, -0.693], dtype=float32)
    """
    return nn.log_softmax(x, axis)


def relu6(x: Any) -> Any:
    """Return `x` limited to the interval from 0 to 6.

    Parameters
    ----------
    x : tensor_like

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.relu6([-1.0, 8.0]).numpy()
    array([0., 6.], dtype=float32)
    """
    return nn.relu6(x)


def selu(x: Any) -> Any:
    """Return the scaled exponential linear unit; see `jittape.nn.selu`.

    Parameters
    ----------
    x : tensor_like

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.selu([0.0, 1.0]).numpy().round(3)
    array([0.   , 1.051], dtype=float32)
    """
    return nn.selu(x)


def silu(x: Any) -> Any:
    """Return ``x * sigmoid(x)``, also named `swish`.

    Parameters
    ----------
    x : tensor_like

    Examples
    --------
    >>> jt.keras.activations.silu([0.0, 1.0]).numpy().round(3)
    array([0.   , 0.731], dtype=float32)
    """
    return nn.silu(x)


swish = silu


def softplus(x: Any) -> Any:
    """Return ``log(1 + exp(x))``.

    Parameters
    ----------
    x : tensor_like

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.softplus([0.0]).numpy().round(3)
    array([0.693], dtype=float32)
    """
    return math_softplus(x)


def softsign(x: Any) -> Any:
    """Return ``x / (1 + abs(x))``.

    Parameters
    ----------
    x : tensor_like

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.softsign([1.0]).numpy()
    array([0.5], dtype=float32)
    """
    return nn.softsign(x)


def hard_sigmoid(x: Any) -> Any:
    """Return ``x / 6 + 1 / 2`` limited to the interval from 0 to 1.

    Parameters
    ----------
    x : tensor_like

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.hard_sigmoid([-4.0, 0.0, 1.5]).numpy()
    array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return multiply(relu6(add(x, 3.0)), 1 / 6)  # `relu6` has the gradient 0 at both ends, as in Keras


def mish(x: Any) -> Any:
    """Return ``x * tanh(softplus(x))`` (Misra 2019).

    Parameters
    ----------
    x : tensor_like

    Raises
    ------
    DTypeError
        If `x` is complex.

    Examples
    --------
    >>> jt.keras.activations.mish([0.0, 1.0]).numpy().round(3)
    array([0.   , 0.865], dtype=float32)
    """
    return multiply(x, tanh(math_softplus(x)))


def linear(x: Any) -> Any:
    """Return `x`.

    Parameters
    ----------
    x : tensor_like
        Any shape.

    Examples
    --------
    >>> jt.keras.activations.linear(jt.constant([1.0])).numpy()
    array([1.], dtype=float32)
    """
    return x


ACTIVATIONS: dict[str, Activation] = {
    "elu": elu,
    "exponential": exp,
    "gelu": gelu,
    "hard_sigmoid": hard_sigmoid,
    "leaky_relu": leaky_relu,
    "linear": linear,
    "log_softmax": log_softmax,
    "mish": mish,
    "relu": relu,
    "relu6": relu6,
    "selu": selu,
    "sigmoid": sigmoid,
    "silu": silu,
    "softmax": softmax,
    "softplus": softplus,
    "softsign": softsign,
    "swish": silu,
    "tanh": tanh,
}
"""Activations that layers accept by name."""
BUILTIN_FUNCTIONS |= ACTIVATIONS


def get(identifier: Any) -> Activation:
    """Return the activation with this name, or a function as it is; None gives `linear`.

    Parameters
    ----------
    identifier : str, callable or None
        Name of an activation, or a function.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> jt.keras.activations.get("relu")([-1.0, 2.0]).numpy()
    array([0., 2.], dtype=float32)
    """
    return activation_of("activations.get", identifier) or linear


def activation_of(owner: str, given: Activation | str | None) -> Activation | None:
    """Return the activation with this name; None for no activation.

    Raises
    ------
    ValueError
        If there is none.
    """
    given = identified(given)
    if given is None or callable(given):
        return given
    if not isinstance(given, str) or given not in ACTIVATIONS:
        raise ValueError(
            f"[{owner}] Unknown activation {given!r}; known are {', '.join(ACTIVATIONS)}, or give a function"
        )
    return None if given == "linear" else ACTIVATIONS[given]


deserialize = deserializer(get)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
