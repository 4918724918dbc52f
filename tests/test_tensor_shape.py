"""`TensorShape`: a tuple with TensorFlow's methods, and the attributes of tensors that need no value."""

import copy
import pickle

import numba
import numpy as np
import pytest

import jittape as jt
from jittape import ShapeError, TensorShape

UNKNOWN = TensorShape(None)


def test_the_shape_of_a_tensor_is_a_tuple_with_methods():
    shape = jt.zeros([2, 3]).shape
    assert isinstance(shape, TensorShape)
    assert isinstance(shape, tuple)
    assert (shape.rank, shape.ndims, shape.dims, shape.as_list()) == (2, 2, [2, 3], [2, 3])
    assert (shape.num_elements(), shape.is_fully_defined(), len(shape)) == (6, True, 2)
    assert [*shape] == [2, 3]
    assert all(type(n) is int for n in shape)


@pytest.mark.parametrize(
    "value",
    [
        jt.zeros([2, 3]),
        jt.Variable(np.ones((2, 3))),
        jt.TensorSpec([2, 3]),
        jt.zeros([2, 3]) + 1.0,  # pending
        jt.zeros([2, 3])[:],
        jt.IndexedSlices(jt.zeros([2, 3]), [0, 1], [2, 3]),
    ],
    ids=["tensor", "variable", "spec", "pending", "part", "slices"],
)
def test_public_shapes_are_of_this_type(value):
    assert type(value.shape) is TensorShape
    assert value.shape == [2, 3]


def test_the_shape_of_slices_without_a_dense_shape_is_unknown():
    assert jt.IndexedSlices(jt.zeros([2, 3]), [0, 1]).shape == UNKNOWN


def test_a_traced_function_sees_the_type_and_takes_it_as_a_static_argument():
    seen = []

    @jt.function
    def f(x, shape):
        seen.append((type(x.shape), type(shape)))
        return jt.reshape(x, shape)

    x = jt.ones([2, 3])
    assert f(x, jt.zeros([3, 2]).shape).shape == [3, 2]
    assert f(x, jt.zeros([6]).shape).shape == [6]
    assert f(x, jt.zeros([3, 2]).shape).shape == [3, 2]
    assert set(seen) == {(TensorShape, TensorShape)}
    assert len(seen) == 2


# ---- as a tuple ------------------------------------------------------------------------------------------------------


def test_it_compares_with_tuples_and_lists():
    shape = TensorShape([2, 3])
    assert shape == (2, 3)
    assert shape == [2, 3]
    assert shape == [2, 3]
    assert shape == (2, 3)
    assert shape != [3, 2]
    assert shape != [3, 2]
    assert shape != (2,)
    assert shape != 2
    assert shape != None  # noqa: E711
    assert not shape.__ne__([2, 3])
    assert shape < (2, 4)


def test_it_hashes_as_the_tuple():
    assert {(2, 3): "a"}[jt.zeros([2, 3]).shape] == "a"
    assert {jt.zeros([2, 3]).shape: "a"}[(2, 3)] == "a"


