"""Arguments of `multivariate_normal` as `numpy.random.Generator` checks them, and factors of covariances."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from jittape.core.user_calls import shown
from jittape.errors import ShapeError
from jittape.random.arguments import operand_shape

__all__ = ["check_normal", "factor_of"]

_METHODS = ("svd", "eigh", "cholesky")
_CHECKS = ("warn", "raise", "ignore")


def check_normal(mean: Any, cov: Any, check_valid: Any, method: Any) -> None:
    """Raise `ValueError` for shapes that do not fit and for options that do not exist."""
    for name, value, allowed in (("method", method, _METHODS), ("check_valid", check_valid, _CHECKS)):
        if value not in allowed:
            raise ValueError(
                f"[random.multivariate_normal] {name} must be one of {', '.join(allowed)}, got {shown(value)}"
            )
    length, extents = operand_shape(mean), operand_shape(cov)
    if len(length) != 1 or extents != (*length, *length):
        raise ShapeError(
            "[random.multivariate_normal] mean must have shape (n,) and cov (n, n), got shapes "
            f"{length} and {extents}"
        )


def factor_of(cov: np.ndarray[Any, Any], check_valid: str, tol: float, method: str) -> np.ndarray[Any, Any]:
    """Return a matrix whose product with its transpose is `cov`, computed and checked as in NumPy."""
    if method == "cholesky":
        return np.linalg.cholesky(cov)
    if method == "svd":
        _, values, rows = np.linalg.svd(cov)
        vectors = rows.T
        valid = np.allclose(vectors * values @ rows, cov, rtol=tol, atol=tol)
    else:
        values, vectors = np.linalg.eigh(cov)
        valid = not np.any(values < -tol)
    if check_valid != "ignore" and not valid:
        text = "covariance is not symmetric positive-semidefinite."
        if check_valid == "raise":
            raise ValueError(f"[random.multivariate_normal] {text}")
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return np.asarray(vectors * np.sqrt(np.abs(values)))
