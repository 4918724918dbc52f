"""Interpretation of a program on buffers, and the work that it would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.buffers import Buffer, owned
from jittape.core.forms import runs_of
from jittape.core.interpret import interpret
from jittape.core.program import Program, bodies_of
from jittape.runtime.counters import counters

__all__ = ["arrays_of", "buffers_of", "interpreted", "ops_in_loops"]


def interpreted(program: Program, values: Sequence[Any]) -> list[Buffer]:
    """Return the outputs of `program` with NumPy; equal outputs and inputs share one buffer."""
    counters.interpreted_runs += 1
    return buffers_of(interpret(program, arrays_of(values)), values)


def arrays_of(values: Sequence[Any]) -> list[Any]:
    """Return the arrays of buffers, and all other values as they are."""
    return [value.array if isinstance(value, Buffer) else value for value in values]


def buffers_of(arrays: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Return buffers for arrays computed from `values`; None stays None."""
    held = {id(value.array): value for value in values if isinstance(value, Buffer)}
    outputs: list[Any] = []
    for array in arrays:
        buffer = None if array is None else held.get(id(array))
        if buffer is None and array is not None:
            buffer = held[id(array)] = owned(array)
        outputs.append(buffer)
    return outputs


def ops_in_loops(program: Program) -> int:
    """Return how many ops of bodies a run executes; one iteration counts of a loop of unknown length."""
    found = 0
    for first in {run[0].out: run[0] for run in runs_of(program.ops).values()}.values():
        bodies = [body.program for body in bodies_of(first)]
        trips = max(1, dict(first.params).get("trips", 1))
        found += trips * sum([len(body.ops) + ops_in_loops(body) for body in bodies])
    return found
