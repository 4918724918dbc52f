"""SciPy's own functions on tensors, with its switch for the Array API."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import scipy

from scipy_array_api_calls import CALLS, CLASSES, PAGE

PROGRAM = Path(__file__).with_name("scipy_array_api_calls.py")


def listed(introduction: str) -> list[str]:
    """Return the functions that the page lists after an introduction."""
    text = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8").replace("\n\n", " ¶ "))
    return re.findall(r"`([\w.]+)`", text.partition(introduction)[2].partition("¶")[0])


def test_the_page_lists_each_call_once() -> None:
    names = [name for introduction in CLASSES.values() for name in listed(introduction)]
    assert sorted(names) == sorted(CALLS)


@pytest.mark.skipif(
    not scipy.__version__.startswith("1.17."), reason="the page lists the functions of SciPy 1.17"
)
def test_the_lists_of_the_page_are_those_that_the_calls_give() -> None:
    """If SciPy or jittape changed, the program renews the lists with ``--write``."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, PROGRAM], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {key: sorted(listed(text)) for key, text in CLASSES.items()}
