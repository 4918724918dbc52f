"""Numba's own cache (``cache=True``) with functions of jittape's inside: in other processes, and when things change."""

import shutil

import numpy as np
import pytest

import jittape as jt
from processes import run_python

PROGRAM = """
import os, sys
import numpy as np
import jittape as jt
from numba import njit, prange

matrix = np.arange(600.0).reshape(20, 30) % 7 - float(os.environ["SHIFT"])

def energy(x):
    return jt.reduce_sum(jt.square(jt.matmul(matrix, x)))

if os.environ.get("MADE", "yes") == "yes":
    value_and_grad = jt.njit_value_and_grad(energy, jt.TensorSpec([30, 10], jt.float64))
else:
    value_and_grad = None

@njit
def inner(x):
    return value_and_grad(x)

@njit(cache=True)
def through_another(x):
    value, gradient = inner(x)
    return value + gradient.sum()

@njit(cache=True)
def direct(x):
    value, gradient = value_and_grad(x)
    return value + gradient.sum()

@njit(cache=True, parallel=True)
def parallel(x):
    result = np.empty(3)
    for i in prange(3):
        value, gradient = value_and_grad(x)
        result[i] = value + gradient.sum()
    return result[2]

@njit(cache=True)
def apply(function, x):
    value, gradient = function(x)
    return value + gradient.sum()

def argument(x):
    return apply(value_and_grad, x)

def enclosing(function):
    @njit(cache=True)
    def enclosed(x):
        value, gradient = function(x)
        return value + gradient.sum()
    return enclosed

closure = enclosing(value_and_grad)
x = np.linspace(-1, 1, 300).reshape(30, 10)
residual = matrix @ x
expected = (residual**2).sum() + (2 * matrix.T @ residual).sum()
for name in sys.argv[1:]:
    np.testing.assert_allclose(globals()[name](x), expected, rtol=1e-10)
    stats = (apply if name == "argument" else globals()[name]).stats
    print(name, "loaded" if sum(stats.cache_hits.values()) else "compiled")
"""

WAYS = ["through_another", "direct", "parallel", "argument", "closure"]


def run(folder, *ways, shift="3", **variables):
    program = folder / "program.py"
    if not program.exists():
        program.write_text(PROGRAM)
    done = run_python(
        str(program),
        *ways,
        SHIFT=shift,
        NUMBA_CACHE_DIR=str(folder / "numba"),
        JITTAPE_CACHE_DIR=str(folder / "kernels"),
        **variables,
    )
    assert done.returncode == 0, done.stderr
    return [line.split()[1] for line in done.stdout.splitlines()]


def test_the_fingerprint_in_the_cache_changes_with_each_constant():
    def fingerprint(shift, name="energy"):
        matrix = np.arange(600.0).reshape(20, 30) % 7 - shift

        def energy(x):
            return jt.reduce_sum(jt.square(jt.matmul(matrix, x)))

        energy.__name__ = name
        return jt.njit_function(energy, jt.TensorSpec([30, 10], jt.float64)).fingerprint

    assert fingerprint(3.0) == fingerprint(3.0)
    assert fingerprint(3.0) != fingerprint(2.0)


def test_another_process_loads_the_code(tmp_path):
    assert run(tmp_path, *WAYS) == ["compiled"] * 5
    assert run(tmp_path, *WAYS) == ["loaded"] * 5
    shutil.rmtree(tmp_path / "kernels", ignore_errors=True)
    assert run(tmp_path, *WAYS) == ["loaded"] * 5


def test_code_for_other_constants_is_not_taken(tmp_path):
    ways = ["direct", "parallel", "argument"]
    run(tmp_path, *ways)
    assert run(tmp_path, *ways, shift="2") == ["compiled"] * 3
    # A global is no part of Numba's key, and the last one has taken the place; an argument is.
    assert run(tmp_path, *ways, shift="3") == ["compiled", "compiled", "loaded"]


def test_a_function_that_is_not_made_is_an_error_and_no_crash(tmp_path):
    run(tmp_path, "direct")
    with pytest.raises(AssertionError, match="TypingError"):
        run(tmp_path, "direct", MADE="no")
