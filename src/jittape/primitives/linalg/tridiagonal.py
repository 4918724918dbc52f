"""Tridiagonal matrices: products and systems of equations.

The compact form has three rows: superdiagonal, main diagonal and subdiagonal. Row i of the matrix has the i-th elements
of all three, so the last element of the first row and the first one of the last row are not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import bool_
from jittape.core.forms import Control, Decomposition, Scan
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag, shown
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.batched_params import alike, along_axis
from jittape.primitives.broadcast import (
    as_symbol,
    broadcast,
    conj,
    promote,
    require_equal,
    sum_over,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import add, multiply, negative, subtract
from jittape.primitives.elementwise.assertions import MADE, end_run_where
from jittape.primitives.elementwise.division import divide
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.lu_factors import NOT_INVERTIBLE
from jittape.primitives.linalg.matrix_operands import (
    matrix_operand,
    raise_for_first,
    require_matrix_dtype,
    require_square,
)
from jittape.primitives.reduce.cumulative import advanced, delayed, recurrence_op
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.shape.views import flipped, placed, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["solved_with_exchanges", "tridiagonal_matmul", "tridiagonal_solve"]

FORMATS = ("compact", "sequence", "matrix")


# ---- formats ---------------------------------------------------------------------------------------------------------


def _padded(x: Any, count: int, offset: int) -> Any:
    """Return a diagonal of `count` elements, or of one less, with `count` elements."""
    if x.shape[-1] == count:
        return x
    return placed(x, (*(0,) * (len(x.shape) - 1), offset), (*x.shape[:-1], count))


def _compact(op: str, form: str, operands: tuple[Any, ...]) -> Any:
    """Return the compact form of matrices in the format `form`."""
    if form == "compact":
        (x,) = operands
        x = matrix_operand(op, "diagonals", x)
        if x.shape[-2] != 3:
            raise ShapeError(f"[{op}] compact diagonals must have the shape (..., 3, m), got {x.shape}")
        return x
    if form == "matrix":
        (x,) = operands
        x = matrix_operand(op, "diagonals", x)
        require_square(op, "diagonals", x)
        parts: Any = [diag_part(x, k) for k in (1, 0, -1)] if x.shape[-1] else [diag_part(x)] * 3
    else:
        parts = [as_symbol(x) for x in operands]
        for x in parts:
            require_matrix_dtype(op, "each diagonal", x)
        lengths = [x.shape[-1:] for x in parts]
        count = lengths[1][0] if lengths[1] else 0
        allowed = ((count,), (count - 1,))
        if () in lengths or lengths[0] not in allowed or lengths[2] not in allowed:
            raise ShapeError(
                f"[{op}] a sequence of diagonals must have the shapes (..., m) or (..., m - 1), (..., m), "
                f"(..., m) or (..., m - 1), got {', '.join(str(x.shape) for x in parts)}"
            )
        if len({x.shape[:-1] for x in parts}) > 1:
            raise ShapeError(
                f"[{op}] the diagonals must have equal leading dimensions, got "
                f"{', '.join(str(x.shape) for x in parts)}"
            )
        parts = promote(*parts)
    count = parts[1].shape[-1]
    return stack([_padded(parts[0], count, 0), parts[1], _padded(parts[2], count, 1)], axis=-2)


def _arguments(op: str, diagonals: Any, form: Any) -> tuple[Any, ...]:
    """Return the operands that describe the matrices."""
    if not isinstance(form, str) or form not in FORMATS:
        names = ", ".join(repr(name) for name in FORMATS)
        raise ValueError(f"[{op}] diagonals_format must be one of {names}, got {shown(form)}")
    if form != "sequence":
        return (diagonals,)
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError(f"[{op}] diagonals must be a sequence of three tensors for the format 'sequence'")
    return tuple(diagonals)


def _rows(x: Any) -> tuple[Any, ...]:
    """Return the three rows of the compact form."""
    axis = len(x.shape) - 2
    return tuple([to_shape(sliced(x, axis, i, 1), (*x.shape[:-2], x.shape[-1])) for i in range(3)])


def _transposed(x: Any) -> Any:
    """Return the compact form of the conjugate transpose."""
    above, diagonal, below = _rows(conj(x))
    axis = len(diagonal.shape) - 1
    return stack([advanced(below, axis), diagonal, delayed(above, axis, 0.0)], axis=-2)


# ---- solution --------------------------------------------------------------------------------------------------------


def _abstract_eval(x: Aval, b: Aval, *, pivoting: bool) -> Aval:
    require_matrix_dtype("tridiagonal_solve", "diagonals", x)
    if x.dtype != b.dtype:
        raise DTypeError(
            f"[tridiagonal_solve] operands must have equal dtypes, got {x.dtype.name} and {b.dtype.name}"
        )
    if x.ndim < 2 or x.shape != (*b.shape[:-2], 3, *b.shape[-2:-1]):
        raise ShapeError(f"[tridiagonal_solve] operands {x} and {b} do not fit")
    return b


def _impl(x: Any, b: Any, *, pivoting: bool) -> Any:
    if b.size == 0:
        return np.empty_like(b)
    if not pivoting:
        return _eliminated(x, b)
    result, singular = solved_with_exchanges(x, b)
    raise_for_first(singular, *_SINGULAR)
    return result


def solved_with_exchanges(x: Any, b: Any) -> tuple[Any, Any]:
    """Return the solutions with partial pivoting, and whether each matrix is singular."""
    lead = b.shape[:-2]
    if b.shape[-2] == 1:
        return b / x[..., 1, :, None], x[..., 1, 0] == 0
    from scipy.linalg.lapack import get_lapack_funcs  # imported on first use, not with the package

    (gtsv,) = get_lapack_funcs(("gtsv",), (x, b))
    result, singular = np.empty_like(b), np.zeros(lead, bool)
    for index in np.ndindex(lead):
        above, diagonal, below = x[index]
        *_, result[index], info = gtsv(below[1:], diagonal, above[:-1], b[index])
        singular[index] = info > 0
    return result, singular


_SINGULAR = (f"[tridiagonal_solve] {NOT_INVERTIBLE}", "is singular: a pivot is zero", "solve another system")


def _eliminated(x: Any, b: Any) -> Any:
    """Return the solutions by elimination without pivoting, the algorithm of Thomas."""
    above, diagonal, below = (x[..., i, :, None] for i in range(3))
    n = b.shape[-2]
    ratio, result = np.zeros_like(above), np.zeros_like(b)
    for i in range(n):
        pivot = diagonal[..., i, :] - (below[..., i, :] * ratio[..., i - 1, :] if i else 0)
        ratio[..., i, :] = above[..., i, :] / pivot
        known = below[..., i, :] * result[..., i - 1, :] if i else 0
        result[..., i, :] = (b[..., i, :] - known) / pivot
    for i in reversed(range(n - 1)):
        result[..., i, :] -= ratio[..., i, :] * result[..., i + 1, :]
    return result


tridiagonal_ratio_op = Primitive(
    "tridiagonal_ratio",
    abstract_eval=lambda above, diagonal, below, *, axis: require_equal(
        "tridiagonal_ratio", above, diagonal, below
    ),
    impl=lambda above, diagonal, below, *, axis: _ratios(above, diagonal, below, axis),
    gradient_stops=MADE,
    lowering=Scan(lambda m, before, above, diagonal, below: m.divide(above, diagonal - below * before), 0.0),
    batch=along_axis(),
)
"""The elements above the diagonal after an elimination without pivoting that makes the diagonal ones."""


def _ratios(above: Any, diagonal: Any, below: Any, axis: int) -> Any:
    result = np.empty_like(above)
    out, *rows = [np.moveaxis(x, axis, 0) for x in (result, above, diagonal, below)]
    before: Any = np.zeros(out.shape[1:], above.dtype)
    for i, (a, d, c) in enumerate(zip(*rows, strict=True)):
        out[i] = before = a / (d - c * before)
    return result


exchanges_op = Primitive(
    "tridiagonal_exchanges",
    abstract_eval=lambda x, b, *, result_index: Aval(b.shape[:-2], bool_) if result_index else b,
    impl=lambda x, b, *, result_index: solved_with_exchanges(x, b)[result_index],
    lowering=Control(
        "tridiagonal",
        lambda operands, picks: [solved_with_exchanges(*operands)[i] for i in picks],
    ),
    gradient_stops=MADE,
)
"""The solutions with partial pivoting, and whether the matrices are singular."""


def _decomposed(x: Any, b: Any, *, pivoting: bool) -> Any:
    """Return a kernel of its own with pivoting, and scans without, for compiled code."""
    if not b.aval.size:
        return None
    if not pivoting:
        return _in_scans(x, b)
    singular = exchanges_op.bind(x, b, result_index=1)
    end_run_where(singular, "ValueError", _SINGULAR[0])
    return exchanges_op.bind(x, b, result_index=0)


def _in_scans(x: Any, b: Any) -> Any:
    """Return the elimination without pivoting as scans."""
    above, diagonal, below = _rows(x)
    axis = len(diagonal.shape) - 1
    # Zeros replace the two elements that are not used.
    above, below = advanced(delayed(above, axis, 0.0), axis), delayed(advanced(below, axis), axis, 0.0)
    ratio = tridiagonal_ratio_op.bind(above, diagonal, below, axis=axis)
    pivot = subtract(diagonal, multiply(below, delayed(ratio, axis, 0.0)))

    def wide(x: Any) -> Any:
        return broadcast(to_shape(x, (*x.shape, 1)), b.shape)

    forward = recurrence_op.bind(wide(negative(divide(below, pivot))), divide(b, wide(pivot)), axis=axis)
    backward = recurrence_op.bind(
        flipped(wide(negative(ratio)), (axis,)), flipped(forward, (axis,)), axis=axis
    )
    return flipped(backward, (axis,))


def _diagonals_vjp(g: Any, out: Any, x: Any, b: Any, *, pivoting: bool) -> Any:
    g_b = _rhs_vjp(g, out, x, b, pivoting=pivoting)
    axis = len(b.shape) - 2
    solution = conj(out)
    parts = [
        sum_over(multiply(g_b, other), (axis + 1,))
        for other in (advanced(solution, axis), solution, delayed(solution, axis, 0.0))
    ]
    return negative(stack(parts, axis=-2))


def _rhs_vjp(g: Any, out: Any, x: Any, b: Any, *, pivoting: bool) -> Any:
    return tridiagonal_solve_op.bind(_transposed(x), g, pivoting=pivoting)


tridiagonal_solve_op: Primitive = Primitive(
    "tridiagonal_solve",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_diagonals_vjp, _rhs_vjp),
    lowering=Decomposition(_decomposed),
    batch=alike(),
)


def _tridiagonal_solve(*operands: Any) -> Any:
    *diagonals, b, form, transpose, conjugate, pivoting = operands
    op = "tridiagonal_solve"
    x, b = _compact(op, form, tuple(diagonals)), as_symbol(b)
    require_matrix_dtype(op, "rhs", b)
    x, b = promote(x, b)
    is_vector = len(b.shape) == len(x.shape) - 1
    if not is_vector and len(b.shape) != len(x.shape):
        raise ShapeError(
            f"[{op}] rhs must have the shape (..., m) or (..., m, n) with the leading dimensions "
            f"{x.shape[:-2]} of the diagonals, got {b.shape}"
        )
    b = conj(b) if conjugate else b
    if is_vector:
        b = to_shape(b, (*b.shape, 1))
    elif transpose:
        b = matrix_transpose(b)
    result = tridiagonal_solve_op.bind(*_fitted(op, x, b), pivoting=pivoting)
    return to_shape(result, result.shape[:-1]) if is_vector else result


def _fitted(op: str, x: Any, b: Any) -> tuple[Any, Any]:
    """Return compact matrices and operands with as many rows, broadcast to common leading dimensions."""
    if x.shape[-1] != b.shape[-2]:
        raise ShapeError(f"[{op}] rhs must have {x.shape[-1]} rows, as the matrices have, got {b.shape[-2]}")
    try:
        lead = np.broadcast_shapes(x.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"[{op}] the leading dimensions of diagonals and rhs must broadcast, got {x.shape[:-2]} and "
            f"{b.shape[:-2]}"
        ) from None
    return broadcast(x, (*lead, *x.shape[-2:])), broadcast(b, (*lead, *b.shape[-2:]))


def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solve systems of linear equations with tridiagonal matrices in linear time.

    Parameters
    ----------
    diagonals : tensor_like or sequence of three tensor_like
        The matrices in the format `diagonals_format`; float32, float64, complex64 or complex128.
    rhs : tensor_like of shape (..., m) or (..., m, n)
        One right-hand side, or several in columns.
    diagonals_format : {'compact', 'sequence', 'matrix'}
        ``'compact'``: an array of shape (..., 3, m) with the superdiagonal, the main diagonal and the subdiagonal. The
        last element of the first row and the first one of the last row are not used. ``'sequence'``: three arrays of
        shape (..., m), where the first and the last may have m - 1 elements. ``'matrix'``: arrays of shape (..., m, m),
        of which the three diagonals are read.
    transpose_rhs, conjugate_rhs : bool
        Transpose the last two dimensions of `rhs` (unless it is a vector), or take the complex conjugate first.
    name : str, optional
        Ignored.
    partial_pivoting : bool
        Exchange rows if necessary. Matrices that are diagonally dominant or positive definite do not need it. Without
        exchanges a zero pivot gives infinities or nans.
    perturb_singular : bool
        Must be False: solutions with perturbed pivots are not supported.

    Returns
    -------
    tensor of shape (..., m) or (..., m, n)

    Raises
    ------
    DTypeError
        If `diagonals` or `rhs` is bool or an integer.
    LinAlgError
        If a matrix is singular and `partial_pivoting` is True; the message has its index in the batch.
    ShapeError
        If the shapes do not fit.
    NotImplementedError
        If `perturb_singular` is True.

    Examples
    --------
    >>> jt.linalg.tridiagonal_solve([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]], [3.0, 4.0, 3.0]).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    if as_flag("perturb_singular", perturb_singular):
        raise NotImplementedError(
            "[tridiagonal_solve] perturb_singular=True is not supported; add a small multiple of the identity"
        )
    arguments = _arguments("tridiagonal_solve", diagonals, diagonals_format)
    flags = (
        as_flag("transpose_rhs", transpose_rhs),
        as_flag("conjugate_rhs", conjugate_rhs),
        as_flag("partial_pivoting", partial_pivoting),
    )
    return apply(_tridiagonal_solve, (*arguments, rhs), (diagonals_format, *flags))


# ---- product ---------------------------------------------------------------------------------------------------------


def _tridiagonal_matmul(*operands: Any) -> Any:
    *diagonals, b, form = operands
    op = "tridiagonal_matmul"
    x, b = promote(_compact(op, form, tuple(diagonals)), matrix_operand(op, "rhs", b))
    x, b = _fitted(op, x, b)
    above, diagonal, below = (broadcast(to_shape(d, (*d.shape, 1)), b.shape) for d in _rows(x))
    n, axis = b.shape[-2], len(b.shape) - 2
    total = multiply(diagonal, b)
    if n > 1:
        for factor, start in ((above, 0), (below, 1)):
            product = multiply(sliced(factor, axis, start, n - 1), sliced(b, axis, 1 - start, n - 1))
            offsets = tuple([start if a == axis else 0 for a in range(len(b.shape))])
            total = add(total, placed(product, offsets, b.shape))
    return total


def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Multiply tridiagonal matrices by matrices.

    Parameters
    ----------
    diagonals : tensor_like or sequence of three tensor_like
        The first factors in the format `diagonals_format`, as in `tridiagonal_solve`.
    rhs : tensor_like of shape (..., m, n)
        The second factors.
    diagonals_format : {'compact', 'sequence', 'matrix'}
        See `tridiagonal_solve`.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `diagonals` or `rhs` is bool or an integer.
    ShapeError
        If `diagonals` or `rhs` has fewer than two dimensions, or has a wrong shape, or the rows of `rhs` do not
        fit.

    Examples
    --------
    >>> jt.linalg.tridiagonal_matmul([[1.0, 0.0], [2.0, 2.0], [0.0, 3.0]], [[1.0], [1.0]]).numpy()
    array([[3.],
           [5.]], dtype=float32)
    """
    arguments = _arguments("tridiagonal_matmul", diagonals, diagonals_format)
    return apply(_tridiagonal_matmul, (*arguments, rhs), (diagonals_format,))
