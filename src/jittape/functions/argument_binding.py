"""Binding of the arguments of a concrete function, whose Python arguments are bound when it is made.

There are two ways to call it, as in TensorFlow: with the parameters of the Python function, of which those without
tensors may be left out; or with the tensors only, flattened, by position or by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jittape.functions.signature import (
    Call,
    TensorSpec,
    declared_parameters,
    flatten_call,
    leaf_names,
    parameters_of,
)
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["bound_calls", "complete_arguments"]


def bound_calls(
    python: Callable[..., Any], skip: int, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[Call]:
    """Yield the calls that `args` and `kwargs` may mean for a concrete function of `call`.

    The first `skip` parameters of `python` are bound to an instance. In `call`, arrays are `TensorSpec`.
    """
    for bind in (_by_parameters, _by_tensors):
        bound = bind(python, skip, call, args, kwargs)
        if bound is not None:
            yield bound


def _by_parameters(
    python: Callable[..., Any], skip: int, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Call | None:
    """Return the call with the parameters of the Python function; None if they do not fit."""
    expected, expected_by_name = call.unflatten(call.leaves)
    names = parameters_of(python)[skip:][: len(expected)]
    given: dict[int | str, Any] = dict(enumerate(args))
    for name, value in kwargs.items():
        key = names.index(name) if name in names else name
        if key in given:
            return None
        given[key] = value
    arguments: dict[int | str, Any] = dict(enumerate(expected))
    for name, value in expected_by_name.items():
        arguments[name] = value
    defaults = {p.name: p.default for p in declared_parameters(python)}
    for key in given.keys() - arguments.keys():
        if not (isinstance(key, str) and key in defaults and _is_same(given.pop(key), defaults[key])):
            return None
    for key, value in arguments.items():
        if key in given:
            arguments[key] = _converted(given[key], value)
        elif any(isinstance(leaf, (TensorSpec, Variable)) for leaf in flatten_call((value,), {}).leaves):
            return None
    by_name = {key: value for key, value in arguments.items() if isinstance(key, str)}
    return flatten_call(tuple([arguments[i] for i in range(len(expected))]), by_name)


def _by_tensors(
    python: Callable[..., Any], skip: int, call: Call, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Call | None:
    """Return the call with all tensors, flattened, by position or by name; None if they do not fit."""
    names = leaf_names(python, call, skip)
    places = [i for i, leaf in enumerate(call.leaves) if isinstance(leaf, (TensorSpec, Variable))]
    leaves = list(call.leaves)
    if len(args) + len(kwargs) != len(places):
        return None
    by_name = dict(kwargs)
    for i, value in zip(places, args, strict=False):
        leaves[i] = _converted(value, leaves[i])
    for i in places[len(args) :]:
        name = next((n for n in _flat_names(names[i], leaves[i]) if n in by_name), None)
        if name is None:
            return None
        leaves[i] = _converted(by_name.pop(name), leaves[i])
    return Call(tuple(leaves), call.structure, call.orders)


def _flat_names(path: str, leaf: Any) -> list[str]:
    """Return the names of a flattened tensor: that of its `TensorSpec`, and ``d_x`` for ``d['x']``."""
    own = getattr(leaf, "name", None) if isinstance(leaf, TensorSpec) else None
    flat = path.replace("['", "_").replace("']", "").replace("[", "_").replace("]", "")
    return [name for name in (own, path, flat) if name]


def _converted(value: Any, expected: Any) -> Any:
    """Return `value` as a tensor if a tensor is expected."""
    if not isinstance(expected, TensorSpec) or isinstance(value, (Tensor, TensorSpec)):
        return value
    if isinstance(value, Operators) or not hasattr(value, "__array__"):
        try:
            return convert_to_tensor(value, dtype_hint=expected.dtype)
        except (TypeError, ValueError):
            return value
    return value


def _is_same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and not isinstance(value, Operators) and bool(value == other)


def complete_arguments(
    python: Callable[..., Any], skip: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return positional and keyword arguments with the default values of the parameters that are not given."""
    parameters = declared_parameters(python)[skip:]
    try:
        bound = inspect.Signature(parameters).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, dict(kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs
