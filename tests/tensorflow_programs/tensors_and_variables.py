"""Programs on tensors, their shapes, indices and dtypes, and on variables."""

import numpy as np

RANK_4 = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)


def tensors_of_several_ranks(tf):
    scalar = tf.constant(4)
    vector = tf.constant([2.0, 3.0, 4.0])
    matrix = tf.constant([[1, 2], [3, 4], [5, 6]], dtype=tf.float16)
    return [(t.dtype.name, t.shape.as_list(), t.shape.rank, t.ndim) for t in (scalar, vector, matrix)]


def arithmetic_of_matrices(tf):
    a, b = tf.constant([[1, 2], [3, 4]]), tf.constant([[1, 1], [1, 5]])
    return tf.add(a, b), tf.multiply(a, b), tf.matmul(a, b), a + b, a * b, a @ b, a - b, a // b, a % b, -a


def summaries_of_a_tensor(tf):
    c = tf.constant([[4.0, 5.0], [10.0, 1.0]])
    return tf.reduce_max(c), tf.math.argmax(c), tf.nn.softmax(c), tf.reduce_sum(c, axis=0, keepdims=True)


def python_values_are_converted(tf):
    found = (tf.convert_to_tensor([1, 2, 3]), tf.reduce_max([1, 2, 3]), tf.reduce_max(np.array([1, 2, 3])))
    return found, [t.dtype.name for t in found]


def shape_rank_and_size(tf):
    t = tf.zeros([3, 2, 4, 5])
    sizes = (tf.shape(t), tf.size(t), tf.rank(t))
    return (
        t.dtype.name, t.ndim, t.shape, t.shape[0], t.shape[-1], int(tf.size(t).numpy()), sizes,
        [s.dtype.name for s in sizes], t.shape.num_elements(), t.shape.is_fully_defined(), t.shape[1:].as_list(),
        t.shape == [3, 2, 4, 5], t.shape == (3, 2, 4, 5), t.shape.is_compatible_with([None, 2, 4, 5]),
        t.shape.concatenate([7]).as_list(), len(t.shape),
    )  # fmt: skip


def partial_shapes(tf):
    shape = tf.TensorShape([None, 3])
    return (
        shape.as_list(), shape.rank, shape.is_fully_defined(), shape.num_elements(), shape[1], shape[0],
        shape.is_compatible_with((8, 3)), shape.is_compatible_with((8, 4)), tf.TensorShape(None).rank,
        shape.concatenate([5]).as_list(), shape.merge_with([4, None]).as_list(),
    )  # fmt: skip


