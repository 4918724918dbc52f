"""float16 in compiled loops: the bits of NumPy's results, and no NumPy step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.ir.loop_kernel import LoopKernel
from jittape.compile.kernels.loop import vectorize
from jittape.core.interpret import interpret
from jittape.core.simplify import simplify
from jittape.primitives.elementwise import arithmetic as ar
from jittape.primitives.elementwise.comparison import less, where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.elementwise.division import divide
from jittape.primitives.elementwise.exponential import exp, sqrt
from jittape.primitives.elementwise.piecewise import maximum
from jittape.primitives.indexing.gather import gather
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.reduce.cumulative import cumsum
from jittape.primitives.reduce.reductions import reduce_max, reduce_mean, reduce_sum
from jittape.vectormath import NumPyMath, half
from processes import run_python
from programs import compiled, program_of

Array = np.ndarray[Any, Any]

ALL = np.arange(2**16, dtype=np.uint16).view(np.float16)
"""All numbers of the dtype."""


def result(function: Callable[..., Any], *operands: Array) -> Array:
    """Return the compiled result of a function that has no NumPy step."""
    program = simplify(program_of(function, *operands))
    assert all(isinstance(step.kernel, LoopKernel) for step in schedule(program).steps)
    (got,) = compiled(program, operands)
    return got


def assert_same_bits(got: Array, expected: Array) -> None:
    """Require equal bits; a nan may have any payload."""
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(got[there].view(np.uint16), expected[there].view(np.uint16))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool", "int32", "int8", "uint64"])
def test_casts_from_every_number(dtype: str) -> None:
    program = simplify(program_of(lambda x: cast(x, dtype), ALL))
    (expected,) = interpret(program, [ALL])
    np.testing.assert_array_equal(result(lambda x: cast(x, dtype), ALL), expected)


def near_midpoints() -> Array:
    """Return all float16 numbers, the midpoints between them, and the float64 numbers next to these."""
    finite = np.sort(ALL[np.isfinite(ALL)].astype(float))
    middle = (finite[1:] + finite[:-1]) / 2
    exact = np.concatenate([finite, middle, [65520.0, -65520.0, 1e300, -np.inf, np.nan, 1e-300, -0.0]])
    return np.concatenate([exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_casts_round_once(dtype: str) -> None:
    """Rounding a float64 to float32 first would change numbers just beside a midpoint."""
    with np.errstate(over="ignore"):
        x = near_midpoints().astype(dtype)
        assert_same_bits(result(lambda x: cast(x, "float16"), x), x.astype(np.float16))
        if dtype == "float64":
            twice = x.astype(np.float32).astype(np.float16)
            assert (twice != x.astype(np.float16)).sum() > 10_000


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "bool"])
def test_casts_of_integers(dtype: str) -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(0, 2, 100).astype(bool) if dtype == "bool" else integers(dtype)
    with np.errstate(over="ignore"):
        assert_same_bits(result(lambda x: cast(x, "float16"), x), x.astype(np.float16))


def integers(dtype: str) -> Array:
    limits = np.iinfo(dtype)
    small = np.arange(max(limits.min, -70_000), min(limits.max, 70_000), dtype=dtype)
    return np.concatenate([small, np.array([limits.min, limits.max], dtype)])


def test_the_conversions_for_other_processors_are_exact() -> None:
    m = NumPyMath()
    with np.errstate(all="ignore"):
        found = half.from_half(m, ALL.view(np.uint16))
        np.testing.assert_array_equal(found, ALL.astype(np.float32))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(ALL))
        x = near_midpoints().astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
        assert_same_bits(half.to_half(m, x).view(np.float16), x.astype(np.float16))


OTHER_PROCESSOR = """
import numpy as np
import jittape as jt
from jittape.compile.llvm import ir_math

ir_math._converts_halves = lambda: False
x = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
for operand in (x, x.astype(float)):
    for _ in range(2):
        got = (jt.cast(operand, "float16") * 0.7001953125).numpy()
    assert (got == x * np.float16(0.7001953125)).all()
