"""The densely connected layer."""

from __future__ import annotations

from typing import Any

from jittape.core.user_calls import as_int
from jittape.keras.activations import Activation, activation_of, linear
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.linalg.matmul import matmul
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["Dense"]


@with_options(kernel="_kernel", bias="_bias")
class Dense(Layer):
    """A densely connected layer, ``activation(x @ kernel + bias)``.

    Parameters
    ----------
    units : int
        Size of the last dimension of the result.
    activation : callable or str, optional
        Applied to the result; a function or a name such as ``"relu"`` or ``"tanh"``.
    use_bias : bool, default True
    kernel_initializer, bias_initializer : str or callable
        See `jt.keras.initializers`.
    kernel_regularizer, bias_regularizer, activity_regularizer : str or callable, optional
        See `jt.keras.regularizers`.
    kernel_constraint, bias_constraint : callable, optional
        Applied to the weight after each update.
    input_dim : int, optional
        Size of the last dimension of the input. If not given, the first call creates the Variables.
    **options
        `dtype`, `name`, `trainable`: see `Layer`.

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

    supports_masking = True

    takes_floats = True

    _left_out = "input_dim"

    def __init__(
        self,
        units: int,
        activation: Activation | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        input_dim: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **options)
        self.units = as_int("units", units)
        if self.units < 1:
            raise ValueError(f"[Dense] units must be positive, got {units}")
        self.activation = activation_of("Dense", activation) or linear
        self.use_bias = use_bias
        self.kernel: Variable | None = None
        self.bias: Variable | None = None
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)
        if input_dim is not None:
            self.build((input_dim,))

    def build(self, input_shape: Any) -> None:
        """Create the Variables for inputs of this shape."""
        if not input_shape:
            raise ValueError(f"layer {self.name!r} needs an input with at least one dimension")
        inputs = as_int("input_dim", input_shape[-1])
        if inputs < 0:
            raise ValueError(f"[Dense] input_dim must not be negative, got {inputs}")
        self.kernel = self._kernel.add_to(self, (inputs, self.units), "kernel")
        if self.use_bias:
            self.bias = self._bias.add_to(self, (self.units,), "bias")

    def call(self, inputs: Any) -> Tensor:
        """Return the layer's result for `inputs` of shape ``(..., input_dim)``."""
        assert self.kernel is not None
        shape = inputs.shape
        if not shape or shape[-1] != self.kernel.aval.shape[0]:
            raise ValueError(
                f"layer {self.name!r} takes inputs with last dimension {self.kernel.shape[0]}, got shape "
                f"{shape}"
            )
        product = matmul(inputs, self.kernel)
        result = product if self.bias is None else add(product, self.bias)
        return result if self.activation is linear else self.activation(result)
