"""Singular values, computed with NumPy.

One op returns the complete decomposition in one array. The gradient rule needs the singular vectors. They are results
of the op itself, so the rule can be differentiated again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import BLAS
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.errors import DTypeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract, zero_dominant_multiply
from jittape.primitives.elementwise.division import reciprocal
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import set_diag
from jittape.primitives.shape.joining import split
from jittape.primitives.shape.reshaping import matrix_transpose

__all__ = ["singular_values"]


def _abstract_eval(x: Aval) -> Aval:
    if x.dtype.kind != "f" or x.dtype not in BLAS:
        raise DTypeError(
            f"[norm] the singular values of a matrix of {x.dtype.name} are not defined; cast it to float32 or float64"
        )
    *lead, rows, columns = x.shape
    return Aval((*lead, min(rows, columns), rows + 1 + columns), x.dtype)


def _impl(x: Any) -> Any:
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return np.concatenate([np.swapaxes(u, -1, -2), s[..., None], vt], -1)


def _vjp(g: Any, out: Any, x: Any) -> Any:
    """Return the cotangent of ``x = u @ diag(s) @ vt`` from those of the three parts, which are concatenated in `g`.

    The rule divides by differences of singular values. If the cotangent of the vectors is zero, equal values are no
    problem.
    """
    rows, columns = x.shape[-2:]
    ut, s, vt = split(out, [rows, 1, columns], -1)
    g_ut, g_s, g_vt = split(g, [rows, 1, columns], -1)
    u, v, g_u = (matrix_transpose(part) for part in (ut, vt, g_ut))
    row = matrix_transpose(s)
    turn_u, turn_v = _skew(matmul(ut, g_u)), _skew(matmul(vt, matrix_transpose(g_vt)))
    apart = zero_dominant_multiply(multiply(0.5, add(turn_u, turn_v)), reciprocal(subtract(row, s)))
    together = zero_dominant_multiply(multiply(0.5, subtract(turn_u, turn_v)), reciprocal(add(row, s)))
    inner = set_diag(add(apart, together), to_shape(g_s, g_s.shape[:-1]))
    total = matmul(matmul(u, inner), vt)
    if rows > columns:
        outside = zero_dominant_multiply(
            subtract(g_u, matmul(u, matmul(ut, g_u))), broadcast(reciprocal(row), g_u.shape)
        )
        total = add(total, matmul(outside, vt))
    if columns > rows:
        outside = zero_dominant_multiply(
            subtract(g_vt, matmul(matmul(g_vt, v), vt)), broadcast(reciprocal(s), g_vt.shape)
        )
        total = add(total, matmul(u, outside))
    return total


def _skew(x: Any) -> Any:
    return subtract(x, matrix_transpose(x))


decomposed_op = Primitive(
    "singular_values", abstract_eval=_abstract_eval, impl=_impl, vjp=(_vjp,), batch=alike()
)


def singular_values(x: Any) -> Any:
    """Return the singular values of the matrices in the last two dimensions of `x`, greatest first."""
    rows, columns = x.shape[-2:]
    _, s, _ = split(decomposed_op.bind(x), [rows, 1, columns], -1)
    return to_shape(s, s.shape[:-1])
