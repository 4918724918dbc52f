"""`Tensor`: a handle to a value that need not be there yet.

Python's operators, NumPy's protocols and the looks (`numpy`, `float`, `bool`, ...) that make a trace run. The handle is
small on purpose: one is made for every op that a loop records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from jittape.primitives import arithmetic, bits, compare, contract, index, powers, shape, steps
from jittape.program import Aval
from jittape.recording.numpy_protocol import array_function, array_ufunc
from jittape.runtime.buffers import Buffer

__all__ = ["FailedBuffer", "Operators", "Tensor", "TensorRef", "tensor_of"]


class FailedBuffer:
    """In the place of a value that could not be computed."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error = error

    def reraise(self) -> NoReturn:
        """Raise the error that the computation met."""
        raise self._error

    @property
    def array(self) -> NoReturn:
        self.reraise()

    def view(self) -> NoReturn:
        """As `reraise`: there is no value to see."""
        self.reraise()


class Operators:
    """What Tensor and Variable have in common: operators that record, and looks that run."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    _aval: Aval

    # ---- what is known without running ---------------------------------------------------------------------------------

    @property
    def aval(self) -> Aval:
        """Shape and dtype together."""
        return self._aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, as a tuple of ints."""
        return self._aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return self._aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._aval.size

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose, recorded."""
        return shape.transpose(self)

    def get_shape(self) -> tuple[int, ...]:
        """The shape, under TensorFlow's name."""
        return self._aval.shape

    def __len__(self) -> int:
        if not self._aval.shape:
            raise TypeError("a 0-d tensor has no len()")
        return self._aval.shape[0]

    # ---- looks ---------------------------------------------------------------------------------------------------------

    def _computed(self) -> Buffer:
        """The value's memory; what is pending runs first."""
        raise NotImplementedError

    def numpy(self) -> np.ndarray[Any, Any]:
        """The value as a read-only ndarray; what is pending runs first.

        Returns
        -------
        ndarray
            A view without a copy; for a 0-d value an ndarray of shape ``()``.
        """
        return self._computed().view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"cannot give a {array.dtype} tensor as {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self) -> Any:
        """The only element as a Python scalar."""
        return self._computed().array.item()

    def tolist(self) -> Any:
        """The value as nested Python lists."""
        return self._computed().array.tolist()

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self._aval.dtype.kind not in "iu":
            raise TypeError(f"only integer tensors can be used as an index, this one is {self._aval.dtype.name}")
        return int(self._scalar("index"))

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.item(), ndigits)

    def _scalar(self, kind: str) -> Any:
        if self._aval.size != 1:
            raise ValueError(
                f"{kind}() needs a tensor with one element, this one has shape {self._aval.shape}; "
                "reduce it first (reduce_all, reduce_any, reduce_sum, ...)"
            )
        return self._computed().array.item()

    def __format__(self, spec: str) -> str:
        return format(self.item() if self._aval.shape == () else self.numpy(), spec) if spec else str(self)

    def __iter__(self) -> Iterator[Any]:
        if not self._aval.shape:
            raise TypeError("a 0-d tensor cannot be iterated over")
        return iter([index.getitem(self, i) for i in range(self._aval.shape[0])])

    def __contains__(self, value: Any) -> bool:
        raise TypeError("`in` is not defined for tensors; use jt.reduce_any(jt.equal(tensor, value))")

    # ---- NumPy's protocols ---------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return array_function(func, types, args, kwargs)

    # ---- operators -----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return arithmetic.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return arithmetic.add(other, self)

    def __sub__(self, other: Any) -> Any:
        return arithmetic.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return arithmetic.subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return arithmetic.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return arithmetic.multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return arithmetic.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return arithmetic.divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return arithmetic.floor_divide(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return arithmetic.floor_divide(other, self)

    def __mod__(self, other: Any) -> Any:
        return arithmetic.mod(self, other)

    def __rmod__(self, other: Any) -> Any:
        return arithmetic.mod(other, self)

    def __divmod__(self, other: Any) -> Any:
        return arithmetic.floor_divide(self, other), arithmetic.mod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return arithmetic.floor_divide(other, self), arithmetic.mod(other, self)

    def __pow__(self, other: Any) -> Any:
        return powers.pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return powers.pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return contract.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return contract.matmul(other, self)

    def __neg__(self) -> Any:
        return arithmetic.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return steps.absolute(self)

    def __invert__(self) -> Any:
        return bits.invert(self)

    def __and__(self, other: Any) -> Any:
        return bits.bitwise_and(self, other)

    def __rand__(self, other: Any) -> Any:
        return bits.bitwise_and(other, self)

    def __or__(self, other: Any) -> Any:
        return bits.bitwise_or(self, other)

    def __ror__(self, other: Any) -> Any:
        return bits.bitwise_or(other, self)

    def __xor__(self, other: Any) -> Any:
        return bits.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        return bits.bitwise_xor(other, self)

    def __lshift__(self, other: Any) -> Any:
        return bits.left_shift(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return bits.left_shift(other, self)

    def __rshift__(self, other: Any) -> Any:
        return bits.right_shift(self, other)

    def __rrshift__(self, other: Any) -> Any:
        return bits.right_shift(other, self)

    def __eq__(self, other: Any) -> Any:
        return compare.equal(self, other)

    def __ne__(self, other: Any) -> Any:
        return compare.not_equal(self, other)

    def __lt__(self, other: Any) -> Any:
        return compare.less(self, other)

    def __le__(self, other: Any) -> Any:
        return compare.less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return compare.greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return compare.greater_equal(self, other)

    def __getitem__(self, key: Any) -> Any:
        return index.getitem(self, key)


class Tensor(Operators):
    """A value: computed, or pending until somebody looks at it.

    Made by `constant`, `convert_to_tensor` and every operation, never directly. Tensors do not alias: writing to one
    (``t[0] = 1.0``) gives this handle a new value, recorded like any operation, and changes no other tensor.

    Attributes
    ----------
    shape, dtype, ndim, size
        Known at once, without running anything.

    Examples
    --------
    >>> import jittape as jt
    >>> t = jt.constant([1.0, 2.0]) * 3.0
    >>> print(t)
    jt.Tensor([3. 6.], shape=(2,), dtype=float32)
    """

    __slots__ = ("__weakref__", "_aval", "_buffer", "_marker", "_origin", "_slot", "_trace")

    def __init__(self, trace: Any, slot: int, aval: Aval, buffer: Any = None) -> None:
        self._trace = trace
        self._slot = slot
        self._aval = aval
        self._buffer = buffer
        self._marker: Any = None
        self._origin: Any = None

    def _computed(self) -> Buffer:
        buffer: Buffer | None = self._buffer
        if buffer is None:
            self._trace.flush(self)
            buffer = self._buffer
            assert buffer is not None
        return buffer

    def ref(self) -> TensorRef:
        """A hashable stand-in, for dictionaries and sets; `deref` gives the tensor back."""
        return TensorRef(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        updated = index.setitem(self, key, value)
        self._trace, self._slot, self._buffer = updated._trace, updated._slot, updated._buffer
        if self._buffer is None:
            self._trace.adopt(self)

    def assign(self, value: Any) -> Any:
        """Assign to the part of a Variable that this tensor is: ``v[0].assign(5.0)``.

        Raises
        ------
        AttributeError
            If it is no part of a Variable: a tensor has a value for good.
        """
        variable, key = self._part_of()
        variable[key] = value
        return variable

    def assign_add(self, value: Any) -> Any:
        """Add to the part of a Variable that this tensor is."""
        return self.assign(arithmetic.add(self, value))

    def assign_sub(self, value: Any) -> Any:
        """Subtract from the part of a Variable that this tensor is."""
        return self.assign(arithmetic.subtract(self, value))

    def _part_of(self) -> Any:
        if self._origin is None:
            raise AttributeError(
                "a Tensor cannot be assigned: use a jt.Variable, or write to a part of it as in `t[0] = 1.0`"
            )
        return self._origin

    def __str__(self) -> str:
        return f"jt.Tensor({self._text()}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<jt.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self._text(repr)}>"

    def _text(self, form: Any = str) -> str:
        array = self.numpy()
        if array.ndim == 0:
            return str(array)
        return form(array)

    def __copy__(self) -> Tensor:
        return Tensor(self._trace, self._slot, self._aval, self._buffer)

    def __deepcopy__(self, memo: Any) -> Tensor:
        return Tensor(None, -1, self._aval, Buffer(np.array(self.numpy())))

    def __reduce__(self) -> Any:
        return tensor_of, (np.array(self.numpy()),)


class TensorRef:
    """A reference that hashes by identity, as ``t.ref()`` gives it."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def deref(self) -> Any:
        """The tensor or Variable."""
        return self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorRef) and self._target is other._target


def tensor_of(array: np.ndarray[Any, Any]) -> Tensor:
    """A computed tensor over `array`, which nobody else may write to."""
    return Tensor(None, -1, Aval(array.shape, array.dtype), Buffer(array))
