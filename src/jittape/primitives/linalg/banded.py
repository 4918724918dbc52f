"""Systems of equations with triangular matrices that have few diagonals.

The diagonals of a lower triangular matrix are rows from the main diagonal on: element i of row k is the element of the
matrix in row i and column i - k. Those of an upper triangular matrix end with the main diagonal: element i of the k-th
row from below is in column i + k. Elements outside of the matrix are not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Control, Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, broadcast, conj, promote, sum_over, to_shape
from jittape.primitives.elementwise.arithmetic import multiply, negative
from jittape.primitives.elementwise.assertions import MADE, end_run_where
from jittape.primitives.elementwise.comparison import equal
from jittape.primitives.elementwise.division import divide
from jittape.primitives.linalg.lu_factors import NOT_INVERTIBLE
from jittape.primitives.linalg.matrix_operands import matrix_operand, raise_for_first, require_matrix_dtype
from jittape.primitives.reduce.cumulative import advanced, delayed, recurrence_op
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.views import flipped, placed, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["banded_triangular_solve", "substituted"]


def _abstract_eval(bands: Aval, b: Aval, *, lower: bool, adjoint: bool) -> Aval:
    require_matrix_dtype("banded_triangular_solve", "bands", bands)
    if bands.dtype != b.dtype:
        raise DTypeError(
            "[banded_triangular_solve] operands must have equal dtypes, "
            f"got {bands.dtype.name} and {b.dtype.name}"
        )
    if b.ndim < 2 or (*bands.shape[:-2], bands.shape[-1]) != b.shape[:-1]:
        raise ShapeError(f"[banded_triangular_solve] operands {bands} and {b} do not fit")
    return b


def _impl(bands: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    raise_for_first(
        np.any(bands[..., 0 if lower else -1, :] == 0, axis=-1),
        f"[banded_triangular_solve] {NOT_INVERTIBLE}",
        "is singular: an element of its diagonal is zero",
        "solve another system",
    )
    return substituted(bands, b, lower, adjoint)


def substituted(bands: Any, b: Any, lower: bool, adjoint: bool) -> Any:
    """Return the solutions for diagonals without zeros."""
    bands = bands if lower else np.flip(bands, -2)
    n = b.shape[-2]
    rows = [bands[..., k, :] for k in range(min(bands.shape[-2], n))]
    if adjoint:
        # An element moves from row i to its column, which is row i - k or i + k of the adjoint.
        rows = [np.roll(np.conj(row), -k if lower else k, axis=-1) for k, row in enumerate(rows)]
    forward = lower != adjoint
    x = np.array(b)
    for step in range(n):
        i = step if forward else n - 1 - step
        for k in range(1, min(len(rows), step + 1)):
            x[..., i, :] -= rows[k][..., i, None] * x[..., i - k if forward else i + k, :]
        x[..., i, :] /= rows[0][..., i, None]
    return x


substitution_op = Primitive(
    "banded_substitution",
    abstract_eval=lambda bands, b, *, lower, adjoint: b,
    impl=lambda bands, b, *, lower, adjoint: substituted(bands, b, lower, adjoint),
    lowering=Control(
        "banded",
        lambda operands, _, *, lower, adjoint: [substituted(operands[0], operands[1], lower, adjoint)],
    ),
    gradient_stops=MADE,
)
"""The solutions, for diagonals without zeros."""


def _decomposed(bands: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    """Return a linear recurrence for one or two diagonals, and a kernel of its own for more, for compiled code."""
    count, n = bands.shape[-2:]
    if not b.aval.size:
        return None
    axis = len(b.shape) - 2

    def row(i: int) -> Any:
        return to_shape(sliced(bands, axis, i, 1), (*bands.shape[:-2], n))

    diagonal = row(0 if lower else count - 1)
    end_run_where(equal(diagonal, 0), "ValueError", f"[banded_triangular_solve] {NOT_INVERTIBLE}")
    if count > 2:
        return substitution_op.bind(bands, b, lower=lower, adjoint=adjoint)
    if adjoint:
        bands, diagonal = conj(bands), conj(diagonal)

    def wide(x: Any) -> Any:
        return broadcast(to_shape(x, (*x.shape, 1)), b.shape)

    scaled = divide(b, wide(diagonal))
    if count == 1:
        return scaled
    # Zeros replace the element that is not used; an adjoint has the element of the neighboring row.
    shifted = advanced(row(1), axis) if lower else delayed(row(0), axis, 0.0)
    if not adjoint:
        shifted = delayed(shifted, axis, 0.0) if lower else advanced(shifted, axis)
    factors = wide(negative(divide(shifted, diagonal)))
    if lower != adjoint:
        return recurrence_op.bind(factors, scaled, axis=axis)
    factors, scaled = flipped(factors, (axis,)), flipped(scaled, (axis,))
    return flipped(recurrence_op.bind(factors, scaled, axis=axis), (axis,))


def _bands_vjp(g: Any, out: Any, bands: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    g_b = _rhs_vjp(g, out, bands, b, lower=lower, adjoint=adjoint)
    left, right = (out, conj(g_b)) if adjoint else (g_b, conj(out))
    rows = [_diagonal_of_product(left, right, k, lower) for k in range(bands.shape[-2])]
    return negative(stack(rows if lower else rows[::-1], axis=-2))


def _diagonal_of_product(left: Any, right: Any, k: int, lower: bool) -> Any:
    """Return the elements in row i and column i - k (i + k) of ``left @ right^T`` for all i, 0 outside."""
    rank, n = len(left.shape), left.shape[-2]
    count = max(n - k, 0)
    start = n - count if lower else 0
    rows = sliced(left, rank - 2, start, count)
    columns = sliced(right, rank - 2, n - count - start, count)
    total = sum_over(multiply(rows, columns), (rank - 1,))
    return placed(total, (*(0,) * (rank - 2), start), left.shape[:-1])


def _rhs_vjp(g: Any, out: Any, bands: Any, b: Any, *, lower: bool, adjoint: bool) -> Any:
    return banded_triangular_solve_op.bind(bands, g, lower=lower, adjoint=not adjoint)


banded_triangular_solve_op: Primitive = Primitive(
    "banded_triangular_solve",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_bands_vjp, _rhs_vjp),
    lowering=Decomposition(_decomposed),
    batch=alike(),
)


def _banded_triangular_solve(bands: Any, b: Any, lower: bool, adjoint: bool) -> Any:
    op = "banded_triangular_solve"
    bands, b = matrix_operand(op, "bands", bands), as_symbol(b)
    require_matrix_dtype(op, "rhs", b)
    if not bands.shape[-2]:
        raise ShapeError(f"[{op}] bands must have at least the main diagonal, got shape {bands.shape}")
    if len(b.shape) not in (len(bands.shape), len(bands.shape) - 1):
        raise ShapeError(
            f"[{op}] rhs must have the shape (..., m) or (..., m, n) for bands of shape {bands.shape}, got {b.shape}"
        )
    is_vector = len(b.shape) == len(bands.shape) - 1
    bands, b = promote(bands, to_shape(b, (*b.shape, 1)) if is_vector else b)
    if b.shape[-2] != bands.shape[-1]:
        raise ShapeError(
            f"[{op}] rhs must have {bands.shape[-1]} rows, as the matrices have, got {b.shape[-2]}"
        )
    try:
        lead = np.broadcast_shapes(bands.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"[{op}] the leading dimensions of bands and rhs must broadcast, got {bands.shape[:-2]} and {b.shape[:-2]}"
        ) from None
    bands, b = (broadcast(x, (*lead, *x.shape[-2:])) for x in (bands, b))
    result = banded_triangular_solve_op.bind(bands, b, lower=lower, adjoint=adjoint)
    return to_shape(result, result.shape[:-1]) if is_vector else result


def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve systems of linear equations with triangular matrices that have few diagonals.

    Parameters
    ----------
    bands : tensor_like of shape (..., k, m)
        The diagonals as rows. If `lower`, row j is the j-th subdiagonal, shifted to the right: its first j elements are
        not used. Otherwise the last row is the main diagonal, and the j-th row above it is the j-th superdiagonal,
        whose last j elements are not used.
    rhs : tensor_like of shape (..., m) or (..., m, n)
        One right-hand side, or several in columns.
    lower : bool
        The matrices are lower triangular, otherwise upper triangular.
    adjoint : bool
        Solve with the conjugate transposes of the matrices.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., m) or (..., m, n)

    Raises
    ------
    LinAlgError
        If an element of a main diagonal is zero; the message has the index of the matrix in the batch.
    ShapeError
        If the shapes do not fit.
    DTypeError
        If an operand is not float32, float64, complex64 or complex128.

    Examples
    --------
    >>> jt.linalg.banded_triangular_solve([[2.0, 2.0], [0.0, 1.0]], [[1.0], [2.0]]).numpy()
    array([[0.5 ],
           [0.75]], dtype=float32)
    """
    return apply(
        _banded_triangular_solve, (bands, rhs), (as_flag("lower", lower), as_flag("adjoint", adjoint))
    )
