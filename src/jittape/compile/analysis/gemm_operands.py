"""Memory layout of the operands of a matrix product, and the division of the product into calls.

The BLAS reads a matrix whose rows, or whose columns, are contiguous and any distance apart. So most views need no copy:
a transpose becomes a flag, a slice an offset, a permutation of the leading dimensions a stride of the batch, and a
broadcast along them a stride of 0. `product_of` follows the views from an operand to memory and returns the arguments
of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jittape.compile.ir.operand_maps import index_of
from jittape.compile.ir.target_facts import TargetFacts
from jittape.core.forms import Alias
from jittape.core.program import Aval, Op
from jittape.core.symbolic.extent_functions import is_about_at_most, is_open
from jittape.core.symbolic.extents import Extent, applied
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = [
    "BatchLoop",
    "Matrix",
    "Product",
    "batch_loops",
    "block_sizes",
    "block_sizes_or_zeros",
    "contiguous",
    "followed_layout",
    "form_of",
    "matrix_of",
    "product_of",
    "wants_rows",
    "with_column",
]


class Layout(NamedTuple):
    """A value as elements of the memory of a slot; strides and offset are in elements."""

    slot: int
    strides: tuple[int, ...]
    offset: int


class Matrix(NamedTuple):
    """A matrix in memory. Rows, or columns if it is `transposed`, are `leading` elements apart."""

    slot: int
    transposed: bool
    leading: int
    offset: int


class BatchLoop(NamedTuple):
    """A loop over a stack of products, with the distances between the operands of successive products."""

    extent: int
    x_stride: int
    y_stride: int


class Product(NamedTuple):
    """A stack of products ``x @ y`` with two loops over the stack; the outer may have an extent of 1."""

    x: Matrix
    y: Matrix
    rows: int
    columns: int
    inner: int
    batch: tuple[BatchLoop, BatchLoop]


def product_of(
    op: Op, avals: Mapping[int, Aval], view_of: Callable[[int], Op | None], in_memory: Callable[[int], bool]
) -> Product:
    """Return the product `op`, with operands read through views as far as the BLAS can.

    Parameters
    ----------
    op : Op
        A strict `matmul`.
    avals : mapping
        Shape and dtype of the slots.
    view_of : callable
        Returns the op of a slot if it is a view (a `View`, or an `Alias` that adds or removes extents of 1) that a loop
        nest would otherwise write out, else None.
    in_memory : callable
        Returns whether a slot is stored in memory in any case; only such a slot is read in part.
    """
    plain, followed = [], []
    for slot in op.args:
        plain.append(contiguous(slot, avals[slot].shape))
        followed.append(followed_layout(slot, avals, view_of, in_memory))
    shapes = [avals[slot].shape for slot in op.args]
    for x in (followed[0], plain[0]):
        for y in (followed[1], plain[1]):
            left, right = matrix_of(x, shapes[0]), matrix_of(y, shapes[1])
            loops = batch_loops(shapes[0][:-2], x.strides, y.strides)
            if left is not None and right is not None and len(loops) <= 2:
                one = BatchLoop(1, 0, 0)
                first, second = [one, one, *loops][-2:]
                return Product(left, right, shapes[0][-2], shapes[1][-1], shapes[0][-1], (first, second))
    raise AssertionError(op)  # plain operands always fit


def contiguous(slot: int, shape: tuple[int, ...]) -> Layout:
    """Return the layout of a value of this shape in memory of its own."""
    return Layout(slot, _strides(shape), 0)


@lru_cache(1024)
def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    extents = [max(extent, 1) for extent in shape]
    return tuple([math.prod(extents[axis + 1 :]) for axis in range(len(shape))])


def followed_layout(
    slot: int,
    avals: Mapping[int, Aval],
    view_of: Callable[[int], Op | None],
    in_memory: Callable[[int], bool],
) -> Layout:
    """Return the layout of `slot` in the memory of the value that it is a view of, as far as the BLAS can read it."""
    views = []
    base = slot
    while (op := view_of(base)) is not None and len(op.args) == 1:
        views.append(op)
        base = op.args[0]
    best = contiguous(slot, avals[slot].shape)
    for start in range(len(views)):
        layout = _through(views[: start + 1], avals)
        if layout is None:
            break
        whole = avals[layout.slot].size <= avals[slot].size
        if matrix_of(layout, avals[slot].shape) is not None and (whole or in_memory(layout.slot)):
            best = layout
    return best


def _through(views: list[Op], avals: Mapping[int, Aval]) -> Layout | None:
    """Return the layout of the first op's result in the memory of the last op's operand."""
    layout = contiguous(views[-1].args[0], avals[views[-1].args[0]].shape)
    for op in reversed(views):
        operand, result = avals[op.args[0]], avals[op.out]
        strides, offset = [0] * result.ndim, layout.offset
        if isinstance(op.primitive.lowering, Alias):
            # The shapes differ in extents of 1 only.
            kept = [stride for stride, n in zip(layout.strides, operand.shape, strict=True) if n != 1]
            strides = [kept.pop(0) if n != 1 else 0 for n in result.shape]
            layout = Layout(layout.slot, tuple(strides), offset)
            continue
        for entry, stride in zip(
            index_of(op.primitive, op.params, operand, result), layout.strides, strict=True
        ):
            if entry.dynamic is not None or (entry.axis is not None and entry.step < 0):
                return None
            offset += entry.offset * stride
            if entry.axis is not None:
                strides[entry.axis] += entry.step * stride
        layout = Layout(layout.slot, tuple(strides), offset)
    return layout


def matrix_of(layout: Layout, shape: tuple[int, ...]) -> Matrix | None:
    """Return the last two dimensions as a matrix of the BLAS; None if they are not."""
    rows, columns = shape[-2:]
    down, right = layout.strides[-2:]
    for transposed, (outer, apart), (length, step) in (
        (False, (rows, down), (columns, right)),
        (True, (columns, right), (rows, down)),
    ):
        leading = apart if outer > 1 else max(length, 1)
        if (length <= 1 or step == 1) and max(length, 1) <= leading < 2**31:
            return Matrix(layout.slot, transposed, leading, layout.offset)
    return None


def batch_loops(lead: tuple[int, ...], x: tuple[int, ...], y: tuple[int, ...]) -> list[BatchLoop]:
    """Return the loops over the leading dimensions, joined if both operands allow; one empty loop if one is empty."""
    if 0 in lead:
        return [BatchLoop(0, 0, 0)]
    loops: list[BatchLoop] = []
    for extent, x_stride, y_stride in zip(lead, x, y, strict=False):
        if extent == 1:
            continue
        if loops and (loops[-1].x_stride, loops[-1].y_stride) == (extent * x_stride, extent * y_stride):
            loops[-1] = BatchLoop(loops[-1].extent * extent, x_stride, y_stride)
        else:
            loops.append(BatchLoop(extent, x_stride, y_stride))
    return loops


def block_sizes(product: Product, unpacked: bool) -> tuple[int, int, int]:
    """Return the rows, columns and summands of the blocks that a product is cut into for the BLAS.

    Below a million multiplications OpenBLAS's AVX-512 kernels work without packing (`unpacked`). Packing hardly pays
    for a product with one small extent: cut along its longest extent, 32x784 @ 784x128 runs at 210 GFLOP/s instead of
    143 in float32 and at 101 instead of 72 in float64, the transposed 784x32 @ 32x128 at 208 instead of 187 and 110
    instead of 77. With all extents above 64, or if y alone is transposed, packing is faster.
    """
    extents = [max(product.rows, 1), max(product.columns, 1), max(product.inner, 1)]
    total = math.prod(extents)
    if (
        unpacked
        and not _slow(product)
        and not is_about_at_most(total, tuning.unpacked_gemm_multiplications)
        and any([n <= tuning.cut_gemm_extent for n in _plain_first(extents)])
        and min(extents) > 1
    ):
        longest = extents.index(max(extents))
        extents[longest] = applied(_piece_of, extents[longest], total // extents[longest])
    return extents[0], extents[1], extents[2]


def block_sizes_or_zeros(
    product: Product, dtype: np.dtype[Any], unpacked: bool, form: str
) -> tuple[int, int, int]:
    """Return what `block_sizes` does, or zeros for sizes at which jittape's own loops multiply; it adds no guard.

    `form` is one of those that decide at run time.
    """
    sizes = product.rows, product.columns, product.inner
    if form == "tiny or matrix":  # without AVX-512 the BLAS multiplies whole matrices
        total = math.prod(sizes)
        rows, columns, inner = (applied(_size_unless_tiny, size, total) for size in sizes)
        return rows, columns, inner
    layout = product._replace(rows=1, columns=1, inner=1)
    rows, columns, inner = (
        applied(_block_size_or_zero, axis, *sizes, layout, dtype, unpacked) for axis in range(3)
    )
    return rows, columns, inner


def _size_unless_tiny(size: int, total: int) -> int:
    return 0 if _is_tiny(total) else max(size, 1)


def _block_size_or_zero(
    axis: int, rows: int, columns: int, inner: int, layout: Product, dtype: np.dtype[Any], unpacked: bool
) -> int:
    product = layout._replace(rows=rows, columns=columns, inner=inner)
    return 0 if _fits_loops(product, dtype) else block_sizes(product, unpacked)[axis]


def _piece_of(extent: int, others: int) -> int:
    """Return the extent of the pieces that the longest extent of a product is cut into."""
    return min(extent, max(16, tuning.gemm_piece_multiplications // others // 16 * 16))


def _plain_first(extents: Iterable[Any]) -> list[Any]:
    """Return extents with plain numbers first: if one of them decides, a schedule serves all values of the others."""
    return sorted(extents, key=lambda n: n.__class__ is Extent)


def _slow(product: Product) -> bool:
    """Return whether rows are multiplied by rows: unpacked, each element then is a sum over the lanes of a vector."""
    return product.y.transposed and not product.x.transposed


def wants_rows(products: Sequence[Product], dtype: np.dtype[Any], target: TargetFacts) -> bool:
    """Return whether copying the right operand that these products share is faster than reading it as a transpose.

    With AVX-512 and without packing, 64x64 @ (64x64)' takes 7.6 µs in float64 and 64x64 @ 64x64 4.6 µs; in float32 3.6
    and 2.4; the copy takes 0.9 and 0.7. Stacks are alike: 25 products of 100x10 and 10x10 take 67 instead of 95 µs. The
    gain grows with the elements of the results, the cost of the copy with those of the operand. Loops pack the operand
    of a product of few summands, which takes as long as the copy.

    Where the BLAS has kernels for AVX2 only, loops multiply the copy faster. In a stack, 16x128 @ (32x128)' takes 2.3
    instead of 3.6 µs in float64 and 1.6 instead of 1.8 in float32, and 64x64 @ (64x64)' 5.8 instead of 10.8 and 3.4
    instead of 5.3. With eight rows nothing is gained.
    """
    if not target.unpacked:
        return _wants_rows_for_loops(products, dtype, target)
    if not all([_slow(p) for p in products]):  # first, as it compares no extents
        return False
    first = products[0]
    if target.wide_registers and first.inner <= tuning.short_gemm_extent:
        return False
    fits = all(
        [
            is_about_at_most(p.rows * p.columns * p.inner, tuning.unpacked_gemm_multiplications)
            and any(n > tuning.small_gemm_extent for n in _plain_first((p.rows, p.columns, p.inner)))
            for p in products
        ]
    )
    return fits and first.columns > 1 and sum([p.rows for p in products]) >= first.inner


def _wants_rows_for_loops(products: Sequence[Product], dtype: np.dtype[Any], target: TargetFacts) -> bool:
    """Return whether loops multiply a copy of a transpose of more than `short_gemm_extent` summands."""
    if not target.wide_registers or not all([p.y.transposed for p in products]):
        return False
    copies = [p._replace(y=p.y._replace(transposed=False)) for p in products]
    return (
        all([form_of(p, dtype, target) == "matrix" for p in products])
        and all([form_of(p, dtype, target).startswith("tiled") for p in copies])
        and sum([p.rows for p in products]) >= tuning.short_gemm_extent
    )


def form_of(product: Product, dtype: np.dtype[Any], target: TargetFacts) -> str:
    """Return the form of the kernel, see `kernel.Gemm`."""
    extents = product.rows, product.columns, product.inner
    if dtype.kind == "f" and all(n <= tuning.small_gemm_extent for n in _plain_first(extents)):
        return "tiny"
    if dtype.kind == "f" and _is_skinny(product):
        return f"dots{_block_side(product)}"
    if 1 in extents[:2] and product.inner > 0:
        return _form_with_column(with_column(product), dtype) if target.wide_registers else "vector"
    # Two transposes occur in gradients, where the number of summands varies and few schedules should serve all of them.
    is_packed = _slow(product) and product.inner <= tuning.short_gemm_extent
    if dtype.kind == "f" and (not product.y.transposed or is_packed):
        if target.wide_registers:
            return _form_with_wide_registers(product, dtype, target.unpacked)
        total = product.rows * product.columns * product.inner
        if is_open(total):
            return "tiny or matrix"
        return "tiny" if _is_tiny(total) else "matrix"
    return "matrix"


def _form_with_wide_registers(product: Product, dtype: np.dtype[Any], unpacked: bool) -> str:
    """Return which is faster with 32 registers of 64 bytes: jittape's own loops or the BLAS.

    The sizes decide at run time if the length of a row of y, or of the sum, is open.
    """
    least_rows, least_bytes = tuning.tiled_gemm_least if unpacked else (1, 1)
    # Few lengths are near these minima.
    if not (
        is_about_at_most(least_rows, product.rows)
        and is_about_at_most(least_bytes, product.columns * dtype.itemsize)
    ):
        return "matrix"
    if is_open(product.inner) or is_open(product.columns):
        return "tiled or matrix"
    return "tiled" if _fits_loops(product, dtype) else "matrix"


def _fits_loops(product: Product, dtype: np.dtype[Any]) -> bool:
    """Return whether loops are as exact as the BLAS and y fits the cache: exactly, as both may round differently."""
    rows, columns, inner = product.rows, product.columns, product.inner
    most_summands, most_bytes = tuning.tiled_gemm_limits
    return bool(
        inner <= most_summands
        and rows * columns * inner <= tuning.tiled_gemm_multiplications
        and inner * columns * dtype.itemsize <= most_bytes
    )


def _is_tiny(multiplications: int) -> bool:
    """Return whether loops are faster than a BLAS without AVX-512: exactly, as both may round differently."""
    return multiplications <= tuning.tiny_gemm_multiplications


def with_column(product: Product) -> Product:
    """Return a product with a vector such that the vector is the column `y`, with elements `leading` apart.

    If `x` is a row, ``(x y)' = y' x'``. The elements of a column that is stored as a row are contiguous.
    """
    if product.columns != 1:
        x, y = (matrix._replace(transposed=not matrix.transposed) for matrix in (product.y, product.x))
        outer, inner = (BatchLoop(loop.extent, loop.y_stride, loop.x_stride) for loop in product.batch)
        product = Product(x, y, product.columns, 1, product.inner, (outer, inner))
    y = product.y
    return product._replace(y=y._replace(transposed=False, leading=1 if y.transposed else y.leading))


def _form_with_column(product: Product, dtype: np.dtype[Any]) -> str:
    length = product.rows if product.x.transposed else product.inner
    nbytes = length * dtype.itemsize
    contiguous = product.y.leading == 1 or product.inner == 1
    if (
        dtype.kind != "f"
        or not contiguous
        or not tuning.vector_bytes // 2 < nbytes <= tuning.gemv_registers * tuning.vector_bytes
    ):
        return "vector"
    return f"{'columns' if product.x.transposed else 'rows'}{-(-nbytes // tuning.vector_bytes)}"


def _is_skinny(product: Product) -> bool:
    short = (2, tuning.short_gemm_extent)
    limits = ((product.rows, short), (product.columns, short), (product.inner, tuning.skinny_gemm_summands))
    return _slow(product) and all(
        low <= n <= high for n, (low, high) in sorted(limits, key=lambda limit: is_open(limit[0]))
    )


def _block_side(product: Product) -> int:
    """Return the side of the square blocks that compute the fewest elements twice."""

    def computed(side: int) -> int:
        return -(-product.rows // side) * -(-product.columns // side) * side * side

    return min((5, 4, 3, 2), key=computed)
