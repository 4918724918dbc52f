"""Settings that a user may change at run time: ``jt.config``.

One object, ``config``, holds them; each is a property that checks what it is given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import numpy as np

__all__ = ["TESTED", "Config", "config", "is_traced"]

TESTED = ((3, 11), (3, 12), (3, 13))
"""The minor versions of CPython that the tests have run on: with others no machine code works on Python objects."""


class Config:
    """Run-time settings of jittape.

    Attributes
    ----------
    default_float : str
        The dtype that Python floats get in `constant` and `Variable`: ``"float32"`` (as in TensorFlow) or
        ``"float64"``.
    interpret : bool
        Run every program op by op in NumPy, compile nothing. Slow; for looking for errors.
    native : bool
        Let machine code read and write Python objects: it records the loops that come again and takes the arguments of
        a `jt.function`. Python does the same without it, more slowly. Off if the environment variable
        ``JITTAPE_NATIVE`` is 0, and never used with a Python that jittape was not tested on, nor while a debugger or
        profiler traces (which is noticed within some hundred steps). ``jittape doctor`` says which of the two runs.
    check_numerics : bool
        Check the result of every op for nan and infinities; set by `debugging.enable_check_numerics`. While it is set
        every program is interpreted.
    deterministic : bool
        Compute every matrix product on one thread, so that products too are bitwise the same for any number of threads.
        Otherwise a large product is divided between them, and where a row then stands in the kernels of the BLAS may
        change its last bits. Where the wheel ``scipy-openblas32`` is missing, products run on SciPy's copy, which is
        pinned to one thread as long as this is True and otherwise has the threads that the user has given it.
    max_pending_ops : int
        Outside a tape, so many recorded ops are run without waiting for somebody to look at a value. Takes effect at
        the next step boundary.
    max_pending_bytes : int
        Inputs of pending ops that are kept alive at most, in bytes, before the ops are run.
    max_pool_bytes : int
        Large memory that nobody holds is kept for the next buffer of its size up to so many bytes in all.
    max_code_bytes : int
        Limit of loaded machine code, in bytes of object files. Above it the code of paths that have not run for the
        longest time is unloaded; a path that comes again takes its code from disk, or is compiled again. Code of a
        `jt.function`, or that runs, stays loaded.
    threads : int
        Loops over large arrays, large matrix products and the compiler use so many threads at most; 1 turns them off.
        By default the number of cores that the process may run on. Results of loops do not depend on it; for products
        see `deterministic`.
    max_trie_nodes : int
        The number of recorded op lists (nodes of the trie) that are remembered before cold ones are dropped.
    max_signatures : int
        A `jt.function` remembers so many traces, each instance for a method; what was used longest ago makes room, with
        one warning.
    compile_after : int
        Number of visits of a path that are interpreted before it is compiled: 1 by default, so that a program that
        never repeats never waits for a compiler. 0 compiles at once; then the results of a first fit equal those of a
        second bit for bit, while NumPy, which interprets, may round the last bits otherwise.
    full_tracebacks : bool
        Show the frames of jittape in the tracebacks of uncaught errors. By default they are hidden, so that the
        traceback ends on the user's line.
    on_tape_exit : str
        What happens where somebody else's function turns a tensor that an active tape follows into an array, so that
        its gradient is lost: ``"warn"`` (a `TapeExitWarning` on the user's line, the default), ``"raise"`` or
        ``"ignore"``.
    poison_memory : bool
        Fill the memory of results and temporaries with bytes of ones before each run: nan, and -1 for integers. So a
        read of what was never written shows. Slow; for looking for errors in jittape, as its own tests do. Takes effect
        for programs that are compiled from then on.
    cache : bool
        Keep compiled kernels on disk, for other processes.
    cache_size : int
        What they may take there, in bytes; what was used longest ago goes first.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.config.default_float
    'float32'
    """

    __slots__ = (
        "_cache",
        "_cache_size",
        "_check_numerics",
        "_compile_after",
        "_default_float",
        "_deterministic",
        "_eager_functions",
        "_interpret",
        "_interpret_asked",
        "_listeners",
        "_max_code_bytes",
        "_max_pending_bytes",
        "_max_pending_ops",
        "_max_pool_bytes",
        "_max_signatures",
        "_max_trie_nodes",
        "_native",
        "_native_asked",
        "_native_listeners",
        "_on_tape_exit",
        "_poison_memory",
        "_threads",
        "full_tracebacks",
    )

    def __init__(self) -> None:
        self._default_float = "float32"
        self._interpret = False
        self._interpret_asked = False
        self._check_numerics = False
        self._eager_functions = False
        self._deterministic = False
        self._max_pending_ops = 1024
        self._max_pending_bytes = 256 * 2**20
        self._max_pool_bytes = 2**30
        self._max_code_bytes = 2**28
        self._max_trie_nodes = 100_000
        self._max_signatures = 256
        self._compile_after = 1
        self._on_tape_exit = "warn"
        self._poison_memory = False
        self._cache = True
        self._cache_size = 512 * 2**20
        self._threads = _cores()
        self.full_tracebacks = False
        self._listeners: list[Callable[[], None]] = []
        self._native_asked = os.environ.get("JITTAPE_NATIVE", "1") != "0"
        self._native_listeners: list[Callable[[], None]] = []
        self._native = self._native_asked and self.native_supported and not is_traced()

    @property
    def default_float(self) -> str:
        return self._default_float

    @default_float.setter
    def default_float(self, value: str) -> None:
        try:
            name = np.dtype(value).name
        except TypeError:
            name = ""
        if name not in ("float32", "float64"):
            raise ValueError(f"config.default_float must be 'float32' or 'float64', got {value!r}")
        self._default_float = name
        self._changed()

    @property
    def interpret(self) -> bool:
        return self._interpret_asked

    @interpret.setter
    def interpret(self, value: bool) -> None:
        self._interpret_asked = _flag("interpret", value)
        self._interpret = self._interpret_asked or self._check_numerics

    @property
    def native(self) -> bool:
        return self._native_asked

    @native.setter
    def native(self, value: bool) -> None:
        self._native_asked = _flag("native", value)
        self.follow_tracing()

    @property
    def native_supported(self) -> bool:
        """Whether the tests have run on this version of Python; settled."""
        return sys.implementation.name == "cpython" and sys.version_info[:2] in TESTED

    def follow_tracing(self) -> bool:
        """See whether a debugger or profiler traces now; returns whether machine code may work on Python objects."""
        native = self._native_asked and self.native_supported and not is_traced()
        if native is not self._native:
            self._native = native
            for listener in self._native_listeners:
                listener()
        return native

    @property
    def check_numerics(self) -> bool:
        return self._check_numerics

    @check_numerics.setter
    def check_numerics(self, value: bool) -> None:
        self._check_numerics = _flag("check_numerics", value)
        self._interpret = self._interpret_asked or self._check_numerics

    @property
    def deterministic(self) -> bool:
        return self._deterministic

    @deterministic.setter
    def deterministic(self, value: bool) -> None:
        self._deterministic = _flag("deterministic", value)
        self._changed()

    @property
    def max_pending_ops(self) -> int:
        return self._max_pending_ops

    @max_pending_ops.setter
    def max_pending_ops(self, value: int) -> None:
        self._max_pending_ops = _positive("max_pending_ops", value)
        self._changed()

    @property
    def max_pending_bytes(self) -> int:
        return self._max_pending_bytes

    @max_pending_bytes.setter
    def max_pending_bytes(self, value: int) -> None:
        self._max_pending_bytes = _positive("max_pending_bytes", value)
        self._changed()

    @property
    def max_pool_bytes(self) -> int:
        return self._max_pool_bytes

    @max_pool_bytes.setter
    def max_pool_bytes(self, value: int) -> None:
        self._max_pool_bytes = _positive("max_pool_bytes", value)

    @property
    def max_code_bytes(self) -> int:
        return self._max_code_bytes

    @max_code_bytes.setter
    def max_code_bytes(self, value: int) -> None:
        self._max_code_bytes = _positive("max_code_bytes", value)

    @property
    def max_trie_nodes(self) -> int:
        return self._max_trie_nodes

    @max_trie_nodes.setter
    def max_trie_nodes(self, value: int) -> None:
        self._max_trie_nodes = _positive("max_trie_nodes", value)

    @property
    def max_signatures(self) -> int:
        return self._max_signatures

    @max_signatures.setter
    def max_signatures(self, value: int) -> None:
        self._max_signatures = _positive("max_signatures", value)

    @property
    def compile_after(self) -> int:
        return self._compile_after

    @compile_after.setter
    def compile_after(self, value: int) -> None:
        self._compile_after = _positive("compile_after", value, least=0)

    @property
    def on_tape_exit(self) -> str:
        return self._on_tape_exit

    @on_tape_exit.setter
    def on_tape_exit(self, value: str) -> None:
        if value not in ("warn", "raise", "ignore"):
            raise ValueError(f"config.on_tape_exit must be 'warn', 'raise' or 'ignore', got {value!r}")
        self._on_tape_exit = value

    @property
    def poison_memory(self) -> bool:
        return self._poison_memory

    @poison_memory.setter
    def poison_memory(self, value: bool) -> None:
        self._poison_memory = _flag("poison_memory", value)

    @property
    def cache(self) -> bool:
        return self._cache

    @cache.setter
    def cache(self, value: bool) -> None:
        self._cache = _flag("cache", value)

    @property
    def cache_size(self) -> int:
        return self._cache_size

    @cache_size.setter
    def cache_size(self, value: int) -> None:
        self._cache_size = _positive("cache_size", value)

    def run_functions_eagerly(self, run_eagerly: bool) -> None:
        """Whether functions made with `jt.function` run as plain Python, for looking for errors.

        Parameters
        ----------
        run_eagerly : bool
        """
        self._eager_functions = _flag("run_functions_eagerly", run_eagerly)

    def functions_run_eagerly(self) -> bool:
        """Whether functions made with `jt.function` run as plain Python."""
        return self._eager_functions

    @property
    def threads(self) -> int:
        return self._threads

    @threads.setter
    def threads(self, value: int) -> None:
        self._threads = _positive("threads", value)
        self._changed()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when a setting changes that is read at the beginning of a step."""
        self._listeners.append(listener)

    def on_native_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when machine code may work on Python objects from now on, or no longer."""
        self._native_listeners.append(listener)

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def is_traced() -> bool:
    """Whether a debugger or profiler follows this thread, or tools follow the whole process (`sys.monitoring`)."""
    monitoring = getattr(sys, "monitoring", None)
    tools = () if monitoring is None else [monitoring.get_tool(number) for number in range(6)]
    return sys.gettrace() is not None or sys.getprofile() is not None or any(tools)


def _cores() -> int:
    """The number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"config.{name} must be True or False, got {value!r}")
    return value


def _positive(name: str, value: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"config.{name} must be an int, got {value!r}")
    if value < least:
        raise ValueError(f"config.{name} must be at least {least}, got {value}")
    return value


config = Config()
