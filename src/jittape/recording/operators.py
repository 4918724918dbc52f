"""The common base of `Tensor` and `Variable`: operators, NumPy's protocols, methods and conversions.

Operators and NumPy's protocols record. Conversions (`numpy`, `float`, `bool`, ...) run pending operations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.primitive import active
from jittape.errors import ScalarError
from jittape.foreign_names import NUMPY_MEMORY, PYTORCH_AND_JAX, with_foreign_names
from jittape.numpy_api.array_methods import ArrayMethods
from jittape.primitives import elementwise, indexing, linalg
from jittape.primitives.elementwise import arithmetic, division
from jittape.primitives.elementwise.arithmetic import add_op, multiply_op, negative_op, subtract_op
from jittape.primitives.elementwise.division import divide_op
from jittape.recording.lost_writes import ROW, references_of_call, refuse_lost_out, refuse_lost_outs
from jittape.recording.static_info import DEVICE, StaticInfo
from jittape.recording.tape_exits import (
    leave,
    look,
    read,
    reflected_conversions,
    refuse_conversion,
    refused_conversions,
)

__all__ = ["Operators"]


@cache
def _protocol() -> Any:
    """Return the module of NumPy's protocols; its tables take 15 ms to import, and many programs need none."""
    import_module("jittape.recording.machine_code.known_paths")
    return import_module("jittape.numpy_api.numpy_protocol")


