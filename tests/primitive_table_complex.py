"""The rows of linear algebra with complex matrices, for the table in `primitive_table.py`.

Each function is a real function of the real and the imaginary parts, which tests the conjugates of its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.elementwise.complex_numbers import complex as complex_of
from jittape.primitives.linalg import cholesky as ch
from jittape.primitives.linalg import determinants as de
from jittape.primitives.linalg import einsum as es
from jittape.primitives.linalg import lu, qr
from jittape.primitives.linalg import matrices as ma
from jittape.primitives.linalg import matrix_products as mp
from jittape.primitives.linalg import solve as so
from jittape.primitives.linalg import triangular as tr
from jittape.primitives.linalg import tridiagonal as td
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.nn import activation as ac
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.shape.creation import eye
from jittape.primitives.spectra import eig, eigh, svd
from jittape.primitives.spectra import lstsq as ls
from jittape.primitives.spectra import matrix_functions as mf
from jittape.primitives.spectra import norms as no
from jittape.primitives.spectra import pseudoinverse as ps
from primitive_table import Array, Row
from primitive_table_signal import numpy_parts, parts
from primitive_table_solves import FLOATS


def matrices(*shape: int) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    """Return a sampler of both parts of regular matrices, which need row interchanges."""

    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        x, y = 0.5 * rng.standard_normal((2, *shape))
        return x + 3 * np.roll(np.eye(*shape[-2:]), 1, axis=0), y

    return sample


def row(
    name: str, function: Callable[..., Any], reference: Callable[..., Any], *shape: int, **options: Any
) -> Row:
    """Return the row of a function of complex matrices."""
    return Row(
        f"complex {name}",
        lambda x, y: parts(function(complex_of(x, y))),
        matrices(*(shape or (2, 3, 3))),
        lambda x, y: numpy_parts(reference(x + 1j * y)),
        **{"dtypes": FLOATS, "rtol": 1e-12, **options},
    )


def gram(a: Any) -> Any:
    """Return positive definite matrices; perturbations of `a` perturb both triangles."""
    return ar.add(matmul(a, a, adjoint_b=True), eye(a.shape[-1], dtype=a.dtype))


def gram_of(a: Array) -> Array:
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1], dtype=a.dtype)


def each(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return a function of stacks from one of matrices."""
    return lambda a: np.stack([np.asarray(function(x)).astype(a.dtype) for x in a])


def lower(a: Array) -> Array:
    return np.tril(a + 4 * np.eye(a.shape[-1], dtype=a.dtype))


def shifted(a: Any) -> Any:
    return ar.add(a, ar.multiply(eye(a.shape[-1], dtype=a.dtype), 4.0))


def cubes(x: Any) -> Any:
    return reduce_sum(ar.multiply(ar.square(x), x), -1)


def tridiagonal(a: Array) -> Array:
    """Return the solution of the system of three diagonals of `a`, with `a` as right-hand sides."""
    rows = np.arange(a.shape[-1])
    kept = np.abs(rows[:, None] - rows) <= 1
    return np.linalg.solve(np.where(kept, a, 0), a)


NO_SECOND = {"order": 1}
ROWS: tuple[Row, ...] = (
    *(row(f"det {n}", de.det, np.linalg.det, 2, n, n) for n in (1, 2, 3, 4)),
    row("sign of slogdet", lambda a: de.slogdet(a)[0], lambda a: np.linalg.slogdet(a)[0]),
    row("logarithm of slogdet", lambda a: de.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1]),
    row("logdet", lambda a: de.logdet(gram(a)), lambda a: np.linalg.slogdet(gram_of(a))[1]),
    row(
        "l2_normalize",
        lambda a: ac.l2_normalize(a, -1),
        lambda a: a / np.linalg.norm(a, axis=-1, keepdims=True),
    ),
    row("cholesky", lambda a: ch.cholesky(gram(a)), lambda a: np.linalg.cholesky(gram_of(a))),
    row(
        "cholesky_solve",
        lambda a: ch.cholesky_solve(ch.cholesky(gram(a)), a),
        lambda a: np.linalg.solve(gram_of(a), a),
    ),
    row("solve", lambda a: so.solve(a, ar.multiply(a, a)), lambda a: np.linalg.solve(a, a * a)),
    row(
        "adjoint solve",
        lambda a: so.solve(a, ar.multiply(a, a), adjoint=True),
        lambda a: np.linalg.solve(np.conj(np.swapaxes(a, -1, -2)), a * a),
    ),
    row("inv", so.inv, np.linalg.inv),
    row(
        "triangular_solve",
        lambda a: tr.triangular_solve(shifted(a), a),
        lambda a: np.linalg.solve(lower(a), a),
    ),
    row(
        "tridiagonal_solve",
        lambda a: td.tridiagonal_solve(a, a, "matrix"),
        tridiagonal,
        2,
        4,
        4,
    ),
    row("lu", lambda a: lu.lu(a).lu, each(lambda a: scipy.linalg.lu_factor(a)[0])),
    row("lstsq", lambda a: ls.lstsq(a, ar.multiply(a, a)), lambda a: np.linalg.pinv(a) @ (a * a), 2, 4, 3),
    row("pinv", ps.pinv, np.linalg.pinv, 2, 4, 3),
    row(
        "projection by qr",
        lambda a: matmul(qr.qr(a).q, qr.qr(a).q, adjoint_b=True),
        lambda a: a @ np.linalg.pinv(a),
        2,
        4,
        3,
    ),
    row("eigvalsh", lambda a: eigh.eigvalsh(gram(a)), lambda a: np.linalg.eigvalsh(gram_of(a))),
    row(
        "sum of cubes of eigvals",
        lambda a: cubes(eig.eigvals(ar.multiply(a, 0.3))),
        lambda a: (np.linalg.eigvals(a * a.real.dtype.type(0.3)) ** 3).sum(-1),
    ),
    row("svdvals", svd.svdvals, lambda a: np.linalg.svd(a, compute_uv=False), 2, 4, 3),
    row(
        "nuclear norm",
        lambda a: no.matrix_norm(a, ord="nuc"),
        lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)),
    ),
    row("expm", mf.expm, each(scipy.linalg.expm), **NO_SECOND),
    row("sqrtm", lambda a: mf.sqrtm(gram(a)), lambda a: each(scipy.linalg.sqrtm)(gram_of(a)), **NO_SECOND),
    row("logm", lambda a: mf.logm(gram(a)), lambda a: each(scipy.linalg.logm)(gram_of(a)), **NO_SECOND),
    row("matrix_power", lambda a: mp.matrix_power(a, 3), lambda a: np.linalg.matrix_power(a, 3)),
    row("inverse power", lambda a: mp.matrix_power(a, -2), lambda a: np.linalg.matrix_power(a, -2)),
    row("trace", es.trace, lambda a: np.trace(a, axis1=-2, axis2=-1)),
    row("adjoint", ma.adjoint, lambda a: np.conj(np.swapaxes(a, -1, -2))),
)
