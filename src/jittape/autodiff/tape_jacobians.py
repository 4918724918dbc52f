"""Jacobians: one pass is recorded with zeros as its seed and runs on a stack of unit vectors.

A reverse pass takes one row for each element of the target, a forward pass one row for each element of the sources. The
pass with fewer rows is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.autodiff.forward_mode import placeholders, record_batch, record_tangents
from jittape.autodiff.gradient_diagnostics import GradientQuery
from jittape.autodiff.reverse import ORDINARY, record_gradient
from jittape.core.dtypes import is_floating
from jittape.core.program import Aval
from jittape.core.symbolic.extents import Extent
from jittape.primitives.shape.creation import eye, zeros
from jittape.primitives.shape.reshaping import broadcast_to, reshape, transpose
from jittape.recording.convert import cast_to_dtype
from jittape.recording.tensor import Tensor, tensor_of
from jittape.recording.trace import Trace
from jittape.transform.opaque import OpaqueRules

__all__ = [
    "batch_jacobian_of",
    "jacobians_of",
    "stacked_cotangents",
    "stacked_tangents",
    "takes_forward",
    "zeros_for_missing",
    "zeros_of",
]


def takes_forward(target: Aval, sources: Sequence[Aval]) -> bool:
    """Return whether forward mode takes fewer rows: the target has more elements than the sources.

    Complex values use reverse mode, whose convention (`conj`) defines their derivative.
    """
    real = all(is_floating(aval.dtype) for aval in (target, *sources))
    return real and sum([aval.size for aval in sources]) < target.size


def jacobians_of(
    trace: Trace, target: Tensor, query: GradientQuery, forward: bool | None = None, zeros: bool = False
) -> list[Any]:
    """Return for each source the derivatives of all elements of `target`, or None.

    Parameters
    ----------
    trace : Trace
        The thread's recorder.
    target : Tensor
    query : GradientQuery
        The sources, and the view of the tape.
    forward : bool, optional
        Whether to use forward mode; by default the mode with fewer rows.
    zeros : bool
        Whether a missing Jacobian counts as zero.

    Returns
    -------
    list of Tensor or None
        Jacobians of shape ``target.shape + source.shape``.
    """
    leaves = query.values
    if not query.targets:
        return [None] * len(leaves)
    if target.size == 0:
        return [zeros_of(target.aval.shape + leaf.aval.shape, leaf.aval.dtype) for leaf in leaves]
    if takes_forward(target.aval, [x.aval for x in leaves]) if forward is None else forward:
        return [_columns(trace, target, query, i, zeros) for i in range(len(leaves))]
    stack = _units(target.aval, 0)
    found = stacked_cotangents(trace, target.aval, query, stack, zeros)
    return [
        None if rows is None else reshape(rows, target.aval.shape + leaf.aval.shape)
        for rows, leaf in zip(found, leaves, strict=True)
    ]


def stacked_cotangents(
    trace: Trace, target: Aval, query: GradientQuery, stack: Tensor, zeros: bool
) -> list[Tensor | None]:
    """Return the stacked cotangents of each source, for the rows of `stack` as cotangents of `target`."""
    opaque_rules = OpaqueRules(zeros=True) if zeros else ORDINARY
    with placeholders(trace, [target]) as (seed,):
        gradients = record_gradient(
            trace, query.targets, query.sources, (seed._slot,), query.view, opaque_rules
        )
    outputs = [g._slot for g in gradients if g is not None]
    found = iter(record_batch(trace, seed._slot, outputs, trace.import_tensor(stack)))
    return [None if g is None else next(found) for g in gradients]


def stacked_tangents(
    trace: Trace, query: GradientQuery, number: int, stack: Tensor, zeros: bool
) -> Tensor | None:
    """Return the stacked tangents of the target, for the rows of `stack` as tangents of source `number`.

    They have the dtype of the source, as cotangents do: the mode must not decide the dtype of a Jacobian.
    """
    sources = (query.sources[number],)
    with placeholders(trace, [query.values[number].aval]) as (seed,):
        (tangent,) = record_tangents(trace, query.targets, sources, (seed._slot,), query.view, zeros)
    if tangent is None:
        return None
    (columns,) = record_batch(trace, seed._slot, [tangent._slot], trace.import_tensor(stack))
    fitted: Tensor = cast_to_dtype(columns, query.values[number].aval.dtype)
    return fitted


def _columns(trace: Trace, target: Tensor, query: GradientQuery, number: int, zeros: bool) -> Any:
    leaf = query.values[number]
    shape = target.aval.shape + leaf.aval.shape
    if leaf.size == 0:
        return zeros_of(shape, leaf.dtype)
    columns = stacked_tangents(trace, query, number, _units(leaf.aval, 0), zeros)
    return None if columns is None else reshape(_moved(columns, target.ndim), shape)


def batch_jacobian_of(trace: Trace, target: Tensor, query: GradientQuery) -> Any:
    """Return the derivatives of each row of `target` with respect to the same row of the source; None if zero.

    Rows are independent, so all rows share one pass.

    Returns
    -------
    Tensor of shape ``(b, y..., x...)`` or None
    """
    source = query.values[0]
    shape = target.aval.shape + source.aval.shape[1:]
    if not query.targets:
        return None
    if math.prod(shape) == 0:
        return zeros_of(shape, source.dtype)
    rows = Aval(target.aval.shape[1:], target.aval.dtype)
    columns = Aval(source.aval.shape[1:], source.aval.dtype)
    if takes_forward(rows, [columns]):
        found = stacked_tangents(trace, query, 0, _units(columns, source.aval.shape[0]), True)
        return None if found is None else reshape(_moved(found, target.ndim), shape)
    (stacked,) = stacked_cotangents(trace, target.aval, query, _units(rows, target.aval.shape[0]), True)
    return None if stacked is None else reshape(_moved(stacked, 1), shape)


def _units(aval: Aval, batch: int) -> Tensor:
    """Return the stacked unit vectors of a value of `aval`; with `batch`, each repeated in that many rows."""
    n = aval.size
    units = reshape(eye(n, dtype=aval.dtype), (n, *aval.shape))
    if not batch:
        return units
    return broadcast_to(reshape(units, (n, 1, *aval.shape)), (n, batch, *aval.shape))


def _moved(x: Tensor, to: int) -> Tensor:
    """Return `x` with its first dimension moved to position `to`."""
    axes = range(x.ndim)
    return transpose(x, [*axes[1 : to + 1], 0, *axes[to + 1 :]]) if to else x


def zeros_of(shape: tuple[Any, ...], dtype: np.dtype[Any]) -> Tensor:
    """Return zeros; recorded if the shape has extents, which NumPy would bind to their values."""
    return (
        zeros(shape, dtype)
        if any([n.__class__ is Extent for n in shape])
        else tensor_of(np.zeros(shape, dtype))
    )


def zeros_for_missing(results: list[Any], leaves: list[Any], shape: tuple[Any, ...] = ()) -> list[Any]:
    """Return `results` with zeros in place of None: of `shape` followed by the shape of the source among `leaves`."""
    return [
        zeros_of((*shape, *leaf.aval.shape), leaf.aval.dtype) if result is None else result
        for result, leaf in zip(results, leaves, strict=True)
    ]