@pytest.mark.parametrize("shape", [TensorShape([2, 3]), TensorShape([None, 3]), TensorShape([]), UNKNOWN])
def test_it_pickles_and_copies(shape):
    for other in (
        *[pickle.loads(pickle.dumps(shape, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)],
        copy.copy(shape),
        copy.deepcopy(shape),
    ):
        assert type(other) is type(shape)
        assert other == shape
        assert repr(other) == repr(shape)


def test_numpy_and_jittape_take_it_as_a_shape():
    shape = jt.zeros([2, 3]).shape
    assert np.zeros(shape).shape == shape
    assert np.broadcast_to(1.0, shape).shape == shape
    assert np.arange(6).reshape(shape).shape == shape
    assert np.random.default_rng(0).normal(size=shape).shape == shape
    assert jt.random.normal(shape).shape == shape
    assert jt.reshape(jt.range(6), shape).shape == shape
    assert jt.Variable(jt.zeros(shape), shape=shape).shape == shape
    assert np.prod(shape) == 6
    np.testing.assert_array_equal(jt.constant(shape), [2, 3])
    np.testing.assert_array_equal(jt.ones([2, 3]) / shape[1], np.full((2, 3), np.float32(1) / 3))


@numba.njit
def extents(shape):
    return np.zeros(shape).size, shape[1]


def test_numba_takes_it_as_a_tuple():
    assert extents(jt.zeros([2, 3]).shape) == (6, 3)


# ---- slicing and joining ---------------------------------------------------------------------------------------------


def test_slices_and_sums_are_shapes():
    shape = TensorShape([2, 3, 4])
    assert type(shape[1:]) is TensorShape
    assert shape[1:] == [3, 4]
    assert shape[-1] == 4
    for tail in ([5], (5,), TensorShape([5]), 5):
        joined = shape[:1] + tail
        assert type(joined) is TensorShape
        assert joined == [2, 5]
    for head in ([5], (5,)):
        joined = head + shape[:1]
        assert type(joined) is TensorShape
        assert joined == [5, 2]
    assert shape.concatenate([None]).as_list() == [2, 3, 4, None]


# ---- unknown extents and ranks: the values are TensorFlow's ----------------------------------------------------------


@pytest.mark.parametrize(
    ("dims", "text", "representation"),
    [
        ([], "()", "()"),
        ([2], "(2,)", "(2,)"),
        (5, "(5,)", "(5,)"),
        ([2, None], "(2, None)", "TensorShape([2, None])"),
        (None, "<unknown>", "TensorShape(None)"),
        (np.array([2, 3]), "(2, 3)", "(2, 3)"),
        (jt.constant([2, 3]), "(2, 3)", "(2, 3)"),
        (jt.constant(4), "(4,)", "(4,)"),
        ((n for n in (1, 2)), "(1, 2)", "(1, 2)"),
    ],
)
def test_printing(dims, text, representation):
    shape = TensorShape(dims)
    assert (str(shape), f"{shape}", repr(shape)) == (text, text, representation)
    assert TensorShape(shape) is shape


@pytest.mark.parametrize(
    ("a", "b", "compatible", "subtype", "most_specific"),
    [
        ([2, 3], [2, 3], True, True, [2, 3]),
        ([2, 3], [None, 3], True, True, [None, 3]),
        ([None, 3], [2, 3], True, False, [None, 3]),
        ([2, 3], [2, 4], False, False, [2, None]),
        ([2, 3], [2, 3, 1], False, False, None),
        ([2, 3], None, True, True, None),
        (None, [2, 3], True, False, None),
        (None, None, True, True, None),
    ],
)
def test_relations(a, b, compatible, subtype, most_specific):
    first, second = TensorShape(a), TensorShape(b)
    assert first.is_compatible_with(b) is first.is_compatible_with(second) is compatible
    assert first.is_subtype_of(second) is subtype
    assert first.most_specific_compatible_shape(second) == TensorShape(most_specific)


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        ([None, 3], [2, None], [2, 3]),
        ([None, 3], None, [None, 3]),
        (None, [2, None], [2, None]),
        (None, None, None),
    ],
)
def test_merging(a, b, merged):
    assert TensorShape(a).merge_with(b) == TensorShape(merged)


def test_unknown_extents():
    shape = TensorShape([None, 3])
    assert (shape.rank, shape.as_list(), shape.num_elements()) == (2, [None, 3], None)
    assert not shape.is_fully_defined()
    assert shape == [None, 3]
    assert shape[0] is None


def test_unknown_rank():
    assert (UNKNOWN.rank, UNKNOWN.ndims, UNKNOWN.dims, UNKNOWN.num_elements()) == (None, None, None, None)
    assert not UNKNOWN.is_fully_defined()
    assert not UNKNOWN
    assert TensorShape(None) == UNKNOWN
    assert hash(UNKNOWN) == hash(TensorShape(None))
    for other in ((), [], TensorShape([]), TensorShape([None]), (...,), [...]):
        assert other != UNKNOWN
        assert other != UNKNOWN
    assert UNKNOWN[0] is None
    assert (UNKNOWN[1:], UNKNOWN[-2:]) == (UNKNOWN, UNKNOWN)
    assert UNKNOWN[1:3] == [None, None]
    assert UNKNOWN[:2] == [None, None]
    vector = TensorShape([3])
    assert UNKNOWN + vector == vector + UNKNOWN == vector + None == 3 + UNKNOWN == UNKNOWN
    assert UNKNOWN.with_rank(2) == [None, None]
    assert UNKNOWN.with_rank_at_least(2) == UNKNOWN.with_rank_at_most(2) == UNKNOWN


@pytest.mark.parametrize(
    "use",
    [
        len,
        list,
        iter,
        lambda shape: 3 in shape,
        lambda shape: shape.as_list(),
        lambda shape: shape.assert_is_fully_defined(),
        lambda shape: jt.zeros(shape),
        lambda shape: jt.reshape(jt.ones(1), shape),
    ],
)
def test_an_unknown_rank_is_refused_where_extents_are_needed(use):
    with pytest.raises(ShapeError):
        use(UNKNOWN)


@pytest.mark.parametrize("use", [np.zeros, np.empty, np.ones(1).reshape, lambda s: np.broadcast_to(1.0, s)])
def test_numpy_does_not_take_an_unknown_rank_for_a_scalar(use):
    with pytest.raises((TypeError, ValueError)):
        use(UNKNOWN)


