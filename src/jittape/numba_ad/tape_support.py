"""Functions that most generated code calls: allocations, stacks, overlaps, sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import lower_builtin, register_jitable, type_callable
from numba.np import arrayobj

__all__ = [
    "accumulate", "add_into", "copy_into", "differ", "load_array", "new_empty", "new_zeros", "overlap",
    "overlaps_itself", "product_or_zero", "reserve", "save_array", "unset",
]  # fmt: skip

TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
"""Error message of NumPy and Numba."""


def new_empty(shape: Any, dtype: Any) -> Any:
    """Return ``np.empty(shape, dtype)``; Numba compiles it once for shapes of one length."""
    return np.empty(shape, dtype)


def new_zeros(shape: Any, dtype: Any) -> Any:
    """Return ``np.zeros(shape, dtype)``; Numba takes 0.09 s to compile it, and 0.19 s to compile NumPy's function."""
    return np.zeros(shape, dtype)


@type_callable(new_empty)
@type_callable(new_zeros)
def _type_of_new_array(context: Any) -> Any:
    def typed(shape: Any, dtype: Any) -> Any:
        sizes = types.UniTuple(types.intp, len(shape))
        return types.Array(dtype.dtype, len(shape), "C")(sizes, dtype)

    return typed


@lower_builtin(new_empty, types.BaseTuple, types.Any)
def _emit_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit_array(context, builder, signature, args[0], False)


@lower_builtin(new_zeros, types.BaseTuple, types.Any)
def _emit_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _emit_array(context, builder, signature, args[0], True)


def _emit_array(context: Any, builder: Any, signature: Any, shape: Any, zeros: bool) -> Any:
    """Emit a new array in C order: LLVM IR takes 1 ms, functions that Numba compiles take 17 ms and more each."""
    kind = signature.return_type
    sizes = cgutils.unpack_tuple(builder, shape, kind.ndim)
    return _new_array(context, builder, kind, sizes, zeros)._getvalue()


def _new_array(
    context: Any, builder: Any, kind: Any, sizes: list[Any], zeros: bool, is_stack: bool = False
) -> Any:
    """Emit a new array; a stack is never of a wrong size, only too large."""
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    alignment = context.get_preferred_array_alignment(kind.dtype)
    memory = builder.call(_allocation(context, builder, (kind.ndim, itemsize, alignment, zeros)), sizes)
    with builder.if_then(cgutils.is_null(builder, memory), likely=False):
        if not is_stack:
            _raise_for_sizes(context, builder, itemsize, sizes)
        context.call_conv.return_user_exc(builder, MemoryError, ("the array does not fit in memory",))
    strides: list[Any] = []
    step = context.get_constant(types.intp, itemsize)
    for size in reversed(sizes):
        strides.insert(0, step)
        step = builder.mul(step, size)
    array = context.make_array(kind)(context, builder)
    data = context.nrt.meminfo_data(builder, memory)
    arrayobj.populate_array(
        array,
        data=builder.bitcast(data, array.data.type),
        shape=sizes,
        strides=strides,
        itemsize=context.get_constant(types.intp, itemsize),
        meminfo=memory,
    )
    return array


def _nbytes(builder: Any, itemsize: int, sizes: Any) -> tuple[Any, Any, Any]:
    """Emit the size of an array in bytes, whether a dimension is negative, and whether the size overflows."""
    nbytes, is_negative, overflows = (
        ir.Constant(cgutils.intp_t, itemsize),
        cgutils.false_bit,
        cgutils.false_bit,
    )
    for size in sizes:
        is_negative = builder.or_(is_negative, cgutils.is_neg_int(builder, size))
        product = builder.smul_with_overflow(nbytes, size)
        nbytes = builder.extract_value(product, 0)
        overflows = builder.or_(overflows, builder.extract_value(product, 1))
    return nbytes, is_negative, overflows


