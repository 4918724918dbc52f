"""Machine code by kernel name: from this process, from disk, or compiled by LLVM.

`registry` holds the code of the process. All missing kernels of a program are compiled together, on several threads,
and each module is written to disk as one batch. LLVM and the code that emits kernels are imported with the first kernel
that is missing: together they load in 60 ms.
"""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from jittape.compile.cache import object_store
from jittape.compile.cache.batch_file import Batch
from jittape.compile.cache.fingerprint import covers
from jittape.compile.cache.private_files import is_of_a_handler
from jittape.compile.ir.kernel import Kernel, NamedKernel, label_of
from jittape.compile.llvm.built_in_functions import as_function
from jittape.compile.llvm.definition import Definition, Effort, FunctionKind, symbol_of
from jittape.compile.llvm.loaded_code import CodeGroup, CodeHandle
from jittape.core.config import config
from jittape.core.forms import Map, Reduce
from jittape.core.locks import at_rest, lock, rlock
from jittape.core.primitive import Primitive
from jittape.core.tuning import tuning
from jittape.errors import CompileError
from jittape.value_classes import NamedTuple

if TYPE_CHECKING:
    from llvmlite import ir

    from jittape.compile.llvm.target import ModuleText

__all__ = ["KernelMissing", "Origin", "Registry", "RegistryStats", "is_builtin", "is_cacheable", "registry"]


def _define_driver(function: ir.Function) -> None:
    from jittape.compile.llvm.driver import define_driver

    define_driver(function)


_DRIVER = Definition("driver", FunctionKind.BUILT_IN, _define_driver, Effort.LEAST)


class Origin(Enum):
    """Source of the machine code of a kernel that a program uses."""

    MEMORY = "found"
    DISK = "loaded from disk"
    COMPILED = "compiled"


class KernelMissing(LookupError):
    """No machine code was found for a kernel that is known by name only."""


class RegistryStats(NamedTuple):
    """Counts since the start of the process: kernels compiled, reused in memory, loaded from disk; and seconds."""

    compiled: int
    found: int
    loaded: int
    seconds: float


