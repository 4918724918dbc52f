"""Whether classes are among the most probable ones."""

from __future__ import annotations

from typing import Any

from jittape.core.dtypes import int32
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import as_symbol, cast_to
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import greater, greater_equal, less, logical_and, where
from jittape.primitives.indexing.gather import take_along_axis
from jittape.primitives.reduce.reductions import reduce_all, reduce_sum
from jittape.primitives.shape.reshaping import reshape
from jittape.typing import Tensor, TensorLike

__all__ = ["in_top_k"]


def _in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    targets, predictions = as_symbol(targets), as_symbol(predictions)
    if predictions.dtype.kind != "f":
        raise DTypeError(
            f"[in_top_k] predictions must be floats, got {predictions.dtype.name}; cast them first"
        )
    if targets.dtype.kind not in "iu":
        raise DTypeError(f"[in_top_k] targets must be integers, got {targets.dtype.name}; cast them first")
    if len(predictions.shape) != 2 or targets.shape != predictions.shape[:1]:
        raise ShapeError(
            "[in_top_k] targets must have the shape (n,) and predictions (n, classes), got "
            f"{targets.shape} and {predictions.shape}"
        )
    classes = predictions.shape[1]
    if classes == 0:
        return less(targets, targets)
    known = logical_and(greater_equal(targets, 0), less(targets, classes))
    place = reshape(where(known, targets, 0), (targets.shape[0], 1))
    better = reduce_sum(cast_to(greater(predictions, take_along_axis(predictions, place, 1)), int32), 1)
    return logical_and(logical_and(known, reduce_all(is_finite(predictions), 1)), less(better, k))


def in_top_k(targets: TensorLike, predictions: TensorLike, k: int, name: str | None = None) -> Tensor:
    """Return whether the prediction for each target is among the `k` greatest of its row.

    Predictions that tie with the smallest of them are among them too. The result is false for a row with a prediction
    that is not finite, and for a target that is not a class.

    Parameters
    ----------
    targets : tensor_like of int, shape (n,)
        Class of each row.
    predictions : tensor_like of float, shape (n, classes)
        Predictions for each class.
    k : int
        Number of the greatest predictions. It is part of the program's structure.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor of bool, shape (n,)

    Raises
    ------
    DTypeError
        If `targets` is not an integer, or `predictions` is not real floating.
    ShapeError
        If `targets` has a wrong shape.

    Examples
    --------
    >>> jt.math.in_top_k([0, 1], [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], k=2).numpy()
    array([False,  True])
    """
    return apply(_in_top_k, (targets, predictions), (as_int("k", k),))
