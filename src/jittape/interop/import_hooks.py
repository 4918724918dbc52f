"""Entries that other libraries need for tensors, made when such a library is imported.

Importing jittape imports none of them. A finder waits for their modules; it takes 0.1 µs per later import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

__all__ = ["install"]

_ENTRIES = {
    "einops._backends": "jittape.interop.einops_backend",
    "pandas": "jittape.interop.pandas_entry",
    "pytensor.link.jax.dispatch.basic": "jittape.interop.pytensor_function",
    "scipy.sparse": "jittape.interop.sparse_entry",
}
"""Module of another library -> module of jittape whose `register` makes the entry."""


class _Finder:
    """Finder of ``sys.meta_path`` that makes the entry of a module after it was run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _ENTRIES:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                loader: Any = spec.loader
                if loader is not None:
                    loader.exec_module = _then_register(loader.exec_module)
                return spec
        return None


def _then_register(exec_module: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def run(module: ModuleType) -> None:
        exec_module(module)
        _register(module)

    return run


def _register(module: ModuleType) -> None:
    import_module(_ENTRIES[module.__name__]).register(module)


def install() -> None:
    """Make the entries of libraries that are imported, and wait for the others."""
    for name in _ENTRIES:
        if name in sys.modules:
            _register(sys.modules[name])
    if not any(type(finder).__name__ == _Finder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
