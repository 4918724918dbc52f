"""Histograms, unique, isotonic regression, partitions and blocks: what the tables do not cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.runtime.counters import counters


def drawn(*shape: int) -> Any:
    return np.random.default_rng(5).normal(size=shape)


# ---- gradients -------------------------------------------------------------------------------------------------------

IDS = np.array([1, 4, 1, 0, 7, 3])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda w: jt.math.bincount(IDS, w), drawn(6)),
        (lambda w: jt.math.bincount(jt.constant(IDS.reshape(2, 3)), w, maxlength=4, axis=-1), drawn(2, 3)),
        (lambda w: jt.math.confusion_matrix(IDS, IDS[::-1].copy(), weights=w, dtype="float64"), drawn(6)),
        (lambda x: jt.unique(x).y, np.array([3.0, 1.0, 3.0, 2.0])),
        (lambda x: jt.nn.isotonic_regression(x, axis=0).output, drawn(6, 2)),
        (lambda x: jt.dynamic_partition(x, [0, 2, 0, 2], 3)[2], drawn(4, 2)),
        (lambda x: jt.dynamic_stitch([[0, 1], [1, 3]], [x[:2], x[2:]]), drawn(4, 2)),
        (lambda x: jt.reverse_sequence(x, [2, 0, 4], seq_axis=1), drawn(3, 4)),
        (lambda x: jt.strided_slice(x, [2, 0], [0, 4], [-1, 2]), drawn(3, 4)),
        (lambda x: jt.nn.depth_to_space(jt.nn.space_to_depth(x, 2)[:, :, ::-1], 2), drawn(1, 4, 4, 1)),
        (lambda x: jt.batch_to_space(2 * jt.space_to_batch(x, [2], [[1, 0]]), [2], [[0, 1]]), drawn(2, 3)),
    ],
)
def test_derivatives_of_each_mode(f: Callable[[Any], Any], x: Any, mode: str) -> None:
    tangent = np.cos(np.arange(x.size)).reshape(x.shape)
    for _ in range(2):
        jacobian = jt.jacobian(f)(x)
        value, along = jt.jvp(f, [x], [tangent])
        np.testing.assert_allclose(along, np.tensordot(jacobian, tangent, x.ndim), rtol=1e-12, atol=1e-14)
        step = (
            np.asarray(f(jt.constant(x + 1e-6 * tangent))) - np.asarray(f(jt.constant(x - 1e-6 * tangent)))
        ) / 2e-6
        if f(jt.constant(x)).shape == value.shape and "unique" not in f.__code__.co_names:
            np.testing.assert_allclose(along, step, rtol=1e-7, atol=1e-8)
        assert np.max(np.abs(jt.hessian(lambda x: jt.reduce_sum(f(x) ** 3))(x))) > 0.1


def test_slices_of_plain_numbers_have_the_dtypes_of_tensors() -> None:
    for x in (1.5, [1.5, 2.5], [1, 2], [[1j]], [True]):
        rank = np.ndim(x)
        found = jt.strided_slice(x, [0] * rank, [1] * rank)
        assert found.dtype == jt.constant(x).dtype
        np.testing.assert_array_equal(found, np.asarray(x)[(slice(1),) * rank])


def test_a_distinct_element_has_the_gradient_of_its_first_appearance(mode: str) -> None:
    x = jt.Variable([3.0, 1.0, 3.0])
    for _ in range(2):
        with jt.GradientTape() as tape:
            y, idx, count = jt.unique_with_counts(x, jt.int64)
            loss = jt.reduce_sum(y * y * jt.cast(count, jt.float32))
        assert tape.gradient(loss, x).tolist() == [12.0, 2.0, 0.0]
        assert (idx.tolist(), count.tolist(), idx.dtype) == ([0, 1, 0], [2, 1], np.int64)


def test_of_several_rows_the_last_has_the_gradient(mode: str) -> None:
    x, y = jt.Variable([1.0, 2.0]), jt.Variable([3.0])
    for _ in range(2):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(jt.dynamic_stitch([[0, 1], [1]], [x, y]) ** 2)
        assert [g.tolist() for g in tape.gradient(loss, [x, y])] == [[2.0, 0.0], [6.0]]


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: jt.histogram_fixed_width(x, [0.0, 1.0], 3), "the number of a bin is an integer"),
        (lambda x: jt.histogram_fixed_width_bins(x, [0.0, 1.0], 3), "the number of a bin is an integer"),
        (lambda x: jt.nn.isotonic_regression(x).segments, "the number of a block is an integer"),
        (lambda x: jt.bitcast(x, jt.int64), "bytes have no gradient"),
        (lambda x: jt.bitcast(x, jt.uint8), "bytes have no gradient"),
        (lambda x: jt.math.lower_bound(x, x), "positions in an order are integers"),
    ],
)
def test_why_there_is_no_gradient(f: Callable[[Any], Any], reason: str) -> None:
    x = jt.Variable(np.array([0.1, 0.5, 0.7]))
    with jt.GradientTape() as tape:
        y = jt.reduce_sum(jt.cast(f(x), jt.float64))
    with pytest.warns(jt.UnconnectedGradientWarning, match=reason):
        assert tape.gradient(y, x) is None


# ---- functions, batches and loops ------------------------------------------------------------------------------------


def test_counts_of_known_length_are_compiled() -> None:
    @jt.function
    def counts(ids: Any, w: Any) -> Any:
        return (
            jt.math.bincount(ids, minlength=5, maxlength=5),
            jt.math.bincount(ids, w, minlength=5, maxlength=5),
            jt.math.confusion_matrix(ids, ids, num_classes=8),
            jt.histogram_fixed_width(w, [-1.0, 1.0], 4),
            jt.math.invert_permutation(jt.argsort(w)),
            jt.reverse_sequence(jt.reshape(w, [2, 3]), ids[:2] % 4, seq_axis=1),
        )

    w = drawn(6)
    for _ in range(3):
        found = counts(jt.constant(IDS), jt.constant(w))
        assert found[0].tolist() == [1, 2, 0, 1, 1]
        np.testing.assert_allclose(found[1], np.bincount(IDS, w)[:5])
        np.testing.assert_array_equal(found[2], np.diag(np.bincount(IDS)))
        np.testing.assert_array_equal(found[3], np.histogram(np.clip(w, -1, 0.999), 4, (-1, 1))[0])
        np.testing.assert_array_equal(found[4], np.argsort(np.argsort(w)))
        np.testing.assert_array_equal(found[5], w.reshape(2, 3)[[[0], [1]], [[0, 1, 2], [0, 1, 2]]])


def test_counts_of_unknown_length_are_recorded() -> None:
    @jt.function
    def counts(ids: Any) -> Any:
        return jt.math.bincount(ids)

    with pytest.warns(jt.FunctionWarning, match=r"bincount\(\) .* compiled, give equal minlength and"):
        assert counts(jt.constant([1, 1])).tolist() == [0, 2]
    with pytest.raises(jt.ControlFlowError, match=r"bincount\(\) .*; or give equal minlength and maxlength"):
        jt.while_loop(lambda i: i < 3, lambda i: (i + jt.math.bincount(jt.reshape(i, [1]))[0],), (0,))


def test_batches_and_loops(mode: str) -> None:
    values, edges = drawn(3, 8), np.array([-1.0, 1.0])
    for _ in range(2):
        stacked = jt.vectorized_map(lambda x: jt.histogram_fixed_width(x, edges, 4), jt.constant(values))
        one_by_one = jt.map_fn(
            lambda x: jt.histogram_fixed_width(x, edges, 4), jt.constant(values), fn_output_signature=jt.int32
        )
        wanted = np.stack([np.histogram(np.clip(row, -1, 0.999), 4, (-1, 1))[0] for row in values])
        np.testing.assert_array_equal(stacked, wanted)
        np.testing.assert_array_equal(one_by_one, wanted)
        found = jt.vectorized_map(lambda x: jt.searchsorted([0.0, 0.5, 1.0], x), jt.constant(values))
        np.testing.assert_array_equal(found, np.searchsorted([0.0, 0.5, 1.0], values))


def test_a_regression_is_monotone_and_keeps_the_sums_of_its_blocks(mode: str) -> None:
    x = np.cumsum(drawn(4, 300), -1)
    for _ in range(2):
        output, segments = jt.nn.isotonic_regression(jt.constant(x))
        assert np.all(np.diff(output) <= 1e-12)
        np.testing.assert_allclose(np.sum(output, -1), np.sum(x, -1), rtol=1e-10)
        for row, blocks, means in zip(x, segments.numpy(), output.numpy(), strict=True):
            mean = np.bincount(blocks, row) / np.bincount(blocks)
            np.testing.assert_allclose(means, mean[blocks], rtol=1e-12)


@pytest.mark.parametrize("decreasing", [True, False])
def test_regressions_in_loops_are_machine_code(decreasing: bool) -> None:
    x = drawn(3, 40)

    def f(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return 0.5 * y + jt.nn.isotonic_regression(x + y, decreasing)[0] ** 2

        return jt.reduce_sum(jt.fori_loop(0, 3, step, jt.zeros_like(x)))

    y = jt.constant(np.zeros_like(x))
    for _ in range(3):
        y = 0.5 * y + jt.nn.isotonic_regression(x + y, decreasing)[0] ** 2
    function = jt.function(jt.value_and_grad(f))
    value, gradient = function(jt.constant(x))
    assert all(step.kernel is not None for step in counters.last.compiled.steps)
    assert float(value) == pytest.approx(float(jt.reduce_sum(y)), rel=1e-13)
    expected = (float(f(jt.constant(x + 1e-6))) - float(f(jt.constant(x - 1e-6)))) / 2e-6
    assert float(jt.reduce_sum(gradient)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("values", [[1.0, np.nan, 2.0, 3.0], [np.inf, 1.0, np.inf], [2.0, 2.0, 2.0], [1.0]])
def test_blocks_of_special_values(values: list[float]) -> None:
    x = jt.constant(values)
    for decreasing in (True, False):
        expected = jt.nn.isotonic_regression(x, decreasing)
        found = jt.function(lambda x, d=decreasing: tuple(jt.nn.isotonic_regression(x, d)))(x)
        np.testing.assert_array_equal(found[1], expected.segments)
        np.testing.assert_allclose(found[0], expected.output, rtol=1e-6)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [False, True])
@pytest.mark.parametrize(
    ("f", "good", "bad", "message"),
    [
        (
            lambda i: jt.math.bincount(i, minlength=3, maxlength=3),
            [0, 9],
            [0, -2],
            r"\[bincount\] arr must not be negative, got arr\[1\] = -2",
        ),
        (
            lambda i: jt.math.confusion_matrix(i, [0, 1], 3),
            [0, 2],
            [0, 3],
            r"\[confusion_matrix\] labels must be from 0 to 2, got labels\[1\] = 3",
        ),
        (
            lambda i: jt.reverse_sequence([[1, 2], [3, 4]], i, seq_axis=1),
            [0, 2],
            [3, 0],
            r"\[reverse_sequence\] seq_lengths must be from 0 to 2, got seq_lengths\[0\] = 3",
        ),
        (
            jt.math.invert_permutation,
            [1, 0],
            [0, 0],
            r"\[invert_permutation\] x must contain each number once, got x\[0\] = 0 again",
        ),
        (
            jt.math.invert_permutation,
            [1, 0],
            [-1, 0],
            r"\[invert_permutation\] x must be from 0 to 1, got x\[0\] = -1",
        ),
        (
            lambda i: jt.histogram_fixed_width([1.0], jt.cast(i, jt.float32), 3),
            [0, 1],
            [1, 1],
            r"\[histogram_fixed_width\] value_range must be increasing, got \[1.0, 1.0\]",
        ),
    ],
)
def test_values_out_of_range_are_named(
    f: Callable[[Any], Any], good: Any, bad: Any, message: str, function: bool, mode: str
) -> None:
    run = jt.function(f) if function else f
    for _ in range(3):
        run(jt.constant(good)).numpy()
        with pytest.raises(ValueError, match=message):
            run(jt.constant(bad)).numpy()
    run(jt.constant(good)).numpy()


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (lambda: jt.unique([[1.0]]), ValueError, r"\[unique\] x must have 1 dimension, got shape \(1, 1\)"),
        (lambda: jt.unique([1.0], jt.float32), TypeError, r"\[unique\] out_idx must be an integer dtype"),
        (lambda: jt.math.bincount([0.5]), TypeError, r"\[bincount\] arr must be integers, got float64"),
        (lambda: jt.math.bincount([1], [1.0, 2.0]), ValueError, r"weights must have the shape \(1,\) of arr"),
        (
            lambda: jt.math.bincount([1], axis=1),
            ValueError,
            r"\[bincount\] axis must be None, 0 or -1, got 1",
        ),
        (
            lambda: jt.histogram_fixed_width([1.0], [0.0], 3),
            ValueError,
            r"value_range must have the shape \(2,\)",
        ),
        (lambda: jt.histogram_fixed_width([1j], [0.0, 1.0]), TypeError, "not defined for complex"),
        (lambda: jt.math.confusion_matrix([0], [0, 1]), ValueError, "vectors of equal length"),
        (
            lambda: jt.nn.isotonic_regression([1.0], axis=1),
            ValueError,
            r"\[isotonic_regression\] axis 1 is out of",
        ),
        (
            lambda: jt.nn.isotonic_regression([1j]),
            TypeError,
            r"\[isotonic_regression\] is not defined for complex",
        ),
        (
            lambda: jt.dynamic_partition([1.0], [1], 1),
            ValueError,
            r"partitions must be from 0 to 0, got .*\[0\] = 1",
        ),
        (
            lambda: jt.dynamic_partition([1.0], [0, 0], 1),
            ValueError,
            r"must start with the shape of partitions",
        ),
        (lambda: jt.dynamic_stitch([[0]], [[1.0, 2.0]]), ValueError, r"data\[0\] must have the shape \(1,\)"),
        (lambda: jt.dynamic_stitch([[-1]], [[1.0]]), ValueError, r"indices\[0\] must not be negative"),
        (lambda: jt.reverse_sequence([[1]], [1], 0), ValueError, "seq_axis and batch_axis must differ"),
        (lambda: jt.reverse_sequence([[1]], [2], 1), ValueError, "seq_lengths must be from 0 to 1"),
        (lambda: jt.strided_slice(1.0, [3], [4]), IndexError, r"\[strided_slice\]"),
        (
            lambda: jt.strided_slice([1], [3], [4], shrink_axis_mask=1),
            IndexError,
            r"\[strided_slice\] index 3 is out",
        ),
        (
            lambda: jt.strided_slice([1], [0], [1], var=jt.Variable([1])),
            TypeError,
            r"`variable\[key\].assign",
        ),
        (
            lambda: jt.nn.space_to_depth(jt.ones([1, 3, 2, 1]), 2),
            ValueError,
            "height 3 and width 2 must be divisible",
        ),
        (
            lambda: jt.space_to_batch([[1]], [2], [[0, 0]]),
            ValueError,
            r"padded sizes \(1,\) must be divisible",
        ),
        (lambda: jt.batch_to_space([[1]], [1], [[1, 1]]), ValueError, r"crops \(1, 1\) are more than the 1"),
        (
            lambda: jt.bitcast([1, 2, 3], jt.int64),
            ValueError,
            r"\[bitcast\] the last dimension of shape \(3,\) must",
        ),
        (lambda: jt.bitcast([True], jt.int8), TypeError, r"\[bitcast\] is not defined for bool"),
        (
            lambda: jt.broadcast_static_shape([2], [3]),
            ValueError,
            r"\[broadcast_static_shape\] shapes \(2,\) and",
        ),
        (
            lambda: jt.math.top_k([1.0], index_type=jt.float32),
            TypeError,
            "index_type must be an integer dtype",
        ),
        (
            lambda: jt.math.lower_bound([1.0], [1.0], jt.float32),
            TypeError,
            "out_type must be an integer dtype",
        ),
    ],
)
def test_arguments_that_do_not_fit(do: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        do()
