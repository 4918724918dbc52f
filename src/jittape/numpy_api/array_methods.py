"""`ArrayMethods`: the methods of an ndarray, for Tensor and Variable."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from jittape.core.primitive import apply
from jittape.primitives import elementwise
from jittape.primitives import shape as shapes
from jittape.primitives.identity import identity

__all__ = ["ArrayMethods"]


@cache
def _adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the adapter of a NumPy function; the table takes 15 ms to import, and most programs need no adapter."""
    from jittape.numpy_api.numpy_functions import FUNCTIONS

    return FUNCTIONS[function]


@cache
def _operands() -> Any:
    """Return the module of operands, with which 75 KB of bytecode are read in 2 ms."""
    return import_module("jittape.numpy_api.numpy_operands")


class ArrayMethods:
    """Methods with NumPy's names, arguments and results. They record; only `sort` and `fill` change the tensor."""

    __slots__ = ()

    dtype: Any
    shape: Any
    size: Any

    # ---- properties ------------------------------------------------------------------------------------------------

    @property
    def T(self: Any) -> Any:
        """The transpose, recorded."""
        return shapes.reshaping.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The transposes of the matrices in the last two dimensions, recorded."""
        return shapes.reshaping.matrix_transpose(self)

    @property
    def real(self: Any) -> Any:
        """The real part, recorded."""
        return elementwise.complex_numbers.real(self)

    @property
    def imag(self: Any) -> Any:
        """The imaginary part, recorded; zeros for a real dtype."""
        return elementwise.complex_numbers.imag(self)

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return int(self.size) * self.itemsize

    @property
    def flat(self) -> Any:
        """The elements in order: an iterator that can be indexed and written to; see `numpy.ndarray.flat`."""
        return shapes.flat_elements.FlatElements(self)

    @flat.setter
    def flat(self: Any, values: Any) -> None:
        self._require_kept(1)
        shapes.flat_elements.FlatElements(self)[:] = values

    # ---- reductions ------------------------------------------------------------------------------------------------

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """Return the sum along `axis`; see `numpy.sum`."""
        return _reduced(np.sum, self, axis, keepdims, dtype, out, where, initial)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """Return the product along `axis`; see `numpy.prod`."""
        return _reduced(np.prod, self, axis, keepdims, dtype, out, where, initial)

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = True,
    ) -> Any:
        """Return the mean along `axis`; see `numpy.mean`."""
        return _reduced(np.mean, self, axis, keepdims, dtype, out, where)

    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        """Return the standard deviation along `axis`; see `numpy.std`."""
        return _reduced(np.std, self, axis, keepdims, dtype, out, where, None, ddof, mean, correction)

    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        """Return the variance along `axis`; see `numpy.var`."""
        return _reduced(np.var, self, axis, keepdims, dtype, out, where, None, ddof, mean, correction)

    def max(
        self, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        """Return the greatest element along `axis`; see `numpy.max`."""
        return _reduced(np.max, self, axis, keepdims, None, out, where, initial)

    def min(
        self, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        """Return the smallest element along `axis`; see `numpy.min`."""
        return _reduced(np.min, self, axis, keepdims, None, out, where, initial)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """Return the index of the greatest element along `axis`; see `numpy.argmax`."""
        return _reduced(np.argmax, self, axis, keepdims, None, out)

    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """Return the index of the smallest element along `axis`; see `numpy.argmin`."""
        return _reduced(np.argmin, self, axis, keepdims, None, out)

    def all(self, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        """Return whether all elements along `axis` are true; see `numpy.all`."""
        return _reduced(np.all, self, axis, keepdims, None, out, where)

    def any(self, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        """Return whether any element along `axis` is true; see `numpy.any`."""
        return _reduced(np.any, self, axis, keepdims, None, out, where)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the cumulative sum along `axis`; see `numpy.cumsum`."""
        return _into(out, np.cumsum, self, axis, dtype)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the cumulative product along `axis`; see `numpy.cumprod`."""
        return _into(out, np.cumprod, self, axis, dtype)

    def trace(
        self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """Return the sum of a diagonal; see `numpy.trace`."""
        return _into(out, np.trace, self, offset, axis1, axis2, dtype)

    # ---- shapes ----------------------------------------------------------------------------------------------------

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """Return the elements in another shape, given as ints or as one sequence; see `numpy.reshape`."""
        operands = _operands()
        target = operands.one_or_many(shape)
        if order == "C" and copy is None and (target.__class__ is int or operands.are_ints(target)):
            return apply(_adapter(np.reshape), (self,), (target,))
        return _adapter(np.reshape)(self, target, order, copy=copy)

    def ravel(self, order: str = "C") -> Any:
        """Return the elements as a vector; see `numpy.ravel`."""
        return apply(_adapter(np.ravel), (self,), (order,))

    def flatten(self, order: str = "C") -> Any:
        """Return the elements as a vector; see `numpy.ravel`."""
        return apply(_adapter(np.ravel), (self,), (order,))

    def squeeze(self, axis: Any = None) -> Any:
        """Return the tensor without dimensions of one element; see `numpy.squeeze`."""
        return _one_call(np.squeeze, self, axis)

    def transpose(self: Any, *axes: Any) -> Any:
        """Return the tensor with its dimensions in another order, reversed by default; see `numpy.transpose`."""
        return shapes.reshaping.transpose(self, _operands().one_or_many(axes) if axes else None)

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        """Return the tensor with two dimensions exchanged; see `numpy.swapaxes`."""
        return _one_call(np.swapaxes, self, axis1, axis2)

    def diagonal(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
        """Return a diagonal; see `numpy.diagonal`."""
        return _one_call(np.diagonal, self, offset, axis1, axis2)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        """Return each element `repeats` times; see `numpy.repeat`."""
        return _one_call(np.repeat, self, repeats, axis)

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """Return elements by index; see `numpy.take`."""
        if out is None and mode == "raise" and (axis is None or axis.__class__ is int):
            if hasattr(indices, "_aval"):
                return apply(_adapter(np.take), (self, indices), (axis,))
            return _adapter(np.take)(self, indices, axis)
        return _into(out, np.take, self, indices, axis, mode=mode)

    # ---- elements --------------------------------------------------------------------------------------------------

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Return the tensor in another dtype; see `numpy.ndarray.astype`."""
        return _operands().converted(self, dtype, casting)

    def copy(self: Any, order: str = "C") -> Any:
        """Return a tensor of the same value. Tensors never change, so nothing is copied."""
        if order not in (*"CFAK", None):
            raise ValueError(f"[copy] order must be 'C', 'F', 'A' or 'K', got {order!r}")
        return identity(self)

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return the elements limited to an interval; see `numpy.clip`."""
        operands, piecewise = _operands(), elementwise.piecewise
        if out is None and not kwargs and operands.clips_floats(self, min, max):
            if min is None or max is None:
                return piecewise.minimum(self, max) if min is None else piecewise.maximum(self, min)
            return apply(operands.clip_body, (self, min, max))
        _refuse_lost(out, np.clip, 1)
        return operands.with_out(_adapter(np.clip), self, min, max, out=out, **kwargs)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Return the elements rounded; see `numpy.round`."""
        return _into(out, np.round, self, decimals)

    def conj(self: Any) -> Any:
        """Return the complex conjugates."""
        return elementwise.complex_numbers.conj(self)

    def conjugate(self: Any) -> Any:
        """Return the complex conjugates."""
        return elementwise.complex_numbers.conj(self)

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return the product with `b`; see `numpy.dot`."""
        if out is None:
            is_operand = hasattr(b, "_aval") or b.__class__ is np.ndarray
            return apply(_adapter(np.dot), (self, b), ()) if is_operand else _adapter(np.dot)(self, b)
        return _into(out, np.dot, self, b)

    def argsort(self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        """Return the indices that sort the tensor; equal elements keep their order."""
        if kind in (None, "stable") and order is stable is None and (axis is None or axis.__class__ is int):
            return apply(_adapter(np.argsort), (self,), (axis,))
        return _adapter(np.argsort)(self, axis, kind, order, stable=stable)

    def nonzero(self: Any) -> Any:
        """Return the indices of the elements that are not zero, as a tuple of ndarrays."""
        return np.nonzero(self)

    def searchsorted(self: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        """Return where elements of `v` belong in the sorted vector; see `numpy.searchsorted`."""
        is_plain = sorter is None and side.__class__ is str and _is_real(self)
        if is_plain and (v.__class__ is float or _is_real(v)):
            return apply(_adapter(np.searchsorted), (self, v), (side,))
        return np.searchsorted(self, v, side, sorter)

    def argpartition(
        self: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> Any:
        """Return the indices that partition the tensor; see `numpy.argpartition`."""
        return _adapter(np.argpartition)(self, kth, axis, kind, order)

    def choose(self: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Return the elements of `choices` that the tensor numbers; see `numpy.choose`."""
        return _into(out, np.choose, self, choices, mode=mode)

    def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Return the slices where `condition` is true; see `numpy.compress`."""
        return _into(out, np.compress, condition, self, axis)

    def __contains__(self: Any, value: Any) -> bool:
        """Return whether an element equals `value`, as NumPy does; pending operations run."""
        found = self == value
        return found if found.__class__ is bool else bool(found.any())

    # ---- in place --------------------------------------------------------------------------------------------------

    def sort(self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        """Sort the tensor in place along an axis; see `numpy.ndarray.sort`. The write is recorded."""
        self._require_kept(int(vars(ArrayMethods)["sort"].__class__ is not FunctionType))
        self._assign_result(self._sorted(axis, kind, order, stable=stable))

    def _sorted(self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        """Return the value after `sort`, for ints as one call on a known path."""
        if axis is None:
            raise TypeError("sort() needs the axis as an int; reshape the tensor to one dimension first")
        if axis.__class__ is int and kind is None and order is None and stable is None:
            return apply(_adapter(np.sort), (self,), (axis,))
        return _adapter(np.sort)(self, axis, kind, order, stable=stable)

    def partition(self: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> None:
        """Partition the tensor in place along an axis; see `numpy.ndarray.partition`. The write is recorded."""
        self._require_kept()
        self._assign_result(_adapter(np.partition)(self, kth, axis, kind, order))

    def fill(self: Any, value: Any) -> None:
        """Assign `value` to all elements; see `numpy.ndarray.fill`. The write is recorded."""
        self._require_kept()
        self[...] = value

    def _require_kept(self, extra: int = 0) -> None:
        """Raise `TypeError` in the functions that write to the tensor if nothing would see the write.

        `extra` is the number of references besides the parameter of the function that the user calls.
        """

    def _refuse_if_lost(self, spare: int) -> None:
        """Raise `TypeError` if only the trace holds the `spare` references to the tensor; a Variable keeps writes."""


def _is_real(x: Any) -> bool:
    return hasattr(x, "_aval") and x._aval.dtype.kind != "c"


def _reduced(
    function: Any,
    x: Any,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    out: Any,
    where: Any = True,
    initial: Any = None,
    ddof: Any = 0,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """Record a reduction of NumPy; without unusual options it is one call on a known path."""
    if (
        not any([option is not None for option in (out, initial, mean, correction)])
        and _operands().is_structure(dtype)
        and where is True
        and ddof.__class__ is int
        and keepdims.__class__ is bool
        and (axis is None or axis.__class__ is int or _operands().are_ints(axis))
    ):
        options = ("keepdims", keepdims or None), ("ddof", ddof or None), ("dtype", dtype)
        named = tuple([option for option in options if option[1] is not None])
        if not named:
            return apply(_adapter(function), (x,), (axis,))
        return apply(_operands().with_names(_adapter(function)), (x,), ((axis,), named))
    chosen = {"dtype": dtype, "initial": initial, "mean": mean, "correction": correction}
    given = {name: value for name, value in chosen.items() if value is not None}
    given |= ({} if where is True else {"where": where}) | ({} if ddof == 0 else {"ddof": ddof})
    _refuse_lost(out, function, 2)
    return _operands().with_out(_adapter(function), x, axis, out=out, keepdims=keepdims, **given)


def _refuse_lost(out: Any, function: Any, extra: int) -> None:
    """Raise `TypeError` if `out` is a tensor that nothing but the call of a method refers to.

    `extra` is the number of references besides the parameter of the method. If the method is machine code, which leaves
    the call to Python, the arguments of both refer to `out`.
    """
    if hasattr(out, "aval"):
        out._require_kept(extra + (vars(ArrayMethods)[function.__name__].__class__ is not FunctionType))


def _into(out: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Record a `function` of NumPy for a method; write the result to `out` if it is a tensor."""
    if out is None and not kwargs:
        return _one_call(function, *args)
    _refuse_lost(out, function, 2)
    return _operands().with_out(_adapter(function), *args, out=out, **kwargs)


def _one_call(function: Any, x: Any, *static: Any) -> Any:
    """Record a `function` of NumPy as one call if its arguments may be part of a key: ints and None."""
    if all([a is None or a.__class__ is int or _operands().are_ints(a) for a in static]):
        return apply(_adapter(function), (x,), static)
    return _adapter(function)(x, *static)
