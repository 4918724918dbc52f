"""Pseudoinverse, rank and condition of matrices, from singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import info_of, int32
from jittape.core.forms import Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, cast_to, conj, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import equal, greater, less_equal, where
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.elementwise.division import divide, reciprocal
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.lu_factors import lu_factor_op
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import matrix_operand, require_matrix_dtype, require_square
from jittape.primitives.linalg.solve import solve
from jittape.primitives.reduce.reductions import reduce_any, reduce_max, reduce_min, reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.shape.joining import split
from jittape.primitives.spectra.norms import MATRIX_ORDERS, norm_body
from jittape.primitives.spectra.svd import singular_values, svd_op
from jittape.typing import Tensor, TensorLike

__all__ = ["cond", "matrix_rank", "pinv"]


def _abstract_eval(a: Aval, rcond: Aval) -> Aval:
    require_matrix_dtype("pinv", "a", a)
    *lead, rows, columns = a.shape
    return Aval((*lead, columns, rows), a.dtype)


def _impl(a: Any, rcond: Any) -> Any:
    rows, columns = a.shape[-2:]
    if not a.size:
        return np.empty((*a.shape[:-2], columns, rows), a.dtype)
    packed = svd_op.impl(a)
    ut, s, vh = np.split(packed, [rows, rows + 1], -1)
    values = s[..., 0].real
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = values > rcond[..., None] * values.max(-1, keepdims=True)
        inverses = np.where(kept | np.isnan(values), 1 / values, 0)
    return np.swapaxes(np.conj(vh), -1, -2) @ (inverses[..., None] * np.conj(ut)).astype(a.dtype)


def _vjp(g: Any, out: Any, a: Any, rcond: Any) -> Any:
    """Return the cotangent for a constant rank (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973, eq. 4.12)."""
    outer_h, g_h = adjoint(out), adjoint(g)
    total = matmul(outer_h, matmul(g, outer_h))
    left, right = matmul(outer_h, matmul(out, g_h)), matmul(matmul(g_h, out), outer_h)
    rest = subtract(right, matmul(a, matmul(out, right)))
    rest = add(rest, subtract(left, matmul(matmul(left, out), a)))
    return subtract(rest, total)


def _decomposed(a: Any, rcond: Any) -> Any:
    rows, columns = a.shape[-2:]
    if not a.aval.size:
        return None
    ut, s, vh = split(svd_op.bind(a), [rows, 1, columns], -1)
    values = real(s)
    limit = multiply(reduce_max(values, -2, keepdims=True), to_shape(rcond, (*rcond.shape, 1, 1)))
    inverses = where(less_equal(values, limit), 0.0, reciprocal(values))
    return matmul(adjoint(vh), multiply(cast_to(inverses, a.dtype), conj(ut)))


pinv_op = Primitive(
    "pinv",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_vjp, None),
    lowering=Decomposition(_decomposed),
    batch=alike(),
)


def _epsilon(x: Any) -> float:
    return float(np.finfo(x.dtype).eps)


def _over_stack(op: str, argument: str, x: Any, a: Any) -> Any:
    """Return `x` in the real dtype of `a`, broadcast to the leading dimensions of `a`."""
    lead = a.shape[:-2]
    x = cast_to(x, info_of(a.dtype).real)
    try:
        fits = np.broadcast_shapes(x.shape, lead) == lead
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(
            f"[{op}] {argument} must broadcast to the leading dimensions {lead} of a, got shape {x.shape}"
        )
    return broadcast(x, lead)


def _pinv(a: Any, *rcond: Any) -> Any:
    a = matrix_operand("pinv", "a", a)
    default = literal(10.0 * max(a.shape[-2:]) * _epsilon(a), info_of(a.dtype).real)
    return pinv_op.bind(a, _over_stack("pinv", "rcond", rcond[0] if rcond else default, a))


def pinv(
    a: TensorLike,
    rcond: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the Moore-Penrose pseudoinverse of matrices.

    The gradient regards the rank as constant. It has no terms that divide by differences of singular values.

    Parameters
    ----------
    a : tensor_like of shape (..., m, n)
        float32, float64, complex64 or complex128.
    rcond : tensor_like, optional
        Singular values at most `rcond` times the greatest are regarded as 0. A scalar, or one number for each matrix.
        The default is ``10 * max(m, n) * eps``.
    validate_args : bool
        Ignored: arguments are always checked.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., n, m)
        nan for a matrix that contains nan or inf.

    Raises
    ------
    ShapeError
        If `a` has less than 2 dimensions, or `rcond` does not fit.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.pinv([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]]).numpy()
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.  , 0.25]], dtype=float32)
    """
    return apply(_pinv, (a,) if rcond is None else (a, rcond))


