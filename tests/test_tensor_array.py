"""`TensorArray`: reads, writes, stacks, gradients and errors."""

import numpy as np
import pytest

import jittape as jt


def test_writes_are_stacked_and_differentiated():
    v = jt.Variable([1.0, 2.0])
    for _ in range(3):
        with jt.GradientTape() as tape:
            powers = jt.TensorArray(jt.float32, size=0, dynamic_size=True)
            for i in range(4):
                powers = powers.write(i, v**i)
            total = jt.reduce_sum(powers.stack() * [[1.0], [2.0], [3.0], [4.0]])
        np.testing.assert_allclose(
            tape.gradient(total, v).numpy(), [2 + 6 * x + 12 * x**2 for x in (1.0, 2.0)]
        )
    assert powers.size() == 4
    assert powers.stack().shape == (4, 2)


def test_parts_of_a_tensor():
    array = jt.TensorArray(jt.float64, size=3, clear_after_read=False).unstack(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    )
    np.testing.assert_array_equal(array.read(1).numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(array.gather([2, 0]).numpy(), [[5.0, 6.0], [1.0, 2.0]])
    np.testing.assert_array_equal(array.concat().numpy(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    parts = jt.TensorArray(jt.float64, size=2).split(np.arange(5.0), [2, 3])
    np.testing.assert_array_equal(parts.concat().numpy(), np.arange(5.0))
    scattered = jt.TensorArray(jt.float32, size=3).scatter([2, 0], [1.0, 2.0])
    np.testing.assert_array_equal(scattered.stack().numpy(), [2.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: a.write(3, [1.0, 2.0]), jt.errors.OutOfRangeError, "dynamic_size=True"),
        (lambda a: a.write(-1, [1.0, 2.0]), jt.errors.OutOfRangeError, "index is -1"),
        (lambda a: a.read(3), jt.errors.OutOfRangeError, "3 elements"),
        (lambda a: a.write(1, [1.0]), jt.ShapeError, r"shape \(1,\), but .* shape \(2,\)"),
        (lambda a: (a.read(0), a.read(0)), jt.errors.InvalidArgumentError, "clear_after_read=False"),
        (lambda a: (a.read(0), a.stack()), jt.errors.InvalidArgumentError, "clear_after_read=False"),
        (lambda a: a.unstack(np.ones((4, 2), np.float32)), jt.errors.OutOfRangeError, "4 elements"),
        (lambda a: jt.TensorArray(jt.float32, size=2).stack(), ValueError, "was not written"),
    ],
)
def test_errors_name_the_element(call, error, message):
    array = jt.TensorArray(jt.float32, size=3).write(0, [1.0, 2.0])
    with pytest.raises(error, match=message):
        call(array)
    assert array.size() == 3


# ---- as a loop variable ----------------------------------------------------------------------------------------------


def powers_of(v, n, **options):
    """Return ``[v**0, ..., v**(n - 1)]`` from a loop that writes them to an array."""

    def body(i, power, array):
        return i + 1, power * v, array.write(i, power)

    array = jt.TensorArray(jt.float64, size=n, **options)
    return jt.while_loop(lambda i, *_: i < n, body, (0, jt.ones_like(v), array))[2]


@pytest.mark.parametrize("options", [{}, {"element_shape": (2,)}], ids=["found", "given"])
@pytest.mark.parametrize("decorate", [lambda f: f, jt.function], ids=["plain", "function"])
def test_an_array_may_be_a_loop_variable(options, decorate):
    @decorate
    def step(v):
        with jt.GradientTape() as tape:
            tape.watch(v)
            stacked = powers_of(v, 4, **options).stack()
            total = jt.reduce_sum(stacked * [[1.0], [2.0], [3.0], [4.0]])
        return stacked, tape.gradient(total, v)

    x = np.array([1.5, 2.0])
    for _ in range(3):
        stacked, gradient = step(jt.constant(x))
        np.testing.assert_allclose(stacked.numpy(), [x**i for i in range(4)])
        np.testing.assert_allclose(gradient.numpy(), 2 + 6 * x + 12 * x**2)


def test_loops_read_what_they_have_written():
    """The Fibonacci numbers, as in TensorFlow's page of `TensorArray`."""

    @jt.function
    def fibonacci(n):
        array = jt.TensorArray(jt.int64, size=12, clear_after_read=False, element_shape=())
        array = array.write(1, jt.constant(1, jt.int64))

        def body(i, array):
            return i + 1, array.write(i, array.read(i - 1) + array.read(i - 2))

        _, array = jt.while_loop(lambda i, array: i < n, body, [2, array])
        return array.stack(), array.gather([3, 5]), array.read(6), array.size()

    for _ in range(3):
        stacked, some, one, size = fibonacci(jt.constant(8))
        np.testing.assert_array_equal(stacked.numpy(), [0, 1, 1, 2, 3, 5, 8, 13, 0, 0, 0, 0])
        assert (some.numpy().tolist(), int(one), int(size)) == ([2, 5], 8, 12)
    again = powers_of(jt.constant([2.0, 3.0], jt.float64), 3)
    again = again.write(0, [7.0, 8.0])
    np.testing.assert_array_equal(again.concat().numpy(), [7.0, 8.0, 2.0, 3.0, 4.0, 9.0])
    (last,) = jt.while_loop(
        lambda a: jt.less(a.read(0)[0], 100.0), lambda a: a.write(0, a.read(0) * 2.0), [again]
    )
    np.testing.assert_array_equal(last.stack().numpy()[0], [112.0, 128.0])


@pytest.mark.parametrize(
    ("array", "body", "error", "message"),
    [
        (
            {"size": 2},
            lambda i, a: (i + 1, a.write(i, 1.0)),
            IndexError,
            "index 2 is out of bounds",
        ),
        (
            {"size": 2},
            lambda i, a: (i + 1, a.write(i - 1, 1.0)),
            IndexError,
            "index 2 is out of bounds",
        ),
        ({"size": 2}, lambda i, a: (i + 1, a.write(5, 1.0)), jt.errors.OutOfRangeError, "index is 5"),
        ({"size": 2}, lambda i, a: (i + 1, a.write(i, a.read(i))), jt.ControlFlowError, "element_shape"),
        ({"size": 4}, lambda i, a: (i + 1, a.write(i, 1.0).write(i, [1.0])), jt.ShapeError, r"shape \(1,\)"),
        ({"size": 4}, lambda i, a: (i + 1, a.unstack([1.0] * 4)), jt.ControlFlowError, "element by element"),
    ],
)
def test_errors_of_loop_variables(array, body, error, message):
    with pytest.raises(error, match=message):
        jt.while_loop(lambda i, a: i < 3, body, (0, jt.TensorArray(jt.float32, **array)))[1].stack().numpy()


@pytest.mark.parametrize("upper", [4, jt.constant(4)], ids=["known", "tensor"])
def test_a_fori_loop_carries_an_array(upper):
    def total(x):
        def body(i, value):
            array, power = value
            return array.write(i, power * x), power * x

        array, last = jt.fori_loop(0, upper, body, (jt.TensorArray(jt.float64, size=4), jt.ones_like(x)))
        return jt.reduce_sum(array.stack() * [1.0, 2.0, 3.0, 4.0]) + last

    x = jt.constant(1.5, jt.float64)
    expected = sum((k + (k == 4)) * k * 1.5 ** (k - 1) for k in range(1, 5))
    for f in (jt.grad(total), jt.function(jt.grad(total))):
        np.testing.assert_allclose(f(x).numpy(), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: jt.scan(lambda a, x: a.write(0, x), jt.ones([3]), a), r"\[scan\].*fn returns the element"),
        (lambda a: jt.foldl(lambda a, x: a.write(0, x), jt.ones([3]), a), r"\[foldl\].*use fori_loop"),
        (lambda a: jt.cond(jt.constant(True), lambda: a, lambda: a), r"\[cond\].*write it afterward"),
        (lambda a: jt.switch_case(jt.constant(0), [lambda: a] * 2), r"\[switch_case\].*write it afterward"),
        (lambda a: jt.map_fn(lambda x: a, jt.ones([3])), r"\[map_fn\].*return its stack\(\)"),
    ],
)
def test_control_flow_without_arrays_names_the_way_out(call, message):
    with pytest.raises(jt.ControlFlowError, match=message):
        call(jt.TensorArray(jt.float32, size=3))


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match=r"\[TensorArray\] size must not be negative, got -1"):
        jt.TensorArray(jt.float32, size=-1)


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning")
@pytest.mark.parametrize("is_compiled", [False, True])
def test_an_array_that_grows_in_a_while_loop(is_compiled):
    """As in TensorFlow; such a loop runs in Python."""

    def decode(start, steps, limit=None):
        array = jt.TensorArray(jt.float32, size=0, dynamic_size=True)
        i, x, array = jt.while_loop(
            lambda i, x, array: i < steps,
            lambda i, x, array: (i + 1, x * 2, array.write(i, x)),
            (0, start, array),
            maximum_iterations=limit,
        )
        return array.stack(), x, i

    f = jt.function(decode) if is_compiled else decode
    for steps in (3, 1, 4):
        start = jt.Variable([1.0, 3.0])
        with jt.GradientTape() as tape:
            rows, last, count = f(start, jt.constant(steps))
            total = jt.reduce_sum(rows)
        np.testing.assert_array_equal(rows.numpy(), [[2.0**i, 3 * 2.0**i] for i in range(steps)])
        np.testing.assert_array_equal(last.numpy(), [2.0**steps, 3 * 2.0**steps])
        assert int(count) == steps
        np.testing.assert_array_equal(tape.gradient(total, start).numpy(), [2.0**steps - 1] * 2)
    assert f(jt.ones([2]), jt.constant(9), 2)[0].shape == (2, 2)
    assert f(jt.ones([2]), jt.constant(9), 2)[2].dtype == jt.int32


def test_a_growing_array_needs_the_structure_of_the_loop_variables():
    array = jt.TensorArray(jt.float32, size=0, dynamic_size=True)
    with pytest.raises(jt.ControlFlowError, match="same structure"):
        jt.while_loop(lambda i, a: i < 2, lambda i, a: i + 1, (0, array))
    with pytest.raises(TypeError, match="bool"):
        jt.while_loop(lambda i, a: i, lambda i, a: (i + 1, a), (0, array))
    with pytest.raises(jt.ControlFlowError, match="size=n"):
        jt.fori_loop(0, 3, lambda i, a: a.write(i, 1.0), array)
