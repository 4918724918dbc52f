"""Names of layers that were given none."""

from __future__ import annotations

import re
from itertools import count

__all__ = ["clear_session", "default_name", "missing_config", "snake_case"]

_COUNTERS: dict[str, count[int]] = {}
"""For each kind of layer, the number of the next one without a name."""


def snake_case(kind: type) -> str:
    """Return the name of a class as Keras writes it: ``LSTMCell`` is ``lstm_cell``, and ``Conv2D`` is ``conv2d``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\w)(?=[A-Z][a-z])", "_", kind.__name__.strip("_")).lower()


def default_name(kind: type) -> str:
    """Return the name of a new layer of this class, as in Keras: ``dense``, then ``dense_1``."""
    name = snake_case(kind)
    number = next(_COUNTERS.setdefault(name, count()))
    return f"{name}_{number}" if number else name


def missing_config(kind: type) -> NotImplementedError:
    """Return the error for a class of layers or models without a method `get_config` of its own."""
    if kind.__module__.startswith("jittape."):
        return NotImplementedError(
            f"{kind.__name__} of jt.keras has no config: call its class again, or use jt.keras.models.clone_model "
            "or pickle; get_config is for your own layers"
        )
    return NotImplementedError(f"{kind.__name__} has arguments and must define get_config()")


def clear_session() -> None:
    """Begin again with the names of layers: the next `Dense` is called ``dense``.

    Layers and models that exist keep their names and their weights.

    Examples
    --------
    >>> jt.keras.utils.clear_session()
    >>> [jt.keras.layers.Dense(1).name, jt.keras.layers.Dense(1).name]
    ['dense', 'dense_1']
    """
    _COUNTERS.clear()
