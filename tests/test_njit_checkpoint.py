"""Time loops in segments, the size of what is kept, and memory that runs out."""

import math

import numba
import numpy as np
import pytest

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from jittape.numba_ad.scalar_support import state_count, steps_to_next_state
from njit_as_python import as_python, copies
from processes import run_python

njit = numba.njit
U = np.linspace(0.2, 1.0, 7) ** 2


@njit
def heat(u, rate, steps):
    new = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + rate * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u[:] = new
    total = 0.0
    for i in range(len(u)):
        total += u[i] ** 2
    return total


@njit
def two_time_loops(u, rate, steps):
    """Between the loops and after them, arrays change that the first loop reads."""
    s, hot, factor = 1.0, False, np.full(2, rate)
    for k in range(3 + 2 * steps, 3, -2):
        s = s * u[k % 3] + factor[0]
        hot = hot or s > 0.9
        if hot:
            u[1] *= np.sin(s) + factor[1]
    factor[0] *= s
    u[2] = factor[0] * u[3]
    t = s
    for k in range(steps):
        w = u * t
        t = np.tanh(np.sum(w) + factor[0])
        u[k % 7] += t * t
    factor[1] = 7.0
    return t * u[1] + s * factor[0]


@njit
def place_of_a_changed_array(x, steps):
    u, total = x * 1.0, 0.0
    for _ in range(steps):
        total = 0.7 * total + math.sin(total) * x[np.argmax(u)]
        total += x[1]
    u[0] = 9.0
    return total + np.sum(u * x)


def test_a_segment_reads_arrays_as_they_were():
    x = np.array([0.3, 0.5, 0.9])
    plain, segments = (
        jt.njit_grad(place_of_a_changed_array),
        jt.njit_grad(place_of_a_changed_array, checkpoint=2),
    )
    np.testing.assert_allclose(segments(x, 5), plain(x, 5), rtol=1e-12)


@pytest.mark.parametrize("function", [heat, two_time_loops])
@pytest.mark.parametrize("checkpoint", ["sqrt", "binomial", 1, 3, 100])
def test_segments_change_no_gradient(function, checkpoint):
    for steps in (0, 1, 2, 10):
        results = []
        for length in (None, checkpoint):
            arguments = copies((U, 0.1, steps))
            gradient = gradient_of_dispatcher(function, (0, 1), "value_and_gradient", "test", False, length)
            value, (u_b, rate_b) = as_python(gradient, arguments)(*arguments)
            results.append([value, rate_b, *u_b, *arguments[0]])
        np.testing.assert_allclose(results[1], results[0], rtol=1e-12)


def test_a_compiled_gradient_in_segments_and_its_size():
    plain, segments = (jt.njit_value_and_grad(heat, checkpoint=one) for one in (None, "sqrt"))
    arrays = [U.copy(), U.copy()]
    for one, other in zip(plain(arrays[0], 0.1, 100), segments(arrays[1], 0.1, 100), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)
    np.testing.assert_array_equal(arrays[1], arrays[0])
    assert plain.kept_bytes(arrays[0], 0.1, 100) == 8 * 100 * len(U)
    states, steps = 10 * 2 * len(U), 10 * len(U)
    assert segments.kept_bytes(arrays[0], 0.1, 100) == 8 * (states + steps)
    np.testing.assert_array_equal(arrays[1], arrays[0])
    assert jt.njit_jvp(heat).kept_bytes(U, U, 0.1, 100) == 0


def runs_of_reversal(steps, states):
    """Return how many iterations run again if states are kept as `steps_to_next_state` says."""
    if steps <= 1:
        return 0
    if states == 1:
        return steps * (steps - 1) // 2
    first = steps_to_next_state.py_func(steps, states - 1)
    return first + runs_of_reversal(steps - first, states - 1) + runs_of_reversal(first, states)


def fewest_runs(steps, states):
    """Return the binomial formula of Griewank and Walther, which is the minimum over all schedules."""
    times = next(r for r in range(steps + 1) if math.comb(states + r, states) >= steps)
    return times * steps - math.comb(states + times, times - 1) if times else 0


def test_binomial_distances_need_the_fewest_runs():
    for states in range(1, 7):
        for steps in range(1, 90):
            assert runs_of_reversal(steps, states) == fewest_runs(steps, states), (steps, states)
    assert [state_count.py_func(n) for n in (0, 1, 2, 3, 6, 7, 20, 21, 10_000)] == [1, 1, 1, 2, 2, 3, 3, 4, 8]


