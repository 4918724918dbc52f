"""The end of a parallel region whose opener is held up."""

import ctypes
import threading
import time

import numpy as np
from llvmlite import ir

import jittape as jt
from jittape.compile.cache.kernel_cache import registry
from jittape.compile.ir.table_layouts import POOL
from jittape.compile.llvm.definition import Definition, Effort, FunctionKind
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import KERNEL_TYPE, integer
from jittape.compile.llvm.thread_pool import OPEN, run_tasks
from jittape.runtime import threads

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def define_region(function):
    """Emit a parallel region of two tasks; the arguments are the pool, two unused ones, and the tasks' kernel."""
    builder = Builder(function.append_basic_block("entry"))
    pool = builder.bitcast(function.args[0], ir.IntType(64).as_pointer())
    kernel = builder.inttoptr(function.args[3], KERNEL_TYPE.as_pointer())
    run_tasks(builder, pool, integer(2), integer(2), kernel, list(function.args[:3]))
    builder.ret_void()


def test_helper_closes_a_region_without_tasks():
    """A helper came back without end, on the core that the opener waited for, until the opener ended its own task."""
    before = jt.config.threads
    jt.config.threads = 2
    try:
        address = threads.pool_address(2)
        region = CALLBACK(
            registry.address_of(Definition("region", FunctionKind.KERNEL, define_region, Effort.LEAST))
        )
        state = np.frombuffer((ctypes.c_int64 * POOL.words).from_address(address), np.int64).view(POOL.dtype)
        state["skip"] = state["penalty"] = 0
        done, closed, begun = [], [], threading.Event()

        def task(slots, numbers, sizes, number):
            done.append(number)
            if number:
                begun.wait(20)  # otherwise the helper might take the opener's task too
                return
            begun.set()
            deadline = time.monotonic() + 20
            while state["state"][0] & OPEN and time.monotonic() < deadline:
                time.sleep(0.001)
            closed.append(not state["state"][0] & OPEN)

        kernel = CALLBACK(task)
        region(address, None, None, ctypes.cast(kernel, ctypes.c_void_p).value)
        assert sorted(done) == [0, 1]
        assert closed == [True]
    finally:
        jt.config.threads = before
