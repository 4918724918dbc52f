"""Lowering of a matrix product to a GEMM kernel, which similar products share, and to the sizes of this product.

It is the counterpart of `canonicalize` for loop nests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.compile.analysis.gemm_operands import (
    Product,
    block_sizes,
    block_sizes_or_zeros,
    form_of,
    with_column,
)
from jittape.compile.analysis.parallelism import tasks_on_demand, work_of_products
from jittape.compile.ir.gemm_kernel import Gemm, bits_of
from jittape.compile.ir.instructions import Operand
from jittape.compile.ir.target_facts import Target
from jittape.value_classes import NamedTuple

__all__ = ["GemmLowering", "LoweredGemm"]


class LoweredGemm(NamedTuple):
    """A lowered product: the kernel, the slots of its operands and the values of its symbols."""

    kernel: Gemm
    slots: tuple[int, int]
    sizes: tuple[int, ...]
    tasks: int
    work: int


_OFFSETS = Gemm.SYMBOLS.index("ox"), Gemm.SYMBOLS.index("oy")


class GemmLowering:
    """Lowering of a program's products, each kind of which is lowered once.

    The products of an unrolled loop's iterations differ only in slots and offsets.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._known: dict[Any, LoweredGemm] = {}
        self._kernels: dict[Gemm, Gemm] = {}

    def lower(self, product: Product, dtype: np.dtype[Any], added: bool) -> LoweredGemm:
        """Return the lowered `product`; if `added`, it is added to its result's memory."""
        x, y, *others = product
        key = x.transposed, x.leading, y.transposed, y.leading, *others, dtype, added
        known = self._known.get(key)
        if known is None:
            numbered = product._replace(x=x._replace(slot=0), y=y._replace(slot=1))
            known = self._known[key] = self._lower(numbered, dtype, added)
        first, second = (x, y) if known.slots == (0, 1) else (y, x)
        sizes = list(known.sizes)
        sizes[_OFFSETS[0]], sizes[_OFFSETS[1]] = first.offset, second.offset
        return LoweredGemm(known.kernel, (first.slot, second.slot), tuple(sizes), known.tasks, known.work)

    def _lower(self, product: Product, dtype: np.dtype[Any], added: bool) -> LoweredGemm:
        target = self.target()
        form = form_of(product, dtype, target)
        if form.endswith(" or matrix"):
            cut = block_sizes_or_zeros(product, dtype, target.unpacked, form)
        else:
            cut = block_sizes(product, form == "matrix" and target.unpacked)
        if form.startswith(("vector", "rows", "columns")):
            product = with_column(product)
        x, y, m, n = product.x, product.y, product.rows, product.columns
        outer, inner = product.batch
        operands = tuple([Operand(name, dtype) for name in ("a0", "a1", "u0" if added else "r0")])
        kernel = Gemm(operands, dtype, (x.transposed, y.transposed), form)
        kernel = self._kernels.setdefault(kernel, kernel)  # its name is computed once
        sizes = (
            *(outer.extent, inner.extent, m, n, product.inner, n),
            *(x.leading, x.offset, outer.x_stride, inner.x_stride),
            *(y.leading, y.offset, outer.y_stride, inner.y_stride),
            *cut,
            *(outer.extent, inner.extent, m, n, product.inner),
            *(bits_of(1.0, dtype), bits_of(1.0 if added else 0.0, dtype)),
        )
        stacked = outer.extent * inner.extent
        work = work_of_products(form, dtype, stacked * m * n * product.inner)
        divisible = target.divisible and (kernel.divisible or stacked > 1)
        tasks = tasks_on_demand(work) if divisible else 1
        return LoweredGemm(kernel, (x.slot, y.slot), sizes, tasks, work)
