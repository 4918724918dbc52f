"""Products of a vector and a matrix with short rows, in jittape's own loops: which these are, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.analysis.gemm_operands import BatchLoop, Matrix, Product, form_of
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.ir.table_layouts import ON_DEMAND
from jittape.compile.ir.target_facts import TargetFacts
from jittape.compile.llvm.blas import host_facts
from jittape.compile.schedule import schedule as scheduling
from jittape.compile.schedule.steps import KernelStep
from jittape.core.interpret import interpret
from jittape.core.program import Program
from jittape.core.simplify import simplify
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_back, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.views import Region, slice_op
from programs import compiled, program_of

Array = np.ndarray[Any, Any]
SIZES = [(m, k) for m in (1, 2, 7, 8, 9, 19, 520) for k in (5, 8, 9, 31, 32, 40, 100, 127, 128)]
"""Rows and columns: whole groups of eight and what is left, full and partial registers, one chunk of rows and more."""


def wide_facts() -> TargetFacts:
    return host_facts()._replace(wide_registers=True)


schedule = partial(scheduling.schedule, target=wide_facts)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops are written for any processor; this has them chosen on any."""
    monkeypatch.setattr("jittape.runtime.executable.host_facts", wide_facts)


def normal(*shape: int, dtype: str = "float64") -> Array:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


def forms(program: Program) -> list[str]:
    return [step.kernel.form for step in schedule(program).steps if isinstance(step.kernel, Gemm)]


def transposed_product(x: Any, y: Any) -> Any:
    return matmul(x, y, True, False)


def row_product(x: Any, y: Any) -> Any:
    return matmul(y, x, True, False)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [matmul, transposed_product, row_product])
def test_values_of_every_size(function: Any, dtype: str) -> None:
    lanes = 64 // np.dtype(dtype).itemsize
    form, inner = ("rows", 1) if function is matmul else ("columns", 0)
    for shape in SIZES:
        x = normal(2, *shape, dtype=dtype)
        y = normal(2, shape[inner], 1, dtype=dtype)
        program = simplify(program_of(function, x, y))
        if shape[0] > 1 and shape[1] > 16:
            assert forms(program) == [f"{form}{-(-shape[1] // lanes)}"]
        (found,) = compiled(program, [x, y], fill=np.nan)
        (wanted,) = interpret(program, [x, y])
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 if dtype == "float32" else 1e-11)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("shape", [(19, 20), (520, 100)])
def test_products_are_added_to_what_is_there(shape: tuple[int, int]) -> None:
    def rows(x: Any, y: Any, z: Any) -> Any:
        return add(matmul(x, y), matmul(exp(x), exp(y)))

    def columns(x: Any, y: Any, z: Any) -> Any:
        return add(transposed_product(x, z), transposed_product(exp(x), exp(z)))

    arrays = [normal(*shape), normal(shape[1], 1), normal(shape[0], 1)]
    for function in (rows, columns):
        program = simplify(program_of(function, *arrays))
        products = [step.kernel for step in schedule(program).steps if isinstance(step.kernel, Gemm)]
        assert [kernel.accumulates for kernel in products] == [False, True]
        (found,) = compiled(program, arrays, fill=np.nan)
        np.testing.assert_allclose(found, interpret(program, arrays)[0], rtol=1e-11)


@pytest.mark.usefixtures("wide")
def test_rows_are_added_up_the_same_wherever_they_stand() -> None:
    for width in (12, 100):
        x, y = normal(43, width), normal(width, 1)
        (whole,) = compiled(program_of(matmul, x, y), [x, y])
        for first in range(1, 9):
            (part,) = compiled(program_of(matmul, x[first:], y), [x[first:], y])
            assert part.tobytes() == whole[first:].tobytes()


@pytest.mark.usefixtures("wide")
def test_many_rows_are_divided_and_stay_the_same(
    monkeypatch: pytest.MonkeyPatch, override_tuning: Callable[..., None]
) -> None:
    override_tuning(threads_at_parallel_work=tuning.parallel_work_ns)
    x, y = normal(30_001, 100), normal(100, 1)
    program = program_of(matmul, x, y)
    assert [step.tasks for step in schedule(program).steps] == [ON_DEMAND]
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(jt.config, "threads", threads)
        found += compiled(program, [x, y], fill=np.nan)
    np.testing.assert_allclose(found[0], x @ y, rtol=1e-9, atol=1e-11)
    assert {value.tobytes() for value in found} == {found[0].tobytes()}


@pytest.mark.usefixtures("wide")
def test_what_lies_beside_the_operands_is_not_read() -> None:
    def inside(x: Any) -> Any:
        return slice_op.bind(x, region=Region((0, 1), (3, 2), (21, 13), (1, 1)))

    x, y, z = normal(27, 16), normal(13, 1), normal(21, 1)
    x[:3] = x[24:] = x[:, :2] = x[:, 15:] = np.nan
    program = program_of(lambda a, b, c: (matmul(inside(a), b), transposed_product(inside(a), c)), x, y, z)
    assert forms(program) == ["rows2", "columns2"]
    part = x[3:24, 2:15]
    for found, wanted in zip(compiled(program, [x, y, z]), (part @ y, part.T @ z), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)


def form(
    *extents: int, dtype: str = "float64", transposed: bool = False, apart: int = 1, wide: bool = True
) -> str:
    """Of a product with a column whose elements are `apart`."""
    one = BatchLoop(1, 0, 0)
    product = Product(
        Matrix(0, transposed, 1000, 0), Matrix(1, False, apart, 0), extents[0], 1, extents[1], (one, one)
    )
    return form_of(product, np.dtype(dtype), TargetFacts(wide, True, True))


def test_which_products_these_are() -> None:
    assert form(1000, 20) == "rows3"
    assert form(1000, 20, dtype="float32") == "rows2"
    assert form(20, 1000, transposed=True) == "columns3"
    assert form(1, 128) == "rows16"
    for other in (
        form(1000, 20, wide=False),
        form(1000, 20, apart=2),
        form(1000, 20, dtype="complex64"),
        form(1000, 129),
        form(1000, 4),
        form(1000, 8, dtype="float32"),
        form(1000, 20, transposed=True),
    ):
        assert other == "vector"


@pytest.mark.usefixtures("wide")
def test_a_product_is_not_cut_where_its_loops_have_no_end(override_tuning: Callable[..., None]) -> None:
    """The registers are counted when the schedule is made: a block of fewer elements of a row would be another form."""
    override_tuning(row_tile_cached_bytes=0, row_tile_step_bytes=0, row_tile_bytes=1500)

    def used_in_rows(x: Any, z: Any, b: Any) -> Any:
        w = broadcast_back(sum_op.bind(transposed_product(x, z), axes=(1,)), b.shape, (1,))
        e = exp(multiply(w, b))
        return multiply(e, broadcast_back(sum_op.bind(e, axes=(1,)), b.shape, (1,)))

    arrays = [normal(300, 60), normal(300, 1), normal(60, 50) / 20]
    program = simplify(program_of(used_in_rows, *arrays))
    product, *others = schedule(program).steps
    assert isinstance(product, KernelStep)
    assert isinstance(product.kernel, Gemm)
    assert product.kernel.form == "columns8"
    assert product.tile is None
    assert all(isinstance(step, KernelStep) and step.tile is not None for step in others)
    (found,) = compiled(program, arrays)
    np.testing.assert_allclose(found, interpret(program, arrays)[0], rtol=1e-10)
