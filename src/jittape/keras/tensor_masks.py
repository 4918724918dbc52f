"""Masks of tensors, which say which steps of sequences count; layers pass them on.

A mask belongs to a tensor object, as in Keras: operations outside layers give tensors without masks.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

from jittape.core.dtypes import bool_
from jittape.errors import ShapeError
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.reshaping import broadcast_to, expand_dims
from jittape.recording.tensor import Tensor

__all__ = ["MASKS", "as_mask", "mask_of", "set_mask", "weights_with_mask"]

MASKS: dict[int, tuple[Any, Any]] = {}
"""Number of a tensor object -> a weak reference to it, and its mask. While it is empty, layers search for no masks."""


def mask_of(x: Any) -> Any:
    """Return the mask of a tensor; None without one."""
    found = MASKS.get(id(x))
    return found[1] if found is not None and found[0]() is x else None


def set_mask(x: Any, mask: Any) -> None:
    """Give a tensor a mask, or remove it if `mask` is None."""
    if mask is None:
        MASKS.pop(id(x), None)
    else:
        MASKS[id(x)] = ref(x, partial(_forget, id(x))), mask


def _forget(number: int, reference: Any) -> None:
    """Remove the mask of a tensor that no longer exists; a new one may have its number."""
    found = MASKS.get(number)
    if found is not None and found[0] is reference:
        del MASKS[number]


def as_mask(op: str, mask: Any, shape: Any) -> Any:
    """Return a mask as bool in `shape`, whose first dimensions it has.

    Raises
    ------
    ShapeError
        If it has others.
    """
    mask = cast(as_tensor(mask), bool_)
    if mask.ndim == len(shape) + 1 and mask.shape[-1] == 1:
        mask = mask[..., 0]
    if tuple(mask.shape) != tuple(shape)[: mask.ndim]:
        raise ShapeError(
            f"[{op}] the mask of y_pred must have the first dimensions of the values, got a mask of shape "
            f"{tuple(mask.shape)} for values of shape {tuple(shape)}"
        )
    while mask.ndim < len(shape):
        mask = expand_dims(mask, -1)
    return broadcast_to(mask, shape)


def weights_with_mask(sample_weight: Any, mask: Any, dtype: Any) -> Any:
    """Return the weights of examples, 0 where the mask is False."""
    mask = cast(mask, dtype)
    if sample_weight is None:
        return mask
    weights = cast(as_tensor(sample_weight), dtype)
    if weights.ndim == mask.ndim + 1 and weights.shape[-1] == 1:
        weights = weights[..., 0]
    while weights.ndim < mask.ndim:
        weights = expand_dims(weights, -1)
    return multiply(weights, mask)


Tensor._keras_mask = property(mask_of)  # type: ignore[attr-defined]  # programs read this attribute of Keras
