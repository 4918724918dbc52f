"""Matrices and their parts: diag, set_diag, band_part, adjoint, cross."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    broadcast_operands,
    cast_to,
    iota,
    promote,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import multiply, subtract
from jittape.primitives.elementwise.comparison import equal, less, less_equal, logical_or, where
from jittape.primitives.linalg.diagonal_bands import (
    alignment,
    band_width,
    diagonal_range,
    rows_of_band,
    with_band,
)
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.reordering import roll
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.shape.views import placed
from jittape.typing import Tensor, TensorLike

__all__ = ["adjoint", "band_part", "cross", "diag", "set_diag", "tensor_diag", "tensor_diag_part"]


def _beyond(shape: tuple[int, ...]) -> Any:
    """Return the distance of each element of matrices of `shape` to the right of the main diagonal."""
    rank = len(shape)
    return subtract(iota(shape, rank - 1, int64), iota(shape, rank - 2, int64))


def _require_matrix(op: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise ShapeError(f"[{op}] needs at least 2 dimensions, got shape {shape}; expand_dims adds one")


def _on_diagonal(diagonal: Any, k: int, shape: tuple[int, ...]) -> Any:
    """Return matrices of `shape` with `diagonal` on their `k`-th diagonal and arbitrary elements elsewhere."""
    lead, count = diagonal.shape[:-1], diagonal.shape[-1]
    rows, columns = shape[-2:]
    if k >= 0:
        tall = placed(diagonal, (0,) * len(diagonal.shape), (*lead, rows))
        return broadcast(to_shape(tall, (*lead, rows, 1)), (*lead, rows, columns))
    wide = placed(diagonal, (0,) * len(diagonal.shape), (*lead, columns))
    assert count <= columns
    return broadcast(to_shape(wide, (*lead, 1, columns)), (*lead, rows, columns))


def _diag(diagonal: Any, padding: Any, k: int) -> Any:
    diagonal = as_symbol(diagonal)
    if not diagonal.shape:
        raise ShapeError("[diag] diagonal must have at least 1 dimension, got a scalar")
    side = diagonal.shape[-1] + abs(k)
    shape = (*diagonal.shape[:-1], side, side)
    return where(equal(_beyond(shape), k), _on_diagonal(diagonal, k, shape), cast_to(padding, diagonal.dtype))


def _diag_of_band(
    diagonal: Any, padding: Any, diagonals: tuple[int, int], sizes: tuple[int, int], align: str
) -> Any:
    diagonal = as_symbol(diagonal)
    lower, upper = diagonals
    if len(diagonal.shape) < (1 if lower == upper else 2):
        raise ShapeError(
            f"[diag] diagonal of shape {diagonal.shape} has not enough dimensions for k={diagonals}"
        )
    band = rows_of_band(diagonal, diagonals)
    *lead, count, width = band.shape
    if count != upper - lower + 1:
        raise ShapeError(
            f"[diag] diagonal must have {upper - lower + 1} rows for k={diagonals}, got shape {diagonal.shape}"
        )
    least = width - min(upper, 0), width + max(lower, 0)
    rows, columns = sizes
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = (n if size == -1 else size for n, size in zip(least, (rows, columns), strict=True))
    if rows < least[0] or columns < least[1] or (rows > least[0] and columns > least[1]):
        raise ShapeError(
            f"[diag] the longest diagonal of {rows} rows and {columns} columns with k={diagonals} does not have "
            f"{width} elements, as diagonal of shape {diagonal.shape} has; the least sizes are {least}"
        )
    x = broadcast(cast_to(padding, diagonal.dtype), (*lead, rows, columns))
    return with_band(x, band, diagonals, align)


def diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: int | Sequence[int] = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with `diagonal` on a diagonal or on several.

    Parameters
    ----------
    diagonal : tensor_like
        The last dimension contains the elements of a diagonal. If `k` is a pair, the last dimension but one contains
        the diagonals, the highest first. The others are batch dimensions.
    name : str, optional
        Ignored.
    k : int or pair of int
        Number of the diagonal, counted upwards from the main diagonal, or the lowest and the highest of several.
    num_rows, num_cols : int
        Size of the matrices. By default, they are square and as small as possible. If only one is given, the other is
        as small as possible.
    padding_value : tensor_like
        A scalar: the value of all other elements.
    align : {'RIGHT_LEFT', 'LEFT_RIGHT', 'LEFT_LEFT', 'RIGHT_RIGHT'}
        End of its row of `diagonal` at which a short diagonal is, for diagonals above (first word) and below (second
        word) the main diagonal.

    Raises
    ------
    ShapeError
        If `diagonal` does not fit `k` and the sizes.
    ValueError
        If `k` or `align` is none of the above.

    Examples
    --------
    >>> jt.linalg.diag([1.0, 2.0], k=1).numpy()
    array([[0., 1., 0.],
           [0., 0., 2.],
           [0., 0., 0.]], dtype=float32)
    >>> jt.linalg.diag([[0, 8], [1, 2]], k=(0, 1)).numpy()
    array([[1, 8],
           [0, 2]], dtype=int32)
    """
    diagonals, sizes, align = (
        diagonal_range(k),
        (as_int("num_rows", num_rows), as_int("num_cols", num_cols)),
        alignment(align),
    )
    if isinstance(diagonals, int) and sizes == (-1, -1):
        return apply(_diag, (diagonal, padding_value), (diagonals,))
    pair = (diagonals, diagonals) if isinstance(diagonals, int) else diagonals
    return apply(_diag_of_band, (diagonal, padding_value), (pair, sizes, align))


