"""Functions that change a shape or move elements: reshape, transpose, concat, split, pad, tile and their kin.

All are views or concatenations of views (`broadcast`, `views`), so that none but those has a rule of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.calls import argument_of_user, as_flag, as_int, named
from jittape.errors import DTypeError, ShapeError
from jittape.primitive import apply
from jittape.primitives.broadcast import (
    broadcast,
    conj,
    normalized_axes,
    promote,
    settle,
    to_shape,
)
from jittape.primitives.views import concat_op, flipped, permuted, sliced
from jittape.typing import Tensor, TensorLike

__all__ = [
    "as_shape",
    "broadcast_to",
    "concat",
    "ensure_shape",
    "expand_dims",
    "hashable",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "one_axis",
    "reshape",
    "reverse",
    "roll",
    "shape_of",
    "split",
    "squeeze",
    "stack",
    "transpose",
    "unstack",
]


def as_shape(op: str, shape: Any) -> tuple[int, ...]:
    """`shape` (an int, or a sequence or integer array of them) as a tuple of Python ints."""
    if type(shape) is tuple and all(type(n) is int for n in shape):
        return shape
    try:
        if isinstance(shape, (tuple, list)):
            return tuple([operator.index(n) for n in shape])
        if isinstance(shape, (int, np.integer)):
            return (operator.index(shape),)
        array = np.asarray(shape)
        if array.ndim <= 1 and array.dtype.kind in "iu":
            return tuple(array.reshape(-1).tolist())
    except (TypeError, ValueError):
        pass
    raise named(
        TypeError(f"[{op}] {argument_of_user(shape)}must be an int or a sequence of ints, got {shape!r}")
    )


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of what a user gives: a tensor, an array, a number or a nested sequence."""
    if isinstance(value, (bool, int, float, complex)):
        return ()
    try:
        found: tuple[int, ...] = np.shape(value) if isinstance(value, (list, tuple)) else value.shape
    except (AttributeError, ValueError):
        raise named(
            DTypeError(f"{argument_of_user(value)}must be a tensor, an array or a number, got {value!r}")
        ) from None
    return found


def one_axis(op: str, axis: Any, ndim: int) -> int:
    """`axis` as a non-negative int."""
    if axis is None or isinstance(axis, (tuple, list)):
        raise TypeError(f"[{op}] axis must be one int, got {axis!r}")
    return normalized_axes(op, axis, ndim)[0]


def hashable(value: Any) -> Any:
    """`value`, a Python int, an array or a nested sequence of ints, as nested tuples."""
    if isinstance(value, (tuple, list)):
        return tuple([hashable(v) for v in value])
    if value is None or isinstance(value, int):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise named(
            TypeError(f"{argument_of_user(value)}must be an int or a sequence of ints, got {value!r}")
        )
    return hashable(array.tolist())


