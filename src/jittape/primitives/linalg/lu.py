"""The LU factorization with its factors as results, and functions of such factors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from jittape.core.dtypes import as_dtype, int32, int64
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, to_shape
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.elementwise.piecewise import maximum, minimum
from jittape.primitives.indexing.checked_integers import checked_integers
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.row_order import exchanged
from jittape.primitives.indexing.sorting import argsort
from jittape.primitives.linalg.lu_factors import lu_factor_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import (
    common_matrices,
    matrix_operand,
    require_square,
    row_and_column,
    solve_broadcast,
    times_adjoint,
)
from jittape.primitives.linalg.triangular import triangle, triangular_solve_op
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.shape.views import sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["LU", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "lu_with_pivots", "order_of_pivots"]


def unit_lower(factors: Any) -> Any:
    """Return the lower factor of LU factors in one matrix, with ones on the diagonal."""
    rows, columns = row_and_column(factors.shape)
    return where(less(columns, rows), factors, eye(factors.shape[-1], dtype=factors.dtype))


# ---- factorization ---------------------------------------------------------------------------------------------------


def _rows_permuted(x: Any, order: Any) -> Any:
    """Return the rows of matrices in the order of indices with equal leading dimensions."""
    return gather(x, order, batch_dims=len(order.shape) - 1)


def _factors_vjp(g: Any, out: Any, a: Any, packed: Any) -> Any:
    """Return ``P^T L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H`` (Walter and Lehmann, arXiv:1009.6112)."""
    lower, upper = unit_lower(out), triangle(out, lower=False)
    rows, columns = row_and_column(out.shape)
    # The other triangle of `g` has no influence on the triangle of the product that is used.
    middle = where(less(columns, rows), matmul_op.bind(adjoint(lower), g), times_adjoint(g, upper))
    left = triangular_solve_op.bind(lower, middle, lower=True, adjoint=True)
    both = adjoint(triangular_solve_op.bind(upper, adjoint(left), lower=False, adjoint=False))
    return _rows_permuted(both, _permutation(packed, inverted=True))


lu_op = Primitive(
    "lu",
    abstract_eval=lambda a, packed: a,
    impl=lambda a, packed: np.swapaxes(packed[..., :-1, :], -1, -2).copy(),
    vjp=(_factors_vjp, None),
    lowering=Decomposition(
        lambda a, packed: matrix_transpose(sliced(packed, len(a.shape) - 2, 0, a.shape[-1]))
    ),
    batch=alike(),
)
"""Both factors in one matrix, as LAPACK returns them: the derivative of the packed factors."""


def _interchanges(packed: Any) -> Any:
    """Return the row that LAPACK exchanges each row with."""
    n = packed.shape[-1]
    rows = to_shape(sliced(packed, len(packed.shape) - 2, n, 1), (*packed.shape[:-2], n))
    targets = cast_to(real(rows), int64)
    # The number of a pivot that LAPACK finds among nans may be out of range.
    return minimum(maximum(targets, filled(targets, 0)), filled(targets, max(n - 1, 0)))


def _permutation(packed: Any, inverted: bool = False) -> Any:
    """Return the row of the matrix that each row of the factors comes from, or the inverse permutation."""
    return exchanged(_interchanges(packed), inverted)


def _lu_with_pivots(x: Any) -> tuple[Any, Any]:
    a = matrix_operand("lu", "input", x)
    require_square("lu", "input", a)
    packed = lu_factor_op.bind(a)
    return lu_op.bind(a, packed), cast_to(_interchanges(packed), int32)


def lu_with_pivots(a: TensorLike) -> tuple[Tensor, Tensor]:
    """Return both factors of square matrices in one matrix, and LAPACK's pivots, the row each row is exchanged with."""
    result: tuple[Tensor, Tensor] = apply(_lu_with_pivots, (a,))
    return result


def _order_of_pivots(pivots: Any, op: str, argument: str) -> Any:
    return exchanged(checked_integers(op, argument, pivots, pivots.shape[-1]))


def order_of_pivots(pivots: TensorLike, op: str, argument: str) -> Tensor:
    """Return the permutation of rows after LAPACK's exchanges; a pivot that is no row raises an error."""
    return apply(_order_of_pivots, (pivots,), (op, argument))


class LU(NamedTuple):
    """Both factors in one matrix and the permutation of rows, as returned by `lu`."""

    lu: Tensor
    p: Tensor


