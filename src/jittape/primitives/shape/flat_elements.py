"""`FlatElements`: the attribute `flat` of tensors."""

from __future__ import annotations

from typing import Any

from jittape.primitives.shape.reshaping import reshape

__all__ = ["FlatElements"]


class FlatElements:
    """The elements of a tensor in order, as 0-d tensors. Writes to the elements are writes to the tensor."""

    __slots__ = ("_rest", "_tensor")

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self._rest: Any = None

    def __iter__(self) -> FlatElements:
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            self._rest = iter(self._tensor.ravel())
        return next(self._rest)

    def __len__(self) -> int:
        return int(self._tensor.size)

    def __getitem__(self, key: Any) -> Any:
        return self._tensor.ravel()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._tensor._require_kept()
        elements = self._tensor.ravel()
        elements[key] = value
        self._tensor[...] = reshape(elements, tuple(self._tensor.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._tensor.ravel().__array__(dtype, copy)

    def copy(self) -> Any:
        """Return the elements as a vector."""
        return self._tensor.ravel()
