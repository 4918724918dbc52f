"""Random functions of arrays of any length, what general traces are compared with ordinary ones on, and models."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.analysis import gemm_operands

RULES: list[tuple[str, str, Callable[..., Any]]] = [
    # The kinds of the operands, the kind of the result, and the call. "n" is the length, "3" is three.
    ("n3", "n3", lambda x: jt.exp(-jt.abs(x))),
    ("n3 n3", "n3", lambda x, y: x * y),
    ("n3 3", "n3", lambda x, w: x + w),
    ("n3 33", "n3", lambda x, w: x @ w),
    ("n3 n", "n3", lambda x, v: x - v[:, None]),
    ("n3", "n", lambda x: jt.reduce_sum(x, 1)),
    ("n3", "n", lambda x: x[:, 1]),
    ("n3", "3", lambda x: jt.reduce_mean(x, 0)),
    ("n3 n3", "33", lambda x, y: jt.transpose(x) @ y),
    ("n3 n3", "nn", lambda x, y: x @ jt.transpose(y)),
    ("n3", "n3", jt.nn.softmax),
    ("n3", "n3", lambda x: jt.maximum(x, 0.25)),
    ("n3", "n3", lambda x: jt.cumsum(x, 0)),
    ("n3", "3n", jt.transpose),
    ("3n", "n3", lambda x: jt.transpose(jt.sin(x))),
    ("3n n", "3n", lambda x, v: x * v),
    ("n3", "m", lambda x: jt.reshape(x, [-1])),
    ("m", "n3", lambda v: jt.reshape(v * 2.0, [-1, 3])),
    ("n n", "n", lambda v, u: jt.where(v > u, v, u * 0.5)),
    ("n n", "", lambda v, u: jt.reduce_sum(v * u)),
    ("nn n", "n", lambda a, v: jt.linalg.matvec(a, v)),
    ("nn", "n", lambda a: jt.reduce_max(a, 1)),
    ("n3 n3", "n3", lambda x, y: jt.concat([x, y], 0)[1::2]),
    ("n3", "n3", lambda x: x[::-1]),
    ("33 3", "3", lambda a, w: jt.linalg.matvec(a, w)),
    ("3 3", "", lambda u, w: jt.reduce_mean(u / (1.0 + w * w))),
    ("n3", "", jt.reduce_mean),
    ("n", "", lambda v: jt.reduce_logsumexp(v)),
    ("n", "n", lambda v: v / (1.0 + jt.reduce_sum(v * v))),
    ("n3", "n3", lambda x: x / x.shape[0]),
    ("n", "n", lambda v: v + jt.zeros(v.shape, v.dtype) + jt.cast(v.shape[0] + 1, v.dtype)),
    ("n3", "n3", lambda x: x if x.shape[0] > 40 else x * 2.0),
]


def decide_by_sizes(patch: pytest.MonkeyPatch) -> None:
    """Let passes with extents decide by sizes what they otherwise leave to kernels, as passes with numbers do."""
    patch.setattr(gemm_operands, "is_open", lambda value: False)


def random_function(seed: int) -> Callable[..., Any]:
    """Return a function of an array (n, 3), a vector (n,), a vector (3,) and a matrix (3, 3), with a gradient."""
    rng = random.Random(seed)
    kinds = ["n3", "n", "3", "33"]
    calls: list[tuple[Callable[..., Any], list[int]]] = []
    while len(calls) < rng.randint(4, 12):
        operands, result, call = rng.choice(RULES)
        places = [[i for i, kind in enumerate(kinds) if kind == wanted] for wanted in operands.split()]
        if all(places):
            calls.append((call, [rng.choice(place[-4:]) for place in places]))
            kinds.append(result)
    returned = rng.sample(range(4, len(kinds)), min(3, len(calls)))

    def function(x: Any, v: Any, w: Any, a: Any) -> Any:
        with jt.GradientTape() as tape:
            tape.watch([x, w])
            values = [x, v, w, a]
            for call, places in calls:
                values.append(call(*[values[i] for i in places]))
            target = jt.reduce_sum(values[-1]) + jt.reduce_sum(x) + jt.reduce_sum(w)
        gradients = [g for g in tape.gradient(target, [x, w]) if g is not None]
        return [values[i] for i in returned], gradients

    return function


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


def causal_attention() -> tuple[Any, ...]:
    query, key, value = weight(16, 16), weight(16, 16), weight(16, 16)

    def loss(x: Any) -> Any:
        n = x.shape[0]
        scores = jt.matmul(x @ query, x @ key, transpose_b=True)
        mask = jt.linalg.band_part(jt.ones([n, n], jt.bool), -1, 0)
        return jt.reduce_mean(jt.square(jt.nn.softmax(jt.where(mask, scores, -1e9)) @ (x @ value)))

    return [jt.TensorSpec([None, 16], jt.float32)], loss, [query, key, value], lambda n: [DATA[:n]]


def joined() -> tuple[Any, ...]:
    w = weight(16, 4)

    def loss(x: Any) -> Any:
        both = jt.pad(jt.concat([x, x[::-1] * 0.5], 0), [[2, 3], [0, 0]])
        return jt.reduce_mean(jt.square(jt.tanh(both @ w)))

    return [jt.TensorSpec([None, 16], jt.float32)], loss, [w], lambda n: [DATA[:n]]
