"""Loops that end before their time: by Ctrl-C, or for want of memory. In processes of their own."""

from __future__ import annotations

import sys

import pytest

from processes import run_python

INTERRUPTED = """
import _thread, signal, threading
import numpy as np, jittape as jt

# A process in the background of a shell ignores it, and then nothing would end the loops.
signal.signal(signal.SIGINT, signal.default_int_handler)
small, large = jt.Variable(np.ones(3)), jt.Variable(np.ones(20_000))

zero = jt.constant(0.0, "float64")

def endless(limit, x):
    return jt.while_loop(lambda i, x: i < limit, lambda i, x: (i + 1.0, x * 0.5 + 1.0), [zero, x])

def interrupted(call, *args):
    try:
        # On a machine that stands still for so long, this is interrupted already.
        threading.Timer(0.2, _thread.interrupt_main).start()
        call(*args)
    except KeyboardInterrupt:
        return True
    return False
"""

ENDED = (
    INTERRUPTED
    + """
@jt.function
def quick(limit):
    large.assign(large * 2.0)
    i, x = endless(limit, jt.ones([3], "float64"))
    small.assign_add(x)
    return jt.reduce_sum(x) + i

@jt.function
def by_numpy(limit):
    large.assign(large * 2.0)
    i, x = endless(limit, jt.numpy_function(np.sort, [small], jt.TensorSpec([3], "float64")))
    small.assign_add(x)
    return i

@jt.function
def nested(limit):
    def body(i, y):
        n, x = endless(jt.where(i == 3, limit, 2.0), y)
        return jt.cond(n > 0.0, lambda: x, lambda: y)
    return jt.reduce_sum(jt.fori_loop(0, 5, body, jt.ones([3], "float64"))) + jt.reduce_sum(large)

def recorded(limit):
    large.assign(large * 2.0)
    with jt.GradientTape() as tape:
        i, x = endless(limit, small * 1.0)
        loss = jt.reduce_sum(x)
    return float(loss), np.array(tape.gradient(loss, small))

for f in (quick, by_numpy, nested, recorded):
    small.assign(np.ones(3)), large.assign(np.ones(20_000))
    for _ in range(3):
        f(4.0)
    before = small.numpy().tolist()
    assert interrupted(f, 1e300), f
    # Nobody has looked at the large one before: its memory might have been written.
    if f in (quick, by_numpy):
        assert (small.numpy().tolist(), large.numpy()[[0, -1]].tolist()) == (before, [8.0, 8.0]), f
    f(4.0)
print("all ended")
"""
)

COUNTED = (
    INTERRUPTED
    + """
@jt.function
def count(limit):
    return endless(limit, jt.ones([3], "float64"))[0]
"""
)

PUT_OFF = (
    INTERRUPTED
    + """
import faulthandler, time
faulthandler.dump_traceback_later(120, exit=True)
jt.config.interpret = INTERPRET

def step(limit):
    small.assign_add(jt.ones([3], "float64"))
    doubled = small * 2.0
    large.assign_add(jt.ones([20_000], "float64"))
    with jt.GradientTape() as tape:
        i, x = endless(limit, small * 1.0)
        loss = jt.reduce_sum(x)
    small.assign(x)
    large.assign(large * 2.0)
    other.assign_add(1.0)
    return tape, loss, doubled

other = jt.Variable(0.0)
for visit in range(3):
    step(jt.constant(4.0, "float64"))[1].numpy()
    small.assign(np.ones(3)), large.assign(np.ones(20_000)), other.assign(0.0)
    tape, loss, doubled = step(jt.constant(1e300, "float64"))
    assert interrupted(loss.numpy)
    began = time.perf_counter()
    # What came before the loop holds, what came after it is lost, and nobody waits for the loop again.
    assert small.numpy().tolist() == [2.0] * 3, small
    assert large.numpy()[[0, -1]].tolist() == [2.0, 2.0], large
    assert float(other) == 0.0
    assert doubled.numpy().tolist() == [4.0] * 3
    for look in (loss.numpy, lambda: tape.gradient(loss, small), lambda: (loss + 1.0).numpy()):
        try:
            look()
        except RuntimeError as error:
            assert "an interrupt ended the loop" in str(error)
        else:
            raise SystemExit("a value that was never computed")
    assert time.perf_counter() - began < 5.0
print("put off")
"""
)

