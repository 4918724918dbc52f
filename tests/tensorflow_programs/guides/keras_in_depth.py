"""Programs of Keras's layers, steps, masks and metrics, with its guides in mind."""

import numpy as np

X = np.random.default_rng(31).normal(size=(16, 4)).astype(np.float32)
LABELS = (np.arange(16) % 3).astype(np.int32)
SEQUENCES = np.random.default_rng(32).normal(size=(3, 5, 2)).astype(np.float32)
TOKENS = np.array([[4, 1, 0, 0, 0], [2, 3, 5, 1, 0], [1, 0, 0, 0, 0]])


def make_weights(model):
    """Give a model weights that both packages agree on."""
    waves = [0.4 * np.cos(0.7 * np.arange(w.size) + w.ndim).reshape(w.shape) for w in model.get_weights()]
    model.set_weights([(wave + (wave.ndim == 1)).astype("float32") for wave in waves])
    return model


def make_classifier(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((4,), name="features")
    h = layers.Dense(6, activation="tanh", name="hidden")(inputs)
    h = layers.BatchNormalization(name="norm")(h)
    return make_weights(tf.keras.Model(inputs, layers.Dense(3, name="logits")(h)))


def a_layer_counts_its_calls(tf):
    class Running(tf.keras.layers.Layer):
        def __init__(self, units, **options):
            super().__init__(**options)
            self.units = units
            self.total = self.add_weight(shape=(units,), initializer="zeros", trainable=False, name="total")

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="ones", name="w")

        def call(self, inputs, training=None):
            y = tf.matmul(inputs, self.w)
            if training:
                self.total.assign_add(tf.reduce_sum(y, axis=0))
            return y - self.total

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    layer = Running(2, name="running")
    found = [layer(X[:2], training=True), layer(X[:2]), layer(X[:2], training=False)]
    copy = Running.from_config(layer.get_config())
    facts = [len(layer.weights), len(layer.trainable_weights), len(copy.weights), copy.units, copy.name]
    return found, layer.total, facts, [w.name for w in layer.weights]


def statistics_move_while_training(tf):
    model = make_classifier(tf)
    norm = model.get_layer("norm")
    before = [np.array(v) for v in norm.non_trainable_variables]
    in_training = model(X, training=True)
    after = [np.array(v) for v in norm.non_trainable_variables]
    in_use = model(X, training=False)
    norm.trainable = False
    frozen = model(X, training=True)
    names = [v.name for v in norm.weights]
    return (
        before,
        in_training,
        after,
        in_use,
        tf.reduce_max(tf.abs(frozen - in_use)) < 1e-5,
        names,
        len(model.trainable_weights),
    )


def a_loop_from_scratch_with_all_parts(tf):
    model = make_classifier(tf)
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metric = tf.keras.metrics.SparseCategoricalAccuracy()
    mean = tf.keras.metrics.Mean()
    data = tf.data.Dataset.from_tensor_slices((X, LABELS)).batch(5, drop_remainder=False)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_fn(y, logits) + sum(model.losses)
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights, strict=True))
        metric.update_state(y, logits)
        mean.update_state(loss, sample_weight=tf.shape(x)[0])
        return loss

    history = []
    for _ in range(3):
        losses = [train_step(x, y) for x, y in data]
        history.append((losses, metric.result(), mean.result()))
        metric.reset_state()
        mean.reset_state()
    return history, optimizer.iterations, model.get_weights()[:2]


