"""General traces serve the lengths 1 and 0, and arguments of unknown rank have one trace per rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

LAST = jt.Variable(np.arange(12.0).reshape(3, 4) / 10)


def _count(x: Any) -> Any:
    return jt.cast(jt.shape(x)[0], jt.float64)


def _slope(x: Any) -> Any:
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum((x @ LAST) ** 2) / _count(x)
    return tape.gradient(loss, LAST)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: jt.reduce_sum(x, 0) / (_count(x) + 1.0),
    "range": lambda x: x * jt.cast(jt.range(jt.shape(x)[0]), jt.float64)[:, None],
    "start": lambda x: x[:1] * 2.0,
    "half": lambda x: x[: jt.shape(x)[0] // 2] * 2.0,
    "rest": lambda x: x[1:] - x[:-1],
    "reversed": lambda x: x[::-1] * _count(x),
    "rows": lambda x: jt.broadcast_to(jt.reduce_sum(x, 0), jt.shape(x)) + x,
    "scatter": lambda x: jt.tensor_scatter_nd_update(x, [[0]], 2.0 * x[:1]),
    "attention": lambda x: jt.nn.softmax(x @ jt.transpose(x) / _count(x)) @ x,
    "slope": _slope,
}
NOT_FOR_0 = ("half", "rest", "reversed", "scatter", "start", "slope")
"""Functions that other decisions are made in, or that have no result, for an empty array."""


@pytest.mark.parametrize("lengths", [(2, 1, 5, 1, 9), (1, 2, 5, 7)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_trace_serves_one_element_and_more(name: str, lengths: tuple[int, ...]) -> None:
    _compare(name, lengths)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - set(NOT_FOR_0)))
def test_one_trace_serves_an_empty_array(name: str) -> None:
    _compare(name, (3, 0, 4, 1))


def _compare(name: str, lengths: tuple[int, ...]) -> None:
    python = FUNCTIONS[name]
    f = jt.function(python, input_signature=[jt.TensorSpec([None, 3], jt.float64)])
    for _ in range(3):
        for n in lengths:
            x = np.random.default_rng(n).normal(size=(n, 3))
            np.testing.assert_allclose(f(x), python(jt.constant(x)), rtol=1e-13, strict=True)
    assert f.trace_count == 1


def test_arguments_of_unknown_rank_have_one_trace_per_rank() -> None:
    f = jt.function(
        lambda x, y: jt.reduce_sum(2.0 * x) + y, input_signature=[jt.TensorSpec(None), jt.TensorSpec([])]
    )
    for shape in ([], [2], [5], [2, 3], [4, 7], [1, 2, 3], [5, 6, 7], [1]):
        assert float(f(jt.ones(shape), 1.0)) == 2.0 * np.prod(shape) + 1.0
    assert f.trace_count == 4


def test_an_argument_of_unknown_rank_may_need_a_fixed_extent() -> None:
    f = jt.function(lambda x: jt.matmul(x, LAST), input_signature=[jt.TensorSpec(None, jt.float64)])
    for n in (5, 7, 9, 11, 1):
        x = np.ones([n, 3])
        np.testing.assert_allclose(f(x), x @ LAST.numpy())
    assert f.trace_count <= 3
    with pytest.raises(jt.errors.InvalidArgumentError, match="matmul"):
        f(np.ones([5, 4]))
