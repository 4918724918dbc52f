"""Nested structures of tensors: lists, tuples and dicts of them; optree takes them apart.

The shapes of argument that every training loop uses, one tensor or a flat list of them, are taken apart here without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.recording.operators import Operators

__all__ = ["flatten"]

Rebuild = Callable[[list[Any]], Any]


def flatten(structure: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of `structure` and a function that puts others into the same structure. None is a leaf."""
    kind = type(structure)
    if isinstance(structure, Operators) or structure is None:
        return [structure], _only
    if (kind is list or kind is tuple) and all([isinstance(leaf, Operators) for leaf in structure]):
        return list(structure), _as_list if kind is list else tuple
    import optree  # 60 ms that a flat list of sources need not pay

    leaves, tree = optree.tree_flatten(structure, none_is_leaf=True)
    return leaves, lambda new: optree.tree_unflatten(tree, new)


def _only(leaves: list[Any]) -> Any:
    return leaves[0]


def _as_list(leaves: list[Any]) -> Any:
    return leaves
