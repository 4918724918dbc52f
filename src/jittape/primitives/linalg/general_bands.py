"""Systems of equations with matrices that have few diagonals, by LU factors of the bands (LAPACK's ``gbsv``).

The diagonals are rows, the highest first: element j of row r is the element of the matrix in column j and row
``j + r - above``. Elements outside of the matrix are not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.errors import LinAlgError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import conj, sum_over
from jittape.primitives.elementwise.arithmetic import multiply, negative
from jittape.primitives.linalg.lu_factors import NOT_INVERTIBLE
from jittape.primitives.linalg.matrix_operands import require_matrix_dtype
from jittape.primitives.shape.joining import stack
from jittape.primitives.shape.views import placed, sliced

__all__ = ["banded_solve_op"]


def _abstract_eval(bands: Aval, b: Aval, *, below: int, above: int, adjoint: bool) -> Aval:
    require_matrix_dtype("solve_banded", "ab", bands)
    return b


def _impl(bands: Any, b: Any, *, below: int, above: int, adjoint: bool) -> Any:
    if bands.ndim == 2:
        return _solved(bands, b, below, above, adjoint)
    result = np.empty_like(b)
    for index in np.ndindex(bands.shape[:-2]):
        result[index] = _solved(bands[index], b[index], below, above, adjoint)
    return result


def _solved(bands: Any, b: Any, below: int, above: int, adjoint: bool) -> Any:
    import scipy.linalg  # imported on first use, not with the package

    if adjoint:
        bands = _adjoint(bands, below, above)
        below, above = above, below
    try:
        return scipy.linalg.solve_banded((below, above), bands, b, check_finite=False)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            f"[solve_banded] {NOT_INVERTIBLE} A pivot is 0; adding a small number to the diagonal may help"
        ) from None


def _adjoint(bands: Any, below: int, above: int) -> Any:
    """Return the bands of the conjugate transpose, which has `above` diagonals below the main one."""
    n = bands.shape[-1]
    result = np.zeros_like(bands)
    for r, row in enumerate(bands.conj()):
        k = r - above
        start, end = max(-k, 0), n - max(k, 0)
        result[below + above - r, start + k : end + k] = row[start:end]
    return result


def _diagonal_of_product(left: Any, right: Any, k: int) -> Any:
    """Return the elements in column j and row j + k of ``left @ right^T`` for all j, 0 outside."""
    *outer, n, _ = left.shape
    axis = len(outer)
    start, count = max(-k, 0), n - abs(k)
    product = multiply(sliced(left, axis, start + k, count), sliced(right, axis, start, count))
    return placed(sum_over(product, (axis + 1,)), (*(0 for _ in outer), start), (*outer, n))


def _bands_vjp(g: Any, out: Any, bands: Any, b: Any, *, below: int, above: int, adjoint: bool) -> Any:
    g_b = _rhs_vjp(g, out, bands, b, below=below, above=above, adjoint=adjoint)
    left, right = (out, conj(g_b)) if adjoint else (g_b, conj(out))
    rows = [_diagonal_of_product(left, right, r - above) for r in range(below + above + 1)]
    return negative(stack(rows, axis=-2))


def _rhs_vjp(g: Any, out: Any, bands: Any, b: Any, *, below: int, above: int, adjoint: bool) -> Any:
    return banded_solve_op.bind(bands, g, below=below, above=above, adjoint=not adjoint)


banded_solve_op: Primitive = Primitive(
    "banded_solve", abstract_eval=_abstract_eval, impl=_impl, vjp=(_bands_vjp, _rhs_vjp), batch=alike()
)
"""The solutions of a stack of systems; the matrices have more columns than diagonals on a side."""
