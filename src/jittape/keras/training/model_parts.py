"""Layers, weights and settings of a model, without its training loop."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from jittape.core.user_calls import as_int, stack_level
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.symbolic_outputs import (
    OPEN_LENGTHS,
    AttributeOfGraph,
    leaves_of,
    mapped,
    on_examples,
)
from jittape.keras.saving.built_shapes import plain_shape, shapes_of
from jittape.keras.saving.object_configs import (
    deserialize_keras_object,
    is_builtin,
    serialize_keras_object,
)
from jittape.keras.saving.registered_objects import CustomObjectScope
from jittape.keras.training.functional_graph import FunctionalGraph
from jittape.keras.training.graph_config import config_of_graph, graph_of_config, is_graph_config
from jittape.keras.training.h5_weights import is_h5, load_h5, save_h5
from jittape.module import Module
from jittape.primitives.shape.creation import zeros

__all__ = ["CompileArguments", "ModelParts"]


def _zeros(shape: Any, dtype: Any) -> Any:
    """Return zeros of a shape of inputs, or of nested shapes."""
    if isinstance(shape, dict):
        return {name: _zeros(part, dtype) for name, part in shape.items()}
    if any(isinstance(part, (list, tuple)) for part in shape):
        return [_zeros(part, dtype) for part in shape]
    first, *others = [OPEN_LENGTHS[0][0] if n is None else n for n in shape]
    return zeros([1 if shape[0] is None else first, *others], dtype)


def _layers_in(value: Any) -> Iterator[Layer]:
    """Yield the layers in an attribute and in its lists, tuples and dicts."""
    if isinstance(value, Layer):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _layers_in(part)


class DirectLayers:
    """The layers in the attributes of a model, each once and in order; ``self.layers = ...`` replaces them."""

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self
        found = {id(part): part for value in vars(model).values() for part in _layers_in(value)}
        return list(found.values())


class CompileArguments:
    """Arguments of `compile`. The object is no container, so that the Variables of metrics are not counted twice."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments


