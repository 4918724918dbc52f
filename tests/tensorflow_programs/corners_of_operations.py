"""Corners of the guide's pages on tensors, Variables, layers, losses, metrics and datasets."""

import numpy as np

X = np.random.default_rng(17).normal(size=(4, 3)).astype("float32")
LABELS = np.array([0, 2, 1, 2])


def a_variable_is_made_of_another(tf):
    a = tf.Variable([2.0, 3.0])
    b = tf.Variable(a)
    a.assign([5.0, 6.0])
    return (
        a,
        b,
        a.assign_add([2.0, 3.0]),
        a.assign_sub([7.0, 9.0]),
        tf.convert_to_tensor(b),
        tf.math.argmax(b),
    )


def a_variable_keeps_its_shape(tf):
    v = tf.Variable([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    reshaped = tf.reshape(v, [3, 2])
    v.assign(v * 2.0)
    found = [reshaped, v, v[1], v[:, 1:], v.shape.as_list(), v.dtype.name]
    try:
        v.assign([1.0, 2.0, 3.0])
    except ValueError:
        found.append("ValueError")
    return found


def scattered_updates_of_a_variable(tf):
    v = tf.Variable(tf.zeros([4, 2]))
    v.scatter_update(tf.IndexedSlices(tf.constant([[1.0, 1.0], [2.0, 2.0]]), tf.constant([3, 1])))
    v.scatter_add(tf.IndexedSlices(tf.constant([[5.0, 5.0]]), tf.constant([1])))
    v.scatter_nd_add([[0, 1], [2, 0]], [10.0, 20.0])
    v[1, 0].assign(-1.0)
    v[2:, 1].assign([8.0, 9.0])
    return v, v.sparse_read(tf.constant([3, 0])), v.gather_nd([[1, 1], [2, 0]])


def tensors_are_joined_and_split(tf):
    x = tf.constant(X)
    return (
        tf.concat([x, x * 2], -1), tf.stack([x[0], x[1]], axis=1), tf.split(x, [1, 2], 1), tf.unstack(x, axis=1),
        tf.tile(x[:1], [2, 1]), tf.repeat(x[0], [1, 0, 2]), tf.pad(x, [[0, 1], [1, 0]], constant_values=7.0),
        tf.reverse(x, [0]), tf.roll(x, 1, 1), tf.squeeze(x[tf.newaxis, :, :1], 0),
        tf.expand_dims(x, 1).shape.as_list(),
    )  # fmt: skip


def tensors_are_gathered_and_masked(tf):
    x = tf.constant(X)
    mask = x > 0.0
    return (
        tf.gather(x, [2, 0], axis=1), tf.gather_nd(x, [[0, 1], [3, 2]]), tf.boolean_mask(x, mask), tf.where(mask),
        tf.where(mask, x, -1.0), tf.one_hot(LABELS, 3), tf.one_hot([1, -1, 5], 3, on_value=2.0, off_value=0.5),
        tf.tensor_scatter_nd_add(x, [[0], [0]], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]),
        tf.scatter_nd([[1], [3]], [9, 8], [5]),
        tf.strided_slice(x, [0, 0], [4, 3], [2, 2]), tf.slice(x, [1, 0], [2, -1]), tf.sequence_mask([1, 3], 4),
    )  # fmt: skip


def sums_over_axes_and_segments(tf):
    x = tf.constant(X)
    return (
        tf.reduce_sum(x, axis=[0, 1]), tf.reduce_mean(x, 0, keepdims=True), tf.reduce_logsumexp(x, -1),
        tf.math.reduce_std(x, 1), tf.math.cumsum(x, 1, exclusive=True, reverse=True), tf.norm(x, ord=1, axis=0),
        tf.math.segment_sum(x, [0, 0, 1, 2]), tf.math.unsorted_segment_mean(x, [2, 0, 2, 0], 3),
        tf.math.top_k(x, 2)[1],
        tf.argsort(x[0], direction="DESCENDING"), tf.sort(x, 0), tf.math.bincount([1, 1, 3], minlength=5),
        tf.math.reduce_any(x > 1.5, 1), tf.unique([3, 1, 3, 2])[0], tf.searchsorted([1.0, 3.0], [0.0, 2.0, 3.0]),
    )  # fmt: skip


def products_of_matrices(tf):
    a = tf.constant(X[:3])
    spd = a @ tf.transpose(a) + 2.0 * tf.eye(3)
    sign, logarithm = tf.linalg.slogdet(spd)
    return (
        tf.linalg.matmul(a, a, transpose_b=True), tf.einsum("ij,kj->ik", a, a), tf.tensordot(a, a, [[0, 1], [0, 1]]),
        tf.linalg.inv(spd) @ spd, tf.linalg.cholesky(spd), tf.linalg.solve(spd, a), tf.linalg.det(spd), sign,
        logarithm,
        tf.linalg.eigvalsh(spd), tf.linalg.svd(a, compute_uv=False), tf.linalg.band_part(a, 0, -1),
        tf.linalg.diag_part(a),
        tf.linalg.trace(a), tf.linalg.matvec(a, [1.0, 2.0, 3.0]), tf.linalg.triangular_solve(spd, a, lower=True),
    )  # fmt: skip


def dtypes_and_conversions(tf):
    x = tf.constant([1.7, -2.3, 300.0])
    return (
        tf.cast(x, tf.int32), tf.cast(x, tf.bool), tf.cast([True, False], tf.float32), tf.saturate_cast(x, tf.uint8),
        tf.constant(3).dtype.name, tf.constant(3.0).dtype.name, tf.constant([1, 2.5]).dtype.name,
        tf.convert_to_tensor(np.arange(3)).dtype.name, tf.range(5).dtype.name, tf.linspace(0.0, 1.0, 5),
        tf.float32.is_floating, tf.int8.max, tf.as_dtype("float64").name, tf.fill([2], 7), tf.zeros_like(x),
        tf.bitcast(x[:1], tf.int32),
    )  # fmt: skip


def losses_with_weights(tf):
    logits = tf.constant(X)
    losses = tf.keras.losses
    weights = [1.0, 0.0, 2.0, 0.5]
    one_hot = tf.one_hot(LABELS, 3)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        sparse = losses.SparseCategoricalCrossentropy(from_logits=True)(LABELS, logits, sample_weight=weights)
    return (
        sparse, tape.gradient(sparse, logits),
        losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(one_hot, logits),
        losses.BinaryCrossentropy(from_logits=True, reduction="sum")(one_hot, logits),
        losses.KLDivergence(reduction="none")(one_hot * 0.8 + 0.05, tf.nn.softmax(logits)),
        losses.Huber(0.5)(one_hot, logits),
        losses.MeanAbsolutePercentageError()(one_hot + 1.0, logits), losses.CosineSimilarity(axis=1)(one_hot, logits),
        losses.Hinge()(one_hot * 2.0 - 1.0, logits), losses.LogCosh()(one_hot, logits),
        losses.Poisson()(one_hot, tf.exp(logits)),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=logits),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=one_hot, logits=logits), tf.nn.l2_loss(logits),
    )  # fmt: skip


