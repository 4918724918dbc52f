"""Shapes of true and predicted values."""

from __future__ import annotations

from typing import Any

from jittape.errors import ShapeError
from jittape.primitives.shape.reshaping import squeeze
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = ["as_tensor", "same_rank"]


def as_tensor(x: Any) -> Any:
    """Return a tensor or Variable as it is, and anything else as a tensor."""
    return x if isinstance(x, Operators) else convert_to_tensor(x)


def same_rank(op: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return both without a last dimension of length 1 that only one of them has.

    Raises
    ------
    ShapeError
        If the numbers of dimensions differ otherwise.
    """
    ranks = y_true.ndim, y_pred.ndim
    if ranks[0] == ranks[1] + 1 and y_true.shape[-1] == 1:
        y_true = squeeze(y_true, -1)
    elif ranks[1] == ranks[0] + 1 and y_pred.shape[-1] == 1:
        y_pred = squeeze(y_pred, -1)
    if y_true.ndim != y_pred.ndim:
        raise ShapeError(
            f"[{op}] y_true and y_pred must have equal numbers of dimensions, got shapes {tuple(y_true.shape)} and "
            f"{tuple(y_pred.shape)}"
        )
    return y_true, y_pred