class ModelParts:
    """Methods of `Model` that look up its parts."""

    _graph: FunctionalGraph | None = None

    _namespace: ClassVar[str] = "keras"
    _left_out: ClassVar[str] = "inputs outputs"
    _compile_arguments: CompileArguments | None = None

    layers: Any = DirectLayers()
    metrics: Any
    name: Any
    optimizer: Any
    _eagerly: bool
    _steps: dict[str, Callable[..., Any]]

    @AttributeOfGraph
    def inputs(self) -> list[Any]:
        """The symbolic inputs of a functional model."""
        return leaves_of(self._required_graph("inputs").inputs)

    @AttributeOfGraph
    def outputs(self) -> list[Any]:
        """The symbolic outputs of a functional model."""
        return leaves_of(self._required_graph("outputs").outputs)

    @AttributeOfGraph
    def input(self) -> Any:
        """The symbolic inputs of a functional model, as they were given."""
        return self._required_graph("input").inputs

    @AttributeOfGraph
    def output(self) -> Any:
        """The symbolic outputs of a functional model, as they were given."""
        return self._required_graph("output").outputs

    @AttributeOfGraph
    def input_shape(self) -> Any:
        """The shapes of the inputs of a functional model."""
        return mapped(lambda x: x.shape, self._required_graph("input_shape").inputs)

    @AttributeOfGraph
    def output_shape(self) -> Any:
        """The shapes of the outputs of a functional model."""
        return mapped(lambda x: x.shape, self._required_graph("output_shape").outputs)

    def _required_graph(self, name: str) -> FunctionalGraph:
        if self._graph is None:
            raise AttributeError(
                f"model {self.name!r} has no {name!r}: only a Model(inputs, outputs) and a Sequential that begins with "
                "an Input have"
            )
        return self._graph

    def _output_names(self) -> tuple[list[str], bool] | None:
        """Return the names of the outputs of a functional model, and whether they are a dict; None for one output.

        A second output of a layer has the name of the layer with ``_1``.
        """
        outputs = None if self._graph is None else self._graph.outputs
        if isinstance(outputs, dict):
            return list(outputs), True
        if not isinstance(outputs, (list, tuple)) or any(isinstance(x, (list, tuple, dict)) for x in outputs):
            return None
        names = [x.name for x in outputs]
        counts = [names[:i].count(name) for i, name in enumerate(names)]
        return [f"{name}_{n}" if n else name for name, n in zip(names, counts, strict=True)], False

    def build(self, input_shape: Any = None) -> None:
        """Create the weights of a model of your own, by a call with zeros.

        Parameters
        ----------
        input_shape : tuple, or list or dict of tuples
            The shape of the inputs, the length of the batch first; None for an open length.
        """
        model: Any = self
        is_called = model._graph is None and type(model).build is ModelParts.build and not model.built
        model.built = True
        model._shapes = plain_shape(input_shape)
        if is_called:
            with on_examples(model):
                model(_zeros(input_shape, model.dtype))

    def _build(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let the call that follows create the weights, if the class has no `build` of its own."""
        model: Any = self
        if type(model).build is ModelParts.build:
            model.built = True
            alone = len(args) == 1 and kwargs.keys() <= {"training", "mask"}
            model._shapes = plain_shape(shapes_of(args[0])) if alone else None
        else:
            super()._build(args, kwargs)  # type: ignore[misc]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Return the layer of this name, or the one at this position of `layers`.

        Raises
        ------
        ValueError
            If there is no such layer, or neither argument or both are given.

        Examples
        --------
        >>> layers = jt.keras.layers
        >>> model = jt.keras.Sequential([layers.Dense(2, name="hidden"), layers.Dense(1)])
        >>> model.get_layer("hidden") is model.get_layer(index=0)
        True
        """
        layers = list(self.layers)
        if (name is None) == (index is None):
            raise ValueError(f"[get_layer] give either a name or an index, got {name!r} and {index!r}")
        if index is None:
            found = [layer for layer in layers if getattr(layer, "name", None) == name]
        else:
            at = as_int("index", index)
            found = layers[at : at + 1] if at >= 0 else []
        if not found:
            names = ", ".join([repr(getattr(layer, "name", layer)) for layer in layers])
            wanted = f"of the name {name!r}" if index is None else f"at index {index}"
            raise ValueError(
                f"[get_layer] model {self.name!r} has no layer {wanted}; its layers are {names or 'none'}"
            )
        layer: Layer = found[0]
        return layer

    # ---- configs -----------------------------------------------------------------------------------------------------

    @property
    def _name_in_configs(self) -> str:
        return type(self).__name__ if self._graph is None else "Functional"

    def get_build_config(self) -> Any:
        """Return None for a model whose config has the shapes of its inputs."""
        return super().get_build_config() if self._graph is None else None  # type: ignore[misc]

    def get_config(self) -> dict[str, Any]:
        """Return the layers of a functional model and their calls, or the arguments of a class of your own."""
        if self._graph is None:
            config: dict[str, Any] = super().get_config()  # type: ignore[misc]
            return config
        model: Any = self
        return {"name": self.name, "trainable": model.trainable, **config_of_graph(self._graph)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Return a model with new weights, as the config that `get_config` gave describes it.

        Parameters
        ----------
        config : dict
        custom_objects : dict, optional
            Classes and functions of the user by their names.

        Raises
        ------
        TypeError
            If a class or function is unknown.

        Examples
        --------
        >>> x = jt.keras.Input((3,))
        >>> model = jt.keras.Model(x, jt.keras.layers.Dense(2)(x) + 1.0)
        >>> jt.keras.Model.from_config(model.get_config())(jt.zeros([1, 3])).numpy()
        array([[1., 1.]], dtype=float32)
        """
        kind: Any = cls
        with CustomObjectScope(custom_objects):
            if not is_graph_config(config):
                return super().from_config(config)  # type: ignore[misc]
            model = kind(*graph_of_config(config), name=config.get("name"))
        if config.get("trainable") is False:
            model._is_trainable = False
        return model

    def to_json(self, **kwargs: Any) -> str:
        """Return the class and the config of the model as JSON text, for `jt.keras.models.model_from_json`.

        Parameters
        ----------
        **kwargs
            Arguments of `json.dumps`.
        """
        return json.dumps(serialize_keras_object(self), **kwargs)

    # ---- settings ----------------------------------------------------------------------------------------------------

    def get_compile_config(self) -> dict[str, Any] | None:
        """Return the arguments of `compile` as plain values, for `compile_from_config`; None before it.

        Raises
        ------
        TypeError
            If an argument is a lambda or another object without a name.

        Examples
        --------
        >>> model = jt.keras.Sequential([jt.keras.Input((2,)), jt.keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> config = model.get_compile_config()
        >>> config["loss"], config["optimizer"]["class_name"]
        ('mse', 'SGD')
        """
        kept = self._compile_arguments
        if kept is None:
            return None
        return {name: serialize_keras_object(value) for name, value in kept.arguments.items()}

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """Compile the model with the result of `get_compile_config`. The optimizer is new.

        A model whose class defines `compile` must define this method, too; otherwise it is not compiled.
        """
        model: Any = self
        definer = next(base for base in type(self).__mro__ if "compile" in vars(base))
        if not is_builtin(definer):
            warnings.warn(
                f"{type(self).__name__} defines compile(), so that `compile_from_config` cannot call it: define "
                "get_compile_config and compile_from_config(config), too",
                UserWarning,
                stack_level(),
            )
            return
        model.compile(**{name: deserialize_keras_object(value) for name, value in config.items()})
        if model.built and model.optimizer is not None:
            model.optimizer.build(model.trainable_variables)

    @property
    def compiled(self) -> bool:
        """Whether `compile` has been called."""
        return self.optimizer is not None

    @property
    def run_eagerly(self) -> bool:
        """Whether steps run as Python code, and not as a `jt.function`."""
        return self._eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._eagerly, self._steps = bool(value), {}

    @property
    def metrics_names(self) -> list[str]:
        """The names of `metrics`."""
        return [metric.name for metric in self.metrics]

    # ---- weights -----------------------------------------------------------------------------------------------------

    def save_weights(
        self, filepath: str | os.PathLike[str], overwrite: bool = True, max_shard_size: None = None
    ) -> None:
        """Write the values of all Variables to a file; see `jt.Module.save_weights`.

        Parameters
        ----------
        filepath : str or path
            Ends in ``.npz`` or ``.safetensors``, or in ``.weights.h5``, for Keras too, if the package
            h5py is installed.
        overwrite : bool
            Whether an existing file is replaced.
        max_shard_size : None
            A model is one file.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is False.
        ValueError
            If `max_shard_size` is given.
        """
        if max_shard_size is not None:
            raise ValueError(
                f"[save_weights] max_shard_size must be None, got {max_shard_size!r}: weights are one file"
            )
        if not overwrite and os.path.exists(filepath):
            raise FileExistsError(
                f"[save_weights] {os.fspath(filepath)!r} exists; give another filepath, or overwrite=True"
            )
        if is_h5(filepath):
            save_h5(filepath, self)
        else:
            Module.save_weights(self, filepath)  # type: ignore[arg-type]

    def load_weights(self, filepath: str | os.PathLike[str], skip_mismatch: bool = False) -> None:
        """Load the values that `save_weights` wrote, into all Variables or none; see `jt.Module.load_weights`.

        Raises
        ------
        ValueError
            If `skip_mismatch` is True.
        """
        if skip_mismatch:
            raise ValueError(
                "[load_weights] skip_mismatch must be False: names and shapes must match; to take over a part, read "
                "the file with np.load and assign to the weights of a layer with set_weights"
            )
        if is_h5(filepath):
            load_h5(filepath, self)
        else:
            Module.load_weights(self, filepath)  # type: ignore[arg-type]

    # ---- text --------------------------------------------------------------------------------------------------------

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[[str], Any] | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Print the layers with the number of their parameters, by `print_fn` if it is given.

        The other arguments are accepted for compatibility with TensorFlow and change nothing.
        """
        model: Any = self
        show = print if print_fn is None else print_fn
        layers = [layer for layer in self.layers if isinstance(layer, Layer)]
        rows = [(layer.name, type(layer).__name__, layer.count_params()) for layer in layers]
        width = max([len(name) for name, _, _ in rows], default=5)
        show(f"Model: {self.name}")
        for name, kind, count in rows:
            show(f"  {name:{width}}  {kind:22} {count:>12,}")
        trainable = sum(v.size for v in model.trainable_variables)
        show(f"Parameters: {model.count_params():,}, of which {trainable:,} are trained")
