"""`Tensor`: a handle to a value that need not be there yet.

It is small on purpose: one is made for every op that a loop records. Its operators stand in `operators.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.dtypes import as_dtype
from jittape.core.primitive import active
from jittape.core.program import Aval
from jittape.core.traced_scalar import TracedScalar
from jittape.primitives.elementwise import arithmetic
from jittape.primitives.identity import identity
from jittape.primitives.indexing import getitem
from jittape.primitives.shape.joining import stack
from jittape.recording.operators import Operators

__all__ = ["FailedBuffer", "Tensor", "TensorRef", "holds_tensors", "leaves_of", "stacked", "tensor_of"]


class FailedBuffer:
    """In the place of a value that could not be computed."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error = _without_frames(error)

    def reraise(self) -> NoReturn:
        """Raise the error that the computation met."""
        raise _without_frames(self._error)

    @property
    def array(self) -> NoReturn:
        self.reraise()

    def view(self) -> NoReturn:
        """As `reraise`: there is no value to see."""
        self.reraise()


def _without_frames(error: Exception) -> Exception:
    """A copy of `error` whose traceback holds no memory of the run that failed; the error itself if none is like it."""
    kind = type(error)
    try:
        copied: Exception = kind.__new__(kind, *error.args)
        copied.__dict__.update(error.__dict__)
        return copied if str(copied) == str(error) else error
    except Exception:
        return error


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

    __slots__ = ("__weakref__", "_origin")

    def __init__(self, trace: Any, slot: int, aval: Aval, buffer: Any = None) -> None:
        self._trace = trace
        self._slot = slot
        self._aval = aval
        self._buffer = buffer
        self._marker: Any = None
        self._origin: Any = None

    def __init_subclass__(cls) -> None:
        raise TypeError(
            f"{cls.__name__}: jt.Tensor is not made to be subclassed; keep one as an attribute instead"
        )

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
        if active.recorder.traced_in is not None:
            active.recorder.check_write(self)  # type: ignore[attr-defined]
        updated = getitem.setitem(self, key, stacked(value) if holds_tensors(value) else value)
        trace = updated._trace
        known = self._buffer is None and self._trace is trace  # it is among the trace's pending ones
        if trace.holders:
            trace.note_write(self, trace.slot_of(self))
        self._trace, self._slot, self._buffer = trace, updated._slot, updated._buffer
        if self._buffer is None and not known:
            trace.adopt(self)

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
        if self._buffer is None and self._trace.traced_in is not None:
            return f"<traced in {self._trace.traced_in}>"
        array = self.numpy()
        if array.ndim == 0:
            return str(array)
        return form(array)

    def __copy__(self) -> Tensor:
        copied = Tensor(self._trace, self._slot, self._aval, self._buffer)
        if self._buffer is None:
            self._trace.adopt(copied)
        else:
            _note_constant(copied)
        return copied

    def __deepcopy__(self, memo: Any) -> Tensor:
        if active.recorder.spans:  # a tape may ask for the gradient of what is computed from the copy
            copied: Tensor = identity(self)
            return copied
        return tensor_of(np.array(self._computed().array))

    def __reduce__(self) -> Any:
        return _unpickled, (self.numpy(),)


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
    tensor = Tensor(None, -1, Aval(array.shape, array.dtype), Buffer(array))
    _note_constant(tensor)
    return tensor


def _note_constant(tensor: Tensor) -> None:
    """Tell a trace of placeholders that the computed `tensor` is not from outside."""
    recorder: Any = active.recorder
    if recorder.traced_in is not None:
        recorder.note_constant(tensor)


def _unpickled(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over a copy: a pickle may lend its memory only, and have come from a machine of another byte order."""
    return tensor_of(np.array(array, as_dtype(array.dtype), order="C"))


_TRACED = (Operators, TracedScalar)


def holds_tensors(value: Any) -> bool:
    """Whether `value` is a nested sequence with a tensor, a Variable or a traced number in it."""
    return isinstance(value, (list, tuple)) and any(isinstance(leaf, _TRACED) for leaf in leaves_of(value))


def leaves_of(value: Any) -> Iterator[Any]:
    """What is in a nested sequence."""
    for v in value:
        if isinstance(v, (list, tuple)):
            yield from leaves_of(v)
        else:
            yield v


def stacked(value: Any) -> Tensor:
    """A nested sequence that holds tensors as one tensor; Python numbers in it are weak."""
    leaves = list(leaves_of(value))
    known = [leaf.dtype for leaf in leaves if isinstance(leaf, Operators)]
    known = known or [leaf.default_dtype for leaf in leaves if isinstance(leaf, TracedScalar)]
    return _stacked(value, np.result_type(*known))


def _stacked(value: Any, dtype: np.dtype[Any]) -> Tensor:
    if holds_tensors(value):
        return stack([_stacked(v, dtype) if isinstance(v, (list, tuple)) else v for v in value])
    array = np.asarray(value)
    if not any(isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves_of(value)):
        array = array.astype(np.result_type(dtype, array.dtype.type(0).item()))
    return tensor_of(np.array(array))