@pytest.mark.parametrize("make", [jt.zeros, jt.random.normal, lambda s: jt.reshape(jt.ones(3), s)])
def test_unknown_extents_are_refused_where_they_are_needed(make):
    with pytest.raises(ShapeError, match=r"unknown extents: \(None, 3\)"):
        make(TensorShape([None, 3]))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda s: s.merge_with([3, 3]), r"Shapes \(2, 3\) and \(3, 3\) are not compatible"),
        (lambda s: s.assert_has_rank(3), r"Shape \(2, 3\) must have rank 3"),
        (lambda s: s.assert_same_rank([2]), r"Shapes \(2, 3\) and \(2,\) must have the same rank"),
        (lambda s: s.assert_is_compatible_with([2, 4]), r"\(2, 3\) and \(2, 4\) are incompatible"),
        (lambda s: s.with_rank(3), "must have rank 3"),
        (lambda s: s.with_rank_at_least(3), "must have rank at least 3"),
        (lambda s: s.with_rank_at_most(1), "must have rank at most 1"),
        (lambda s: s + -1, "at least 0, got -1"),
    ],
)
def test_failed_checks(check, message):
    with pytest.raises(ShapeError, match=message):
        check(TensorShape([2, 3]))


def test_checks_that_hold():
    shape = TensorShape([2, 3])
    shape.assert_has_rank(2)
    shape.assert_same_rank([None, None])
    shape.assert_same_rank(UNKNOWN)
    shape.assert_is_compatible_with([None, 3])
    shape.assert_is_fully_defined()
    assert shape.with_rank(2) == shape.with_rank_at_least(1) == shape.with_rank_at_most(2) == shape
    with pytest.raises(ShapeError, match=r"\(2, None\) is not fully defined"):
        TensorShape([2, None]).assert_is_fully_defined()


@pytest.mark.parametrize("dims", ["ab", [2.0], ["a"], [[2]], 2.5, {"a": 1}])
def test_what_is_no_shape_is_refused(dims):
    with pytest.raises(TypeError, match=r"integers"):
        TensorShape(dims)


def test_the_avals_of_tensors_have_plain_tuples():
    v = jt.Variable(jt.zeros([2, 3]))
    v[0].assign([1.0, 2.0, 3.0])
    for tensor in (
        v,
        v + 1.0,
        jt.zeros_like(v),
        jt.ones(v.shape),
        jt.reshape(v, v.shape),
        jt.broadcast_to(v, v.shape),
    ):
        assert type(tensor.aval.shape) is tuple


def test_broadcast_static_shape_gives_a_shape():
    assert type(jt.broadcast_static_shape([2, 1], TensorShape([3]))) is TensorShape


def test_many_shapes():
    """More shapes than are remembered."""
    for n in range(5000):
        assert jt.TensorSpec([n]).shape == [n]
    vector = np.zeros(5000)
    for n in range(5000):
        assert jt.convert_to_tensor(vector[:n]).shape == [n]


# ---- specs -----------------------------------------------------------------------------------------------------------


def test_a_spec_of_unknown_rank_takes_every_shape():
    @jt.function(input_signature=[jt.TensorSpec(None, jt.float32)])
    def f(x):
        return 2.0 * x

    assert str(jt.TensorSpec(None).shape) == "<unknown>"
    assert (f(jt.ones([2, 3])).shape, f(jt.ones([])).shape) == ([2, 3], [])


# ---- other attributes of tensors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [jt.constant([1.0, 2.0]), jt.Variable([1.0, 2.0])], ids=["tensor", "variable"])
def test_set_shape_checks(x):
    for shape in ([2], [None], None, TensorShape(None)):
        x.set_shape(shape)
    assert x.get_shape() == [2]
    with pytest.raises(ShapeError, match=r"\(2,\) is not compatible with supplied shape \(3,\)"):
        x.set_shape([3])


@pytest.mark.parametrize("x", [jt.constant(1.0), jt.Variable(1.0)], ids=["tensor", "variable"])
def test_references_and_the_device(x):
    assert x.ref() == x.experimental_ref()
    assert x.ref().deref() is x.experimental_ref().deref() is x
    assert repr(x.ref()) == f"<Reference wrapping {x!r}>"
    assert x.device == "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.mark.parametrize("x", [jt.constant(1.0), jt.Variable(1.0)], ids=["tensor", "variable"])
@pytest.mark.parametrize("name", ["op", "graph"])
def test_attributes_of_graphs_are_undefined(x, name):
    assert not hasattr(x, name)
    with pytest.raises(AttributeError, match=rf"{type(x).__name__}\.{name} is undefined.*jt\.explain"):
        getattr(x, name)


def test_the_initializer_of_a_variable_is_none_as_in_tensorflow():
    v = jt.Variable(3.0)
    assert v.initializer is None
    assert float(v.initialized_value()) == 3.0
