"""Elements of datasets: structures of tensors, rows of arrays, and batches of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.argument_checks import listed
from jittape.core.dtypes import as_dtype
from jittape.core.tensor_shape import TensorShape
from jittape.core.user_calls import as_int, named
from jittape.errors import ShapeError
from jittape.recording.convert import convert_to_tensor
from jittape.recording.tensor import Tensor, tensor_of

__all__ = [
    "Rows",
    "as_element",
    "element_like",
    "flatten_element",
    "pad_and_stack",
    "rows_of",
    "same_kind",
    "shown_structure",
    "split_leaves",
    "stack",
    "unstack",
]

Rebuild = Callable[[list[Any]], Any]


def flatten_element(structure: Any) -> tuple[list[Any], Any]:
    """Return the leaves of nested tuples and dicts, and their structure.

    As in TensorFlow, a list is a leaf, and None is a part of the structure, as in ``(features, None)``.
    """
    import optree  # takes 60 ms

    leaves, tree = optree.tree_flatten(
        structure, is_leaf=lambda x: isinstance(x, list), none_is_leaf=structure is None, namespace="jittape"
    )
    return leaves, tree


def shown_structure(tree: Any) -> str:
    """Return the structure of an element as text, with an asterisk for each tensor."""
    return re.sub(r"^PyTreeSpec\((.*?)(, NoneIsLeaf)?(, namespace=.*)?\)$", r"\1", str(tree))


def as_element(structure: Any, method: str | None = None) -> Any:
    """Return `structure`, which a function given to `method` has returned, with every leaf as a tensor."""
    if isinstance(structure, Tensor):
        return structure
    leaves, tree = flatten_element(structure)
    return tree.unflatten([_tensor(method, leaf) for leaf in leaves])


def _tensor(method: str | None, leaf: Any, dtype: Any = None) -> Tensor:
    """Return a part of an element as a tensor; errors name the method of the dataset."""
    try:
        return convert_to_tensor(leaf, dtype)
    except (TypeError, ValueError) as error:
        raise error if method is None else named(error, f"Dataset.{method}") from None


def element_like(dtypes: Any, shapes: Any, signature: Any) -> Callable[[Any], Any]:
    """Return a function that makes an element with these dtypes and shapes, or those of `signature`, of a structure."""
    if signature is None and dtypes is None:
        return as_element
    specs, tree = flatten_element(signature if signature is not None else dtypes)
    if signature is None:
        extents = [None] * len(specs) if shapes is None else tree.flatten_up_to(shapes)
        wanted = [(as_dtype(dtype), TensorShape(shape)) for dtype, shape in zip(specs, extents, strict=True)]
    else:
        wanted = [(as_dtype(spec.dtype), spec.shape) for spec in specs]

    def convert(structure: Any) -> Any:
        leaves, found = flatten_element(structure)
        if found != tree:
            raise ValueError(
                f"[Dataset.from_generator] an element must have the structure {shown_structure(tree)}, got "
                f"{structure!r}"
            )
        pairs = zip(leaves, wanted, strict=True)
        tensors = [_tensor("from_generator", leaf, dtype) for leaf, (dtype, _) in pairs]
        for tensor, (_, shape) in zip(tensors, wanted, strict=True):
            if not shape.is_compatible_with(tensor.shape):
                raise ShapeError(
                    f"[Dataset.from_generator] an element must have the shape {shape}, got {tensor.shape}"
                )
        return tree.unflatten(tensors)

    return convert


class Rows(NamedTuple):
    """Arrays of equal length, whose rows are the elements of a dataset.

    Attributes
    ----------
    arrays : list of ndarray
        Read-only.
    tree : PyTreeSpec
        Structure of an element.
    """

    arrays: list[np.ndarray[Any, Any]]
    tree: Any

    def row(self, index: int) -> Any:
        """Return one element."""
        return self.tree.unflatten([tensor_of(array[index, ...]) for array in self.arrays])

    def batch(self, indices: Sequence[int]) -> Any:
        """Return several elements in one; rows that follow one another are a view of the arrays."""
        first, count = indices[0], len(indices)
        if list(indices) == list(range(first, first + count)):
            return self.tree.unflatten([tensor_of(array[first : first + count]) for array in self.arrays])
        return self.tree.unflatten([tensor_of(array[np.asarray(indices)]) for array in self.arrays])


def rows_of(name: str, tensors: Any) -> Rows:
    """Return the rows of the first dimension of `tensors`, which must be equal for all.

    Raises
    ------
    ValueError
        For no tensors, a scalar, or different lengths.
    """
    leaves, tree = flatten_element(tensors)
    arrays = [convert_to_tensor(leaf).numpy() for leaf in leaves]
    if not arrays:
        raise ValueError(f"[{name}] tensors must contain at least one array, got {tensors!r}")
    for array in arrays:
        if not array.ndim:
            raise ShapeError(
                f"[{name}] a scalar has no rows; Dataset.from_tensors makes a dataset of one element"
            )
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise ShapeError(
            f"[{name}] all arrays must have the same number of rows, got shapes {[a.shape for a in arrays]}"
        )
    return Rows(arrays, tree)


def stack(elements: Sequence[Any]) -> Any:
    """Return `elements`, whose structures, shapes and dtypes must be equal, as one with a new first dimension."""
    flat = [flatten_element(element) for element in elements]
    tree = flat[0][1]
    if any(other != tree for _, other in flat):
        found = sorted({shown_structure(other) for _, other in flat})
        raise ValueError(f"[Dataset.batch] elements must have one structure, got {' and '.join(found)}")
    stacked = []
    for parts in zip(*[leaves for leaves, _ in flat], strict=True):
        kinds = {(part.shape, part.dtype) for part in parts}
        if len(kinds) > 1:
            raise ShapeError(
                "[Dataset.batch] elements must have equal shapes and dtypes, got "
                f"{', '.join(sorted(f'{dtype.name}{list(shape)}' for shape, dtype in kinds))}"
            )
        stacked.append(tensor_of(np.stack([part.numpy() for part in parts])))
    return tree.unflatten(stacked)


def split_leaves(elements: Sequence[Any], make: Callable[[list[Any]], Any]) -> Any:
    """Return ``make(parts)`` for the parts of `elements` at each place of their structure."""
    flat = [flatten_element(element) for element in elements]
    return flat[0][1].unflatten(
        [make(list(parts)) for parts in zip(*[leaves for leaves, _ in flat], strict=True)]
    )


def same_kind(method: str, state: Any, other: Any) -> Any:
    """Return `other`; raise unless it has the structure and the dtypes of `state`."""
    (leaves, tree), (found, its) = flatten_element(state), flatten_element(other)
    if tree != its or [x.dtype for x in leaves] != [x.dtype for x in found]:
        raise TypeError(
            f"[Dataset.{method}] the state must keep its structure and dtypes: "
            f"{tree.unflatten([x.dtype.name for x in leaves])} became {its.unflatten([x.dtype.name for x in found])}"
        )
    return other


def pad_and_stack(elements: Sequence[Any], shapes: Any, values: Any) -> Any:
    """Return `elements` of different shapes as one with a new first dimension, padded at their ends.

    Parameters
    ----------
    elements : sequence
    shapes : nested shapes, optional
        None, and None or -1 in a shape, is the greatest extent.
    values : nested scalars, optional
    """
    flat = [flatten_element(element) for element in elements]
    tree = flat[0][1]
    columns = list(zip(*[leaves for leaves, _ in flat], strict=True))
    wanted = [None] * len(columns) if shapes is None else tree.flatten_up_to(shapes)
    fills = [0] * len(columns) if values is None else tree.flatten_up_to(values)
    stacked = []
    for parts, shape, fill in zip(columns, wanted, fills, strict=True):
        given = _padded_shape(parts, shape)
        value = _tensor("padded_batch", 0 if fill is None else fill, parts[0].dtype)
        if value.shape:
            raise ShapeError(
                f"[Dataset.padded_batch] padding_values must be scalars, got one of shape {value.shape}"
            )
        batch = np.full((len(parts), *given), value.numpy(), parts[0].dtype)
        for i, part in enumerate(parts):
            place: tuple[Any, ...] = (i, *[slice(n) for n in part.shape])
            batch[place] = part.numpy()
        stacked.append(tensor_of(batch))
    return tree.unflatten(stacked)


def _padded_shape(parts: Sequence[Tensor], shape: Any) -> list[int]:
    """Return the shape that holds all of `parts`; None and -1 in `shape` are their greatest extents."""
    extents: list[int] = [max(lengths) for lengths in zip(*[part.shape for part in parts], strict=False)]
    given = extents if shape is None else listed("Dataset.padded_batch", "padded_shapes", shape)
    if {part.ndim for part in parts} == {len(given)}:
        given = [
            n if g in (None, -1) else as_int("padded_shapes", g) for g, n in zip(given, extents, strict=True)
        ]
        if all([g >= n for g, n in zip(given, extents, strict=True)]):
            return given
    raise ShapeError(
        f"[Dataset.padded_batch] elements of the shapes {[tuple(part.shape) for part in parts]} do not fit into "
        f"padded_shapes {shape}"
    )


def unstack(element: Any) -> list[Any]:
    """Return the rows of a batch as elements."""
    rows = rows_of("Dataset.unbatch", element)
    return [rows.row(index) for index in range(len(rows.arrays[0]))]
