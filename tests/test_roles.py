"""Roles on records: they describe their ops truly, and optimizations ask for them and for no certain op."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest

import jittape.primitives
from host_schedules import schedule
from jittape.compile.fuse.join_sums import join_sums
from jittape.compile.fuse.partition import Partition
from jittape.compile.ir.gemm_kernel import Gemm
from jittape.compile.llvm.blas import host_facts
from jittape.compile.rewrite.diagonals import scatter_diagonals
from jittape.compile.rewrite.layout_transposition import transpose_layouts
from jittape.compile.rewrite.sum_before_product import sum_before_product
from jittape.core.forms import Map, Reduce
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Program
from jittape.core.simplify import simplify
from jittape.primitives.broadcast import broadcast_to_op, cast_to, iota_op, reshape_op, sum_op
from jittape.primitives.elementwise.arithmetic import add, add_op, negative_op, zero_dominant_multiply_op
from jittape.primitives.elementwise.comparison import equal_op
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.shape.views import Region, slice_op
from programs import compiled, program_of

Array = np.ndarray[Any, Any]


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([n for axis, n in enumerate(shape) if axis not in axes])


total_op = Primitive(
    "total",
    abstract_eval=lambda x, *, axes, label: Aval(without(x.shape, axes), x.dtype),
    impl=lambda x, *, axes, label: np.sum(x, axis=axes, dtype=x.dtype),
    lowering=Reduce(combine=lambda m, a, b: m.add(a, b), identity=lambda dtype: 0),
    linear=((0,),),
    is_sum=True,
)
"""A new reduction: it sums, with one more parameter than `sum_op`."""

plus_op = Primitive(
    "plus",
    abstract_eval=lambda x, y: x,
    impl=lambda x, y: x + y,
    lowering=Map(lambda m, x, y: m.add(x, y)),
    linear=((0, 1),),
    weights=(1, 1),
)

step_op = Primitive(
    "step",
    abstract_eval=lambda x, y: x,
    impl=lambda x, y: x - 0.25 * y,
    lowering=Map(lambda m, x, y: x - 0.25 * y),
    linear=((0, 1),),
    weights=(1, -0.25),
)

flipped_op = Primitive(
    "flipped",
    abstract_eval=lambda x: x,
    impl=lambda x: -x,
    lowering=Map(lambda m, x: m.negative(x)),
    linear=((0,),),
    weights=(-1,),
)

same_op = Primitive(
    "same",
    abstract_eval=lambda x, y: Aval(x.shape, np.dtype(bool)),
    impl=np.equal,
    lowering=Map(lambda m, x, y: m.equal(x, y)),
    is_equality=True,
)


def total(x: Any, *axes: int) -> Any:
    return total_op.bind(x, axes=axes, label="mine")


def names_in(program: Program) -> list[str]:
    return [op.primitive.name for op in program.ops]


def check(program: Program, operands: list[Array]) -> None:
    for value, other in zip(compiled(program, operands), interpret(program, operands), strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-12)


# ---- new ops get the optimizations -----------------------------------------------------------------------------------


def test_sums_of_a_new_reduction_are_joined_by_a_new_addition() -> None:
    x = np.linspace(0.1, 2.0, 3000).reshape(3, 1000)
    program = program_of(lambda x: plus_op.bind(total(exp(x), 1), total(sin(x), 1)), x)
    joined = join_sums(program, Partition(program, host_facts))
    assert names_in(joined) == ["exp", "sin", "plus", "total"]
    assert dict(joined.ops[-1].params) == {"axes": (1,), "label": "mine"}
    check(program, [x])


def test_sums_of_different_reductions_are_not_joined() -> None:
    x = np.linspace(0.1, 2.0, 3000).reshape(3, 1000)
    program = program_of(lambda x: add(total(exp(x), 1), sum_op.bind(sin(x), axes=(1,))), x)
    assert join_sums(program, Partition(program, host_facts)) is program


def test_a_new_reduction_is_moved_before_a_product() -> None:
    x, y = np.random.default_rng(0).normal(size=(300, 20)), np.ones((20, 30))
    program = program_of(lambda x, y: total(flipped_op.bind(matmul_op.bind(x, y)), 0), x, y)
    assert names_in(sum_before_product(program)) == ["total", "reshape", "matmul", "flipped", "total"]
    check(program, [x, y])


def test_shorter_loops_of_a_new_reduction_run_along_with_longer_ones() -> None:
    def ends(x: Any) -> Any:
        first = slice_op.bind(x, region=Region((0,), (0,), (999,), (1,)))
        return total(exp(first), 0), total(sin(x), 0)

    x = np.linspace(0.0, 1.0, 1000)
    (step,) = schedule(program_of(ends, x)).steps
    assert step.kernel is not None
    assert step.kernel.loops == 1
    check(program_of(ends, x), [x])


def test_a_new_addition_adds_products_in_memory() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 60, 60))
    program = program_of(lambda x, y: plus_op.bind(matmul_op.bind(x, y), matmul_op.bind(y, x)), x, y)
    steps = schedule(program).steps
    assert all(isinstance(step.kernel, Gemm) for step in steps)
    assert len(steps) == 2
    check(program, [x, y])


def test_a_new_update_is_fused_with_its_product() -> None:
    w, x, g = (np.random.default_rng(n).normal(size=(160, 160)) for n in range(3))
    program = program_of(lambda w, x, g: step_op.bind(w, matmul_op.bind(x, g)), w, x, g)
    (step,) = schedule(simplify(program), ((0, 0),)).steps
    assert isinstance(step.kernel, Gemm)
    check(program, [w, x, g])


def test_diagonals_are_found_by_a_new_comparison_and_a_new_negation() -> None:
    def rows(x: Any) -> Any:
        shape, dtype = (50, 50), np.dtype(np.int64)
        unit = same_op.bind(
            iota_op.bind(shape=shape, axis=0, dtype=dtype), iota_op.bind(shape=shape, axis=1, dtype=dtype)
        )
        row = broadcast_to_op.bind(reshape_op.bind(x, shape=(1, 50)), shape=shape)
        return flipped_op.bind(zero_dominant_multiply_op.bind(cast_to(unit, x.dtype), row))

    x = np.linspace(1.0, 2.0, 50)
    program = program_of(rows, x)
    assert names_in(scatter_diagonals(program))[-1] == "diagonal_scatter"
    check(program, [x])


def test_layouts_are_transposed_around_a_new_addition() -> None:
    def far(x: Any, y: Any) -> Any:
        white = matmul_op.bind(exp(broadcast_to_op.bind(x, shape=(10_000, 10))), y)
        return total(exp(plus_op.bind(white, white)), 0, 1)

    x, y = np.random.default_rng(0).normal(size=(10_000, 1)) / 10, np.ones((10, 10)) / 10
    program = program_of(far, x, y)
    assert transpose_layouts(program) is not program
    check(program, [x, y])


# ---- roles describe their ops ----------------------------------------------------------------------------------------


def all_primitives() -> list[Primitive]:
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(jittape.primitives.__path__, "jittape.primitives.")
    ]
    return list({id(v): v for m in modules for v in vars(m).values() if isinstance(v, Primitive)}.values())


PRIMITIVES = all_primitives()
A = np.array([[1.5, -2.0, 0.0], [3.0, 3.0, -0.5]])
B = np.array([[1.5, 2.0, -1.0], [4.0, 3.0, 0.25]])


def having(role: str) -> list[Any]:
    found = [p for p in PRIMITIVES if getattr(p, role)]
    assert found
    return [pytest.param(p, id=p.name) for p in found]


@pytest.mark.parametrize("primitive", having("weights"))
def test_weights(primitive: Primitive) -> None:
    operands = (A, B)[: len(primitive.weights)]
    expected = sum(w * x for w, x in zip(primitive.weights, operands, strict=True))
    np.testing.assert_array_equal(primitive.impl(*operands), expected)
    assert primitive.linear == (tuple(range(len(operands))),)
    assert isinstance(primitive.lowering, Map)


@pytest.mark.parametrize("primitive", having("is_multiplication"))
def test_multiplications(primitive: Primitive) -> None:
    np.testing.assert_array_equal(primitive.impl(A, B), A * B)


@pytest.mark.parametrize("primitive", having("is_zero_dominant"))
def test_zero_dominant_products(primitive: Primitive) -> None:
    np.testing.assert_array_equal(primitive.impl(A, B), A * B)
    with np.errstate(invalid="ignore"):
        assert primitive.impl(np.zeros(1), np.full(1, np.inf)) == 0
        assert np.isnan(primitive.impl(np.full(1, np.inf), np.zeros(1)))


@pytest.mark.parametrize("primitive", having("is_even"))
def test_even_functions(primitive: Primitive) -> None:
    np.testing.assert_array_equal(primitive.impl(-A), primitive.impl(A))
    assert isinstance(primitive.lowering, Map)


@pytest.mark.parametrize("primitive", having("is_equality"))
def test_equalities(primitive: Primitive) -> None:
    np.testing.assert_array_equal(primitive.impl(A, B), A == B)


@pytest.mark.parametrize("primitive", having("is_cast"))
def test_casts(primitive: Primitive) -> None:
    for dtype in (np.dtype(np.float32), np.dtype(np.int64)):
        cast = primitive.impl(A, dtype=dtype)
        assert cast.dtype == dtype
        np.testing.assert_array_equal(cast, A.astype(dtype))


@pytest.mark.parametrize("primitive", having("is_broadcast"))
def test_broadcasts(primitive: Primitive) -> None:
    np.testing.assert_array_equal(primitive.impl(A[:1], shape=(4, 2, 3)), np.broadcast_to(A[:1], (4, 2, 3)))


@pytest.mark.parametrize("primitive", having("is_sum"))
def test_sums(primitive: Primitive) -> None:
    assert isinstance(primitive.lowering, Reduce)
    for axes in ((0,), (1,), (0, 1)):
        np.testing.assert_array_equal(primitive.impl(A, axes=axes), A.sum(axes))


def test_properties_follow_from_weights_and_lowering() -> None:
    assert add_op.is_addition
    assert not negative_op.is_addition
    assert not equal_op.is_addition
    assert [p.name for p in PRIMITIVES if p.is_matmul] == ["matmul"]
