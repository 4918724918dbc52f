"""LLVM: from a module to an object file, and from an object file to addresses.

The first half costs 5 to 15 ms a kernel, the second 0.05 ms; `diskcache.py` keeps what lies between. Both go through
llvmlite alone, with the target that Numba's own code generator uses. An `njit` function
gives the same code, but to the first kernel of a process it added 0.17 s for Numba's import and 0.30 s for its front
end and registries, and 25 ms to every batch.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from functools import cache
from typing import NamedTuple
from weakref import ref

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from jittape.compile.llvm.compile_pool import emit_object, run_passes, uninterrupted
from jittape.compile.llvm.external_functions import Linked, used_by
from jittape.compile.llvm.object_file import undefined_symbols
from jittape.compile.llvm.symbols import provide
from jittape.core.locks import at_rest, rlock
from jittape.errors import CompileError

__all__ = [
    "Effort",
    "Shelf",
    "Use",
    "Written",
    "environment",
    "object_code",
    "optimize",
    "translated",
    "written",
]

_RELOCATION = "static" if platform.machine().lower() in ("x86_64", "amd64", "i386", "i686") else "default"


class Effort(Enum):
    """What LLVM does with a function: its own passes by level, and the level of its code generator.

    Kernels are written as they are to be, so more of either finds nothing in them: the 24 kernels of a mixture of
    Gaussians took 0.50 s at level 3 and run as fast as now, in 0.20 s, and so does all that `asv_bench/peers.py` times.
    Numbering values was a tenth of LLVM's time and left the same machine code.
    """

    LEAST = None, 0
    """For what runs around kernels: the driver is compiled in 1.6 ms, with `LOOPS` in 17."""
    LITTLE = None, 1
    """For loops that are written as vectors, and for code without loops: a product of small matrices takes 10 ms, not
    the 22 of `LOOPS`."""
    LOOPS = 1, 1
    """For loops that LLVM is to vectorize."""


# LLVM's engines and its global context are not made for two threads at once.
_lock = at_rest(rlock())
_targets: dict[int, list[llvm.TargetMachine]] = {}
"""Those that no thread uses at the moment, by the level of the code generator."""


def environment() -> dict[str, str]:
    """What besides the text of a kernel decides its machine code, by name."""
    return uninterrupted(_environment)


def _environment() -> dict[str, str]:
    return {
        "python": sys.implementation.cache_tag or platform.python_version(),
        "llvmlite": llvmlite.__version__,
        "llvm": ".".join(str(part) for part in llvm.llvm_version_info),
        "target": llvm.get_process_triple(),
        "processor": llvm.get_host_cpu_name(),
        "features": _features(),
        "flags": f"{', '.join(f'{e.name} {e.value}' for e in Effort)}, {_RELOCATION} relocation",
    }


class Written(NamedTuple):
    """A module as text, the functions from elsewhere that it calls, and what it is worth."""

    text: str
    linked: tuple[Linked, ...]
    effort: Effort


def written(module: ir.Module, effort: Effort = Effort.LOOPS) -> Written:
    """What `translated` takes. llvmlite's own modules are not made for several threads, their texts are."""
    module.triple, module.data_layout = _triple_and_layout()
    return Written(str(module), tuple(used_by(module)), effort)


def translated(module: Written) -> bytes:
    """Optimize a module and translate it to an object file; several threads may do so at once.

    Raises
    ------
    CompileError
        If LLVM does not accept it.
    """
    with ExitStack() as owned:  # a module goes before its context, whatever an error still refers to
        context = llvm.create_context()
        owned.callback(context.close)
        try:
            parsed = owned.enter_context(llvm.parse_assembly(module.text, context))
            for function in module.linked:
                parsed.link_in(llvm.parse_assembly(function.text, context))
            for symbol in [
                symbol for function in module.linked for symbol in (function.symbol, *function.math)
            ]:
                parsed.get_function(symbol).linkage = "internal"
            parsed.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM does not accept this module: {error}\n{module.text}") from None
        with _target(module.effort) as target:
            _optimize(parsed, target, module.effort)
            return emit_object(target, parsed)


