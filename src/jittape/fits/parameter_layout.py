"""Named parameters of a fit as one vector: names of the elements, packing, unpacking, bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jittape.errors import ShapeError
from jittape.primitives.shape.reshaping import reshape
from jittape.recording.tensor import Tensor

__all__ = ["ParameterLayout", "host_array"]

_Array = np.ndarray[Any, Any]
_VECTOR = "p"
"""Name of the parameters if they are one array."""


class _Part(NamedTuple):
    """One array of parameters: its keys in the nested mapping, its shape, its place in the vector."""

    path: tuple[str, ...]
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def name(self) -> str:
        return ".".join(self.path) or _VECTOR


class ParameterLayout:
    """Place of each parameter in the vector that an engine sees.

    Parameters
    ----------
    start : mapping or array-like
        Start values: one array, or numbers and arrays by name; mappings may be nested.
    """

    def __init__(self, start: Any) -> None:
        self.is_mapping = isinstance(start, Mapping)
        self.parts: list[_Part] = []
        values: list[_Array] = []
        size = 0
        for path, value in _leaves(start):
            array = _real_array(value, ".".join(path) or _VECTOR)
            self.parts.append(_Part(path, array.shape, size, size + array.size))
            values.append(array.reshape(-1))
            size += array.size
        if not size:
            raise ValueError("[fit] start has no parameters: give the start value of at least one")
        self.start = np.concatenate(values)
        self.names = [name for part in self.parts for name in _element_names(part)]

    def unpack(self, vector: Any) -> Any:
        """Return the parameters in the structure of the start, from a tensor or an array."""
        if not self.is_mapping:
            return self._part_of(vector, self.parts[0])
        result: dict[str, Any] = {}
        for part in self.parts:
            inner = result
            for key in part.path[:-1]:
                inner = inner.setdefault(key, {})
            inner[part.path[-1]] = self._part_of(vector, part)
        return result

    def _part_of(self, vector: Any, part: _Part) -> Any:
        piece = vector[part.start : part.stop]
        if isinstance(vector, Tensor):
            return reshape(piece, part.shape)
        return piece.reshape(part.shape) if part.shape else float(piece[0])

    def positions(self, names: Iterable[str] | str, argument: str) -> list[int]:
        """Return the places of elements, such as ``"w[2]"``, or of all elements of a parameter."""
        found: list[int] = []
        for name in [names] if isinstance(names, str) else names:
            parts = [part for part in self.parts if part.name == name]
            if parts:
                found += range(parts[0].start, parts[0].stop)
            elif name in self.names:
                found.append(self.names.index(name))
            else:
                known = ", ".join(part.name for part in self.parts)
                raise ValueError(f"[fit] {argument} names {name!r}, but the parameters are {known}")
        return sorted(set(found))

    def bounds(self, given: Any) -> tuple[_Array, _Array]:
        """Return the lower and upper bounds of all elements, infinite where there is none."""
        lower, upper = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        if given is None:
            return lower, upper
        rows = _named_bounds(given, ()) if self.is_mapping else [(_VECTOR, given)]
        for name, pair in rows:
            places = self.positions(name, "bounds")
            low, high = _pair(pair, name)
            shape = next((part.shape for part in self.parts if part.name == name), ())
            lower[places] = _broadcast(-np.inf if low is None else low, shape, name)
            upper[places] = _broadcast(np.inf if high is None else high, shape, name)
        wrong = np.flatnonzero(~(lower < upper))
        if wrong.size:
            i = wrong[0]
            raise ValueError(
                f"[fit] the lower bound of {self.names[i]} must be less than the upper one, got {lower[i]} and "
                f"{upper[i]}; use fixed= for a parameter that does not vary"
            )
        return lower, upper


def host_array(value: Any) -> _Array:
    """Return an array, a list, a tensor or a Variable as an ndarray."""
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _leaves(start: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(start, Mapping):
        yield path, start
        return
    for key, value in start.items():
        if not isinstance(key, str):
            raise TypeError(f"[fit] names of parameters must be strings, got {key!r}")
        yield from _leaves(value, (*path, key))


def _real_array(value: Any, name: str) -> _Array:
    try:
        array = host_array(value)
        real = array.astype(np.float64, casting="same_kind" if array.dtype.kind in "fiub" else "no")
    except (TypeError, ValueError):
        raise TypeError(
            f"[fit] the start of {name} must be a real number or an array of real numbers, got {value!r}"
        ) from None
    if not np.isfinite(real).all():
        raise ValueError(f"[fit] the start of {name} must be finite, got {value!r}")
    return real


def _element_names(part: _Part) -> list[str]:
    if not part.shape:
        return [part.name]
    indices = np.ndindex(part.shape)
    return [f"{part.name}[{','.join(map(str, index))}]" for index in indices]


def _named_bounds(given: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(given, Mapping):
        for key, value in given.items():
            yield from _named_bounds(value, (*path, str(key)))
    elif path:
        yield ".".join(path), given
    else:
        raise TypeError(f"[fit] bounds must map names to pairs (low, high), got {given!r}")


def _pair(pair: Any, name: str) -> tuple[Any, Any]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise ValueError(f"[fit] the bounds of {name} must be a pair (low, high), got {pair!r}") from None
    return low, high


def _broadcast(bound: Any, shape: tuple[int, ...], name: str) -> _Array:
    array = np.asarray(bound, np.float64)
    if array.shape not in ((), shape):
        raise ShapeError(f"[fit] a bound of {name} must have shape () or {shape}, got {array.shape}")
    return np.broadcast_to(array, shape).reshape(math.prod(shape))