def single_indices_and_slices(tf):
    t = tf.constant([0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    return t[0], t[1], t[-1], t[:], t[:4], t[4:], t[2:7], t[::2], t[::-1], t[tf.constant(3)], t[1:9:3]


def indices_of_several_axes(tf):
    t = tf.constant(RANK_4)
    return t[1, 1], t[1, :, 2], t[:, 1, ...], t[..., 4], t[0, 1:, ::-1, tf.newaxis, 2:4], t[-1, -1, -1, -1]


def shapes_change(tf):
    x = tf.constant([[1], [2], [3]])
    y = tf.constant(RANK_4)
    return (
        tf.reshape(x, [1, 3]), tf.reshape(y, [-1]), tf.reshape(y, [6, -1]), tf.transpose(x),
        tf.transpose(y, perm=[0, 2, 1, 3]), tf.expand_dims(x, -1), tf.squeeze(x), tf.reshape(y, [2 * 3, 20]),
    )  # fmt: skip


def a_reshape_that_does_not_fit(tf):
    try:
        tf.reshape(tf.constant(RANK_4), [7, -1])
    except tf.errors.InvalidArgumentError:
        return "InvalidArgumentError"


def dtypes_change(tf):
    f64 = tf.constant([2.2, 3.7, 4.4], dtype=tf.float64)
    f16 = tf.cast(f64, dtype=tf.float16)
    u8 = tf.cast(f16, dtype=tf.uint8)
    return f16, u8, [t.dtype.name for t in (f64, f16, u8)]


def attributes_of_dtypes(tf):
    kinds = (tf.float32, tf.float64, tf.int32, tf.uint8, tf.bool, tf.complex64)
    named = [
        (d.name, d.is_floating, d.is_integer, d.is_complex, d.is_bool, d.is_unsigned, d.size) for d in kinds
    ]
    return named, [np.dtype(d.as_numpy_dtype).name for d in kinds], tf.int32.max, tf.uint8.min, tf.float32.max


def dtypes_are_numpys(tf):
    x = tf.zeros(3, tf.float32)
    return (
        x.dtype == np.float32, x.dtype == tf.float32, x.dtype == "float32", x.dtype == tf.float64,
        tf.as_dtype(np.int64).name, tf.as_dtype("float16").name, tf.dtypes.as_dtype(bool).name,
    )  # fmt: skip


def broadcasting(tf):
    x, y = tf.constant([1, 2, 3]), tf.reshape(tf.range(1, 5), [4, 1])
    z = tf.constant([2, 2, 2])
    return tf.multiply(x, 2), x * z, tf.reshape(x, [1, 3]) * y, tf.broadcast_to(x, [3, 3]), y * x


def parts_of_a_tensor(tf):
    t = tf.constant(RANK_4[0, 0])
    return (
        tf.slice(t, begin=[1, 1], size=[2, 3]), tf.gather(t, indices=[0, 3]), tf.gather(t, [1, 4], axis=1),
        tf.gather_nd(t, indices=[[0, 2], [3, 4]]), tf.strided_slice(t, [0, 0], [4, 5], [2, 2]),
        tf.boolean_mask(t, [True, False, True, False]), tf.where(t > 9, t, -t), tf.where(t > 16),
    )  # fmt: skip


def parts_are_scattered(tf):
    indices, data = tf.constant([[1], [3], [5], [7]]), tf.constant([2, 4, 6, 8])
    t = tf.zeros(9, tf.int32) + 5
    return (
        tf.scatter_nd(indices, data, [9]), tf.tensor_scatter_nd_add(t, indices, data),
        tf.tensor_scatter_nd_sub(t, indices, data), tf.tensor_scatter_nd_min(t, indices, data),
        tf.tensor_scatter_nd_max(t, indices, data), tf.tensor_scatter_nd_update(t, indices, data),
    )  # fmt: skip


def pieces_are_joined(tf):
    a, b = tf.ones([2, 3]), tf.zeros([2, 3])
    return (
        tf.concat([a, b], axis=0), tf.concat([a, b], axis=1), tf.stack([a, b]), tf.stack([a, b], axis=-1),
        tf.unstack(tf.constant([[1, 2], [3, 4]])), tf.split(tf.range(6), 3), tf.tile([[1, 2]], [2, 2]),
        tf.repeat([1, 2], [2, 3]), tf.pad([[1, 2]], [[1, 0], [0, 2]]), tf.one_hot([0, 2], 3),
    )  # fmt: skip


def a_variable_has_a_shape_and_a_dtype(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="mine")
    return v.shape.as_list(), v.dtype.name, v.numpy(), v.name.split(":")[0], v.trainable


def operations_on_a_variable(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 5.0]])
    before = tf.convert_to_tensor(v), tf.math.argmax(v), tf.reshape(v, [1, 4])
    return before, tf.reduce_sum(v), v[0], v[:, 1] * 2, v + v, v @ v


def assignments(tf):
    a = tf.Variable([2.0, 3.0])
    b = tf.Variable(a)
    a.assign([5.0, 6.0])
    added = a.assign_add([2.0, 3.0]).numpy()
    subtracted = a.assign_sub([7.0, 9.0]).numpy()
    return a, b, added, subtracted


def an_assignment_of_another_shape(tf):
    a = tf.Variable([2.0, 3.0])
    try:
        a.assign([1.0, 2.0, 3.0])
    except ValueError:
        return "ValueError", a


def variables_of_one_name_are_two(tf):
    a = tf.Variable([[1.0, 2.0]], name="Mark")
    b = tf.Variable([[1.0, 3.0]], name="Mark")
    return a == b, a is b


def variables_as_keys(tf):
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    table = {a.ref(): "a", b.ref(): "b"}
    return table[a.ref()], table[b.ref()], a.ref().deref() is a, len(table)


def a_slice_of_a_variable_is_assigned(tf):
    v = tf.Variable(tf.zeros([3, 2]))
    v[1].assign([7.0, 8.0])
    v[:, 0].assign([1.0, 2.0, 3.0])
    return v


def on_a_device(tf):
    with tf.device("CPU:0"):
        a = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        b = tf.Variable([[1.0, 2.0, 3.0]])
        return a * b


def what_is_wrong_is_refused(tf):
    found = []
    for call in (
        lambda: tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0]),
        lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
        lambda: tf.reshape([1, 2], [3]),
        lambda: tf.concat([tf.ones([2, 2]), tf.ones([3, 3])], 0),
        lambda: tf.gather([1, 2], 5),
        lambda: tf.fill([2], [1.0, 2.0]),
        lambda: tf.zeros([2]).set_shape([3]),
    ):
        try:
            call()
        except (tf.errors.InvalidArgumentError, ValueError):
            found.append(True)
    return found
