"""Public names whose modules are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: `names` gives the names that each module provides.

    A module provides itself under its own name. With `jt.keras`, `jt.data` and `jt.signal` at first
    use, ``import jittape`` loads 66 modules less.
    """
    home_of = {name: home for home, provided in names.items() for name in provided}

    def find(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        found = module if home.endswith(f".{name}") else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    return find
