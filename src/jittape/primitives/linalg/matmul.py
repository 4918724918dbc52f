"""Matrix products: `matmul`, matvec, tensordot and outer.

The operands of `matmul_op` are stacks of matrices with equal leading dimensions. The user-level function reduces all
ranks that NumPy accepts to such stacks: vectors become matrices, and a stack times one matrix becomes one tall product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.forms import Call
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.symbolic.extent_functions import is_always
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    broadcast_shapes,
    conj,
    normalized_axes,
    promote,
    sum_op,
    sum_over,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.shape.reshaping import hashable
from jittape.primitives.shape.views import permuted
from jittape.typing import Tensor, TensorLike

__all__ = ["matmul", "matmul_body", "matmul_op", "matvec", "outer", "tensordot"]


def _swapped(x: Any) -> Any:
    """Return `x` with its last two dimensions exchanged."""
    ndim = len(x.shape)
    if any([is_always(1, n) for n in x.shape[-2:]]):
        return to_shape(x, (*x.shape[:-2], x.shape[-1], x.shape[-2]))
    return permuted(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def _matmul_abstract_eval(x: Aval, y: Aval) -> Aval:
    if x.ndim < 2 or x.ndim != y.ndim or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ShapeError(f"[matmul] operands {x} and {y} do not fit")
    if x.dtype != y.dtype:
        raise DTypeError(f"[matmul] operands must have equal dtypes, got {x.dtype.name} and {y.dtype.name}")
    return Aval((*x.shape[:-1], y.shape[-1]), x.dtype)


def _matmul_x_vjp(g: Any, out: Any, x: Any, y: Any) -> Any:
    return matmul_op.bind(g, conj(_swapped(y)))


def _matmul_y_vjp(g: Any, out: Any, x: Any, y: Any) -> Any:
    return matmul_op.bind(conj(_swapped(x)), g)


def _in_loops(x: Any, y: Any) -> Any:
    """Return the decomposition for integers, which the BLAS does not support: loops over rows, summands and columns."""
    shape = (*x.shape, y.shape[-1])
    rows = to_shape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    products = multiply(broadcast(to_shape(x, (*x.shape, 1)), shape), broadcast(rows, shape))
    return sum_op.bind(products, axes=(len(shape) - 2,))


matmul_op = Primitive(
    "matmul",
    abstract_eval=_matmul_abstract_eval,
    impl=np.matmul,
    vjp=(_matmul_x_vjp, _matmul_y_vjp),
    lowering=Call("gemm", otherwise=_in_loops),
    batch=lambda n, stacked, x, y: product(x, y),
)


def matmul_body(
    a: Any, b: Any, transpose_a: bool, transpose_b: bool, adjoint_a: bool, adjoint_b: bool
) -> Any:
    """Return the product of two matrices, stacks of them, or vectors; see `matmul`."""
    for which, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transpose and adjoint:
            raise ValueError(
                f"[matmul] Only one of `transpose_{which}` and `adjoint_{which}` can be True: an adjoint is transposed"
            )
    a, b = promote(a, b)
    for x, flag in ((a, transpose_a or adjoint_a), (b, transpose_b or adjoint_b)):
        if not x.shape:
            raise ShapeError(
                f"[matmul] operands must have at least 1 dimension, got shapes {a.shape} and {b.shape}; "
                "multiply is for scalars"
            )
        if flag and len(x.shape) < 2:
            raise ShapeError(
                f"[matmul] a transposed operand needs at least 2 dimensions, got shape {x.shape}"
            )
    shapes = (a.shape, b.shape)
    if transpose_a or adjoint_a:
        a = _swapped(conj(a) if adjoint_a else a)
    if transpose_b or adjoint_b:
        b = _swapped(conj(b) if adjoint_b else b)
    return product(a, b, shapes, (transpose_a or adjoint_a, transpose_b or adjoint_b))


def product(
    a: Any, b: Any, shapes: tuple[Any, Any] | None = None, flags: tuple[bool, bool] = (False, False)
) -> Any:
    """Return ``a @ b`` for handles of one dtype; `shapes` and `flags` are for error messages."""
    row = len(a.shape) == 1
    column = len(b.shape) == 1
    inner = a.shape[-1], b.shape[-1 if column else -2]
    if inner[0] != inner[1]:
        raise ShapeError(_misfit(shapes or (a.shape, b.shape), flags, *inner))
    if row and column:
        return sum_over(multiply(a, b), (0,))
    m = to_shape(a, (1, *a.shape)) if row else a
    n = to_shape(b, (*b.shape, 1)) if column else b
    result = _stacks_product(m, n, shapes or (a.shape, b.shape))
    *lead, rows, columns = result.shape
    return to_shape(result, (*lead, *(() if row else (rows,)), *(() if column else (columns,))))


def _stacks_product(m: Any, n: Any, shapes: tuple[Any, Any]) -> Any:
    """Return the product of two stacks of matrices; their leading dimensions broadcast."""
    k, columns = n.shape[-2:]
    if math.prod(n.shape[:-2]) == 1 and len(m.shape) >= len(n.shape) and len(m.shape) > 2:
        tall = to_shape(m, (math.prod(m.shape[:-1]), k))
        return to_shape(matmul_op.bind(tall, to_shape(n, (k, columns))), (*m.shape[:-1], columns))
    if math.prod(m.shape[:-2]) == 1 and len(n.shape) >= len(m.shape) and len(n.shape) > 2:
        # (m @ n)' = n' @ m', which is one tall product again.
        return _swapped(_stacks_product(_swapped(n), _swapped(to_shape(m, m.shape[-2:])), shapes))
    try:
        lead = broadcast_shapes(m.shape[:-2], n.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"[matmul] shapes {shapes[0]} and {shapes[1]} do not fit: the leading dimensions must broadcast"
        ) from None
    return matmul_op.bind(broadcast(m, (*lead, *m.shape[-2:])), broadcast(n, (*lead, k, columns)))


def _misfit(shapes: tuple[Any, Any], flags: tuple[bool, bool], inner_a: int, inner_b: int) -> str:
    names = [f"{shape}{' transposed' if flag else ''}" for shape, flag in zip(shapes, flags, strict=True)]
    text = f"[matmul] shapes {names[0]} and {names[1]} do not fit: {inner_a} columns against {inner_b} rows"
    a, b = shapes
    if len(a) > 1 and a[-2] == inner_b and not flags[0]:
        return f"{text}; transpose_a=True would fit"
    if len(b) > 1 and b[-1] == inner_a and not flags[1]:
        return f"{text}; transpose_b=True would fit"
    return f"{text}; the last dimension of the first must equal the last but one of the second"


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiply matrices, with operands of all ranks that ``numpy.matmul`` accepts.

    Parameters
    ----------
    a, b : tensor_like
        Matrices, stacks of matrices whose leading dimensions broadcast, or vectors.
    transpose_a, transpose_b : bool
        Exchange the last two dimensions of an operand first; this is free.
    adjoint_a, adjoint_b : bool
        Exchange the last two dimensions and take the complex conjugate first.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If an operand is a scalar, or the shapes do not fit.

    Examples
    --------
    >>> a = jt.constant([[1., 2.], [3., 4.]])
    >>> jt.matmul(a, a, transpose_b=True).numpy()
    array([[ 5., 11.],
           [11., 25.]], dtype=float32)
    """
    return apply(matmul_body, (a, b), (transpose_a, transpose_b, adjoint_a, adjoint_b))


