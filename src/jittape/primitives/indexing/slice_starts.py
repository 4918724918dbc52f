"""Slices in bodies of loops and branches, where bounds are tensors without values.

The length of a slice is structure, so it has to be known while the body is traced: the bounds have the same terms and
differ by a constant. The start is a value at run time. An op checks that the whole slice is inside the array: there
NumPy would clip it, or count from the end, and a compiled loop has values of one shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import bool_, int64
from jittape.core.forms import CheckedMap, Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.core.symbolic.affine_integers import traced_integer
from jittape.core.symbolic.extent_functions import index_of
from jittape.errors import DTypeError, InvalidIndexError
from jittape.primitives.batched_params import alike
from jittape.primitives.broadcast import as_symbol, broadcast, cast_to
from jittape.primitives.elementwise.arithmetic import add
from jittape.primitives.elementwise.assertions import MADE, end_run_where
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.shape.shape_extents import known_extents

__all__ = ["checked_position", "checked_start", "is_traced", "slice_start_op", "traced_range"]

_past_op = Primitive(
    "past",
    abstract_eval=lambda start, size: Aval(start.shape, bool_),
    impl=lambda start, size: (start < 0) | (start >= size),
    lowering=Map(lambda m, start, size: (start < 0) | (start >= size)),
    gradient_stops=MADE,
)
"""Whether a start is not one of the first `size` elements."""


def _impl(start: Any, *, size: int, length: int, axis: int, op: str) -> Any:
    wrong = (start < 0) | (start >= size)
    if np.any(wrong):
        raise InvalidIndexError(
            f"[{op}] a slice of {length} elements at {np.asarray(start)[wrong].flat[0]} reaches beyond axis {axis} "
            f"with size {size + length - 1}: a start that is a tensor must be from 0 to {size - 1} here"
        )
    return start


def _checked(start: Any, *, size: int, length: int, axis: int, op: str) -> Any:
    """Return the decomposition for compiled code: a start out of range ends the run, which the interpreter repeats."""
    wrong = _past_op.bind(start, broadcast(literal(size, int64), start.shape))
    end_run_where(wrong, "IndexError", "a slice reaches beyond the array")
    return where(wrong, 0, start)


slice_start_op = Primitive(
    "slice_start",
    abstract_eval=lambda start, *, size, length, axis, op: start,
    impl=_impl,
    lowering=CheckedMap(_checked),
    gradient_stops="integers have no gradient",
    batch=alike(),
)
"""The start of a slice that covers `length` elements: from 0 to below `size`; `axis` and `op` are for errors."""


def _start(start: Any, size: int, length: int, axis: int, op: str) -> Any:
    start = as_symbol(start)
    return slice_start_op.bind(cast_to(start, int64), size=size, length=length, axis=axis, op=op)


def checked_start(op: str, start: Any, length: int, axis: int, extent: int) -> Any:
    """Return `start` as int64, checked at run time: `length` elements from there on are within `extent`."""
    if start.dtype.kind not in "iu" or start.shape:
        raise DTypeError(
            f"[{op}] the start of a slice must be an integer scalar, got {start.dtype.name} of shape {start.shape}"
        )
    if length > extent:
        raise InvalidIndexError(
            f"[{op}] a slice of {length} elements reaches beyond axis {axis} with size {extent}"
        )
    return apply(_start, (start,), (extent - length + 1, length, axis, op))


def _position(index: Any, size: int, axis: int, op: str) -> Any:
    index = cast_to(as_symbol(index), int64)
    return _start(where(less(index, 0), add(index, size), index), size, 1, axis, op)


def checked_position(op: str, index: Any, axis: int, extent: int) -> Any:
    """Return an index as the start of a slice of one element; a negative index counts from the end."""
    return apply(_position, (index,), (extent, axis, op))


def is_traced(value: Any) -> bool:
    """Return whether `value` is an integer without a value: a tensor of the body that is traced."""
    return hasattr(type(value), "aval") and known_extents(value) is None and traced_integer(value) is not None


def traced_range(op: str, part: slice, axis: int, extent: int) -> tuple[Any, int, int]:
    """Return the start, the number of elements and the step of a slice whose bounds are traced."""
    step = 1 if part.step is None else index_of(part.step)
    length = _length(part)
    if length is None or length < 0 or step < 1 or extent > _greatest(part):
        raise InvalidIndexError(
            f"[{op}] the length of a slice in a compiled loop or branch must be known: write its bounds as "
            f"x[i + a : i + b] with one tensor i and numbers a <= b, and a positive step, or use "
            f"jt.slice(x, begin, size); axis {axis} has a slice with other bounds"
        )
    count = -(-length // step)
    if not count:
        return 0, 0, 1
    return checked_start(op, part.start, (count - 1) * step + 1, axis, extent), count, step


def _length(part: slice) -> int | None:
    """Return the difference of the bounds of a slice; None if it is not known."""
    for exact in (False, True):
        start, stop = [traced_integer(bound, exact) for bound in (part.start, part.stop)]
        if start is None or stop is None or part.start.aval.dtype != part.stop.aval.dtype:
            return None
        if start.terms == stop.terms:
            return stop.constant - start.constant
    return None


def _greatest(part: slice) -> int:
    """Return the greatest number that the bounds of a slice can have.

    Bounds that overflow wrap around; up to this extent, one that is in range still has the right distance from the
    other.
    """
    return int(np.iinfo(part.start.aval.dtype).max)
