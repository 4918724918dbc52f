"""Nested lists, tuples and dicts of numbers: varied arguments as tensors, and results as NumPy values.

If all varied values are ndarrays and numbers and nothing records the call, the results are ndarrays and NumPy scalars,
as in autograd. Otherwise, inside another derivative, the results are tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import is_differentiable
from jittape.core.primitive import active
from jittape.core.traced_scalar import TracedScalar
from jittape.primitives.identity import identity
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor, tensor_of
from jittape.recording.trie_insertion import operand_of

__all__ = [
    "Boxes",
    "as_numpy",
    "as_tensor",
    "holds_boxes",
    "is_box",
    "leaves_of_value",
    "like",
    "mapped",
    "numpy_value",
    "subval",
    "subvals",
]

_FLOAT = np.dtype(np.float64)
_LEAVES = frozenset((Tensor, np.ndarray, float, np.float64))


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return `value`, a nested container, with `function` applied to each leaf."""
    kind = value.__class__
    if kind in _LEAVES:  # by far the most frequent
        return function(value)
    if kind is list:
        return [mapped(function, v) for v in value]
    if kind is tuple:
        return tuple([mapped(function, v) for v in value])
    if kind is dict:
        return {key: mapped(function, v) for key, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[mapped(function, v) for v in value])
    if isinstance(value, (list, tuple)):
        return kind([mapped(function, v) for v in value])
    if isinstance(value, dict):  # an OrderedDict or a defaultdict
        result = copy.copy(value)
        result.update({key: mapped(function, v) for key, v in value.items()})
        return result
    return function(value)


def leaves_of_value(value: Any) -> list[Any]:
    """Return the leaves of a nested container, in order."""
    if value.__class__ in _LEAVES:
        return [value]
    leaves: list[Any] = []
    mapped(leaves.append, value)
    return leaves


def like(structure: Any, leaves: Iterable[Any]) -> Any:
    """Return `leaves` in the structure of `structure`."""
    remaining = iter(leaves)
    if structure.__class__ in _LEAVES:
        return next(remaining)
    return mapped(lambda _: next(remaining), structure)


def is_box(value: Any) -> bool:
    """Return whether `value` is a tensor or a Variable: a value that a derivative may follow."""
    return isinstance(value, Operators)


def holds_boxes(value: Any) -> bool:
    """Return whether `value` is a tensor, or a container with a tensor among its leaves."""
    if isinstance(value, (list, tuple, dict)):
        return any(isinstance(leaf, Operators) for leaf in leaves_of_value(value))
    return isinstance(value, Operators)


def numpy_value(leaf: Any) -> Any:
    """Return a new ndarray, or a NumPy scalar, with the value of a tensor; any other value unchanged."""
    if not isinstance(leaf, Operators):
        return leaf
    array = leaf._computed().array
    return array.copy() if array.ndim else array[()]


def as_numpy(value: Any) -> Any:
    """Return `value`, a nested container, with NumPy values instead of tensors."""
    if value.__class__ is Tensor:
        return numpy_value(value)
    return mapped(numpy_value, value)


def as_tensor(value: Any) -> Any:
    """Return a leaf as a tensor with NumPy's dtype: Python floats become float64.

    Raises
    ------
    TypeError
        For values that are not numbers.
    """
    if isinstance(value, (Operators, TracedScalar)):
        return value if value.__class__ is Tensor else convert_to_tensor(value)
    if value.__class__ is np.ndarray and value.dtype is _FLOAT:
        return _operand(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"Can't find vector space for value {value!r} of type {type(value)}.")
    return tensor_of(np.array(array, order="C"))


