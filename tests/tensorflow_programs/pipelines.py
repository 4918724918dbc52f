"""Programs of textbooks: data pipelines."""

import numpy as np


def specs_of_elements(tf):
    data = tf.data.Dataset
    pairs = data.from_tensor_slices((np.zeros((10, 3), np.float32), np.zeros(10, np.int64)))
    named = data.from_tensor_slices({"a": np.zeros((4, 2), np.float32), "b": np.arange(4)})
    mapped = data.range(5).map(lambda x: (x, tf.cast(x, tf.float32)[None]))
    generated = data.from_generator(lambda: iter([1, 2]), output_signature=tf.TensorSpec((), tf.int32))

    def texts(spec):
        if isinstance(spec, dict):
            return {name: texts(s) for name, s in spec.items()}
        if isinstance(spec, (tuple, list)):
            return [texts(s) for s in spec]
        return [list(spec.shape), spec.dtype.name]

    return [
        texts(d.element_spec)
        for d in (
            pairs, pairs.batch(4), pairs.batch(5, drop_remainder=True), named, mapped, generated, data.range(3),
            pairs.shuffle(3).repeat(), data.zip((data.range(3), data.range(3))), pairs.batch(4).unbatch(),
            data.range(5).window(2).flat_map(lambda w: w.batch(2)), pairs.enumerate(),
        )
    ]  # fmt: skip


def cardinalities(tf):
    data = tf.data.Dataset
    d = data.range(10)
    filtered = d.filter(lambda x: x > 3)
    return [
        int(x.cardinality())
        for x in (
            d, d.batch(3), d.batch(3, drop_remainder=True), d.repeat(), d.repeat(2), d.take(3), d.skip(8), filtered,
            d.batch(3).unbatch(),
            filtered.apply(lambda x: x.take(2)), d.shard(3, 1), d.window(4), d.concatenate(d), d.map(lambda x: x),
        )
    ], tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY  # fmt: skip


def elements_are_chosen(tf):
    data = tf.data.Dataset
    a, b = data.range(0, 3), data.range(10, 13)
    choice = data.from_tensor_slices(np.array([0, 1, 1, 0, 0, 1], np.int64))
    chosen = data.choose_from_datasets([a, b], choice)
    uniques = data.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()
    single = data.range(3).batch(3).get_single_element()
    rebatched = data.range(7).batch(3).rebatch(2)
    rebatched_2 = data.range(8).batch(4).rebatch([1, 3], drop_remainder=True)
    sampled = data.sample_from_datasets([a, b], weights=[1.0, 0.0])
    return [
        [x.tolist() for x in d.as_numpy_iterator()]
        for d in (chosen, uniques, rebatched, rebatched_2, sampled)
    ], single


def groups_of_elements(tf):
    data = tf.data.Dataset
    grouped = data.range(10).group_by_window(
        key_func=lambda x: x % 2, reduce_func=lambda key, d: d.batch(3), window_size=3
    )
    lengths = [0, 4, 1, 6, 2, 3, 5]

    def gen():
        for n in lengths:
            yield np.arange(n)

    sequences = data.from_generator(gen, output_signature=tf.TensorSpec((None,), tf.int64))
    bucketed = sequences.bucket_by_sequence_length(
        element_length_func=lambda x: tf.shape(x)[0], bucket_boundaries=[3, 5], bucket_batch_sizes=[2, 2, 2]
    )
    return [x.tolist() for x in grouped.as_numpy_iterator()], [
        x.tolist() for x in bucketed.as_numpy_iterator()
    ]


def windows_of_a_series(tf):
    def to_windows(dataset, length):
        dataset = dataset.window(length, shift=1, drop_remainder=True)
        return dataset.flat_map(lambda window_ds: window_ds.batch(length))

    windows = to_windows(tf.data.Dataset.range(10), 4)
    nested = to_windows(to_windows(tf.data.Dataset.range(7), 3).batch(1).unbatch(), 2)
    pairs = windows.map(lambda w: (w[:-1], w[-1]))
    series = np.arange(12, dtype=np.float32)
    from_array = tf.keras.utils.timeseries_dataset_from_array(
        series[:-3], targets=series[3:], sequence_length=3, batch_size=4, sampling_rate=1
    )
    strided = tf.keras.utils.timeseries_dataset_from_array(
        series, None, 3, sequence_stride=2, sampling_rate=2, batch_size=None, start_index=1, end_index=11
    )
    return (
        [w.tolist() for w in windows.as_numpy_iterator()], [w.tolist() for w in nested.as_numpy_iterator()],
        [[a.tolist(), b.tolist()] for a, b in pairs.as_numpy_iterator()],
        [[a.tolist(), b.tolist()] for a, b in from_array.as_numpy_iterator()],
        [w.tolist() for w in strided.as_numpy_iterator()],
    )  # fmt: skip


def a_pipeline_for_training(tf):
    x = np.arange(40, dtype=np.float32).reshape(20, 2) / 40
    y = x.sum(1, keepdims=True)

    def preprocess(a, b):
        return (a - 0.5) * 2.0, b

    train = (
        tf.data.Dataset.from_tensor_slices((x, y)).map(preprocess, num_parallel_calls=tf.data.AUTOTUNE)
        .cache().batch(8).prefetch(1)
    )  # fmt: skip
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(train, epochs=2, verbose=0, validation_data=train.take(1)).history
    shards = [list(tf.data.Dataset.range(10).shard(3, i).as_numpy_iterator()) for i in range(3)]
    interleaved = tf.data.Dataset.range(1, 4).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2
    )
    total = tf.data.Dataset.range(5).reduce(np.int64(0), lambda s, v: s + v)
    scanned = tf.data.Dataset.range(5).scan(np.int64(0), lambda s, v: (s + v, s + v))
    taken = tf.data.Dataset.range(10).take_while(lambda v: v < 4)
    return (
        history, [[int(v) for v in s] for s in shards], [int(v) for v in interleaved], total,
        [int(v) for v in scanned], [int(v) for v in taken], len(train),
    )  # fmt: skip
