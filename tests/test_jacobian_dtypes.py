"""A Jacobian has the dtype of its source, whichever mode computes it and however many elements the target has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt

DTYPES = ["float16", "float32", "float64"]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "shorter": lambda x: x[1:] * x[:-1],
    "equal": lambda x: jt.sin(x) * x,
    "longer": lambda x: jt.concat([x * x, jt.exp(x), x[::-1]], 0),
    "matrix": lambda x: jt.sin(x)[:, None] * x,
    "constant": lambda x: jt.constant(np.ones(5, x.dtype)),
}

ZERO = jt.UnconnectedGradients.ZERO

pairs = pytest.mark.parametrize(("dtype", "target"), [(a, b) for a in DTYPES for b in DTYPES])
shapes = pytest.mark.parametrize("name", FUNCTIONS)


def source(dtype: str) -> np.ndarray:
    return np.array([0.5, 1.25, -0.75], dtype)


def casting(name: str, target: str) -> Callable[[Any], Any]:
    return lambda x: jt.cast(FUNCTIONS[name](x), target)


def close(found: Any, wanted: Any) -> bool:
    return np.allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=4e-3, atol=4e-3)


@pairs
@shapes
@pytest.mark.parametrize("mode", ["forward", "reverse", None])
def test_function(name: str, dtype: str, target: str, mode: Any) -> None:
    found = jt.jacobian(casting(name, target), mode=mode, unconnected_gradients=ZERO)(source(dtype))
    assert found.dtype == dtype
    assert close(found, jt.jacobian(FUNCTIONS[name], unconnected_gradients=ZERO)(source("float64")))


@pairs
@shapes
def test_tape(name: str, dtype: str, target: str) -> None:
    x = jt.constant(source(dtype))
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = casting(name, target)(x)
    found = tape.jacobian(y, x, unconnected_gradients=ZERO)
    assert found.dtype == x.dtype
    gradient = tape.gradient(y, x, unconnected_gradients=ZERO)
    assert gradient.dtype == x.dtype
    assert close(jt.reduce_sum(found, range(y.ndim)), gradient)


@pairs
@pytest.mark.parametrize("columns", [1, 3, 7])
def test_batch(columns: int, dtype: str, target: str) -> None:
    x = jt.constant(np.tile(source(dtype), (4, 1)))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.cast(jt.sin(x)[:, :1] * jt.constant(np.arange(columns), dtype), target)
    found = tape.batch_jacobian(y, x)
    assert (found.dtype, found.shape) == (x.dtype, (4, columns, 3))
    assert close(found[1, :, 0], np.cos(0.5) * np.arange(columns))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", ["float32", "float64"])
@shapes
def test_sparse(name: str, dtype: str, target: str) -> None:
    pytest.importorskip("scipy")

    def flat(x: Any) -> Any:
        return jt.reshape(casting(name, target)(x), [-1])

    found = jt.sparse_jacobian(flat)(source(dtype))
    assert found.dtype == dtype
    assert close(found.toarray(), jt.jacobian(flat, unconnected_gradients=ZERO)(source(dtype)))
