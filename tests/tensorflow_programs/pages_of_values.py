"""Cells of the guide's pages on NumPy's names, random numbers, slices, data and forward mode."""

import tempfile
from pathlib import Path

import numpy as np


def make_numpy(tf):
    return tf.numpy if hasattr(tf, "numpy") else tf.experimental.numpy


# ---- NumPy's names ---------------------------------------------------------------------------------------------------


def functions_of_numpy_on_tensors(tf):
    tnp = make_numpy(tf)
    a = tnp.arange(5.0)
    return (
        tnp.ones([2, 3]) + tnp.ones([3]) + tnp.ones([1, 2, 1]), tnp.where(a > 2, a, 0.0), tnp.stack([a, a]),
        tnp.take(a, [1, 2]), tnp.clip(a, 1, 3), tnp.cumsum(a), tnp.var(a), tnp.isclose(a, a + 1e-9),
        tnp.dot(a, a), tnp.reshape(tnp.arange(6), [2, 3]), tnp.linspace(0, 1, 3), tnp.expand_dims(a, 0),
        tnp.sum(tf.constant([1.0, 2.0])), tf.reduce_sum(tnp.asarray([1.0, 2.0])), tnp.asarray([1, 2]).dtype.name,
        float(np.sum(tnp.asarray([1.0, 2.0]))),
    )  # fmt: skip


def a_layer_of_numpys_functions(tf):
    tnp = make_numpy(tf)
    w = tf.Variable(tnp.cos(tnp.reshape(tnp.arange(6.0), [3, 2])))
    b = tf.Variable(tnp.zeros([2]))
    x = tnp.reshape(tnp.linspace(0.0, 1.0, 6), [2, 3])

    def loss_of(x):
        return tnp.mean(tnp.square(tnp.tanh(tnp.dot(x, w) + b) - 1.0))

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        loss = loss_of(x)
        y = tnp.matmul(x, w) ** 2
    compiled = tf.function(loss_of)
    return (
        loss,
        tape.gradient(loss, [w, b]),
        tape.batch_jacobian(y, x),
        compiled(x),
        tf.vectorized_map(lambda row: tnp.sum(row) * row, x),
    )


# ---- random numbers --------------------------------------------------------------------------------------------------


def generators_repeat_from_a_seed(tf):
    g = tf.random.Generator.from_seed(1)
    drawn = [g.normal([3]) for _ in range(2)]
    g.reset_from_seed(1)
    again = g.normal([3])
    parts = g.split(3)
    numbers = [part.normal([4]) for part in parts]
    return (
        bool(tf.reduce_all(drawn[0] == again)), bool(tf.reduce_all(drawn[0] == drawn[1])),
        len({tuple(n.numpy().tolist()) for n in numbers}), g.make_seeds(2).shape,
        g.uniform([2], 0, 10, tf.int64).dtype.name,
    )  # fmt: skip


def a_generator_in_a_function(tf):
    g = tf.random.Generator.from_seed(4)
    draw = tf.function(lambda: g.uniform([2]))
    first, second = draw(), draw()
    g.reset_from_seed(4)
    outside, inside = g.uniform([2]), draw()
    pairs = ((first, outside), (second, inside), (first, second))
    return [bool(tf.reduce_all(a == b)) for a, b in pairs]


def a_generator_in_a_checkpoint(tf):
    g = tf.random.Generator.from_seed(1)
    checkpoint = tf.train.Checkpoint(generator=g)
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoint.write(str(Path(folder) / "generator"))
        first = g.normal([2])
        second = g.normal([2])
        checkpoint.restore(path)
        return bool(tf.reduce_all(g.normal([2]) == first)), bool(tf.reduce_all(g.normal([2]) == second))


