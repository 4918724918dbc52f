"""Linear least-squares problems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.dtypes import float64, float_limits
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag
from jittape.errors import DTypeError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, cast_to, promote, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.assertions import end_run_where
from jittape.primitives.elementwise.bits import is_finite
from jittape.primitives.elementwise.comparison import greater, greater_equal, logical_not, where
from jittape.primitives.elementwise.complex_numbers import conj, real, squared_magnitude
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.identity import identity_op, stop_gradient_op
from jittape.primitives.linalg.cholesky import cholesky_record
from jittape.primitives.linalg.main_diagonals import diagonal_op
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import (
    each_matrix,
    matrix_operand,
    raise_for_first,
    require_matrix_dtype,
    times_adjoint,
)
from jittape.primitives.linalg.triangular import triangular_solve_op
from jittape.primitives.reduce.reductions import reduce_any, reduce_max, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import split
from jittape.primitives.spectra.svd import svd_op
from jittape.typing import Tensor, TensorLike

__all__ = ["lstsq"]


def _abstract_eval(a: Aval, b: Aval) -> Aval:
    require_matrix_dtype("lstsq", "matrix", a)
    if a.dtype != b.dtype:
        raise DTypeError(f"[lstsq] operands must have equal dtypes, got {a.dtype.name} and {b.dtype.name}")
    if a.ndim < 2 or a.shape[:-1] != b.shape[:-1]:
        raise ShapeError(f"[lstsq] operands {a} and {b} do not fit")
    return Aval((*a.shape[:-2], a.shape[-1], b.shape[-1]), a.dtype)


def _impl(a: Any, b: Any) -> Any:
    shape = (*a.shape[:-2], a.shape[-1], b.shape[-1])
    if a.size == 0 or b.size == 0:
        return np.zeros(shape, a.dtype)
    if math.prod(shape[:-2]) > MANY and max(a.shape[-2:]) <= SMALL:
        return _least_squares_of_stack(a, b)
    return each_matrix(_least_squares, shape, a, b)


MANY, SMALL = 8, 16
"""Number of matrices from which on, and of rows and columns up to which, one call decomposes a stack.

1,000 matrices of 4 x 3 take 2.0 ms, and 16 one by one.
"""


MOST_VALUES = 64
"""Number of singular values up to which compiled code computes the vectors.

NumPy's call applies them to the right-hand side instead: 8.2 instead of 10.6 ms for 300 x 300.
"""


def _least_squares_of_stack(a: Any, b: Any) -> Any:
    """Return the solutions of all matrices of a stack by singular values; inf and nan give nan.

    Like NumPy's lstsq, it computes in double precision.
    """
    dtype = a.dtype
    a, b = (x.astype(np.result_type(dtype, np.float64), copy=False) for x in (a, b))
    finite = np.isfinite(a).all((-2, -1), keepdims=True) & np.isfinite(b).all(-2, keepdims=True)
    a = np.where(np.isfinite(a).all((-2, -1), keepdims=True), a, 0)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    used = s > np.finfo(s.dtype).eps * max(a.shape[-2:]) * s[..., :1]
    inverse = np.where(used, 1 / np.where(used, s, 1), 0)[..., None]
    solutions = vh.conj().swapaxes(-1, -2) @ (inverse * (u.conj().swapaxes(-1, -2) @ np.where(finite, b, 0)))
    return np.where(finite, solutions, np.nan).astype(dtype)


def _by_singular_values(a: Any, b: Any) -> Any:
    """Return the same solutions for compiled code, with LAPACK's singular values."""
    dtype, (rows, columns) = a.dtype, a.shape[-2:]
    if not a.aval.size or not b.aval.size or min(rows, columns) > MOST_VALUES:
        return None
    a, b = (cast_to(x, np.result_type(dtype, float64)) for x in (a, b))
    ut, s, vh = split(svd_op.bind(a), [rows, 1, columns], -1)
    values = real(s)
    limit = multiply(reduce_max(values, -2, keepdims=True), float(np.finfo(float64).eps) * max(rows, columns))
    inverses = cast_to(where(greater(values, limit), reciprocal(values), 0.0), a.dtype)
    broken = reduce_any(logical_not(is_finite(b)), -2, keepdims=True)
    projected = matmul_op.bind(conj(ut), where(broadcast(broken, b.shape), math.nan, b))
    return cast_to(
        matmul_op.bind(adjoint(vh), multiply(projected, broadcast(inverses, projected.shape))), dtype
    )


def _least_squares(a: Any, b: Any) -> Any:
    """Return the solutions of one matrix; LAPACK may not terminate for inf or nan, which give nan."""
    finite = np.isfinite(a).all() & np.isfinite(b).all(axis=0)
    result = np.full((a.shape[1], b.shape[1]), np.nan, a.dtype)
    result[:, finite] = np.linalg.lstsq(a, b[:, finite], rcond=None)[0] if finite.any() else 0
    return result


def _a_vjp(g: Any, out: Any, a: Any, b: Any) -> Any:
    """Return the cotangent of the matrix for a constant rank (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973)."""
    a_adjoint = adjoint(a)
    g_b = lstsq_op.bind(a_adjoint, g)
    residual = subtract(b, matmul_op.bind(a, out))
    outside = subtract(g, matmul_op.bind(a_adjoint, g_b))
    total = subtract(times_adjoint(residual, lstsq_op.bind(a, g_b)), times_adjoint(g_b, out))
    return add(total, times_adjoint(lstsq_op.bind(a_adjoint, out), outside))


lstsq_op: Primitive = Primitive(
    "lstsq",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_a_vjp, lambda g, out, a, b: lstsq_op.bind(adjoint(a), g)),
    lowering=Decomposition(_by_singular_values),
    batch=alike(),
)
"""The least-squares solutions of minimal norm, by singular values; small ones count as zero, as in NumPy's lstsq."""


