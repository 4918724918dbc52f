"""Nested structures of tensors in loops and branches: flattening with optree, and checks of structures."""

from __future__ import annotations

from typing import Any

from jittape.errors import ControlFlowError, ShapeError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = ["flatten_elems", "flatten_tree", "leaf_names", "leaves_like", "python_numbers"]


def flatten_tree(value: Any) -> tuple[list[Any], Any]:
    """Return the leaves of `value`, unchanged, and its structure, an optree `PyTreeSpec`."""
    import optree  # takes 60 ms, which `import jittape` need not pay

    leaves, tree = optree.tree_flatten(value, namespace="jittape")
    return leaves, tree


def leaves_like(tree: Any, op: str, value: Any, what: str) -> list[Any]:
    """Return the leaves of `value`; raise `ControlFlowError` if its structure is not `tree`."""
    leaves, found = flatten_tree(value)
    if found != tree:
        raise ControlFlowError(
            f"[{op}] {what} must have the same structure in each iteration: it was {tree} and is {found}"
        )
    return leaves


def python_numbers(leaves: list[Any]) -> dict[int, Any]:
    """Return the leaves that are Python numbers, by position; the loop's body determines their dtype."""
    return {i: leaf for i, leaf in enumerate(leaves) if type(leaf) in (int, float, complex)}


def leaf_names(what: str, count: int) -> tuple[str, ...]:
    """Return the names of the leaves in error messages."""
    return (what,) if count == 1 else tuple([f"{what}, leaf {i}," for i in range(count)])


def flatten_elems(op: str, elems: Any) -> tuple[list[Any], Any, int]:
    """Return the leaves of `elems` as tensors, their structure, and the common length of their first axes."""
    leaves, tree = flatten_tree(elems)
    if not leaves:
        raise ControlFlowError(f"[{op}] elems has no tensors: pass at least one")
    tensors = [convert_to_tensor(leaf) for leaf in leaves]
    for leaf, tensor in zip(leaves, tensors, strict=True):
        if tensor.ndim == 0:
            hint = (
                ""
                if isinstance(leaf, Operators)
                else "; turn a list of numbers into one tensor with jt.constant"
            )
            raise ShapeError(
                f"[{op}] elems must have a first axis to iterate over, but one leaf is a scalar{hint}"
            )
    length = tensors[0].aval.shape[0]
    if any([tensor.aval.shape[0] != length for tensor in tensors]):
        shapes = ", ".join(str(tensor.shape) for tensor in tensors)
        raise ShapeError(
            f"[{op}] all leaves of elems must have the same length along their first axis, but have shapes {shapes}"
        )
    return tensors, tree, length
