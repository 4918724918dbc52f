"""Batching rules for ops whose parameters name dimensions.

A stack has an additional first dimension, so each dimension that a parameter names increases by one.
"""

from __future__ import annotations

from jittape.core.primitive import Batch

__all__ = ["alike", "along_axes", "along_axis", "in_shape"]


def alike(operands: int | None = None) -> Batch:
    """Return the rule for an op whose parameters name no dimension."""
    return Batch(lambda n, params: params, operands)


def along_axis(operands: int | None = None) -> Batch:
    """Return the rule for an op whose parameter `axis` names a dimension."""
    return Batch(lambda n, params: {**params, "axis": params["axis"] + 1}, operands)


def along_axes() -> Batch:
    """Return the rule for an op whose parameter `axes` names dimensions."""
    return Batch(lambda n, params: {**params, "axes": tuple([a + 1 for a in params["axes"]])})


def in_shape(batch: Batch) -> Batch:
    """Return the rule `batch`, extended to the parameter `shape`, the shape of the result."""
    return Batch(
        lambda n, params: batch.params(n, {**params, "shape": (n, *params["shape"])}), batch.operands
    )
