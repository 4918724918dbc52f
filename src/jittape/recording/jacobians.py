"""Jacobians out of reverse passes, one pass an element of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.primitives.joining import stack
from jittape.primitives.shape import reshape
from jittape.recording.tensor import Tensor, tensor_of

__all__ = ["batch_jacobian_of", "jacobians_of"]

Pass = Callable[[Tensor], Sequence[Any]]
"""One reverse pass: from the target's cotangent to those of the sources, None where there is none."""


def jacobians_of(target: Any, leaves: Sequence[Any], reverse_pass: Pass) -> list[Any]:
    """For every source the derivatives of all elements of `target`, or None.

    Parameters
    ----------
    target : Tensor
    leaves : sequence of Tensor or Variable
        The sources.
    reverse_pass : callable

    Returns
    -------
    list of Tensor or None
        Each of shape ``target.shape + source.shape``.
    """
    basis = np.eye(target.size, dtype=target.dtype).reshape(target.size, *target.shape)
    passes = [reverse_pass(tensor_of(np.array(seed))) for seed in basis]
    return [
        _stacked([results[i] for results in passes], 0, (*target.shape, *leaf.shape), leaf.dtype)
        for i, leaf in enumerate(leaves)
    ]


def batch_jacobian_of(target: Any, source: Any, reverse_pass: Pass) -> Any:
    """The derivatives of every row of `target` with respect to the same row of `source`.

    All rows share a pass, as none depends on another's.

    Parameters
    ----------
    target : Tensor of shape ``(b, y...)``
    source : Tensor or Variable of shape ``(b, x...)``
    reverse_pass : callable

    Returns
    -------
    Tensor of shape ``(b, y..., x...)`` or None
    """
    inner = target.shape[1:]
    size = int(np.prod(inner))
    basis = np.eye(size, dtype=target.dtype).reshape(size, *inner)
    rows = [reverse_pass(tensor_of(np.array(np.broadcast_to(seed, target.shape))))[0] for seed in basis]
    return _stacked(rows, 1, (*target.shape, *source.shape[1:]), source.dtype)


def _stacked(rows: list[Any], axis: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The gradients of all elements as one tensor; None if any is."""
    if any(row is None for row in rows):
        return None
    return reshape(stack(rows, axis=axis), shape) if rows else tensor_of(np.zeros(shape, dtype))
