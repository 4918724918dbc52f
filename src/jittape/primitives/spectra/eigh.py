"""Eigenvalues and eigenvectors of symmetric and Hermitian matrices, computed with LAPACK.

One op returns the complete decomposition in one array: the eigenvalues are the first row, and the eigenvectors are the
rows below it, so values and vectors are views. For a complex matrix the values are stored with imaginary parts of 0.

The gradient rule needs the vectors. They are results of the op itself, so the rule can be differentiated again. It is
that of M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008),
section 3.1, with the antisymmetric part of the cotangent of the vectors: only this part depends on the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from jittape.core.dtypes import info_of
from jittape.core.forms import Call
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag, as_int, shown
from jittape.errors import ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to, conj, promote, to_shape
from jittape.primitives.elementwise.arithmetic import multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import adjoint, diag, set_diag
from jittape.primitives.linalg.matrix_operands import (
    matrix_operand,
    require_matrix_dtype,
    require_square,
    without_elements,
)
from jittape.primitives.linalg.triangular import triangle
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.joining import split
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.spectra.decomposition_parts import (
    NOT_CONVERGENT,
    decompose_stack,
    reciprocal_of_gap,
    rounding_error,
)
from jittape.typing import Tensor, TensorLike

__all__ = ["eigh", "eigh_of_triangle", "eigh_tridiagonal", "eigvalsh", "eigvalsh_of_triangle"]


def _abstract_eval(x: Aval, *, lower: bool) -> Aval:
    require_matrix_dtype("eigh", "tensor", x)
    require_square("eigh", "tensor", x)
    *lead, n, _ = x.shape
    return Aval((*lead, n + 1, n), x.dtype)


def _letter(lower: bool) -> Literal["L", "U"]:
    return "L" if lower else "U"


def _decomposed(x: Any, lower: bool) -> Any:
    values, vectors = np.linalg.eigh(x, _letter(lower))
    return np.concatenate([values[..., None, :].astype(x.dtype), np.swapaxes(vectors, -1, -2)], -2)


def _vjp(g: Any, out: Any, x: Any, *, lower: bool) -> Any:
    """Return the cotangent of the triangle that the op reads."""
    n = x.shape[-1]
    if n == 0:
        return without_elements(g, x)
    values, rows = split(out, [1, n], -2)
    g_values, g_rows = split(g, [1, n], -2)
    turn = matmul(conj(rows), matrix_transpose(g_rows))
    column = matrix_transpose(values)
    gaps = reciprocal_of_gap(subtract(values, column), rounding_error(values, n))
    inner = zero_dominant_multiply(multiply(0.5, subtract(turn, adjoint(turn))), gaps)
    inner = set_diag(inner, to_shape(real(g_values), (*x.shape[:-2], n)))
    total = matmul(matmul(rows, inner, transpose_a=True), conj(rows))
    return _of_triangle(total, lower)


def _of_triangle(g: Any, lower: bool) -> Any:
    """Return the cotangent of one triangle from the Hermitian cotangent `g` of both."""
    return set_diag(triangle(multiply(2.0, g), lower), diag_part(real(g)))


eigh_op = Primitive(
    "eigh",
    abstract_eval=_abstract_eval,
    impl=lambda x, *, lower: decompose_stack("eigh", lambda a: _decomposed(a, lower), x),
    vjp=(_vjp,),
    lowering=Call("eigh", failure=f"[eigh] {NOT_CONVERGENT}"),
    batch=alike(),
)


def _eigh(x: Any, lower: bool) -> tuple[Any, Any]:
    out = eigh_op.bind(matrix_operand("eigh", "tensor", x), lower=lower)
    n = out.shape[-1]
    values, rows = split(out, [1, n], -2)
    return real(to_shape(values, (*out.shape[:-2], n))), matrix_transpose(rows)


def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Only the lower triangle is read, so a gradient is zero above the diagonal. The sign (for complex matrices: the
    phase) of each vector is LAPACK's choice; use results that do not depend on it. In the gradient, eigenvalues whose
    difference is at most ``n * eps`` times the greatest absolute value are regarded as equal, and the terms that divide
    by their difference are dropped.

    Parameters
    ----------
    tensor : tensor_like, shape (..., n, n)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    e : Tensor, shape (..., n)
        Eigenvalues in ascending order, real. nan if the matrix contains nan or inf.
    v : Tensor, shape (..., n, n)
        Column ``v[..., :, i]`` is the vector for ``e[..., i]``, with Euclidean length 1.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.
    LinAlgError
        If LAPACK does not converge; the message has the index of the matrix in the batch.

    Examples
    --------
    >>> e, v = jt.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> e.numpy()
    array([1., 3.], dtype=float32)
    >>> abs(v.numpy()[:, 1]).round(4)
    array([0.7071, 0.7071], dtype=float32)
    """
    return eigh_of_triangle(tensor, True)


def eigh_of_triangle(tensor: Any, lower: bool) -> tuple[Any, Any]:
    """Return `eigh` from one triangle of the matrices; the signs of vectors depend on this choice."""
    values, vectors = apply(_eigh, (tensor,), (lower,))
    return values, vectors


def _values_of_both(x: Any, *, lower: bool) -> Any:
    values, _ = split(eigh_op.bind(x, lower=lower), [1, x.shape[-1]], -2)
    return real(to_shape(values, x.shape[:-1]))


def _values_abstract_eval(x: Aval, *, lower: bool) -> Aval:
    require_matrix_dtype("eigh", "tensor", x)
    require_square("eigh", "tensor", x)
    return Aval(x.shape[:-1], info_of(x.dtype).real)


