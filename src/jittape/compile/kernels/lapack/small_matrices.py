"""Factorizations and solves of matrices of a fixed small order, as formulas over the math namespace.

A matrix is a list of rows of values, which may be vectors with one matrix in each lane. There are no branches: a
failure is a truth value, and pivoting selects between rows.
"""

from __future__ import annotations

from typing import Any

__all__ = ["cholesky", "lu", "lu_solver", "triangular_solver"]

Matrix = list[list[Any]]


def _minus_products(value: Any, pairs: Any) -> Any:
    for x, y in pairs:
        value = value - x * y
    return value


def cholesky(m: Any, a: Matrix) -> tuple[Matrix, Any]:
    """Return the rows of the lower factor, each up to the diagonal, and whether a pivot is not positive."""
    n = len(a)
    factor: Matrix = [[] for _ in range(n)]
    failed: Any = None
    for j in range(n):
        pivot = _minus_products(a[j][j], [(x, x) for x in factor[j]])
        bad = pivot <= 0
        failed = bad if failed is None else failed | bad
        root = m.sqrt(pivot)
        scale = 1.0 / root
        for i in range(j + 1, n):
            factor[i].append(_minus_products(a[i][j], list(zip(factor[i], factor[j], strict=True))) * scale)
        factor[j].append(root)
    return factor, failed


class _Substitution:
    """Substitution with one triangle of a matrix; `unit` means a diagonal of ones."""

    def __init__(self, a: Matrix, lower: bool, unit: bool = False) -> None:
        self.a = a
        self.lower = lower
        self.scales = None if unit else [1.0 / a[i][i] for i in range(len(a))]

    def solve(self, b: list[Any]) -> list[Any]:
        """Return the solution for one right-hand side."""
        n = len(b)
        x = list(b)
        for i in range(n) if self.lower else reversed(range(n)):
            known = range(i) if self.lower else range(i + 1, n)
            x[i] = _minus_products(b[i], [(self.a[i][j], x[j]) for j in known])
            if self.scales is not None:
                x[i] = x[i] * self.scales[i]
        return x


def _transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def triangular_solver(a: Matrix, lower: bool, adjoint: bool) -> Any:
    """Return the function from a right-hand side to the solution."""
    if adjoint:
        return _Substitution(_transposed(a), not lower).solve
    return _Substitution(a, lower).solve


def lu(m: Any, a: Matrix) -> tuple[Matrix, list[Any]]:
    """Return the factors in one matrix, and for each step the number of the row that it exchanges, as a float."""
    n = len(a)
    rows = [list(row) for row in a]
    pivots = []
    for k in range(n):
        greatest, pivot = m.absolute(rows[k][k]), m.literal(float(k), rows[k][k].dtype)
        for i in range(k + 1, n):
            size = m.absolute(rows[i][k])
            greater = size > greatest
            greatest = m.where(greater, size, greatest)
            pivot = m.where(greater, m.literal(float(i), size.dtype), pivot)
        pivots.append(pivot)
        for i in range(k + 1, n):
            chosen = pivot == float(i)
            rows[k], rows[i] = _exchanged(m, chosen, rows[k], rows[i])
        zero = rows[k][k] == 0
        for i in range(k + 1, n):
            factor = m.where(zero, 0.0, rows[i][k] / rows[k][k])
            rows[i][k] = factor
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
    return rows, pivots


def _exchanged(m: Any, chosen: Any, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
    pairs = list(zip(first, second, strict=True))
    return [m.where(chosen, y, x) for x, y in pairs], [m.where(chosen, x, y) for x, y in pairs]


def lu_solver(m: Any, factors: Matrix, pivots: list[Any], adjoint: bool) -> tuple[Any, Any]:
    """Return the function from a right-hand side to the solution, and whether a pivot is zero."""
    n = len(factors)
    failed = factors[0][0] == 0
    for i in range(1, n):
        failed = failed | (factors[i][i] == 0)
    steps = [(k, i, pivots[k] == float(i)) for k in range(n) for i in range(k + 1, n)]

    def exchange(x: list[Any], order: Any) -> None:
        for k, i, chosen in order:
            (x[k],), (x[i],) = _exchanged(m, chosen, [x[k]], [x[i]])

    if adjoint:
        rows = _transposed(factors)
        first, second = _Substitution(rows, lower=True), _Substitution(rows, lower=False, unit=True)
    else:
        first, second = _Substitution(factors, lower=True, unit=True), _Substitution(factors, lower=False)

    def solve(b: list[Any]) -> list[Any]:
        x = list(b)
        if not adjoint:
            exchange(x, steps)
        x = second.solve(first.solve(x))
        if adjoint:
            exchange(x, reversed(steps))
        return x

    return solve, failed
