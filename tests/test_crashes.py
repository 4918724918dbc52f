"""Interrupts, forks, threads and objects that were never made: each in a process of its own, which must end well."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from processes import run_python

posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")

PREAMBLE = """
import os, random, signal, sys, threading, time, warnings
import numpy as np
import jittape as jt
jt.config.compile_after = 0
random.seed(sys.argv[1])
print("seed", sys.argv[1])

def program(k, x=jt.constant(np.linspace(0.1, 1.0, 50))):
    y, ops = x, [jt.sin, jt.exp, jt.tanh, jt.cos, jt.nn.softplus, jt.nn.sigmoid, jt.atan]
    for i in range(3):  # another k is another kernel
        y = ops[k // 7**i % 7](y * 0.5) + jt.cumsum(y)[k % 50] / (k + 1.0)
    return jt.reduce_sum(y * k)

def expected(k):
    before, jt.config.interpret = jt.config.interpret, True
    try:
        with jt.GradientTape():
            pass
        return float(program(k))
    finally:
        jt.config.interpret = before

# Every exception of the handler must come out of `attempt`: none may be lost, whatever runs at that moment.
class Stop(BaseException):
    pass

raised = caught = 0

def handler(*_):
    global raised
    raised += 1
    raise Stop

def attempt(work, soon, late):
    global caught
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(soon, late))
            return work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        caught += 1
"""


def run(text: str, seed: int = 0, timeout: float = 120, **variables: str | None) -> str:
    ended = run_python("-X", "faulthandler", "-c", PREAMBLE + text, str(seed), timeout=timeout, **variables)
    assert ended.returncode == 0, f"exit {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
    assert "Exception ignored" not in ended.stderr, ended.stderr
    return ended.stdout


# ---- interrupts ------------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "Exception"])
def test_interrupts_while_llvm_works(kind: str, threads: int) -> None:
    """No crash, no hang, and afterwards the values are right."""
    run(
        f"""
import gc
class Stop({kind}):
    pass
jt.config.cache = False
jt.config.threads = {threads}
signal.signal(signal.SIGALRM, handler)
float(program(99))
for k in range(40):
    try:
        attempt(lambda: float(program(k)), 0.0005, 0.08)
    except Exception:  # raised because of the other
        caught += 1
    gc.collect()
assert raised == caught > 0, (raised, caught)
for k in (0, 5, 39):
    np.testing.assert_allclose(float(program(k)), expected(k), rtol=1e-12)
""",
        seed=threads,
    )


ASSIGNING = """
v, x = jt.Variable(np.zeros(50_000)), np.ones(50_000)
@jt.function
def assign(x):
    v.assign(x * 2.0)
def work():
    assign(x)
"""
LARGE_VALUES = """
v = jt.constant(np.ones(20_000))
def work():
    return (v * 2.0).numpy()
"""
TAPES = """
v = jt.Variable(np.ones(3))
def work():
    with jt.GradientTape(persistent=True) as tape:
        y = jt.reduce_sum(v * v)
    tape.gradient(y, v)
    tape.gradient(y, v)
"""
FUNCTIONS = """
class Model:
    @jt.function
    def call(self, x):
        return x + 1.0
v = jt.constant(np.ones(3))
def work():
    Model().call(v)
    jt.fori_loop(0, 3, lambda i, x: x + random.random(), v)
"""


@posix
@pytest.mark.parametrize(
    "work",
    [ASSIGNING, LARGE_VALUES, TAPES, FUNCTIONS],
    ids=["assigning", "large values", "tapes", "functions"],
)
def test_no_interrupt_is_lost(work: str) -> None:
    run(
        work
        + """
for _ in range(300):
    work()
signal.signal(signal.SIGALRM, handler)
def loop():
    for _ in range(5000):
        work()
for _ in range(60):
    attempt(loop, 0.001, 0.01)
