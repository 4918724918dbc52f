"""The progress bar: what it shows, and how seldom it looks at values."""

import sys

import pytest

import jittape as jt


class Counted:
    """A number that counts how often it is read."""

    reads = 0

    def __float__(self):
        self.reads += 1
        return 0.5


def test_values_are_read_only_when_the_bar_is_drawn(capsys):
    value = Counted()
    bar = jt.progress(range(1000), "fit", interval=1e6)
    seen = []
    for i in bar:
        seen.append(i)
        bar.show(loss=value, phase="warm-up")
    assert seen == list(range(1000))
    assert value.reads == 1  # at the end
    assert bar.shown == {"loss": "0.5", "phase": "warm-up"}
    assert "1000/1000" in capsys.readouterr().err


def test_each_drawing_reads_the_value_of_its_step(capsys):
    bar = jt.progress(iter([1.0, 2.0, 3.0]), total=3, interval=0.0)
    shown = []
    for x in bar:
        shown.append(dict(bar.shown))
        bar.show(x=jt.constant(x))
    assert shown == [{}, {"x": "1"}, {"x": "2"}]
    assert bar.shown == {"x": "3"}


def test_a_loop_that_ends_early_shows_its_last_value(capsys):
    bar = jt.progress(range(100))
    for i in bar:
        bar.show(i=i)
        if i == 3:
            break
    del i
    assert "jittape" not in capsys.readouterr().out


def test_steps_are_compiled_as_without_the_bar(capsys):
    w = jt.Variable(4.0)

    def loop(steps):
        for _ in steps:
            with jt.GradientTape() as tape:
                loss = w * w
            w.assign_sub(0.1 * tape.gradient(loss, w))
            if isinstance(steps, type(jt.progress(()))):
                steps.show(loss=loss)
        return float(w)

    loop(range(5))
    before = jt.stats().flushes
    loop(range(50))
    plain = jt.stats().flushes - before
    before = jt.stats().flushes
    loop(jt.progress(range(50), interval=1e6))
    assert jt.stats().flushes - before <= plain + 1


def test_bad_arguments(monkeypatch):
    with pytest.raises(
        TypeError, match=r"\[progress\] items must be iterable, for example range\(100\); got int"
    ):
        jt.progress(100)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ModuleNotFoundError, match="pip install tqdm"):
        jt.progress(range(3))