def matvec(
    a: TensorLike, b: TensorLike, transpose_a: bool = False, adjoint_a: bool = False, name: str | None = None
) -> Tensor:
    """Multiply the matrices `a` by the vectors `b`; leading dimensions broadcast.

    Parameters
    ----------
    a : tensor_like of shape (..., m, n)
        Matrices.
    b : tensor_like of shape (..., n)
        Vectors.
    transpose_a, adjoint_a : bool
        Multiply by the transpose or the conjugate transpose of `a`.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    Examples
    --------
    >>> jt.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """
    return apply(_matvec, (a, b), (transpose_a, adjoint_a))


def _matvec(a: Any, b: Any, transpose_a: bool, adjoint_a: bool) -> Any:
    a, b = promote(a, b)
    if len(a.shape) < 2 or not b.shape:
        raise ShapeError(f"[matvec] needs matrices and vectors, got shapes {a.shape} and {b.shape}")
    if a.shape[-2 if transpose_a or adjoint_a else -1] != b.shape[-1]:
        kind = "rows" if transpose_a or adjoint_a else "columns"
        raise ShapeError(
            f"[matvec] b must have as many elements in its last dimension as a has {kind}, got shapes {a.shape} and "
            f"{b.shape}; matmul multiplies matrices"
        )
    column = to_shape(b, (*b.shape, 1))
    result = matmul_body(a, column, transpose_a, False, adjoint_a, False)
    return to_shape(result, result.shape[:-1])


