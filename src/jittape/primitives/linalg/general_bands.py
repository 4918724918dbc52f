"""Systems of equations with matrices that have few diagonals, by LU factors of the bands with partial pivoting.

The diagonals are rows, the highest first: element j of row r is the element of the matrix in column j and row
``j + r - above``. Elements outside of the matrix are not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import bool_
from jittape.core.forms import Control, Decomposition
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import conj, sum_over
from jittape.primitives.elementwise.arithmetic import multiply, negative
from jittape.primitives.elementwise.assertions import MADE, end_run_where
from jittape.primitives.linalg.lu_factors import NOT_INVERTIBLE
from jittape.primitives.linalg.matrix_operands import raise_for_first, require_matrix_dtype
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.views import placed, sliced

__all__ = ["banded_solve_op"]


def _abstract_eval(bands: Aval, b: Aval, *, below: int, above: int, adjoint: bool) -> Aval:
    require_matrix_dtype("solve_banded", "ab", bands)
    return b


_SINGULAR = (
    f"[solve_banded] {NOT_INVERTIBLE}",
    "is singular: a pivot is zero",
    "adding a small number to the diagonal may help",
)


def _impl(bands: Any, b: Any, *, below: int, above: int, adjoint: bool) -> Any:
    if adjoint:
        bands = _adjoint(bands, below, above)
        below, above = above, below
    result, singular = _solved(bands, b, below, above)
    raise_for_first(singular, *_SINGULAR)
    return result


def _solved(bands: Any, b: Any, below: int, above: int) -> tuple[Any, Any]:
    """Return the solutions, and whether each matrix is singular."""
    from scipy.linalg.lapack import get_lapack_funcs  # imported on first use, not with the package

    (gbsv,) = get_lapack_funcs(("gbsv",), (bands, b))
    lead, n = b.shape[:-2], b.shape[-2]
    result, singular = np.empty_like(b), np.zeros(lead, bool)
    factors = np.zeros((2 * below + above + 1, n), bands.dtype)
    for index in np.ndindex(lead):
        factors[below:] = bands[index]
        *_, result[index], info = gbsv(below, above, factors, b[index])
        singular[index] = info > 0
    return result, singular


def _adjoint(bands: Any, below: int, above: int) -> Any:
    """Return the bands of the conjugate transpose, which has `above` diagonals below the main one."""
    n = bands.shape[-1]
    result = np.zeros_like(bands)
    for r in range(bands.shape[-2]):
        k = r - above
        start, end = max(-k, 0), n - max(k, 0)
        result[..., below + above - r, start + k : end + k] = bands[..., r, start:end].conj()
    return result


solved_op = Primitive(
    "banded_solve_with_pivots",
    abstract_eval=lambda bands, b, *, below, above, result_index: (
        Aval(b.shape[:-2], bool_) if result_index else b
    ),
    impl=lambda bands, b, *, below, above, result_index: _solved(bands, b, below, above)[result_index],
    lowering=Control(
        "general_bands",
        lambda operands, picks, *, below, above: [
            _solved(operands[0], operands[1], below, above)[i] for i in picks
        ],
    ),
    gradient_stops=MADE,
)
"""The solutions, and whether the matrices are singular."""


def _decomposed(bands: Any, b: Any, *, below: int, above: int, adjoint: bool) -> Any:
    """Return a kernel of its own for compiled code."""
    if not b.aval.size:
        return None
    if adjoint:
        rows = [_moved(bands, r, r - above) for r in range(below + above, -1, -1)]
        bands, below, above = conj(concat(rows, len(bands.shape) - 2)), above, below
    singular = solved_op.bind(bands, b, below=below, above=above, result_index=1)
    end_run_where(singular, "ValueError", _SINGULAR[0])
    return solved_op.bind(bands, b, below=below, above=above, result_index=0)


def _moved(bands: Any, r: int, k: int) -> Any:
    """Return row `r` of the bands moved to the right by `k`, with zeros at the other end."""
    *outer, n = bands.shape
    row, axis = sliced(bands, len(outer) - 1, r, 1), len(outer)
    kept = sliced(row, axis, max(-k, 0), n - abs(k))
    return placed(kept, (*(0 for _ in outer), max(k, 0)), (*outer[:-1], 1, n))


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
    "banded_solve",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_bands_vjp, _rhs_vjp),
    lowering=Decomposition(_decomposed),
    batch=alike(),
)
"""The solutions of a stack of systems; the matrices have more columns than diagonals on a side."""
