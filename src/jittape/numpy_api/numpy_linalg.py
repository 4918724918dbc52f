"""Adapters of ``numpy.linalg``: NumPy's signatures and results with jittape's ops.

As in NumPy, integers and bools become float64, and decompositions are named tuples. As in NumPy before 2.5, `eig` and
`eigvals` of real matrices are real if all eigenvalues are, which are read. Where values are unknown, as inside a
`jt.function`, they are complex. Matrices with nan give nan where NumPy's LAPACK may not converge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import float64, float_limits, is_differentiable
from jittape.core.primitive import active_recorder
from jittape.core.user_calls import as_flag, as_int, shown
from jittape.errors import ShapeError
from jittape.numpy_api.numpy_operands import (
    array_like,
    dtype_of,
    reject,
    selecting_values_of,
    shape_of,
    strong,
)
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import not_equal
from jittape.primitives.elementwise.complex_numbers import cast, real
from jittape.primitives.elementwise.piecewise import absolute, sign
from jittape.primitives.indexing.gather import take_along_axis
from jittape.primitives.indexing.sorting import argsort
from jittape.primitives.linalg.cholesky import cholesky
from jittape.primitives.linalg.determinants import det, slogdet
from jittape.primitives.linalg.einsum import diag_part
from jittape.primitives.linalg.matrices import adjoint, band_part, cross, set_diag
from jittape.primitives.linalg.matrix_products import kron, matrix_power, multi_dot, vander, vecdot
from jittape.primitives.linalg.qr import qr
from jittape.primitives.linalg.solve import inv, solve
from jittape.primitives.linalg.tensor_equations import tensorinv, tensorsolve
from jittape.primitives.reduce.reductions import reduce_any, reduce_max
from jittape.primitives.shape.reordering import moveaxis
from jittape.primitives.shape.reshaping import expand_dims, squeeze
from jittape.primitives.spectra.eig import eig, eigvals
from jittape.primitives.spectra.eigh import eigh_of_triangle, eigvalsh_of_triangle
from jittape.primitives.spectra.norms import matrix_norm, vector_norm
from jittape.primitives.spectra.pseudoinverse import cond, matrix_rank, pinv
from jittape.primitives.spectra.svd import svd, svdvals

__all__ = [
    "LINALG_FUNCTIONS", "EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "eigenvalues",
]  # fmt: skip


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors of general matrices."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Factors of a QR factorization."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """Singular value decomposition."""

    U: Any
    S: Any
    Vh: Any


def _floating(a: Any) -> Any:
    a = array_like(a)
    return a if is_differentiable(dtype_of(a)) else cast(a, float64)


def _of_floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` of one matrix that may be of integers."""
    return lambda a: function(_floating(a))


def _hermitian(a: Any) -> Any:
    """Return the Hermitian matrices whose lower triangles are those of `a`, as ``hermitian=True`` reads them."""
    lower = band_part(a, -1, 0)
    return set_diag(lower + adjoint(lower), cast(real(diag_part(a)), dtype_of(a)))


_REAL_EIG = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"
"""Whether NumPy's `eig` and `eigvals` are real if all eigenvalues are; from NumPy 2.5 on, they are complex."""


# ---- decompositions --------------------------------------------------------------------------------------------------


def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    a = _floating(a)
    return adjoint(cholesky(adjoint(a))) if as_flag("upper", upper) else cholesky(a)


def _eig(a: Any) -> Any:
    a = _floating(a)
    values, vectors = eig(a)
    if _REAL_EIG and _has_real_eigenvalues(a, values):
        values, vectors = real(values), real(vectors)
    return EigResult(values, vectors)


def _eigvals(a: Any) -> Any:
    return eigenvalues(_floating(a)) if _REAL_EIG else eigvals(_floating(a))


def eigenvalues(a: Any) -> Any:
    """Return the eigenvalues of square matrices; real ones if `a` is real and all of them are known to be."""
    values = eigvals(a)
    return real(values) if _has_real_eigenvalues(a, values) else values


def _has_real_eigenvalues(a: Any, values: Any) -> bool:
    """Return whether `a` is real, and its eigenvalues `values` are known and real too."""
    known = active_recorder().traced_in is None and hasattr(values, "numpy")
    return known and dtype_of(a).kind != "c" and not np.any(selecting_values_of(values).imag)


def _is_lower(name: str, UPLO: Any) -> bool:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueError(f"[np.linalg.{name}] UPLO must be 'L' or 'U', got {shown(UPLO)}")
    return UPLO.upper() == "L"


