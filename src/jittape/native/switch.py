"""The switch between methods in Python and in machine code. `register` says which methods there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from jittape.core.config import TESTED, config, is_traced
from jittape.native.vector_calls import python_call, replace
from jittape.value_classes import NamedTuple

__all__ = [
    "MachineCode",
    "NativeMethod",
    "follow",
    "is_used",
    "register",
    "status",
    "take_calls",
    "use",
    "use_python",
]


class NativeMethod(NamedTuple):
    """A method of a class, in Python and in machine code."""

    owner: type
    name: str
    python: Any
    machine: Any


class MachineCode(NamedTuple):
    """The methods, and by its name the address of code that takes the calls of functions: see `take_calls`.

    `take_loaded` takes those of functions whose modules have been imported meanwhile.
    """

    methods: Sequence[NativeMethod] = ()
    calls: Mapping[str, int] = {}
    take_loaded: Callable[[], None] = lambda: None


_loaders: list[Callable[[], MachineCode]] = []
_functions: list[tuple[FunctionType, str]] = []
"""Functions whose calls machine code takes, and the name of the code."""
_used = False
_loops = False
"""Whether the program has run the same paths again and again."""
_impossible = ""
"""Why there are no methods in machine code, after the first attempt to make them."""


def register(load: Callable[[], MachineCode]) -> None:
    """Register a function that makes code, or returns none where objects are not laid out as it expects.

    `load` is called when a loop runs first, since it loads LLVM.
    """
    _loaders.append(load)
    if _used:
        use()


def take_calls(function: FunctionType, code: str) -> None:
    """Let the machine code of this name take the calls of a function while machine code is used."""
    _functions.append((function, code))
    if _used:
        replace(function, _address_of(code))


def _address_of(code: str) -> int:
    return next(made.calls[code] for load in _loaders if code in (made := load()).calls)


def follow() -> None:
    """Use machine code in a loop if the settings allow it and no debugger traces, else Python."""
    global _loops
    _loops = True
    config.follow_tracing()
    _changed()
    if _used:
        for load in _loaders:
            load().take_loaded()


def _changed() -> None:
    if not config._native:
        use_python()
    elif _loops and not (_used or _impossible):
        use()


def use() -> None:
    """Replace the methods in Python by those in machine code, if there are any.

    A method in machine code does what the one in Python does and calls it in all unusual cases.
    """
    global _impossible, _used
    if not _loaders:
        return
    try:
        found = [method for load in _loaders for method in load().methods]
    except (RuntimeError, OSError) as error:  # from LLVM; a `CompileError` is one
        _impossible = f"LLVM cannot compile it: {error}"
        return
    for method in found:
        if vars(method.owner)[method.name] is method.python:
            setattr(method.owner, method.name, method.machine)
    _used = bool(found)
    for function, code in _functions if _used else ():
        replace(function, _address_of(code))
    _impossible = "" if _used else "this Python lays objects out differently"


def use_python() -> None:
    """Put the methods in Python back."""
    global _used
    if _used:
        for method in [method for load in _loaders for method in load().methods]:
            if vars(method.owner)[method.name] is method.machine:
                setattr(method.owner, method.name, method.python)
        for function, _ in _functions:
            replace(function, python_call())
    _used = False


def is_used() -> bool:
    """Return whether the methods in machine code are used."""
    return _used


def status() -> str:
    """Describe which methods loops use, and the reason if they use those in Python."""
    why = ""
    if not config.native:
        why = "jt.config.native is False, or JITTAPE_NATIVE=0"
    elif not config.native_supported:
        versions = f"{'.'.join(map(str, TESTED[0]))} to {'.'.join(map(str, TESTED[-1]))}"
        why = f"jittape was tested with CPython {versions} only"
    elif is_traced():
        why = "a debugger or profiler traces"
    else:
        use()
        why = _impossible
        _changed()
    return f"Python only, slower with the same results: {why}" if why else "machine code, in loops"


config.on_native_change(_changed)
