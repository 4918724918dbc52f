"""Ops that run in Python inside functions that Numba's compiled code calls."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from numba import njit, prange

import jittape as jt
from jittape.numba_bridge import python_steps
from processes import run_python

Spec = jt.TensorSpec
RNG = np.random.default_rng(5)


def spd(n):
    x = RNG.normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


LONG = 300
"""Length of a cosine transform that has no kernel."""


def in_numpy(x):
    """Return a function of x that needs a long cosine transform, which SciPy computes in compiled programs too."""
    n = x.shape[-1]
    return 0.1 * jt.signal.dct(jt.sin(x), n=LONG)[..., :n]


def steps_until(x, limit):
    """Return the state of a loop of unknown length whose body runs in NumPy."""
    state = jt.while_loop(
        lambda i, y: jt.reduce_sum(y) < limit, lambda i, y: (i + 1, in_numpy(y) + 2.0 * y), (0, x)
    )
    return state[1]


FUNCTIONS = {
    "expm": lambda a: jt.linalg.expm(0.1 * a),
    "sqrtm": jt.linalg.sqrtm,
    "logm": lambda a: jt.linalg.logm(a) ** 2,
    "lu": lambda a: jt.linalg.lu(a).lu * jt.cast(jt.linalg.lu(a).p, a.dtype),
    "lstsq": lambda a: jt.linalg.lstsq(a, a**2, fast=False),
    "pivoted tridiagonal": lambda a: jt.linalg.tridiagonal_solve(a, a, "matrix"),
    "fft": lambda a: jt.abs(jt.signal.fft(jt.complex(a, 2 * a))),
    "rfft": lambda a: jt.abs(jt.signal.rfft(a)),
    "irfft2d": lambda a: jt.signal.irfft2d(jt.signal.rfft2d(a) ** 2),
    "dct": lambda a: jt.signal.dct(a, n=LONG) ** 2,
    "scan": lambda a: jt.scan(lambda c, x: in_numpy(c) + x, jt.stack([a, a, 2 * a])),
    "while": lambda a: steps_until(a / 20, 9.0),
    "cond": lambda a: jt.cond(a[0, 0] > 0, lambda: in_numpy(a), lambda: jt.linalg.sqrtm(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_gradient_are_those_of_the_interpreter(name):
    def f(a):
        y = FUNCTIONS[name](a)
        return jt.reduce_sum(jt.sin(y) * y)

    a = spd(4)
    native = jt.njit_value_and_grad(f, Spec(a.shape, jt.float64))
    value, gradient = njit(lambda a: native(a))(a)
    expected, slope = jt.value_and_grad(f)(a)
    assert value == pytest.approx(float(expected), rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)
    assert not python_steps._grown


def test_ops_in_python_are_listed():
    with_dct = jt.njit_function(lambda a: jt.signal.dct(a, n=LONG) + 1.0, Spec((2, 2), jt.float64))
    (text,) = with_dct.python_ops
    assert text.startswith("dct, recorded at ")
    assert __file__ in text
    assert jt.njit_function(jt.sin, Spec((2,), jt.float64)).python_ops == ()


def test_results_that_are_empty_or_numbers():
    def f(x):
        low, high, none = jt.numpy_function(
            lambda x: (x.min(), x.max(), x[:0]),
            [x],
            [Spec((), x.dtype), Spec((), x.dtype), Spec((0,), x.dtype)],
        )
        return low, high, none

    native = jt.njit_function(f, Spec((3,), jt.float32))
    low, high, none = njit(lambda x: native(x))(np.float32([2, 1, 3]))
    assert (low, high, none.shape) == (1.0, 3.0, (0,))


def test_a_large_arena_and_an_array_that_the_function_keeps():
    kept = []

    def keep(x):
        kept.append(x)
        return x[::-1]

    def f(x):
        y = jt.reverse(jt.numpy_function(keep, [jt.sin(x)], Spec(x.shape, x.dtype)), [0])
        return jt.cumsum(y) + jt.reduce_sum(y)

    x = RNG.normal(size=20_000)
    native = jt.njit_function(f, Spec(x.shape, x.dtype))
    called = njit(lambda x: native(x))
    expected = np.cumsum(np.sin(x)) + np.sin(x).sum()
    for _ in range(3):
        np.testing.assert_allclose(called(x), expected, rtol=1e-9, atol=1e-9)
    gc.collect()
    for y in kept:
        np.testing.assert_allclose(y, np.sin(x), rtol=1e-14)


# ---- errors ----------------------------------------------------------------------------------------------------------


def checked(x):
    def check(x):
        if x[0] < 0:
            raise KeyError(f"negative: {x[0]:g}")
        return 2 * x

    return jt.numpy_function(check, [x], Spec(x.shape, x.dtype))


def test_an_exception_is_the_error_of_the_call():
    native = jt.njit_function(checked, Spec((2,), jt.float64))
    called = njit(lambda x: native(x))
    for bad in (-1.0, -2.0):
        with pytest.raises(KeyError, match=f"negative: {bad:g}") as caught:
            called(np.array([bad, 0.0]))
        assert "recorded at" in caught.value.__notes__[0]
        np.testing.assert_array_equal(called(np.ones(2)), [2, 2])


def test_compiled_code_can_catch_the_exception():
    native = jt.njit_function(lambda x: jt.reduce_sum(checked(x)), Spec((2,), jt.float64))

    @njit
    def called(x):
        try:
            return native(x)
        except Exception:
            return -7.0

    @njit
    def outer(x):
        return called(x) + called(-x)

    assert outer(np.ones(2)) == 4.0 - 7.0


def test_exceptions_of_other_kinds_pass_through():
    def interrupted(x):
        raise KeyboardInterrupt("pressed")

    native = jt.njit_function(
        lambda x: jt.numpy_function(interrupted, [x], Spec(x.shape, x.dtype)), Spec((2,), jt.float64)
    )
    with pytest.raises(KeyboardInterrupt, match="pressed"):
        njit(lambda x: native(x))(np.ones(2))


def test_a_singular_matrix_between_steps_releases_all_memory():
    def f(a):
        return jt.linalg.inv(steps_until(a, 5.0))

    native = jt.njit_function(lambda a: jt.grad(lambda a: jt.reduce_sum(f(a)))(a), Spec((2, 2), jt.float64))
    assert native.stacks
    called = njit(lambda a: native(a))
    assert np.isfinite(called(spd(2) / 10)).all()
    with pytest.raises(ValueError, match="not invertible"):
        called(np.ones((2, 2)) * 10)
    assert not python_steps._grown


# ---- threads and processes -------------------------------------------------------------------------------------------


def test_eight_threads_without_the_gil():
    native = jt.njit_value_and_grad(
        lambda a: jt.reduce_sum(in_numpy(a) ** 2) + jt.reduce_sum(jt.stop_gradient(checked(a[0]))),
        Spec((3, 3), jt.float64),
    )

    @njit(nogil=True)
    def total(a, count):
        result = 0.0
        for i in range(count):
            value, gradient = native(a / (i + 1))
            result += value + gradient.sum()
        return result

    matrices = [np.abs(spd(3)) * scale for scale in np.linspace(0.05, 0.2, 8)]
    expected = [total(a, 20) for a in matrices]
    found, failures = [None] * 8, [None] * 8

    def work(i):
        for _ in range(5):
            found[i] = total(matrices[i], 20)
            try:
                total(-matrices[i], 1)
            except KeyError as error:
                failures[i] = str(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
    assert failures == [repr(f"negative: {-a[0, 0]:g}") for a in matrices]


def test_a_parallel_loop():
    native = jt.njit_function(lambda a: jt.reduce_sum(in_numpy(a)), Spec((3, 3), jt.float64))

    @njit(parallel=True)
    def sums(matrices):
        result = np.empty(len(matrices))
        for i in prange(len(matrices)):
            result[i] = native(matrices[i])
        return result

    matrices = 5 * np.eye(3) + RNG.normal(size=(40, 3, 3))
    expected = [float(jt.reduce_sum(in_numpy(a))) for a in matrices]
    np.testing.assert_allclose(sums(matrices), expected, rtol=1e-12)


CACHED = """
import numpy as np
import jittape as jt
from numba import njit

native = jt.njit_value_and_grad(
    lambda a: jt.reduce_sum(jt.scan(lambda c, x: jt.signal.dct(c, n=300)[..., :3] ** 2 + x, jt.stack([a, a]))),
    jt.TensorSpec((3, 3), jt.float64),
)

@njit(cache=True)
def called(a):
    return native(a)

a = np.diag([1.0, 2.0, 3.0]) + 0.1
value, gradient = called(a)
print(value, gradient.sum(), "loaded" if sum(called.stats.cache_hits.values()) else "compiled")
"""


def test_cached_code_finds_the_steps_of_its_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(CACHED)
    lines = []
    for _ in range(2):
        done = run_python(
            str(program),
            NUMBA_CACHE_DIR=str(tmp_path / "numba"),
            JITTAPE_CACHE_DIR=str(tmp_path / "kernels"),
        )
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.split())
    assert [line.pop() for line in lines] == ["compiled", "loaded"]
    assert lines[0] == lines[1]