assert jt.stats().compiled_runs == 2 and jt.stats().kernels_loaded == 0
"""


def test_kernels_for_other_processors(tmp_path: Path) -> None:
    ended = run_python("-c", OTHER_PROCESSOR, JITTAPE_CACHE_DIR=str(tmp_path))
    assert ended.returncode == 0, ended.stderr


ARITHMETIC: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (ar.add, np.add),
    "subtract": (ar.subtract, np.subtract),
    "multiply": (ar.multiply, np.multiply),
    "divide": (divide, np.divide),
    "maximum": (maximum, np.maximum),
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_has_the_bits_of_numpy(name: str) -> None:
    function, reference = ARITHMETIC[name]
    generator = np.random.default_rng(1)
    x, y = generator.permutation(ALL), generator.permutation(ALL)
    with np.errstate(all="ignore"):
        assert_same_bits(result(function, x, y), reference(x, y))


def test_each_op_of_a_chain_is_rounded() -> None:
    generator = np.random.default_rng(2)
    x, y = generator.standard_normal((2, 10_000)).astype(np.float16)

    def chain(x: Any, y: Any) -> Any:
        return sqrt(ar.add(ar.multiply(x, x), ar.multiply(ar.multiply(y, y), 1.25)))

    expected = np.sqrt(x * x + y * y * np.float16(1.25))
    assert_same_bits(result(chain, x, y), expected)
    single = np.sqrt(x.astype("f4") ** 2 + y.astype("f4") ** 2 * 1.25).astype(np.float16)
    assert (single != expected).any()


def test_reductions_are_computed_in_float32() -> None:
    x = np.random.default_rng(3).standard_normal((70, 300)).astype(np.float16)
    for function, reference in (
        (reduce_sum, lambda x: x.astype(float).sum(1)),
        (reduce_mean, lambda x: x.astype(float).mean(1)),
        (reduce_max, lambda x: x.max(1)),
    ):
        got = result(lambda x, f=function: f(x, 1), x)
        np.testing.assert_allclose(got, reference(x), rtol=5e-4, atol=1e-6)
    assert result(lambda x: reduce_sum(x), np.ones(3000, np.float16)) == 3000


def test_other_ops_have_no_numpy_step() -> None:
    generator = np.random.default_rng(4)
    x, y = (generator.standard_normal(shape).astype(np.float16) for shape in ((5, 7), (7, 6)))
    np.testing.assert_allclose(result(matmul, x, y), x.astype(float) @ y.astype(float), rtol=5e-3, atol=5e-3)
    assert_same_bits(result(lambda x: cumsum(x, 1), x), np.cumsum(x, 1))
    assert_same_bits(result(lambda x: where(less(x, 0), exp(x), x), x), np.where(x < 0, np.exp(x), x))


def test_a_gather_and_its_gradient_are_compiled() -> None:
    x, indices = ALL[1000:1100].copy(), np.array([3, 99, 3, 0])
    program = simplify(program_of(lambda x, i: gather(x, i), x, indices))
    assert all(step.kernel is not None for step in schedule(program).steps)
    np.testing.assert_array_equal(compiled(program, (x, indices))[0], x[indices])

    @jt.function
    def slope(x: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = jt.reduce_sum(jt.gather(x, indices) * 2.0)
        return tape.gradient(y, x)

    for _ in range(3):
        found = slope(jt.constant(x)).numpy()
    assert found.dtype == np.float16
    assert found[[0, 3, 4, 99]].tolist() == [2, 4, 0, 2]


def test_a_loop_is_written_as_vectors() -> None:
    """Where the processor has masks, nothing about float16 keeps a loop from being vectors."""
    x = np.ones(100, np.float16)
    (step,) = schedule(simplify(program_of(lambda x: exp(ar.add(x, 1.0)), x))).steps
    assert isinstance(step.kernel, LoopKernel)
    assert vectorize.obstacle_to_lanes(step.kernel) in (None, "the processor cannot mask vectors")


def test_cube_roots_of_all_float16_numbers():
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[~np.isnan(x)]
    # NumPy's own roots of float16 are rounded twice on some processors.
    np.testing.assert_array_equal(np.cbrt(jt.constant(x)), np.cbrt(x.astype(np.float64)).astype(np.float16))
