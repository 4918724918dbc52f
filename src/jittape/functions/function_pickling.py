"""Pickling of compiled functions: by name or by parts, never as code.

The decorated function of a module is pickled by its name, as Python functions are; loading returns the same object. Any
other compiled function is recreated from its Python function, which pickle must be able to find: by its own name, under
the compiled function that has taken its name (`Undecorated`), or as a method of an instance (`Method`). Traces are not
pickled: the Python code may change. Compiled kernels are in the disk cache.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple, Protocol, TypeVar

__all__ = ["Method", "Undecorated", "empty", "function_named_like", "loaded", "packed", "unpacked"]


class Compiled(Protocol):
    """The part of a compiled function that pickling needs."""

    _python: Callable[..., Any]

    def __init__(self, python: Callable[..., Any], input_signature: Sequence[Any] | None = None) -> None: ...


F = TypeVar("F", bound=Compiled)


class Undecorated(NamedTuple):
    """Pickled form of a Python function whose name refers to its compiled function."""

    module: str
    name: str


class Method(NamedTuple):
    """Pickled form of a bound method. Pickle itself would look it up in the instance, where attributes may hide it."""

    function: Any
    instance: Any


def function_named_like(kind: type[F], python: Callable[..., Any]) -> F | None:
    """Return the compiled function of `python` that the module has under its name; None without one."""
    module = sys.modules.get(getattr(python, "__module__", None) or "")
    found: Any = module
    for step in getattr(python, "__qualname__", "").split("."):
        found = getattr(found, step, None)
    return found if isinstance(found, kind) and found._python is python else None


def loaded(kind: type[F], module: str, name: str, input_signature: Sequence[Any] | None = None) -> F:
    """Return the compiled function of this name; compile it if the module has the plain function.

    Raises
    ------
    AttributeError
        If the module has no such function.
    """
    found = _looked_up(module, name)
    return found if isinstance(found, kind) else kind(found, input_signature)


def _looked_up(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for step in name.split("."):
        found = getattr(found, step, None)
    if not callable(found):
        raise AttributeError(
            f"cannot load the compiled function {name!r}: the module {module!r} has no function of this name. A "
            "jt.function is pickled by name, like any function: define it in a module that both processes import"
        )
    return found


def empty(kind: type[F]) -> F:
    """Return a compiled function that `__setstate__` will initialize."""
    return kind.__new__(kind)


def packed(kind: type[Compiled], python: Callable[..., Any]) -> Any:
    """Return the pickled form of `python`."""
    if isinstance(python, MethodType):
        return Method(packed(kind, python.__func__), python.__self__)
    if isinstance(python, FunctionType) and function_named_like(kind, python) is not None:
        return Undecorated(python.__module__, python.__qualname__)
    return python


def unpacked(kind: type[Compiled], content: Any) -> Any:
    """Return the Python function of a pickled form that `packed` has returned."""
    if isinstance(content, Method):
        return MethodType(unpacked(kind, content.function), content.instance)
    if isinstance(content, Undecorated):
        found = _looked_up(content.module, content.name)
        return found._python if isinstance(found, kind) else found
    return content
