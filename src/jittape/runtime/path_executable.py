"""`PathExecutable`: runs the program of one node of the trie when a trace is flushed there.

The first visit is interpreted, without delay; the next visit compiles the path. The interpreter runs the program as
recorded, the compiler after simplification, so each can check the other. A program with long loops, or a long one that
repeats the same few ops or has its schedule on disk, is compiled at its first visit.

If the visits before the compilation had the same `RepeatedStarts`, a path of its own is compiled for them. The first
run with other starts ends this and compiles the path for all starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jittape.core.buffers import Buffer
from jittape.core.config import config
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.tuning import tuning
from jittape.runtime.cold_code import let_release
from jittape.runtime.counters import counters
from jittape.runtime.gc_pause import gc_paused
from jittape.runtime.gc_tracking import track
from jittape.runtime.interpretation import arrays_of, buffers_of, interpreted, ops_in_loops
from jittape.runtime.repeated_starts import RepeatedStarts
from jittape.value_classes import NamedTuple

__all__ = [
    "GeneralPathAtStarts",
    "GeneralPathExecutable",
    "GeneralProgram",
    "PathExecutable",
    "compiled_from",
    "count_program",
    "donated_positions",
]

if TYPE_CHECKING:
    from jittape.runtime.executable import CompiledExecutable


class PathExecutable:
    """Runs one program: interpreted at first, compiled from the second visit on.

    Parameters
    ----------
    program : Program
        As recorded.
    picks : sequence of int
        The value of the trace for every program input: an index into the runtime inputs, or ``-1 - i`` for available
        slot number `i`.
    scalars : frozenset of int
        Input slots whose value is a Python scalar.
    donated : tuple of (int, int)
        Runtime inputs and outputs, by position: the old and the new value of a Variable that is assigned. The memory of
        the old value is reused if only the Variable and the list of runtime inputs refer to it.

    Attributes
    ----------
    visits : int
        Number of runs.
    ran_compiled : bool
        Whether the last run was compiled.
    """

    __slots__ = (
        "__weakref__",
        "_at_starts",
        "_compiled",
        "_donated",
        "_fast_run",
        "_lacks_fast_run",
        "_picks",
        "_program",
        "_starts",
        "_visits_before",
        "ran_compiled",
        "scalars",
        "visits",
    )
    _compiler_speed = 1

    def __init__(
        self,
        program: Program,
        picks: Sequence[int],
        scalars: frozenset[int],
        donated: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self._program = program
        self.scalars = scalars
        self.visits = 0
        self.ran_compiled = False
        self._picks = tuple(picks)
        self._donated = donated_positions(donated, picks)
        self._compiled: Any = None
        self._fast_run: Callable[[list[Any]], list[Buffer]] | None = None
        self._lacks_fast_run = False
        self._starts: RepeatedStarts | None = None
        self._at_starts: PathAtStarts | GeneralPathAtStarts | None = None

    @property
    def program(self) -> Program:
        """The program as recorded."""
        return self._program

    @property
    def compiled(self) -> Any:
        """The `CompiledExecutable`; None before the first compiled run."""
        return self._compiled

    def run(self, inputs: list[Any], available: list[Buffer]) -> list[Buffer]:
        """Run the program and return a buffer for every output."""
        self.visits += 1
        fast, compiled = self._fast_run, self._compiled  # another thread may release them: see `release_cold`
        if fast is not None and config._native and not config._interpret:
            self.ran_compiled = True
            counters.compiled_runs += 1
            return fast(inputs)
        if config._interpret or compiled is None:
            special = self._at_starts
            if special is not None and not config._interpret:
                if special.starts.hold(inputs):
                    return special.run(inputs, available)
                self._at_starts = self._starts = None
            compiled = None if config._interpret else self._derived(inputs)
            if compiled is None:
                if config._interpret or self._is_new():
                    self.ran_compiled = False
                    self._note_starts(inputs)
                    return self.interpret(inputs, available)
                if self._starts is not None and self._starts.hold(inputs):
                    special = self._at_starts = PathAtStarts(self, self._starts)
                    return special.run(inputs, available)
                compiled = self._compile(inputs)
        elif self._lacks_fast_run:
            compiled = self._prepare(compiled, inputs)
        self.ran_compiled = True
        counters.compiled_runs += 1
        values = self._picked(inputs, available)
        # The trace and the Variable refer to a donated buffer, and `values`.
        results: list[Buffer] = compiled.run(values, 2)
        return results

    def interpret(self, inputs: list[Any], available: list[Buffer]) -> list[Buffer]:
        """Run the program op by op with NumPy."""
        return interpreted(self.program, self._picked(inputs, available))

    def salvage(self, inputs: list[Any], available: list[Buffer]) -> tuple[list[Buffer | None], int]:
        """Run a program with failing ops op by op; return its outputs and the slot of the first op that fails.

        An output that depends on a failing op is None. The slot is -1 if no op fails with NumPy.
        """
        values = self._picked(inputs, available)
        failures: list[int] = []
        found = interpret(self.program, arrays_of(values), failures)
        return buffers_of(found, values), min(failures, default=-1)

    def _picked(self, inputs: list[Any], available: list[Buffer]) -> list[Any]:
        return [inputs[i] if i >= 0 else available[-1 - i] for i in self._picks]

    def _is_new(self) -> bool:
        """Return whether the program has run too rarely to be compiled."""
        most = tuning.interpreted_loop_ops // self._compiler_speed
        return self.visits <= config.compile_after and ops_in_loops(self.program) <= most

    def _note_starts(self, inputs: list[Any]) -> None:
        """Keep the starts of slices at the first visit, as long as they repeat."""
        if self.visits == 1:
            self._starts = RepeatedStarts.of(self.program, self._picks, self.scalars, inputs)
        elif self._starts is not None and not self._starts.hold(inputs):
            self._starts = None

    def _derived(self, inputs: list[Any]) -> Any:
        """Return the compiled program if that takes about as long as one interpretation, or less; None else."""
        if self.visits > 1 or len(self.program.ops) < tuning.segmented_program_ops:
            return None
        compiled = compiled_at_once(self.program, self.scalars, self._donated)
        if compiled is not None:
            self._keep(compiled)
            self._prepare(compiled, inputs)
        return compiled

    def _compile(self, inputs: list[Any]) -> Any:
        compiled = compiled_from(self.program, self.scalars, self._donated)
        self._keep(compiled)
        self._prepare(compiled, inputs)
        return compiled

    def _keep(self, compiled: CompiledExecutable) -> None:
        """Keep the compiled program until `release_cold` releases it."""
        self._compiled = compiled  # may refer to the path
        track(self)
        self._visits_before = 0
        let_release(self)

    def _prepare(self, compiled: CompiledExecutable, inputs: list[Any]) -> CompiledExecutable:
        """Make the fast path of the program, whose code is announced; return the executable of later runs."""
        from jittape.runtime.fast_run import fast_run

        self._lacks_fast_run = False
        self._fast_run = fast_run(compiled, self._picks, inputs)
        return compiled

    def _release(self) -> None:
        self._compiled = self._fast_run = None
        self._lacks_fast_run = False


class PathAtStarts(PathExecutable):
    """A `PathExecutable` with the starts of slices as constants.

    Parameters
    ----------
    path : PathExecutable
        The path for all starts.
    starts : RepeatedStarts
        The starts that hold at each run.
    """

    __slots__ = ("starts",)

    def __init__(self, path: PathExecutable, starts: RepeatedStarts) -> None:
        program = starts.bound(path.program)
        picks = starts.picks_without(path.program, path._picks)
        super().__init__(program, picks, path.scalars - {*starts.slots})
        inputs = path.program.inputs
        self._donated = tuple([(program.inputs.index(inputs[i]), output) for i, output in path._donated])
        self.visits = path.visits - 1
        self.starts = starts

    def run(self, inputs: list[Any], available: list[Buffer]) -> list[Buffer]:
        """Run the program, which is then the last that ran, and return a buffer for every output."""
        counters.last = self
        return super().run(inputs, available)


class GeneralProgram(NamedTuple):
    """The program of a flush for all values of some extents.

    Attributes
    ----------
    program_at : callable
        Returns the program for values of the extents.
    compiled_at : callable
        Returns the `CompiledExecutable` for values and a function that returns the program; None if the passes must
        run. With a third argument, True, it is not provisional; with a fourth one it serves one run.
    picks, scalars, donated
        As for `PathExecutable`.
    starts : RepeatedStarts or None
        Starts of narrow parts.
    at_starts : GeneralProgram or None
        The same with these starts as constants.
    """

    program_at: Callable[..., Program]
    compiled_at: Callable[..., Any]
    picks: tuple[int, ...]
    scalars: frozenset[int]
    donated: tuple[tuple[int, int], ...]
    starts: RepeatedStarts | None = None
    at_starts: GeneralProgram | None = None


class GeneralPathExecutable(PathExecutable):
    """A `PathExecutable` for one of the lengths that a general path serves.

    It is compiled at the first visit, unless the passes must run for this length.
    """

    __slots__ = ("_general", "_values")
    _compiler_speed = 5  # other lengths have the kernels: an LSTM of 128 steps takes 9 ms, interpreted 35

    def __init__(self, general: GeneralProgram, values: Sequence[int]) -> None:
        super().__init__(_UNKNOWN, general.picks, general.scalars, general.donated)
        self._general, self._values = general, values
        if general.at_starts is not None and general.starts is not None and general.starts.are_repeated:
            self._at_starts = GeneralPathAtStarts(general.at_starts, values, general.starts)

    @property
    def program(self) -> Program:
        """The program as recorded."""
        if self._program is _UNKNOWN:
            self._program = self._general.program_at(*self._values)
        return self._program

    def _own_program(self) -> Program:
        return self.program

    @property
    def compiled(self) -> Any:
        """The `CompiledExecutable`; after the first visit, which keeps none, it is made again."""
        if self._compiled is None and self.ran_compiled:
            compiled = self._general.compiled_at(self._values, self._own_program)
            if compiled is not None:
                self._keep(compiled)
                self._lacks_fast_run = True
        return self._compiled

    def _prepare(self, compiled: CompiledExecutable, inputs: list[Any]) -> CompiledExecutable:
        if compiled.is_provisional:
            found = self._general.compiled_at(self._values, self._own_program, True)
            compiled = found or compiled_from(self.program, self.scalars, self._donated)
            self._keep(compiled)
        return super()._prepare(compiled, inputs)

    def _derived(self, inputs: list[Any]) -> Any:
        is_met_again = self.visits > 1
        general = self._general
        compiled = general.compiled_at(self._values, self._own_program, is_met_again, not is_met_again)
        if compiled is not None and is_met_again:  # most lengths are met once
            self._keep(compiled)
            self._prepare(compiled, inputs)
        return compiled


class GeneralPathAtStarts(GeneralPathExecutable):
    """A `GeneralPathExecutable` with the starts of slices as constants."""

    __slots__ = ("starts",)

    def __init__(self, general: GeneralProgram, values: Sequence[int], starts: RepeatedStarts) -> None:
        super().__init__(general, values)
        self.starts = starts

    def run(self, inputs: list[Any], available: list[Buffer]) -> list[Buffer]:
        """Run the program, which is then the last that ran, and return a buffer for every output."""
        counters.last = self
        return super().run(inputs, available)


_UNKNOWN = Program((), (), (), {})
"""The program of a `GeneralPathExecutable` that nobody has asked for."""


def donated_positions(
    donated: Sequence[tuple[int, int]], picks: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Return `donated` with positions among the inputs of the program, which `picks` takes from the runtime inputs."""
    return tuple([(picks.index(i), output) for i, output in donated if i in picks])


