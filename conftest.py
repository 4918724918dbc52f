"""Names that every docstring example may use without importing them."""

from typing import Any

import numpy as np
import pytest

import jittape as jt


@pytest.fixture(autouse=True)
def example_names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["jt"] = jt
    doctest_namespace["np"] = np
