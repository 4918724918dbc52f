"""Matrix equations: Sylvester's and Lyapunov's.

SciPy solves Sylvester's equation from Schur decompositions. Its gradient is a solution of the adjoint equation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import LinAlgError, ShapeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import promote
from jittape.primitives.elementwise.arithmetic import negative
from jittape.primitives.elementwise.complex_numbers import conj
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import require_matrix_dtype
from jittape.primitives.linalg.solve import inv, solve
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.linalg.matrix_arguments import matrix_argument

__all__ = ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester"]

DIRECT = 10
"""Number of rows from which the discrete equation is transformed into a continuous one, as in SciPy."""

SINGULAR = 1e-3
"""Relative residual of a solution without a correct digit."""


def _abstract_eval(a: Aval, b: Aval, q: Aval) -> Aval:
    require_matrix_dtype("solve_sylvester", "a", a)
    m, n = q.shape[-2:]
    if a.shape[-2:] != (m, m) or b.shape[-2:] != (n, n):
        raise ShapeError(
            f"[solve_sylvester] q of shape {q.shape} needs a of shape {(m, m)} and b of shape {(n, n)}, "
            f"got {a.shape} and {b.shape}"
        )
    return q


def _impl(a: Any, b: Any, q: Any) -> Any:
    from scipy import linalg  # imported on first use, not with the package

    out = np.empty_like(q)
    for index in np.ndindex(q.shape[:-2]):
        left, right, wanted = a[index], b[index], q[index]
        x = linalg.solve_sylvester(left, right, wanted)
        residual = np.linalg.norm(left @ x + x @ right - wanted)
        if not residual <= SINGULAR * np.linalg.norm(wanted):  # SciPy perturbs a singular equation
            raise LinAlgError("[solve_sylvester] the equation is singular: a and -b have a common eigenvalue")
        out[index] = x
    return out


def _solution_for(g: Any, a: Any, b: Any) -> Any:
    return _sylvester_op.bind(adjoint(a), adjoint(b), g)


_sylvester_op: Primitive = Primitive(
    "solve_sylvester",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(
        lambda g, out, a, b, q: negative(matmul(_solution_for(g, a, b), adjoint(out))),
        lambda g, out, a, b, q: negative(matmul(adjoint(out), _solution_for(g, a, b))),
        lambda g, out, a, b, q: _solution_for(g, a, b),
    ),
    batch=alike(),
)


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    return _sylvester_op.bind(*promote(a, b, q))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ b = q``.

    Parameters
    ----------
    a : tensor-like of shape (m, m)
        Left matrix.
    b : tensor-like of shape (n, n)
        Right matrix. It must not have an eigenvalue in common with ``-a``.
    q : tensor-like of shape (m, n)
        Right-hand side.

    Raises
    ------
    LinAlgError
        If the equation is singular.
    ShapeError
        If the operands do not fit.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.solve_sylvester([[1.0]], [[3.0]], [[8.0]]).numpy()
    array([[2.]])
    """
    operands = [matrix_argument(x) for x in (a, b, q)]
    if any(len(x.shape) != 2 for x in operands):
        shapes = ", ".join(str(tuple(x.shape)) for x in operands)
        raise ShapeError(f"[solve_sylvester] a, b and q must be matrices, got shapes {shapes}")
    return apply(_sylvester, tuple(operands))


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a^H = q``; SciPy's older name is ``solve_lyapunov``.

    Parameters
    ----------
    a, q : tensor-like of shape (m, m)
        Matrix and right-hand side.

    Raises
    ------
    ShapeError
        If an argument is not a matrix, or the shapes do not fit.
    LinAlgError
        If the equation is singular.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.solve_continuous_lyapunov([[-1.0]], [[-4.0]]).numpy()
    array([[2.]])
    """
    a = matrix_argument(a)
    return solve_sylvester(a, adjoint(a), q)


def solve_lyapunov(a: Any, q: Any) -> Any:
    """Solve ``a @ x + x @ a^H = q``: `solve_continuous_lyapunov`.

    Parameters
    ----------
    a, q : array_like of shape (n, n)

    Raises
    ------
    ShapeError
        If an argument is not a matrix, or the shapes do not fit.
    LinAlgError
        If the equation is singular.

    Examples
    --------
    >>> x = jt.scipy.linalg.solve_lyapunov(np.diag([1.0, 2.0]), np.eye(2))
    >>> x.numpy().round(4)
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return solve_continuous_lyapunov(a, q)


def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """Solve ``a @ x @ a^H - x + q = 0``.

    Parameters
    ----------
    a, q : tensor-like of shape (m, m)
        Matrix and right-hand side.
    method : {"direct", "bilinear"}, optional
        Solve one linear system of all elements, or transform the equation into a continuous one. The default is
        direct below 10 rows.

    Raises
    ------
    ValueError
        For an unknown method.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.solve_discrete_lyapunov([[0.5]], [[3.0]]).numpy()
    array([[4.]])
    """
    a, q = matrix_argument(a), matrix_argument(q)
    if len(a.shape) != 2 or a.shape[0] != a.shape[1] or tuple(q.shape) != tuple(a.shape):
        raise ShapeError(
            "[solve_discrete_lyapunov] a and q must be square matrices of one shape, "
            f"got {tuple(a.shape)} and {tuple(q.shape)}"
        )
    n = a.shape[0]
    method = method or ("bilinear" if n >= DIRECT else "direct")
    if method not in ("direct", "bilinear"):
        raise ValueError(f"[solve_discrete_lyapunov] method must be 'direct' or 'bilinear', got {method!r}")
    eye = np.eye(n, dtype=np.dtype(a.dtype))
    if method == "direct":
        products = reshape(a, (n, 1, n, 1)) * reshape(conj(a), (1, n, 1, n))
        system = np.eye(n * n, dtype=eye.dtype) - reshape(products, (n * n, n * n))
        return reshape(solve(system, reshape(q, (n * n, 1))), (n, n))
    star = adjoint(a)
    inverse = inv(star + eye)
    b = (star - eye) @ inverse
    c = 2.0 * inv(a + eye) @ q @ inverse
    return solve_continuous_lyapunov(adjoint(b), -c)
