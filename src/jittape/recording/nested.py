"""Nested structures of tensors: lists, tuples and dicts of them; optree takes them apart.

What every training loop gives, one tensor or a flat list of them, is taken apart here without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.recording.operators import Operators

__all__ = ["flatten"]

Rebuild = Callable[[list[Any]], Any]


def flatten(structure: Any, check: Callable[[Any], None] | None = None) -> tuple[list[Any], Rebuild]:
    """The leaves of `structure` and a function that puts others into the same structure. None is a leaf.

    `check` is called with every leaf that may be no tensor, to refuse it.
    """
    if isinstance(structure, Operators):
        return [structure], _only
    kind = type(structure)
    if kind is list or kind is tuple:
        for leaf in structure:
            if not isinstance(leaf, Operators):
                break
        else:
            return list(structure), _as_list if kind is list else tuple
    leaves, rebuild = _taken_apart(structure)
    if check is not None:
        for leaf in leaves:
            check(leaf)
    return leaves, rebuild


def _taken_apart(structure: Any) -> tuple[list[Any], Rebuild]:
    if structure is None:
        return [None], _only
    import optree  # 60 ms that a flat list of sources need not pay

    leaves, tree = optree.tree_flatten(structure, none_is_leaf=True)
    return leaves, lambda new: optree.tree_unflatten(tree, new)


def _only(leaves: list[Any]) -> Any:
    return leaves[0]


def _as_list(leaves: list[Any]) -> Any:
    return leaves