class Boxes:
    """A varied argument with tensors in place of its leaves.

    Parameters
    ----------
    value : float, complex, ndarray, tensor or nested container of them
        The argument.
    recorded : bool
        Whether a tape or a traced function was recording before the derivative began.

    Attributes
    ----------
    argument : same structure as `value`
        The argument for the function.
    leaves : list of Tensor
        The tensors in `argument`, in order.
    host : bool
        Whether results are returned as NumPy values.
    is_complex : bool
        Whether a leaf is complex.

    Raises
    ------
    TypeError
        If a leaf is not a floating or complex number or array.
    """

    __slots__ = ("argument", "host", "is_complex", "leaves")

    def __init__(self, value: Any, recorded: bool) -> None:
        self.host = not recorded
        self.is_complex = False
        if value.__class__ is np.ndarray and value.dtype is _FLOAT:
            self.argument = tensor = _operand(value)
            self.leaves: list[Tensor] = [tensor]
        else:
            self.leaves = []
            self.argument = mapped(self._boxed, value)

    def _boxed(self, leaf: Any) -> Tensor:
        kind = leaf.__class__
        if kind is np.ndarray and leaf.dtype is _FLOAT:
            tensor = _operand(leaf)
        elif kind is float:
            tensor = _operand(np.array(leaf))
        elif isinstance(leaf, Operators):
            self.host = False
            tensor = identity(leaf)
        elif isinstance(leaf, TracedScalar):
            self.host = False
            tensor = convert_to_tensor(leaf, _FLOAT)
        elif isinstance(leaf, (float, complex, np.ndarray, np.generic)):
            array = np.asarray(leaf)
            tensor = _operand(array) if is_differentiable(array.dtype) else _refuse(array)
        else:
            tensor = _refuse(leaf)
        if tensor.aval.dtype.kind != "f":
            if tensor.aval.dtype.kind != "c":
                _refuse(tensor)
            self.is_complex = True
        self.leaves.append(tensor)
        return tensor

    def structured(self, results: Iterable[Any]) -> Any:
        """Return one result for each leaf in the structure of the argument."""
        if self.argument.__class__ is Tensor:
            return next(iter(results))
        return like(self.argument, results)

    def as_output(self, value: Any) -> Any:
        """Return `value` with NumPy values instead of tensors if `host` is set."""
        return as_numpy(value) if self.host else value


def _operand(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor with a copy of an array."""
    tensor: Tensor = operand_of(array) if active.recorder.traced_in is None else tensor_of(np.array(array))
    return tensor


def _refuse(leaf: Any) -> Any:
    """Raise autograd's error for a leaf that is not a floating number."""
    of = f" of dtype {leaf.dtype}" if hasattr(leaf, "dtype") else ""
    raise TypeError(
        f"Can't differentiate w.r.t. type {type(leaf)}{of}: give a float, an array of floats or complex numbers, or a "
        "list, tuple or dict of them"
    )


def subvals(x: Sequence[Any], ivs: Any) -> tuple[Any, ...]:
    """Return a tuple like `x` with other entries.

    Parameters
    ----------
    x : sequence
    ivs : iterable of (int, object)
        Positions and new entries.

    Raises
    ------
    IndexError
        If a position is out of range.
    ValueError
        If an element of `ivs` is no pair.

    Examples
    --------
    >>> from jittape.autograd.extend import subvals
    >>> subvals([1, 2, 3], [(0, 5)])
    (5, 2, 3)
    """
    changed = list(x)
    for pair in ivs:
        try:
            i, value = pair
        except (TypeError, ValueError):
            raise ValueError(
                f"[subvals] ivs must contain pairs of a position and an entry, got {pair!r}"
            ) from None
        _put("subvals", changed, i, value)
    return tuple(changed)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a tuple like `x` with the entry `i` replaced by `v`.

    Parameters
    ----------
    x : sequence
    i : int
    v : object

    Raises
    ------
    IndexError
        If `i` is out of range.

    Examples
    --------
    >>> from jittape.autograd.extend import subval
    >>> subval([1, 2, 3], 0, 5)
    (5, 2, 3)
    """
    changed = list(x)
    _put("subval", changed, i, v)
    return tuple(changed)


def _put(op: str, entries: list[Any], i: int, v: Any) -> None:
    try:
        entries[i] = v
    except IndexError:
        raise IndexError(f"[{op}] position {i} is out of range for {len(entries)} entries") from None
