"""The result of a length is the same, bit for bit, at its first and later calls and after any other lengths."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.analysis.gemm_operands import Matrix, Product, form_of
from jittape.core.symbolic.extents import Extents

LENGTHS = [2, 3, 4, 7, 16, 60, 131, 300, 520, 900, 1027, 1400, 1871]
"""On both sides of the sizes from which sums of 16 columns are grouped and divided into tasks."""
DATA = np.random.default_rng(0).normal(size=(2000, 16)).astype(np.float32)
TOKENS = np.random.default_rng(1).integers(0, 50, 2000)


def weight(*shape: int) -> jt.Variable:
    return jt.Variable(np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32))


def layer_norm() -> tuple[Any, ...]:
    scale, offset, w = weight(16), weight(16), weight(16, 4)

    def loss(x: Any) -> Any:
        centered = x - jt.reduce_mean(x, -1, keepdims=True)
        variance = jt.reduce_mean(jt.square(centered), -1, keepdims=True)
        return jt.reduce_mean(jt.square((centered / jt.sqrt(variance + 1e-3) * scale + offset) @ w))

    return [jt.TensorSpec([None, 16], jt.float32)], loss, [scale, offset, w], lambda n: [DATA[:n]]


def cross_entropy() -> tuple[Any, ...]:
    w, b = weight(16, 10), weight(10)

    def loss(x: Any, labels: Any) -> Any:
        return jt.reduce_mean(jt.nn.sparse_softmax_cross_entropy_with_logits(labels, x @ w + b))

    specs = [jt.TensorSpec([None, 16], jt.float32), jt.TensorSpec([None], jt.int64)]
    return specs, loss, [w, b], lambda n: [DATA[:n], TOKENS[:n] % 10]


def embedding() -> tuple[Any, ...]:
    table, w = weight(50, 16), weight(16, 1)

    def loss(tokens: Any) -> Any:
        return jt.reduce_sum(jt.square(jt.reduce_mean(jt.gather(table, tokens), 0)[None] @ w))

    return [jt.TensorSpec([None], jt.int64)], loss, [table, w], lambda n: [TOKENS[:n]]


def attention() -> tuple[Any, ...]:
    query, key, value = weight(16, 16), weight(16, 16), weight(16, 16)

    def loss(x: Any) -> Any:
        scores = jt.nn.softmax(jt.matmul(x @ query, x @ key, transpose_b=True) * 0.1)
        return jt.reduce_mean(jt.square(scores @ (x @ value)))

    return [jt.TensorSpec([None, 16], jt.float32)], loss, [query, key, value], lambda n: [DATA[:n]]


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
def test_form_of_a_product_with_wide_operands_serves_short_lengths(dtype: type) -> None:
    extents = Extents([1731])
    (rows,) = extents.variables
    matrix = Matrix(0, False, 16, 0)
    form = form_of(Product(matrix, matrix, rows, 16, 16, ()), np.dtype(dtype), True)
    extents.close()
    assert form == "matrix"
    assert extents.function(form)(3) == "matrix"
