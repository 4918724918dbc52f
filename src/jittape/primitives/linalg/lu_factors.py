"""The LU factorization with partial pivoting in packed form, and systems of equations that are solved with it.

The packed factors of n x n matrices have n + 1 rows. Row j < n is *column* j of the factors, because LAPACK stores
columns: element [j, i] is U[i, j] for i <= j and L[i, j] otherwise; the diagonal of L is ones. The last row has the
interchanges as numbers: step i exchanges row i with row ``packed[n, i] >= i``, counted from 0.

A solution is mathematically a function of the matrix and the right-hand side. The ops that use packed factors therefore
take the matrix as well: the matrix has a gradient rule and the factors have none. Derivatives of any order then use one
factorization.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Call
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.arithmetic import negative
from jittape.primitives.indexing.row_order import order_after
from jittape.primitives.linalg.matrix_operands import (
    each_matrix,
    raise_for_first,
    require_matrix_dtype,
    require_square,
    same_stack,
    solve_batch,
    times_adjoint,
)
from jittape.primitives.linalg.triangular import substituted

__all__ = [
    "NOT_INVERTIBLE",
    "interchange_count",
    "lu_factor_op",
    "lu_solve_op",
    "permutation",
    "pivots",
    "solved",
]

NOT_INVERTIBLE = "Input matrix is not invertible."


# ---- factorization ---------------------------------------------------------------------------------------------------


def _factor_abstract_eval(a: Aval) -> Aval:
    require_matrix_dtype("lu", "input", a)
    require_square("lu", "input", a)
    return Aval((*a.shape[:-2], a.shape[-1] + 1, a.shape[-1]), a.dtype)


def _factor_impl(a: Any) -> Any:
    n = a.shape[-1]
    shape = (*a.shape[:-2], n + 1, n)
    if a.size == 0:
        return np.empty(shape, a.dtype)
    if a.size // n**2 > n:
        return _factored_stack(a)
    from scipy.linalg.lapack import get_lapack_funcs  # imported on first use, not with the package

    (getrf,) = get_lapack_funcs(("getrf",), (a,))

    def factored(matrix: Any) -> Any:
        factors, interchanges, _ = getrf(matrix)
        return np.concatenate([factors.T, interchanges[None]], dtype=a.dtype)

    return each_matrix(factored, shape, a)


def _factored_stack(a: Any) -> Any:
    """Return the packed factors of a large stack of small matrices, by elimination in all matrices at once."""
    lead, n = a.shape[:-2], a.shape[-1]
    work = a.reshape(-1, n, n).copy()
    packed = np.empty((len(work), n + 1, n), a.dtype)
    stack = np.arange(len(work))
    for k in range(n):
        column = work[:, k:, k]
        # LAPACK compares complex numbers by the sum of the absolute values of their parts.
        size = np.abs(column.real) + np.abs(column.imag) if a.dtype.kind == "c" else np.abs(column)
        pivot_row = k + np.argmax(size, axis=1)
        packed[:, n, k] = pivot_row
        work[stack, pivot_row], work[:, k] = work[:, k].copy(), work[stack, pivot_row]
        pivot = work[:, k, k, None]
        work[:, k + 1 :, k] = np.where(pivot == 0, 0, work[:, k + 1 :, k] / pivot)
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 :]
    packed[:, :n] = np.swapaxes(work, 1, 2)
    return packed.reshape(*lead, n + 1, n)


lu_factor_op = Primitive(
    "lu_factor",
    abstract_eval=_factor_abstract_eval,
    impl=_factor_impl,
    lowering=Call("getrf"),
    gradient_stops="a permutation is integers; derivatives of factors and solutions go to the matrix directly",
    batch=alike(),
)
"""The packed factors of square matrices. A singular matrix is no error: a pivot is then zero."""


# ---- solution --------------------------------------------------------------------------------------------------------


def _solve_abstract_eval(a: Aval, packed: Aval, b: Aval, *, adjoint: bool) -> Aval:
    out = same_stack("solve", a, b)
    if packed != _factor_abstract_eval(a):
        raise ShapeError(f"[solve] packed factors {packed} do not fit matrices {a}")
    return out


def pivots(packed: Any) -> Any:
    """Return the diagonal of U as an array."""
    return np.diagonal(packed[..., :-1, :], axis1=-2, axis2=-1)


def _solve_impl(a: Any, packed: Any, b: Any, *, adjoint: bool) -> Any:
    raise_for_first(
        np.any(pivots(packed) == 0, axis=-1) & ~np.isnan(packed).any(axis=(-2, -1)),
        f"[solve] {NOT_INVERTIBLE}",
        "is singular: a pivot is zero",
        "use lstsq or pinv for a least-squares solution",
    )
    return solved(packed, b, adjoint)


def solved(packed: Any, b: Any, adjoint: bool) -> Any:
    """Return the solutions from packed factors; zero pivots give infinities or nans."""
    if b.size == 0:
        return np.empty_like(b)
    n, columns = b.shape[-2:]
    if b.size // (n * columns) > n:
        return _solved_stack(packed, b, adjoint)
    from scipy.linalg.lapack import get_lapack_funcs  # imported on first use, not with the package

    (getrs,) = get_lapack_funcs(("getrs",), (packed, b))

    def solve(factors: Any, rhs: Any) -> Any:
        interchanges = factors[-1].real.astype(np.int32)
        return getrs(factors[:-1].T, interchanges, rhs, trans=2 if adjoint else 0)[0]

    return each_matrix(solve, b.shape, packed, b)


def _solved_stack(packed: Any, b: Any, adjoint: bool) -> Any:
    """Return the solutions for a large stack of small matrices."""
    factors, order = packed[..., :-1, :], permutation(packed)[..., None]
    if adjoint:  # the transposed factors are packed
        x = substituted(
            np.conj(factors), substituted(np.conj(factors), b, lower=True), lower=False, unit=True
        )
        result = np.empty_like(x)
        np.put_along_axis(result, order, x, axis=-2)
        return result
    factors = np.swapaxes(factors, -1, -2)
    x = np.take_along_axis(b, order, axis=-2)
    return substituted(factors, substituted(factors, x, lower=True, unit=True), lower=False)


def interchange_count(packed: Any) -> Any:
    """Return the number of steps that exchange two rows as an array."""
    n = packed.shape[-1]
    return np.count_nonzero(packed[..., -1, :] != np.arange(n), axis=-1)


def permutation(packed: Any) -> Any:
    """Return the rows of the matrix in the order of the factors, as an array of int64."""
    return order_after(packed[..., -1, :].real.astype(np.int64))


def _a_vjp(g: Any, out: Any, a: Any, packed: Any, b: Any, *, adjoint: bool) -> Any:
    g_b = _b_vjp(g, out, a, packed, b, adjoint=adjoint)
    return negative(times_adjoint(out, g_b) if adjoint else times_adjoint(g_b, out))


def _b_vjp(g: Any, out: Any, a: Any, packed: Any, b: Any, *, adjoint: bool) -> Any:
    return lu_solve_op.bind(a, packed, g, adjoint=not adjoint)


lu_solve_op: Primitive = Primitive(
    "lu_solve",
    abstract_eval=_solve_abstract_eval,
    impl=_solve_impl,
    vjp=(_a_vjp, None, _b_vjp),
    lowering=Call("getrs", failure=f"[solve] {NOT_INVERTIBLE}"),
    batch=solve_batch(lambda: lu_solve_op),
)
"""``a x = b``, or ``a^H x = b`` if `adjoint`, from the packed factors of `a`, for stacks with equal leading dimensions.

A zero pivot raises `LinAlgError` with the index of the matrix in the stack."""