def a_model_that_trains_in_its_own_way(tf):
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(3, kernel_initializer="zeros")
            self.tracker = tf.keras.metrics.Mean(name="loss")
            self.hits = tf.keras.metrics.SparseCategoricalAccuracy(name="hits")

        @property
        def metrics(self):
            return [self.tracker, self.hits]

        def call(self, inputs):
            return self.dense(inputs)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                logits = self(x, training=True)
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
            self.optimizer.apply_gradients(
                zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)
            )
            self.tracker.update_state(loss)
            self.hits.update_state(y, logits)
            return {m.name: m.result() for m in self.metrics}

        def test_step(self, data):
            x, y = data
            logits = self(x, training=False)
            self.tracker.update_state(
                tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
            )
            self.hits.update_state(y, logits)
            return {m.name: m.result() for m in self.metrics}

    model = Own()
    model.compile(optimizer=tf.keras.optimizers.SGD(0.2, momentum=0.9))
    history = model.fit(
        X, LABELS, batch_size=8, epochs=3, shuffle=False, verbose=0, validation_data=(X[:6], LABELS[:6])
    )
    results = model.evaluate(X, LABELS, verbose=0, return_dict=True)
    return history.history, results, model.predict(X[:2], verbose=0)


def a_recurrent_guide(tf):
    layers = tf.keras.layers
    x = tf.constant(SEQUENCES)
    gru = layers.GRU(3, return_sequences=True, return_state=True)
    lstm = layers.LSTM(2, return_state=True, go_backwards=True)
    both = layers.Bidirectional(layers.SimpleRNN(2, return_sequences=True), merge_mode="sum")
    for layer in (gru, lstm, both):
        layer(x)
        make_weights(layer)
    sequence, state = gru(x)
    again, _ = gru(x[:, :2], initial_state=state)
    cells = layers.RNN([layers.GRUCell(2), layers.LSTMCell(3)], return_sequences=False)
    cells(x)
    make_weights(cells)
    return (
        sequence,
        state,
        again,
        lstm(x),
        both(x),
        cells(x),
        [w.shape for w in gru.weights],
        [w.name for w in lstm.weights],
    )


def a_stateful_layer_is_reset(tf):
    layer = tf.keras.layers.LSTM(2, stateful=True)
    x = tf.constant(SEQUENCES)
    layer(x)
    make_weights(layer)
    layer.reset_states()
    halves = [layer(x[:, :3]), layer(x[:, 3:])]
    layer.reset_states()
    return halves, layer(x), len(layer.weights)


def masks_are_made_kept_and_used(tf):
    layers = tf.keras.layers
    embedding = layers.Embedding(6, 3, mask_zero=True)
    embedding(TOKENS)
    make_weights(embedding)
    embedded = embedding(TOKENS)
    mask = embedding.compute_mask(TOKENS)
    masking = layers.Masking(mask_value=0.0)
    padded = tf.constant(SEQUENCES) * tf.cast(mask, tf.float32)[..., None]
    lstm = layers.LSTM(2)
    lstm(embedded)
    make_weights(lstm)

    class Weighted(layers.Layer):
        supports_masking = True

        def call(self, inputs, mask=None):
            share = tf.cast(mask, tf.float32)[..., None]
            return tf.reduce_sum(inputs * share, 1) / tf.reduce_sum(share, 1)

    model = tf.keras.Sequential([layers.Input((None,)), layers.Embedding(6, 3, mask_zero=True), Weighted()])
    make_weights(model)
    return (
        mask,
        lstm(embedded),
        lstm(embedded, mask=mask),
        masking.compute_mask(padded),
        model(TOKENS),
        model.predict(TOKENS, verbose=0),
    )


def shared_layers_and_features(tf):
    layers = tf.keras.layers
    left, right = tf.keras.Input((5,), dtype="int32"), tf.keras.Input((5,), dtype="int32")
    shared = layers.Embedding(8, 4)
    pooled = [layers.GlobalAveragePooling1D()(shared(x)) for x in (left, right)]
    merged = layers.Concatenate()([*pooled, layers.Multiply()(pooled)])
    out = layers.Dense(1, activation="sigmoid", name="same")(merged)
    model = make_weights(tf.keras.Model([left, right], out))
    features = tf.keras.Model(
        model.inputs, [layer.output for layer in model.layers if "concat" in layer.name]
    )
    shapes = [tuple(layer.output.shape) for layer in model.layers[2:]]
    return (
        model([TOKENS, TOKENS[::-1]]),
        features([TOKENS, TOKENS]),
        len(model.weights),
        shapes,
        model.count_params(),
    )


