"""`jt.plot.memory`: bytes in use while the steps of a program run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jittape.inspect.explain import size_text
from jittape.plot.chart_axes import new_axes
from jittape.plot.scheduled_step import lines_of, schedule_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["memory"]


def memory(f: Callable[..., Any] | None = None, /, *args: Any, ax: Axes | None = None) -> Axes:
    """Plot the bytes that a program needs in each of its steps: inputs, results and temporaries.

    Parameters
    ----------
    f : callable, optional
        A function, which is traced for `args` and not run. Without it, the last step that ran is shown.
    *args : any
        Arguments of `f`.
    ax : matplotlib.axes.Axes, optional
        Axes to plot into; new ones without it.

    Returns
    -------
    matplotlib.axes.Axes
        Bars for the steps; the highest bar has its bytes and the source line of its step.

    Raises
    ------
    RuntimeError
        If nothing has run yet and `f` is missing.
    TypeError
        If `f` is not callable.
    ValueError
        If `f` looks at values while it is traced.

    Examples
    --------
    >>> import jittape as jt
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> ax = jt.plot.memory(lambda x: jt.reduce_sum(jt.cumsum(x) * x), jt.ones([1000]))
    >>> ax.get_ylabel()
    'bytes'
    """
    schedule = schedule_of("memory", f, args)
    parts = bytes_of_steps(schedule)
    ax = ax or new_axes()
    positions = np.arange(1, len(schedule.steps) + 1)
    below = np.zeros(len(positions))
    for name, nbytes in parts.items():
        ax.bar(positions, nbytes, bottom=below, label=name)
        below = below + nbytes
    ax.set_xlabel("step")
    ax.set_ylabel("bytes")
    ax.set_xticks(positions if len(positions) <= 30 else [])
    ax.legend(loc="best")
    if len(positions):
        at = int(np.argmax(below))
        lines = lines_of(schedule.steps[at])
        ax.set_title(
            f"at most {size_text(below[at])}, in step {at + 1} ({', '.join(lines[:3]) or 'no line'})"
        )
    return ax


def bytes_of_steps(schedule: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Return the bytes of inputs, results and temporaries that hold values while each step runs.

    A temporary holds a value from the first step that has it as an operand to the last one.
    """
    count = len(schedule.steps)
    inputs = sum(aval.nbytes for aval in schedule.program.input_avals())
    fixed = len(schedule.program.inputs) + len(schedule.results)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, step in enumerate(schedule.steps):
        for storage in step.storages:
            first.setdefault(storage, i)
            last[storage] = i
        for storage, _ in step.overwritten:  # its memory has the other storage of the pair from now on
            last[storage] = i - 1
    results, temporaries = np.zeros(count), np.zeros(count)
    for storage, start in first.items():
        if storage >= fixed:
            temporaries[start : last[storage] + 1] += schedule.lengths[storage - fixed]
        elif storage >= len(schedule.program.inputs):
            results[start:] += schedule.results[storage - len(schedule.program.inputs)].nbytes
    return {"inputs": np.full(count, float(inputs)), "results": results, "temporaries": temporaries}
