"""The garbage collector is put off while a program is compiled, and is afterwards as it was."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.autodiff import reverse
from jittape.runtime import executable
from jittape.runtime.gc_pause import gc_paused
from processes import run_python


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    assert gc.isenabled()
    yield
    gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_as_it_was(enabled: bool):
    if not enabled:
        gc.disable()
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == enabled


def test_it_is_as_it_was_after_an_error():
    with pytest.raises(ValueError, match="mine"), gc_paused():
        raise ValueError("mine")
    assert gc.isenabled()


def test_the_last_thread_to_end_its_pause_ends_it():
    begun, over = threading.Event(), threading.Event()

    def pause() -> None:
        with gc_paused():
            begun.set()
            over.wait(10)

    thread = threading.Thread(target=pause)
    with gc_paused():
        thread.start()
        assert begun.wait(10)
    assert not gc.isenabled()
    over.set()
    thread.join()
    assert gc.isenabled()


FORKED = """
import gc, os, threading
from jittape.runtime.gc_pause import gc_paused

begun, over = threading.Event(), threading.Event()

def pause():
    with gc_paused():
        begun.set()
        over.wait(10)

thread = threading.Thread(target=pause)
thread.start()
begun.wait(10)
child = os.fork()
if child == 0:
    with gc_paused():
        paused = not gc.isenabled()
    os._exit(0 if paused and gc.isenabled() else 1)
_, status = os.waitpid(child, 0)
over.set()
thread.join()
print(os.waitstatus_to_exitcode(status), gc.isenabled())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_is_not_paused_for_good():
    done = run_python("-W", "ignore", "-c", FORKED)
    assert done.stdout.split() == ["0", "True"], done.stderr


def test_a_new_gradient_is_not_interrupted(monkeypatch: pytest.MonkeyPatch):
    states = []
    original = reverse.seen

    def observed(*args: Any) -> Any:
        states.append(gc.isenabled())
        return original(*args)

    monkeypatch.setattr(reverse, "seen", observed)
    x = jt.constant(np.ones(11))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.sin(x) * 17.0
    tape.gradient(y, x)
    assert states == [False]
    assert gc.isenabled()


@pytest.mark.parametrize("fails", [False, True])
def test_compiling_is_not_interrupted(fails: bool, monkeypatch: pytest.MonkeyPatch):
    states = []
    original = executable.executable_of

    def observed(*args: Any) -> Any:
        states.append(gc.isenabled())
        if fails:
            raise MemoryError("on purpose")
        return original(*args)

    monkeypatch.setattr(executable, "executable_of", observed)
    function = jt.function(lambda x: jt.sin(x) * 3.0)
    if fails:
        with pytest.raises(MemoryError, match="on purpose"):
            function(jt.constant(np.ones(3)))
    else:
        function(jt.constant(np.ones(3)))
    assert states == [False]
    assert gc.isenabled()
