"""The entry of jittape among the backends of einops: ``rearrange``, ``reduce``, ``repeat``, ... record on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from jittape.core.dtypes import is_differentiable
from jittape.primitives.indexing.repetition import tile
from jittape.primitives.linalg.einsum import einsum
from jittape.primitives.shape.joining import concat, stack
from jittape.primitives.shape.reshaping import expand_dims
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators

__all__ = ["register"]


class _Backend:
    """Methods that einops asks of a backend."""

    framework_name = "jittape"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Operators)

    def shape(self, x: Any) -> tuple[int, ...]:
        return tuple(x.shape)

    def from_numpy(self, x: np.ndarray[Any, Any]) -> Any:
        return convert_to_tensor(x)

    def to_numpy(self, x: Any) -> np.ndarray[Any, Any]:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Any:
        return convert_to_tensor(np.arange(start, stop))

    def stack_on_zeroth_dimension(self, tensors: Sequence[Any]) -> Any:
        return stack(list(tensors))

    def add_axis(self, x: Any, new_position: int) -> Any:
        return expand_dims(x, new_position)

    def tile(self, x: Any, repeats: Sequence[int]) -> Any:
        return tile(x, tuple(repeats))

    def concat(self, tensors: Sequence[Any], axis: int) -> Any:
        return concat(list(tensors), axis)

    def is_float_type(self, x: Any) -> bool:
        return is_differentiable(x.aval.dtype)

    def einsum(self, pattern: str, *x: Any) -> Any:
        return einsum(pattern, *x)


def register(backends: ModuleType) -> None:
    """Make the entry in the module ``einops._backends``, once."""
    if not hasattr(
        backends, "JittapeBackend"
    ):  # the attribute keeps the class alive: einops refers to it weakly
        made = type("JittapeBackend", (_Backend, backends.AbstractBackend), {"framework_name": "jittape"})
        backends.JittapeBackend = made  # type: ignore[attr-defined]
