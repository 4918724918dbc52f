"""Programs of textbooks: sequences and images."""

import numpy as np

from tensorflow_programs.generative_models import make_values, make_weights


def a_character_model_with_a_gru(tf):
    class MyModel(tf.keras.Model):
        def __init__(self, vocab_size, embedding_dim, rnn_units):
            super().__init__()
            self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
            self.gru = tf.keras.layers.GRU(rnn_units, return_sequences=True, return_state=True)
            self.dense = tf.keras.layers.Dense(vocab_size)

        def call(self, inputs, states=None, return_state=False, training=False):
            x = self.embedding(inputs, training=training)
            if states is None:
                states = [tf.zeros((tf.shape(x)[0], 6))]
            x, states = self.gru(x, initial_state=states, training=training)
            x = self.dense(x, training=training)
            if return_state:
                return x, states
            return x

    ids = np.random.default_rng(0).integers(0, 7, 61)
    data = tf.data.Dataset.from_tensor_slices(ids).batch(6, drop_remainder=True)
    data = data.map(lambda sequence: (sequence[:-1], sequence[1:])).batch(4, drop_remainder=True)
    data = data.prefetch(tf.data.AUTOTUNE)
    model = MyModel(7, 4, 6)
    for x, _ in data.take(1):
        model(x)
    make_weights(model)
    loss_fn = tf.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="sgd", loss=loss_fn)
    history = model.fit(data, epochs=2, verbose=0)
    states, char, generated = None, tf.constant([[3]]), []
    for _ in range(6):
        logits, states = model(char, states=states, return_state=True)
        char = tf.argmax(logits[:, -1:, :], axis=-1)
        generated.append(int(char[0, 0]))
    return history.history, generated


def training_of_a_character_model_by_hand(tf):
    class CustomTraining(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = tf.keras.layers.Embedding(7, 4)
            self.rnn = tf.keras.layers.LSTM(5, return_sequences=True)
            self.dense = tf.keras.layers.Dense(7)

        def call(self, x, training=None):
            return self.dense(self.rnn(self.embedding(x)))

        @tf.function
        def train_step(self, inputs):
            inputs, labels = inputs
            with tf.GradientTape() as tape:
                predictions = self(inputs, training=True)
                loss = self.loss(labels, predictions)
            grads = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables, strict=True))
            return {"loss": loss}

    model = CustomTraining()
    ids = np.random.default_rng(1).integers(0, 7, (8, 6))
    model(tf.constant(ids[:, :-1]))
    make_weights(model)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    mean, found = tf.metrics.Mean(), []
    dataset = tf.data.Dataset.from_tensor_slices((ids[:, :-1], ids[:, 1:])).batch(4)
    for _ in range(2):
        mean.reset_state()
        for _batch, (inp, target) in enumerate(dataset):
            logs = model.train_step([inp, target])
            mean.update_state(logs["loss"])
        found.append(float(mean.result()))
    return found


