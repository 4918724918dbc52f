"""Functions that join and split tensors: concat, stack, split, unstack, slice, meshgrid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.builder import WeakScalar
from jittape.core.primitive import apply
from jittape.core.user_calls import as_int, named, require_ints
from jittape.errors import InvalidArgumentError, ShapeError
from jittape.primitives.broadcast import (
    aligned_shapes,
    as_symbol,
    broadcast,
    cast_to,
    one_axis_key,
    promote,
    to_shape,
)
from jittape.primitives.shape.reshaping import hashable, one_axis
from jittape.primitives.shape.shape_arrays import shape_of_parts
from jittape.primitives.shape.shape_extents import KNOWN_SHAPES
from jittape.primitives.shape.views import concat_op, sliced
from jittape.typing import Tensor, TensorLike

__all__ = ["concat", "meshgrid", "split", "stack", "stack_nested", "unstack"]


def _members(op: str, values: Any) -> tuple[Any, ...]:
    try:
        members = tuple(values)
    except TypeError:
        raise named(TypeError(f"[{op}] values must be a sequence of tensors, got {values!r}")) from None
    if not members:
        raise named(ValueError(f"[{op}] values must hold at least one tensor, got {values!r}"))
    return members


def _concat(*operands_and_axis: Any) -> Any:
    *given, axis = operands_and_axis
    operands = promote(*given)
    for x in operands:
        if not x.shape:
            raise ShapeError("[concat] 0-d tensors cannot be concatenated; stack joins them along a new axis")
    a = one_axis("concat", axis, len(operands[0].shape))
    return concat_op.bind(*operands, axis=a) if len(operands) > 1 else operands[0]


def concat(values: Sequence[TensorLike], axis: int, name: str | None = None) -> Tensor:
    """Join the tensors `values` along the existing dimension `axis`.

    Parameters
    ----------
    values : sequence of tensor_like
        Equal shapes, except along `axis`.
    axis : int
        An existing dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If the shapes differ outside of `axis`.

    Examples
    --------
    >>> jt.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0).numpy()
    array([[1, 2],
           [3, 4],
           [5, 6]], dtype=int32)
    """
    members = _members("concat", values)
    known = shape_of_parts(members, stacked=False)
    return apply(_concat, members, (one_axis_key(axis),)) if known is None else known


def _stack(*operands_and_axis: Any) -> Any:
    *given, axis = operands_and_axis
    operands = promote(*given)
    shape = operands[0].shape
    for x in operands:
        if x.shape != shape:
            raise ShapeError(
                f"[stack] all shapes must be equal, got {shape} and {x.shape}; concat joins along an axis\n"
                f"{aligned_shapes(shape, x.shape, equal=range(max(len(shape), len(x.shape))))}"
            )
    a = one_axis("stack", axis, len(shape) + 1)
    expanded = [to_shape(x, (*shape[:a], 1, *shape[a:])) for x in operands]
    return concat_op.bind(*expanded, axis=a) if len(expanded) > 1 else expanded[0]


def stack(values: Sequence[TensorLike], axis: int = 0, name: str | None = None) -> Tensor:
    """Join the tensors `values`, which have equal shapes, along a new dimension `axis`.

    Parameters
    ----------
    values : sequence of tensor_like
        Equal shapes.
    axis : int
        Position of the new dimension.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If the shapes differ.
    ValueError
        If `values` is empty.

    Examples
    --------
    >>> jt.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]], dtype=int32)
    """
    members = _members("stack", values)
    known = shape_of_parts(members, stacked=True)
    return apply(_stack, members, (one_axis_key(axis),)) if known is None else known


def _stack_nested(*operands_and_lead: Any) -> Any:
    *given, lead = operands_and_lead
    operands = [cast_to(x, np.dtype(x.kind)) if isinstance(x, WeakScalar) else x for x in given]
    stacked = _stack(*operands, 0)
    return to_shape(stacked, (*lead, *stacked.shape[1:]))


def stack_nested(values: Sequence[TensorLike], lead: tuple[int, ...]) -> Tensor:
    """Return the items of nested lists as one tensor; `lead` is the shape of the lists.

    Numbers have the dtypes that NumPy gives them in a list, also beside tensors: float64 and int64.
    """
    return apply(_stack_nested, tuple(values), (lead,))


def _split(x: Any, sizes: int | tuple[int, ...], axis: int, keep: bool) -> tuple[Any, ...]:
    op = "split" if keep else "unstack"
    x = as_symbol(x)
    a = one_axis(op, axis, len(x.shape))
    n = x.shape[a]
    if isinstance(sizes, int):
        if sizes < 1 or n % sizes:
            raise ShapeError(
                f"[split] axis {axis} of shape {x.shape} does not divide into {sizes} equal parts"
            )
        sizes = (n // sizes,) * sizes
    elif -1 in sizes:
        sizes = tuple([n - sum(sizes) - 1 if s == -1 else s for s in sizes])
    if sum(sizes) != n or min(sizes, default=0) < 0:
        raise ShapeError(
            f"[split] sizes {sizes} do not add up to the length {n} of axis {axis} of shape {x.shape}"
        )
    parts = []
    offset = 0
    for size in sizes:
        part = sliced(x, a, offset, size)
        parts.append(part if keep else to_shape(part, (*x.shape[:a], *x.shape[a + 1 :])))
        offset += size
    return tuple(parts)


def split(
    value: TensorLike,
    num_or_size_splits: int | Sequence[int],
    axis: int = 0,
    num: int | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Split `value` along `axis` into a number of equal parts, or into parts of given sizes (one may be -1).

    `num` is the number of parts; it must agree with `num_or_size_splits`.

    Parameters
    ----------
    value : tensor_like
        Any shape.
    num_or_size_splits : int or sequence of int
        Number of equal parts, or the length of each part.
    axis : int
        The dimension to divide.
    num : int, optional
        Number of parts, which is checked.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.
    ShapeError
        If the sizes do not add up to the length.

    Examples
    --------
    >>> [part.numpy() for part in jt.split([1, 2, 3, 4], [1, 3])]
    [array([1], dtype=int32), array([2, 3, 4], dtype=int32)]
    """
    sizes = hashable(num_or_size_splits)
    require_ints("num_or_size_splits", sizes)
    parts = len(sizes) if isinstance(sizes, tuple) else sizes
    if num is not None and as_int("num", num) != parts:
        raise named(InvalidArgumentError(f"num is {num}, but num_or_size_splits gives {parts} parts"))
    return list(apply(_split, (value,), (sizes, one_axis_key(axis), True)))


