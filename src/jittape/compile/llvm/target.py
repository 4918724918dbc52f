"""LLVM: from a module to an object file, and from an object file to addresses.

The first half takes 5 to 15 ms per kernel, the second 0.05 ms; `object_store` keeps the object files between. Both use
llvmlite alone, with the target of Numba's own code generator. An `njit` function gives the same code, but adds 0.17 s
for Numba's import and 0.30 s for its front end and registries to the first kernel of a process, and 25 ms to every
batch.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from enum import Enum
from functools import cache
from typing import NamedTuple
from weakref import ref

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from jittape.compile.llvm.compile_pool import emit_object, run_passes, uninterrupted
from jittape.compile.llvm.external_functions import ExternalFunction, used_by
from jittape.compile.llvm.object_file import undefined_symbols
from jittape.compile.llvm.symbols import provide
from jittape.core.locks import at_rest, rlock
from jittape.errors import CompileError

__all__ = [
    "PROCESSORS",
    "CodeGroup",
    "CodeHandle",
    "Effort",
    "ModuleText",
    "compile_module",
    "environment",
    "export_object",
    "module_text",
    "object_code",
    "optimize",
]

_RELOCATION = "static" if platform.machine().lower() in ("x86_64", "amd64", "i386", "i686") else "default"


class Effort(Enum):
    """LLVM's effort for a function: the level of its passes, and the level of its code generator.

    Kernels are emitted in their final form, so higher levels find nothing to improve. The 24 kernels of a mixture of
    Gaussians take 0.20 s, at level 3 they took 0.50 s and ran no faster; the same holds for all benchmarks of
    `asv_bench/peers.py`. Global value numbering took a tenth of LLVM's time and left the same machine code.
    """

    LEAST = None, 0
    """Code around kernels: the driver is compiled in 1.6 ms, with `LOOPS` in 17."""
    LITTLE = None, 1
    """Loops that are emitted as vectors, and code without loops: a product of small matrices takes 10 ms, with `LOOPS`
    22."""
    LOOPS = 1, 1
    """Loops that LLVM vectorizes."""


# LLVM's engines and its global context are not thread-safe.
_lock = at_rest(rlock())
_targets: dict[int, list[llvm.TargetMachine]] = {}
"""Targets that no thread is using, by the level of the code generator."""


def environment() -> dict[str, str]:
    """Return the named parts of the environment: all that decides machine code besides the text of a kernel."""
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


class ModuleText(NamedTuple):
    """A module as text, the external functions that it calls, LLVM's effort for it, and how often its passes run."""

    text: str
    external: tuple[ExternalFunction, ...]
    effort: Effort
    rounds: int = 1


def module_text(module: ir.Module, effort: Effort = Effort.LOOPS) -> ModuleText:
    """Return a module as text: llvmlite's modules are not thread-safe."""
    module.triple, module.data_layout = _triple_and_layout()
    return ModuleText(str(module), tuple(used_by(module)), effort)


def compile_module(module: ModuleText, target: llvm.TargetMachine | None = None) -> bytes:
    """Return the object file of a module, optimized, for this processor or a target.

    Several threads may call this at once.

    Raises
    ------
    CompileError
        If LLVM rejects the module.
    """
    with ExitStack() as owned:  # closes the module before its context, even if an error refers to it
        context = llvm.create_context()
        owned.callback(context.close)
        try:
            parsed = owned.enter_context(llvm.parse_assembly(module.text, context))
            for function in module.external:
                parsed.link_in(llvm.parse_assembly(function.text, context))
            for symbol in [
                symbol for function in module.external for symbol in (function.symbol, *function.math)
            ]:
                parsed.get_function(symbol).linkage = "internal"
            parsed.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM rejects this module: {error}\n{module.text}") from None
        with _target(module.effort) if target is None else nullcontext(target) as machine:
            for _ in range(module.rounds):
                _optimize(parsed, machine, module.effort)
            return emit_object(machine, parsed)


