"""Random NumPy expressions and calls on tensors: see `random_numpy` and modules beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jittape as jt
from random_numpy import disagreement, random_expression
from random_numpy_calls import mismatch, random_call
from random_numpy_functions import function_mismatch, random_function_call
from random_numpy_gradients import gradient_mismatch, random_gradient_call


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("draw", "difference"),
    [
        (random_expression, disagreement),
        (random_call, mismatch),
        (random_function_call, function_mismatch),
        (random_gradient_call, gradient_mismatch),
    ],
    ids=["expressions", "calls with options", "functions with options", "gradients"],
)
def test_random_programs_agree_with_numpy(
    monkeypatch: pytest.MonkeyPatch,
    programs: range,
    draw: Callable[[int], Any],
    difference: Callable[[Any], str | None],
) -> None:
    monkeypatch.setattr(jt.config, "interpret", True)
    for seed in programs:
        drawn = draw(seed)
        text = difference(drawn)
        assert text is None, f"seed {seed}: {text}\n{drawn}"
