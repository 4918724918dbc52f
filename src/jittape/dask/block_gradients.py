"""The part of a distributed gradient that runs on a worker: sums over its blocks."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from jittape.autodiff.flat_gradients import flatten_gradients
from jittape.core.config import config
from jittape.dask.addition_tree import Node, add_up
from jittape.dask.data_blocks import BagBlock
from jittape.dask.direct_connection import Message, Offer, offer
from jittape.dask.sent_functions import sendable_error
from jittape.dask.worker_warnings import Findings, findings_of, merged_findings
from jittape.recording.convert import convert_to_tensor
from jittape.transforms.gradients import value_and_grad

__all__ = ["BlockGradients", "BlockSum", "Failure", "added"]

_Array = np.ndarray[Any, Any]


class BlockSum(NamedTuple):
    """Value, number of rows and flat gradient of some blocks; and findings if any of them is visited first."""

    value: Any
    rows: int
    gradient: _Array
    findings: Findings | None = None


class Failure(NamedTuple):
    """An exception of the user's function, and the number of the block that caused it."""

    error: Exception
    block: int


class _BlockError(Exception):
    """Carries a `Failure` out of the sum."""


def added(left: BlockSum, right: BlockSum) -> BlockSum:
    """Return the sum of two sums; the gradient of the left one is overwritten if it can be."""
    out = left.gradient if left.gradient.flags.writeable else None
    total = np.add(left.gradient, right.gradient, out=out)
    findings = merged_findings(left.findings, right.findings)
    return BlockSum(left.value + right.value, left.rows + right.rows, total, findings)


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
    settings : dict
        Values of settings in ``config`` at the client.
    in_own_process : bool
        Whether the worker shares no memory with the client, whose arrays stay writable.
    """

    def __init__(
        self,
        function: bytes,
        structure: Any,
        weighted: bool,
        blocks: dict[int, Any],
        threads: int,
        settings: Mapping[str, Any],
        in_own_process: bool,
    ) -> None:
        f = pickle.loads(function)
        self._gradient = value_and_grad(f, unconnected_gradients="zero")
        self._checked_gradient = value_and_grad(f)
        self._structure, self._weighted = structure, weighted
        self._blocks = {n: _read_only(block) for n, block in blocks.items()} if in_own_process else blocks
        self._unvisited = set(blocks)
        # Workers of one host share its cores.
        config.threads = min(config.threads, threads)
        for name, setting in settings.items():
            setattr(config, name, setting)
        # The interpreter may round otherwise, and which blocks it would see first depends on the placement.
        config.compile_after = 0

    def sums(
        self, nodes: Sequence[Node], weights: Sequence[_Array], more: Sequence[Any]
    ) -> list[BlockSum] | Failure:
        """Return the sums of some nodes of the tree of additions."""
        structured = optree.tree_unflatten(self._structure, [convert_to_tensor(leaf) for leaf in weights])

        def leaf(node: Node) -> BlockSum | None:
            start, stop = node
            return self._block_sum(start, structured, more) if stop == start + 1 else None

        try:
            return [add_up(node, leaf, added) for node in nodes]
        except _BlockError as error:
            return error.args[0]

    def used_kernels(self) -> tuple[dict[str, str], list[str]] | None:
        """Return the environment of the worker, and the names of the batches of kernels that it uses."""
        from jittape.compile.cache.sent_batches import used_batches  # imports LLVM

        return used_batches()

    def kernels(self, names: Sequence[str]) -> list[Any]:
        """Return batches of kernels, for the client."""
        from jittape.compile.cache.sent_batches import read_batches

        return read_batches(names)

    def lacking_kernels(self, environment: Mapping[str, str], names: Sequence[str]) -> list[str]:
        """Return which batches of kernels the worker could use but does not have."""
        from jittape.compile.cache.sent_batches import lacking_batches

        return lacking_batches(environment, names)

    def keep_kernels(self, batches: Sequence[Any]) -> None:
        """Store batches of kernels from the client."""
        from jittape.compile.cache.sent_batches import keep_batches

        keep_batches(batches)

    def offer(self) -> Offer | None:
        """Return what a client of this host needs for a direct connection."""
        return offer(self._answer)

    def _answer(self, head: Any, weights: Sequence[_Array]) -> Message:
        """Return the sums that a direct connection asks for; None for a failure, which Dask reports."""
        nodes, more = head
        for array in weights:
            array.flags.writeable = False  # a tape copies other arrays at each block
        found = self.sums(nodes, weights, more)
        if isinstance(found, Failure):
            return None, []
        return [(one.value, one.rows, one.findings) for one in found], [one.gradient for one in found]

    def _block_sum(self, number: int, weights: Any, more: Sequence[Any]) -> BlockSum:
        block = self._blocks[number]
        total: BlockSum | None = None
        for part in block if isinstance(block, BagBlock) else [block]:
            rows = _rows(part)
            if not rows:
                continue
            try:
                value, flat, findings = self._evaluated(number in self._unvisited, weights, part, more)
            except Exception as error:
                raise _BlockError(Failure(sendable_error(error), number)) from error
            if self._weighted:
                value, flat = value * rows, flat * rows
            found = BlockSum(value, rows, flat, findings)
            total = found if total is None else added(total, found)
        self._unvisited.discard(number)
        if total is None:
            zeros = optree.tree_map(lambda leaf: np.zeros_like(leaf.numpy()), weights)
            return BlockSum(0.0, 0, flatten_gradients(zeros)[0])
        return total

    def _evaluated(
        self, checked: bool, weights: Any, part: Any, more: Sequence[Any]
    ) -> tuple[Any, _Array, Findings | None]:
        """Return the value and the flat gradient of a block; and, if `checked`, findings."""
        if not checked:
            value, gradient = self._gradient(weights, part, *more)
            return value.numpy()[()], _flat(gradient), None

        def compute() -> tuple[Any, list[Any]]:
            value, gradient = self._checked_gradient(weights, part, *more)
            leaves = self._structure.flatten_up_to(gradient)
            filled = [
                convert_to_tensor(np.zeros_like(weight.numpy())) if leaf is None else leaf
                for leaf, weight in zip(leaves, optree.tree_leaves(weights), strict=True)
            ]
            return (value.numpy()[()], _flat(optree.tree_unflatten(self._structure, filled))), leaves

        (value, flat), findings = findings_of(compute)
        return value, flat, findings


def _flat(gradient: Any) -> _Array:
    """Return a gradient as one array; that of a single array of weights is not copied."""
    leaves = optree.tree_leaves(gradient)
    flat: _Array = leaves[0].numpy().reshape(-1) if len(leaves) == 1 else flatten_gradients(gradient)[0]
    return flat


def _read_only(block: Any) -> Any:
    """Return a block whose arrays cannot be written. A tape copies other arrays at each step, in case they change."""
    if isinstance(block, BagBlock):
        return BagBlock([_read_only(part) for part in block])
    return optree.tree_map(lambda leaf: _read_only_array(leaf) if type(leaf) is np.ndarray else leaf, block)


def _read_only_array(array: _Array) -> _Array:
    at: Any = array
    while isinstance(at, np.ndarray):
        at.flags.writeable = False
        at = at.base
    if at is not None and not isinstance(at, bytes):  # memory of a message, which others could write
        array = array.copy()
        array.flags.writeable = False
    return array


def _rows(block: Any) -> int:
    """Return the length of the first axis of the first array of a block; numbers count as one row."""
    first = optree.tree_leaves(block)[0]
    shape = np.shape(first)
    return int(shape[0]) if shape else 1
