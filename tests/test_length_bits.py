"""The result of a length is the same, bit for bit, at its first and later calls and after any other lengths."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.analysis.gemm_operands import Matrix, Product, form_of
from jittape.compile.ir.target_facts import TargetFacts
from jittape.core.symbolic.extents import Extents
from length_programs import attention, cross_entropy, embedding, layer_norm

LENGTHS = [2, 3, 4, 7, 10, 16, 60, 64, 131, 160, 300, 520, 900, 1027, 1400, 1871]
"""Some are numbers of the models or their products. Sums of 16 columns are grouped, and divided into tasks, from sizes
between them on."""


@pytest.fixture
def deterministic(request: pytest.FixtureRequest) -> Iterator[None]:
    before = jt.config.deterministic
    jt.config.deterministic = request.param
    yield
    jt.config.deterministic = before


def results_in(order: list[int], model: Callable[[], tuple[Any, ...]]) -> dict[int, list[bytes]]:
    """Return the loss and gradients of each length, as bytes, of a first call and of two later ones."""
    specs, loss, weights, inputs = model()

    @jt.function(input_signature=specs)
    def step(*xs: Any) -> Any:
        with jt.GradientTape() as tape:
            value = loss(*xs)
        return [value, *[jt.convert_to_tensor(g) for g in tape.gradient(value, weights)]]

    found: dict[int, list[bytes]] = {n: [] for n in order}
    for lengths in (order, order, order):
        for n in lengths:
            found[n].append(b"".join([r.numpy().tobytes() for r in step(*inputs(n))]))
    return found


@pytest.mark.parametrize(
    ("model", "deterministic"),
    [(layer_norm, False), (cross_entropy, False), (embedding, False), (attention, True)],
    indirect=["deterministic"],
)
def test_results_depend_on_no_other_length(model: Callable[[], tuple[Any, ...]], deterministic: None) -> None:
    shuffled = random.Random(0).sample(LENGTHS, len(LENGTHS))
    found = [results_in(order, model) for order in (LENGTHS, LENGTHS[::-1], shuffled)]
    differing = [n for n in LENGTHS if len({result for results in found for result in results[n]}) > 1]
    assert differing == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unpacked", [False, True])
def test_form_of_a_product_with_wide_operands_serves_short_lengths(dtype: type, unpacked: bool) -> None:
    extents = Extents([1731])
    (rows,) = extents.variables
    matrix = Matrix(0, False, 16, 0)
    form = form_of(
        Product(matrix, matrix, rows, 16, 16, ()), np.dtype(dtype), TargetFacts(True, unpacked, True)
    )
    extents.close()
    assert form == "tiled"
    assert extents.function(form)(6) == "tiled"
