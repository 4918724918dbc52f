"""LLVM on several threads: the same code as on one, errors told, and a way without what is not public."""

from __future__ import annotations

import ctypes
import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from llvmlite.binding import ffi

import jittape as jt
from host_schedules import schedule
from jittape.compile.cache import kernel_cache as registry_module
from jittape.compile.cache.kernel_cache import Registry
from jittape.compile.llvm import target, unlocked_calls
from jittape.compile.llvm.compile_pool import _Workers, mapped
from jittape.compile.llvm.definition import Effort
from jittape.compile.llvm.target import ModuleText, compile_module
from jittape.core.simplify import simplify
from jittape.primitives.elementwise.exponential import exp, log, sqrt
from jittape.primitives.elementwise.trigonometric import cos, sin
from processes import run_python
from programs import program_of


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_item_with_its_result(threads: int) -> None:
    found = mapped(lambda item: item * item, iter(range(20)), threads)
    assert sorted(found) == [(i, i * i) for i in range(20)]


def test_two_threads_work_at_once() -> None:
    both = threading.Barrier(2, timeout=20)
    found = mapped(lambda item: both.wait() >= 0, range(2), 2)
    assert dict(found) == {0: True, 1: True}


def test_an_error_is_raised_when_all_threads_have_ended() -> None:
    def failing(item: int) -> int:
        raise jt.CompileError(f"item {item}")

    with pytest.raises(jt.CompileError, match="item 0"):
        mapped(failing, range(3), 2)
    assert not [t for t in threading.enumerate() if t.name == "jittape compiles"]


def test_an_error_in_making_the_items_leaves_no_thread() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("made none")

    with pytest.raises(ValueError, match="made none"):
        mapped(lambda item: item, items(), 2)
    assert not [t for t in threading.enumerate() if t.name == "jittape compiles"]


def module(number: float) -> ModuleText:
    written = ir.Module()
    kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
    function = ir.Function(written, kind, "scaled")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(builder.fmul(function.args[0], ir.Constant(ir.DoubleType(), number)))
    return target.module_text(written)


def test_the_same_code_on_many_threads_and_without_the_unlocked_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [module(float(i)) for i in range(12)]
    alone = [compile_module(text) for text in texts]
    assert dict(mapped(compile_module, texts, 4)) == dict(zip(texts, alone, strict=True))
    monkeypatch.setattr(unlocked_calls, "_unlocked", lambda name, types: None)
    assert [compile_module(text) for text in texts] == alone


@pytest.mark.parametrize(
    ("name", "types"), [("LLVMPY_NoSuchFunction", ()), ("LLVMPY_RunNewModulePassManager", ())]
)
def test_what_is_not_known_is_not_called(name: str, types: tuple[Any, ...]) -> None:
    assert unlocked_calls._unlocked.__wrapped__(name, types) is None


def test_a_library_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = ffi.lib.LLVMPY_RunNewModulePassManager
    library = SimpleNamespace(LLVMPY_RunNewModulePassManager=declared, _name="/nowhere/libllvmlite.so")
    monkeypatch.setattr(unlocked_calls, "ffi", SimpleNamespace(lib=library))
    assert (
        unlocked_calls._unlocked.__wrapped__("LLVMPY_RunNewModulePassManager", unlocked_calls._PASSES) is None
    )


def test_here_they_are_known() -> None:
    for name, types in (
        ("LLVMPY_RunNewModulePassManager", unlocked_calls._PASSES),
        ("LLVMPY_TargetMachineEmitToMemory", unlocked_calls._EMISSION),
    ):
        assert unlocked_calls._unlocked(name, types) is not None


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_kernels_are_shared_out_among_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jt.config, "_threads", threads)
    monkeypatch.setattr(jt.config, "_cache", False)
    used: list[str] = []
    monkeypatch.setattr(
        registry_module, "_compiled", lambda m: used.append(m.names[0]) or compile_module(m.text)
    )
    kernels = []
    for function in (exp, log, sqrt, sin, cos):
        program = simplify(program_of(lambda x, f=function: f(x), np.ones(3)))
        kernels += [step.kernel for step in schedule(program).steps]
    addresses, _ = Registry().addresses(kernels)
    assert len(set(addresses)) == 5
    assert len(used) == (2 if threads == 1 else 6)  # the driver is worth less than kernels are


@pytest.mark.parametrize("effort", list(Effort))
def test_compiled_modules_leave_no_memory_behind(effort: Effort) -> None:
    texts = [module(float(i))._replace(effort=effort) for i in range(300)]
    for text in texts[:50]:
        compile_module(text)
    before = resident_kilobytes()
    for text in texts:
        compile_module(text)
    # a pass manager takes 16 kB or more
    assert resident_kilobytes() - before < 300 * 5


def resident_kilobytes() -> int:
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


LEFT = """
import sys
from jittape.compile.llvm.compile_pool import _Workers
sys.workers = _Workers(1)
sys.workers.submit(int).result()
"""


def test_threads_end_though_a_signal_has_taken_their_owner_out_of_its_block() -> None:
    workers = _Workers(2)
    for _ in range(2):
        workers.submit(int).result()
    threads = workers._threads
    del workers
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert run_python("-c", LEFT, timeout=60).returncode == 0  # the process ends, too
