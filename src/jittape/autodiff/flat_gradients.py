"""`jt.flatten_gradients`: all gradients as one array, for sums over processes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from jittape.recording.convert import convert_to_tensor
from jittape.recording.variable_scatter import IndexedSlices

__all__ = ["FlatLayout", "flatten_gradients"]

_Array = np.ndarray[Any, Any]


def flatten_gradients(gradients: Any) -> tuple[_Array, Callable[[_Array], Any]]:
    """Return all gradients as one new array, and a function that restores their structure.

    A sum over processes then sends one message instead of one for each gradient, as in
    ``communicator.Allreduce(MPI.IN_PLACE, flat)`` with mpi4py.

    Parameters
    ----------
    gradients : array, tensor or nested structure of them
        Gradients, also None where there is none.

    Returns
    -------
    flat : ndarray of shape (n,)
        The elements of all gradients in C order, in the dtype that all of them can be converted to.
    unflatten : callable
        Function of an array of shape ``(n,)`` that returns the structure, with arrays of the shapes and dtypes of the
        gradients. The arrays are views of its argument where no conversion is necessary.

    Raises
    ------
    TypeError
        If a gradient is `IndexedSlices`, which has some rows only.
    ValueError
        From `unflatten`, if the argument does not have `n` elements.

    Examples
    --------
    >>> import numpy as np
    >>> import jittape as jt
    >>> flat, unflatten = jt.flatten_gradients({"w": np.ones((2, 2)), "b": np.zeros(2), "unused": None})
    >>> flat
    array([0., 0., 1., 1., 1., 1.])
    >>> unflatten(flat / 2.0)
    {'w': array([[0.5, 0.5],
           [0.5, 0.5]]), 'b': array([0., 0.]), 'unused': None}
    """
    leaves, structure = optree.tree_flatten(gradients, is_leaf=lambda part: isinstance(part, IndexedSlices))
    if any(isinstance(leaf, IndexedSlices) for leaf in leaves):
        raise TypeError("[flatten_gradients] a gradient is IndexedSlices; give it as a tensor of all rows")
    arrays = [x if isinstance(x, np.ndarray) else np.asarray(convert_to_tensor(x).numpy()) for x in leaves]
    dtype = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    flat = np.concatenate([array.reshape(-1) for array in arrays] or [np.zeros(0)], dtype=dtype)
    return flat, FlatLayout(structure, arrays)


class FlatLayout:
    """A function that restores the structure of arrays from their elements in one array.

    Parameters
    ----------
    structure : optree.PyTreeSpec
        The structure.
    arrays : sequence of ndarray
        Its leaves, of which only shapes and dtypes are read.
    """

    def __init__(self, structure: Any, arrays: Sequence[_Array]) -> None:
        self._structure = structure
        self._leaves = [(np.shape(array), array.dtype) for array in arrays]
        self._ends = list(itertools.accumulate([array.size for array in arrays]))

    def __call__(self, values: _Array) -> Any:
        """Return the structure with views of `values` where no conversion is necessary."""
        shape = (self._ends[-1] if self._ends else 0,)
        if values.shape != shape:
            raise ValueError(f"[flatten_gradients] expected an array of shape {shape}, got {values.shape}")
        pieces = np.split(values, self._ends[:-1]) if self._leaves else []
        parts = zip(pieces, self._leaves, strict=True)
        return optree.tree_unflatten(
            self._structure, [piece.reshape(leaf).astype(kind, copy=False) for piece, (leaf, kind) in parts]
        )
