"""Operations of Keras in the configs of functional models, such as the comparisons that masks are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jittape.core.name_scopes import snake_case
from jittape.keras import activations
from jittape.keras.ops.symbolic_operators import Operation
from jittape.primitives.elementwise.complex_numbers import cast

__all__ = ["operation_of_keras"]

_OF_NUMPY = frozenset({
    "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr",
    "LogicalNot", "Maximum", "Minimum", "Square", "Sqrt", "Exp", "Expm1", "Log", "Log1p", "Sin", "Cos",
    "Tan", "Tanh", "Sign", "Any", "All", "Sum", "Mean", "Max", "Min", "Prod", "Var", "Std", "ExpandDims",
    "Squeeze", "Concatenate", "Stack", "Reshape", "Transpose", "Where", "Clip", "ZerosLike", "OnesLike",
})  # fmt: skip
"""Operations that are functions of NumPy with the same arguments."""

_OF_ACTIVATIONS = frozenset({
    "Relu", "Relu6", "Sigmoid", "Softmax", "Softplus", "Softsign", "Silu", "Elu", "Selu", "Gelu",
})  # fmt: skip

_NUMPY_NAMES = {"newshape": "shape", "x_min": "a_min", "x_max": "a_max"}
"""Names of NumPy's arguments by those of Keras."""

_OTHERS: dict[str, Callable[..., Any]] = {
    "Cast": cast,
    "ConvertToTensor": lambda x, dtype=None, **others: x if dtype is None else cast(x, dtype),
}


class KerasOperation(Operation):
    """An operation of Keras between symbolic tensors.

    Parameters
    ----------
    stored : dict
        The config of the operation.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        super().__init__(snake_case(stored["class_name"]))
        self._stored = dict(stored)
        self._function = _function_of(stored["class_name"])

    def as_keras(self, name: str) -> dict[str, Any]:
        """Return the config that was read, with another name."""
        known = ("module", "class_name", "registered_name")
        found = {key: self._stored[key] for key in known if key in self._stored}
        return found | {"config": self._stored["config"] | {"name": name}}

    def call(self, *operands: Any, **arguments: Any) -> Any:
        """Return the result of the operation."""
        given = {k: v for k, v in self._stored["config"].items() if k != "name"} | arguments
        if self._stored["class_name"] in _OF_NUMPY:
            given = {_NUMPY_NAMES.get(key, key): _as_tuple(value) for key, value in given.items()}
        return self._function(*operands, **given)

    def _as_inputs(self, inputs: Any) -> Any:
        """Return `inputs` as they are."""
        return inputs


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _function_of(kind: str) -> Any:
    if kind in _OF_NUMPY:
        return getattr(np, snake_case(kind))
    return getattr(activations, snake_case(kind)) if kind in _OF_ACTIVATIONS else _OTHERS[kind]


def operation_of_keras(stored: Mapping[str, Any]) -> Operation | None:
    """Return the layer that computes an operation of Keras, None for the config of a layer.

    Raises
    ------
    NotImplementedError
        If jittape does not know the operation.
    """
    if not str(stored.get("module")).startswith("keras.src.ops"):
        return None
    found, kind = Operation.of_keras(stored), stored["class_name"]
    if found is not None:
        return found
    known = sorted(_OF_NUMPY | _OF_ACTIVATIONS | set(_OTHERS))
    if kind not in known:
        raise NotImplementedError(
            f"the config has Keras's operation {kind}, and jittape reads Python's operators and {', '.join(known)}: "
            "make the model with a layer of your own in its place"
        )
    return KerasOperation(stored)
