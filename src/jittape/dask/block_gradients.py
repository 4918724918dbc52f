"""The part of a distributed gradient that runs on a worker: sums over its blocks."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from jittape.autodiff.flat_gradients import flatten_gradients
from jittape.core.config import config
from jittape.dask.addition_tree import Node, add_up
from jittape.dask.data_blocks import BagBlock
from jittape.transforms.gradients import value_and_grad

__all__ = ["BlockGradients", "BlockSum", "Failure", "added"]

_Array = np.ndarray[Any, Any]


class BlockSum(NamedTuple):
    """Value, number of rows and flat gradient of some blocks."""

    value: Any
    rows: int
    gradient: _Array


class Failure(NamedTuple):
    """An exception of the user's function, and the number of the block that caused it."""

    error: Exception
    block: int


class _BlockError(Exception):
    """Carries a `Failure` out of the sum."""


def added(left: BlockSum, right: BlockSum) -> BlockSum:
    """Return the sum of two sums; the gradient of the left one is overwritten."""
    np.add(left.gradient, right.gradient, out=left.gradient)
    return BlockSum(left.value + right.value, left.rows + right.rows, left.gradient)


class BlockGradients:
    """The blocks that a worker holds, and the compiled gradient.

    Parameters
    ----------
    function : bytes
        Pickled function of the weights, a block and further arguments.
    structure : optree.PyTreeSpec
        Structure of the weights.
    weighted : bool
        Whether the value and the gradient of a block are multiplied by its number of rows.
    blocks : dict
        The blocks by their numbers.
    threads : int
        Number of threads of the worker.
    deterministic : bool
        Value of ``config.deterministic`` at the client.
    """

    def __init__(
        self,
        function: bytes,
        structure: Any,
        weighted: bool,
        blocks: dict[int, Any],
        threads: int,
        deterministic: bool,
    ) -> None:
        self._gradient = value_and_grad(pickle.loads(function), unconnected_gradients="zero")
        self._structure, self._weighted, self._blocks = structure, weighted, blocks
        # Workers of one host share its cores.
        config.threads = min(config.threads, threads)
        config.deterministic = deterministic
        # The interpreter may round otherwise, and which blocks it would see first depends on the placement.
        config.compile_after = 0

    def sums(
        self, nodes: Sequence[Node], weights: Sequence[_Array], more: Sequence[Any]
    ) -> list[BlockSum] | Failure:
        """Return the sums of some nodes of the tree of additions."""
        structured = optree.tree_unflatten(self._structure, list(weights))

        def leaf(node: Node) -> BlockSum | None:
            start, stop = node
            return self._block_sum(start, structured, more) if stop == start + 1 else None

        try:
            return [add_up(node, leaf, added) for node in nodes]
        except _BlockError as error:
            return error.args[0]

    def _block_sum(self, number: int, weights: Any, more: Sequence[Any]) -> BlockSum:
        block = self._blocks[number]
        total: BlockSum | None = None
        for part in block if isinstance(block, BagBlock) else [block]:
            rows = _rows(part)
            if not rows:
                continue
            try:
                value, gradient = self._gradient(weights, part, *more)
            except Exception as error:
                raise _BlockError(Failure(error, number)) from error
            flat, _ = flatten_gradients(gradient)
            if self._weighted:
                value, flat = value * rows, flat * rows
            found = BlockSum(value, rows, flat)
            total = found if total is None else added(total, found)
        if total is None:
            zeros = optree.tree_map(np.zeros_like, weights)
            return BlockSum(0.0, 0, flatten_gradients(zeros)[0])
        return total


def _rows(block: Any) -> int:
    """Return the length of the first axis of the first array of a block; numbers count as one row."""
    first = optree.tree_leaves(block)[0]
    shape = np.shape(first)
    return int(shape[0]) if shape else 1