assert raised == caught > 50, (raised, caught)
"""
    )


# ---- forks and threads -----------------------------------------------------------------------------------------------


@posix
def test_forks_while_another_thread_compiles() -> None:
    run(
        """
warnings.simplefilter("ignore")
jt.config.cache = False
program(1).numpy()
again = jt.function(jt.sin)
def work():
    k = 2
    while True:
        program(k).numpy()
        jt.function(lambda x: jt.cos(x) + k)(np.ones(k % 7))
        k += 1
threading.Thread(target=work, daemon=True).start()
for k in range(15):
    time.sleep(random.uniform(0, 0.02))
    child = os.fork()
    if child == 0:
        signal.alarm(40)
        good = np.isclose(float(program(1000 + k)), expected(1000 + k)) and again(np.zeros(3)).shape == (3,)
        os._exit(not good)
    assert os.waitpid(child, 0)[1] == 0, k
os._exit(0)
"""
    )


def test_the_number_of_threads_changes_while_others_make_functions() -> None:
    run(
        """
stop, errors = threading.Event(), []
def work():
    try:
        while not stop.is_set():
            functions = [jt.function(lambda x: x) for _ in range(50)]
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for k in range(300):
    jt.config.threads = 1 + k % 3
stop.set()
for thread in threads:
    thread.join()
assert not errors, errors
"""
    )


LATE = """
import sys
import numpy as np
import jittape as jt

v = jt.Variable(np.ones(3))
f = jt.function(lambda x: x * v)


def step(v, f):
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(jt.sin(v) * v)
    v.assign_sub(0.1 * tape.gradient(y, v))
    return f(v)[0] * 2.0


class Late:
    def __init__(self):
        self.work = step, v, f

    def __del__(self):
        step, v, f = self.work
        for function in (lambda: v * 2.0, lambda: v[0], lambda: v.sum(), lambda: f(v), lambda: step(v, f)):
            try:
                function()
            except (ImportError, RuntimeError, TypeError, AttributeError):
                pass


for _ in range(200):
    float(step(v, f))
sys.late = Late()
"""


def test_methods_are_called_after_the_variables_of_modules_are_gone() -> None:
    """They may fail as Python's own functions do then, but do not read memory that is free."""
    run(LATE, PYTHONMALLOC="debug")


DEFINITION = """
import ctypes, gc, sys
import numpy as np
import jittape as jt
from jittape.compile.llvm import built_in_functions

f = jt.function(lambda x: x * 2.0)
for _ in range(3):
    f(np.ones(3))
function = next(o for o in gc.get_objects() if type(o) is type(len) and o.__name__ == "jittape")
address = ctypes.c_int64.from_address(id(function) + object.__basicsize__).value
before = ctypes.string_at(address, 32)
vars(built_in_functions).clear()
gc.collect()
assert ctypes.string_at(address, 32) == before
"""


def test_functions_outlive_the_variables_of_modules() -> None:
    """As at the end of a process: a built-in function that is deleted then still reads its definition."""
    run(DEFINITION, PYTHONMALLOC="debug")


@posix
def test_a_program_is_compiled_as_the_process_ends() -> None:
    out = run(
        "import atexit\natexit.register(lambda: print('value', float(program(3))))\njt.config.cache = False"
    )
    assert "value" in out


# ---- the cache folder ------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("which", ["pointer", "batch"])
def test_a_pipe_in_the_cache_folder_is_read_by_nobody(tmp_path: Path, which: str) -> None:
    text = "print('value', float(program(3)), jt.stats().kernels)"
    first = run(text, JITTAPE_CACHE_DIR=str(tmp_path))
    files = [path for path in tmp_path.glob("v1-*/*") if path.name.startswith("batch") == (which == "batch")]
    assert files
    for path in files:
        path.unlink()
        os.mkfifo(path)
    assert run(text, timeout=60, JITTAPE_CACHE_DIR=str(tmp_path)).split()[3] == first.split()[3]


