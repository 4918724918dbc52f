"""Functions and gradients of jittape's in the user's own ``@njit`` code."""

import gc
import threading
import weakref

import numpy as np
import pytest
from numba import njit, prange
from numba.core.errors import TypingError

import jittape as jt

Spec = jt.TensorSpec


def rosenbrock(x):
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def logistic(w, b, features, labels):
    z = jt.linalg.matvec(features, w) + b
    return jt.reduce_mean(jt.nn.softplus(z) - labels * z)


def gradient_of(function, *arguments, argnums=(0,)):
    """By the tape."""
    tensors = [jt.constant(a) for a in arguments]
    with jt.GradientTape() as tape:
        tape.watch([tensors[i] for i in argnums])
        value = function(*tensors)
    return value.numpy(), [g.numpy() for g in tape.gradient(value, [tensors[i] for i in argnums])]


def problem(dtype=np.float64, rows=50):
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=4).astype(dtype), dtype(0.5)
    return w, b, rng.normal(size=(rows, 4)).astype(dtype), (rng.random(rows) < 0.5).astype(dtype)


def logistic_gradient(dtype=np.float64, rows=50, argnums=(0, 1)):
    shapes = (4,), (), (rows, 4), (rows,)
    return jt.njit_value_and_grad(logistic, *[Spec(s, dtype) for s in shapes], argnums=argnums)


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_are_those_of_the_tape(dtype):
    value_and_grad = logistic_gradient(dtype)
    arguments = problem(dtype)

    @njit
    def call(w, b, features, labels):
        value, (dw, db) = value_and_grad(w, b, features, labels)
        return value, dw, db

    value, dw, db = call(*arguments)
    expected, (expected_dw, expected_db) = gradient_of(logistic, *arguments, argnums=(0, 1))
    tolerance = 20 * np.finfo(dtype).eps
    assert type(db) in (float, np.float32)
    assert dw.dtype == dtype
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(dw, expected_dw, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(db, expected_db, rtol=tolerance, atol=tolerance)


def test_a_descent_in_njit_reaches_the_minimum():
    value_and_grad = jt.njit_value_and_grad(rosenbrock, Spec([10], jt.float64))

    @njit
    def descend(x, steps):
        gradient = np.empty_like(x)
        value = 0.0
        for _ in range(steps):
            value, _ = value_and_grad(x, out=gradient)
            x -= 1e-3 * gradient
        return value

    x = np.zeros(10)
    assert descend(x, 100_000) < 1e-10
    np.testing.assert_allclose(x, 1.0, atol=1e-4)


def test_several_results_in_nested_tuples():
    def moments(pair, scale):
        x, y = pair
        return jt.reduce_mean(x), (x * scale, [jt.reduce_sum(y), x])

    native = jt.njit_function(moments, (Spec([3], jt.float64), Spec([2], jt.float32)), Spec([], jt.float64))

    @njit
    def call(x, y):
        mean, (scaled, (total, same)) = native((x, y), 2)
        return mean, scaled, total, same

    x, y = np.array([1.0, 2.0, 6.0]), np.array([1.0, 2.0], np.float32)
    mean, scaled, total, same = call(x, y)
    assert (mean, total) == (3.0, 3.0)
    np.testing.assert_array_equal(scaled, [2.0, 4.0, 12.0])
    np.testing.assert_array_equal(same, x)
    same[0] = 100.0
    assert x[0] == 1.0  # a result is never an argument's memory


def test_the_gradient_of_a_tuple_is_a_tuple():
    def energy(pair, x):
        return jt.reduce_sum(pair[0] * x) + pair[1] ** 2

    native = jt.njit_value_and_grad(
        energy, (Spec([2], jt.float64), Spec([], jt.float64)), Spec([2], jt.float64)
    )

    @njit
    def call(a, b, x):
        _, (da, db) = native((a, b), x)
        return da, db

    da, db = call(np.ones(2), 3.0, np.array([5.0, 7.0]))
    np.testing.assert_array_equal(da, [5.0, 7.0])
    assert db == 6.0


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.bool_, np.uint8, np.float32])
def test_results_of_other_dtypes(dtype):
    native = jt.njit_function(lambda x: (x, x[0]), Spec([3], dtype))
    x = np.array([1, 0, 1], dtype)
    whole, first = native(x)
    assert whole.dtype == dtype
    np.testing.assert_array_equal(whole, x)
    assert first == x[0]


