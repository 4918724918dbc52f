"""How a compiled function is pickled: as what it is made of, and never as code.

The decorated function of a module goes by its name, as functions do, and is that very object again after loading. Any
other one is made anew from the Python function below it, which pickle must be able to find: by its own name, below the
compiled function that has taken its name (`Beneath`), or as a method of an instance (`Method`). Nothing that was traced
is kept: the Python code may be another one tomorrow. What was compiled is on disk.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jittape.functions.function import Function

__all__ = ["Beneath", "Method", "holder_of", "loaded", "packed", "unpacked"]


class Beneath(NamedTuple):
    """In a pickle: the Python function below the compiled one that has its name."""

    module: str
    name: str


class Method(NamedTuple):
    """In a pickle: a bound method. Pickle's own way would ask the instance, whose attributes may hide the method."""

    function: Any
    instance: Any


def holder_of(kind: type[Function], python: Callable[..., Any]) -> Function | None:
    """The compiled function that stands in the place of `python`: under its name, in its module."""
    module = sys.modules.get(getattr(python, "__module__", None) or "")
    found: Any = module
    for step in getattr(python, "__qualname__", "").split("."):
        found = getattr(found, step, None)
    return found if isinstance(found, kind) and found._python is python else None


def loaded(
    kind: type[Function], module: str, name: str, input_signature: Sequence[Any] | None = None
) -> Function:
    """The compiled function of this name; made anew if the module has the function, but not compiled.

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
            "jt.function is pickled by its name, as any function is: define it in a module that both processes import"
        )
    return found


def packed(kind: type[Function], python: Callable[..., Any]) -> Any:
    """`python` as it goes into a pickle."""
    if isinstance(python, MethodType):
        return Method(packed(kind, python.__func__), python.__self__)
    if isinstance(python, FunctionType) and holder_of(kind, python) is not None:
        return Beneath(python.__module__, python.__qualname__)
    return python


def unpacked(kind: type[Function], content: Any) -> Any:
    """What `packed` has packed."""
    if isinstance(content, Method):
        return MethodType(unpacked(kind, content.function), content.instance)
    if isinstance(content, Beneath):
        found = _looked_up(content.module, content.name)
        return found._python if isinstance(found, kind) else found
    return content
