"""Finalizers that use tensors: the garbage collector may run them in the middle of a step."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.native import switch

pytestmark = pytest.mark.usefixtures("small_heap")

MOST_ALLOCATIONS = 160
"""Of objects that the collector visits, in a step."""


class Garbage:
    """An object that only the garbage collector frees."""

    def __init__(self, finalizer: Callable[[], None]) -> None:
        self.itself, self.finalizer = self, finalizer

    def __del__(self) -> None:
        self.finalizer()


class Program:
    """A step that assigns Variables and reads them again, and what finalizers do meanwhile."""

    def __init__(self) -> None:
        self.x, self.y = jt.constant(np.arange(5.0)), jt.constant(np.linspace(1, 2, 5))
        self.w, self.b = jt.Variable(np.ones(5)), jt.Variable(np.float64(0.5))
        self.other, self.z = jt.Variable(np.zeros(3)), jt.constant(np.ones(7))
        self.kept: Any = None
        self.finalized = 0

    def step(self) -> tuple[Any, ...]:
        x, y, w, b = self.x, self.y, self.w, self.b
        w.assign(0.5 * w + x)
        b.assign(b * jt.reduce_sum(w * w) * 0.01)
        w.assign(w - b * y)
        w.assign_sub(w * w * 0.01)
        part, added, total = x[1:3] * 2.0, np.add(x, [1.0, 2.0, 3.0, 4.0, 5.0]), jt.reduce_sum(x * np.ones(5))
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(w * x - y + added))
        (gradient,) = tape.gradient(loss, [w])
        w.assign_sub(0.01 * gradient)
        return loss, part, added, total

    def record(self) -> None:
        self.kept = self.z * 3.0 + 1.0

    def flush(self) -> None:
        (self.z * 2.0 + self.x[0]).numpy()

    def assign(self) -> None:
        self.other.assign_add(np.ones(3))

    def look(self) -> None:
        self.w.numpy()
        self.x.numpy()

    def differentiate(self) -> None:
        with jt.GradientTape() as tape:
            tape.watch(self.z)
            total = jt.reduce_sum(self.z * self.z)
        tape.gradient(total, self.z).numpy()

    def run(self, finalizer: str | None = None, allocations: int = 700) -> list[list[float]]:
        """Return the values after a step in which the collector runs after a number of allocations."""
        self.w.assign(np.ones(5))
        self.b.assign(np.float64(0.5))
        self.w.numpy()
        gc.collect()
        gc.disable()
        gc.set_threshold(allocations, 1000, 1000)
        if finalizer is not None:
            Garbage(lambda: self._finalize(finalizer))
            gc.enable()
        results = self.step()
        gc.disable()
        return [x.numpy().tolist() for x in (*results, self.w, self.b)]

    def _finalize(self, finalizer: str) -> None:
        getattr(self, finalizer)()
        self.finalized += 1


@pytest.fixture(params=["machine code", "Python"])
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    before, thresholds, collects = switch.is_used(), gc.get_threshold(), gc.isenabled()
    made = Program()
    (switch.use if request.param == "machine code" else switch.use_python)()
    for _ in range(4):
        made.run()
    yield made
    gc.collect()  # so that no finalizer runs in another test
    gc.set_threshold(*thresholds)
    (gc.enable if collects else gc.disable)()
    (switch.use if before else switch.use_python)()


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # in the middle of an op it is refused
@pytest.mark.parametrize("finalizer", ["record", "flush", "assign", "look", "differentiate"])
def test_finalizers_change_no_value(program: Program, finalizer: str):
    wanted = program.run()
    for allocations in range(1, MOST_ALLOCATIONS):
        assert program.run(finalizer, allocations) == wanted, allocations
    assert program.finalized > 20
    assert program.other.numpy().tolist() == [program.finalized if finalizer == "assign" else 0] * 3


def test_the_collector_stays_as_it_was(program: Program):
    for setting, is_enabled in ((gc.disable, False), (gc.enable, True)):
        setting()
        program.step()
        assert gc.isenabled() is is_enabled
        with pytest.raises(TypeError):
            program.x + object()
        assert gc.isenabled() is is_enabled
