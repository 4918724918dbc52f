"""Public names whose modules are imported when they are first used, and public modules with two names."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn, TypeVar

__all__ = [
    "MissingName",
    "find_aliases",
    "lazily",
    "made_at_first_use",
    "missing_name",
    "submodules",
    "with_missing_names",
]

Class = TypeVar("Class", bound=type)

ALIASES = {
    "jittape.dtypes": "jittape.dtype_names",
    "jittape.initializers": "jittape.keras.initializers",
    "jittape.keras.optimizers": "jittape.optimizers",
    "jittape.losses": "jittape.keras.losses",
    "jittape.math.special": "jittape.math_special",
    "jittape.metrics": "jittape.keras.metrics",
    "jittape.nn.layers": "jittape.keras.layers",
    "jittape.numpy.exceptions": "numpy.exceptions",
    "jittape.numpy.testing": "numpy.testing",
    "jittape.numpy.typing": "numpy.typing",
}
"""Other name of a module -> the name under which it is imported."""
_ALIASED = tuple(f"{name}." for name in ALIASES)


def lazily(package: str, names: Mapping[str, Iterable[str] | Mapping[str, str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: `names` gives the names that each module provides.

    A mapping gives the name in the module for each name in the package. A module provides itself as the empty name, or
    under its own name unless it has such a name. With all names of jittape at first use, ``import jittape`` takes 3 ms
    of processor time instead of 88, and the first gradient of a process takes 30 ms less in all. Other names raise an
    `AttributeError` that says what to use instead.
    """
    places = {
        name: (home, provided[name] if isinstance(provided, Mapping) else name)
        for home, provided in names.items()
        for name in provided
    }

    def find(name: str) -> Any:
        if name not in places:
            raise missing_name(package, name)
        home, inner = places[name]
        module = _imported(home)
        # `hasattr` would search all modules for a missing name, although one of them may be importing this one.
        is_module = inner == "" or (home.endswith(f".{inner}") and inner not in module.__all__)
        found = module if is_module else getattr(module, inner)
        setattr(sys.modules[package], name, found)
        return found

    return find


def made_at_first_use(home: str, function: str, *arguments: Any) -> Callable[[str], Any]:
    """Return a ``__getattr__``: the one that `function` of the module `home` makes when a name is first used."""

    @cache
    def made() -> Callable[[str], Any]:
        found: Callable[[str], Any] = getattr(import_module(home), function)(*arguments)
        return found

    return lambda name: made()(name)


def _imported(home: str) -> ModuleType:
    """Return the module `home`, imported without garbage collections, which find nothing and take 3 ms in all."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(home)
    finally:
        if is_enabled:
            gc.enable()


def submodules(package: str, *names: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose modules `names` are imported when they are first used.

    A class that all programs import refers to such a module by its package: ``indexing.getitem.getitem(x, key)``.
    """
    return lazily(package, {f"{package}.{name}": {name: ""} for name in names})


def missing_name(place: str, name: str) -> AttributeError:
    """Return the error for a name that a public module, or ``jittape.config``, does not have."""
    return _MissingName(place, name)


class MissingName:
    """An attribute of an object that stands for a public module: reading it raises the error of a missing name."""

    __slots__ = ("_name", "_place")

    def __init__(self, place: str, name: str) -> None:
        self._place, self._name = place, name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise missing_name(self._place, self._name)


def with_missing_names(place: str, names: str) -> Callable[[Class], Class]:
    """Return a decorator that gives a class a `MissingName` for each of TensorFlow's `names`, separated by spaces."""

    def decorated(cls: Class) -> Class:
        for name in names.split():
            setattr(cls, name, MissingName(place, name))
        return cls

    return decorated


class _MissingName(AttributeError):
    """An `AttributeError` that looks for what to use instead when its text is read.

    The search imports all of jittape, which takes 0.3 s. `hasattr`, ``from package import module`` and pickle, which
    asks all modules for a name, do not read the text.
    """

    def __str__(self) -> str:
        from jittape.left_out import explanation

        return explanation(*self.args)

    def __reduce__(self) -> Any:
        return AttributeError, (str(self),)


_MissingName.__name__ = _MissingName.__qualname__ = "AttributeError"  # tracebacks show it
_MissingName.__module__ = "builtins"


class _Aliases:
    """Finder of ``sys.meta_path`` that makes ``import jittape.keras.optimizers`` import `jittape.optimizers`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(_ALIASED):
            return None
        alias = next(name for name in ALIASES if f"{fullname}.".startswith(f"{name}."))
        return ModuleSpec(fullname, _Alias(ALIASES[alias] + fullname.removeprefix(alias)))  # type: ignore[arg-type]


class _Alias:
    """Loader that puts a module into `sys.modules` under another name, too."""

    def __init__(self, home: str) -> None:
        self._home = home

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._home)


def find_aliases() -> None:
    """Make the modules of `ALIASES` importable, and their submodules. An import takes 0.1 µs more."""
    if not any(type(finder).__name__ == _Aliases.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _Aliases())