def _unstack(x: Any, num: int | None, axis: int) -> tuple[Any, ...]:
    x = as_symbol(x)
    n = x.shape[one_axis("unstack", axis, len(x.shape))]
    if num is not None and num != n:
        raise ShapeError(f"[unstack] num={num}, but axis {axis} of shape {x.shape} has length {n}")
    return _split(x, (1,) * n, axis, False)


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = None
) -> list[Tensor]:
    """Return the tensors that make up `value` along the dimension `axis`, which is removed.

    Parameters
    ----------
    value : tensor_like
        One dimension or more.
    num : int, optional
        Length of the dimension, which is checked.
    axis : int
        The dimension to take apart.
    name : str, optional
        Ignored.

    Raises
    ------
    AxisError
        If `axis` is out of range.

    Examples
    --------
    >>> a, b = jt.unstack([[1, 2], [3, 4]])
    >>> b.numpy()
    array([3, 4], dtype=int32)
    """
    known: Any = value if type(value) in KNOWN_SHAPES else None
    if known is not None and known.ndim == 1 and num in (None, len(known)):
        return list(known)
    return list(apply(_unstack, (value,), (None if num is None else as_int("num", num), one_axis_key(axis))))


def _meshgrid(*operands_and_indexing: Any) -> tuple[Any, ...]:
    *given, indexing = operands_and_indexing
    vectors = [as_symbol(x) for x in given]
    order = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        order[:2] = [1, 0]
    shape = [0] * len(vectors)
    for x, axis in zip(vectors, order, strict=True):
        shape[axis] = x.aval.size
    ones = (1,) * len(vectors)
    return tuple(
        [
            broadcast(to_shape(x, (*ones[:axis], x.aval.size, *ones[axis + 1 :])), tuple(shape))
            for x, axis in zip(vectors, order, strict=True)
        ]
    )


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Return coordinate arrays on the grid that the vectors `args` span.

    Parameters
    ----------
    *args : tensor_like
        Vectors.
    indexing : str
        ``"xy"``: the first vector varies along the second dimension; ``"ij"``: along the first.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> a, b = jt.meshgrid([1, 2, 3], [10, 20])
    >>> a.numpy()
    array([[1, 2, 3],
           [1, 2, 3]], dtype=int32)
    >>> b.numpy()
    array([[10, 10, 10],
           [20, 20, 20]], dtype=int32)
    """
    if not isinstance(indexing, str) or indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] indexing must be 'xy' or 'ij', got {indexing!r}")
    return list(apply(_meshgrid, args, (indexing,))) if args else []
