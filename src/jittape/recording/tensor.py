"""`Tensor`: a handle to a value that may be pending.

Its operators are in `recording.operators`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from sys import getrefcount
from typing import Any, NoReturn

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.dtypes import as_dtype, common_dtype
from jittape.core.primitive import active
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.core.user_calls import named
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.html_report import html_table, summary_of
from jittape.primitives import indexing, shape
from jittape.primitives.elementwise import arithmetic
from jittape.primitives.identity import identity
from jittape.primitives.shape.shape_extents import known_extents
from jittape.recording.lost_writes import LOST, LOST_ROW, ROW, references_of_call
from jittape.recording.operators import Operators

__all__ = [
    "FailedBuffer",
    "Tensor",
    "TensorRef",
    "any_recorded",
    "holds_tensors",
    "leaves_of",
    "note_constant",
    "stacked",
    "tensor_of",
]


class _Probe:
    """An object that counts its references as `Tensor.__setitem__` does."""

    __slots__ = ()

    def __setitem__(self, key: list[int], value: Any) -> None:
        key.append(getrefcount(self))


def _references_of_temporary() -> int:
    """Return the count of references to an object that only an item assignment uses; 0 if names are not counted."""
    probe, counts = _Probe(), []  # type: tuple[_Probe, list[int]]
    probe[counts] = _Probe()[counts] = None
    named, temporary = counts
    return temporary if temporary < named else 0


_TEMPORARY = _references_of_temporary()


class FailedBuffer:
    """The placeholder of a value whose computation failed."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error = _without_frames(error)

    def reraise(self) -> NoReturn:
        """Raise the error of the computation."""
        raise _without_frames(self._error)

    @property
    def array(self) -> NoReturn:
        self.reraise()

    def view(self) -> NoReturn:
        """Raise the error of the computation."""
        self.reraise()


def _without_frames(error: Exception) -> Exception:
    """Return a copy of `error` without its traceback, which refers to memory; `error` itself if a copy would differ."""
    kind = type(error)
    try:
        copied: Exception = kind.__new__(kind, *error.args)
        copied.args = error.args  # CPython's reused MemoryError objects ignore those of `__new__`
        copied.__dict__.update(error.__dict__)
        return copied if str(copied) == str(error) else error
    except Exception:
        return error


@with_foreign_names(ATTRIBUTES_LEFT_OUT["Tensor"])
class Tensor(Operators):
    """An array that is computed or pending.

    `constant`, `convert_to_tensor` and all operations return tensors; the class is not called directly. Tensors do not
    alias: a write (``t[0] = 1.0``) is recorded like any operation, gives this handle a new value and changes no other
    tensor.

    Attributes
    ----------
    shape, dtype, ndim, size
        Known without running pending operations.

    Examples
    --------
    >>> import jittape as jt
    >>> t = jt.constant([1.0, 2.0]) * 3.0
    >>> print(t)
    jt.Tensor([3. 6.], shape=(2,), dtype=float32)
    """

    __slots__ = ("__weakref__", "_origin")

    def __init__(self, trace: Any, slot: int, aval: Aval, buffer: Any = None) -> None:
        self._trace = trace
        self._slot = slot
        self._aval = aval
        self._buffer = buffer
        self._marker: Any = None
        self._origin: Any = None

    def __init_subclass__(cls, may_be_subclass: bool = False) -> None:
        if may_be_subclass:
            return
        raise TypeError(f"{cls.__name__}: jt.Tensor cannot be subclassed; keep one as an attribute instead")

    def _computed(self) -> Buffer:
        buffer: Buffer | None = self._buffer
        if buffer is None:
            return self._trace.value_of(self)
        return buffer

    def _as_extent(self) -> Any:
        """Return the only integer, as an extent if it is known as one."""
        known = known_extents(self)
        return operator.index(self) if known is None or self.ndim else known

    def __bool__(self) -> bool:
        known = None if self._aval.shape or self._buffer is not None else known_extents(self)
        return super().__bool__() if known is None else bool(known)

    def ref(self) -> TensorRef:
        """Return a hashable reference, for dictionaries and sets; `deref` returns the tensor."""
        return TensorRef(self)

    def experimental_ref(self) -> TensorRef:
        """Return `ref()`; TensorFlow's older name."""
        return TensorRef(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._require_own()
        holders = getrefcount(self) - _TEMPORARY
        updated = indexing.getitem.setitem(self, key, stacked(value) if holds_tensors(value) else value)
        if holders <= 0 or (holders == 1 and self._is_pending()):
            raise TypeError(
                "[setitem] the assignment would have no effect: nothing else refers to this tensor, since a slice is a "
                "copy. Index once, as in `x[i, j] = value` instead of `x[i][j] = value`, or give the tensor a name"
            )
        self._become(updated)

    def _assign_result(self, updated: Tensor) -> None:
        """Write to all elements, as ``t[...] = updated`` does for a value of the same shape and dtype."""
        self._require_own()
        self._become(updated)

    def _require_own(self) -> None:
        """Raise if a write to the tensor has no meaning here."""
        if active.recorder.traced_in is not None:
            active.recorder.check_write(self)  # type: ignore[attr-defined]
        if self._origin is ROW:
            raise named(TypeError(LOST_ROW))

    def _become(self, updated: Tensor) -> None:
        """Take over the value of a recorded tensor."""
        trace: Any = updated._trace
        if self._buffer is None and self._trace is trace:  # it is in the trace's list of pending tensors
            if trace.holders:
                trace.note_write(self, self._slot)
            self._slot, self._buffer = updated._slot, updated._buffer
            return
        if trace.holders:
            trace.note_write(self, trace.slot_of(self))
        self._trace, self._slot, self._buffer = trace, updated._slot, updated._buffer
        if self._buffer is None:
            trace.adopt(self)

    def _is_pending(self) -> bool:
        """Return whether the trace refers to this tensor, in its list of pending ones."""
        return self._buffer is None and any(t is self for t in self._trace.pending)

    def _require_kept(self, extra: int = 0) -> None:
        spare = (
            getrefcount(self) - references_of_call().method - extra
        )  # in a call of a method, one more refers to it
        self._refuse_if_lost(spare)

    def _refuse_if_lost(self, spare: int) -> None:
        if (spare <= 0 or (spare == 1 and self._is_pending())) and not self._is_new():
            raise named(TypeError(LOST))

    def _is_new(self) -> bool:
        """Return whether NumPy gives the tensor memory of its own, so that nothing but the call should see a write."""
        if self._buffer is not None:
            return self._trace is None
        return bool(self._trace.makes_new(self._slot))

    def assign(self, value: Any) -> Any:
        """Assign to the part of a Variable that this tensor was read from: ``v[0].assign(5.0)``.

        Raises
        ------
        AttributeError
            If the tensor was not read from a part of a Variable.
        """
        variable, key = self._part_of()
        variable[key] = value
        return variable

    def assign_add(self, value: Any) -> Any:
        """Add to the part of a Variable that this tensor was read from."""
        return self.assign(arithmetic.add(self, value))

    def assign_sub(self, value: Any) -> Any:
        """Subtract from the part of a Variable that this tensor was read from."""
        return self.assign(arithmetic.subtract(self, value))

    def _part_of(self) -> Any:
        if self._origin is None or self._origin is ROW:
            raise AttributeError(
                "a Tensor cannot be assigned: use a jt.Variable, or write to a part of it as in `t[0] = 1.0`"
            )
        return self._origin

    def __str__(self) -> str:
        return f"jt.Tensor({self._text()}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        return f"<jt.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self._text(repr)}>"

    def _repr_html_(self) -> str:
        if self._buffer is None and self._trace.traced_in is not None:
            return html_table(
                "Tensor", [("shape", self.shape), ("dtype", self.dtype.name), ("value", self._text())]
            )
        return html_table("Tensor", summary_of(self.numpy()))

    def _text(self, form: Any = str) -> str:
        if self._buffer is None and self._trace.traced_in is not None:
            return f"<traced in {self._trace.traced_in}>"
        array = self.numpy()
        if array.ndim == 0:
            return str(array)
        return form(array)

    def __copy__(self) -> Tensor:
        if self._buffer is None and active.recorder is not self._trace:
            own: Tensor = identity(
                self
            )  # belongs to the body of a loop or branch, which may then write to it
            return own
        copied = Tensor(self._trace, self._slot, self._aval, self._buffer)
        if self._buffer is None:
            self._trace.adopt(copied)
        else:
            note_constant(copied)
        return copied

    def __deepcopy__(self, memo: Any) -> Tensor:
        if active.recorder.intervals:  # a tape may follow the copy
            copied: Tensor = identity(self)
            return copied
        return tensor_of(np.array(self._computed().array))

    def __reduce__(self) -> Any:
        return _unpickled, (self.numpy(),)