def test_constants_and_unused_arguments():
    large = np.arange(1000.0)
    native = jt.njit_function(
        lambda x, unused: (jt.reduce_sum(x * large), 2.0, large[:3]), *[Spec([1000], jt.float64)] * 2
    )
    x = np.ones(1000)
    total, two, head = native(x, x)
    assert (total, two) == (large.sum(), 2.0)
    np.testing.assert_array_equal(head, [0.0, 1.0, 2.0])


def test_a_variable_is_the_constant_that_it_was():
    v = jt.Variable(np.array([1.0, 2.0]))
    native = jt.njit_function(lambda x: v * x, Spec([2], jt.float64))
    v.assign([10.0, 20.0])
    np.testing.assert_array_equal(native(np.ones(2)), [1.0, 2.0])
    after = jt.njit_function(lambda x: v * x, Spec([2], jt.float64))
    np.testing.assert_array_equal(after(np.ones(2)), [10.0, 20.0])


@pytest.mark.parametrize("size", [1, 4, 100])
def test_products_and_large_temporaries(size):
    rng = np.random.default_rng(size)
    a, b = rng.normal(size=(2, size, size))

    def norm(a, b):
        return jt.reduce_sum(jt.square(jt.matmul(jt.tanh(jt.matmul(a, b)), a)))

    native = jt.njit_value_and_grad(norm, *[Spec([size, size], jt.float64)] * 2, argnums=(0, 1))
    value, (da, db) = native(a, b)
    expected, (expected_da, expected_db) = gradient_of(norm, a, b, argnums=(0, 1))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(da, expected_da, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(db, expected_db, rtol=1e-9, atol=1e-9)


def test_large_loops_run_in_tasks():
    native = jt.njit_value_and_grad(
        lambda x: jt.reduce_sum(jt.exp(x) * jt.sin(x)), Spec([300_000], jt.float64)
    )
    assert any(step.tasks > 1 for step in native.schedule.steps)
    x = np.linspace(-1, 1, 300_000)
    value, gradient = native(x)
    np.testing.assert_allclose(value, (np.exp(x) * np.sin(x)).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, np.exp(x) * (np.sin(x) + np.cos(x)), rtol=1e-12, atol=1e-14)


def test_strided_and_read_only_arrays():
    native = jt.njit_function(lambda x: 2.0 * x, Spec([2, 3], jt.float64))
    x = np.arange(6.0).reshape(3, 2).T
    np.testing.assert_array_equal(native(x), 2 * x)
    every_second = np.arange(12.0).reshape(2, 6)[:, ::2]
    np.testing.assert_array_equal(native(every_second), 2 * every_second)
    frozen = np.ones((2, 3))
    frozen.flags.writeable = False
    np.testing.assert_array_equal(native(frozen), 2.0)


def test_empty_arrays():
    native = jt.njit_value_and_grad(jt.reduce_sum, Spec([0], jt.float64))
    value, gradient = native(np.ones(0))
    assert value == 0.0
    assert gradient.shape == (0,)


def test_a_jt_function_inside():
    inner = jt.function(lambda x: jt.reduce_sum(x * x))
    _, gradient = jt.njit_value_and_grad(lambda x: inner(x) * 2.0, Spec([2], jt.float64))(
        np.array([1.0, 2.0])
    )
    np.testing.assert_array_equal(gradient, [4.0, 8.0])


@pytest.mark.parametrize("flags", [True, {"nnan", "ninf"}, {"contract"}, set()], ids=range(4))
def test_a_caller_with_fastmath_keeps_nan_and_inf(flags):
    def function(x):
        return jt.reduce_sum(jt.where(jt.math.is_nan(x), 0.0, jt.exp(x) * x + (x - x)))

    x = np.array([1.0, np.nan, -np.inf, 700.0, np.inf, 3.0])
    native, descent = (
        make(function, Spec([6], jt.float64)) for make in (jt.njit_function, jt.njit_value_and_grad)
    )

    @njit(fastmath=flags)
    def call(x):
        return native(x), native(x[::-1].copy()), descent(x)

    @njit
    def strict(x):
        return native(x), native(x[::-1].copy()), descent(x)

    assert repr(call(x)) == repr(strict(x))
    assert np.isnan(call(x)[0])
    assert call(np.where(np.isfinite(x), x, 1.0))[0] == strict(np.where(np.isfinite(x), x, 1.0))[0] > 1e300


def check_against_the_tape(function, *arrays):
    specs = [Spec(a.shape, a.dtype) for a in arrays]
    value, gradient = jt.njit_value_and_grad(function, *specs)(*arrays)
    expected, (expected_gradient,) = gradient_of(function, *arrays)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_and_products(axis):
    x = np.random.default_rng(axis).normal(size=(3, 4, 2))
    check_against_the_tape(lambda x: jt.reduce_sum(jt.cumsum(x, axis) ** 2), x)
    check_against_the_tape(lambda x: jt.reduce_sum(jt.sin(jt.math.cumprod(x, axis, reverse=True))), x)
    check_against_the_tape(lambda x: jt.reduce_sum(jt.cumsum(x, axis, exclusive=True) * x), x)


@pytest.mark.parametrize("axis", [0, 1])
def test_gathering_with_repeated_and_negative_indices(axis):
    x = np.random.default_rng(3).normal(size=(5, 4, 3))
    group = np.array([[0, 3], [-1, 3]])
    check_against_the_tape(lambda x, i: jt.reduce_sum(jt.gather(x, i, axis=axis) ** 2), x, group)
    check_against_the_tape(lambda x: jt.reduce_sum(jt.gather_nd(x, group) ** 3), x)
    native = jt.njit_function(
        lambda x, i: jt.gather(x, i, axis=axis), Spec(x.shape, jt.float64), Spec([1], jt.int64)
    )
    with pytest.raises(IndexError, match="an index is out of bounds in .*test_numba_bridge.py"):
        native(x, np.array([5]))
    np.testing.assert_array_equal(native(x, np.array([-1])), np.take(x, [-1], axis))


def test_a_failed_check_raises_its_own_error():
    labels, exponents = Spec([3], jt.int64), Spec([3], jt.int64)
    loss = jt.njit_function(
        lambda labels, logits: jt.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        labels,
        Spec([3, 2], jt.float64),
    )
    with pytest.raises(IndexError, match="a label is not a class of the logits in .*test_numba_bridge.py"):
        loss(np.array([0, 1, 2]), np.ones((3, 2)))
    picked_power = jt.njit_function(lambda x, y, i: jt.gather(x**y, i), labels, exponents, labels)
    x = np.array([1, 2, 3])
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        picked_power(x, np.array([1, -2, 3]), np.array([0, 1, 2]))
    with pytest.raises(IndexError, match="an index is out of bounds"):
        picked_power(x, x, np.array([0, 1, 3]))
    repeated = jt.njit_function(
        lambda x, n: jt.fori_loop(0, 3, lambda i, v: v**n, x), labels, Spec([], jt.int64)
    )
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        repeated(x, -1)


@pytest.mark.parametrize("axis", [0, 1])
def test_places_of_extrema(axis):
    x = np.array([[1.0, 5.0, 5.0], [7.0, 2.0, 5.0]])
    native = jt.njit_function(lambda x: (jt.argmax(x, axis), jt.argmin(x, axis)), Spec([2, 3], jt.float64))
    for nan_at in (None, (1, 1), (0, 2)):
        if nan_at:
            x[nan_at] = np.nan
        greatest, least = native(x)
        np.testing.assert_array_equal(greatest, x.argmax(axis))
        np.testing.assert_array_equal(least, x.argmin(axis))


def test_joined_and_shifted_arrays():
    x = np.random.default_rng(4).normal(size=(3, 2))
    check_against_the_tape(lambda x: jt.reduce_sum(jt.concat([x, 2.0 * x[:1]], 0) ** 2), x)
    check_against_the_tape(lambda x: jt.reduce_sum(jt.stack([x[0], x[2]], 1) * jt.roll(x, 1, 0)[:2]), x)


# ---- ways to call ----------------------------------------------------------------------------------------------------


def test_in_a_parallel_loop_as_global_and_as_argument():
    value_and_grad = logistic_gradient()
    _, b, features, labels = problem()
    points = np.random.default_rng(1).normal(size=(200, 4))

    @njit(parallel=True)
    def captured(points):
        gradients = np.empty_like(points)
        for i in prange(len(points)):
            _, (gradients[i], _) = value_and_grad(points[i], b, features, labels)
        return gradients

    @njit(parallel=True)
    def given(function, points):
        gradients = np.empty_like(points)
        for i in prange(len(points)):
            _, (gradients[i], _) = function(points[i], b, features, labels)
        return gradients

    expected = np.array([gradient_of(logistic, p, b, features, labels)[1][0] for p in points])
    np.testing.assert_allclose(captured(points), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(given(value_and_grad, points), expected, rtol=1e-12, atol=1e-15)


def test_one_njit_function_for_several_native_ones():
    @njit
    def apply(function, x):
        return function(x)

    double = jt.njit_function(lambda x: 2.0 * x, Spec([2], jt.float64))
    triple = jt.njit_function(lambda x: 3.0 * x, Spec([2], jt.float64))
    for factor, native in ((2, double), (3, triple), (2, double)):
        np.testing.assert_array_equal(apply(native, np.ones(2)), factor)


def test_results_go_where_out_says():
    native = jt.njit_function(
        lambda x, s: (x * s, jt.reduce_sum(x), x[:2]), Spec([3], jt.float64), Spec([], jt.float64)
    )

    @njit
    def call(x, a, b):
        first, total, second = native(x, 3.0, out=(a, b))
        return first is a, second is b, total

    a, b = np.empty(3), np.empty(2)
    assert call(np.ones(3), a, b) == (True, True, 3.0)
    np.testing.assert_array_equal(a, 3.0)
    np.testing.assert_array_equal(b, 1.0)


def test_out_may_have_strides():
    native = jt.njit_function(
        lambda x: (x + 1.0, 2.0 * x),
        Spec([3], jt.float64),
    )
    memory = np.zeros((3, 4))
    native(np.ones(3), out=(memory[:, 1], memory[::-1, 3]))
    np.testing.assert_array_equal(memory, [[0.0, 2.0, 0.0, 2.0]] * 3)
    x = np.arange(6.0)
    native(x[::2], out=(x[::2], np.empty(3)))
    np.testing.assert_array_equal(x, [1.0, 1.0, 3.0, 3.0, 5.0, 5.0])


def test_eight_threads_at_once():
    value_and_grad = logistic_gradient(rows=200)
    _, b, features, labels = problem(rows=200)
    points = np.random.default_rng(2).normal(size=(16, 4))
    expected = [gradient_of(logistic, p, b, features, labels)[1][0] for p in points]

    @njit(nogil=True)
    def repeat(point, first, rounds):
        wrong = 0
        for _ in range(rounds):
            _, (gradient, _) = value_and_grad(point, b, features, labels)
            wrong += np.any(gradient != first)
        return wrong

    wrong = []

    def work(number):
        for point, exact in list(zip(points, expected, strict=True))[number::2]:
            _, (first, _) = value_and_grad(point, b, features, labels)
            np.testing.assert_allclose(first, exact, rtol=1e-12, atol=1e-15)
            wrong.append(repeat(point, first, 2000))

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0] * 64


def test_compiled_code_keeps_the_function():
    def build():
        data = np.arange(5000.0)
        return jt.njit_function(lambda x: jt.reduce_sum(x * data), Spec([5000], jt.float64))

    @njit
    def inner(function, x):
        return function(x)

    @njit
    def outer(function, x):
        return inner(function, x) + 1.0

    def call(function):
        return outer(function, np.ones(5000))

    assert call(build()) == np.arange(5000.0).sum() + 1
    gc.collect()
    filler = [np.full(5000, 7.0) for _ in range(100)]  # takes the memory of what was given back
    assert call(build()) == np.arange(5000.0).sum() + 1
    del filler


def test_an_unused_function_is_forgotten():
    native = weakref.ref(jt.njit_function(lambda x: x + 41.0, Spec([5], jt.float64)))
    gc.collect()
    assert native() is None


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_equal_functions_are_one(size):
    def build(shift):
        values = np.full(size, shift)
        return jt.njit_function(lambda x: x + values, Spec([size], jt.float64))

    one, other, same = build(1.0), build(2.0), build(1.0)
    assert one is same
    assert one is not other
    np.testing.assert_array_equal(other(np.ones(size)), 3.0)
    np.testing.assert_array_equal(one(np.ones(size)), 2.0)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_wrong_shape_is_said_by_name():
    native = jt.njit_value_and_grad(rosenbrock, Spec([10], jt.float64))

    @njit
    def call(x):
        return native(x)[0]

    assert call(np.ones(10)) == 0.0
    with pytest.raises(
        ValueError, match=r"rosenbrock: argument 'x' must have shape \(10,\), but has another"
    ):
        call(np.ones(9))
    assert call(np.ones(10)) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones(3, np.float32), 1.0), r"f: argument 'x' must be float64\[3\], got array\(float32"),
        ((np.ones((3, 1)), 1.0), r"f: argument 'x' must be float64\[3\], got array\(float64, 2d"),
        ((1.0, 1.0), r"f: argument 'x' must be float64\[3\], got float64"),
        ((np.ones(3), 1j), r"f: argument 's' must be float64\[\], got complex128"),
        ((np.ones(3),), r"missing a required argument: 's'"),
        (
            (np.ones(3), 1.0, np.ones(3, np.float32)),
            r"'out' must be a writable array, float64\[3\]",
        ),
        ((np.ones(3), 1.0, (np.ones(3), np.ones(3))), r"'out' must contain 1 arrays"),
    ],
)
def test_wrong_types_do_not_compile(arguments, message):
    def f(x, s):
        return x * s

    native = jt.njit_function(f, Spec([3], jt.float64), Spec([], jt.float64))
    with pytest.raises(TypingError, match=message):
        native(*arguments)