def _values_vjp(g: Any, out: Any, x: Any, *, lower: bool) -> Any:
    _, vectors = _eigh(x, lower)
    g = to_shape(cast_to(g, x.dtype), (*g.shape[:-1], 1, g.shape[-1]))
    total = matmul(multiply(vectors, broadcast(g, vectors.shape)), vectors, adjoint_b=True)
    return _of_triangle(total, lower)


eigvalsh_op = Primitive(
    "eigvalsh",
    abstract_eval=_values_abstract_eval,
    impl=lambda x, *, lower: decompose_stack("eigh", lambda a: np.linalg.eigvalsh(a, _letter(lower)), x),
    vjp=(_values_vjp,),
    lowering=Call("eigvalsh", otherwise=_values_of_both, failure=f"[eigh] {NOT_CONVERGENT}", beside=eigh_op),
    batch=alike(),
)
"""The eigenvalues alone, which take half the time unless a gradient needs the vectors anyway."""


def _eigvalsh(x: Any, lower: bool) -> Any:
    return eigvalsh_op.bind(matrix_operand("eigvalsh", "tensor", x), lower=lower)


def eigvalsh(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the eigenvalues of symmetric or Hermitian matrices in ascending order; see `eigh`.

    Parameters
    ----------
    tensor : tensor_like of shape (..., n, n)
        Symmetric or Hermitian matrices.
    name : str, optional
        Ignored.

    Raises
    ------
    DTypeError
        If `tensor` is bool or an integer.
    ShapeError
        If `tensor` has fewer than two dimensions, or is not square in its last two dimensions.

    Examples
    --------
    >>> x = jt.Variable([[2.0, 0.0], [1.0, 2.0]])
    >>> with jt.GradientTape() as tape:
    ...     greatest = jt.linalg.eigvalsh(x)[-1]
    >>> tape.gradient(greatest, x).numpy().round(4)
    array([[0.5, 0. ],
           [1. , 0.5]], dtype=float32)
    """
    return eigvalsh_of_triangle(tensor, True)


def eigvalsh_of_triangle(tensor: Any, lower: bool) -> Any:
    """Return `eigvalsh` from the lower or the upper triangle of the matrices."""
    return apply(_eigvalsh, (tensor,), (lower,))


# ---- tridiagonal matrices --------------------------------------------------------------------------------------------


def _eigh_tridiagonal(alpha: Any, beta: Any, first: int | None, last: int | None, vectors: bool) -> Any:
    alpha, beta = as_symbol(alpha), as_symbol(beta)
    require_matrix_dtype("eigh_tridiagonal", "alpha", alpha)
    require_matrix_dtype("eigh_tridiagonal", "beta", beta)
    alpha, beta = promote(alpha, beta)
    if not alpha.shape or not beta.shape or beta.shape != (*alpha.shape[:-1], max(alpha.shape[-1] - 1, 0)):
        raise ShapeError(
            "[eigh_tridiagonal] beta must have one element less than alpha in the last dimension, and the same leading "
            f"dimensions, got shapes {alpha.shape} and {beta.shape}"
        )
    n = alpha.shape[-1]
    lower = diag(conj(beta), k=-1) if n > 1 else filled(to_shape(alpha, (*alpha.shape, n)), 0)
    matrix = set_diag(lower, alpha)
    values, columns = _eigh(matrix, True) if vectors else (_eigvalsh(matrix, True), None)
    if first is None or last is None:
        return (values, columns) if vectors else values
    if not 0 <= first <= last < n:
        raise ShapeError(
            f"[eigh_tridiagonal] select_range must be two ordered indices from 0 to {n - 1}, got ({first}, {last})"
        )
    sizes = [first, last + 1 - first, n - 1 - last]
    chosen = [split(x, sizes, -1)[1] for x in (values, columns) if x is not None]
    return tuple(chosen) if vectors else chosen[0]


def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Sequence[int] | None = None,
    tol: float | None = None,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return eigenvalues, and eigenvectors if required, of symmetric or Hermitian tridiagonal matrices.

    The matrices are decomposed like dense ones; see `eigh` for the conventions.

    Parameters
    ----------
    alpha : tensor_like of shape (..., n)
        The diagonal.
    beta : tensor_like of shape (..., n - 1)
        The diagonal above. The diagonal below is its complex conjugate.
    eigvals_only : bool
        Return only the eigenvalues.
    select : {'a', 'i'}
        All eigenvalues, or those with the indices `select_range`. TensorFlow's ``'v'`` is not supported, because the
        number of eigenvalues in an interval depends on their values.
    select_range : pair of int, optional
        The first and the last index.
    tol : float, optional
        Ignored: the eigenvalues are accurate to rounding errors.
    name : str, optional
        Ignored.

    Returns
    -------
    e : tensor of shape (..., m)
        Eigenvalues in ascending order.
    v : tensor of shape (..., n, m)
        Eigenvectors, as columns, if `eigvals_only` is false.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or `select_range` is out of range.
    DTypeError
        If the dtype is not supported.
    ValueError
        If `select` is none of the above, or `select_range` is missing.

    Examples
    --------
    >>> jt.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy()
    array([1., 3.], dtype=float32)
    """
    if not isinstance(select, str) or select not in ("a", "i"):
        raise ValueError(
            f"[eigh_tridiagonal] select must be 'a' or 'i', got {shown(select)}; boolean_mask selects by value"
        )
    first = last = None
    if select == "i":
        if not isinstance(select_range, (list, tuple)) or len(select_range) != 2:
            raise ValueError(
                f"[eigh_tridiagonal] select_range must be two indices, got {shown(select_range)}"
            )
        first, last = (as_int("select_range", i) for i in select_range)
    return apply(_eigh_tridiagonal, (alpha, beta), (first, last, not as_flag("eigvals_only", eigvals_only)))
