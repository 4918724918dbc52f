"""Checks and shapes of the operands of factorizations and solves.

All of these ops take stacks of matrices: the last two dimensions are rows and columns. LAPACK supports float32,
float64, complex64 and complex128. Other dtypes raise an error, as an implicit cast would hide the precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.dtypes import BLAS, int64
from jittape.core.program import Aval
from jittape.core.user_calls import argument_in_namespace
from jittape.errors import DTypeError, LinAlgError, MatrixShapeError, ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast, broadcast_shapes, iota, promote, to_shape
from jittape.primitives.elementwise.complex_numbers import real
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.reshaping import matrix_transpose
from jittape.primitives.shape.views import permuted

__all__ = [
    "common_matrices",
    "each_matrix",
    "matrix_operand",
    "raise_for_first",
    "require_matrix_dtype",
    "require_square",
    "row_and_column",
    "same_stack",
    "solve_batch",
    "solve_broadcast",
    "times_adjoint",
    "without_elements",
]


def require_matrix_dtype(op: str, argument: str, x: Any) -> None:
    """Raise `DTypeError` unless LAPACK supports the dtype of `x`."""
    if x.dtype not in BLAS:
        names = ", ".join(sorted(dtype.name for dtype in BLAS))
        argument = argument_in_namespace(argument, x.shape)
        raise DTypeError(
            f"[{op}] {argument} must have one of the dtypes {names}, got {x.dtype.name}; cast it first"
        )


def matrix_operand(op: str, argument: str, x: Any) -> Any:
    """Return a handle of a stack of matrices; raise if its dtype or rank does not fit."""
    x = as_symbol(x)
    require_matrix_dtype(op, argument, x)
    if len(x.shape) < 2:
        argument = argument_in_namespace(argument, x.shape)
        raise MatrixShapeError(
            f"[{op}] {argument} must have at least 2 dimensions, rows and columns, got shape {x.shape}; "
            "expand_dims adds one"
        )
    return x


def require_square(op: str, argument: str, x: Any) -> None:
    """Raise `ShapeError` unless the last two dimensions of `x` are equal and there are at least two."""
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        argument = argument_in_namespace(argument, x.shape)
        raise MatrixShapeError(
            f"[{op}] {argument} must be square in its last two dimensions, got shape {x.shape}; "
            "give matrices of shape (..., m, m)"
        )


def common_matrices(op: str, names: tuple[str, str], a: Any, b: Any) -> tuple[Any, Any]:
    """Return square matrices `a` and right-hand sides `b` with as many rows, in their common dtype."""
    a, b = (matrix_operand(op, name, x) for name, x in zip(names, (a, b), strict=True))
    require_square(op, names[0], a)
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"[{op}] {names[1]} must have as many rows as {names[0]}, got shapes {a.shape} and {b.shape}"
        )
    try:
        broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(
            f"[{op}] the leading dimensions of {names[0]} and {names[1]} must broadcast, "
            f"got shapes {a.shape} and {b.shape}"
        ) from None
    a, b = promote(a, b)
    return a, b


def same_stack(op: str, a: Aval, b: Aval) -> Aval:
    """Return the aval of the solution: check square matrices `a` against right-hand sides `b` of the same stack."""
    require_matrix_dtype(op, "matrix", a)
    require_square(op, "matrix", a)
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"[{op}] operands {a} and {b} do not fit")
    if a.dtype != b.dtype:
        raise DTypeError(f"[{op}] operands must have equal dtypes, got {a.dtype.name} and {b.dtype.name}")
    return b


def without_elements(g: Any, x: Any) -> Any:
    """Return the cotangent of operands `x` without elements; it depends on `g`, so that forward mode has zeros too."""
    g = g if x.dtype.kind == "c" or g.dtype.kind != "c" else real(g)
    return to_shape(g, x.shape)


def solve_broadcast(solve: Callable[..., Any], *operands: Any) -> Any:
    """Return ``solve(*matrices, b)`` for operands whose leading dimensions broadcast.

    All matrices have the same leading dimensions. If there is only one of each, the right-hand sides of the whole stack
    become columns of one system.
    """
    *matrices, b = operands
    stack = matrices[0].shape[:-2]
    lead = broadcast_shapes(stack, b.shape[:-2])
    rows, columns = b.shape[-2:]
    if math.prod(stack) == 1 and lead and lead == b.shape[:-2]:
        rank = len(lead)
        wide = to_shape(permuted(b, (rank, *range(rank), rank + 1)), (rows, math.prod(lead) * columns))
        solution = solve(*[to_shape(x, x.shape[-2:]) for x in matrices], wide)
        return permuted(to_shape(solution, (rows, *lead, columns)), (*range(1, rank + 1), 0, rank + 1))
    return solve(*[broadcast(x, (*lead, *x.shape[-2:])) for x in operands])


def solve_batch(primitive: Callable[[], Any]) -> Callable[..., Any]:
    """Return the batching rule of a solve, whose last operand is the right-hand side.

    If only right-hand sides are stacked, the rows of the stack become columns of one system, so that each matrix is
    read once.
    """

    def batch(n: int, stacked: tuple[bool, ...], *operands: Any, **params: Any) -> Any:
        *matrices, b = operands
        if any(stacked[:-1]):
            rows = [x if s else broadcast(x, (n, *x.shape)) for x, s in zip(operands, stacked, strict=True)]
            return primitive().bind(*rows, **params)
        *lead, rows, columns = b.shape[1:]
        rank = len(b.shape)
        wide = to_shape(permuted(b, (*range(1, rank - 1), 0, rank - 1)), (*lead, rows, n * columns))
        solution = to_shape(primitive().bind(*matrices, wide, **params), (*lead, rows, n, columns))
        return permuted(solution, (rank - 2, *range(rank - 2), rank - 1))

    return batch


def row_and_column(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the row numbers and the column numbers of the elements of matrices of `shape`."""
    return iota(shape, len(shape) - 2, int64), iota(shape, len(shape) - 1, int64)


def times_adjoint(x: Any, y: Any) -> Any:
    """Return ``x @ y^H`` for stacks of matrices with equal leading dimensions."""
    return matmul_op.bind(x, matrix_transpose(y, conjugate=True))


# ---- evaluation ------------------------------------------------------------------------------------------------------


def each_matrix(function: Callable[..., Any], shape: tuple[int, ...], *stacks: Any) -> Any:
    """Return an array of `shape`: `function` applied to the matrices of stacks with equal leading dimensions."""
    result = np.empty(shape, stacks[0].dtype)
    for index in np.ndindex(shape[:-2]):
        result[index] = function(*[stack[index] for stack in stacks])
    return result


def raise_for_first(bad: Any, sentence: str, problem: str, remedy: str) -> None:
    """Raise `LinAlgError` that names the first matrix for which `bad`, an array of truth values, is true."""
    if np.any(bad):
        index = tuple([int(i) for i in np.argwhere(bad)[0]])
        which = f"matrix {index[0] if len(index) == 1 else index} of the batch" if index else "the matrix"
        raise LinAlgError(f"{sentence} {which[0].upper()}{which[1:]} {problem}; {remedy}")
