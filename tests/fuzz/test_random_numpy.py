"""Random NumPy expressions and calls on tensors: see `random_numpy` and modules beside it."""

from __future__ import annotations

import pytest

import jittape as jt
from random_numpy import disagreement, random_expression
from random_numpy_calls import mismatch, random_call
from random_numpy_functions import function_mismatch, random_function_call


@pytest.mark.filterwarnings("ignore")
def test_random_expressions_agree_with_numpy(monkeypatch: pytest.MonkeyPatch, programs: range) -> None:
    monkeypatch.setattr(jt.config, "interpret", True)
    for seed in programs:
        expression = random_expression(seed)
        text = disagreement(expression)
        assert text is None, f"seed {seed}: {text}\n{expression}"


@pytest.mark.filterwarnings("ignore")
def test_random_calls_with_options_agree_with_numpy(monkeypatch: pytest.MonkeyPatch, programs: range) -> None:
    monkeypatch.setattr(jt.config, "interpret", True)
    for seed in programs:
        call = random_call(seed)
        text = mismatch(call)
        assert text is None, f"seed {seed}: {call} {text}"


@pytest.mark.filterwarnings("ignore")
def test_random_functions_with_options_agree_with_numpy(
    monkeypatch: pytest.MonkeyPatch, programs: range
) -> None:
    monkeypatch.setattr(jt.config, "interpret", True)
    for seed in programs:
        call = random_function_call(seed)
        text = function_mismatch(call)
        assert text is None, f"seed {seed}: {call} {text}"
