"""Matrices and their parts: diag, set_diag, band_part, adjoint, cross."""

from __future__ import annotations

import math
from typing import Any

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
from jittape.primitives.elementwise.comparison import equal, less_equal, where
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.reshaping import matrix_transpose, roll
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


def diag(
    diagonal: TensorLike, name: str | None = "diag", k: int = 0, padding_value: TensorLike = 0
) -> Tensor:
    """Return square matrices with `diagonal` on a diagonal.

    Parameters
    ----------
    diagonal : tensor_like
        The last dimension contains the elements of the diagonal, the others are batch dimensions.
    name : str, optional
        Ignored.
    k : int
        Number of the diagonal, counted upwards from the main diagonal.
    padding_value : tensor_like
        A scalar: the value of all other elements.

    Examples
    --------
    >>> jt.linalg.diag([1.0, 2.0], k=1).numpy()
    array([[0., 1., 0.],
           [0., 0., 2.],
           [0., 0., 0.]], dtype=float32)
    """
    return apply(_diag, (diagonal, padding_value), (as_int("k", k),))


def _set_diag(x: Any, diagonal: Any, k: int) -> Any:
    x, diagonal = promote(x, diagonal)
    _require_matrix("set_diag", x.shape)
    *lead, rows, columns = x.shape
    count = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    if diagonal.shape != (*lead, count):
        raise ShapeError(
            f"[set_diag] diagonal {k} of shape {x.shape} has the shape {(*lead, count)}, got {diagonal.shape}"
        )
    return where(equal(_beyond(x.shape), k), _on_diagonal(diagonal, k, x.shape), x)


def set_diag(input: TensorLike, diagonal: TensorLike, name: str | None = "set_diag", k: int = 0) -> Tensor:
    """Return matrices with their `k`-th diagonal above the main one replaced.

    Examples
    --------
    >>> jt.linalg.set_diag([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]).numpy()
    array([[0., 2.],
           [3., 0.]], dtype=float32)
    """
    return apply(_set_diag, (input, diagonal), (as_int("k", k),))


def _band_part(x: Any, lower: int, upper: int) -> Any:
    x = as_symbol(x)
    _require_matrix("band_part", x.shape)
    beyond = _beyond(x.shape)
    within = [less_equal(beyond, upper)] if upper >= 0 else []
    within += [less_equal(-lower, beyond)] if lower >= 0 else []
    for mask in within:
        x = where(mask, x, filled(x, 0))
    return x


def band_part(input: TensorLike, num_lower: int, num_upper: int, name: str | None = None) -> Tensor:
    """Keep `num_lower` diagonals below the main one and `num_upper` above, and set all others to 0; -1 keeps all.

    Examples
    --------
    >>> jt.linalg.band_part([[1.0, 2.0], [3.0, 4.0]], -1, 0).numpy()
    array([[1., 0.],
           [3., 4.]], dtype=float32)
    """
    return apply(_band_part, (input,), (as_int("num_lower", num_lower), as_int("num_upper", num_upper)))


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Exchange the last two dimensions and take the complex conjugate.

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
    tensor of shape (*s, *s)

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
    input : tensor_like of shape (*s, *s)
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
