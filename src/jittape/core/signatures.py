"""Questions about the arguments that a function of the user takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["bound_arguments", "reason_against_count", "takes_keyword"]


def bound_arguments(
    signature: inspect.Signature, args: Any, keywords: dict[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments of a call with default values; raise TypeError if the function does not take them."""
    bound = signature.bind(*args, **keywords)
    bound.apply_defaults()
    return bound


def takes_keyword(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name, or takes any keyword arguments."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def reason_against_count(function: Callable[..., Any], count: int) -> str:
    """Return why a function does not take `count` arguments by position; empty if it does, or has no signature."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function in C
        return ""
    try:
        signature.bind(*[None] * count)
    except TypeError as error:
        return str(error)
    return ""
