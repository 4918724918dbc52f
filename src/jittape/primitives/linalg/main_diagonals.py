"""Main diagonals of square matrices, and diagonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import int64
from jittape.core.forms import Decomposition, Index, View
from jittape.core.primitive import Primitive
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import broadcast, iota, to_shape
from jittape.primitives.elementwise.comparison import equal, where
from jittape.primitives.record_parts import filled

__all__ = ["diagonal_matrix_op", "diagonal_op"]


def _diagonal_index(x: Aval, out: Aval) -> tuple[Index, ...]:
    return tuple([Index(axis) for axis in (*range(out.ndim), out.ndim - 1)])


diagonal_op = Primitive(
    "diag_part",
    abstract_eval=lambda x: Aval(x.shape[:-1], x.dtype),
    impl=lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    vjp=(lambda g, out, x: diagonal_matrix_op.bind(g),),
    lowering=View(_diagonal_index),
    batch=alike(),
)
"""The main diagonals of square matrices."""


def _diagonal_matrix_impl(d: Any) -> Any:
    out = np.zeros((*d.shape, d.shape[-1]), d.dtype)
    each = np.arange(d.shape[-1])
    out[..., each, each] = d
    return out


def _diagonal_matrix(d: Any) -> Any:
    shape = (*d.shape, d.shape[-1])
    rank = len(d.shape)
    on_diagonal = equal(iota(shape, rank - 1, int64), iota(shape, rank, int64))
    rows = broadcast(to_shape(d, (*d.shape, 1)), shape)
    return where(on_diagonal, rows, filled(rows, 0))


diagonal_matrix_op: Primitive = Primitive(
    "diagonal_matrix",
    abstract_eval=lambda d: Aval((*d.shape, d.shape[-1]), d.dtype),
    impl=_diagonal_matrix_impl,
    vjp=(lambda g, out, d: diagonal_op.bind(g),),
    lowering=Decomposition(_diagonal_matrix),
    batch=alike(),
    cholesky_role="diagonal",
)
"""Square matrices with these main diagonals and zeros elsewhere."""