# ---- reshape and its kin ---------------------------------------------------------------------------------------------


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    x = settle(x)
    if -1 in shape:
        known = 1
        for n in shape:
            known *= n if n != -1 else 1
        if shape.count(-1) > 1 or known <= 0 or x.aval.size % known:
            raise ShapeError(
                f"[reshape] cannot reshape {x.aval.size} elements of shape {x.shape} into shape {shape}: "
                "one dimension may be -1 if the others divide the number of elements"
            )
        shape = tuple([x.aval.size // known if n == -1 else n for n in shape])
    if any(n < 0 for n in shape):
        raise ShapeError(f"[reshape] shape {shape} has a negative dimension; only one -1 is allowed")
    return to_shape(x, shape)


def reshape(tensor: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """The elements of `tensor` in C order under another shape.

    Parameters
    ----------
    tensor : tensor_like
    shape : int or sequence of int
        One dimension may be -1: it takes what is left.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> jt.reshape(jt.constant([1., 2., 3., 4.]), [2, -1]).numpy()
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return apply(_reshape, (tensor,), (as_shape("reshape", shape),))


def _ensured(x: Any, shape: tuple[int | None, ...]) -> Any:
    x = settle(x)
    found = x.shape
    if len(found) != len(shape) or any(n not in (None, m) for n, m in zip(shape, found, strict=True)):
        raise ShapeError(f"[ensure_shape] Shape {found} is not compatible with {shape}")
    return x


def ensure_shape(x: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """`x` as it is, if it has that shape; None stands for any extent.

    Raises
    ------
    ValueError
        If it has another shape.

    Examples
    --------
    >>> jt.ensure_shape([[1, 2], [3, 4]], [None, 2]).shape
    (2, 2)
    """
    if not isinstance(shape, (tuple, list)):
        shape = as_shape("ensure_shape", shape)
    return apply(_ensured, (x,), (tuple([None if n is None else as_int("shape", n) for n in shape]),))


def _expand_dims(x: Any, axis: Any) -> Any:
    x = settle(x)
    count = len(axis) if isinstance(axis, tuple) else 1
    axes = normalized_axes("expand_dims", axis, len(x.shape) + count)
    rest = iter(x.shape)
    return to_shape(x, tuple([1 if d in axes else next(rest) for d in range(len(x.shape) + count)]))


def expand_dims(input: TensorLike, axis: int | Sequence[int], name: str | None = None) -> Tensor:
    """`input` with dimensions of length 1 put in at `axis` of the result."""
    return apply(_expand_dims, (input,), (hashable(axis),))


def _squeeze(x: Any, axis: Any) -> Any:
    x = settle(x)
    axes = normalized_axes("squeeze", axis, len(x.shape))
    if axis is not None and any(x.shape[a] != 1 for a in axes):
        raise ShapeError(f"[squeeze] axis {axis!r} of shape {x.shape} is not of length 1")
    return to_shape(x, tuple([n for d, n in enumerate(x.shape) if d not in axes or n != 1]))


def squeeze(input: TensorLike, axis: int | Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """`input` without the dimensions of length 1, or without those of them in `axis`."""
    return apply(_squeeze, (input,), (hashable(axis),))


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    return broadcast(settle(x), shape)


def broadcast_to(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """`input` repeated along dimensions of length 1, and along new ones in front, to `shape`."""
    return apply(_broadcast_to, (input,), (as_shape("broadcast_to", shape),))


# ---- order of dimensions and elements --------------------------------------------------------------------------------


def _transpose(x: Any, perm: tuple[int, ...] | None, conjugate: bool) -> Any:
    x = settle(x)
    ndim = len(x.shape)
    order = tuple(reversed(range(ndim))) if perm is None else tuple([a + ndim if a < 0 else a for a in perm])
    x = permuted(x, order)
    return conj(x) if conjugate else x


def transpose(
    a: TensorLike, perm: Sequence[int] | None = None, conjugate: bool = False, name: str | None = None
) -> Tensor:
    """`a` with its dimensions in the order `perm`; reversed if that is None."""
    return apply(
        _transpose,
        (a,),
        (None if perm is None else as_shape("transpose", perm), as_flag("conjugate", conjugate)),
    )


def _matrix_transpose(x: Any, conjugate: bool) -> Any:
    x = settle(x)
    ndim = len(x.shape)
    if ndim < 2:
        raise ShapeError(
            f"[matrix_transpose] needs at least 2 dimensions, got shape {x.shape}; expand_dims adds one"
        )
    x = permuted(x, (*range(ndim - 2), ndim - 1, ndim - 2))
    return conj(x) if conjugate else x


def matrix_transpose(a: TensorLike, name: str | None = None, conjugate: bool = False) -> Tensor:
    """`a` with its last two dimensions exchanged."""
    return apply(_matrix_transpose, (a,), (as_flag("conjugate", conjugate),))


def _moveaxis(x: Any, source: Any, destination: Any) -> Any:
    x = settle(x)
    ndim = len(x.shape)
    pairs = []
    for axes in (source, destination):
        normalized_axes("moveaxis", axes, ndim)
        pairs.append([a % ndim for a in (axes if isinstance(axes, tuple) else (axes,))])
    if len(pairs[0]) != len(pairs[1]):
        raise ShapeError(
            f"[moveaxis] source {source!r} and destination {destination!r} must name equally many axes"
        )
    order = [a for a in range(ndim) if a not in pairs[0]]
    for destination_axis, source_axis in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(destination_axis, source_axis)
    return permuted(x, tuple(order))


def moveaxis(a: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """`a` with the dimensions `source` moved to the places `destination`; the others keep their order."""
    return apply(_moveaxis, (a,), (hashable(source), hashable(destination)))


def _reverse(x: Any, axis: Any) -> Any:
    x = settle(x)
    return flipped(x, normalized_axes("reverse", axis, len(x.shape)))


def reverse(tensor: TensorLike, axis: int | Sequence[int] | None, name: str | None = None) -> Tensor:
    """`tensor` with the order of the elements along `axis` reversed; None: along all."""
    return apply(_reverse, (tensor,), (hashable(axis),))


def _roll(x: Any, shift: Any, axis: Any) -> Any:
    x = settle(x)
    if axis is None:
        return to_shape(_roll(to_shape(x, (x.aval.size,)), shift, 0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"[roll] shift {shift!r} and axis {axis!r} must be equally many")
    for one_shift, one in zip(shifts, axes, strict=True):
        a = one_axis("roll", one, len(x.shape))
        n = x.shape[a]
        by = one_shift % n if n else 0
        if by:
            x = concat_op.bind(sliced(x, a, n - by, by), sliced(x, a, 0, n - by), axis=a)
    return x


def roll(
    input: TensorLike, shift: int | Sequence[int], axis: int | Sequence[int] | None, name: str | None = None
) -> Tensor:
    """`input` with its elements moved on by `shift` along `axis`; those that fall off come in at the other end."""
    return apply(_roll, (input,), (hashable(shift), hashable(axis)))


# ---- joining and splitting -------------------------------------------------------------------------------------------


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
    """The tensors `values` joined along the dimension `axis` that they have."""
    return apply(_concat, _members("concat", values), (as_int("axis", axis),))


def _stack(*operands_and_axis: Any) -> Any:
    *given, axis = operands_and_axis
    operands = promote(*given)
    shape = operands[0].shape
    for x in operands:
        if x.shape != shape:
            raise ShapeError(
                f"[stack] all shapes must be equal, got {shape} and {x.shape}; concat joins along an axis"
            )
    a = one_axis("stack", axis, len(shape) + 1)
    expanded = [to_shape(x, (*shape[:a], 1, *shape[a:])) for x in operands]
    return concat_op.bind(*expanded, axis=a) if len(expanded) > 1 else expanded[0]


def stack(values: Sequence[TensorLike], axis: int = 0, name: str | None = None) -> Tensor:
    """The tensors `values`, of equal shape, joined along a new dimension `axis`."""
    return apply(_stack, _members("stack", values), (as_int("axis", axis),))


def _split(x: Any, sizes: int | tuple[int, ...], axis: int, keep: bool) -> tuple[Any, ...]:
    op = "split" if keep else "unstack"
    x = settle(x)
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
    """`value` cut along `axis` into so many equal parts, or into parts of the given sizes (one may be -1)."""
    sizes = hashable(num_or_size_splits)
    return list(apply(_split, (value,), (sizes, as_int("axis", axis), True)))


def _unstack(x: Any, num: int | None, axis: int) -> tuple[Any, ...]:
    x = settle(x)
    n = x.shape[one_axis("unstack", axis, len(x.shape))]
    if num is not None and num != n:
        raise ShapeError(f"[unstack] num={num}, but axis {axis} of shape {x.shape} has length {n}")
    return _split(x, (1,) * n, axis, False)


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str | None = None
) -> list[Tensor]:
    """The tensors that `value` is made of along the dimension `axis`, which goes."""
    return list(apply(_unstack, (value,), (num, as_int("axis", axis))))


def _meshgrid(*operands_and_indexing: Any) -> tuple[Any, ...]:
    *given, indexing = operands_and_indexing
    vectors = [settle(x) for x in given]
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
    """Coordinate arrays on the grid that the vectors `args` span."""
    if not isinstance(indexing, str) or indexing not in ("xy", "ij"):
        raise ValueError(f"[meshgrid] indexing must be 'xy' or 'ij', got {indexing!r}")
    return list(apply(_meshgrid, args, (indexing,))) if args else []
