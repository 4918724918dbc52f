"""`CarriedArray`: a `TensorArray` among the variables of a loop, kept as one tensor with a row for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jittape.core.user_calls import as_int
from jittape.errors import ControlFlowError, OutOfRangeError
from jittape.flow.tensor_array import TensorArray
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.indexing.gather import gather
from jittape.primitives.indexing.getitem import setitem
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import concat
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor

__all__ = ["AsGiven", "CarriedArray", "grows", "refuse_arrays", "tensors_of", "with_carried_arrays"]


AsGiven = Callable[[Sequence[Any]], list[Any]]


class _ElementFound(BaseException):
    """Raised by the first write to an array of unknown element shape, in a trial run of the body."""

    def __init__(self, position: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.position = position
        self.shape = shape


class CarriedArray(TensorArray):
    """A `TensorArray` that a loop carries. Indices may be tensors, and an element may be read twice.

    Attributes
    ----------
    rows : Tensor
        The elements, stacked. Those that were not written are 0.
    position : int
        Number of the array among the leaves of the loop variables.
    """

    def __init__(self, array: TensorArray, rows: Tensor, position: int) -> None:
        super().__init__(array.dtype, element_shape=array.element_shape)
        self.rows = rows
        self.position = position

    def size(self, name: str | None = None) -> int:
        """Return the number of elements."""
        return self.rows.shape[0]

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Set an element and return the array."""
        if self._shape is None:
            raise _ElementFound(self.position, tuple(self._cast(value).shape))
        self.rows = setitem(self.rows, self._checked_index(index), self._checked(value))
        return self

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """Return an element."""
        self._need_shape("read")
        return gather(self.rows, self._checked_index(index))

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements, stacked along a new first axis."""
        self._need_shape("stack")
        return self.rows

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """Return some elements, stacked along a new first axis."""
        self._need_shape("gather")
        return gather(self.rows, indices)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements, joined along their first axis."""
        return concat([self.read(i) for i in range(self.size())], 0)

    def _set(self, values: list[Tensor]) -> TensorArray:
        raise ControlFlowError(
            "[TensorArray] an array that is a loop variable is written element by element: use write(index, value)"
        )

    def _checked_index(self, index: Any) -> Any:
        """Return an index; a negative one becomes one that is out of range, as in TensorFlow."""
        size = self.size()
        if isinstance(index, Operators):
            return where(less(index, 0), size, index)
        i = as_int("index", index)
        if not 0 <= i < size:
            raise OutOfRangeError(
                f"[TensorArray] index is {i}, but the TensorArray has {size} elements: an array that is a loop "
                "variable does not grow, so give it a larger size"
            )
        return i

    def _need_shape(self, method: str) -> None:
        if self._shape is None:
            raise ControlFlowError(
                f"[TensorArray] {method} before the first write needs the shape of the elements: pass element_shape"
            )


def with_carried_arrays(leaves: Sequence[Any], run: Callable[[list[Any], AsGiven], list[Any]]) -> list[Any]:
    """Run a loop whose variables may be `TensorArray` objects, and return the final leaves.

    Parameters
    ----------
    leaves : sequence
        Leaves of the loop variables.
    run : callable
        ``run(tensors, as_given)`` runs the loop with a tensor for each leaf. ``as_given(tensors)`` returns the leaves
        that the functions of the user get.
    """
    arrays = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, TensorArray)}
    shapes = {i: array.element_shape for i, array in arrays.items()}

    def as_given(tensors: Sequence[Any]) -> list[Any]:
        given = list(tensors)
        for i, array in arrays.items():
            given[i] = CarriedArray(array, tensors[i], i)
            given[i]._shape = shapes[i]
        return given

    while True:
        tensors = list(leaves)
        for i, array in arrays.items():
            tensors[i] = _rows_of(array, shapes[i])
        try:
            return as_given(run(tensors, as_given))
        except _ElementFound as found:
            shapes[found.position] = found.shape


def refuse_arrays(op: str, leaves: Sequence[Any], way_out: str) -> None:
    """Raise `ControlFlowError` if there is a `TensorArray` among the leaves.

    Raises
    ------
    ControlFlowError
        It ends with `way_out`.
    """
    if any(isinstance(leaf, TensorArray) for leaf in leaves):
        raise ControlFlowError(f"[{op}] takes and returns tensors, got a TensorArray: {way_out}")


def grows(leaf: Any) -> bool:
    """Return whether a loop variable is an array whose size is not known before the loop."""
    return isinstance(leaf, TensorArray) and leaf.dynamic_size and not leaf.size()


def tensors_of(leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves that a body has returned, with the rows of carried arrays."""
    return [leaf.rows if isinstance(leaf, CarriedArray) else leaf for leaf in leaves]


def _rows_of(array: TensorArray, shape: tuple[int | None, ...] | None) -> Tensor:
    """Return the elements of an array as one tensor; zeros of any shape before the shape is known."""
    if isinstance(array, CarriedArray):
        return array.rows
    size = array.size()
    if grows(array):
        raise ControlFlowError(
            "[TensorArray] an array that is a loop variable does not grow: give its size, as in "
            "TensorArray(dtype, size=n), or write to it in a Python loop"
        )
    if shape is None or None in shape:
        return zeros((size,), array.dtype)
    return zeros((size, *shape), array.dtype) if array._is_new else array.stack()
