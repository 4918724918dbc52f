"""Nested structures of tensors: what `optree` takes apart, with the errors of loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.errors import ControlFlowError, ShapeError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = ["Structure", "flatten_call", "names_of", "numbers_of", "stacks_of"]

Flatten = Callable[[Any], list[Any]]


class Structure:
    """How leaves were nested.

    Attributes
    ----------
    tree : PyTreeSpec
    """

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def rebuilt(self, leaves: list[Any]) -> Any:
        """Other leaves in the same structure."""
        return self.tree.unflatten(leaves)

    def leaves_of(self, op: str, value: Any, what: str) -> list[Any]:
        """The leaves of `value`, if it has this structure."""
        leaves, tree = _flat(value)
        if tree != self.tree:
            raise ControlFlowError(
                f"[{op}] {what} must have the same structure in each iteration: it was {self.tree} and is {tree}"
            )
        return leaves


def flatten_call(value: Any) -> tuple[list[Any], Structure]:
    """The leaves of `value`, as they are, and their structure."""
    leaves, tree = _flat(value)
    return leaves, Structure(tree)


def _flat(value: Any) -> tuple[list[Any], Any]:
    import optree  # 60 ms that `import jittape` need not take

    leaves, tree = optree.tree_flatten(value, namespace="jittape")
    return leaves, tree


def numbers_of(leaves: list[Any]) -> dict[int, Any]:
    """The leaves that are Python numbers, whose dtype is not settled."""
    return {i: leaf for i, leaf in enumerate(leaves) if type(leaf) in (int, float, complex)}


def names_of(what: str, count: int) -> tuple[str, ...]:
    """What to call the leaves in errors."""
    return (what,) if count == 1 else tuple([f"{what}, leaf {i}," for i in range(count)])


def stacks_of(op: str, elems: Any) -> tuple[list[Any], Structure, int]:
    """The leaves of `elems` as tensors, their structure, and how many elements each has along its first axis."""
    leaves, structure = flatten_call(elems)
    if not leaves:
        raise ControlFlowError(f"[{op}] elems holds no tensor: give at least one")
    tensors = [convert_to_tensor(leaf) for leaf in leaves]
    for leaf, tensor in zip(leaves, tensors, strict=True):
        if tensor.ndim == 0:
            hint = (
                "" if isinstance(leaf, Operators) else "; make a list of numbers one tensor with jt.constant"
            )
            raise ShapeError(f"[{op}] elems must have a first axis to go along, but a leaf is a scalar{hint}")
    lengths = {tensor.shape[0] for tensor in tensors}
    if len(lengths) > 1:
        shapes = ", ".join(str(tensor.shape) for tensor in tensors)
        raise ShapeError(
            f"[{op}] all of elems must be equally long along their first axis, but their shapes are {shapes}"
        )
    return tensors, structure, lengths.pop()
