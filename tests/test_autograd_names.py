"""Every name of HIPS autograd exists with autograd's values and gradients, or the page says what to use instead."""

import importlib
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as onp
import pytest

from autograd_rows import ROWS, SAVED, library, measured

HERE = Path(__file__).parent
NAMES = {
    place: names.split() for place, names in json.loads((HERE / "autograd_names.json").read_text()).items()
}
GRADIENTS = json.loads(SAVED.read_text())
OURS = library("jittape.autograd")
PAGE = (HERE.parent / "docs/coming-from/autograd.md").read_text(encoding="utf-8")
LEFT_OUT = [
    pattern
    for row in re.findall(r"^\| (.*?) \|", PAGE.split("## Left out")[1].split("\n## ")[0], re.MULTILINE)
    for pattern in re.findall(r"`([^`]+)`", row)
]
"""Patterns of names that the page calls left out, below ``autograd``."""


def exists(path):
    place, _, name = f"jittape.autograd.{path}".rpartition(".")
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError:
        return False
    before = set(vars(module))
    found = hasattr(module, name)
    for added in (
        set(vars(module)) - before
    ):  # other tests look at the names that a module has without being asked
        delattr(module, added)
    return found


PATHS = [f"{place}.{name}".lstrip(".") for place, names in NAMES.items() for name in names]
MISSING = [path for path in PATHS if not exists(path)]


def test_every_name_exists_or_is_left_out():
    assert len(PATHS) > 700
    assert [p for p in MISSING if not any(fnmatchcase(p, pattern) for pattern in LEFT_OUT)] == []


def test_every_name_that_is_left_out_is_missing():
    assert [p for p in LEFT_OUT if not any(fnmatchcase(path, p) for path in MISSING)] == []


@pytest.mark.filterwarnings("ignore:Output seems independent")
@pytest.mark.parametrize("name", ROWS)
def test_autograds_value_and_gradient(name):
    value, gradients = measured(OURS, ROWS[name])
    wanted, wanted_gradients = GRADIENTS[name]
    onp.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-11)
    assert len(gradients) == len(wanted_gradients)
    for found, expected in zip(gradients, wanted_gradients, strict=True):
        onp.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_the_rows_are_those_that_autograd_computed():
    assert set(ROWS) == set(GRADIENTS)
