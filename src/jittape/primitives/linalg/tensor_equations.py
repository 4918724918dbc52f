"""Linear equations between tensors, as in NumPy: `tensorsolve` and `tensorinv`."""

from __future__ import annotations

import math
from typing import Any

from jittape.core.primitive import apply
from jittape.core.user_calls import as_int
from jittape.errors import MatrixShapeError, ShapeError
from jittape.primitives.broadcast import as_symbol, axis_key, to_shape
from jittape.primitives.linalg.matrix_operands import require_matrix_dtype
from jittape.primitives.linalg.solve import inv, solve
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import permuted
from jittape.typing import Tensor, TensorLike

__all__ = ["tensorinv", "tensorsolve"]


def _tensorsolve(a: Any, b: Any, axes: Any) -> Any:
    a, b = as_symbol(a), as_symbol(b)
    require_matrix_dtype("tensorsolve", "a", a)
    require_matrix_dtype("tensorsolve", "b", b)
    rank = len(a.shape)
    if axes is not None:
        named = (axes,) if isinstance(axes, int) else axes
        last = [one_axis("tensorsolve", axis, rank) for axis in named]
        if len(set(last)) != len(last):
            raise ShapeError(f"[tensorsolve] axes {axes!r} names a dimension twice")
        a = permuted(a, (*[axis for axis in range(rank) if axis not in last], *last))
    shape = a.shape[len(b.shape) :]
    size = math.prod(shape)
    if len(b.shape) > rank or a.aval.size != size**2 or b.aval.size != size:
        raise MatrixShapeError(
            f"[tensorsolve] a must have as many elements in the dimensions of the solution as b has in all, "
            f"got shapes {a.shape} and {b.shape}"
        )
    return to_shape(solve(to_shape(a, (size, size)), to_shape(b, (size, 1))), shape)


def tensorsolve(a: TensorLike, b: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """Solve ``tensordot(a, x, axes=x.ndim) = b`` for x.

    Parameters
    ----------
    a : tensor_like of shape ``(*b.shape, *x.shape)``
        The product of ``x.shape`` must be the number of elements of `b`.
    b : tensor_like
        The right-hand side, of any shape.
    axes : int or sequence of int, optional
        Dimensions of `a` to move to the end first.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape ``x.shape``

    Raises
    ------
    DTypeError
        If `a` or `b` is bool or an integer.
    LinAlgError
        If the equations are singular.
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> a = jt.reshape(2.0 * jt.eye(6), (2, 3, 6))
    >>> jt.linalg.tensorsolve(a, jt.ones((2, 3))).numpy()
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    return apply(_tensorsolve, (a, b), (axis_key(axes),))


def _tensorinv(a: Any, ind: int) -> Any:
    a = as_symbol(a)
    require_matrix_dtype("tensorinv", "a", a)
    if ind <= 0:
        raise ValueError(f"[tensorinv] ind must be at least 1, got {ind}")
    first, last = a.shape[:ind], a.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise MatrixShapeError(
            f"[tensorinv] the first {ind} dimensions must have as many elements as the others, got shape {a.shape}"
        )
    size = math.prod(first)
    return to_shape(inv(to_shape(a, (size, size))), (*last, *first))


def tensorinv(a: TensorLike, ind: int = 2, name: str | None = None) -> Tensor:
    """Return the inverse of `a` with respect to ``tensordot(a, x, axes=ind)``.

    Parameters
    ----------
    a : tensor_like
        The product of its first `ind` dimensions must be that of the others.
    ind : int
        Number of first dimensions, at least 1.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape ``(*a.shape[ind:], *a.shape[:ind])``

    Raises
    ------
    DTypeError
        If `a` is bool or an integer.
    LinAlgError
        If there is no inverse.
    ShapeError
        If the shape does not fit.

    Examples
    --------
    >>> a = jt.reshape(2.0 * jt.eye(6), (2, 3, 6))
    >>> jt.linalg.tensorinv(a).shape
    (6, 2, 3)
    """
    return apply(_tensorinv, (a,), (as_int("ind", ind),))
