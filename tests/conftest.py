"""Fixtures that several test files share."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import jittape as jt
from jittape.compile.schedule import pipeline
from jittape.core import simplify
from jittape.core.tuning import tuning
from jittape.functions.marshaller import marshaller, simple_call
from jittape.native import switch
from slow_tests import CASES, SAMPLED, SLOW

# The same examples in every run, so that a red test is red again; `--hypothesis-profile=explore` looks for new ones.
slow_first_example = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=slow_first_example)
settings.register_profile("explore", deadline=None, print_blob=True, suppress_health_check=slow_first_example)
settings.load_profile("fixed")

TESTS = Path(__file__).parent


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collection, and leave what was made out of later garbage collections.

    A full garbage collection over all collected tests takes 0.3 s, and tests of references ask for hundreds. Those
    that Python makes by itself took 9 % of the time of the tests, with a higher threshold 3 %.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `slow_tests` names, and most cases of a test that has many."""
    cases = Counter((item.path, getattr(item, "originalname", "")) for item in items)
    seen: Counter[object] = Counter()
    for item in items:
        if not item.path.is_relative_to(TESTS):
            continue
        file, name = item.path.relative_to(TESTS).as_posix(), getattr(item, "originalname", "")
        every = -(-cases[item.path, name] // CASES)
        if name in SLOW:
            item.add_marker(pytest.mark.slow)
            continue
        if seen[file] % SAMPLED.get(file, 1) or seen[file, name] % every:
            item.add_marker(pytest.mark.slow)
        seen[file] += 1
        seen[file, name] += 1


@pytest.fixture(scope="session", autouse=True)
def every_pass_checked() -> None:
    """Check the program or the steps after every pass."""
    pipeline.verify_each_pass = simplify.verify_each_pass = True


@pytest.fixture(scope="session", autouse=True)
def recorded_by_machine_code(cache_folder: Path) -> None:
    """From the beginning, and not from some test on in which a loop comes by for the hundredth time.

    With ``JITTAPE_NATIVE=0`` Python records. Functions have fast paths from their second call on.
    """
    switch.follow()
    marshaller()
    simple_call()
    # A step begins: what the tests' modules have recorded when they were imported is not a part of the first test.
    with jt.GradientTape():
        pass


@pytest.fixture(scope="module")
def small_heap() -> None:
    """Leave what earlier tests have left out of the garbage collections that the tests of this module ask for.

    After 15,000 tests a full collection takes 1 to 2 s, for programs and pages that live as long as the process.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def new_step() -> None:
    """A step begins: what a test before has left pending is no part of it."""
    with jt.GradientTape():
        pass


@pytest.fixture
def override_tuning() -> Iterator[Callable[..., None]]:
    """Set thresholds until the test ends."""
    with ExitStack() as overrides:
        yield lambda **values: overrides.enter_context(tuning.override(**values))


@pytest.fixture(params=["interpreted", "compiled"])
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    """The test runs twice: everything by the NumPy interpreter, and compiled from the second visit of a path on."""
    before = jt.config.interpret
    jt.config.interpret = request.param == "interpreted"
    yield request.param
    jt.config.interpret = before
