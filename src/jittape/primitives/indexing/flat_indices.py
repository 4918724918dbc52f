"""Coordinates of flat indices."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, cast_to
from jittape.primitives.elementwise.division import floor_divide, mod
from jittape.primitives.indexing.checked_integers import UNBOUNDED, checked_integers
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import as_shape
from jittape.typing import Tensor, TensorLike

__all__ = ["unravel_index"]


def _unravel_index(indices: Any, dims: tuple[int, ...]) -> Any:
    indices = as_symbol(indices)
    if len(indices.shape) > 1:
        raise ShapeError(f"[unravel_index] indices must be a scalar or a vector, got shape {indices.shape}")
    rest = checked_integers("unravel_index", "indices", indices, math.prod(dims))
    coordinates = []
    for size in reversed(dims):
        coordinates.append(cast_to(mod(rest, size), indices.dtype))
        rest = floor_divide(rest, size)
    return stack(coordinates[::-1], axis=0)


def unravel_index(indices: TensorLike, dims: Any, name: str | None = None) -> Tensor:
    """Return the coordinates of flat indices into an array of shape `dims`, in C order.

    Parameters
    ----------
    indices : tensor_like of int
        A scalar or a vector.
    dims : sequence of int
        Shape of the array, with at least one dimension. It is part of the program's structure.
    name : str, optional
        Ignored.

    Returns
    -------
    Tensor
        One row for each dimension, in the dtype of `indices`.

    Raises
    ------
    ValueError
        If an index is negative, or not less than the number of elements.

    Examples
    --------
    >>> jt.unravel_index([3, 7], [2, 4]).numpy()
    array([[0, 1],
           [3, 3]], dtype=int32)
    """
    shape = as_shape("unravel_index", dims)
    if not shape or any(n <= 0 for n in shape):
        raise ShapeError(f"[unravel_index] dims must be one or more positive numbers, got {shape}")
    if math.prod(shape) > UNBOUNDED:
        raise ShapeError(f"[unravel_index] an array of the shape dims, {shape}, has too many elements")
    return apply(_unravel_index, (indices,), (shape,))
