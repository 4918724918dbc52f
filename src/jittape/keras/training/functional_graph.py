"""The graph of layer calls between the inputs and the outputs of a functional model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jittape.keras.layers.layer import Layer
from jittape.keras.layers.reshaping_layers import Input
from jittape.keras.layers.symbolic_outputs import Symbolic, SymbolicCall, SymbolicOutput, leaves_of, mapped
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.convert import convert_to_tensor

__all__ = ["FunctionalGraph"]


class FunctionalGraph:
    """The calls of layers that lead from symbolic inputs to symbolic outputs.

    Parameters
    ----------
    inputs : Input, or list, tuple or dict of them
    outputs : symbolic output of a layer, or nested structure of them

    Raises
    ------
    TypeError
        If there are other inputs or outputs.
    ValueError
        If the outputs depend on another `Input`.
    """

    def __init__(self, inputs: Any, outputs: Any) -> None:
        for name, structure in (("inputs", inputs), ("outputs", outputs)):
            wrong = [x for x in leaves_of(structure) if not isinstance(x, Symbolic)]
            if wrong or not leaves_of(structure):
                raise TypeError(
                    f"[Model] {name} must be a jt.keras.Input or the output of a layer that was called with one, or "
                    f"lists, tuples or dicts of them, got {wrong[0] if wrong else structure!r}"
                )
        self.inputs, self.outputs = mapped(lambda x: x, (_alone(inputs), _alone(outputs)))
        self.calls = list(self._ordered())
        integers = [x for c in self.calls if getattr(c.layer, "takes_integers", False) for x in c.symbols()]
        self._keeps_dtype = [any(x is y for y in integers) for x in leaves_of(self.inputs)]

    @property
    def layers(self) -> list[Layer]:
        """The inputs and the layers in Keras's order: those with the longest way to an output first.

        Among layers with equally long ways, the first is the one that is met first from the outputs.
        """
        length: dict[int, int] = {}  # of the longest way, in calls, by input or call, and by layer
        met: dict[int, Any] = {id(x): x for x in leaves_of(self.inputs) if isinstance(x, Input)}
        for call in reversed(self.calls):
            longest = max(length.get(id(call), 0), length.get(id(call.layer), 0))
            length[id(call.layer)] = longest
            for x in call.symbols():
                before = x.call if isinstance(x, SymbolicOutput) else x
                length[id(before)] = max(longest + 1, length.get(id(before), 0))
        given, position, visited = {id(x) for x in leaves_of(self.inputs)}, dict[int, int](), set[int]()
        outputs = self.outputs
        by_name = [outputs[key] for key in sorted(outputs)] if type(outputs) is dict else outputs
        waiting = list(reversed(leaves_of(by_name)))
        while waiting:
            symbol = waiting.pop()
            is_call = isinstance(symbol, SymbolicOutput) and id(symbol) not in given
            node = symbol.call if is_call else symbol
            if id(node) in visited or not (is_call or isinstance(symbol, Input)):
                continue
            visited.add(id(node))
            layer = node.layer if is_call else node
            met.setdefault(id(layer), layer)
            position.setdefault(id(layer), len(position))
            if is_call:
                waiting.extend(reversed(list(node.symbols())))
        return sorted(met.values(), key=lambda x: (-length.get(id(x), 0), position.get(id(x), -1)))

    def _ordered(self) -> Iterator[SymbolicCall]:
        """Return the calls, each after those that it depends on."""
        given = {id(x) for x in leaves_of(self.inputs)}
        done: set[int] = set()
        waiting = list(reversed(leaves_of(self.outputs)))
        while waiting:
            symbol = waiting[-1]
            if id(symbol) in given or (isinstance(symbol, SymbolicOutput) and id(symbol.call) in done):
                waiting.pop()
                continue
            if not isinstance(symbol, SymbolicOutput):
                raise ValueError(
                    f"[Model] the outputs depend on {symbol!r}, which is none of the inputs: add it to inputs"
                )
            missing = [x for x in symbol.call.symbols() if not self._is_known(x, given, done)]
            if missing:
                waiting.extend(reversed(missing))
            else:
                done.add(id(symbol.call))
                yield symbol.call

    @staticmethod
    def _is_known(symbol: Symbolic, given: set[int], done: set[int]) -> bool:
        return id(symbol) in given or (isinstance(symbol, SymbolicOutput) and id(symbol.call) in done)

    def run(self, model: Layer, inputs: Any) -> Any:
        """Return the outputs for arrays or tensors in the structure of the inputs."""
        values = dict(zip(map(id, leaves_of(self.inputs)), self._matched(model, inputs), strict=True))
        results: dict[int, list[Any]] = {}

        def value_of(symbol: Any) -> Any:
            found = values.get(id(symbol))
            return results[id(symbol.call)][symbol.number] if found is None else found

        for call in self.calls:
            results[id(call)] = call.run(value_of)
        return mapped(value_of, self.outputs)

    def _matched(self, model: Layer, inputs: Any) -> list[Any]:
        """Return a tensor for each symbolic input."""
        symbols = leaves_of(self.inputs)
        if type(inputs) is dict and type(self.inputs) is not dict:
            inputs = [inputs[x.name] for x in symbols if x.name in inputs]
        elif type(inputs) is dict:
            inputs = [inputs[name] for name in self.inputs if name in inputs]
        given = list(inputs) if isinstance(inputs, (list, tuple)) and len(symbols) > 1 else leaves_of(inputs)
        if len(given) != len(symbols):
            names = ", ".join([repr(x.name) for x in symbols])
            raise ValueError(
                f"model {model.name!r} takes {len(symbols)} inputs, {names}, got {len(given)} of them: give a list in "
                "this order, or a dict by these names"
            )
        return [_checked(*one) for one in zip(symbols, given, self._keeps_dtype, strict=True)]


def _checked(symbol: Any, x: Any, keeps_dtype: bool) -> Any:
    """Return a value of a symbolic input as a tensor of its dtype, unless its dtype is kept."""
    x = convert_to_tensor(x)
    if x.dtype != symbol.dtype and x.dtype.kind != "c" and not keeps_dtype:
        x = cast(x, symbol.dtype)
    return symbol(x) if isinstance(symbol, Input) else x


def _alone(structure: Any) -> Any:
    """Return the only part of a list or tuple, and other structures as they are."""
    return structure[0] if isinstance(structure, (list, tuple)) and len(structure) == 1 else structure