# ---- tensordot -------------------------------------------------------------------------------------------------------


def _tensordot(a: Any, b: Any, axes: Any) -> Any:
    a, b = promote(a, b)
    left, right = _contracted(a.shape, b.shape, axes)
    if [a.shape[i] for i in left] != [b.shape[j] for j in right]:
        raise ShapeError(
            f"[tensordot] shapes {a.shape} and {b.shape} do not fit along axes {left} and {right}: "
            "contracted dimensions must be equal"
        )
    free_a = [i for i in range(len(a.shape)) if i not in left]
    free_b = [j for j in range(len(b.shape)) if j not in right]
    k = math.prod([a.shape[i] for i in left])
    shape_a = tuple([a.shape[i] for i in free_a])
    shape_b = tuple([b.shape[j] for j in free_b])
    m = to_shape(permuted(a, (*free_a, *left)), (math.prod(shape_a), k))
    n = to_shape(permuted(b, (*right, *free_b)), (k, math.prod(shape_b)))
    return to_shape(matmul_op.bind(m, n), (*shape_a, *shape_b))


def _contracted(a: tuple[int, ...], b: tuple[int, ...], axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of each operand that are summed over, in corresponding order."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(a), len(b)):
            raise ShapeError(f"[tensordot] axes={axes} is too many for shapes {a} and {b}")
        return tuple(range(len(a) - axes, len(a))), tuple(range(axes))
    if not isinstance(axes, tuple) or not all(isinstance(pair, (int, tuple)) for pair in axes):
        raise TypeError(f"[tensordot] axes must be an int or a pair of axes, got {axes}")
    both = tuple([(pair,) if isinstance(pair, int) else tuple(pair) for pair in axes])
    if len(both) != 2 or len(both[0]) != len(both[1]):
        raise ShapeError(f"[tensordot] axes must name equally many dimensions of both operands, got {axes!r}")
    for named, shape in zip(both, (a, b), strict=True):
        normalized_axes("tensordot", named, len(shape))
    return tuple([i % len(a) for i in both[0]]), tuple([j % len(b) for j in both[1]])


def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2, name: str | None = None) -> Tensor:
    """Sum the products of elements of `a` and `b` over some of their dimensions.

    Parameters
    ----------
    a, b : tensor_like
        The operands.
    axes : int or pair of (int or sequence of int)
        The number of last dimensions of `a` and first dimensions of `b` to sum over, or the dimensions of each.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the contracted dimensions differ.

    Examples
    --------
    >>> jt.tensordot(jt.ones([2, 3]), jt.ones([3, 4]), axes=1).shape
    (2, 4)
    """
    return apply(_tensordot, (a, b), (hashable(axes),))


def _outer(a: Any, b: Any) -> Any:
    a, b = as_symbol(a), as_symbol(b)
    return _tensordot(to_shape(a, (a.aval.size,)), to_shape(b, (b.aval.size,)), 0)


def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """Multiply each element of `a` by each element of `b`, both flattened.

    Parameters
    ----------
    a, b : tensor_like
        Vectors; other shapes are flattened.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.linalg.outer([1.0, 2.0], [3.0, 4.0, 5.0]).numpy()
    array([[ 3.,  4.,  5.],
           [ 6.,  8., 10.]], dtype=float32)
    """
    return apply(_outer, (a, b))