def sequences_with_bahdanau_attention(tf):
    layers = tf.keras.layers

    class BahdanauAttention(layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.W1, self.W2, self.V = layers.Dense(units), layers.Dense(units), layers.Dense(1)

        def call(self, query, values):
            query_with_time_axis = tf.expand_dims(query, 1)
            score = self.V(tf.nn.tanh(self.W1(query_with_time_axis) + self.W2(values)))
            attention_weights = tf.nn.softmax(score, axis=1)
            context_vector = tf.reduce_sum(attention_weights * values, axis=1)
            return context_vector, attention_weights

    class Encoder(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layers.Embedding(9, 4)
            self.gru = layers.GRU(
                5, return_sequences=True, return_state=True, recurrent_initializer="glorot_uniform"
            )

        def call(self, x, hidden):
            return self.gru(self.embedding(x), initial_state=hidden)

    class Decoder(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layers.Embedding(9, 4)
            self.gru = layers.GRU(5, return_sequences=True, return_state=True)
            self.fc = layers.Dense(9)
            self.attention = BahdanauAttention(5)

        def call(self, x, hidden, enc_output):
            context_vector, attention_weights = self.attention(hidden, enc_output)
            x = self.embedding(x)
            x = tf.concat([tf.expand_dims(context_vector, 1), x], axis=-1)
            output, state = self.gru(x)
            output = tf.reshape(output, (-1, output.shape[2]))
            return self.fc(output), state, attention_weights

    encoder, decoder = Encoder(), Decoder()
    ids = np.random.default_rng(2).integers(0, 9, (2, 3, 5))
    ids[1, :, -1] = 0
    inp, targ = tf.constant(ids[0]), tf.constant(ids[1])
    out, hidden = encoder(inp, tf.zeros((3, 5)))
    decoder(tf.expand_dims([1] * 3, 1), hidden, out)
    make_weights(encoder, decoder)
    optimizer = tf.keras.optimizers.SGD(0.1)
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def loss_function(real, pred):
        mask = tf.math.logical_not(tf.math.equal(real, 0))
        loss_ = loss_object(real, pred)
        mask = tf.cast(mask, dtype=loss_.dtype)
        loss_ *= mask
        return tf.reduce_mean(loss_)

    @tf.function
    def train_step(inp, targ, enc_hidden):
        loss = 0
        with tf.GradientTape() as tape:
            enc_output, enc_hidden = encoder(inp, enc_hidden)
            dec_hidden = enc_hidden
            dec_input = tf.expand_dims([1] * 3, 1)
            for t in range(1, targ.shape[1]):
                predictions, dec_hidden, _ = decoder(dec_input, dec_hidden, enc_output)
                loss += loss_function(targ[:, t], predictions)
                dec_input = tf.expand_dims(targ[:, t], 1)
        batch_loss = loss / int(targ.shape[1])
        variables = encoder.trainable_variables + decoder.trainable_variables
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return batch_loss

    return [train_step(inp, targ, tf.zeros((3, 5))) for _ in range(3)], decoder.get_weights()[-1]


def monte_carlo_dropout(tf):
    model = tf.keras.Sequential(
        [tf.keras.Input((40,)), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)]
    )
    make_weights(model)
    x = tf.ones((2, 40))
    samples = tf.stack([model(x, training=True) for _ in range(30)])
    spread = tf.math.reduce_std(samples, axis=0)

    class MCDropout(tf.keras.layers.Dropout):
        def call(self, inputs, training=None):
            return super().call(inputs, training=True)

    always = MCDropout(0.5)
    dropped = tf.concat([always(x) for _ in range(20)], 0)
    kinds = np.unique(dropped.numpy()).tolist()
    return (
        samples.shape,
        bool(tf.reduce_all(spread > 0.1)),
        model(x),
        kinds,
        abs(float(tf.reduce_mean(dropped)) - 1) < 0.1,
    )


def residual_blocks_of_convolutions(tf):
    layers = tf.keras.layers

    class ResidualUnit(layers.Layer):
        def __init__(self, filters, strides=1, activation="relu", **kwargs):
            super().__init__(**kwargs)
            self.activation = tf.keras.activations.get(activation)
            self.main_layers = [
                layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False),
                layers.BatchNormalization(),
                self.activation,
                layers.Conv2D(filters, 3, strides=1, padding="same", use_bias=False),
                layers.BatchNormalization(),
            ]
            self.skip_layers = []
            if strides > 1:
                self.skip_layers = [
                    layers.Conv2D(filters, 1, strides=strides, padding="same", use_bias=False),
                    layers.BatchNormalization(),
                ]

        def call(self, inputs):
            z = inputs
            for layer in self.main_layers:
                z = layer(z)
            skip = inputs
            for layer in self.skip_layers:
                skip = layer(skip)
            return self.activation(z + skip)

    model = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 2)),
            ResidualUnit(2),
            ResidualUnit(4, strides=2),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    make_weights(model)
    for w in model.non_trainable_weights:
        w.assign(tf.ones_like(w))
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = make_values(6, 8, 8, 2), np.array([0, 1, 2, 0, 1, 2])
    history = model.fit(x, y, epochs=2, batch_size=3, shuffle=False, verbose=0).history
    return history, model.predict(x, verbose=0), [w.shape for w in model.weights]


def a_convolutional_net_for_digits(tf):
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((12, 12, 1)),
            layers.Conv2D(4, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.SeparableConv2D(5, 3, padding="same", activation="relu"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.0),
            layers.Dense(10, activation="softmax"),
        ]
    )
    make_weights(model)
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    y = tf.keras.utils.to_categorical(np.arange(8) % 10, 10)
    history = model.fit(make_values(8, 12, 12, 1), y, batch_size=4, epochs=2, verbose=0, shuffle=False)
    return history.history, model.evaluate(make_values(8, 12, 12, 1), y, verbose=0), model.count_params()


def weather_windows(tf):
    """Sequences of windows, a baseline and a model of one dimension."""
    series = make_values(40, 3, seed=21)
    data = tf.data.Dataset.from_tensor_slices(series).window(7, shift=3, drop_remainder=True)
    data = data.flat_map(lambda window: window.batch(7)).map(lambda w: (w[:-1], w[-1, :1])).batch(4)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((6, 3)),
            tf.keras.layers.Conv1D(4, 3, padding="causal", activation="relu", dilation_rate=2),
            tf.keras.layers.SimpleRNN(3, return_sequences=True),
            tf.keras.layers.GlobalMaxPooling1D(),
            tf.keras.layers.Dense(1),
        ]
    )
    make_weights(model)
    model.compile(
        loss=tf.keras.losses.MeanSquaredError(),
        optimizer=tf.keras.optimizers.SGD(0.1),
        metrics=[tf.keras.metrics.MeanAbsoluteError()],
    )
    history = model.fit(data, epochs=2, validation_data=data, verbose=0)
    return history.history, model.predict(data, verbose=0)


