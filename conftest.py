"""For tests and docstring examples alike: names that every example may use, a cache folder of the run's own, and memory
that shows where something is read that was never written.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.cache import schedule_cache
from jittape.core.name_scopes import clear_session
from jittape.core.tuning import tuning


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=int, default=None, help="number of random programs in tests/fuzz")
    parser.addoption("--seed", type=int, default=0, help="seed of the first random program")


@pytest.fixture(autouse=True)
def example_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["jt"] = jt
    doctest_namespace["np"] = np
    clear_session()  # examples print the names of layers and optimizers, which are numbered


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels go to a folder of this run, those of the processes that it starts too, not to the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITTAPE_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def later_programs() -> Iterator[None]:
    """No test is among the first programs of the process, so what is stored does not depend on the order of tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule_cache, "small_programs", count(tuning.first_stored_schedules))
        yield


@pytest.fixture(scope="session", autouse=True)
def poisoned_memory() -> None:
    jt.config.poison_memory = True
