"""Binding of arguments to the parameters of a Python function.

Calls of a function that differ only in default arguments, which they pass or leave out, share a trace:
`DefaultArguments`.

The Python arguments of a concrete function are bound when it is made. There are two ways to call it, as in TensorFlow:
with the parameters of the Python function, of which those without tensors may be left out; or with the tensors only,
flattened, by position or by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from jittape.functions.python_function import is_array
from jittape.functions.signature import (
    Call,
    TensorSpec,
    declared_parameters,
    flatten_call,
    leaf_names,
    parameters_of,
)
from jittape.recording.convert import convert_to_tensor
from jittape.recording.nested import flatten
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable

__all__ = ["DefaultArguments", "bound_calls", "complete_arguments"]

_CONTAINERS = (list, tuple, dict)


class DefaultArguments:
    """The parameters of a Python function, and their default values."""

    def __init__(self, python: Callable[..., Any]) -> None:
        self._python = python

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._python)

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {p.name: p.default for p in declared_parameters(self._python) if p.default is not p.empty}

    @cached_property
    def _positional(self) -> list[str]:
        return parameters_of(self._python)

    @cached_property
    def array_defaults(self) -> dict[str, Any]:
        """Default values that contain arrays. Arrays may change, so the defaults are passed at each call."""
        return {
            name: value for name, value in self._defaults.items() if any(map(is_array, flatten(value)[0]))
        }

    @cached_property
    def _by_name(self) -> list[str] | None:
        """The keyword-only parameters; None if there are others besides those by position or by name."""
        parameters = declared_parameters(self._python)
        ordinary = all([p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters])
        return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] if ordinary else None

    def as_positional(
        self, owner: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Make keyword arguments positional if possible: ``f(x, y=1)`` becomes ``f(x, 1)``. Add default arrays.

        Keyword arguments that are the defaults of their parameters are left out, or defaults fill the gap before them.
        """
        found = (
            None if self._by_name is None else self._quickly_bound(len(owner), self._by_name, args, kwargs)
        )
        if found is not None:
            return found
        bound = self._signature.bind(*owner, *args, **kwargs)
        bound.arguments = {**self.array_defaults, **bound.arguments}
        by_name = {name: x for name, x in bound.kwargs.items() if not self._is_default(name, x)}
        return bound.args[len(owner) :], by_name

    def _quickly_bound(
        self, skip: int, by_name: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Do what `as_positional` does without `inspect`, which takes 4 µs; return None if arguments are wrong."""
        names, defaults = self._positional[skip:], self._defaults
        given, left = list(args), {**self.array_defaults, **kwargs}
        for name in names[: len(args)] if self.array_defaults else ():
            if name not in kwargs:
                left.pop(name, None)
        count = max([names.index(name) + 1 for name in left if name in names], default=0)
        for name in names[len(args) :]:
            if name in left:
                given.append(left.pop(name))
            elif name not in defaults or (len(given) < count and isinstance(defaults[name], _CONTAINERS)):
                return None
            elif len(given) < count:
                given.append(defaults[name])
        own = {name: left.pop(name) for name in by_name if name in left}
        complete = all([name in own or name in defaults for name in by_name])
        if left or not complete or len(args) > len(names):
            return None
        return tuple(given), {name: x for name, x in own.items() if not self._is_default(name, x)}

    def other_calls(self, skip: int, call: Call) -> Iterator[Call]:
        """Yield the calls that differ from `call` in the number of default arguments at the end that they pass.

        The first `skip` parameters are bound to an instance.
        """
        names = self._positional[skip:]
        if not any([name in self._defaults for name in names]):
            return
        args, kwargs = call.unflatten(call.leaves)
        for length in range(len(names) + 1):
            other = self.with_length(skip, args, length) if length != len(args) else None
            if other is not None and kwargs.keys().isdisjoint(names[:length]):
                yield flatten_call(other, kwargs)

    def with_length(self, skip: int, args: tuple[Any, ...], length: int) -> tuple[Any, ...] | None:
        """Return `args` with default arguments at the end added or left out; None if others are necessary."""
        names = self._positional[skip:]
        if max(length, len(args)) > len(names):
            return None
        if length > len(args):
            missing = names[len(args) : length]
            complete = all([name in self._defaults for name in missing])
            return (*args, *[self._defaults[name] for name in missing]) if complete else None
        dropped = zip(names[length:], args[length:], strict=False)
        return args[:length] if all([self._is_default(name, x) for name, x in dropped]) else None

    def _is_default(self, name: str, value: Any) -> bool:
        """Return whether an argument is the default of its parameter. 0.0 and -0.0 differ."""
        if name not in self._defaults or name in self.array_defaults:
            return False
        default = self._defaults[name]
        if value is default:
            return not isinstance(value, _CONTAINERS)
        same_type = type(value) is type(default) and type(value) in (bool, int, float, str)
        return same_type and repr(value) == repr(default)


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
    every = parameters_of(python)[skip:]
    names = every[: len(expected)]
    if len(args) > max(len(every), len(expected)):
        return None
    given: dict[int | str, Any] = {i if i < len(expected) else every[i]: x for i, x in enumerate(args)}
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
