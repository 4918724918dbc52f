"""Matrices among the arguments of ``jt.scipy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.errors import MatrixShapeError, ShapeError
from jittape.recording.convert import convert_to_tensor
from jittape.scipy.scipy_operands import as_operand, floating_operand

__all__ = ["as_given", "matrix_argument", "require_rows", "square_argument", "square_pair"]


def as_given(a: Any) -> Any:
    """Return an argument as a tensor of its own dtype, which is NumPy's for lists."""
    a = as_operand(a)
    return convert_to_tensor(a if hasattr(a, "dtype") else np.asarray(a))


def matrix_argument(a: Any) -> Any:
    """Return an argument as a tensor of floating or complex numbers; integers and lists become float64."""
    return convert_to_tensor(floating_operand(a))


def require_rows(function: str, a: Any) -> None:
    """Raise `ShapeError` unless `a` has rows and columns."""
    if len(a.shape) < 2:
        raise MatrixShapeError(
            f"[{function}] a must have at least 2 dimensions, rows and columns, got shape {tuple(a.shape)}; "
            "expand_dims adds one"
        )


def square_argument(function: str, argument: str, a: Any) -> Any:
    """Return an argument as a stack of square matrices; raise `ShapeError` for another shape."""
    a = matrix_argument(a)
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        raise MatrixShapeError(
            f"[{function}] {argument} must be square in its last two dimensions, got shape {tuple(a.shape)}; "
            "give matrices of shape (..., m, m)"
        )
    return a


def square_pair(function: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the arguments `a` and `b`, which may be None, as stacks of square matrices of the same size."""
    a = square_argument(function, "a", a)
    if b is None:
        return a, None
    b = square_argument(function, "b", b)
    if b.shape[-1] != a.shape[-1]:
        raise ShapeError(
            f"[{function}] b must have as many rows as a, got shapes {tuple(b.shape)} and {tuple(a.shape)}; "
            "give matrices of the same size"
        )
    return a, b
