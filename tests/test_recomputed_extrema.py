"""Values that one kernel takes an extremum of and another recomputes, to find the elements that equal the extremum.

LLVM fuses a product and a sum if nothing else uses the product. A value that two kernels round differently equals no
extremum: the gradient was nan.
"""

from __future__ import annotations

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
    "exponential": lambda x, y: jt.exp(x[0] * 0.1) * 0.7 - y * x[1],
    "transposed": lambda x, y: jt.transpose(jt.transpose(y) - (x[0] * 0.1)[:, None]),
    "distances": lambda x, y: jt.reduce_sum((y[:, None, :] - x[None, :, :]) ** 2, 2),
}
EXTREMA: dict[str, Callable[[Any], Any]] = {
    "max": lambda v: jt.reduce_max(v, 0),
    "min": lambda v: jt.reduce_min(v, 0),
    "max of all": jt.reduce_max,
    "max of rows": lambda v: jt.reduce_max(v, 1),
}
SHAPES = [(3, 3, 8), (16, 4, 16), (64, 3, 3), (64, 5, 3), (200, 40, 3), (7, 4, 33), (5, 60, 17)]


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

    for shape in SHAPES:
        x, y = arrays(*shape, dtype)
        for reads in (False, True):
            wanted = gradients(x, y, reads)  # interpreted
            for _ in range(2):
                for a, b in zip(gradients(x, y, reads), wanted, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=f"{shape}")


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
