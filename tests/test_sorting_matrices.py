"""Sorting, matrices and related small functions: properties that the primitive table does not cover."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt
from jittape.primitives.indexing.sorting import stable_order
from jittape.runtime.counters import counters


def test_the_gradient_of_sorting_goes_where_each_element_came_from(mode):
    x = jt.Variable([3.0, 1.0, 2.0])
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            y = jt.reduce_sum(jt.sort(x) * jt.constant([1.0, 2.0, 3.0]))
            top = jt.reduce_sum(jt.math.top_k(x, 2).values ** 2)
            order = jt.cast(jt.argsort(x), jt.float32)
        assert tape.gradient(y, x).tolist() == [3.0, 1.0, 2.0]
        assert tape.gradient(top, x).tolist() == [6.0, 0.0, 4.0]
        with pytest.warns(jt.UnconnectedGradientWarning, match="positions in an order are integers"):
            assert tape.gradient(order, x) is None


def test_equal_elements_keep_their_order(mode):
    for _ in range(3):
        assert jt.argsort([1, 2, 1, 2], direction="DESCENDING").tolist() == [1, 3, 0, 2]
        values, indices = jt.math.top_k([[1.0, 5.0, 5.0, 2.0]], 3)
        assert (values.tolist(), indices.tolist()) == ([[5.0, 5.0, 2.0]], [[1, 2, 3]])
        assert jt.searchsorted([1.0, 2.0, 2.0], [2.0], side="right").tolist() == [3]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(3, 50), (2, 40, 3), (1000,), (0, 40)])
def test_many_equal_elements_and_nans_keep_their_order(dtype, shape, mode):
    rng = np.random.default_rng(5)
    x = rng.integers(-5, 5, shape).astype(dtype)
    if x.dtype.kind == "f":
        x[rng.random(shape) < 0.1] = np.nan
        x[rng.random(shape) < 0.1] = np.inf
    for axis in range(x.ndim):
        order = np.argsort(x, axis, "stable")
        np.testing.assert_array_equal(jt.argsort(x, axis), order)
        np.testing.assert_array_equal(jt.sort(x, axis), np.sort(x, axis))
        down = np.flip(np.sort(x, axis), axis)
        np.testing.assert_array_equal(jt.sort(x, axis, direction="DESCENDING"), down)
    first = x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, "stable")[..., ::-1]
    for k in (0, 1, 3, 20):
        values, places = jt.math.top_k(x, min(k, x.shape[-1]))
        np.testing.assert_array_equal(places, first[..., : min(k, x.shape[-1])])
        np.testing.assert_array_equal(values, np.take_along_axis(x, first, -1)[..., : min(k, x.shape[-1])])


@pytest.mark.parametrize(
    "op",
    [jt.sort, lambda x: jt.sort(x, 0, direction="DESCENDING"), lambda x: jt.math.top_k(x, 6)[0]],
    ids=["sort", "descending", "top_k"],
)
def test_few_elements_are_sorted_by_machine_code(op):
    x = jt.constant(np.random.default_rng(8).standard_normal((5, 6)))

    def loss(x):
        return jt.reduce_sum(jt.fori_loop(0, 3, lambda i, y: jt.sin(3.0 * op(y) + x), x) ** 2)

    y = x
    for _ in range(3):
        y = jt.sin(3.0 * op(y) + x)
    value, gradient = jt.function(jt.value_and_grad(loss))(x)
    assert all(step.kernel is not None for step in counters.last.compiled.steps)
    np.testing.assert_allclose(value, jt.reduce_sum(y**2), rtol=1e-12)
    np.testing.assert_allclose(gradient, jt.grad(loss)(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_integers_of_a_small_and_of_a_large_range(dtype):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(7)
    for low, high in [
        (0, 9),
        (info.min, info.min + 65535),
        (info.max - 65536, info.max),
        (info.min, info.max),
        (5, 5),
    ]:
        x = rng.integers(low, high, (3, 200), dtype=dtype, endpoint=True)
        x[:, 3], x[:, 90] = low, high
        for axis in (0, 1):
            np.testing.assert_array_equal(stable_order(x, axis), np.argsort(x, axis, "stable"))
        np.testing.assert_array_equal(jt.argsort(x), np.argsort(x, -1, "stable"))


@pytest.mark.parametrize("n", [5, 60])
def test_sorted_values_and_their_gradient_share_an_order(n, mode):
    x = np.random.default_rng(6).standard_normal((3, n))
    order = np.argsort(x, -1)
    weights = np.arange(n) ** 2.0
    for _ in range(2):
        with jt.GradientTape() as tape:
            source = jt.constant(x)
            tape.watch(source)
            values = jt.sort(source)
            total = jt.reduce_sum(values * values * weights)
        np.testing.assert_array_equal(values, np.sort(x))
        gradient = np.zeros_like(x)
        np.put_along_axis(gradient, order, 2 * np.sort(x) * weights, -1)
        np.testing.assert_allclose(tape.gradient(total, source), gradient, rtol=1e-14)


@pytest.mark.parametrize(
    ("do", "error", "message"),
    [
        (
            lambda: jt.sort([1.0], direction="UP"),
            ValueError,
            r"\[sort\] direction must be 'ASCENDING' or 'DESC",
        ),
        (lambda: jt.argsort([1j]), TypeError, r"\[argsort\] is not defined for complex128"),
        (
            lambda: jt.math.top_k([1.0], 2),
            ValueError,
            r"\[top_k\] k must be between 0 and the last dimension",
        ),
        (
            lambda: jt.searchsorted([1.0], [[1.0]]),
            ValueError,
            r"\[searchsorted\] sorted_sequence of shape \(1,\)",
        ),
        (
            lambda: jt.linalg.cross([1.0, 2.0], [1.0, 2.0]),
            ValueError,
            r"\[cross\] the last dimension must be 3",
        ),
        (
            lambda: jt.linalg.set_diag(jt.eye(2), [1.0]),
            ValueError,
            r"diagonal must have the shape \(2,\) of diagonal 0 of input with shape \(2, 2\), got \(1,\)",
        ),
        (lambda: jt.nn.bias_add(jt.eye(2), [1.0]), ValueError, r"\[bias_add\] bias must be a vector"),
        (
            lambda: jt.nn.bias_add(jt.eye(2), [1.0, 2.0], "CN"),
            ValueError,
            r"\[bias_add\] data_format must be",
        ),
        (
            lambda: jt.nn.dropout([1.0], 1.0),
            ValueError,
            r"\[dropout\] rate must be at least 0 and less than 1",
        ),
        (lambda: jt.nn.dropout([1], 0.5), TypeError, r"\[dropout\] x must have a floating dtype, got int32"),
        (
            lambda: jt.slice([1, 2], [1], [2]),
            ValueError,
            r"\[slice\] begin \(1,\) and size \(2,\) reach beyond",
        ),
        (lambda: jt.slice([1, 2], [1, 0], [1, 1]), ValueError, r"\[slice\] .* an entry for each dimension"),
        (lambda: jt.sequence_mask([1.5]), TypeError, r"\[sequence_mask\] lengths must be integers"),
        (lambda: jt.math.polyval([], 1.0), ValueError, r"\[polyval\] coeffs must be a list of at least one"),
    ],
)
def test_mistakes(do, error, message):
    with pytest.raises(error, match=message):
        do()


def test_division_that_may_meet_zero(mode):
    x, y = jt.Variable([0.0, 1.0]), jt.Variable([0.0, 2.0])
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            quotient = jt.math.xdivy(x, y)
            inverse = jt.math.reciprocal_no_nan(y)
        assert quotient.tolist() == [0.0, 0.5]
        assert inverse.tolist() == [0.0, 0.5]
        assert [g.tolist() for g in tape.gradient(quotient, [x, y])] == [[0.0, 0.5], [0.0, -0.25]]
        assert tape.gradient(inverse, y).tolist() == [0.0, -0.25]
    assert jt.math.xdivy(0, 0).tolist() == 0.0


def test_where_without_branches_gives_coordinates():
    found = jt.where(jt.constant([[1.0, 0.0], [0.0, 2.0]]) > 0)
    assert found.dtype == jt.int64
    assert found.tolist() == [[0, 0], [1, 1]]


def test_batch_normalization_without_offset_or_scale(mode):
    x = np.float32([1.0, 3.0])
    for _ in range(2):
        assert jt.nn.batch_normalization(x, 2.0, 4.0, None, None, 0.0).tolist() == [-0.5, 0.5]
        assert jt.nn.batch_normalization(x, 2.0, 4.0, 1.0, None, 0.0).tolist() == [0.5, 1.5]
        assert jt.nn.batch_normalization(x, 2.0, 4.0, None, 2.0, 0.0).tolist() == [-1.0, 1.0]


def test_errors_of_embedding_lookup_name_the_number(mode):
    table = jt.Variable([[3.0, 4.0], [0.5, 0.0]])

    @jt.function
    def total(ids):
        return jt.reduce_sum(jt.nn.embedding_lookup(table, ids))

    for call in (jt.nn.embedding_lookup, lambda _, ids: total(ids)):
        for wrong, message in ((-1, "ids must not be negative, got -1"), (-3, "index -3"), (2, "index 2")):
            for _ in range(2):
                with pytest.raises(jt.errors.InvalidIndexError, match=rf"^\[embedding_lookup\] {message}"):
                    call(table, jt.constant([0, wrong])).numpy()
    with pytest.raises(jt.errors.InvalidIndexError, match=r"^\[embedding_lookup\] index 2 "):
        jt.nn.embedding_lookup(table, [2])
    with pytest.raises(jt.errors.InvalidIndexError, match=r"^\[take\] index 2 "):
        jt.numpy.take(table, [2], 0)


def test_embedding_lookup(mode):
    table = jt.Variable([[3.0, 4.0], [0.3, 0.4]])
    for _ in range(3):
        with jt.GradientTape() as tape:
            rows = jt.nn.embedding_lookup(table, [[0, 1], [1, 1]])
            total = jt.reduce_sum(rows)
        assert rows.shape == (2, 2, 2)
        assert tape.gradient(total, table).tolist() == [[1.0, 1.0], [3.0, 3.0]]
        clipped = jt.nn.embedding_lookup(table, [0, 1], max_norm=1.0)
        np.testing.assert_allclose(clipped, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_dropout():
    x = jt.Variable(np.ones((50, 40), np.float32))
    with jt.GradientTape() as tape:
        kept = jt.nn.dropout(x, 0.25, seed=1)
    assert tape.gradient(kept, x).tolist() == kept.tolist()
    assert 0.2 < float(jt.math.zero_fraction(kept)) < 0.3
    assert set(kept.numpy().ravel().tolist()) == {0.0, np.float32(1 / 0.75)}
    rows = jt.nn.dropout(x, 0.5, noise_shape=[50, 1]).numpy()
    assert np.all(rows == rows[:, :1])
    assert jt.nn.dropout(x, 0.0).tolist() == x.tolist()


def test_none_in_the_noise_shape_of_dropout_is_the_extent() -> None:
    x = jt.ones([50, 4])
    for shape in ([None, 1], (None, 1), jt.TensorShape([None, 1])):
        rows = jt.nn.dropout(x, 0.5, noise_shape=shape).numpy()
        assert set(rows[:, 0]) == {0.0, 2.0}
        assert (rows == rows[:, :1]).all()
    assert (
        (jt.nn.dropout(x, 0.5, noise_shape=[None, None], seed=1) == jt.nn.dropout(x, 0.5, seed=1))
        .numpy()
        .all()
    )
    with pytest.raises(jt.errors.ShapeError, match=r"noise_shape \(None,\) .* each dimension"):
        jt.nn.dropout(x, 0.5, noise_shape=[None])
    with pytest.raises(jt.errors.ShapeError, match=r"noise_shape \(None, 3\) must broadcast"):
        jt.nn.dropout(x, 0.5, noise_shape=[None, 3])


def test_dropout_draws_anew_at_each_call_of_a_function():
    drop = jt.function(lambda x: jt.nn.dropout(x, 0.5))
    x = jt.ones([1000])
    assert drop(x).tolist() != drop(x).tolist()


def test_what_is_a_tensor():
    assert jt.is_tensor(jt.constant(1))
    assert jt.is_tensor(jt.Variable(1.0))
    assert not jt.is_tensor(np.ones(2))
