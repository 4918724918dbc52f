"""A ``with`` statement that an interrupt keeps from ending leaves no value of its thread behind."""

from __future__ import annotations

import pytest

from jittape.core.builder import Builder
from jittape.core.primitive import INTERRUPTED, active, recording_with
from jittape.core.symbolic.memo_keys import decisive_keys, is_memo_key, memo_keys


@pytest.mark.parametrize("outer", [INTERRUPTED, Builder(0)], ids=["operation", "rule"])
def test_a_late_end_keeps_the_recorder_that_an_outer_statement_has_restored(outer):
    before = active.recorder
    try:
        active.recorder = outer
        context = recording_with(Builder(0))
        context.__enter__()  # the interrupt comes before __exit__ runs
    finally:
        active.recorder = before
    del context  # with the traceback
    assert active.recorder is before


def test_a_late_end_restores_the_recorder_if_nothing_else_has():
    before = active.recorder
    context = recording_with(Builder(0))
    context.__enter__()
    assert active.recorder is not before
    del context
    assert active.recorder is before


def test_an_end_within_a_late_one_restores_the_outer_recorder():
    before = active.recorder
    with recording_with(Builder(0)) as outer:
        late = recording_with(Builder(0))
        late.__enter__()
        with recording_with(outer):
            assert active.recorder is outer
    assert active.recorder is before
    del late
    assert active.recorder is before


def test_a_late_end_keeps_the_kind_of_keys():
    with memo_keys():
        late = decisive_keys()
        late.__enter__()
        assert not is_memo_key()
    assert not is_memo_key()
    del late
    assert not is_memo_key()


def test_errors_inside_restore_the_recorder():
    before = active.recorder
    with pytest.raises(ZeroDivisionError), recording_with(Builder(0)):
        raise ZeroDivisionError
    assert active.recorder is before
