"""Functions of ``keras.ops`` whose arguments have another form than those of their counterparts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jittape.core.config import config
from jittape.core.dtypes import as_dtype, is_floating
from jittape.flow.branches import switch_case
from jittape.keras.layers.data_formats import format_of
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.indexing.scatter import (
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_update,
)
from jittape.primitives.indexing.unsorted_segments import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from jittape.primitives.linalg import einsum as products
from jittape.primitives.linalg.triangular import triangular_solve
from jittape.primitives.nn import activation
from jittape.primitives.nn.convolution import convolution
from jittape.primitives.nn.depthwise_convolution import depthwise_conv2d, separable_conv2d
from jittape.primitives.nn.layer_functions import batch_normalization as normalization
from jittape.primitives.nn.pooling import pool
from jittape.primitives.reduce import cumulative
from jittape.primitives.reduce.reductions import reduce_all
from jittape.primitives.shape import creation, indicators, shape_arrays
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.convert import constant

__all__ = [
    "allclose", "arange", "array", "average_pool", "batch_normalization", "conv", "convert_to_numpy",
    "convert_to_tensor", "cumprod", "cumsum", "depthwise_conv", "dtype", "einsum", "empty", "eye", "full", "gelu",
    "get_item", "identity", "linspace", "max_pool", "one_hot", "ones", "scatter_update", "segment_max",
    "segment_min", "segment_prod", "segment_sum", "separable_conv", "shape", "size", "slice_update",
    "solve_triangular", "switch", "tri", "zeros",
]  # fmt: skip


# ---- conversions and creation ----------------------------------------------------------------------------------------


def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    """Return `x` as a tensor; `sparse` and `ragged` change nothing."""
    return as_tensor(x) if dtype is None else cast(as_tensor(x), dtype)


def array(x: Any, dtype: Any = None) -> Any:
    """Return `x` as a tensor."""
    return convert_to_tensor(x, dtype)


def convert_to_numpy(x: Any) -> Any:
    """Return the values of `x` as an array."""
    return np.asarray(x)


def dtype(x: Any) -> str:
    """Return the name of the dtype."""
    return str(as_tensor(x).dtype.name)


def shape(x: Any) -> tuple[int, ...]:
    """Return the extents."""
    return tuple(as_tensor(x).shape)


def size(x: Any) -> Any:
    """Return the number of elements."""
    return shape_arrays.size(as_tensor(x))


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Return zeros."""
    return creation.zeros(shape, _float_or(dtype))


def ones(shape: Any, dtype: Any = None) -> Any:
    """Return ones."""
    return creation.ones(shape, _float_or(dtype))


