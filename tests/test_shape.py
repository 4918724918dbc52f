"""Shapes and creation: several results, defaults, dtypes, errors. Values and gradients are in the primitive table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.core.program import dead_code_removed
from jittape.primitives.indexing import repetition
from jittape.primitives.shape import creation, indicators, joining, reordering, reshaping, shape_arrays
from programs import gradient_program, program_of

X = np.arange(24.0).reshape(2, 3, 4)


def same(got: Any, expected: Any) -> None:
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(got), expected)


# ---- several results -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (lambda: joining.split(X, 2, -1), np.split(X, 2, -1)),
        (lambda: joining.split(X, [1, 0, 2], 1), np.split(X, [1, 1], 1)),
        (lambda: joining.unstack(X), list(X)),
        (lambda: joining.unstack(X, axis=-1), list(np.moveaxis(X, -1, 0))),
        (lambda: joining.unstack(np.zeros((0, 2))), []),
        (lambda: joining.meshgrid(X[0, 0], X[0, 1]), np.meshgrid(X[0, 0], X[0, 1])),
        (
            lambda: joining.meshgrid(X[0, 0], 1.0, X[0, 1], indexing="ij"),
            np.meshgrid(X[0, 0], 1.0, X[0, 1], indexing="ij"),
        ),
        (lambda: joining.meshgrid(), []),
    ],
)
def test_lists(got: Any, expected: list[Any]) -> None:
    found = got()
    assert isinstance(found, list)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_gradients_of_the_parts_add_up() -> None:
    x = jt.Variable([1.0, 2.0, 3.0, 4.0])
    with jt.GradientTape() as tape:
        a, b = joining.split(x, 2)
        y = jt.reduce_sum(a * b)
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 4.0, 1.0, 2.0]


def test_dtypes_promote_in_concat_and_stack() -> None:
    one = np.ones(2, np.float32)
    assert joining.concat([one, np.ones(2)], 0).dtype == np.float64
    assert joining.stack([one, [1.0, 2.0]]).dtype == np.float32
    assert joining.stack([1.5, 2.5]).dtype == np.float32
    assert joining.stack([np.float64(1), 2]).dtype == np.float64


# ---- creation --------------------------------------------------------------------------------------------------------

F = np.float32


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (lambda: creation.zeros([2, 3]), np.zeros((2, 3), F)),
        (lambda: creation.zeros(()), np.zeros((), F)),
        (lambda: creation.ones(3, "int64"), np.ones(3, np.int64)),
        (lambda: creation.ones(np.array([2, 0])), np.ones((2, 0), F)),
        (lambda: creation.zeros(jt.constant([2, 1]), bool), np.zeros((2, 1), bool)),
        (lambda: creation.fill([2], 1.5), np.full(2, 1.5, F)),
        (lambda: creation.fill([2], 3), np.full(2, 3, np.int32)),
        (lambda: creation.fill([], np.float64(3)), np.full((), 3.0)),
        (lambda: creation.zeros_like(X), np.zeros_like(X)),
        (lambda: creation.ones_like(X, "int8"), np.ones_like(X, np.int8)),
        (lambda: creation.ones_like(2.0), np.ones((), F)),
        (lambda: creation.eye(3), np.eye(3, dtype=F)),
        (lambda: creation.eye(2, 4, [3], "int32"), np.stack([np.eye(2, 4, dtype=np.int32)] * 3)),
        (lambda: creation.eye(0), np.eye(0, dtype=F)),
        (lambda: creation.range(5), np.arange(5, dtype=np.int32)),
        (lambda: creation.range(3, 18, 3), np.arange(3, 18, 3, dtype=np.int32)),
        (lambda: creation.range(5, 0, -2), np.arange(5, 0, -2, dtype=np.int32)),
        (lambda: creation.range(5, 5), np.arange(0, dtype=np.int32)),
        (lambda: creation.range(0, 1, 0.1), np.arange(0, 1, 0.1).astype(F)),
        (lambda: creation.range(3.0), np.arange(3, dtype=F)),
        (lambda: creation.range(np.int64(3)), np.arange(3)),
        (lambda: creation.range(0, 3, dtype="float64"), np.arange(3.0)),
        (lambda: creation.linspace(0.0, 1.0, 5), np.linspace(0, 1, 5, dtype=F)),
        (lambda: creation.linspace(np.float64(2), 7, 1), np.linspace(2, 7, 1)),
        (lambda: creation.linspace(1.0, 2.0, 0), np.zeros(0, F)),
        (lambda: indicators.one_hot([2, 0, -1], 3), np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0]], F)),
        (lambda: indicators.one_hot(1, 3, dtype="int8"), np.array([0, 1, 0], np.int8)),
        (lambda: indicators.one_hot([1], 2, 5, -1), np.array([[-1, 5]], np.int32)),
        (
            lambda: indicators.one_hot([1, 0], 2, True, False, axis=0),
            np.array([[False, True], [True, False]]),
        ),
        (lambda: indicators.one_hot(np.zeros(0, int), 2), np.zeros((0, 2), F)),
        (lambda: shape_arrays.shape(X), np.array([2, 3, 4], np.int32)),
        (lambda: shape_arrays.shape(1.0, "int64"), np.zeros(0, np.int64)),
        (lambda: shape_arrays.rank(X), np.array(3, np.int32)),
        (lambda: shape_arrays.size([[1.0, 2.0]]), np.array(2, np.int32)),
    ],
)
def test_creation(got: Any, expected: Any) -> None:
    same(got(), expected)


def test_the_last_point_is_the_end_itself() -> None:
    assert creation.linspace(np.float64(0.1), 0.7, 7).numpy()[-1] == 0.7


def test_default_float_is_a_setting() -> None:
    before = jt.config.default_float
    jt.config.default_float = "float64"
    try:
        assert creation.zeros(2).dtype == np.float64
        assert creation.eye(2).dtype == np.float64
    finally:
        jt.config.default_float = before
    assert creation.zeros(2).dtype == np.float32


def test_a_shape_is_known_without_running() -> None:
    x = jt.constant(X) * 2.0
    n = jt.shape(x)[0]
    assert reshaping.reshape(x, [n, -1]).shape == (2, 12)
    assert x._buffer is None


# ---- no needless ops -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: reshaping.reshape(x, [2, -1, 4]),
        lambda x: reshaping.transpose(x, [0, 1, 2]),
        lambda x: reshaping.broadcast_to(x, X.shape),
        lambda x: reshaping.squeeze(x),
        lambda x: reordering.roll(x, 3, 1),
        lambda x: joining.concat([x], 0),
        lambda x: joining.split(x, 1)[0],
        lambda x: repetition.pad(x, [[0, 0]] * 3),
        lambda x: repetition.tile(x, [1, 1, 1]),
    ],
)
def test_what_changes_nothing_records_nothing(function: Any) -> None:
    names = [op.primitive.name for op in dead_code_removed(program_of(function, X)).ops]
    assert [name for name in names if name != "reshape"] == []


def test_a_gradient_of_a_part_is_that_part_laid_into_zeros() -> None:
    program = gradient_program(program_of(lambda x: joining.unstack(x)[1], X), (0,))
    assert [op.primitive.name for op in dead_code_removed(program).ops] == ["reshape", "pad"]


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: reshaping.reshape(X, [5, -1]),
            ValueError,
            r"\[reshape\] cannot reshape 24 elements of shape \(2, 3, 4\)",
        ),
        (lambda: reshaping.reshape(X, [-1, -1]), ValueError, "one dimension may be -1"),
        (lambda: reshaping.reshape(X, [-2, -12]), ValueError, "negative dimension"),
        (lambda: reshaping.reshape(X, [5, 5]), ValueError, r"into shape \(5, 5\) \(25 elements\)"),
        (
            lambda: reshaping.reshape(X, [2.5, 2]),
            TypeError,
            r"\[reshape\] shape: must be an int or a sequence of ints",
        ),
        (lambda: reshaping.reshape(np.zeros((0, 2)), [0, -1]), ValueError, "one dimension may be -1"),
        (lambda: reshaping.squeeze(X, 1), ValueError, r"axis 1 of shape \(2, 3, 4\) is not of length 1"),
        (
            lambda: reshaping.expand_dims(X, 9),
            ValueError,
            "axis 9 is out of range for 4 dimensions; use -4 to 3",
        ),
        (lambda: reshaping.transpose(X, [0, 1]), ValueError, "must name each of the 3 dimensions"),
        (lambda: reshaping.transpose(X, [0, 1, 1]), ValueError, "must name each of the 3 dimensions"),
        (lambda: reshaping.matrix_transpose(X[0, 0]), ValueError, "needs at least 2 dimensions"),
        (lambda: reordering.moveaxis(X, [0, 1], [0]), ValueError, "equally many"),
        (lambda: reshaping.broadcast_to(X, [2, 3, 5]), ValueError, "each dimension must be equal or 1"),
        (
            lambda: joining.concat([X, X[0]], 0),
            ValueError,
            r"shapes \(2, 3, 4\) and \(3, 4\) differ outside axis 0",
        ),
        (lambda: joining.concat([], 0), ValueError, "must hold at least one tensor"),
        (lambda: joining.concat([1.0, 2.0], 0), ValueError, "stack joins them along a new axis"),
        (lambda: joining.concat([X, X], 3), ValueError, "axis 3 is out of range"),
        (lambda: joining.stack([X, X[0]]), ValueError, "all shapes must be equal"),
        (lambda: joining.split(X, 2, 1), ValueError, "does not divide into 2 equal parts"),
        (lambda: joining.split(X, 0, 1), ValueError, "does not divide into 0 equal parts"),
        (lambda: joining.split(X, [2, 2], 1), ValueError, r"sizes \(2, 2\) do not add up to the length 3"),
        (lambda: joining.split(X, [-1, 4], 1), ValueError, "do not add up"),
        (lambda: joining.unstack(X, 3), ValueError, "num=3, but axis 0"),
        (lambda: joining.unstack(1.0), ValueError, "a scalar has no axis"),
        (lambda: reordering.reverse(X, [1, 1]), ValueError, "names a dimension twice"),
        (lambda: reordering.roll(X, [1, 2], 0), ValueError, "equally many"),
        (lambda: joining.meshgrid(X[0], indexing="xz"), ValueError, "'xy' or 'ij'"),
        (lambda: repetition.tile(X, [1, 1, -1]), ValueError, "must not be negative"),
        (lambda: repetition.tile(X, [2]), ValueError, "one entry for each dimension"),
        (lambda: repetition.repeat(X, -1), ValueError, "must not be negative"),
        (lambda: repetition.repeat(X, [1, 2], 2), ValueError, "2 repeats do not fit axis 2"),
        (lambda: repetition.repeat(X, [1, -2], 0), ValueError, "must not be negative"),
        (lambda: repetition.pad(X, [[1, 1]]), ValueError, "a pair of counts for each dimension"),
        (lambda: repetition.pad(X, [1, 1, 1]), ValueError, "a pair of counts for each dimension"),
        (lambda: repetition.pad(X, [[-1, 1]] * 3), ValueError, "a pair of counts for each dimension"),
        (
            lambda: repetition.pad(X, [[2, 0]] * 3, "REFLECT"),
            ValueError,
            "must be at most 1 .* in mode REFLECT",
        ),
        (lambda: repetition.pad(X, [[0, 0]] * 3, "EDGE"), ValueError, "mode must be one of CONSTANT"),
        (lambda: creation.zeros([-1]), ValueError, "must not be negative"),
        (lambda: creation.zeros(2, "S3"), TypeError, "not supported"),
        (lambda: creation.range(0, 5, 0), ValueError, "delta must not be 0"),
        (lambda: creation.range(5, 2), ValueError, "start must be at most limit"),
        (lambda: creation.linspace(0.0, 1.0, -1), ValueError, "must not be negative"),
        (lambda: creation.linspace([0.0], 1.0, 3), ValueError, "must have one shape"),
        (lambda: indicators.one_hot([0.5], 3), TypeError, "indices must be integers, got float32"),
    ],
)
def test_errors_name_the_op_and_the_way_out(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_properties_of_a_shape_are_numbers_in_a_traced_function() -> None:
    @jt.function
    def rows(x):
        n = jt.shape(x)
        assert n[0].numpy() == 3
        assert jt.size(x).numpy() == jt.size(x) == 6
        return jt.reshape(x, [n[0] * n[1], -1]) + jt.zeros(jt.shape(x)[:1] * 2)

    for _ in range(3):
        assert rows(np.ones((3, 2))).shape == (6, 6)
    assert rows.trace_count == 1
    assert jt.rank(X)[()].numpy() == 3
    assert [int(n) for n in jt.shape(X)] == [2, 3, 4]


@pytest.mark.parametrize("count", [jt.size, jt.shape])
def test_counts_that_do_not_fit_int32(count):
    many = np.broadcast_to(np.int8(1), (2**31,))
    with pytest.raises(OverflowError, match=r"does not fit int32; give out_type=jt\.int64"):
        count(many)
    assert count(many, jt.int64) == 2**31


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jt.fill([2], [1.0, 2.0]), r"\[fill\] value must be a scalar, got shape \(2,\)"),
        (lambda: jt.split(jt.ones([4]), [2, 2], num=3), r"\[split\] num is 3, .* gives 2 parts"),
        (lambda: jt.split(jt.ones([4]), 2, num=4), r"\[split\] num is 4, .* gives 2 parts"),
        (lambda: jt.Variable(1.0, constraint=3), "constraint must be callable, got 3"),
        (lambda: jt.one_hot([0], -1), r"\[one_hot\] depth must not be negative, got -1"),
    ],
)
def test_arguments_that_cannot_be_right_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