def _matrix_rank(a: Any, *tol: Any) -> Any:
    a = matrix_operand("matrix_rank", "a", a)
    values = singular_values(a)
    if not values.aval.size:
        return broadcast(literal(0, int32), a.shape[:-2])
    if tol:
        limit = _over_stack("matrix_rank", "tol", tol[0], a)
        limit = to_shape(limit, (*limit.shape, 1))
    else:
        limit = multiply(reduce_max(values, -1, keepdims=True), max(a.shape[-2:]) * _epsilon(a))
    return reduce_sum(cast_to(greater(values, limit), int32), -1)


def matrix_rank(
    a: TensorLike,
    tol: TensorLike | None = None,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Count the singular values of matrices that are greater than `tol`.

    Parameters
    ----------
    a : tensor_like of shape (..., m, n)
        float32, float64, complex64 or complex128.
    tol : tensor_like, optional
        A scalar, or one number for each matrix. The default is ``max(m, n) * eps`` times the greatest singular value.
    validate_args : bool
        Ignored: arguments are always checked.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of int32
        0 for a matrix that contains nan or inf.

    Raises
    ------
    ShapeError
        If `a` has less than 2 dimensions, or `tol` does not fit.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
    array(1, dtype=int32)
    """
    return apply(_matrix_rank, (a,) if tol is None else (a, tol))


# ---- condition -------------------------------------------------------------------------------------------------------


def _cond(x: Any, p: Any) -> Any:
    x = matrix_operand("cond", "x", x)
    if not x.shape[-1] or not x.shape[-2]:
        raise ShapeError(f"[cond] matrices without elements have no condition number, got shape {x.shape}")
    if p in (None, 2, -2):
        values = singular_values(x)
        greatest, least = reduce_max(values, -1), reduce_min(values, -1)
        found = divide(least, greatest) if p == -2 else divide(greatest, least)
        # NumPy's convention: inf for a matrix of zeros.
        return where(equal(greatest, 0.0), np.inf, found)
    require_square("cond", "x", x)
    identity = broadcast(eye(x.shape[-1], dtype=x.dtype), x.shape)
    pivots = diag_part(split(lu_factor_op.bind(x), [x.shape[-1], 1], -2)[0])
    singular = reduce_any(equal(pivots, 0.0), -1)
    each = to_shape(singular, (*singular.shape, 1, 1))
    inverse = solve(where(each, identity, x), identity)
    axes = (len(x.shape) - 2, len(x.shape) - 1)
    product = multiply(norm_body(x, p, axes, True, False), norm_body(inverse, p, axes, True, False))
    return where(singular, np.inf, product)


def cond(x: TensorLike, p: float | str | None = None) -> Tensor:
    """Return the condition number of matrices: the norm of a matrix times that of its inverse.

    Parameters
    ----------
    x : tensor_like of shape (..., m, n)
        float32, float64, complex64 or complex128. The matrices must be square unless `p` is None, 2 or -2.
    p : {None, 2, -2, 'fro', 'nuc', 1, -1, inf, -inf}
        Order of the norm, as in `matrix_norm`. None and 2 are the ratio of the greatest and the least singular value,
        -2 its reciprocal.

    Returns
    -------
    tensor of shape (...)
        inf for a singular matrix if `p` is positive.

    Raises
    ------
    ShapeError
        If the matrices have no elements, or must be square and are not.
    DTypeError
        If the dtype is not supported.
    ValueError
        If the order is another one.

    Examples
    --------
    >>> jt.linalg.cond([[2.0, 0.0], [0.0, 8.0]]).numpy()
    array(4., dtype=float32)
    """
    if isinstance(p, np.ndarray) or p not in MATRIX_ORDERS:
        raise ValueError(f"[cond] p must be one of {MATRIX_ORDERS}, got {p!r}")
    return apply(_cond, (x,), (p,))
