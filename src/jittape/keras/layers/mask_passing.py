"""How the call of a layer finds the masks of its inputs, and gives its results masks."""

from __future__ import annotations

import inspect
import warnings
from functools import cache
from typing import Any

import numpy as np

from jittape.core.user_calls import stack_level
from jittape.keras.tensor_masks import mask_of, set_mask
from jittape.keras.true_and_predicted import as_tensor
from jittape.primitives.identity import identity
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators

__all__ = ["mask_arguments", "masks_of", "named_training", "parameters_of_call", "pass_masks", "with_masks"]


def masks_of(structure: Any) -> Any:
    """Return the masks of tensors in the same structure; None if no tensor has one."""
    if isinstance(structure, Operators):
        return mask_of(structure)
    leaves, rebuild = flatten(structure)
    masks = [mask_of(leaf) for leaf in leaves]
    return rebuild(masks) if any(mask is not None for mask in masks) else None


def with_masks(structure: Any, masks: Any) -> Any:
    """Return tensors with masks of the same structure. The tensors that the caller has keep their own."""
    if masks is None:
        return structure
    leaves, rebuild = flatten(structure)
    made = []
    for leaf, mask in zip(leaves, flatten(masks)[0], strict=True):
        if mask is not None and mask_of(leaf) is not mask:
            leaf = identity(as_tensor(leaf))
            set_mask(leaf, as_tensor(mask))
        made.append(leaf)
    return rebuild(made)


def named_training(
    kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with those by position from `training` on by name."""
    names = _positional(kind)[: len(args)]
    if "training" not in names or "training" in kwargs:
        return args, kwargs
    at = names.index("training")
    return args[:at], kwargs | dict(zip(names[at:], args[at:], strict=False))


def mask_arguments(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for the masks of inputs that `call` takes and that the caller did not give.

    As in Keras: with one tensor among the arguments this is ``mask``; with several ones, ``x_mask`` for each tensor
    ``x``.
    """
    kind: Any = type(layer)
    names = _positional(kind)
    given = dict(zip(names, args, strict=False)) | kwargs
    tensors = {name: value for name, value in given.items() if _is_tensors(value)}
    wanted = [("mask", value) for value in tensors.values()]
    if len(tensors) > 1:
        wanted = [(f"{name}_mask", value) for name, value in tensors.items()]
    found = {name: masks_of(value) for name, value in wanted if name in names and given.get(name) is None}
    # An argument that the caller gave by position is None, and stays where it is.
    return {name: mask for name, mask in found.items() if mask is not None and name not in names[: len(args)]}


def pass_masks(layer: Any, inputs: Any, mask: Any, result: Any) -> None:
    """Give the results of a layer the masks that its `compute_mask` returns."""
    if not layer.supports_masking:
        if mask is not None and not any(hasattr(part, "supports_masking") for part in layer.submodules):
            warnings.warn(
                f"[{type(layer).__name__}] layer {layer.name!r} was given inputs with a mask and does not pass masks "
                "on: later layers, losses and metrics count all steps; set supports_masking = True in a layer of your "
                "own whose results have the mask of its inputs",
                stacklevel=stack_level(),
            )
        return
    leaves, _ = flatten(result)
    if all(mask_of(leaf) is not None for leaf in leaves):
        return
    masks = layer.compute_mask(inputs, mask)
    if masks is None:
        return
    for leaf, found in zip(leaves, flatten(masks)[0], strict=False):
        if found is not None and isinstance(leaf, Operators) and mask_of(leaf) is None:
            set_mask(leaf, as_tensor(found))


def _is_tensors(value: Any) -> bool:
    """Return whether an argument is a tensor or a list of tensors."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(x, (Operators, np.ndarray)) for x in value)
    return isinstance(value, (Operators, np.ndarray))


@cache
def _positional(kind: Any) -> tuple[str, ...]:
    """Return the parameters of `call` without ``self``, in order."""
    return tuple(inspect.signature(kind.call).parameters)[1:]


@cache
def parameters_of_call(kind: Any) -> frozenset[str]:
    """Return the names of the parameters of `call`; ``"**"`` for any."""
    found = inspect.signature(kind.call).parameters.values()
    return frozenset("**" if p.kind is p.VAR_KEYWORD else p.name for p in found)