def _set_diag(x: Any, diagonal: Any, k: int) -> Any:
    x, diagonal = promote(x, diagonal)
    _require_matrix("set_diag", x.shape)
    *lead, rows, columns = x.shape
    count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    if diagonal.shape != (*lead, count):
        raise ShapeError(
            f"[set_diag] diagonal must have the shape {(*lead, count)} of diagonal {k} of input with shape {x.shape}, "
            f"got {diagonal.shape}"
        )
    return where(equal(_beyond(x.shape), k), _on_diagonal(diagonal, k, x.shape), x)


def _set_band(x: Any, diagonal: Any, diagonals: tuple[int, int], align: str) -> Any:
    x, diagonal = promote(x, diagonal)
    _require_matrix("set_diag", x.shape)
    lower, upper = diagonals
    *lead, rows, columns = x.shape
    count, width = upper - lower + 1, band_width("set_diag", rows, columns, diagonals)
    wanted = (*lead, width) if count == 1 else (*lead, count, width)
    if diagonal.shape != wanted:
        raise ShapeError(
            f"[set_diag] diagonals k={diagonals} of shape {x.shape} have the shape {wanted}, got {diagonal.shape}"
        )
    return with_band(x, rows_of_band(diagonal, diagonals), diagonals, align)


def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = "set_diag",
    k: int | Sequence[int] = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with the `k`-th diagonal above the main one replaced, or several.

    Parameters
    ----------
    input : tensor_like
        At least 2 dimensions.
    diagonal : tensor_like
        The new elements, as `diag_part` returns them for the same `k` and `align`.
    name : str, optional
        Ignored.
    k : int or pair of int
        Number of the diagonal, counted upwards from the main diagonal, or the lowest and the highest of several.
    align : {'RIGHT_LEFT', 'LEFT_RIGHT', 'LEFT_LEFT', 'RIGHT_RIGHT'}
        End of its row of `diagonal` at which a short diagonal is; see `diag`.

    Raises
    ------
    ShapeError
        If `diagonal` does not fit `input`, or a pair `k` is out of range.
    ValueError
        If `k` or `align` is none of the above.

    Examples
    --------
    >>> jt.linalg.set_diag([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]).numpy()
    array([[0., 2.],
           [3., 0.]], dtype=float32)
    """
    diagonals, align = diagonal_range(k), alignment(align)
    if isinstance(diagonals, int):
        return apply(_set_diag, (input, diagonal), (diagonals,))
    return apply(_set_band, (input, diagonal), (diagonals, align))


def _band_part(x: Any, lower: int, upper: int) -> Any:
    x = as_symbol(x)
    _require_matrix("band_part", x.shape)
    beyond = _beyond(x.shape)
    within = [less_equal(beyond, upper)] if upper >= 0 else []
    within += [less_equal(-lower, beyond)] if lower >= 0 else []
    for mask in within:
        x = where(mask, x, filled(x, 0))
    return x


def _band_part_of_values(x: Any, lower: Any, upper: Any) -> Any:
    """Return the same if the numbers of diagonals are known only when the program runs."""
    x = as_symbol(x)
    _require_matrix("band_part", x.shape)
    beyond = _beyond(x.shape)
    for argument, number, distance in (
        ("num_lower", lower, subtract(0, beyond)),
        ("num_upper", upper, beyond),
    ):
        number = as_symbol(number)
        if number.shape or number.dtype.kind not in "iu":
            raise ShapeError(
                f"[band_part] {argument} must be an integer, got {number.dtype.name}{number.shape}"
            )
        number = cast_to(number, int64)
        x = where(logical_or(less(number, 0), less_equal(distance, number)), x, filled(x, 0))
    return x


def band_part(
    input: TensorLike, num_lower: int | Tensor, num_upper: int | Tensor, name: str | None = None
) -> Tensor:
    """Keep `num_lower` diagonals below the main one and `num_upper` above, and set all others to 0.

    Parameters
    ----------
    input : tensor_like
        At least 2 dimensions.
    num_lower, num_upper : int or integer tensor
        Numbers of diagonals; a negative number keeps all. Numbers beyond the size of the matrices also do.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `input` has fewer than two dimensions.

    Examples
    --------
    >>> jt.linalg.band_part([[1.0, 2.0], [3.0, 4.0]], -1, 0).numpy()
    array([[1., 0.],
           [3., 4.]], dtype=float32)
    """
    numbers = (num_lower, num_upper)
    if any(hasattr(n, "shape") and not isinstance(n, (np.ndarray, np.generic)) for n in numbers):
        return apply(_band_part_of_values, (input, *numbers))
    return apply(_band_part, (input,), (as_int("num_lower", num_lower), as_int("num_upper", num_upper)))


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Exchange the last two dimensions and take the complex conjugate.

    Parameters
    ----------
    matrix : tensor_like of shape (..., m, n)
        Matrices.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `matrix` has fewer than two dimensions.

    Examples
    --------
    >>> jt.linalg.adjoint([[1j, 2.0]]).numpy()
    array([[0.-1.j],
           [2.-0.j]])
    """
    return matrix_transpose(matrix, conjugate=True)


