"""Convolution by sums of products, which SciPy computes between kernels.

Unlike transforms, sums keep integers, and a nan or an infinity reaches only the elements that it contributes to. The
gradient of a convolution is a convolution of the cotangent, so derivatives of any order exist.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.dtypes import float16, float32
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import ShapeError
from jittape.primitives.broadcast import as_symbol, broadcast
from jittape.primitives.elementwise.complex_numbers import conj
from jittape.primitives.shape.views import flipped

__all__ = ["direct_convolution", "direct_convolution_op"]


def _size(m: int, n: int, mode: str) -> int:
    return m + n - 1 if mode == "full" else m - n + 1


def _abstract_eval(a: Aval, b: Aval, *, rank: int, mode: str) -> Aval:
    first, second = (x.shape[x.ndim - rank :] for x in (a, b))
    rows = a.shape[: a.ndim - rank]
    sizes = tuple([_size(m, n, mode) for m, n in zip(first, second, strict=True)])
    if rows != b.shape[: b.ndim - rank] or 0 in (*first, *second) or any(n < 1 for n in sizes):
        raise ShapeError(f"[convolve] shapes {a.shape} and {b.shape} do not fit mode {mode!r}")
    return Aval((*rows, *sizes), a.dtype)


def _impl(a: Any, b: Any, *, rank: int, mode: Any) -> Any:
    wide = a.dtype if a.dtype.kind in "biufc" and a.dtype != float16 else np.dtype(float32)
    if a.ndim == rank == 1:  # SciPy calls NumPy too, after checks that take 10 µs
        with np.errstate(all="ignore"):
            return np.convolve(a.astype(wide, copy=False), b.astype(wide, copy=False), mode).astype(
                a.dtype, copy=False
            )
    from scipy.signal import convolve  # imported only by programs that convolve

    with np.errstate(all="ignore"):
        if a.ndim == rank:
            return convolve(a.astype(wide), b.astype(wide), mode, "direct").astype(a.dtype)
        rows = a.shape[: a.ndim - rank]
        sizes = [_size(m, n, mode) for m, n in zip(a.shape[-rank:], b.shape[-rank:], strict=True)]
        found = np.empty((*rows, *sizes), a.dtype)
        for i in np.ndindex(rows):
            found[i] = convolve(a[i].astype(wide), b[i].astype(wide), mode, "direct")
    return found


def _of_larger(g: Any, out: Any, a: Any, b: Any, *, rank: int, mode: str) -> Any:
    """Return the cotangent of the first operand."""
    other = "valid" if mode == "full" else "full"
    return direct_convolution_op.bind(g, _turned(b, rank), rank=rank, mode=other)


def _of_smaller(g: Any, out: Any, a: Any, b: Any, *, rank: int, mode: str) -> Any:
    """Return the cotangent of the second operand."""
    if mode == "full":
        return direct_convolution_op.bind(g, _turned(a, rank), rank=rank, mode="valid")
    return _turned(direct_convolution_op.bind(a, _turned(g, rank), rank=rank, mode="valid"), rank)


def _turned(x: Any, rank: int) -> Any:
    """Return the conjugate in reverse order along the last `rank` dimensions."""
    n = len(x.shape)
    return flipped(conj(x) if x.dtype.kind == "c" else x, tuple(range(n - rank, n)))


def _batch(n: int, stacked: tuple[bool, ...], *operands: Any, rank: int, mode: str) -> Any:
    rows = [x if s else broadcast(x, (n, *x.shape)) for x, s in zip(operands, stacked, strict=True)]
    return direct_convolution_op.bind(*rows, rank=rank, mode=mode)


direct_convolution_op = Primitive(
    "direct_convolution",
    abstract_eval=_abstract_eval,
    impl=_impl,
    vjp=(_of_larger, _of_smaller),
    batch=_batch,
    is_expensive=True,
)
"""Convolution along the last `rank` dimensions, ``"full"`` or ``"valid"``; in the latter `a` is at least as large."""


def _body(a: Any, b: Any, rank: int, mode: str) -> Any:
    return direct_convolution_op.bind(as_symbol(a), as_symbol(b), rank=rank, mode=mode)


def direct_convolution(a: Any, b: Any, rank: int, mode: str) -> Any:
    """Return the convolution of two arrays of one dtype along their last `rank` dimensions."""
    return apply(_body, (a, b), (rank, mode))
