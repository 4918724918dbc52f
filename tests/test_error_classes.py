"""Errors have TensorFlow's classes: an ``except`` clause of a TensorFlow program catches them."""

import pickle

import pytest

import jittape as jt
from jittape import errors

X = jt.ones([2, 3])
V = jt.ones([3])
INVALID = {
    "one_hot of a negative depth": lambda: jt.one_hot(1, -2),
    "reshape": lambda: jt.reshape(X, [4]),
    "reshape -1 -1": lambda: jt.reshape(X, [-1, -1]),
    "matmul": lambda: jt.matmul(X, X),
    "add": lambda: jt.ones([2]) + V,
    "add_n": lambda: jt.add_n([jt.ones([2]), V]),
    "concat": lambda: jt.concat([jt.ones([2, 2]), jt.ones([3, 3])], 0),
    "stack": lambda: jt.stack([jt.ones([2]), V]),
    "unstack num": lambda: jt.unstack(jt.ones([2, 2]), num=3),
    "split": lambda: jt.split(jt.ones([4]), 3),
    "split sizes": lambda: jt.split(jt.ones([4]), [1, 2]),
    "split axis": lambda: jt.split(jt.ones([4]), 2, axis=2),
    "split 0": lambda: jt.split(jt.ones([4]), 0),
    "fill": lambda: jt.fill([-1], 1.0),
    "zeros": lambda: jt.zeros([-1]),
    "eye": lambda: jt.eye(-1),
    "one_hot": lambda: jt.one_hot([0.5], 2),
    "one_hot axis": lambda: jt.one_hot([0], 2, axis=5),
    "squeeze": lambda: jt.squeeze(jt.ones([2, 1]), axis=0),
    "squeeze axis": lambda: jt.squeeze(jt.ones([2, 1]), axis=5),
    "expand_dims": lambda: jt.expand_dims(V, 4),
    "transpose": lambda: jt.transpose(X, [0, 0]),
    "reverse": lambda: jt.reverse(V, [3]),
    "roll": lambda: jt.roll(V, 1, 3),
    "tile": lambda: jt.tile(V, [1, 2]),
    "pad": lambda: jt.pad(V, [[1, 1], [1, 1]]),
    "pad reflect": lambda: jt.pad(V, [[3, 3]], mode="REFLECT"),
    "repeat": lambda: jt.repeat(V, -1),
    "slice": lambda: jt.slice(V, [2], [3]),
    "gather axis": lambda: jt.gather(V, [0], axis=2),
    "gather dtype": lambda: jt.gather(V, [1.5]),
    "gather_nd": lambda: jt.gather_nd(V, [[0, 0]]),
    "scatter_nd": lambda: jt.scatter_nd([[0]], [1.0, 2.0], [3]),
    "tensor_scatter_nd_update": lambda: jt.tensor_scatter_nd_update(V, [[0]], [1.0, 2.0]),
    "where": lambda: jt.where([True, False], V, V),
    "reduce_sum": lambda: jt.reduce_sum(V, axis=3),
    "reduce_mean": lambda: jt.reduce_mean(V, axis=-3),
    "argmax": lambda: jt.argmax(V, axis=3),
    "cumsum": lambda: jt.cumsum(V, axis=3),
    "sort": lambda: jt.sort(V, axis=3),
    "top_k": lambda: jt.math.top_k(V, k=4),
    "broadcast_to": lambda: jt.broadcast_to(V, [2]),
    "ensure_shape": lambda: jt.ensure_shape(V, [2]),
    "einsum": lambda: jt.einsum("ij,jk->ik", X, X),
    "tensordot": lambda: jt.tensordot(X, X, 1),
    "inv": lambda: jt.linalg.inv(X),
    "inv of zeros": lambda: jt.linalg.inv(jt.zeros([2, 2])).numpy(),
    "det": lambda: jt.linalg.det(X),
    "cholesky": lambda: jt.linalg.cholesky(X),
    "solve": lambda: jt.linalg.solve(jt.ones([2, 2]), jt.ones([3, 1])),
    "trace": lambda: jt.linalg.trace(V),
    "bitcast": lambda: jt.bitcast(V, jt.float64),
    "bitwise_and": lambda: jt.bitwise.bitwise_and(V, V),
    "left_shift": lambda: jt.bitwise.left_shift(V, V),
    "complex": lambda: jt.complex(jt.ones([2]), V),
    "softmax": lambda: jt.nn.softmax(V, axis=3),
    "softmax_cross_entropy": lambda: jt.nn.softmax_cross_entropy_with_logits(
        labels=X, logits=jt.ones([2, 2])
    ),
    "conv2d": lambda: jt.nn.conv2d(jt.ones([1, 4, 4, 1]), jt.ones([2, 2, 2, 1]), 1, "SAME"),
    "bias_add": lambda: jt.nn.bias_add(X, jt.ones([2])),
    "moments": lambda: jt.nn.moments(V, [3]),
    "segment_sum": lambda: jt.math.segment_sum(V, [0, 1]),
    "unsorted_segment_sum": lambda: jt.math.unsorted_segment_sum(V, [0, 1], 2),
    "dynamic_partition": lambda: jt.dynamic_partition(V, [0, 1], 2),
    "searchsorted": lambda: jt.searchsorted(jt.ones([2, 2]), jt.ones([3, 2])),
    "random.normal": lambda: jt.random.normal([-1]),
    "stateless_normal": lambda: jt.random.stateless_normal([2], seed=[1]),
    "categorical": lambda: jt.random.categorical(V, 3),
    "frame": lambda: jt.signal.frame(jt.ones([5]), 2, 0),
    "space_to_batch": lambda: jt.space_to_batch(jt.ones([1, 3, 3, 1]), [2, 2], [[0, 0], [0, 0]]),
    "unique": lambda: jt.unique(X),
    "check_numerics": lambda: jt.debugging.check_numerics(jt.constant(float("nan")), "m").numpy(),
}


