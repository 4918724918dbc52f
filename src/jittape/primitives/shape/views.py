"""Ops that only move elements: transpose, slice, pad (the adjoint of slice), dynamic_update_slice and concat.

`slice_op` and `pad_op` are adjoints of each other. Together with `dynamic_update_slice_op` they use one description of
a part of an array, `Region`. If the offset of an axis is None, the start of the region is an *operand*, so that a loop
over minibatches ``x[i:i + 32]`` is one path for all ``i``. If the op itself determines the offset, as in `split` and
`reverse`, it is structure (an int).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.forms import Concatenate, DynamicUpdateSlice, Index, Pad, View
from jittape.core.primitive import Batch, Primitive
from jittape.core.program import Aval
from jittape.errors import AxisError, DTypeError, ShapeError
from jittape.primitives.batched_params import along_axis, in_shape
from jittape.primitives.broadcast import aligned_shapes, broadcast, to_shape
from jittape.primitives.key_structure import Region

__all__ = [
    "concat_op",
    "dynamic_update_slice_op",
    "flipped",
    "inverse",
    "pad_op",
    "permuted",
    "placed",
    "recompute_after",
    "slice_op",
    "sliced",
    "transpose_op",
]


# ---- transpose -------------------------------------------------------------------------------------------------------


def _transpose_abstract_eval(x: Aval, *, perm: tuple[int, ...]) -> Aval:
    if sorted(perm) != list(range(x.ndim)):
        in_range = all([0 <= axis < x.ndim for axis in perm])
        raise (ShapeError if in_range else AxisError)(
            f"[transpose] perm {perm} must name each of the {x.ndim} dimensions of shape {x.shape} once"
        )
    return Aval(tuple([x.shape[axis] for axis in perm]), x.dtype)


def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that undoes `perm`."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def _transpose_params(n: int, params: dict[str, Any]) -> dict[str, Any]:
    return {"perm": (0, *[axis + 1 for axis in params["perm"]])}


transpose_op = Primitive(
    "transpose",
    abstract_eval=_transpose_abstract_eval,
    impl=lambda x, *, perm: np.transpose(x, perm),
    vjp=(lambda g, out, x, *, perm: permuted(g, inverse(perm)),),
    lowering=View(lambda x, out, *, perm: tuple([Index(axis=axis) for axis in inverse(perm)])),
    batch=Batch(_transpose_params),
)


def permuted(x: Any, perm: tuple[int, ...]) -> Any:
    """Return `x` with the dimensions in the order `perm`, or `x` itself if they are in this order."""
    return x if perm == tuple(range(len(x.shape))) else transpose_op.bind(x, perm=perm)


# ---- slice, place, update --------------------------------------------------------------------------------------------


def _region_params(n: int, params: dict[str, Any]) -> dict[str, Any]:
    region = params["region"]
    return {**params, "region": region._replace(axes=tuple([axis + 1 for axis in region.axes]))}


def _slice_impl(x: Any, *starts: Any, region: Region) -> Any:
    return x[region.key(x.ndim, starts)]


def _slice_vjp(g: Any, out: Any, x: Any, *starts: Any, region: Region) -> Any:
    return pad_op.bind(g, *starts, region=region, shape=x.shape)


slice_op = Primitive(
    "slice",
    abstract_eval=lambda x, *starts, region: Aval(region.within("slice", x.shape), x.dtype),
    impl=_slice_impl,
    vjp=(_slice_vjp,),
    lowering=View(lambda x, out, *, region: region.indices(x.ndim)),
    batch=Batch(_region_params, 1),
)


def _pad_abstract_eval(x: Aval, *starts: Aval, region: Region, shape: tuple[int, ...]) -> Aval:
    if region.within("pad", shape) != x.shape:
        raise ShapeError(
            f"[pad] a value of shape {x.shape} does not fill a region of {region.sizes} in {shape}"
        )
    return Aval(shape, x.dtype)


def _pad_impl(x: Any, *starts: Any, region: Region, shape: tuple[int, ...]) -> Any:
    result = np.zeros(shape, x.dtype)
    result[region.key(len(shape), starts)] = x
    return result


def _pad_vjp(g: Any, out: Any, x: Any, *starts: Any, region: Region, shape: tuple[int, ...]) -> Any:
    return slice_op.bind(g, *starts, region=region)


pad_op = Primitive(
    "pad",
    abstract_eval=_pad_abstract_eval,
    impl=_pad_impl,
    vjp=(_pad_vjp,),
    lowering=Pad(lambda x, out, *, region, shape: region.indices(x.ndim)),
    batch=in_shape(Batch(_region_params, 1)),
)


def _dynamic_update_slice_abstract_eval(x: Aval, v: Aval, *starts: Aval, region: Region) -> Aval:
    if region.within("dynamic_update_slice", x.shape) != v.shape or v.dtype != x.dtype:
        raise ShapeError(f"[dynamic_update_slice] {v} does not fill a region of {region.sizes} in {x}")
    return x


def _dynamic_update_slice_impl(x: Any, v: Any, *starts: Any, region: Region) -> Any:
    result = x.copy()
    result[region.key(x.ndim, starts)] = v
    return result


def _dynamic_update_slice_x_vjp(g: Any, out: Any, x: Any, v: Any, *starts: Any, region: Region) -> Any:
    return dynamic_update_slice_op.bind(g, broadcast(literal(0, g.dtype), v.shape), *starts, region=region)


def _dynamic_update_slice_v_vjp(g: Any, out: Any, x: Any, v: Any, *starts: Any, region: Region) -> Any:
    return slice_op.bind(g, *starts, region=region)


dynamic_update_slice_op = Primitive(
    "dynamic_update_slice",
    abstract_eval=_dynamic_update_slice_abstract_eval,
    impl=_dynamic_update_slice_impl,
    vjp=(_dynamic_update_slice_x_vjp, _dynamic_update_slice_v_vjp),
    lowering=DynamicUpdateSlice(lambda v, out, *, region: region.indices(out.ndim, arrays=2)),
    batch=Batch(_region_params, 2),
)


def sliced(x: Any, axis: int, offset: int, size: int) -> Any:
    """Return `size` elements of `x` from a fixed `offset` along `axis`, or `x` itself if these are all."""
    if size == x.shape[axis]:
        return x
    return slice_op.bind(x, region=Region((axis,), (offset,), (size,), (1,)))


def placed(x: Any, offsets: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Return zeros of `shape` with `x` written into them, its first element at `offsets`."""
    axes = tuple([axis for axis, n in enumerate(x.shape) if n != shape[axis]])
    if not axes:
        return x
    sizes = tuple([x.shape[axis] for axis in axes])
    region = Region(axes, tuple([offsets[axis] for axis in axes]), sizes, (1,) * len(axes))
    return pad_op.bind(x, region=region, shape=shape)


