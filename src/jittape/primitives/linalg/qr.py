"""The QR decomposition, computed with LAPACK.

One op returns both factors in one array, and its gradient rule uses them. If there are no more columns than rows, it is
that of S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010, arXiv:1009.6112).
For more columns, it is that of D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms"
(2020, arXiv:2009.10071).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.forms import Call
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag
from jittape.errors import NoGradientError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.elementwise.comparison import less, less_equal
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import (
    matrix_operand,
    require_matrix_dtype,
    row_and_column,
    times_adjoint,
    without_elements,
)
from jittape.primitives.linalg.triangular import triangle, triangular_solve_op
from jittape.primitives.shape.joining import concat, split
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.typing import Tensor, TensorLike

__all__ = ["QR", "qr"]


def _abstract_eval(x: Aval, *, full: bool) -> Aval:
    require_matrix_dtype("qr", "input", x)
    *lead, rows, columns = x.shape
    return Aval((*lead, rows if full else min(rows, columns), rows + columns), x.dtype)


def _impl(x: Any, *, full: bool) -> Any:
    q, r = np.linalg.qr(x, "complete" if full else "reduced")
    return np.concatenate([np.swapaxes(q, -1, -2), r], -1)


def _vjp(g: Any, out: Any, x: Any, *, full: bool) -> Any:
    rows, columns = x.shape[-2:]
    if full and rows > columns:
        raise NoGradientError(
            f"No gradient is defined for qr of shape {x.shape} with full_matrices=True, because the additional columns "
            "of q are arbitrary; use full_matrices=False"
        )
    if not x.aval.size:
        return without_elements(g, x)
    qt, r = split(out, [rows, columns], -1)
    g_qt, g_r = split(g, [rows, columns], -1)
    q, g_q = matrix_transpose(qt), matrix_transpose(g_qt)
    if rows >= columns:
        return _tall_vjp(q, r, g_q, g_r)
    left, right = split(r, [rows, columns - rows], -1)
    g_left, g_right = split(g_r, [rows, columns - rows], -1)
    # The last columns of r are ``q^H y`` with the last columns y of the matrix.
    y = matmul_op.bind(q, right)
    g_q = add(g_q, times_adjoint(y, g_right))
    return concat([_tall_vjp(q, left, g_q, g_left), matmul_op.bind(q, g_right)], axis=-1)


def _tall_vjp(q: Any, r: Any, g_q: Any, g_r: Any) -> Any:
    """Return ``(g_q + q @ S) @ r^-H``, where S is Hermitian with the upper triangle of ``g_r r^H - q^H g_q``."""
    upper = triangle(
        subtract(times_adjoint(triangle(g_r, lower=False), r), matmul_op.bind(adjoint(q), g_q)), lower=False
    )
    rows, columns = row_and_column(upper.shape)
    half = multiply(
        0.5, add(cast_to(less_equal(rows, columns), upper.dtype), cast_to(less(rows, columns), upper.dtype))
    )
    weighted = multiply(half, upper)
    total = add(g_q, matmul_op.bind(q, add(weighted, adjoint(weighted))))
    return adjoint(triangular_solve_op.bind(r, adjoint(total), lower=False, adjoint=False))


qr_op = Primitive(
    "qr", abstract_eval=_abstract_eval, impl=_impl, vjp=(_vjp,), lowering=Call("qr"), batch=alike()
)
"""The transposed q and r, side by side."""


class QR(NamedTuple):
    """The factors of a QR decomposition, as returned by `qr`."""

    q: Tensor
    r: Tensor


def _qr(x: Any, full: bool) -> tuple[Any, Any]:
    x = matrix_operand("qr", "input", x)
    qt, r = split(qr_op.bind(x, full=full), [x.shape[-2], x.shape[-1]], -1)
    return matrix_transpose(qt), r


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> QR:
    """Factorize matrices into a unitary and an upper triangular factor, ``input = q @ r``.

    The signs are those of LAPACK; elements of the diagonal of r may be negative. The gradient requires that the first
    ``min(m, n)`` columns are linearly independent. Otherwise it contains infinities or nans.

    Parameters
    ----------
    input : tensor_like of shape (..., m, n)
        float32, float64, complex64 or complex128.
    full_matrices : bool
        Return a square q. For ``m > n`` its additional columns are arbitrary, so that there is no gradient.
    name : str, optional
        Ignored.

    Returns
    -------
    q : tensor of shape (..., m, min(m, n)) or (..., m, m)
    r : tensor of shape (..., min(m, n), n) or (..., m, n)

    Raises
    ------
    ShapeError
        If there are less than two dimensions.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> q, r = jt.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> jt.matmul(q, r).numpy().round(4)
    array([[3., 1.],
           [4., 2.]], dtype=float32)
    """
    return QR(*apply(_qr, (input,), (as_flag("full_matrices", full_matrices),)))
