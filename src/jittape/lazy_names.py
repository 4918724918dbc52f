"""Public names whose modules are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazily"]


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: `modules` gives the module of each name, or of itself as a module.

    With `jt.keras`, `jt.data` and `jt.signal` at first use, ``import jittape`` loads 66 modules less.
    """

    def find(name: str) -> Any:
        home = modules.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        found = module if home.endswith(f".{name}") else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    return find
