"""Functions of ``scipy.linalg`` on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape import linalg
from jittape.autograd.containers import as_tensor
from jittape.numpy_api.numpy_functions import FUNCTIONS
from jittape.primitives.elementwise.complex_numbers import conj
from jittape.primitives.shape.reshaping import expand_dims, matrix_transpose, reshape
from jittape.scipy.linalg import roots_and_logarithms

__all__ = ["RECORDERS"]


def _solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    if unit_diagonal:
        raise TypeError(
            "scipy.linalg.solve_triangular: unit_diagonal=True is not recorded; put ones on the diagonal"
        )
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(
            f"scipy.linalg.solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}"
        )
    a, b = as_tensor(a), as_tensor(b)
    if trans in (1, "T"):
        a = conj(a) if a.aval.dtype.kind == "c" else a
    right = expand_dims(b, -1) if len(b.aval.shape) == 1 else b
    solution = linalg.triangular_solve(a, right, lower=lower, adjoint=trans not in (0, "N"))
    return reshape(solution, b.aval.shape) if len(b.aval.shape) == 1 else solution


def _cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    factor = linalg.cholesky(as_tensor(a))
    return factor if lower else matrix_transpose(conj(factor) if factor.aval.dtype.kind == "c" else factor)


def _of_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` of a matrix; SciPy's options about memory and checks are ignored."""

    def recorded(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
        return function(as_tensor(a))

    return recorded


def _solve(a: Any, b: Any, **options: Any) -> Any:
    wanted = {name: value for name, value in options.items() if not name.startswith(("overwrite", "check"))}
    if wanted:
        raise TypeError(f"scipy.linalg.solve: {', '.join(wanted)} is not recorded")
    return FUNCTIONS[np.linalg.solve](as_tensor(a), as_tensor(b))


RECORDERS: dict[str, Callable[..., Any]] = {
    "cholesky": _cholesky,
    "det": _of_one(linalg.det),
    "expm": lambda A: linalg.expm(as_tensor(A)),
    "inv": _of_one(linalg.inv),
    "logm": lambda A: roots_and_logarithms.logm(as_tensor(A)),
    "solve": _solve,
    "solve_triangular": _solve_triangular,
    "sqrtm": lambda A: roots_and_logarithms.sqrtm(as_tensor(A)),
}