def a_seed_of_the_program(tf):
    found = []
    for _ in range(2):
        tf.random.set_seed(3)
        found.append([tf.random.uniform([2]), tf.random.uniform([2]), tf.random.normal([2])])
    same = [bool(tf.reduce_all(a == b)) for a, b in zip(*found, strict=True)]
    return same, bool(tf.reduce_all(found[0][0] == found[0][1]))


def shapes_of_stateless_numbers(tf):
    seed, r = [1, 2], tf.random
    drawn = [
        r.stateless_normal([4], seed=seed), r.stateless_uniform([3], seed=(1, 2), minval=2, maxval=9, dtype=tf.int32),
        r.stateless_truncated_normal([3], seed=seed), r.stateless_gamma([3], seed=seed, alpha=0.5),
        r.stateless_poisson([3], seed=seed, lam=[2.0, 2.0, 2.0]),
        r.stateless_binomial([3], seed=seed, counts=10, probs=0.5),
        r.stateless_categorical([[0.0, 1.0]], 5, seed=seed),
    ]  # fmt: skip
    again = r.stateless_normal([4], seed=seed)
    return (
        [(x.shape, x.dtype.name) for x in drawn],
        bool(tf.reduce_all(drawn[0] == again)),
        r.split(seed, 3).shape,
    )


# ---- slices and Variables --------------------------------------------------------------------------------------------


def slices_of_three_dimensions(tf):
    t = tf.reshape(tf.range(1, 17), [2, 2, 4])
    array = np.reshape(np.arange(18), [2, 3, 3])
    return (
        tf.slice(t, begin=[1, 1, 0], size=[1, 1, 2]), t[1:, 1:, :2], tf.slice(t[0], (0, 1), (-1, 2)),
        tf.gather_nd(array, [[0, 0, 0], [1, 2, 1]]), tf.gather_nd(array, [[[0, 0], [0, 2]], [[1, 0], [1, 2]]]),
        tf.gather(t[0, 0], [0, 3, 1]), tf.scatter_nd([[1], [3], [5]], [2, 4, 6], tf.constant([7])),
        tf.scatter_nd([[0, 1], [2, 3], [3, 1]], [1, 10, 7], tf.constant([4, 5])),
    )  # fmt: skip


def rows_of_a_variable_are_scattered(tf):
    v = tf.Variable(np.arange(6.0).reshape(3, 2))
    v.scatter_nd_update([[0], [2]], [[9.0, 9.0], [8.0, 8.0]])
    v.scatter_nd_add([[1, 1]], [5.0])
    v.scatter_nd_sub([[0, 0]], [1.0])
    rows = tf.Variable([1.0, 2.0, 3.0])
    part = tf.IndexedSlices(values=tf.constant([10.0]), indices=tf.constant([1]))
    found = []
    for method in (
        "scatter_add",
        "scatter_update",
        "scatter_mul",
        "scatter_max",
        "scatter_div",
        "scatter_sub",
    ):
        getattr(rows, method)(part)
        found.append(np.array(rows))
    return v, v.sparse_read([0, 2]), v.gather_nd([[0, 0], [2, 1]]), found


def numbers_of_a_whole_variable(tf):
    v = tf.Variable(5, dtype=tf.int64)
    v.assign_add(2)
    return (
        v + 1,
        v * 2,
        -v,
        v / 2,
        v // 2,
        v % 3,
        v**2,
        abs(-v),
        v > 3,
        bool(v == 7),
        int(v),
        float(v),
        10 - v,
    )


def a_tensor_as_an_index(tf):
    i = tf.constant(2)
    return [10, 20, 30][i], list(range(int(i))), np.arange(5)[i], "abc"[i], [4, 5, 6][tf.argmax([1, 5, 2])]


def a_tensor_is_taken_apart(tf):
    x = tf.constant([1.0, 2.0])
    a, b = x
    return (
        a,
        b,
        len(x),
        list(x),
        sum(x),
        max(x),
        f"{float(a):.2f}",
        int(tf.constant(2.7)),
        np.array([x, x]),
        abs(-x),
    )


