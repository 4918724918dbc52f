"""NumPy's products, contractions and diagonals on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.errors import DTypeError, ShapeError
from jittape.numpy_api.numpy_operands import dtype_of, reject, shape_of, strong
from jittape.numpy_api.numpy_reductions import wide
from jittape.primitives.broadcast import axis_key
from jittape.primitives.elementwise.arithmetic import multiply, subtract
from jittape.primitives.elementwise.complex_numbers import cast, conj
from jittape.primitives.indexing.getitem import getitem
from jittape.primitives.linalg.einsum import diag_part, einsum, trace
from jittape.primitives.linalg.matmul import matmul, outer, tensordot
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import one_axis, reshape

__all__ = ["PRODUCTS"]


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    reject("dot", out=out)
    a, b = strong(a), strong(b)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if rank_a == 0 or rank_b == 0:
        return multiply(a, b)
    if rank_b <= 2:
        return matmul(a, b)
    return tensordot(a, b, ([rank_a - 1], [rank_b - 2]))


def _inner(a: Any, b: Any) -> Any:
    a, b = strong(a), strong(b)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    return multiply(a, b) if 0 in (rank_a, rank_b) else tensordot(a, b, ([rank_a - 1], [rank_b - 1]))


def _vdot(a: Any, b: Any) -> Any:
    return matmul(conj(reshape(strong(a), -1)), reshape(strong(b), -1))


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    reject("outer", out=out)
    return outer(strong(a), strong(b))


def _outer_of_vectors(x1: Any, x2: Any, /) -> Any:
    for x in (x1, x2):
        if len(shape_of(x)) != 1:
            raise ShapeError(f"[np.linalg.outer] needs vectors, got shape {shape_of(x)}; np.outer flattens")
    return _outer(x1, x2)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    return tensordot(strong(a), strong(b), axes)


def _einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: Any = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> Any:
    reject("einsum", out=out)
    equation, *arrays = _as_equation(operands)
    arrays = [strong(a) for a in arrays]
    if dtype is not None:
        for a in arrays:
            if not np.can_cast(dtype_of(a), dtype, casting):
                raise DTypeError(
                    f"[np.einsum] Cannot cast operand from {dtype_of(a).name} to {np.dtype(dtype).name} according to "
                    f"the rule {casting!r}"
                )
        arrays = [cast(a, dtype) for a in arrays]
    return einsum(equation, *arrays)


def _trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    reject("trace", out=out)
    return trace(wide(a, dtype), offset, axis1, axis2)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return diag_part(a, offset, axis1, axis2)


# ---- Einstein's sums in the form of lists ----------------------------------------------------------------------------


def _as_equation(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the equation and the operands of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    if isinstance(operands[0], str) or len(operands) < 2:
        return operands
    pairs, rest = len(operands) // 2, len(operands) % 2
    terms = [_term(operands[2 * i + 1]) for i in range(pairs)]
    result = f"->{_term(operands[-1])}" if rest else ""
    return (",".join(terms) + result, *operands[: 2 * pairs : 2])


def _term(subscripts: Any) -> str:
    if not isinstance(subscripts, (list, tuple, np.ndarray)):
        raise TypeError(f"[np.einsum] subscripts must be a list of ints and Ellipsis, got {subscripts!r}")
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    names = []
    for s in subscripts:
        if s is not Ellipsis and not (isinstance(s, (int, np.integer)) and 0 <= s < len(letters)):
            raise ValueError(f"[np.einsum] each subscript must be Ellipsis or an int from 0 to 51, got {s!r}")
        names.append("..." if s is Ellipsis else letters[s])
    return "".join(names)


def _einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> Any:
    equation, *arrays = _as_equation(operands)
    shapes = [np.broadcast_to(np.zeros((), dtype_of(a)), shape_of(a)) for a in map(strong, arrays)]
    return np.einsum_path(equation, *shapes, optimize=optimize)


# ---- cross products --------------------------------------------------------------------------------------------------


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa, axisb, axisc = (axis,) * 3
    a, b = strong(a), strong(b)
    if not shape_of(a) or not shape_of(b):
        raise ValueError("[np.cross] At least one array has zero dimension")
    a = moveaxis(a, one_axis("np.cross", axis_key(axisa), len(shape_of(a))), -1)
    b = moveaxis(b, one_axis("np.cross", axis_key(axisb), len(shape_of(b))), -1)
    lengths = shape_of(a)[-1], shape_of(b)[-1]
    if not {*lengths} <= {2, 3}:
        raise ShapeError(f"[np.cross] vectors must have 2 or 3 elements, got {lengths[0]} and {lengths[1]}")
    (a0, a1, a2), (b0, b1, b2) = (_three(x) for x in (a, b))
    if lengths == (2, 2):
        return subtract(multiply(a0, b1), multiply(a1, b0))
    parts = [
        subtract(multiply(a1, b2), multiply(a2, b1)),
        subtract(multiply(a2, b0), multiply(a0, b2)),
        subtract(multiply(a0, b1), multiply(a1, b0)),
    ]
    return stack(parts, one_axis("np.cross", axis_key(axisc), len(shape_of(parts[0])) + 1))


def _three(x: Any) -> list[Any]:
    """Return the elements of vectors; the third element is zero if there are two."""
    parts = [getitem(x, (..., i)) for i in range(shape_of(x)[-1])]
    return parts if len(parts) == 3 else [*parts, np.zeros((), dtype_of(x))]


PRODUCTS: dict[Any, Callable[..., Any]] = {
    np.cross: _cross,
    np.diagonal: _diagonal,
    np.dot: _dot,
    np.einsum: _einsum,
    np.einsum_path: _einsum_path,
    np.inner: _inner,
    np.linalg.diagonal: lambda x, /, *, offset=0: diag_part(x, offset),
    np.linalg.matmul: lambda x1, x2, /: matmul(strong(x1), strong(x2)),
    np.linalg.outer: _outer_of_vectors,
    np.linalg.tensordot: lambda a, b, /, *, axes=2: _tensordot(a, b, axes),
    np.linalg.trace: lambda x, /, *, offset=0, dtype=None: trace(wide(x, dtype), offset),
    np.outer: _outer,
    np.tensordot: _tensordot,
    np.trace: _trace,
    np.vdot: _vdot,
}
