"""Names of layers that were given none."""

from __future__ import annotations

import re
from itertools import count

__all__ = ["clear_session", "default_name", "numbered", "snake_case"]

_COUNTERS: dict[str, count[int]] = {}
"""For each kind of layer, the number of the next one without a name."""


def snake_case(kind: type | str) -> str:
    """Return the name of a class as Keras writes it: ``LSTMCell`` is ``lstm_cell``, and ``Conv2D`` is ``conv2d``."""
    name = kind if isinstance(kind, str) else kind.__name__
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\w)(?=[A-Z][a-z])", "_", name.strip("_")).lower()


def default_name(kind: type) -> str:
    """Return the name of a new layer of this class, as in Keras: ``dense``, then ``dense_1``."""
    return numbered(snake_case(kind))


def numbered(name: str) -> str:
    """Return the name of a new layer or weight: at the second use and later ones, with a number."""
    number = next(_COUNTERS.setdefault(name, count()))
    return f"{name}_{number}" if number else name


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
