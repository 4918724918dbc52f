"""Whether known paths are recorded by machine code or by Python: see `follow`."""

from __future__ import annotations

from jittape.core.config import TESTED, config, is_traced

__all__ = ["follow", "is_used", "status", "use", "use_python"]

_used = False
_loops = False
"""Whether the program has turned out to run the same paths again and again."""
_impossible = ""
"""Why there are no methods in machine code, once that has been tried."""


def follow() -> None:
    """A loop is running: record by machine code if the settings allow it and nobody traces, else by Python."""
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
    """Put methods of machine code in the places of those of Python; where there are none all stays as it is.

    These are `Trace.apply`, the commonest operators, the updates of a Variable and what a flush does with tensors. What
    they do is what the methods in Python do, which they call whenever something is not as usual.
    """
    global _impossible, _used
    # Not at the top, as LLVM comes with it.
    from jittape.recording.native_methods import methods

    try:
        found = methods()
    except (RuntimeError, OSError) as error:  # of LLVM's; a `CompileError` is one
        _impossible = f"LLVM has no code for them: {error}"
        return
    for method in found:
        if vars(method.owner)[method.name] is method.python:
            setattr(method.owner, method.name, method.machine)
    _used = bool(found)
    _impossible = "" if found else "objects of this Python are not laid out as they expect"


def use_python() -> None:
    """Record by Python alone again."""
    global _used
    if _used:
        from jittape.recording.native_methods import methods

        for method in methods():
            if vars(method.owner)[method.name] is method.machine:
                setattr(method.owner, method.name, method.python)
    _used = False


def is_used() -> bool:
    """Whether machine code records."""
    return _used


def status() -> str:
    """What records loops here, and why if it is not machine code."""
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
    return f"Python alone, slower and no less right: {why}" if why else "machine code, in loops"


config.on_native_change(_changed)
