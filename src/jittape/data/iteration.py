"""`Iterated`: a stream of items and the elements made of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from jittape.data.dataset_iterator import Iterator as DatasetIterator
from jittape.data.dataset_iterator import refuse_elements
from jittape.data.elements import Rows
from jittape.data.missing_methods import Explained, missing_method
from jittape.errors import OutOfRangeError
from jittape.recording.convert import constant
from jittape.recording.nested import flatten
from jittape.recording.tensor import Tensor

__all__ = ["INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Iterated"]

INFINITE_CARDINALITY = -1
"""Result of `Dataset.cardinality` for a dataset without end."""
UNKNOWN_CARDINALITY = -2
"""Result of `Dataset.cardinality` for a dataset whose number of elements is not known before it is iterated over."""


class Iterated(metaclass=Explained):
    """A function that begins a stream of items, and a function that makes an element of an item."""

    def __init__(
        self,
        items: Callable[[], Iterator[Any]],
        count: int,
        element: Callable[[Any], Any] | None = None,
        rows: Rows | None = None,
        spec: Callable[[], Any] | None = None,
    ) -> None:
        self._items = items
        self._count = count
        self._element = element
        self._rows = rows
        self._spec = spec

    def __getattr__(self, name: str) -> Any:
        raise missing_method(type(self), name)

    def _with(self, items: Callable[[], Iterator[Any]], count: int) -> Self:
        """Return a dataset with another stream of the same kind of items."""
        return type(self)(items, count, self._element, self._rows, self._spec)

    def _elements(self) -> Iterator[Any]:
        return self._items() if self._element is None else map(self._element, self._items())

    @property
    def element_spec(self) -> Any:
        """The shapes and dtypes of the elements, as nested `jt.TensorSpec`; None stands for extents that vary.

        For `map`, `scan`, `flat_map`, `interleave` and `group_by_window`, reading it computes the first elements. A
        window has a `jt.data.DatasetSpec`.

        Raises
        ------
        NotImplementedError
            For generators without a signature.

        Examples
        --------
        >>> jt.data.Dataset.from_tensor_slices(np.zeros((5, 3), "float32")).batch(2).element_spec
        TensorSpec(shape=(None, 3), dtype=float32, name=None)
        """
        if self._spec is None:
            raise NotImplementedError(
                "[Dataset.element_spec] the shapes of these elements are not known before a pass, as those of a "
                "generator without output_signature; next(iter(dataset)) has shape and dtype"
            )
        return self._spec()

    def cardinality(self) -> Tensor:
        """Return the number of elements, `INFINITE_CARDINALITY` or `UNKNOWN_CARDINALITY`, as an int64 tensor.

        Examples
        --------
        >>> jt.data.Dataset.range(5).batch(2).cardinality().numpy().item()
        3
        """
        return constant(np.int64(self._count))

    def __len__(self) -> int:
        if self._count < 0:
            kind = "infinite" if self._count == INFINITE_CARDINALITY else "unknown before a pass"
            raise TypeError(
                f"the number of elements of this dataset is {kind}; take(n) gives one of n elements"
            )
        return self._count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> DatasetIterator:
        refuse_elements()
        return DatasetIterator(self._after, lambda: self.element_spec)

    def _after(self, count: int) -> Iterator[Any]:
        """Begin a pass and leave out the first `count` elements."""
        items = self._items()
        found = sum(1 for _ in itertools.islice(items, count))
        if found < count:
            raise OutOfRangeError(
                f"the restored position of the iterator is {count}, but this dataset has only {found} elements: "
                "restore it with the dataset that it had when the checkpoint was written"
            )
        return items if self._element is None else map(self._element, items)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Return an iterator over the elements as NumPy arrays, or NumPy scalars where they have no dimensions.

        Examples
        --------
        >>> list(jt.data.Dataset.range(2).batch(2).as_numpy_iterator())
        [array([0, 1])]
        """
        for element in self:
            leaves, rebuild = flatten(element)
            for leaf in leaves:
                if isinstance(leaf, Iterated):
                    raise TypeError(
                        "[Dataset.as_numpy_iterator] elements must be tensors, and those of window() are datasets: "
                        "use flat_map(lambda window: window.batch(n))"
                    )
            yield rebuild([leaf.numpy()[()] for leaf in leaves])

    def __repr__(self) -> str:
        known = {INFINITE_CARDINALITY: "infinite", UNKNOWN_CARDINALITY: "unknown"}
        return f"<jt.data.Dataset: cardinality {known.get(self._count, self._count)}>"
