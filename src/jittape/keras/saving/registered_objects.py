"""Classes and functions that configs name: those of the user, by registration or for a while, and jittape's own."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

__all__ = [
    "BUILTIN_CLASSES", "BUILTIN_FUNCTIONS", "OTHER_NAMES", "CustomObjectScope", "custom_object_scope",
    "found_builtin", "found_custom", "get_custom_objects", "get_registered_name", "get_registered_object",
    "import_builtins", "is_registered", "register_keras_serializable",
]  # fmt: skip

Registered = TypeVar("Registered")

BUILTIN_CLASSES: list[Any] = []
"""Classes of `jt.keras`; each has its public module, as ``keras.layers``, in the attribute `_namespace`."""

OTHER_NAMES: dict[str, type] = {}
"""Classes of `jt.keras` by names of Keras that differ from those of jittape."""

BUILTIN_FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Functions that configs name, such as activations and losses."""

_OBJECTS: dict[str, Any] = {}
"""Registered classes and functions by their registered names, and what the user added to `get_custom_objects`."""

_NAMES: dict[Any, str] = {}
"""Registered names by class or function."""


class _Scopes(threading.local):
    """The custom objects of the scopes that a thread has entered."""

    def __init__(self) -> None:
        self.entered: list[Mapping[str, Any]] = []


_scopes = _Scopes()


class CustomObjectScope:
    """A context in which configs may name the classes and functions of a dict.

    Parameters
    ----------
    custom_objects : dict
        Classes and functions by their names.

    Examples
    --------
    >>> class Twice(jt.keras.layers.Layer):
    ...     def call(self, inputs):
    ...         return 2.0 * inputs
    >>> config = jt.keras.layers.serialize(Twice())
    >>> with jt.keras.saving.CustomObjectScope({"Twice": Twice}):
    ...     layer = jt.keras.layers.deserialize(config)
    >>> layer([1.0]).numpy()
    array([2.], dtype=float32)
    """

    def __init__(self, custom_objects: Mapping[str, Any] | None) -> None:
        if custom_objects is not None and not isinstance(custom_objects, Mapping):
            raise TypeError(
                f"[CustomObjectScope] custom_objects must be a dict of classes and functions by their names, got "
                f"{custom_objects!r}"
            )
        self.custom_objects = dict(custom_objects or {})

    def __enter__(self) -> CustomObjectScope:
        _scopes.entered.append(self.custom_objects)
        return self

    def __exit__(self, *error: object) -> None:
        _scopes.entered.pop()


custom_object_scope = CustomObjectScope


def get_custom_objects() -> dict[str, Any]:
    """Return the dict of registered classes and functions, to which a program may add others.

    Examples
    --------
    >>> jt.keras.saving.get_custom_objects()["triple"] = lambda x: 3.0 * x
    >>> jt.keras.layers.Dense(1, activation="triple").activation(2.0)
    6.0
    >>> del jt.keras.saving.get_custom_objects()["triple"]
    """
    return _OBJECTS


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[Registered], Registered]:
    """Return a decorator that registers a class or function, so that configs of it can be read.

    Parameters
    ----------
    package : str
        The registered name is ``package>name``.
    name : str, optional
        By default the name of the class or function.

    Raises
    ------
    ValueError
        If a class has no method `get_config`.

    Examples
    --------
    >>> @jt.keras.saving.register_keras_serializable("shapes")
    ... class Halved(jt.keras.layers.Layer):
    ...     def call(self, inputs):
    ...         return inputs / 2
    >>> stored = jt.keras.layers.serialize(Halved())
    >>> stored["registered_name"], type(jt.keras.layers.deserialize(stored)).__name__
    ('shapes>Halved', 'Halved')
    """

    def decorated(found: Any) -> Any:
        if inspect.isclass(found) and not hasattr(found, "get_config"):
            raise ValueError(
                f"[register_keras_serializable] {found.__name__} must have a method get_config, which returns the "
                "arguments of its constructor as plain values"
            )
        registered = f"{package}>{found.__name__ if name is None else name}"
        _OBJECTS[registered], _NAMES[found] = found, registered
        return found

    return decorated


def get_registered_name(obj: Any) -> str:
    """Return the registered name of a class or function; its own name if it is not registered.

    Parameters
    ----------
    obj : type or callable

    Examples
    --------
    >>> jt.keras.saving.get_registered_name(jt.keras.layers.Dense)
    'Dense'
    """
    found: str = _NAMES.get(obj) or obj.__name__
    return found


def is_registered(found: Any) -> bool:
    """Return whether a class or function was registered."""
    return (inspect.isclass(found) or inspect.isroutine(found)) and found in _NAMES


def get_registered_object(
    name: str,
    custom_objects: Mapping[str, Any] | None = None,
    module_objects: Mapping[str, Any] | None = None,
) -> Any:
    """Return the class or function that was registered under `name`, or None.

    Parameters
    ----------
    name : str
    custom_objects, module_objects : dict, optional
        Further objects by their names.

    Examples
    --------
    >>> jt.keras.saving.get_registered_object("shapes>Missing") is None
    True
    """
    found = found_custom(name)
    for others in (custom_objects, module_objects):
        if found is None and others is not None:
            found = others.get(name)
    return found


def found_custom(*names: Any) -> Any:
    """Return the class or function of the user by the first of these names that it has; None without one."""
    for name in names:
        for objects in (*reversed(_scopes.entered), _OBJECTS):
            if isinstance(name, str) and name in objects:
                return objects[name]
    return None


@cache
def import_builtins() -> None:
    """Import all of `jt.keras`: its modules enter their classes and functions here, and are imported when used."""
    keras = import_module("jittape.keras")
    for name in keras.__all__:
        found = getattr(keras, name)
        for inner in getattr(found, "__all__", ()):
            getattr(found, inner)


def found_builtin(module: str | None, name: str) -> Any:
    """Return the class of `jt.keras` with this name, of the public module if it has one there; None without one."""
    import_builtins()
    named = [kind for kind in BUILTIN_CLASSES if kind.__name__ == name]
    return next((kind for kind in named if kind._namespace == module), (named or [OTHER_NAMES.get(name)])[0])
