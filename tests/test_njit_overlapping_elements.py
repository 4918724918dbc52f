"""Arguments of ``@njit`` functions whose elements share memory, as those of windows and broadcast views do."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from jittape.numba_ad.tape_support import overlaps_itself
from njit_as_python import as_python

njit = numba.njit


class State(NamedTuple):
    x: np.ndarray
    scale: float


@njit
def doubled(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] * 2.0
    return np.sum(x * x)


@njit
def read_only(x):
    return np.sum(x * x * x)


@njit
def of_tuple(pair, y):
    pair[0][0, 0] = pair[0][0, 1] * y
    return np.sum(pair[0]) * y


@njit
def of_state(state, y):
    state.x[0, 0] = state.x[0, 1] * y
    return np.sum(state.x) * y


def windows():
    """Return the windows of length two of four numbers; inner elements of rows share memory."""
    return as_strided(np.arange(1.0, 5.0), (3, 2), (8, 8))


ONES = np.ones((3, 2))
VALUE_AND_GRADIENT, JVP = jt.njit_value_and_grad(doubled), jt.njit_jvp(doubled)
SECOND, THIRD = jt.njit_hvp(doubled), jt.njit_jvp(jt.njit_hvp(doubled), 1)
CALLS = {
    "gradient": (jt.njit_grad(doubled), lambda x: (x,), "x of doubled"),
    "value": (VALUE_AND_GRADIENT, lambda x: (x,), "x of doubled"),
    "vjp": (
        gradient_of_dispatcher(doubled, 0, "vjp", "njit_grad", False),
        lambda x: (1.0, x),
        "x of doubled",
    ),
    "forward": (JVP, lambda x: (ONES, x), "x of doubled"),
    "second": (SECOND, lambda x: (ONES, x), "x of doubled"),
    "third": (THIRD, lambda x: (ONES, ONES, x), "x of doubled"),
    "tuple": (jt.njit_grad(of_tuple, 1), lambda x: ((x, 3.0), 2.0), r"pair\[0\] of of_tuple"),
    "named tuple": (jt.njit_grad(of_state, 1), lambda x: (State(x, 3.0), 2.0), r"state\[0\] of of_state"),
}


@pytest.mark.parametrize("name", CALLS)
def test_written_arguments_that_overlap_themselves_are_refused(name):
    gradient, arguments, shown = CALLS[name]
    run = gradient if name in ("vjp", "second") else as_python(gradient, arguments(windows()))
    message = f"the argument {shown}.* overlaps itself in memory, and the function writes it; pass a copy"
    with pytest.raises(ValueError, match=message):
        run(*arguments(windows()))
    run(*arguments(np.ones((6, 4))[::2, ::2]))  # of the same type as the windows


def test_njit_code_that_calls_a_gradient_gets_the_error():
    gradient = jt.njit_grad(doubled)

    @njit
    def caller(x):
        return gradient(x)

    with pytest.raises(ValueError, match="x of doubled overlaps itself"):
        caller(windows())


def test_each_element_of_a_view_that_is_only_read_has_a_derivative():
    x = windows()
    np.testing.assert_allclose(jt.njit_grad(read_only)(x), 3 * x * x)
    np.testing.assert_allclose(jt.njit_jvp(read_only)(ONES, x)[1], np.sum(3 * x * x))
    np.testing.assert_allclose(jt.njit_hvp(read_only)(ONES, x), 6 * x)
    rows = np.broadcast_to(np.arange(3.0), (2, 3))
    np.testing.assert_allclose(jt.njit_grad(read_only)(rows), 3 * rows * rows)
    # A tangent that is a broadcast view is copied before the function's writes go into it.
    tangent = np.broadcast_to(np.array([1.0, 2.0]), (3, 2))
    np.testing.assert_allclose(jt.njit_jvp(doubled)(tangent, ONES.copy())[1], 8 * np.sum(tangent))


def test_contiguous_arguments_are_not_checked():
    strided = np.ones((6, 4))[::2, ::2]
    assert "overlaps_itself" in jt.njit_grad(doubled).inspect(strided)
    assert "overlaps_itself" not in jt.njit_grad(read_only).inspect(strided)
    for order in "CF":
        assert "overlaps_itself" not in jt.njit_grad(doubled).inspect(np.ones((3, 2), order=order))


def test_strided_arrays_are_refused_if_their_elements_overlap():
    choose = np.random.default_rng(0)
    memory = np.zeros(400)
    found = {False: 0, True: 0}
    for _ in range(3000):
        rank = choose.integers(1, 4)
        shape = (
            tuple(choose.integers(0, 5, rank))
            if choose.random() < 0.1
            else tuple(choose.integers(1, 5, rank))
        )
        strides = tuple(8 * choose.integers(-12, 13, rank))
        x = as_strided(memory[200:], shape, strides)
        places = np.zeros(shape, np.int64)
        for axis, (count, stride) in enumerate(zip(shape, strides, strict=True)):
            places += stride * np.arange(count).reshape([-1 if axis == k else 1 for k in range(rank)])
        shared = np.unique(places).size < places.size
        assert overlaps_itself(x) or not shared
        found[shared] += 1
    assert min(found.values()) > 300


def test_slices_and_transposed_slices_do_not_overlap():
    choose = np.random.default_rng(1)
    for _ in range(300):
        x = np.zeros(choose.integers(1, 7, 3))
        steps = [slice(None, None, choose.choice([-3, -2, -1, 1, 2, 3])) for _ in range(3)]
        x = x[tuple(steps)].transpose(choose.permutation(3))
        assert not overlaps_itself(x)
        assert not overlaps_itself(x[:, choose.integers(x.shape[1])])
