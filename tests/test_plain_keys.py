"""Keys of plain ints and slices, whose analysis is remembered, and NumPy numbers as operands."""

import numpy as np
import pytest

import jittape as jt

X = np.arange(60.0).reshape(3, 4, 5)
BOUNDS = (None, -9, -2, 0, 1, 2, 7)


def keys(count):
    """Random keys; equal ones occur again with other shapes, and True is no 1."""
    rng = np.random.default_rng()
    for _ in range(count):
        parts = []
        for size in rng.permutation(X.shape[: rng.integers(0, 4)]):
            kind = rng.integers(0, 6)
            if kind == 0:
                parts.append(int(rng.integers(-size, size)) if size < 4 else 0)
            elif kind == 1:
                parts.append(None)
            else:
                start, stop = (BOUNDS[i] for i in rng.integers(0, len(BOUNDS), 2))
                parts.append(slice(start, stop, (None, 1, 2, -1)[rng.integers(0, 4)]))
        if rng.random() < 0.3:
            parts.insert(rng.integers(0, len(parts) + 1), Ellipsis)
        yield tuple(parts) if rng.random() < 0.8 or len(parts) != 1 else parts[0]


@pytest.mark.parametrize("shape", [(3, 4, 5), (5, 4, 3), (4, 3, 5)])
def test_keys(shape):
    array = X.reshape(shape)
    tensor = jt.constant(array)
    for key in keys(300):
        for _ in range(2):
            found = tensor[key]
            assert found.shape == array[key].shape, key
            np.testing.assert_array_equal(found.numpy(), array[key], err_msg=str(key))


def test_true_is_not_one():
    tensor = jt.constant(X)
    for key in ((1, 0), (True, 0), (1, 0), (np.True_, 0), (0, slice(0, 1)), (0, slice(False, True))):
        np.testing.assert_array_equal(tensor[key].numpy(), X[key])


def test_bad_keys_raise_each_time():
    tensor = jt.constant(X)
    for key in ((3, 0), (0, 0, 0, 0), (Ellipsis, Ellipsis)):
        for _ in range(2):
            with pytest.raises(IndexError):
                tensor[key]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "complex64"])
@pytest.mark.parametrize(
    "number", [np.float64(0.1), np.float64("nan"), np.float32(0.1), np.int64(3), 3, 2**40]
)
def test_numbers_keep_their_dtype(dtype, number):
    array = np.ones(2, dtype)
    try:
        with np.errstate(over="ignore"):
            wanted = array * number
    except OverflowError:
        with pytest.raises(OverflowError):
            jt.constant(array) * number
        return
    for _ in range(3):
        found = (jt.constant(array) * number).numpy()
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", ">f8", "int8", "uint32", "bool", "complex128"]
)
def test_arrays_as_operands(dtype, order):
    """The values at the time of the call count, whatever the layout of the array."""
    array = np.array(np.arange(6).reshape(2, 3) % 2, dtype, order=order)
    for operand in (
        array,
        array.T,
        array[:, ::-1],
        np.broadcast_to(array[0], (2, 3)),
        array[:0],
        array[0, 0:1],
    ):
        tensor = jt.constant(np.full(operand.shape, 2.0))
        with jt.GradientTape() as tape:
            tape.watch(tensor)
            result = tensor * operand
        wanted = 2.0 * operand.astype("complex128" if operand.dtype.kind == "c" else "float64")
        if operand.flags.writeable:
            operand[...] = 1
        np.testing.assert_array_equal(result.numpy(), wanted)
        array[...] = np.arange(6).reshape(2, 3) % 2


def test_large_arrays_are_copied():
    array = np.ones(100_000)
    product = jt.constant(np.float64(3.0)) * array
    array[:] = 5.0
    np.testing.assert_array_equal(product.numpy(), np.full(100_000, 3.0))


def test_arrays_that_are_no_numbers_are_refused():
    tensor = jt.constant(np.ones(2))
    for array in (np.array(["a", "b"]), np.array([None, 1]), np.array(["2020-01-01"] * 2, "datetime64[D]")):
        for _ in range(2):
            with pytest.raises(TypeError):
                tensor * array
