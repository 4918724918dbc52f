"""Objects as plain values, and back: what configs contain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jittape import optimizers
from jittape.keras.saving.registered_objects import (
    BUILTIN_FUNCTIONS,
    CustomObjectScope,
    found_builtin,
    found_custom,
    get_registered_name,
    import_builtins,
    is_registered,
)
from jittape.optimizers import schedules
from jittape.recording.convert import constant
from jittape.recording.operators import Operators

__all__ = [
    "deserialize_keras_object", "function_named", "identified", "is_builtin", "is_config", "serialize_keras_object",
]  # fmt: skip

_KINDS = (
    "numbers, strings, lists, tuples, dicts, arrays, named functions, and objects with a method get_config"
)


def is_builtin(found: Any) -> bool:
    """Return whether a class or function is one of jittape, which nobody has registered."""
    of_jittape = str(getattr(found, "__module__", None)).startswith("jittape.")
    return of_jittape and not is_registered(found)


def is_config(value: Any) -> bool:
    """Return whether a value is what `serialize_keras_object` returns for an object or a function."""
    return isinstance(value, Mapping) and isinstance(value.get("class_name"), str) and "config" in value


def serialize_keras_object(obj: Any) -> Any:
    """Return an object as plain values: a dict of its module, class and config.

    Parameters
    ----------
    obj : object
        An object with a method `get_config`, a named function, an array, a plain value, or a list, tuple or dict of
        them.

    Returns
    -------
    dict, or a plain value as it is

    Raises
    ------
    TypeError
        If `obj` is something else, or a lambda.

    Examples
    --------
    >>> stored = jt.keras.saving.serialize_keras_object(jt.keras.regularizers.L2(0.5))
    >>> stored["module"], stored["class_name"], stored["config"]
    ('keras.regularizers', 'L2', {'l2': 0.5})
    """
    if obj is None or isinstance(obj, (str, bool, int, float)):
        return obj
    if isinstance(obj, np.generic):
        return obj.item()
    if isinstance(obj, (list, tuple)):
        parts = [serialize_keras_object(part) for part in obj]
        return tuple(parts) if isinstance(obj, tuple) else parts
    if isinstance(obj, Mapping):
        return {key: serialize_keras_object(value) for key, value in obj.items()}
    if isinstance(obj, (np.dtype, type)):
        return obj.name if isinstance(obj, np.dtype) else _of_class(obj)
    if isinstance(obj, slice):
        return {"class_name": "__slice__", "config": {n: getattr(obj, n) for n in ("start", "stop", "step")}}
    if obj is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if isinstance(obj, (np.ndarray, Operators)):
        array = np.asarray(obj.numpy() if isinstance(obj, Operators) else obj)
        kind = "__tensor__" if isinstance(obj, Operators) else "__numpy__"
        return {"class_name": kind, "config": {"value": array.tolist(), "dtype": array.dtype.name}}
    if hasattr(obj, "get_config"):
        return _of_object(obj)
    if callable(obj) and hasattr(obj, "__name__"):
        return _of_function(obj)
    raise TypeError(f"[serialize_keras_object] a config can have {_KINDS}; got {obj!r}")


def _of_object(obj: Any) -> dict[str, Any]:
    kind = type(obj)
    name = getattr(obj, "_name_in_configs", kind.__name__) if is_builtin(kind) else kind.__name__
    stored = {"module": _module_of(kind), "class_name": name, "config": obj.get_config()}
    stored["registered_name"] = None if is_builtin(kind) else get_registered_name(kind)
    if name == "Functional":  # Keras's class has no public name
        stored |= {"module": "keras.src.models.functional", "registered_name": name}
    build = getattr(obj, "get_build_config", lambda: None)()
    return stored if build is None else stored | {"build_config": build}


def _module_of(kind: Any) -> str | None:
    if is_builtin(kind):
        is_schedule = issubclass(kind, schedules.LearningRateSchedule)
        return getattr(kind, "_namespace", f"keras.optimizers{'.schedules' if is_schedule else ''}")
    return None if kind.__module__ == "__main__" else str(kind.__module__)


def _of_class(kind: type) -> str:
    if issubclass(kind, np.generic):
        return np.dtype(kind).name
    raise TypeError(f"[serialize_keras_object] a config can have {_KINDS}; got the class {kind.__name__}")


def _of_function(function: Callable[..., Any]) -> dict[str, Any]:
    import_builtins()
    known = next((name for name, found in BUILTIN_FUNCTIONS.items() if found is function), None)
    name = known or get_registered_name(function)
    if name == "<lambda>":
        raise TypeError(
            "[serialize_keras_object] a lambda has no name, and a config cannot tell what it computes: define a "
            "function with def, and register it with jt.keras.saving.register_keras_serializable()"
        )
    module = "builtins" if known or function.__module__ == "__main__" else function.__module__
    registered = "function" if known or name == function.__name__ else name
    return {"module": module, "class_name": "function", "config": name, "registered_name": registered}


def identified(identifier: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the object that a config describes, or the user's of this name; other identifiers as they are."""
    with CustomObjectScope(custom_objects):
        if is_config(identifier):
            return deserialize_keras_object(identifier)
        found = found_custom(identifier) if isinstance(identifier, str) else None
        return identifier if found is None else found


