"""Op lists by hand and the walk back over them, without a tape: for the tests of `jittape.transform.differentiate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jittape.core.builder import Builder, Symbol, literal
from jittape.core.interpret import interpret
from jittape.core.primitive import recording_with
from jittape.core.program import Aval, Program, check
from jittape.primitives.broadcast import broadcast
from jittape.transform.differentiate import Reverse, Seen, TapeView, seen
from jittape.transform.op_paths import Path

FLOAT = np.dtype("float64")


class Recording:
    """An op list in the making; used as a context it records what user-level functions do."""

    def __init__(self) -> None:
        self.builder = Builder(0)
        self.inputs: list[int] = []
        self.variables: dict[int, bool] = {}
        self._context: Any = None

    def __enter__(self) -> Recording:
        self._context = recording_with(self.builder)
        self._context.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self._context.__exit__(None, None, None)

    def input(
        self, shape: tuple[int, ...] = (), dtype: np.dtype[Any] = FLOAT, trainable: bool | None = None
    ) -> Symbol:
        symbol = self.builder.new_slot(Aval(shape, dtype))
        self.inputs.append(symbol.slot)
        if trainable is not None:
            self.variables[symbol.slot] = trainable
        return symbol

    @property
    def position(self) -> int:
        return self.builder.next_slot

    def path(self) -> Path:
        return Path(tuple(self.inputs), tuple(self.builder.ops), self.builder.avals, self.variables)

    def seen(
        self, *watched: Symbol, segments: tuple[int, ...] = (0,), accessed: bool = False, at: int = 0
    ) -> Seen:
        return seen(self.path(), TapeView(segments, tuple((at, x.slot) for x in watched), accessed))


def begun(recording: Recording, target: Symbol, *sources: Symbol) -> tuple[Reverse, Builder]:
    """The walk from `target` back to `sources`, seeded with ones, and the builder for what it appends."""
    path = recording.path()
    tracked = seen(path, TapeView((0,), tuple((0, x.slot) for x in sources), False))
    reverse = Reverse.between(path, tracked, [target.slot], [x.slot for x in sources])
    builder = Builder(recording.position)
    with recording_with(builder):
        ones = broadcast(literal(1, target.dtype), target.shape)
    reverse.seed(builder, target.slot, ones)
    return reverse, builder


def result(
    recording: Recording, reverse: Reverse, builder: Builder, source: Symbol, values: Sequence[Any]
) -> Any:
    """The gradient with respect to `source`, evaluated."""
    ops = (*recording.builder.ops, *builder.ops)
    avals = {**recording.builder.avals, **builder.avals}
    program = check(Program(tuple(recording.inputs), ops, (reverse.cotangents[source.slot].slot,), avals))
    return interpret(program, values)[0]


def gradient(recording: Recording, target: Symbol, source: Symbol, *values: Any) -> Any:
    reverse, builder = begun(recording, target, source)
    assert reverse.run(builder) is None
    return result(recording, reverse, builder, source, values)


def literal_in(builder: Builder, value: float) -> Symbol:
    with recording_with(builder):
        return literal(value, FLOAT)
