"""Stacks of loops of unknown length that live across NumPy steps: freed once, however the run ends.

Long programs run in processes of their own, since a mistake here is a segmentation fault.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import jittape as jt
from processes import run_python

SETUP = """
import numpy as np, jittape as jt

def loop(x, trips):
    return jt.while_loop(lambda i, y: i < trips, lambda i, y: (i + 1, jt.sin(y) * 1.1), (jt.constant(0), x))[1]

def nested(x, trips):
    return jt.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, loop(y * 1.01, trips)), (jt.constant(0), x))[1]

def twice(x, trips):
    return loop(jt.sort(loop(x, trips)), trips + 1)

weights = jt.constant(np.arange(50.0))
numpy_steps = {
    "sort": jt.sort,
    "top_k": lambda y: jt.math.top_k(y, 50)[0],
    "argsort": lambda y: jt.gather(y, jt.argsort(y)),
    "digamma": lambda y: jt.math.digamma(y + 2.0),
    "cast": lambda y: jt.cast(jt.cast(y, jt.float16), jt.float64),
    "several": lambda y: jt.sort(jt.math.digamma(jt.sort(y) + 2.0)) * loop(jt.sort(y), jt.constant(3)),
}
"""

RIGHT = (
    SETUP
    + """
def value(step, looped, x, trips):
    return jt.reduce_sum(step(looped(x, trips)) * weights)

def gradient(step, looped, x, trips):
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = value(step, looped, x, trips)
    return tape.gradient(y, x)

def persistent(step, looped, x, trips):
    with jt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = value(step, looped, x, trips)
        z = jt.reduce_sum(looped(x, trips))
    first = tape.gradient(y, x)
    if way != "function":
        first.numpy()
    return first + tape.gradient(z, x) + tape.gradient(y, x)

def second_order(step, looped, x, trips):
    with jt.GradientTape() as tape:
        tape.watch(x)
        g = gradient(step, looped, x, trips)
    return tape.gradient(g, x, output_gradients=weights)

x = jt.constant(np.random.default_rng(0).uniform(0.1, 1.0, 50))
jt.config.compile_after = 0
for name, step in numpy_steps.items():
    for looped in (loop, nested, twice):
        for f in (gradient, persistent, second_order):
            if f is second_order and name in ("cast", "several"):
                continue
            found = {}
            for way in ("interpreted", "compiled", "function"):
                jt.config.interpret = way == "interpreted"
                run = jt.function(f) if way == "function" else f
                found[way] = [np.array(run(step, looped, x, jt.constant(n))) for n in (3, 4, 0, 3)]
            for way in ("compiled", "function"):
                np.testing.assert_allclose(found[way], found["interpreted"], 1e-9, 1e-9, err_msg=f"{name} {way}")
print("right")
"""
)

FREED = (
    SETUP
    + """
import gc

fail = None

def failing(y):
    if fail is not None:
        raise fail("on purpose")
    return y

def gradient(x, trips):
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = loop(x, trips)
        z = jt.numpy_function(failing, [jt.stop_gradient(y)], jt.TensorSpec(y.shape, y.dtype))
        total = jt.reduce_sum(y * jt.reduce_sum(z))
    return tape.gradient(total, x)

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20

x = jt.constant(np.linspace(0.1, 1.0, 10_000))
trips = jt.constant(100)  # 8 MB in each stack
traced = jt.function(gradient)
for f in (lambda: gradient(x, trips).numpy(), lambda: np.array(traced(x, trips))):
    fail = None
    right = [f() for _ in range(3)][-1]
    before = resident()
    for kind in (None, ValueError, KeyboardInterrupt):
        fail = kind
        for _ in range(20):
            try:
                f()
            except (ValueError, KeyboardInterrupt) as error:
                assert type(error) is kind, error
            else:
                assert kind is None
        gc.collect()
    fail = None
    np.testing.assert_array_equal(f(), right)
    assert resident() - before < 60, resident() - before
print("freed")
"""
)


def output_of(program: str) -> str:
    run = run_python("-c", program)
    assert run.returncode == 0, (run.returncode, run.stderr)
    return run.stdout.strip()


@pytest.mark.parametrize("trips", [0, 3])
def test_a_sort_between_two_loops_has_the_gradient_of_its_formula(trips):
    def halved(y):
        return jt.while_loop(lambda i, y: i < trips, lambda i, y: (i + 1, jt.sqrt(y)), (jt.constant(0), y))[1]

    x, weights = np.array([0.4, 0.9, 0.1]), np.arange(3.0)
    power = 0.25**trips  # of two loops
    for _ in range(3):  # interpreted, then compiled
        v = jt.constant(x)
        with jt.GradientTape() as tape:
            tape.watch(v)
            y = jt.reduce_sum(halved(jt.sort(halved(v))) * weights)
        expected = power * x ** (power - 1) * np.argsort(np.argsort(x))
        np.testing.assert_allclose(tape.gradient(y, v).numpy(), expected, rtol=1e-13)


def test_gradients_through_loops_of_unknown_length_and_numpy_steps():
    assert output_of(RIGHT) == "right"


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read in Linux's way")
def test_stacks_are_freed_when_a_numpy_step_fails():
    assert output_of(FREED) == "freed"