@pytest.mark.parametrize(
    ("dtype", "fits", "others"),
    [
        (jt.uint8, [0, 255, np.uint8(7), True], [-1, 256, 300, np.int64(2**40)]),
        (jt.int32, [-(2**31), 2**31 - 1, np.int8(-3)], [2**31 + 5, -(2**31) - 1]),
        (jt.int64, [-(2**63), 5], []),
        (jt.uint64, [0, 2**63 - 1], [-1]),
    ],
)
def test_ints_that_do_not_fit_are_refused(dtype, fits, others):
    native = jt.njit_function(
        lambda x, pair: (x * 1, pair[0] * 1), Spec([], dtype), (Spec([], jt.int8), Spec([2]))
    )

    @njit
    def call(x, small):
        return native(x, (small, np.ones(2, np.float32)))

    for number in fits:
        assert call(number, -128) == (number, -128)
    for number in others:
        with pytest.raises(OverflowError, match="argument 'x' is an int that does not fit"):
            call(number, 1)
    with pytest.raises(OverflowError, match=r"argument 'pair\[0\]' is an int that does not fit int8"):
        call(1, 128)


def test_out_must_not_overlap():
    native = jt.njit_function(lambda x: (x + 1.0, x + 2.0), Spec([3], jt.float64))
    memory = np.zeros(10)
    x = memory[7:]
    for first, second in ((0, 2), (2, 0), (5, 0), (0, 6), (4, 4)):
        with pytest.raises(ValueError, match="shares memory"):
            native(x, out=(memory[first : first + 3], memory[second : second + 3]))
    np.testing.assert_array_equal(memory, 0.0)
    native(x, out=(memory[:3], memory[3:6]))
    np.testing.assert_array_equal(memory, [1, 1, 1, 2, 2, 2, 0, 0, 0, 0])
    with pytest.raises(ValueError, match=r"argument 'out' must have shape \(3,\)"):
        native(x, out=(np.empty(4), np.empty(3)))


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_numbers(dtype):
    x = np.array([1 + 2j, -0.5 + 1j, 3j], dtype)
    native = jt.njit_function(lambda z: (jt.abs(z * z + 1.0), jt.exp(z)), Spec([3], dtype))

    @njit
    def called(z):
        return native(z)

    sizes, exponentials = called(x)
    np.testing.assert_allclose(sizes, np.abs(x * x + 1), rtol=1e-6)
    np.testing.assert_allclose(exponentials, np.exp(x), rtol=1e-6)
    assert (sizes.dtype, exponentials.dtype) == (x.real.dtype, x.dtype)


