"""Pairs of gradients and Variables, the arguments of optimizers. They are checked before anything changes.

The gradients are then clipped if a limit is set.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jittape.core.dtypes import is_floating
from jittape.core.user_calls import stack_level
from jittape.primitives.elementwise.piecewise import clip_by_value
from jittape.primitives.nn.gradient_clipping import clip_by_global_norm, clip_by_norm
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable
from jittape.recording.variable_scatter import IndexedSlices

__all__ = ["Pair", "checked_pairs", "checked_variables", "clipped", "is_trained"]

Pair = tuple[Any, Variable]

_PAIRS = "apply_gradients takes pairs (gradient, jt.Variable), as zip(gradients, variables) makes them"


def is_trained(variable: Variable) -> bool:
    """Return whether an optimizer can update `variable`."""
    return is_floating(variable.aval.dtype)


def checked_variables(variables: Any, caller: str) -> list[Variable]:
    """Return `variables` as a list of distinct Variables of real numbers.

    Raises
    ------
    TypeError
        If an element is not a Variable, or is complex or of ints.
    ValueError
        If a Variable occurs twice.
    """
    found = (
        [variables] if isinstance(variables, Variable) else _listed(variables, f"{caller} takes Variables")
    )
    for variable in found:
        if not isinstance(variable, Variable):
            raise TypeError(f"{caller} takes Variables, got {_described(variable)} among them")
        _check_dtype(variable)
    _check_distinct(found, "give each once")
    return found


def checked_pairs(grads_and_vars: Any) -> tuple[list[Pair], list[Variable]]:
    """Return the pairs with a gradient, converted for their Variables, and all Variables that may have one later.

    Raises
    ------
    TypeError
        If a pair is not a gradient and a Variable, or their dtypes do not match.
    ValueError
        If there is no gradient at all, a Variable occurs twice, or a gradient has another shape than its Variable.
    """
    pairs: list[Pair] = []
    for pair in _listed(grads_and_vars, _PAIRS):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{_PAIRS}, got {_described(pair)} among them")
        if not isinstance(pair[1], Variable):
            raise TypeError(f"{_PAIRS}, got {_described(pair[1])} as the latter")
        pairs.append((pair[0], pair[1]))
    variables = [v for _, v in pairs]
    _check_distinct(variables, "add up its gradients with jt.add_n")
    kept = [(_fitting(g, v), v) for g, v in pairs if g is not None]
    missing = [v._label for g, v in pairs if g is None]
    if not kept:
        raise ValueError(f"No gradients provided for any variable: {missing}")
    if missing:
        text = f"Gradients do not exist for variables {missing}; they are not updated"
        warnings.warn(text, UserWarning, stacklevel=stack_level())
    return kept, [v for v in variables if is_trained(v)]


def clipped(
    pairs: list[Pair], norm: float | None, value: float | None, global_norm: float | None
) -> list[Pair]:
    """Return the pairs with clipped gradients: by each norm, by element, or by the norm of all together."""
    gradients: list[Any] = [g for g, _ in pairs]
    if norm is not None:
        gradients = [clip_by_norm(g, norm) for g in gradients]
    elif value is not None:
        gradients = [clip_by_value(g, -value, value) for g in gradients]
    elif global_norm is not None:
        gradients, _ = clip_by_global_norm(gradients, global_norm)
    else:
        return pairs
    return [(g, v) for g, (_, v) in zip(gradients, pairs, strict=True)]


def _listed(values: Any, wanted: str) -> list[Any]:
    if isinstance(values, (Operators, str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{wanted}, got {_described(values)}")
    return list(values)


def _described(value: Any) -> str:
    return f"a sequence of {len(value)}" if isinstance(value, (tuple, list)) else type(value).__name__


def _check_distinct(variables: Sequence[Variable], advice: str) -> None:
    if len({id(v) for v in variables}) < len(variables):
        name = next(v._label for i, v in enumerate(variables) if any(v is other for other in variables[:i]))
        raise ValueError(f"{name!r} occurs more than once among the variables; {advice}")


def _check_dtype(variable: Variable) -> None:
    if not is_trained(variable):
        advice = "; keep real and imaginary part in two Variables" if variable.aval.dtype.kind == "c" else ""
        raise TypeError(
            f"{variable._label!r} is {variable.dtype.name}; an optimizer updates Variables of float16, bfloat16, "
            f"float32 and float64{advice}"
        )


def _fitting(gradient: Any, variable: Variable) -> Any:
    """Return `gradient` for an update of `variable`, or raise an error."""
    _check_dtype(variable)
    if isinstance(gradient, IndexedSlices):
        raise TypeError(
            f"the gradient for {variable._label!r} is IndexedSlices; give it as a tensor of all rows"
        )
    if not isinstance(gradient, Operators):
        gradient = convert_to_tensor(gradient, dtype_hint=variable.aval.dtype)
    if gradient.aval.shape != variable.aval.shape:
        raise ValueError(
            f"the gradient for {variable._label!r} has shape {gradient.shape}, the variable {variable.shape}; "
            "pair them as zip(gradients, variables)"
        )
    if not np.can_cast(gradient.aval.dtype, variable.aval.dtype, "same_kind"):
        raise TypeError(
            f"{variable._label!r} is {variable.dtype.name}, it cannot take a {gradient.dtype.name} gradient"
        )
    return gradient