def flipped(x: Any, axes: tuple[int, ...]) -> Any:
    """Return `x` with the order of the elements along `axes` reversed."""
    sizes = tuple([x.shape[axis] for axis in axes])
    offsets = tuple([max(n - 1, 0) for n in sizes])
    return slice_op.bind(x, region=Region(axes, offsets, sizes, (-1,) * len(axes))) if axes else x


# ---- recomputation ---------------------------------------------------------------------------------------------------


def _recompute_batch(n: int, stacked: tuple[bool, ...], x: Any, *after: Any) -> Any:
    return x if stacked[0] else broadcast(x, (n, *x.shape))


recompute_op = Primitive(
    "recompute",
    abstract_eval=lambda x, *after: x,
    impl=lambda x, *after: x,
    vjp=(lambda g, out, x, *after: g,),
    lowering=View(lambda x, out: tuple([Index(axis=axis) for axis in range(x.ndim)])),
    batch=_recompute_batch,
)
"""The first operand. Values computed from the result are recomputed, and not before the second operand is computed."""


def recompute_after(x: Any, after: Any) -> Any:
    """Return `x` as a new value that is available only after `after` has been computed."""
    if 0 in after.shape:
        return recompute_op.bind(x)
    first = sliced(to_shape(after, (after.aval.size,)), 0, 0, 1)
    return recompute_op.bind(x, to_shape(first, ()))


# ---- concat ----------------------------------------------------------------------------------------------------------


def _concat_abstract_eval(*operands: Aval, axis: int) -> Aval:
    first = operands[0]
    for x in operands[1:]:
        if x.dtype != first.dtype:
            raise DTypeError(
                f"[concat] operands must have equal dtypes, got {first.dtype.name} and {x.dtype.name}"
            )
        if x.ndim != first.ndim or any(
            n != m for d, (n, m) in enumerate(zip(x.shape, first.shape, strict=True)) if d != axis
        ):
            others = {d for d in range(first.ndim) if d != axis} if x.ndim == first.ndim else set[int]()
            raise ShapeError(
                f"[concat] shapes {first.shape} and {x.shape} differ outside axis {axis}; "
                f"reshape or broadcast_to one of them\n{aligned_shapes(first.shape, x.shape, equal=others)}"
            )
    shape = list(first.shape)
    shape[axis] = sum([x.shape[axis] for x in operands])
    return Aval(tuple(shape), first.dtype)


def _concat_vjp(i: int, g: Any, out: Any, *operands: Any, axis: int) -> Any:
    offset = sum([x.shape[axis] for x in operands[:i]])
    return sliced(g, axis, offset, operands[i].shape[axis])


def _concat_index(number: int, operands: tuple[Aval, ...], out: Aval, *, axis: int) -> tuple[Index, ...]:
    offset = sum([x.shape[axis] for x in operands[:number]])
    return tuple([Index(a, 1, offset if a == axis else 0) for a in range(out.ndim)])


concat_op = Primitive(
    "concat",
    abstract_eval=_concat_abstract_eval,
    impl=lambda *operands, axis: np.concatenate(operands, axis),
    vjp=_concat_vjp,
    lowering=Concatenate(_concat_index),
    batch=along_axis(),
)
