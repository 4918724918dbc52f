"""LLVM: from a module to an object file.

This takes 5 to 15 ms per kernel; `object_store` keeps the object files, and `loaded_code` loads them. Both use
llvmlite alone, with the target of Numba's own code generator. An `njit` function gives the same code, but adds 0.17 s
for Numba's import and 0.30 s for its front end and registries to the first kernel of a process, and 25 ms to every
batch.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.binding.ffi import ObjectRef
from llvmlite.binding.newpassmanagers import NewPassManager

from jittape.compile.llvm.blas import has_avx512
from jittape.compile.llvm.compile_pool import llvm_lock, uninterrupted
from jittape.compile.llvm.definition import Effort
from jittape.compile.llvm.external_functions import ExternalFunction, used_by
from jittape.compile.llvm.host_processor import RELOCATION
from jittape.compile.llvm.unlocked_calls import emit_object, run_passes
from jittape.errors import CompileError
from jittape.value_classes import NamedTuple

__all__ = [
    "PROCESSORS",
    "ModuleText",
    "compile_module",
    "export_object",
    "has_wide_registers",
    "module_text",
    "new_linker",
    "object_code",
    "optimize",
]

_targets: dict[int, list[llvm.TargetMachine]] = {}
"""Targets that no thread is using, by the level of the code generator."""


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
_WIDE = ("x86-64-v4", "skylake-avx512", "icelake-server", "sapphirerapids", "znver4")


def has_wide_registers(cpu: str | None) -> bool:
    """Return whether the processor of an export, see `export_object`, has 32 vector registers of 64 bytes."""
    return has_avx512() if cpu == "native" else cpu in _WIDE


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
    with llvm_lock, _target(Effort.LOOPS) as target:
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
            try:
                run_passes(passes, parsed, builder)
            finally:
                _free(passes)


def _free(passes: llvm.ModulePassManager) -> None:
    """Free the memory of a pass manager, 77 kB, which llvmlite 0.50 leaves allocated.

    There, its class takes the method that should do so from `ObjectRef`, where it does nothing.
    """
    if type(passes)._dispose is ObjectRef._dispose:
        NewPassManager._dispose(passes)


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
        reloc=RELOCATION,
        codemodel="jitdefault",
        jit=True,
    )


def new_linker() -> llvm.TargetMachine:
    """Return a target that generates no code and so needs no features of the processor."""
    return _target_kind().create_target_machine(opt=0, reloc=RELOCATION, codemodel="jitdefault", jit=True)


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
