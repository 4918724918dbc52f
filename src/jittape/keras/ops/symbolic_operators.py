"""Python's operators between symbolic tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jittape.keras.layers.layer import Layer
from jittape.keras.layers.symbolic_outputs import OPERATORS, Symbolic

__all__ = ["Operation"]


class Operation(Layer):
    """An operator of Python between symbolic tensors, such as ``a + b``.

    Parameters
    ----------
    operation : str
        Name of a function of `operator`.
    """

    def __init__(self, operation: str, is_swapped: bool = False) -> None:
        super().__init__(name=operation)
        self.operation, self.is_swapped = operation, is_swapped

    def as_keras(self, name: str) -> dict[str, Any]:
        """Return the operation of Keras that computes the same, as plain values."""
        kind = _KERAS_OPERATIONS[self.operation]
        found = {"module": "keras.src.ops.numpy", "class_name": kind, "config": {"name": name}}
        return found | {"registered_name": kind}

    @classmethod
    def of_keras(cls, stored: Mapping[str, Any]) -> Operation | None:
        """Return the operator that Keras's operation is; None for other operations."""
        kind = stored["class_name"]
        return next((cls(operation) for operation, known in _KERAS_OPERATIONS.items() if kind == known), None)

    def call(self, *operands: Any) -> Any:
        """Return the result of the operator."""
        return OPERATORS[self.operation](*(reversed(operands) if self.is_swapped else operands))


_KERAS_OPERATIONS = {
    "add": "Add",
    "sub": "Subtract",
    "mul": "Multiply",
    "truediv": "TrueDivide",
    "floordiv": "FloorDivide",
    "mod": "Mod",
    "pow": "Power",
    "matmul": "Matmul",
    "neg": "Negative",
    "abs": "Absolute",
    "getitem": "GetItem",
}
"""Names of Keras's operations by those of operators."""


def _as_method(operation: str, is_swapped: bool = False) -> Callable[..., Any]:
    return lambda self, *others: Operation(operation, is_swapped)(self, *others)


for _name in OPERATORS:
    setattr(Symbolic, f"__{_name}__", _as_method(_name))
    if _name not in ("neg", "abs", "getitem"):
        setattr(Symbolic, f"__r{_name}__", _as_method(_name, is_swapped=True))
