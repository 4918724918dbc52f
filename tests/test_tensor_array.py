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