def compiled_from(
    program: Program,
    scalars: frozenset[int],
    donated: tuple[tuple[int, int], ...],
    constants: Mapping[int, float] | None = None,
) -> CompiledExecutable:
    """Return the executable of a program as recorded, and count it.

    `constants` are inputs that are the same at every run.
    """
    with gc_paused():
        # The first compiled program imports LLVM; `import jittape` does not.
        from jittape.runtime.executable import executable_of

        began = time.perf_counter()
        if constants is not None:
            from jittape.compile.rewrite.bind_constants import bind_constants

            program = bind_constants(program, constants)
        compiled = executable_of(program, scalars, donated)
    count_program(compiled, began)
    return compiled


def compiled_at_once(
    program: Program, scalars: frozenset[int], donated: tuple[tuple[int, int], ...]
) -> CompiledExecutable | None:
    """Return the executable that `executable_at_once` makes of a long program, and count it."""
    with gc_paused():
        from jittape.runtime.executable import executable_at_once

        began = time.perf_counter()
        compiled = executable_at_once(program, scalars, donated)
    if compiled is not None:
        count_program(compiled, began)
    return compiled


def count_program(compiled: CompiledExecutable, began: float) -> None:
    """Count an executable and the origins of its kernels; `began` is the time when making it began."""
    found, loaded, made = compiled.counts_of_origins()
    counters.programs_compiled += 1
    counters.kernels_found += found
    counters.kernels_loaded += loaded
    counters.kernels_compiled += made
    compiled.compile_seconds = time.perf_counter() - began
    counters.compile_seconds += compiled.compile_seconds