def the_data_guide(tf):
    Dataset = tf.data.Dataset
    numbers = Dataset.range(10)
    collected = [
        list(numbers.repeat(2).batch(7, drop_remainder=True).as_numpy_iterator()),
        [int(x) for x in numbers.filter(lambda i: i % 3 == 0)],
        int(numbers.reduce(np.int64(0), lambda state, value: state + value)),
        [list(map(int, w)) for w in numbers.window(4, shift=2)],
        [
            b.numpy()
            for b in numbers.map(lambda n: tf.fill([n % 3], n)).padded_batch(4, padded_shapes=(None,))
        ],
        [int(x) for x in numbers.interleave(lambda i: Dataset.from_tensors(i).repeat(2), cycle_length=2)][:8],
        [int(i) * int(x) for i, x in Dataset.from_tensor_slices([3, 4]).enumerate(start=5)],
        [int(x) for x in numbers.take(2).concatenate(numbers.skip(8))],
        [int(x) for x in numbers.shard(3, 1)],
        [int(x) for x in numbers.scan(np.int64(0), lambda s, x: (s + x, s * x))],
        [int(x) for x in numbers.take_while(lambda x: x < 4)],
        [
            b.numpy()
            for b in Dataset.from_generator(
                lambda: iter([[1, 2], [3, 4]]), output_signature=tf.TensorSpec((2,), tf.int32)
            )
            .unbatch()
            .batch(3)
        ],
        int(numbers.cardinality()),
        len(numbers.batch(3)),
    ]
    features = {"a": np.arange(4.0), "b": np.arange(8).reshape(4, 2)}
    for batch in Dataset.from_tensor_slices(features).batch(2):
        collected.append(batch["a"] + tf.cast(batch["b"][:, 0], tf.float64))
    iterator = iter(numbers)
    collected += [int(next(iterator)), int(iterator.get_next())]
    return collected


def streaming_metrics(tf):
    m = tf.keras.metrics
    y_true, y_pred = tf.constant([0, 1, 1, 0, 1, 0]), tf.constant([0.1, 0.8, 0.4, 0.6, 0.9, 0.2])
    found = {}
    for metric in (
        m.BinaryAccuracy(threshold=0.3), m.Precision(), m.Recall(thresholds=0.3), m.AUC(num_thresholds=20),
        m.MeanSquaredError(), m.RootMeanSquaredError(), m.TruePositives(), m.FalseNegatives(0.3), m.LogCoshError(),
        m.BinaryCrossentropy(),
    ):  # fmt: skip
        metric.update_state(y_true[:3], y_pred[:3])
        metric(y_true[3:], y_pred[3:])
        found[metric.name.rstrip("_0123456789")] = metric.result()
        metric.reset_state()
    top = m.SparseTopKCategoricalAccuracy(k=2)
    top.update_state([2, 1], [[0.1, 0.9, 0.8], [0.05, 0.95, 0.0]])
    precision = m.Precision()
    precision.update_state([0, 1, 1], [1, 1, 0], sample_weight=[0.5, 1.0, 1.0])
    return found, top.result(), precision.result()


def schedules_of_the_learning_rate(tf):
    s = tf.keras.optimizers.schedules
    schedules = [
        s.ExponentialDecay(0.1, decay_steps=4, decay_rate=0.5, staircase=True),
        s.PiecewiseConstantDecay([2, 5], [1.0, 0.5, 0.1]),
        s.PolynomialDecay(0.1, 5, 0.01, power=0.5, cycle=True),
        s.InverseTimeDecay(0.1, 3, 0.5),
        s.CosineDecay(0.0, 8, warmup_target=0.2, warmup_steps=3),
        s.CosineDecayRestarts(0.1, 3, t_mul=1.5, m_mul=0.8),
    ]
    values = [[schedule(step) for step in range(10)] for schedule in schedules]
    w = tf.Variable([1.0, -2.0])
    optimizer = tf.keras.optimizers.SGD(schedules[0], momentum=0.9, nesterov=True)
    for _ in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**2)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return values, w, float(optimizer.learning_rate)


def averaged_weights_and_clipping_in_optimizers(tf):
    found = {}
    for options in (
        {"use_ema": True, "ema_momentum": 0.9},
        {"use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 2},
        {"use_ema": True, "ema_momentum": 0.5, "gradient_accumulation_steps": 2},
        {
            "use_ema": True,
            "ema_momentum": 0.5,
            "gradient_accumulation_steps": 2,
            "ema_overwrite_frequency": 3,
        },
        {"gradient_accumulation_steps": 3, "clipnorm": 0.1},
        {"global_clipnorm": 0.5, "weight_decay": 0.01},
        {"clipvalue": 0.2},
    ):
        optimizer, w, trace = tf.keras.optimizers.Adam(0.1, **options), tf.Variable([1.0, -2.0, 3.0]), []
        for i in range(7):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((w - i) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            trace.append(w.numpy().copy())
        if options.get("use_ema"):
            optimizer.finalize_variable_values([w])
            trace.append(w.numpy())
        found[str(sorted(options.items()))] = [trace, optimizer.iterations]
    return found
