"""Determinants and their logarithms, from packed LU factors; derivatives go through the inverse or the cofactors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import (
    broadcast,
    broadcast_back,
    cast_to,
    conj,
    iota,
    real_op,
    sum_over,
    to_shape,
)
from jittape.primitives.elementwise.arithmetic import multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import equal, logical_and, not_equal, where
from jittape.primitives.elementwise.complex_numbers import complex as complex_number
from jittape.primitives.elementwise.complex_numbers import imag
from jittape.primitives.elementwise.exponential import log
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.primitives.linalg.cholesky import cholesky_op
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.lu_factors import interchange_count, lu_factor_op, lu_solve_op, pivots, solved
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.matrices import adjoint, cross
from jittape.primitives.linalg.matrix_operands import matrix_operand, require_square, row_and_column
from jittape.primitives.record_parts import filled, real_dtype
from jittape.primitives.reduce.reductions import reduce_max, reduce_prod, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.views import flipped, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["LogMatrixDeterminant", "det", "logdet", "slogdet"]


def _matrix_axes(a: Any) -> tuple[int, int]:
    return len(a.shape) - 2, len(a.shape) - 1


def _scaled_identity(g: Any, a: Any) -> Any:
    """Return the identity of the shape of `a`, multiplied by one number for each matrix."""
    return multiply(broadcast_back(g, a.shape, _matrix_axes(a)), eye(a.shape[-1], dtype=a.dtype))


def _pivots_and_parities(packed: Any) -> tuple[Any, Any]:
    """Return the pivots, and -1 for each interchange and 1 otherwise, for compiled code."""
    *lead, _, n = packed.shape
    axis = len(lead)
    interchanges = to_shape(sliced(packed, axis, n, 1), (*lead, n))
    moved = not_equal(interchanges, cast_to(iota((*lead, n), axis, int64), packed.dtype))
    return diag_part(sliced(packed, axis, 0, n)), subtract(1, multiply(2, cast_to(moved, packed.dtype)))


def _parity(packed: Any) -> Any:
    """Return 1 for an even number of interchanges and -1 for an odd one."""
    return 1 - 2 * (interchange_count(packed) % 2)


# ---- sign and logarithm ----------------------------------------------------------------------------------------------


def _sign_vjp(g: Any, out: Any, a: Any, packed: Any) -> Any:
    """Return zeros for real matrices; a complex sign turns with the imaginary part of ``trace(inv(a) @ da)``."""
    if a.dtype.kind != "c":
        return filled(a, 0)
    turn = imag(multiply(conj(out), g))
    scale = complex_number(filled(turn, 0), turn)
    return lu_solve_op.bind(a, packed, _scaled_identity(scale, a), adjoint=True)


def _sign_decomposed(a: Any, packed: Any) -> Any:
    diagonal, parities = _pivots_and_parities(packed)
    return reduce_prod(multiply(sign(diagonal), parities), -1)


def _signs(x: Any) -> Any:
    """Return numbers on the unit circle, 0 for 0."""
    if x.dtype.kind != "c":
        return np.sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


det_sign_op = Primitive(
    "det_sign",
    abstract_eval=lambda a, packed: Aval(a.shape[:-2], a.dtype),
    impl=lambda a, packed: (np.prod(_signs(pivots(packed)), -1) * _parity(packed)).astype(a.dtype),
    vjp=(_sign_vjp, None),
    lowering=Decomposition(_sign_decomposed),
    batch=alike(),
)


def _log_abs_det_vjp(g: Any, out: Any, a: Any, packed: Any) -> Any:
    return lu_solve_op.bind(a, packed, _scaled_identity(cast_to(g, a.dtype), a), adjoint=True)


def _log_abs_det_decomposed(a: Any, packed: Any) -> Any:
    return reduce_sum(log(absolute(_pivots_and_parities(packed)[0])), -1)


log_abs_det_op = Primitive(
    "log_abs_det",
    abstract_eval=lambda a, packed: Aval(a.shape[:-2], real_dtype(a.dtype)),
    impl=lambda a, packed: np.sum(np.log(np.abs(pivots(packed))), -1),
    vjp=(_log_abs_det_vjp, None),
    lowering=Decomposition(_log_abs_det_decomposed),
    batch=alike(),
)


class LogMatrixDeterminant(NamedTuple):
    """The sign of determinants and the logarithm of their absolute value, as returned by `slogdet`."""

    sign: Tensor
    log_abs_determinant: Tensor


def _slogdet(x: Any) -> tuple[Any, Any]:
    a = matrix_operand("slogdet", "input", x)
    require_square("slogdet", "input", a)
    packed = lu_factor_op.bind(a)
    return det_sign_op.bind(a, packed), log_abs_det_op.bind(a, packed)


def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Return the sign and the logarithm of the absolute value of determinants, which do not overflow.

    A singular matrix has the sign 0 and the logarithm -inf; its gradient raises `LinAlgError`.

    Parameters
    ----------
    input : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    sign : tensor of shape (...)
        1, -1 or 0; for complex matrices a number on the unit circle or 0.
    log_abs_determinant : tensor of shape (...)
        A real number.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> sign, logarithm = jt.linalg.slogdet([[0.0, 2.0], [2.0, 0.0]])
    >>> print(sign.numpy(), logarithm.numpy())
    -1.0 1.3862944
    """
    return LogMatrixDeterminant(*apply(_slogdet, (input,)))


