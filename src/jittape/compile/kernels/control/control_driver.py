"""Control flow as steps: the kernels of its drivers, their plans as records, and what both planners share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.compile.ir.kernel import Kernel
from jittape.compile.ir.table_layouts import BRANCH, BRANCH_CARRY, CARRY, FIXED, GROWN_STACK, LOOP
from jittape.core.locks import cached_property
from jittape.core.program import Aval
from jittape.value_classes import value_class

__all__ = [
    "STACK_AVAL",
    "ControlDriver",
    "Plan",
    "Release",
    "Stop",
    "arena_cells",
    "is_native",
    "single_buffers",
]

STACK_AVAL = Aval((GROWN_STACK.words,), np.dtype(np.int64))
"""Shape and dtype of the `GROWN_STACK` that is stored for a value of unknown length."""


@value_class
class ControlDriver(Kernel):
    """The driver of a loop, of a loop whose iterations may run at the same time ("parallel loop"), or of a branch."""

    kind: str
    abortable = True
    effectful = True

    @cached_property
    def text(self) -> str:
        return f"()\n  {self.kind}: runs the tables of its bodies"


@value_class
class Stop(Kernel):
    """Aborts the run if one of the `n0` elements of its operand is true."""

    abortable = True
    effectful = True

    @cached_property
    def text(self) -> str:
        return "(a0: bool; n0)\n  stop if any of a0"


@value_class
class Release(Kernel):
    """Frees the memory of a grown stack."""

    abortable = True

    @cached_property
    def text(self) -> str:
        return "()\n  release: gives back the memory of a grown stack"


@value_class
class Plan:
    """A step of control flow; its operands are the arguments, the results and then the temporaries.

    Attributes
    ----------
    kernel : Kernel
    bodies : tuple of Schedule
    temporaries : tuple of Aval
    words : tuple of int
        The kernel's table, without the launch tables of the bodies.
    tasks, work : int
        Number of tasks, and the estimated time on one thread, in ns.
    """

    kernel: Kernel
    bodies: tuple[Any, ...]
    temporaries: tuple[Aval, ...]
    words: tuple[int, ...]
    tasks: int = 1
    work: int = 0


def single_buffers(kernel: Kernel | None, words: Sequence[int]) -> list[tuple[int, int]]:
    """Return start and result, by position among the operands, of what stays in one buffer.

    These are carries of a loop, and arrays of which the bodies of a branch change elements. Start and result may have
    the same memory: the driver then begins without a copy.
    """
    if not isinstance(kernel, ControlDriver) or kernel.kind == "parallel loop":
        return []
    if kernel.kind == "branch":
        arrays = BRANCH_CARRY.unpack_array(words, BRANCH.words, BRANCH.unpack(words)["carries"])
        return [(one["start"], one["result"]) for one in arrays]
    head = LOOP.unpack(words)
    carries = CARRY.unpack_array(words, LOOP.words + head["fixed"] * FIXED.words, head["carries"])
    return [(one["start"], one["result"]) for one in carries if one["result"] == one["other"]]


def is_native(scheduled: Any) -> bool:
    """Return whether all steps of a schedule are machine code."""
    return all(step.kernel is not None for step in scheduled.steps)


def arena_cells(first: int, arena: int, scheduled: Any) -> list[list[int]]:
    """Return records for the temporaries of a body, whose cells begin with `first`."""
    return [
        FIXED.pack(cell=first + i, operand=arena, offset=offset) for i, offset in enumerate(scheduled.offsets)
    ]
