"""Layers applied one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Self

from jittape.core.argument_checks import ArgumentError
from jittape.core.signatures import takes_keyword
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.layer_losses import building
from jittape.keras.layers.mask_passing import with_masks
from jittape.keras.layers.reshaping_layers import Input
from jittape.keras.layers.symbolic_outputs import call_symbolically, on_examples
from jittape.keras.saving.object_configs import deserialize_keras_object, serialize_keras_object
from jittape.keras.saving.registered_objects import CustomObjectScope
from jittape.module import Module
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor

__all__ = ["Sequential"]


class Sequential(Layer):
    """Layers applied one after another.

    Parameters
    ----------
    layers : sequence of callables
        Modules or plain functions of one tensor. If the first is an `Input`, all layers are built at once.
    name : str, optional

    Attributes
    ----------
    layers : list
        The layers without an `Input`.

    Examples
    --------
    >>> import jittape as jt
    >>> net = jt.nn.Sequential([jt.nn.Dense(8, "tanh"), jt.nn.Dense(1)])
    >>> net(jt.ones([5, 2])).shape, len(net.trainable_variables)
    ((5, 1), 4)
    """

    def __init__(self, layers: Sequence[Callable[..., Any]] = (), name: str | None = None) -> None:
        super().__init__(name=name)
        if not isinstance(layers, (list, tuple)):
            raise TypeError(
                f"[Sequential] layers must be a list of layers, got {layers!r}: write [layer] for one"
            )
        self.layers: list[Callable[..., Any]] = []
        self._input: Input | None = None
        self._output: Any = None  # symbolic
        for layer in layers:
            self.add(layer)

    def add(self, layer: Callable[..., Any], rebuild: bool = True) -> None:
        """Append `layer`. TensorFlow's argument `rebuild` changes nothing."""
        if not callable(layer):
            raise ArgumentError(
                f"[Sequential] a layer must be callable, such as jt.nn.Dense(3) or jt.nn.relu, got {layer!r}"
            )
        if isinstance(layer, Input) and not self.layers:
            self._input = self._output = layer
            return
        if (
            isinstance(layer, Layer)
            and layer._input_shape is not None
            and not self.layers
            and self._input is None
        ):
            self.add(Input(layer._input_shape))
        name = getattr(layer, "name", None)
        if isinstance(layer, Layer) and any(
            x is not layer and getattr(x, "name", 0) == name for x in self.layers
        ):
            raise ValueError(
                f"[Sequential] layers must have different names, and {name!r} is that of another one"
            )
        self.layers.append(layer)
        if self._output is not None:
            with building(self):
                self._output = call_symbolically(layer, (self._output,), {})
            self.built = True

    def pop(self, rebuild: bool = True) -> Callable[..., Any]:
        """Remove the last layer and return it.

        Raises
        ------
        IndexError
            If there are no layers.
        """
        if not self.layers:
            raise IndexError(f"[Sequential.pop] {self.name!r} has no layers")
        last = self.layers.pop()
        if self._input is not None:
            self._output = self._input
            for layer in self.layers:
                self._output = call_symbolically(layer, (self._output,), {})
        return last

    def _config_of(self, home: type) -> dict[str, Any]:
        names = ("name", "trainable", "dtype")
        layers = self.layers if self._input is None else [self._input, *self.layers]
        stored = {"layers": [serialize_keras_object(layer) for layer in layers]}
        built = self._shapes if self._input is None else self._input.shape
        shape = {} if built is None else {"build_input_shape": built}
        return {name: self._value_of(name) for name in names} | stored | shape

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Self:
        """Return a model with new weights and the layers of the config that `get_config` gave.

        Parameters
        ----------
        config : dict
        custom_objects : dict, optional
            Classes and functions of the user by their names.

        Raises
        ------
        TypeError
            If a class is unknown, or the class of the model has another constructor.
        """
        with CustomObjectScope(custom_objects):
            if "layers" not in config:
                return super().from_config(config)
            layers = [deserialize_keras_object(layer) for layer in config["layers"]]
        model = cls(layers, name=config.get("name"))
        model._is_trainable = config.get("trainable", True)
        shape = config.get("build_input_shape")
        if model._input is None and shape is not None:
            model.build(shape)
        return model

    @property
    def input_shape(self) -> tuple[int | None, ...]:
        """Shape of the inputs, with None for the length of the batch.

        Raises
        ------
        AttributeError
            If the first layer is no `Input`.
        """
        if self._input is None:
            raise AttributeError(f"{self.name!r} has no input_shape: its first layer must be an Input")
        return self._input.shape

    @property
    def output_shape(self) -> tuple[int | None, ...]:
        """Shape of the results, with None for the length of the batch.

        Raises
        ------
        AttributeError
            If the first layer is no `Input`.
        """
        if self._output is None:
            raise AttributeError(f"{self.name!r} has no output_shape: its first layer must be an Input")
        shape: tuple[int | None, ...] = self._output.shape
        return shape

    def build(self, input_shape: Any = None) -> None:
        """Build all layers for inputs of this shape, the length of the batch first.

        Raises
        ------
        ValueError
            If the shape is missing and the first layer is no `Input`.
        """
        if self._input is None:
            if input_shape is None:
                raise ValueError(
                    f"[Sequential.build] {self.name!r} needs an input_shape: its first layer is no Input"
                )
            x = Input(input_shape[1:], dtype=self.dtype).examples[0]
            with on_examples(self):
                for layer in self.layers:
                    x = self._apply(layer, x, False)

    def _build(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let the call that follows build the layers, and note the shape of its inputs."""
        self.built = True
        shape = getattr(args[0], "shape", None) if args else None
        self._shapes = None if not shape else (None, *shape[1:])

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Tensor:
        """Return the result of the last layer; Modules that accept `training` get it."""
        x = with_masks(inputs, mask)
        x = x if self._input is None else self._input(x)
        for layer in self.layers:
            x = self._apply(layer, x, training)
        return x if isinstance(x, Tensor) else convert_to_tensor(x)

    @staticmethod
    def _apply(layer: Callable[..., Any], x: Any, training: bool | None) -> Any:
        kind: Any = type(layer)
        return layer(x, training=training) if _takes_training(kind) else layer(x)

    def _as_inputs(self, inputs: Any) -> Any:
        """Return `inputs` as they are; each layer casts its own."""
        return inputs


@cache
def _takes_training(kind: Any) -> bool:
    """Return whether `kind` is a class of Modules that accept ``training=``."""
    return issubclass(kind, Module) and takes_keyword(kind.__call__, "training")