def empty(shape: Any, dtype: Any = None) -> Any:
    """Return zeros, as Keras does on TensorFlow."""
    return creation.zeros(shape, _float_or(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """Return a tensor filled with a number."""
    return creation.fill(shape, constant(fill_value, _float_or(dtype)))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Return a matrix with ones on the `k`-th diagonal."""
    return constant(np.eye(N, M, k), _float_or(dtype))


def identity(n: int, dtype: Any = None) -> Any:
    """Return the unit matrix."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Return a matrix with ones on and below the `k`-th diagonal."""
    return constant(np.tri(N, M, k), _float_or(dtype))


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Return the numbers from `start` to below `stop`; integers are of int32."""
    return creation.range(start, stop, 1 if step is None else step, dtype)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return `num` numbers at equal distances."""
    first, last = [as_tensor(x) if hasattr(x, "dtype") else x for x in (start, stop)]
    spaced: Any = np.linspace  # records, if there are tensors
    found = spaced(first, last, num, endpoint, retstep, axis=axis)
    kind = _float_or(dtype)
    return tuple([cast(as_tensor(x), kind) for x in found]) if retstep else cast(as_tensor(found), kind)


def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    """Return ones at the numbers in `x` and zeros elsewhere."""
    return indicators.one_hot(_integers(x), num_classes, axis=axis, dtype=_float_or(dtype))


def _integers(x: Any) -> Any:
    x = as_tensor(x)
    return cast(x, "int64") if is_floating(x.dtype) else x


def _float_or(dtype: Any) -> Any:
    return as_dtype(config.default_float if dtype is None else dtype)


# ---- parts of tensors ------------------------------------------------------------------------------------------------


def get_item(x: Any, key: Any) -> Any:
    """Return ``x[key]``."""
    return operator.getitem(as_tensor(x), key)


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """Return `inputs` with `updates` at `start_indices`."""
    updates = as_tensor(updates)
    starts = (
        start_indices if isinstance(start_indices, (tuple, list)) else list(as_tensor(start_indices).numpy())
    )
    result = as_tensor(inputs) + 0  # a tensor of its own, which may be written to
    result[tuple([slice(i, i + n) for i, n in zip(starts, updates.shape, strict=True)])] = updates
    return result


_REDUCTIONS: dict[str | None, Callable[..., Any]] = {
    None: tensor_scatter_nd_update,
    "add": tensor_scatter_nd_add,
    "max": tensor_scatter_nd_max,
    "min": tensor_scatter_nd_min,
}


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Any:
    """Return `inputs` with `updates` at `indices`, or combined with them."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"[scatter_update] reduction must be None, 'add', 'max' or 'min', got {reduction!r}")
    return _REDUCTIONS[reduction](inputs, indices, updates)


def _segment(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Any:
        """Return the reduction of each segment; without `num_segments` there are as many as the numbers tell."""
        ids = as_tensor(segment_ids)
        count = int(np.max(ids.numpy(), initial=-1)) + 1 if num_segments is None else num_segments
        return function(data, ids, count)

    return reduced


segment_sum = _segment(unsorted_segment_sum)
segment_prod = _segment(unsorted_segment_prod)
segment_max = _segment(unsorted_segment_max)
segment_min = _segment(unsorted_segment_min)


def switch(index: Any, branches: Any, *operands: Any) -> Any:
    """Return the result of the branch with this number, of the `operands`."""
    return switch_case(index, [partial(branch, *operands) for branch in branches])


def allclose(x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Return whether all elements are close."""
    return reduce_all(as_tensor(np.isclose(as_tensor(x1), as_tensor(x2), rtol, atol, equal_nan)))


def _cumulated(function: Callable[..., Any]) -> Callable[..., Any]:
    def cumulated(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
        """Return the sums or products of each element and those before it, by default of all elements in a row."""
        x = as_tensor(x)
        kind = dtype or ("int32" if x.dtype.kind == "b" else None)
        x = x if kind is None else cast(x, kind)
        return function(reshape(x, (-1,)), 0) if axis is None else function(x, axis)

    return cumulated


cumsum = _cumulated(cumulative.cumsum)
cumprod = _cumulated(cumulative.cumprod)


# ---- products and networks -------------------------------------------------------------------------------------------


def einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    """Return the sum of products that `subscripts` describe."""
    return products.einsum(subscripts, *operands)


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    """Return the solution of ``a @ x = b`` for a triangular matrix `a`."""
    b = as_tensor(b)
    if b.ndim == as_tensor(a).ndim - 1:
        return triangular_solve(a, b[..., None], lower)[..., 0]
    return triangular_solve(a, b, lower)


def gelu(x: Any, approximate: bool = True) -> Any:
    """Return the Gaussian error linear unit, by default its approximation."""
    return activation.gelu(x, approximate)


def batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Any:
    """Return `x` with the mean and variance of each channel, of the dimension `axis`, taken out."""
    x = as_tensor(x)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    center, spread = reshape(mean, shape), reshape(variance, shape)
    added, factor = [None if part is None else reshape(part, shape) for part in (offset, scale)]
    return normalization(x, center, spread, added, factor, epsilon)


def _pooling(kind: str) -> Callable[..., Any]:
    def pooled(
        inputs: Any,
        pool_size: Any,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
    ) -> Any:
        """Return the largest element, or the average, of each window."""
        inputs = as_tensor(inputs)
        spatial = inputs.ndim - 2
        layout = format_of("pool", data_format, spatial)
        window = [pool_size] * spatial if isinstance(pool_size, int) else pool_size
        steps = window if strides is None else strides
        return pool(inputs, window, kind, steps, padding.upper(), layout)

    return pooled


max_pool = _pooling("MAX")
average_pool = _pooling("AVG")


def conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Return the convolution with a kernel."""
    inputs = as_tensor(inputs)
    layout = format_of("conv", data_format, inputs.ndim - 2)
    return convolution(inputs, kernel, strides, padding.upper(), layout, dilation_rate)


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Return the convolution of each channel of images."""
    layout = format_of("depthwise_conv", data_format, 2)
    return depthwise_conv2d(inputs, kernel, strides, padding.upper(), layout, dilation_rate)


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Return the convolution of each channel of images, and then of each pixel."""
    layout = format_of("separable_conv", data_format, 2)
    return separable_conv2d(
        inputs, depthwise_kernel, pointwise_kernel, strides, padding.upper(), layout, dilation_rate
    )
