"""Arguments at the edge of what layers, losses and metrics take: what TensorFlow accepts, and what it refuses."""

import numpy as np

A = np.arange(9.0, dtype="float32").reshape(3, 3)
B = np.arange(27.0, dtype="float32").reshape(3, 3, 3)


def make_outcome(function, *args, **kwargs):
    """Return what a call gives; ``"refused"`` if it raises an error."""
    try:
        result = function(*args, **kwargs)
    except (ValueError, TypeError, IndexError):
        return "refused"
    except Exception as error:  # TensorFlow's errors are no ValueErrors
        if type(error).__module__.startswith("tensorflow"):
            return "refused"
        raise
    return np.asarray(result, dtype="float64")


def merged_inputs_of_different_rank(tf):
    layers = tf.keras.layers
    pairs = [(A, B), (A[0], A), (A[:2], B[:2, :1]), (A[:2], A[:2, :1]), (A, A[:1]), (A, B[:1]), (A[0], A[0])]
    kinds = layers.Add, layers.Multiply, layers.Maximum, layers.Average, layers.Subtract
    return [make_outcome(kind(), list(pair)) for kind in kinds for pair in pairs]


def accuracy_of_other_dtypes(tf):
    pairs = [
        ([True, True, False], [1, 2, 0]), ([1, 2, 0], [True, True, False]), ([1.5, 2, 0], [1, 2, 0]),
        ([1, 2, 0], [1.5, 2, 0]), ([0, 1, 1], [0.2, 1.0, 0.7]),
    ]  # fmt: skip
    return [make_outcome(tf.keras.metrics.Accuracy(), *pair) for pair in pairs]


def moments_along_axes(tf):
    def made(x, mean, axis):
        layer = tf.keras.layers.Normalization(axis=axis, mean=mean, variance=np.ones_like(mean))
        return make_outcome(layer, np.ones(x, "float32"))

    three = np.float32([1.0, 2.0, 3.0])
    return [
        made((2, 3, 4), three, 1), made((2, 3), three, -1), made((2, 1), three, -1), made((2, 3), np.float32(1.0), -1),
        made((2, 4, 3), three, 2),
    ]  # fmt: skip


def losses_of_different_shapes(tf):
    losses = tf.keras.losses
    shapes = [
        ((6, 1), (6,)),
        ((6,), (6, 1)),
        ((6, 3), (6,)),
        ((6, 1), (6, 3)),
        ((6, 3), (6, 1)),
        ((1, 3), (6, 3)),
    ]
    kinds = [
        losses.MeanSquaredError, losses.MeanAbsoluteError, losses.BinaryCrossentropy, losses.CategoricalCrossentropy,
        losses.BinaryFocalCrossentropy, losses.Huber, losses.KLDivergence, losses.Hinge,
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    values = [[rng.uniform(0.1, 0.9, shape).astype("float32") for shape in pair] for pair in shapes]
    return [make_outcome(kind(), *pair) for kind in kinds for pair in values]


def functions_of_different_shapes(tf):
    nn, column, row = tf.nn, np.ones((3, 1), "float32"), np.ones(3, "float32")
    return [
        make_outcome(nn.sigmoid_cross_entropy_with_logits, labels=column, logits=row),
        make_outcome(nn.weighted_cross_entropy_with_logits, column, row, 2.0),
        make_outcome(nn.log_poisson_loss, column, row),
        make_outcome(nn.softmax_cross_entropy_with_logits, A[:1] / 3, A),
        make_outcome(nn.softmax_cross_entropy_with_logits, A, A[:1]),
        make_outcome(tf.add_n, [column, row]),
        make_outcome(tf.tensor_scatter_nd_update, A, [[0], [2]], row),
        make_outcome(tf.tensor_scatter_nd_add, A, [[0], [2]], A[:2]),
        make_outcome(tf.scatter_nd, [[0], [2]], row, [3, 3]),
        make_outcome(tf.sequence_mask, [1, 2], -3),
        make_outcome(tf.gather_nd, A, [[1, 1]], batch_dims=-1),
        make_outcome(tf.cumsum, A, exclusive="yes"),
        make_outcome(tf.keras.metrics.Precision, thresholds=1.5),
        make_outcome(tf.nn.max_pool2d, np.ones((1, 3, 3, 1), "float32"), 50, 1, "SAME"),
    ]


def infinite_losses(tf):
    x, t = tf.constant([np.inf, 0.5, 80.0]), tf.constant([0.3, 0.4, 0.2])
    return [
        tf.nn.log_poisson_loss(t, x), tf.exp(x) - x, tf.keras.regularizers.L1(0.5)(x[:1]),
        tf.math.is_nan(tf.exp(x) - x * t),
    ]  # fmt: skip