def a_residual_net_of_pictures(tf):
    layers = tf.keras.layers
    inputs = tf.keras.Input((8, 8, 3), name="img")
    x = layers.Conv2D(4, 3, activation="relu")(inputs)
    block = layers.MaxPooling2D(2)(x)
    x = layers.Conv2D(4, 3, activation="relu", padding="same")(block)
    x = layers.SeparableConv2D(4, 3, padding="same")(x)
    x = layers.add([x, block])
    x = layers.DepthwiseConv2D(2, depth_multiplier=2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    model = make_weights(tf.keras.Model(inputs, layers.Dense(2)(x)))
    pictures = np.sin(np.arange(2 * 8 * 8 * 3)).reshape(2, 8, 8, 3).astype(np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(pictures) ** 2)
    grads = tape.gradient(loss, model.trainable_weights)
    return model(pictures), [tf.norm(g) for g in grads], [w.shape for w in model.weights]


def metrics_of_ones_own(tf):
    class TruePositives(tf.keras.metrics.Metric):
        def __init__(self, name="positives", **options):
            super().__init__(name=name, **options)
            self.count = self.add_variable(shape=(), initializer="zeros", name="count")

        def update_state(self, y_true, y_pred, sample_weight=None):
            hits = tf.cast(tf.cast(y_true, tf.bool) & (y_pred > 0.5), tf.float32)
            if sample_weight is not None:
                hits *= tf.cast(sample_weight, tf.float32)
            self.count.assign_add(tf.reduce_sum(hits))

        def result(self):
            return self.count

    metric = TruePositives()
    truth, found = np.array([1, 0, 1, 1]), np.array([0.9, 0.8, 0.2, 0.7], np.float32)
    metric.update_state(truth, found)
    first = float(metric.result())
    metric.update_state(truth, found, sample_weight=[0.5, 1, 1, 2])
    second = float(metric.result())
    metric.reset_state()
    standard = []
    for m in (
        tf.keras.metrics.Precision(),
        tf.keras.metrics.Recall(thresholds=[0.1, 0.75]),
        tf.keras.metrics.AUC(num_thresholds=20),
        tf.keras.metrics.BinaryAccuracy(threshold=0.6),
        tf.keras.metrics.MeanAbsoluteError(),
        tf.keras.metrics.CosineSimilarity(),
    ):
        m.update_state(truth, found)
        standard.append((m.name, m.result()))
    return first, second, metric.result(), standard


def weights_are_exchanged(tf):
    model = make_classifier(tf)
    clone = tf.keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    same = tf.reduce_max(tf.abs(model(X) - clone(X)))
    base = tf.keras.Model(model.input, model.get_layer("hidden").output)
    base.trainable = False
    head = tf.keras.Sequential([base, tf.keras.layers.Dense(1, kernel_initializer="ones", name="head")])
    head.compile(tf.keras.optimizers.SGD(0.01), "mse")
    before = base.get_weights()[0].copy()
    losses = head.fit(X, X[:, :1], epochs=2, batch_size=8, shuffle=False, verbose=0).history["loss"]
    unchanged = bool(np.all(before == base.get_weights()[0]))
    config = model.get_config()
    return (
        same,
        losses,
        unchanged,
        len(head.trainable_weights),
        [layer["class_name"] for layer in config["layers"]],
        head(X[:3]),
    )


def normalized_features_and_their_variables(tf):
    layer = tf.keras.layers.Normalization(axis=-1)
    layer.adapt(X)
    names = [w.name for w in layer.weights]
    shapes = [tuple(w.shape) for w in layer.weights]
    model = tf.keras.Sequential([layer, tf.keras.layers.Dense(1, kernel_initializer="ones")])
    y = model(X[:4])
    weights = [np.asarray(w) for w in model.get_weights()]
    other = tf.keras.layers.Normalization(axis=-1)
    other.build((None, 4))
    copied = tf.keras.Sequential([other, tf.keras.layers.Dense(1)])
    copied(X[:1])
    copied.set_weights(weights)
    fixed = tf.keras.layers.Normalization(mean=2.0, variance=4.0)
    inverse = tf.keras.layers.Normalization(axis=-1, invert=True)
    inverse.adapt(X)
    return (
        y,
        names,
        shapes,
        weights,
        len(layer.trainable_weights),
        fixed(X[:1]),
        len(fixed.weights),
        inverse(layer(X[:2])),
    )


def schedules_and_callbacks(tf):
    model = make_classifier(tf)
    schedule = tf.keras.optimizers.schedules.PolynomialDecay(0.1, 6, 0.01, power=2.0)
    model.compile(
        tf.keras.optimizers.SGD(schedule),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    seen = []

    class Watch(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(("batch", batch, float(logs["loss"])))

        def on_epoch_end(self, epoch, logs=None):
            seen.append(("epoch", epoch, sorted(logs)))
            if epoch == 1:
                self.model.stop_training = True

    history = model.fit(X, LABELS, batch_size=8, epochs=5, shuffle=False, verbose=0, callbacks=[Watch()])
    values = [schedule(step) for step in (0, 3, 6, 9)]
    return history.history, seen, values, model.optimizer.iterations


def sample_and_class_weights(tf):
    found = []
    for options in ({"sample_weight": np.linspace(0, 2, 16)}, {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}):
        model = make_classifier(tf)
        model.compile(
            tf.keras.optimizers.SGD(0.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        )
        history = model.fit(X, LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0, **options)
        found.append(history.history["loss"])
    pairs = tf.data.Dataset.from_tensor_slices((X, LABELS, np.linspace(0, 2, 16).astype("float32"))).batch(8)
    model = make_classifier(tf)
    model.compile(
        tf.keras.optimizers.SGD(0.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    found.append(model.fit(pairs, epochs=2, verbose=0).history["loss"])
    return found, model.evaluate(pairs, verbose=0)


def pipelines_of_numbers(tf):
    data = tf.data.Dataset
    base = data.range(10)
    windows = base.window(4, shift=2, drop_remainder=True).flat_map(lambda w: w.batch(4))
    pairs = base.batch(5, drop_remainder=True).map(lambda b: (b[:-1], b[1:]))
    joined = data.zip((base, base.skip(3).map(lambda n: n * n)))
    chosen = base.filter(lambda n: n % 3 == 1).concatenate(data.range(2))
    padded = data.from_generator(
        lambda: (np.arange(n) for n in (1, 3, 2)), output_signature=tf.TensorSpec([None], tf.int64)
    ).padded_batch(2, padding_values=tf.constant(-1, tf.int64))
    summed = base.scan(tf.constant(0, tf.int64), lambda s, n: (s + n, s + n))
    mixed = data.range(3).interleave(lambda n: data.from_tensors(n).repeat(2), cycle_length=2)
    counted = base.enumerate(start=5).take(2)
    total = base.reduce(tf.constant(0, tf.int64), lambda s, n: s + n)
    rows = data.from_tensor_slices({"a": X[:4, 0], "b": (LABELS[:4], X[:4, 1:])}).batch(3)
    return [
        list(windows.as_numpy_iterator()),
        list(pairs.as_numpy_iterator()),
        list(joined.take(3).as_numpy_iterator()),
        list(chosen.as_numpy_iterator()),
        list(padded.as_numpy_iterator()),
        list(summed.as_numpy_iterator()),
        list(mixed.as_numpy_iterator()),
        list(counted.as_numpy_iterator()),
        total,
        list(rows.as_numpy_iterator()),
        int(base.batch(4).cardinality()),
        list(base.shard(3, 1).as_numpy_iterator()),
        len(list(base.batch(3).unbatch())),
    ]
