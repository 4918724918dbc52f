"""Factorizations, decompositions and solves of a schedule, computed with NumPy: see `evaluator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.linalg
from memory import Heap, Pointer

from jittape.compile.ir.lapack import DECOMPOSITIONS, EXPONENTIALS, SCHUR_FUNCTIONS, Lapack
from jittape.primitives.linalg.qr import qr_op
from jittape.primitives.spectra.eig import eig_op
from jittape.primitives.spectra.eigh import eigh_op, eigvalsh_op
from jittape.primitives.spectra.matrix_functions import (
    expm_op,
    expm_pairs_op,
    logm_op,
    logm_pairs_op,
    sqrtm_op,
    sqrtm_pairs_op,
)
from jittape.primitives.spectra.svd import complement_op, svd_op, svdvals_op


def run_lapack(
    heap: Heap, kernel: Lapack, pointers: Sequence[Pointer], sizes: Sequence[int], task: int
) -> None:
    """Run one task of a stack of factorizations or solves; see `lapack_calls` and `decompositions`."""
    s = dict(zip(kernel.SYMBOLS, sizes, strict=True))
    if kernel.routine in DECOMPOSITIONS:
        _decompose(heap, kernel, pointers, s, task)
        return
    n, k = s["n"], s["k"]
    place = _Places(heap, kernel.dtype)
    shape = (n + 1, n) if kernel.routine == "getrf" else (n, k if kernel.solves else n)
    failed = False
    for number in range(task * s["t0"], min((task + 1) * s["t0"], s["b0"] * s["b1"])):
        outer, inner = divmod(number, s["b1"])
        start = s["oa"] + outer * s["x0"] + inner * s["x1"]
        own = number * shape[0] * shape[1]
        result = place.matrix(pointers[kernel.result], own, shape, shape[1])
        rhs = None
        if kernel.routine == "potri":
            rhs = place.read(place.matrix(pointers[1], number * n, (1, n), n))[0]
        elif kernel.solves:
            rhs = place.read(result if kernel.in_place else place.matrix(pointers[1], own, shape, k))
        if kernel.result == 0:
            a = place.read(result)
        else:
            rows = n + 1 if kernel.routine == "getrs" else n
            a = place.read(place.matrix(pointers[0], start, (rows, n), s["la"], kernel.transposed))
        try:
            place.write(result, _ROUTINES[kernel.routine](kernel, a, rhs))
        except np.linalg.LinAlgError:
            failed = True
    if kernel.may_fail:
        heap.view(np.dtype(bool))[heap.indices(pointers[-1], task, np.dtype(bool))] = failed


def _decompose(
    heap: Heap, kernel: Lapack, pointers: Sequence[Pointer], s: Mapping[str, int], task: int
) -> None:
    operand, out = _Places(heap, kernel.dtype), _Places(heap, kernel.operands[1].dtype)
    m, n, k = s["m"], s["n"], s["k"]
    shapes = {
        **dict.fromkeys(("eigh", "eig"), (n + 1, n)),
        **{"svd": (k, m + n + 1), "qr": (k, m + n), "complement": (m, k)},
        **dict.fromkeys((*EXPONENTIALS, *SCHUR_FUNCTIONS), (m, m)),
    }
    shape = shapes.get(kernel.routine, (1, k))
    for number in range(task * s["t0"], min((task + 1) * s["t0"], s["b0"] * s["b1"])):
        outer, inner = divmod(number, s["b1"])
        start = s["oa"] + outer * s["x0"] + inner * s["x1"]
        a = operand.read(operand.matrix(pointers[0], start, (m, n), s["la"], kernel.transposed))
        primitive = _DECOMPOSED[kernel.routine]
        params: dict[str, Any] = {"full": k == m} if kernel.routine == "qr" else {}
        if kernel.routine in ("eigh", "eigvalsh"):
            params = {"lower": kernel.lower}
        value = primitive.impl(a, **params)
        out.write(out.matrix(pointers[1], number * shape[0] * shape[1], shape, shape[1]), value)
    if kernel.may_fail:
        heap.view(np.dtype(bool))[heap.indices(pointers[-1], task, np.dtype(bool))] = False


class _Places:
    """Indices of matrices in the view of a dtype."""

    def __init__(self, heap: Heap, dtype: np.dtype[Any]) -> None:
        self.heap = heap
        self.dtype = dtype

    def matrix(
        self, pointer: Pointer, start: int, shape: tuple[int, int], leading: int, transposed: bool = False
    ) -> Any:
        rows, columns = np.indices(shape)
        places = rows + columns * leading if transposed else rows * leading + columns
        return self.heap.indices(pointer, start + places, self.dtype)

    def read(self, places: Any) -> Any:
        return self.heap.view(self.dtype)[places]

    def write(self, places: Any, value: Any) -> None:
        self.heap.view(self.dtype)[places] = value


def _trsm(kernel: Lapack, a: Any, b: Any) -> Any:
    return scipy.linalg.solve_triangular(
        a, b, lower=kernel.lower, trans=2 if kernel.adjoint else 0, check_finite=False
    )


def _potri(kernel: Lapack, a: Any, d: Any) -> Any:
    inverse = np.linalg.inv(np.tril(a))
    return inverse.T @ (0.5 * np.diagonal(a) * d * inverse.T).T


def _getrf(kernel: Lapack, a: Any, _: Any) -> Any:
    packed, pivots = scipy.linalg.lu_factor(a, check_finite=False)
    return np.concatenate([packed.T, pivots[None].astype(a.dtype)])


def _getrs(kernel: Lapack, a: Any, b: Any) -> Any:
    pivots = a[-1].real.astype(int)
    return scipy.linalg.lu_solve((a[:-1].T, pivots), b, trans=2 if kernel.adjoint else 0, check_finite=False)


_ROUTINES = {
    "potrf": lambda kernel, a, _: np.linalg.cholesky(a),
    "potri": _potri,
    "trsm": _trsm,
    "getrf": _getrf,
    "getrs": _getrs,
}
_DECOMPOSED = {
    "eig": eig_op,
    "eigh": eigh_op,
    "eigvalsh": eigvalsh_op,
    "svd": svd_op,
    "svdvals": svdvals_op,
    "qr": qr_op,
    "complement": complement_op,
    "expm": expm_op,
    "expm_derivative": expm_pairs_op,
    "sqrtm": sqrtm_op,
    "sqrtm_derivative": sqrtm_pairs_op,
    "logm": logm_op,
    "logm_derivative": logm_pairs_op,
}
