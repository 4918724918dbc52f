"""Thousands of operations on single numbers: gathered, and run by one machine for all of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.cache.kernel_cache import Origin
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.scalar_vm.bytecode import ScalarVM, bytecode_op, to_bytecode
from jittape.compile.schedule import pipeline
from jittape.core.interpret import interpret
from jittape.core.program import check
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.recording.function_trace import Leaf
from jittape.runtime.counters import counters
from line_counts import lines_of
from programs import compiled, program_of

LEAVES = np.random.default_rng(1).normal(size=10)


def random_graph(n, seed=0):
    """`n` operations, each on results of the last forty, that stay of moderate size."""
    rng = np.random.default_rng(seed)
    values, ops = list(LEAVES), []
    for i in range(n):
        kind, (a, b) = int(rng.integers(4)), rng.integers(max(0, i - 30), i + 10, 2)
        x, y = values[a], values[b]
        results = [x + y, x * y, np.tanh(x), np.log(np.exp(x) + np.exp(y))]
        kind = kind if abs(results[kind]) < 5 else 2
        values.append(results[kind])
        ops.append((kind, int(a), int(b)))
    return ops, values


def by_tensors(ops, leaves):
    values = list(leaves)
    for kind, a, b in ops:
        x, y = values[a], values[b]
        if kind == 0:
            values.append(x + y)
        elif kind == 1:
            values.append(x * y)
        elif kind == 2:
            values.append(jt.tanh(x))
        else:
            values.append(jt.math.log(jt.exp(x) + jt.exp(y)))
    return values[-1]


def gradient_by_hand(ops, values):
    g = np.zeros(len(values))
    g[-1] = 1.0
    for i in range(len(ops) - 1, -1, -1):
        kind, a, b = ops[i]
        d, x, y, out = g[10 + i], values[a], values[b], values[10 + i]
        if kind == 2:
            g[a] += d * (1 - out**2)
        elif kind == 1:
            g[a], g[b] = (g[a] + d * y, g[b] + d * x) if a != b else (g[a] + 2 * d * x,) * 2
        else:
            for slot, value in ((a, x), (b, y)):
                g[slot] += d if kind == 0 else d * np.exp(value - out)
    return g[:10]


def test_a_long_unrolled_recording_is_two_steps_and_compiles_next_to_nothing():
    ops, values = random_graph(1500)

    @jt.function
    def run(x):
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = by_tensors(ops, [x[i] for i in range(10)])
        return y, tape.gradient(y, x)

    jt.reset_stats()
    y, gradient = run(LEAVES)
    assert float(y) == pytest.approx(values[-1], rel=1e-12)
    np.testing.assert_allclose(gradient.numpy(), gradient_by_hand(ops, values), rtol=1e-9)
    kernels = [kernel.kernel for kernel in counters.last.compiled.kernels]
    assert sum(isinstance(kernel, ScalarVM) for kernel in kernels) == 1
    assert len(kernels) < 10
    assert jt.stats().kernels + jt.stats().kernels_found + jt.stats().kernels_loaded < 20


def test_another_graph_of_the_same_operations_compiles_no_machine():
    def run(seed):
        ops, values = random_graph(600, seed)
        y = jt.function(lambda x: by_tensors(ops, [x[i] for i in range(10)]))(LEAVES)
        assert float(y) == pytest.approx(values[-1], rel=1e-12)

    run(1)
    run(2)
    (machine,) = [kernel for kernel in counters.last.compiled.kernels if isinstance(kernel.kernel, ScalarVM)]
    assert machine.origin is Origin.MEMORY


def long_program(array):
    """Numbers of several dtypes, with arrays and sums in between, and results from the middle."""
    x = array[0]
    middle = []
    for i in range(3):
        for j in range(tuning.bytecode_min_ops):
            x = jt.where(x > 0.5, jt.sin(x) * 0.9 + 0.1, x * x + 0.25 + 1e-3 * j)
            if j % 100 == 7:
                middle.append(jt.cast(x > 0.6, jt.int32) + jt.cast(x * 10.0, jt.int32) // (i + 1))
        array = array * x
        x = jt.reduce_sum(array) / 4.0
    return [x, *middle, array]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_groups_between_arrays_give_what_the_interpreter_gives(dtype):
    array = np.linspace(0.2, 0.9, 5).astype(dtype)
    program, inputs = traced(long_program, array)
    together = check(to_bytecode(program))
    assert len({op.args for op in together.ops if op.primitive is bytecode_op}) == 3
    wanted = interpret(program, inputs)
    for found in (interpret(together, inputs), compiled(program, inputs)):
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-10 if dtype == "float64" else 1e-3)


def traced(function, array):
    """The program of a function of one array, and its inputs: the array and numbers."""
    concrete = jt.function(function).get_concrete_function(array)._concrete
    inputs = [array if isinstance(source, Leaf) else source for source in concrete.sources]
    return simplify(concrete.program), inputs


def test_few_operations_are_left_alone():
    program = simplify(program_of(lambda x: x, 1.0))
    assert to_bytecode(program) is program
    ops, _ = random_graph(tuning.bytecode_min_ops // 4)
    jt.function(lambda x: by_tensors(ops, [x[i] for i in range(10)]))(LEAVES)
    assert all(isinstance(kernel.kernel, LoopKernel) for kernel in counters.last.compiled.kernels)


def test_scheduling_is_linear_in_the_numbers_of_operands_and_results(monkeypatch):
    monkeypatch.setattr(pipeline, "verify_each_pass", False)

    def lines(n):
        def numbers(*x):
            return [jt.sin(jt.multiply(a, b)) for a, b in pairwise(x)]

        program = program_of(numbers, *np.ones(n))
        assert any(op.primitive is bytecode_op for op in to_bytecode(simplify(program)).ops)
        return lines_of(lambda: schedule(simplify(program)))

    lines(300)
    few, many = lines(300), lines(1200)
    assert many < 5 * few, (few, many)
