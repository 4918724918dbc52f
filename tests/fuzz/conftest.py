"""The programs of a run: how many, and from which seed on."""

from __future__ import annotations

import pytest

FEW = 120
"""Programs of a run that does not say how many."""


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> range:
    """The seeds of the run."""
    first = request.config.getoption("--seed")
    return range(first, first + (request.config.getoption("--programs") or FEW))
