"""Shapes and dtypes of the elements of datasets, before a pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from jittape.core.tensor_shape import TensorShape
from jittape.data.elements import as_element, flatten_element
from jittape.functions.signature import TensorSpec
from jittape.recording.tensor import tensor_of

__all__ = [
    "DatasetSpec",
    "SpecNeedsElements",
    "batched",
    "common_spec",
    "count_of_rows",
    "mapped",
    "merged",
    "padded",
    "require_elements",
    "scanned",
    "spec_of",
    "spec_of_signature",
    "unbatched",
]


class SpecNeedsElements(NotImplementedError):
    """Raised by `require_elements`."""


class _Thread(threading.local):
    computes = True


_thread = _Thread()


def require_elements() -> None:
    """Raise `SpecNeedsElements` if specs are to be found without the user's functions."""
    if not _thread.computes:
        raise SpecNeedsElements


def count_of_rows(count: int, spec: Callable[[], Any] | None) -> int:
    """Return the cardinality of the rows of `count` elements, without a run of the user's functions.

    Datasets without end have the cardinality -1; -2 stands for an unknown number.
    """
    if count <= 0:
        return count
    before, _thread.computes = _thread.computes, False
    try:
        leaves, _ = flatten_element(None if spec is None else spec())
    except SpecNeedsElements:
        return -2
    finally:
        _thread.computes = before
    shape = leaves[0].shape if leaves and isinstance(leaves[0], TensorSpec) else TensorShape(None)
    return -2 if not shape.rank or shape[0] is None else count * shape[0]


class DatasetSpec:
    """The specs of the elements of a dataset, such as the windows that `Dataset.window` makes.

    Parameters
    ----------
    element_spec : nested TensorSpec or DatasetSpec
        Shapes and dtypes of the elements.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.data.Dataset.range(5).window(3).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=int64, name=None))
    """

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    @classmethod
    def from_value(cls, value: Any) -> DatasetSpec:
        """Return the spec of a dataset."""
        return cls(value.element_spec)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a dataset or another spec has this structure, these dtypes and shapes that match."""
        leaves, tree = flatten_element(self.element_spec)
        others, its = flatten_element(spec_or_value.element_spec)
        return tree == its and all(
            [type(a) is type(b) and a.is_compatible_with(b) for a, b in zip(leaves, others, strict=True)]
        )

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        leaves, _ = flatten_element(self.element_spec)
        return hash(tuple(leaves))


def _spec(shape: Any, dtype: Any) -> TensorSpec:
    return TensorSpec(TensorShape(shape), dtype)


def spec_of(element: Any, rows: bool = False) -> Any:
    """Return the specs of the tensors of an element, or of the rows of arrays."""
    leaves, tree = flatten_element(element)
    return tree.unflatten(
        [
            DatasetSpec(leaf.element_spec)
            if hasattr(leaf, "element_spec")
            else _spec(tuple(leaf.shape)[rows:], leaf.dtype)
            for leaf in leaves
        ]
    )


def spec_of_signature(dtypes: Any, shapes: Any, signature: Any) -> Any:
    """Return the specs that `Dataset.from_generator` was given; None if it was given none."""
    if signature is not None:
        leaves, tree = flatten_element(signature)
        return tree.unflatten([_spec(spec.shape, spec.dtype) for spec in leaves])
    if dtypes is None:
        return None
    leaves, tree = flatten_element(dtypes)
    extents = [None] * len(leaves) if shapes is None else tree.flatten_up_to(shapes)
    return tree.unflatten([_spec(shape, dtype) for shape, dtype in zip(extents, leaves, strict=True)])


def _changed(spec: Any, change: Callable[[tuple[Any, ...]], Any]) -> Any:
    """Return specs with other shapes; an unknown rank remains unknown."""
    leaves, tree = flatten_element(spec)
    return tree.unflatten(
        [_spec(None if leaf.shape.rank is None else change(tuple(leaf.shape)), leaf.dtype) for leaf in leaves]
    )


def batched(spec: Any, size: int | None) -> Any:
    """Return the specs of batches of `size` elements; None stands for batches of different sizes."""
    return _changed(spec, lambda shape: (size, *shape))


def padded(spec: Any, shapes: Any, size: int | None) -> Any:
    """Return the specs of padded batches of `size` elements."""
    if shapes is None:
        return batched(spec, size)
    leaves, tree = flatten_element(spec)
    given = [
        leaf.shape if shape is None else shape
        for leaf, shape in zip(leaves, tree.flatten_up_to(shapes), strict=True)
    ]
    extents = [[None if n == -1 else n for n in shape] for shape in given]
    return tree.unflatten(
        [_spec((size, *shape), leaf.dtype) for shape, leaf in zip(extents, leaves, strict=True)]
    )


def unbatched(spec: Any) -> Any:
    """Return the specs of the rows."""
    return _changed(spec, lambda shape: shape[1:])


def merged(first: Any, second: Any) -> Any:
    """Return specs that hold for the elements of two datasets: None for extents that differ."""
    leaves, tree = flatten_element(first)
    others = tree.flatten_up_to(second)
    return tree.unflatten([_merged(a, b) for a, b in zip(leaves, others, strict=True)])


def common_spec(datasets: Iterable[Any]) -> Any:
    """Return specs that hold for the elements of all datasets."""
    return reduce(merged, [data.element_spec for data in datasets])


def _merged(first: Any, second: Any) -> Any:
    if isinstance(first, DatasetSpec):
        return DatasetSpec(merged(first.element_spec, second.element_spec))
    return _spec(_common(first.shape, second.shape), first.dtype)


def _common(first: TensorShape, second: TensorShape) -> Any:
    if first.rank is None or first.rank != second.rank:
        return None
    return tuple([n if n == m else None for n, m in zip(first, second, strict=True)])


def mapped(function: Callable[[Any], Any], spec: Any, elements: Sequence[Any]) -> Any:
    """Return the specs of the results of a function of elements, given the first ones.

    If an extent of the elements is unknown, the function is called with a longer element too. Extents of the results
    that change are unknown.
    """
    leaves, tree = flatten_element(spec)
    unknown = [
        [axis for axis, extent in enumerate(leaf.shape) if extent is None]
        if isinstance(leaf, TensorSpec) and leaf.shape.rank is not None
        else []
        for leaf in leaves
    ]
    longer = []
    for tensor, axes in zip(tree.flatten_up_to(elements[0]), unknown, strict=True):
        for axis in axes:
            tensor = tensor_of(np.concatenate([tensor.numpy(), tensor.numpy()], axis))
        longer.append(tensor)
    more = [tree.unflatten(longer)] if any(unknown) else []
    return reduce(merged, [spec_of(as_element(function(element))) for element in (*elements, *more)])


def scanned(function: Callable[[Any, Any], Any], state: Any, spec: Any, element: Any) -> Any:
    """Return the specs of the results of ``state, result = function(state, element)``, given the first element.

    The function is called with the first state and the one after it. Extents of the results that differ are unknown.
    """

    def result(before: Any, part: Any) -> Any:
        return function(before, part)[1]

    after, _ = function(state, element)
    return merged(*[mapped(partial(result, before), spec, [element]) for before in (state, after)])