def metrics_over_batches(tf):
    metrics = tf.keras.metrics
    scores = tf.nn.softmax(X)
    found = []
    for metric in (
        metrics.SparseCategoricalAccuracy(), metrics.SparseTopKCategoricalAccuracy(k=2),
        metrics.SparseCategoricalCrossentropy(), metrics.Mean(), metrics.MeanSquaredError(),
    ):  # fmt: skip
        for _ in range(2):
            if isinstance(metric, metrics.Mean) and type(metric).__name__ == "Mean":
                metric.update_state(scores[:, 0], sample_weight=[1.0, 2.0, 0.0, 1.0])
            elif type(metric).__name__ == "MeanSquaredError":
                metric.update_state(tf.one_hot(LABELS, 3), scores)
            else:
                metric.update_state(LABELS, scores, sample_weight=[1.0, 1.0, 2.0, 0.0])
        found.append(metric.result())
        metric.reset_state()
        found.append(len(metric.variables))
    area = metrics.AUC(num_thresholds=50)
    area.update_state([0, 1, 1, 0, 1], [0.1, 0.8, 0.4, 0.45, 0.9])
    precision = metrics.Precision(thresholds=0.5)
    precision.update_state([0, 1, 1, 0, 1], [0.6, 0.8, 0.4, 0.45, 0.9])
    return found, area.result(), precision.result()


