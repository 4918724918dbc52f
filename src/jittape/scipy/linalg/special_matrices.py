"""Matrices with a structure: block diagonal, Toeplitz, Hankel and circulant, with SciPy's conventions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.errors import ShapeError
from jittape.primitives.elementwise.complex_numbers import cast, conj
from jittape.primitives.indexing.gather import gather
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import reshape
from jittape.scipy.linalg.matrix_arguments import as_given

__all__ = ["block_diag", "circulant", "hankel", "toeplitz"]


def block_diag(*arrs: Any) -> Any:
    """Return a matrix with the given matrices on its diagonal; a vector is one row.

    Parameters
    ----------
    *arrs : array_like
        Matrices or vectors.

    Raises
    ------
    ShapeError
        If an argument has more than two dimensions.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.block_diag([[1.0]], [2.0, 3.0]).numpy()
    array([[1., 0., 0.],
           [0., 2., 3.]])
    """
    if not arrs:
        raise ValueError("[block_diag] needs at least one matrix")
    blocks = []
    for a in arrs:
        a = as_given(a)
        if len(a.shape) > 2:
            raise ShapeError(f"[block_diag] needs matrices, got shape {tuple(a.shape)}")
        blocks.append(reshape(a, (1,) * (2 - len(a.shape)) + tuple(a.shape)))
    dtype = np.result_type(*[b.aval.dtype for b in blocks])
    width, left, rows = sum(b.shape[1] for b in blocks), 0, []
    for block in blocks:
        m, n = block.shape
        before, after = zeros((m, left), dtype=dtype), zeros((m, width - left - n), dtype=dtype)
        rows.append(concat([before, cast(block, dtype), after], 1))
        left += n
    return concat(rows, 0)


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrix with first column `c` and first row `r`, the conjugate of `c` by default; ``r[0]`` is not read.

    Parameters
    ----------
    c : array_like of shape (m,)
        First column.
    r : array_like of shape (n,), optional
        First row.

    Raises
    ------
    ShapeError
        If `c` or `r` is not a vector.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.toeplitz([1.0, 2.0], [0.0, 3.0, 4.0]).numpy()
    array([[1., 3., 4.],
           [2., 1., 3.]])
    """
    c = _vector("toeplitz", c)
    r = _vector("toeplitz", r) if r is not None else conj(c) if c.aval.dtype.kind == "c" else c
    values = _joined(reverse(c, [0]), r[1:])
    m, n = c.shape[0], r.shape[0]
    return gather(values, np.arange(m - 1, -1, -1)[:, None] + np.arange(n))


def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrix with first column `c` and last row `r`, zeros by default; ``r[0]`` is not read.

    Parameters
    ----------
    c : array_like of shape (m,)
        First column.
    r : array_like of shape (n,), optional
        Last row.

    Raises
    ------
    ShapeError
        If `c` or `r` is not a vector.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.hankel([1.0, 2.0], [0.0, 3.0]).numpy()
    array([[1., 2.],
           [2., 3.]])
    """
    c = _vector("hankel", c)
    r = zeros(c.shape, dtype=c.aval.dtype) if r is None else _vector("hankel", r)
    values = _joined(c, r[1:])
    return gather(values, np.arange(c.shape[0])[:, None] + np.arange(r.shape[0]))


def circulant(c: Any) -> Any:
    """Return the matrix whose columns are rotations of `c`.

    Parameters
    ----------
    c : array_like of shape (n,)
        First column.

    Raises
    ------
    ShapeError
        If `c` is not a vector.

    Examples
    --------
    >>> from jittape.scipy import linalg
    >>> linalg.circulant([1.0, 2.0, 3.0]).numpy()
    array([[1., 3., 2.],
           [2., 1., 3.],
           [3., 2., 1.]])
    """
    c = _vector("circulant", c)
    n = c.shape[0]
    return gather(c, (np.arange(n)[:, None] - np.arange(n)) % n)


def _vector(function: str, c: Any) -> Any:
    c = as_given(c)
    if len(c.shape) != 1 or c.shape[0] == 0:
        raise ShapeError(f"[{function}] needs a vector, got shape {tuple(c.shape)}")
    return c


def _joined(first: Any, last: Any) -> Any:
    dtype = np.result_type(first.aval.dtype, last.aval.dtype)
    return concat([cast(first, dtype), cast(last, dtype)], 0)
