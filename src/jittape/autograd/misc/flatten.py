"""`flatten`: containers of numbers as vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from jittape.autograd.containers import as_tensor, holds_boxes, mapped
from jittape.numpy_api.numpy_functions import FUNCTIONS

__all__ = ["flatten", "flatten_func"]

Unflatten = Callable[[Any], Any]


def flatten(value: Any) -> tuple[Any, Unflatten]:
    """Return the numbers in nested lists, tuples and dicts as a vector, and a function that restores the structure.

    Parameters
    ----------
    value : float, ndarray or nested container of them
        The entries of a dict are taken in the order of its sorted keys.

    Returns
    -------
    vector : ndarray
        A tensor if a derivative follows an entry.
    unflatten : callable
        ``unflatten(vector)`` returns the numbers of a vector in the structure of `value`.

    Raises
    ------
    TypeError
        If a leaf is not a number.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.autograd.misc import flatten
    >>> vector, unflatten = flatten({"b": [np.array([1.0, 2.0])], "a": 3.0})
    >>> vector
    array([3., 1., 2.])
    >>> unflatten(2.0 * vector)
    {'b': [array([2., 4.])], 'a': np.float64(6.0)}
    """
    leaves, places = _placed(value)
    shapes = [as_tensor(leaf).aval.shape for leaf in leaves]
    sizes = [math.prod(shape) for shape in shapes]
    ends = list(accumulate(sizes))

    def unflatten(vector: Any) -> Any:
        """Return the numbers of `vector` in the structure of the flattened value."""
        if vector.shape != (sum(sizes),):
            raise ValueError(
                f"[flatten] a vector of {sum(sizes)} numbers is needed, got shape {tuple(vector.shape)}"
            )
        parts = [vector[end - n : end] for end, n in zip(ends, sizes, strict=True)]
        return mapped(lambda i: _reshaped(parts[i], shapes[i]), places)

    if not leaves:
        return np.array([]), unflatten
    if not holds_boxes(leaves):
        return np.concatenate([np.ravel(leaf) for leaf in leaves]), unflatten
    return FUNCTIONS[np.concatenate]([FUNCTIONS[np.ravel](as_tensor(leaf)) for leaf in leaves]), unflatten


def _reshaped(part: Any, shape: tuple[int, ...]) -> Any:
    return part.reshape(shape) if shape else part[0]


def _placed(value: Any) -> tuple[list[Any], Any]:
    """Return the leaves of `value`, by sorted keys of dicts, and `value` with their positions instead of them."""
    leaves: list[Any] = []

    def placed(entry: Any) -> Any:
        if isinstance(entry, dict):
            found = {key: placed(entry[key]) for key in sorted(entry)}
            return {key: found[key] for key in entry}
        if isinstance(entry, tuple):
            places = [placed(e) for e in entry]
            return type(entry)(*places) if hasattr(entry, "_fields") else tuple(places)
        if isinstance(entry, list):
            return [placed(e) for e in entry]
        leaves.append(entry)
        return len(leaves) - 1

    return leaves, placed(value)


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Unflatten, Any]:
    """Return a function from containers to containers as a function from vectors to vectors.

    Parameters
    ----------
    func : callable
        Function of a container like `example`, and of further arguments.
    example : container of numbers

    Returns
    -------
    function : callable
        Function of vectors.
    unflatten : callable
        See `flatten`.
    vector : ndarray
        `example` as a vector.

    Examples
    --------
    >>> from jittape.autograd.misc.flatten import flatten_func
    >>> function, unflatten, vector = flatten_func(lambda p: {"a": p["a"] ** 2}, {"a": 3.0})
    >>> function(vector)
    array([9.])
    """
    vector, unflatten = flatten(example)

    def of_vectors(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return of_vectors, unflatten, vector


def __dir__() -> list[str]:
    return sorted(__all__)
