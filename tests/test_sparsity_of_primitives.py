"""The sparsity pattern of every primitive contains all nonzero derivatives."""

from __future__ import annotations

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