def derivatives_of_a_gradient_in_forward_mode(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.autodiff.ForwardAccumulator(x, tf.eye(2)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(x) * x)
        g = tape.gradient(y, x)
    return accumulator.jvp(y), accumulator.jvp(g)


def questions_to_one_persistent_tape(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        a = x * x
        with tf.GradientTape() as inner:
            inner.watch(a)
            b = a**3
        c = inner.gradient(b, a)
        d = tf.reduce_sum(c * x)
    weights = [tf.constant(2.0), tf.constant([1.0, -1.0])]
    return (
        tape.gradient(d, x), tape.gradient(d, a), tape.jacobian(c, x),
        tape.gradient([d, c], [x, a], output_gradients=weights),
    )  # fmt: skip


def a_custom_gradient_with_a_variable(tf):
    v, x = tf.Variable(2.0), tf.constant(3.0)

    @tf.custom_gradient
    def scaled(x):
        def backward(upstream, variables=None):
            return upstream * v, [upstream * x for _ in variables]

        return x * v, backward

    @tf.custom_gradient
    def mixed(x, y):
        return (x * y, x - y), lambda dz, dw: (dz * y + dw, dz * x - dw)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = scaled(x) ** 2
        product, difference = mixed(x, v * 1.0)
        z = product * difference
    return tape.gradient(y, [x, v]), tape.gradient(z, [x, v])


# ---- data ------------------------------------------------------------------------------------------------------------


def batches_of_generators(tf):
    def rows():
        for i in range(3):
            yield i, np.ones(i + 1, np.float32) * i

    spec = (tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.float32))
    data = tf.data.Dataset.from_generator(rows, output_signature=spec)
    count = tf.data.Dataset.from_generator(range, args=[7], output_types=tf.int32, output_shapes=())
    return list(data), next(iter(data.padded_batch(3))), list(count.repeat().batch(5).take(3))


def windows_of_a_range(tf):
    def windows(data, size, shift, stride):
        parts = data.window(size, shift=shift, stride=stride)
        return parts.flat_map(lambda part: part.batch(size, drop_remainder=True))

    data = windows(tf.data.Dataset.range(60), size=6, shift=5, stride=3)
    pairs = data.map(lambda x: (x[:-1], x[1:]))
    return list(pairs.batch(3).take(1)), [
        [int(v) for v in part] for part in tf.data.Dataset.range(5).window(2)
    ]


def orders_of_datasets(tf):
    data = tf.data.Dataset
    return (
        list(data.range(5).interleave(lambda x: data.from_tensors(x).repeat(2), cycle_length=2, block_length=1)),
        list(data.range(8).take_while(lambda x: x < 3)), list(data.range(8).shard(3, 1)),
        list(data.range(2).concatenate(data.range(8, 10))), list(data.range(6).batch(4).unbatch()),
        list(data.from_tensor_slices([1, 1, 2, 2]).unique()),
        list(data.range(7).group_by_window(lambda x: x % 2, lambda _, d: d.batch(3), window_size=3)),
        [len(b) for b in data.range(6).repeat(2).batch(4)], [len(b) for b in data.range(6).batch(4).repeat(2)],
        list(data.range(10).filter(lambda x: x % 2 == 0).enumerate(start=2)),
    )  # fmt: skip


def an_iterator_ends(tf):
    iterator = iter(tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": [[1], [2]]}))
    found = [next(iterator), iterator.get_next()]
    for attempt in (iterator.get_next, lambda: next(iterator)):
        try:
            attempt()
        except (tf.errors.OutOfRangeError, StopIteration) as error:
            found.append(type(error).__name__)
    return found


def orders_of_a_shuffle_repeat(tf):
    data = tf.data.Dataset.range(20).shuffle(20, seed=1, reshuffle_each_iteration=False)
    first, second = [[int(x) for x in data] for _ in range(2)]
    return first == second, sorted(first), first == sorted(first)