def object_code(module: ir.Module) -> bytes:
    """The object file of a module.

    Raises
    ------
    CompileError
        If LLVM does not accept it.
    """
    return uninterrupted(translated, written(module))


def optimize(parsed: llvm.ModuleRef) -> None:
    """Run the passes on a parsed module of LLVM's global context."""
    with _lock, _target(Effort.LOOPS) as target:
        _optimize(parsed, target, Effort.LOOPS)


def _optimize(parsed: llvm.ModuleRef, target: llvm.TargetMachine, effort: Effort) -> None:
    level, generator = effort.value
    options = llvm.create_pipeline_tuning_options(level or 0)
    options.loop_vectorization = True
    options.loop_unrolling = False
    options.slp_vectorization = False
    with llvm.create_pass_builder(target, options) as builder:
        if level is not None:
            passes = builder.getModulePassManager()
        else:
            passes = llvm.create_new_module_pass_manager()
            passes.add_sroa_pass()
            if generator:
                passes.add_always_inliner_pass()
                passes.add_instruction_combine_pass()
                passes.add_simplify_cfg_pass()
        with passes:
            run_passes(passes, parsed, builder)


class Use:
    """As long as somebody refers to it, the machine code that it came with stays loaded."""

    __slots__ = ("__weakref__",)


class Shelf:
    """Object files that are loaded one after another and unloaded together.

    Attributes
    ----------
    nbytes : int
        Total size of the files.
    n_objects : int
        Number of the files.
    names : list of str
        Whatever its owner notes here.
    stamp : int
        When it was used last, for its owner.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self.n_objects = 0
        self.names: list[str] = []
        self.stamp = 0
        self._engine: llvm.ExecutionEngine | None = None
        self._use: Callable[[], Use | None] = lambda: None

    def use(self) -> Use:
        """What keeps the code loaded."""
        use = self._use()
        if use is None:
            use = Use()
            self._use = ref(use)
        return use

    @property
    def in_use(self) -> bool:
        """Whether somebody keeps the code loaded."""
        return self._use() is not None

    def load(self, code: bytes, names: Iterable[str]) -> list[int]:
        """The addresses of the functions `names` of an object file.

        Raises
        ------
        CompileError
            If a symbol is missing that the code needs.
        """
        with _lock:
            if self._engine is None:
                # It owns a target of its own, and makes the symbols of the process known.
                self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_linker())
            try:
                missing = provide(undefined_symbols(code))
            except ValueError as error:
                raise CompileError(str(error)) from error
            if missing:
                raise CompileError(f"undefined symbols in compiled code: {', '.join(missing)}")
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            addresses = [self._engine.get_function_address(name) for name in names]
        if not all(addresses):
            raise CompileError("a function is missing in an object file")
        self.nbytes += len(code)
        self.n_objects += 1
        return addresses

    def unload(self) -> None:
        """Free the code; nobody may refer to it any more."""
        with _lock:
            if self._engine is not None:
                self._engine.close()


def _features() -> str:
    return llvm.get_host_cpu_features().flatten()


@cache
def _triple_and_layout() -> tuple[str, str]:
    return uninterrupted(lambda: (llvm.get_process_triple(), str(_new_target(0).target_data)))


def _new_target(level: int) -> llvm.TargetMachine:
    return _target_kind().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=_features(),
        opt=level,
        reloc=_RELOCATION,
        codemodel="jitdefault",
        jit=True,
    )


def _new_linker() -> llvm.TargetMachine:
    """A target that generates no code, so that it need not know the processor's features."""
    return _target_kind().create_target_machine(opt=0, reloc=_RELOCATION, codemodel="jitdefault", jit=True)


def _target_kind() -> llvm.Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


@contextmanager
def _target(effort: Effort) -> Iterator[llvm.TargetMachine]:
    """A target of the level of the code generator, for this thread alone."""
    free = _targets.setdefault(effort.value[1], [])
    try:
        target = free.pop()
    except IndexError:
        target = _new_target(effort.value[1])
    yield target
    free.append(target)