def _cross(a: Any, b: Any) -> Any:
    a, b = broadcast_operands(*promote(a, b), op="cross")
    if a.shape[-1:] != (3,):
        raise ShapeError(f"[cross] the last dimension must be 3, got shapes {a.shape} and {b.shape}")

    def turned(x: Any, by: int) -> Any:
        return roll(x, by, -1)

    return subtract(multiply(turned(a, -1), turned(b, 1)), multiply(turned(a, 1), turned(b, -1)))


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Return the vector product along the last dimension, which must have length 3.

    Parameters
    ----------
    a, b : tensor_like of shape (..., 3)
        Vectors; leading dimensions broadcast.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    return apply(_cross, (a, b))


def _tensor_diag(diagonal: Any) -> Any:
    diagonal = as_symbol(diagonal)
    if not diagonal.shape:
        raise ShapeError("[tensor_diag] diagonal must have at least 1 dimension, got a scalar")
    flat = to_shape(diagonal, (diagonal.aval.size,))
    return to_shape(diag(flat), (*diagonal.shape, *diagonal.shape))


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor with `diagonal` at the positions whose two halves of indices are equal, and 0 elsewhere.

    Parameters
    ----------
    diagonal : tensor_like of shape s
        At least one dimension.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape ``(*s, *s)``

    Raises
    ------
    ShapeError
        If `diagonal` is a scalar.

    Examples
    --------
    >>> jt.linalg.tensor_diag([1.0, 2.0]).numpy()
    array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    return apply(_tensor_diag, (diagonal,))


def _tensor_diag_part(x: Any) -> Any:
    x = as_symbol(x)
    half = len(x.shape) // 2
    shape = x.shape[:half]
    if not half or len(x.shape) % 2 or shape != x.shape[half:]:
        raise ShapeError(
            f"[tensor_diag_part] the second half of the shape of input must be equal to the first, got {x.shape}"
        )
    size = math.prod(shape)
    return to_shape(diag_part(to_shape(x, (size, size))), shape)


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the elements whose two halves of indices are equal, the inverse of `tensor_diag`.

    Parameters
    ----------
    input : tensor_like of shape ``(*s, *s)``
        An even number of dimensions.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the halves of the shape differ.

    Examples
    --------
    >>> jt.linalg.tensor_diag_part([[1.0, 5.0], [6.0, 2.0]]).numpy()
    array([1., 2.], dtype=float32)
    """
    return apply(_tensor_diag_part, (input,))