class Registry:
    """Machine code by name, shared by the whole process."""

    def __init__(self) -> None:
        self._lock = rlock()
        self._addresses: dict[str, int] = {}
        self._groups: dict[str, CodeGroup] = {}
        """The group of each function."""
        self._permanent = CodeGroup()
        """Code that is never unloaded."""
        self._kept: list[CodeGroup] = []
        """Groups that may be unloaded; kernels are added to the last."""
        self._linking = lock()
        self._clock = 0
        self.relieve: Callable[[], None] = lambda: None
        """Called to release cold executables if there is more code than `config.max_code_bytes`."""
        self._announced = {_DRIVER.name: _DRIVER}
        self._driver: Callable[[int, int, int], Any] | None = None
        self._separate: set[str] = set()
        self._counts = dict.fromkeys(Origin, 0)
        self._seconds = 0.0

    def addresses(
        self, kernels: Iterable[Kernel], uses: set[CodeHandle] | None = None
    ) -> tuple[list[int], dict[str, Origin]]:
        """Return the address and the origin of every kernel.

        The code stays loaded as long as the handles that are added to `uses` are referenced.

        Raises
        ------
        KernelMissing
            If a `NamedKernel` is neither in memory nor on disk.
        """
        kernels = list(kernels)
        wanted = {kernel.name: kernel for kernel in kernels}
        with _turn:
            pass
        with self._lock:
            start = time.perf_counter()
            if self._n_objects() >= _most_objects():
                gc.collect()  # unreferenced functions may be part of cycles
                self._unload()
            origins = self._require(wanted)
            for origin in origins.values():
                self._counts[origin] += 1
            self._seconds += time.perf_counter() - start
            self._clock += 1
            for group in {self._groups[name] for name in wanted}:
                group.stamp = self._clock
                if uses is not None:
                    uses.add(group.use())
            self._unload()
            return [self._addresses[kernel.name] for kernel in kernels], origins

    def driver(self) -> Callable[[int, int, int], Any]:
        """Return ``run(table address, slots address, address of the list of stacks)``: see `driver.py`."""
        with _turn:
            pass
        with self._lock:
            if self._driver is None:
                self._require({})
                self._driver = as_function(self._addresses[_DRIVER.name])
            return self._driver

    def announce(self, definition: Definition) -> None:
        """Compile or load a function that is not a kernel together with the next kernels."""
        with _turn:
            pass
        with self._lock:
            self._announced[definition.name] = definition

    def address_of(self, definition: Definition) -> int:
        """Return the address of a function that is not a kernel."""
        with _turn:
            pass
        with self._lock:
            self._announced[definition.name] = definition
            self._require({})
            return self._addresses[definition.name]

    def has(self, definition: Definition, on_disk: bool) -> bool:
        """Return whether a function that is not a kernel is in memory, or `on_disk`, and need not be compiled."""
        with _turn:
            pass
        with self._lock:
            if definition.name in self._addresses:
                return True
            cache = object_store.current() if on_disk else None
            return cache is not None and cache.find(definition.name) is not None

    def addresses_of_module(self, definitions: Iterable[Definition]) -> list[int]:
        """Return the addresses of functions that are not kernels, compiled in a module of their own."""
        wanted = {definition.name: definition for definition in definitions}
        with _turn:
            pass
        with self._lock:
            cache = object_store.current()
            self._separate.update(wanted)
            if cache is not None:
                self._load(cache, wanted)
            missing = [definition for name, definition in wanted.items() if name not in self._addresses]
            if missing:
                self._compile_modules(map(_module, _by_effort(missing)), 1, cache)
            return [self._addresses[name] for name in wanted]

    def stats(self) -> RegistryStats:
        """Return the numbers of kernels compiled, reused and loaded, and the time that this took."""
        counts = self._counts
        return RegistryStats(
            counts[Origin.COMPILED], counts[Origin.MEMORY], counts[Origin.DISK], self._seconds
        )

    def _require(self, wanted: dict[str, Kernel]) -> dict[str, Origin]:
        """Load or compile these kernels, the driver and the announced functions; return the kernels' origins."""
        missing = [name for name in (*self._announced, *wanted) if name not in self._addresses]
        origins = dict.fromkeys(wanted, Origin.MEMORY)
        if not missing:
            return origins
        cache = object_store.current()
        cacheable = [name for name in missing if name in self._announced or is_cacheable(wanted[name])]
        if cache is not None:
            self._load(cache, cacheable)
        for name in missing:
            if name not in self._addresses and isinstance(wanted.get(name), NamedKernel):
                raise KernelMissing(name)
        origins.update((name, Origin.DISK) for name in missing if name in wanted)
        uncacheable = [name for name in missing if name not in cacheable]
        for names, keep in ((cacheable, cache), (uncacheable, None)):
            names = [name for name in names if name not in self._addresses]
            if names:
                self._compile(wanted, names, keep)
                origins.update((name, Origin.COMPILED) for name in names if name in wanted)
        return origins

    def _load(self, cache: object_store.DiskCache, names: Iterable[str]) -> None:
        """Load those of these functions that are on disk."""
        batches: dict[str, Batch] = {}
        for name in names:
            if name not in self._addresses and not any(name in batch.names for batch in batches.values()):
                batch = cache.find(name)
                if batch is not None:
                    batches[name] = batch
        if batches:
            for name, batch in batches.items():
                try:
                    self._link(batch)
                except CompileError:
                    cache.discard(name)

    def _compile(
        self, wanted: dict[str, Kernel], names: list[str], cache: object_store.DiskCache | None
    ) -> None:
        """Compile the functions with these names, several modules at once."""
        from jittape.compile.cache.emit_kernel import definition_of

        threads = min(config.threads, tuning.compile_threads_limit)
        definitions = [
            self._announced[n] if n in self._announced else definition_of(wanted[n]) for n in names
        ]
        weights = {
            d: (len(wanted[d.name].listing) if d.name in wanted else tuning.function_compile_weight)
            * tuning.effort_weights[d.effort.name]
            for d in definitions
        }
        shares = _shares(weights, threads)
        modules = (_module(same) for share in shares for same in _by_effort(share))
        self._compile_modules(modules, min(threads, len(shares)), cache)

    def _compile_modules(
        self, modules: Iterable[_Module], threads: int, cache: object_store.DiskCache | None
    ) -> None:
        """Compile and load modules, and store them on disk."""
        from jittape.compile.llvm.compile_pool import mapped

        def loaded(module: _Module) -> Batch:
            batch = Batch(module.names, _compiled(module))
            self._link(batch)
            return batch

        batches = [batch for _, batch in mapped(loaded, modules, threads)]
        if cache is not None:
            cache.publish(*batches)

    def _link(self, batch: Batch) -> None:
        """Load a batch. Functions that are loaded already stay, since executables hold their addresses."""
        with self._linking:
            new = [name for name in batch.names if name not in self._addresses]
            permanent = any(name in self._announced or name in self._separate for name in new)
            if not (permanent or (self._kept and self._kept[-1].nbytes < tuning.code_group_min_bytes)):
                self._kept.append(CodeGroup())
            group = self._permanent if permanent else self._kept[-1]
            if not permanent and self._n_objects() >= _most_objects():
                raise MemoryError(
                    f"{_most_objects()} object files of machine code are loaded and in use, and the system allows no "
                    "more memory mappings: delete jt.functions that are not needed, or raise vm.max_map_count"
                )
            addresses = group.load(batch.code, [symbol_of(name) for name in new])
            group.names += new
            self._groups.update(dict.fromkeys(new, group))
            self._addresses.update(zip(new, addresses, strict=True))

    def _unload(self) -> None:
        """Unload unreferenced code, the least recently used first, until it is within its limits."""
        excess = sum([group.nbytes for group in self._kept]) - config.max_code_bytes
        too_many = self._n_objects() - _most_objects() // 2
        if excess <= 0 and too_many <= 0:
            return
        self.relieve()
        for group in sorted(self._kept, key=lambda group: group.stamp):
            if (excess > 0 or too_many > 0) and not group.in_use:
                excess -= group.nbytes
                too_many -= group.n_objects
                for name in group.names:
                    # An interrupt between two lines of `_link` may have left a name twice.
                    self._addresses.pop(name, None)
                    self._groups.pop(name, None)
                self._kept.remove(group)
                group.unload()

    def _n_objects(self) -> int:
        return self._permanent.n_objects + sum([group.n_objects for group in self._kept])


