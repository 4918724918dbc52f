"""``jt.keras.models``: layers with a training loop."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

from jittape.keras.layers.layer import Layer
from jittape.keras.layers.reshaping_layers import Input
from jittape.keras.layers.sequential import Sequential as SequentialLayers
from jittape.keras.layers.symbolic_outputs import Symbolic, leaves_of, mapped
from jittape.keras.model import Model
from jittape.keras.ops.symbolic_operators import Operation
from jittape.keras.saving.object_configs import deserialize_keras_object, serialize_keras_object
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
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,
) -> Model:
    """Return a model with layers like those of `model` and new weights.

    Parameters
    ----------
    model : Model
        Of a subclass with its own `call`, the copy is ``from_config(get_config())``.
    input_tensors : Input, or list, tuple or dict of them, optional
        Inputs of the new model in the structure of those of `model`. An output of a layer stands for an `Input` of
        its shape.
    clone_function : callable, optional
        Function of a layer that returns the layer of the new model; by default one with its config.
    call_function : callable, optional
        Function of a new layer and the arguments of its call in a functional model, called in place of the layer.
    recursive : bool
        Whether `clone_function` gets the layers of models within the model, and not these models.

    Raises
    ------
    TypeError
        If a layer or function is not callable, or an input is not symbolic.
    ValueError
        If the number of inputs is another one, or `model` does not support an argument.

    Examples
    --------
    >>> layers = jt.keras.layers
    >>> model = jt.keras.Sequential([layers.Input((3,)), layers.Dense(2)])
    >>> target = jt.keras.models.clone_model(model)
    >>> target.set_weights(model.get_weights())
    >>> model.layers[0].kernel is target.layers[0].kernel
    False
    """
    given = {
        "input_tensors": input_tensors,
        "clone_function": clone_function,
        "call_function": call_function,
    }
    is_sequential = isinstance(model, Sequential)
    supported = set(given) - {"call_function"} if is_sequential else set(given)
    if not is_sequential and getattr(model, "_graph", None) is None:
        supported = set()
    _require_supported(model, given, supported)
    if not supported:
        stored = serialize_keras_object(model)
        return deserialize_keras_object(stored, {type(model).__name__: type(model)})

    def clone_of(layer: Any) -> Any:
        is_model = isinstance(layer, Sequential) or getattr(layer, "_graph", None) is not None
        if is_model and (recursive or clone_function is None):
            return clone_model(layer, clone_function=clone_function, recursive=recursive)
        return _anew(layer) if clone_function is None else clone_function(layer)

    if isinstance(model, Sequential):
        first = model._input if input_tensors is None else _new_inputs(leaves_of(input_tensors), 1)[0]
        layers = [clone_of(layer) for layer in model.layers]
        return Sequential(layers if first is None else [first, *layers], model.name)
    return _clone_of_graph(model, clone_of, input_tensors, call_function or operator.call)


def _require_supported(model: Model, given: Mapping[str, Any], supported: set[str]) -> None:
    """Raise an error if an argument is given that the kind of `model` does not support or that is not callable."""
    for name, value in given.items():
        if value is not None and name not in supported:
            raise ValueError(
                f"[clone_model] a model of {type(model).__name__} does not support {name}, got {value!r}: "
                + ("only a Model(inputs, outputs) does" if supported else "only models made of layers do")
            )
        if name.endswith("_function") and value is not None and not callable(value):
            raise TypeError(f"[clone_model] {name} must be callable, got {value!r}")


def _new_inputs(symbols: list[Any], count: int) -> list[Input]:
    """Return an `Input` for each symbolic tensor: itself, or one of its shape."""
    if len(symbols) != count:
        raise ValueError(
            f"[clone_model] input_tensors must have one part for each of the {count} inputs of model, got "
            f"{len(symbols)}"
        )
    for x in symbols:
        if not isinstance(x, Symbolic):
            raise TypeError(
                f"[clone_model] input_tensors must be a jt.keras.Input or the output of a layer, got {x!r}"
            )
    return [x if isinstance(x, Input) else Input(x.shape[1:], x.shape[0], x.dtype) for x in symbols]


def _anew(layer: Any) -> Any:
    """Return a layer with the config of `layer`, or a copy without weights if there is no config."""
    from jittape.keras.layers.wrapper_layers import unbuilt  # it imports recurrent layers

    if not isinstance(layer, Layer) or isinstance(layer, Operation):  # they have no configs
        return unbuilt(layer)
    try:
        return type(layer).from_config(layer.get_config())
    except NotImplementedError:  # a layer of a lambda
        return unbuilt(layer)


def _clone_of_graph(
    model: Model, clone_of: Callable[[Any], Any], input_tensors: Any, call: Callable[..., Any]
) -> Model:
    """Return a functional model with the calls of `model`, of other layers."""
    graph: Any = model._graph
    old = leaves_of(graph.inputs)
    if input_tensors is None:
        inputs = [Input(x.extents, x.batch, x.dtype, x.name) if isinstance(x, Input) else x for x in old]
    else:
        inputs = _new_inputs(leaves_of(input_tensors), len(old))
    new: dict[int, Any] = dict(zip(map(id, old), inputs, strict=True))
    layers: dict[int, Any] = {}

    def renewed(x: Any) -> Any:
        return new.get(id(x), x)

    for one in graph.calls:
        layer = one.layer
        if isinstance(layer, Layer):
            layer = layers.get(id(layer)) or layers.setdefault(id(layer), clone_of(layer))
        outputs = call(layer, *mapped(renewed, one.args), **mapped(renewed, one.kwargs))
        new |= zip(map(id, leaves_of(one.outputs)), leaves_of(outputs), strict=True)
    return type(model)(mapped(renewed, graph.inputs), mapped(renewed, graph.outputs), name=model.name)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
