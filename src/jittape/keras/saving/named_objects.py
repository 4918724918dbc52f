"""`serialize` and `deserialize` of the modules of ``jt.keras``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jittape.keras.saving.object_configs import is_config, serialize_keras_object
from jittape.keras.saving.registered_objects import BUILTIN_FUNCTIONS, CustomObjectScope

__all__ = ["deserializer", "name_or_config"]


def deserializer(get: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return the function `deserialize` of a module with the function `get`."""

    def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Return the object that `serialize` described.

        Parameters
        ----------
        config : dict or str
        custom_objects : dict, optional
            Classes and functions of the user by their names.

        Raises
        ------
        TypeError, ValueError
            If a class or function is unknown.

        Examples
        --------
        >>> config = jt.keras.regularizers.serialize(jt.keras.regularizers.L2(0.5))
        >>> float(jt.keras.regularizers.deserialize(config)(jt.constant([2.0])))
        2.0
        """
        with CustomObjectScope(custom_objects):
            return get(config)

    return deserialize


def name_or_config(activation: Any) -> Any:
    """Return the name of an activation of jittape, or another one as a dict of its module, name and config.

    Parameters
    ----------
    activation : callable

    Raises
    ------
    TypeError
        If it is a lambda.

    Examples
    --------
    >>> jt.keras.activations.serialize(jt.keras.activations.relu)
    'relu'
    """
    stored = serialize_keras_object(activation)
    is_name = is_config(stored) and BUILTIN_FUNCTIONS.get(stored["config"]) is activation
    return stored["config"] if is_name else stored
