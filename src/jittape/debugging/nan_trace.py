"""`trace_nans`: finds the line that makes the first nan, without slowing down what runs before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from jittape.core.buffers import Buffer
from jittape.core.dtypes import is_differentiable
from jittape.core.program import Program
from jittape.debugging.nan_origin import Origin, origin_of, subnormal_count
from jittape.errors import NumericsError
from jittape.functions import concrete_function
from jittape.functions.concrete_function import Concrete, no_fast_path
from jittape.functions.trace_table import compiled_traces
from jittape.runtime import path_executable
from jittape.runtime.cold_code import compiled_paths
from jittape.runtime.executable import CompiledExecutable
from jittape.runtime.path_executable import PathExecutable
from jittape.runtime.replacements import Replacements

__all__ = ["NanTrace", "trace_nans"]

_lock = threading.Lock()


class NanTrace:
    """The context manager of `trace_nans`.

    Attributes
    ----------
    origin : Origin or None
        Where the first bad value was made; None as long as none was found.
    """

    def __init__(self, infinities: bool, denormals: bool) -> None:
        self.origin: Origin | None = None
        self._infinities, self._denormals = infinities, denormals
        self._replacements = Replacements()

    def __enter__(self) -> NanTrace:
        if not _lock.acquire(blocking=False):
            raise RuntimeError(
                "trace_nans is active already: it cannot be nested, or used in two threads at once"
            )
        self._replacements.replace(CompiledExecutable, "run", self._run)
        self._replacements.replace(path_executable, "interpreted", self._interpreted)
        self._replacements.replace(concrete_function, "interpreted", self._interpreted)
        self._replacements.replace(PathExecutable, "_prepare", lambda original: lambda *arguments: None)
        self._replacements.replace(Concrete, "_prepare", lambda original: lambda *arguments: None)
        _forget_fast_paths()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._replacements.restore()
        _forget_fast_paths()
        _lock.release()

    def _run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(compiled: CompiledExecutable, inputs: Sequence[Any], held: int = 0) -> list[Buffer]:
            kept = list(inputs)  # the second reference keeps the inputs from being updated in place
            results: list[Buffer] = original(compiled, list(inputs), held)
            self._check(compiled.program, kept, results)
            return results

        return run

    def _interpreted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def interpreted(program: Program, values: Sequence[Any]) -> list[Buffer]:
            results: list[Buffer] = original(program, values)
            self._check(program, values, results)
            return results

        return interpreted

    def is_bad(self, array: np.ndarray[Any, Any]) -> bool:
        """Return whether an array has an element that is searched for."""
        array = np.asarray(array)
        if not is_differentiable(array.dtype):
            return False
        if self._infinities and not np.isfinite(array).all():
            return True
        return bool(np.isnan(array).any() or (self._denormals and subnormal_count(array)))

    def _check(self, program: Program, inputs: Sequence[Any], results: Sequence[Buffer]) -> None:
        if not any(self.is_bad(result.array) for result in results):
            return
        arrays = [value.array if isinstance(value, Buffer) else value for value in inputs]
        kinds = ["nan"] + ["infinity"] * self._infinities + ["subnormal number"] * self._denormals
        head = f"the step computed a {' or '.join(kinds)}"
        self.origin = origin_of(program, arrays, self.is_bad)
        if self.origin is None:
            raise NumericsError(
                f"{head}, which NumPy does not compute from the same inputs; the last bits differ"
            )
        raise NumericsError(f"{head}: {self.origin}")


def trace_nans(infinities: bool = False, denormals: bool = False) -> NanTrace:
    """Return a context manager that finds the operation which makes the first nan in its block.

    The results of each step are checked. If one has a nan, the step runs again op by op with NumPy, and the error names
    the operation, its line and the ranges of its operands.

    Parameters
    ----------
    infinities : bool
        Whether to search for infinities, too.
    denormals : bool
        Whether to search for subnormal numbers, too. Arithmetic with them is slow on many processors.

    Returns
    -------
    NanTrace
        Its attribute ``origin`` has the parts of the message.

    Raises
    ------
    NumericsError
        In the block, when a step with such a result has run.

    Notes
    -----
    In the block steps run compiled, with results in new memory and without the fast path, and each result is read once.
    `enable_check_numerics` interprets each step instead, and also finds values that do not reach a result.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.Variable([1.0, 0.0])
    >>> try:
    ...     with jt.debugging.trace_nans() as trace:
    ...         with jt.GradientTape() as tape:
    ...             loss = jt.reduce_sum(jt.sqrt(x) * x)
    ...         gradient = tape.gradient(loss, x).numpy() * 0.0
    ...         float(jt.reduce_sum(x / x))
    ... except jt.NumericsError as error:
    ...     print(trace.origin.operation, trace.origin.operands[1])
    divide float32[2] from 0 to 1
    """
    return NanTrace(infinities, denormals)


def _forget_fast_paths() -> None:
    """Let all programs run on the general path; outside the block they make their fast paths again."""
    for path in compiled_paths():
        path._fast_run, path._lacks_fast_run = None, True
    for trace in compiled_traces():
        trace.fast_call, trace._prepared = no_fast_path, False