# ---- normal equations ------------------------------------------------------------------------------------------------

NOT_FULL_RANK = "[lstsq] The normal equations have no solution."
PROBLEM = "does not have full rank up to rounding"
REMEDY = "use fast=False, which gives the solution of least norm, or l2_regularizer"
FAILURE = f"{NOT_FULL_RANK} A matrix {PROBLEM}"
MOST_ERROR = 1 / 16
"""Maximum relative error by rounding, about the machine epsilon times the condition number of the Gram matrix. In 900
random matrices without full rank, of 2 x 2 to 100,000 x 3 elements, it was at least 0.18."""


gram_factor_op = cholesky_record("lstsq_gram_factor", FAILURE, NOT_FULL_RANK, PROBLEM, REMEDY)
"""The lower factor of the Gram matrix, which is not positive definite if the matrix does not have full rank."""


def _full_rank_impl(b: Any, condition: Any, *, limit: float) -> Any:
    raise_for_first(condition >= limit, NOT_FULL_RANK, PROBLEM, REMEDY)
    return b


def _full_rank(b: Any, condition: Any, *, limit: float) -> Any:
    wrong = greater_equal(condition, limit)
    end_run_where(wrong, "ValueError", FAILURE)
    return identity_op.bind(b)


full_rank_op: Primitive = Primitive(
    "lstsq_full_rank",
    abstract_eval=lambda b, condition, *, limit: b,
    impl=_full_rank_impl,
    vjp=(lambda g, out, b, condition, *, limit: g, None),
    lowering=Decomposition(_full_rank),
    batch=alike(),
)
"""The first operand, unless a condition number is at least `limit`."""


def _condition(gram: Any, factor: Any) -> Any:
    """Return the sum of squares of the inverse factor, with the columns of the matrix scaled to length 1.

    The sum is between the condition number of the scaled Gram matrix, divided by its order, and that number times its
    order.
    """
    identity = broadcast(eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    inverse = triangular_solve_op.bind(factor, identity, lower=True, adjoint=False)
    squares = squared_magnitude(inverse)
    lengths = real(diagonal_op.bind(gram))
    columns = broadcast(to_shape(lengths, (*lengths.shape[:-1], 1, lengths.shape[-1])), squares.shape)
    return reduce_sum(multiply(squares, columns), axis=(-2, -1))


def _lstsq(a: Any, b: Any, regularizer: Any, fast: bool) -> Any:
    a, b = matrix_operand("lstsq", "matrix", a), matrix_operand("lstsq", "rhs", b)
    if a.shape[-2] != b.shape[-2]:
        raise ShapeError(f"[lstsq] rhs must have as many rows as matrix, got shapes {a.shape} and {b.shape}")
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"[lstsq] the leading dimensions of matrix and rhs must broadcast, got shapes {a.shape} and {b.shape}"
        ) from None
    a, b = promote(*[broadcast(x, (*lead, *x.shape[-2:])) for x in (a, b)])
    if not fast:
        return lstsq_op.bind(a, b)
    if not isinstance(regularizer, WeakScalar) and regularizer.aval.size != 1:
        raise ShapeError(f"[lstsq] l2_regularizer must be a number, got shape {regularizer.shape}")
    a_adjoint = adjoint(a)
    rows, columns = a.shape[-2:]
    tall = rows >= columns
    gram = matmul_op.bind(a_adjoint, a) if tall else matmul_op.bind(a, a_adjoint)
    shift = multiply(eye(min(rows, columns), dtype=a.dtype), cast_to(regularizer, a.dtype))
    gram = add(gram, shift)
    factor = gram_factor_op.bind(gram)
    right = matmul_op.bind(a_adjoint, b) if tall else b
    if rows and columns:
        condition = stop_gradient_op.bind(_condition(gram, factor))
        limit = MOST_ERROR / float(float_limits(condition.dtype).eps)
        right = full_rank_op.bind(right, condition, limit=limit)
    half = triangular_solve_op.bind(factor, right, lower=True, adjoint=False)
    solution = triangular_solve_op.bind(factor, half, lower=True, adjoint=True)
    return solution if tall else matmul_op.bind(a_adjoint, solution)


def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Solve linear least-squares problems: minimize ``norm(matrix @ x - rhs)**2 + l2_regularizer * norm(x)**2``.

    Parameters
    ----------
    matrix : tensor_like of shape (..., m, n)
        float32, float64, complex64 or complex128.
    rhs : tensor_like of shape (..., m, k)
        Right-hand sides in columns. The leading dimensions of both broadcast.
    l2_regularizer : tensor_like
        A real number, not negative. Ignored if `fast` is False.
    fast : bool
        Solve the normal equations by a Cholesky factorization. The matrix must have full rank; for an underdetermined
        system, the solution has the least norm. The rounding error grows with the square of the condition number. From
        a condition number of about ``0.25 * eps**-0.5`` on (700 in float32, 2e7 in float64; the lengths of columns do
        not count), a matrix counts as one without full rank.
        Otherwise use singular values: the solution of least norm, also for matrices without full rank.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., n, k)

    Raises
    ------
    LinAlgError
        If `fast` is True and a matrix does not have full rank up to rounding; the message has its index in the batch.
    ShapeError
        If the shapes do not fit.
    DTypeError
        If an operand has another dtype.

    Notes
    -----
    With ``fast=False``, the gradient assumes that the rank of the matrix does not change.

    Examples
    --------
    >>> jt.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [[1.0], [3.0], [5.0]], fast=False).numpy().round(4)
    array([[1.],
           [2.]], dtype=float32)
    """
    return apply(_lstsq, (matrix, rhs, l2_regularizer), (as_flag("fast", fast),))