# ---- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("compiled", [False, True])
def test_no_memory_is_held_after_a_memory_error(compiled: bool, tmp_path: Path) -> None:
    """A first process compiles, since LLVM ends a process that has too little memory."""
    sorts = f"""
jt.config.compile_after = {0 if compiled else 10}
x = jt.constant(np.ones(5_000_000))  # more than malloc keeps
def sorts():
    return jt.sort(x * 2.0) + jt.sort(x * 3.0) + jt.sort(x * 4.0) + jt.sort(x * 5.0) + jt.sort(x * 6.0)
"""
    run(sorts + "sorts().numpy()", JITTAPE_CACHE_DIR=str(tmp_path))
    run(
        sorts
        + """
import ctypes, gc, resource
def megabytes():  # the address space, and the memory in use without that of files
    ctypes.CDLL(None).malloc_trim(0)  # where no new mapping is to be had, malloc keeps what it frees
    pages = [int(n) for n in open("/proc/self/statm").read().split()]
    return [n * resource.getpagesize() // 2**20 for n in (pages[0], pages[1] - pages[2])]
float(jt.reduce_sum(jt.sort(x[:99])))
gc.collect()
gc.disable()
resource.setrlimit(resource.RLIMIT_AS, ((megabytes()[0] + 100) * 2**20,) * 2)
before = megabytes()[1]
for _ in range(2):
    y = sorts()
    try:
        y.numpy()
    except MemoryError:
        pass
    else:
        raise AssertionError("there was enough")
    assert megabytes()[1] - before < 60, megabytes()[1] - before  # less than two arrays: y may have its value
del y
assert megabytes()[1] - before < 30, megabytes()[1] - before
""",
        JITTAPE_CACHE_DIR=str(tmp_path),
    )


def test_machine_code_is_bounded() -> None:
    """Code that a function refers to, or that is at work, stays; all else is compiled again when it comes again."""
    run(
        """
from jittape.compile.cache.kernel_cache import registry
from jittape.core.tuning import tuning
stay_small = tuning.override(code_group_min_bytes=1 << 12)
stay_small.__enter__()
jt.config.max_code_bytes = limit = 1 << 15
kept = jt.function(lambda x: jt.sin(x) * 3.0 + 1.0)
x = np.linspace(0, 1, 7)
truth = np.sin(x) * 3.0 + 1.0
for _ in range(3):
    kept(x)
wrong, stop = [], threading.Event()
def work():
    k = 0
    while not stop.is_set():
        k += 1
        value = float(program(10_000 + k % 5))
        if not np.isclose(value, values[k % 5]):
            wrong.append(value)
values = [expected(10_000 + k) for k in range(5)]
thread = threading.Thread(target=work)
thread.start()
most = 0
for k in range(60):
    with jt.GradientTape():
        pass
    got = float(program(k))
    most = max(most, sum(shelf.nbytes for shelf in registry._kept))
    np.testing.assert_allclose(kept(x).numpy(), truth)
stop.set()
thread.join()
for k in (0, 1, 59):
    np.testing.assert_allclose(float(program(k)), expected(k), rtol=1e-12)
assert not wrong, wrong[:3]
assert most < 3 * limit, most
print(most, registry.stats(), [s.nbytes for s in registry._kept])
total = len({name for shelf in registry._kept for name in shelf.names})
assert total < registry.stats().compiled + registry.stats().loaded, "nothing has been unloaded"
""",
        timeout=300,
    )


