"""LU factors with LAPACK's pivots, and systems that are solved with them."""

from __future__ import annotations

from typing import Any

from jittape.errors import ShapeError
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.sorting import argsort
from jittape.primitives.linalg.lu import lu_solve as solve_with_order
from jittape.primitives.linalg.lu import lu_with_pivots, order_of_pivots
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import band_part
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.shape.creation import eye, zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reshaping import squeeze
from jittape.scipy.linalg.matrix_arguments import as_given, matrix_argument, require_rows
from jittape.scipy.linalg.scipy_options import with_scipy_options
from jittape.scipy.linalg.systems import columns_of, solve_triangular

__all__ = ["lu", "lu_factor", "lu_solve"]


def _unit_lower(packed: Any) -> Any:
    """Return the lower factor, with ones on the diagonal."""
    rows, columns = packed.shape[-2:]
    return band_part(packed, -1, 0) - band_part(packed, 0, 0) + eye(rows, columns, dtype=packed.dtype)


def _rows(a: Any, order: Any) -> Any:
    return gather(a, order, axis=-2, batch_dims=len(order.shape) - 1)


def _factors(function: str, a: Any) -> tuple[Any, Any, Any]:
    """Return both factors in one matrix, the pivots, and the order of all rows, of matrices of any shape."""
    require_rows(function, a)
    rows, columns = a.shape[-2:]
    if rows > columns:
        return _tall_factors(a)
    packed, pivots = lu_with_pivots(a[..., :rows])
    order = order_of_pivots(pivots, function, "pivots")
    if rows < columns:  # the pivots depend on the first columns only
        rest = triangular_solve(_unit_lower(packed), _rows(a[..., rows:], order))
        packed = concat([packed, rest], -1)
    return packed, pivots, order


def _tall_factors(a: Any) -> tuple[Any, Any, Any]:
    """Return `_factors` by those of a square matrix whose further columns change neither pivots nor factors."""
    rows, columns = a.shape[-2:]
    added = (*a.shape[:-1], rows - columns)
    pivots = lu_with_pivots(concat([a, zeros(added, a.dtype)], -1))[1]
    order = order_of_pivots(pivots, "lu", "pivots")
    # With ones in the rows that are no pivots, the further columns of U are those of the identity: U is not singular.
    ones = gather(eye(rows, dtype=a.dtype)[:, columns:], argsort(order, axis=-1))
    packed, pivots = lu_with_pivots(concat([a, ones], -1))
    return packed[..., :columns], pivots[..., :columns], order


@with_scipy_options
def lu(a: Any, permute_l: bool = False, *, p_indices: bool = False) -> tuple[Any, ...]:
    """Factorize a matrix as ``P @ L @ U`` by partial pivoting.

    Parameters
    ----------
    a : tensor-like of shape (..., m, n)
        L has shape (..., m, k) and U has shape (..., k, n), where k is the smaller of m and n.
    permute_l : bool
        Return ``P @ L`` and U.
    p_indices : bool
        Return, in place of P, the indices p with ``a = L[p] @ U``.

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> p, l, u = linalg.lu([[0.0, 2.0], [4.0, 0.0]])
    >>> (p @ l @ u).numpy()
    array([[0., 2.],
           [4., 0.]])
    """
    a = matrix_argument(a)
    packed, _, order = _factors("lu", a)
    rows, columns = a.shape[-2:]
    identity, lower = eye(rows, dtype=a.dtype), _unit_lower(packed[..., :rows])
    upper = band_part(packed[..., :columns, :], 0, -1)
    positions = argsort(order, axis=-1)
    if permute_l:
        return matmul(gather(identity, positions), lower), upper
    return (positions if p_indices else gather(real(identity), positions)), lower, upper


@with_scipy_options
def lu_factor(a: Any) -> tuple[Any, Any]:
    """Return both factors in one matrix, and LAPACK's pivots, for `lu_solve`.

    Row i was exchanged with row ``pivots[i]``, for i from 0 on.

    Parameters
    ----------
    a : array_like of shape (..., m, n)

    Raises
    ------
    ShapeError
        If `a` has fewer than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.lu_factor([[0.0, 2.0], [4.0, 0.0]])[1].numpy()
    array([1, 1], dtype=int32)
    >>> linalg.lu_solve(linalg.lu_factor([[0.0, 2.0], [4.0, 0.0]]), [2.0, 4.0]).numpy()
    array([1., 1.])
    """
    return _factors("lu_factor", matrix_argument(a))[:2]


@with_scipy_options
def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0) -> Any:
    """Solve a system from the result of `lu_factor`.

    Parameters
    ----------
    lu_and_piv : tuple
        Result of `lu_factor` of this package or of SciPy.
    b : array_like of shape (n,) or (n, k)
        Right-hand sides.
    trans : {0, 1, 2, "N", "T", "C"}
        Solve with the matrix, its transpose, or its adjoint. SciPy takes the numbers only.

    Raises
    ------
    ShapeError
        If the factors are not square, or the pivots or the rows of `b` do not fit them.
    ValueError
        If a pivot is no row.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.lu_solve(linalg.lu_factor(np.diag([2.0, 4.0])), [1.0, 1.0]).numpy().round(4)
    array([0.5 , 0.25])
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"[lu_solve] trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    packed, pivots = lu_and_piv
    packed = matrix_argument(packed)
    rhs, vector = columns_of("lu_solve", packed, b)
    pivots = as_given(pivots)
    shape, given = tuple(packed.shape), tuple(pivots.shape)
    if shape[-1] != shape[-2] or given != shape[:-1]:
        raise ShapeError(
            f"[lu_solve] the factors must be square, and have a pivot for each row, got shapes {shape} and {given}; "
            "give the result of lu_factor of a square matrix"
        )
    order = order_of_pivots(pivots, "lu_solve", "pivots")
    if trans in (0, "N"):
        x = solve_with_order(packed, order, rhs)
    else:
        half = solve_triangular(packed, rhs, trans=trans)
        x = solve_triangular(packed, half, trans=trans, lower=True, unit_diagonal=True)
        x = gather(x, argsort(order, axis=-1), axis=-2, batch_dims=len(packed.shape) - 2)
    return squeeze(x, -1) if vector else x
