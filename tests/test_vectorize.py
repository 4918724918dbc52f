"""Innermost loops written as vectors: the choice of loops and lanes, partial vectors, and results."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import jittape as jt
import primitive_table
import primitive_table_reduce
import primitive_table_shape
from host_schedules import schedule
from jittape.compile.cache.emit_kernel import definition_of, emit_module
from jittape.compile.cache.kernel_cache import Registry
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop import vectorize
from jittape.compile.kernels.loop.vectorize import (
    cost_of_innermost,
    lanes_in,
    obstacle_to_lanes,
    written_twice,
)
from jittape.compile.llvm import target
from jittape.compile.llvm.definition import Effort
from jittape.compile.llvm.unlocked_calls import emit_object
from jittape.compile.schedule.steps import KernelStep
from jittape.core.interpret import interpret
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_to_op, cast_op, iota_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply, square, subtract
from jittape.primitives.elementwise.comparison import greater
from jittape.primitives.elementwise.exponential import exp, log
from jittape.primitives.elementwise.hyperbolic import tanh
from jittape.primitives.elementwise.powers import pow as power
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.reduce.cumulative import cumsum_op
from jittape.primitives.reduce.reductions import all_op, any_op, max_op, min_op, prod_op
from jittape.primitives.shape.views import Region, pad_op, slice_op, transpose_op
from primitive_table import Row
from programs import compiled, program_of

NOT_ADJACENT = "elements along the innermost loop are not adjacent"
SPACED = Region((1,), (0,), (60,), (2,))
Array = np.ndarray[Any, Any]
Masks = Callable[[bool], None]


@pytest.fixture
def masks(monkeypatch: pytest.MonkeyPatch) -> Masks:
    """Return a function that sets whether the processor has masked instructions; nothing is cached."""

    def say(there: bool) -> None:
        monkeypatch.setattr(vectorize, "_has_masks", lambda: there)
        monkeypatch.setattr(jt.config, "_cache", False)
        monkeypatch.setattr("jittape.runtime.executable.registry", Registry())
        monkeypatch.setattr("jittape.runtime.launch_tables.registry", Registry())

    return say


def kernels_of(function: Any, *operands: Array) -> list[LoopKernel]:
    steps = schedule(program_of(function, *operands)).steps
    return [step.kernel for step in steps if isinstance(step.kernel, LoopKernel)]


def kernel_of(function: Any, *operands: Array) -> LoopKernel:
    return max(kernels_of(function, *operands), key=lambda kernel: len(kernel.text))


def light(x: Any) -> Any:
    return add(x, x)


def medium(x: Any) -> Any:
    return tanh(x), sum_op.bind(exp(x), axes=(0,))


def heavy(x: Any) -> Any:
    value = x
    for function in (sin, exp, tanh, sin, tanh, exp, sin):
        value = function(value)
    return value, add(x, value)


# ---- choice of loops and lanes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "twice"), [(light, True), (medium, True), (heavy, False)], ids=["light", "medium", "heavy"]
)
def test_a_heavy_body_is_emitted_once(function: Any, twice: bool, masks: Masks) -> None:
    masks(True)
    kernel = kernel_of(function, np.ones(100))
    assert lanes_in(kernel)
    assert written_twice(kernel) == twice


def test_lanes_fill_vectors_of_the_widest_dtype(masks: Masks) -> None:
    masks(True)
    both = lambda x, y: (add(x, x), add(y, y))  # noqa: E731
    float64, float32 = np.ones(9), np.ones(9, np.float32)
    assert lanes_in(kernel_of(light, float64)) == (8, 8)
    assert lanes_in(kernel_of(light, float32)) == (16, 16)
    assert lanes_in(kernel_of(both, float64, float32)) == (8, 8)
    assert lanes_in(kernel_of(light, np.ones(9, np.int8))) == (32, 32)
    assert lanes_in(kernel_of(medium, float64)) == (32, 8)
    assert lanes_in(kernel_of(medium, float32)) == (64, 16)


def test_loops_over_many_arrays_handle_fewer_vectors_at_a_time(masks: Masks) -> None:
    def of(n: int) -> Any:
        return lambda *operands: [exp(x) for x in operands[:n]]

    masks(True)
    operands = [np.ones(9)] * 3
    assert lanes_in(kernel_of(of(2), *operands)) == (32, 8)
    assert lanes_in(kernel_of(of(3), *operands)) == (16, 8)


@pytest.mark.parametrize(
    ("function", "obstacle"),
    [
        (lambda x, at: transpose_op.bind(x, perm=(1, 0)), NOT_ADJACENT),
        (lambda x, at: slice_op.bind(x, region=Region((1,), (0,), (6,), (10,))), NOT_ADJACENT),
        (lambda x, at: jt.gather(x, at, axis=1), NOT_ADJACENT),
        (lambda x, at: cumsum_op.bind(x, axis=1), "a scan runs along the innermost loop"),
        (lambda x, at: pad_op.bind(x, region=SPACED, shape=(50, 120)), NOT_ADJACENT),
        (lambda x, at: power(at, at), "an expression takes one number at a time"),
    ],
    ids=["transposed", "steps", "gather", "scan", "divided", "integer power"],
)
def test_loops_that_vectors_do_not_fit_are_left_to_llvm(function: Any, obstacle: str, masks: Masks) -> None:
    masks(True)
    kernels = kernels_of(function, np.ones((50, 60)), np.array([3, 1, 3]))
    left = [kernel for kernel in kernels if kernel.depth and lanes_in(kernel) is None]
    assert {definition_of(kernel).effort for kernel in left} == {Effort.LOOPS}
    assert obstacle in {obstacle_to_lanes(kernel) for kernel in left}


def strided(x: Any, step: int, start: int) -> Any:
    size = len(range(x.shape[-1])[start::step])
    return slice_op.bind(x, region=Region((len(x.shape) - 1,), (start % x.shape[-1],), (size,), (step,)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "bool"])
def test_distant_elements_under_expensive_mathematics_are_put_into_lanes(dtype: str, masks: Masks) -> None:
    """Columns, diagonals and reversed rows, of one vector, of several, and with a part of one at the end."""
    masks(True)

    def light_and_heavy(x: Any) -> Any:
        value = exp(cast_op.bind(strided(x, 2, 0), dtype=np.dtype("float32")))
        backwards = strided(x, -1, x.shape[-1] - 1)
        return tanh(sin(value)), subtract(sin(tanh(backwards)), exp(x)) if dtype[0] == "f" else value

    for shape in [(3,), (16,), (17,), (40,), (3, 67)]:
        x = np.random.default_rng(1).normal(size=shape).astype(dtype)
        kernels = [kernel for kernel in kernels_of(light_and_heavy, x) if vectorize.strided_loads(kernel)]
        assert kernels
        assert all(lanes_in(kernel) is not None for kernel in kernels)
        assert_same(light_and_heavy, x)
    if dtype[0] == "f":
        square_matrix = np.random.default_rng(2).normal(size=(21, 21)).astype(dtype)
        assert_same(lambda x: sum_op.bind(sin(exp(sin(jt.linalg.diag_part(x)))), axes=(0,)), square_matrix)


def test_cheap_loops_over_distant_elements_are_left_to_llvm(masks: Masks) -> None:
    """Each element would be loaded by itself, for nothing."""
    masks(True)
    kernel = kernel_of(lambda x: multiply(strided(x, 10, 0), 3.0), np.ones(250))
    assert vectorize.strided_loads(kernel)
    assert obstacle_to_lanes(kernel) == NOT_ADJACENT


def test_a_scan_along_an_outer_loop_is_written_as_vectors(masks: Masks) -> None:
    masks(True)
    (kernel,) = kernels_of(lambda x: cumsum_op.bind(exp(x), axis=0), np.ones((50, 60)))
    assert lanes_in(kernel) is not None
    for shape in [(1, 5), (3, 8), (4, 23), (2, 3, 33)]:
        x = np.random.default_rng(0).normal(size=shape)
        assert_same(lambda x: (cumsum_op.bind(exp(x), axis=0), cumsum_op.bind(x, axis=0)), x)


def test_without_masks_all_loops_are_left_to_llvm(masks: Masks) -> None:
    masks(False)
    kernel = kernel_of(medium, np.ones(100))
    assert lanes_in(kernel) is None
    assert definition_of(kernel).effort is Effort.LOOPS


@pytest.mark.parametrize("function", [light, medium, heavy])
def test_loops_written_as_vectors_skip_the_vectorizer(function: Any, masks: Masks) -> None:
    masks(True)
    kernel = kernel_of(function, np.ones(100))
    definition = definition_of(kernel)
    assert definition.effort is Effort.LITTLE
    text = target.module_text(emit_module([definition])).text
    found = lanes_in(kernel)
    assert found is not None
    assert all(f"<{vectorize} x double>" in text for vectorize in found)
    llvm.parse_assembly(text).verify()


def sums(x: Any, y: Any) -> Any:
    """Reduce maps of a vector and of a number, as floats, complex numbers and integers."""
    scaled = multiply(x, broadcast_to_op.bind(log(y), shape=x.shape))
    positive = cast_op.bind(greater(x, multiply(x, x)), dtype=np.dtype(np.int32))
    reduced = [sum_op.bind(exp(scaled), axes=(0,)), sum_op.bind(positive, axes=(0,))]
    turned = multiply(scaled, cast_op.bind(scaled, dtype=np.dtype(np.complex128)))
    return *reduced, max_op.bind(scaled, axes=(0,)), sum_op.bind(turned, axes=(0,)), log(y)


def test_without_masks_the_loop_over_a_chunk_is_the_outermost_of_its_function(masks: Masks) -> None:
    masks(False)
    kernel = kernel_of(sums, np.ones(5000), np.array(2.0))
    text = target.module_text(emit_module([definition_of(kernel)])).text
    inner = [body for body in text.split("define ")[1:] if '_chunk"(' in body.splitlines()[0]]
    assert [body.count(" = phi ") for body in inner] == [1]
    for n in (0, 1, 1023, 1024, 1025, 5000, 70_000):
        assert_same(sums, np.linspace(-1.0, 1.5, n), np.array(1.5))


@pytest.mark.parametrize(
    ("function", "lines"), [(light, 0), (exp, 5), (medium, 0)], ids=["light", "exp", "sum"]
)
def test_tasks_prefetch_the_operands_of_the_next_one(function: Any, lines: int, masks: Masks) -> None:
    """The only task of an array, and its last one, have none; results are the same for any number of tasks."""
    masks(True)
    kernel = kernel_of(function, np.ones(100))
    text = target.module_text(emit_module([definition_of(kernel)])).text
    # Vectors of 32 float64 in the loop over whole vectors, of 8 in the other one's branch without a mask.
    assert text.count('call void @"llvm.prefetch.p0"') == lines
    for n in (1, 31, 32, 100, 70_000):
        assert_same(function, np.linspace(-1.0, 1.0, n))


def padded(x: Any, begin: int = 50, step: int = 1) -> Any:
    """100 numbers among 1,000, the others of which are zero."""
    return pad_op.bind(x, region=Region((0,), (begin,), (100,), (step,)), shape=(1000,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y, i: tanh(padded(x)),
        lambda x, y, i: strided(padded(x), -1, 999),
        lambda x, y, i: add(padded(x), padded(x, 899, -1)),
        lambda x, y, i: add(padded(x), strided(y, 2, 0)),
        lambda x, y, i: add(strided(padded(x), -1, 999), strided(y, 2, 0)),
        lambda x, y, i: multiply(padded(x), jt.gather(y, i)),
    ],
    ids=[
        "padded",
        "reversed",
        "from both ends",
        "beside every other",
        "reversed beside it",
        "beside gathered",
    ],
)
def test_vectors_outside_of_an_array_are_loaded_from_elsewhere(function: Any, masks: Masks) -> None:
    """A masked load without lanes is slow if its page does not exist."""
    masks(True)
    rng = np.random.default_rng(0)
    operands = rng.normal(size=100), rng.normal(size=2000), rng.permutation(1000)
    kernels = [kernel for kernel in kernels_of(function, *operands) if "where" in kernel.text]
    assert kernels
    for kernel in kernels:
        parsed = llvm.parse_assembly(target.module_text(emit_module([definition_of(kernel)])).text)
        target.optimize(parsed)
        text = str(parsed)
        loads = re.findall(r"call .*@llvm\.masked\.load\.[^(]*\(ptr [^%]*(%[^,]+),", text)
        assert len(loads) == len(re.findall(r"call .*@llvm\.masked\.load\.", text))
        assert all(f"{place} = select" in text for place in loads)
    assert_same(function, *operands)


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "complex64", "complex128", "int8", "bool"]
)
def test_reversed_elements_are_adjacent(dtype: str, masks: Masks) -> None:
    """They are read in vectors: whole ones, part of one at the end, and with masks that are true on a range."""
    masks(True)

    def backwards(x: Any) -> Any:
        last = len(x.shape) - 1
        shape = (*x.shape[:-1], 3 * x.shape[-1])
        region = Region((last,), (x.shape[-1] - 1,), (x.shape[-1],), (-1,))
        reversed_rows = strided(x, -1, x.shape[-1] - 1)
        return reversed_rows, strided(
            pad_op.bind(reversed_rows, region=region, shape=shape), -1, shape[-1] - 1
        )

    for shape in [(2,), (8,), (17,), (70,), (3, 67)]:
        x = (np.random.default_rng(1).normal(size=shape) * 3).astype(dtype)
        assert all(lanes_in(kernel) is not None for kernel in kernels_of(backwards, x))
        assert_same(backwards, x)


@pytest.mark.parametrize("function", [light, heavy])
def test_strength_reduction_leaves_addresses_alone(
    function: Any, masks: Masks, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks(True)
    emitted: list[str] = []

    def emit(target: llvm.TargetMachine, parsed: llvm.ModuleRef) -> bytes:
        code = emit_object(target, parsed)
        emitted.append(str(parsed))
        return code

    monkeypatch.setattr(target, "emit_object", emit)
    definition = definition_of(kernel_of(function, np.ones(100)))
    target.compile_module(target.module_text(emit_module([definition]), definition.effort))
    (text,) = emitted
    assert "for.head" in text
    assert "scevgep" not in text  # the name of addresses that LLVM's strength reduction makes


def test_cost_of_a_light_loop() -> None:
    assert cost_of_innermost(kernel_of(light, np.ones(100))) == 1 <= tuning.light_loop_cost


# ---- results --------------------------------------------------------------------------------------------------------


def several(x: Any, y: Any) -> Any:
    """Compute maps, neighbors, masks, coordinates and reductions of all kinds, over float64 and float32."""
    n = x.shape[-1]
    axis = len(x.shape) - 1
    padded = pad_op.bind(x, region=Region((axis,), (2,), (n,), (1,)), shape=(*x.shape[:-1], n + 5))
    numbers = cast_op.bind(iota_op.bind(shape=x.shape, axis=axis, dtype=np.dtype(np.int64)), dtype=x.dtype)
    large = greater(x, y)
    reduced = [op.bind(x, axes=(axis,)) for op in (sum_op, max_op, min_op, prod_op)]
    return (
        add(multiply(x, y), numbers),
        exp(padded),
        cast_op.bind(subtract(square(y), x), dtype=np.dtype(np.float32)),
        large,
        any_op.bind(large, axes=(axis,)),
        all_op.bind(large, axes=(axis,)),
        sum_op.bind(cast_op.bind(large, dtype=np.dtype(np.int32)), axes=(axis,)),
        *reduced,
        sum_op.bind(padded, axes=(0,)) if axis else log(add(square(x), numbers)),
    )


LENGTHS = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1023, 1024, 1025, 3000]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_for_every_length(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        x, y = (rng.uniform(-1, 1, n).astype(dtype) for _ in range(2))
        assert_same(several, x, y)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 17), (5, 64), (40, 33), (1, 8), (0, 4), (4, 0)])
def test_results_for_every_shape(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    reduced = several if shape[-1] else light_pair
    assert_same(reduced, *[rng.uniform(-1, 1, shape) for _ in range(2)])


def light_pair(x: Any, y: Any) -> Any:
    return add(x, y), sum_op.bind(multiply(x, y), axes=(0,)), sum_op.bind(x, axes=(1,))


RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


@pytest.mark.parametrize("function", [light, medium, heavy])
def test_partial_vectors_write_nothing_beyond_the_end(function: Any, masks: Masks) -> None:
    masks(True)
    x = np.random.default_rng(0).normal(size=70)
    registry = Registry()
    for n in range(17, len(x)):
        (step,) = schedule(program_of(function, x[:n])).steps
        assert isinstance(step, KernelStep)
        ((address,), _) = registry.addresses([step.kernel])
        memory = [x.copy(), *[np.full(len(x) + 64, 7.0) for _ in range(max(step.storages))]]
        slots = np.array([array.ctypes.data for array in memory])
        operands, sizes = np.array(step.storages, np.int32), np.array(step.sizes, np.int64)
        RUN(address)(slots.ctypes.data, operands.ctypes.data, sizes.ctypes.data, 0)
        wanted = interpret(program_of(function, x[:n]), [x[:n]])
        for array, values in zip(memory[1:], wanted, strict=True):
            np.testing.assert_allclose(array[: values.size], values.ravel(), rtol=1e-12)
            np.testing.assert_array_equal(array[values.size :], 7.0)


def assert_same(function: Any, *operands: Array) -> None:
    program = program_of(function, *operands)
    for got, wanted in zip(compiled(program, operands, fill=9), interpret(program, operands), strict=True):
        assert got.dtype == wanted.dtype
        eps = np.finfo(wanted.dtype).eps if wanted.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, wanted, rtol=100 * eps, atol=100 * eps)


ROWS = [*primitive_table.ROWS, *primitive_table_reduce.ROWS, *primitive_table_shape.ROWS]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_primitive_without_masks(row: Row, masks: Masks) -> None:
    masks(False)
    for operands in (row.sample(np.random.default_rng(20)), *row.edges):
        arrays = [np.asarray(x) for x in operands]
        program = program_of(row.function, *arrays)
        for got, wanted in zip(compiled(program, arrays), interpret(program, arrays), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got, wanted, rtol=2e-14, atol=2e-14)
