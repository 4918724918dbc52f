"""Layers of neural networks."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from jittape import random
from jittape.core.user_calls import as_int
from jittape.module import Module
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.hyperbolic import sigmoid, softplus, tanh
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.activation import elu, gelu, relu, selu, silu, softmax
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Dense", "Sequential"]

Activation = Callable[[Any], Any]

ACTIVATIONS: dict[str, Activation] = {
    "elu": elu,
    "gelu": gelu,
    "linear": lambda x: x,
    "relu": relu,
    "selu": selu,
    "sigmoid": sigmoid,
    "silu": silu,
    "softmax": softmax,
    "softplus": softplus,
    "tanh": tanh,
}
"""Activations that layers accept by name."""


class Dense(Module):
    """A densely connected layer, ``activation(x @ kernel + bias)``.

    Parameters
    ----------
    units : int
        Size of the last dimension of the result.
    activation : callable or str, optional
        Applied to the result; a function or a name such as ``"relu"`` or ``"tanh"``.
    use_bias : bool, default True
    input_dim : int, optional
        Size of the last dimension of the input. If not given, the first call creates the Variables.
    dtype : dtype, optional
        Of the Variables; `jt.config.default_float` if not given.
    name : str, optional

    Notes
    -----
    The kernel is initialized with Glorot and Bengio's uniform distribution (AISTATS 2010), the bias with zeros.

    Raises
    ------
    ValueError
        If `units` is not positive, the activation is unknown, or the last dimension of the input changes.

    Examples
    --------
    >>> import jittape as jt
    >>> layer = jt.nn.Dense(3, activation="relu")
    >>> layer(jt.ones([2, 4])).shape
    (2, 3)
    """

    def __init__(
        self,
        units: int,
        activation: Activation | str | None = None,
        use_bias: bool = True,
        input_dim: int | None = None,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.units = as_int("units", units)
        if self.units < 1:
            raise ValueError(f"[Dense] units must be positive, got {units}")
        self.activation = _activation(activation)
        self.use_bias = use_bias
        self.kernel: Variable | None = None
        self.bias: Variable | None = None
        self._dtype = dtype
        if input_dim is not None:
            self.build(input_dim)

    def build(self, input_dim: int) -> None:
        """Create the Variables for inputs whose last dimension is `input_dim`."""
        if as_int("input_dim", input_dim) < 0:
            raise ValueError(f"[Dense] input_dim must not be negative, got {input_dim}")
        limit = math.sqrt(6.0 / (input_dim + self.units))
        kernel = random.uniform([input_dim, self.units], -limit, limit, self._dtype)
        self.kernel = Variable(kernel, name=f"{self.name}/kernel")
        if self.use_bias:
            self.bias = Variable(np.zeros(self.units, kernel.dtype), name=f"{self.name}/bias")

    def __call__(self, inputs: Any, training: bool | None = None) -> Tensor:
        """Return the layer's result for `inputs` of shape ``(..., input_dim)``; `training` is ignored."""
        x = inputs if isinstance(inputs, Operators) else convert_to_tensor(inputs)
        if self.kernel is None:
            if not x.shape:
                raise ValueError(f"layer {self.name!r} needs an input with at least one dimension")
            self.build(x.shape[-1])
        assert self.kernel is not None
        if x.shape[-1:] != self.kernel.shape[:1]:
            raise ValueError(
                f"layer {self.name!r} takes inputs with last dimension {self.kernel.shape[0]}, got shape {x.shape}"
            )
        product = matmul(x, self.kernel)
        result = product if self.bias is None else add(product, self.bias)
        return result if self.activation is None else self.activation(result)


def _activation(given: Activation | str | None) -> Activation | None:
    if given is None or callable(given):
        return given
    if not isinstance(given, str) or given not in ACTIVATIONS:
        raise ValueError(
            f"[Dense] Unknown activation {given!r}; known are {', '.join(ACTIVATIONS)}, or give a function"
        )
    return None if given == "linear" else ACTIVATIONS[given]


class Sequential(Module):
    """Layers applied one after another.

    Parameters
    ----------
    layers : sequence of callables
        Modules or plain functions of one tensor.
    name : str, optional

    Examples
    --------
    >>> import jittape as jt
    >>> net = jt.nn.Sequential([jt.nn.Dense(8, "tanh"), jt.nn.Dense(1)])
    >>> net(jt.ones([5, 2])).shape, len(net.trainable_variables)
    ((5, 1), 4)
    """

    def __init__(self, layers: Sequence[Callable[..., Any]] = (), name: str | None = None) -> None:
        super().__init__(name)
        if not isinstance(layers, (list, tuple)):
            raise TypeError(
                f"[Sequential] layers must be a list of layers, got {layers!r}: write [layer] for one"
            )
        self.layers: list[Callable[..., Any]] = []
        for layer in layers:
            self.add(layer)

    def add(self, layer: Callable[..., Any]) -> None:
        """Append `layer`."""
        if not callable(layer):
            raise TypeError(
                f"[Sequential] a layer must be callable, such as jt.nn.Dense(3) or jt.nn.relu, got {layer!r}"
            )
        self.layers.append(layer)

    def __call__(self, inputs: Any, training: bool | None = None) -> Tensor:
        """Return the result of the last layer; Modules that accept `training` get it."""
        x = inputs
        for layer in self.layers:
            kind: Any = type(layer)
            x = layer(x, training=training) if _takes_training(kind) else layer(x)
        return x if isinstance(x, Tensor) else convert_to_tensor(x)


@cache
def _takes_training(kind: Any) -> bool:
    """Return whether `kind` is a class of Modules that accept ``training=``."""
    if not issubclass(kind, Module):
        return False
    parameters = inspect.signature(kind.__call__).parameters.values()
    return any(p.name == "training" or p.kind is p.VAR_KEYWORD for p in parameters)
