"""Functions that most generated code calls: allocations, stacks, overlaps, sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, register_jitable, type_callable
from numba.np import arrayobj

__all__ = [
    "accumulate", "add_into", "copy_into", "load_array", "new_empty", "new_zeros", "overlap", "product_or_zero",
    "reserve", "save_array", "unset",
]  # fmt: skip


def new_empty(shape: Any, dtype: Any) -> Any:
    """Return ``np.empty(shape, dtype)``; Numba compiles it once for shapes of one length."""
    return np.empty(shape, dtype)


def new_zeros(shape: Any, dtype: Any) -> Any:
    """Return ``np.zeros(shape, dtype)``; Numba takes 0.09 s to compile it, and 0.19 s to compile NumPy's function."""
    return np.zeros(shape, dtype)


@intrinsic
def _empty(context: Any, shape: Any, dtype: Any) -> Any:
    return types.Array(dtype.dtype, len(shape), "C")(shape, dtype), _emit_empty


@intrinsic
def _zeros(context: Any, shape: Any, dtype: Any) -> Any:
    return types.Array(dtype.dtype, len(shape), "C")(shape, dtype), _emit_zeros


def _emit_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    sizes = arrayobj._parse_shape(context, builder, signature.args[0], args[0])
    return arrayobj._empty_nd_impl(context, builder, signature.return_type, sizes)._getvalue()


def _emit_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    value = _emit_empty(context, builder, signature, args)
    array = context.make_array(signature.return_type)(context, builder, value)
    cgutils.memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
    return value


@type_callable(new_empty)
@type_callable(new_zeros)
def _type_of_new_array(context: Any) -> Any:
    def typed(shape: Any, dtype: Any) -> Any:
        sizes = types.UniTuple(types.intp, len(shape))
        return types.Array(dtype.dtype, len(shape), "C")(sizes, dtype)

    return typed


def _lower_as_call(function: Any, allocate: Any) -> None:
    """Compile an allocation as a call; with the allocations inlined, NPBench's channel_flow takes 1.3 times as long."""

    @lower_builtin(function, types.BaseTuple, types.Any)
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.compile_internal(builder, lambda shape, dtype: allocate(shape, dtype), signature, args)


_lower_as_call(new_empty, _empty)
_lower_as_call(new_zeros, _zeros)


def accumulate(total: Any, term: Any) -> Any:
    """Return ``total + term``; compiled code may add up the terms of a loop in any order."""
    return total + term


@type_callable(accumulate)
def _type_of_accumulate(context: Any) -> Any:
    def typed(total: Any, term: Any) -> Any:
        return context.unify_types(total, term) if isinstance(total, types.Float) else None

    return typed


@lower_builtin(accumulate, types.Float, types.Float)
def _emit_accumulate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.return_type
    operands = [context.cast(builder, x, own, kind) for x, own in zip(args, signature.args, strict=True)]
    # Only this addition may be reordered: `fastmath` would reorder the user's additions too.
    return builder.fadd(*operands, flags=("reassoc", "nsz"))


def product_or_zero(first: Any, second: Any) -> Any:
    """Return ``first * second``, or zero if `first` is zero, even if `second` is infinite or nan."""
    return first * second if first != 0.0 else 0.0


@type_callable(product_or_zero)
def _type_of_product_or_zero(context: Any) -> Any:
    def typed(first: Any, second: Any) -> Any:
        if not isinstance(first, (types.Float, types.Integer)) or not isinstance(second, types.Float):
            return None
        return context.unify_types(first if isinstance(first, types.Float) else types.float64, second)

    return typed


@lower_builtin(product_or_zero, types.Float, types.Float)
@lower_builtin(product_or_zero, types.Integer, types.Float)
def _emit_product_or_zero(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.return_type
    first, second = [context.cast(builder, x, own, kind) for x, own in zip(args, signature.args, strict=True)]
    zero = context.get_constant(kind, 0.0)
    # A selection, where Python's conditional expression is a branch, which LLVM may leave in the loop.
    return builder.select(builder.fcmp_unordered("!=", first, zero), builder.fmul(first, second), zero)


@register_jitable
def reserve(stack: Any, used: Any, wanted: Any) -> Any:
    """Return a stack that can take `wanted` more elements; a larger one grows by half at least."""
    if used + wanted <= stack.size:
        return stack
    larger = new_empty((used + wanted + stack.size // 2,), stack.dtype)
    for i in range(
        used
    ):  # Numba takes 2.4 s to compile ``larger[:used] = stack[:used]``, and 0.2 s for this loop
        larger[i] = stack[i]
    return larger


@register_jitable
def save_array(stack: Any, at: Any, array: Any) -> None:
    """Write the elements of an array in C order to a stack, from place `at` on."""
    part = stack[at : at + array.size]  # indices from zero on are vectorized
    # Numba takes 0.06 s to compile this loop for two axes, and 0.3 s for a copy by `ascontiguousarray`.
    for i, element in enumerate(array.flat):
        part[i] = element


@njit(nogil=True, no_cfunc_wrapper=True)
def load_array(stack: Any, at: Any, shape: Any) -> Any:
    """Return a new array with elements of a stack, from place `at` on."""
    array = new_empty(shape, stack.dtype)
    flat = array.reshape(array.size)
    for i in range(flat.size):
        flat[i] = stack[at + i]
    return array


@register_jitable
def unset(array: Any) -> Any:
    """Return `array`, which stands for an array that only one side of a branch makes.

    Numba requires a value on each path. If the generated code is differentiated again, the array is undefined.
    """
    return array


@register_jitable
def _extent(array: Any) -> Any:
    low = array.ctypes.data
    high = low + array.itemsize
    for axis in range(array.ndim):
        if array.shape[axis] == 0:
            return 0, 0
        span = (array.shape[axis] - 1) * array.strides[axis]
        if span < 0:
            low += span
        else:
            high += span
    return low, high


@register_jitable
def overlap(one: Any, other: Any) -> Any:
    """Return whether two arrays may share memory; two columns of a matrix, for instance, do not."""
    low, high = _extent(one)
    other_low, other_high = _extent(other)
    if low >= other_high or other_low >= high:
        return False
    step = 0  # the addresses of all elements differ by multiples of it, within each array
    for axis in range(one.ndim):
        if one.shape[axis] > 1:
            step = math.gcd(step, abs(one.strides[axis]))
    for axis in range(other.ndim):
        if other.shape[axis] > 1:
            step = math.gcd(step, abs(other.strides[axis]))
    if step == 0:
        return True
    distance = (other.ctypes.data - one.ctypes.data) % step
    return distance < one.itemsize or step - distance < other.itemsize


@register_jitable
def add_into(target: Any, values: Any) -> None:
    """Add an array to another of the same shape, element by element."""
    if target.shape != values.shape:
        raise ValueError("the cotangent must have the shape of the result")
    for index in np.ndindex(target.shape):
        target[index] += values[index]


@register_jitable
def copy_into(target: Any, values: Any) -> None:
    """Copy the elements of an array to another of the same shape."""
    if target.ndim == 1:
        for i in range(target.size):  # is vectorized
            target[i] = values[i]
    else:
        for index in np.ndindex(target.shape):
            target[index] = values[index]