def test_loaded_object_files_are_bounded() -> None:
    """LLVM aborts the process where the system allows no more memory mappings: two for each object file."""
    run(
        """
from jittape.compile.cache import kernel_cache as module
from jittape.core.tuning import tuning
stay_small = tuning.override(code_group_min_bytes=1 << 12)
stay_small.__enter__()
module._most_objects = lambda: 40
registry = module.registry
jt.config.compile_after = 0
def f(x, k, m=jt):
    for i in range(5):
        x = (m.sin, m.cos, m.exp)[k // 3**i % 3](x)
    return x
x = np.linspace(0.0, 1.0, 5)
for k in range(60):
    np.testing.assert_allclose(f(jt.constant(x), k).numpy(), f(x, k, np))
    assert registry._n_objects() <= 40
assert registry.stats().compiled + registry.stats().loaded >= 60
kept = []
try:
    for k in range(60, 120):
        kept.append(jt.function(lambda x, k=k: f(x, k)))
        kept[-1](x)
except MemoryError as error:
    assert "vm.max_map_count" in str(error)
else:
    raise AssertionError("no limit")
np.testing.assert_allclose(kept[0](x).numpy(), f(x, 60, np))
del kept
np.testing.assert_allclose(f(jt.constant(x), 121).numpy(), f(x, 121, np))
""",
        timeout=300,
    )


# ---- objects whose slots are empty -----------------------------------------------------------------------------------


@pytest.mark.parametrize("native", ["1", "0"])
def test_objects_with_empty_slots_raise(native: str) -> None:
    run(
        """
from jittape.native import switch
from jittape.recording.trace import Trace, current_trace
from jittape.core.buffers import Buffer
if os.environ["JITTAPE_NATIVE"] == "1":
    switch.use()
x = jt.constant(np.ones(3))
doubled = jt.function(lambda a: a * 2.0)
w = jt.Variable(np.ones(3))
with_w = jt.function(lambda a: a * w)

def uses(t):
    yield lambda: t + 1.0
    yield lambda: x * t
    yield lambda: -t
    yield lambda: doubled(t).numpy()
    yield lambda: jt.Variable(np.ones(3)).assign_add(t).numpy()
    yield lambda: jt.Variable(np.ones(3)).assign_sub(t).numpy()
    if isinstance(t, jt.Variable):
        yield lambda: t.assign_add(x).numpy()

def made(kind):
    return jt.constant(np.ones(3)) if kind is jt.Tensor else jt.Variable(np.ones(3))

def slots(kind):
    return [name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) if name != "__weakref__"]

def attempt_all(t):
    for use in uses(t):
        for _ in range(2):
            try:
                use()
            except (AttributeError, TypeError, RuntimeError, AssertionError, SystemError):
                pass

for _ in range(3):  # the paths are known, and functions compiled
    for kind in (jt.Tensor, jt.Variable):
        for use in uses(made(kind)):
            use()
    with_w(x)
count = 0
for kind in (jt.Tensor, jt.Variable):
    attempt_all(object.__new__(kind))
    for name in slots(kind):
        t = made(kind)
        delattr(t, name)
        attempt_all(t)
        count += 1
    t = made(kind)
    t._buffer = object.__new__(Buffer)
    attempt_all(t)
for broken in (object.__new__(Trace),):
    for call in (lambda: broken.apply(jt.sin, (x,)), lambda: broken.tensors_at(current_trace().node), broken.flush):
        try:
            call()
        except (AttributeError, TypeError):
            pass
for name in ("_buffer", "_trace", "_assigned_in", "_slot"):
    u = jt.Variable(np.ones(3))
    reading = jt.function(lambda a: a + u)
    assigning = jt.function(lambda a: u.assign(a))
    for _ in range(3):
        reading(x), assigning(x)
    delattr(u, name)
    for function in (reading, assigning):
        try:
            function(x)
        except (AttributeError, TypeError, RuntimeError, AssertionError):
            pass
assert count > 10
try:
    current_trace().flush()
except AttributeError:
    pass  # what was recorded of an empty buffer
np.testing.assert_array_equal(doubled(x).numpy(), 2.0)
np.testing.assert_array_equal((x + 1.0).numpy(), 2.0)
""",
        JITTAPE_NATIVE=native,
    )
