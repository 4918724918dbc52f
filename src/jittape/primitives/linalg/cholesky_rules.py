"""Ops of the gradient of a Cholesky factorization.

For ``A = L L^T`` the cotangent of L becomes that of A in `cholesky_pullback_op`, which costs two solves with as many
right-hand sides as rows. Most cotangents of L have a form that makes this cheap:

- The cotangent from ``x = cholesky_solve(L, b)`` is the lower triangle of ``S L``, with the symmetric matrix
  ``S = -(u x^T + x u^T)`` and ``u = cholesky_solve(L, cotangent of x)``. The pullback of this is ``S / 2``.
- The cotangent from the diagonal of L is a diagonal matrix D. With ``p = diag(L D)`` the pullback is
  ``L^-T diag(p) L^-1 / 2``, which LAPACK computes in place.

The ops keep these forms apart until `compile/rewrite/cholesky_cotangents.py` uses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.forms import Call, Decomposition
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import cast_to
from jittape.primitives.elementwise.arithmetic import (
    add,
    doubly_zero_dominant_multiply_op,
    multiply,
    negative,
    subtract,
)
from jittape.primitives.elementwise.assertions import MADE
from jittape.primitives.elementwise.comparison import less, less_equal
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import row_and_column, same_stack, solve_batch, times_adjoint
from jittape.primitives.linalg.triangular import triangle, triangular_solve_op

__all__ = ["cholesky_diagonal_op", "cholesky_pullback", "cholesky_pullback_op", "cholesky_solve_op"]


# ---- the pullback ----------------------------------------------------------------------------------------------------


def cholesky_pullback(factor: Any, g: Any) -> Any:
    """Return the Hermitian cotangent of the matrix (Murray, Differentiation of the Cholesky decomposition, 2016).

    With the lower triangle P of ``L^H g``, its diagonal halved, it is ``L^-H (P + P^H) / 2 L^-1``.
    """
    half = _half_of_lower(matmul_op.bind(adjoint(factor), g))
    middle = add(half, adjoint(half))
    left = triangular_solve_op.bind(factor, middle, lower=True, adjoint=True)
    # The result is Hermitian, so a second solve from the left replaces one from the right.
    return triangular_solve_op.bind(factor, adjoint(left), lower=True, adjoint=True)


def _half_of_lower(x: Any) -> Any:
    """Return half of the elements of `x` below the diagonal, a quarter of those on it and 0 above."""
    rows, columns = row_and_column(x.shape)
    quarters = add(cast_to(less_equal(columns, rows), x.dtype), cast_to(less(columns, rows), x.dtype))
    return doubly_zero_dominant_multiply_op.bind(x, multiply(quarters, 0.25))


def _pullback_impl(factor: Any, g: Any) -> Any:
    product = np.conj(np.swapaxes(factor, -1, -2)) @ g
    n = product.shape[-1]
    half = np.where(np.tri(n, dtype=bool), product * (0.5 - 0.25 * np.eye(n)), 0).astype(g.dtype)
    middle = half + np.conj(np.swapaxes(half, -1, -2))
    left = triangular_solve_op.impl(factor, middle, lower=True, adjoint=True)
    right = np.conj(np.swapaxes(left, -1, -2))
    return triangular_solve_op.impl(factor, right, lower=True, adjoint=True)


def _pullback_parts(h: Any, factor: Any) -> tuple[Any, Any]:
    """Return ``X = L^-1 S L^-H`` for the Hermitian part S of `h`, and the lower half of X."""
    symmetric = multiply(0.5, add(h, adjoint(h)))
    left = triangular_solve_op.bind(factor, symmetric, lower=True, adjoint=False)
    x = triangular_solve_op.bind(factor, adjoint(left), lower=True, adjoint=False)
    return x, multiply(2.0, _half_of_lower(x))


def _pullback_factor_vjp(h: Any, out: Any, factor: Any, g: Any) -> Any:
    x, lower = _pullback_parts(h, factor)
    through_solves = matmul_op.bind(out, matmul_op.bind(factor, x))
    return subtract(times_adjoint(g, lower), multiply(2.0, through_solves))


def _pullback_g_vjp(h: Any, out: Any, factor: Any, g: Any) -> Any:
    return matmul_op.bind(factor, _pullback_parts(h, factor)[1])


cholesky_pullback_op = Primitive(
    "cholesky_pullback",
    abstract_eval=lambda factor, g: same_stack("cholesky", factor, g),
    impl=_pullback_impl,
    vjp=(_pullback_factor_vjp, _pullback_g_vjp),
    lowering=Decomposition(cholesky_pullback),
    batch=alike(),
    cholesky_role="pullback",
)
"""The cotangent of real matrices from their lower factors and the cotangents of these."""


# ---- cotangents of the factor ----------------------------------------------------------------------------------------


def _solve(factor: Any, b: Any) -> Any:
    forward = triangular_solve_op.bind(factor, b, lower=True, adjoint=False)
    return triangular_solve_op.bind(factor, forward, lower=True, adjoint=True)


def _solve_impl(factor: Any, b: Any) -> Any:
    forward = triangular_solve_op.impl(factor, b, lower=True, adjoint=False)
    return triangular_solve_op.impl(factor, forward, lower=True, adjoint=True)


cholesky_solve_op: Primitive = Primitive(
    "cholesky_solve",
    abstract_eval=lambda factor, b: same_stack("cholesky_solve", factor, b),
    impl=_solve_impl,
    vjp=(
        lambda g, out, factor, b: cholesky_term_op.bind(factor, cholesky_solve_op.bind(factor, g), out),
        lambda g, out, factor, b: cholesky_solve_op.bind(factor, g),
    ),
    lowering=Decomposition(_solve),
    batch=solve_batch(lambda: cholesky_solve_op),
    cholesky_role="solve",
)
"""``L L^T x = b`` for real matrices. The strict upper triangle of L is not read."""


def _term_abstract_eval(factor: Aval, u: Aval, x: Aval) -> Aval:
    same_stack("cholesky_solve", factor, u)
    same_stack("cholesky_solve", factor, x)
    return factor


def _term(factor: Any, u: Any, x: Any) -> Any:
    lower = triangle(factor, lower=True)
    products = [matmul_op.bind(one, matmul_op.bind(adjoint(other), lower)) for one, other in ((u, x), (x, u))]
    return triangle(negative(add(*products)), lower=True)


def _term_impl(factor: Any, u: Any, x: Any) -> Any:
    lower, (ut, xt) = np.tril(factor), (np.swapaxes(v, -1, -2) for v in (u, x))
    return -np.tril(u @ (xt @ lower) + x @ (ut @ lower))


def _term_factor_vjp(h: Any, out: Any, factor: Any, u: Any, x: Any) -> Any:
    t = triangle(negative(h), lower=True)
    products = [matmul_op.bind(one, matmul_op.bind(adjoint(other), t)) for one, other in ((u, x), (x, u))]
    return triangle(add(*products), lower=True)


def _term_vjp(h: Any, factor: Any, other: Any) -> Any:
    s = times_adjoint(triangle(negative(h), lower=True), triangle(factor, lower=True))
    return matmul_op.bind(add(s, adjoint(s)), other)


cholesky_term_op: Primitive = Primitive(
    "cholesky_term",
    abstract_eval=_term_abstract_eval,
    impl=_term_impl,
    vjp=(
        _term_factor_vjp,
        lambda h, out, factor, u, x: _term_vjp(h, factor, x),
        lambda h, out, factor, u, x: _term_vjp(h, factor, u),
    ),
    lowering=Decomposition(_term),
    batch=alike(),
    cholesky_role="term",
)
"""The lower triangle of ``-(u x^T + x u^T) L``: the cotangent of the factor from a solution `x`."""


# ---- the pullback of a diagonal --------------------------------------------------------------------------------------


def _diagonal_impl(factor: Any, d: Any) -> Any:
    return _pullback_impl(factor, d[..., None] * np.eye(d.shape[-1], dtype=d.dtype))


cholesky_diagonal_op = Primitive(
    "cholesky_diagonal",
    abstract_eval=lambda factor, d: factor,
    impl=_diagonal_impl,
    lowering=Call("potri"),
    gradient_stops=MADE,
)
"""The pullback of diagonal matrices with the diagonals `d`."""