def _lu(x: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    a = matrix_operand("lu", "input", x)
    require_square("lu", "input", a)
    packed = lu_factor_op.bind(a)
    return lu_op.bind(a, packed), cast_to(_permutation(packed), dtype)


def lu(input: TensorLike, output_idx_type: DTypeLike = int32, name: str | None = None) -> LU:
    """Factorize square matrices as ``L @ U`` with exchanged rows, by partial pivoting.

    The factors of a singular matrix have a zero on the diagonal; their gradient contains infinities or nans.

    Parameters
    ----------
    input : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    output_idx_type : dtype
        int32 or int64, the dtype of the permutation.
    name : str, optional
        Ignored.

    Returns
    -------
    lu : tensor of shape (..., m, m)
        U in the upper triangle. Below are the elements of L, whose diagonal is ones.
    p : tensor of shape (..., m)
        The permutation: row i of ``L @ U`` is row ``p[i]`` of `input`.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If a dtype is not supported.

    Examples
    --------
    >>> factors, p = jt.linalg.lu([[1.0, 2.0], [4.0, 2.0]])
    >>> print(factors.numpy(), p.numpy())
    [[4.   2.  ]
     [0.25 1.5 ]] [1 0]
    """
    dtype = as_dtype(output_idx_type)
    if dtype not in (int32, int64):
        raise DTypeError(f"[lu] output_idx_type must be int32 or int64, got {dtype.name}")
    return LU(*apply(_lu, (input,), (dtype,)))


# ---- functions of factors --------------------------------------------------------------------------------------------


def _checked_factors(op: str, factors: Any, p: Any) -> tuple[Any, Any]:
    factors, p = matrix_operand(op, "lower_upper", factors), as_symbol(p)
    require_square(op, "lower_upper", factors)
    if p.shape != factors.shape[:-1]:
        raise ShapeError(
            f"[{op}] perm must have the shape {factors.shape[:-1]} for lower_upper of shape {factors.shape}, "
            f"got {p.shape}"
        )
    return factors, checked_integers(op, "perm", p, p.shape[-1])


def _lu_solve(factors: Any, p: Any, b: Any) -> Any:
    factors, p = _checked_factors("lu_solve", factors, p)
    factors, b = common_matrices("lu_solve", ("lower_upper", "rhs"), factors, b)
    lead = np.broadcast_shapes(p.shape[:-1], b.shape[:-2])
    b = broadcast(b, (*lead, *b.shape[-2:]))
    b = _rows_permuted(b, broadcast(p, (*lead, p.shape[-1])))

    def solve(factors: Any, b: Any) -> Any:
        forward = triangular_solve_op.bind(unit_lower(factors), b, lower=True, adjoint=False)
        return triangular_solve_op.bind(factors, forward, lower=False, adjoint=False)

    return solve_broadcast(solve, factors, b)


def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve systems of linear equations from the factors that `lu` returns.

    A zero on the diagonal of U divides by zero: the solution contains infinities or nans.

    Parameters
    ----------
    lower_upper : tensor_like of shape (..., m, m)
        Both factors in one matrix.
    perm : tensor_like of shape (..., m)
        The permutation, integers.
    rhs : tensor_like of shape (..., m, n)
        Right-hand sides in columns. The leading dimensions broadcast.
    validate_args : bool
        Ignored: shapes and indices are always checked.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DTypeError
        If a dtype is not supported.
    ValueError
        If an element of `perm` is no row.

    Examples
    --------
    >>> jt.linalg.lu_solve(*jt.linalg.lu([[1.0, 2.0], [4.0, 2.0]]), [[5.0], [8.0]]).numpy()
    array([[1.],
           [2.]], dtype=float32)
    """
    return apply(_lu_solve, (lower_upper, perm, rhs))


def _identity_like(factors: Any) -> Any:
    return broadcast(eye(factors.shape[-1], dtype=factors.dtype), factors.shape)


def _lu_matrix_inverse(factors: Any, p: Any) -> Any:
    factors, p = _checked_factors("lu_matrix_inverse", factors, p)
    return _lu_solve(factors, p, _identity_like(factors))


def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Invert matrices from the factors that `lu` returns; the arguments are those of `lu_solve`.

    Parameters
    ----------
    lower_upper : tensor_like of shape (..., n, n)
        Both factors, as `lu` returns them.
    perm : tensor_like of int, shape (..., n)
        Order of the rows.
    validate_args : bool
        Ignored.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `lower_upper` has fewer than two dimensions.
    ValueError
        If an element of `perm` is no row.

    Examples
    --------
    >>> jt.linalg.lu_matrix_inverse(*jt.linalg.lu([[0.0, 2.0], [4.0, 0.0]])).numpy()
    array([[0.  , 0.25],
           [0.5 , 0.  ]], dtype=float32)
    """
    return apply(_lu_matrix_inverse, (lower_upper, perm))


def _lu_reconstruct(factors: Any, p: Any) -> Any:
    factors, p = _checked_factors("lu_reconstruct", factors, p)
    product = matmul_op.bind(unit_lower(factors), triangle(factors, lower=False))
    return _rows_permuted(product, argsort(p))


def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the matrices that have the factors of `lu`; the arguments are those of `lu_solve`.

    Parameters
    ----------
    lower_upper : tensor_like of shape (..., n, n)
        Both factors, as `lu` returns them.
    perm : tensor_like of int, shape (..., n)
        Order of the rows.
    validate_args : bool
        Ignored.
    name : str, optional
        Ignored.

    Raises
    ------
    ShapeError
        If `lower_upper` has fewer than two dimensions.
    ValueError
        If an element of `perm` is no row.

    Examples
    --------
    >>> jt.linalg.lu_reconstruct(*jt.linalg.lu([[1.0, 2.0], [4.0, 2.0]])).numpy()
    array([[1., 2.],
           [4., 2.]], dtype=float32)
    """
    return apply(_lu_reconstruct, (lower_upper, perm))
