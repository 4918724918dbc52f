"""From a matrix product to a call of the BLAS: the kernel that all such products share, and the integers for this one.

What `canonical` is for loop nests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jittape.compile.analysis.gemm_operands import Product, form_of, pieces, with_column
from jittape.compile.analysis.parallelism import work_of_products
from jittape.compile.ir.instructions import Operand
from jittape.compile.ir.kernel import Gemm, bits_of
from jittape.compile.ir.task_counts import ON_DEMAND
from jittape.compile.llvm.target_facts import TargetFacts
from jittape.core.tuning import tuning

__all__ = ["Called", "Calls"]


class Called(NamedTuple):
    """The kernel of a product, with the slots of its operands and the integers that are its symbols."""

    kernel: Gemm
    slots: tuple[int, int]
    sizes: tuple[int, ...]
    tasks: int
    work: int


_OFFSETS = Gemm.SYMBOLS.index("ox"), Gemm.SYMBOLS.index("oy")


class Calls:
    """The calls of a program's products, each of which is decided once.

    The products of an unrolled loop's iterations differ in slots, and where in these they begin.
    """

    def __init__(self, target: Callable[[], TargetFacts]) -> None:
        self.target = target
        self._known: dict[Any, Called] = {}
        self._kernels: dict[Gemm, Gemm] = {}

    def placed(self, product: Product, dtype: np.dtype[Any], added: bool) -> Called:
        """The call for `product`, which is `added` to what stands in memory or written there."""
        x, y, *others = product
        key = x.transposed, x.leading, y.transposed, y.leading, *others, dtype, added
        known = self._known.get(key)
        if known is None:
            numbered = product._replace(x=x._replace(slot=0), y=y._replace(slot=1))
            known = self._known[key] = self._called(numbered, dtype, added)
        first, second = (x, y) if known.slots == (0, 1) else (y, x)
        sizes = list(known.sizes)
        sizes[_OFFSETS[0]], sizes[_OFFSETS[1]] = first.offset, second.offset
        return Called(known.kernel, (first.slot, second.slot), tuple(sizes), known.tasks, known.work)

    def _called(self, product: Product, dtype: np.dtype[Any], added: bool) -> Called:
        target = self.target()
        form = form_of(product, dtype, target.wide_registers)
        cut = pieces(product, form == "matrix" and target.unpacked)
        if form.startswith(("vector", "rows", "columns")):
            product = with_column(product)
        x, y, m, n = product.x, product.y, product.rows, product.columns
        outer, inner = product.batch
        operands = tuple([Operand(name, dtype) for name in ("a0", "a1", "u0" if added else "r0")])
        kernel = Gemm(operands, dtype, (x.transposed, y.transposed), form)
        kernel = self._kernels.setdefault(kernel, kernel)  # it is named once
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
        tasks = ON_DEMAND if work >= tuning.parallel_work_ns and divisible else 1
        return Called(kernel, (x.slot, y.slot), sizes, tasks, work)
