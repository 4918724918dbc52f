"""Concatenation, updates, running sums and places of extrema: compiled against NumPy, at their edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from host_schedules import schedule
from jittape.compile.schedule.steps import NumpyStep
from jittape.core.interpret import interpret
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.reduce.cumulative import cumprod_op, cumsum_op, recurrence_op
from jittape.primitives.reduce.extremum_indices import argmax_op, argmin_op
from jittape.primitives.shape.views import Region, concat_op, dynamic_update_slice_op, pad_op, slice_op
from programs import compiled, program_of

Array = np.ndarray[Any, Any]

SHAPES = [
    ((7,), 0),
    ((5, 6), 0),
    ((5, 6), 1),
    ((3, 4, 5), 1),
    ((2, 1030), 1),
    ((2100, 3), 0),
    ((0, 4), 0),
    ((4, 0), 1),
]


def check(function: Callable[..., Any], *operands: Array, steps: bool = False) -> None:
    """Compiled and interpreted agree; unless `steps`, nothing runs by NumPy."""
    program = program_of(function, *operands)
    assert steps or not any(isinstance(step, NumpyStep) for step in schedule(program).steps)
    for got, wanted in zip(compiled(program, operands, fill=77), interpret(program, operands), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-11)


def normal(shape: tuple[int, ...], dtype: str = "float64") -> Array:
    return (3 * np.random.default_rng(1).normal(size=shape)).astype(dtype)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_running_sums_and_products(shape: tuple[int, ...], axis: int) -> None:
    x = normal(shape)
    check(lambda x: (cumsum_op.bind(sin(x), axis=axis), cumprod_op.bind(sin(x), axis=axis)), x)
    check(lambda a, b: recurrence_op.bind(sin(a), add(a, b), axis=axis), x, x)
    check(lambda x: cumsum_op.bind(x, axis=axis), normal(shape, "int32"))
    check(lambda x: add(cumsum_op.bind(x, axis=axis), x), x)


def test_a_running_sum_keeps_what_is_not_finite_and_the_sign_of_zero() -> None:
    x = np.array([-0.0, -0.0, 1.0, np.inf, -np.inf, 2.0])
    program = program_of(lambda x: cumsum_op.bind(x, axis=0), x)
    (got,) = compiled(program, [x])
    np.testing.assert_array_equal(got, [0, 0, 1, np.inf, np.nan, np.nan])
    assert np.signbit(got[:2]).all()


def test_a_running_sum_along_one_element_is_left_to_numpy() -> None:
    check(lambda x: cumsum_op.bind(x, axis=0), normal((1, 4)), steps=True)


@pytest.mark.parametrize(("shape", "axis"), SHAPES[:6])
@pytest.mark.parametrize("op", [argmax_op, argmin_op])
def test_places_of_extrema(op: Any, shape: tuple[int, ...], axis: int) -> None:
    def place(x: Any) -> Any:
        return op.bind(x, axis=axis, dtype=np.dtype(np.int32))

    ties = np.round(normal(shape))
    holes = ties.copy()
    holes.flat[::3] = np.nan
    check(place, ties)
    check(place, holes)
    check(place, np.full(shape, -np.inf))
    check(place, np.full(shape, np.nan))
    check(place, ties > 0)
    check(place, (ties + 20).astype("uint8"))


def test_operands_of_a_concatenation() -> None:
    x, y = normal((3, 4)), normal((3, 2))
    check(lambda x, y: concat_op.bind(sin(x), y, multiply(y, 2.0), x, axis=1), x, y)
    check(lambda x: concat_op.bind(x, exp(x), x, axis=0), x)
    check(lambda x: concat_op.bind(slice_op.bind(x, region=Region((0,), (0,), (0,), (1,))), x, axis=0), x)
    check(lambda x, y: exp(concat_op.bind(x, exp(concat_op.bind(y, y, axis=1)), axis=1)), x, y)
    check(lambda x: concat_op.bind(x, x, axis=0), x > 0)
    check(lambda x: (concat_op.bind(exp(x), x, axis=0), exp(x)), normal((2000,)))


def test_a_part_is_laid_over_an_array() -> None:
    x, v = normal((6, 9)), normal((6, 3))
    for region in (
        Region((1,), (2,), (3,), (2,)),
        Region((1,), (8,), (3,), (-4,)),
        Region((1,), (6,), (3,), (1,)),
    ):
        check(
            lambda x, v, region=region: multiply(
                dynamic_update_slice_op.bind(exp(x), sin(v), region=region), x
            ),
            x,
            v,
        )
    dynamic = Region((1,), (None,), (3,), (1,))
    for start in (0, 4, 6):
        check(
            lambda x, v, i: dynamic_update_slice_op.bind(
                dynamic_update_slice_op.bind(x, sin(v), i, region=dynamic), v, i, region=dynamic
            ),
            *(x, v, np.int64(start)),
        )
    outer = Region((0, 1), (1, 2), (6, 9), (1, 1))

    def padded(x: Any, v: Any) -> Any:
        updated = dynamic_update_slice_op.bind(x, v, region=Region((1,), (2,), (3,), (2,)))
        return pad_op.bind(updated, region=outer, shape=(8, 13))

    check(padded, x, v)


@pytest.mark.parametrize("n", [2, 3, 9, 100, 1500, 3000])
def test_the_edges_of_loops_whose_middle_has_no_masks(n: int) -> None:
    """What is placed is a part of an array, so that beyond it there are other numbers, not zeros."""

    def placed(x: Any, offset: int, function: Callable[..., Any]) -> Any:
        part = slice_op.bind(x, region=Region((0,), (5,), (n,), (1,)))
        region = Region((0,), (offset,), (n,), (1,))
        return pad_op.bind(function(part), region=region, shape=(n + 2,))

    def neighbors(x: Any) -> Any:
        total = add(placed(x, 0, exp), multiply(placed(x, 1, sin), 10.0))
        return add(total, multiply(placed(x, 2, exp), 100.0))

    def transpose_layouts(x: Any) -> Any:
        backwards = Region((0,), (n + 1,), (n + 2,), (-1,))
        return exp(slice_op.bind(placed(x, 2, sin), region=backwards))

    x = normal((n + 10,))
    check(neighbors, x)
    check(transpose_layouts, x)
