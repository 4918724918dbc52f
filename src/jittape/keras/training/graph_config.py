"""The graph of a functional model as plain values, as Keras writes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from jittape.keras.layers.layer import Layer
from jittape.keras.layers.mask_passing import parameters_of_call
from jittape.keras.layers.reshaping_layers import Input
from jittape.keras.layers.symbolic_outputs import Symbolic, leaves_of, mapped
from jittape.keras.ops.symbolic_operators import Operation
from jittape.keras.saving.object_configs import deserialize_keras_object, is_config, serialize_keras_object
from jittape.keras.training.functional_graph import FunctionalGraph
from jittape.keras.training.keras_operations import operation_of_keras

__all__ = ["config_of_graph", "graph_of_config", "is_graph_config"]


def is_graph_config(config: Mapping[str, Any]) -> bool:
    """Return whether a config is that of a functional model."""
    return {"layers", "input_layers", "output_layers"} <= set(config)


def _is_functional(layer: Any) -> bool:
    return getattr(layer, "_graph", None) is not None


class _Places:
    """The name of each layer and, for each symbolic tensor, the number of the call and of the output."""

    def __init__(self, graph: FunctionalGraph) -> None:
        self.layers: dict[int, tuple[str, Any]] = {}
        self.calls: dict[str, list[Any]] = defaultdict(list)
        self._histories: dict[int, tuple[str, int, int]] = {}
        taken: set[str] = set()
        for layer in graph.layers:
            if not isinstance(layer, Layer):
                raise NotImplementedError(
                    f"a config cannot have {layer!r}: put the function in a layer of your own"
                )
            name = base = layer.name
            number = 0
            while isinstance(layer, Operation) and name in taken:  # operators have no numbers of their own
                number += 1
                name = f"{base}_{number}"
            if name in taken:
                raise ValueError(
                    f"two layers have the name {name!r}, and a config distinguishes layers by their names: give them "
                    "other names"
                )
            taken.add(name)
            self.layers[id(layer)] = name, layer
            if isinstance(layer, Input):
                self._histories[id(layer)] = name, 0, 0
        for call in graph.calls:
            name, _ = self.layers[id(call.layer)]
            for number, output in enumerate(leaves_of(call.outputs)):
                self._histories[id(output)] = name, len(self.calls[name]), number
            self.calls[name].append(call)

    def history(self, symbol: Symbolic) -> list[Any]:
        """Return the name of the layer, the number of its call and that of the output."""
        if id(symbol) not in self._histories:
            raise NotImplementedError(
                f"a config cannot have {symbol!r}: an input of the model must be an Input"
            )
        return list(self._histories[id(symbol)])

    def history_of_output(self, symbol: Symbolic) -> list[Any]:
        """Return `history` as Keras counts it here: the calls of a functional model begin at 1."""
        name, call, number = self.history(symbol)
        layers = dict(self.layers.values())
        return [name, call + _is_functional(layers[name]), number]

    def stored(self, value: Any) -> Any:
        """Return an argument of a call as plain values."""
        if isinstance(value, Symbolic):
            shape, dtype = tuple(value.shape), getattr(value, "dtype").name  # noqa: B009
            tensor = {"shape": shape, "dtype": dtype, "keras_history": self.history(value)}
            return {"class_name": "__keras_tensor__", "config": tensor}
        if type(value) in (list, tuple):
            return type(value)(map(self.stored, value))
        if type(value) is dict:
            return {key: self.stored(part) for key, part in value.items()}
        return serialize_keras_object(value)


def config_of_graph(graph: FunctionalGraph) -> dict[str, Any]:
    """Return the layers and calls of a graph, and its inputs and outputs."""
    places = _Places(graph)
    layers = []
    for name, layer in places.layers.values():
        stored = serialize_keras_object(layer)
        calls = [
            {"args": [places.stored(_key(layer, x)) for x in call.args], "kwargs": places.stored(call.kwargs)}
            for call in places.calls[name]
        ]
        if isinstance(layer, Operation):
            stored = layer.as_keras(name)
            for call in calls if layer.is_swapped else ():
                call["args"].reverse()
        layers.append(stored | {"name": name, "inbound_nodes": calls})
    return {
        "layers": layers,
        "input_layers": mapped(places.history, graph.inputs),
        "output_layers": mapped(places.history_of_output, graph.outputs),
    }


def _key(layer: Any, argument: Any) -> Any:
    """Return an argument of a layer; a list of positions is an array, as Keras reads other lists as tuples."""
    is_list = isinstance(argument, list) and getattr(layer, "operation", "") == "getitem"
    return np.asarray(argument) if is_list else argument


def graph_of_config(config: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the symbolic inputs and outputs of the graph that a config describes."""
    layers: dict[str, Any] = {}
    waiting: list[tuple[str, dict[str, Any]]] = []
    outputs: dict[str, list[list[Any]]] = {}
    for stored in config["layers"]:
        name = stored.get("name") or stored["config"]["name"]
        layers[name] = operation_of_keras(stored) or deserialize_keras_object(stored)
        outputs[name] = [[layers[name]]] if isinstance(layers[name], Input) else []
        waiting += [(name, node) for node in stored.get("inbound_nodes", ())]
    while waiting:
        later: list[tuple[str, dict[str, Any]]] = []
        for name, node in waiting:
            if any(n == name for n, _ in later) or not _is_ready(node, outputs):
                later.append((name, node))
                continue
            args, kwargs = _restored(node["args"], outputs), _restored(node.get("kwargs", {}), outputs)
            kind: Any = type(layers[name])
            if not parameters_of_call(kind) & {"mask", "**"}:
                kwargs.pop("mask", None)  # jittape's models take the mask of their inputs from the tensors
            if getattr(layers[name], "operation", "") == "getitem":  # JSON has no tuples
                args = [tuple(x) if isinstance(x, list) else x for x in args]
            outputs[name].append(leaves_of(layers[name](*args, **kwargs)))
        if len(later) == len(waiting):
            raise ValueError(
                f"the config of a functional model calls {later[0][0]!r} with tensors that no layer of it returns"
            )
        waiting = later

    def tensor(history: Any) -> Any:
        name, call, number = history
        return outputs[name][call - _is_functional(layers[name])][number]

    return _of_histories(config["input_layers"], tensor), _of_histories(config["output_layers"], tensor)


