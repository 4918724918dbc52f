"""Making and cutting matrices: diag, set_diag, band_part, adjoint, cross, normalize."""

from __future__ import annotations

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
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.reshaping import matrix_transpose, roll
from jittape.primitives.shape.views import placed
from jittape.typing import Tensor, TensorLike

__all__ = ["adjoint", "band_part", "cross", "diag", "set_diag"]


def _beyond(shape: tuple[int, ...]) -> Any:
    """How far each element of matrices of `shape` is to the right of the main diagonal."""
    rank = len(shape)
    return subtract(iota(shape, rank - 1, int64), iota(shape, rank - 2, int64))


def _require_matrix(op: str, shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise ShapeError(f"[{op}] needs at least 2 dimensions, got shape {shape}; expand_dims adds one")


def _laid(diagonal: Any, k: int, shape: tuple[int, ...]) -> Any:
    """`diagonal` on the `k`-th diagonal of matrices of `shape`, in every row (k > 0: column): to be masked."""
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
    return where(equal(_beyond(shape), k), _laid(diagonal, k, shape), cast_to(padding, diagonal.dtype))


def diag(
    diagonal: TensorLike, name: str | None = "diag", k: int = 0, padding_value: TensorLike = 0
) -> Tensor:
    """Square matrices with `diagonal` on a diagonal.

    Parameters
    ----------
    diagonal : tensor_like
        The last dimension lies on the diagonal, the others are dimensions of a batch.
    name : str, optional
        Ignored.
    k : int
        How many places above the main diagonal.
    padding_value : tensor_like
        A scalar: what stands elsewhere.

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
    return where(equal(_beyond(x.shape), k), _laid(diagonal, k, x.shape), x)


def set_diag(input: TensorLike, diagonal: TensorLike, name: str | None = "set_diag", k: int = 0) -> Tensor:
    """Matrices with another diagonal, the `k`-th above the main one.

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
    """Matrices with zeros but for a band: `num_lower` diagonals below the main one and `num_upper` above; -1: all.

    Examples
    --------
    >>> jt.linalg.band_part([[1.0, 2.0], [3.0, 4.0]], -1, 0).numpy()
    array([[1., 0.],
           [3., 4.]], dtype=float32)
    """
    return apply(_band_part, (input,), (as_int("num_lower", num_lower), as_int("num_upper", num_upper)))


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the last two dimensions exchanged, and the complex conjugate taken.

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
    """Return the vector product of the last dimensions, which are 3.

    Examples
    --------
    >>> jt.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    return apply(_cross, (a, b))
