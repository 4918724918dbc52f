"""Norms of vectors and matrices, and normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import float64, is_differentiable
from jittape.core.primitive import apply
from jittape.core.user_calls import as_flag, as_float
from jittape.errors import AxisError, ShapeError
from jittape.primitives.broadcast import as_symbol, axis_key, cast_to, normalized_axes, to_shape, with_ones
from jittape.primitives.elementwise.comparison import not_equal
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.elementwise.powers import pow
from jittape.primitives.record_parts import filled
from jittape.primitives.reduce.euclidean import euclidean_norm_op
from jittape.primitives.reduce.reductions import Axis, reduce_max, reduce_min, reduce_sum
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.spectra.svd import singular_values
from jittape.typing import Tensor, TensorLike

__all__ = [
    "MATRIX_ORDERS",
    "matrix_norm",
    "norm",
    "norm_body",
    "normalize",
    "reduce_euclidean_norm",
    "vector_norm",
]

MATRIX_ORDERS = (None, "fro", "f", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
"""NumPy's orders of matrix norms."""


def norm_body(x: Any, ord: Any, axis: Any, matrix: bool, keepdims: bool) -> Any:
    """Return the norm of the vectors along `axis`, or of the matrices in the two dimensions `axis` if `matrix`.

    The orders are NumPy's and ``"euclidean"``; the caller has checked that `ord` is one of them.
    """
    x = as_symbol(x)
    x = x if is_differentiable(x.dtype) else cast_to(x, float64)
    axes = normalized_axes("norm", axis, len(x.shape))
    if ord in (None, "euclidean", "fro", "f") or (ord == 2 and not matrix):
        out = euclidean_norm_op.bind(absolute(x) if x.dtype.kind == "c" else x, axes=(axes,))
    elif matrix:
        rows, columns = [a % len(x.shape) for a in axis]
        out = _matrix_norm(x, ord, rows, columns)
    else:
        out = _vector_norm(x, ord, axes)
    return to_shape(out, with_ones(x.shape, axes)) if keepdims else out


def _vector_norm(x: Any, ord: float, axes: tuple[int, ...]) -> Any:
    size = absolute(x)
    if ord == 0:
        return reduce_sum(cast_to(not_equal(x, 0), size.aval.dtype), axes)
    if ord == 1:
        return reduce_sum(size, axes)
    if abs(ord) == np.inf:
        return _extremum(size, ord, axes)
    return pow(reduce_sum(pow(size, float(ord)), axes), 1.0 / ord)


def _matrix_norm(x: Any, ord: Any, rows: int, columns: int) -> Any:
    if ord in ("nuc", 2, -2):
        values = singular_values(moveaxis(x, (rows, columns), (-2, -1)))
        last = len(values.shape) - 1
        return reduce_sum(values, last) if ord == "nuc" else _extremum(values, ord, (last,))
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = reduce_sum(absolute(x), summed, keepdims=True)
    out = _extremum(sums, ord, (compared,))
    return to_shape(out, tuple([n for a, n in enumerate(x.shape) if a not in (rows, columns)]))


def _extremum(size: Any, ord: float, axes: tuple[int, ...]) -> Any:
    """Return the greatest of `size`, which is not negative, or the least if `ord` is negative."""
    least = reduce_min(size, axes)
    if all(size.shape[a] for a in axes):
        return reduce_max(size, axes) if ord > 0 else least
    if ord < 0:
        raise ShapeError(
            f"[norm] ord={ord} of shape {size.shape} is the minimum of no elements; give a tensor that has some"
        )
    return filled(least, 0)


