"""Scratch memory of the routines of LAPACK, by the extents of a matrix.

LAPACK asks for a minimum, and needs more for its blocked algorithms. The lengths here are upper bounds of both for all
versions of LAPACK; a test compares them with the answers of the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.compile.analysis.lapack_operands import LapackCall

__all__ = ["scratch_lengths"]

_BLOCK = 64
"""Upper bound of the block sizes of LAPACK, which are 32 for these routines."""
_REFLECTORS = 65 * 64
"""Elements of the triangular factors of blocks of reflectors, which only matrices of more than one block need."""


def scratch_lengths(call: LapackCall, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Return the numbers of elements, of real numbers and of integers that one task needs, as far as it needs any."""
    m, n, k = call.rows, call.order, call.columns
    is_complex = dtype.kind == "c"
    match call.routine:
        case "potri":
            return (n * n,)
        case "eigh" if is_complex:
            return 1 + max(2 * n + n * n, n + n * _BLOCK), 1 + 6 * n + 2 * n * n, 3 + 5 * n
        case "eigh":
            return max(1 + 6 * n + 2 * n * n, 2 * n + n * _BLOCK), n, 3 + 5 * n
        case "eigvalsh":
            return n * n + max(1 + 2 * n, 2 * n + n * _BLOCK), 1 + 2 * n if is_complex else 0, 1
        case "eig":
            vectors = 0 if is_complex else n * n
            return n * n + vectors + 1 + 4 * n + 2 * n * _BLOCK + _REFLECTORS, 2 * n
        case "svd" | "svdvals":
            copies = m * n + (k * n if call.routine == "svd" else 0)
            work, reals = _of_gesdd(m, n, call.routine == "svd", is_complex)
            return copies + work, k + reals, 8 * k
        case "qr" | "complement":
            columns = max(n, k) if call.routine == "qr" else m
            return (m * columns + min(m, n) + max(1, columns) * _BLOCK,)
        case "expm" | "expm_derivative":
            pairs = 2 if call.routine == "expm_derivative" else 1
            return m * n + 7 * pairs * m * m, 2 * m, m
        case "sqrtm" | "sqrtm_derivative" | "logm" | "logm_derivative":
            side = n if call.routine.endswith("_derivative") else m
            pairs = 3 * m * m + 4 * side * side + 6 * m
            return (-(-m * n // 4) * 4 + pairs * (16 // dtype.itemsize),)
        case _:
            return ()


def _of_gesdd(m: int, n: int, vectors: bool, is_complex: bool) -> tuple[int, int]:
    """Return the numbers of elements and of real numbers that ``gesdd`` needs besides the matrices."""
    least, greatest = min(m, n), max(m, n)
    blocks = 1 + greatest + (m + n) * _BLOCK + (_REFLECTORS if least > _BLOCK // 2 else 0)
    if not vectors:
        return 10 * least + blocks, 7 * least if is_complex else 0
    if is_complex:
        pairs = least * least
        return 2 * pairs + 3 * least + blocks, max(5 * pairs, 2 * greatest * least + 2 * pairs) + 5 * least
    return 4 * least * least + 8 * least + blocks, 0
