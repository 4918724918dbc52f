"""`TensorArray`: a list of tensors of one shape, written by index."""

from __future__ import annotations

from typing import Any

from jittape.core.dtypes import as_dtype
from jittape.core.user_calls import as_int, named
from jittape.errors import InvalidArgumentError, OutOfRangeError, ShapeError
from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat, split, stack, unstack
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor

__all__ = ["TensorArray"]


@with_foreign_names(ATTRIBUTES_LEFT_OUT["TensorArray"])
class TensorArray:
    """A list of tensors of one shape and dtype, written by index, as programs for TensorFlow use it in Python loops.

    Parameters
    ----------
    dtype : dtype
        Of the elements.
    size : int, optional
        Number of elements, 0 if not given.
    dynamic_size : bool, optional
        Whether a write behind the end makes the list longer.
    clear_after_read : bool, optional
        Whether an element is lost when it is read, which is the default.
    element_shape : sequence of int or None, optional
        Of each element; by default that of the first.
    tensor_array_name, handle, flow, infer_shape, colocate_with_first_write_call, name
        Ignored; accepted for compatibility with TensorFlow.

    Raises
    ------
    ValueError
        If `size` is negative.

    Notes
    -----
    Indices are Python numbers. As a variable of `while_loop`, an array has a fixed size, and indices may be tensors.

    Examples
    --------
    >>> squares = jt.TensorArray(jt.float32, size=3)
    >>> for i in range(3):
    ...     squares = squares.write(i, float(i) ** 2)
    >>> squares.stack().numpy()
    array([0., 1., 4.], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self.dtype = as_dtype(dtype)
        self.dynamic_size = bool(dynamic_size)
        self._clears = clear_after_read is None or bool(clear_after_read)
        self._infers = infer_shape
        self._shape = None if element_shape is None else tuple(element_shape)
        self._size: int = 0 if size is None else as_int("size", size)
        if self._size < 0:
            raise named(ValueError(f"size must not be negative, got {self._size}"))
        self._elements: dict[int, Tensor] = {}
        self._read: set[int] = set()

    @property
    def _is_new(self) -> bool:
        """Whether no element has been written."""
        return not (self._elements or self._read)

    @property
    def element_shape(self) -> tuple[int | None, ...] | None:
        """Shape of the elements, or `None` before the first."""
        return self._shape

    def size(self, name: str | None = None) -> int:
        """Return the number of elements."""
        return self._size

    def identity(self) -> TensorArray:
        """Return the list itself."""
        return self

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Set an element and return the list."""
        i = as_int("index", index)
        if i < 0 or (i >= self._size and not self.dynamic_size):
            raise named(
                OutOfRangeError(
                    f"index is {i}, but the TensorArray has {self._size} elements: give it a larger size, "
                    "or dynamic_size=True"
                )
            )
        element = self._checked(value)
        self._size = max(self._size, i + 1)
        self._elements[i] = element
        self._read.discard(i)
        return self

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return an element."""
        i = as_int("index", index)
        if not 0 <= i < self._size:
            raise named(OutOfRangeError(f"index is {i}, but the TensorArray has {self._size} elements"))
        element = self._element(i)
        if self._clears:
            self._read.add(i)
            self._elements.pop(i, None)
        return element

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements, stacked along a new first axis."""
        return self.gather(range(self._size))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return some elements, stacked along a new first axis."""
        chosen = [self._element(as_int("indices", i)) for i in indices]
        return stack(chosen) if chosen else zeros((0, *(n or 0 for n in self._shape or ())), self.dtype)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements, joined along their first axis."""
        return concat([self._element(i) for i in range(self._size)], 0)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Set all elements to those of `value` along its first axis."""
        return self._set(unstack(self._cast(value)))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Set all elements to parts of `value` of these lengths along its first axis."""
        self._infers = False
        return self._set(split(self._cast(value), [as_int("lengths", n) for n in lengths]))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Set the elements at `indices` to those of `value` along its first axis."""
        positions = [as_int("indices", i) for i in indices]
        for i, element in zip(positions, unstack(self._cast(value)), strict=True):
            self.write(i, element)
        return self

    def close(self, name: str | None = None) -> None:
        """Forget the elements."""
        self._elements, self._size = {}, 0

    def _set(self, values: list[Tensor]) -> TensorArray:
        if len(values) > self._size and not self.dynamic_size:
            raise named(
                OutOfRangeError(
                    f"value has {len(values)} elements, but the TensorArray has {self._size}: give it a "
                    "larger size, or dynamic_size=True"
                )
            )
        self._elements = dict(enumerate([self._checked(value) for value in values]))
        self._size = len(values)
        self._read.clear()
        return self

    def _cast(self, value: Any) -> Tensor:
        return convert_to_tensor(value, self.dtype)

    def _checked(self, value: Any) -> Tensor:
        element = self._cast(value)
        shape = tuple(element.shape)
        if self._shape is None and self._infers:
            self._shape = shape
        known = self._shape
        if known is not None and (
            len(known) != len(shape) or any(n not in (None, m) for n, m in zip(known, shape, strict=True))
        ):
            raise named(
                ShapeError(f"value has shape {shape}, but the elements of the TensorArray have shape {known}")
            )
        return element

    def _element(self, i: int) -> Tensor:
        if i in self._read:
            raise named(
                InvalidArgumentError(
                    f"element {i} was read before, which cleared it: pass clear_after_read=False"
                )
            )
        element = self._elements.get(i)
        if element is None:
            shape = self._shape
            if shape is None or None in shape:
                raise named(
                    ValueError(f"element {i} of the TensorArray was not written, and its shape is unknown")
                )
            return zeros(shape, self.dtype)
        return element
