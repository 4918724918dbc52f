"""`Measurement`: what a profile measures while it is active.

It replaces methods of the runtime while it is active, so that nothing else pays for it: executables run with clocks
between their steps, ops that NumPy evaluates are timed one by one, and so are flushes and compilations.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns as now
from types import FrameType
from typing import Any, NamedTuple

from jittape.core import interpret as interpreter
from jittape.core.buffers import LARGE
from jittape.core.program import Op, Program, SourceLine
from jittape.functions.concrete_function import Concrete, no_fast_path
from jittape.functions.function import Function
from jittape.functions.trace_table import compiled_traces
from jittape.native import switch
from jittape.profiling.flush_clock import LONG, FlushClock
from jittape.profiling.op_costs import is_of_gradient
from jittape.profiling.own_lines import own_line
from jittape.recording import convert, trie_insertion
from jittape.recording.flushing import FLUSH_CLOCKS, Flushing
from jittape.recording.new_programs import new_program_at
from jittape.recording.trie import Node
from jittape.runtime import workspace
from jittape.runtime.clocked_executable import ClockedExecutable, ClockedRuns, Unclocked
from jittape.runtime.cold_code import compiled_paths
from jittape.runtime.counters import counters
from jittape.runtime.path_executable import GeneralPathExecutable, PathExecutable
from jittape.runtime.replacements import Replacements

__all__ = ["Compilation", "Measurement", "NumpyTime", "Span"]

_SPANS = 50_000
"""Maximum number of spans that are kept for the timeline."""


_SEVERAL = 2
"""Number of earlier programs from which on the line where they part is blamed for a compilation."""


class Span(NamedTuple):
    """Something on the timeline of a thread: times in ns."""

    name: str
    began: int
    ended: int
    thread: int


class Compilation(NamedTuple):
    """A program that was compiled: the line that waited for it, and the numbers of its kernels by origin."""

    line: SourceLine | None
    ns: int
    compiled: int
    loaded: int
    program: Program | None


class NumpyTime:
    """Time and number of the evaluations of an op with NumPy.

    Attributes
    ----------
    op : Op
    compiled : bool
        Whether it is a step of a compiled program; else the interpreter runs it.
    in_gradient : bool
        Whether it runs in the body of an op of a gradient, which computes values of the forward pass anew.
    """

    __slots__ = ("compiled", "count", "in_gradient", "ns", "op", "program")

    def __init__(self, op: Op, program: Program, compiled: bool, in_gradient: bool) -> None:
        self.op, self.program, self.compiled, self.in_gradient = op, program, compiled, in_gradient
        self.ns = self.count = 0


class Measurement:
    """Measures from `start` to `stop`."""

    def __init__(self) -> None:
        self.flushes = FlushClock(self._span)
        self._mine = self.flushes.mine
        self.path_runs = ClockedRuns()
        self.function_runs = ClockedRuns()
        self.numpy: dict[tuple[int, bool, bool], NumpyTime] = {}
        self.compilations: list[Compilation] = []
        self.copies: dict[SourceLine, tuple[int, int]] = {}
        self.new_nodes: list[Node] = []
        self.traces: list[tuple[SourceLine, str]] = []
        self.spans: list[Span] = []
        self.began = self.ended = 0
        self.thread = threading.get_ident()
        self._replacements = Replacements()
        self._restore: dict[int, Callable[[], None]] = {}

    # ---- begin and end -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to measure."""
        FLUSH_CLOCKS.append(self)
        self._replacements.replace(Flushing, "flush", self.flushes.timed)
        self._replacements.replace(Flushing, "_new_executable", self._new_executable)
        self._replacements.replace(Function, "_trace_for", self._trace_for)
        self._replacements.replace(PathExecutable, "_compile", self._path_compile)
        self._replacements.replace(GeneralPathExecutable, "_derived", self._path_compile)
        self._replacements.replace(PathExecutable, "_prepare", self._timed_compilation)
        self._replacements.replace(Concrete, "_compile", self._function_compile)
        self._replacements.replace(Concrete, "_prepare", self._timed_compilation)
        self._replacements.replace(switch, "use", self._timed_compilation)
        self._replacements.replace(interpreter, "run_ops", self._run_ops)
        self._replacements.replace(workspace, "run_ops", self._numpy_step)
        self._replacements.replace(trie_insertion, "copied", self._copied)
        self._replacements.replace(convert, "copied", self._copied)
        for path in compiled_paths():
            self._clock_path(path, path.compiled)
        for concrete in compiled_traces():
            if concrete._compiled is not None:
                self._clock_function(concrete, concrete._compiled)
        self.began = now()

    def stop(self) -> None:
        """End the measurement and restore everything."""
        self.ended = now()
        self.flushes.resume()
        self._replacements.restore()
        FLUSH_CLOCKS.remove(self)
        for restore in self._restore.values():
            restore()
        self._restore.clear()
        for one in self.function_runs.executables:
            one.note_times()

    # ---- executables -------------------------------------------------------------------------------------------------

    def _clock_path(self, path: PathExecutable, compiled: Any) -> Any:
        """Let the next run of `path` make a clocked executable; return its placeholder."""

        def adopt(clocked: ClockedExecutable) -> None:
            path._compiled, path._lacks_fast_run = clocked, True

        def restore() -> None:
            if path._compiled is not None:
                kept = None if compiled.serves_one_run else compiled
                path._compiled, path._fast_run, path._lacks_fast_run = kept, None, True

        stand_in = Unclocked(compiled, self.path_runs, adopt)
        path._compiled, path._fast_run, path._lacks_fast_run = stand_in, None, False
        self._restore[id(path)] = restore
        return stand_in

    def _clock_function(self, concrete: Concrete, compiled: Any) -> None:
        fast, prepared = concrete.fast_call, concrete._prepared

        def adopt(clocked: ClockedExecutable) -> None:
            concrete._compiled = clocked

        def restore() -> None:
            concrete._compiled, concrete.fast_call, concrete._prepared = compiled, fast, prepared

        concrete._compiled = Unclocked(compiled, self.function_runs, adopt)
        concrete.fast_call, concrete._prepared = no_fast_path, False
        self._restore[id(concrete)] = restore

    def _path_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_path(path: PathExecutable, *arguments: Any) -> Any:
            with self._compiling() as done:
                compiled = original(path, *arguments)
                if compiled is None:
                    return None
                done.append(compiled.recorded)
            return self._clock_path(path, compiled)

        return compile_path

    def _function_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile_function(concrete: Concrete) -> None:
            with self._compiling() as done:
                original(concrete)
                done.append(concrete.program)
            self._clock_function(concrete, concrete._compiled)

        return compile_function

    def _timed_compilation(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            with self._compiling():
                return original(*arguments)

        return timed

    @contextmanager
    def _compiling(self) -> Iterator[list[Program]]:
        """Time a compilation; the program that was compiled, if one was, is appended to the list."""
        mine, done = self._mine.times, list[Program]()
        kernels, loaded = counters.kernels_compiled, counters.kernels_loaded
        mine.depth += 1
        began = now()
        try:
            yield done
        finally:
            ended = now()
            mine.depth -= 1
            if not mine.depth:
                mine.compile += ended - began
                if done:
                    self._span("compile", began, ended)
            if done:
                kernels, loaded = counters.kernels_compiled - kernels, counters.kernels_loaded - loaded
                found = Compilation(self._line_of_program(), ended - began, kernels, loaded, done[0])
                self.compilations.append(found)

    def _line_of_program(self) -> SourceLine | None:
        """Return the line where a program leaves several earlier ones, or else the line that waits for the program."""
        trace = _flushing()
        found = None if trace is None else new_program_at(trace.node, _SEVERAL)
        return own_line() if found is None or found.line is None else found.line

    # ---- flushes and NumPy -------------------------------------------------------------------------------------------

    def _new_executable(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method that makes executables of new op lists; it keeps their nodes."""

        def new_executable(trace: Flushing, key: Any) -> PathExecutable:
            if not trace.node.executables:
                self.new_nodes.append(trace.node)
            return original(trace, key)

        return new_executable

    def _trace_for(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method that traces functions; it keeps the calling line, and the reason of the trace."""

        def trace_for(function: Function, *arguments: Any) -> Any:
            traced = original(function, *arguments)
            line, signatures = own_line(), function.signatures()
            if line is not None and signatures:
                self.traces.append((line, f"{function._name} was traced because {signatures[-1].why}"))
            return traced

        return trace_for

    def _run_ops(self, original: Callable[..., Any]) -> Callable[..., Any]:
        return self._timed_ops(original, False)

    def _numpy_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        return self._timed_ops(original, True)

    def _timed_ops(self, original: Callable[..., Any], compiled: bool) -> Callable[..., Any]:
        """Return `run_ops` with times. The time of an op with a body does not include that of the ops in the body."""

        def run_ops(program: Program, run: Any, operands: list[Any]) -> list[Any]:
            mine = self._mine.times
            outer, mine.inner = mine.inner, 0
            in_gradient = mine.in_gradient
            mine.in_gradient = in_gradient or is_of_gradient(run[0])
            began = now()
            try:
                return original(program, run, operands)
            finally:
                ended = now()
                mine.in_gradient = in_gradient
                own = ended - began - mine.inner
                mine.inner = outer + ended - began
                mine.numpy += own
                self._note_op(run[0], program, (compiled, in_gradient), own)
                if own > LONG:
                    self._span(f"NumPy: {run[0].primitive.name}", began, ended)

        return run_ops

    def _note_op(self, op: Op, program: Program, kind: tuple[bool, bool], ns: int) -> None:
        known = self.numpy.get((id(op), *kind))
        if known is None:
            known = self.numpy[(id(op), *kind)] = NumpyTime(op, program, *kind)
        known.ns += ns
        known.count += 1

    def _copied(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that copies arrays of 64 KiB and more, with a count of the copies of each line."""

        def copied(array: Any, dtype: Any) -> Any:
            nbytes = getattr(array, "nbytes", 0)
            if nbytes >= LARGE and (line := own_line()) is not None:
                count, total = self.copies.get(line, (0, 0))
                self.copies[line] = count + 1, total + nbytes
            return original(array, dtype)

        return copied

    def _span(self, name: str, began: int, ended: int) -> None:
        if len(self.spans) < _SPANS:
            self.spans.append(Span(name, began, ended, threading.get_ident()))


def _flushing() -> Flushing | None:
    """Return the trace whose flush is running in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not _FLUSH:
        frame = frame.f_back
    return None if frame is None else frame.f_locals["self"]


_FLUSH = Flushing.flush.__code__