def test_what_needs_python_is_refused():
    spec = Spec([3], jt.float64)
    v = jt.Variable(np.ones(3), name="weights")

    def looks(x):
        return x if x[0] > 0 else -x

    def assigns(x):
        v.assign(x)
        return x

    with pytest.raises(
        TypeError, match=r"looks cannot be compiled for Numba: .* bool\(\) at .*test_numba_bridge"
    ):
        jt.njit_function(looks, spec)
    with pytest.raises(TypeError, match=r"assigns cannot be .*Variable 'weights:0'"):
        jt.njit_function(assigns, spec)
    with pytest.raises(TypeError, match=r"draws random numbers"):
        jt.njit_function(lambda x: x + jt.random.normal([3], dtype=jt.float64), spec)
    with pytest.raises(TypeError, match="returns dict"):
        jt.njit_function(lambda x: {"x": x}, spec)
    with pytest.raises(TypeError, match=r"argument 'x' must be a jt.TensorSpec"):
        jt.njit_function(lambda x: x, np.ones(3))
    with pytest.raises(TypeError, match=r"must return one scalar tensor .* shape \(3,\)"):
        jt.njit_value_and_grad(lambda x: x * 2.0, spec)
    with pytest.raises(TypeError, match="dtype int64 has no gradient"):
        jt.njit_value_and_grad(lambda n, x: jt.reduce_sum(x), Spec([2], jt.int64), spec)
    np.testing.assert_array_equal(v.numpy(), 1.0)
