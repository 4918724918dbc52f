"""Singular value decomposition, computed with LAPACK.

One op returns the complete decomposition in one array. The gradient rule needs the singular vectors. They are results
of the op itself, so the rule can be differentiated again.

For complex matrices, the rule is that of Z. Wan and S. Zhang, "Automatic differentiation for complex valued SVD"
(2019, arXiv:1909.02659).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import info_of
from jittape.core.forms import Call
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, cast_to, conj, to_shape
from jittape.primitives.elementwise.arithmetic import (
    add,
    multiply,
    negative,
    subtract,
    zero_dominant_multiply,
)
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import adjoint, diag
from jittape.primitives.linalg.matrix_operands import matrix_operand, require_matrix_dtype, without_elements
from jittape.primitives.shape.joining import concat, split
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.spectra.decomposition_parts import (
    NOT_CONVERGENT,
    decompose_stack,
    reciprocal_of_gap,
    rounding_error,
)
from jittape.typing import Tensor, TensorLike

__all__ = ["singular_values", "svd", "svd_op", "svdvals"]


# ---- the decomposition with min(rows, columns) vectors ---------------------------------------------------------------


def _abstract_eval(x: Aval) -> Aval:
    require_matrix_dtype("svd", "tensor", x)
    *lead, rows, columns = x.shape
    return Aval((*lead, min(rows, columns), rows + 1 + columns), x.dtype)


def _decomposed(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return np.concatenate([np.swapaxes(u, -1, -2), s[..., None], vh], -1)


def _vjp(g: Any, out: Any, x: Any) -> Any:
    """Return the cotangent of ``x = u @ diag(s) @ vh`` from those of the three parts, which are concatenated in `g`.

    The rule divides by differences of singular values and by sums of two. Terms whose divisor is zero up to rounding
    are dropped.
    """
    rows, columns = x.shape[-2:]
    if not min(rows, columns):
        return without_elements(g, x)
    ut, s, vh = split(out, [rows, 1, columns], -1)
    g_ut, g_s, g_vh = split(g, [rows, 1, columns], -1)
    u, g_u, v, g_v = matrix_transpose(ut), matrix_transpose(g_ut), adjoint(vh), adjoint(g_vh)
    s, g_s = real(s), real(g_s)
    row = matrix_transpose(s)
    limit = rounding_error(row, max(rows, columns))
    turn_u, turn_v = _skew(matmul(conj(ut), g_u)), _skew(matmul(vh, g_v))
    apart = _scaled(add(turn_u, turn_v), multiply(0.5, reciprocal_of_gap(subtract(row, s), limit)))
    together = _scaled(subtract(turn_u, turn_v), multiply(0.5, reciprocal_of_gap(add(row, s), limit)))
    inner = add(add(apart, together), diag(to_shape(cast_to(g_s, x.dtype), g_s.shape[:-1])))
    total = matmul(matmul(u, inner), vh)
    if rows > columns:
        outside = subtract(g_u, matmul(u, matmul(conj(ut), g_u)))
        total = add(total, matmul(_scaled(outside, reciprocal_of_gap(row, limit)), vh))
    if columns > rows:
        outside = subtract(g_vh, matmul(matmul(g_vh, v), vh))
        total = add(total, matmul(u, _scaled(outside, reciprocal_of_gap(s, limit))))
    return total


def _skew(x: Any) -> Any:
    return subtract(x, adjoint(x))


def _scaled(x: Any, factor: Any) -> Any:
    """Return ``x * factor`` for a real factor that broadcasts; zeros of `x` stay zero."""
    return zero_dominant_multiply(x, broadcast(cast_to(factor, x.dtype), x.shape))


svd_op = Primitive(
    "svd",
    abstract_eval=_abstract_eval,
    impl=lambda x: decompose_stack("svd", _decomposed, x),
    vjp=(_vjp,),
    lowering=Call("svd", failure=f"[svd] {NOT_CONVERGENT}"),
    batch=alike(),
)


def _svd(x: Any) -> tuple[Any, Any, Any]:
    """Return `u`, `s` and `vh` with ``min(rows, columns)`` singular vectors."""
    rows, columns = x.shape[-2:]
    ut, s, vh = split(svd_op.bind(x), [rows, 1, columns], -1)
    return matrix_transpose(ut), real(to_shape(s, s.shape[:-1])), vh


def _values_of_all(x: Any) -> Any:
    rows, columns = x.shape[-2:]
    _, s, _ = split(svd_op.bind(x), [rows, 1, columns], -1)
    return real(to_shape(s, s.shape[:-1]))


def _values_abstract_eval(x: Aval) -> Aval:
    require_matrix_dtype("svd", "tensor", x)
    return Aval((*x.shape[:-2], min(x.shape[-2:])), info_of(x.dtype).real)


def _values_vjp(g: Any, out: Any, x: Any) -> Any:
    u, _, vh = _svd(x)
    g = to_shape(cast_to(g, x.dtype), (*g.shape[:-1], 1, g.shape[-1]))
    return matmul(multiply(u, broadcast(g, u.shape)), vh)


svdvals_op = Primitive(
    "svdvals",
    abstract_eval=_values_abstract_eval,
    impl=lambda x: decompose_stack("svd", lambda a: np.linalg.svd(a, compute_uv=False), x),
    vjp=(_values_vjp,),
    lowering=Call("svdvals", otherwise=_values_of_all, failure=f"[svd] {NOT_CONVERGENT}", beside=svd_op),
    batch=alike(),
)
"""The singular values alone, which take a fifth of the time for large matrices unless a gradient needs the vectors."""


def singular_values(x: Any) -> Any:
    """Return the singular values of the matrices in the last two dimensions of `x`, greatest first."""
    return svdvals_op.bind(x)


# ---- full matrices ---------------------------------------------------------------------------------------------------


def _complement_abstract_eval(x: Aval) -> Aval:
    *lead, rows, columns = x.shape
    return Aval((*lead, rows, rows - columns), x.dtype)


def _complement(x: Any) -> Any:
    return np.linalg.qr(x, "complete")[0][..., x.shape[-1] :].copy()


def _complement_vjp(g: Any, out: Any, x: Any) -> Any:
    """Return the cotangent for orthonormal `x`: the derivative of `out` has no part along `out` itself."""
    return negative(matmul(out, matmul(g, x, adjoint_a=True)))


complement_op = Primitive(
    "orthogonal_complement",
    abstract_eval=_complement_abstract_eval,
    impl=lambda x: decompose_stack("svd", _complement, x),
    vjp=(_complement_vjp,),
    lowering=Call("complement"),
    batch=alike(),
)
"""Orthonormal columns that complete the orthonormal columns of the operand to a square matrix."""


def _completed(x: Any) -> Any:
    return concat([x, complement_op.bind(x)], -1) if x.shape[-2] > x.shape[-1] else x


def _svd_body(x: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    u, s, vh = _svd(matrix_operand("svd", "tensor", x))
    v = adjoint(vh)
    return (s, _completed(u), _completed(v)) if full_matrices else (s, u, v)


def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor] | Tensor:
    """Return the singular value decomposition ``tensor = u @ diag(s) @ adjoint(v)``.

    As in TensorFlow, the values come first and `v` is not transposed. The signs (for complex matrices: the phases) of
    the vectors are LAPACK's choice; use results that do not depend on them. In the gradient, values whose difference
    or sum is at most ``max(m, n) * eps`` times the greatest are regarded as equal or zero, and the terms that divide by
    it are dropped.

    Parameters
    ----------
    tensor : tensor_like, shape (..., m, n)
        float32, float64, complex64 or complex128.
    full_matrices : bool
        Return square `u` and `v`. The additional columns are an arbitrary orthonormal basis. Otherwise both have
        ``min(m, n)`` columns.
    compute_uv : bool
        If false, return only `s`.
    name : str, optional
        Ignored.

    Returns
    -------
    s : Tensor, shape (..., min(m, n))
        Singular values, greatest first. nan if the matrix contains nan or inf.
    u : Tensor, shape (..., m, min(m, n)) or (..., m, m)
        Left singular vectors, as columns.
    v : Tensor, shape (..., n, min(m, n)) or (..., n, n)
        Right singular vectors, as columns.

    Raises
    ------
    ShapeError
        If `tensor` has less than 2 dimensions.
    DTypeError
        If the dtype is not supported.
    LinAlgError
        If LAPACK does not converge; the message has the index of the matrix in the batch.

    Examples
    --------
    >>> x = jt.constant([[3.0, 0.0], [4.0, 5.0]])
    >>> s, u, v = jt.linalg.svd(x)
    >>> s.numpy().round(4)
    array([6.7082, 2.2361], dtype=float32)
    >>> product = jt.matmul(u * s, v, adjoint_b=True)
    >>> print(np.allclose(product.numpy(), x.numpy(), atol=1e-6))
    True
    """
    if not as_flag("compute_uv", compute_uv):
        return svdvals(tensor)
    s, u, v = apply(_svd_body, (tensor,), (as_flag("full_matrices", full_matrices),))
    return s, u, v


def _svdvals(x: Any) -> Any:
    return svdvals_op.bind(matrix_operand("svdvals", "tensor", x))


def svdvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the singular values of matrices, greatest first; see `svd`.

    Parameters
    ----------
    tensor : tensor_like of shape (..., m, n)
        Matrices.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `tensor` is bool or an integer.
    ShapeError
        If `tensor` has fewer than two dimensions.

    Examples
    --------
    >>> jt.linalg.svdvals([[3.0, 0.0], [4.0, 5.0]]).numpy().round(4)
    array([6.7082, 2.2361], dtype=float32)
    """
    return apply(_svdvals, (tensor,))