def layers_in_training_and_inference(tf):
    layers = tf.keras.layers
    x = tf.constant(np.stack([X, X * 2 + 1]))
    norm, layer_norm = layers.BatchNormalization(momentum=0.8), layers.LayerNormalization()
    before = norm(x, training=False)
    trained = norm(x, training=True)
    after = norm(x)
    pooled = (
        layers.GlobalAveragePooling1D()(x),
        layers.MaxPooling1D(2)(x),
        layers.AveragePooling1D(2, strides=1)(x),
    )
    embedded = layers.Embedding(5, 2, embeddings_initializer="ones")(tf.constant([[0, 4]]))
    return (
        before, trained, after, norm.moving_mean, layer_norm(x), pooled, embedded, layers.Flatten()(x),
        layers.Dropout(0.5)(x, training=False), layers.Reshape((2, 6))(x), layers.Concatenate()([x, x])[0, 0],
        layers.Lambda(lambda y: y * 2.0)(x)[0, 0], layers.Rescaling(2.0, 1.0)(x)[0, 0],
    )  # fmt: skip


def recurrent_layers_of_ones(tf):
    layers = tf.keras.layers
    x = tf.constant(np.stack([X, X[::-1] * 0.5]))
    options = {"kernel_initializer": "ones", "recurrent_initializer": "identity", "bias_initializer": "zeros"}
    found = []
    for kind in (layers.SimpleRNN, layers.LSTM, layers.GRU):
        layer = kind(2, return_sequences=True, return_state=True, **options)
        with tf.GradientTape() as tape:
            sequences, *states = layer(x)
            loss = tf.reduce_sum(sequences**2)
        gradient = tape.gradient(loss, layer.trainable_variables)[1]
        found.append([sequences, states, gradient, layer(x, initial_state=states)[0]])
    return found


def convolutions_of_ones(tf):
    layers = tf.keras.layers
    x = tf.constant(np.arange(2 * 5 * 5 * 2, dtype="float32").reshape(2, 5, 5, 2) / 900.0)
    ones = {"kernel_initializer": "ones"}
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layers.Conv2D(3, 3, strides=2, padding="same", activation="tanh", **ones)(x)
        loss = tf.reduce_sum(y**2)
    return (
        y, tape.gradient(loss, x), layers.Conv2D(2, (3, 2), dilation_rate=2, **ones)(x),
        layers.Conv2DTranspose(1, 3, strides=2, padding="same", **ones)(x),
        layers.DepthwiseConv2D(2, depthwise_initializer="ones")(x),
        layers.Conv1D(2, 3, padding="causal", **ones)(x[:, 0]), layers.MaxPool2D(2)(x),
        layers.UpSampling2D()(x[:, :2, :2]),
        layers.ZeroPadding2D(1)(x[:1, :1, :1]), tf.nn.conv2d(x, tf.ones([2, 2, 2, 1]), strides=1, padding="VALID"),
    )  # fmt: skip


def attention_of_two_sequences(tf):
    layers = tf.keras.layers
    query, value = tf.constant(X[np.newaxis, :2]), tf.constant(X[np.newaxis])
    heads = layers.MultiHeadAttention(2, 3, kernel_initializer=tf.keras.initializers.Constant(0.3))
    with tf.GradientTape() as tape:
        tape.watch(query)
        result, scores = heads(query, value, return_attention_scores=True)
        loss = tf.reduce_sum(result**2)
    return (
        result, scores, tape.gradient(loss, query), layers.Attention(use_scale=True)([query, value]),
        heads(value, value, use_causal_mask=True),
    )  # fmt: skip


