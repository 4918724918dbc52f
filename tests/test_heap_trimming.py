"""Freed memory goes back to the system after long programs."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import jittape as jt
from jittape.core.tuning import tuning
from jittape.runtime import heap_trimming


@pytest.fixture
def trims(monkeypatch):
    calls: list[int] = []
    monkeypatch.setattr(heap_trimming, "_malloc_trim", lambda: lambda pad: calls.append(pad) or 1)
    return calls


def chain(n: int) -> None:
    y = jt.constant(np.ones(3))
    for i in range(n):
        y = jt.sin(y) + float(i)
    y.numpy()


def test_memory_goes_back_after_a_long_program_is_compiled(trims, monkeypatch):
    monkeypatch.setattr(tuning, "segmented_program_ops", 40)
    for _ in range(3):
        chain(21)
    assert trims
    assert set(trims) == {0}


def test_short_programs_keep_freed_memory(trims):
    for _ in range(3):
        chain(22)
    assert not trims


@pytest.mark.skipif(sys.platform != "linux", reason="glibc has the function")
def test_the_function_of_the_c_library_is_found():
    trim = heap_trimming._malloc_trim()
    assert trim is None or trim(0) in (0, 1)


def test_other_systems_have_no_such_function(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap_trimming._malloc_trim() is None