def _raise_for_sizes(context: Any, builder: Any, itemsize: int, sizes: Any) -> None:
    """Emit the errors of `np.empty` for sizes that no array has."""
    _, is_negative, overflows = _nbytes(builder, itemsize, sizes)
    for is_wrong, text in ((is_negative, "negative dimensions not allowed"), (overflows, TOO_BIG)):
        with builder.if_then(is_wrong):
            context.call_conv.return_user_exc(builder, ValueError, (text,))


def _allocation(context: Any, builder: Any, parts: tuple[int, int, int, bool]) -> Any:
    """Return the LLVM function that allocates memory for an array of some sizes; null if it cannot.

    It is not inlined: with the allocations inlined, NPBench's channel_flow takes 1.3 times as long.
    """
    rank, itemsize, alignment, zeros = parts
    size_type = cgutils.intp_t
    name = f"jittape_new_array_{rank}_{itemsize}_{alignment}_{int(zeros)}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(cgutils.voidptr_t, [size_type] * rank), name
    )
    if not function.is_declaration:
        return function
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    function.return_value.add_attribute("noalias")
    inner = ir.IRBuilder(function.append_basic_block("entry"))
    nbytes, is_negative, overflows = _nbytes(inner, itemsize, function.args)
    with inner.if_then(inner.or_(is_negative, overflows), likely=False):
        inner.ret(cgutils.get_null_value(cgutils.voidptr_t))
    memory = context.nrt.meminfo_alloc_aligned_unchecked(inner, nbytes, alignment)
    if zeros:
        with inner.if_then(cgutils.is_not_null(inner, memory), likely=True):
            cgutils.memset(inner, context.nrt.meminfo_data(inner, memory), nbytes, 0)
    inner.ret(memory)
    return function


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


def reserve(stack: Any, used: Any, wanted: Any) -> Any:
    """Return a stack that can take `wanted` more elements; a larger one grows by half at least."""
    if used + wanted <= stack.size:
        return stack
    larger = new_empty((used + wanted + stack.size // 2,), stack.dtype)
    larger[:used] = stack[:used]
    return larger


@type_callable(reserve)
def _type_of_reserve(context: Any) -> Any:
    def typed(stack: Any, used: Any, wanted: Any) -> Any:
        return stack(stack, types.intp, types.intp)

    return typed


@lower_builtin(reserve, types.Array, types.intp, types.intp)
def _emit_reserve(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit `reserve`; Numba takes 0.2 s to compile it from Python's code."""
    kind = signature.return_type
    stack, used, wanted = args
    array = context.make_array(kind)(context, builder, stack)
    needed = builder.add(used, wanted)
    is_enough = builder.icmp_signed("<=", needed, array.nitems)
    with builder.if_else(is_enough, likely=True) as (enough, grow):
        with enough:
            context.nrt.incref(builder, kind, stack)
            old_block = builder.block
        with grow:
            half = builder.lshr(array.nitems, ir.Constant(cgutils.intp_t, 1))
            larger = _new_array(context, builder, kind, [builder.add(needed, half)], False, is_stack=True)
            cgutils.raw_memcpy(builder, larger.data, array.data, used, array.itemsize)
            new = larger._getvalue()
            new_block = builder.block
    result = builder.phi(stack.type)
    result.add_incoming(stack, old_block)
    result.add_incoming(new, new_block)
    return result


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
def differ(one: Any, other: Any) -> bool:
    """Return whether two arrays of one shape have other elements; nan equals nan."""
    for index in np.ndindex(one.shape):
        if one[index] != other[index] and (one[index] == one[index] or other[index] == other[index]):
            return True
    return False


@register_jitable
def overlaps_itself(array: Any) -> Any:
    """Return whether elements of an array may share memory; those of slices of contiguous arrays do not."""
    if array.size == 0:
        return False
    for axis in range(array.ndim):
        stride = abs(array.strides[axis])
        extent = array.itemsize  # of the axes with smaller strides
        for other in range(array.ndim):
            smaller = abs(array.strides[other])
            if smaller < stride or (smaller == stride and other < axis):
                extent += (array.shape[other] - 1) * smaller
        if array.shape[axis] > 1 and stride < extent:
            return True
    return False


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