def _logdet(x: Any) -> Any:
    a = matrix_operand("logdet", "matrix", x)
    require_square("logdet", "matrix", a)
    diagonal = diag_part(cholesky_op.bind(a))
    return multiply(2, reduce_sum(log(real_op.bind(diagonal) if a.dtype.kind == "c" else diagonal), -1))


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the determinant of Hermitian, positive definite matrices.

    It uses the Cholesky factorization, which reads only the lower triangle. `slogdet` is for other matrices.

    Parameters
    ----------
    matrix : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Raises
    ------
    LinAlgError
        If a matrix is not positive definite; the message has its index in the batch.
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.logdet([[4.0, 0.0], [0.0, 9.0]]).numpy()
    array(3.583519, dtype=float32)
    """
    return apply(_logdet, (matrix,))


# ---- determinant -----------------------------------------------------------------------------------------------------


def _cofactors_impl(a: Any, packed: Any) -> Any:
    if a.size == 0:
        return np.empty_like(a)
    n = a.shape[-1]
    scale = np.max(np.abs(a), axis=(-2, -1), keepdims=True)
    tiny = np.finfo(a.dtype).eps ** 2 * np.where(scale == 0, 1, scale)
    regular = np.where((packed == 0) & np.eye(n + 1, n, dtype=bool), tiny, packed).astype(a.dtype)
    identity = np.broadcast_to(np.eye(n, dtype=a.dtype), a.shape)
    return _det_impl(a, regular)[..., None, None] * np.conj(solved(regular, identity, adjoint=True))


def _cofactors_decomposed(a: Any, packed: Any) -> Any:
    if not a.aval.size:
        return None
    axes = _matrix_axes(a)
    scale = reduce_max(absolute(a), axes, keepdims=True)
    tiny = multiply(where(equal(scale, 0), 1.0, scale), float(np.finfo(a.dtype).eps) ** 2)
    rows, columns = row_and_column(packed.shape)
    is_zero_pivot = logical_and(equal(rows, columns), equal(packed, 0))
    regular = where(is_zero_pivot, broadcast(cast_to(tiny, packed.dtype), packed.shape), packed)
    inverse = lu_solve_op.bind(a, regular, broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape), adjoint=True)
    return multiply(broadcast_back(_det_decomposed(a, regular), a.shape, axes), conj(inverse))


def _cofactors_vjp(g: Any, out: Any, a: Any, packed: Any) -> Any:
    """Return ``(sum(conj(C) * g) - conj(C) @ g^T) @ inv(a)^H`` with the cofactors ``C = det(a) inv(a)^T``."""
    cofactors = conj(out)
    total = sum_over(multiply(cofactors, g), _matrix_axes(a))
    product = matmul_op.bind(cofactors, _transposed(g))
    middle = subtract(_scaled_identity(total, a), product)
    return adjoint(lu_solve_op.bind(a, packed, adjoint(middle), adjoint=False))


def _transposed(x: Any) -> Any:
    return conj(adjoint(x))


cofactors_op = Primitive(
    "cofactors",
    abstract_eval=lambda a, packed: a,
    impl=_cofactors_impl,
    vjp=(_cofactors_vjp, None),
    lowering=Decomposition(_cofactors_decomposed),
    batch=alike(),
)
"""The cofactors of matrices with more than three rows, which are the derivative of the determinant.

They are ``det(a) inv(a)^T`` by the same factors, so that the error of a small pivot cancels. Cofactors are polynomials,
so a tiny number may replace a pivot that is zero: it changes them by less than the rounding error. The derivative of
the cofactors raises `LinAlgError` at a singular matrix."""


def _cofactors_of_two_rows(a: Any) -> Any:
    axes = _matrix_axes(a)
    return multiply(flipped(a, axes), subtract(multiply(2, eye(2, dtype=a.dtype)), 1))


def _cofactors_of_three_rows(a: Any) -> Any:
    axis = len(a.shape) - 2
    rows = [to_shape(sliced(a, axis, i, 1), (*a.shape[:-2], 3)) for i in range(3)]
    return stack([cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)], axis=axis)


SMALL_COFACTORS = {
    1: lambda a: filled(a, 1),
    2: _cofactors_of_two_rows,
    3: _cofactors_of_three_rows,
}
"""Cofactors as polynomials, by the number of rows; these have derivatives of any order at singular matrices too."""


def _det_impl(a: Any, packed: Any) -> Any:
    return (np.prod(pivots(packed), -1) * _parity(packed)).astype(a.dtype)


def _det_vjp(g: Any, out: Any, a: Any, packed: Any) -> Any:
    formula = SMALL_COFACTORS.get(a.shape[-1])
    cofactors = formula(a) if formula else cofactors_op.bind(a, packed)
    return zero_dominant_multiply(broadcast_back(g, a.shape, _matrix_axes(a)), cofactors)


def _det_decomposed(a: Any, packed: Any) -> Any:
    return reduce_prod(multiply(*_pivots_and_parities(packed)), -1)


det_op = Primitive(
    "det",
    abstract_eval=lambda a, packed: Aval(a.shape[:-2], a.dtype),
    impl=_det_impl,
    vjp=(_det_vjp, None),
    lowering=Decomposition(_det_decomposed),
    batch=alike(),
)


def _det(x: Any) -> Any:
    a = matrix_operand("det", "input", x)
    require_square("det", "input", a)
    return det_op.bind(a, lu_factor_op.bind(a))


def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute determinants of square matrices.

    The gradient is the matrix of cofactors, also for a singular matrix. A second derivative at a singular matrix with
    more than three rows raises `LinAlgError`.

    Parameters
    ----------
    input : tensor_like of shape (..., m, m)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (...)

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.det([[2.0, 1.0], [0.0, 3.0]]).numpy()
    array(6., dtype=float32)
    """
    return apply(_det, (input,))
