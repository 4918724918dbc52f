"""The sparsity pattern of every primitive contains all nonzero derivatives; that of a batch is that of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.dtypes import is_floating
from jittape.core.primitive import any_dtype, apply
from test_primitives import DIFFERENTIABLE, cast, rng, sources


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=str)
def test_pattern_contains_the_derivatives(row: Any) -> None:

    @any_dtype
    def function(*handles: Any) -> Any:
        return row.function(*handles)

    operands = cast(row.sample(rng()), "float64")
    for number in sources(row, operands):
        if not is_floating(operands[number].dtype):
            continue

        def of_one(x: Any, number: int = number) -> Any:
            # A factor before the op, so that all operands of the op but constants depend on the argument.
            given = [jt.constant(o) for o in operands]
            given[number] = x * 1.0
            values = apply(function, tuple(given))
            value = values[0] if isinstance(values, tuple) else values
            return value if value.dtype.kind == "f" else jt.math.real(value) + jt.math.imag(value)

        x = operands[number]
        dense = np.asarray(jt.jacobian(of_one, unconnected_gradients="zero")(x))
        pattern = jt.sparse_jacobian(of_one, method="column").pattern(x)
        held = np.zeros((dense.size // max(1, x.size), x.size), bool)
        held[pattern.rows, pattern.columns] = True
        assert np.all(np.abs(dense.reshape(held.shape)[~held]) < 1e-14), number


BATCH = np.random.default_rng(3).normal(size=(4, 3, 3)) + 4.0 * np.eye(3)
RIGHT = np.random.default_rng(4).normal(size=(4, 3, 2))
ORDER = jt.Variable(np.array([2, 0, 1]), trainable=False)
BATCHED: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda a: jt.linalg.cholesky(a + jt.linalg.matrix_transpose(a)),
    "inv": jt.linalg.inv,
    "solve": lambda a: jt.linalg.solve(a, RIGHT),
    "triangular solve": lambda a: jt.linalg.triangular_solve(np.abs(BATCH), a),
    "slogdet": lambda a: jt.linalg.slogdet(a)[1],
    "eigh": lambda a: jt.linalg.eigh(a)[0],
    "svd": lambda a: jt.linalg.svd(a)[0],
    "qr": lambda a: jt.linalg.qr(a)[1],
    "expm": jt.linalg.expm,
    "map of a factorization": jt.vmap(jt.linalg.inv),
    "sort": lambda a: jt.sort(a, axis=-1),
    "argsort": lambda a: jt.gather(a, jt.argsort(a, axis=-1), axis=2, batch_dims=2),
    "top_k": lambda a: jt.math.top_k(a, 2)[0],
    "gather by a variable": lambda a: jt.gather(a, ORDER, axis=1) ** 2,
    "write by a variable": lambda a: jt.vmap(
        lambda m: jt.tensor_scatter_nd_update(m, ORDER[:2, None], m[:2])
    )(a),
}


@pytest.mark.parametrize("name", BATCHED)
def test_pattern_of_a_batch_is_that_of_its_elements(name: str) -> None:
    f = BATCHED[name]
    dense = np.asarray(jt.jacobian(f)(BATCH)).reshape(-1, BATCH.size)
    sparse = jt.sparse_jacobian(f, method="column")
    found = sparse.pattern(BATCH)
    per_element = dense.shape[0] // len(BATCH)
    np.testing.assert_array_equal(np.asarray(found.rows) // per_element, np.asarray(found.columns) // 9)
    np.testing.assert_allclose(sparse(BATCH).toarray(), dense, rtol=1e-10, atol=1e-12)
