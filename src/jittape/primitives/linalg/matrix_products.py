"""Products that are built from matrix products: powers, chains, and the Kronecker product."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from jittape.core.builder import literal
from jittape.core.primitive import apply
from jittape.core.user_calls import as_flag, as_int, shown
from jittape.errors import ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    axis_key,
    broadcast,
    broadcast_operands,
    conj,
    promote,
    sum_over,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.linalg.matmul import matmul, tensordot
from jittape.primitives.linalg.matrix_operands import require_square
from jittape.primitives.linalg.solve import solve
from jittape.primitives.record_parts import filled
from jittape.primitives.reduce.cumulative import cumprod
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import flipped
from jittape.typing import Tensor, TensorLike

__all__ = ["inner", "kron", "matrix_power", "multi_dot", "vander", "vecdot"]


# ---- powers ----------------------------------------------------------------------------------------------------------


def _matrix_power(a: Any, n: int) -> Any:
    a = as_symbol(a)
    require_square("matrix_power", "a", a)
    identity = eye(a.shape[-1], None, a.shape[:-2], a.dtype)
    if n < 0:
        a, n = solve(a, identity), -n
    if n == 0:
        return identity
    result, square = None, a
    while True:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if not n:
            return result
        square = matmul(square, square)


def matrix_power(a: TensorLike, n: int) -> Tensor:
    """Raise square matrices to an integer power by repeated squaring.

    Parameters
    ----------
    a : tensor_like of shape (..., m, m)
        Any numbers; floating ones if `n` is negative.
    n : int
        The exponent. 0 gives identity matrices; a negative exponent is a power of the inverse.

    Raises
    ------
    DTypeError
        If `a` is bool or an integer.
    ShapeError
        If the matrices are not square.
    LinAlgError
        If `n` is negative and a matrix is singular.

    Examples
    --------
    >>> jt.linalg.matrix_power([[1, 1], [1, 0]], 10).numpy()
    array([[89, 55],
           [55, 34]], dtype=int32)
    """
    return apply(_matrix_power, (a,), (as_int("n", n),))


# ---- chains ----------------------------------------------------------------------------------------------------------


def _splits(sizes: Sequence[int]) -> list[list[int]]:
    """Return where the cheapest product of matrices i to j is divided, as ``splits[i][j]``.

    Matrix i has ``sizes[i]`` rows and ``sizes[i + 1]`` columns (Cormen et al., "Introduction to Algorithms",
    section 15.2).
    """
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    splits = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], splits[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return splits


def _multi_dot(*arrays: Any) -> Any:
    arrays = promote(*arrays)
    last = len(arrays) - 1
    for i, x in enumerate(arrays):
        if len(x.shape) != 2 and not (len(x.shape) == 1 and i in (0, last)):
            raise ShapeError(
                f"[multi_dot] arrays must be matrices, except the first and the last, which may be vectors; "
                f"array {i} has shape {x.shape}"
            )
    row, column = len(arrays[0].shape) == 1, len(arrays[-1].shape) == 1
    matrices = list(arrays)
    if row:
        matrices[0] = to_shape(arrays[0], (1, *arrays[0].shape))
    if column:
        matrices[-1] = to_shape(arrays[-1], (*arrays[-1].shape, 1))
    for i, (x, y) in enumerate(pairwise(matrices)):
        if x.shape[1] != y.shape[0]:
            raise ShapeError(
                f"[multi_dot] arrays {i} and {i + 1} do not fit: {x.shape[1]} columns against {y.shape[0]} rows"
            )
    result = _chain(matrices, _splits([matrices[0].shape[0], *[x.shape[1] for x in matrices]]))
    shape = result.shape
    return to_shape(result, (*(() if row else shape[:1]), *(() if column else shape[1:])))


def _chain(matrices: list[Any], splits: list[list[int]]) -> Any:
    products: dict[tuple[int, int], Any] = {(i, i): x for i, x in enumerate(matrices)}
    pending = [(0, len(matrices) - 1)]
    while pending:
        i, j = pending[-1]
        parts = (i, splits[i][j]), (splits[i][j] + 1, j)
        missing = [part for part in parts if part not in products] if i < j else []
        if missing:
            pending += missing
            continue
        if i < j:
            products[i, j] = matmul(products[parts[0]], products[parts[1]])
        pending.pop()
    return products[0, len(matrices) - 1]


def multi_dot(arrays: Sequence[TensorLike]) -> Tensor:
    """Multiply a chain of matrices in the order that needs the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of tensor_like
        At least two matrices. The first and the last may be vectors, a row and a column.

    Raises
    ------
    ShapeError
        If neighbors do not fit, or an array has another number of dimensions.

    Examples
    --------
    >>> a, b, c = jt.ones([10, 100]), jt.ones([100, 5]), jt.ones([5, 50])
    >>> jt.linalg.multi_dot([a, b, c]).shape
    (10, 50)
    """
    if not isinstance(arrays, (list, tuple)) or len(arrays) < 2:
        raise ValueError(f"[multi_dot] arrays must be a sequence of at least 2 matrices, got {shown(arrays)}")
    return apply(_multi_dot, tuple(arrays))


# ---- products of vectors and all pairs -------------------------------------------------------------------------------


def _inner(a: Any, b: Any) -> Any:
    a, b = promote(a, b)
    if not a.shape or not b.shape:
        return multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ShapeError(f"[inner] the last dimensions of shapes {a.shape} and {b.shape} must be equal")
    return tensordot(a, b, ((len(a.shape) - 1,), (len(b.shape) - 1,)))


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """Sum products over the last dimensions of `a` and `b`; if one is a scalar, multiply.

    Parameters
    ----------
    a, b : tensor_like
        The last dimensions have equal length.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the last dimensions differ.

    Examples
    --------
    >>> jt.linalg.inner([1.0, 2.0], [[3.0, 4.0], [5.0, 6.0]]).numpy()
    array([11., 17.], dtype=float32)
    """
    return apply(_inner, (a, b))


def _vecdot(x1: Any, x2: Any, axis: int) -> Any:
    x1, x2 = promote(x1, x2)
    for x in (x1, x2):
        if not x.shape:
            raise ShapeError("[vecdot] needs vectors, got a scalar; multiply is for scalars")
    first, second = (one_axis("vecdot", axis, len(x.shape)) - len(x.shape) for x in (x1, x2))
    if x1.shape[first] != x2.shape[second]:
        raise ShapeError(
            f"[vecdot] shapes {x1.shape} and {x2.shape} must have equal lengths along axis {axis}"
        )
    if first != second:  # an axis from the front, in operands of different ranks
        x1, x2, first = moveaxis(x1, first, -1), moveaxis(x2, second, -1), -1
    x1, x2 = broadcast_operands(x1, x2, op="vecdot")
    return sum_over(multiply(conj(x1), x2), (len(x1.shape) + first,))


def vecdot(x1: TensorLike, x2: TensorLike, axis: int = -1) -> Tensor:
    """Compute scalar products of vectors along `axis`; the first operand is conjugated.

    Parameters
    ----------
    x1, x2 : tensor_like
        The other dimensions broadcast.
    axis : int
        The dimension of the vectors.

    Raises
    ------
    ShapeError
        If the vectors have different lengths.

    Examples
    --------
    >>> jt.linalg.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 10.0]).numpy()
    array([21., 43.], dtype=float32)
    """
    return apply(_vecdot, (x1, x2), (axis_key(axis),))


def _kron(a: Any, b: Any) -> Any:
    a, b = promote(a, b)
    rank = max(len(a.shape), len(b.shape))
    left, right = ((1,) * (rank - len(x.shape)) + tuple(x.shape) for x in (a, b))
    both = [n for pair in zip(left, right, strict=True) for n in pair]
    a = broadcast(to_shape(a, tuple([n for m in left for n in (m, 1)])), tuple(both))
    b = broadcast(to_shape(b, tuple([n for m in right for n in (1, m)])), tuple(both))
    return to_shape(multiply(a, b), tuple([m * n for m, n in zip(left, right, strict=True)]))


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """Compute the Kronecker product: each element of `a` times a copy of `b`.

    Operands of fewer dimensions get additional first dimensions of length 1.

    Parameters
    ----------
    a, b : tensor_like
        Any shapes; the one with fewer dimensions gets leading dimensions of length 1.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.linalg.kron([1.0, 10.0], [1.0, 2.0]).numpy()
    array([ 1.,  2., 10., 20.], dtype=float32)
    """
    return apply(_kron, (a, b))


def _vander(x: Any, columns: int | None, increasing: bool) -> Any:
    x = as_symbol(x)
    if len(x.shape) != 1:
        raise ShapeError(f"[vander] x must be a vector, got shape {x.shape}; reshape it")
    count = x.shape[0] if columns is None else columns
    if count < 0:
        raise ShapeError(f"[vander] N must not be negative, got {count}")
    column = to_shape(x, (*x.shape, 1))
    if count < 2:
        return broadcast(literal(1, x.dtype), (x.shape[0], count))
    factors = concat([filled(column, 1), broadcast(column, (x.shape[0], count - 1))], 1)
    powers = cumprod(factors, 1)
    return powers if increasing else flipped(powers, (1,))


def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the matrix of powers of the elements of `x`, one row for each element.

    Parameters
    ----------
    x : tensor_like of shape (n,)
        The numbers.
    N : int, optional
        Number of columns; the default is n.
    increasing : bool
        The first column is the power 0. Otherwise the last is.

    Raises
    ------
    ShapeError
        If `x` is not a vector, or `N` is negative.

    Examples
    --------
    >>> jt.linalg.vander([2.0, 3.0], 3).numpy()
    array([[4., 2., 1.],
           [9., 3., 1.]], dtype=float32)
    """
    count = None if N is None else as_int("N", N)
    return apply(_vander, (x,), (count, as_flag("increasing", increasing)))
