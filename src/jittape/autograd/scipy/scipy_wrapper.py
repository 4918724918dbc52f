"""SciPy's functions for programs of autograd: SciPy's own for plain arrays, those of `jittape.scipy` for tensors."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from jittape.autograd.containers import holds_boxes
from jittape.autograd.wrap_util import wrapping

__all__ = ["distributions", "namespace"]

Function = Callable[..., Any]


def namespace(
    package: str, module: str, recorders: Callable[[], Mapping[str, Function]]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of `package`, whose names are those of SciPy's `module`.

    ``recorders()`` gives functions of tensors by name, in place of those of `jittape.scipy`.
    """

    def find(name: str) -> Any:
        theirs = None if name.startswith("__") else getattr(import_module(f"scipy.{module}"), name, None)
        if theirs is None:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}: scipy.{module} has none either"
            )
        found = theirs
        if callable(theirs) and not isinstance(theirs, type):
            found = _wrapped(f"{module}.{name}", theirs, recorders().get(name) or _ours(module, name))
        setattr(sys.modules[package], name, found)
        return found

    return find


def _ours(module: str, name: str) -> Any:
    """Return the function or distribution of `jittape.scipy`, None if it has none."""
    home = f"jittape.scipy.{module}"
    return getattr(import_module(home), name, None) if find_spec(home) is not None else None


def _wrapped(label: str, theirs: Any, ours: Function | None) -> Function:
    """Return a function that calls `theirs` without a tensor among the arguments, else `ours`."""

    def of_boxes(*args: Any, **kwargs: Any) -> Any:
        if not (holds_boxes(args) or (kwargs and holds_boxes(kwargs))):
            return theirs(*args, **kwargs)
        if ours is not None:
            return ours(*args, **kwargs)
        if isinstance(theirs, np.ufunc):
            return theirs(*args, **kwargs)
        raise TypeError(
            f"scipy.{label} is not recorded: give it a derivative with jittape.autograd.extend.primitive and defvjp"
        )

    found: Function = wrapping(of_boxes, theirs)
    return found


class _Distribution(types.ModuleType):
    """A distribution of ``scipy.stats``, whose functions record; a module, as in autograd."""

    def __init__(self, package: str, name: str) -> None:
        super().__init__(f"{package}.{name}", f"Functions of ``scipy.stats.{name}`` that record.")
        self._label = name

    def __getattr__(self, name: str) -> Any:
        label = self.__dict__["_label"]
        theirs = None
        if not name.startswith("__"):
            theirs = getattr(getattr(import_module("scipy.stats"), label), name, None)
        if theirs is None:
            raise AttributeError(f"scipy.stats.{label} has no attribute {name!r}")
        found = theirs
        if callable(theirs):
            ours = _ours("stats", label)
            found = _wrapped(
                f"stats.{label}.{name}", theirs, None if ours is None else getattr(ours, name, None)
            )
        setattr(self, name, found)
        return found


def distributions(package: str, names: tuple[str, ...]) -> dict[str, types.ModuleType]:
    """Return modules for distributions, so that ``import autograd.scipy.stats.norm as norm`` has its counterpart."""
    made: dict[str, types.ModuleType] = {name: _Distribution(package, name) for name in names}
    sys.modules.update({module.__name__: module for module in made.values()})
    return made
