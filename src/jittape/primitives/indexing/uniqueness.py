"""The distinct elements of a vector. Their number depends on the values, which are read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import int32
from jittape.core.primitive import apply
from jittape.core.user_calls import as_array, named
from jittape.errors import ShapeError
from jittape.primitives.identity import identity_op
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.sorting import stable_order
from jittape.primitives.record_parts import integer_dtype
from jittape.typing import Tensor, TensorLike

__all__ = ["Unique", "UniqueWithCounts", "unique", "unique_with_counts"]


class Unique(NamedTuple):
    """The distinct elements and the position of each element among them, as returned by `unique`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The distinct elements, the position of each element among them, and counts: see `unique_with_counts`."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name hides `tuple.count`


def _distinct(x: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Return the first position of each distinct element, in this order, the number of each element, and counts."""
    # `np.unique` would import `numpy.ma`, 17 ms.
    order = stable_order(x, 0)
    ordered = x[order]
    begins = np.ones(x.size, bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    first = order[begins]
    by_appearance = np.argsort(first)
    number = np.empty(first.size, np.int64)
    number[by_appearance] = np.arange(first.size)
    numbers = np.empty(x.size, np.int64)
    numbers[order] = number[np.cumsum(begins) - 1]
    return first[by_appearance], numbers, np.bincount(numbers, minlength=first.size)


def _found(x: Any, out_idx: Any) -> tuple[Tensor, Tensor, Tensor]:
    dtype = integer_dtype("out_idx", out_idx)
    # `numpy()` says that the values are read on purpose: the gradient flows through the gather below.
    values: np.ndarray[Any, Any] = as_array("x", x.numpy() if hasattr(x, "numpy") else x)
    if values.ndim != 1:
        raise named(ShapeError(f"x must have 1 dimension, got shape {values.shape}; reshape it to [-1]"))
    first, numbers, counts = _distinct(values)
    idx, count = [apply(identity_op, (a.astype(dtype),)) for a in (numbers, counts)]
    return gather(x, first), idx, count


def unique(x: TensorLike, out_idx: Any = int32, name: str | None = None) -> Unique:
    """Return the distinct elements of a vector in the order of their first appearance.

    The gradient of a distinct element flows to its first appearance. Every nan is distinct.

    Parameters
    ----------
    x : tensor_like
        Shape ``(n,)``. Its value is read, so pending operations run.
    out_idx : dtype
        An integer dtype.
    name : str, optional
        Ignored.

    Returns
    -------
    Unique
        The distinct elements `y` and `idx`, with ``x[i] == y[idx[i]]``.

    Raises
    ------
    ValueError
        If `x` does not have 1 dimension.

    Examples
    --------
    >>> y, idx = jt.unique([3, 1, 3, 2])
    >>> print(y.numpy(), idx.numpy())
    [3 1 2] [0 1 0 2]
    """
    return Unique(*_found(x, out_idx)[:2])


def unique_with_counts(x: TensorLike, out_idx: Any = int32, name: str | None = None) -> UniqueWithCounts:
    """Return the distinct elements of a vector, in the order of their first appearance, and their counts.

    See `unique` for the arguments, errors and the gradient.

    Parameters
    ----------
    x : tensor_like of shape (n,)
        A vector.
    out_idx : dtype
        Integer dtype of positions and counts.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `x` is not a vector.

    Examples
    --------
    >>> y, idx, count = jt.unique_with_counts([3, 1, 3, 2])
    >>> print(y.numpy(), idx.numpy(), count.numpy())
    [3 1 2] [0 1 0 2] [2 1 1]
    """
    return UniqueWithCounts(*_found(x, out_idx))