def norm(
    tensor: TensorLike,
    ord: float | str = "euclidean",
    axis: Axis = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute norms of the vectors along `axis`, or of the matrices in the two dimensions `axis`.

    The gradient at 0 is nan.

    Parameters
    ----------
    tensor : tensor
        Integers give float64.
    ord : {'euclidean', 'fro', 1, 2, inf} or float
        For vectors: the root of the sum of squares (also 2), the sum (1) or the greatest (inf) of the absolute values,
        or any other p-norm with p > 0. For matrices: the root of the sum of squares, the greatest sum of a column (1)
        or of a row (inf), or the greatest singular value (2).
    axis : int or sequence of int, optional
        One or two dimensions to reduce. By default, all elements form one vector.
    keepdims : bool
        Keep the reduced dimensions with length 1.

    Raises
    ------
    ValueError
        If the order is not defined for vectors, or for matrices.

    Examples
    --------
    >>> jt.norm([3.0, 4.0]).numpy()
    array(5., dtype=float32)
    >>> jt.norm([[1.0, -2.0], [3.0, 4.0]], ord=1, axis=[0, 1]).numpy()
    array(6., dtype=float32)
    """
    axes = axis_key(axis)
    count = len(axes) if isinstance(axes, tuple) else 1
    known = isinstance(ord, (str, int, float, np.number)) and ord in ("euclidean", "fro", 1, 2, np.inf)
    if not known and (count > 1 or not isinstance(ord, (int, float, np.number)) or not ord > 0):
        kind = "a matrix, in two dimensions axis," if count > 1 else "a vector"
        more = "" if count > 1 else " or a number greater than 0"
        raise ValueError(f"[norm] ord of {kind} must be 'euclidean', 'fro', 1, 2, inf{more}, got {ord!r}")
    if count > 2 and ord not in ("euclidean", "fro"):
        raise ValueError(f"[norm] axis must be one dimension or two for ord={ord!r}, got {axis!r}")
    return apply(norm_body, (tensor,), (ord, axes, count == 2, keepdims))


def matrix_norm(x: TensorLike, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """Compute norms of the matrices in the last two dimensions, as the Array API defines them.

    Parameters
    ----------
    x : tensor_like of shape (..., m, n)
        Integers give float64.
    keepdims : bool
        Keep the last two dimensions with length 1.
    ord : {'fro', 'nuc', 1, -1, 2, -2, inf, -inf}
        The root of the sum of squares ('fro' or None), the sum of the singular values ('nuc'), the greatest or least
        sum of absolute values of a column (1, -1) or of a row (inf, -inf), or the greatest or least singular value
        (2, -2).

    Raises
    ------
    ValueError
        If the order is another one.
    AxisError
        If `x` has less than 2 dimensions.
    ShapeError
        If matrices without elements have no such norm.

    Examples
    --------
    >>> jt.linalg.matrix_norm([[3.0, 0.0], [4.0, 5.0]], ord="nuc").numpy().round(4)
    np.float32(8.9443)
    """
    if isinstance(ord, np.ndarray) or ord not in MATRIX_ORDERS:
        raise ValueError(f"[matrix_norm] ord must be one of {MATRIX_ORDERS}, got {ord!r}")
    return apply(_matrix_norm_body, (x,), (ord, as_flag("keepdims", keepdims)))


def _matrix_norm_body(x: Any, ord: Any, keepdims: bool) -> Any:
    x = as_symbol(x)
    if len(x.shape) < 2:
        error = AxisError(
            f"[matrix_norm] x must have at least 2 dimensions, got shape {x.shape}; vector_norm is for vectors"
        )
        error.axis, error.ndim = -2, len(x.shape)
        raise error
    return norm_body(x, ord, (len(x.shape) - 2, len(x.shape) - 1), True, keepdims)


def vector_norm(x: TensorLike, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Compute norms of vectors, as the Array API defines them.

    The gradient of most norms is nan at 0.

    Parameters
    ----------
    x : tensor_like
        Integers give float64.
    axis : int or sequence of int, optional
        The elements along these dimensions form a vector. By default, all elements do.
    keepdims : bool
        Keep the reduced dimensions with length 1.
    ord : float
        inf and -inf: the greatest and the least absolute value. 0: the number of elements that are not 0. Another
        number p: ``sum(abs(x) ** p) ** (1 / p)``.

    Raises
    ------
    ShapeError
        If an axis is out of range, or vectors without elements have no such norm.

    Examples
    --------
    >>> jt.linalg.vector_norm([[3.0, 4.0], [0.0, 2.0]], axis=1).numpy()
    array([5., 2.], dtype=float32)
    >>> jt.linalg.vector_norm([3.0, 0.0, 4.0], ord=0).numpy()
    array(2., dtype=float32)
    """
    return apply(
        norm_body, (x,), (as_float("ord", ord), axis_key(axis), False, as_flag("keepdims", keepdims))
    )


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the root of the sum of squares along `axis`, as `norm` does. Integers give float64.

    Parameters
    ----------
    input_tensor : tensor_like
        Any shape.
    axis : int or sequence of int, optional
        The dimensions to reduce; all of them by default.
    keepdims : bool
        Keep the reduced dimensions with length 1.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If `axis` names a dimension twice.

    Examples
    --------
    >>> jt.math.reduce_euclidean_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).numpy()
    array([ 5., 10.], dtype=float32)
    """
    return norm(input_tensor, "euclidean", axis, keepdims)


def normalize(
    tensor: TensorLike, ord: float | str = "euclidean", axis: Axis = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return `tensor` divided by its `norm` along `axis`, and the norm with the reduced dimensions kept.

    Parameters
    ----------
    tensor : tensor_like
        Any shape.
    ord : float or str
        The norm, see `norm`.
    axis : int or sequence of int, optional
        The dimensions of a vector or matrix.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        If `ord` is not the order of a norm.

    Examples
    --------
    >>> unit, length = jt.linalg.normalize([3.0, 4.0])
    >>> print(unit.numpy(), length.numpy())
    [0.6 0.8] [5.]
    """
    length = norm(tensor, ord, axis, keepdims=True)
    return divide(tensor, length), length