OTHERS = (
    COUNTED
    + """
count(1.0), count(2.0), count(3.0)
found = []
worker = threading.Thread(target=lambda: found.append(float(count(6e7))))
worker.start()
assert interrupted(count, 1e300)
worker.join()
print(found)
"""
)

OF_ANOTHER_KIND = (
    COUNTED
    + """
for _ in range(3):
    inside = float(count(5.0))

def handler(*_):
    seen.append(float(count(7.0)))
    if len(seen) == 2:
        raise TimeoutError("over")

seen = []
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1, 1.2)
try:
    count(1e300)
except TimeoutError as error:
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    print(seen, error, float(count(5.0)))
"""
)


def output_of(program: str) -> str:
    run = run_python("-c", program)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_a_loop_is_interrupted_and_nothing_has_changed():
    assert output_of(ENDED) == "all ended"


@pytest.mark.parametrize("interpret", [True, False])
def test_a_variable_does_not_begin_the_interrupted_loop_again(interpret):
    assert output_of(PUT_OFF.replace("INTERPRET", str(interpret))) == "put off"


def test_only_the_main_thread_is_interrupted():
    assert output_of(OTHERS) == "[60000000.0]"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no timers that send signals")
def test_a_handler_of_signals_runs_meanwhile():
    assert output_of(OF_ANOTHER_KIND) == "[7.0, 7.0] over 5.0"


OUT_OF_MEMORY = """
import resource
import numpy as np, jittape as jt

calls = jt.Variable(np.ones(4))

def gradient(x, steps):
    with jt.GradientTape() as tape:
        tape.watch(x)
        _, y = jt.while_loop(lambda i, y: i < steps, lambda i, y: (i + 1.0, jt.sin(y) * 1.01),
                             [jt.constant(0.0, "float64"), x])
        loss = jt.reduce_sum(y)
    return tape.gradient(loss, x)

@jt.function
def compiled(x, steps):
    calls.assign_add(jt.ones([4], "float64"))
    return gradient(x, steps)

@jt.function
def nested(x, steps):
    return jt.scan(lambda c, n: (c + gradient(x, n)), jt.stack([2.0, steps, 3.0]), jt.zeros([1000], "float64"))[-1]

x = jt.constant(np.linspace(0, 1, 1000))
functions = {"compiled": compiled, "nested": nested, "recorded": lambda x, n: gradient(x, n).numpy()}
right = {name: [np.array(f(x, 5.0)) for _ in range(3)][-1] for name, f in functions.items()}
now = int(open("/proc/self/statm").read().split()[0]) * 4096

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 >> 20

def limited(room):
    resource.setrlimit(resource.RLIMIT_AS, (now + room, -1))
"""

REFUSED = (
    OUT_OF_MEMORY
    + """
limited(120 * 2**20)
before = resident()
for name, f in functions.items():
    if name == "recorded":  # what is recorded after a failure is another path, which NumPy runs first
        grown = resident() - before
    for _ in range(3):
        count = calls.numpy()[0]
        try:
            f(x, 1e6)
        except MemoryError:
            pass
        else:
            raise SystemExit(f"{name} had memory")
        assert calls.numpy()[0] == count
    np.testing.assert_array_equal(f(x, 5.0), right[name])
print("refused", grown < 60)
"""
)

IN_NUMBA = """
import resource
import numpy as np, jittape as jt
from numba import njit

def value(x, steps):
    _, y = jt.while_loop(lambda i, y: i < steps, lambda i, y: (i + 1.0, jt.sin(y) * 1.01),
                         [jt.constant(0.0, "float64"), x])
    return jt.reduce_sum(y)

native = jt.njit_value_and_grad(value, jt.TensorSpec([1000], "float64"), jt.TensorSpec([], "float64"))

@njit
def norm(x, steps):
    _, g = native(x, steps)
    return np.sum(g[0])

x = np.linspace(0, 1, 1000)
right = norm(x, 5.0)
now = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (now + 200 * 2**20, -1))
for _ in range(5):
    try:
        norm(x, 1e6)
    except MemoryError as error:
        said = error
assert norm(x, 5.0) == right
print(said)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is set in Linux's way")
def test_a_stack_that_cannot_grow_is_a_memory_error():
    assert output_of(REFUSED) == "refused True"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is set in Linux's way")
def test_a_stack_that_cannot_grow_in_njit_is_one_too():
    assert "the values that a loop of unknown length must save" in output_of(IN_NUMBA)
