"""Public names whose modules are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, names: Mapping[str, Iterable[str] | Mapping[str, str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: `names` gives the names that each module provides.

    A mapping gives the name in the module for each name in the package. A module provides itself under its own name, or
    as the empty name. With `jt.keras`, `jt.data` and `jt.signal` at first use, ``import jittape`` loads 66 modules
    less. Other names raise an `AttributeError` that says what to use instead.
    """
    places = {
        name: (home, provided[name] if isinstance(provided, Mapping) else name)
        for home, provided in names.items()
        for name in provided
    }

    def find(name: str) -> Any:
        if name not in places:
            from jittape.left_out import explanation

            raise AttributeError(explanation(package, name))
        home, inner = places[name]
        module = import_module(home)
        found = module if inner == "" or home.endswith(f".{inner}") else getattr(module, inner)
        setattr(sys.modules[package], name, found)
        return found

    return find