@pytest.mark.parametrize("call", INVALID.values(), ids=INVALID)
def test_what_tensorflow_calls_an_invalid_argument(call):
    """TensorFlow 2.21 raises InvalidArgumentError for each of these calls."""
    with pytest.raises(errors.InvalidArgumentError) as caught:
        call()
    assert isinstance(caught.value, errors.OpError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.error_code == 3
    assert caught.value.message == str(caught.value)


CODES = [
    "CancelledError",
    "UnknownError",
    "InvalidArgumentError",
    "DeadlineExceededError",
    "NotFoundError",
    "AlreadyExistsError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "FailedPreconditionError",
    "AbortedError",
    "OutOfRangeError",
    "UnimplementedError",
    "InternalError",
    "UnavailableError",
    "DataLossError",
    "UnauthenticatedError",
]


@pytest.mark.parametrize(("code", "name"), [*enumerate(CODES, 1)])
def test_each_class_of_tensorflow_exists(code, name):
    kind = getattr(jt.errors, name)
    assert issubclass(kind, errors.OpError)
    for error in (kind("why"), kind(None, None, "why")):
        assert (error.message, str(error), error.error_code) == ("why", "why", code)
        assert (error.op, error.node_def) == (None, None)
        assert pickle.loads(pickle.dumps(error)).message == "why"


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        (errors.ShapeError, (ValueError,)),
        (errors.DTypeError, (TypeError, ValueError)),
        (errors.LinAlgError, (ValueError,)),
        (errors.NumericsError, (FloatingPointError, ValueError)),
    ],
)
def test_the_older_classes_keep_their_bases(kind, bases):
    assert issubclass(kind, bases)
    assert all(issubclass(kind, base) for base in bases)
    assert issubclass(kind, errors.InvalidArgumentError)


def test_the_numbers_of_the_errors_are_those_of_tensorflow():
    found = [jt.errors.OK, jt.errors.INVALID_ARGUMENT, jt.errors.OUT_OF_RANGE, jt.errors.UNAUTHENTICATED]
    assert found == [0, 3, 11, 16]
    error = jt.errors.DataLossError(None, None, "damaged")
    assert (error.error_code, dict(error.experimental_payloads)) == (jt.errors.DATA_LOSS, {})
