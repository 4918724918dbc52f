"""Settings that a user may change at run time: ``jt.config``.

One object, ``config``, holds them. Each setting is a property that validates its value.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import numpy as np

from jittape.html_report import html_table
from jittape.lazy_names import MissingName, missing_name, with_missing_names
from jittape.value_classes import NamedTuple

__all__ = ["TESTED", "Config", "config", "is_traced"]

TESTED = ((3, 11), (3, 12), (3, 13))
"""Minor versions of CPython that the tests run on. Other versions do not use machine code on Python objects."""


_INTERNAL = {"follow_tracing", "native_supported", "on_change", "on_native_change"}
"""Attributes of `Config` that other modules of the package use, and users do not."""


class PhysicalDevice(NamedTuple):
    """A device: its name and its type."""

    name: str
    device_type: str


@with_missing_names(
    "jittape.config",
    "LogicalDevice LogicalDeviceConfiguration PhysicalDevice experimental experimental_functions_run_eagerly "
    "experimental_run_functions_eagerly get_logical_device_configuration get_soft_device_placement "
    "get_visible_devices optimizer set_logical_device_configuration set_soft_device_placement set_visible_devices "
    "threading",
)
class Config:
    """Run-time settings of jittape.

    Attributes
    ----------
    default_float : str
        Dtype of Python floats in `constant` and `Variable`: ``"float32"`` (as in TensorFlow) or ``"float64"``.
    interpret : bool
        Run every program op by op with NumPy and compile nothing. Slow; for debugging.
    native : bool
        Use machine code that reads and writes Python objects: it records repeated loops and reads the arguments of a
        `jt.function`. Without it Python does the same, more slowly. False if the environment variable
        ``JITTAPE_NATIVE`` is 0. Never used with an untested version of Python, nor while a debugger or profiler traces
        (which is noticed within some hundred steps). ``jittape doctor`` prints whether it is in use.
    check_numerics : bool
        Check the result of every op for nan and infinities; set by `debugging.enable_check_numerics`. While it is True,
        every program is interpreted.
    deterministic : bool
        Compute every matrix product on one thread, so that products are bitwise the same for any number of threads.
        Otherwise a large product is split between threads, and the position of a row in the kernels of the BLAS may
        change its last bits. Without the wheel ``scipy-openblas32``, products run on SciPy's copy of OpenBLAS, which is
        limited to one thread while this is True and otherwise uses the number of threads that the user set.
    max_pending_ops : int
        Number of ops recorded outside a tape after which they run, even if no value is read. Takes effect at the next
        step boundary.
    max_pending_bytes : int
        Upper limit, in bytes, of the inputs that pending ops keep alive; above it the ops run.
    max_pool_bytes : int
        Upper limit, in bytes, of free memory kept for reuse.
    max_code_bytes : int
        Upper limit, in bytes of object files, of loaded machine code. Above it the code of the least recently used
        paths is unloaded; a path that runs again loads its code from disk or recompiles it. Code of a `jt.function`
        and code that is running stays loaded.
    threads : int
        Maximum number of threads for loops over large arrays, large matrix products and the compiler; 1 turns threads
        off. The default is the number of cores that the process may use. Results of loops do not depend on it; for
        products see `deterministic`.
    max_trie_nodes : int
        Maximum number of recorded ops (nodes of the trie) that are kept; above it the least recently used paths are
        dropped. The latest path is kept, however long it is.
    max_signatures : int
        Maximum number of traces that a `jt.function` keeps, per instance for a method. Above it the least recently used
        trace is evicted, with one warning.
    compile_after : int
        Number of runs of a path that are interpreted before it is compiled. The default is 1, so that a program that
        never repeats never waits for the compiler. With 0, paths are compiled at once and the results of a first and a
        second fit are equal bit for bit; the interpreter uses NumPy, which may round the last bits differently. Paths
        with loops that run more than 20,000 ops are always compiled at once, and so are paths of at least 65,536
        ops that repeat the same few stretches, and of at least 32,768 whose schedules are on disk.
    full_tracebacks : bool
        Show the frames of jittape in the tracebacks of uncaught errors. By default they are hidden, so that the
        traceback ends on the user's line.
    on_tape_exit : str
        Action if a function of another library converts a tensor that an active tape watches to an array, so that its
        gradient is lost: ``"warn"`` (a `TapeExitWarning` on the user's line, the default), ``"raise"`` or ``"ignore"``.
    poison_memory : bool
        Fill the memory of results and temporaries with one bits before each run: nan, and -1 for integers. This reveals
        reads of uninitialized memory. Slow; for debugging jittape, as its own tests do. Takes effect for programs that
        are compiled from then on.
    cache : bool
        Keep compiled kernels on disk, for other processes.
    cache_size : int
        Upper limit, in bytes, of the kernels on disk; above it the least recently used ones are removed. Gradients of
        ``@njit`` functions with ``cache=True`` have the same limit of their own.

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
        """Whether the tests run on this version of Python; it never changes."""
        return sys.implementation.name == "cpython" and sys.version_info[:2] in TESTED

    def follow_tracing(self) -> bool:
        """Update and return whether machine code works on Python objects: not while a debugger or profiler traces."""
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
        """Set whether functions made with `jt.function` run as plain Python, for debugging.

        Parameters
        ----------
        run_eagerly : bool
            True to run them as plain Python.
        """
        self._eager_functions = _flag("run_functions_eagerly", run_eagerly)

    def functions_run_eagerly(self) -> bool:
        """Return whether functions made with `jt.function` run as plain Python."""
        return self._eager_functions

    @property
    def threads(self) -> int:
        return self._threads

    @threads.setter
    def threads(self, value: int) -> None:
        self._threads = _positive("threads", value)
        self._changed()

    def list_physical_devices(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """Return the devices of a type, such as ``"CPU"``; all by default. jittape computes on the processor only.

        Examples
        --------
        >>> len(jt.config.list_physical_devices()), jt.config.list_physical_devices("GPU")
        (1, [])
        """
        found = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
        return [device for device in found if device_type in (None, device.device_type)]

    def list_logical_devices(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """Return the same devices as `list_physical_devices`, named as for `jt.device`."""
        return [device._replace(name="/device:CPU:0") for device in self.list_physical_devices(device_type)]

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except AttributeError:
            if hasattr(type(self), name):
                raise
            raise missing_name("jittape.config", name) from None

    def __repr__(self) -> str:
        return "\n".join([f"{name} = {value!r}" for name, value in self._settings().items()])

    def _repr_html_(self) -> str:
        return html_table("jt.config", self._settings().items())

    def __dir__(self) -> list[str]:
        names = [name for name, value in vars(type(self)).items() if not isinstance(value, MissingName)]
        return [name for name in names if not name.startswith("_") and name not in _INTERNAL]

    def _settings(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in dir(self) if not callable(getattr(self, name))}

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a setting that is read at the beginning of a step changes."""
        self._listeners.append(listener)

    def on_native_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever machine code on Python objects is turned on or off."""
        self._native_listeners.append(listener)

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def is_traced() -> bool:
    """Return whether a debugger or profiler traces this thread, or the whole process (`sys.monitoring`)."""
    monitoring = getattr(sys, "monitoring", None)
    tools = () if monitoring is None else [monitoring.get_tool(number) for number in range(6)]
    return sys.gettrace() is not None or sys.getprofile() is not None or any(tools)


def _cores() -> int:
    """Return the number of cores that this process may run on."""
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
