"""Eigenvalues and eigenvectors of general matrices, computed with LAPACK.

As in `eigh`, one complex array has the eigenvalues in its first row and the eigenvectors in the rows below.

LAPACK returns vectors of length 1 whose greatest component is real, which leaves a sign open. The gradient rule is that
of C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum
beamforming" (2017, arXiv:1701.00392), section 4.3.2, with an additional term for the choice of the real component. So
the derivatives are those of the vectors that LAPACK returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Call
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, cast_to, conj, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.elementwise.complex_numbers import complex as complex_number
from jittape.primitives.elementwise.complex_numbers import imag, real
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.piecewise import absolute
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import diag
from jittape.primitives.linalg.matrix_operands import (
    matrix_operand,
    require_matrix_dtype,
    require_square,
    without_elements,
)
from jittape.primitives.linalg.solve import solve
from jittape.primitives.record_parts import filled
from jittape.primitives.reduce.extremum_indices import argmax
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.indicators import one_hot
from jittape.primitives.shape.joining import split
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.spectra.decomposition_parts import (
    NOT_CONVERGENT,
    decompose_stack,
    reciprocal_of_gap,
    rounding_error,
)
from jittape.typing import Tensor, TensorLike

__all__ = ["eig", "eigvals"]


def _complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def _abstract_eval(x: Aval) -> Aval:
    require_matrix_dtype("eig", "tensor", x)
    require_square("eig", "tensor", x)
    *lead, n, _ = x.shape
    return Aval((*lead, n + 1, n), _complex_dtype(x.dtype))


def _decomposed(x: Any) -> Any:
    values, vectors = np.linalg.eig(x)
    packed = np.concatenate([values[..., None, :], np.swapaxes(vectors, -1, -2)], -2)
    return packed.astype(_complex_dtype(x.dtype), copy=False)


def _vjp(g: Any, out: Any, x: Any) -> Any:
    n = x.shape[-1]
    if n == 0:
        return without_elements(g, x)
    values, rows = split(out, [1, n], -2)
    g_values, g_rows = split(g, [1, n], -2)
    # Rows are vectors, so products are transposed: this is the transpose of the conjugate of v^H g_v.
    turn = matmul(conj(rows), matrix_transpose(_along_the_sphere(g_rows, rows)))
    gaps = reciprocal_of_gap(subtract(values, matrix_transpose(values)), rounding_error(values, n))
    inner = add(zero_dominant_multiply(turn, gaps), diag(to_shape(g_values, (*x.shape[:-2], n))))
    total = solve(matrix_transpose(rows), matmul(inner, conj(rows)), adjoint=True)
    return total if x.dtype.kind == "c" else real(total)


def _along_the_sphere(g: Any, rows: Any) -> Any:
    """Return the part of the cotangent `g` of vectors that is left if their length and their phase are fixed.

    The phase makes one component real: the greatest of those without an imaginary part.
    """
    overlap = reduce_sum(multiply(conj(rows), g), -1, keepdims=True)
    size = where(equal(imag(rows), 0.0), absolute(rows), 0.0)
    chosen = cast_to(one_hot(argmax(size, -1), rows.shape[-1]), rows.dtype)
    component = reduce_sum(multiply(rows, chosen), -1, keepdims=True)
    real_overlap, imag_overlap = real(overlap), imag(overlap)
    turn = divide(complex_number(filled(imag_overlap, 0), imag_overlap), component)
    along = multiply(rows, broadcast(cast_to(real_overlap, rows.dtype), rows.shape))
    return subtract(subtract(g, along), multiply(chosen, broadcast(turn, rows.shape)))


eig_op = Primitive(
    "eig",
    abstract_eval=_abstract_eval,
    impl=lambda x: decompose_stack("eig", _decomposed, x),
    vjp=(_vjp,),
    lowering=Call("eig", failure=f"[eig] {NOT_CONVERGENT}"),
    batch=alike(),
)


def _eig(x: Any) -> tuple[Any, Any]:
    out = eig_op.bind(matrix_operand("eig", "tensor", x))
    n = out.shape[-1]
    values, rows = split(out, [1, n], -2)
    return to_shape(values, (*out.shape[:-2], n)), matrix_transpose(rows)


def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues and right eigenvectors of square matrices.

    Each vector has Euclidean length 1, and its greatest component is real; the sign is LAPACK's choice. Derivatives are
    those of these vectors. If eigenvalues differ by at most ``n * eps`` times the greatest absolute value, the terms of
    a gradient that divide by their difference are dropped. If eigenvectors are linearly dependent, most derivatives are
    infinite: a gradient then has large numbers, or the system of equations for it is singular.

    Parameters
    ----------
    tensor : tensor_like of shape (..., n, n)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    e : tensor of shape (..., n)
        Eigenvalues in LAPACK's order, complex. nan if the matrix contains nan or inf.
    v : tensor of shape (..., n, n)
        Column ``v[..., :, i]`` is the vector for ``e[..., i]``, complex.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.
    LinAlgError
        If LAPACK does not converge, or if the system of equations for the gradient is singular.

    Examples
    --------
    >>> e, v = jt.linalg.eig([[0.0, 1.0], [-1.0, 0.0]])
    >>> e.numpy()
    array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    values, vectors = apply(_eig, (tensor,))
    return values, vectors


def _eigvals(x: Any) -> Any:
    return _eig(x)[0]


def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the eigenvalues of square matrices, which are complex; see `eig`.

    Parameters
    ----------
    tensor : tensor_like of shape (..., n, n)
        Square matrices.
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
    >>> jt.linalg.eigvals([[1.0, 2.0], [0.0, 3.0]]).numpy()
    array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    return apply(_eigvals, (tensor,))
