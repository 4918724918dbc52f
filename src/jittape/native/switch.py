"""The switch between methods in Python and in machine code. `register` says which methods there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jittape.core.config import TESTED, config, is_traced

__all__ = ["NativeMethod", "follow", "is_used", "register", "status", "use", "use_python"]


class NativeMethod(NamedTuple):
    """A method of a class, in Python and in machine code."""

    owner: type
    name: str
    python: Any
    machine: Any


def _no_methods() -> Sequence[NativeMethod]:
    return ()


_methods: Callable[[], Sequence[NativeMethod]] = _no_methods
_used = False
_loops = False
"""Whether the program has run the same paths again and again."""
_impossible = ""
"""Why there are no methods in machine code, after the first attempt to make them."""


def register(methods: Callable[[], Sequence[NativeMethod]]) -> None:
    """Register the function that makes the methods, or returns none where objects are not laid out as they expect.

    `methods` is called when a loop runs first, since it loads LLVM.
    """
    global _methods
    _methods = methods


def follow() -> None:
    """Use machine code in a loop if the settings allow it and no debugger traces, else Python."""
    global _loops
    _loops = True
    config.follow_tracing()
    _changed()


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
    try:
        found = _methods()
    except (RuntimeError, OSError) as error:  # from LLVM; a `CompileError` is one
        _impossible = f"LLVM cannot compile it: {error}"
        return
    for method in found:
        if vars(method.owner)[method.name] is method.python:
            setattr(method.owner, method.name, method.machine)
    _used = bool(found)
    _impossible = "" if found else "this Python lays objects out differently"


def use_python() -> None:
    """Put the methods in Python back."""
    global _used
    if _used:
        for method in _methods():
            if vars(method.owner)[method.name] is method.machine:
                setattr(method.owner, method.name, method.python)
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
