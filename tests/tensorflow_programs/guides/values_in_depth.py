"""Programs on tensors, slices, Variables, matrices and random numbers, with TensorFlow's guides on them in mind."""

import numpy as np

GRID = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TABLE = np.random.default_rng(3).normal(size=(5, 4)).astype(np.float32)


def new_axes_and_last_ones(tf):
    x = tf.constant(GRID)
    return [
        x[..., tf.newaxis].shape,
        x[:, None, ..., -1],
        x[0, ..., ::-2],
        x[-1:, 1:, -2],
        tf.expand_dims(x, -2).shape,
        tf.squeeze(x[:1, :, :1], [0, 2]),
        x[1][2][3],
    ]


def slices_with_sizes_and_strides(tf):
    x = tf.constant(GRID)
    t = tf.range(10)
    return [
        tf.slice(x, [0, 1, 2], [2, -1, 1]),
        tf.slice(t, begin=[3], size=[4]),
        tf.strided_slice(x, [0, 2, 0], [2, 0, 4], [1, -1, 2]),
        tf.strided_slice(t, [-1], [-6], [-2]),
        tf.gather(t, [7, 0, 7]),
        tf.gather(x, [[0, 1], [1, 0]], axis=2),
        tf.gather(x, [[0, 2], [1, 1]], axis=1, batch_dims=1),
        tf.gather_nd(x, [[0, 1], [1, 2]]),
        tf.gather_nd(x, [[[0, 0, 3]], [[1, 2, 0]]]),
        tf.gather_nd(x, [[[0], [1]], [[2], [0]]], batch_dims=1),
    ]


def windows_of_a_sentence_are_masked(tf):
    ids = tf.constant([[7, 3, 9, 4, 1, 8], [2, 2, 6, 0, 0, 0]])
    lengths = tf.reduce_sum(tf.cast(ids != 0, tf.int32), axis=1)
    mask = tf.sequence_mask(lengths, maxlen=tf.shape(ids)[1])
    chosen = tf.where(mask, ids, -1)
    places = tf.where(tf.equal(ids, 2))
    words = tf.boolean_mask(ids, mask)
    return lengths, mask, chosen, places, words, tf.reverse_sequence(ids, lengths, seq_axis=1, batch_axis=0)


def values_are_put_into_tensors(tf):
    t = tf.zeros([3, 4], tf.int32)
    indices = tf.constant([[0, 1], [2, 3], [0, 1]])
    updates = tf.constant([4, 5, 6])
    rows = tf.constant(TABLE)
    return [
        tf.scatter_nd(indices, updates, [3, 4]),
        tf.tensor_scatter_nd_add(t + 1, indices, updates),
        tf.tensor_scatter_nd_sub(t + 1, indices, updates),
        tf.tensor_scatter_nd_max(t + 4, indices, updates),
        tf.tensor_scatter_nd_min(t + 5, indices, updates),
        tf.tensor_scatter_nd_update(rows, [[4], [0]], rows[1:3]),
        tf.scatter_nd([[1], [1]], rows[:2, :2], tf.stack([tf.shape(rows)[0], 2])),
    ]


def dtypes_meet_and_are_cast(tf):
    x = tf.constant([1.7, -2.2, 3.0], dtype=tf.float64)
    found = [
        tf.cast(x, tf.int32),
        tf.cast(tf.cast(x, tf.float16), tf.float32),
        tf.cast([0.0, 0.5, -1.0], tf.bool),
    ]
    found += [tf.cast([True, False], tf.float32), tf.saturate_cast([300.0, -5.0], tf.uint8)]
    found += [tf.bitcast(tf.constant(1.0), tf.int32), tf.constant([1, 2], tf.int8) * tf.constant(3, tf.int8)]
    errors = []
    for attempt in (lambda: tf.constant(1) + tf.constant(1.0), lambda: tf.constant(1.5, tf.int32)):
        try:
            attempt()
            errors.append(False)
        except (TypeError, ValueError, tf.errors.InvalidArgumentError):
            errors.append(True)
    return found, errors[1], [t.dtype.name for t in found]


def repeated_tiled_and_ordered(tf):
    x = tf.constant([[3, 1], [2, 5]])
    values, places = tf.math.top_k(tf.constant(TABLE), k=2)
    unique, positions, counts = tf.unique_with_counts(tf.constant([4, 1, 4, 4, 2]))
    return [
        tf.repeat(x, [2, 1], axis=0),
        tf.repeat(x, 2, axis=1),
        tf.tile(x, [1, 3]),
        tf.sort(x, axis=0, direction="DESCENDING"),
        tf.argsort(x, axis=1),
        values,
        places,
        unique,
        positions,
        counts,
        tf.roll(x, shift=[1, -1], axis=[0, 1]),
        tf.searchsorted([1.0, 3.0, 5.0], [0.0, 3.0, 9.0], side="right"),
        tf.meshgrid([1, 2], [3, 4, 5], indexing="ij"),
    ]