@cache
def _most_objects() -> int:
    """Return the maximum number of loaded object files.

    LLVM maps two ranges of memory for an object file, and aborts the process if the system refuses one. Linux allows
    ``vm.max_map_count`` mappings, 65,530 by default; machine code takes at most half of them.
    """
    try:
        with open("/proc/sys/vm/max_map_count", "rb") as file:
            return int(file.read()) // 4
    except (OSError, ValueError) as error:
        if is_of_a_handler(error):
            raise
        return 2**14


class _Module(NamedTuple):
    """The names of functions, and a module with them."""

    names: tuple[str, ...]
    text: ModuleText


def _module(definitions: Sequence[Definition]) -> _Module:
    """Return a module with functions of the same effort."""
    from jittape.compile.cache.emit_kernel import emit_module
    from jittape.compile.llvm.target import module_text

    names = tuple([definition.name for definition in definitions])
    return _Module(names, module_text(emit_module(definitions), definitions[0].effort))


def _by_effort(definitions: Iterable[Definition]) -> list[list[Definition]]:
    found: dict[Effort, list[Definition]] = {}
    for definition in definitions:
        found.setdefault(definition.effort, []).append(definition)
    return list(found.values())


def _compiled(module: _Module) -> bytes:
    from jittape.compile.llvm.target import compile_module

    return compile_module(module.text)


def _shares(weights: dict[Definition, int], threads: int) -> list[list[Definition]]:
    """Return the functions of each module: shares of about the same work, the heaviest first."""
    count = 1 if threads < 2 else min(len(weights), threads * tuning.modules_per_thread)
    count = max(count, -(-len(weights) // tuning.module_functions_limit))
    shares: list[tuple[int, list[Definition]]] = [(0, []) for _ in range(count)]
    for definition in sorted(weights, key=weights.__getitem__, reverse=True):
        weight, share = min(
            shares, key=lambda share: (len(share[1]) == tuning.module_functions_limit, share[0])
        )
        shares[shares.index((weight, share))] = (weight + weights[definition], [*share, definition])
    return [share for _, share in sorted(shares, key=lambda s: s[0], reverse=True) if share]


def is_cacheable(kernel: Kernel) -> bool:
    """Return whether the text of a kernel has the same meaning in every process.

    The text has only the name of a user's primitive, whose code may change.
    """
    return all([is_builtin(primitive) for primitive in kernel.primitives])


def is_builtin(primitive: Primitive) -> bool:
    """Return whether a primitive is defined in the fingerprinted sources and is the only one with its name."""
    form = primitive.lowering
    functions: list[Any] = []
    if isinstance(form, Map):
        functions = [form.expression]
    elif isinstance(form, Reduce):
        functions = [form.combine, form.identity]
    return label_of(primitive) == primitive.name and all(
        inspect.isfunction(f) and covers(f.__code__.co_filename) for f in functions
    )


_turn = rlock()
"""A lock that a fork takes first, so that it can come between two programs that a thread compiles."""
registry = Registry()
at_rest(registry._lock)
at_rest(_turn)
