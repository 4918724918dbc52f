"""Layers around other layers: both directions of sequences, a layer at each step, and normalized kernels."""

from __future__ import annotations

import copy
from typing import Any

from jittape.core.user_calls import as_int
from jittape.keras.initializers import TruncatedNormal
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.layer_losses import Losses
from jittape.keras.layers.noise import generator_of
from jittape.keras.layers.recurrent import RNN
from jittape.keras.saving.object_configs import serialize_keras_object
from jittape.module import parts_of
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn.activation import l2_normalize
from jittape.primitives.reduce.reductions import reduce_all
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import reshape, transpose

__all__ = ["Bidirectional", "SpectralNormalization", "TimeDistributed", "unbuilt"]

_MERGES = {
    "concat": lambda forward, backward: concat([forward, backward], -1),
    "sum": add,
    "ave": lambda forward, backward: multiply(add(forward, backward), 0.5),
    "mul": multiply,
    None: lambda forward, backward: (forward, backward),
}
"""How the results of both directions become one, by the name of the mode."""


def unbuilt(layer: Any) -> Any:
    """Return a copy of a layer whose next call creates its weights."""
    copied = copy.deepcopy(layer, {id(getattr(layer, "_call", None)): None})  # without the graph of its calls
    for part in parts_of(copied) if isinstance(copied, Layer) else ():
        if isinstance(part, Layer):
            part.built, part._losses = False, Losses()
    return copied


