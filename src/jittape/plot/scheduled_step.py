"""The schedule that a picture shows: that of the last step, or of a function for given arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.functions.decorator import function
from jittape.runtime.counters import counters

__all__ = ["lines_of", "schedule_of"]


def schedule_of(name: str, f: Callable[..., Any] | None, args: tuple[Any, ...]) -> Any:
    """Return a `Schedule`: of the last step that ran if `f` is None, else of ``f(*args)``, which is traced and not run.

    Raises
    ------
    RuntimeError
        If nothing has run yet.
    TypeError
        If `f` is not callable.
    ValueError
        If `f` looks at values, so that it has no program before it runs.
    """
    from jittape.compile.llvm.blas import host_facts
    from jittape.compile.schedule.schedule import schedule_recorded

    if f is None:
        executable = counters.last
        if executable is None:
            raise RuntimeError(
                f"[plot.{name}] nothing has run yet: look at a value first, or pass a function"
            )
        if executable.ran_compiled:
            return executable.compiled.explained
        return schedule_recorded(executable.program, target=host_facts)
    if not callable(f):
        raise TypeError(
            f"[plot.{name}] the first argument must be a function or None, not {type(f).__name__}"
        )
    traced = f if hasattr(f, "get_concrete_function") else function(f)
    program = traced.get_concrete_function(*args).program
    if program is None:
        raise ValueError(
            f"[plot.{name}] the function looks at values while it is traced: run it, then call plot.{name}() for the "
            "last step"
        )
    return schedule_recorded(program, target=host_facts)


def lines_of(step: Any) -> list[str]:
    """Return the file names and line numbers of the ops of a step of a schedule, without repetitions."""
    return list(dict.fromkeys(op.source.short_link for op in step.ops if op.source is not None))
