"""Schur's decomposition: SciPy's factors, with the derivatives of factors from eigenvectors.

With the eigenvectors as columns of V, in the order of the eigenvalues in T, the factor Q of ``V = Q R`` is Schur's Z,
up to signs or phases. The derivatives of eigenvectors and of QR factors therefore give those of Z and ``T = Z^H A Z``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import complex_of, int64
from jittape.core.primitive import active_recorder
from jittape.errors import MatrixShapeError
from jittape.functions.host_ops import numpy_function
from jittape.functions.signature import TensorSpec
from jittape.primitives.elementwise.complex_numbers import cast, conj, real
from jittape.primitives.identity import stop_gradient
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.linalg.qr import qr
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.primitives.spectra.eig import eig
from jittape.recording.trace import Trace
from jittape.scipy.linalg.matrix_arguments import square_argument
from jittape.scipy.linalg.scipy_options import with_scipy_options

__all__ = ["schur"]


def _order(values: Any, wanted: Any) -> Any:
    """Return the number of the eigenvalue nearest to each of those that are wanted; each is taken once."""
    left, places = list(range(len(values))), []
    for w in wanted:
        places.append(min(left, key=lambda i: abs(values[i] - w)))
        left.remove(places[-1])
    return np.array(places, np.int64)


def _with_derivatives(a: Any, t: Any, z: Any) -> tuple[Any, Any]:
    """Return the triangular factor `t` and the unitary one `z` of `a`, as functions of `a`."""
    n, is_real = a.shape[0], z.dtype.kind == "f"
    a = a if is_real else cast(a, z.aval.dtype)
    values, vectors = eig(a)
    order = numpy_function(
        lambda values, t: _order(values, np.diagonal(t)),
        [stop_gradient(values), t],
        TensorSpec((n,), int64),
    )
    vectors = gather(vectors, order, axis=1)
    q = qr(real(vectors) if is_real else vectors)[0]
    phases = stop_gradient(reduce_sum(conj(q) * z, 0))
    q = q * (phases / abs(phases))
    product = matmul(matmul(conj(q), a, transpose_a=True), q)
    return t + (product - stop_gradient(product)), z + (q - stop_gradient(q))


@with_scipy_options
def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """Return Schur's decomposition ``a = Z @ T @ Z^H`` with a unitary Z and a triangular T.

    The derivatives are those of eigenvectors, so the eigenvalues must differ. Complex factors are determined up to
    phases, so a loss must not depend on them. With ``output="real"``, T of a real matrix with complex eigenvalues has
    blocks of two rows on its diagonal. Such factors have no derivative: use ``output="complex"``, also within a
    `jt.function`, where the eigenvalues are unknown.

    Parameters
    ----------
    a : array_like of shape (n, n)
    output : {"real", "complex"}
        Whether the factors of a real matrix are real.

    Returns
    -------
    tuple of Tensor
        T and Z.

    Raises
    ------
    ShapeError
        If `a` is no square matrix.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> t, z = linalg.schur([[2.0, 1.0], [0.0, 3.0]])
    >>> t.numpy()
    array([[2., 1.],
           [0., 3.]])
    """
    a = square_argument("schur", "a", a)
    if len(a.shape) != 2:
        raise MatrixShapeError(f"[schur] a must be one matrix, got shape {tuple(a.shape)}; use jt.map_fn")
    if output not in ("real", "complex", "r", "c"):
        raise ValueError(f"[schur] output must be 'real' or 'complex', got {output!r}")
    dtype = a.aval.dtype
    if dtype.kind == "f" and output.startswith("c"):
        dtype = complex_of(dtype)

    def factors(a: Any) -> Any:
        from scipy.linalg import schur as scipy_schur

        return list(scipy_schur(a, output=output))

    spec = TensorSpec(tuple(a.shape), dtype)
    t, z = numpy_function(factors, [stop_gradient(a)], [spec, spec])
    if dtype.kind == "f" and (type(active_recorder()) is not Trace or np.diagonal(t.numpy(), -1).any()):
        return tuple(numpy_function(factors, [a], [spec, spec]))
    return _with_derivatives(a, stop_gradient(t), stop_gradient(z))