class TensorRef:
    """A reference that hashes by identity; the result of ``t.ref()``."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def deref(self) -> Any:
        """Return the tensor or Variable."""
        return self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorRef) and self._target is other._target

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"


def tensor_of(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a computed tensor over `array`, which must not be written to afterwards."""
    tensor = Tensor(None, -1, Aval(array.shape, array.dtype), Buffer(array))
    note_constant(tensor)
    return tensor


def note_constant(tensor: Tensor) -> None:
    """Tell a symbolic trace that the computed `tensor` was created inside its function."""
    recorder: Any = active.recorder
    if recorder.traced_in is not None:
        recorder.note_constant(tensor)


def _unpickled(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor over a copy, since a pickle may own the memory and may have another byte order."""
    return tensor_of(np.array(array, as_dtype(array.dtype), order="C"))


_TRACED = (Operators, TracedScalar)


def holds_tensors(value: Any) -> bool:
    """Return whether `value` is a nested sequence that contains a tensor, a Variable or a traced number."""
    return isinstance(value, (list, tuple)) and any(isinstance(leaf, _TRACED) for leaf in leaves_of(value))


def any_recorded(*values: Any) -> bool:
    """Return whether one of the `values` is or contains a tensor, a Variable or a traced number."""
    return any(isinstance(value, _TRACED) or holds_tensors(value) for value in values)


def leaves_of(value: Any) -> Iterator[Any]:
    """Yield the items of a nested sequence."""
    for v in value:
        if isinstance(v, (list, tuple)):
            yield from leaves_of(v)
        else:
            yield v


def stacked(value: Any) -> Tensor:
    """Return a nested sequence that contains tensors as one tensor; its Python numbers are weak."""
    leaves = list(leaves_of(value))
    known = [leaf.aval.dtype for leaf in leaves if isinstance(leaf, Operators)]
    known = known or [leaf.default_dtype for leaf in leaves if isinstance(leaf, TracedScalar)]
    return _stacked(value, common_dtype(*known))


def _stacked(value: Any, dtype: np.dtype[Any]) -> Tensor:
    if holds_tensors(value):
        return shape.joining.stack([_stacked(v, dtype) if isinstance(v, (list, tuple)) else v for v in value])
    array = np.asarray(value)
    if not any(isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves_of(value)):
        array = array.astype(common_dtype(dtype, array.dtype.type(0).item()))
    return tensor_of(np.array(array))
