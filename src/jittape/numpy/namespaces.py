"""``__getattr__`` of the namespaces: a function is made when its name is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import FunctionType
from typing import Any

from jittape.numpy.array_creation import CONVERSIONS, PLANNED
from jittape.numpy.missing_names import explanation
from jittape.numpy.recorded_functions import described, is_recorded, recorded
from jittape.recording.machine_code.planned_functions import take_array, take_planned

__all__ = ["MODULES", "names_of", "namespace"]

MODULES = ("testing", "typing")
"""NumPy's own modules in the namespace. NumPy imports them when they are first used; `testing` takes 0.1 s."""


def names_of(source: Any, *more: Iterable[str]) -> list[str]:
    """Return the sorted public names of a namespace: those of NumPy's module `source` that record, and `more`."""
    found = {name for name, value in vars(source).items() if not name.startswith("_") and is_recorded(value)}
    return sorted(found.union(*more))


def namespace(
    module: str, source: Any, own: Mapping[str, Any], packages: Iterable[str], known: list[str]
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of the namespace `module`, which stands for NumPy's module `source`.

    Parameters
    ----------
    module : str
    source : module
    own : mapping
        Names that the namespace defines itself. Functions get name, signature and module of NumPy's.
    packages : iterable of str
        Names of packages inside the namespace.
    known : list of str
        All names, for messages.
    """

    def find(name: str) -> Any:
        if name in packages:
            return import_module(f"{module}.{name}")
        if name in MODULES and hasattr(source, name):
            found = getattr(source, name)
        elif name in own:
            found = own[name]
            if isinstance(found, FunctionType) and found.__module__ != module and hasattr(source, name):
                kind, copies = PLANNED.get(found), CONVERSIONS.get(found)
                found = _named_copy(found, getattr(source, name), module, name)
                if kind is not None:
                    take_planned(found, kind)
                elif copies is not None:
                    take_array(found, copies)
        elif not name.startswith("_") and is_recorded(getattr(source, name, None)):
            found = recorded(getattr(source, name), module, name)
        else:
            raise AttributeError(explanation(module, name, known, hasattr(source, name)))
        setattr(sys.modules[module], name, found)
        return found

    return find


def _named_copy(function: FunctionType, of: Any, module: str, name: str) -> Any:
    """Return `function` under the name `name`, with the signature of NumPy's function `of`."""
    made = FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return described(made, of, module, name)
