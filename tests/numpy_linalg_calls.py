"""Calls of ``numpy.linalg`` with a matrix of 3 rows and 4 columns, for `test_numpy_protocol`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LINALG_CALLS"]


def definite(a: Any) -> Any:
    """Return a positive definite matrix in the dtype of `a`, if that is a float."""
    return np.matmul(a, np.matrix_transpose(a)) + np.diag(np.array([20.0, 30.0, 40.0], "float32"))


def square(a: Any) -> Any:
    """Return a regular matrix."""
    return a[:, :3] + np.diag(np.array([20.0, 30.0, 40.0], "float32"))


LINALG_CALLS: dict[str, Callable[[Any], Any]] = {
    "linalg.cholesky": lambda a: np.linalg.cholesky(definite(a)),
    "linalg.cholesky upper": lambda a: np.linalg.cholesky(definite(a), upper=True),
    "linalg.cond": lambda a: np.linalg.cond(a),
    "linalg.cond 1": lambda a: np.linalg.cond(square(a), 1),
    "linalg.cross": lambda a: np.linalg.cross(a[:, 1:], a[:, :3]),
    "linalg.det": lambda a: np.linalg.det(square(a) / 30),
    "linalg.eig": lambda a: np.absolute(np.linalg.eig(definite(a)).eigenvalues),
    "linalg.eigh": lambda a: np.absolute(np.linalg.eigh(definite(a)).eigenvectors),
    "linalg.eigvals": lambda a: np.absolute(np.linalg.eigvals(definite(a))),
    "linalg.eigvalsh": lambda a: np.linalg.eigvalsh(definite(a), "U"),
    "linalg.inv": lambda a: np.linalg.inv(square(a)),
    "linalg.matrix_norm": lambda a: np.linalg.matrix_norm(a, ord="nuc", keepdims=True),
    "linalg.matrix_power": lambda a: np.linalg.matrix_power(square(a) / 10, -2),
    "linalg.matrix_rank": lambda a: np.linalg.matrix_rank(a, 1e-3),
    "linalg.multi_dot": lambda a: np.linalg.multi_dot([a, np.matrix_transpose(a), a]),
    "linalg.pinv": lambda a: np.linalg.pinv(definite(a)),
    "linalg.qr": lambda a: np.absolute(np.linalg.qr(a).R),
    "linalg.slogdet": lambda a: np.linalg.slogdet(square(a)).logabsdet,
    "linalg.solve": lambda a: np.linalg.solve(square(a), a[:, 3]),
    "linalg.svd": lambda a: np.linalg.svd(a, full_matrices=False).S,
    "linalg.svdvals": lambda a: np.linalg.svdvals(a),
    "linalg.tensorinv": lambda a: np.linalg.tensorinv(square(a), 1),
    "linalg.tensorsolve": lambda a: np.linalg.tensorsolve(square(a), a[:, 3]),
    "linalg.vecdot": lambda a: np.linalg.vecdot(a, a, axis=0),
    "linalg.vector_norm": lambda a: np.linalg.vector_norm(a, axis=1, ord=3),
    "kron": lambda a: np.kron(a, a[0]),
    "vander": lambda a: np.vander(a[0], 3),
}
