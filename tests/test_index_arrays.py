"""Indexing by arrays in machine code: compiled against NumPy, what is fused with what, and indices out of range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.control.control_driver import Stop
from jittape.compile.rewrite.decompose import decompose
from jittape.compile.schedule.steps import NumpyStep
from jittape.core.dtypes import NATIVE
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.primitives.broadcast import iota
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.indexing.gather import gather, gather_nd, take_along_axis
from jittape.primitives.indexing.gather_ops import (
    gather_op,
    last_write_op,
    scatter_add_op,
    scatter_combine_op,
    scatter_extremum_op,
    scatter_update_op,
)
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.runtime.counters import counters
from programs import compiled, program_of

Array = np.ndarray[Any, Any]

rng = np.random.default_rng


def normal(*shape: int, dtype: str = "float64") -> Array:
    return (3 * rng(1).normal(size=shape)).astype(dtype)


def indices(size: int, *shape: int) -> Array:
    """From -size to below size, with repetitions."""
    return rng(2).integers(-size, size, shape)


def is_native(program: Program) -> bool:
    return not any(isinstance(step, NumpyStep) for step in schedule(program).steps)


def check(function: Callable[..., Any], *operands: Array, native: bool = True, exact: bool = True) -> Program:
    """Interpreted, rewritten for the compiler and compiled, it gives the same; nothing runs by NumPy."""
    program = program_of(function, *operands)
    assert is_native(program) == native
    wanted = interpret(program, operands)
    for results in (compiled(program, operands, fill=77), interpret(decompose(program, NATIVE), operands)):
        for got, expected in zip(results, wanted, strict=True):
            assert got.dtype == expected.dtype
            if exact:
                np.testing.assert_array_equal(got, expected)
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    return program


def loops(program: Program) -> int:
    """How many loop nests there are; each that is not there for something else looks at an array of indices."""
    return sum(isinstance(step.kernel, LoopKernel) for step in schedule(program).steps)


# ---- reading ---------------------------------------------------------------------------------------------------------

SHAPES = [
    ((7,), 0, (5,)),
    ((7,), 0, ()),
    ((1,), 0, (3,)),
    ((7, 3), 0, (5,)),
    ((7, 3), 1, (2, 4)),
    ((7, 3), 1, ()),
    ((4, 7, 3), 1, (2, 1, 3)),
    ((4, 7, 1), 1, (1, 9)),
    ((4, 7, 3), 2, (6,)),
    ((40, 3), 0, (2000,)),
    ((7, 0), 0, (5,)),
    ((7, 3), 0, (0,)),
    ((7, 3), 1, (0, 2)),
    ((0, 3), 0, (0,)),
]


@pytest.mark.parametrize(("shape", "axis", "picked"), SHAPES)
def test_reading_and_adding_along_an_axis(shape: Any, axis: int, picked: Any) -> None:
    x, i = normal(*shape), indices(max(1, shape[axis]), *picked)
    native = shape[axis] > 0
    check(lambda x, i: gather(x, i, axis=axis), x, i, native=native)
    check(lambda x, i: multiply(gather(sin(x), i, axis=axis), 2.0), x, i, native=native, exact=False)
    v = normal(*shape[:axis], *picked, *shape[axis + 1 :])
    check(lambda v, i: scatter_add_op.bind(v, i, axis=axis, shape=shape), v, i, native=native)
    check(
        lambda v, i: sin(scatter_add_op.bind(sin(v), i, axis=axis, shape=shape)),
        v,
        i,
        native=native,
        exact=False,
    )


DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_dtypes_that_machine_code_has(dtype: str) -> None:
    x, i = normal(6, 3).astype(dtype), indices(6, 10)
    v = normal(10, 3).astype(dtype)
    check(lambda x, i: gather(x, i), x, i)
    check(lambda v, i: scatter_add_op.bind(v, i, axis=0, shape=(6, 3)), v, i)
    check(lambda x, v, i: scatter_update_op.bind(x, v, i, axis=0), x, v, i)
    for how in ("max", "min"):
        check(lambda x, v, i, how=how: scatter_extremum_op.bind(x, v, i, how=how), x, v, i)
    check(lambda x, v, i: scatter_combine_op.bind(x, v, i, how="mul"), x, v, i)
    if dtype.startswith("float"):
        check(lambda x, v, i: scatter_combine_op.bind(x, v, i, how="div"), x, v, i)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype: str) -> None:
    x, i = (normal(6, 3) + 1j * normal(6, 3)).astype(dtype), indices(6, 10)
    v = (normal(10, 3) - 2j).astype(dtype)
    check(lambda x, i: gather(x, i), x, i)
    check(lambda v, i: scatter_add_op.bind(v, i, axis=0, shape=(6, 3)), v, i)
    check(lambda x, v, i: scatter_update_op.bind(x, v, i, axis=0), x, v, i)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int64"])
def test_indices_of_any_integer_dtype(dtype: str) -> None:
    i = np.abs(indices(6, 10)) % 6
    program = check(lambda x, i: gather(x, i), normal(6, 3), i.astype(dtype))
    assert loops(program) == 2


def test_several_indices_and_shared_dimensions() -> None:
    x = normal(4, 5, 6, 3)
    i = np.stack([indices(4, 7), indices(5, 7)], -1)
    check(lambda x, i: gather_nd(x, i), x, i)
    check(lambda x, i: gather_nd(x, i, batch_dims=1), x, indices(5, 4, 2, 1))
    check(lambda x, i: gather(x, i, axis=2, batch_dims=1), x, indices(6, 4, 2))
    check(lambda x, i: take_along_axis(x, i, axis=1), x, indices(5, 4, 2, 6, 3))
    check(
        lambda v, i, j: scatter_add_op.bind(v, i, j, axis=1, shape=x.shape), normal(4, 7, 3), i[:, 0], i[:, 1]
    )


def test_the_last_of_several_writes_wins() -> None:
    i = np.array([2, 0, -1, 2, 2])
    check(lambda i: last_write_op.bind(i, sizes=(3,)), i)
    check(lambda i, j: last_write_op.bind(i, j, sizes=(3, 4)), indices(3, 6, 5), indices(4, 6, 5))
    check(lambda x, v, i: scatter_update_op.bind(x, v, i, axis=1), normal(4, 3), normal(4, 5), i)


def test_what_is_not_finite_is_kept() -> None:
    x = np.array([np.nan, -0.0, np.inf, -np.inf])
    i = np.array([0, 1, 2, 3, 2, 1, 0])
    (got,) = compiled(check(lambda x, i: gather(x, i), x, i), [x, i])
    assert np.signbit(got[[1, 5]]).all()
    v = np.array([np.nan, 1.0, np.nan, -1.0, 2.0, -2.0, 0.0])
    for how in ("max", "min"):
        check(lambda x, v, i, how=how: scatter_extremum_op.bind(x, v, i, how=how), x, v, i)


@settings(max_examples=60, deadline=None)
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    picked=st.lists(st.integers(0, 6), max_size=2),
    where=st.integers(0, 2),
    seed=st.integers(0, 99),
)
def test_any_shape(shape: list[int], picked: list[int], where: int, seed: int) -> None:
    axis = where % len(shape)
    x = rng(seed).normal(size=shape)
    i = rng(seed).integers(-shape[axis], shape[axis], picked)
    v = rng(seed).normal(size=(*shape[:axis], *picked, *shape[axis + 1 :]))

    def function(x: Any, v: Any, i: Any) -> Any:
        y = gather(x, i, axis=axis)
        total = scatter_add_op.bind(multiply(y, v), i, axis=axis, shape=tuple(shape))
        return y, total, scatter_update_op.bind(add(x, total), v, i, axis=axis)

    check(function, x, v, i, exact=False)


# ---- what is fused ---------------------------------------------------------------------------------------------------


def test_maps_before_and_after_are_part_of_the_loop() -> None:
    x, i = normal(50, 8), indices(50, 20)
    program = check(lambda x, i: multiply(gather(multiply(x, 2.0), i), gather(x, i)), x, i)
    assert loops(program) == 2
    program = check(lambda x, i: reduce_sum(gather(x, i)), normal(50), indices(50, 4), exact=False)
    assert loops(program) == 1


def test_picking_from_what_has_been_picked_is_one_loop() -> None:
    x, i, j = normal(50, 8), indices(50, 20), indices(20, 9)
    assert loops(check(lambda x, i, j: gather(gather(x, i), j), x, i, j)) == 3
    assert loops(check(lambda x, i, j: gather(x, gather(i, j)), x, i, j)) == 2


def test_a_long_chain_of_picks_does_not_become_one_address() -> None:
    def chain(x: Any, i: Any) -> Any:
        for _ in range(40):
            x = gather(x, i)
        return x

    check(chain, normal(9), rng(0).permutation(9))


def test_what_is_dear_is_computed_once_for_every_element_that_is_picked_often() -> None:
    def function(x: Any, i: Any) -> Any:
        return gather(exp(sin(x)), i)

    assert loops(program_of(function, normal(10), indices(10, 1000))) == 3
    assert loops(program_of(function, normal(1000), indices(1000, 10))) == 1


def test_one_check_for_all_that_pick_by_the_same() -> None:
    def function(x: Any, y: Any, i: Any) -> Any:
        return add(gather(x, i), gather(y, i)), scatter_add_op.bind(gather(x, i), i, axis=0, shape=(6, 3))

    program = check(function, normal(6, 3), normal(6, 3), indices(6, 8))
    assert sum(isinstance(step.kernel, Stop) for step in schedule(program).steps) == 1


def test_coordinates_need_no_check() -> None:
    program = check(lambda x: gather_op.bind(x, iota((5,), 0, np.dtype(np.int64)), axis=0), normal(6, 3))
    assert not any(isinstance(step.kernel, Stop) for step in schedule(program).steps)


# ---- a step of a training loop ---------------------------------------------------------------------------------------


def embedding_step(table: jt.Variable, weights: jt.Variable, rate: float = 0.1) -> Any:
    def step(words: Any, labels: Any) -> Any:
        with jt.GradientTape() as tape:
            logits = jt.gather(table, words) @ weights
            loss = jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for variable, g in zip([table, weights], tape.gradient(loss, [table, weights]), strict=True):
            variable.assign_sub(rate * g)
        return loss

    return step


def test_a_step_with_an_embedding_and_a_softmax_runs_nothing_in_numpy() -> None:
    table, weights = jt.Variable(normal(100, 8)), jt.Variable(normal(8, 10))
    words, labels = indices(100, 32) % 100, indices(10, 32) % 10
    step = jt.function(embedding_step(table, weights))
    for _ in range(3):
        step(words, labels)
    steps = counters.last.compiled.steps
    assert all(s.kernel is not None for s in steps)
    assert counters.last.has_fast_path


def test_compiled_steps_follow_the_interpreted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    words, labels = indices(100, 32), indices(10, 32) % 10
    found = []
    for compile_after in (10, 0):
        monkeypatch.setattr(jt.config, "compile_after", compile_after)
        table, weights = jt.Variable(normal(100, 8)), jt.Variable(normal(8, 10))
        step = embedding_step(table, weights)
        losses = [float(step(words, labels)) for _ in range(5)]
        found.append((losses, table.numpy(), weights.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_order_of_additions_does_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, i = normal(30_000, 16, dtype="float32"), indices(50, 30_000)
    program = program_of(lambda v, i: scatter_add_op.bind(exp(sin(v)), i, axis=0, shape=(50, 16)), x, i)
    results = []
    for threads in (1, 2, 4):
        monkeypatch.setattr(jt.config, "threads", threads)
        results.append(compiled(program, [x, i])[0])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize(("axis", "divided"), [(0, False), (1, True)])
def test_what_is_scattered_is_divided_only_where_parts_cannot_meet(axis: int, divided: bool) -> None:
    shape = (2000, 50, 8) if axis else (50, 2000, 8)
    values = normal(*shape[:axis], 300, *shape[axis + 1 :], dtype="float32")
    program = program_of(
        lambda v, i: scatter_add_op.bind(exp(v), i, axis=axis, shape=shape), values, indices(shape[axis], 300)
    )
    kernels = [step for step in schedule(program).steps if isinstance(step.kernel, LoopKernel)]
    (step,) = [step for step in kernels if any(store.scatter for store in step.kernel.stores)]
    assert (step.tasks > 1) == divided


# ---- gradients -------------------------------------------------------------------------------------------------------


def test_gradients_of_second_order_agree_with_those_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    i, j, rows = indices(6, 5, 2), indices(5, 7), indices(6, 4)

    def derivatives(x: Any, v: Any) -> Any:
        with jt.GradientTape() as outer:
            outer.watch([x, v])
            with jt.GradientTape() as inner:
                inner.watch([x, v])
                picked = jt.gather(jt.gather(jt.sin(x), i), j, axis=0)
                written = jt.tensor_scatter_nd_update(x * x, rows[:, None], v * v)
                added = jt.tensor_scatter_nd_add(jt.exp(x), rows[:, None], v**3)
                greatest = jt.tensor_scatter_nd_max(x, rows[:, None], v)
                parts = [jt.reduce_sum(part**3) for part in (picked, written, added, greatest)]
                total = parts[0] + parts[1] + parts[2] + parts[3]
            first = inner.gradient(total, [x, v])
            norm = jt.reduce_sum(first[0] ** 2) + jt.reduce_sum(first[1] ** 2)
        return [total, *first, *outer.gradient(norm, [x, v])]

    x, v = normal(6, 3), normal(4, 3)
    function = jt.function(derivatives)
    for _ in range(3):
        got = function(x, v)
    assert all(step.kernel is not None for step in counters.last.compiled.steps)
    monkeypatch.setattr(jt.config, "interpret", True)
    for a, b in zip(got, derivatives(jt.constant(x), jt.constant(v)), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-10)


def test_methods_of_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    i = np.array([3, 0, 3, -1])
    slices = jt.IndexedSlices(normal(4, 2), i)

    def all_of_them() -> list[Array]:
        found = []
        for name in ("add", "sub", "update", "max", "min", "mul", "div"):
            v = jt.Variable(normal(5, 2) + 1.0)
            getattr(v, f"scatter_{name}")(slices)
            found.append(v.numpy())
        v.scatter_nd_add(i[:, None], slices.values)
        v.scatter_nd_update(i[:2, None], slices.values[:2])
        return [*found, v.numpy()]

    monkeypatch.setattr(jt.config, "compile_after", 0)
    compiled = all_of_them()
    monkeypatch.setattr(jt.config, "interpret", True)
    for a, b in zip(compiled, all_of_them(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
