"""The fast path that runs an executable on a trace's inputs with little Python.

`CompiledExecutable.run` takes 2.3 µs for a small step, of which writing the slot table with `struct` takes 1.1 µs. On
the fast path machine code writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jittape.core.buffers import Buffer, address_of
from jittape.core.dtypes import float32, float64, int64
from jittape.core.tuning import tuning
from jittape.runtime.executable import CompiledExecutable
from jittape.runtime.table_runner import Feed, plan, runner

__all__ = ["FastRun", "fast_run"]

_NONE: Mapping[int, Buffer] = {}


def fast_run(compiled: CompiledExecutable, positions: Sequence[int], values: Sequence[Any]) -> FastRun | None:
    """Return a fast ``lambda inputs: compiled.run([inputs[i] for i in positions])``; None if there is none.

    Its inputs must have the types of `values`.
    """
    layout, tables = compiled.layout, compiled.tables
    plain = layout.plain_outputs and layout.results
    if runner() is None or not plain or tables is None or len(tables) != 1 or min(positions, default=0) < 0:
        return None
    feeds: dict[Any, list[Feed]] = {Buffer: [], float64: [], float32: [], int64: []}
    classes: Mapping[Any, type] = {None: Buffer, float64: float, float32: float, int64: int}
    for cell, result_index in enumerate(positions):
        dtype = layout.scalar_dtypes[cell]
        kind = Buffer if dtype is None else dtype
        if kind not in feeds or values[result_index].__class__ is not classes[dtype]:
            return None
        feeds[kind].append((result_index, cell))
    return FastRun(compiled, positions, plan(tables[0], *feeds.values()))


class FastRun:
    """A run of an executable on a trace's inputs, called as ``run(inputs)``.

    The machine code of `jittape.recording.machine_code.emit_flush` does the same if the run `is_simple`.

    Attributes
    ----------
    address : int
        Address of the plan of `runner`.
    free : list of Workspace
        Workspaces that no run uses.
    is_simple : bool
        Whether no run can fail, all results are small, and the arena belongs to the workspace.
    """

    __slots__ = ("_arena", "_compiled", "_donors", "_plan", "_positions", "address", "free", "is_simple")

    def __init__(
        self, compiled: CompiledExecutable, positions: Sequence[int], planned: np.ndarray[Any, Any]
    ) -> None:
        self._compiled, self._positions, self._plan = compiled, positions, planned
        self.address = address_of(planned)
        self.free = compiled.free_workspaces
        memory = compiled.memory
        self._donors = [(cell, positions[cell]) for cell, _, _ in memory.in_place]
        self._arena = memory.arena >= tuning.workspace_arena_bytes
        self.is_simple = not (self._donors or self._arena or compiled.may_fail)

    def __call__(self, inputs: list[Any]) -> list[Buffer]:
        free, donors = self.free, self._donors
        try:
            workspace = free.pop()
        except IndexError:
            workspace = self._compiled.workspace()
        try:
            # The trace and the Variable refer to a donated buffer, besides the dictionary.
            donated = {cell: inputs[result_index] for cell, result_index in donors} if donors else _NONE
            results = list(workspace.begin(donated, 2))
            runner()(tuple(inputs), workspace.address, self.address)  # type: ignore[misc]
        except IndexError:
            self._compiled.explain([inputs[i] for i in self._positions])
            raise
        finally:
            if self._arena:
                workspace.leave()
            free.append(workspace)
        return results