class Bidirectional(Layer):
    """A recurrent layer along sequences, and another one from their ends.

    Parameters
    ----------
    layer : RNN
        The layer of the forward direction, such as an `LSTM`.
    merge_mode : str or None
        How the results become one: ``"concat"``, ``"sum"``, ``"ave"``, ``"mul"``, or None for both.
    backward_layer : RNN, optional
        With ``go_backwards=True``; by default one like `layer`.
    **options : those of `Layer`

    Raises
    ------
    ValueError
        For another mode, or if the layers do not fit together.
    TypeError
        If a layer is not recurrent.

    Examples
    --------
    >>> layer = jt.keras.layers.Bidirectional(jt.keras.layers.LSTM(3, return_sequences=True))
    >>> layer(jt.ones([2, 5, 4])).shape
    (2, 5, 6)
    """

    supports_masking = True

    def __init__(
        self, layer: RNN, merge_mode: str | None = "concat", backward_layer: RNN | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        for name, given in (("layer", layer), ("backward_layer", backward_layer)):
            if not isinstance(given, RNN) and not (given is None and name == "backward_layer"):
                raise TypeError(
                    f"[Bidirectional] {name} must be a recurrent layer such as LSTM(3), got {given!r}"
                )
        if merge_mode not in _MERGES:
            raise ValueError(f"[Bidirectional] merge_mode must be one of {list(_MERGES)}, got {merge_mode!r}")
        self.merge_mode = merge_mode
        self.forward_layer = layer
        self.backward_layer = _turned(layer) if backward_layer is None else backward_layer
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(layer, name) != getattr(self.backward_layer, name):
                raise ValueError(f"[Bidirectional] layer and backward_layer must have the same {name}")
        if self.forward_layer.go_backwards == self.backward_layer.go_backwards:
            raise ValueError("[Bidirectional] one of layer and backward_layer must have go_backwards=True")
        for one in (self.forward_layer, self.backward_layer):  # as in Keras
            one.zero_output_for_mask = one.return_sequences
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state

    def _config_of(self, home: type) -> dict[str, Any]:
        parts = {
            "merge_mode": self.merge_mode,
            "layer": self.forward_layer,
            "backward_layer": self.backward_layer,
        }
        names = self._base_arguments.split()
        return {name: self._value_of(name) for name in names} | serialize_keras_object(parts)

    def build(self, input_shape: Any) -> None:
        """Build both layers."""
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(input_shape)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the mask of the outputs of all steps; None for the last output and for states."""
        mask = previous_mask[0] if isinstance(previous_mask, (list, tuple)) else previous_mask
        outputs = [mask if self.return_sequences else None] * (2 if self.merge_mode is None else 1)
        return outputs + [None] * (2 * len(self.forward_layer._sizes) if self.return_state else 0)

    def call(
        self, inputs: Any, initial_state: Any = None, mask: Any = None, training: bool | None = None
    ) -> Any:
        """Return the results of both directions, and their last states with ``return_state=True``.

        Parameters
        ----------
        inputs : tensor of shape (batch, time, features)
        initial_state : list of tensors, optional
            States of the forward direction, then those of the other one.
        mask : tensor of bool of shape (batch, time), optional
        training : bool, optional
        """
        half = 0 if initial_state is None else len(initial_state) // 2
        states = (None, None) if initial_state is None else (initial_state[:half], initial_state[half:])
        layers = self.forward_layer, self.backward_layer
        found = [
            layer(inputs, initial_state=state, mask=mask, training=training)
            for layer, state in zip(layers, states, strict=True)
        ]
        forward, backward = (one[0] for one in found) if self.return_state else found
        if self.return_sequences:
            backward = reverse(backward, [1])
        merge: Any = _MERGES[self.merge_mode]
        result = merge(forward, backward)
        if not self.return_state:
            return result
        results = result if self.merge_mode is None else (result,)
        return (*results, *found[0][1:], *found[1][1:])

    def reset_states(self) -> None:
        """Begin the next call of stateful layers with zeros."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()


def _turned(layer: RNN) -> RNN:
    """Return a layer like `layer` in the other direction, with weights and masks of dropout of its own."""
    copied: RNN = unbuilt(layer)
    copied.go_backwards = not layer.go_backwards
    copied._name = f"backward_{layer.name}"
    copied.seed_generator = generator_of(None)
    return copied


class SpectralNormalization(Layer):
    """A layer whose kernel is divided by its largest singular value in each training step.

    Parameters
    ----------
    layer : Layer
        A layer with a `kernel` or `embeddings`.
    power_iterations : int
        Steps of the power iteration that estimates the singular value in each call.
    **options : those of `Layer`

    Raises
    ------
    TypeError
        If `layer` is not a layer, or `power_iterations` not an integer.
    ValueError
        If `power_iterations` is not positive, or, when it is built, if the layer has no kernel.

    Examples
    --------
    >>> layer = jt.keras.layers.SpectralNormalization(jt.keras.layers.Dense(3), power_iterations=20)
    >>> layer(jt.ones([2, 4]), training=True).shape
    (2, 3)
    >>> float(jt.linalg.svd(layer.kernel, compute_uv=False)[0].numpy().round(3))
    1.0
    """

    def __init__(self, layer: Layer, power_iterations: int = 1, **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(layer, Layer):
            raise TypeError(f"[SpectralNormalization] layer must be a layer such as Dense(3), got {layer!r}")
        self.power_iterations = as_int("power_iterations", power_iterations)
        if self.power_iterations < 1:
            raise ValueError(
                f"[SpectralNormalization] power_iterations must be positive, got {power_iterations}"
            )
        self.kernel: Any = None
        self.vector_u: Any = None
        self.layer = layer

    def build(self, input_shape: Any) -> None:
        """Build the layer, and the vector of the power iteration."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.kernel = getattr(self.layer, "kernel", getattr(self.layer, "embeddings", None))
        if self.kernel is None:
            raise ValueError(f"[SpectralNormalization] {self.layer!r} has neither a kernel nor embeddings")
        self.vector_u = self.add_weight(
            (1, self.kernel.shape[-1]),
            TruncatedNormal(stddev=0.02),
            dtype=self.kernel.dtype,
            trainable=False,
            name="vector_u",
        )

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Return the result of the layer, whose kernel is normalized before if `training`."""
        if training:
            self._normalize()
        return self.layer(inputs)

    def _normalize(self) -> None:
        kernel = self.kernel.read_value()
        weights, left = reshape(kernel, (-1, kernel.shape[-1])), self.vector_u.read_value()
        for _ in range(self.power_iterations):
            right = l2_normalize(matmul(left, transpose(weights)))
            left = l2_normalize(matmul(right, weights))
        largest = reshape(matmul(matmul(right, weights), transpose(left)), ())
        is_zero = reduce_all(equal(kernel, 0))
        self.vector_u.assign(where(is_zero, self.vector_u, left))
        self.kernel.assign(where(is_zero, kernel, divide(kernel, largest)))


class TimeDistributed(Layer):
    """A layer at each step of sequences, along the second dimension.

    Parameters
    ----------
    layer : Layer
    **options : those of `Layer`

    Raises
    ------
    TypeError
        If `layer` is not a layer.

    Examples
    --------
    >>> layer = jt.keras.layers.TimeDistributed(jt.keras.layers.Conv2D(4, 3))
    >>> layer(jt.ones([2, 5, 8, 8, 1])).shape
    (2, 5, 6, 6, 4)
    """

    supports_masking = True

    def __init__(self, layer: Layer, **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(layer, Layer):
            raise TypeError(f"[TimeDistributed] layer must be a layer such as Dense(3), got {layer!r}")
        self.layer = layer

    def build(self, input_shape: Any) -> None:
        """Build the layer for one step of inputs of this shape."""
        if not self.layer.built and len(input_shape) > 2:
            self.layer.build((input_shape[0], *input_shape[2:]))

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Return the results of the steps, in their order."""
        if len(inputs.shape) < 3:
            raise ValueError(
                f"layer {self.name!r} takes inputs of shape (batch, time, ...), got shape {tuple(inputs.shape)}"
            )
        batch, time, *others = inputs.shape
        if _depends_on_the_batch(self.layer):
            return stack([self.layer(inputs[:, step], training=training) for step in range(time)], 1)
        rows = self.layer(reshape(inputs, [batch * time, *others]))
        return reshape(rows, [batch, time, *rows.shape[1:]])


def _depends_on_the_batch(layer: Layer) -> bool:
    """Return whether a layer may compute something else from the rows of all steps than from those of one."""
    return any(
        getattr(type(part).call, "__code__", None) is None
        or "training" in type(part).call.__code__.co_varnames
        for part in (layer, *layer.submodules)
        if isinstance(part, Layer)
    )