@with_foreign_names(PYTORCH_AND_JAX, NUMPY_MEMORY)
class Operators(StaticInfo, ArrayMethods):
    """The base of Tensor and Variable: operators that record, and conversions that run pending operations."""

    __slots__ = ("_aval", "_buffer", "_marker", "_slot", "_trace")
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above a DataFrame's, so that `series * tensor` records

    _buffer: Any
    _marker: Any
    _slot: int
    _trace: Any

    def __len__(self) -> int:
        if not self._aval.shape:
            raise TypeError("a 0-d tensor has no len()")
        return self._aval.shape[0]

    # ---- conversions -------------------------------------------------------------------------------------------

    def _computed(self) -> Buffer:
        """Return the value's memory; pending operations run first."""
        raise NotImplementedError

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the value as a read-only ndarray; pending operations run first.

        Returns
        -------
        ndarray
            A view, not a copy. A 0-d value gives an ndarray of shape ``()``.
        """
        recorder = active.recorder
        if recorder.intervals:
            look(recorder, self, "numpy()")
        return self._computed().view()

    _read = read

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if reflected_conversions and id(sys._getframe(1).f_code) in reflected_conversions:
            return np.array(None)
        if refused_conversions:
            refuse_conversion()
        recorder = active.recorder
        if recorder.intervals:
            leave(recorder, self, "np.asarray()")
        array = self._computed().view()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(
                    f"cannot convert a tensor of dtype {array.dtype} to {np.dtype(dtype)} without a copy"
                )
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self, *args: Any) -> Any:
        """Return the only element, or that at a flat index or at indices, as a Python scalar."""
        recorder = active.recorder
        if recorder.intervals:
            look(recorder, self, "item()")
        return self._computed().array.item(*args)

    def tobytes(self, order: Any = "C") -> bytes:
        """Return the bytes of the elements; see `numpy.ndarray.tobytes`."""
        return self.numpy().tobytes(order)

    def tolist(self) -> Any:
        """Return the value as nested Python lists."""
        recorder = active.recorder
        if recorder.intervals:
            look(recorder, self, "tolist()")
        return self._computed().array.tolist()

    def __float__(self) -> float:
        recorder = active.recorder
        if recorder.intervals:
            leave(recorder, self, "float()")
        return float(self._scalar("float"))

    def __int__(self) -> int:
        recorder = active.recorder
        if recorder.intervals:
            leave(recorder, self, "int()")
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        recorder = active.recorder
        if recorder.intervals:
            leave(recorder, self, "complex()")
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self._aval.dtype.kind not in "iu" or self._aval.shape:
            raise TypeError(f"only 0-d integer tensors can be used as an index, this one is {self._aval}")
        return int(self._scalar("index"))

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self._scalar("round"), ndigits)

    def _scalar(self, kind: str) -> Any:
        if self._aval.size != 1:
            raise (ValueError if kind == "bool" else ScalarError)(
                f"{kind}() needs a tensor with one element, this one has shape {self._aval.shape}; "
                "reduce it first (reduce_all, reduce_any, reduce_sum, ...)"
            )
        return self._computed().array.item()

    def __format__(self, spec: str) -> str:
        if spec and self._aval.size != 1:
            raise TypeError(
                f"the format {spec!r} is for one number, this tensor has shape {self._aval.shape}: format an element, "
                "or set NumPy's print options (np.printoptions(precision=2))"
            )
        return format(self.item() if spec else self.numpy(), spec)

    def __iter__(self) -> Iterator[Any]:
        if not self._aval.shape:
            raise TypeError("a 0-d tensor cannot be iterated over")
        rows = [self[i] for i in range(self._aval.shape[0])]  # machine code takes 0.2 µs instead of 1.1
        for row in rows:
            row._origin = ROW
        return iter(rows)

    # ---- NumPy's protocols -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            refuse_lost_outs(self, kwargs["out"], inputs, references_of_call().outs)
        return _protocol().array_ufunc(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if "out" in kwargs:
            refuse_lost_out(self, kwargs["out"], args, references_of_call().out)
        return _protocol().array_function(func, types, args, kwargs)

    # ---- the Array API standard --------------------------------------------------------------------------------

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return ``jittape.numpy``, the namespace of the Array API standard.

        Raises
        ------
        ValueError
            For a version of the standard other than 2021.12 to 2024.12.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"api_version must be '2024.12' or an earlier one, got {api_version!r}")
        return import_module("jittape.numpy")

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Return the tensor itself; the processor is the only device."""
        if device not in ("cpu", DEVICE) or stream is not None:
            raise ValueError(f"device must be 'cpu' and stream None, got {device!r} and {stream!r}")
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Return a DLPack capsule of the read-only value, or of a copy where a consumer cannot know that."""
        recorder = active.recorder
        if recorder.intervals:
            leave(recorder, self, "__dlpack__()")
        array = self._computed().view()
        knows_read_only = max_version is not None and tuple(max_version) >= (1, 0)
        if copy or (copy is None and not knows_read_only):
            array = array.copy()
        return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    # ---- operators ---------------------------------------------------------------------------------------------
    #
    # The most common operators record their op directly; the public function of the same name takes 0.1 µs more.

    def __add__(self, other: Any) -> Any:
        try:
            return active.recorder.apply(add_op, (self, other))
        except TypeError as error:
            return _reflected(self, other, "__radd__", error)

    def __radd__(self, other: Any) -> Any:
        return active.recorder.apply(add_op, (other, self))

    def __sub__(self, other: Any) -> Any:
        try:
            return active.recorder.apply(subtract_op, (self, other))
        except TypeError as error:
            return _reflected(self, other, "__rsub__", error)

    def __rsub__(self, other: Any) -> Any:
        return active.recorder.apply(subtract_op, (other, self))

    def __mul__(self, other: Any) -> Any:
        try:
            return active.recorder.apply(multiply_op, (self, other))
        except TypeError as error:
            return _reflected(self, other, "__rmul__", error)

    def __rmul__(self, other: Any) -> Any:
        return active.recorder.apply(multiply_op, (other, self))

    def __truediv__(self, other: Any) -> Any:
        try:
            return active.recorder.apply(divide_op, (self, other))
        except TypeError as error:
            return _reflected(self, other, "__rtruediv__", error)

    def __rtruediv__(self, other: Any) -> Any:
        return active.recorder.apply(divide_op, (other, self))

    def __floordiv__(self, other: Any) -> Any:
        try:
            return division.floor_divide(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rfloordiv__", error)

    def __rfloordiv__(self, other: Any) -> Any:
        return division.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        try:
            return division.mod(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rmod__", error)

    def __rmod__(self, other: Any) -> Any:
        return division.mod(other, self)

    def __divmod__(self, other: Any) -> Any:
        try:
            return division.floor_divide(self, other), division.mod(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rdivmod__", error)

    def __rdivmod__(self, other: Any) -> Any:
        return division.floor_divide(other, self), division.mod(other, self)

    def __pow__(self, other: Any) -> Any:
        try:
            return elementwise.powers.pow(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rpow__", error)

    def __rpow__(self, other: Any) -> Any:
        return elementwise.powers.pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        try:
            return linalg.matmul.matmul(self, other)
        except TypeError as error:
            if linalg.sparse_products.is_sparse_matrix(other):
                return linalg.sparse_products.sparse_matmul(self, other)
            return _reflected(self, other, "__rmatmul__", error)

    def __rmatmul__(self, other: Any) -> Any:
        is_sparse = linalg.sparse_products.is_sparse_matrix(other)
        return (linalg.sparse_products.sparse_matmul if is_sparse else linalg.matmul.matmul)(other, self)

    def __neg__(self) -> Any:
        return active.recorder.apply(negative_op, (self,))

    def __pos__(self) -> Any:
        return arithmetic.positive(self)

    def __abs__(self) -> Any:
        return elementwise.piecewise.absolute(self)

    def __invert__(self) -> Any:
        return elementwise.bits.invert(self)

    def __and__(self, other: Any) -> Any:
        try:
            return elementwise.bits.bitwise_and(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rand__", error)

    def __rand__(self, other: Any) -> Any:
        return elementwise.bits.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        try:
            return elementwise.bits.bitwise_or(self, other)
        except TypeError as error:
            return _reflected(self, other, "__ror__", error)

    def __ror__(self, other: Any) -> Any:
        return elementwise.bits.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        try:
            return elementwise.bits.bitwise_xor(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rxor__", error)

    def __rxor__(self, other: Any) -> Any:
        return elementwise.bits.bitwise_xor(other, self)

    def __lshift__(self, other: Any) -> Any:
        try:
            return elementwise.bits.left_shift(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rlshift__", error)

    def __rlshift__(self, other: Any) -> Any:
        return elementwise.bits.left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        try:
            return elementwise.bits.right_shift(self, other)
        except TypeError as error:
            return _reflected(self, other, "__rrshift__", error)

    def __rrshift__(self, other: Any) -> Any:
        return elementwise.bits.right_shift(other, self)

    def __eq__(self, other: Any) -> Any:
        try:
            return False if other is None else elementwise.comparison.equal(self, other)
        except TypeError as error:
            return _reflected(self, other, "__eq__", error)

    def __ne__(self, other: Any) -> Any:
        try:
            return True if other is None else elementwise.comparison.not_equal(self, other)
        except TypeError as error:
            return _reflected(self, other, "__ne__", error)

    def __hash__(self) -> int:
        kind = type(self).__name__
        raise TypeError(f"{kind} is unhashable. Instead, use {kind.lower()}.ref() as the key.")

    def __lt__(self, other: Any) -> Any:
        try:
            return elementwise.comparison.less(self, other)
        except TypeError as error:
            return _reflected(self, other, "__gt__", error)

    def __le__(self, other: Any) -> Any:
        try:
            return elementwise.comparison.less_equal(self, other)
        except TypeError as error:
            return _reflected(self, other, "__ge__", error)

    def __gt__(self, other: Any) -> Any:
        try:
            return elementwise.comparison.greater(self, other)
        except TypeError as error:
            return _reflected(self, other, "__lt__", error)

    def __ge__(self, other: Any) -> Any:
        try:
            return elementwise.comparison.greater_equal(self, other)
        except TypeError as error:
            return _reflected(self, other, "__le__", error)

    def __getitem__(self, key: Any) -> Any:
        return indexing.getitem.getitem(self, key)


_OWN = (Operators, np.ndarray, np.generic, int, float, complex, str, list, tuple, dict, type(None))


def _reflected(self: Operators, other: Any, method: str, error: TypeError) -> Any:
    """Return what the reflected operator of a foreign object gives; raise `error` if there is none."""
    if not isinstance(other, _OWN):
        found = getattr(type(other), method)(other, self) if hasattr(type(other), method) else NotImplemented
        if found is not NotImplemented:
            return found
    return _protocol().numpy_ufuncs.in_order(method, self, other, error)
