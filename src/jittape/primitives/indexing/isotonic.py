"""Isotonic regression: the closest monotone sequence, by pooling adjacent violators."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import float64, int32, int64
from jittape.core.forms import Control
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.user_calls import as_flag
from jittape.errors import DTypeError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import axis_key, broadcast, cast_to, iota, to_shape
from jittape.primitives.elementwise.arithmetic import add, multiply, negative
from jittape.primitives.indexing.gather_ops import gather_op
from jittape.primitives.indexing.segments import averaged_segments
from jittape.primitives.record_parts import floating, require_kinds
from jittape.primitives.shape.reshaping import one_axis
from jittape.primitives.shape.views import permuted
from jittape.typing import Tensor, TensorLike

__all__ = ["IsotonicRegression", "isotonic_regression"]


class IsotonicRegression(NamedTuple):
    """The monotone sequence and the number of the block of each element, as returned by `isotonic_regression`."""

    output: Tensor
    segments: Tensor


def _blocks_of(row: list[float]) -> list[int]:
    """Return the lengths of the blocks whose means do not increase."""
    means: list[float] = []
    lengths: list[int] = []
    for value in row:
        mean, length = value, 1
        while means and means[-1] < mean:
            before = lengths.pop()
            mean = (means.pop() * before + mean * length) / (before + length)
            length += before
        means.append(mean)
        lengths.append(length)
    return lengths


def _blocks_impl(x: Any, *, result_index: int) -> Any:
    result = np.empty(x.shape, int32)
    for place in np.ndindex(x.shape[:-1]):
        lengths = _blocks_of(x[place].tolist())
        result[place] = np.repeat(np.arange(len(lengths)), lengths)
    return result


def _blocks_abstract_eval(x: Aval, *, result_index: int) -> Aval:
    if x.dtype != float64 or not x.ndim:
        raise DTypeError(f"[isotonic_blocks] the operand must be rows of float64, got {x}")
    return Aval(x.shape, int32)


isotonic_blocks_op = Primitive(
    "isotonic_blocks",
    abstract_eval=_blocks_abstract_eval,
    impl=_blocks_impl,
    lowering=Control("isotonic_blocks", lambda operands, picks: [_blocks_impl(operands[0], result_index=0)]),
    gradient_stops="the number of a block is an integer",
    batch=alike(),
)
"""Number of the block of each element along the last dimension of float64 numbers, for a decreasing sequence.

It follows M. J. Best and N. Chakravarti, "Active set algorithms for isotonic regression; a unifying framework",
Mathematical Programming 47 (1990). Equal means of neighbors are different blocks.
"""


def _isotonic(x: Any, decreasing: bool, axis: int) -> Any:
    x = floating(x)
    require_kinds("isotonic_regression", "f", x.aval)
    if not x.shape:
        return x, broadcast(literal(0, int32), ())
    a = one_axis("isotonic_regression", axis, len(x.shape))
    order = (*[d for d in range(len(x.shape)) if d != a], a)
    last = permuted(x, order)
    if not last.aval.size:
        return x, broadcast(literal(0, int32), x.shape)
    blocks = isotonic_blocks_op.bind(cast_to(last if decreasing else negative(last), float64), result_index=0)
    output = _block_means(last, blocks)
    inverse = tuple([order.index(d) for d in range(len(order))])
    return permuted(output, inverse), permuted(blocks, inverse)


def _block_means(x: Any, blocks: Any) -> Any:
    """Return, for each element, the mean of the elements of its block along the last dimension."""
    length, count = x.shape[-1], x.aval.size
    lead = x.shape[:-1]
    start = to_shape(multiply(iota((math.prod(lead),), 0, int64), length), (*lead, 1))
    ids = to_shape(add(cast_to(blocks, int64), broadcast(start, x.shape)), (count,))
    means = averaged_segments(to_shape(x, (count,)), ids, count, "isotonic_regression")
    return to_shape(gather_op.bind(means, ids, axis=0), x.shape)


def isotonic_regression(
    inputs: TensorLike, decreasing: bool = True, axis: int = -1, name: str | None = None
) -> IsotonicRegression:
    """Return the monotone sequence with the least sum of squared differences from `inputs`.

    The sequence consists of blocks, and each of its elements is the mean of its block. So the gradient of an input is
    the mean of the gradients of its block.

    Parameters
    ----------
    inputs : tensor_like
        A real dtype; integers become floats.
    decreasing : bool
        Whether the result decreases or increases along `axis`.
    axis : int
        The dimension of the sequences.
    name : str, optional
        Ignored.

    Returns
    -------
    IsotonicRegression
        The sequence `output` and the int32 number of the block of each element, `segments`.

    Raises
    ------
    DTypeError
        If `inputs` is complex.

    Examples
    --------
    >>> output, segments = jt.nn.isotonic_regression([3.0, 1.0, 2.0])
    >>> print(output.numpy(), segments.numpy())
    [3.  1.5 1.5] [0 1 1]
    """
    return IsotonicRegression(
        *apply(_isotonic, (inputs,), (as_flag("decreasing", decreasing), axis_key(axis)))
    )