def sums_by_segments_and_windows(tf):
    x = tf.constant(TABLE)
    ids = tf.constant([0, 0, 1, 2, 2])
    frames = tf.signal.frame(tf.range(7.0), frame_length=3, frame_step=2)
    return [
        tf.math.segment_sum(x, ids),
        tf.math.segment_mean(x, ids),
        tf.math.segment_max(x, ids),
        tf.math.unsorted_segment_sum(x, [2, 0, 2, 1, 0], num_segments=4),
        tf.math.unsorted_segment_mean(x, [2, 0, 2, 1, 0], 3),
        tf.cumsum(x, axis=1, exclusive=True),
        tf.cumsum(x, reverse=True),
        tf.math.cumprod(x, axis=1),
        tf.math.cumulative_logsumexp(x, axis=1),
        frames,
        tf.math.bincount([1, 1, 3], minlength=5),
        tf.math.bincount([1, 2], weights=[0.5, 2.0]),
        tf.histogram_fixed_width([-1.0, 0.1, 2.0, 9.0], [0.0, 5.0], nbins=5),
    ]


def a_picture_is_compressed_by_singular_values(tf):
    picture = np.add.outer(np.sin(np.arange(8.0)), np.cos(np.arange(6.0) ** 1.5)) * np.linspace(1, 2, 6)
    image = tf.constant(picture[None].repeat(2, 0) * [[[1.0]], [[0.5]]], tf.float64)
    s, u, v = tf.linalg.svd(image)

    def approximated(rank):
        left, right = u[..., :rank], v[..., :rank]
        return tf.matmul(left, s[..., :rank, tf.newaxis] * tf.linalg.matrix_transpose(right))

    def share(rank):
        return tf.reduce_sum(s[..., :rank] ** 2, -1) / tf.reduce_sum(s**2, -1)

    errors = [tf.norm(image - approximated(rank), axis=[-2, -1]) for rank in (1, 2, 4)]
    sizes = [(8 + 6 + 1) * rank / (8 * 6) for rank in (1, 2, 4)]
    return s[..., :3], errors, [share(rank) for rank in (1, 2)], sizes, approximated(2)


def matrices_are_factored_and_solved(tf):
    a = tf.constant([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], tf.float64)
    b = tf.constant([[1.0], [2.0], [3.0]], tf.float64)
    chol = tf.linalg.cholesky(a)
    q, r = tf.linalg.qr(a)
    values, _ = tf.linalg.eigh(a)
    return [
        tf.linalg.det(a),
        tf.linalg.slogdet(-a)[0],
        tf.linalg.inv(a) @ a,
        tf.linalg.solve(a, b),
        tf.linalg.triangular_solve(chol, b),
        tf.linalg.cholesky_solve(chol, b),
        tf.linalg.lstsq(a[:, :2], b, fast=False),
        tf.abs(q @ r - a) < 1e-12,
        values,
        tf.linalg.trace(a),
        tf.linalg.diag_part(a),
        tf.linalg.band_part(a, 0, -1),
        tf.linalg.expm(a * 0.1),
        tf.einsum("ij,jk->ki", a, b),
        tf.tensordot(a, b, axes=[[1], [0]]),
        tf.linalg.set_diag(a, [9.0, 8.0, 7.0]),
        tf.linalg.norm(a, ord=1),
    ]


def variables_keep_and_share(tf):
    a = tf.Variable([2.0, 3.0], name="a")
    b = tf.Variable(a)
    a.assign([5.0, 6.0])
    read = a.assign_add([1.0, 1.0])
    a.assign_sub([0.5, 0.0])
    table = tf.Variable(tf.zeros([3, 2]))
    table[1].assign([1.0, 2.0])
    table[:, 1].assign([7.0, 8.0, 9.0])
    table.scatter_nd_update([[0, 0]], [4.0])
    frozen = tf.Variable(1, trainable=False)
    wide = tf.Variable([[1.0]], shape=tf.TensorShape([None, None]))
    wide.assign([[1.0, 2.0], [3.0, 4.0]])
    shapes = [
        tuple(wide.shape) if wide.shape.is_fully_defined() else "open",
        tf.convert_to_tensor(wide).shape,
    ]
    facts = [a.trainable, frozen.trainable, frozen.dtype.name, a.name, a.shape.as_list()]
    return a, b, read, table, facts, shapes[1], tf.reshape(a, [2, 1]), tf.argmax(a)


def seeds_that_repeat(tf):
    seed = [5, 7]
    same = [tf.random.stateless_uniform([4], seed) for _ in range(2)]
    ints = tf.random.stateless_uniform([50], seed, minval=3, maxval=6, dtype=tf.int32)
    parts = tf.random.split(seed, 3)
    folded = tf.random.fold_in(seed, 3)
    g = tf.random.Generator.from_seed(11)
    h = tf.random.Generator.from_state(g.state, alg=g.algorithm)
    drawn = g.normal([3])
    equal = bool(tf.reduce_all(drawn == h.normal([3])))
    copies = g.split(2)
    differ = bool(tf.reduce_any(copies[0].uniform([4]) != copies[1].uniform([4])))
    shuffled = tf.sort(tf.random.shuffle(tf.range(6)))
    cut = tf.random.truncated_normal([400], 1.0, 0.5)
    return [
        bool(tf.reduce_all(same[0] == same[1])),
        bool(tf.reduce_all((ints >= 3) & (ints < 6))),
        parts.shape,
        folded.shape,
        equal,
        differ,
        shuffled,
        bool(tf.reduce_all(tf.abs(cut - 1.0) <= 1.0)),
        tf.random.categorical(tf.constant([[-50.0, 50.0], [50.0, -50.0]]), 3),
        tf.random.stateless_normal([2, 3], seed, dtype=tf.float64).dtype.name,
    ]
