"""`Serializable`: objects that know the arguments of their constructor."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from jittape.keras.saving.object_configs import (
    deserialize_keras_object,
    is_builtin,
    is_config,
    serialize_keras_object,
)
from jittape.keras.saving.registered_objects import BUILTIN_CLASSES
from jittape.keras.saving.registered_objects import BUILTIN_FUNCTIONS as _NAMED

__all__ = ["Serializable", "arguments_known"]

_PLAIN = (str, bool, int, float, type(None), np.generic, np.dtype)


_OF_KERAS = (
    "input_axes", "output_axes", "quantization_config", "synchronized", "renorm", "renorm_clipping",
    "renorm_momentum", "rms_scaling", "use_gate", "sliding_window", "lora_rank", "lora_alpha",
)  # fmt: skip
"""Arguments that Keras's configs have and jittape's classes lack: they are skipped if they change nothing."""

_UNUSED = {"renorm_momentum": [0.99]}
"""Defaults of such arguments besides None and False."""


class _Unknown:
    """Takes the place of an argument that is no plain value; the object is not kept alive."""

    def __repr__(self) -> str:
        return "<an argument that is no plain value>"


class _Arguments:
    """The plain arguments of a constructor. It is no container, in which Variables are searched."""

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = [_recorded(value) for value in args]
        self.kwargs = {name: _recorded(value) for name, value in kwargs.items()}

    def __deepcopy__(self, memo: Any) -> _Arguments:
        return self  # it does not change


def _recorded(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if type(value) in (list, tuple):
        parts = [_recorded(part) for part in value]
        return _Unknown() if any(isinstance(p, _Unknown) for p in parts) else type(value)(parts)
    if type(value) is dict:
        items = {key: _recorded(part) for key, part in value.items()}
        return _Unknown() if any(isinstance(p, _Unknown) for p in items.values()) else items
    return _Unknown()


class Serializable:
    """Base of layers, losses, metrics, initializers, regularizers and constraints: their configs.

    The config of a class of `jt.keras` has the values of the attributes that are named like the arguments of the
    constructor. That of another class has the arguments themselves, if they are plain values.
    """

    _namespace: ClassVar[str] = "keras"
    """Public module of the class."""

    _base_arguments: ClassVar[str] = ""
    """Arguments that each config begins with, separated by spaces."""

    _left_out: ClassVar[str] = ""
    """Arguments that configs do not have, separated by spaces: those that other arguments replace."""

    _given: _Arguments | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Note the arguments."""
        made = super().__new__(cls)
        if args or kwargs:
            made._given = _Arguments(args, kwargs)
        return made

    def __init_subclass__(cls, **options: Any) -> None:
        """Let configs find the classes of jittape."""
        super().__init_subclass__(**options)
        if is_builtin(cls) and not cls.__name__.startswith("_"):
            BUILTIN_CLASSES.append(cls)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor as plain values, for `from_config`.

        A method of a subclass that overrides it adds its own: ``{**super().get_config(), "units": self.units}``.

        Raises
        ------
        NotImplementedError
            If an argument of a class of your own is no plain value: such a class must define `get_config`.
        """
        kind: Any = type(self)
        home: Any = next(base for base in kind.__mro__ if is_builtin(base))
        config = self._config_of(home)
        definer = next(base for base in kind.__mro__ if "get_config" in vars(base))
        if kind.__init__ is home.__init__ or not is_builtin(definer):
            return config
        named, others = _signature_of(kind)
        own = self._arguments_of(kind, named, config)
        return own | {name: value for name, value in config.items() if name not in own and others}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Return an object with the arguments that `get_config` gave.

        Examples
        --------
        >>> layer = jt.keras.layers.Dense(3, "relu")
        >>> jt.keras.layers.Dense.from_config(layer.get_config()).units
        3
        """
        arguments = dict(config)
        if is_config(arguments.get("dtype")):
            arguments["dtype"] = deserialize_keras_object(arguments["dtype"])
        if is_builtin(cls):
            unused = [n for n in _OF_KERAS if arguments.get(n, 0) in (None, False, *_UNUSED.get(n, ()))]
            arguments = {n: deserialize_keras_object(v) for n, v in arguments.items() if n not in unused}
        return cls(**arguments)

    def _config_of(self, home: type) -> dict[str, Any]:
        """Return the config of a class of jittape, from the attributes of its instance."""
        left_out = {n for base in type(self).__mro__ for n in vars(base).get("_left_out", "").split()}
        config = {name: self._value_of(name) for name in self._base_arguments.split()}
        for name in arguments_known(home):
            if name not in config and name not in left_out:
                config[name] = self._value_of(name)
        return config

    def _value_of(self, name: str) -> Any:
        """Return an argument of a class of jittape as a plain value."""
        kind: Any = type(self)
        try:
            value = getattr(self, name)
        except AttributeError:
            kept = vars(self).get("_arguments", {})  # of a loss, for its function
            given = self._given_values() if is_builtin(kind.__init__) else {name: _Unknown()}
            value = kept[name] if name in kept else given.get(name, arguments_known(kind).get(name))
        if isinstance(value, _Unknown):
            raise self._without_config(name) from None
        try:
            stored = serialize_keras_object(value)
        except TypeError as error:
            raise self._without_config(name) from error
        is_name = name.endswith("activation") and is_config(stored) and stored["config"] in _NAMED
        return stored["config"] if is_name else stored

    def _without_config(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} {getattr(self, 'name', '')!r} has no config: its argument {name} is no plain "
            "value, named function or object with get_config"
        )

    def _given_values(self) -> dict[str, Any]:
        """Return the arguments that the constructor was given, by name."""
        given = self._given or _Arguments((), {})
        signature = inspect.signature(type(self).__init__)
        found: dict[str, Any] = {}
        for name, value in signature.bind_partial(self, *given.args, **given.kwargs).arguments.items():
            found |= (
                value if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value}
            )
        return found

    def _arguments_of(self, kind: type, named: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a constructor of the user's."""
        values = self._given_values()
        found = {
            name: config[name] if name in config else values.get(name, default)
            for name, default in named.items()
        }
        wrong = [name for name, value in found.items() if isinstance(_recorded(value), _Unknown)]
        if wrong:
            raise NotImplementedError(
                f"Object {kind.__name__} was created by passing non-serializable argument values in `__init__()`: "
                f"{', '.join(wrong)}. Define get_config(self), which returns {{**super().get_config(), "
                f"{wrong[0]!r}: ...}} with plain values, and from_config(cls, config) if __init__ takes other ones"
            )
        return found


@cache
def _signature_of(kind: Any) -> tuple[dict[str, Any], bool]:
    """Return the named arguments of a constructor with their defaults, and whether it takes others."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    named = {p.name: p.default for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


@cache
def arguments_known(kind: Any) -> dict[str, Any]:
    """Return the arguments of a constructor with their defaults, and those that it hands on to its base classes."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if "__init__" in vars(base) and base is not object:
            named, others = _signature_of(base)
            found |= {name: default for name, default in named.items() if name not in found}
            if not others:
                break
    return found
