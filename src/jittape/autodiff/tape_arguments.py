"""Arguments of `GradientTape`'s methods: targets, sources and seeds."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from jittape.autodiff.gradient_diagnostics import GradientQuery
from jittape.core.dtypes import is_differentiable
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten_like
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.trace import Trace

__all__ = [
    "UnconnectedGradients",
    "check_batch_shapes",
    "check_source",
    "check_target",
    "check_watched",
    "entries_like",
    "fitting",
    "seed_slots",
    "seeds_for",
    "wants_zeros",
]

_NON_FLOAT_LOGS = 5
"""Maximum number of log messages about watched integers."""


class UnconnectedGradients(enum.Enum):
    """Gradient with respect to a source that the target does not depend on.

    Attributes
    ----------
    NONE
        ``None``, with a warning that gives the reason.
    ZERO
        Zeros of the source's shape.
    """

    NONE = "none"
    ZERO = "zero"


def wants_zeros(choice: UnconnectedGradients | str) -> bool:
    """Return whether `choice`, a member of the enum or its value, is ZERO."""
    if not isinstance(choice, UnconnectedGradients):
        try:
            choice = UnconnectedGradients(choice)
        except ValueError:
            raise ValueError(f"Unknown value for unconnected_gradients: {choice!r}") from None
    return choice is UnconnectedGradients.ZERO


def check_target(leaf: Any) -> None:
    """Raise an error for a target that is not a tensor or Variable."""
    if leaf is None:
        raise TypeError(
            "Argument 'target' should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
            "differentiated, but received None."
        )
    if not isinstance(leaf, Operators):
        raise TypeError(
            f"the target must be a jt.Tensor that was computed on the tape, got {type(leaf).__name__}; "
            "compute it with jittape operations inside the `with` block"
        )


def check_source(leaf: Any) -> None:
    """Raise an error for a source that is not a tensor or Variable."""
    if not isinstance(leaf, Operators):
        raise TypeError(
            f"a source must be a jt.Tensor or jt.Variable, got {type(leaf).__name__}; "
            "make it a tensor with `x = jt.constant(x)` and watch it before use"
        )


def check_batch_shapes(target: Any, source: Any) -> None:
    """Raise an error if a value has fewer than two dimensions or if the numbers of rows differ."""
    for value in (target, source):
        if value.ndim < 2:
            raise ValueError(f"Shape {value.shape} must have rank at least 2")
    if target.aval.shape[0] != source.aval.shape[0]:
        raise ValueError(
            f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match."
        )


def check_watched(leaves: list[Any]) -> None:
    """Raise an error for what is not a tensor or Variable; log a message for integers."""
    for leaf in leaves:
        if not isinstance(leaf, Operators):
            remedy = "; make it a tensor first: `x = jt.constant(x)`" if _array_like(leaf) else ""
            raise ValueError(
                f"Passed in object {leaf!r} of type {type(leaf).__name__!r}, not jt.Tensor or jt.Variable{remedy}"
            )
    for leaf in leaves:
        if not is_differentiable(leaf.aval.dtype):
            _log_non_float(leaf.aval.dtype)


def entries_like(target: Any, output_gradients: Any) -> Any:
    """Return `output_gradients` as a list like the leaves of a nested `target`; unchanged for a single target."""
    if output_gradients is None or isinstance(target, Operators):
        return output_gradients
    try:
        return flatten_like("output_gradients", target, output_gradients)
    except ValueError:
        if isinstance(output_gradients, dict):
            raise
        return output_gradients  # a flat list, as in TensorFlow, or one entry


def seeds_for(targets: list[Any], output_gradients: Any) -> list[Tensor | None]:
    """Return the cotangent of each target; None means ones."""
    if isinstance(output_gradients, (list, tuple)) and not (len(targets) == 1 < len(output_gradients)):
        leaves = list(output_gradients)
    else:
        leaves = [output_gradients]
    if len(leaves) != len(targets):
        raise ValueError(f"output_gradients has {len(leaves)} entries for {len(targets)} targets")
    return [_seed(i, target, leaf) for i, (target, leaf) in enumerate(zip(targets, leaves, strict=True))]


def _seed(position: int, target: Any, leaf: Any) -> Tensor | None:
    return None if leaf is None else fitting(f"output_gradients[{position}]", leaf, "its target", target)


def fitting(name: str, value: Any, whose: str, like: Any) -> Tensor:
    """Return `value` as a tensor; raise if shape or dtype differ from those of `like`."""
    tensor = convert_to_tensor(value, dtype_hint=like.aval.dtype)
    if tensor.aval.shape != like.aval.shape:
        raise ValueError(f"{name} has shape {tensor.shape}, {whose} {like.shape}")
    if tensor.aval.dtype != like.aval.dtype:
        raise TypeError(f"{name} has dtype {tensor.dtype.name}, {whose} {like.dtype.name}; cast it")
    return tensor


def _array_like(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, float, int, complex))


class _LogCount:
    """The number of log messages about watched integers."""

    so_far = 0


def _log_non_float(dtype: np.dtype[Any]) -> None:
    if _LogCount.so_far < _NON_FLOAT_LOGS:
        _LogCount.so_far += 1
        import logging  # takes 4 ms

        logging.getLogger("jittape").warning(
            "The dtype of the watched tensor must be floating (e.g. jt.float32), got jt.%s", dtype.name
        )


def seed_slots(
    trace: Trace, query: GradientQuery, targets: list[Any], seeds: list[Tensor | None] | None
) -> Any:
    """Return the slot of the cotangent of each target that the trace knows; None means ones."""
    if seeds is None:
        return (None,) * len(query.targets)
    known = [seed for target, seed in zip(targets, seeds, strict=True) if trace.slots_of(target)]
    return tuple([None if seed is None else trace.import_tensor(seed) for seed in known])
