"""The user's own ``@njit`` functions as ops."""

import copy
import math
import pickle
import shutil

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from scipy import special

import jittape as jt
from processes import run_python


@njit
def cube(x):
    return x * x * x


@njit
def cube_vjp(g, out, x):
    return g * 3 * x * x


@njit
def cube_vjp_vjp_g(h, out, g, y, x):
    return h * 3 * x * x


@njit
def cube_vjp_vjp_x(h, out, g, y, x):
    return h * g * 6 * x


@njit
def hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


@njit
def hypotenuse_vjp(g, out, x, y):
    return g * x / out, g * y / out


def watched(function, *arrays):
    """The value and the gradients of its sum."""
    tensors = [jt.constant(a) for a in arrays]
    with jt.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    return value, [g.numpy() for g in tape.gradient(value, tensors)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_scalar_function_on_arrays(mode, dtype):
    op = jt.numba_op(cube, vjp=cube_vjp)
    for x in (
        np.array([1.0, -2.0, 3.0], dtype),
        np.ones((2, 3, 4), dtype),
        dtype(2.0),
        np.ones((0, 3), dtype),
    ):
        for _ in range(3):
            value, (gradient,) = watched(op, x)
            assert (value.dtype, value.shape) == (dtype, np.shape(x))
            np.testing.assert_allclose(value.numpy(), x**3, rtol=1e-6)
            np.testing.assert_allclose(gradient, 3 * x**2, rtol=1e-6)


def test_operands_are_promoted_and_broadcast(mode):
    op = jt.numba_op(hypotenuse, vjp=hypotenuse_vjp)
    x, y = np.array([[3.0], [6.0]], np.float32), np.array([4.0, 8.0])
    for _ in range(3):
        value, (dx, dy) = watched(op, x, y)
        assert value.dtype == np.float64
        np.testing.assert_allclose(value.numpy(), np.hypot(x, y), rtol=1e-15)
        np.testing.assert_allclose(dx, (x / np.hypot(x, y)).sum(1, keepdims=True), rtol=1e-6)
        np.testing.assert_allclose(dy, (y / np.hypot(x, y)).sum(0), rtol=1e-14)
        assert (dx.dtype, dy.dtype) == (np.float32, np.float64)
    assert float(op(3, 4)) == 5.0


@njit
def one_of_them(x, which):
    logarithms = (math.log(x), math.log1p(x), math.log2(x), math.log10(x), math.sqrt(x))
    circular = (math.sin(x), math.cos(x), math.tan(x), math.asin(x), math.acos(x), math.atan(x))
    others = (math.sinh(x), math.cosh(x), math.tanh(x), math.erf(x), math.erfc(x), math.lgamma(x))
    values = (math.exp(x), math.expm1(x), *logarithms, *circular, *others)
    return values[int(which)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_the_math_module(dtype):
    functions = [np.exp, np.expm1, np.log, np.log1p, np.log2, np.log10, np.sqrt]
    functions += [np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh]
    functions += [special.erf, special.erfc, special.gammaln]
    x = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 30.0, np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = [function(x) for function in functions]
    op = jt.numba_op(one_of_them)
    for _ in range(3):
        found = op(x, np.arange(len(functions), dtype=dtype)[:, None]).numpy()
        np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps)


def test_two_functions_and_a_power_in_one_kernel():
    first = jt.numba_op(njit(lambda x: math.exp(-x) * x**2.5))
    second = jt.numba_op(njit(lambda x, y: math.exp(x) + math.atan2(x, y)))
    function = jt.function(lambda x: jt.reduce_sum(second(first(x), x)))
    x = np.linspace(0.1, 2, 100)
    y = np.exp(-x) * x**2.5
    np.testing.assert_allclose(float(function(x)), (np.exp(y) + np.arctan2(y, x)).sum(), rtol=1e-14)
    assert len(jt.explain().steps) == 1
    native = jt.njit_function(lambda x: jt.reduce_sum(second(first(x), x)), jt.TensorSpec([100], jt.float64))
    np.testing.assert_allclose(native(x), (np.exp(y) + np.arctan2(y, x)).sum(), rtol=1e-14)


def test_it_is_fused_into_the_loop():
    op = jt.numba_op(cube, vjp=cube_vjp)
    x = np.linspace(-1, 1, 1000)
    jt.function(lambda x: jt.reduce_sum(2.0 * op(jt.sin(x))))(x)
    (step,) = jt.explain().steps
    assert step.loops == 1
    assert "numba_op:cube" in step.listing


def test_within_a_function_and_with_second_derivatives(mode):
    first = jt.numba_op(cube_vjp, vjp=(cube_vjp_vjp_g, None, cube_vjp_vjp_x))
    op = jt.numba_op(cube, vjp=first)
    x = jt.constant([1.0, 2.0], jt.float64)

    @jt.function
    def hessian_product(x):
        with jt.GradientTape() as outer:
            outer.watch(x)
            with jt.GradientTape() as inner:
                inner.watch(x)
                y = jt.reduce_sum(op(x) * x)
            g = inner.gradient(y, x)
        return g, outer.gradient(g, x)

    for _ in range(3):
        g, h = hessian_product(x)
        np.testing.assert_allclose(g.numpy(), [4.0, 32.0])
        np.testing.assert_allclose(h.numpy(), [12.0, 48.0])


def test_a_plain_function_and_a_decorator(mode):
    @jt.numba_op(vjp=lambda g, out, x: g * 2 * x)
    def square(x):
        return x * x

    value, (gradient,) = watched(square, np.array([3.0]))
    assert (value.numpy()[0], gradient[0]) == (9.0, 6.0)


@jt.numba_op
@njit
def halved(x):
    """Half of `x`."""
    return 0.5 * x


def test_an_op_goes_by_its_name():
    assert pickle.loads(pickle.dumps(halved)) is halved
    assert copy.deepcopy([halved])[0] is halved
    assert (halved.__name__, halved.__doc__) == ("halved", "Half of `x`.")
    assert repr(halved) == "<jt.NumbaOp halved(x)>"


def test_integers_bools_and_several_kinds_of_result(mode):
    @njit
    def is_large(x):
        return x > 2

    @njit
    def steps(n):
        count = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    large, collatz = jt.numba_op(is_large), jt.numba_op(steps)
    for _ in range(3):
        np.testing.assert_array_equal(large(np.array([1.0, 3.0])).numpy(), [False, True])
        np.testing.assert_array_equal(collatz(np.array([1, 6, 27])).numpy(), [0, 8, 111])
        np.testing.assert_array_equal(collatz(np.where(large([1, 3]).numpy(), 6, 1)).numpy(), [0, 8])


def test_what_raises_is_nan(mode):
    @njit
    def checked(x):
        if x < 0:
            raise ValueError("negative")
        return 1.0 / x

    op = jt.numba_op(checked)
    for _ in range(3):
        np.testing.assert_array_equal(op(np.array([-1.0, 0.0, 2.0])).numpy(), [np.nan, np.inf, 0.5])


def test_an_operand_without_a_gradient():
    op = jt.numba_op(hypotenuse, vjp=(lambda g, out, x, y: g * x / out, None))
    x, y = jt.constant(3.0), jt.constant(4.0)
    with jt.GradientTape() as tape:
        tape.watch([x, y])
        z = op(x, y)
    dx, dy = tape.gradient(z, [x, y], unconnected_gradients="zero")
    assert (round(float(dx), 6), float(dy)) == (0.6, 0.0)


def test_what_is_refused():
    op = jt.numba_op(cube)
    with pytest.raises(TypeError, match="cube takes x; it was called with 2"):
        op(1.0, 2.0)
    with pytest.raises(
        TypeError, match=r"cube must return a real number, it returns complex128 for \(complex128\)"
    ):
        op(1j)
    with pytest.raises(TypeError, match="Numba does not compile nonsense for"):
        jt.numba_op(nonsense)(1.0)
    with pytest.raises(
        TypeError, match="vjp cube must take the cotangent, the result and then x; it takes x"
    ):
        jt.numba_op(cube, vjp=cube)
    with pytest.raises(ValueError, match="vjp has 1 functions for the operands x, y"):
        jt.numba_op(hypotenuse, vjp=(hypotenuse_vjp,))
    with pytest.raises(TypeError, match="hypotenuse_one must return a tuple"):
        watched(jt.numba_op(hypotenuse, vjp=hypotenuse_one), np.ones(2), np.ones(2))


def nonsense(x):
    return x.nonsense


@njit
def hypotenuse_one(g, out, x, y):
    return g * x / out


# ---- functions of whole arrays ---------------------------------------------------------------------------------------


@njit
def running(x, decay):
    out = np.empty_like(x)
    state = 0.0
    for i in range(len(x)):
        state = decay * state + x[i]
        out[i] = state
    return out


@njit
def running_vjp(g, out, x, decay):
    dx = np.empty_like(x)
    ddecay = 0.0
    state = 0.0
    for i in range(len(x) - 1, -1, -1):
        state = g[i] + decay * state
        dx[i] = state
        if i > 0:
            ddecay += state * out[i - 1]
    return dx, ddecay


def test_a_function_of_arrays(mode):
    op = jt.numba_op(running, vjp=running_vjp, result=lambda x, decay: x)
    x, decay = np.array([1.0, 2.0, 3.0]), 0.5
    lower = np.array([[1, 0, 0], [decay, 1, 0], [decay**2, decay, 1]])
    slope = np.array([[0, 0, 0], [1, 0, 0], [2 * decay, 1, 0]])
    whole = jt.function(lambda x, decay: op(2.0 * x, decay) ** 2)
    for _ in range(3):
        value, (dx, ddecay) = watched(lambda x, decay: op(2.0 * x, decay) ** 2, x, np.float64(decay))
        y = lower @ (2 * x)
        np.testing.assert_allclose(value.numpy(), y**2)
        np.testing.assert_allclose(dx, 2 * lower.T @ (2 * y))
        np.testing.assert_allclose(ddecay, 2 * y @ (slope @ (2 * x)))
        np.testing.assert_allclose(whole(x, jt.constant(decay, jt.float64)).numpy(), y**2)


def test_a_function_of_arrays_cannot_change_its_operands():
    @njit
    def spoils(x):
        x[0] = 1.0
        return x

    @njit("float64[:](float64[:])")
    def typed(x):
        x[0] = 100.0
        return x

    x = jt.constant(np.zeros(3))
    np.testing.assert_array_equal(jt.numba_op(spoils, result=lambda x: x)(x).numpy(), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(jt.numba_op(typed, result=lambda x: x)(x).numpy(), [100.0, 0.0, 0.0])
    np.testing.assert_array_equal(x.numpy(), 0.0)


@njit
def smoothed(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, len(a) - 1):
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0
    return np.sum(a * a)


def test_a_function_that_only_compiles_for_arrays_and_writes_its_argument():
    op, x = jt.numba_op(smoothed), np.array([1.0, 2.0, 4.0, 8.0])
    value, (dx,) = watched(lambda x: op(x, 2), x)
    expected = jt.njit_value_and_grad(smoothed)(x.copy(), 2)
    np.testing.assert_allclose(value.numpy(), expected[0], rtol=1e-15)
    np.testing.assert_allclose(dx, expected[1], rtol=1e-15)
    np.testing.assert_allclose(jt.function(lambda x: op(x, 2))(x).numpy(), expected[0], rtol=1e-15)
    native = jt.njit_value_and_grad(lambda x: 0.5 * op(2.0 * x, 2), jt.TensorSpec([4], jt.float64))
    before = x.copy()
    np.testing.assert_allclose(native(x)[0], 2.0 * expected[0], rtol=1e-15)
    np.testing.assert_allclose(native(x)[1], 2.0 * expected[1], rtol=1e-15)
    np.testing.assert_array_equal(x, before)


@njit
def total_of_squares(x):
    return np.sum(x * x)


@njit
def largest_of_halves(x):
    return np.max(x * 0.5) + total_of_squares(x)


@njit
def local_sum(x):
    return np.sum(np.array([1.0, 2.0])) * x


@pytest.mark.parametrize("function", [total_of_squares, largest_of_halves])
def test_a_reduction_that_numba_compiles_for_numbers_too_is_of_arrays(function):
    op, x = jt.numba_op(function), np.array([1.0, 3.0, 2.0])
    value, (dx,) = watched(op, x)
    expected = jt.njit_value_and_grad(function)(x)
    assert value.shape == ()
    np.testing.assert_allclose(value.numpy(), expected[0])
    np.testing.assert_allclose(dx, expected[1])
    assert float(jt.numba_op(function)(3.0)) == function(3.0)


@njit
def weighted_sines(x, weights):
    total = 0.0
    for i in range(len(x)):
        total += math.sin(x[i] * weights[0]) * weights[1]
    return total


def test_arrays_that_do_not_broadcast_make_a_function_one_of_arrays(mode):
    x, weights = np.array([0.3, -0.2, 1.1]), np.array([0.7, 1.2])
    expected = jt.njit_value_and_grad(weighted_sines, argnums=(0, 1))(x, weights)
    value, gradients = watched(jt.numba_op(weighted_sines), x, weights)
    np.testing.assert_allclose(value.numpy(), expected[0])
    for found, one in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(found, one)
    with pytest.raises(jt.errors.InvalidArgumentError, match="do not broadcast"):
        jt.numba_op(hypotenuse)(x, weights)


@njit
def total_in_float32(x):
    total = np.float32(0.0)
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


@njit
def count_in_int32(x):
    return np.int32(len(x))


def test_a_function_of_arrays_returns_numbers_of_other_dtypes(mode):
    x = jt.constant(np.array([1.0, 2.0], np.float32))
    value, (dx,) = watched(jt.numba_op(total_in_float32), x)
    assert (value.dtype, dx.dtype) == (np.float32, np.float32)
    assert (float(value), dx.tolist()) == (5.0, [2.0, 4.0])
    doubled = jt.function(lambda x: 2.0 * jt.numba_op(total_in_float32)(x))
    assert [float(doubled(x)) for _ in range(3)] == [10.0] * 3
    assert jt.numba_op(count_in_int32)(x).numpy().dtype == np.int32


@njit("float64(float64[:])")
def typed_total(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


def test_a_function_of_arrays_with_an_explicit_signature():
    value, (dx,) = watched(jt.numba_op(typed_total), np.array([1.0, 2.0]))
    assert (float(value), dx.tolist()) == (5.0, [2.0, 4.0])


def test_a_function_of_numbers_may_have_a_sum():
    np.testing.assert_allclose(jt.numba_op(local_sum)(np.ones(3)).numpy(), [3.0, 3.0, 3.0])


@njit
def updates_a_slice(a):
    a[1:] *= a[:-1]
    return a[0] + a[-1]


def test_a_function_that_updates_a_slice_gets_copies():
    value, (dx,) = watched(jt.numba_op(updates_a_slice), np.array([2.0, 3.0]))
    assert (float(value), dx.tolist()) == (8.0, [4.0, 2.0])


def test_a_function_of_arrays_that_returns_an_array_needs_its_result():
    with pytest.raises(TypeError, match=r"returns array\(float64, 1d, C\) for .* Pass result="):
        jt.numba_op(running)(np.ones(3), 0.5)


def test_a_result_that_is_not_as_announced():
    op = jt.numba_op(njit(lambda x: x[1:]), result=lambda x: x)
    with pytest.raises(ValueError, match=r"function returned float64\[2\], but result= is float64\[3\]"):
        op(np.zeros(3)).numpy()
    with pytest.raises(TypeError, match="result must return a jt.TensorSpec"):
        jt.numba_op(running, result=lambda x, decay: x.shape)(np.zeros(3), 0.5)


# ---- in Numba's own code ---------------------------------------------------------------------------------------------


def test_in_a_native_function():
    op = jt.numba_op(hypotenuse, vjp=hypotenuse_vjp)
    native = jt.njit_value_and_grad(lambda x: jt.reduce_sum(op(x, 2.0 * x)), jt.TensorSpec([3], jt.float64))

    @njit
    def twice(x):
        return native(x)[0] + native(2.0 * x)[0], native(x)[1]

    x = np.array([1.0, 2.0, -3.0])
    value, gradient = twice(x)
    np.testing.assert_allclose(value, 3 * np.sqrt(5) * np.abs(x).sum())
    np.testing.assert_allclose(gradient, np.sqrt(5) * np.sign(x))


def test_a_function_of_arrays_in_a_native_function():
    op = jt.numba_op(running, vjp=running_vjp, result=lambda x, decay: x)

    def energy(x, decay):
        return jt.reduce_sum(op(2.0 * x, decay) ** 2)

    spec = jt.TensorSpec([5000], jt.float64), jt.TensorSpec([], jt.float64)
    native = jt.njit_value_and_grad(energy, *spec, argnums=(0, 1))
    x = np.random.default_rng(0).normal(size=5000)
    value, (dx, ddecay) = native(x, 0.5)
    expected, (expected_dx, expected_ddecay) = watched(energy, x, np.float64(0.5))
    np.testing.assert_allclose(value, expected.numpy(), rtol=1e-13)
    np.testing.assert_allclose(dx, expected_dx, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ddecay, expected_ddecay, rtol=1e-12)


def test_errors_of_a_function_of_arrays_come_through():
    @njit
    def picky(x):
        if x[0] < 0:
            raise ValueError("the first must not be negative")
        return x[: int(x[0])]

    op = jt.numba_op(picky, result=lambda x: x)
    native = jt.njit_function(lambda x: op(x + 0.0), jt.TensorSpec([3], jt.float64))
    np.testing.assert_array_equal(native(np.array([3.0, 1.0, 2.0])), [3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="the first must not be negative"):
        native(np.array([-1.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match=r"picky must return an array of shape \(3,\)"):
        native(np.array([2.0, 1.0, 2.0]))
    matrix = jt.numba_op(njit(lambda x: np.outer(x, x)), result=lambda x: x)
    with pytest.raises(TypingError, match=r"the function returns array\(float64, 2d, C\), not float64\[3\]"):
        jt.njit_function(lambda x: matrix(x), jt.TensorSpec([3], jt.float64))(np.ones(3))
    typed = jt.numba_op(njit("float64[:](float64[:])")(lambda x: x + 1.0), result=lambda x: x)
    with pytest.raises(TypeError, match="fixed argument types"):
        jt.njit_function(lambda x: typed(x), jt.TensorSpec([3], jt.float64))


PROGRAM = """
import os, sys
import numpy as np
import jittape as jt
from numba import njit
from numba.core.errors import TypingError
from scipy import special

FACTOR = float(os.environ["FACTOR"])

@njit
def scaled(x):
    return FACTOR * x

op = jt.numba_op(scaled)
native = jt.njit_function(lambda x: op(x) + 1.0, jt.TensorSpec([3], jt.float64))

@njit(cache=True)
def apply(function, x):
    return function(x)

for _ in range(3):
    total = float(jt.reduce_sum(op(np.ones(100))))
print(total, apply(native, np.ones(3))[0], sum(apply.stats.cache_hits.values()), jt.stats().kernels)
"""


def test_another_version_of_the_function_is_another_kernel(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(factor):
        folders = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "JITTAPE_CACHE_DIR": str(tmp_path / "kernels")}
        done = run_python(str(program), FACTOR=factor, **folders)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run("2") == ["200.0", "3.0", "0", "1"]
    assert run("3") == ["300.0", "4.0", "0", "1"]
    assert run("2") == ["200.0", "3.0", "1", "0"]
    shutil.rmtree(tmp_path / "kernels")
    assert run("3") == ["300.0", "4.0", "1", "1"]


# ---- derived gradients -----------------------------------------------------------------------------------------------


@njit
def kepler(mean, eccentricity):
    e = mean
    for _ in range(20):
        e -= (e - eccentricity * math.sin(e) - mean) / (1.0 - eccentricity * math.cos(e))
    return e


@njit
def diffused(u, rate, steps):
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = u[i] + rate[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u[:] = new
    return u


@njit
def energy_of(u, at):
    total = 0.0
    for i in at:
        total += u[i] ** 3
    return total


def test_the_gradient_of_a_scalar_function_is_derived(mode):
    x, y = np.array([[3.0, 0.5, 1.0], [-1.0, 2.0, 7.0]]), np.array([4.0, 0.25, -2.0])
    explicit = jt.numba_op(hypotenuse, vjp=hypotenuse_vjp)
    whole = jt.function(lambda x, y: watched_gradients(jt.numba_op(hypotenuse), x, y))
    for dtype in (np.float32, np.float64):
        one, other = x.astype(dtype), y.astype(dtype)
        expected = watched(explicit, one, other)[1]
        for _ in range(3):
            found = watched(jt.numba_op(hypotenuse), one, other)[1]
            for a, b, c in zip(found, expected, whole(one, other), strict=True):
                assert a.dtype == dtype
                np.testing.assert_allclose(a, b, rtol=1e-6)
                np.testing.assert_allclose(c.numpy(), b, rtol=1e-6)


def watched_gradients(function, *tensors):
    with jt.GradientTape() as tape:
        tape.watch(tensors)
        value = function(*tensors)
    return tape.gradient(value, tensors)


def test_a_scalar_function_whose_gradient_records_values(mode):
    op = jt.numba_op(kepler)
    mean, eccentricity = np.linspace(0.0, 3.0, 4).reshape(2, 2), np.float64(0.3)
    slope = 1.0 / (1.0 - 0.3 * np.cos(np.vectorize(kepler)(mean, 0.3)))
    sine = np.sin(np.vectorize(kepler)(mean, 0.3))
    for _ in range(3):
        _, (dm, de) = watched(op, mean, eccentricity)
        np.testing.assert_allclose(dm, slope, rtol=1e-9)
        np.testing.assert_allclose(de, np.sum(slope * sine), rtol=1e-9)
        _, (dm, de) = watched(op, mean[0, 1], eccentricity)
        np.testing.assert_allclose([dm, de], [slope[0, 1], slope[0, 1] * sine[0, 1]], rtol=1e-9)


def test_the_gradient_of_a_function_of_arrays_is_derived(mode):
    op = jt.numba_op(diffused, result=lambda u, rate, steps: u)
    total = jt.numba_op(energy_of, result=jt.TensorSpec([], jt.float64))
    at = np.array([1, 3, 1])
    u, rate = np.array([1.0, 2.0, 0.5, 3.0, 1.0]), np.array([0.1, 0.2, 0.1, 0.05, 0.3])

    def program(u, rate):
        return total(op(2.0 * u, rate, 3), at) * 2.0

    def plain(u, rate):
        return 2.0 * energy_of(diffused(2.0 * u, rate, 3), at)

    whole = jt.function(lambda u, rate: watched_gradients(program, u, rate))
    steps = 1e-6 * np.eye(5)
    expected = [
        [(plain(u + h, rate) - plain(u - h, rate)) / 2e-6 for h in steps],
        [(plain(u, rate + h) - plain(u, rate - h)) / 2e-6 for h in steps],
    ]
    for _ in range(3):
        value, found = watched(program, u, rate)
        np.testing.assert_allclose(float(value), plain(u, rate), rtol=1e-12)
        for a, b, c in zip(found, expected, whole(u, rate), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(c.numpy(), a, rtol=1e-12)


def test_an_explicit_vjp_wins():
    op = jt.numba_op(cube, vjp=lambda g, out, x: g * 100.0)
    assert watched(op, np.array([2.0]))[1][0] == 100.0


@njit
def mantissa(x):
    return math.frexp(x)[0]


def test_a_gradient_that_cannot_be_derived_names_the_way_out():
    op = jt.numba_op(mantissa)
    assert float(op(np.float64(3.0))) == 0.75
    with pytest.raises(
        jt.NoGradientError,
        match=r"(?s)mantissa, recorded at .*test_numba_op.py:\d+.*math.frexp.*vjp=\.\.\.",
    ):
        watched(op, np.array([3.0]))


@pytest.mark.parametrize("function", [mantissa, njit(lambda x: x * x)])
def test_each_sentence_about_a_gradient_that_cannot_be_derived_ends(function):
    with pytest.raises(
        jt.NoGradientError, match=r"(rule with jt\.njit_rule|Use `def`)\. Or pass the derivative"
    ):
        watched(jt.numba_op(function), np.array([3.0]))


@njit
def scaled_draw(x):
    return x * np.random.normal(0.0, 1.0)  # noqa: NPY002


@njit
def sum_with_draws(x):
    return np.sum(x * np.random.normal(0.0, 1.0, len(x)))  # noqa: NPY002


@pytest.mark.parametrize("function", [scaled_draw, sum_with_draws])
def test_a_derivative_would_draw_other_random_numbers(function):
    with pytest.raises(
        jt.NoGradientError, match="draws random numbers, and the derivative would draw others"
    ):
        watched(jt.numba_op(function), np.array([3.0]))


@njit
def printed(x):
    print(x)
    return x * x


def test_a_function_of_numbers_that_calls_python_is_refused():
    with pytest.raises(TypeError, match="printed calls Python, as print does"):
        jt.numba_op(printed)(np.ones(2))


def test_a_second_derivative_with_a_plain_rule_is_refused():
    op, x = jt.numba_op(cube, cube_vjp), jt.constant([2.0])
    with jt.GradientTape() as outer:
        outer.watch(x)
        (dx,) = watched_gradients(op, x)
    assert float(dx[0]) == 12.0
    with pytest.raises(
        jt.NoGradientError, match=r"cube_vjp, recorded at .*test_numba_op.py:\d+.*second derivatives"
    ):
        outer.gradient(dx, x)


@njit
def iterated(x):
    s = 0.5
    for k in range(4):
        s = math.sin(x * k + s) * x
    return s


def change(f, x, step=1e-5):
    return (np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * step)


@pytest.mark.parametrize("x", [np.array(0.7), np.linspace(0.1, 1.0, 4).reshape(2, 2)])
def test_second_derivatives_are_derived_for_a_function_of_numbers(x):
    op = jt.numba_op(iterated)
    slope = jt.grad(lambda x: jt.reduce_sum(op(x) ** 2))
    curvature = jt.grad(lambda x: jt.reduce_sum(slope(x)))
    np.testing.assert_allclose(slope(x), change(lambda x: op(x).numpy() ** 2, x), rtol=1e-7)
    np.testing.assert_allclose(curvature(x), change(slope, x), rtol=1e-7)


def test_third_derivatives_and_tangents_are_derived():
    op, x = jt.numba_op(cube), np.array([0.5, 2.0])
    slope = jt.grad(lambda x: jt.reduce_sum(op(x) ** 2))
    curvature = jt.grad(lambda x: jt.reduce_sum(slope(x)))
    np.testing.assert_allclose(jt.grad(lambda x: jt.reduce_sum(curvature(x)))(x), 120.0 * x**3)
    _, tangent = jt.jvp(op, [x], [np.ones(2)])
    np.testing.assert_allclose(tangent, 3.0 * x**2)


@njit
def products(u):
    v = u.copy()
    for i in range(1, len(u)):
        v[i] = u[i] * v[i - 1]
    return v


def test_second_derivatives_are_derived_for_a_function_of_arrays():
    op = jt.numba_op(products, result=lambda u: u)
    u, v = np.linspace(0.5, 1.5, 4), np.array([1.0, -0.5, 2.0, 0.3])
    slope = jt.grad(lambda u: jt.reduce_sum(op(u) ** 2))
    product = jt.grad(lambda u: jt.reduce_sum(slope(u) * v))
    np.testing.assert_allclose(product(u), change(lambda t: slope(u + t * v), np.array(0.0)), rtol=1e-7)


def test_derived_gradients_in_native_code():
    smooth = jt.numba_op(diffused, result=lambda u, rate, steps: u)

    def program(u, rate):
        return jt.reduce_sum(smooth(u, rate, 2) ** 2) + jt.reduce_sum(jt.numba_op(hypotenuse)(u, rate))

    u, rate = np.array([1.0, 2.0, 0.5, 3.0]), np.array([0.1, 0.2, 0.1, 0.05])
    native = jt.njit_value_and_grad(program, jt.TensorSpec([4], jt.float64), jt.TensorSpec([4], jt.float64))
    value, gradient = native(u, rate)
    expected, (du, _) = watched(program, u, rate)
    np.testing.assert_allclose(value, float(expected), rtol=1e-12)
    np.testing.assert_allclose(gradient, du, rtol=1e-12)
