"""Few schedules serve all lengths, also those that equal other numbers of the program."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.llvm.blas import blas
from jittape.core.symbolic.extents import Extents
from jittape.recording.trie import trie
from jittape.runtime import executable, general_schedule
from length_programs import attention, causal_attention, cross_entropy, embedding, joined, layer_norm

EQUAL = [4, 8, 10, 16, 20, 32, 40, 50, 64, 160, 256, 800]
"""Lengths that equal numbers of the models, their products or parts."""
LENGTHS = [211, 97, 151, *random.Random(0).sample([*EQUAL, *random.Random(1).sample(range(5, 200), 38)], 50)]
MOST = {layer_norm: 2, cross_entropy: 2, embedding: 3, joined: 3, attention: 6}
"""Maximum number of schedules that the passes make of a model, for lengths above 4."""


def by_products() -> int:
    """The number of further schedules: a BLAS without kernels for AVX-512 is faster than loops for some lengths."""
    return 0 if blas().unpacked else 1


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Runs of the passes: their number, and the names of kernels of schedules."""
    found: dict[str, Any] = {"general": 0, "own": 0, "kernels": []}

    def count(module: Any, kind: str) -> None:
        original = module.schedule

        def schedule(*args: Any, **options: Any) -> Any:
            made = original(*args, **options)
            found[kind] += 1
            found["kernels"].append({step.kernel.name for step in made.steps if hasattr(step, "kernel")})
            return made

        monkeypatch.setattr(module, "schedule", schedule)

    count(general_schedule, "general")
    count(executable, "own")
    return found


def begun(model: Callable[[], tuple[Any, ...]], form: str) -> tuple[Callable[..., Any], ...]:
    """Return a step of a model, the same as the form calls it, and the function of its inputs; no path is known."""
    trie.clear()
    specs, loss, weights, inputs = model()

    def step(*xs: Any) -> list[Any]:
        with jt.GradientTape() as tape:
            value = loss(*xs)
        return [value, *[jt.convert_to_tensor(g) for g in tape.gradient(value, weights)]]

    return step, jt.function(step, input_signature=specs) if form == "function" else step, inputs


def require_interpreted(found: list[Any], step: Callable[..., Any], inputs: Any) -> None:
    """Check results against those of the interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jt.config, "interpret", True)
        expected = [r.numpy() for r in step(*map(jt.constant, inputs))]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("form", ["function", "plain"])
@pytest.mark.parametrize("model", MOST)
def test_few_schedules_serve_lengths_that_equal_numbers_of_the_program(
    model: Callable[[], tuple[Any, ...]], form: str, counted: dict[str, Any]
) -> None:
    step, call, inputs = begun(model, form)
    for n in (length for length in LENGTHS if length > 4):
        found = [r.numpy() for r in call(*map(jt.constant, inputs(n)))]
        if n in EQUAL:
            require_interpreted(found, step, inputs(n))
    # Each schedule is compared with that of the passes at another length.
    assert counted["general"] <= 2 * MOST[model] + by_products()
    assert counted["own"] == 0
    assert further_kernels(counted) <= 3


def further_kernels(counted: dict[str, Any]) -> int:
    """Return the number of kernels of all schedules that are not in the first one."""
    first, *others = counted["kernels"]
    return len(set().union(*others) - first)


@pytest.mark.parametrize("form", ["function", "plain"])
@pytest.mark.parametrize("model", [attention, causal_attention])
def test_few_kernels_serve_lengths_on_both_sides_of_all_thresholds(
    model: Callable[[], tuple[Any, ...]], form: str, counted: dict[str, Any]
) -> None:
    """Products that the BLAS computes from 1,025 summands on, and arrays that fit the cache, need no own kernels."""
    step, call, inputs = begun(model, form)
    for n in (970, 262, 1103, 500, 131, 1060, 353):
        found = [r.numpy() for r in call(*map(jt.constant, inputs(n)))]
        require_interpreted(found, step, inputs(n))
    assert further_kernels(counted) <= 3


def test_lengths_that_equal_each_other_need_no_schedule_of_their_own(counted: dict[str, Any]) -> None:
    w, v = (jt.Variable(np.random.default_rng(k).normal(size=(16, 16))) for k in (0, 1))

    def step(x: Any, y: Any) -> list[Any]:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(jt.nn.softmax((x @ w) @ jt.transpose(y)) @ (y @ v)))
        return [loss, *tape.gradient(loss, [w, v])]

    call = jt.function(step, input_signature=[jt.TensorSpec([None, 16], jt.float64)] * 2)
    pairs = [
        (40, 50),
        (41, 67),
        (43, 61),
        (60, 60),
        (9, 9),
        (11, 11),
        (12, 12),
        (16, 16),
        (64, 64),
        (90, 90),
        (16, 60),
    ]
    for n, m in pairs:
        x, y = (np.random.default_rng(k).normal(size=(k, 16)) for k in (n, m))
        found = [r.numpy() for r in call(x, y)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jt.config, "interpret", True)
            expected = [r.numpy() for r in step(jt.constant(x), jt.constant(y))]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)
    assert counted["own"] == 0
    assert counted["general"] <= 6 + by_products()


def test_a_length_that_equals_another_number_needs_a_guard_only_if_that_decides() -> None:
    extents = Extents([41])
    (n,) = extents.variables
    extents.ignores_coincidences = True
    assert n != 16
    assert n * 4 != 164 + 4
    assert n != 1
    with extents.hashed_by_expression():
        assert len({n, n + 1, 16}) == 3
    assert extents.is_general({16})
    extents.close()
    exact, ignoring = extents.function(("n", n)), extents.function(("n", n), slack=1.5)
    assert exact(40) == ignoring(40) == ("n", 40)
    assert exact(16) is exact(42) is None
    assert ignoring(16) == ("n", 16)
    assert ignoring(42) == ("n", 42)
    assert exact(1) is ignoring(1) is None