def object_code(module: ir.Module, rounds: int = 1) -> bytes:
    """Return the object file of a module.

    Parameters
    ----------
    module : ir.Module
        The module.
    rounds : int
        Number of times that the passes run. A second round specializes loops for sizes that the first one found.

    Raises
    ------
    CompileError
        If LLVM rejects the module.
    """
    return uninterrupted(compile_module, module_text(module)._replace(rounds=rounds))


def export_object(module: ir.Module, cpu: str | None, renamed: Mapping[str, str]) -> bytes:
    """Return the object file of a module for a shared library.

    Parameters
    ----------
    module : ir.Module
        The module.
    cpu : str or None
        One of `PROCESSORS`, or ``"native"`` for this one; None is x86-64-v3 on x86 and ``"generic"`` elsewhere.
    renamed : mapping of str to str
        New names of external functions.

    Raises
    ------
    CompileError
        If LLVM rejects the module.
    ValueError
        If the processor is unknown: LLVM would end the process.
    """
    written = module_text(module)
    text = written.text
    for old, new in renamed.items():
        # Names are quoted; inside the text of a constant, a quote is escaped.
        text = text.replace(f'@"{old}"', f'@"{new}"')
    target = uninterrupted(_export_target, cpu)
    return uninterrupted(compile_module, written._replace(text=text), target)


PROCESSORS = {
    True: ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "skylake", "skylake-avx512", "icelake-server",
           "sapphirerapids", "znver1", "znver2", "znver3", "znver4"),
    False: ("generic", "cortex-a72", "neoverse-n1", "neoverse-v1", "apple-m1", "apple-m2"),
}  # fmt: skip
"""Names of processors on x86, and elsewhere."""


def _export_target(cpu: str | None) -> llvm.TargetMachine:
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    known = PROCESSORS[is_x86]
    if cpu not in (None, "native", *known):
        raise ValueError(f"[export] cpu must be 'native' or one of {', '.join(known)}, got {cpu!r}")
    name = {None: "x86-64-v3" if is_x86 else "generic", "native": llvm.get_host_cpu_name()}.get(cpu, cpu)
    features = _features() if cpu == "native" else ""
    return _target_kind().create_target_machine(
        cpu=name, features=features, opt=2, reloc="pic", codemodel="default"
    )


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


class CodeHandle:
    """A handle on a group of machine code: the group stays loaded while the handle is referenced."""

    __slots__ = ("__weakref__",)


class CodeGroup:
    """A group of object files, which are loaded one after another and unloaded together.

    Attributes
    ----------
    nbytes : int
        Total size of the files.
    n_objects : int
        Number of the files.
    names : list of str
        Names of the functions; the owner's.
    stamp : int
        Time of the last use; the owner's.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self.n_objects = 0
        self.names: list[str] = []
        self.stamp = 0
        self._engine: llvm.ExecutionEngine | None = None
        self._use: Callable[[], CodeHandle | None] = lambda: None

    def use(self) -> CodeHandle:
        """Return the handle that keeps the code loaded."""
        use = self._use()
        if use is None:
            use = CodeHandle()
            self._use = ref(use)
        return use

    @property
    def in_use(self) -> bool:
        """Whether the handle is referenced."""
        return self._use() is not None

    def load(self, code: bytes, names: Iterable[str]) -> list[int]:
        """Load an object file and return the addresses of its functions `names`.

        Raises
        ------
        CompileError
            If a symbol is undefined.
        """
        with _lock:
            if self._engine is None:
                # The engine registers the symbols of the process; it takes ownership of its target.
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
        """Free the code, which must be unreferenced."""
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
    """Return a target that generates no code and so needs no features of the processor."""
    return _target_kind().create_target_machine(opt=0, reloc=_RELOCATION, codemodel="jitdefault", jit=True)


def _target_kind() -> llvm.Target:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


@contextmanager
def _target(effort: Effort) -> Iterator[llvm.TargetMachine]:
    """Return a target of the level of the code generator, for this thread alone."""
    free = _targets.setdefault(effort.value[1], [])
    try:
        target = free.pop()
    except IndexError:
        target = _new_target(effort.value[1])
    yield target
    free.append(target)
