"""`name_scope`: prefixes for the names of Variables, and the names of objects that were given none."""

from __future__ import annotations

import re
import threading
from itertools import count
from typing import Any

__all__ = [
    "clear_session",
    "current_prefix",
    "default_name",
    "get_current_name_scope",
    "name_scope",
    "numbered",
    "snake_case",
]

_COUNTERS: dict[str, count[int]] = {}
"""For each kind of layer, weight or optimizer, the number of the next one without a name."""


class _Current(threading.local):
    """The prefix of a thread, empty or ending in a slash."""

    prefix = ""


_current = _Current()


def current_prefix() -> str:
    """Return the prefix of the names of new Variables: empty, or a path that ends in a slash."""
    return _current.prefix


def get_current_name_scope() -> str:
    """Return the path of the current name scopes, without the last slash; empty outside all of them.

    Examples
    --------
    >>> with jt.name_scope("encoder"), jt.name_scope("first"):
    ...     jt.get_current_name_scope()
    'encoder/first'
    """
    return _current.prefix[:-1]


class name_scope:
    """A context that puts a name in front of the names of Variables created in it.

    Parameters
    ----------
    name : str
        Name within the current scope. A name that ends in a slash is a full path, and the empty name ends all scopes.

    Raises
    ------
    ValueError
        If `name` is not a str.

    Examples
    --------
    >>> with jt.name_scope("encoder") as scope:
    ...     v = jt.Variable(1.0, name="v")
    >>> scope, v.name
    ('encoder/', 'encoder/v:0')
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError(f"name for name_scope must be a string, got {name!r}")
        self._name = name
        self._before: list[str] = []

    @property
    def name(self) -> str:
        """The given name."""
        return self._name

    def __enter__(self) -> str:
        self._before.append(_current.prefix)
        if self._name == "" or self._name.endswith("/"):
            _current.prefix = self._name
        else:
            _current.prefix += f"{self._name}/"
        return _current.prefix

    def __exit__(self, *exc: Any) -> None:
        _current.prefix = self._before.pop()


def snake_case(kind: type | str) -> str:
    """Return the name of a class as Keras writes it: ``LSTMCell`` is ``lstm_cell``, and ``Conv2D`` is ``conv2d``."""
    name = kind if isinstance(kind, str) else kind.__name__
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\w)(?=[A-Z][a-z])", "_", name.strip("_")).lower()


def default_name(kind: type) -> str:
    """Return the name of a new layer or optimizer of this class, as in Keras: ``dense``, then ``dense_1``."""
    return numbered(snake_case(kind))


def numbered(name: str) -> str:
    """Return the name of a new layer, weight or optimizer: at the second use and later ones, with a number."""
    number = next(_COUNTERS.setdefault(name, count()))
    return f"{name}_{number}" if number else name


def clear_session() -> None:
    """Begin again with the names of layers and optimizers: the next `Dense` is called ``dense``.

    Existing layers and models keep their names and their weights.

    Examples
    --------
    >>> jt.keras.utils.clear_session()
    >>> [jt.keras.layers.Dense(1).name, jt.keras.layers.Dense(1).name]
    ['dense', 'dense_1']
    """
    _COUNTERS.clear()