def _eigh(a: Any, UPLO: str = "L") -> Any:
    lower = _is_lower("eigh", UPLO)
    return EighResult(*eigh_of_triangle(_floating(a), lower))


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    lower = _is_lower("eigvalsh", UPLO)
    return eigvalsh_of_triangle(_floating(a), lower)


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"[np.linalg.qr] mode must be 'reduced', 'complete' or 'r', got {shown(mode)}")
    q, r = qr(_floating(a), full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def _slogdet(a: Any) -> Any:
    return SlogdetResult(*slogdet(_floating(a)))


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    a = _floating(a)
    if as_flag("hermitian", hermitian):
        return _svd_of_eigh(a, as_flag("compute_uv", compute_uv))
    if not as_flag("compute_uv", compute_uv):
        return svdvals(a)
    s, u, v = svd(a, full_matrices)
    return SVDResult(u, s, adjoint(v))


def _svd_of_eigh(a: Any, compute_uv: bool) -> Any:
    """Return the decomposition of Hermitian matrices, of which the lower triangle is read."""
    values, vectors = eigh_of_triangle(a, True)
    order = argsort(absolute(values))[..., ::-1]
    values = take_along_axis(values, order, -1)
    if not compute_uv:
        return absolute(values)
    u = take_along_axis(vectors, expand_dims(order, -2), -1)
    signs = expand_dims(cast(sign(values), dtype_of(u)), -2)
    return SVDResult(u, absolute(values), adjoint(multiply(u, signs)))


# ---- solutions -------------------------------------------------------------------------------------------------------


def _solve(a: Any, b: Any) -> Any:
    a, b = _floating(a), _floating(b)
    if len(shape_of(b)) == 1:
        return squeeze(solve(a, expand_dims(b, -1)), -1)
    return solve(a, b)


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    return tensorsolve(_floating(a), _floating(b), axes)


def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np.nan) -> Any:
    a = _floating(a)
    if as_flag("hermitian", hermitian):
        a = _hermitian(a)
    given = rtol is None or not (isinstance(rtol, float) and np.isnan(rtol))
    if rcond is not None and given:
        raise ValueError("[np.linalg.pinv] rtol and rcond mean the same; give one of them")
    if given and rtol is None:
        rcond = max(shape_of(a)[-2:], default=0) * float(float_limits(dtype_of(a)).eps)
    elif given:
        rcond = rtol
    return pinv(a, 1e-15 if rcond is None else rcond)


def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    hermitian = as_flag("hermitian", hermitian)
    if tol is not None and rtol is not None:
        raise ValueError("[np.linalg.matrix_rank] tol and rtol mean the same; give one of them")
    if len(shape_of(A)) < 2:
        return cast(reduce_any(not_equal(array_like(A), 0)), np.int64)
    A = _hermitian(_floating(A)) if hermitian else _floating(A)
    if rtol is not None:
        tol = multiply(rtol, reduce_max(svdvals(A), -1))
    return cast(matrix_rank(A, tol), np.int64)


def _matrix_power(a: Any, n: int) -> Any:
    n = as_int("n", n)
    return matrix_power(_floating(a) if n < 0 else array_like(a), n)


def _multi_dot(arrays: Any, *, out: Any = None) -> Any:
    reject("linalg.multi_dot", out=out)
    return multi_dot([strong(a) for a in arrays])


def _cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = moveaxis(strong(x1), axis, -1), moveaxis(strong(x2), axis, -1)
    return moveaxis(cross(x1, x2), -1, axis)


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = array_like(x)
    if dtype_of(x).kind == "b":
        x = cast(x, np.int64)
    if len(shape_of(x)) != 1:
        raise ShapeError(f"[np.vander] x must be a vector, got shape {shape_of(x)}")
    return vander(cast(x, np.result_type(dtype_of(x), np.int64)), N, increasing)


LINALG_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.kron: lambda a, b: kron(strong(a), strong(b)),
    np.linalg.cholesky: _cholesky,
    np.linalg.cond: lambda x, p=None: cond(_floating(x), p),
    np.linalg.cross: _cross,
    np.linalg.det: _of_floating(det),
    np.linalg.eig: _eig,
    np.linalg.eigh: _eigh,
    np.linalg.eigvals: _eigvals,
    np.linalg.eigvalsh: _eigvalsh,
    np.linalg.inv: _of_floating(inv),
    np.linalg.matrix_norm: lambda x, /, **options: matrix_norm(array_like(x), **options),
    np.linalg.matrix_power: _matrix_power,
    np.linalg.matrix_rank: _matrix_rank,
    np.linalg.multi_dot: _multi_dot,
    np.linalg.pinv: _pinv,
    np.linalg.qr: _qr,
    np.linalg.slogdet: _slogdet,
    np.linalg.solve: _solve,
    np.linalg.svd: _svd,
    np.linalg.svdvals: lambda x, /: svdvals(_floating(x)),
    np.linalg.tensorinv: lambda a, ind=2: tensorinv(_floating(a), ind),
    np.linalg.tensorsolve: _tensorsolve,
    np.linalg.vecdot: lambda x1, x2, /, *, axis=-1: vecdot(strong(x1), strong(x2), axis),
    np.linalg.vector_norm: lambda x, /, **options: vector_norm(array_like(x), **options),
    np.vander: _vander,
}
