"""The parameters of an op on a stack of operands: what `Batch.params` is given for the ops that name dimensions.

A stack has one more dimension, the first, so every dimension that a parameter names moves on by one.
"""

from __future__ import annotations

from typing import Any

from jittape.core.primitive import Batch

__all__ = ["alike", "along_axes", "along_axis", "in_shape"]

Params = dict[str, Any]


def alike(operands: int | None = None) -> Batch:
    """The parameters name no dimension."""
    return Batch(lambda n, params: params, operands)


def along_axis(operands: int | None = None) -> Batch:
    """The parameter `axis` names a dimension."""
    return Batch(lambda n, params: {**params, "axis": params["axis"] + 1}, operands)


def along_axes() -> Batch:
    """The parameter `axes` names dimensions."""
    return Batch(lambda n, params: {**params, "axes": tuple([a + 1 for a in params["axes"]])})


def in_shape(batch: Batch) -> Batch:
    """As `batch`, and the parameter `shape` is the result's."""
    return Batch(
        lambda n, params: batch.params(n, {**params, "shape": (n, *params["shape"])}), batch.operands
    )
