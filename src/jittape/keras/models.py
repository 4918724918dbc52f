"""``jt.keras.models``: layers with a training loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from jittape.keras.layers.function_layers import Operation
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.reshaping_layers import Input
from jittape.keras.layers.sequential import Sequential as SequentialLayers
from jittape.keras.layers.symbolic_outputs import leaves_of, mapped
from jittape.keras.layers.wrapper_layers import unbuilt
from jittape.keras.model import Model
from jittape.keras.saving.object_configs import deserialize_keras_object
from jittape.keras.saving.registered_objects import OTHER_NAMES
from jittape.keras.training.functional_graph import FunctionalGraph
from jittape.lazy_names import lazily as _lazily

__all__ = ["Model", "Sequential", "clone_model", "model_from_json"]

OTHER_NAMES["Functional"] = Model


class Sequential(SequentialLayers, Model):
    """Layers applied one after another, that can be trained with `fit`.

    Parameters
    ----------
    layers : sequence of callables
        If the first is an `Input`, all layers are built at once.
    name : str, optional

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2)).astype("float32")
    >>> y = (x[:, 0] > x[:, 1]).astype("int64")
    >>> jt.random.set_seed(0)
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(16, "relu"), jt.keras.layers.Dense(2)])
    >>> loss = jt.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    >>> model.compile(jt.keras.optimizers.Adam(0.02), loss, metrics=["accuracy"])
    >>> history = model.fit(x, y, epochs=10, verbose=0)
    >>> model.evaluate(x, y, verbose=0)[1] > 0.95
    True
    """

    _namespace = "keras"

    def _required_graph(self, name: str) -> FunctionalGraph:
        """Return the graph from the `Input` to the last layer."""
        if self._input is None or not self.layers:
            return super()._required_graph(name)
        return FunctionalGraph(self._input, self._output)


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return a model with new weights, as `to_json` of a model described it.

    Parameters
    ----------
    json_string : str
    custom_objects : dict, optional
        Classes and functions of the user by their names.

    Raises
    ------
    TypeError
        If a class or function is unknown.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> model = jt.keras.Sequential([layers.Input((3,)), layers.Dense(2, "tanh")])
    >>> jt.keras.models.model_from_json(model.to_json()).count_params()
    8
    """
    return deserialize_keras_object(json.loads(json_string), custom_objects)


def clone_model(
    model: Model,
    input_tensors: None = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: None = None,
    recursive: bool = False,
) -> Model:
    """Return a model with layers like those of `model` and new weights.

    Parameters
    ----------
    model : Sequential or functional Model
    input_tensors, call_function : None
        Accepted for compatibility with TensorFlow.
    clone_function : callable, optional
        Function of a layer that returns the layer of the new model; by default one with its config.
    recursive : bool
        Whether `clone_function` gets the layers of models within the model, and not these models.

    Raises
    ------
    TypeError
        If `model` is a subclass with `call`, or a layer or function is not callable.
    ValueError
        If `input_tensors` or `call_function` is given.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> model = jt.keras.Sequential([layers.Input((3,)), layers.Dense(2)])
    >>> target = jt.keras.models.clone_model(model)
    >>> target.set_weights(model.get_weights())
    >>> model.layers[0].kernel is target.layers[0].kernel
    False
    """
    if not isinstance(model, Sequential) and getattr(model, "_graph", None) is None:
        raise TypeError(
            "[clone_model] model must be a jt.keras.Sequential or a Model(inputs, outputs), got "
            f"{type(model).__name__}: call the class of the model once more"
        )
    if input_tensors is not None or call_function is not None:
        raise ValueError(
            "[clone_model] input_tensors and call_function must be None: call the new model with the inputs, or make "
            "another model of its layers"
        )
    if clone_function is not None and not callable(clone_function):
        raise TypeError(f"[clone_model] clone_function must be callable, got {clone_function!r}")

    def clone_of(layer: Any) -> Any:
        is_model = isinstance(layer, Sequential) or getattr(layer, "_graph", None) is not None
        if is_model and (recursive or clone_function is None):
            return clone_model(layer, clone_function=clone_function, recursive=recursive)
        return _anew(layer) if clone_function is None else clone_function(layer)

    if isinstance(model, Sequential):
        layers = [clone_of(layer) for layer in model.layers]
        return Sequential(layers if model._input is None else [model._input, *layers], model.name)
    return _clone_of_graph(model, clone_of)


def _anew(layer: Any) -> Any:
    """Return a layer with the config of `layer`, or a copy without weights if there is no config."""
    if not isinstance(layer, Layer) or isinstance(layer, Operation):  # they have no configs
        return unbuilt(layer)
    try:
        return type(layer).from_config(layer.get_config())
    except NotImplementedError:  # a layer of a lambda
        return unbuilt(layer)


def _clone_of_graph(model: Model, clone_of: Callable[[Any], Any]) -> Model:
    """Return a functional model with the calls of `model`, of other layers."""
    graph: Any = model._graph
    new: dict[int, Any] = {
        id(x): Input(x.extents, x.batch, x.dtype, x.name) if isinstance(x, Input) else x
        for x in leaves_of(graph.inputs)
    }
    layers: dict[int, Any] = {}

    def renewed(x: Any) -> Any:
        return new.get(id(x), x)

    for call in graph.calls:
        layer = call.layer
        if isinstance(layer, Layer):
            layer = layers.get(id(layer)) or layers.setdefault(id(layer), clone_of(layer))
        outputs = layer(*mapped(renewed, call.args), **mapped(renewed, call.kwargs))
        new |= zip(map(id, leaves_of(call.outputs)), leaves_of(outputs), strict=True)
    return type(model)(mapped(renewed, graph.inputs), mapped(renewed, graph.outputs), name=model.name)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