def a_pipeline_of_all_kinds(tf):
    data = tf.data.Dataset.from_tensor_slices({"x": X, "y": LABELS})
    pairs = data.map(lambda row: (row["x"] * 2.0, row["y"]))
    batches = pairs.batch(3).prefetch(1)
    total = pairs.reduce(tf.constant(0.0), lambda s, pair: s + tf.reduce_sum(pair[0]))
    numbers = tf.data.Dataset.range(7)
    return (
        [[x, y] for x, y in batches], total, [int(n) for n in numbers.filter(lambda n: n % 2 == 1)],
        [n.numpy().tolist() for n in numbers.batch(3, drop_remainder=True).repeat(2)],
        [int(n) for n in numbers.shard(3, 1)], [int(n) for n in numbers.skip(2).take(3).cache()],
        sorted(int(n) for n in numbers.shuffle(7, seed=1)), [int(i) * int(n) for i, n in numbers.enumerate(2)],
        [[int(a), float(b)] for a, b in tf.data.Dataset.zip((numbers, tf.data.Dataset.from_tensor_slices([1.0, 2.0])))],
        len(pairs), int(batches.cardinality()),
        [w for window in numbers.window(3, shift=2, drop_remainder=True) for w in window.batch(3)],
    )  # fmt: skip


def a_checkpoint_of_a_model_and_its_optimizer(tf):
    import os
    import tempfile

    def made():
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])
        return model, tf.keras.optimizers.Adam(0.1), tf.Variable(0)

    def steps(model, optimizer, step, count):
        for _ in range(count):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(X) ** 2)
            optimizer.apply_gradients(
                zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
            )
            step.assign_add(1)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        model, optimizer, step = made()
        checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
        manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
        for _ in range(3):
            steps(model, optimizer, step, 1)
            manager.save()
        names = [os.path.basename(path) for path in manager.checkpoints]
        expected = steps(model, optimizer, step, 2)
        model, optimizer, step = made()
        restored = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
        restored.restore(tf.train.latest_checkpoint(folder))
        return names, expected, steps(model, optimizer, step, 2), step


def random_numbers_of_a_generator(tf):
    generator = tf.random.Generator.from_seed(3)
    first = generator.normal([1000])
    state = tf.Variable(generator.state)
    again = generator.uniform([5])
    generator.reset(state)
    one = tf.random.stateless_uniform([4], seed=[1, 2])
    other = tf.random.stateless_uniform([4], seed=[1, 2])
    return (
        bool(tf.reduce_all(again == generator.uniform([5]))), bool(abs(tf.reduce_mean(first)) < 0.15),
        bool(tf.reduce_all(one == other)), tf.random.uniform([2, 3], maxval=5, dtype=tf.int32).shape.as_list(),
        sorted(int(i) for i in tf.random.shuffle(tf.range(6))),
    )  # fmt: skip


def signals_and_special_functions(tf):
    x = tf.constant([0.5, 1.5, 2.5, 4.0])
    spectrum = tf.signal.rfft(x)
    return (
        tf.math.lgamma(x), tf.math.digamma(x), tf.math.erf(x), tf.math.igamma(x, x), tf.math.xlogy(x, x),
        tf.math.softplus(x),
        tf.abs(spectrum), tf.signal.irfft(spectrum), tf.math.polyval([1.0, 2.0, 3.0], x),
        tf.math.divide_no_nan(x, [0.0, 1.0, 2.0, 0.0]),
        tf.math.floormod([-7.0, 7.0], 3.0), tf.math.round([0.5, 1.5, 2.5]), tf.math.special.bessel_i0(x),
        tf.math.log1p(x),
        tf.clip_by_value(x, 1.0, 2.0), tf.math.betainc(x, x, [0.1, 0.5, 0.7, 0.9]), tf.math.sign(x - 1.5),
        tf.math.rsqrt(x),
    )  # fmt: skip
