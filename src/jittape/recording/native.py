"""Whether known paths are recorded by machine code or by Python: see `use`."""

from __future__ import annotations

from jittape.errors import CompileError

__all__ = ["is_used", "use", "use_python"]

_used = False


def use() -> None:
    """Put methods of machine code in the places of those of Python; where there are none all stays as it is.

    These are `Trace.apply`, the commonest operators and the updates of a Variable. What they do is what the methods in
    Python do, which they call whenever something is not as usual.
    """
    # Not at the top, as LLVM comes with it.
    from jittape.recording.methods import methods

    global _used
    try:
        found = methods()
    except CompileError:
        return
    for method in found:
        if vars(method.owner)[method.name] is method.python:
            setattr(method.owner, method.name, method.machine)
    _used = bool(found)


def use_python() -> None:
    """Record by Python alone again."""
    global _used
    if _used:
        from jittape.recording.methods import methods

        for method in methods():
            if vars(method.owner)[method.name] is method.machine:
                setattr(method.owner, method.name, method.python)
    _used = False


def is_used() -> bool:
    """Whether machine code records."""
    return _used
