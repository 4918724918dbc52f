"""Segments: gradients at ties and zeros, errors at run time, batches, forward mode, functions and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from primitive_table_segments import REDUCE, empty_segment, reduced

IDS = np.array([1, 0, -1, 1, 3, 0])


def drawn(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


def unsorted(how: str) -> Callable[..., Any]:
    return getattr(jt.math, f"unsorted_segment_{how}")


def sorted_(how: str) -> Callable[..., Any]:
    return getattr(jt.math, f"segment_{how}")


# ---- values and gradients --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint8", "complex64"])
@pytest.mark.parametrize("how", REDUCE)
def test_an_empty_segment(how: str, dtype: str, mode: str) -> None:
    if (dtype == "complex64" and how in ("max", "min")) or (how == "sqrt_n" and dtype in ("int32", "uint8")):
        with pytest.raises(TypeError, match=rf"\[unsorted_segment_{how}\] is not defined for {dtype}"):
            unsorted(how)(np.ones(2, dtype), [0, 2], 4)
        return
    for _ in range(2):
        found = unsorted(how)(jt.constant(np.array([2, 3], dtype)), jt.constant([0, 2]), 4)
    wanted = empty_segment(how, dtype)
    assert found.tolist() == [2, wanted, 3, wanted]
    assert found.dtype == ("float64" if how == "mean" and dtype in ("int32", "uint8") else dtype)
    if how != "sqrt_n":
        filled = sorted_(how)(np.array([2, 3], dtype), [0, 2])
        assert filled.tolist() == [2, int(how == "prod"), 3]


@pytest.mark.parametrize(
    ("how", "values", "wanted"),
    [
        ("max", [2.0, 5.0, 2.0, 2.0], [1 / 3, 10.0, 1 / 3, 1 / 3]),
        ("min", [2.0, 5.0, 2.0, 2.0], [1 / 3, 10.0, 1 / 3, 1 / 3]),
        ("max", [-np.inf, 5.0, -np.inf, 1.0], [0.0, 10.0, 0.0, 1.0]),
        ("min", [np.inf, np.inf, np.inf, np.inf], [1 / 3, 10.0, 1 / 3, 1 / 3]),
        ("prod", [0.0, 5.0, 2.0, 3.0], [6.0, 10.0, 0.0, 0.0]),
        ("prod", [0.0, 5.0, 0.0, 3.0], [0.0, 10.0, 0.0, 0.0]),
    ],
)
def test_gradients_at_ties_and_zeros(how: str, values: list[float], wanted: list[float], mode: str) -> None:
    x = jt.Variable(np.array(values))
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(unsorted(how)(x, jt.constant([0, 1, 0, 0]), 2) * jt.constant([1.0, 10.0]))
        np.testing.assert_allclose(tape.gradient(y, x), wanted, rtol=1e-14)


def test_every_derivative_of_a_product_with_zeros(mode: str) -> None:
    x = np.array([0.0, 7.0, 0.0, 3.0])
    ids = jt.constant([0, 1, 0, 0])

    def product(x: Any) -> Any:
        return jt.reduce_sum(jt.math.unsorted_segment_prod(x, ids, 2))

    wanted = np.zeros((4, 4))
    wanted[0, 2] = wanted[2, 0] = 3.0
    for _ in range(2):
        np.testing.assert_array_equal(jt.hessian(product)(x), wanted)
        third = jt.jacobian(jt.hessian(product))(x)
        assert third[0, 2, 3] == third[3, 0, 2] == 1.0
        assert np.sum(np.abs(third)) == 6.0


def test_infinite_elements_stay_in_their_segment(mode: str) -> None:
    x = jt.Variable(np.array([np.inf, 2.0, np.nan, 4.0, 5.0]))
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = jt.math.unsorted_segment_prod(x, jt.constant([0, 1, 2, 1, 0]), 3)
        gradient = tape.gradient(y, x)
        np.testing.assert_array_equal(y, [np.inf, 8.0, np.nan])
        np.testing.assert_array_equal(gradient, [5.0, 4.0, 1.0, 2.0, np.inf])


@pytest.mark.parametrize("how", REDUCE)
def test_a_dropped_row_has_no_influence(how: str, mode: str) -> None:
    x = jt.Variable(np.array([np.nan, 2.0, np.inf, 3.0]))
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = unsorted(how)(x, jt.constant([-1, 1, -5, 1]), 2)
        gradient = tape.gradient(y, x)
        assert np.isfinite(y.numpy()).all()
        assert gradient.tolist()[0] == gradient.tolist()[2] == 0.0


@pytest.mark.parametrize("how", REDUCE)
def test_ids_of_several_dimensions_and_of_none(how: str, mode: str) -> None:
    data, ids = drawn(2, 3, 2), np.array([[1, 0, 1], [1, 2, -1]])
    for _ in range(2):
        found = unsorted(how)(jt.constant(data), jt.constant(ids), 3)
        np.testing.assert_allclose(found, reduced(how, data, ids, 3, 0), rtol=1e-14)
        single = unsorted(how)(jt.constant(data), jt.constant(1), 2)
        np.testing.assert_array_equal(single[1], data)


@pytest.mark.parametrize("how", [how for how in REDUCE if how != "sqrt_n"])
def test_sorted_ids(how: str, mode: str) -> None:
    x, ids = jt.Variable(drawn(6, 2)), np.array([0, 0, 2, 2, 2, 3])
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            ordered = sorted_(how)(x, jt.constant(ids))
            same = unsorted(how)(x, ids, 4)
            ordered_sum, same_sum = (jt.reduce_sum(jt.gather(y, [0, 2, 3]) ** 2) for y in (ordered, same))
        assert ordered.shape == (4, 2)
        np.testing.assert_array_equal(tape.gradient(ordered_sum, x), tape.gradient(same_sum, x))


# ---- transformations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", REDUCE)
def test_forward_mode_batches_functions_and_loops(how: str, mode: str) -> None:
    x, tangent, ids = drawn(6, 2), drawn(6, 2)[::-1].copy(), jt.constant(IDS)

    def f(x: Any) -> Any:
        return unsorted(how)(x, ids, 4)[:2]

    jacobian = jt.jacobian(f)(x)
    for _ in range(2):
        value, along = jt.jvp(f, [x], [tangent])
        np.testing.assert_allclose(value, reduced(how, x, IDS, 4, 0)[:2], rtol=1e-14)
        np.testing.assert_allclose(along, np.einsum("abij,ij->ab", jacobian, tangent), rtol=1e-12)
        stack = np.stack([x, 2 * x, -x])
        batch = jt.vectorized_map(f, jt.constant(stack))
        np.testing.assert_allclose(batch, np.stack([f(y) for y in stack]), rtol=1e-13)
        np.testing.assert_array_equal(jt.function(f)(x), f(x))
        sums = jt.scan(lambda total, y: total + f(y), jt.constant(stack), jt.zeros([2, 2], jt.float64))
        np.testing.assert_allclose(sums, np.cumsum(batch, 0), rtol=1e-13)
    jt.check_gradient(lambda x: jt.reduce_sum(f(x) ** 2), x)


def test_a_batch_of_ids(mode: str) -> None:
    ids = np.array([[0, 1, 0], [2, -1, 2]])
    for _ in range(2):
        found = jt.vectorized_map(
            lambda i: jt.math.unsorted_segment_sum(jt.constant([1.0, 2.0, 4.0]), i, 3), jt.constant(ids)
        )
        assert found.tolist() == [[5.0, 2.0, 0.0], [0.0, 0.0, 5.0]]


def test_the_number_of_sorted_segments_is_read() -> None:
    @jt.function
    def total(x: Any, ids: Any) -> Any:
        return jt.math.segment_sum(x, ids)

    with pytest.warns(
        jt.FunctionWarning, match=r"needed by segment_sum\(\) .* compiled, use unsorted_segment_sum"
    ):
        assert total(jt.constant([1.0, 2.0]), jt.constant([0, 1])).tolist() == [1.0, 2.0]
    with pytest.raises(
        ValueError, match=r"needs the value .* for segment_sum\(\) .*; or use unsorted_segment_sum"
    ):
        jt.while_loop(
            lambda i, s: i < 3,
            lambda i, s: (i + 1, s + jt.math.segment_sum([1.0], jt.reshape(i, [1]))[0]),
            (0, 0.0),
        )


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [False, True])
@pytest.mark.parametrize("how", REDUCE)
def test_an_id_out_of_range_is_named(how: str, function: bool, mode: str) -> None:
    def f(x: Any, ids: Any) -> Any:
        return jt.reduce_sum(unsorted(how)(x, ids, 3))

    run: Callable[..., Any] = jt.function(f) if function else f
    x, good, bad = jt.constant(drawn(3)), jt.constant([0, 2, -1]), jt.constant([0, -1, 3])
    message = rf"\[unsorted_segment_{how}\] segment_ids\[2\] = 3 is out of range: .* num_segments=3"
    for _ in range(3):
        assert np.isfinite(float(run(x, good)))
        with pytest.raises(IndexError, match=message):
            float(run(x, bad))
    with pytest.raises(IndexError, match=message):
        unsorted(how)(x, [0, -1, 3], 3)


def test_a_failed_step_changes_nothing() -> None:
    table = jt.Variable(drawn(400, 20))
    before = table.numpy().copy()

    @jt.function
    def step(ids: Any) -> None:
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.square(jt.math.unsorted_segment_mean(table, ids, 5)))
        table.assign_sub(tape.gradient(loss, table))

    ids = np.arange(400) % 5
    for _ in range(3):
        step(jt.constant(ids))
    assert not np.array_equal(table.numpy(), before)
    before = table.numpy().copy()
    with pytest.raises(IndexError, match=r"segment_ids\[399\] = 5"):
        step(jt.constant(np.where(np.arange(400) == 399, 5, ids)))
    np.testing.assert_array_equal(table.numpy(), before)


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (
            lambda m: m.unsorted_segment_sum([1.0, 2.0], [0], 1),
            ValueError,
            r"\[unsorted_segment_sum\] the shape of data \(2,\) must start with the shape of segment_ids \(1,\)",
        ),
        (
            lambda m: m.unsorted_segment_sum([1.0], [0.0], 1),
            TypeError,
            r"\[unsorted_segment_sum\] segment_ids must be integers, got float32",
        ),
        (
            lambda m: m.unsorted_segment_max([1.0], [0], -1),
            ValueError,
            r"\[unsorted_segment_max\] num_segments must",
        ),
        (
            lambda m: m.unsorted_segment_max([1.0], [0], 1.5),
            TypeError,
            "num_segments must be an int, got 1.5",
        ),
        (lambda m: m.unsorted_segment_sum([True], [0], 1), TypeError, "not defined for bool"),
        (
            lambda m: m.segment_max([1.0, 2.0], [1, 0]),
            jt.errors.InvalidArgumentError,
            r"\[segment_max\] .* must be sorted, got 0 after 1",
        ),
        (
            lambda m: m.segment_sum([1.0, 2.0], [-1, 0]),
            IndexError,
            r"not be negative, got segment_ids\[0\] = -1",
        ),
        (
            lambda m: m.segment_sum([1.0, 2.0], [0]),
            ValueError,
            r"\[segment_sum\] segment_ids must have one id for",
        ),
        (lambda m: m.segment_sum([[1.0]], [[0]]), ValueError, r"must have 1 dimension, got shape \(1, 1\)"),
        (lambda m: m.segment_sum([1.0], [0.5]), TypeError, r"\[segment_sum\] segment_ids must be integers"),
    ],
)
def test_arguments_that_do_not_fit(do: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        do(jt.math)


def test_why_ids_have_no_gradient() -> None:
    ids = jt.Variable(np.array([0, 1]))
    with jt.GradientTape() as tape:
        tape.watch(ids)
        y = jt.math.unsorted_segment_sum([1.0, 2.0], ids, 2)
    with pytest.warns(jt.UnconnectedGradientWarning, match="int64"):
        assert tape.gradient(y, ids) is None