def deserialize_keras_object(
    config: Any, custom_objects: Mapping[str, Any] | None = None, safe_mode: bool = True, **kwargs: Any
) -> Any:
    """Return the object that `serialize_keras_object` described.

    Parameters
    ----------
    config : dict, or a plain value, which is returned as it is
    custom_objects : dict, optional
        Classes and functions of the user by their names.
    safe_mode : bool
        Accepted for compatibility with TensorFlow: no code is stored, so none is run.
    **kwargs
        None are accepted.

    Raises
    ------
    TypeError
        If a class or function is unknown.

    Examples
    --------
    >>> stored = jt.keras.saving.serialize_keras_object(jt.keras.initializers.HeNormal(seed=3))
    >>> jt.keras.saving.deserialize_keras_object(stored).seed
    3
    """
    if kwargs:
        raise TypeError(
            f"[deserialize_keras_object] unknown argument {next(iter(kwargs))!r}; the arguments are config, "
            "custom_objects and safe_mode"
        )
    with CustomObjectScope(custom_objects):
        return _made(config)


def _made(config: Any) -> Any:
    if isinstance(config, (list, tuple)):
        return type(config)(map(_made, config)) if type(config) in (list, tuple) else config
    if not isinstance(config, Mapping):
        return config
    if not is_config(config):
        return {key: _made(value) for key, value in config.items()}
    name, inner = config["class_name"], config["config"]
    if name in _PLAIN:
        return _PLAIN[name](inner)
    if name == "function":
        return function_named(inner, config.get("module"), config)
    if str(config.get("module")).startswith("keras.optimizers") and found_custom(name) is None:
        of_schedules = config["module"].endswith("schedules")
        return schedules.deserialize(config) if of_schedules else optimizers.deserialize(config)
    kind: Any = _class_of(config)
    if not hasattr(kind, "from_config"):
        raise TypeError(f"Unable to reconstruct an instance of {name!r}: the class has no from_config")
    made = kind.from_config(inner)
    build = config.get("build_config")
    if build and hasattr(made, "build_from_config"):
        made.build_from_config(build)
    return made


def _refused_lambda(config: Any) -> Any:
    raise ValueError(
        "Requested the deserialization of a `lambda`, which is stored as code: jittape runs no stored code. Give the "
        "layer a named function and register it with jt.keras.saving.register_keras_serializable()"
    )


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "DTypePolicy": lambda config: config["name"],
    "__ellipsis__": lambda config: Ellipsis,
    "__lambda__": _refused_lambda,
    "__numpy__": lambda config: np.array(config["value"], dtype=config["dtype"]),
    "__slice__": lambda config: slice(*(_made(config[name]) for name in ("start", "stop", "step"))),
    "__tensor__": lambda config: constant(config["value"], config["dtype"]),
    "__tuple__": lambda config: tuple(map(_made, config)),
}
"""Values by the names that configs give their kinds."""


def _class_of(config: Mapping[str, Any]) -> Any:
    """Return the class that a config names: of the user, of `jt.keras`, or of a module that is imported."""
    name, module = config["class_name"], config.get("module")
    found = found_custom(config.get("registered_name"), name)
    if found is None and (module is None or str(module).split(".")[0] == "keras"):
        found = found_builtin(module, name)
    if found is None and module is not None:
        found = getattr(sys.modules.get(module), name, None)
    if found is None:
        raise _missing("class", name, config)
    return found


def function_named(name: Any, module: Any = None, config: Any = None) -> Any:
    """Return the function that a config names.

    Raises
    ------
    TypeError
        If it is unknown.
    """
    found = found_custom(name)
    if found is None:
        import_builtins()
        found = BUILTIN_FUNCTIONS.get(name)
    if found is None and module not in (None, "builtins"):
        found = getattr(sys.modules.get(module), name, None)
    if found is None:
        raise _missing("function", name, config)
    return found


def _missing(kind: str, name: Any, config: Any) -> TypeError:
    return TypeError(
        f"Could not locate {kind} {name!r}. Decorate classes and functions of your own with "
        "@jt.keras.saving.register_keras_serializable() and import their module, or give custom_objects={name: "
        f"{kind}}}. Full object config: {dict(config or {})!r}"
    )
