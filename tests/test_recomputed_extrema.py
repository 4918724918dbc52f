"""Values that one kernel takes an extremum of and another recomputes, to find the elements that equal the extremum.

LLVM fuses a product and a sum if nothing else uses the product, and a sum of many terms has another order in another
kernel. A value that two kernels round differently equals no extremum: the gradient was nan, or went to another operand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "scaled row": lambda x, y: y - x[0] * 0.1,
    "sum of rows": lambda x, y: y - jt.reduce_sum(x, 0) * 0.1,
    "product of rows": lambda x, y: y * x[1] + x[0] * x[1],
    "square": lambda x, y: y * 0.3 + jt.square(x[0]),
    "squared difference": lambda x, y: jt.math.squared_difference(y, x[1]) * x[0] + y,
    "squared difference of a product": lambda x, y: jt.math.squared_difference(y * x[0], x[1] * 0.3),
    "exponential": lambda x, y: jt.exp(x[0] * 0.1) * 0.7 - y * x[1],
    "transposed": lambda x, y: jt.transpose(jt.transpose(y) - (x[0] * 0.1)[:, None]),
    "distances": lambda x, y: jt.reduce_sum((y[:, None, :] - x[None, :, :]) ** 2, 2),
}
EXTREMA: dict[str, Callable[[Any], Any]] = {
    "max": lambda v: jt.reduce_max(v, 0),
    "min": lambda v: jt.reduce_min(v, 0),
    "max of all": jt.reduce_max,
    "max of rows": lambda v: jt.reduce_max(v, 1),
    "max of min": lambda v: jt.reduce_max(jt.reduce_min(v, 0)),
    "max of sums": lambda v: jt.reduce_max(jt.reduce_sum(v * 1.1 - 0.2, 0)),
    "max of deviations": lambda v: jt.reduce_max(jt.math.reduce_std(v, 0)),
    "min of logsumexp": lambda v: jt.reduce_min(jt.reduce_logsumexp(v * 1.1 + 0.1, 1)),
    "maximum": lambda v: jt.maximum(0.7 * v - 0.1, v * v - 0.3),
    "minimum of sums": lambda v: jt.minimum(jt.reduce_mean(v * 1.1 + 0.2, 0), v[0] * 0.9 - 0.1),
    "maximum of sums": lambda v: jt.maximum(jt.reduce_mean(v * 1.1 + 0.2, 0), v[0] * 0.9 - 0.1),
    "relu": lambda v: jt.nn.relu(0.7 * v - 0.1 * v * v),
    "segments": lambda v: jt.math.unsorted_segment_max(v * 0.3 - v * v, np.arange(len(v)) % 3, 3),
    "scattered": lambda v: jt.tensor_scatter_nd_max(v * 0.3 - 0.1, [[0], [1], [0]], v[:3] * v[-3:] - 0.2),
}
CHOICES: dict[str, Callable[[Any, Any], Any]] = {
    "products": lambda s, row: jt.maximum(s * row[0] + row, 0.3 * s - row * row[1]),
    "sums": lambda s, row: jt.maximum(jt.reduce_mean(s * 1.1 + row), 0.3 * s - row * row[1]),
    "relu": lambda s, row: jt.nn.relu(s * row[0] + row) - 0.3 * row,
    "greatest": lambda s, row: 0.3 * row * jt.reduce_max(s * row - 0.2 * row) + row,
}
SHAPES = [(3, 3, 8), (16, 4, 16), (64, 3, 3), (64, 5, 3), (200, 40, 3), (7, 4, 33), (5, 60, 17)]
PAIRS = {pair: number for number, pair in enumerate(itertools.product(VALUES, EXTREMA))}


def arrays(rows: int, m: int, k: int, dtype: str) -> list[Any]:
    rng = np.random.default_rng([rows, m, k])
    return [jt.constant(rng.normal(size=shape).astype(dtype)) for shape in ((rows, k), (m, k))]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("extremum", EXTREMA)
@pytest.mark.parametrize("name", VALUES)
def test_gradients_of_extrema_find_the_elements(name, extremum, dtype):
    value, best = VALUES[name], EXTREMA[extremum]

    def gradients(x: Any, y: Any, reads: bool) -> list[np.ndarray[Any, Any]]:
        with jt.GradientTape() as tape:
            tape.watch([x, y])
            found = best(value(x, y))
            if reads:  # the gradient is another program
                found.numpy()
            loss = jt.reduce_sum(found)
        return [g.numpy() for g in tape.gradient(loss, [x, y])]

    # Each pair meets two of the seven shapes, one in each dtype: all of both compiled 3,500 programs, in 190 s.
    shape = SHAPES[(2 * PAIRS[name, extremum] + (dtype == "float32")) % 7]
    x, y = arrays(*shape, dtype)
    for reads in (False, True):
        wanted = gradients(x, y, reads)  # interpreted
        for _ in range(2):
            for a, b in zip(gradients(x, y, reads), wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=f"{shape}")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CHOICES)
def test_the_branch_of_a_maximum_in_a_loop(name, dtype):
    """A step of the loop reads the maximum, and the backward pass recomputes what was compared."""

    def gradients(x: Any, reads: bool) -> np.ndarray[Any, Any]:
        with jt.GradientTape() as tape:
            tape.watch(x)
            states = jt.scan(lambda s, row: CHOICES[name](s, row), x, initializer=x[0])
            if reads:
                states.numpy()
            loss = jt.reduce_sum(jt.sin(states))
        return tape.gradient(loss, x).numpy()

    for shape in ((9, 5), (20, 33)):
        x = jt.constant(np.random.default_rng(shape).normal(size=shape).astype(dtype))
        for reads in (False, True):
            wanted = gradients(x, reads)
            for _ in range(2):
                np.testing.assert_allclose(gradients(x, reads), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", VALUES)
def test_places_of_extrema_are_found(name, dtype):
    value = VALUES[name]
    for shape in SHAPES:
        x, y = arrays(*shape, dtype)
        a = value(x, y).numpy()
        wanted = [np.argmax(a, 0), np.argmin(a, 1), a >= np.max(a, 0), a < np.max(a, 1, keepdims=True)]
        for _ in range(3):
            v = value(x, y)
            found = [jt.argmax(v, 0), jt.argmin(v, 1)]
            found += [v >= jt.reduce_max(v, 0), v < jt.reduce_max(v, 1, keepdims=True)]
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a.numpy(), b, err_msg=f"{shape}")
