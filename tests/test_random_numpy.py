"""Random NumPy expressions on tensors, with fresh seeds: see `random_numpy`."""

import secrets

import pytest

import jittape as jt
from random_numpy import disagreement, random_expression
from random_numpy_calls import mismatch, random_call

COUNT = 300


@pytest.mark.filterwarnings("ignore")
def test_random_expressions_agree_with_numpy(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(jt.config, "interpret", True)
    seed = request.config.getoption("--seed") or secrets.randbits(32)
    for i in range(request.config.getoption("--programs") or COUNT):
        expression = random_expression((seed, i))
        text = disagreement(expression)
        assert text is None, f"--seed {seed}, number {i}: {text}\n{expression}"


@pytest.mark.filterwarnings("ignore")
def test_random_calls_with_options_agree_with_numpy(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(jt.config, "interpret", True)
    seed = request.config.getoption("--seed") or secrets.randbits(32)
    for i in range(request.config.getoption("--programs") or COUNT):
        call = random_call((seed, i))
        text = mismatch(call)
        assert text is None, f"--seed {seed}, number {i}: {call} {text}"