def _histories(structure: Any) -> list[Any]:
    """Return the histories of the tensors in the arguments of a call."""
    if is_config(structure):
        is_tensor = structure["class_name"] == "__keras_tensor__"
        return [structure["config"]["keras_history"]] if is_tensor else []
    parts = structure.values() if isinstance(structure, Mapping) else structure
    if isinstance(structure, (list, tuple, Mapping)):
        return [history for part in parts for history in _histories(part)]
    return []


def _is_ready(node: Mapping[str, Any], outputs: dict[str, list[list[Any]]]) -> bool:
    used = _histories(node["args"]) + _histories(node.get("kwargs", {}))
    return all(call < len(outputs[name]) for name, call, _ in used)


def _restored(structure: Any, outputs: dict[str, list[list[Any]]]) -> Any:
    """Return the arguments of a call."""
    if is_config(structure):
        if structure["class_name"] != "__keras_tensor__":
            return deserialize_keras_object(structure)
        name, call, number = structure["config"]["keras_history"]
        return outputs[name][call][number]
    if type(structure) in (list, tuple):
        return type(structure)([_restored(part, outputs) for part in structure])
    if isinstance(structure, Mapping):
        return {key: _restored(part, outputs) for key, part in structure.items()}
    return structure


def _of_histories(structure: Any, tensor: Any) -> Any:
    """Return nested histories with their tensors in place of them."""
    if isinstance(structure, Mapping):
        return {key: _of_histories(part, tensor) for key, part in structure.items()}
    if len(structure) == 3 and isinstance(structure[0], str):
        return tensor(structure)
    return [_of_histories(part, tensor) for part in structure]
