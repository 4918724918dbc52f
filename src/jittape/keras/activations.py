"""Activations by name, under the names of ``tf.keras.activations``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.hyperbolic import sigmoid, softplus, tanh
from jittape.primitives.nn.activation import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    silu,
    softmax,
    softsign,
)

__all__ = [
    "elu", "exponential", "gelu", "get", "leaky_relu", "linear", "log_softmax", "relu", "relu6", "selu", "sigmoid",
    "silu", "softmax", "softplus", "softsign", "swish", "tanh",
]  # fmt: skip

Activation = Callable[[Any], Any]


swish, exponential = silu, exp


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
    "leaky_relu": leaky_relu,
    "linear": linear,
    "log_softmax": log_softmax,
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
    if given is None or callable(given):
        return given
    if not isinstance(given, str) or given not in ACTIVATIONS:
        raise ValueError(
            f"[{owner}] Unknown activation {given!r}; known are {', '.join(ACTIVATIONS)}, or give a function"
        )
    return None if given == "linear" else ACTIVATIONS[given]


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