@njit
def slow_growth(x, steps):
    for k in range(steps):
        x[0] = math.sin(x[0]) + 0.1 * x[1] * x[0]
        x[1] *= 0.999 + 1e-6 * k
    return x[0] * x[1]


def test_binomial_states_need_little_memory_and_can_be_derived_again():
    x = np.array([0.4, 0.7])
    plain, binomial = (jt.njit_grad(slow_growth, checkpoint=one) for one in (None, "binomial"))
    np.testing.assert_allclose(binomial(x.copy(), 5000), plain(x.copy(), 5000), rtol=1e-12)
    assert binomial.kept_bytes(x, 5000) == 8 * (8 * 2 + 2)
    assert binomial.kept_bytes(x, 0) == 8 * 2
    one, other = (jt.njit_jvp(g)(np.array([1.0, -2.0]), x.copy(), 20)[1] for g in (plain, binomial))
    np.testing.assert_allclose(other, one, rtol=1e-12)


def test_inspect_says_what_is_passive_and_why_values_are_kept():
    code = jt.njit_grad(two_time_loops).inspect(U, 0.1, 5)
    assert "# passive: rate, steps" in code or "# passive: steps" in code
    for reason in ("its element is overwritten later", "changes in each iteration"):
        assert f"# kept: {reason}" in code


@njit
def noisy(x, n):
    for i in range(n):
        x[0] = np.sin(x[0]) * x[1]
        if i == 2:
            print("third", i)
    return x[0]


def test_an_effect_is_not_repeated(capfd):
    jt.njit_grad(noisy, checkpoint=2)(np.ones(2), 5)
    assert capfd.readouterr().out.split() == ["third", "2"]


@pytest.mark.parametrize("checkpoint", [0, -1, "square", True, 2.0])
def test_other_lengths_of_segments_are_refused(checkpoint):
    with pytest.raises(
        ValueError, match=r"\[njit_grad\] checkpoint must be 'sqrt', 'binomial' or a positive"
    ):
        jt.njit_grad(heat, checkpoint=checkpoint)


OUT_OF_MEMORY = """
import resource
import numba
import numpy as np
import jittape as jt

@numba.njit
def chaotic(x, n):
    for _ in range(n):
        x[0] = 3.9 * x[0] * (1.0 - x[0])
    return x[0]

@numba.njit
def counted(x, count):
    total = 0.0
    for i in range(len(x)):
        count[0] += 1
        total += x[i] * x[i]
    return total

n = 100_000_000
gradient = jt.njit_grad(chaotic)
gradient(np.array([0.3]), 10)
second = jt.njit_hvp(chaotic)
second(np.ones(1), np.array([0.3]), 10)
many, count = np.zeros(n // 4), np.zeros(1, np.int64)
jt.njit_grad(counted)(many[:4], count)
expected, x = np.array([0.3]), np.array([0.3])
chaotic(expected, n)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + n, -1))
try:
    gradient(x, n)
except MemoryError:
    print("MemoryError", x[0] == expected[0])
try:
    jt.njit_grad(counted)(many, count)
except MemoryError:
    print("MemoryError", count[0] == 4 + len(many))
x[0] = 0.3
try:
    second(np.ones(1), x, n)
except MemoryError:
    print("MemoryError", x[0] == expected[0])
"""


def test_arrays_are_as_the_primal_leaves_them_if_memory_runs_out(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(OUT_OF_MEMORY)
    done = run_python(str(script))
    assert done.stdout.split() == ["MemoryError", "True"] * 3, done.stderr


@njit
def triangles(u, rate, steps):
    """Inner loops have bounds that vary between the iterations of the loop with segments."""
    total = rate
    for k in range(steps):
        width = (k * k) % 5
        for i in range(k, steps):
            total += math.sin(total) * u[i % 7]
        for _ in range(width):
            total = math.cos(total) * u[k % 7]
    return total


@pytest.mark.parametrize("checkpoint", ["sqrt", "binomial", 1, 3])
def test_stacks_of_segments_fit_inner_loops_whose_bounds_vary(checkpoint):
    # Python, which runs the generated code, checks the indices of stacks.
    arguments = np.linspace(-0.4, 0.8, 7), 0.3, 80
    gradients = [
        gradient_of_dispatcher(triangles, (0, 1), "value_and_gradient", "test", False, one)
        for one in (None, checkpoint)
    ]
    expected, found = [as_python(one, arguments)(*copies(arguments)) for one in gradients]
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
